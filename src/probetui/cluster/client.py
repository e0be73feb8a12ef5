"""A client of a Kubernetes API server: JSON in and out, lists in chunks, watches.

Responses are limited in size (`bounded_responses`) and in time, and not trusted to fit
the schema. Objects are dictionaries as the API sends them; the caller decodes them.
docs/decisions/cluster-client.md has the reasons for a client of our own.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import aclosing, asynccontextmanager
from datetime import timedelta
from enum import StrEnum
from functools import partial
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Any, Self
from urllib.parse import quote

import httpx2
import msgspec
from msgspec import Struct

from probetui import __version__
from probetui.cluster.bounded_responses import (
    LARGEST_LIST,
    LARGEST_OBJECT,
    MOST_PAGES,
    ObjectList,
    TooLargeError,
    decode,
    read_body,
    read_lines,
    too_large_object,
)
from probetui.cluster.credentials import (
    Credentials,
    impersonation_headers,
    make_tls_context,
)
from probetui.cluster.errors import (
    Access,
    ApiError,
    ClusterError,
    ExpiredError,
    ServerUnreachableError,
    api_error,
)
from probetui.cluster.kubeconfig import ClusterAccess
from probetui.ports import Clock
from probetui.safe_text import safe_line

Object = dict[str, Any]
"""An object as the API's JSON has it."""

CHUNK = 500
"""Objects of one answer to a list, as kubectl asks for."""

REQUEST_SECONDS = 60.0
"""How long a request may take with its answer, unless that is a stream.

Source: apiserver/pkg/server/config.go, v1.36.2, NewConfig, RequestTimeout.
"""

WATCH_PERIOD = timedelta(seconds=1)
"""A watch that has ended is not asked for again sooner."""

WATCH_SILENCE_SECONDS = 150.0
"""Without a line for so long a watch with bookmarks (each 60 s) is taken for dead."""

JSON = "application/json"
STRATEGIC_PATCH = "application/strategic-merge-patch+json"

MOST_RETRIES = 10
"""Source: client-go rest/request.go, v0.36.2, NewRequest, maxRetries."""

_TIMEOUT = httpx2.Timeout(30, connect=10)
_OK = range(200, 300)
_SWITCHING_PROTOCOLS = 101
_LONG_LINE = b"(a line of more than 8 MiB)"
"""Of a log, in place of what it is."""

_TOO_MANY_REQUESTS, _SERVER_ERROR = 429, 500
_ERROR_BODY = 2**20


class WatchEventType(StrEnum):
    """The type of a watch event; an ERROR is raised instead."""

    ADDED = "ADDED"
    MODIFIED = "MODIFIED"
    DELETED = "DELETED"
    BOOKMARK = "BOOKMARK"


class WatchEvent(Struct, frozen=True):
    """One event of a watch."""

    type: WatchEventType
    object: Object


class Resource(Struct, frozen=True):
    """A kind of object as paths name it; `group` is empty for the core."""

    plural: str
    group: str = ""
    version: str = "v1"
    is_namespaced: bool = True

    @property
    def rbac_name(self) -> str:
        """As RBAC and `kubectl auth can-i` name it."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    def path(self, namespace: str = "", name: str = "", subresource: str = "") -> str:
        """Return the path of an object, or of a list; no namespace means all."""
        parts = ["apis", self.group] if self.group else ["api"]
        parts.append(self.version)
        if namespace and self.is_namespaced:
            parts += ["namespaces", namespace]
        parts.append(self.plural)
        parts += [name] if name else []
        path = "/" + "/".join(quote(part, safe=":") for part in parts)
        return f"{path}/{subresource}" if subresource else path

    def access(
        self, verb: str, namespace: str = "", name: str = "", subresource: str = ""
    ) -> Access:
        """Return the right that a request needs."""
        resource = f"{self.rbac_name}/{subresource}" if subresource else self.rbac_name
        return Access(verb, resource, namespace, name, self.is_namespaced)


PODS = Resource("pods")
EVENTS = Resource("events")
NODES = Resource("nodes", is_namespaced=False)
LEASES = Resource("leases", "coordination.k8s.io")


class ApiClient:
    """Sends requests to one API server; an asynchronous context manager.

    Args:
        access: the server and the credentials.
        clock: says when credentials have expired.
        transport: another way to the server, for tests.
    """

    def __init__(
        self,
        access: ClusterAccess,
        clock: Clock,
        *,
        transport: httpx2.AsyncBaseTransport | None = None,
    ) -> None:
        self.access = access
        self._clock = clock
        self._transport = transport
        self.credentials = Credentials(access.user, access.cluster, clock)
        """Of each request; also for kubelets, which ask the API server about them."""
        self.on_wait: Callable[[ApiError], None] = _do_nothing
        """Called before a request waits for as long as the server asks."""
        self.on_left_out: Callable[[TooLargeError], None] = _do_nothing
        """Called when an object is left out of a list or a watch for its size."""
        self._http: httpx2.AsyncClient | None = None

    async def __aenter__(self) -> Self:
        """Open the client: load credentials; no request is sent yet."""
        self._http = self._open(
            self.access.cluster.server, await self.client_certificate()
        )
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        """Close all connections."""
        if self._http is not None:
            await self._http.aclose()

    async def client_certificate(self) -> tuple[str, str] | None:
        """Return the client's certificate and key as PEM texts, if it has them."""
        user = self.access.user
        if user.exec_credential is not None:
            await self.credentials.header()
            if self.credentials.exec_certificate is not None:
                return self.credentials.exec_certificate
        if user.cert_data is not None and user.key_data is not None:
            return user.cert_data, user.key_data
        return None

    def _open(
        self, base_url: str, certificate: tuple[str, str] | None
    ) -> httpx2.AsyncClient:
        cluster = self.access.cluster
        transport = self._transport
        if transport is None:
            transport = httpx2.AsyncHTTPTransport(
                verify=make_tls_context(cluster, certificate),
                trust_env=False,
                limits=httpx2.Limits(
                    max_connections=200, max_keepalive_connections=100
                ),
                proxy=cluster.proxy_url,
            )
        return httpx2.AsyncClient(
            base_url=base_url,
            headers=[
                ("User-Agent", f"probetui/{__version__}"),
                ("Accept-Encoding", "gzip"),
                *impersonation_headers(self.access.user),
            ],
            cookies=refuse_cookies(),
            transport=transport,
            timeout=_TIMEOUT,
            follow_redirects=False,  # the credentials are for this server alone
        )

    # -- objects

    async def get(
        self, resource: Resource, namespace: str, name: str, subresource: str = ""
    ) -> Object:
        """Return one object; raises `ApiError`, with code 404 if it does not exist."""
        return await self.request(
            "GET",
            resource.path(namespace, name, subresource),
            resource.access("get", namespace, name, subresource),
        )

    async def list(
        self,
        resource: Resource,
        namespace: str = "",
        *,
        label_selector: str = "",
        field_selector: str = "",
    ) -> ObjectList:
        """List the objects of one namespace or all namespaces, in chunks.

        Raises:
            TooLargeError: they are too many.
            ClusterError: as `request`.

        A list that expires between two chunks is read again in one request, which
        cannot expire.

        Source: client-go tools/pager/pager.go, v0.36.2, list, FullListIfExpired.
        """
        access = resource.access("list", namespace)
        params = _selectors(label_selector, field_selector) | {"limit": str(CHUNK)}
        objects = ObjectList(partial(self._leave_out, resource))
        while True:
            try:
                page = await self._read(
                    "GET",
                    resource.path(namespace),
                    access,
                    params=params,
                    limit=LARGEST_LIST,
                )
            except ExpiredError:
                if "continue" not in params:
                    raise
                del params["continue"], params["limit"]
                objects = ObjectList(partial(self._leave_out, resource))
                continue
            try:
                following = await objects.add_page(page)
            except TooLargeError as error:
                raise TooLargeError(
                    f"{self.access.cluster.server}: {error}; a namespace or labels "
                    "choose fewer objects"
                ) from error
            if not following:
                return objects
            params["continue"] = following

    async def objects(
        self, resource: Resource, namespace: str = "", *, field_selector: str = ""
    ) -> AsyncIterator[Object]:
        """Yield the objects of a list, however many: a chunk is in memory at a time.

        Raises:
            TooLargeError: a chunk is too large, or they do not end.
            ExpiredError: the list expired between two chunks.
            ClusterError: as `request`.
        """
        access = resource.access("list", namespace)
        params = _selectors("", field_selector) | {"limit": str(CHUNK)}
        for _ in range(MOST_PAGES):
            path = resource.path(namespace)
            page = await self._read(
                "GET", path, access, params=params, limit=LARGEST_LIST
            )
            chunk = ObjectList(partial(self._leave_out, resource))
            following = await chunk.add_page(page)
            async for json in chunk.objects():
                yield json
            if not following:
                return
            params["continue"] = following
        raise TooLargeError(
            f"{self.access.cluster.server}: a list of more than {MOST_PAGES} pages is "
            "not read"
        )

    async def watch(
        self,
        resource: Resource,
        namespace: str = "",
        *,
        resource_version: str,
        label_selector: str = "",
        field_selector: str = "",
        timeout_seconds: int = 300,
        on_begin: Callable[[], None] = lambda: None,
    ) -> AsyncIterator[WatchEvent]:
        """Yield the changes after a version until the server ends the watch.

        `on_begin` is called when the server has accepted it. Bookmarks are requested
        and yielded. The watch may end at any byte: callers resume from the newest
        `resourceVersion` that they have seen.

        Raises:
            ExpiredError: the version is too old; list again.
            ApiError: the server refused, by its response or by an ERROR event.
            ServerUnreachableError: there is no response, or the connection was lost.
        """
        access = resource.access("watch", namespace)
        params = _selectors(label_selector, field_selector) | {
            "watch": "1",
            "allowWatchBookmarks": "true",
            "resourceVersion": resource_version,
            "timeoutSeconds": str(timeout_seconds),
        }
        timeout = httpx2.Timeout(WATCH_SILENCE_SECONDS, connect=10)
        async with self.stream(
            resource.path(namespace), access, params=params, timeout=timeout
        ) as response:
            on_begin()
            async for line in _timely(read_lines(response, LARGEST_OBJECT)):
                if line is None:
                    self._leave_out(resource, too_large_object())
                    continue
                try:
                    event = _watch_event(line, access)
                except TooLargeError as error:
                    self._leave_out(resource, error)
                else:
                    yield event

    def _leave_out(self, resource: Resource, error: TooLargeError) -> None:
        self.on_left_out(TooLargeError(f"{resource.rbac_name}: {error}"))

    async def create(self, resource: Resource, namespace: str, body: Object) -> Object:
        """Create an object; raises `ApiError`, with code 409 if it exists."""
        access = resource.access("create", namespace)
        return await self.request("POST", resource.path(namespace), access, body=body)

    async def replace(
        self, resource: Resource, namespace: str, name: str, body: Object
    ) -> Object:
        """Replace an object; code 409 if its resourceVersion is not the newest."""
        access = resource.access("update", namespace, name)
        path = resource.path(namespace, name)
        return await self.request("PUT", path, access, body=body)

    async def patch(
        self,
        resource: Resource,
        namespace: str,
        name: str,
        body: Object,
        *,
        subresource: str = "",
        content_type: str = STRATEGIC_PATCH,
    ) -> Object:
        """Patch an object."""
        return await self.request(
            "PATCH",
            resource.path(namespace, name, subresource),
            resource.access("patch", namespace, name, subresource),
            body=body,
            content_type=content_type,
        )

    async def delete(
        self,
        resource: Resource,
        namespace: str,
        name: str,
        *,
        grace_period_seconds: int | None = None,
        uid: str = "",
    ) -> Object:
        """Delete an object; with `uid`, only if it has that uid (else code 409)."""
        options: Object = {"apiVersion": "v1", "kind": "DeleteOptions"}
        if grace_period_seconds is not None:
            options["gracePeriodSeconds"] = grace_period_seconds
        if uid:
            options["preconditions"] = {"uid": uid}
        access = resource.access("delete", namespace, name)
        path = resource.path(namespace, name)
        return await self.request("DELETE", path, access, body=options)

    # -- requests

    async def request(
        self,
        method: str,
        path: str,
        access: Access,
        *,
        params: Mapping[str, str] | None = None,
        body: Object | None = None,
        content_type: str = JSON,
    ) -> Object:
        """Send a request and return the object of its response.

        A response with Retry-After is retried then, a limited number of times.
        Source: client-go rest/with_retry.go, v0.36.2, checkWait.

        Raises:
            ApiError: the server refused.
            ServerUnreachableError: no answer, or one that is no JSON object.
        """
        data = await self._read(
            method,
            path,
            access,
            params=params,
            content=None if body is None else msgspec.json.encode(body),
            content_type=content_type,
            limit=LARGEST_OBJECT,
        )
        answer = decode(data)
        if not isinstance(answer, dict):
            raise ServerUnreachableError(
                f"{self.access.cluster.server}: the response is not a JSON object; "
                "is it an API server?"
            )
        return answer

    async def _read(
        self,
        method: str,
        path: str,
        access: Access,
        *,
        params: Mapping[str, str] | None = None,
        content: bytes | None = None,
        content_type: str = JSON,
        limit: int,
    ) -> bytearray:
        """Send a request and return the body; raises the errors of `request`."""
        headers = {"Accept": JSON}
        if content is not None:
            headers["Content-Type"] = content_type
        retries = 0
        while True:
            try:
                async with (
                    self._deadline(),
                    self._send(
                        method,
                        path,
                        access,
                        params=params,
                        content=content,
                        headers=headers,
                    ) as response,
                ):
                    return await read_body(response, limit)
            except TooLargeError as error:
                raise TooLargeError(f"{self.access.cluster.server}: {error}") from error
            except ApiError as error:
                if retries == MOST_RETRIES or not _is_to_be_retried(error):
                    raise
                retries += 1
                await self._wait(error)

    @asynccontextmanager
    async def _deadline(self, *, is_unlimited: bool = False) -> AsyncIterator[None]:
        """Limit the whole time of a request, however often data arrives."""
        try:
            async with asyncio.timeout(None if is_unlimited else REQUEST_SECONDS):
                yield
        except TimeoutError as error:
            raise ServerUnreachableError(
                f"{self.access.cluster.server}: no complete answer within "
                f"{REQUEST_SECONDS:g}s"
            ) from error

    async def _wait(self, error: ApiError) -> None:
        """Wait for the time of Retry-After."""
        self.on_wait(error)
        wait = timedelta(seconds=error.retry_after or 0)
        await self._clock.sleep_until(self._clock.now() + wait)

    async def text(
        self,
        path: str,
        access: Access,
        *,
        params: Mapping[str, str] | None = None,
        limit: int = LARGEST_OBJECT,
    ) -> bytes:
        """Return a response body as text, for `/version` or metrics."""
        async with (
            self._deadline(),
            self.stream(path, access, params=params) as response,
        ):
            return bytes(await read_body(response, limit))

    @asynccontextmanager
    async def stream(
        self,
        path: str,
        access: Access,
        *,
        params: Mapping[str, str] | None = None,
        timeout: httpx2.Timeout | None = None,  # noqa: ASYNC109  # httpx2' own, of reads
    ) -> AsyncIterator[httpx2.Response]:
        """Open a streamed response; raises the errors of `request`."""
        async with self._send(
            "GET", path, access, params=params, timeout=timeout
        ) as response:
            yield response

    @asynccontextmanager
    async def upgrade(
        self, method: str, path: str, access: Access, headers: Mapping[str, str]
    ) -> AsyncIterator[httpx2.Response]:
        """Open an upgraded connection; raises the errors of `request`.

        The response's extension `network_stream` is the connection. `path` includes the
        query.
        """
        async with self._send(
            method, path, access, headers={"Connection": "Upgrade", **headers}
        ) as response:
            if response.status_code != _SWITCHING_PROTOCOLS:
                raise ServerUnreachableError(
                    f"{self.access.cluster.server}: the response to "
                    f"{access.description} does not switch protocols"
                )
            yield response

    async def log_lines(
        self, namespace: str, pod: str, params: Mapping[str, str]
    ) -> AsyncGenerator[bytes]:
        """Yield the lines of a container's log until it ends."""
        access = PODS.access("get", namespace, pod, "log")
        path = PODS.path(namespace, pod, "log")
        timeout = httpx2.Timeout(None, connect=10)
        async with self.stream(path, access, params=params, timeout=timeout) as answer:
            async for line in read_lines(answer, LARGEST_OBJECT):
                yield _LONG_LINE if line is None else line

    async def forward(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request that another client has built, with the credentials.

        One that a busy server refuses is sent again when it says.

        Returns:
            The response, whatever its status, its body unread.

        Raises:
            ClusterError: the credentials cannot be loaded.
            httpx2.HTTPError: there is no response.
        """
        if self._http is None:
            raise RuntimeError("the client is not open")
        request.headers = httpx2.Headers(
            [
                *request.headers.multi_items(),
                *impersonation_headers(self.access.user),
            ]
        )
        server_name = self.access.cluster.tls_server_name
        if server_name:
            request.extensions = {**request.extensions, "sni_hostname": server_name}
        access = Access(request.method.lower(), request.url.path)
        for _ in range(MOST_RETRIES):
            response = await self.credentials.send(self._http, request)
            error = api_error(
                response.status_code,
                None,
                access,
                retry_after=response.headers.get("Retry-After"),
            )
            if error.code != _TOO_MANY_REQUESTS or error.retry_after is None:
                return response
            await response.aclose()
            await self._wait(error)
        return await self.credentials.send(self._http, request)

    @asynccontextmanager
    async def _send(
        self,
        method: str,
        path: str,
        access: Access,
        *,
        params: Mapping[str, str] | None = None,
        content: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        timeout: httpx2.Timeout | None = None,  # noqa: ASYNC109
    ) -> AsyncIterator[httpx2.Response]:
        http = self._http
        if http is None:
            raise RuntimeError("the client is not open")
        name = self.access.cluster.tls_server_name
        timeout = _TIMEOUT if timeout is None else timeout
        # The response to a followed log may only begin with its first line.
        is_patient = timeout.read is None
        try:
            request = http.build_request(
                method,
                path,
                params=params,
                content=content,
                headers=headers,
                timeout=timeout,
                extensions={"sni_hostname": name} if name else None,
            )
            async with self._deadline(is_unlimited=is_patient):
                response = await self.credentials.send(http, request)
            try:
                code = response.status_code
                if code not in _OK and code != _SWITCHING_PROTOCOLS:
                    async with self._deadline():
                        data = await read_body(response, _ERROR_BODY)
                    raise api_error(
                        response.status_code,
                        decode(data),
                        access,
                        retry_after=response.headers.get("Retry-After"),
                    )
                yield response
            finally:
                await response.aclose()
        except (
            httpx2.HTTPError,
            httpx2.InvalidURL,
            httpx2.StreamError,
            OSError,
        ) as error:
            raise ServerUnreachableError(
                f"{self.access.cluster.server}: {_cause(error)}"
            ) from error


def refuse_cookies() -> CookieJar:
    """Return a cookie jar that stores nothing: a server could fill it."""
    return CookieJar(DefaultCookiePolicy(allowed_domains=()))


def _is_to_be_retried(error: ApiError) -> bool:
    is_passing = error.code == _TOO_MANY_REQUESTS or error.code >= _SERVER_ERROR
    return is_passing and error.retry_after is not None


def _do_nothing(_: ClusterError) -> None:
    """Do nothing."""


def _selectors(label_selector: str, field_selector: str) -> dict[str, str]:
    both = {"labelSelector": label_selector, "fieldSelector": field_selector}
    return {name: value for name, value in both.items() if value}


async def _timely(lines: AsyncGenerator[bytes | None]) -> AsyncIterator[bytes | None]:
    """Yield the lines of a watch, each within the time limit."""
    async with aclosing(lines):
        while True:
            try:
                async with asyncio.timeout(WATCH_SILENCE_SECONDS):
                    line = await anext(lines)
            except StopAsyncIteration:
                return
            except TimeoutError as error:
                raise ServerUnreachableError(
                    f"a watch without a line for {WATCH_SILENCE_SECONDS:.0f}s"
                ) from error
            yield line


def _watch_event(line: bytes, access: Access) -> WatchEvent:
    event = decode(line)
    inner = event.get("object") if isinstance(event, dict) else None
    if not isinstance(event, dict) or not isinstance(inner, dict):
        raise ServerUnreachableError("a line of a watch is not a watch event")
    kind = event.get("type")
    if kind == "ERROR":
        code = inner.get("code")
        raise api_error(code if isinstance(code, int) else 500, inner, access)
    try:
        return WatchEvent(WatchEventType(str(kind)), inner)
    except ValueError as error:
        text = safe_line(str(kind), limit=50)
        raise ServerUnreachableError(f"a watch event of type {text}") from error


def _cause(error: Exception) -> str:
    """Return the message of an error, or of its cause."""
    text = str(error) or str(error.__cause__ or "") or type(error).__name__
    return safe_line(text, limit=300)
