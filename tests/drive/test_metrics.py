"""The kubelet's metrics, counted from journal entries."""

from __future__ import annotations

from datetime import timedelta

from prometheus_client import CollectorRegistry
from prometheus_client.exposition import generate_latest

from probetui.drive.metrics import ProbeMetrics
from probetui.drive.scenario.behavior import ProbeAnswer
from probetui.drive.scenario.world import World
from probetui.drive.simulation import Simulation
from probetui.engine.engine import Engine
from probetui.engine.inputs import AddPod, DeletePod
from probetui.k8s.pod import Pod
from probetui.kubelet.config import KubeletConfig
from probetui.kubelet.effects import RunProbe
from probetui.kubelet.outcome import Attempt, ProbeResult
from tests.builders import START, a_container, a_pod, an_exec_probe

POD = a_pod(
    a_container("app", readiness_probe=an_exec_probe("x", period_seconds=1)),
    name="web",
    uid="u1",
)
TOTAL = (
    'prober_probe_total{{container="app",namespace="default",pod="web",pod_uid="u1",'
    'probe_type="Readiness",result="{}"}} {}'
)


def answers(result: ProbeResult, **fields: object) -> ProbeAnswer:
    return ProbeAnswer(Attempt(result, **fields), timedelta(milliseconds=30))  # type: ignore[arg-type]  # its fields


def simulate(answer: ProbeAnswer, pod: Pod = POD) -> tuple[Simulation, ProbeMetrics]:
    def probing(_effect: RunProbe, _age: timedelta) -> ProbeAnswer:
        return answer

    simulation = Simulation(Engine(KubeletConfig(), START), World({}, probing), START)
    simulation.submit(AddPod(pod))
    simulation.run_for(timedelta(seconds=5))
    metrics = ProbeMetrics()
    metrics.register_pods([pod])
    metrics.consume(simulation.journal)
    return simulation, metrics


def exposed(metrics: ProbeMetrics) -> list[str]:
    registry = CollectorRegistry()
    registry.register(metrics)
    return generate_latest(registry).decode().splitlines()


def test_successes_are_counted_with_their_duration() -> None:
    _, metrics = simulate(answers(ProbeResult.SUCCESS))

    lines = exposed(metrics)

    name = "prober_probe_duration_seconds"
    labels = 'container="app",{}namespace="default",pod="web",probe_type="Readiness"'
    short, long = (labels.format(f'le="{bound}",') for bound in ("0.025", "0.05"))
    assert f"{name}_bucket{{{short}}} 0.0" in lines
    assert f"{name}_bucket{{{long}}} 4.0" in lines
    assert f"{name}_count{{{labels.format('')}}} 4.0" in lines


def test_failures_are_counted_without_a_duration() -> None:
    _, metrics = simulate(answers(ProbeResult.FAILURE))

    lines = exposed(metrics)

    assert TOTAL.format("failed", "5.0") in lines
    assert not [line for line in lines if "duration_seconds_count" in line]


def test_a_warning_is_a_success() -> None:
    _, metrics = simulate(answers(ProbeResult.WARNING))

    assert TOTAL.format("successful", "4.0") in exposed(metrics)


def test_errors_are_not_counted() -> None:
    _, metrics = simulate(answers(ProbeResult.UNKNOWN, error="no such binary"))

    assert not [line for line in exposed(metrics) if line.startswith("prober_")]


def test_a_deleted_pod_has_no_series() -> None:
    simulation, metrics = simulate(answers(ProbeResult.SUCCESS))
    consumed = len(simulation.journal)
    simulation.submit(DeletePod("u1"))
    simulation.run_for(timedelta(seconds=40))

    metrics.consume(simulation.journal[consumed:])

    assert not [line for line in exposed(metrics) if line.startswith("prober_")]
