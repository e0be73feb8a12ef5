"""Container statuses: from the runtime's to the API's.

Source: kubelet_pods.go, v1.32.10, convertToAPIContainerStatuses.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from probetui.k8s.pod import Container, Pod
from probetui.k8s.runtime import RuntimeContainerStatus, RuntimePodStatus, RuntimeState
from probetui.k8s.status import (
    ContainerState,
    ContainerStatus,
    Running,
    Terminated,
    VolumeMountStatus,
    Waiting,
)
from probetui.kubelet.kuberuntime.reason_cache import ReasonCache
from probetui.kubelet.kuberuntime.restart import should_container_be_restarted
from probetui.kubelet.status.phase import RESTARTING_ALL
from probetui.kubelet_rules import PORTED_RULES, KubeletRules

CONTAINER_STATUS_UNKNOWN = "ContainerStatusUnknown"
EXIT_CODE_UNKNOWN = 137

CONTAINER_CREATING = Waiting("ContainerCreating")
POD_INITIALIZING = Waiting("PodInitializing")
CREATED = Waiting()
LOST_AT_TERMINATION = Terminated(
    EXIT_CODE_UNKNOWN,
    CONTAINER_STATUS_UNKNOWN,
    "The container could not be located when the pod was terminated",
)
LOST_WHILE_RUNNING = Terminated(
    EXIT_CODE_UNKNOWN,
    CONTAINER_STATUS_UNKNOWN,
    "The container could not be located when the pod was deleted.  "
    "The container used to be Running",
)
_REMOVED = "The container is removed because RestartAllContainers in place"
WAITING_FOR_ALL = Waiting(RESTARTING_ALL, _REMOVED)
RESTARTED_WITH_ALL = Terminated(EXIT_CODE_UNKNOWN, RESTARTING_ALL, _REMOVED)
READ_ONLY_NOT_RECURSIVE = "Disabled"


def container_statuses(
    pod: Pod,
    status: RuntimePodStatus,
    previous: Sequence[ContainerStatus],
    reasons: ReasonCache,
    *,
    of_init: bool,
    restarts_all: bool = False,
    rules: KubeletRules = PORTED_RULES,
) -> tuple[ContainerStatus, ...]:
    """Return the statuses of a pod's init or regular containers.

    Init containers are in the order of the spec, regular ones in that of their names.
    The probe manager sets `ready` and `started`; until then they are those of the
    previous status.

    Args:
        pod: the spec.
        status: the pod's status at the runtime.
        previous: the statuses of the same containers that were published last.
        reasons: why the last starts failed.
        of_init: of the init containers instead of the regular ones.
        restarts_all: the containers are being removed, to be restarted together.
        rules: those of the kubelet's version.
    """
    containers = pod.init_containers if of_init else pod.containers
    old = {container_status.name: container_status for container_status in previous}
    statuses = []
    for container in containers:
        instances = status.instances(container.name)
        before = old.get(container.name)
        if instances:
            current = _from_runtime(instances, before, rules)
        else:
            current = _without_instance(pod, container, before, rules)
            if restarts_all and before and not isinstance(before.state, Waiting):
                current = replace(
                    current,
                    state=WAITING_FOR_ALL,
                    last_state=RESTARTED_WITH_ALL,
                    restart_count=before.restart_count + 1,
                )
        has_succeeded = (
            of_init
            and bool(instances)
            and instances[0].state is RuntimeState.EXITED
            and instances[0].exit_code == 0
        )
        if not has_succeeded and should_container_be_restarted(
            container.name, pod, status, rules
        ):
            current = _with_start_failure(pod, current, reasons)
        statuses.append(current)
    if not of_init:
        statuses.sort(key=lambda status: status.name)
    return tuple(statuses)


def _without_instance(
    pod: Pod,
    container: Container,
    before: ContainerStatus | None,
    rules: KubeletRules,
) -> ContainerStatus:
    """Return the status of a container without an instance in the runtime.

    A container that was running must have ended unseen: it is waiting, so that it is
    started again, but with a last state, so that the pod does not become pending.
    """
    if before is not None and isinstance(before.state, Terminated):
        return before
    waiting = POD_INITIALIZING if pod.init_containers else CONTAINER_CREATING
    last_state = None if before is None else before.last_state
    restart_count = 0 if before is None else before.restart_count
    was_running = before is not None and isinstance(before.state, Running)
    if was_running and not isinstance(last_state, Terminated):
        last_state = LOST_WHILE_RUNNING
        restart_count += pod.deletion_requested_at is None
    return ContainerStatus(
        name=container.name,
        state=waiting,
        last_state=last_state,
        restart_count=restart_count,
        image=container.image,
        volume_mounts=_volume_mounts(container)
        if container.volume_mounts and rules.reports_volume_mounts
        else (),
    )


def _volume_mounts(container: Container) -> tuple[VolumeMountStatus, ...]:
    return tuple(
        VolumeMountStatus(
            mount.name,
            mount.mount_path,
            mount.read_only,
            READ_ONLY_NOT_RECURSIVE if mount.read_only else None,
        )
        for mount in container.volume_mounts
    )


def _from_runtime(
    instances: Sequence[RuntimeContainerStatus],
    before: ContainerStatus | None,
    rules: KubeletRules,
) -> ContainerStatus:
    """Return the status by the newest instance; the last state by the one before.

    Quirk, kept: in older versions a published last state does not outlive its instance.
    """
    newest = instances[0]
    state = _state(newest, before)
    last_state = _state(instances[1], before) if len(instances) > 1 else None
    restart_count = newest.restart_count
    if before is not None and rules.keeps_last_state:
        last_state = last_state or _last_state(newest, before)
        restart_count = max(restart_count, before.restart_count)
    # The runtime has lost it, so its restart count misses it, too.
    if before is not None and state is LOST_AT_TERMINATION:
        restart_count = before.restart_count + 1
    return ContainerStatus(
        name=newest.name,
        container_id=newest.container_id,
        state=state,
        last_state=last_state,
        restart_count=restart_count,
        image=newest.image,
        image_id=newest.image_ref,
        volume_mounts=() if before is None else before.volume_mounts,
        started=None if before is None else before.started,
        stop_signal=newest.stop_signal
        if newest.stop_signal and rules.stop_signals
        else "",
    )


def _last_state(
    newest: RuntimeContainerStatus, before: ContainerStatus
) -> Terminated | None:
    """Return the last state when the runtime no longer has the instance."""
    is_another = before.container_id != newest.container_id
    if is_another and isinstance(before.state, Terminated):
        return before.state
    return before.last_state if isinstance(before.last_state, Terminated) else None


def _state(
    instance: RuntimeContainerStatus, before: ContainerStatus | None
) -> ContainerState:
    match instance.state:
        case RuntimeState.RUNNING:
            return Running(instance.started_at)
        case RuntimeState.CREATED:
            return CREATED
        case RuntimeState.EXITED:
            return Terminated(
                exit_code=instance.exit_code,
                reason=instance.reason,
                message=instance.message,
                started_at=instance.started_at,
                finished_at=instance.finished_at,
                container_id=instance.container_id,
            )
        case RuntimeState.UNKNOWN:
            # A container that has run must not appear as if it never had.
            was_running = before is not None and isinstance(before.state, Running)
            return LOST_AT_TERMINATION if was_running else CREATED


def _with_start_failure(
    pod: Pod, status: ContainerStatus, reasons: ReasonCache
) -> ContainerStatus:
    """Return the status of a container whose start failed."""
    failure = reasons.get(pod.uid, status.name)
    if failure is None:
        return status
    last_state = status.last_state
    if isinstance(status.state, Terminated):
        last_state = status.state
    waiting = Waiting(failure.reason, failure.message)
    return replace(status, state=waiting, last_state=last_state)
