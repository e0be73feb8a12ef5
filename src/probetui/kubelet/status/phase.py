"""The phase of a pod.

Source: kubelet_pods.go, v1.32.10, getPhase.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from probetui.k8s.pod import Container, Pod, RestartPolicy
from probetui.k8s.pod_source import is_static_pod
from probetui.k8s.status import ContainerStatus, PodPhase, Running, Terminated, Waiting
from probetui.kubelet.kuberuntime.restart import (
    could_restart_all,
    has_own_restarts,
    is_restarted_after,
)

RESTARTING_ALL = "RestartingAllContainers"
"""The reason of a container that was removed for a restart, waiting and terminated."""

StatusByName = Mapping[str, ContainerStatus]


def pod_phase(
    pod: Pod, statuses: Iterable[ContainerStatus], *, is_terminal: bool
) -> PodPhase:
    """Return the phase of a pod from its container statuses.

    Args:
        pod: the spec.
        statuses: those of all containers; of two with one name the first counts.
        is_terminal: no container of the pod runs or will run again.
    """
    by_name: dict[str, ContainerStatus] = {}
    for status in statuses:
        by_name.setdefault(status.name, status)
    tally = _Tally(pod, by_name)
    if tally.failed_inits:
        return PodPhase.FAILED
    if tally.is_pending:
        return PodPhase.PENDING
    if tally.unknown:
        return PodPhase.PENDING
    if tally.running:
        return PodPhase.RUNNING
    if tally.stopped:
        return _stopped_phase(pod, tally, is_terminal=is_terminal)
    return PodPhase.PENDING


def has_any_regular_container_started(
    pod: Pod, statuses: Sequence[ContainerStatus]
) -> bool:
    """Return whether a regular container is running or has run.

    Source: kubelet/container/helpers.go, v1.32.10, HasAnyRegularContainerStarted.
    """
    regular = {container.name for container in pod.containers}
    return any(
        status.name in regular and isinstance(status.state, Running | Terminated)
        for status in statuses
    )


def restarts_with_all(status: ContainerStatus) -> bool:
    """Return whether a container waits for a restart of all containers."""
    return (
        isinstance(status.state, Waiting)
        and isinstance(status.last_state, Terminated)
        and status.last_state.reason == RESTARTING_ALL
    )


class _Tally:
    """Counts of a pod's containers by state."""

    __slots__ = (
        "_by_name",
        "failed_inits",
        "pending_inits",
        "pending_sidecars",
        "restarts",
        "running",
        "stopped",
        "stopped_or_running_regular",
        "succeeded",
        "unknown",
        "waiting",
    )

    def __init__(self, pod: Pod, by_name: StatusByName) -> None:
        self._by_name = by_name
        self.failed_inits = self.pending_inits = self.pending_sidecars = 0
        self.unknown = self.running = self.waiting = 0
        self.stopped = self.succeeded = self.stopped_or_running_regular = 0
        self.restarts = 0
        for container in pod.init_containers:
            if container.is_sidecar:
                self._count_sidecar(container.name)
            else:
                self._count_plain_init(pod, container)
        for container in pod.containers:
            self._count_regular(pod, container)

    @property
    def is_pending(self) -> bool:
        """Whether a container of the pod has not been started yet.

        A restarting sidecar does not set back a pod that was running before.
        """
        if self.pending_inits or self.waiting:
            return True
        return bool(self.pending_sidecars and not self.stopped_or_running_regular)

    def _count_plain_init(self, pod: Pod, container: Container) -> None:
        status = self._by_name.get(container.name)
        if status is not None and restarts_with_all(status):
            return
        ended = None if status is None else status.state
        if status is not None and isinstance(status.state, Waiting):
            ended = status.last_state
        if not isinstance(ended, Terminated):
            self.pending_inits += 1
        elif ended.exit_code and not is_restarted_after(
            pod, container, ended.exit_code
        ):
            self.failed_inits += 1

    def _count_sidecar(self, name: str) -> None:
        status = self._by_name.get(name)
        if status is None:
            self.unknown += 1
            return
        match status.state:
            case Running():
                self.running += 1
                self.pending_sidecars += not status.started
            case Terminated():
                pass
            case Waiting():
                if not isinstance(status.last_state, Terminated):
                    self.pending_sidecars += 1
                    self.waiting += 1
            case None:
                self.pending_sidecars += 1
                self.unknown += 1

    def _count_regular(self, pod: Pod, container: Container) -> None:
        status = self._by_name.get(container.name)
        if status is None:
            self.unknown += 1
            return
        match status.state:
            case Running():
                self.running += 1
                self.stopped_or_running_regular += 1
            case Terminated(exit_code=exit_code):
                self.stopped += 1
                self.stopped_or_running_regular += 1
                self.succeeded += exit_code == 0
                self.restarts += is_restarted_after(pod, container, exit_code)
            case Waiting():
                if isinstance(status.last_state, Terminated):
                    self.stopped += 1
                    self.restarts += restarts_with_all(status) or is_restarted_after(
                        pod, container, status.last_state.exit_code
                    )
                else:
                    self.waiting += 1
            case None:
                self.unknown += 1


def _stopped_phase(pod: Pod, tally: _Tally, *, is_terminal: bool) -> PodPhase:
    """Return the phase of a pod without running containers.

    Quirk, kept: a static pod does not end by being terminated.
    """
    ended = PodPhase.SUCCEEDED if tally.stopped == tally.succeeded else PodPhase.FAILED
    if is_terminal and not is_static_pod(pod):
        return ended
    if has_own_restarts(pod) or could_restart_all(pod):
        return PodPhase.RUNNING if tally.restarts else ended
    if pod.restart_policy is RestartPolicy.ALWAYS:
        return PodPhase.RUNNING
    if ended is PodPhase.FAILED and pod.restart_policy is RestartPolicy.ON_FAILURE:
        return PodPhase.RUNNING
    return ended
