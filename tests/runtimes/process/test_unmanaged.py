"""Processes of others as containers: inspected, probed, and stopped on request."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from probetui.errors import ContainerRuntimeError, ExecTimeoutError
from probetui.k8s.runtime import ContainerID, RuntimeState
from probetui.kubelet.effects import Fault
from probetui.runtimes.fault_notes import FaultNotes
from probetui.runtimes.process.listing import (
    ListedProcess,
    from_psutil,
    list_processes,
)
from probetui.runtimes.process.unmanaged import ProcessFaultInjector, UnmanagedProcesses
from probetui.runtimes.process_identity import Process, identify, is_stopped

AT = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)

Program = Callable[[str], subprocess.Popen[bytes]]


NOTES = FaultNotes(
    Path(tempfile.gettempdir(), f"probetui-test-notes-{os.getpid()}"), ""
)


def unmanaged_processes(
    listed: Callable[[], Iterable[ListedProcess]] = list_processes,
) -> UnmanagedProcesses:
    return UnmanagedProcesses(listed, ProcessFaultInjector(listed, NOTES))


@pytest.fixture
def program(tmp_path: Path) -> Iterator[Program]:
    """Return what starts a Python program that has said it is ready."""
    started: list[subprocess.Popen[bytes]] = []

    def start(text: str) -> subprocess.Popen[bytes]:
        ready = f"{text}\nprint(flush=True)\nimport time\ntime.sleep(60)"
        child = subprocess.Popen(
            [sys.executable, "-c", ready],
            cwd=tmp_path,
            env={**os.environ, "GREETING": "hello"},
            stdout=subprocess.PIPE,
        )
        started.append(child)
        assert child.stdout is not None
        child.stdout.readline()
        return child

    yield start
    for popen in started:
        # Whatever it started has its output open.
        for pid in children_of(popen.pid):
            os.kill(pid, signal.SIGKILL)
        popen.kill()
        popen.communicate()


def id_of(child: subprocess.Popen[bytes]) -> ContainerID:
    return ContainerID(f"process://{child.pid}")


async def looked_at(child: subprocess.Popen[bytes]) -> UnmanagedProcesses:
    unmanaged = unmanaged_processes()
    await unmanaged.list()
    assert await unmanaged.inspect(id_of(child)) is not None
    return unmanaged


async def test_a_process_is_a_container_that_runs(program: Program) -> None:
    child = program("")
    unmanaged = unmanaged_processes()

    (found,) = [it for it in await unmanaged.list() if it.container_id == id_of(child)]
    status = await unmanaged.inspect(id_of(child))

    assert Path(sys.executable).name in found.names
    assert not found.is_named
    assert status is not None
    assert (status.status.state, status.ip) == (RuntimeState.RUNNING, "127.0.0.1")
    assert status.status.started_at == found.created_at


async def test_this_program_is_not_among_them() -> None:
    found = await unmanaged_processes().list()

    assert f"process://{os.getpid()}" not in {
        container.container_id for container in found
    }


async def test_what_has_ended_is_gone(program: Program) -> None:
    child = program("")
    unmanaged = await looked_at(child)
    child.kill()
    child.wait()

    await unmanaged.list()

    assert await unmanaged.inspect(id_of(child)) is None
    with pytest.raises(ContainerRuntimeError, match="has ended"):
        await unmanaged.exec_sync(id_of(child), ("true",), 1)
    await unmanaged.stop(id_of(child), 1)


@pytest.mark.skipif(
    sys.platform != "linux", reason="only Linux shows a process's surroundings"
)
async def test_a_command_runs_where_the_process_does(
    program: Program, tmp_path: Path
) -> None:
    child = program("")
    unmanaged = await looked_at(child)

    result = await unmanaged.exec_sync(
        id_of(child), ("sh", "-c", "echo $GREETING; pwd"), 5
    )

    assert result.exit_code == 0
    assert result.stdout.decode().split() == ["hello", str(tmp_path)]


async def test_a_command_that_times_out_is_killed(program: Program) -> None:
    child = program("")
    unmanaged = await looked_at(child)

    with pytest.raises(ExecTimeoutError, match="timed out after 1s"):
        await unmanaged.exec_sync(id_of(child), ("sleep", "60"), 1)


async def test_a_process_can_be_signalled(program: Program) -> None:
    child = program("")
    unmanaged = await looked_at(child)

    await unmanaged.stop(id_of(child), 30)

    assert child.wait() == -signal.SIGTERM


async def test_one_that_does_not_listen_is_killed(program: Program) -> None:
    child = program("import signal; signal.signal(15, signal.SIG_IGN)")
    unmanaged = await looked_at(child)

    await unmanaged.stop(id_of(child), 1)

    assert child.wait() == -signal.SIGKILL


async def test_nobody_but_who_started_it_can_start_it_again() -> None:
    with pytest.raises(ContainerRuntimeError, match="cannot start process://1 again"):
        await unmanaged_processes().start(ContainerID("process://1"))


async def test_of_several_of_one_name_the_first_has_it() -> None:
    listed = [
        ListedProcess(10, 1, ("nginx",), AT),
        ListedProcess(11, 10, ("nginx", "worker"), AT),
        ListedProcess(12, 1, ("sh",), AT),
    ]

    found = await unmanaged_processes(lambda: listed).list()

    assert [container.names for container in found] == [
        ("nginx",),
        ("worker",),
        ("sh",),
    ]


@pytest.mark.parametrize("listed", [list_processes, from_psutil])
def test_processes_have_the_names_of_program_and_script(
    listed: Callable[[], Iterable[ListedProcess]], tmp_path: Path
) -> None:
    script = tmp_path / "app.py"
    script.write_text("import time\nprint(flush=True)\ntime.sleep(60)\n")
    command = [sys.executable, str(script), "--port", "80"]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        child.stdout.readline()
        (found,) = (process for process in listed() if process.pid == child.pid)
        child.kill()

    assert found.names[0] == Path(sys.executable).name
    assert found.names[-1] == "app.py"


def test_without_proc_the_same_processes_are_listed(program: Program) -> None:
    child = program("")
    pids = {os.getpid(), child.pid}

    here = {found.pid: found for found in list_processes() if found.pid in pids}
    without = {found.pid: found for found in from_psutil() if found.pid in pids}

    assert pids == set(here) == set(without)
    for pid in pids:
        assert without[pid].parent == here[pid].parent
        apart = without[pid].started_at - here[pid].started_at
        assert abs(apart) < timedelta(seconds=2)
    # A worker of pytest has a title in place of its command.
    assert without[child.pid].names[0] == here[child.pid].names[0]


def test_this_process_is_listed_with_its_birth() -> None:
    mine = {process.pid: process for process in list_processes()}[os.getpid()]

    assert mine.parent == os.getppid()
    assert mine.started_at.tzinfo is UTC


FORKS = """
import os, time
child = os.fork()
if child == 0:
    time.sleep(60)
    os._exit(0)
print(child, end="", flush=True)
"""


def is_frozen(pid: int) -> bool:
    process = identify(pid)
    assert process is not None
    return is_stopped(process)


async def are_still(expected: Mapping[int, bool]) -> None:
    """Wait until processes stand still or go on: signals may be delivered late."""
    async with asyncio.timeout(10):
        while {pid: is_frozen(pid) for pid in expected} != expected:  # noqa: ASYNC110
            await asyncio.sleep(0.01)


def children_of(parent: int) -> list[int]:
    return [process.pid for process in list_processes() if process.parent == parent]


async def test_a_process_is_frozen_and_thawed_with_its_children(
    program: Program,
) -> None:
    child = program(FORKS)
    (grandchild,) = children_of(child.pid)
    unmanaged = await looked_at(child)

    await unmanaged.inject_fault(id_of(child), Fault.FREEZE)
    await are_still({child.pid: True, grandchild: True})
    await unmanaged.inject_fault(id_of(child), Fault.UNFREEZE)

    await are_still({child.pid: False, grandchild: False})


async def test_at_the_end_all_processes_are_thawed_but_those_frozen_before(
    program: Program,
) -> None:
    child = program(FORKS)
    (grandchild,) = children_of(child.pid)
    os.kill(grandchild, signal.SIGSTOP)
    await are_still({grandchild: True})
    process = identify(child.pid)
    assert process is not None
    fault_injector = ProcessFaultInjector(list_processes, NOTES)
    fault_injector.inject_fault(process, Fault.FREEZE)
    fault_injector.inject_fault(process, Fault.FREEZE)
    await are_still({child.pid: True})

    fault_injector.undo()

    await are_still({child.pid: False, grandchild: True})
    os.kill(grandchild, signal.SIGKILL)


@pytest.mark.parametrize(
    ("fault", "ends_by"),
    [
        pytest.param(Fault.STOP, signal.SIGTERM, id="stop"),
        pytest.param(Fault.KILL, signal.SIGKILL, id="kill"),
    ],
)
async def test_a_process_gets_the_signal(
    program: Program, fault: Fault, ends_by: signal.Signals
) -> None:
    child = program("")
    unmanaged = await looked_at(child)

    await unmanaged.inject_fault(id_of(child), fault)

    assert child.wait() == -ends_by


async def test_probetui_and_its_parents_are_not_frozen() -> None:
    parent = identify(os.getppid())
    assert isinstance(parent, Process)
    me = ListedProcess(os.getpid(), parent.pid, ("me",), AT)
    fault_injector = ProcessFaultInjector(lambda: [me], NOTES)

    with pytest.raises(ContainerRuntimeError, match="probetui is one of"):
        fault_injector.inject_fault(parent, Fault.FREEZE)

    assert not is_stopped(parent)


async def test_the_network_of_the_machine_is_not_cut(program: Program) -> None:
    child = program("")
    unmanaged = await looked_at(child)

    with pytest.raises(ContainerRuntimeError, match="share the network"):
        await unmanaged.inject_fault(id_of(child), Fault.CUT_NETWORK)


async def test_what_has_ended_is_not_disrupted(program: Program) -> None:
    child = program("")
    unmanaged = await looked_at(child)
    child.kill()
    child.wait()

    with pytest.raises(ContainerRuntimeError, match="has ended"):
        await unmanaged.inject_fault(id_of(child), Fault.FREEZE)
