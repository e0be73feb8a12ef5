"""Why a container was never created, and what comes before its creation.

The kubelet starts the containers of a pod in the order of its manifest: a plain init
container must succeed and a sidecar must start up before the next one is created, and
the postStart hook of each runs to its end first.

Source: kuberuntime_manager.go, v1.32.10, SyncPod; kuberuntime_container.go,
computeInitContainerActions.
"""

from __future__ import annotations

from probetui.analysis.causes.case import WhyCase
from probetui.analysis.causes.cause import Cause, Evidence
from probetui.analysis.causes.deletion import deletion_waits, pod_being_deleted
from probetui.analysis.causes.kinds import CauseKind
from probetui.analysis.causes.obstacles import of_the_pod, own_reason, pulling
from probetui.analysis.causes.rows import Row
from probetui.k8s.probe import ProbeType
from probetui.k8s.status import PodPhase
from probetui.kubelet.journal import HookType


def pod_ended_first(case: WhyCase) -> Cause | None:
    """Find a pod that was over before it came to this container."""
    if not case.is_over:
        return None
    status = case.pod_status
    because = None
    if status.phase is PodPhase.FAILED and case.deleted_at is None:
        because = _blocking_init(case)
        # Only a plain init container fails its pod; without one it was deleted.
        if because and because.kind is not CauseKind.WAITS_FOR_INIT_CONTAINER:
            because = None
    return case.cause(
        CauseKind.POD_ENDED_FIRST,
        case.pod_history.gone_at or case.deleted_at,
        because,
        name=status.phase,
        evidence=Evidence(message=status.reason),
    )


def older_pod(case: WhyCase) -> Cause | None:
    """Find an older pod of the same name that is not gone."""
    if case.pod_history.status is not None:
        return None
    for uid, other in case.pods.items():
        is_namesake = (other.namespace, other.name) == (
            case.pod.namespace,
            case.pod.name,
        )
        if uid == case.pod.uid or not is_namesake:
            continue
        history = case.past.pod(uid, other.name)
        if history.status is not None and history.gone_at is None:
            return case.cause(CauseKind.WAITS_FOR_OLDER_POD, name=other.name)
    return None


def waits_for_init(case: WhyCase) -> Cause | None:
    """Find the init container or sidecar that must come first."""
    return _blocking_init(case)


def waits_for_start_before(case: WhyCase) -> Cause | None:
    """Find a container before it that the sync of the pod is starting.

    Regular containers do not wait for each other to be up, but one after the other is
    pulled, created and started, with its postStart hook.
    """
    for other in case.earlier:
        if other.runs_post_start_hook:
            return _waits_for_hook(case, other)
        if other.is_pulling:
            return _waits_for_start(case, other)
    return None


def not_synced(case: WhyCase) -> Cause:
    """Return the cause where nothing is known to keep it."""
    return case.cause(CauseKind.NOT_SYNCED)


NEVER_CREATED: tuple[Row, ...] = (
    pod_ended_first,
    deletion_waits,
    pod_being_deleted,
    older_pod,
    pulling,
    own_reason,
    of_the_pod,
    waits_for_init,
    waits_for_start_before,
    not_synced,
)


def _blocking_init(case: WhyCase) -> Cause | None:
    for other in case.earlier:
        if other.container not in case.pod.init_containers:
            break
        if any(
            later.last is not None and not later.is_restarted_with_all
            for later in other.later
        ):
            # The kubelet has passed it once.
            continue
        if other.runs_post_start_hook:
            return _waits_for_hook(case, other)
        if other.container.is_sidecar:
            if not other.has_started_up:
                return _waits_for_sidecar(case, other)
        elif not other.has_completed:
            return _waits_for_plain_init(case, other)
    return None


def _waits_for_hook(case: WhyCase, other: WhyCase) -> Cause:
    last = other.last
    return case.cause(
        CauseKind.WAITS_FOR_POST_START_HOOK,
        None if last is None else last.started_at,
        other.why,
        hook=HookType.POST_START,
        name=other.container.name,
        evidence=Evidence(instance=case.last),
    )


def _waits_for_start(case: WhyCase, other: WhyCase) -> Cause:
    return case.cause(
        CauseKind.WAITS_FOR_START_BEFORE,
        None,
        other.why,
        name=other.container.name,
    )


def _waits_for_plain_init(case: WhyCase, other: WhyCase) -> Cause:
    return case.cause(
        CauseKind.WAITS_FOR_INIT_CONTAINER,
        None,
        other.why,
        name=other.container.name,
        evidence=Evidence(instance=case.last),
    )


def _waits_for_sidecar(case: WhyCase, other: WhyCase) -> Cause:
    """Return the cause; its count is that of exits before any result of startup."""
    instances = other.history.instances
    unprobed = 0
    has_startup_probe = other.container.startup_probe is not None
    if has_startup_probe:
        unprobed = sum(
            instance.exited is not None
            and not any(
                tick.result is not None
                for tick in other.ticks(ProbeType.STARTUP, instance)
            )
            for instance in instances
        )
    return case.cause(
        CauseKind.WAITS_FOR_SIDECAR,
        None,
        other.why,
        probe=ProbeType.STARTUP if has_startup_probe else None,
        name=other.container.name,
        evidence=Evidence(count=unprobed, instance=case.last),
    )
