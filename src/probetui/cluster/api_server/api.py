"""The API server: authenticates, authorizes and answers requests.

Source: k8s.io/apiserver pkg/endpoints, v0.36.2, as recorded from a server of 1.36.2.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TypeAlias

from probetui.cluster.api_server.bodies import check_type, decode_review
from probetui.cluster.api_server.discovery import (
    PUBLIC_PATHS,
    answer_path,
    json_answer,
    not_allowed,
)
from probetui.cluster.api_server.events import to_events_v1
from probetui.cluster.api_server.failure import ApiFailure, object_details, qualified
from probetui.cluster.api_server.object_feed import ObjectFeed
from probetui.cluster.api_server.request_info import (
    RequestInfo,
    negotiate,
    parse_request_info,
    read_flag,
    read_number,
    unknown_path,
)
from probetui.cluster.api_server.resources import (
    EVENTS_V1,
    READING,
    SERVED,
    USER_REVIEWS,
    ApiResource,
)
from probetui.cluster.api_server.reviews import (
    ReviewSpec,
    access_status,
    answer_review,
    answer_user_review,
    read_spec,
    reviewed_request,
    rules_status,
)
from probetui.cluster.api_server.selection import Selection, parse_selection
from probetui.cluster.api_server.tables import partial_metadata, table
from probetui.cluster.api_server.watching import (
    DEFAULT_TIMEOUT_SECONDS,
    WatchLines,
    WatchOptions,
    one_error,
)
from probetui.cluster.serving.http_server import HttpAnswer, HttpRequest, HttpStream
from probetui.k8s.api.codec import Json

ADMIN = "kubernetes-admin"
ANONYMOUS = "system:anonymous"
_BEARER = "Bearer "
_TOO_LARGE_SECONDS = 3
_LARGEST_VERSION = 2**64 - 1

Connect: TypeAlias = Callable[[HttpRequest, RequestInfo, Json], Awaitable[HttpAnswer]]
"""Answers a request for what is behind an object, which it is given."""


class ApiServer:
    """Answers requests for the objects of a feed; give `handle` to `serve_http`.

    It is read-only: writes are refused.

    Args:
        feed: the objects.
        version: of Kubernetes, such as `1.36.2`.
        served: the resources.
        tokens: users by bearer token; None makes everybody the administrator.
        connect: handlers of subresources that open a connection, as `pods/log`.
        read_only: the message that refuses a write.
        allowed_hosts: what the Host header may be; None for anything.
    """

    def __init__(
        self,
        feed: ObjectFeed,
        *,
        version: str,
        served: Sequence[ApiResource] = SERVED,
        tokens: Mapping[str, str] | None,
        connect: Mapping[str, Connect],
        read_only: str,
        allowed_hosts: frozenset[str] | None = None,
    ) -> None:
        self.feed = feed
        self.served = served
        self.allowed_hosts = allowed_hosts
        self._tokens = tokens
        self._connect = connect
        self._version = version.removeprefix("v")
        self._read_only = read_only

    async def handle(self, request: HttpRequest) -> HttpAnswer:
        """Answer a request."""
        try:
            self._check_host(request)
            user = self._authenticate(request)
            info = parse_request_info(request, self.served)
            self._check_allowed(user, info, request)
            return await self.answer(request, info, user)
        except ApiFailure as failure:
            return failure.response()

    def _check_host(self, request: HttpRequest) -> None:
        if self.allowed_hosts is None:
            return
        host = request.headers.get("host", "")
        if host not in self.allowed_hosts:
            raise ApiFailure(
                403, "Forbidden", f'the Host header "{host:.80}" is not this server'
            )

    def _authenticate(self, request: HttpRequest) -> str:
        if self._tokens is None:
            return ADMIN
        credentials = request.headers.get("authorization", "")
        if not credentials:
            return ANONYMOUS
        user = self._tokens.get(credentials.removeprefix(_BEARER))
        if user is None or not credentials.startswith(_BEARER):
            raise ApiFailure(401, "Unauthorized", "Unauthorized")
        return user

    def _check_allowed(
        self, user: str, info: RequestInfo, request: HttpRequest
    ) -> None:
        if info.resource is not None:
            why = self.authorize(user, info)
            if why is not None:
                raise _forbidden(user, info, info.resource, why)
        elif user == ANONYMOUS and request.path not in PUBLIC_PATHS:
            denial = f'cannot {info.verb} path "{request.path}"'
            message = f'forbidden: User "{user}" {denial}'
            raise ApiFailure(403, "Forbidden", message, {})

    def authorize(self, user: str, info: RequestInfo) -> str | None:
        """Return why a user may not do something (may be empty), None if he may."""
        del info
        return "" if user == ANONYMOUS else None

    async def answer(
        self, request: HttpRequest, info: RequestInfo, user: str
    ) -> HttpAnswer:
        """Answer an authorized request.

        Raises:
            ApiFailure: it is refused.
        """
        resource = info.resource
        if resource is None:
            return answer_path(request, self.served, self._version)
        if not resource.is_stored:
            if info.verb not in resource.verbs:
                raise not_allowed()
            review = decode_review(request)
            check_type(review, resource)
            return json_answer(self.review(review, resource, user), 201)
        if info.is_write:
            return await self.write(request, info, resource)
        if info.subresource and info.subresource != "status":
            return await self.answer_connection(request, info, resource)
        if info.verb == "watch" or (info.name and read_flag(request, "watch")):
            return self._watch(request, info, resource)
        if info.verb == "list":
            return await self._list(request, info, resource)
        held = self.feed.get(resource, info.namespace, info.name)
        return json_answer(self.represent(request, resource)(held))

    async def write(
        self, request: HttpRequest, info: RequestInfo, resource: ApiResource
    ) -> HttpAnswer:
        """Refuse to change an object or a container.

        Raises:
            ApiFailure: always.
        """
        del request, info, resource
        raise ApiFailure(405, "MethodNotAllowed", self._read_only, {})

    async def answer_connection(
        self, request: HttpRequest, info: RequestInfo, resource: ApiResource
    ) -> HttpAnswer:
        """Answer a request for a connecting subresource of an object.

        Raises:
            ApiFailure: the object or its subresource does not exist.
        """
        held = self.feed.get(resource, info.namespace, info.name)
        connect = self._connect.get(f"{resource.plural}/{info.subresource}")
        if connect is None:
            raise unknown_path()
        return await connect(request, info, held)

    def review(self, review: Json, resource: ApiResource, user: str) -> Json:
        """Answer an access review with this server's own decision.

        Raises:
            ApiFailure: its spec is invalid.
        """
        if resource is USER_REVIEWS:
            masters = ("system:masters",) if user == ADMIN else ()
            groups = (*masters, "system:authenticated")
            return answer_user_review(resource, user, groups, self.feed.now())
        spec = read_spec(review, resource, ReviewSpec)
        if resource.plural == "selfsubjectrulesreviews":
            return answer_review(resource, spec, rules_status(READING))
        asked = reviewed_request(spec, self.served)
        why = self.authorize(user, asked)
        if why is None and asked.is_write:
            why = self._read_only
        return answer_review(resource, spec, access_status(why))

    async def _list(
        self,
        request: HttpRequest,
        info: RequestInfo,
        resource: ApiResource,
    ) -> HttpAnswer:
        representation = negotiate(request)
        selection = requested_selection(request, info, resource)
        version = _version(request)
        is_exact = request.parameter("resourceVersionMatch") == "Exact"
        if version is not None and version > self.feed.version:
            await asyncio.sleep(_TOO_LARGE_SECONDS)
            raise _too_large(version, self.feed.version)
        page = self.feed.list(
            resource,
            info.namespace,
            selection,
            limit=read_number(request, "limit") or 0,
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
            items = [partial_metadata(item) for item in page.items]
            return json_answer(
                list_of("PartialObjectMetadata", "meta.k8s.io/v1", metadata, items)
            )
        items = [without_type(_converted(resource, item)) for item in page.items]
        return json_answer(
            list_of(resource.kind, resource.group_version, metadata, items)
        )

    def represent(
        self, request: HttpRequest, resource: ApiResource, *, is_watch: bool = False
    ) -> Callable[[Json], Json]:
        """Return a function that converts objects to the representation asked for.

        Raises:
            ApiFailure: the representation is not supported.
        """
        representation = negotiate(request)
        is_first = True

        def represent(value: Json) -> Json:
            nonlocal is_first
            if representation.as_kind == "Table":
                metadata = {"resourceVersion": value["metadata"]["resourceVersion"]}
                made = self._table(
                    request, resource, [value], metadata, has_columns=is_first
                )
                is_first = not is_watch
                return made
            if representation.as_kind:
                return partial_metadata(value)
            return _converted(resource, value)

        return represent

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
            self.feed.now(),
            metadata=metadata,
            included=request.parameter("includeObject") or "Metadata",
            has_columns=has_columns,
        )

    def _watch(
        self,
        request: HttpRequest,
        info: RequestInfo,
        resource: ApiResource,
    ) -> HttpAnswer:
        represent = self.represent(request, resource, is_watch=True)
        selection = requested_selection(request, info, resource)
        wanted = request.parameter("sendInitialEvents")
        sends_initial = read_flag(request, "sendInitialEvents")
        has_bookmarks = read_flag(request, "allowWatchBookmarks")
        version = _version(request)
        starts_fresh = sends_initial or not version
        timeout = read_number(request, "timeoutSeconds")
        options = WatchOptions(
            timeout or DEFAULT_TIMEOUT_SECONDS,
            has_bookmarks,
            marks_initial_end=has_bookmarks
            and (sends_initial or (version == 0 and not wanted)),
        )
        try:
            watch = self.feed.watch(
                resource,
                info.namespace,
                selection,
                None if starts_fresh else version,
                starts_with_all=sends_initial or not wanted,
            )
        except ApiFailure as failure:
            return HttpStream(200, one_error(failure))
        return HttpStream(
            200, WatchLines(self.feed, resource, watch, options, represent).lines()
        )


def _converted(resource: ApiResource, value: Json) -> Json:
    return to_events_v1(value) if resource.group == EVENTS_V1.group else value


def requested_selection(
    request: HttpRequest, info: RequestInfo, resource: ApiResource
) -> Selection:
    """Return the selection of a list or watch.

    Raises:
        ApiFailure: a selector is invalid.
    """
    fields = request.parameter("fieldSelector")
    if info.name:
        fields = f"metadata.name={info.name}"
    return parse_selection(resource, request.parameter("labelSelector"), fields)


def _version(request: HttpRequest) -> int | None:
    return read_number(request, "resourceVersion", _LARGEST_VERSION)


def _too_large(wanted: int, current: int) -> ApiFailure:
    message = f"Timeout: Too large resource version: {wanted}, current: {current}"
    cause = {
        "reason": "ResourceVersionTooLarge",
        "message": "Too large resource version",
    }
    return ApiFailure(504, "Timeout", message, {"causes": [cause]}, retry_after=1)


def _forbidden(
    user: str, info: RequestInfo, resource: ApiResource, why: str
) -> ApiFailure:
    plural, group = resource.plural, resource.group
    named = qualified(plural, group) + (f' "{info.name}"' if info.name else "")
    below = f"/{info.subresource}" if info.subresource else ""
    scope = (
        f'in the namespace "{info.namespace}"'
        if info.namespace
        else "at the cluster scope"
    )
    message = (
        f'{named} is forbidden: User "{user}" cannot {info.verb} resource '
        f'"{plural}{below}" in API group "{group}" {scope}'
    )
    return ApiFailure(
        403,
        "Forbidden",
        f"{message}: {why}" if why else message,
        object_details(plural, info.name, group),
    )


def list_of(kind: str, version: str, metadata: Json, items: Sequence[Json]) -> Json:
    """Return a list of objects."""
    return {
        "kind": f"{kind}List",
        "apiVersion": version,
        "metadata": metadata,
        "items": items,
    }


def without_type(value: Json) -> Json:
    """Return an object without kind and apiVersion, as lists hold it."""
    return {key: value[key] for key in value if key not in {"kind", "apiVersion"}}
