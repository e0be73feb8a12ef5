"""All containers of a pod are restarted when one exits with a code of such a rule."""

from __future__ import annotations

from datetime import timedelta

import pytest

from probetui.drive.scenario.behavior import InstanceBehavior
from probetui.drive.scenario.world import World
from probetui.drive.simulation import Simulation
from probetui.engine.engine import Engine
from probetui.engine.inputs import AddPod
from probetui.k8s.pod import RESTART_ALL_CONTAINERS, Pod, RestartPolicy, RestartRule
from probetui.k8s.probe import ExecAction
from probetui.k8s.status import PodPhase, PodStatus, Terminated
from probetui.kubelet.config import KubeletConfig
from probetui.kubelet.journal import (
    ContainerEntry,
    EventEntry,
    ExitCause,
    LifecycleStep,
    StateEntry,
    StatusEntry,
)
from tests.builders import START, a_container, a_pod, an_exec_probe, at

NEVER = RestartPolicy.NEVER
ASKS = a_container(
    "watcher",
    restart_policy=NEVER,
    restart_rules=(RestartRule(RESTART_ALL_CONTAINERS, "In", (88,)),),
)
HOOKED = a_container("main", pre_stop=ExecAction(("sleep", "1")))
SETUP = a_container("setup")
LIVES = {
    "setup": (InstanceBehavior(timedelta(seconds=1), 0),),
    "watcher": (InstanceBehavior(timedelta(seconds=10), 88), InstanceBehavior()),
}


def run(pod: Pod, version: str = "1.36", seconds: float = 30) -> Simulation:
    """Run a pod whose container `watcher` asks for it once, after 10 s."""
    engine = Engine(KubeletConfig(version=version), START)
    simulation = Simulation(engine, World(LIVES), START)
    simulation.submit(AddPod(pod))
    simulation.run_until(at(seconds))
    return simulation


def last_status(simulation: Simulation) -> PodStatus:
    return [one.status for one in simulation.journal if isinstance(one, StatusEntry)][
        -1
    ]


def counts(simulation: Simulation) -> dict[str, int]:
    status = last_status(simulation)
    return {
        one.name: one.restart_count
        for one in (
            *(status.init_container_statuses or ()),
            *(status.container_statuses or ()),
        )
    }


def test_every_container_is_restarted_also_one_that_has_ended() -> None:
    pod = a_pod(ASKS, HOOKED, init_containers=(SETUP,), restart_policy=NEVER)

    simulation = run(pod)

    assert counts(simulation) == {"setup": 1, "main": 1, "watcher": 1}
    assert last_status(simulation).phase is PodPhase.RUNNING


def test_the_shown_exit_has_the_reason_that_all_were_restarted() -> None:
    simulation = run(a_pod(ASKS, HOOKED, restart_policy=NEVER))

    for status in last_status(simulation).container_statuses or ():
        assert isinstance(status.last_state, Terminated)
        assert status.last_state.reason == "RestartingAllContainers"
        assert status.last_state.exit_code == 137


def test_others_are_stopped_without_their_hooks_and_by_a_cause_of_its_own() -> None:
    simulation = run(a_pod(ASKS, HOOKED, restart_policy=NEVER))

    kills = [
        (one.event.container_name, one.event.message)
        for one in simulation.journal
        if isinstance(one, EventEntry) and one.event.reason == "Killing"
    ]
    exits = {
        one.container_name: one.by
        for one in simulation.journal
        if isinstance(one, ContainerEntry) and one.what is LifecycleStep.EXITED
    }
    assert kills == [("main", "killing")]
    assert exits == {"watcher": ExitCause.ITSELF, "main": ExitCause.RESTART_ALL}


def test_the_condition_holds_until_all_are_gone() -> None:
    simulation = run(a_pod(ASKS, HOOKED, restart_policy=NEVER))

    changes = [
        (one.before, one.after)
        for one in simulation.journal
        if isinstance(one, StateEntry) and one.subject == "AllContainersRestarting"
    ]
    assert changes == [("", "False"), ("False", "True"), ("True", "False")]


@pytest.mark.parametrize(
    ("version", "restarts"), [("1.35", 0), ("1.36", 1)], ids=["1.35", "1.36"]
)
def test_a_pod_of_one_container_is_synced_at_once_from_1_36_on(
    version: str, restarts: int
) -> None:
    simulation = run(a_pod(ASKS, restart_policy=NEVER), version)

    started = [
        one
        for one in simulation.journal
        if isinstance(one, ContainerEntry) and one.what is LifecycleStep.STARTED
    ]
    assert len(started) == 1 + restarts


def test_workers_of_exited_containers_are_added_again() -> None:
    over = a_container("done", readiness_probe=an_exec_probe("true", period_seconds=1))
    lives = {**LIVES, "done": (InstanceBehavior(timedelta(seconds=3), 0),)}
    pod = a_pod(ASKS, over, restart_policy=NEVER)
    simulation = Simulation(
        Engine(KubeletConfig(version="1.36"), START), World(lives), START
    )
    simulation.submit(AddPod(pod))

    simulation.run_until(at(13))

    (status,) = [
        one
        for one in last_status(simulation).container_statuses or ()
        if one.name == "done"
    ]
    assert (status.ready, status.restart_count) == (True, 1)
