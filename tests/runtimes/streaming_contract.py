"""What a runtime does that runs commands with input, and in a terminal."""

from __future__ import annotations

import asyncio
import os

import pytest

from probetui.errors import ExecutableMissingError
from probetui.k8s.runtime import ContainerID
from probetui.ports import StreamingExec, TerminalSize
from tests.runtimes.bench import POLITE, Bench

PATIENCE_SECONDS = 30


class TypedStreams:
    """Input that a test types, and what came out."""

    def __init__(self, typed: bytes = b"") -> None:
        self.stdin = asyncio.StreamReader()
        self.stdin.feed_data(typed)
        self.sizes: asyncio.Queue[TerminalSize] = asyncio.Queue()
        self.out = b""
        self.err = b""
        self._came = asyncio.Event()

    async def write(self, data: bytes, *, is_stderr: bool = False) -> None:
        if is_stderr:
            self.err += data
        else:
            self.out += data
        self._came.set()

    async def until(self, text: bytes) -> None:
        async with asyncio.timeout(PATIENCE_SECONDS):
            while text not in self.out:
                self._came.clear()
                await self._came.wait()


class StreamingContract:
    """Inherited by the tests of each such runtime."""

    async def run(
        self,
        bench: Bench,
        container_id: ContainerID,
        streams: TypedStreams,
        *command: str,
        has_stdin: bool = False,
        tty: bool = False,
    ) -> int:
        assert isinstance(bench.runtime, StreamingExec)
        async with asyncio.timeout(PATIENCE_SECONDS):
            return await bench.runtime.exec_streams(
                container_id, command, streams, has_stdin=has_stdin, tty=tty
            )

    async def test_a_command_with_streams_gets_input_and_its_end(
        self, bench: Bench
    ) -> None:
        streams = TypedStreams(b"one\ntwo\n")
        streams.stdin.feed_eof()
        container_id = await bench.run_ready(POLITE)

        code = await self.run(bench, container_id, streams, "cat", has_stdin=True)

        assert (code, streams.out, streams.err) == (0, b"one\ntwo\n", b"")

    async def test_a_command_with_streams_tells_output_from_errors(
        self, bench: Bench
    ) -> None:
        streams = TypedStreams()
        script = "echo out; echo err >&2; exit 7"
        container_id = await bench.run_ready(POLITE)

        code = await self.run(bench, container_id, streams, "sh", "-c", script)

        assert (code, streams.out, streams.err) == (7, b"out\n", b"err\n")

    async def test_a_terminal_has_the_size_that_it_is_given(self, bench: Bench) -> None:
        asks = 'until [ "$(stty size)" = "31 97" ]; do sleep 0.1; done; exit 3\n'
        streams = TypedStreams(asks.encode())
        streams.sizes.put_nowait(TerminalSize(80, 24))
        container_id = await bench.run_ready(POLITE)
        running = asyncio.ensure_future(
            self.run(bench, container_id, streams, "sh", "-i", has_stdin=True, tty=True)
        )
        await streams.until(b"stty size")

        streams.sizes.put_nowait(TerminalSize(97, 31))

        assert await running == 3

    async def test_who_turns_away_kills_the_command(self, bench: Bench) -> None:
        streams = TypedStreams()
        unique = f"sleep 1{os.getpid()}.5"
        script = f"echo begun; {unique}"
        container_id = await bench.run_ready(POLITE)
        running = asyncio.ensure_future(
            self.run(bench, container_id, streams, "sh", "-c", script)
        )
        await streams.until(b"begun")

        running.cancel()
        await asyncio.gather(running, return_exceptions=True)

        look = "for p in /proc/[0-9]*; do tr '\\0' ' ' < $p/cmdline; echo; done"
        async with asyncio.timeout(PATIENCE_SECONDS):
            while True:
                left = TypedStreams()
                await self.run(bench, container_id, left, "sh", "-c", look)
                if unique.encode() not in left.out.replace(script.encode(), b""):
                    break

    async def test_an_executable_that_is_missing_cannot_be_run(
        self, bench: Bench
    ) -> None:
        container_id = await bench.run_ready(POLITE)
        with pytest.raises(ExecutableMissingError):
            await self.run(bench, container_id, TypedStreams(), "nope-nope")
