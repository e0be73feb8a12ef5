"""Active faults: frozen and disconnected containers, and when they end."""

from __future__ import annotations

from datetime import datetime

import pytest

from probetui.debugger.active_faults import ActiveFaults
from probetui.k8s.runtime import ContainerID, RuntimePodStatus, SandboxStatus
from probetui.kubelet.effects import Fault
from probetui.kubelet.pleg.pleg import CachedStatus, PodCache
from tests.builders import at

POD_UID = "uid-of-web"
FIRST, SECOND = ContainerID("docker://1"), ContainerID("docker://1@2")


def cache_with(*sandbox_ids: str) -> PodCache:
    """Return a cache with a pod that has these sandboxes, newest first."""
    sandboxes = tuple(
        SandboxStatus(sandbox_id, is_ready=True) for sandbox_id in sandbox_ids
    )
    cache = PodCache()
    status = RuntimePodStatus(POD_UID, sandboxes=sandboxes)
    cache.set(CachedStatus(status, None, at(0)))
    return cache


def disrupted(*sandbox_ids: str, shares_network: bool = True) -> ActiveFaults:
    return ActiveFaults(cache_with(*sandbox_ids), shares_network=shares_network)


def since(state: ActiveFaults, container_id: ContainerID) -> list[datetime | None]:
    return [
        state.frozen_since(container_id),
        state.cut_off_since(POD_UID, container_id),
    ]


def test_what_is_frozen_is_so_since_the_first_time() -> None:
    state = disrupted("sandbox")

    state.record_fault(Fault.FREEZE, POD_UID, FIRST, at(1))
    state.record_fault(Fault.FREEZE, POD_UID, FIRST, at(2))

    assert since(state, FIRST) == [at(1), None]
    assert since(state, SECOND) == [None, None], "the next instance is not"


def test_what_is_cut_off_is_every_container_of_the_sandbox() -> None:
    state = disrupted("sandbox")

    state.record_fault(Fault.CUT_NETWORK, POD_UID, FIRST, at(1))
    state.record_fault(Fault.CUT_NETWORK, POD_UID, SECOND, at(2))

    assert since(state, FIRST) == since(state, SECOND) == [None, at(1)]


def test_a_new_sandbox_has_its_network() -> None:
    cache = cache_with("old")
    state = ActiveFaults(cache, shares_network=True)
    state.record_fault(Fault.CUT_NETWORK, POD_UID, FIRST, at(1))

    new = RuntimePodStatus(
        POD_UID,
        sandboxes=(
            SandboxStatus("new", is_ready=True),
            SandboxStatus("old", is_ready=False),
        ),
    )
    cache.set(CachedStatus(new, None, at(2)))

    assert since(state, SECOND) == [None, None]


def test_where_each_has_its_own_network_the_others_keep_theirs() -> None:
    state = disrupted("stands for none", shares_network=False)

    state.record_fault(Fault.CUT_NETWORK, POD_UID, FIRST, at(1))

    assert since(state, FIRST) == [None, at(1)]
    assert since(state, SECOND) == [None, None]


@pytest.mark.parametrize(
    ("fault", "reverse"),
    [
        pytest.param(Fault.FREEZE, Fault.UNFREEZE, id="freeze"),
        pytest.param(Fault.CUT_NETWORK, Fault.RESTORE_NETWORK, id="cut"),
    ],
)
def test_what_is_undone_is_forgotten(fault: Fault, reverse: Fault) -> None:
    state = disrupted("sandbox")
    state.record_fault(fault, POD_UID, FIRST, at(1))

    state.record_fault(reverse, POD_UID, FIRST, at(2))

    assert since(state, FIRST) == [None, None]


@pytest.mark.parametrize("signal", [Fault.STOP, Fault.KILL])
def test_a_signal_is_no_active_fault(signal: Fault) -> None:
    state = disrupted("sandbox")

    state.record_fault(signal, POD_UID, FIRST, at(1))

    assert since(state, FIRST) == [None, None]
