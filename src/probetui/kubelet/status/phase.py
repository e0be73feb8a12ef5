"""The phase of a pod.

Source: kubelet_pods.go, v1.32.10, getPhase.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

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
    tally = _Tally(by_name)
    tally.add_all(pod)
    if tally.failed_init:
        return PodPhase.FAILED
    if tally.is_pending or tally.unknown:
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


class _Tally(Struct):
    """What the phase of a pod depends on: whether any container is in these states.

    A container that waits for its restart has stopped, and has not succeeded.
    """

    by_name: StatusByName
    failed_init: bool = False
    pending_init: bool = False
    pending_sidecar: bool = False
    unknown: bool = False
    running: bool = False
    waiting: bool = False
    stopped: bool = False
    unsuccessful: bool = False
    stopped_or_running_regular: bool = False
    restarts: bool = False

    @property
    def is_pending(self) -> bool:
        """Whether a container of the pod has not been started yet.

        A restarting sidecar does not set back a pod that was running before.
        """
        if self.pending_init or self.waiting:
            return True
        return self.pending_sidecar and not self.stopped_or_running_regular

    def add_all(self, pod: Pod) -> None:
        """Add the containers of a pod."""
        for container in pod.init_containers:
            if container.is_sidecar:
                self._add_sidecar(container.name)
            else:
                self._add_plain_init(pod, container)
        for container in pod.containers:
            self._add_regular(pod, container)

    def _add_plain_init(self, pod: Pod, container: Container) -> None:
        status = self.by_name.get(container.name)
        if status is not None and restarts_with_all(status):
            return
        ended = None if status is None else status.state
        if status is not None and isinstance(status.state, Waiting):
            ended = status.last_state
        if not isinstance(ended, Terminated):
            self.pending_init = True
        elif ended.exit_code and not is_restarted_after(
            pod, container, ended.exit_code
        ):
            self.failed_init = True

    def _add_sidecar(self, name: str) -> None:
        status = self.by_name.get(name)
        if status is None:
            self.unknown = True
            return
        match status.state:
            case Running():
                self.running = True
                self.pending_sidecar |= not status.started
            case Terminated():
                pass
            case Waiting():
                if not isinstance(status.last_state, Terminated):
                    self.waiting = True
            case None:
                self.unknown = True

    def _add_regular(self, pod: Pod, container: Container) -> None:
        status = self.by_name.get(container.name)
        if status is None:
            self.unknown = True
            return
        match status.state:
            case Running():
                self.running = self.stopped_or_running_regular = True
            case Terminated(exit_code=exit_code):
                self.stopped = self.stopped_or_running_regular = True
                self.unsuccessful |= exit_code != 0
                self.restarts |= is_restarted_after(pod, container, exit_code)
            case Waiting():
                if isinstance(status.last_state, Terminated):
                    self.stopped = self.unsuccessful = True
                    self.restarts |= restarts_with_all(status) or is_restarted_after(
                        pod, container, status.last_state.exit_code
                    )
                else:
                    self.waiting = True
            case None:
                self.unknown = True


def _stopped_phase(pod: Pod, tally: _Tally, *, is_terminal: bool) -> PodPhase:
    """Return the phase of a pod without running containers.

    Quirk, kept: a static pod does not end by being terminated.
    """
    ended = PodPhase.FAILED if tally.unsuccessful else PodPhase.SUCCEEDED
    if is_terminal and not is_static_pod(pod):
        return ended
    if has_own_restarts(pod) or could_restart_all(pod):
        return PodPhase.RUNNING if tally.restarts else ended
    if pod.restart_policy is RestartPolicy.ALWAYS:
        return PodPhase.RUNNING
    if ended is PodPhase.FAILED and pod.restart_policy is RestartPolicy.ON_FAILURE:
        return PodPhase.RUNNING
    return ended
