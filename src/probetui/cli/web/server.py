"""`--web`: the HTTP server of the screens, on the session's event loop.

Loopback only, and for one browser at a time: the address that is printed has a token,
which is exchanged once for a cookie and leaves the address. A request is refused unless
its Host is this machine's and it has the cookie; a WebSocket, unless its Origin is this
server as well. Cookies of a host go to all of its ports, but not to other paths: the
path of a session is random.

There is a page of ours, the emulator of `textual-serve` (its script and its style
sheet), and the WebSocket of each tab; no folder, nothing to download, no shell.
"""

from __future__ import annotations

import asyncio
import importlib.util
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager
from http.cookies import CookieError, SimpleCookie
from importlib.resources import files
from typing import TypeAlias

from probetui.cli.options import WebOptions
from probetui.cli.web.tab import LONGEST_MESSAGE, Tab
from probetui.cluster.serving.http_server import (
    HttpAnswer,
    HttpLimits,
    HttpRequest,
    HttpResponse,
    HttpServerAddress,
    serve_http,
)
from probetui.cluster.serving.websocket import (
    WebSocket,
    is_websocket,
    websocket_tunnel,
)
from probetui.errors import UsageError

LOOPBACK = "127.0.0.1"
MOST_TABS = 8
"""Each draws on the event loop that runs the probes."""

NEEDS_EXTRA = "--web needs the extra `web`: pip install 'textual-serve>=1.1.3,<2'"
_EMULATOR = "textual_serve"
_COOKIE = "probetui"
_TOKEN_BYTES, _PATH_BYTES = 16, 8
_HOSTS = (LOOPBACK, "localhost", "[::1]")
"""What this server may be called: names of other machines are of somebody's DNS."""

_LIMITS = HttpLimits(
    connections=64,
    strangers=16,
    stranger_seconds=5,
    body_bytes=1 << 10,
    stranger_body_bytes=1 << 10,
    credentials="cookie",
)
_HTML = "text/html; charset=utf-8"
_CSS = "text/css; charset=utf-8"
_SCRIPT = "text/javascript; charset=utf-8"
_TEXT = "text/plain; charset=utf-8"

_FILES = {
    "page.css": (__package__, "page.css", _CSS),
    "page.js": (__package__, "page.js", _SCRIPT),
    "xterm.css": (_EMULATOR, "static/css/xterm.css", _CSS),
    "textual.js": (_EMULATOR, "static/js/textual.js", _SCRIPT),
}
"""What the page loads: package, file and content type."""

ShowTab: TypeAlias = Callable[[Tab], Awaitable[None]]
"""Shows a screen in a tab until either is over."""


def check_extra() -> None:
    """Check that the emulator is installed.

    Raises:
        UsageError: it is not; says how it is.
    """
    if importlib.util.find_spec(_EMULATOR) is None:
        raise UsageError(NEEDS_EXTRA)


@asynccontextmanager
async def serve_tabs(
    show: ShowTab, web: WebOptions, announce: Callable[[str], None]
) -> AsyncIterator[None]:
    """Serve tabs while the context lasts; at its end they are closed.

    Args:
        show: shows a screen in a tab. It is never cancelled, but told by `Tab.lost`,
            and waited for: what it has started may have to be ended.
        web: the port.
        announce: tells the user an address to open; called again once that is used up.

    Raises:
        UsageError: the port cannot be used.
    """
    screens = _Screens(show, announce)
    server = serve_http(screens.handle, LOOPBACK, web.web_port, limits=_LIMITS)
    try:
        address = await server.__aenter__()
    except OSError as error:
        raise UsageError(f"--web-port {web.web_port}: {error.strerror}") from error
    try:
        screens.begin(address)
        yield
    finally:
        await screens.close()
        await server.__aexit__(None, None, None)


class _Screens:
    """The tabs of a session, and who may open them."""

    def __init__(self, show: ShowTab, announce: Callable[[str], None]) -> None:
        self._show = show
        self._announce = announce
        self._path = f"/{secrets.token_urlsafe(_PATH_BYTES)}/"
        self._token = ""
        self._cookies: set[str] = set()
        self._hosts: frozenset[str] = frozenset()
        self._url = ""
        self._tabs: dict[Tab, asyncio.Task[None]] = {}
        self._is_closing = False

    def begin(self, address: HttpServerAddress) -> None:
        """Take requests to an address, and announce it."""
        self._hosts = frozenset(f"{host}:{address.port}" for host in _HOSTS)
        self._url = f"{address.url}{self._path}"
        self._renew_token()

    async def close(self) -> None:
        """Close the tabs, and wait for the screens in them to end."""
        self._is_closing = True
        for tab in self._tabs:
            tab.close()
        if self._tabs:
            await asyncio.wait(self._tabs.values())

    async def handle(self, request: HttpRequest) -> HttpAnswer:
        """Answer a request."""
        answer = self._answer(request)
        if isinstance(answer, HttpResponse):
            host = request.headers.get("host", "")
            policy = _policy(host if host in self._hosts else "")
            return HttpResponse(
                answer.status,
                answer.body,
                answer.content_type,
                {**_HEADERS, "Content-Security-Policy": policy, **answer.headers},
            )
        return answer

    def _answer(self, request: HttpRequest) -> HttpAnswer:
        if request.headers.get("host") not in self._hosts:
            return _refusal(403, "this server is called by another name")
        if request.method not in {"GET", "HEAD"}:
            return _refusal(405, "only GET")
        is_known = any(_is_same(given, self._cookies) for given in _cookies(request))
        if request.path == self._path and request.parameter("token"):
            return self._enter(request, is_known=is_known)
        if not is_known:
            return _refusal(403, "open the address that probetui has printed")
        return self._answer_known(request)

    def _enter(self, request: HttpRequest, *, is_known: bool) -> HttpAnswer:
        """Exchange the token for a cookie; the page removes it from the address."""
        if is_known:  # an address that was opened again
            return HttpResponse(200, _own_file("entry.html"), _HTML)
        if request.method != "GET" or not _is_same(
            request.parameter("token"), {self._token}
        ):
            return _refusal(
                403, "this address is used up; open the newest that probetui printed"
            )
        cookie = secrets.token_urlsafe(_TOKEN_BYTES)
        self._cookies.add(cookie)
        self._renew_token()
        value = f"{_COOKIE}={cookie}; Path={self._path}; HttpOnly; SameSite=Strict"
        return HttpResponse(200, _own_file("entry.html"), _HTML, {"Set-Cookie": value})

    def _answer_known(self, request: HttpRequest) -> HttpAnswer:
        name = request.path.removeprefix(self._path)
        if request.path == self._path:
            socket = f"ws://{request.headers['host']}{self._path}tab"
            page = _own_file("page.html").replace(b"@SOCKET@", socket.encode())
            return HttpResponse(200, page, _HTML)
        if name == "tab":
            return self._open(request)
        if name in _FILES:
            package, path, kind = _FILES[name]
            return HttpResponse(200, (files(package) / path).read_bytes(), kind)
        return _refusal(404, "not found")

    def _open(self, request: HttpRequest) -> HttpAnswer:
        if self._is_closing:
            return _refusal(410, "The session has ended.")
        if len(self._tabs) >= MOST_TABS:
            return _refusal(503, f"{MOST_TABS} screens are open already.")
        if not is_websocket(request):  # the page asks whether it may
            return HttpResponse(200, b"This screen is closed.\n", _TEXT)
        if request.headers.get("origin") != f"http://{request.headers['host']}":
            return _refusal(403, "a page of another origin")

        async def serve(socket: WebSocket) -> None:
            if self._is_closing:
                return
            tab = Tab(socket, request)
            # Not in the task of the connection, which is cancelled.
            showing = asyncio.create_task(self._show_in(tab))
            self._tabs[tab] = showing
            showing.add_done_callback(lambda _: self._tabs.pop(tab))
            await tab.carry()

        return websocket_tunnel(request, "", serve, LONGEST_MESSAGE)

    async def _show_in(self, tab: Tab) -> None:
        try:
            await self._show(tab)
        finally:
            tab.close()

    def _renew_token(self) -> None:
        self._token = secrets.token_urlsafe(_TOKEN_BYTES)
        self._announce(f"{self._url}?token={self._token}")


_HEADERS: Mapping[str, str] = {
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}


def _policy(host: str) -> str:
    """Return the policy of the page, which loads from this server alone.

    The emulator makes style elements for its colours and sizes.
    """
    own_socket = f" ws://{host}" if host else ""
    return (
        "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; "
        f"connect-src 'self'{own_socket}; base-uri 'none'; form-action 'none'; "
        "frame-ancestors 'none'"
    )


def _refusal(status: int, why: str) -> HttpResponse:
    return HttpResponse(status, f"{why}\n".encode(), _TEXT)


def _own_file(name: str) -> bytes:
    return (files(__package__) / name).read_bytes()


def _cookies(request: HttpRequest) -> Iterator[str]:
    """Yield the values of our cookie that a request has."""
    try:
        morsel = SimpleCookie(request.headers.get("cookie", "")).get(_COOKIE)
    except CookieError:
        return
    if morsel is not None:
        yield morsel.value


def _is_same(given: str, known: set[str]) -> bool:
    """Return whether a secret is a known one; takes as long wherever they differ."""
    encoded = given.encode()
    same = [secrets.compare_digest(encoded, secret.encode()) for secret in known]
    return any(same)
