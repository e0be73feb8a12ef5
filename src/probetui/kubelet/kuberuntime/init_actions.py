"""Which init containers to start and to kill.

There are two algorithms, as in 1.32: the old one is for pods without sidecars.

Source: kuberuntime/kuberuntime_container.go, v1.32.10, findNextInitContainerToRun,
computeInitContainerActions.
"""

from __future__ import annotations

from typing import Protocol

from msgspec import Struct

from probetui.k8s.pod import Container, Pod
from probetui.k8s.runtime import (
    ContainerID,
    RuntimeContainerStatus,
    RuntimePodStatus,
    RuntimeState,
)
from probetui.kubelet.kuberuntime.container_hash import has_changed
from probetui.kubelet.kuberuntime.grace_period import KillReason
from probetui.kubelet.kuberuntime.restart import (
    UNKNOWN_FAILURE,
    is_init_container_failed,
    is_restarted_after,
)
from probetui.kubelet.outcome import Result
from probetui.kubelet_rules import PORTED_RULES, KubeletRules


class StoredResults(Protocol):
    """The stored results of one type of probe."""

    def get(self, container_id: ContainerID, /) -> Result | None:
        """Return the stored result, None if there is none."""
        ...


class ContainerToKill(Struct, frozen=True):
    """A container instance to kill, and the message of its `Killing` event."""

    container_id: ContainerID
    container: Container
    message: str
    reason: KillReason


class NextInitContainer(Struct, frozen=True):
    """The next step of a pod with plain init containers.

    `failed` is the instance that `container` replaces, None if there is none.
    """

    is_done: bool
    container: Container | None = None
    failed: RuntimeContainerStatus | None = None


def find_next_init_container(pod: Pod, status: RuntimePodStatus) -> NextInitContainer:
    """Return the next step of a pod with plain init containers.

    If it is not done and has no container, one is running.
    """
    inits = pod.init_containers
    if not inits or _any_in(pod, status, {RuntimeState.RUNNING}):
        return NextInitContainer(is_done=True)
    for container in reversed(inits):
        newest = status.newest(container.name)
        if newest is not None and is_init_container_failed(newest):
            return NextInitContainer(is_done=False, container=container, failed=newest)
    for index in reversed(range(len(inits))):
        newest = status.newest(inits[index].name)
        if newest is None:
            continue
        if newest.state is RuntimeState.RUNNING:
            return NextInitContainer(is_done=False)
        if newest.state is RuntimeState.EXITED:
            if index == len(inits) - 1:
                return NextInitContainer(is_done=True)
            return NextInitContainer(is_done=False, container=inits[index + 1])
    return NextInitContainer(is_done=False, container=inits[0])


def any_regular_container_created(pod: Pod, status: RuntimePodStatus) -> bool:
    """Return whether a regular container has been created."""
    return _any_in(
        pod, status, {RuntimeState.CREATED, RuntimeState.RUNNING, RuntimeState.EXITED}
    )


class InitActions(Struct, frozen=True):
    """The actions of a pod with sidecars before its regular containers.

    `is_initialized` means that the regular containers come next, `kills_pod` that a
    plain init container has failed permanently. `to_start` are indexes into the init
    containers in the order of the spec.
    """

    is_initialized: bool
    kills_pod: bool
    to_start: tuple[int, ...]
    to_kill: tuple[ContainerToKill, ...]


def compute_init_actions(
    pod: Pod,
    status: RuntimePodStatus,
    liveness: StoredResults,
    startup: StoredResults,
    rules: KubeletRules = PORTED_RULES,
) -> InitActions:
    """Compute the init container actions of a pod that has sidecars.

    The walk goes from the last to the first, because instances of finished ones may
    have been removed: the last known instance shows the pod's progress, and before it
    only sidecars are kept running.
    """
    walk = _Walk(pod, liveness, startup, rules)
    walk.is_initialized = was_initialized = _any_in(
        pod, status, {RuntimeState.CREATED, RuntimeState.RUNNING}
    )
    for index in reversed(range(len(pod.init_containers))):
        container = pod.init_containers[index]
        newest = status.newest(container.name)
        if newest is None:
            if was_initialized and container.is_sidecar:
                walk.to_start.append(index)
            continue
        if container.is_sidecar:
            walk.sidecar(index, newest, was_initialized=was_initialized)
        elif not was_initialized:
            walk.plain(index, newest)
        if walk.kills_pod:
            return InitActions(
                is_initialized=False,
                kills_pod=True,
                to_start=(),
                to_kill=tuple(walk.to_kill),
            )
        was_initialized = True
    if not was_initialized:
        walk.to_start.append(0)
    return InitActions(
        walk.is_initialized,
        kills_pod=False,
        to_start=tuple(reversed(walk.to_start)),
        to_kill=tuple(walk.to_kill),
    )


class _Walk:
    """A walk over the init containers, last to first, for one decision."""

    __slots__ = (
        "is_initialized",
        "kills_pod",
        "liveness",
        "pod",
        "rules",
        "startup",
        "to_kill",
        "to_start",
    )

    def __init__(
        self,
        pod: Pod,
        liveness: StoredResults,
        startup: StoredResults,
        rules: KubeletRules,
    ) -> None:
        self.rules = rules
        self.pod = pod
        self.liveness = liveness
        self.startup = startup
        self.is_initialized = False
        self.kills_pod = False
        self.to_start: list[int] = []
        self.to_kill: list[ContainerToKill] = []

    def sidecar(
        self, index: int, newest: RuntimeContainerStatus, *, was_initialized: bool
    ) -> None:
        """Decide on a sidecar by its newest instance."""
        if newest.state is RuntimeState.RUNNING:
            self._running_sidecar(index, newest, was_initialized=was_initialized)
        elif newest.state is RuntimeState.UNKNOWN:
            self._replace_unknown(index, newest)
        else:
            self.to_start.append(index)

    def plain(self, index: int, newest: RuntimeContainerStatus) -> None:
        """Decide on the last plain init container with an instance."""
        if newest.state is RuntimeState.RUNNING:
            return
        if newest.state is RuntimeState.CREATED:
            self.to_start.append(index)
        elif not is_init_container_failed(newest):
            self._passed(index)
        elif not is_restarted_after(
            self.pod,
            self.pod.init_containers[index],
            newest.exit_code or UNKNOWN_FAILURE,
        ):
            self.kills_pod = True
        elif newest.state is RuntimeState.UNKNOWN:
            self._replace_unknown(index, newest)
        else:
            self.to_start.append(index)

    def _running_sidecar(
        self, index: int, newest: RuntimeContainerStatus, *, was_initialized: bool
    ) -> None:
        """Quirk, kept: probe results count only for probes that the spec has."""
        container = self.pod.init_containers[index]
        if container.startup_probe is not None:
            startup = self.startup.get(newest.container_id)
            if startup is Result.FAILURE:
                self._replace(
                    index,
                    newest,
                    f"{container.name} failed startup probe",
                    KillReason.STARTUP_PROBE,
                )
            if startup is not Result.SUCCESS:
                return
        if index == len(self.pod.init_containers) - 1 or not was_initialized:
            self._passed(index)
        if has_changed(container, newest, self.rules):
            self._replace(
                index, newest, f"{container.name} definition changed", KillReason.NONE
            )
        elif (
            container.liveness_probe is not None
            and self.liveness.get(newest.container_id) is Result.FAILURE
        ):
            self._replace(
                index,
                newest,
                f"{container.name} failed liveness probe",
                KillReason.LIVENESS_PROBE,
            )

    def _passed(self, index: int) -> None:
        """Continue after an init container that has completed or started up."""
        if index == len(self.pod.init_containers) - 1:
            self.is_initialized = True
        else:
            self.to_start.append(index + 1)

    def _replace_unknown(self, index: int, newest: RuntimeContainerStatus) -> None:
        self._replace(
            index,
            newest,
            f'is in "{newest.state}" state, try killing it before restart',
            KillReason.UNKNOWN,
        )

    def _replace(
        self, index: int, newest: RuntimeContainerStatus, why: str, reason: KillReason
    ) -> None:
        self.to_kill.append(
            ContainerToKill(
                newest.container_id,
                self.pod.init_containers[index],
                f"Init container {why}",
                reason,
            )
        )
        self.to_start.append(index)


def _any_in(pod: Pod, status: RuntimePodStatus, states: set[RuntimeState]) -> bool:
    for container in pod.containers:
        newest = status.newest(container.name)
        if newest is not None and newest.state in states:
            return True
    return False
