"""Checkpoints: states of the engine that are saved and restored."""

from __future__ import annotations

from datetime import timedelta

from probetui.debugger.commands import RestartContainer
from probetui.drive.playback.checkpoint import take_checkpoint
from probetui.drive.scenario.behavior import InstanceBehavior
from probetui.drive.scenario.world import World
from probetui.drive.simulation import Simulation
from probetui.engine.engine import Engine
from probetui.engine.inputs import AddPod
from probetui.kubelet.config import KubeletConfig
from tests.builders import START, a_container, a_pod, a_probe, at

POD = a_pod(
    a_container(liveness_probe=a_probe(period_seconds=2), readiness_probe=a_probe())
)


def a_simulation(instance: InstanceBehavior) -> Simulation:
    simulation = Simulation(
        Engine(KubeletConfig(), START), World({"app": (instance,)}), START
    )
    simulation.submit(AddPod(POD))
    return simulation


def test_a_restored_state_continues_as_the_original_did() -> None:
    simulation = a_simulation(InstanceBehavior(timedelta(seconds=7), exit_code=1))
    simulation.run_until(at(40))
    kept = take_checkpoint(simulation)
    before = len(simulation.journal)
    simulation.run_until(at(120))

    assert kept is not None
    again: Simulation = kept.restore()
    again.attach([], lambda _item, _now: None)
    again.run_until(at(120))

    assert list(again.journal) == list(simulation.journal)[before:]
    assert repr(again.engine.snapshot(at(120))) == repr(
        simulation.engine.snapshot(at(120))
    )


def test_immutable_objects_are_shared_with_the_checkpoint() -> None:
    simulation = a_simulation(InstanceBehavior())
    simulation.run_until(at(20))
    pod = simulation.engine.snapshot(at(20)).pods[0].pod

    kept = take_checkpoint(simulation)

    assert kept is not None
    again: Simulation = kept.restore()
    assert again.engine.snapshot(at(20)).pods[0].pod is pod
    assert again.engine is not simulation.engine


def test_no_checkpoint_is_taken_while_a_container_is_being_stopped() -> None:
    simulation = a_simulation(InstanceBehavior(stops_after=None))
    simulation.run_until(at(20))

    simulation.submit(RestartContainer(POD.uid, "app"))

    assert take_checkpoint(simulation) is None
