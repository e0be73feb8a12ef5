"""The runtime is listed right after a sync that acted, from 1.36 on.

Recorded in 1.36.2: a start shows in the status within 0.2 to 0.5 s, in 1.20.2 after
about one second.
"""

from __future__ import annotations

from datetime import timedelta

import pytest

from probetui.drive.scenario.behavior import ResultName, ScriptedResult
from probetui.drive.scenario.world import World
from probetui.drive.simulation import Simulation
from probetui.engine.engine import Engine
from probetui.engine.inputs import AddPod
from probetui.k8s.pod import Pod
from probetui.kubelet.config import KubeletConfig
from probetui.kubelet.journal import EventEntry, JournalEntry, StateEntry
from tests.builders import START, a_container, a_pod, a_probe, at

POD = a_pod(a_container())
ADDED_AT = 0.3
"""Between two relists."""


def journal(
    version: str, *gates: str, world: World | None = None, pod: Pod = POD
) -> list[JournalEntry]:
    """Return what happens in a pod that is added between two relists."""
    engine = Engine(KubeletConfig(version=version, feature_gates=gates), START)
    simulation = Simulation(engine, world or World({}), START)
    simulation.run_until(at(ADDED_AT))
    simulation.submit(AddPod(pod))
    simulation.run_until(at(4))
    return list(simulation.journal)


@pytest.mark.parametrize(
    ("version", "gates", "is_at_once"),
    [
        pytest.param("1.20", (), False, id="1.20"),
        pytest.param("1.35", (), False, id="1.35"),
        pytest.param("1.36", (), True, id="1.36"),
        pytest.param("1.36", ("PLEGOnDemandRelist=false",), False, id="1.36, gate"),
        pytest.param("1.37", (), True, id="1.37"),
    ],
)
def test_a_start_is_reported_at_once_if_the_runtime_is_relisted_on_demand(
    version: str, gates: tuple[str, ...], *, is_at_once: bool
) -> None:
    (running,) = (
        entry.at
        for entry in journal(version, *gates)
        if isinstance(entry, StateEntry) and entry.after == "Running"
    )

    lag = running - at(ADDED_AT)
    assert (lag < timedelta(seconds=0.1)) is is_at_once
    assert lag <= timedelta(seconds=1)


@pytest.mark.parametrize(("version", "is_before"), [("1.35", False), ("1.36", True)])
def test_a_pod_may_start_containers_as_soon_as_its_sandbox_runs(
    version: str, *, is_before: bool
) -> None:
    entries = journal(version)

    ready = next(
        index
        for index, entry in enumerate(entries)
        if isinstance(entry, StateEntry)
        and (entry.subject, entry.after) == ("PodReadyToStartContainers", "True")
    )
    pulled = next(
        index
        for index, entry in enumerate(entries)
        if isinstance(entry, EventEntry) and entry.event.reason == "Pulled"
    )
    assert (ready < pulled) is is_before


def test_a_failed_sync_requests_no_relist() -> None:
    """Recorded in 1.36.2: up to a second from one BackOff event to the next."""
    pod = a_pod(
        a_container(liveness_probe=a_probe(period_seconds=1, failure_threshold=1))
    )
    world = World(probing=ScriptedResult(ResultName.FAILURE))

    events = [
        entry.event
        for entry in journal("1.36", world=world, pod=pod)
        if isinstance(entry, EventEntry)
    ]

    waits = [event.at for event in events if event.reason == "BackOff"]
    assert waits[1] - waits[0] >= timedelta(seconds=0.5)
