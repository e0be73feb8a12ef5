"""The API server: from a request to an answer.

Source: k8s.io/apiserver pkg/endpoints, v0.36.2, as recorded from a server of 1.36.2.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, TypeAlias

import msgspec
from lightkube.models import meta_v1
from msgspec import Struct

from probetui.cluster.api_server.discovery import (
    PUBLIC_PATHS,
    answer_path,
    json_answer,
    not_allowed,
)
from probetui.cluster.api_server.events import to_core_v1, to_events_v1
from probetui.cluster.api_server.failure import ApiFailure, bad_request
from probetui.cluster.api_server.protobuf_reviews import CONTENT_TYPE as PROTOBUF
from probetui.cluster.api_server.protobuf_reviews import decode_review
from probetui.cluster.api_server.request_info import (
    Representation,
    RequestInfo,
    negotiate,
    parse_request_info,
    read_flag,
    unknown_path,
)
from probetui.cluster.api_server.resources import (
    ACCESS_REVIEWS,
    EVENTS_V1,
    PODS,
    READING,
    RULES_REVIEWS,
    SERVED,
    ApiResource,
)
from probetui.cluster.api_server.reviews import (
    ANONYMOUS,
    Authorize,
    Reviewer,
    allow_all,
)
from probetui.cluster.api_server.selection import Selection, parse_selection
from probetui.cluster.api_server.store import DeleteOptions, WritableStore
from probetui.cluster.api_server.tables import partial_metadata, table
from probetui.cluster.api_server.watching import (
    DEFAULT_TIMEOUT_SECONDS,
    WatchLines,
    WatchOptions,
    one_error,
)
from probetui.cluster.serving.http_server import (
    LARGEST_NUMBER,
    HttpAnswer,
    HttpCut,
    HttpRequest,
    HttpResponse,
    HttpStream,
    ParameterError,
)
from probetui.k8s.api.codec import Json

ADMIN = "kubernetes-admin"
_BEARER = "Bearer "
_TOO_LARGE_SECONDS = 3
_LARGEST_VERSION = 2**64 - 1
_LONGEST_REVIEW = 1 << 16
_READABLE = frozenset({"log", "proxy", "status"})

Connect: TypeAlias = Callable[[HttpRequest, RequestInfo, Json], Awaitable[HttpAnswer]]
"""Answers a request for what is behind an object, which it is given."""


class ServerFault(Struct, frozen=True):
    """What goes wrong with a request: it is late, refused, or its answer is cut off."""

    delay_seconds: float = 0
    failure: ApiFailure | None = None
    cut_after_bytes: int | None = None


def no_fault(info: RequestInfo, request: HttpRequest) -> ServerFault | None:
    """Let everything pass."""
    del info, request
    return None


class ApiServer:
    """Answers requests from a store; give `handle` to `serve_http`.

    Args:
        store: the objects.
        version: of Kubernetes, such as `1.36.2`.
        served: the resources.
        tokens: users by bearer token; None lets everybody in as the administrator.
        authorize: says what a user may not do.
        connect: answers for subresources that lead elsewhere, by `pods/log`.
        read_only: why nothing can be written; empty if it can.
        allowed_hosts: what the Host header may be; None for anything.
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
        read_only: str = "",
        allowed_hosts: frozenset[str] | None = None,
    ) -> None:
        self.store = store
        self.fault: Callable[[RequestInfo, HttpRequest], ServerFault | None] = no_fault
        self.connect = dict(connect or {})
        self.authorize = authorize
        self.tokens = tokens
        self.allowed_hosts = allowed_hosts
        self._version = version.removeprefix("v")
        self._read_only = read_only
        self._served = [_readable(found) for found in served] if read_only else served
        self._reviewer = Reviewer(
            self._served,
            authorize,
            tokens=tokens or {},
            read_only=read_only,
        )

    async def handle(self, request: HttpRequest) -> HttpAnswer:
        """Answer a request."""
        fault: ServerFault | None = None
        try:
            self._check_host(request)
            user = self._authenticate(request)
            info = parse_request_info(request, self._served)
            fault = self.fault(info, request)
            if fault is not None:
                await asyncio.sleep(fault.delay_seconds)
                if fault.failure is not None:
                    raise fault.failure
            self._check_allowed(user, info, request)
            answer = await self._answer(request, info, user)
        except ApiFailure as failure:
            answer = failure.response()
        if fault is not None and fault.cut_after_bytes is not None:
            if isinstance(answer, HttpResponse | HttpStream):
                return HttpCut(fault.cut_after_bytes, answer)
            return HttpCut(0)
        return answer

    def _check_host(self, request: HttpRequest) -> None:
        if self.allowed_hosts is None:
            return
        host = request.headers.get("host", "")
        if host not in self.allowed_hosts:
            raise ApiFailure(
                403, "Forbidden", f'the Host header "{host:.80}" is not this server'
            )

    def _authenticate(self, request: HttpRequest) -> str:
        if self.tokens is None:
            return ADMIN
        credentials = request.headers.get("authorization", "")
        if not credentials:
            return ANONYMOUS
        user = self.tokens.get(credentials.removeprefix(_BEARER))
        if user is None or not credentials.startswith(_BEARER):
            raise ApiFailure(401, "Unauthorized", "Unauthorized")
        return user

    def _check_allowed(
        self, user: str, info: RequestInfo, request: HttpRequest
    ) -> None:
        resource = info.resource
        if resource is None:
            if user == ANONYMOUS and request.path not in PUBLIC_PATHS:
                what = f'cannot {info.verb} path "{request.path}"'
                message = f'forbidden: User "{user}" {what}'
                raise ApiFailure(403, "Forbidden", message, {})
            return
        if resource in {ACCESS_REVIEWS, RULES_REVIEWS} and user != ANONYMOUS:
            return
        why = self.authorize(user, info)
        if why is not None:
            raise _forbidden(user, info, why)
        if self._read_only and info.is_write:
            raise ApiFailure(405, "MethodNotAllowed", self._read_only, {})

    async def _answer(
        self, request: HttpRequest, info: RequestInfo, user: str
    ) -> HttpAnswer:
        resource = info.resource
        if resource is None:
            return answer_path(request, self._served, self._version)
        if not info.subresource and info.verb not in resource.verbs:
            raise not_allowed()
        if not resource.is_stored:
            review = _typed(_decode_review(request), resource)
            return json_answer(self._reviewer.answer(review, resource, user), 201)
        if info.subresource and info.subresource != "status":
            return await self._answer_subresource(request, info, resource)
        representation = negotiate(request)
        if info.verb == "watch" or (info.name and read_flag(request, "watch")):
            return self._watch(request, info, resource, representation)
        if info.verb == "list":
            return await self._list(request, info, resource, representation)
        if info.verb == "deletecollection":
            return self._delete_collection(request, info, resource)
        code, found = self._object(request, info, resource)
        if found.get("kind") == "Status":
            return json_answer(found, code)
        return json_answer(
            _represent(self, request, resource, representation)(found), code
        )

    def _object(
        self, request: HttpRequest, info: RequestInfo, resource: ApiResource
    ) -> tuple[int, Json]:
        """Carry out what is about one object; return the HTTP status and the answer."""
        store, namespace, name = self.store, info.namespace, info.name
        if info.verb in READING:
            return 200, store.get(resource, namespace, name)
        if info.verb == "delete":
            deleted = store.delete(resource, namespace, name, _delete_options(request))
            return 200, deleted if resource is PODS else _deleted(resource, deleted)
        if request.parameter("dryRun"):
            raise bad_request("this server does not support dryRun")
        if info.verb == "patch":
            body = _decode(request)
            content_type = request.headers.get("content-type", "").partition(";")[0]
            patched = store.patch(
                resource, namespace, name, content_type, body, info.subresource
            )
            return 200, patched
        given = _typed(_read_object(request), resource)
        if info.verb == "create" and not name:
            return 201, store.create(resource, namespace, given)
        if info.verb == "update" and name:
            return 200, store.update(resource, namespace, name, given, info.subresource)
        raise not_allowed()

    async def _list(
        self,
        request: HttpRequest,
        info: RequestInfo,
        resource: ApiResource,
        representation: Representation,
    ) -> HttpAnswer:
        selection = _selection(request, info, resource)
        version = _version(request)
        is_exact = request.parameter("resourceVersionMatch") == "Exact"
        if version is not None and version > self.store.version:
            await asyncio.sleep(_TOO_LARGE_SECONDS)
            raise _too_large(version, self.store.version)
        page = self.store.list(
            resource,
            info.namespace,
            selection,
            limit=_number(request, "limit") or 0,
            continue_token=request.parameter("continue"),
            at_version=version if is_exact else None,
        )
        metadata: Json = {"resourceVersion": str(page.version)}
        if page.continue_token:
            metadata["continue"] = page.continue_token
            if page.remaining is not None:
                metadata["remainingItemCount"] = page.remaining
        if representation.as_kind == "Table":
            return json_answer(self._table(request, resource, page.items, metadata))
        if representation.as_kind:
            items = [partial_metadata(found) for found in page.items]
            return json_answer(
                _list_of("PartialObjectMetadata", "meta.k8s.io/v1", metadata, items)
            )
        items = [_without_type(_converted(resource, found)) for found in page.items]
        return json_answer(
            _list_of(resource.kind, resource.group_version, metadata, items)
        )

    def _table(
        self,
        request: HttpRequest,
        resource: ApiResource,
        items: Sequence[Json],
        metadata: Json,
        *,
        has_columns: bool = True,
    ) -> Json:
        return table(
            resource,
            items,
            self.store.now(),
            metadata=metadata,
            included=request.parameter("includeObject") or "Metadata",
            has_columns=has_columns,
        )

    def _watch(
        self,
        request: HttpRequest,
        info: RequestInfo,
        resource: ApiResource,
        representation: Representation,
    ) -> HttpAnswer:
        selection = _selection(request, info, resource)
        wanted = request.parameter("sendInitialEvents")
        sends_initial = read_flag(request, "sendInitialEvents")
        has_bookmarks = read_flag(request, "allowWatchBookmarks")
        version = _version(request)
        starts_fresh = sends_initial or not version
        timeout = _number(request, "timeoutSeconds")
        options = WatchOptions(
            timeout or DEFAULT_TIMEOUT_SECONDS,
            has_bookmarks,
            marks_initial_end=has_bookmarks
            and (sends_initial or (version == 0 and not wanted)),
        )
        try:
            watch = self.store.watch(
                resource,
                info.namespace,
                selection,
                None if starts_fresh else version,
                starts_with_all=sends_initial or not wanted,
            )
        except ApiFailure as failure:
            return HttpStream(200, one_error(failure))
        represent = _represent(self, request, resource, representation, is_watch=True)
        return HttpStream(
            200, WatchLines(self.store, resource, watch, options, represent).lines()
        )

    def _delete_collection(
        self, request: HttpRequest, info: RequestInfo, resource: ApiResource
    ) -> HttpAnswer:
        selection = _selection(request, info, resource)
        options = _delete_options(request)
        deleted = []
        for found in self.store.list(resource, info.namespace, selection).items:
            metadata = found["metadata"]
            namespace = metadata.get("namespace", "")
            deleted.append(
                self.store.delete(resource, namespace, metadata["name"], options)
            )
        metadata = {"resourceVersion": str(self.store.version)}
        items = [_without_type(found) for found in deleted]
        return json_answer(
            _list_of(resource.kind, resource.group_version, metadata, items)
        )

    async def _answer_subresource(
        self, request: HttpRequest, info: RequestInfo, resource: ApiResource
    ) -> HttpAnswer:
        found = self.store.get(resource, info.namespace, info.name)
        if info.subresource == "eviction":
            eviction = _read_object(request)
            options = _delete_options_of(eviction.get("deleteOptions") or {})
            self.store.delete(resource, info.namespace, info.name, options)
            success = {"kind": "Status", "apiVersion": "v1", "metadata": {}}
            return json_answer({**success, "status": "Success", "code": 201}, 201)
        connect = self.connect.get(f"{resource.plural}/{info.subresource}")
        if connect is None:
            raise unknown_path()
        return await connect(request, info, found)


def _represent(
    server: ApiServer,
    request: HttpRequest,
    resource: ApiResource,
    representation: Representation,
    *,
    is_watch: bool = False,
) -> Callable[[Json], Json]:
    """Return what makes an object what the client asked for."""
    is_first = True

    def represent(found: Json) -> Json:
        nonlocal is_first
        if representation.as_kind == "Table":
            metadata = {"resourceVersion": found["metadata"]["resourceVersion"]}
            made = server._table(  # noqa: SLF001  # a part of it
                request, resource, [found], metadata, has_columns=is_first
            )
            is_first = not is_watch
            return made
        if representation.as_kind:
            return partial_metadata(found)
        return _converted(resource, found)

    return represent


def _readable(resource: ApiResource) -> ApiResource:
    """Return a resource of which nothing can be written.

    What only writes stays known, so that it is refused with the reason.
    """
    if not resource.is_stored:
        return resource
    below = [
        msgspec.structs.replace(
            found, verbs=("get",) if found.name in _READABLE else ()
        )
        for found in resource.subresources
    ]
    return msgspec.structs.replace(resource, verbs=READING, subresources=tuple(below))


def _converted(resource: ApiResource, found: Json) -> Json:
    return to_events_v1(found) if resource.group == EVENTS_V1.group else found


def _typed(given: Json, resource: ApiResource) -> Json:
    """Return an object with its type as it is stored.

    Raises:
        ApiFailure: it is of another type.
    """
    kind, version = given.get("kind"), given.get("apiVersion")
    of_this_kind = kind in (None, "", resource.kind)
    if not of_this_kind or version not in (None, "", resource.group_version):
        raise bad_request(
            f"the object provided is unrecognized (must be of type {resource.kind}): "
            f"{_word(version)}, {_word(kind)}"
        )
    if resource.group == EVENTS_V1.group:
        return to_core_v1({**given, "kind": resource.kind})
    return {**given, "kind": resource.kind, "apiVersion": resource.group_version}


def _word(value: object) -> str:
    return value if isinstance(value, str) else f"a {type(value).__name__}"


def _read_object(request: HttpRequest) -> Json:
    """Return the object that a body is.

    Source: k8s.io/apiserver pkg/endpoints/handlers/negotiation/errors.go, v0.36.2.
    """
    content_type = request.headers.get("content-type", "application/json")
    if content_type.partition(";")[0] != "application/json":
        message = (
            "the body of the request was in an unknown format - accepted media types "
            "include: application/json"
        )
        raise ApiFailure(415, "UnsupportedMediaType", message, {})
    body = _decode(request)
    if not isinstance(body, dict):
        raise bad_request("the request body is not an object")
    return body


def _decode_review(request: HttpRequest) -> Json:
    if len(request.body) > _LONGEST_REVIEW:
        raise ApiFailure(413, "RequestEntityTooLarge", "the review is too long", {})
    if request.headers.get("content-type") != PROTOBUF:
        return _read_object(request)
    try:
        return decode_review(request.body)
    except ValueError as error:
        raise bad_request(str(error)) from None


def _decode(request: HttpRequest) -> Any:
    try:
        return msgspec.json.decode(request.body)
    except RecursionError:
        raise bad_request("the request body is nested too deep") from None
    except (msgspec.DecodeError, ValueError) as error:
        raise bad_request(f"the request body is not JSON: {error}") from None


def _delete_options(request: HttpRequest) -> DeleteOptions:
    given = _decode(request) if request.body.strip() else {}
    if not isinstance(given, dict):
        raise bad_request("the request body is not a DeleteOptions")
    if request.parameter("gracePeriodSeconds"):
        grace = _number(request, "gracePeriodSeconds")
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


def _selection(
    request: HttpRequest, info: RequestInfo, resource: ApiResource
) -> Selection:
    fields = request.parameter("fieldSelector")
    if info.name:
        fields = f"metadata.name={info.name}"
    return parse_selection(resource, request.parameter("labelSelector"), fields)


def _number(request: HttpRequest, name: str, most: int = LARGEST_NUMBER) -> int | None:
    """Return a parameter that is a whole number, None if it is not there.

    Raises:
        ApiFailure: it is none, or too large.
    """
    try:
        return request.number(name, most)
    except ParameterError as error:
        raise bad_request(str(error)) from None


def _version(request: HttpRequest) -> int | None:
    return _number(request, "resourceVersion", _LARGEST_VERSION)


def _too_large(wanted: int, current: int) -> ApiFailure:
    message = f"Timeout: Too large resource version: {wanted}, current: {current}"
    cause = {
        "reason": "ResourceVersionTooLarge",
        "message": "Too large resource version",
    }
    return ApiFailure(504, "Timeout", message, {"causes": [cause]}, retry_after=1)


def _forbidden(user: str, info: RequestInfo, why: str) -> ApiFailure:
    resource = info.resource
    assert resource is not None  # noqa: S101  # of a resource only
    qualified = (
        f"{resource.plural}.{resource.group}" if resource.group else resource.plural
    )
    named = f'{qualified} "{info.name}"' if info.name else qualified
    below = f"/{info.subresource}" if info.subresource else ""
    scope = (
        f'in the namespace "{info.namespace}"'
        if info.namespace
        else "at the cluster scope"
    )
    message = (
        f'{named} is forbidden: User "{user}" cannot {info.verb} resource '
        f'"{resource.plural}{below}" in API group "{resource.group}" {scope}'
    )
    details: Json = {"name": info.name} if info.name else {}
    if resource.group:
        details["group"] = resource.group
    details["kind"] = resource.plural
    return ApiFailure(
        403, "Forbidden", f"{message}: {why}" if why else message, details
    )


def _list_of(kind: str, version: str, metadata: Json, items: Sequence[Json]) -> Json:
    return {
        "kind": f"{kind}List",
        "apiVersion": version,
        "metadata": metadata,
        "items": items,
    }


def _without_type(found: Json) -> Json:
    """Return an object as a list has it."""
    return {key: found[key] for key in found if key not in {"kind", "apiVersion"}}
