"""Interactive commands, with streamed input and output or a terminal."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import pty
import struct
import subprocess
import termios
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Self

from probetui.ports import CommandStreams
from probetui.runtimes.process.child import (
    UNKNOWN_EXIT_CODE,
    kill_group,
    reap,
    spawn,
    watch_end,
)

CHUNK_BYTES = 1 << 15
_END_OF_TRANSMISSION = b"\x04"
LAST_OUTPUT_SECONDS = 1.0
"""How long output is read after the end: what a command leaves behind may go on."""


async def run_interactive(
    command: Sequence[str],
    env: Mapping[str, str],
    cwd: Path,
    number: int,
    streams: CommandStreams,
    *,
    has_stdin: bool,
    tty: bool,
) -> int:
    """Run a command and return its exit code; it is killed on cancellation.

    Args:
        command: the program and its arguments.
        env: its environment.
        cwd: its working directory.
        number: the container's number, see `descendants`.
        streams: its input and output.
        has_stdin: whether it has input.
        tty: whether it has a terminal, whose output is all standard output.

    Raises:
        ContainerRuntimeError: the program cannot be started.
    """
    loop = asyncio.get_running_loop()
    ended: asyncio.Future[int] = loop.create_future()
    with _open_terminal() if tty else _open_pipes(has_stdin=has_stdin) as ends:
        process = spawn(
            command,
            env=env,
            cwd=cwd,
            stdin=ends.child_stdin,
            stdout=ends.child_stdout,
            stderr=ends.child_stderr,
            number=number,
            is_terminal=tty,
        )

        def on_end() -> None:
            code = reap(process)
            if not ended.done():
                ended.set_result(UNKNOWN_EXIT_CODE if code is None else code)

        watch_end(process, on_end)
        ends.close_childs()
        outputs = [
            asyncio.ensure_future(_forward_output(output, streams, is_stderr=is_stderr))
            for output, is_stderr in zip(ends.outputs, (False, True), strict=False)
        ]
        others = []
        if ends.stdin is not None:
            others.append(asyncio.ensure_future(_type(ends.stdin, streams, tty=tty)))
        if tty:
            others.append(asyncio.ensure_future(_resize(ends.outputs[0], streams)))
        try:
            code = await ended
            await asyncio.wait(outputs, timeout=LAST_OUTPUT_SECONDS)
        finally:
            if not ended.done() or ended.cancelled():
                # The command is reaped when it has ended.
                kill_group(process.pid)
            for task in (*outputs, *others):
                task.cancel()
            await asyncio.gather(*outputs, *others, return_exceptions=True)
    return code


class _Ends:
    """The descriptors of a command's streams: the child's ends and ours.

    Ours do not block. `stdin` is None where there is no input.
    """

    def __init__(
        self,
        childs: tuple[int, int, int],
        outputs: Sequence[int],
        stdin: int | None,
    ) -> None:
        self.child_stdin, self.child_stdout, self.child_stderr = childs
        self.outputs = outputs
        self.stdin = None if stdin is None else _Input(stdin)
        self._childs = {end for end in childs if end >= 0}
        for descriptor in (*outputs, *([] if stdin is None else [stdin])):
            os.set_blocking(descriptor, False)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close_childs()
        for descriptor in self.outputs:
            os.close(descriptor)
        if self.stdin is not None:
            self.stdin.close()

    def close_childs(self) -> None:
        """Close the child's ends, which the child has duplicated."""
        while self._childs:
            os.close(self._childs.pop())


class _Input:
    """The end that input is written to; it may be closed before the rest."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor

    def close(self) -> None:
        if self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor = -1


def _open_terminal() -> _Ends:
    ours, childs = pty.openpty()
    return _Ends((childs, childs, childs), [ours], os.dup(ours))


def _open_pipes(*, has_stdin: bool) -> _Ends:
    (out, child_out), (err, child_err) = os.pipe(), os.pipe()
    child_in, stdin = os.pipe() if has_stdin else (subprocess.DEVNULL, None)
    return _Ends((child_in, child_out, child_err), [out, err], stdin)


async def _forward_output(
    descriptor: int, streams: CommandStreams, *, is_stderr: bool
) -> None:
    """Send output as it arrives; reading a terminal that ended raises an error."""
    loop = asyncio.get_running_loop()
    while True:
        await _ready(loop.add_reader, loop.remove_reader, descriptor)
        try:
            data = os.read(descriptor, CHUNK_BYTES)
        except BlockingIOError:
            continue
        except OSError:
            return
        if not data:
            return
        await streams.write(data, is_stderr=is_stderr)


async def _type(stdin: _Input, streams: CommandStreams, *, tty: bool) -> None:
    """Write input as it arrives, then end the input."""
    loop = asyncio.get_running_loop()
    with contextlib.suppress(OSError):
        while data := await streams.stdin.read(CHUNK_BYTES):
            unwritten = data
            while unwritten:
                await _ready(loop.add_writer, loop.remove_writer, stdin.descriptor)
                with contextlib.suppress(BlockingIOError):
                    unwritten = unwritten[os.write(stdin.descriptor, unwritten) :]
        if tty:
            os.write(stdin.descriptor, _END_OF_TRANSMISSION)
    if not tty:
        stdin.close()


async def _resize(descriptor: int, streams: CommandStreams) -> None:
    while True:
        size = await streams.sizes.get()
        # The system refuses invalid sizes.
        with contextlib.suppress(OSError, struct.error):
            packed = struct.pack("HHHH", size.height, size.width, 0, 0)
            fcntl.ioctl(descriptor, termios.TIOCSWINSZ, packed)


async def _ready(
    add: Callable[[int, Callable[[], None]], None],
    remove: Callable[[int], bool],
    descriptor: int,
) -> None:
    """Wait until a descriptor can be read or written."""
    ready = asyncio.Event()
    add(descriptor, ready.set)
    try:
        await ready.wait()
    finally:
        remove(descriptor)
