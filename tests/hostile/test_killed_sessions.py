"""Faults that a killed session leaves behind, and their removal."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from probetui.kubelet.effects import Fault
from probetui.runtimes.fault_notes import CUT_OFF, FROZEN, FaultNotes
from probetui.runtimes.lease_holder import LeaseHolder
from probetui.runtimes.process.listing import list_processes
from probetui.runtimes.process.runtime import ProcessRuntime
from probetui.runtimes.process.unmanaged import ProcessFaultInjector
from probetui.runtimes.process_identity import identify, is_stopped
from tests.builders import a_pod
from tests.runtimes.bench import Bench
from tests.runtimes.cri import bench as cri_bench
from tests.runtimes.cri.bench import CriBench
from tests.runtimes.docker import bench as docker_bench
from tests.runtimes.docker.bench import DockerBench
from tests.runtimes.fault_contract import (
    COUNTS,
    count,
    inject_fault,
    is_frozen,
    wait_for_more_lines,
)
from tests.runtimes.process.bench import AnotherProbetui, ProcessBench

on_docker = docker_bench.bench
on_cri = cri_bench.bench

ENDED = replace(LeaseHolder.this_process(), born="long ago")


def kill_holder(notes: Path) -> None:
    """Make the notes belong to a process that was killed."""
    for path in notes.glob("*.json"):
        note = json.loads(path.read_text())
        path.write_text(json.dumps({**note, "holder": ENDED.text}))


class TestNotes:
    """The notes about faults, and the sessions that undo them."""

    def test_active_faults_of_another_process_are_not_undone(
        self, tmp_path: Path
    ) -> None:
        notes = FaultNotes(tmp_path, "engine")
        notes.write(FROZEN, "c1")
        during = notes.leftovers()

        kill_holder(tmp_path)

        (left,) = notes.leftovers()
        assert during == []
        assert (left.kind, left.thing_id, left.engine) == (FROZEN, "c1", "engine")

    def test_notes_of_undone_faults_are_removed(self, tmp_path: Path) -> None:
        notes = FaultNotes(tmp_path, "engine")
        notes.write(FROZEN, "c1")
        notes.write(CUT_OFF, "c1", {"ip": "10.0.0.2"})

        notes.remove(FROZEN, "c1")
        notes.remove(FROZEN, "c1")

        kill_holder(tmp_path)
        assert [(note.kind, dict(note.how)) for note in notes.leftovers()] == [
            (CUT_OFF, {"ip": "10.0.0.2"})
        ]

    @pytest.mark.parametrize(
        "text",
        [
            pytest.param("", id="empty"),
            pytest.param("[]", id="a list"),
            pytest.param('{"kind": "frozen", "id": "c1"}', id="a part"),
            pytest.param("[" * 100_000, id="deep"),
        ],
    )
    def test_a_damaged_note_is_not_changed(self, tmp_path: Path, text: str) -> None:
        (tmp_path / "frozen-x.json").write_text(text)

        assert FaultNotes(tmp_path, "").leftovers() == []
        assert (tmp_path / "frozen-x.json").read_text() == text

    def test_an_id_that_is_no_utf_8_is_noted(self, tmp_path: Path) -> None:
        notes = FaultNotes(tmp_path, "")
        notes.write(FROZEN, "\ud800")
        kill_holder(tmp_path)

        assert [note.thing_id for note in notes.leftovers()] == ["\ud800"]

    def test_a_note_with_another_name_is_ignored(self, tmp_path: Path) -> None:
        notes = FaultNotes(tmp_path, "")
        notes.write(FROZEN, "c1")
        kill_holder(tmp_path)
        (path,) = tmp_path.iterdir()
        path.rename(tmp_path / f"{FROZEN}-other.json")

        assert notes.leftovers() == []


async def survives_a_kill(
    bench: Bench,
    notes: Path,
    another: Callable[[], Awaitable[list[str]]],
) -> None:
    container_id = await bench.run(COUNTS)
    await inject_fault(bench, container_id, Fault.FREEZE)
    is_still = await is_frozen(bench, container_id)
    assert await another() == [], "who froze it is alive"
    kill_holder(notes)

    (message,) = await another()

    assert is_still
    assert "was left frozen by a killed probetui" in message
    await wait_for_more_lines(bench, container_id, await count(bench, container_id))
    assert await another() == []


@pytest.mark.docker
@pytest.mark.slow
class TestOnDocker:
    """Docker's pause, and its networks."""

    @pytest.fixture
    def bench(self, on_docker: DockerBench) -> DockerBench:
        return on_docker

    @staticmethod
    async def next_start(bench: DockerBench) -> list[str]:
        runtime = bench.another()
        try:
            return await runtime.undo_leftover_faults()
        finally:
            await runtime.close()

    async def test_a_frozen_container_continues_at_the_next_start(
        self, bench: DockerBench
    ) -> None:
        notes = bench.folder / "disruptions"

        await survives_a_kill(bench, notes, lambda: self.next_start(bench))

    async def test_the_network_of_a_pod_is_restored(self, bench: DockerBench) -> None:
        sandbox_id = await bench.sandbox(a_pod())
        container_id = await bench.run(COUNTS, sandbox_id=sandbox_id)
        before = bench.docker(sandbox_id).attrs["NetworkSettings"]["Networks"]
        await inject_fault(bench, container_id, Fault.CUT_NETWORK)
        kill_holder(bench.folder / "disruptions")
        cut = bench.docker(sandbox_id).attrs["NetworkSettings"]["Networks"]

        (message,) = await self.next_start(bench)

        networks = bench.docker(sandbox_id).attrs["NetworkSettings"]["Networks"]
        assert cut == {}
        assert "was left cut-off" in message
        assert networks.keys() == before.keys()
        # Another IP, where somebody has taken that one: Docker gives none on request.
        assert all(network["IPAddress"] for network in networks.values())

    async def test_notes_of_removed_containers_are_dropped(
        self, bench: DockerBench
    ) -> None:
        container_id = await bench.run(COUNTS)
        await inject_fault(bench, container_id, Fault.FREEZE)
        notes = bench.folder / "disruptions"
        kill_holder(notes)
        bench.docker(container_id).remove(force=True, v=True)

        assert await self.next_start(bench) == []
        assert list(notes.iterdir()) == []


@pytest.mark.cri
@pytest.mark.slow
class TestOnCri:
    """The freezer of the control group, and the pod's interfaces."""

    @pytest.fixture
    def bench(self, on_cri: CriBench) -> CriBench:
        return on_cri

    @staticmethod
    async def next_start(bench: CriBench) -> list[str]:
        return await bench.another().undo_leftover_faults()

    async def test_a_frozen_container_continues_at_the_next_start(
        self, bench: CriBench
    ) -> None:
        notes = bench.folder / "disruptions"

        await survives_a_kill(bench, notes, lambda: self.next_start(bench))

    async def test_the_network_of_a_pod_is_restored(self, bench: CriBench) -> None:
        sandbox_id = await bench.sandbox(a_pod())
        container_id = await bench.run_ready(
            "touch ready; sleep 300", sandbox_id=sandbox_id
        )
        routes = "cat /proc/net/route"
        before = (await bench.sh(container_id, routes)).stdout
        await inject_fault(bench, container_id, Fault.CUT_NETWORK)
        cut = (await bench.sh(container_id, routes)).stdout
        kill_holder(bench.folder / "disruptions")

        (message,) = await self.next_start(bench)

        assert cut != before
        assert "was left cut-off" in message
        assert (await bench.sh(container_id, routes)).stdout == before

    async def test_notes_of_another_runtime_are_kept(self, bench: CriBench) -> None:
        """The container exists there; here it is unknown, and not removed."""
        folder = bench.folder / "disruptions"
        FaultNotes(folder, "/run/another.sock").write(FROZEN, "c" * 64)
        kill_holder(folder)

        assert await self.next_start(bench) == []
        assert len(list(folder.iterdir())) == 1


@pytest.mark.slow
class TestOnProcesses:
    """SIGSTOP, sent by a probetui that is really killed."""

    @pytest.fixture
    def bench(self, tmp_path: Path) -> ProcessBench:
        return ProcessBench(tmp_path / "pods")

    async def test_a_frozen_container_continues_at_the_next_start(
        self, bench: ProcessBench
    ) -> None:
        bench.runtime = ProcessRuntime(bench.base, bench.clock, sees_all=True)
        with AnotherProbetui(bench.base, COUNTS, freezes=True) as other:
            while_it_runs = await self.next_start(bench)
            is_still = await is_frozen(bench, other.container_id)
            other.crash()
            (message,) = await self.next_start(bench)
            again = await self.next_start(bench)

        assert while_it_runs == again == []
        assert is_still
        assert message.startswith("container app of default/other was left frozen")
        before = await count(bench, other.container_id)
        await wait_for_more_lines(bench, other.container_id, before)
        await bench.clean_up()

    @staticmethod
    async def next_start(bench: ProcessBench) -> list[str]:
        runtime = ProcessRuntime(bench.base, bench.clock, sees_all=True)
        try:
            return await runtime.undo_leftover_faults()
        finally:
            await runtime.close()

    def test_an_unmanaged_process_continues_too(self, tmp_path: Path) -> None:
        with subprocess.Popen(["sleep", "300"]) as child:
            process = identify(child.pid)
            assert process is not None
            notes = FaultNotes(tmp_path, "")
            ProcessFaultInjector(list_processes, notes).inject_fault(
                process, Fault.FREEZE
            )
            os.waitid(os.P_PID, child.pid, os.WSTOPPED | os.WNOWAIT)
            was_stopped = is_stopped(process)
            kill_holder(tmp_path)

            thawed = ProcessFaultInjector(list_processes, notes).undo_leftovers()

            os.waitid(os.P_PID, child.pid, os.WCONTINUED | os.WNOWAIT)
            goes_on_now = not is_stopped(process)
            child.send_signal(signal.SIGKILL)
        assert was_stopped
        assert goes_on_now
        assert thawed == [f"process {child.pid}"]

    def test_a_reused_pid_gets_no_signal(self, tmp_path: Path) -> None:
        with subprocess.Popen(["sleep", "300"]) as child:
            os.kill(child.pid, signal.SIGSTOP)
            os.waitid(os.P_PID, child.pid, os.WSTOPPED | os.WNOWAIT)
            notes = FaultNotes(tmp_path, "")
            notes.write(FROZEN, "p", {"stopped": [[child.pid, "at another time"]]})
            kill_holder(tmp_path)

            thawed = ProcessFaultInjector(list_processes, notes).undo_leftovers()

            process = identify(child.pid)
            assert process is not None
            still_stopped = is_stopped(process)
            child.kill()
        assert still_stopped
        assert thawed == []

    @pytest.mark.parametrize("stopped", [5, "all", [5], [[-1, ""]], [["self", "x"]]])
    def test_a_damaged_note_does_not_prevent_a_start(
        self, tmp_path: Path, stopped: object
    ) -> None:
        notes = FaultNotes(tmp_path, "")
        notes.write(FROZEN, "p", {"stopped": stopped})
        kill_holder(tmp_path)

        assert ProcessFaultInjector(list_processes, notes).undo_leftovers() == []
        assert notes.leftovers() == []
