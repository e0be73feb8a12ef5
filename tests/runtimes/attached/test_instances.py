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
    instances = InstanceTracker(CONTAINER)

    instances.update(running())

    (instance,) = instances.instances
    assert (instance.container_id, instance.name) == (ID, "web")
    assert (instance.restart_count, instance.image) == (0, "nginx")
    assert not has_changed(CONTAINER, instance)


def test_an_exit_is_of_the_same_instance() -> None:
    instances = InstanceTracker(CONTAINER)

    instances.update(running())
    instances.update(exited())

    assert [(it.container_id, it.exit_code) for it in instances.instances] == [(ID, 3)]


def test_one_that_is_started_again_is_another_container_to_the_kubelet() -> None:
    instances = InstanceTracker(CONTAINER)
    instances.update(running())
    instances.update(exited())
    announced = instances.next_id

    instances.update(running(at(6)))

    newest, before = instances.instances
    assert newest.container_id == announced == f"{ID}@2"
    assert (newest.restart_count, newest.created_at) == (1, at(6))
    assert (before.container_id, before.state) == (ID, RuntimeState.EXITED)
    assert runtime_container_id(newest.container_id) == ID


def test_an_exit_that_was_not_observed_is_not_invented() -> None:
    instances = InstanceTracker(CONTAINER)
    instances.update(running())

    instances.update(running(at(6)))

    assert instances.instances[1].state is RuntimeState.UNKNOWN


def test_only_one_previous_instance_is_kept() -> None:
    instances = InstanceTracker(CONTAINER)

    for second in (1, 2, 3):
        instances.update(running(at(second)))

    assert [it.restart_count for it in instances.instances] == [2, 1]


def test_an_earlier_start_time_is_no_new_instance() -> None:
    """A daemon notes the start of what ends quickly after its end."""
    instances = InstanceTracker(CONTAINER)
    instances.update(running(at(3)))

    instances.update(exited(at(2)))

    assert [it.container_id for it in instances.instances] == [ID]


def test_a_created_container_starts_its_first_instance_when_started() -> None:
    instances = InstanceTracker(CONTAINER)
    instances.update(
        RuntimeContainerStatus(ID, "", RuntimeState.CREATED, created_at=at(0))
    )

    instances.update(running())

    assert [it.restart_count for it in instances.instances] == [0]


def test_a_removed_container_leaves_only_its_count() -> None:
    instances = InstanceTracker(CONTAINER)
    instances.update(running())

    instances.update(None)

    assert (instances.instances, instances.current) == ((), NO_CONTAINER)


def test_another_container_in_its_place_counts_as_a_restart() -> None:
    other = ContainerID("docker://9999")
    instances = InstanceTracker(CONTAINER)
    instances.update(running())
    instances.update(None)

    instances.update(running(at(9), other))

    (instance,) = instances.instances
    assert (instance.container_id, instance.restart_count) == (other, 1)


def test_an_old_instance_can_be_removed_but_not_the_newest() -> None:
    instances = InstanceTracker(CONTAINER)
    instances.update(running())
    instances.update(running(at(6)))
    newest = instances.instances[0]

    for instance in instances.instances:
        instances.forget(instance.container_id)

    assert instances.instances == (newest,)
