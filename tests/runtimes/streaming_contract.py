"""The contract of commands with input, and in a terminal."""

from __future__ import annotations

import asyncio
import os

import pytest

from probetui.errors import ExecutableMissingError
from probetui.k8s.runtime import ContainerID
from probetui.ports import (
    TerminalSize,
)
from probetui.runtimes.network_namespace import connect_inside
from tests.runtimes.bench import POLITE, Bench

PATIENCE_SECONDS = 30


class TypedStreams:
    """Input from the test, and the output."""

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

    kills_what_is_left = True
    """Whether a command whose client is gone is killed, or runs on."""

    async def run(
        self,
        bench: Bench,
        container_id: ContainerID,
        streams: TypedStreams,
        *command: str,
        has_stdin: bool = False,
        tty: bool = False,
    ) -> int:
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

    async def test_a_command_with_streams_separates_output_and_errors(
        self, bench: Bench
    ) -> None:
        streams = TypedStreams()
        script = "echo out; echo err >&2; exit 7"
        container_id = await bench.run_ready(POLITE)

        code = await self.run(bench, container_id, streams, "sh", "-c", script)

        assert (code, streams.out, streams.err) == (7, b"out\n", b"err\n")

    async def test_a_terminal_has_the_size_that_it_is_given(self, bench: Bench) -> None:
        # Not typed: a shell draws its line again, in pieces, when the size changes.
        waits = 'until [ "$(stty size)" = "{}" ]; do sleep 0.1; done'
        script = f"{waits.format('24 80')}; echo first; {waits.format('31 97')}; exit 3"
        streams = TypedStreams()
        streams.sizes.put_nowait(TerminalSize(80, 24))
        container_id = await bench.run_ready(POLITE)
        command = ("sh", "-c", script)
        running = asyncio.ensure_future(
            self.run(bench, container_id, streams, *command, has_stdin=True, tty=True)
        )
        await streams.until(b"first")

        streams.sizes.put_nowait(TerminalSize(97, 31))

        assert await running == 3

    async def test_who_turns_away_kills_the_command(self, bench: Bench) -> None:
        if not self.kills_what_is_left:
            pytest.skip("it runs on, as below a kubelet")
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


class AttachContract:
    """Inherited by the tests of each runtime that gives a container's own streams."""

    async def test_a_container_is_typed_to_and_ends_when_its_input_does(
        self, bench: Bench
    ) -> None:
        streams = TypedStreams(b"typed\n")
        container_id = await bench.run("exec cat", stdin=True, stdin_once=True)
        attached = self.attached(bench, container_id, streams, has_stdin=True)
        await streams.until(b"typed\n")

        streams.stdin.feed_eof()

        async with asyncio.timeout(PATIENCE_SECONDS):
            await attached
        assert (streams.out, streams.err) == (b"typed\n", b"")

    async def test_a_container_with_a_terminal_gets_its_size(
        self, bench: Bench
    ) -> None:
        streams = TypedStreams(b"until stty size | grep 31; do sleep 0.1; done\n")
        container_id = await bench.run("exec sh -i", stdin=True, tty=True)
        attached = self.attached(bench, container_id, streams, has_stdin=True, tty=True)
        await streams.until(b"done")

        streams.sizes.put_nowait(TerminalSize(97, 31))

        await streams.until(b"31 97")
        attached.cancel()
        await asyncio.gather(attached, return_exceptions=True)

    async def test_a_container_runs_on_after_its_client(self, bench: Bench) -> None:
        streams = TypedStreams()
        ticks = "while :; do echo tick; sleep 0.1; done"
        container_id = await bench.run(ticks)
        attached = self.attached(bench, container_id, streams)
        await streams.until(b"tick")

        attached.cancel()
        await asyncio.gather(attached, return_exceptions=True)

        result = await bench.runtime.exec_sync(container_id, ("true",), 30)
        assert result.exit_code == 0

    @pytest.mark.skipif(os.geteuid() != 0, reason="root enters networks of pods")
    async def test_a_port_at_localhost_in_a_pod_is_reached(self, bench: Bench) -> None:
        serve = "echo here > /tmp/index.html; httpd -f -p 127.0.0.1:18274 -h /tmp"
        namespace = await bench.runtime.network_namespace(await bench.run(serve))

        async def connect() -> bool:
            try:
                opened = await connect_inside(namespace, 18274)
            except ConnectionRefusedError:
                return False
            with opened:
                loop = asyncio.get_running_loop()
                await loop.sock_sendall(opened, b"GET / HTTP/1.0\r\n\r\n")
                return (await loop.sock_recv(opened, 9)).startswith(b"HTTP")

        await bench.until(connect)
        with pytest.raises(ConnectionRefusedError):
            await connect_inside(namespace, 18275)

    def attached(
        self,
        bench: Bench,
        container_id: ContainerID,
        streams: TypedStreams,
        *,
        has_stdin: bool = False,
        tty: bool = False,
    ) -> asyncio.Task[None]:
        """Attach to a container."""
        return asyncio.ensure_future(
            bench.runtime.attach_streams(
                container_id, streams, has_stdin=has_stdin, tty=tty
            )
        )
