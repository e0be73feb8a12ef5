"""Manifests from URLs, with servers in the test."""

from __future__ import annotations

import asyncio
import base64
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from probetui.cli import urls
from probetui.cli.files import SourceReader, UrlError
from probetui.cli.pods import ManifestOptions, load_pods
from probetui.cli.urls import fetch, fetch_now
from probetui.errors import ManifestError
from probetui.manifest.yaml.parser import MAX_BYTES
from tests.probers.peers import CERTIFICATES

POD = b"""\
apiVersion: v1
kind: Pod
metadata: {name: web}
spec: {containers: [{name: app, image: busybox}]}
"""

Answer = Callable[[asyncio.StreamWriter], Awaitable[None]]


class Server:
    """An HTTP server on the loopback; `requests` has the head of each request."""

    def __init__(self, scheme: str = "http") -> None:
        self.scheme = scheme
        self.port = 0
        self.requests: list[str] = []
        self.answers: dict[str, Answer | bytes] = {}

    def url(self, path: str = "/pod.yaml", user: str = "") -> str:
        return f"{self.scheme}://{user}127.0.0.1:{self.port}{path}"

    async def answer(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            self.requests.append(head)
            wanted = self.answers.get(head.split()[1].partition("?")[0], b"")
            if isinstance(wanted, bytes):
                writer.write(wanted)
                await writer.drain()
            else:
                await wanted(writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            return
        finally:
            writer.close()


@asynccontextmanager
async def serving(tls: ssl.SSLContext | None = None) -> AsyncIterator[Server]:
    server = Server("http" if tls is None else "https")
    listening = await asyncio.start_server(server.answer, "127.0.0.1", 0, ssl=tls)
    server.port = listening.sockets[0].getsockname()[1]
    try:
        yield server
    finally:
        listening.close()


def response(body: bytes, status: str = "200 OK", **headers: str) -> bytes:
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", "Connection: close"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def redirect(location: str) -> bytes:
    return response(b"", "302 Found", Location=location)


async def problem_of(url: str, **options: bool) -> str:
    with pytest.raises(UrlError) as raised:
        await fetch(url, **options)
    return str(raised.value)


class TestBounds:
    async def test_the_body_is_returned(self) -> None:
        async with serving() as server:
            server.answers["/pod.yaml"] = response(POD)

            assert await fetch(server.url()) == POD

    async def test_reading_stops_at_the_size_limit(self) -> None:
        async def flood(writer: asyncio.StreamWriter) -> None:
            writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
            for _ in range(2 * MAX_BYTES // 65536):
                writer.write(b"#" * 65536)
                await writer.drain()

        async with serving() as server:
            server.answers["/pod.yaml"] = flood

            assert len(await fetch(server.url())) == MAX_BYTES + 1

    async def test_a_server_that_never_finishes_times_out(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(urls, "FETCH_SECONDS", 0.5)

        async def drip(writer: asyncio.StreamWriter) -> None:
            writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
            while True:
                writer.write(b"#")
                await writer.drain()
                await asyncio.sleep(0.05)

        async with serving() as server:
            server.answers["/pod.yaml"] = drip

            problem = await problem_of(server.url())

        assert problem == f"{server.url()}: no answer within 0.5s"

    async def test_ten_redirects_are_followed_and_no_more(self) -> None:
        async with serving() as server:
            for number in range(12):
                server.answers[f"/{number}"] = redirect(f"/{number + 1}")
            server.answers["/12"] = response(POD)

            assert await fetch(server.url("/2")) == POD
            problem = await problem_of(server.url("/1"))

        assert problem == f"{server.url('/1')}: more than 10 redirects"

    async def test_a_compressed_body_is_refused(self) -> None:
        async with serving() as server:
            server.answers["/pod.yaml"] = response(POD, Content_Encoding="gzip")

            assert (await problem_of(server.url())).endswith("it is compressed (gzip)")
            assert "accept-encoding: identity" in server.requests[0].lower()

    @pytest.mark.parametrize(
        ("path", "answer", "expected"),
        [
            pytest.param(
                "/a", response(b"", "404 Not Found"), "404 Not Found", id="status"
            ),
            pytest.param("/b", redirect("file:///etc/passwd"), "file://", id="scheme"),
            pytest.param("/c", b"", "disconnected", id="nothing"),
        ],
    )
    async def test_errors_name_the_url(
        self, path: str, answer: bytes, expected: str
    ) -> None:
        async with serving() as server:
            server.answers[path] = answer

            problem = await problem_of(server.url(path))

        assert problem.startswith(f"{server.url(path)}: ")
        assert expected in problem

    async def test_a_refused_connection(self) -> None:
        async with serving() as server:
            url = server.url()

        assert (await problem_of(url)).startswith(f"{url}: ")

    async def test_it_can_be_awaited_in_a_running_loop(self) -> None:
        async with serving() as server:
            server.answers["/pod.yaml"] = response(POD)

            assert await asyncio.to_thread(fetch_now, server.url()) == POD


class TestCredentials:
    BASIC = "authorization: basic " + base64.b64encode(b"me:s3cret-word").decode()

    async def test_they_are_sent_to_the_host_of_the_url_and_not_printed(self) -> None:
        async with serving() as server:
            server.answers["/pod.yaml"] = response(b"", "403 Forbidden")

            problem = await problem_of(server.url(user="me:s3cret-word@"))

        assert self.BASIC.lower() in server.requests[0].lower()
        assert problem == (
            f"http://me:***@127.0.0.1:{server.port}/pod.yaml: 403 Forbidden"
        )

    async def test_a_redirect_to_another_host_does_not_carry_them(self) -> None:
        async with serving() as other, serving() as server:
            server.answers["/pod.yaml"] = response(
                b"", "302 Found", Location=other.url(), Set_Cookie="a=b"
            )
            other.answers["/pod.yaml"] = response(POD)

            assert await fetch(server.url(user="me:s3cret-word@")) == POD

        (request,) = other.requests
        assert "authorization" not in request.lower()

    async def test_a_token_in_the_url_is_not_printed(self) -> None:
        async with serving() as server:
            problem = await problem_of(server.url("/none?token=abcdef123456"))

        assert "abcdef" not in problem
        assert "/none?token=***: " in problem


class TestTls:
    @pytest.fixture
    def tls(self) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(CERTIFICATES / "selfsigned.pem")
        return context

    async def test_a_certificate_is_verified(self, tls: ssl.SSLContext) -> None:
        async with serving(tls) as server:
            server.answers["/pod.yaml"] = response(POD)

            problem = await problem_of(server.url())

        assert problem.startswith(f"{server.url()}: certificate verify failed: ")
        assert "--insecure-skip-tls-verify" in problem
        assert server.requests == []

    async def test_verification_can_be_disabled(self, tls: ssl.SSLContext) -> None:
        async with serving(tls) as server:
            server.answers["/pod.yaml"] = response(POD)

            assert await fetch(server.url(), verifies_tls=False) == POD


class TestReader:
    async def test_errors_name_url_line_and_field(self) -> None:
        async with serving() as server:
            server.answers["/pod.yaml"] = response(POD.replace(b"app", b"A_p"))
            options = ManifestOptions(
                filenames=(server.url("/pod.yaml?token=abcdef123456"),)
            )

            with pytest.raises(ManifestError) as raised:
                await asyncio.to_thread(load_pods, options)

        (problem, *_) = raised.value.problems
        assert problem.startswith(
            f"http://127.0.0.1:{server.port}/pod.yaml?token=***:4:22: "
            "spec.containers[0].name: "
        )

    async def test_a_poll_returns_changes_and_keeps_the_last_body(self) -> None:
        async with serving() as server:
            server.answers["/pod.yaml"] = response(POD)
            reader = SourceReader((server.url(),))
            first = await asyncio.to_thread(reader.read)
            same = await reader.poll()
            server.answers["/pod.yaml"] = response(POD + b"# new")
            changed = await reader.poll()
            server.answers["/pod.yaml"] = response(b"", "500 Oops")
            failed = await reader.poll()

        assert (same.has_changed, changed.has_changed, failed.has_changed) == (
            False,
            True,
            False,
        )
        assert failed.problems == {server.url(): f"{server.url()}: 500 Oops"}
        assert [source.data for source in first] == [POD]
        assert [source.data for source in reader.read()] == [POD + b"# new"]

    async def test_static_pods_beside_others_may_be_read_later(
        self, tmp_path: Path
    ) -> None:
        (tmp_path / "pod.yaml").write_bytes(POD)
        async with serving() as server:
            server.answers["/pod.yaml"] = response(b"", "503 Busy")
            reader = SourceReader(
                (str(tmp_path / "pod.yaml"),), (server.url(),), awaits_urls=True
            )
            first = await asyncio.to_thread(reader.read)
            unread = reader.unread_sources
            server.answers["/pod.yaml"] = response(POD)
            polled = await reader.poll()

        assert reader.kubelet_sources == ("api", "http")
        assert [source.kubelet_source for source in first] == ["api"]
        assert (unread, reader.unread_sources) == (frozenset({"http"}), frozenset())
        assert polled.has_changed
        assert [source.kubelet_source for source in reader.read()] == ["api", "http"]

    @pytest.mark.parametrize("awaits", [True, False])
    async def test_static_pods_alone_have_to_be_readable(
        self,
        awaits: bool,  # noqa: FBT001  # a column of the table
    ) -> None:
        async with serving() as server:
            server.answers["/pod.yaml"] = response(b"", "503 Busy")
            reader = SourceReader((), (server.url(),), awaits_urls=awaits)

            with pytest.raises(ManifestError) as raised:
                await asyncio.to_thread(reader.read)

        assert raised.value.problems == (f"{server.url()}: 503 Busy",)
