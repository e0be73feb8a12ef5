"""Why an instance that has ended is not followed by another one, or not yet."""

from __future__ import annotations

from probetui.analysis.causes.case import WhyCase
from probetui.analysis.causes.cause import (
    Cause,
    Ending,
    Evidence,
    Restart,
    RestartTiming,
)
from probetui.analysis.causes.creation import waits_for_init
from probetui.analysis.causes.deletion import deletion_waits
from probetui.analysis.causes.endings import end_cause, pre_stop_lines
from probetui.analysis.causes.kinds import CauseKind
from probetui.analysis.causes.obstacles import of_the_pod, own_reason, pulling
from probetui.analysis.causes.rows import Row
from probetui.analysis.container_history import ContainerInstance
from probetui.k8s.pod import RestartPolicy
from probetui.k8s.status import PodPhase
from probetui.kubelet.journal import (
    PROBE_CAUSES,
    BackoffEntry,
    ExitCause,
    StateEntry,
)
from probetui.kubelet.kuberuntime.restart import (
    effective_restart_policy,
    is_restarted_after,
    resets_window,
    restarts_all_after,
)


def between_samples(case: WhyCase) -> Cause | None:
    """Find what may have happened by now: samples do not tell."""
    undecided, last = case.undecided, case.last
    if undecided is None:
        return None
    because, has_ended = None, last is not None and last.exited is not None
    if isinstance(undecided, StateEntry):
        if last is None or last.end is not None or case.is_plain_init:
            return None
    elif last is not None and (has_ended or last.stopping is not None):
        because = end_cause(case, last)
    return case.cause(
        CauseKind.BETWEEN_SAMPLES,
        None,
        because,
        evidence=Evidence(instance=last, undecided=undecided),
    )


def pod_deleted(case: WhyCase) -> Cause | None:
    """Find a deletion, by which nothing is restarted."""
    last = case.last
    if last is None or (case.deleted_at is None and not last.is_deleted):
        return None
    return case.cause(
        CauseKind.POD_DELETED,
        case.deleted_at,
        quirk=end_cause(case, last).quirk if last.is_deleted else None,
        evidence=Evidence(
            instance=last,
            lines=pre_stop_lines(case, last) if last.is_deleted else (),
        ),
    )


def _not_restarted(
    case: WhyCase,
    kind: CauseKind,
    because: Cause | None,
    name: str = "",
) -> Cause:
    evidence = Evidence(instance=case.last)
    return case.cause(kind, None, because, name=name, evidence=evidence)


def final_exit(case: WhyCase) -> Cause | None:
    """Find a policy by which this exit is the last one."""
    last, container = case.last, case.container
    if last is None or last.exited is None or last.exited.by is ExitCause.RESTART_ALL:
        return None
    code = last.exited.exit_code or 0
    because = end_cause(case, last)
    if case.is_plain_init and not code:
        return _not_restarted(case, CauseKind.INIT_CONTAINER_COMPLETED, because)
    if is_restarted_after(case.pod, container, code):
        return None
    if _is_being_restarted(case, last) or (case.is_over and _ended_with_pod(because)):
        return None
    policy = effective_restart_policy(case.pod, container)
    kind = (
        CauseKind.RESTART_POLICY_NEVER
        if policy is RestartPolicy.NEVER
        else CauseKind.RESTART_POLICY_ON_FAILURE
    )
    return _not_restarted(case, kind, because)


def _ended_with_pod(end: Cause) -> bool:
    """Return whether an instance was stopped as its pod failed, whatever its code."""
    return end.kind in {CauseKind.KILLED_BY_DEADLINE, CauseKind.KILLED_BY_DRAIN}


def _is_being_restarted(case: WhyCase, last: ContainerInstance) -> bool:
    """Return whether the sync that killed an instance restarts it, whatever its code.

    Source: kuberuntime_manager.go, v1.32.10, computePodActions.
    """
    decision, exited = case.history.decision, last.exited
    if decision is None or exited is None or exited.by not in PROBE_CAUSES:
        return False
    return decision.at >= exited.at and not decision.waits


def pod_has_ended(case: WhyCase) -> Cause | None:
    """Find a pod that has Succeeded or Failed."""
    last = case.last
    if last is None or not case.is_over:
        return None
    has_succeeded = case.pod_status.phase is PodPhase.SUCCEEDED
    kind = CauseKind.POD_SUCCEEDED if has_succeeded else CauseKind.POD_FAILED
    return _not_restarted(
        case, kind, end_cause(case, last), name=case.pod_status.reason
    )


def restart_failed(case: WhyCase) -> Cause | None:
    """Find what kept the next instance from being created."""
    return own_reason(case) or of_the_pod(case)


def restarted_with_all(case: WhyCase) -> Cause | None:
    """Find the init container that comes first if all containers are restarted."""
    return waits_for_init(case) if case.is_restarted_with_all else None


def back_off(case: WhyCase) -> Cause | None:
    """Find a wait that is not over."""
    last, wait = case.last, case.history.waits
    decision = case.history.decision
    if last is None or wait is None or decision is None or not decision.waits:
        return None
    return case.cause(
        CauseKind.BACK_OFF,
        wait.since or wait.at,
        end_cause(case, last),
        evidence=Evidence(
            instance=last,
            backoff=wait,
            until=wait.until,
            count=len(case.history.instances),
        ),
    )


def restart_due(case: WhyCase) -> Cause | None:
    """Find an end that the next sync of the pod follows with a start."""
    last = case.last
    if last is None:
        return None
    return _not_restarted(case, CauseKind.RESTART_DUE, end_cause(case, last))


ENDED: tuple[Row, ...] = (
    pod_deleted,
    final_exit,
    pod_has_ended,
    deletion_waits,
    pulling,
    restart_failed,
    restarted_with_all,
    back_off,
    restart_due,
)


def ending_of(case: WhyCase, instance: ContainerInstance) -> Ending:
    """Return who ended an instance, and how the next one came about."""
    return Ending(instance, end_cause(case, instance), _restart_after(case, instance))


def _restart_after(case: WhyCase, instance: ContainerInstance) -> Restart | None:
    following = case.history.next_after(instance)
    if following is None or instance.exited is None:
        return None
    decision, waited = following.allowed, following.waited
    # A created instance may not have started yet, or never will.
    has_started = not following.created_at or bool(
        following.started_at or following.exited
    )
    end = instance.end
    return Restart(
        _timing(case, instance, decision, waited),
        has_started,
        decision,
        waited,
        _is_of_before(decision, instance),
        end is not None and end.by in PROBE_CAUSES,
    )


def _timing(
    case: WhyCase,
    instance: ContainerInstance,
    decision: BackoffEntry | None,
    waited: BackoffEntry | None,
) -> RestartTiming:
    exited = instance.exited
    if exited is not None and (
        exited.by is ExitCause.RESTART_ALL
        or restarts_all_after(case.container, exited.exit_code or 0)
    ):
        return RestartTiming.WITH_ALL
    if decision is None:
        return RestartTiming.UNKNOWN
    if waited is not None or decision.waits:
        wait = waited or decision
        is_early = wait.until is not None and decision.at < wait.until
        is_cleared = is_early and not decision.waits
        return RestartTiming.WAIT_CLEARED if is_cleared else RestartTiming.AFTER_WAIT
    if decision.since is None:
        return RestartTiming.NOTHING_EXITED
    if decision.is_reset or (not decision.window and _has_lasted(instance, decision)):
        return RestartTiming.WINDOW_RESET
    if not decision.window:
        return RestartTiming.NO_WINDOW
    return RestartTiming.WINDOW_OVER


def _has_lasted(instance: ContainerInstance, decision: BackoffEntry) -> bool:
    """Return whether an instance ran long enough to reset the window."""
    if instance.started_at is None or decision.since is None:
        return False
    return resets_window(decision.since - instance.started_at)


def _is_of_before(decision: BackoffEntry | None, instance: ContainerInstance) -> bool:
    """Return whether a window counts from an exit before that of this instance."""
    if decision is None or decision.since is None or instance.exited is None:
        return False
    started_at = instance.started_at or instance.created_at
    return started_at is not None and decision.since <= started_at
