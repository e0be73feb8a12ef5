"""The lives of a container that somebody else starts and stops."""

from __future__ import annotations

from datetime import datetime

from probetui.k8s.runtime import (
    NO_CONTAINER,
    ContainerID,
    RuntimeContainerStatus,
    RuntimeState,
)
from probetui.kubelet.kuberuntime.container_hash import has_changed
from probetui.runtimes.attached.instances import InstanceTracker, runtime_container_id
from tests.builders import a_container, at

ID = ContainerID("docker://4f7a")
CONTAINER = a_container("web")


def running(
    started_at: datetime | None = None, container_id: ContainerID = ID
) -> RuntimeContainerStatus:
    return RuntimeContainerStatus(
        container_id,
        "",
        RuntimeState.RUNNING,
        created_at=at(0),
        started_at=started_at or at(1),
        image="nginx",
    )


def exited(started_at: datetime | None = None) -> RuntimeContainerStatus:
    return RuntimeContainerStatus(
        ID,
        "",
        RuntimeState.EXITED,
        created_at=at(0),
        started_at=started_at or at(1),
        finished_at=at(5),
        exit_code=3,
        reason="Error",
    )


def test_a_container_is_shown_as_if_the_manifest_had_made_it() -> None:
    lives = InstanceTracker(CONTAINER)

    lives.update(running())

    (instance,) = lives.instances
    assert (instance.container_id, instance.name) == (ID, "web")
    assert (instance.restart_count, instance.image) == (0, "nginx")
    assert not has_changed(CONTAINER, instance)


def test_one_that_ends_is_the_same_life() -> None:
    lives = InstanceTracker(CONTAINER)

    lives.update(running())
    lives.update(exited())

    assert [(it.container_id, it.exit_code) for it in lives.instances] == [(ID, 3)]


def test_one_that_is_started_again_is_another_container_to_the_kubelet() -> None:
    lives = InstanceTracker(CONTAINER)
    lives.update(running())
    lives.update(exited())
    announced = lives.next_id

    lives.update(running(at(6)))

    newest, before = lives.instances
    assert newest.container_id == announced == f"{ID}@2"
    assert (newest.restart_count, newest.created_at) == (1, at(6))
    assert (before.container_id, before.state) == (ID, RuntimeState.EXITED)
    assert runtime_container_id(newest.container_id) == ID


def test_an_end_that_nobody_saw_is_not_made_up() -> None:
    lives = InstanceTracker(CONTAINER)
    lives.update(running())

    lives.update(running(at(6)))

    assert lives.instances[1].state is RuntimeState.UNKNOWN


def test_no_more_than_one_life_before_is_remembered() -> None:
    lives = InstanceTracker(CONTAINER)

    for second in (1, 2, 3):
        lives.update(running(at(second)))

    assert [it.restart_count for it in lives.instances] == [2, 1]


def test_a_start_that_seems_to_be_earlier_is_no_new_life() -> None:
    """A daemon notes the start of what ends quickly after its end."""
    lives = InstanceTracker(CONTAINER)
    lives.update(running(at(3)))

    lives.update(exited(at(2)))

    assert [it.container_id for it in lives.instances] == [ID]


def test_one_that_was_only_created_begins_its_first_life_when_started() -> None:
    lives = InstanceTracker(CONTAINER)
    lives.update(RuntimeContainerStatus(ID, "", RuntimeState.CREATED, created_at=at(0)))

    lives.update(running())

    assert [it.restart_count for it in lives.instances] == [0]


def test_what_is_gone_leaves_nothing_but_its_count() -> None:
    lives = InstanceTracker(CONTAINER)
    lives.update(running())

    lives.update(None)

    assert (lives.instances, lives.current) == ((), NO_CONTAINER)


def test_another_container_in_its_place_counts_as_a_restart() -> None:
    other = ContainerID("docker://9999")
    lives = InstanceTracker(CONTAINER)
    lives.update(running())
    lives.update(None)

    lives.update(running(at(9), other))

    (instance,) = lives.instances
    assert (instance.container_id, instance.restart_count) == (other, 1)


def test_a_life_that_is_over_can_be_forgotten_the_newest_cannot() -> None:
    lives = InstanceTracker(CONTAINER)
    lives.update(running())
    lives.update(running(at(6)))
    newest = lives.instances[0]

    for instance in lives.instances:
        lives.forget(instance.container_id)

    assert lives.instances == (newest,)
