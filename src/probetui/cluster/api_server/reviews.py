"""Reviews: who a user is and what he may do, as this server decides.

Source: k8s.io/api authorization/v1 and authentication/v1, v0.36.2.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TypeVar

import msgspec
from msgspec import Struct

from probetui.cluster.api_server.failure import bad_request
from probetui.cluster.api_server.request_info import RequestInfo
from probetui.cluster.api_server.resources import ApiResource
from probetui.k8s.api.codec import Json, format_time


class ResourceAttributes(Struct, frozen=True, omit_defaults=True):
    """An action on an object."""

    group: str | None = None
    name: str | None = None
    namespace: str | None = None
    resource: str | None = None
    subresource: str | None = None
    verb: str | None = None
    version: str | None = None


class PathAttributes(Struct, frozen=True, omit_defaults=True):
    """An action on a non-resource path."""

    path: str | None = None
    verb: str | None = None


class ReviewSpec(Struct, frozen=True, omit_defaults=True, rename="camel"):
    """The action that a review asks about."""

    resource_attributes: ResourceAttributes | None = None
    non_resource_attributes: PathAttributes | None = None
    namespace: str | None = None


Spec = TypeVar("Spec", bound=ReviewSpec)


def read_spec(review: Json, resource: ApiResource, spec: type[Spec]) -> Spec:
    """Decode the spec of a review.

    Raises:
        ApiFailure: it is invalid.
    """
    try:
        return msgspec.convert(review.get("spec") or {}, spec)
    except msgspec.ValidationError as error:
        raise bad_request(
            f"the request body is not a {resource.kind}: {error}"
        ) from None


def answer_review(resource: ApiResource, spec: ReviewSpec, status: Json) -> Json:
    """Return a review with its status; it has no metadata of the client's."""
    return {
        "kind": resource.kind,
        "apiVersion": resource.group_version,
        "metadata": {},
        "spec": msgspec.to_builtins(spec),
        "status": status,
    }


def answer_user_review(
    resource: ApiResource, user: str, groups: Sequence[str], now: datetime
) -> Json:
    """Answer a SelfSubjectReview with the user of the request.

    Source: pkg/registry/authentication/selfsubjectreview/rest.go, v1.36.2, Create.
    """
    return {
        "kind": resource.kind,
        "apiVersion": resource.group_version,
        "metadata": {"creationTimestamp": format_time(now)},
        "status": {"userInfo": {"username": user, "groups": list(groups)}},
    }


def rules_status(verbs: Sequence[str]) -> Json:
    """Return the status of a user who may do something with all objects."""
    return {
        "resourceRules": [
            {"verbs": list(verbs), "apiGroups": ["*"], "resources": ["*"]}
        ],
        "nonResourceRules": [{"verbs": ["get"], "nonResourceURLs": ["*"]}],
        "incomplete": False,
    }


def access_status(why: str | None) -> Json:
    """Return the status of an access review, with the reason of a denial."""
    status: Json = {"allowed": why is None}
    if why:
        status["reason"] = why
    return status


def reviewed_request(spec: ReviewSpec, served: Sequence[ApiResource]) -> RequestInfo:
    """Convert the spec of a review to the request that it describes."""
    if spec.non_resource_attributes is not None:
        return RequestInfo(spec.non_resource_attributes.verb or "")
    attributes = spec.resource_attributes or ResourceAttributes()
    plural, group = attributes.resource or "", attributes.group or ""
    resource = next(
        (
            candidate
            for candidate in served
            if (candidate.plural, candidate.group) == (plural, group)
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
