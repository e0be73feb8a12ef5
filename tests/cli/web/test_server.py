"""The server of `--web`: who gets in, what there is, and what is refused."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from http.cookies import SimpleCookie

import httpx2
import pytest
from msgspec import Struct

from probetui.cli.options import WebOptions
from probetui.cli.web.server import MOST_TABS, check_extra, serve_tabs
from probetui.cli.web.tab import LONGEST_MESSAGE, Tab
from probetui.cluster.serving.websocket import WebSocket
from probetui.errors import UsageError

KEY = "dGhlIHNhbXBsZSBub25jZQ=="


class Served(Struct):
    """A server with tabs in which nothing is drawn."""

    addresses: list[str]
    tabs: list[Tab]
    client: httpx2.AsyncClient

    @property
    def url(self) -> str:
        """The address without its token."""
        return self.addresses[0].partition("?")[0]

    @property
    def host(self) -> str:
        """The value of a browser's Host."""
        return self.url.split("/")[2]

    async def get(self, path: str = "", **headers: str) -> httpx2.Response:
        """Get a path of the session."""
        return await self.client.get(self.url + path, headers=headers)

    async def enter(self) -> str:
        """Exchange the newest token, and return the cookie."""
        answer = await self.client.get(self.addresses[-1])
        assert answer.status_code == 200
        return answer.headers["set-cookie"].partition(";")[0]

    @asynccontextmanager
    async def tab(
        self, query: str = "", **headers: str
    ) -> AsyncIterator[tuple[str, WebSocket]]:
        """Open a WebSocket as a browser does; yield the status line and the socket."""
        reader, writer = await asyncio.open_connection(*self.host.split(":"))
        path = self.url.removeprefix(f"http://{self.host}")
        sent = {
            "Host": self.host,
            "Upgrade": "websocket",
            "Connection": "Upgrade",
            "Sec-WebSocket-Version": "13",
            "Sec-WebSocket-Key": KEY,
            "Origin": f"http://{self.host}",
            **headers,
        }
        lines = [f"GET {path}tab{query} HTTP/1.1"]
        lines += [f"{name}: {value}" for name, value in sent.items()]
        writer.write("\r\n".join([*lines, "", ""]).encode())
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        yield head.partition("\r\n")[0], WebSocket(b"", reader, writer, is_client=True)
        writer.close()


@pytest.fixture
async def served() -> AsyncIterator[Served]:
    addresses: list[str] = []
    tabs: list[Tab] = []

    async def show(tab: Tab) -> None:
        tabs.append(tab)
        tab.write("drawn")
        await tab.lost.wait()

    async with (
        httpx2.AsyncClient(trust_env=False) as client,
        serve_tabs(show, WebOptions(), addresses.append),
    ):
        yield Served(addresses, tabs, client)


async def test_a_token_is_exchanged_once_for_a_cookie_of_the_path(
    served: Served,
) -> None:
    answer = await served.client.get(served.addresses[0])
    cookie = SimpleCookie(answer.headers["set-cookie"])["probetui"]
    assert cookie["httponly"]
    assert cookie["samesite"] == "Strict"
    assert served.url.endswith(cookie["path"])
    assert "token" not in answer.text
    again = await httpx2.AsyncClient(trust_env=False).get(served.addresses[0])
    assert again.status_code == 403
    assert len(served.addresses) == 2


async def test_the_next_address_is_for_another_browser(served: Served) -> None:
    first = await served.enter()
    served.client.cookies.clear()
    second = await served.enter()
    assert first != second
    for cookie in (first, second):
        served.client.cookies.clear()
        assert (await served.get(Cookie=cookie)).status_code == 200


async def test_a_request_for_the_head_alone_does_not_use_the_token_up(
    served: Served,
) -> None:
    answer = await served.client.head(served.addresses[0])
    assert answer.status_code == 403
    assert (await served.client.get(served.addresses[0])).status_code == 200


@pytest.mark.parametrize("path", ["", "page.js", "textual.js", "tab", "nothing"])
@pytest.mark.parametrize(
    "cookie",
    [
        pytest.param("", id="no-cookie"),
        pytest.param("probetui=wrong", id="a-wrong-one"),
        pytest.param("probetui=\u00e9", id="no-ascii"),
        pytest.param("=;;,=", id="no-cookie-at-all"),
    ],
)
async def test_nothing_is_shown_without_the_cookie(
    cookie: str, path: str, served: Served
) -> None:
    headers = {b"Cookie": cookie.encode()} if cookie else {}
    answer = await served.client.get(served.url + path, headers=headers)
    assert answer.status_code == 403


@pytest.mark.parametrize(
    "path",
    [
        "static/",
        "static/js/textual.js",
        "download/x",
        "server.py",
        "../",
        "%2e%2e/server.py",
        "page.html",
    ],
)
async def test_there_is_no_folder_and_no_download(path: str, served: Served) -> None:
    cookie = await served.enter()
    assert (await served.get(path, Cookie=cookie)).status_code in {403, 404}


async def test_the_page_loads_from_this_server_alone(served: Served) -> None:
    cookie = await served.enter()
    answer = await served.get(Cookie=cookie)
    policy = answer.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; script-src 'self'; ")
    assert f"connect-src 'self' ws://{served.host};" in policy
    assert answer.headers["referrer-policy"] == "no-referrer"
    assert "http://" not in answer.text
    assert "https://" not in answer.text
    assert f'"ws://{served.host}' in answer.text
    for name in ("page.js", "page.css", "textual.js", "xterm.css"):
        loaded = await served.get(name, Cookie=cookie)
        assert loaded.status_code == 200
        assert loaded.headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize(
    ("host", "status"),
    [
        pytest.param("localhost", 200, id="this-machine-by-name"),
        pytest.param("[::1]", 200, id="this-machine-by-its-other-address"),
        pytest.param("rebound.example", 403, id="a-name-of-somebody-elses"),
        pytest.param("127.0.0.1.nip.io", 403, id="a-name-that-looks-like-it"),
    ],
)
async def test_the_server_answers_to_the_names_of_this_machine(
    host: str, status: int, served: Served
) -> None:
    cookie = await served.enter()
    port = served.host.split(":")[1]
    answer = await served.get(Cookie=cookie, Host=f"{host}:{port}")
    assert answer.status_code == status


async def test_the_port_belongs_to_the_name(served: Served) -> None:
    cookie = await served.enter()
    assert (await served.get(Cookie=cookie, Host="127.0.0.1:1")).status_code == 403


async def test_only_reading_is_possible(served: Served) -> None:
    cookie = await served.enter()
    answer = await served.client.post(served.url, headers={"Cookie": cookie})
    assert answer.status_code == 405


@pytest.mark.parametrize(
    ("change", "line"),
    [
        pytest.param({}, "HTTP/1.1 101 Switching Protocols", id="our-page"),
        pytest.param(
            {"Origin": "http://127.0.0.1:1"}, "HTTP/1.1 403 Forbidden", id="other-port"
        ),
        pytest.param(
            {"Origin": "null"}, "HTTP/1.1 403 Forbidden", id="a-file-of-this-machine"
        ),
        pytest.param({"Origin": ""}, "HTTP/1.1 403 Forbidden", id="no-origin"),
        pytest.param({"Cookie": ""}, "HTTP/1.1 403 Forbidden", id="no-cookie"),
        pytest.param({"Host": "a.example"}, "HTTP/1.1 403 Forbidden", id="other-host"),
    ],
)
async def test_a_screen_is_for_our_page(
    change: dict[str, str], line: str, served: Served
) -> None:
    headers = {"Cookie": await served.enter(), **change}
    async with served.tab(**headers) as (answered, _):
        assert answered == line


async def test_a_tab_gets_what_is_drawn_and_says_its_size(served: Served) -> None:
    cookie = await served.enter()
    query = "?width=120&height=40"
    async with served.tab(query, Cookie=cookie) as (_, socket):
        assert await socket.receive() == b"drawn"
        assert served.tabs[0].size == (120, 40)
        wrongs: list[object] = ["x", 0, -1, 10**9, True, None, [], {}]
        for wrong in wrongs:
            said = ["resize", {"width": wrong, "height": 24}]
            await socket.send(json.dumps(said).encode())
        await socket.send(b'["resize", {"width": 100, "height": 30}]')
        served.tabs[0].write("more")
        assert await socket.receive() == b"more"
    await served.tabs[0].lost.wait()
    assert served.tabs[0].size == (100, 30)


@pytest.mark.parametrize(
    "message",
    [
        pytest.param(b"x" * (LONGEST_MESSAGE + 1), id="too-long"),
        pytest.param(b"{", id="no-json"),
        pytest.param(b"[" * LONGEST_MESSAGE, id="too-deep"),
    ],
)
async def test_what_no_emulator_sends_closes_the_tab(
    message: bytes, served: Served
) -> None:
    async with served.tab(Cookie=await served.enter()) as (_, socket):
        assert await socket.receive() == b"drawn"
        await socket.send(message)
        assert await socket.receive() is None
        await served.tabs[0].lost.wait()


async def test_a_browser_that_takes_nothing_is_waited_for_and_then_left(
    served: Served,
) -> None:
    async with served.tab(Cookie=await served.enter()) as (_, socket):
        assert await socket.receive() == b"drawn"
        tab = served.tabs[0]
        assert tab.is_writable()
        while tab.is_writable():
            tab.write("x" * LONGEST_MESSAGE)
        for _ in range(1 << 9):
            tab.write("x" * LONGEST_MESSAGE)
        await tab.lost.wait()


async def test_there_is_an_end_to_the_tabs(served: Served) -> None:
    cookie = await served.enter()
    async with asyncio.TaskGroup() as opening, asyncio.timeout(30):
        stop, drawn = asyncio.Event(), asyncio.Semaphore(0)

        async def hold() -> None:
            async with served.tab(Cookie=cookie) as (_, socket):
                assert await socket.receive() == b"drawn"
                drawn.release()
                await stop.wait()

        for _ in range(MOST_TABS):
            opening.create_task(hold())
        for _ in range(MOST_TABS):
            await drawn.acquire()
        async with served.tab(Cookie=cookie) as (line, _):
            assert line == "HTTP/1.1 503 Service Unavailable"
        answer = await served.get("tab", Cookie=cookie)
        assert answer.text == f"{MOST_TABS} screens are open already.\n"
        stop.set()


async def test_tabs_are_closed_with_the_server() -> None:
    addresses: list[str] = []
    ended = asyncio.Event()

    async def show(tab: Tab) -> None:
        await tab.lost.wait()
        ended.set()

    async with httpx2.AsyncClient(trust_env=False) as client:
        async with serve_tabs(show, WebOptions(), addresses.append):
            served = Served(addresses, [], client)
            async with served.tab(Cookie=await served.enter()):
                pass
        assert ended.is_set()
        with pytest.raises(httpx2.ConnectError):
            await client.get(addresses[0])


async def test_a_port_in_use_is_an_error_of_usage(served: Served) -> None:
    web = WebOptions(web_port=int(served.host.split(":")[1]))

    async def show(_tab: Tab) -> None:
        """Show nothing."""

    with pytest.raises(UsageError, match=r"--web-port \d+: .* in use"):
        async with serve_tabs(show, web, served.addresses.append):
            pass


def test_without_the_emulator_an_error_says_how_to_get_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _name: None)
    with pytest.raises(UsageError, match=r"pip install 'textual-serve"):
        check_extra()
