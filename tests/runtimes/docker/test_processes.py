"""Processes as `/proc` shows them, from a folder that looks like it."""

from __future__ import annotations

import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from probetui.runtimes.docker.processes import HostProcesses

OURS = "c0" * 32
FOREIGN = "f0" * 32

AddProcess = Callable[..., None]


class Signals:
    """Where signals go; the dead leave `/proc`, as long as nobody objects."""

    def __init__(self, proc: Path) -> None:
        self.proc = proc
        self.protected: set[int] = set()
        self.sent: list[tuple[int, int]] = []

    def __call__(self, process_id: int, number: int) -> None:
        if process_id in self.protected:
            raise PermissionError
        self.sent.append((process_id, number))
        folder = self.proc / str(process_id)
        if not folder.exists():
            raise ProcessLookupError
        for path in folder.iterdir():
            path.unlink()
        folder.rmdir()


@pytest.fixture
def proc(tmp_path: Path) -> Path:
    (tmp_path / "meminfo").write_text("not a process\n")
    return tmp_path


@pytest.fixture
def signals(proc: Path) -> Signals:
    return Signals(proc)


@pytest.fixture
def processes(proc: Path, signals: Signals) -> HostProcesses:
    return HostProcesses(proc, signals)


@pytest.fixture
def add(proc: Path) -> AddProcess:
    def add(
        process_id: int,
        *,
        parent: int = 1,
        session: int = 0,
        state: str = "S",
        container: str = OURS,
        name: str = "sh",
    ) -> None:
        folder = proc / str(process_id)
        folder.mkdir()
        stat = f"{process_id} ({name}) {state} {parent} 0 {session} 0 -1\n"
        (folder / "stat").write_text(stat)
        (folder / "cgroup").write_text(f"0::/system.slice/docker-{container}.scope\n")
        (folder / "status").write_text(f"Name:\t{name}\nNSpid:\t{process_id}\t7\n")

    return add


@pytest.mark.parametrize(
    ("process_id", "container_id", "expected"),
    [
        pytest.param(10, OURS, True, id="in it"),
        pytest.param(10, FOREIGN, False, id="in another one"),
        pytest.param(99, OURS, False, id="not there"),
        pytest.param(0, OURS, False, id="no process"),
    ],
)
def test_a_process_is_taken_for_what_it_is_only_in_its_container(
    processes: HostProcesses,
    add: AddProcess,
    process_id: int,
    container_id: str,
    *,
    expected: bool,
) -> None:
    add(10)

    assert processes.shows(process_id, container_id) is expected


class TestTree:
    """What belongs to an exec."""

    def test_children_and_their_children_do(
        self, processes: HostProcesses, add: AddProcess
    ) -> None:
        add(10, session=10)
        add(12, parent=11, session=12)
        add(11, parent=10, session=10)
        add(20, parent=1, session=20)

        assert processes.tree(10, OURS) == (10, 11, 12)

    def test_orphans_of_its_session_do(
        self, processes: HostProcesses, add: AddProcess
    ) -> None:
        add(11, parent=1, session=10)

        assert processes.tree(10, OURS) == (11,)

    def test_zombies_do_not(self, processes: HostProcesses, add: AddProcess) -> None:
        add(10, session=10, state="Z")

        assert processes.tree(10, OURS) == ()

    def test_a_foreign_process_that_got_the_number_does_not(
        self, processes: HostProcesses, add: AddProcess
    ) -> None:
        add(10, session=10, container=FOREIGN)
        add(11, parent=10, session=10, container=FOREIGN)

        assert processes.tree(10, OURS) == ()

    def test_a_name_may_hold_anything(
        self, processes: HostProcesses, add: AddProcess
    ) -> None:
        add(10, session=10, name="a) Z 1 (b")

        assert processes.tree(10, OURS) == (10,)


class TestKilling:
    """Killing what an exec started."""

    def test_all_of_it_is_killed(
        self, processes: HostProcesses, signals: Signals, add: AddProcess
    ) -> None:
        add(10, session=10)
        add(11, parent=10, session=10)

        assert processes.kill_tree(10, OURS) == ()

        assert signals.sent == [(10, signal.SIGKILL), (11, signal.SIGKILL)]

    def test_a_process_that_may_not_be_killed_is_reported(
        self, processes: HostProcesses, signals: Signals, add: AddProcess
    ) -> None:
        add(10, session=10)
        add(11, parent=10, session=10)
        signals.protected = {10}

        assert processes.kill_tree(10, OURS) == (10,)

        assert signals.sent == [(11, signal.SIGKILL)]

    def test_nothing_is_killed_where_nothing_is_left(
        self, processes: HostProcesses, signals: Signals, add: AddProcess
    ) -> None:
        add(20, session=20)

        assert processes.kill_tree(10, OURS) == ()

        assert signals.sent == []


def test_a_process_has_another_number_in_its_container(
    processes: HostProcesses, add: AddProcess
) -> None:
    add(10)

    assert processes.inner_id(10) == 7
    assert processes.inner_id(11) is None
