"""The state of workers as metrics."""

from __future__ import annotations

from datetime import timedelta

import pytest
from msgspec.structs import replace

from probetui.drive.scenario.behavior import ProbeAnswer
from probetui.drive.scenario.world import World
from probetui.drive.simulation import Simulation
from probetui.drive.worker_metrics import WorkerMetrics
from probetui.engine.engine import Engine
from probetui.engine.inputs import AddPod
from probetui.engine.snapshot import Snapshot
from probetui.kubelet.config import KubeletConfig
from probetui.kubelet.effects import RunProbe
from probetui.kubelet.outcome import Attempt, ProbeResult
from tests.builders import START, a_container, a_pod, an_exec_probe

POD = a_pod(
    a_container(
        "app",
        liveness_probe=an_exec_probe("x", period_seconds=1, failure_threshold=5),
        readiness_probe=an_exec_probe("y", period_seconds=1),
    ),
    name="web",
    uid="u1",
    termination_grace_period_seconds=60,
)


def snapshot_after(seconds: int, result: ProbeResult) -> Snapshot:
    def probing(_effect: RunProbe, _age: timedelta) -> ProbeAnswer:
        return ProbeAnswer(Attempt(result))

    simulation = Simulation(Engine(KubeletConfig(), START), World({}, probing), START)
    simulation.submit(AddPod(POD))
    simulation.run_for(timedelta(seconds=seconds))
    return simulation.engine.snapshot(simulation.now)


def values(snapshot: Snapshot, probe_type: str = "Liveness") -> dict[str, float]:
    """Return the values of one worker by the end of their names."""
    return {
        sample.name.removeprefix("probetui_probe_"): sample.value
        for metric in WorkerMetrics(lambda: snapshot).collect()
        for sample in metric.samples
        if sample.labels["probe_type"] == probe_type
    }


def test_a_run_of_failures_counts_down_to_the_kill() -> None:
    after_three = next(
        found
        for seconds in range(1, 9)
        if (found := values(snapshot_after(seconds, ProbeResult.FAILURE)))
        and found["failures_in_a_row"] == 3
    )

    assert after_three == {
        "failures_in_a_row": 3,
        "successes_in_a_row": 0,
        "failures_until_kill": 2,
        "on_hold": 0,
        "exact": 1,
    }


def test_successes_are_far_from_a_kill() -> None:
    found = values(snapshot_after(6, ProbeResult.SUCCESS))

    assert found["successes_in_a_row"] >= 4
    assert (found["failures_in_a_row"], found["failures_until_kill"]) == (0, 5)


def test_a_readiness_probe_kills_nothing() -> None:
    found = values(snapshot_after(6, ProbeResult.FAILURE), "Readiness")

    assert "failures_until_kill" not in found
    assert found["failures_in_a_row"] >= 3


@pytest.mark.parametrize(
    ("change", "name", "value"),
    [
        pytest.param({"run_doubt": "two orders"}, "exact", 0, id="in doubt"),
        pytest.param({"on_hold": True}, "on_hold", 1, id="on hold"),
        pytest.param({"on_hold": True}, "failures_until_kill", 0, id="killed"),
    ],
)
def test_doubt_and_holds_are_told(
    change: dict[str, object], name: str, value: int
) -> None:
    snapshot = snapshot_after(3, ProbeResult.SUCCESS)
    (pod,) = snapshot.pods
    (container,) = pod.containers
    probes = tuple(replace(probe, **change) for probe in container.probes)
    changed = replace(pod, containers=(replace(container, probes=probes),))

    assert values(replace(snapshot, pods=(changed,)))[name] == value


def test_a_worker_that_is_gone_has_no_series() -> None:
    snapshot = snapshot_after(3, ProbeResult.SUCCESS)
    (pod,) = snapshot.pods
    (container,) = pod.containers
    probes = tuple(replace(probe, worker_alive=False) for probe in container.probes)
    changed = replace(pod, containers=(replace(container, probes=probes),))

    assert values(replace(snapshot, pods=(changed,))) == {}
