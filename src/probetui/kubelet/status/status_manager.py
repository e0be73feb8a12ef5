"""The status manager: the published status of each pod.

Source: status/status_manager.go, v1.32.10.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from datetime import datetime

from msgspec.structs import replace

from probetui.k8s.pod import Container, Pod, RestartPolicy
from probetui.k8s.pod_source import is_static_pod
from probetui.k8s.runtime import ContainerID
from probetui.k8s.status import (
    ConditionStatus,
    ContainerStatus,
    PodCondition,
    PodPhase,
    PodStatus,
    Running,
    Terminated,
    Waiting,
)
from probetui.kubelet.kuberuntime.restart import (
    could_restart_all,
    has_own_restarts,
    is_restarted_after,
)
from probetui.kubelet.status.conditions import (
    CONTAINERS_READY,
    DISRUPTION_TARGET,
    OWNED_BY_KUBELET,
    READY,
    containers_ready,
    observed_by,
    observed_generation,
    pod_ready,
    replace_condition,
    terminal_condition,
)
from probetui.kubelet.status.container_statuses import LOST_AT_TERMINATION
from probetui.kubelet.status.published_status import (
    is_status_equal,
    published_status,
    to_seconds,
)
from probetui.kubelet_rules import PORTED_RULES, KubeletRules

NO_STATUS = PodStatus(phase=PodPhase.PENDING)


class StatusManager:
    """The published status of each pod; owned by the engine.

    A published status stays the same object until it changes. There is no API server:
    the status that it would store of each pod is stored here.

    Args:
        could_have_running_containers: whether containers of a pod may still run; None
            if none ever do.
        rules: those of the kubelet's version.
    """

    __slots__ = ("_could_run", "_in_api", "_rules", "_statuses")

    def __init__(
        self,
        could_have_running_containers: Callable[[str], bool] | None = None,
        rules: KubeletRules = PORTED_RULES,
    ) -> None:
        self._could_run = could_have_running_containers
        self._rules = rules
        self._statuses: dict[str, PodStatus] = {}
        self._in_api: dict[str, PodStatus] = {}

    def get(self, pod_uid: str) -> PodStatus | None:
        """Return the published status of a pod, None before the first."""
        return self._statuses.get(pod_uid)

    def in_api(self, pod_uid: str) -> PodStatus:
        """Return the API server's status of a pod, or of a static pod's mirror.

        There a pod does not end before its containers have.
        """
        return self._in_api.get(pod_uid, NO_STATUS)

    def in_source(self, pod: Pod) -> PodStatus:
        """Return the status of a pod in its source; a file has none."""
        return NO_STATUS if is_static_pod(pod) else self.in_api(pod.uid)

    def set_api_conditions(
        self, pod_uid: str, conditions: Iterable[PodCondition]
    ) -> None:
        """Set the conditions at the API server.

        Before the first status, the kubelet's own conditions are those of the last
        kubelet.
        """
        if pod_uid not in self._statuses:
            in_api = self.in_api(pod_uid)
            self._in_api[pod_uid] = replace(in_api, conditions=tuple(conditions))
            return
        in_api = self.in_api(pod_uid)
        own = [
            condition
            for condition in in_api.conditions
            if condition.type in OWNED_BY_KUBELET
        ]
        foreign = [
            condition
            for condition in conditions
            if condition.type not in OWNED_BY_KUBELET
        ]
        self._in_api[pod_uid] = replace(in_api, conditions=(*foreign, *own))

    def set_pod_status(
        self,
        pod: Pod,
        status: PodStatus,
        now: datetime,
        *,
        api_status: PodStatus = NO_STATUS,
    ) -> PodStatus | None:
        """Publish a status and return the published one.

        A status that sets back an ended container is refused as a whole.

        Args:
            pod: the spec.
            status: the new status; `now` becomes its times where it has none.
            now: the time.
            api_status: the status that came with the pod, for the first time.
        """
        is_forced = pod.deletion_requested_at is not None
        return self._update(pod, status, now, api_status, is_forced=is_forced)

    def set_container_readiness(
        self, pod: Pod, container_id: ContainerID, now: datetime, *, ready: bool
    ) -> PodStatus | None:
        """Publish a container's readiness and the affected conditions.

        Returns what is published then.
        """
        old = self._statuses.get(pod.uid)
        status = None if old is None else _find(old, container_id)
        if old is None or status is None or status.ready is ready:
            return old
        changed = _with_container(old, status, replace(status, ready=ready))
        statuses = (
            *(changed.init_container_statuses or ()),
            *(changed.container_statuses or ()),
        )
        conditions = list(changed.conditions)
        for condition in (
            pod_ready(pod, conditions, statuses, changed.phase, self._rules),
            containers_ready(pod, statuses, changed.phase, self._rules),
        ):
            generation = observed_generation(pod, self._rules)
            replace_condition(conditions, observed_by(condition, generation))
        changed = replace(changed, conditions=tuple(conditions))
        return self._update(pod, changed, now, NO_STATUS)

    def set_container_startup(
        self, pod: Pod, container_id: ContainerID, now: datetime, *, started: bool
    ) -> PodStatus | None:
        """Publish whether a container has started up.

        The condition Initialized follows with the pod's next sync. Returns what is
        published then.
        """
        old = self._statuses.get(pod.uid)
        status = None if old is None else _find(old, container_id)
        if old is None or status is None or status.started is started:
            return old
        changed = _with_container(old, status, replace(status, started=started))
        return self._update(pod, changed, now, NO_STATUS)

    def terminate_pod(
        self, pod: Pod, now: datetime, *, api_status: PodStatus = NO_STATUS
    ) -> PodStatus | None:
        """Publish the last status of a pod after its containers have ended.

        A container whose end was not seen counts as failed, and so does, in versions
        that end deleted pods, a pod that has not ended otherwise. Returns the published
        status.

        Quirk, kept: whether the pod was initialized is read from `api_status`, not from
        the status published here.
        """
        status = self._statuses.get(pod.uid, api_status)
        regular = status.container_statuses
        if regular and _has_been_initialized(pod, api_status):
            regular = tuple(map(_terminate_status, regular))
        inits = status.init_container_statuses
        if inits:
            count = _count_initialized(inits)
            inits = (*map(_terminate_status, inits[:count]), *inits[count:])
        phase = status.phase
        ends = self._rules.ends_deleted_pods and not is_static_pod(pod)
        if ends and not phase.is_terminal:
            phase = PodPhase.FAILED
        ended = replace(
            status,
            phase=phase,
            container_statuses=regular,
            init_container_statuses=inits,
        )
        return self._update(pod, ended, now, api_status, is_forced=True)

    def remove_orphans(self, known_uids: Collection[str]) -> None:
        """Forget pods that no longer exist."""
        for uid in [status for status in self._statuses if status not in known_uids]:
            self.remove(uid)

    def remove(self, pod_uid: str) -> None:
        """Forget a pod."""
        self._statuses.pop(pod_uid, None)
        self._in_api.pop(pod_uid, None)

    def _update(
        self,
        pod: Pod,
        status: PodStatus,
        now: datetime,
        api_status: PodStatus,
        *,
        is_forced: bool = False,
    ) -> PodStatus | None:
        cached = self._statuses.get(pod.uid)
        old = api_status if cached is None else cached
        if _is_illegal_transition(pod, old, status):
            return cached
        new = published_status(pod, status, old, now)
        if cached is not None and (
            new == cached or (not is_forced and is_status_equal(cached, new))
        ):
            new = cached
        self._statuses[pod.uid] = new
        held = self.in_api(pod.uid)
        if new is not cached or new.phase is not held.phase:
            self._in_api[pod.uid] = merge_pod_status(
                held,
                new,
                now,
                could_have_running_containers=(
                    self._could_run is not None and self._could_run(pod.uid)
                ),
            )
        return new


def needs_readiness_reconciled(
    pod: Pod, status: PodStatus, rules: KubeletRules = PORTED_RULES
) -> bool:
    """Return whether Ready contradicts the conditions of readiness gates.

    Args:
        pod: the spec.
        status: what an API server holds.
        rules: those of the kubelet's version.

    Source: status/generate.go, v1.32.10, NeedToReconcilePodReadiness.
    """
    current = status.condition(READY)
    if not pod.readiness_gates or current is None:
        return False
    statuses = (
        *(status.init_container_statuses or ()),
        *(status.container_statuses or ()),
    )
    expected = pod_ready(pod, status.conditions, statuses, status.phase, rules)
    return (current.status, current.message) != (expected.status, expected.message)


def merge_pod_status(
    old: PodStatus,
    new: PodStatus,
    now: datetime,
    *,
    could_have_running_containers: bool,
) -> PodStatus:
    """Return the status to send to an API server, given its current one.

    A pod does not end while its containers may run, and an ended pod is not ready.

    Source: status/status_manager.go, v1.32.10, mergePodStatus.
    """
    ends = new.phase.is_terminal and not old.phase.is_terminal
    has_ended = ends and not could_have_running_containers
    conditions = [
        pod_condition
        for pod_condition in old.conditions
        if pod_condition.type not in OWNED_BY_KUBELET
    ]
    for pod_condition in new.conditions:
        if pod_condition.type in OWNED_BY_KUBELET:
            conditions.append(pod_condition)
        elif pod_condition.type == DISRUPTION_TARGET and has_ended:
            replace_condition(conditions, _since(pod_condition, old, now))
    merged = new
    if ends and not has_ended:
        merged = replace(new, phase=old.phase, reason=old.reason, message=old.message)
    if merged.phase.is_terminal and any(
        pod_condition.type in {READY, CONTAINERS_READY}
        and pod_condition.status is ConditionStatus.TRUE
        for pod_condition in conditions
    ):
        for condition_type in (CONTAINERS_READY, READY):
            condition = terminal_condition(condition_type, merged.phase)
            condition = observed_by(condition, new.observed_generation)
            replace_condition(conditions, _since(condition, new, now))
    return replace(merged, conditions=tuple(conditions))


def _is_illegal_transition(pod: Pod, old: PodStatus, new: PodStatus) -> bool:
    """Return whether a permanently ended container would leave that state.

    Source: status/status_manager.go, v1.32.10, checkContainerStateTransition.
    """
    if pod.restart_policy is RestartPolicy.ALWAYS and not has_own_restarts(pod):
        return False
    if could_restart_all(pod):
        return False
    regular = old.container_statuses or ()
    if any(_is_restarted(pod, status, new.container_statuses) for status in regular):
        return True
    for index, status in enumerate(old.init_container_statuses or ()):
        container = _init_container(pod, index, status.name)
        if container is None:
            return True
        if not container.is_sidecar and _is_restarted(
            pod, status, new.init_container_statuses
        ):
            return True
    return False


def _is_restarted(
    pod: Pod, old: ContainerStatus, new: Sequence[ContainerStatus] | None
) -> bool:
    if not isinstance(old.state, Terminated):
        return False
    code = old.state.exit_code
    if is_restarted_after(pod, pod.container(old.name), code):
        return False
    return any(
        status.name == old.name and not isinstance(status.state, Terminated)
        for status in new or ()
    )


def _init_container(pod: Pod, index: int, name: str) -> Container | None:
    """Return the init container at an index, None if the name differs."""
    if index >= len(pod.init_containers):
        return None
    container = pod.init_containers[index]
    return container if container.name == name else None


def _has_been_initialized(pod: Pod, status: PodStatus) -> bool:
    """Return whether a pod has completed its initialization.

    Source: status/status_manager.go, v1.32.10, hasPodInitialized.
    """
    if not pod.init_containers:
        return True
    for container_status in status.container_statuses or ():
        if isinstance(container_status.last_state, Terminated):
            return True
        if not isinstance(container_status.state, Waiting):
            return True
    inits = status.init_container_statuses
    if not inits:
        return False
    last = inits[-1]
    container = _init_container(pod, len(inits) - 1, last.name)
    if container is None:
        return False
    if container.is_sidecar:
        return isinstance(last.state, Running) and bool(last.started)
    return any(
        isinstance(state, Terminated) and state.exit_code == 0
        for state in (last.last_state, last.state)
    )


def _count_initialized(inits: Sequence[ContainerStatus]) -> int:
    """Return how many init containers, from the first, were ever started.

    The first one always counts.

    Source: status/status_manager.go, v1.32.10, initializedContainers.
    """
    for count in range(len(inits), 1, -1):
        status = inits[count - 1]
        if isinstance(status.last_state, Terminated):
            return count
        if not isinstance(status.state, Waiting):
            return count
    return 1


def _terminate_status(status: ContainerStatus) -> ContainerStatus:
    if isinstance(status.state, Terminated):
        return status
    return replace(status, state=LOST_AT_TERMINATION)


def _find(status: PodStatus, container_id: ContainerID) -> ContainerStatus | None:
    for container_status in (
        *(status.container_statuses or ()),
        *(status.init_container_statuses or ()),
    ):
        if container_status.container_id == container_id:
            return container_status
    return None


def _with_container(
    status: PodStatus, old: ContainerStatus, new: ContainerStatus
) -> PodStatus:
    """Return the status with one container's replaced, sharing the others."""
    return replace(
        status,
        container_statuses=_replace_status(status.container_statuses, old, new),
        init_container_statuses=_replace_status(
            status.init_container_statuses, old, new
        ),
    )


def _replace_status(
    statuses: tuple[ContainerStatus, ...] | None,
    old: ContainerStatus,
    new: ContainerStatus,
) -> tuple[ContainerStatus, ...] | None:
    if statuses is None:
        return None
    return tuple(new if status is old else status for status in statuses)


def _since(condition: PodCondition, before: PodStatus, now: datetime) -> PodCondition:
    """Return a condition; keep its transition time if it did not change."""
    old = before.condition(condition.type)
    is_unchanged = old is not None and old.status is condition.status
    since = (
        old.last_transition_at if old is not None and is_unchanged else to_seconds(now)
    )
    return replace(condition, last_transition_at=since)
