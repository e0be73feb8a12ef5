"""Access reviews and token reviews.

Source: k8s.io/api authorization/v1 and authentication/v1, v0.36.2.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

import msgspec
from msgspec import Struct

from probetui.cluster.api_server.failure import bad_request
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


class _ResourceAttributes(Struct, frozen=True, omit_defaults=True):
    group: str | None = None
    name: str | None = None
    namespace: str | None = None
    resource: str | None = None
    subresource: str | None = None
    verb: str | None = None
    version: str | None = None


class _PathAttributes(Struct, frozen=True, omit_defaults=True):
    path: str | None = None
    verb: str | None = None


class _ReviewSpec(Struct, frozen=True, omit_defaults=True, rename="camel"):
    """The fields of the specs of all reviews."""

    resource_attributes: _ResourceAttributes | None = None
    non_resource_attributes: _PathAttributes | None = None
    namespace: str | None = None
    user: str | None = None
    groups: list[str] | None = None
    uid: str | None = None
    extra: dict[str, list[str]] | None = None
    token: str | None = None
    audiences: list[str] | None = None


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
        """Return a review with its status; it has no metadata of the client's.

        Raises:
            ApiFailure: its spec is none.
        """
        try:
            spec = msgspec.convert(review.get("spec") or {}, _ReviewSpec)
        except msgspec.ValidationError as error:
            raise bad_request(
                f"the request body is not a {resource.kind}: {error}"
            ) from None
        if resource.plural == "tokenreviews":
            status = self._token_status(spec.token or "")
        elif resource.plural == "selfsubjectrulesreviews":
            status = self._rules()
        else:
            attributes = spec.resource_attributes or _ResourceAttributes()
            status = self._access(attributes, user if spec.user is None else spec.user)
        return {
            "kind": resource.kind,
            "apiVersion": resource.group_version,
            "metadata": {},
            "spec": msgspec.to_builtins(spec),
            "status": status,
        }

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

    def _access(self, attributes: _ResourceAttributes, user: str) -> Json:
        info = self._request_info(attributes)
        why = self._authorize(user, info)
        if why is None and self._read_only and info.is_write:
            why = self._read_only
        status: Json = {"allowed": why is None}
        if why:
            status["reason"] = why
        return status

    def _request_info(self, attributes: _ResourceAttributes) -> RequestInfo:
        plural, group = attributes.resource or "", attributes.group or ""
        resource = next(
            (
                found
                for found in self._served
                if (found.plural, found.group) == (plural, group)
            ),
            ApiResource(plural, "", group),
        )
        return RequestInfo(
            attributes.verb or "",
            resource,
            attributes.namespace or "",
            attributes.name or "",
            attributes.subresource or "",
        )
