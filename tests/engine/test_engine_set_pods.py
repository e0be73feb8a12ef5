"""The pods of the manifests, changed while they run."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from msgspec.structs import replace

from probetui.drive.scenario.behavior import InstanceBehavior
from probetui.drive.scenario.world import World
from probetui.drive.simulation import Simulation
from probetui.engine.engine import Engine
from probetui.engine.inputs import DeletePod, SetPods
from probetui.k8s.pod import Container, Pod
from probetui.kubelet.config import KubeletConfig
from probetui.kubelet.journal import EventEntry, NoteEntry, PodGoneEntry

START = datetime(2026, 11, 20, 8, 0, tzinfo=UTC)
OLD_POD = Pod(
    "old", "web", containers=(Container("app", "a:1"),), labels={"version": "1"}
)
NEW_POD = replace(OLD_POD, uid="new", containers=(Container("app", "a:2"),))


def simulate(*pods: Pod) -> Simulation:
    world = World({"app": (InstanceBehavior(stops_after=timedelta(seconds=4)),)})
    simulation = Simulation(Engine(KubeletConfig(), START), world, START)
    simulation.submit(SetPods(pods))
    simulation.run_for(timedelta(seconds=10))
    return simulation


def started(simulation: Simulation) -> list[str]:
    return [
        entry.event.pod_uid
        for entry in simulation.journal
        if isinstance(entry, EventEntry) and entry.event.reason == "Started"
    ]


def notes(simulation: Simulation) -> list[str]:
    return [entry.text for entry in simulation.journal if isinstance(entry, NoteEntry)]


def test_the_same_pods_again_change_nothing() -> None:
    simulation = simulate(OLD_POD)

    simulation.submit(SetPods((OLD_POD,)))
    simulation.run_for(timedelta(seconds=30))

    assert started(simulation) == ["old"]
    assert notes(simulation) == []


def test_a_pod_without_a_manifest_is_terminated() -> None:
    simulation = simulate(OLD_POD)

    simulation.submit(SetPods(()))
    simulation.run_for(timedelta(seconds=30))

    assert simulation.engine.pod_uids() == ()
    assert [e.pod_uid for e in simulation.journal if isinstance(e, PodGoneEntry)] == [
        "old"
    ]


def test_a_changed_pod_starts_after_the_end_of_the_old_one() -> None:
    simulation = simulate(OLD_POD)

    simulation.submit(SetPods((NEW_POD,)))
    simulation.run_for(timedelta(seconds=30))

    removed_at = next(e.at for e in simulation.journal if isinstance(e, PodGoneEntry))
    new_at = next(
        e.at
        for e in simulation.journal
        if isinstance(e, EventEntry)
        and e.event.reason == "Started"
        and e.event.pod_uid == "new"
    )
    assert started(simulation) == ["old", "new"]
    assert new_at >= removed_at
    assert simulation.engine.pod_uids() == ("new",)


def test_a_changed_manifest_is_noted_field_by_field() -> None:
    simulation = simulate(OLD_POD)

    simulation.submit(SetPods((NEW_POD,)))

    assert notes(simulation) == ["web: containers[app].image: a:1 -> a:2"]


def test_a_change_under_the_same_uid_is_applied_in_place() -> None:
    simulation = simulate(OLD_POD)

    simulation.submit(SetPods((replace(NEW_POD, uid="old"),)))
    simulation.run_for(timedelta(seconds=30))

    reasons = [
        entry.event.message
        for entry in simulation.journal
        if isinstance(entry, EventEntry) and entry.event.reason == "Killing"
    ]
    assert reasons == ["Container app definition changed, will be restarted"]
    assert simulation.engine.pod_uids() == ("old",)


def test_two_pods_with_one_name_are_noted_and_the_first_runs() -> None:
    simulation = simulate(OLD_POD, NEW_POD)

    refusals = [
        entry.event.reason
        for entry in simulation.journal
        if isinstance(entry, EventEntry) and entry.event.reason == "FailedValidation"
    ]

    assert refusals == ["FailedValidation"]
    assert started(simulation) == ["old"]


def test_a_manifest_that_is_restored_during_termination_starts_its_pod_again() -> None:
    simulation = simulate(OLD_POD)
    simulation.submit(SetPods(()))
    simulation.run_for(timedelta(seconds=1))

    simulation.submit(SetPods((OLD_POD,)))
    simulation.run_for(timedelta(seconds=30))

    removals = [
        entry for entry in simulation.journal if isinstance(entry, PodGoneEntry)
    ]
    assert started(simulation) == ["old", "old"]
    assert len(removals) == 1
    assert simulation.engine.pod_uids() == ("old",)


def test_a_pod_that_will_be_started_again_gets_manifest_changes_too() -> None:
    simulation = simulate(OLD_POD)
    for pods in ((), (OLD_POD,), (replace(OLD_POD, labels={"version": "2"}),)):
        simulation.submit(SetPods(pods))

    simulation.run_for(timedelta(seconds=30))

    (pod,) = simulation.engine.snapshot(simulation.now).pods
    assert pod.pod.labels == {"version": "2"}
    assert len(started(simulation)) == 2


def test_a_changed_manifest_does_not_cancel_a_deletion() -> None:
    simulation = simulate(OLD_POD)
    simulation.submit(DeletePod("old"))

    simulation.submit(SetPods((replace(OLD_POD, labels={"version": "2"}),)))
    simulation.run_for(timedelta(seconds=30))

    assert simulation.engine.pod_uids() == ()
