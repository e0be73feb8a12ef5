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
OLD = Pod("old", "web", containers=(Container("app", "a:1"),), labels={"version": "1"})
NEW = replace(OLD, uid="new", containers=(Container("app", "a:2"),))


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
    simulation = simulate(OLD)

    simulation.submit(SetPods((OLD,)))
    simulation.run_for(timedelta(seconds=30))

    assert started(simulation) == ["old"]
    assert notes(simulation) == []


def test_a_pod_that_is_gone_from_the_manifests_is_ended() -> None:
    simulation = simulate(OLD)

    simulation.submit(SetPods(()))
    simulation.run_for(timedelta(seconds=30))

    assert simulation.engine.pod_uids() == ()
    assert [e.pod_uid for e in simulation.journal if isinstance(e, PodGoneEntry)] == [
        "old"
    ]


def test_a_changed_pod_begins_when_the_one_of_its_name_is_gone() -> None:
    simulation = simulate(OLD)

    simulation.submit(SetPods((NEW,)))
    simulation.run_for(timedelta(seconds=30))

    gone_at = next(e.at for e in simulation.journal if isinstance(e, PodGoneEntry))
    new_at = next(
        e.at
        for e in simulation.journal
        if isinstance(e, EventEntry)
        and e.event.reason == "Started"
        and e.event.pod_uid == "new"
    )
    assert started(simulation) == ["old", "new"]
    assert new_at >= gone_at
    assert simulation.engine.pod_uids() == ("new",)


def test_what_changed_is_told_field_by_field() -> None:
    simulation = simulate(OLD)

    simulation.submit(SetPods((NEW,)))

    assert notes(simulation) == ["web: containers[app].image: a:1 -> a:2"]


def test_a_change_under_the_same_uid_is_applied_in_place() -> None:
    simulation = simulate(OLD)

    simulation.submit(SetPods((replace(NEW, uid="old"),)))
    simulation.run_for(timedelta(seconds=30))

    reasons = [
        entry.event.message
        for entry in simulation.journal
        if isinstance(entry, EventEntry) and entry.event.reason == "Killing"
    ]
    assert reasons == ["Container app definition changed, will be restarted"]
    assert simulation.engine.pod_uids() == ("old",)


def test_two_pods_of_one_name_are_told_of_and_the_first_one_runs() -> None:
    simulation = simulate(OLD, NEW)

    refusals = [
        entry.event.reason
        for entry in simulation.journal
        if isinstance(entry, EventEntry) and entry.event.reason == "FailedValidation"
    ]

    assert refusals == ["FailedValidation"]
    assert started(simulation) == ["old"]


def test_a_manifest_that_comes_back_while_its_pod_ends_begins_anew() -> None:
    simulation = simulate(OLD)
    simulation.submit(SetPods(()))
    simulation.run_for(timedelta(seconds=1))

    simulation.submit(SetPods((OLD,)))
    simulation.run_for(timedelta(seconds=30))

    gone = [entry for entry in simulation.journal if isinstance(entry, PodGoneEntry)]
    assert started(simulation) == ["old", "old"]
    assert len(gone) == 1
    assert simulation.engine.pod_uids() == ("old",)


def test_what_is_to_come_back_is_changed_by_its_manifest_too() -> None:
    simulation = simulate(OLD)
    for pods in ((), (OLD,), (replace(OLD, labels={"version": "2"}),)):
        simulation.submit(SetPods(pods))

    simulation.run_for(timedelta(seconds=30))

    (pod,) = simulation.engine.snapshot(simulation.now).pods
    assert pod.pod.labels == {"version": "2"}
    assert len(started(simulation)) == 2


def test_a_changed_manifest_does_not_save_a_pod_from_its_deletion() -> None:
    simulation = simulate(OLD)
    simulation.submit(DeletePod("old"))

    simulation.submit(SetPods((replace(OLD, labels={"version": "2"}),)))
    simulation.run_for(timedelta(seconds=30))

    assert simulation.engine.pod_uids() == ()
