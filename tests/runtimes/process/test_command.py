"""Commands in containers: output, limits, what they leave."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from probetui.errors import ContainerRuntimeError, ExecTimeoutError
from probetui.ports import ExecResult
from probetui.runtimes.process.child import KEPT_BYTES, OutputPipe, RunningCommand
from probetui.runtimes.process_identity import identify, is_alive


def run(script: str, cwd: Path) -> RunningCommand:
    return RunningCommand(
        ("/bin/sh", "-c", script),
        {"PATH": os.environ["PATH"]},
        cwd,
        lambda _command: None,
    )


def open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def number(file: Path) -> int | None:
    """Return the process ID that a script has left in a file, None before it has."""
    text = file.read_text() if file.exists() else ""
    return int(text) if text.endswith("\n") else None


def runs(file: Path) -> bool:
    """Return whether the process whose ID is in a file runs."""
    pid = number(file)
    process = identify(pid) if pid else None
    return process is not None and is_alive(process)


def kill(file: Path) -> None:
    pid = number(file)
    assert pid
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(10):
        while not holds():  # noqa: ASYNC110  # nothing tells of what scripts do
            await asyncio.sleep(0.01)


async def test_a_command_answers_with_all_it_did(tmp_path: Path) -> None:
    result = await run("echo out; echo err >&2; exit 3", tmp_path).wait(10)

    assert result == ExecResult(3, b"out\n", b"err\n")


async def test_output_beyond_the_limit_is_read_and_dropped(tmp_path: Path) -> None:
    script = "head -c 3000000 /dev/zero; head -c 3000000 /dev/zero >&2"

    result = await run(script, tmp_path).wait(10)

    assert result == ExecResult(0, bytes(KEPT_BYTES), bytes(KEPT_BYTES))


async def test_what_is_in_the_pipe_at_the_end_is_not_lost() -> None:
    stream = OutputPipe()
    os.write(stream.write_end, b"last words")
    os.close(stream.write_end)

    stream.close()
    stream.close()

    assert stream.kept == b"last words"


async def test_what_runs_on_in_the_background_keeps_nobody_waiting(
    tmp_path: Path,
) -> None:
    script = "sleep 300 & echo $! > pid; echo done"

    result = await run(script, tmp_path).wait(10)

    assert result == ExecResult(0, b"done\n", b"")
    assert runs(tmp_path / "pid")
    kill(tmp_path / "pid")


async def test_a_background_program_that_never_stops_printing_is_left_alone(
    tmp_path: Path,
) -> None:
    script = "(yes & echo $! > pid); echo done"

    async with asyncio.timeout(10):
        result = await run(script, tmp_path).wait(0)

    kill(tmp_path / "pid")
    assert result.exit_code == 0


async def test_past_its_limit_a_command_is_killed_with_its_children(
    tmp_path: Path,
) -> None:
    with pytest.raises(ExecTimeoutError):
        await run("sleep 300 & echo $! > pid; wait", tmp_path).wait(1)

    assert number(tmp_path / "pid")
    await until(lambda: not runs(tmp_path / "pid"))


async def test_a_command_that_is_cancelled_is_killed_and_reaped(
    tmp_path: Path,
) -> None:
    command = run("echo $$ > pid; sleep 300", tmp_path)
    task = asyncio.ensure_future(command.wait(0))
    await asyncio.sleep(0)  # a task that never began has nothing to clean up
    await until(lambda: runs(tmp_path / "pid"))

    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await command.ended()

    assert identify(number(tmp_path / "pid") or 0) is None


async def test_commands_leave_no_files_open(tmp_path: Path) -> None:
    before = open_files()

    for _ in range(5):
        await run("exit 0", tmp_path).wait(10)
    with pytest.raises(ContainerRuntimeError):
        RunningCommand(("/no/such/program",), {}, tmp_path, lambda _command: None)

    assert open_files() == before


async def test_a_command_costs_little(tmp_path: Path) -> None:
    before = time.process_time()

    for _ in range(20):
        await run("exit 0", tmp_path).wait(10)

    assert time.process_time() - before < 20 * 0.01
