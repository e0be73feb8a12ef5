"""An API server that takes writes, and does wrong where a test says so.

Source: k8s.io/apiserver pkg/endpoints, v0.36.2, as recorded from a server of 1.36.2.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import msgspec
from lightkube.models import meta_v1
from msgspec import Struct

from probetui.cluster.api_server.api import (
    ANONYMOUS,
    ApiServer,
    Connect,
    list_of,
    requested_selection,
    without_type,
)
from probetui.cluster.api_server.bodies import check_type, decode_json, read_object
from probetui.cluster.api_server.discovery import json_answer, not_allowed
from probetui.cluster.api_server.events import NEW_NAMES
from probetui.cluster.api_server.failure import ApiFailure, bad_request
from probetui.cluster.api_server.request_info import RequestInfo, read_number
from probetui.cluster.api_server.resources import (
    ACCESS_REVIEWS,
    RULES_REVIEWS,
    ApiResource,
)
from probetui.cluster.api_server.reviews import (
    ReviewSpec,
    access_status,
    answer_review,
    read_spec,
    reviewed_request,
    rules_status,
)
from probetui.cluster.serving.http_server import HttpAnswer, HttpRequest
from probetui.k8s.api.codec import Json
from tests.cluster.api_server.cut_answers import cut_answer
from tests.cluster.api_server.resources import (
    EVENTS_V1,
    PODS,
    SERVED,
    TOKEN_REVIEWS,
)
from tests.cluster.api_server.store import DeleteOptions, WritableStore

_OLD_NAMES = {new: old for old, new in NEW_NAMES.items()}

Authorize: TypeAlias = Callable[[str, RequestInfo], str | None]
"""Given a user: None to allow, else why not (may be empty)."""


def allow_all(user: str, info: RequestInfo) -> str | None:
    """Refuse nothing to who has a name."""
    del info
    return "" if user == ANONYMOUS else None


class ServerFault(Struct, frozen=True):
    """What goes wrong with a request: it is late, refused, or its answer is cut off."""

    delay_seconds: float = 0
    failure: ApiFailure | None = None
    cut_after_bytes: int | None = None


def no_fault(info: RequestInfo, request: HttpRequest) -> ServerFault | None:
    """Let everything pass."""
    del info, request
    return None


class _SubjectReviewSpec(ReviewSpec, frozen=True, omit_defaults=True, rename="camel"):
    """What a server asks about a user."""

    user: str | None = None
    groups: list[str] | None = None
    uid: str | None = None
    extra: dict[str, list[str]] | None = None
    token: str | None = None
    audiences: list[str] | None = None


class FaultyServer(ApiServer):
    """Answers requests from a store, which they change.

    Args:
        store: the objects.
        version: of Kubernetes.
        served: the resources.
        tokens: users by bearer token; None lets everybody in as the administrator.
        authorize: says what a user may not do.
        connect: answers for subresources that lead elsewhere, by `pods/log`.
    """

    def __init__(
        self,
        store: WritableStore,
        *,
        version: str = "1.36.2",
        served: Sequence[ApiResource] = SERVED,
        tokens: Mapping[str, str] | None = None,
        authorize: Authorize = allow_all,
        connect: Mapping[str, Connect] | None = None,
    ) -> None:
        super().__init__(
            store,
            version=version,
            served=served,
            tokens=tokens,
            connect=connect or {},
            read_only="",
        )
        self.store = store
        self.connect = connect or {}
        self.fault: Callable[[RequestInfo, HttpRequest], ServerFault | None] = no_fault
        self._users = tokens or {}
        self._decide = authorize

    def authorize(self, user: str, info: RequestInfo) -> str | None:
        """Return why a user may not do something; each may ask what he may."""
        if info.resource in {ACCESS_REVIEWS, RULES_REVIEWS} and user != ANONYMOUS:
            return None
        return self._decide(user, info)

    async def answer(
        self, request: HttpRequest, info: RequestInfo, user: str
    ) -> HttpAnswer:
        """Answer a request, with what is to go wrong."""
        fault = self.fault(info, request)
        if fault is None:
            return await super().answer(request, info, user)
        await asyncio.sleep(fault.delay_seconds)
        if fault.failure is not None:
            raise fault.failure
        answer = await super().answer(request, info, user)
        if fault.cut_after_bytes is None:
            return answer
        return cut_answer(answer, fault.cut_after_bytes)

    async def answer_connection(
        self, request: HttpRequest, info: RequestInfo, resource: ApiResource
    ) -> HttpAnswer:
        """Answer a request for a connecting subresource of an object.

        A Service's proxy is named with scheme and port, as `https:web:8443`.
        """
        if (resource.plural, info.subresource) != ("services", "proxy"):
            return await super().answer_connection(request, info, resource)
        name = info.name.removeprefix("https:").removeprefix("http:").split(":")[0]
        held = self.feed.get(resource, info.namespace, name)
        return await self.connect["services/proxy"](request, info, held)

    async def write(
        self, request: HttpRequest, info: RequestInfo, resource: ApiResource
    ) -> HttpAnswer:
        """Change an object, or pass on what goes to a container."""
        if info.subresource == "eviction":
            return self._evict(request, info, resource)
        if info.subresource and info.subresource != "status":
            return await self.answer_connection(request, info, resource)
        if not info.subresource and info.verb not in resource.verbs:
            raise not_allowed()
        represent = self.represent(request, resource)
        if info.verb == "deletecollection":
            return self._delete_collection(request, info, resource)
        code, written = self._write_object(request, info, resource)
        if written.get("kind") == "Status":
            return json_answer(written, code)
        return json_answer(represent(written), code)

    def _write_object(
        self, request: HttpRequest, info: RequestInfo, resource: ApiResource
    ) -> tuple[int, Json]:
        """Write an object; return the HTTP status and the answer."""
        store, namespace, name = self.store, info.namespace, info.name
        if info.verb == "delete":
            deleted = store.delete(resource, namespace, name, _delete_options(request))
            return 200, deleted if resource is PODS else _deleted(resource, deleted)
        if request.parameter("dryRun"):
            raise bad_request("this server does not support dryRun")
        if info.verb == "patch":
            body = decode_json(request)
            content_type = request.headers.get("content-type", "").partition(";")[0]
            patched = store.patch(
                resource, namespace, name, content_type, body, info.subresource
            )
            return 200, patched
        given = _typed(read_object(request), resource)
        if info.verb == "create" and not name:
            return 201, store.create(resource, namespace, given)
        if info.verb == "update" and name:
            return 200, store.update(resource, namespace, name, given, info.subresource)
        raise not_allowed()

    def _evict(
        self, request: HttpRequest, info: RequestInfo, resource: ApiResource
    ) -> HttpAnswer:
        eviction = read_object(request)
        options = _delete_options_of(eviction.get("deleteOptions") or {})
        self.store.delete(resource, info.namespace, info.name, options)
        success = {"kind": "Status", "apiVersion": "v1", "metadata": {}}
        return json_answer({**success, "status": "Success", "code": 201}, 201)

    def _delete_collection(
        self, request: HttpRequest, info: RequestInfo, resource: ApiResource
    ) -> HttpAnswer:
        selection = requested_selection(request, info, resource)
        options = _delete_options(request)
        deleted = []
        for found in self.store.list(resource, info.namespace, selection).items:
            metadata = found["metadata"]
            namespace = metadata.get("namespace", "")
            deleted.append(
                self.store.delete(resource, namespace, metadata["name"], options)
            )
        metadata = {"resourceVersion": str(self.store.version)}
        items = [without_type(found) for found in deleted]
        return json_answer(
            list_of(resource.kind, resource.group_version, metadata, items)
        )

    def review(self, review: Json, resource: ApiResource, user: str) -> Json:
        """Return a review of the user, of another one, or of a token."""
        spec = read_spec(review, resource, _SubjectReviewSpec)
        if resource is TOKEN_REVIEWS:
            return answer_review(resource, spec, self._token_status(spec.token or ""))
        if resource is RULES_REVIEWS:
            return answer_review(resource, spec, rules_status(["*"]))
        about = user if spec.user is None else spec.user
        why = self.authorize(about, reviewed_request(spec, self.served))
        return answer_review(resource, spec, access_status(why))

    def _token_status(self, token: str) -> Json:
        user = self._users.get(token)
        if user is None:
            return {"authenticated": False}
        return {"authenticated": True, "user": {"username": user, "groups": []}}


def _typed(given: Json, resource: ApiResource) -> Json:
    """Return an object with its type as it is stored."""
    check_type(given, resource)
    if resource is EVENTS_V1:
        given = {_OLD_NAMES.get(key, key): value for key, value in given.items()}
        return {**given, "kind": resource.kind, "apiVersion": "v1"}
    return {**given, "kind": resource.kind, "apiVersion": resource.group_version}


def _delete_options(request: HttpRequest) -> DeleteOptions:
    given = decode_json(request) if request.body.strip() else {}
    if not isinstance(given, dict):
        raise bad_request("the request body is not a DeleteOptions")
    if request.parameter("gracePeriodSeconds"):
        grace = read_number(request, "gracePeriodSeconds")
        given = {**given, "gracePeriodSeconds": grace}
    if request.parameter("dryRun"):
        given = {**given, "dryRun": ["All"]}
    return _delete_options_of(given)


def _delete_options_of(given: Any) -> DeleteOptions:
    try:
        options = msgspec.convert(given, meta_v1.DeleteOptions)
    except msgspec.ValidationError as error:
        raise bad_request(f"the request body is not a DeleteOptions: {error}") from None
    preconditions = options.preconditions or meta_v1.Preconditions()
    return DeleteOptions(
        options.gracePeriodSeconds,
        preconditions.uid,
        preconditions.resourceVersion,
        bool(options.dryRun),
    )


def _deleted(resource: ApiResource, found: Json) -> Json:
    details = {
        "name": found["metadata"]["name"],
        **({"group": resource.group} if resource.group else {}),
        "kind": resource.plural,
        "uid": found["metadata"]["uid"],
    }
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Success",
        "details": details,
    }
