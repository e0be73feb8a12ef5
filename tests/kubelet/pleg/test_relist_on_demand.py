"""The runtime is listed right after a sync that acted, from 1.36 on.

Recorded in 1.36.2: a start shows in the status within 0.2 to 0.5 s, in 1.20.2 after
about one second.
"""

from __future__ import annotations

from datetime import timedelta

import pytest

from probetui.drive.scenario.world import World
from probetui.drive.simulation import Simulation
from probetui.engine.engine import Engine
from probetui.engine.inputs import AddPod
from probetui.kubelet.config import KubeletConfig
from probetui.kubelet.journal import EventEntry, JournalEntry, StateEntry
from tests.builders import START, a_container, a_pod, at

ADDED_AT = 0.3
"""Between two relists."""


def journal(version: str) -> list[JournalEntry]:
    """Return what happens in a pod that is added between two relists."""
    engine = Engine(KubeletConfig(version=version), START)
    simulation = Simulation(engine, World({}), START)
    simulation.run_until(at(ADDED_AT))
    simulation.submit(AddPod(a_pod(a_container())))
    simulation.run_until(at(3))
    return list(simulation.journal)


@pytest.mark.parametrize(
    ("version", "is_at_once"),
    [("1.20", False), ("1.35", False), ("1.36", True), ("1.37", True)],
)
def test_a_start_is_told_at_once_where_the_runtime_is_listed_on_demand(
    version: str, *, is_at_once: bool
) -> None:
    (running,) = (
        entry.at
        for entry in journal(version)
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
