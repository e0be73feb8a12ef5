"""Which generation of a pod its status is about, as recorded with a 1.36.2 cluster."""

from __future__ import annotations

from datetime import timedelta

import pytest
from msgspec.structs import replace

from probetui.drive.scenario.behavior import InstanceBehavior
from probetui.drive.scenario.world import World
from probetui.drive.simulation import Simulation
from probetui.engine.engine import Engine
from probetui.engine.inputs import DeletePod, SetPods
from probetui.k8s.pod import Pod
from probetui.k8s.pod_source import CONFIG_SOURCE, FILE_SOURCE
from probetui.k8s.status import PodPhase, PodStatus
from probetui.kubelet.config import KubeletConfig
from probetui.kubelet.status.conditions import OWNED_BY_KUBELET
from tests.builders import START, a_container, a_pod, at

WEB = a_pod(a_container(image="web:1"), termination_grace_period_seconds=10)
EDITED = replace(WEB, containers=(a_container(image="web:2"),))
LABELLED = replace(WEB, annotations={"a": "b"})
SLOW = InstanceBehavior(stops_after=timedelta(seconds=4))
STATIC = replace(WEB, annotations={CONFIG_SOURCE: FILE_SOURCE})


def a_simulation(version: str, *gates: str, counts: bool = True) -> Simulation:
    config = KubeletConfig(
        version=version, feature_gates=gates, counts_generations=counts
    )
    return Simulation(
        Engine(config, START), World({WEB.containers[0].name: (SLOW,)}), START
    )


def status_of(simulation: Simulation, seconds: float) -> PodStatus:
    simulation.run_until(at(seconds))
    (pod,) = simulation.engine.snapshot(simulation.now).pods
    return pod.status


def generations(status: PodStatus) -> set[int]:
    own = (one for one in status.conditions if one.type in OWNED_BY_KUBELET)
    return {status.observed_generation, *(one.observed_generation for one in own)}


@pytest.mark.parametrize(
    ("version", "gates", "seen"),
    [
        pytest.param("1.32", (), {0}, id="1.32"),
        pytest.param("1.33", (), {0}, id="1.33"),
        pytest.param("1.33", ("PodObservedGenerationTracking=true",), {1}, id="alpha"),
        pytest.param("1.34", ("PodObservedGenerationTracking=false",), {0}, id="off"),
        pytest.param("1.34", (), {1}, id="1.34"),
        pytest.param("1.36", (), {1}, id="1.36"),
    ],
)
def test_a_status_has_the_observed_generation(
    version: str, gates: tuple[str, ...], seen: set[int]
) -> None:
    simulation = a_simulation(version, *gates)
    simulation.submit(SetPods((WEB,)))

    assert generations(status_of(simulation, 5)) == seen


@pytest.mark.parametrize(("version", "counted"), [("1.32", 0), ("1.33", 1)])
def test_a_new_pod_is_of_the_first_generation(version: str, counted: int) -> None:
    simulation = a_simulation(version)
    simulation.submit(SetPods((WEB,)))
    simulation.run_until(at(5))

    (pod,) = simulation.engine.snapshot(simulation.now).pods
    assert pod.pod.generation == counted


@pytest.mark.parametrize(
    ("update", "seen"),
    [
        pytest.param(EDITED, {2}, id="another image"),
        pytest.param(LABELLED, {1}, id="another annotation"),
    ],
)
def test_a_change_of_the_spec_makes_another_generation(
    update: Pod, seen: set[int]
) -> None:
    simulation = a_simulation("1.36")
    simulation.submit(SetPods((WEB,)))
    simulation.run_until(at(5))
    simulation.submit(SetPods((update,)))

    assert generations(status_of(simulation, 15)) == seen


def test_a_deletion_is_in_the_status_before_the_containers_have_exited() -> None:
    simulation = a_simulation("1.36")
    simulation.submit(SetPods((WEB,)))
    simulation.run_until(at(5))
    simulation.submit(DeletePod(WEB.uid))

    status = status_of(simulation, 5.1)

    assert (generations(status), status.phase) == ({2}, PodPhase.RUNNING)


def test_nobody_counts_the_generations_of_a_static_pod() -> None:
    simulation = a_simulation("1.36")
    simulation.submit(SetPods((STATIC,), source=FILE_SOURCE))

    assert generations(status_of(simulation, 5)) == {0}


def test_a_record_of_old_has_no_generations() -> None:
    simulation = a_simulation("1.36", counts=False)
    simulation.submit(SetPods((WEB,)))

    assert generations(status_of(simulation, 5)) == {0}
