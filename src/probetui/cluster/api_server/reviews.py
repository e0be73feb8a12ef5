"""Access reviews and token reviews.

Source: k8s.io/api authorization/v1 and authentication/v1, v0.36.2.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from probetui.cluster.api_server.request_info import RequestInfo
from probetui.cluster.api_server.resources import READING, ApiResource
from probetui.k8s.api.codec import Json

ANONYMOUS = "system:anonymous"

Authorize: TypeAlias = Callable[[str, RequestInfo], str | None]
"""Given a user: None to allow, else why not (may be empty)."""


def allow_all(user: str, info: RequestInfo) -> str | None:
    """Refuse nothing to who has a name."""
    del info
    return "" if user == ANONYMOUS else None


class Reviewer:
    """Answers reviews by what the server itself would do."""

    def __init__(
        self,
        served: Sequence[ApiResource],
        authorize: Authorize,
        *,
        tokens: Mapping[str, str],
        read_only: str,
    ) -> None:
        self._served = served
        self._authorize = authorize
        self._tokens = tokens
        self._read_only = read_only

    def answer(self, review: Json, resource: ApiResource, user: str) -> Json:
        """Return a review with its status."""
        spec = review.get("spec") or {}
        if resource.plural == "tokenreviews":
            status = self._token_status(spec.get("token", ""))
        elif resource.plural == "selfsubjectrulesreviews":
            status = self._rules()
        else:
            status = self._access(spec, spec.get("user", user))
        return {**review, "status": status}

    def _token_status(self, token: str) -> Json:
        user = self._tokens.get(token)
        if user is None:
            return {"authenticated": False}
        return {"authenticated": True, "user": {"username": user, "groups": []}}

    def _rules(self) -> Json:
        verbs = list(READING) if self._read_only else ["*"]
        return {
            "resourceRules": [{"verbs": verbs, "apiGroups": ["*"], "resources": ["*"]}],
            "nonResourceRules": [{"verbs": ["get"], "nonResourceURLs": ["*"]}],
            "incomplete": False,
        }

    def _access(self, spec: Json, user: str) -> Json:
        info = self._request_info(spec.get("resourceAttributes") or {})
        why = self._authorize(user, info)
        if why is None and self._read_only and info.is_write:
            why = self._read_only
        status: Json = {"allowed": why is None}
        if why:
            status["reason"] = why
        return status

    def _request_info(self, attributes: Json) -> RequestInfo:
        plural, group = attributes.get("resource", ""), attributes.get("group", "")
        resource = next(
            (
                found
                for found in self._served
                if (found.plural, found.group) == (plural, group)
            ),
            ApiResource(plural, "", group),
        )
        return RequestInfo(
            attributes.get("verb", ""),
            resource,
            attributes.get("namespace", ""),
            attributes.get("name", ""),
            attributes.get("subresource", ""),
        )
