"""Containers disrupted by the kernel of this machine, against a real containerd."""

from __future__ import annotations

import os
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from probetui.errors import ContainerRuntimeError
from probetui.k8s.runtime import ContainerID, RuntimeState
from probetui.kubelet.effects import Fault
from probetui.runtimes.cri.fault_injection import CriFaultInjector
from probetui.runtimes.cri.freezer import CONTROL_GROUPS
from probetui.runtimes.cri.local_processes import send_signal
from probetui.runtimes.cri.translate import to_container_id, to_cri_id
from probetui.runtimes.fault_notes import FaultNotes
from tests.runtimes.bench import POLITE, UNAWARE
from tests.runtimes.cri.bench import CriBench, bench
from tests.runtimes.fault_contract import (
    COUNTS,
    FaultContract,
    NetworkFaultContract,
    a_server,
    count,
    inject_fault,
    is_frozen,
    is_reached,
    is_reached_soon,
    wait_for_more_lines,
)

__all__ = ["bench"]

pytestmark = [
    pytest.mark.cri,
    pytest.mark.slow,
    pytest.mark.skipif(os.geteuid() != 0, reason="only root may"),
]

MISSING_FOLDER = Path("/nowhere")
UNIFIED = CONTROL_GROUPS / "unified"
"""Where groups of the second kind are, beside those of the first."""


class TestFaultContract(FaultContract, NetworkFaultContract):
    """A CRI runtime on this machine keeps the contract."""


def fault_injector_of(bench: CriBench, control_groups: Path) -> CriFaultInjector:
    notes = FaultNotes(bench.folder / "disruptions", "")
    return CriFaultInjector(bench.client, notes, control_groups)


@pytest.mark.parametrize(
    "control_groups",
    [
        pytest.param(
            UNIFIED,
            id="groups of the second kind",
            marks=pytest.mark.skipif(not UNIFIED.is_dir(), reason="there are none"),
        ),
        pytest.param(MISSING_FOLDER, id="signals"),
    ],
)
class TestOtherWaysToFreeze:
    """Where the usual control groups are not, there is another way."""

    @pytest.fixture
    def injector(self, bench: CriBench, control_groups: Path) -> CriFaultInjector:
        return fault_injector_of(bench, control_groups)

    async def test_a_frozen_container_stops_until_it_is_thawed(
        self, bench: CriBench, injector: CriFaultInjector
    ) -> None:
        container_id = await bench.run(COUNTS)
        await injector.inject_fault(to_cri_id(container_id), Fault.FREEZE)
        is_still = await is_frozen(bench, container_id)

        await injector.inject_fault(to_cri_id(container_id), Fault.UNFREEZE)

        assert is_still
        await wait_for_more_lines(bench, container_id, await count(bench, container_id))

    async def test_a_frozen_container_is_thawed_at_the_end(
        self, bench: CriBench, injector: CriFaultInjector
    ) -> None:
        container_id = await bench.run(COUNTS)
        await injector.inject_fault(to_cri_id(container_id), Fault.FREEZE)
        await injector.inject_fault(to_cri_id(container_id), Fault.FREEZE)
        is_still = await is_frozen(bench, container_id)

        await injector.undo()

        assert is_still
        await wait_for_more_lines(bench, container_id, await count(bench, container_id))

    async def test_all_of_a_container_is_thawed_that_was_frozen_twice(
        self, bench: CriBench, injector: CriFaultInjector
    ) -> None:
        """A process that is not stopped yet is to the second freeze like one awake."""
        container_id = await bench.run(COUNTS)
        await injector.inject_fault(to_cri_id(container_id), Fault.FREEZE)
        found = await injector._find_running(to_cri_id(container_id))
        send_signal(found.pid, found.cri_id, signal.SIGCONT)
        await injector.inject_fault(to_cri_id(container_id), Fault.FREEZE)
        is_still = await is_frozen(bench, container_id)

        await injector.undo()

        assert is_still
        await wait_for_more_lines(bench, container_id, await count(bench, container_id))

    async def test_a_container_frozen_by_another_session_can_be_thawed(
        self, bench: CriBench, injector: CriFaultInjector, control_groups: Path
    ) -> None:
        container_id = await bench.run(COUNTS)
        another = fault_injector_of(bench, control_groups)
        await another.inject_fault(to_cri_id(container_id), Fault.FREEZE)
        is_still = await is_frozen(bench, container_id)

        await injector.inject_fault(to_cri_id(container_id), Fault.UNFREEZE)

        assert is_still
        await wait_for_more_lines(bench, container_id, await count(bench, container_id))

    async def test_it_can_be_killed(
        self, bench: CriBench, injector: CriFaultInjector
    ) -> None:
        container_id = await bench.run_ready(UNAWARE)
        await injector.inject_fault(to_cri_id(container_id), Fault.FREEZE)

        await injector.inject_fault(to_cri_id(container_id), Fault.KILL)

        assert (await bench.ended(container_id)).exit_code == 137

    async def test_it_can_be_stopped(
        self, bench: CriBench, injector: CriFaultInjector
    ) -> None:
        container_id = await bench.run_ready(POLITE)
        await injector.inject_fault(to_cri_id(container_id), Fault.FREEZE)

        await bench.runtime.stop_container(container_id, 1)

        assert (await bench.ended(container_id)).exit_code == 137


async def test_a_foreign_container_is_left_alone(bench: CriBench) -> None:
    _, cri_id = await bench.run_unmanaged()
    container_id = to_container_id("containerd", cri_id)

    with pytest.raises(ContainerRuntimeError, match="not made by probetui"):
        await bench.runtime.inject_fault(container_id, Fault.KILL)

    assert await bench.unmanaged_is_running()


@pytest.fixture
async def theirs(bench: CriBench) -> AsyncIterator[ContainerID]:
    """Return a container of another owner, that counts."""
    other = CriBench()
    yield await other.run(COUNTS)
    await other.close()


class TestAttached:
    """Containers of others are disrupted for who was told to, and let go in the end."""

    async def test_a_container_can_be_frozen_and_is_thawed_when_the_session_ends(
        self, bench: CriBench, theirs: ContainerID
    ) -> None:
        unmanaged = bench.runtime.unmanaged()
        await unmanaged.inject_fault(theirs, Fault.FREEZE)
        is_still = await is_frozen(bench, theirs)

        await bench.runtime.close()

        bench.runtime = bench.another()
        assert is_still
        await wait_for_more_lines(bench, theirs, await count(bench, theirs))

    async def test_one_can_be_killed(
        self, bench: CriBench, theirs: ContainerID
    ) -> None:
        unmanaged = bench.runtime.unmanaged()

        await unmanaged.inject_fault(theirs, Fault.KILL)

        async def has_ended() -> bool:
            await unmanaged.list()
            found = await unmanaged.inspect(theirs)
            return found is not None and found.status.state is RuntimeState.EXITED

        await bench.until(has_ended)


async def test_one_can_be_cut_off_and_is_reached_when_the_session_ends(
    bench: CriBench,
) -> None:
    container_id, address = await a_server(bench)
    session = bench.another()
    await session.unmanaged().inject_fault(container_id, Fault.CUT_NETWORK)
    is_cut = not await is_reached(address)

    await session.close()

    assert is_cut
    await is_reached_soon(bench, address)


async def test_what_is_cut_off_again_by_another_is_joined_by_who_cut_it(
    bench: CriBench,
) -> None:
    container_id, address = await a_server(bench)
    await inject_fault(bench, container_id, Fault.CUT_NETWORK)
    another = bench.another()
    await another.inject_fault(container_id, Fault.CUT_NETWORK)

    await another.close()
    is_cut = not await is_reached(address)
    await inject_fault(bench, container_id, Fault.RESTORE_NETWORK)

    assert is_cut
    await is_reached_soon(bench, address)
