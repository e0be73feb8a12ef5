"""A command in a container: run, its output read, killed when it takes too long."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from probetui.ports import ExecResult
from probetui.runtimes.process.child import (
    UNKNOWN_EXIT_CODE,
    kill_group,
    reap,
    spawn,
    watch_end,
)

KEPT_BYTES = 16 * 1024
"""How much of each stream is kept; a probe shows 10 KiB of both."""

CHUNK_BYTES = 64 * 1024
PAUSE_SECONDS = 0.001
"""Between two reads of what is not kept: 64 MB/s leave the event loop to others."""

LAST_CHUNKS = 16
"""A pipe holds at most 1 MiB, so this many chunks read all that is in it."""


class Command:
    """One run of a program, in a process group of its own.

    `on_end` is called when it has ended and been reaped.

    What it leaves running in the background goes on, as it would in a container, and
    what that prints is lost. Raises `ContainerRuntimeError` when the program cannot
    be started.
    """

    def __init__(
        self,
        command: Sequence[str],
        env: Mapping[str, str],
        cwd: Path,
        on_end: Callable[[Command], None],
        number: int = 0,
    ) -> None:
        self._on_end = on_end
        self._stdout, self._stderr = Stream(), Stream()
        try:
            self._process = spawn(
                command,
                env=env,
                cwd=cwd,
                stdout=self._stdout.write_end,
                stderr=self._stderr.write_end,
                number=number,
            )
        except BaseException:
            self._stdout.close()
            self._stderr.close()
            raise
        finally:
            os.close(self._stdout.write_end)
            os.close(self._stderr.write_end)
        self._exit_code = UNKNOWN_EXIT_CODE
        self._has_ended = asyncio.Event()
        watch_end(self._process, self._reap)

    async def wait(self, limit_seconds: int) -> ExecResult:
        """Wait for the end; kill it when that takes too long or nobody waits any more.

        Raises:
            TimeoutError: it ran longer than `limit_seconds` (0: no limit).
        """
        try:
            async with asyncio.timeout(limit_seconds or None):
                await self._has_ended.wait()
        finally:
            self.kill()
            self._stdout.close()
            self._stderr.close()
        return ExecResult(
            self._exit_code, bytes(self._stdout.kept), bytes(self._stderr.kept)
        )

    def kill(self) -> None:
        """Kill it and its children; it is reaped when it has ended.

        Once it has ended by itself, nothing happens to what it left running.
        """
        if not self._has_ended.is_set():
            kill_group(self._process.pid)

    async def ended(self) -> None:
        """Return when it has ended."""
        await self._has_ended.wait()

    def _reap(self) -> None:
        exit_code = reap(self._process)
        self._exit_code = UNKNOWN_EXIT_CODE if exit_code is None else exit_code
        self._has_ended.set()
        self._on_end(self)


class Stream:
    """A pipe that is read to its end and of which the beginning is kept."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._read_end, self.write_end = os.pipe()
        self._is_open = True
        self.kept = bytearray()
        os.set_blocking(self._read_end, False)
        self._resume()

    def close(self) -> None:
        """Read what is in the pipe at this moment and close it."""
        for _ in range(LAST_CHUNKS):
            if not self._read():
                break
        self._close()

    def _resume(self) -> None:
        if self._is_open:
            self._loop.add_reader(self._read_end, self._on_readable)

    def _on_readable(self) -> None:
        """Read once; what is not kept is read in no hurry."""
        if self._read() and len(self.kept) >= KEPT_BYTES:
            self._loop.remove_reader(self._read_end)
            self._loop.call_later(PAUSE_SECONDS, self._resume)

    def _read(self) -> bool:
        """Read once; tell whether there was something."""
        if not self._is_open:
            return False
        try:
            chunk = os.read(self._read_end, CHUNK_BYTES)
        except BlockingIOError:
            return False
        if not chunk:
            self._close()
        self.kept += chunk[: KEPT_BYTES - len(self.kept)]
        return bool(chunk)

    def _close(self) -> None:
        if self._is_open:
            self._is_open = False
            self._loop.remove_reader(self._read_end)
            os.close(self._read_end)
