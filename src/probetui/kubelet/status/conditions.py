"""The conditions of a pod that the kubelet owns.

Source: status/generate.go, v1.32.10.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from msgspec.structs import replace

from probetui.k8s.pod import Container, Pod
from probetui.k8s.runtime import RuntimePodStatus
from probetui.k8s.status import (
    ConditionStatus,
    ContainerStatus,
    PodCondition,
    PodPhase,
    PodStatus,
)
from probetui.kubelet.kuberuntime.pod_actions import pod_sandbox_changed
from probetui.kubelet.kuberuntime.restart import (
    ALL_CONTAINERS_RESTARTING,
    should_restart_all,
)
from probetui.kubelet.runtime.go_format import go_list, go_quote
from probetui.kubelet.status.phase import (
    has_any_regular_container_started,
    restarts_with_all,
)
from probetui.kubelet_rules import PORTED_RULES, KubeletRules

READY = "Ready"
CONTAINERS_READY = "ContainersReady"
INITIALIZED = "Initialized"
READY_TO_START_CONTAINERS = "PodReadyToStartContainers"
SCHEDULED = "PodScheduled"
DISRUPTION_TARGET = "DisruptionTarget"

OWNED_BY_KUBELET = frozenset(
    {
        READY,
        CONTAINERS_READY,
        INITIALIZED,
        READY_TO_START_CONTAINERS,
        SCHEDULED,
        ALL_CONTAINERS_RESTARTING,
    }
)

UNKNOWN_CONTAINER_STATUSES = "UnknownContainerStatuses"
POD_COMPLETED = "PodCompleted"
POD_FAILED = "PodFailed"
RESTART_STARTED = "RestartAllContainersStarted"
RESTART_MESSAGE = "container exited with restart policy rule"
CONTAINERS_NOT_READY = "ContainersNotReady"
CONTAINERS_NOT_INITIALIZED = "ContainersNotInitialized"
READINESS_GATES_NOT_READY = "ReadinessGatesNotReady"

_TRUE, _FALSE = ConditionStatus.TRUE, ConditionStatus.FALSE
READY_TO_START = PodCondition(READY_TO_START_CONTAINERS, _TRUE)
SCHEDULED_TRUE = PodCondition(SCHEDULED, _TRUE)


def containers_ready(
    pod: Pod,
    statuses: Sequence[ContainerStatus] | None,
    phase: PodPhase,
    rules: KubeletRules = PORTED_RULES,
) -> PodCondition:
    """Return ContainersReady: every regular container and sidecar is ready.

    `statuses` are those of init and regular containers together, None if the API
    would have null.
    """
    if statuses is None:
        return PodCondition(CONTAINERS_READY, _FALSE, UNKNOWN_CONTAINER_STATUSES)
    missing, unready = _find_missing(
        (*pod.sidecars, *pod.containers), statuses, _is_ready
    )
    has_failed = phase is PodPhase.FAILED and rules.tells_pod_failed
    if has_failed or (phase is PodPhase.SUCCEEDED and not missing):
        return terminal_condition(CONTAINERS_READY, phase)
    message = _message(missing, unready, "unready")
    if message:
        return PodCondition(CONTAINERS_READY, _FALSE, CONTAINERS_NOT_READY, message)
    return PodCondition(CONTAINERS_READY, _TRUE)


def pod_ready(
    pod: Pod,
    conditions: Iterable[PodCondition],
    statuses: Sequence[ContainerStatus] | None,
    phase: PodPhase,
    rules: KubeletRules = PORTED_RULES,
) -> PodCondition:
    """Return Ready: the containers are ready and so are all readiness gates."""
    containers = containers_ready(pod, statuses, phase, rules)
    if containers.status is not _TRUE:
        return PodCondition(
            READY, containers.status, containers.reason, containers.message
        )
    if not pod.readiness_gates:
        return PodCondition(READY, _TRUE)
    status_of = {
        condition.type: condition.status for condition in reversed(tuple(conditions))
    }
    complaints = []
    for gate in pod.readiness_gates:
        status = status_of.get(gate)
        if status is None:
            complaints.append(
                f"corresponding condition of pod readiness gate {go_quote(gate)} "
                "does not exist."
            )
        elif status is not _TRUE:
            complaints.append(
                f"the status of pod readiness gate {go_quote(gate)} is not "
                f'"True", but {status}'
            )
    if complaints:
        message = ", ".join(complaints)
        return PodCondition(READY, _FALSE, READINESS_GATES_NOT_READY, message)
    return PodCondition(READY, _TRUE)


def initialized(
    pod: Pod, statuses: Sequence[ContainerStatus] | None, phase: PodPhase
) -> PodCondition:
    """Return Initialized: the init containers have completed.

    Once a regular container has been started it stays true.
    """
    if statuses is None and pod.init_containers:
        return PodCondition(INITIALIZED, _FALSE, UNKNOWN_CONTAINER_STATUSES)
    statuses = statuses or ()
    missing, incomplete = _find_missing(pod.init_containers, statuses, _is_complete)
    if phase is PodPhase.SUCCEEDED and not missing:
        return PodCondition(INITIALIZED, _TRUE, POD_COMPLETED)
    message = _message(missing, incomplete, "incomplete")
    has_begun = has_any_regular_container_started(pod, statuses) or any(
        map(restarts_with_all, statuses)
    )
    if message and not has_begun:
        return PodCondition(INITIALIZED, _FALSE, CONTAINERS_NOT_INITIALIZED, message)
    return PodCondition(INITIALIZED, _TRUE)


def ready_to_start_containers(pod: Pod, status: RuntimePodStatus) -> PodCondition:
    """Return PodReadyToStartContainers: the pod has a usable sandbox."""
    is_needed = pod_sandbox_changed(pod, status).is_needed
    return PodCondition(READY_TO_START_CONTAINERS, _FALSE if is_needed else _TRUE)


def all_containers_restarting(
    pod: Pod, status: RuntimePodStatus, published: PodStatus, phase: PodPhase
) -> PodCondition:
    """Return AllContainersRestarting: from the exit until all are removed.

    Source: status/generate.go, v1.36.2, GenerateAllContainersRestartingCondition.
    """
    if phase.is_terminal:
        return terminal_condition(ALL_CONTAINERS_RESTARTING, phase)
    is_left = any(status.newest(container.name) for container in pod.all_containers())
    if not (is_left and should_restart_all(pod, status, published)):
        return PodCondition(ALL_CONTAINERS_RESTARTING, _FALSE)
    return PodCondition(
        ALL_CONTAINERS_RESTARTING, _TRUE, RESTART_STARTED, RESTART_MESSAGE
    )


def is_ready(status: PodStatus) -> bool:
    """Return whether the condition Ready of a pod is true."""
    ready = status.condition(READY)
    return ready is not None and ready.status is _TRUE


def observed_generation(pod: Pod, rules: KubeletRules) -> int:
    """Return the observed generation for a status, 0 without one.

    Source: pkg/api/v1/pod/util.go, v1.36.2, CalculatePodStatusObservedGeneration.
    """
    return pod.generation if rules.reports_generation else 0


def observed_by(condition: PodCondition, generation: int) -> PodCondition:
    """Return a condition with its observed generation."""
    return (
        replace(condition, observed_generation=generation) if generation else condition
    )


def terminal_condition(condition_type: str, phase: PodPhase) -> PodCondition:
    """Return a condition of a pod that has ended."""
    reason = POD_FAILED if phase is PodPhase.FAILED else POD_COMPLETED
    return PodCondition(condition_type, _FALSE, reason)


def replace_condition(conditions: list[PodCondition], new: PodCondition) -> None:
    """Replace the condition of the same type, or append the condition."""
    for index, condition in enumerate(conditions):
        if condition.type == new.type:
            conditions[index] = new
            return
    conditions.append(new)


def _find_missing(
    containers: Iterable[Container],
    statuses: Sequence[ContainerStatus],
    is_fine: Callable[[Container, ContainerStatus], bool],
) -> tuple[list[str], list[str]]:
    """Return the names of containers without a status, and of those not `is_fine`."""
    by_name = {
        container_status.name: container_status
        for container_status in reversed(statuses)
    }
    missing, not_fine = [], []
    for container in containers:
        status = by_name.get(container.name)
        if status is None:
            missing.append(container.name)
        elif not is_fine(container, status):
            not_fine.append(container.name)
    return missing, not_fine


def _is_ready(_container: Container, status: ContainerStatus) -> bool:
    return status.ready


def _is_complete(container: Container, status: ContainerStatus) -> bool:
    return bool(status.started) if container.is_sidecar else status.ready


def _message(missing: list[str], not_fine: list[str], description: str) -> str:
    parts = []
    if missing:
        parts.append(f"containers with unknown status: {go_list(missing)}")
    if not_fine:
        parts.append(f"containers with {description} status: {go_list(not_fine)}")
    return ", ".join(parts)
