"""The instances of a container that others start and stop."""

from __future__ import annotations

from collections import Counter

from msgspec.structs import replace

from probetui.k8s.pod import Container
from probetui.k8s.runtime import (
    NO_CONTAINER,
    ContainerID,
    RuntimeContainerStatus,
    RuntimeState,
)
from probetui.kubelet.kuberuntime.container_hash import container_hash

SEPARATOR = "@"
DEAD_KEPT = 1
"""How many earlier instances are kept, as the kubelet keeps dead containers."""


def runtime_container_id(container_id: ContainerID) -> ContainerID:
    """Return the runtime's ID of the container of an instance."""
    return ContainerID(container_id.partition(SEPARATOR)[0])


class InstanceTracker:
    """Tracks the instances of one container of a pod.

    A runtime starts a container again under the same ID. To the kubelet that is another
    container with another ID and restart count: the second instance of `docker://4f7a`
    is `docker://4f7a@2`.

    Args:
        container: the one of the pod that it stands for.
    """

    def __init__(self, container: Container) -> None:
        self._container = container
        self._hash = container_hash(container)
        self._numbers: Counter[ContainerID] = Counter()
        self._restarts = -1
        self._current = NO_CONTAINER
        self.instances: tuple[RuntimeContainerStatus, ...] = ()
        """The current instance and the one before it, newest first; none if gone."""

    @property
    def current(self) -> ContainerID:
        """The runtime's ID of the matched container, empty if there is none."""
        return self._current

    @property
    def next_id(self) -> ContainerID:
        """The ID that the next instance will have."""
        return _instance_id(self._current, self._numbers[self._current] + 1)

    def is_current_instance(self, container_id: ContainerID) -> bool:
        """Return whether an ID is that of the newest instance."""
        return bool(self.instances) and self.instances[0].container_id == container_id

    def update(
        self,
        status: RuntimeContainerStatus | None,
        ended: RuntimeContainerStatus | None = None,
    ) -> None:
        """Update from the runtime's status.

        Args:
            status: the container, None if it is gone.
            ended: the previous container, if it was another one and is known.
        """
        if status is None:
            self._current = NO_CONTAINER
            self.instances = ()
            return
        newest = self.instances[0] if self.instances else None
        if newest is None or status.container_id != self._current:
            before: tuple[RuntimeContainerStatus, ...] = ()
            if ended is not None and newest and ended.container_id == self._current:
                before = (
                    self._as_pod_container(
                        ended, newest.container_id, newest.restart_count
                    ),
                )
            self.instances = (self._begin(status), *before)
        elif _is_restarted(newest, status):
            earlier = (_as_ended(newest), *self.instances[1:])[:DEAD_KEPT]
            self.instances = (self._begin(status), *earlier)
        else:
            same = self._as_pod_container(
                status, newest.container_id, newest.restart_count
            )
            self.instances = (same, *self.instances[1:])

    def forget(self, container_id: ContainerID) -> None:
        """Forget an earlier instance."""
        self.instances = tuple(
            instance
            for index, instance in enumerate(self.instances)
            if index == 0 or instance.container_id != container_id
        )

    def _begin(self, status: RuntimeContainerStatus) -> RuntimeContainerStatus:
        self._current = status.container_id
        self._numbers[self._current] += 1
        self._restarts = max(self._restarts + 1, status.restart_count)
        life = _instance_id(self._current, self._numbers[self._current])
        return self._as_pod_container(status, life, self._restarts)

    def _as_pod_container(
        self, status: RuntimeContainerStatus, life: ContainerID, restarts: int
    ) -> RuntimeContainerStatus:
        """Return the status as if the pod's spec had created the container."""
        created_at = status.started_at if restarts else status.created_at
        return replace(
            status,
            container_id=life,
            name=self._container.name,
            hash=self._hash,
            restart_count=restarts,
            created_at=created_at or status.created_at,
        )


def _instance_id(container_id: ContainerID, number: int) -> ContainerID:
    if number == 1:
        return container_id
    return ContainerID(f"{container_id}{SEPARATOR}{number}")


def _is_restarted(before: RuntimeContainerStatus, now: RuntimeContainerStatus) -> bool:
    """Return whether a container was restarted; a daemon's clock may step back."""
    if before.started_at is None or now.started_at is None:
        return False
    return now.started_at > before.started_at


def _as_ended(status: RuntimeContainerStatus) -> RuntimeContainerStatus:
    """Return an earlier instance, in unknown state if its exit was not observed."""
    if status.state is RuntimeState.EXITED:
        return status
    return replace(status, state=RuntimeState.UNKNOWN)
