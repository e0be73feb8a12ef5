"""Which probes go on while a pod is being ended, by version and source."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from probetui.drive.scenario.behavior import IMMEDIATE, CallBehavior, ProbeAnswer
from probetui.drive.scenario.world import World
from probetui.drive.simulation import Simulation
from probetui.engine.engine import Engine
from probetui.engine.inputs import AddPod, DeletePod
from probetui.k8s.pod import Pod
from probetui.k8s.pod_source import CONFIG_SOURCE, FILE_SOURCE
from probetui.k8s.probe import ExecAction
from probetui.kubelet.config import KubeletConfig
from probetui.kubelet.effects import Operation, Relist, RunHook
from probetui.kubelet.journal import EventEntry
from probetui.kubelet.outcome import Attempt, ProbeResult
from tests.builders import START, a_container, a_pod, an_exec_probe, at

DELETED_AT, HOOK_LASTS = 8, timedelta(seconds=20)
STATIC = {CONFIG_SOURCE: FILE_SOURCE}
FAILS = ProbeAnswer(Attempt(ProbeResult.FAILURE), timedelta(milliseconds=5))
SUCCEEDS = ProbeAnswer(Attempt(ProbeResult.SUCCESS), timedelta(milliseconds=5))


def hooked_pod(**fields: Any) -> Pod:
    container = a_container(
        pre_stop=ExecAction(("drain",)),
        liveness_probe=an_exec_probe("alive", period_seconds=1, failure_threshold=3),
    )
    return a_pod(container, termination_grace_period_seconds=40, **fields)


def failures_while_ending(version: str, pod: Pod) -> int:
    """Return how often liveness fails in a pod that is deleted just before."""

    def dealing(call: Operation | Relist) -> CallBehavior:
        return CallBehavior(HOOK_LASTS) if isinstance(call, RunHook) else IMMEDIATE

    world = World(
        {},
        lambda _effect, age: FAILS if age > timedelta(seconds=9) else SUCCEEDS,
        dealing=dealing,
    )
    simulation = Simulation(Engine(KubeletConfig(version=version), START), world, START)
    simulation.submit(AddPod(pod))
    simulation.run_until(at(DELETED_AT))
    simulation.submit(DeletePod(pod.uid))
    simulation.run_until(at(60))
    return sum(
        isinstance(entry, EventEntry) and entry.event.reason == "Unhealthy"
        for entry in simulation.journal
    )


@pytest.mark.parametrize(
    ("version", "failures"), [("1.15", 3), ("1.20", 3), ("1.28", 0), ("1.36", 0)]
)
def test_liveness_probes_of_a_deleted_pod_continue_until_1_20(
    version: str, failures: int
) -> None:
    assert failures_while_ending(version, hooked_pod()) == failures


def test_a_static_pod_of_1_20_is_not_probed_any_more_when_its_file_is_gone() -> None:
    assert failures_while_ending("1.20", hooked_pod(annotations=STATIC)) == 0
