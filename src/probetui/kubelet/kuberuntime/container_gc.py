"""Container garbage collection: dead instances, and remains of terminated pods.

Source: kuberuntime_gc.go, pod_container_deletor.go, v1.32.10.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime

from probetui.k8s.runtime import (
    ContainerID,
    RuntimeContainerStatus,
    RuntimePodStatus,
    RuntimeState,
)
from probetui.kubelet.effects import RemoveContainer, RemovePodSandbox, StopPodSandbox
from probetui.kubelet.runtime.routines import Routine, RoutineRunner


class ContainerGC:
    """Removes dead containers and sandboxes; owned by the kubelet.

    Args:
        runner: runs the routines.
        kept: how many dead instances of each container stay.
        forget: called with a completely removed pod and the instant of its removal.
    """

    def __init__(
        self,
        runner: RoutineRunner,
        kept: int,
        forget: Callable[[str, datetime], None],
    ) -> None:
        self._runner = runner
        self._kept = kept
        self._forget = forget
        self._removing: set[str] = set()
        self._removing_containers: set[ContainerID] = set()

    def remove_content(
        self, pod_uid: str, status: RuntimePodStatus | None, now: datetime
    ) -> None:
        """Remove the containers and sandboxes of a finished pod, then forget it.

        Failures are retried at the next housekeeping.
        """
        if pod_uid in self._removing:
            return
        self._removing.add(pod_uid)

        def done(error: str | None, at: datetime) -> None:
            self._removing.discard(pod_uid)
            if error is None:
                self._forget(pod_uid, at)

        self._runner.start(
            pod_uid, _remove_all(status or RuntimePodStatus(pod_uid)), done, now
        )

    def remove_surplus(
        self, status: RuntimePodStatus, names: Iterable[str], now: datetime
    ) -> None:
        """Remove the dead instances of these containers, except the newest."""
        ids = tuple(
            instance.container_id
            for name in names
            for instance in containers_to_delete(status, name, self._kept)
            if instance.container_id not in self._removing_containers
        )
        if not ids:
            return
        self._removing_containers.update(ids)

        def done(_result: None, _at: datetime) -> None:
            self._removing_containers.difference_update(ids)

        self._runner.start(status.pod_uid, _remove_containers(ids), done, now)


def _remove_all(status: RuntimePodStatus) -> Routine[str | None]:
    """Remove containers, then sandboxes; return the last error."""
    error = None
    for container in status.containers:
        removed = yield RemoveContainer(container.container_id)
        error = removed.error or error
    for sandbox in status.sandboxes:
        stopped = yield StopPodSandbox(sandbox.sandbox_id)
        removed = yield RemovePodSandbox(sandbox.sandbox_id)
        error = removed.error or stopped.error or error
    return error


def _remove_containers(ids: tuple[ContainerID, ...]) -> Routine[None]:
    """Remove containers; failures are retried by the next collection."""
    for container_id in ids:
        yield RemoveContainer(container_id)


def containers_to_delete(
    status: RuntimePodStatus, name: str, kept: int
) -> tuple[RuntimeContainerStatus, ...]:
    """Return the exited instances of a container except the newest `kept`.

    Source: pod_container_deletor.go, v1.32.10, getContainersToDeleteInPod.
    """
    exited = [
        container
        for container in status.containers
        if container.name == name and container.state is RuntimeState.EXITED
    ]
    return tuple(exited[kept:])
