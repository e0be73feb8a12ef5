"""The lives of a container that others start and stop."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from probetui.k8s.pod import Container
from probetui.k8s.runtime import (
    NO_CONTAINER,
    ContainerID,
    RuntimeContainerStatus,
    RuntimeState,
)
from probetui.kubelet.container_hash import container_hash

SEPARATOR = "@"
DEAD_KEPT = 1
"""How many lives before the newest are remembered, as the kubelet keeps containers."""


def foreign_id(container_id: ContainerID) -> ContainerID:
    """Return the runtime's own ID of what a life is of."""
    return ContainerID(container_id.partition(SEPARATOR)[0])


class Lives:
    """What one container of a pod has been, life by life.

    Runtimes start a container again under the ID it had. To the kubelet that is
    another container, with another ID and a restart count: so the second life of
    `docker://4f7a` is `docker://4f7a@2`.

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
        """The life of now and the one before it, newest first; none if it is gone."""

    @property
    def current(self) -> ContainerID:
        """The runtime's ID of what is watched, empty while that is gone."""
        return self._current

    @property
    def upcoming(self) -> ContainerID:
        """The ID that the next life will have."""
        return _life(self._current, self._numbers[self._current] + 1)

    def is_now(self, container_id: ContainerID) -> bool:
        """Tell whether an ID is that of the newest life."""
        return bool(self.instances) and self.instances[0].container_id == container_id

    def see(self, status: RuntimeContainerStatus | None) -> None:
        """Take in what the runtime says now; None for nothing at all."""
        if status is None:
            self._current = NO_CONTAINER
            self.instances = ()
            return
        newest = self.instances[0] if self.instances else None
        if newest is None or status.container_id != self._current:
            self.instances = (self._begin(status),)
        elif _is_another_life(newest, status):
            earlier = (_ended(newest), *self.instances[1:])[:DEAD_KEPT]
            self.instances = (self._begin(status), *earlier)
        else:
            same = self._ours(status, newest.container_id, newest.restart_count)
            self.instances = (same, *self.instances[1:])

    def forget(self, container_id: ContainerID) -> None:
        """Remember a life before the newest no more."""
        self.instances = tuple(
            each
            for index, each in enumerate(self.instances)
            if index == 0 or each.container_id != container_id
        )

    def _begin(self, status: RuntimeContainerStatus) -> RuntimeContainerStatus:
        self._current = status.container_id
        self._numbers[self._current] += 1
        self._restarts += 1
        life = _life(self._current, self._numbers[self._current])
        return self._ours(status, life, self._restarts)

    def _ours(
        self, status: RuntimeContainerStatus, life: ContainerID, restarts: int
    ) -> RuntimeContainerStatus:
        """Return the status as if the pod's own definition had made the container."""
        created_at = status.started_at if restarts else status.created_at
        return replace(
            status,
            container_id=life,
            name=self._container.name,
            hash=self._hash,
            restart_count=restarts,
            created_at=created_at or status.created_at,
        )


def _life(container_id: ContainerID, number: int) -> ContainerID:
    if number == 1:
        return container_id
    return ContainerID(f"{container_id}{SEPARATOR}{number}")


def _is_another_life(
    before: RuntimeContainerStatus, now: RuntimeContainerStatus
) -> bool:
    """Tell whether a container was started since; clocks of daemons may step back."""
    if before.started_at is None or now.started_at is None:
        return False
    return now.started_at > before.started_at


def _ended(status: RuntimeContainerStatus) -> RuntimeContainerStatus:
    """Return a life that is over; one whose end nobody saw is in an unknown state."""
    if status.state is RuntimeState.EXITED:
        return status
    return replace(status, state=RuntimeState.UNKNOWN)
