"""Starting programs and learning of their end."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from probetui.errors import ContainerRuntimeError
from probetui.runtimes.process.child import (
    kill_group,
    reaches_pid_1,
    reap,
    send_signal,
    spawn,
    watch_descriptor,
    watch_polling,
)
from probetui.runtimes.process_identity import Process

Watch = Callable[[Process, Callable[[], None]], Callable[[], None]]

both_ways = pytest.mark.parametrize(
    "watch",
    [
        pytest.param(watch_descriptor, id="descriptor"),
        pytest.param(watch_polling, id="polling"),
    ],
)


@pytest.fixture
def null_device() -> Iterator[int]:
    descriptor = os.open(os.devnull, os.O_WRONLY)
    yield descriptor
    os.close(descriptor)


def run(script: str, stdout: int, env: dict[str, str] | None = None) -> Process:
    return spawn(
        ("/bin/sh", "-c", script),
        env=env or {"PATH": os.environ["PATH"]},
        cwd=Path("/"),
        stdout=stdout,
        stderr=stdout,
    )


def wait(process: Process) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(process.pid, 0)[1])


@both_ways
@pytest.mark.parametrize(
    ("script", "expected"),
    [
        pytest.param("exit 0", 0, id="zero"),
        pytest.param("exit 42", 42, id="a code of its own"),
        pytest.param("kill -TERM $$", 143, id="SIGTERM"),
        pytest.param("kill -KILL $$", 137, id="SIGKILL"),
    ],
)
async def test_the_exit_of_a_child_is_observed_with_its_code(
    null_device: int, watch: Watch, script: str, expected: int
) -> None:
    process = run(script, null_device)
    ended = asyncio.Event()

    watch(process, ended.set)
    async with asyncio.timeout(10):
        await ended.wait()

    assert reap(process) == expected


@both_ways
async def test_the_exit_of_a_long_ended_process_is_observed(
    null_device: int, watch: Watch
) -> None:
    process = run("exit 0", null_device)
    wait(process)
    ended = asyncio.Event()

    watch(process, ended.set)

    async with asyncio.timeout(10):
        await ended.wait()


@both_ways
async def test_a_stopped_watch_reports_nothing(null_device: int, watch: Watch) -> None:
    process = run("exec sleep 300", null_device)
    others_ended, ended = asyncio.Event(), asyncio.Event()
    stop = watch(process, ended.set)
    watch(process, others_ended.set)

    stop()
    stop()
    kill_group(process.pid)
    async with asyncio.timeout(10):
        await others_ended.wait()
    await asyncio.sleep(0)

    assert not ended.is_set()
    assert reap(process) == 137


async def test_a_child_that_runs_has_no_exit_code_yet(null_device: int) -> None:
    process = run("exec sleep 300", null_device)

    assert reap(process) is None

    kill_group(process.pid)
    wait(process)
    assert reap(process) is None


async def test_a_child_that_only_has_the_number_is_not_reaped(null_device: int) -> None:
    process = run("exit 5", null_device)
    ended = asyncio.Event()
    watch_polling(process, ended.set)
    await ended.wait()

    assert reap(Process(process.pid, "another birth")) is None
    assert reap(process) == 5


async def test_no_signal_goes_to_a_process_that_only_has_the_number(
    null_device: int,
) -> None:
    process = run("exec sleep 300", null_device)

    send_signal(Process(process.pid, "another birth"), signal.SIGKILL)
    assert reap(process) is None
    send_signal(process, signal.SIGKILL)

    assert wait(process) == -9


BLOCK = "signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM}); "
SIGNALFD = (
    "mask = (ctypes.c_ulong * 16)(1 << signal.SIGTERM - 1); "
    "descriptor = ctypes.CDLL(None).signalfd(-1, mask, 0); "
)


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
@pytest.mark.parametrize(
    ("prepare", "rest", "reaches"),
    [
        pytest.param("", "time.sleep(300)", False, id="default effect"),
        pytest.param(
            "signal.signal(signal.SIGTERM, signal.SIG_IGN); ",
            "time.sleep(300)",
            False,
            id="ignored",
        ),
        pytest.param(
            "signal.signal(signal.SIGHUP, print); ",
            "time.sleep(300)",
            False,
            id="another one handled",
        ),
        pytest.param(
            "signal.signal(signal.SIGTERM, print); ",
            "time.sleep(300)",
            True,
            id="handled",
        ),
        pytest.param(BLOCK + SIGNALFD, "time.sleep(300)", True, id="read"),
        pytest.param(BLOCK, "time.sleep(300)", None, id="blocked"),
    ],
)
async def test_only_what_a_program_wants_would_reach_it_as_a_first_process(
    prepare: str, rest: str, *, reaches: bool | None
) -> None:
    with prepared(prepare, rest) as process:
        assert reaches_pid_1(process, signal.SIGTERM) is reaches


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
async def test_what_a_program_waits_for_would_reach_it_as_a_first_process() -> None:
    with prepared(BLOCK, "signal.sigwait({signal.SIGTERM})") as process:
        reaches = None
        while reaches is None:  # blocked until it waits, a moment after it says so
            reaches = reaches_pid_1(process, signal.SIGTERM)

    assert reaches is True


@contextmanager
def prepared(prepare: str, rest: str) -> Iterator[Process]:
    """Give a Python program that has prepared itself; it is killed afterwards."""
    reading, writing = os.pipe()
    script = f"import ctypes, signal, time; {prepare}print(1, flush=True); {rest}"
    process = spawn(
        (sys.executable, "-c", script),
        env={"PATH": os.environ["PATH"]},
        cwd=Path("/"),
        stdout=writing,
        stderr=writing,
    )
    os.close(writing)
    try:
        assert os.read(reading, 100) == b"1\n"
        yield process
    finally:
        os.close(reading)
        kill_group(process.pid)
        wait(process)


async def test_where_it_cannot_be_seen_every_signal_would_reach_a_first_process(
    null_device: int,
) -> None:
    process = run("exit 0", null_device)
    wait(process)

    assert reaches_pid_1(process, signal.SIGTERM)


async def test_a_child_has_a_session_of_its_own(null_device: int) -> None:
    process = run("exec sleep 300", null_device)

    session = os.getsid(process.pid)

    kill_group(process.pid)
    wait(process)
    assert session == process.pid != os.getsid(0)


def test_text_that_is_not_unicode_reaches_a_program_as_bytes(tmp_path: Path) -> None:
    file = tmp_path / "out"
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT)
    process = spawn(
        ("/bin/sh", "-c", 'printf "%s|%s" "$0" "$NAME"', "\udcff"),
        env={"NAME": "caf\udce9"},
        cwd=tmp_path,
        stdout=descriptor,
        stderr=descriptor,
    )

    os.waitpid(process.pid, 0)

    os.close(descriptor)
    assert file.read_bytes() == b"\xff|caf\xe9"


@pytest.mark.parametrize(
    ("command", "env", "cwd", "message"),
    [
        pytest.param((), {}, "/", "no command specified", id="nothing"),
        pytest.param(
            ("no-such-program",),
            {"PATH": "/bin"},
            "/",
            "unable to start container process: "
            'exec: "no-such-program": executable file not found in $PATH',
            id="not in PATH",
        ),
        pytest.param(
            ("/no/such/program",),
            {},
            "/",
            'unable to start container process: exec: "/no/such/program": '
            "stat /no/such/program: no such file or directory",
            id="not there",
        ),
        pytest.param(
            ("/etc/passwd",),
            {},
            "/",
            'unable to start container process: exec: "/etc/passwd": permission denied',
            id="not a program",
        ),
        pytest.param(
            ("/bin/true",),
            {},
            "/no/such/folder",
            "unable to start container process: "
            'chdir to cwd ("/no/such/folder"): no such file or directory',
            id="no such folder",
        ),
        pytest.param(
            ("/bin/true", "a\0b"),
            {},
            "/",
            'unable to start container process: exec: "/bin/true": embedded null byte',
            id="a zero byte",
        ),
        pytest.param(
            ("/bin/true", "\ud800"),
            {},
            "/",
            'exec: "/bin/true": .*surrogates not allowed',
            id="half a letter",
        ),
        pytest.param(
            ("/bin/true",),
            {"A=B": "C"},
            "/",
            "illegal environment variable name",
            id="a name with an equals sign",
        ),
    ],
)
def test_a_program_that_cannot_be_started_is_refused_in_a_runtimes_words(
    null_device: int,
    command: tuple[str, ...],
    env: dict[str, str],
    cwd: str,
    message: str,
) -> None:
    pattern = message.replace("(", r"\(").replace(")", r"\)").replace("$", r"\$")

    with pytest.raises(ContainerRuntimeError, match=pattern):
        spawn(command, env=env, cwd=Path(cwd), stdout=null_device, stderr=null_device)
