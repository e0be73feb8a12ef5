"""Which process a number means."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator

import pytest
from msgspec.structs import replace

from probetui.runtimes.process_identity import (
    Process,
    _ask_ps,
    identify,
    is_alive,
    kill_marked,
)

NO_PID = 2**22 + 1
"""Above what Linux gives out."""


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(
        ["sleep", "300"], env={**os.environ, "MARK": "me"}
    ) as process:
        yield process
        process.kill()


def identity(process: subprocess.Popen[bytes]) -> Process:
    found = identify(process.pid)
    assert found is not None
    return found


def test_a_process_that_runs_is_alive(sleeper: subprocess.Popen[bytes]) -> None:
    assert is_alive(identity(sleeper))


def test_a_process_that_ended_is_not_alive_even_before_it_is_reaped(
    sleeper: subprocess.Popen[bytes],
) -> None:
    process = identity(sleeper)

    sleeper.kill()
    os.waitid(os.P_PID, sleeper.pid, os.WEXITED | os.WNOWAIT)

    assert identify(sleeper.pid) == process
    assert not is_alive(process)


def test_a_number_that_was_used_again_is_another_process(
    sleeper: subprocess.Popen[bytes],
) -> None:
    process = replace(identity(sleeper), born="earlier")

    assert not is_alive(process)


def test_an_unused_process_id_is_no_process() -> None:
    assert identify(NO_PID) is None


def test_without_proc_ps_is_run(sleeper: subprocess.Popen[bytes]) -> None:
    answer = _ask_ps(sleeper.pid)

    assert answer is not None
    assert answer == _ask_ps(sleeper.pid)
    assert answer[0] == "S"
    assert _ask_ps(NO_PID) is None


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
def test_all_that_bear_a_mark_are_killed_and_nothing_else(
    sleeper: subprocess.Popen[bytes],
) -> None:
    kill_marked("MARK=m")
    assert sleeper.poll() is None

    kill_marked("MARK=me")

    assert sleeper.wait(10) == -9
