"""Streaming servers of runtimes that refuse, or break off."""

from __future__ import annotations

import asyncio

import pytest

from probetui.cluster.serving.http_server import (
    HttpAnswer,
    HttpRequest,
    HttpResponse,
    serve_http,
)
from probetui.cluster.serving.remote_command import (
    RemoteCommand,
    RemoteStreams,
    answer_exec,
    spdy_tunnel,
)
from probetui.errors import ContainerRuntimeError
from probetui.runtimes.cri.streaming import run_streams
from probetui.runtimes.streaming.exit_status import V4
from tests.runtimes.streaming_contract import TypedStreams

BOTH = RemoteCommand(("cat",), stdin=True, stdout=True, stderr=True)


async def test_stdin_stdout_stderr_and_the_exit_code_are_passed_on() -> None:
    async def run(_command: RemoteCommand, remote: RemoteStreams) -> int:
        await remote.write(await remote.stdin.read())
        await remote.write(b"wrong", is_stderr=True)
        return 4

    async def answer(request: HttpRequest) -> HttpAnswer:
        found = answer_exec(request, BOTH, run)
        assert found is not None
        return found

    streams = TypedStreams(b"x" * 200_000)
    streams.stdin.feed_eof()
    async with serve_http(answer) as address:
        code = await run_streams(address.url, streams, has_stdin=True, tty=False)

    assert (code, streams.out, streams.err) == (4, b"x" * 200_000, b"wrong")


async def test_a_refusal_has_its_message() -> None:
    async def answer(_request: HttpRequest) -> HttpAnswer:
        return HttpResponse(404, b"page not found\n", "text/plain")

    async with serve_http(answer) as address:
        with pytest.raises(ContainerRuntimeError, match="answers 404: page not found"):
            await run_streams(address.url, TypedStreams(), has_stdin=False, tty=False)


async def test_streams_that_break_off_have_no_exit_code() -> None:
    async def hang_up(
        _left: bytes, _reader: asyncio.StreamReader, _writer: asyncio.StreamWriter
    ) -> None:
        return

    async def answer(request: HttpRequest) -> HttpAnswer:
        found = spdy_tunnel(request, (V4,), hang_up)
        assert found is not None
        return found

    async with serve_http(answer) as address:
        with pytest.raises(ContainerRuntimeError, match="did not say how"):
            await run_streams(address.url, TypedStreams(), has_stdin=False, tty=False)


async def test_a_server_that_is_not_there_is_named(unused_tcp_port: int) -> None:
    url = f"http://127.0.0.1:{unused_tcp_port}/exec/token"
    with pytest.raises(ContainerRuntimeError, match="streaming server"):
        await run_streams(url, TypedStreams(), has_stdin=False, tty=False)
