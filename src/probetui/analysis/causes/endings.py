"""Who ended an instance, or asked for its end, and how it went."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta

from msgspec.structs import replace

from probetui.analysis.causes.case import WhyCase
from probetui.analysis.causes.cause import Cause, Evidence
from probetui.analysis.causes.kinds import CauseKind
from probetui.analysis.causes.probe_cause import probe_cause
from probetui.analysis.causes.probe_failure import hook_failure, tick_failure
from probetui.analysis.container_history import (
    FAILED_POST_START,
    FAILED_PRE_STOP,
    ContainerInstance,
)
from probetui.k8s.probe import ProbeType, SleepAction, TCPSocketAction
from probetui.k8s.runtime import START_ERRORS
from probetui.k8s.status import Terminated
from probetui.kubelet.journal import (
    PROBE_CAUSES,
    BackoffEntry,
    ContainerEntry,
    ExitCause,
    HookEntry,
    HookType,
)
from probetui.kubelet.kuberuntime.grace_period import KillReason
from probetui.kubelet.kuberuntime.restart import restarts_all_after
from probetui.kubelet.outcome import Result

SIGKILL, SIGTERM = 9, 15
_SIGNALLED = 128
_SECOND = timedelta(seconds=1)
_DEADLINE = "DeadlineExceeded"
_DRAINED = frozenset({"Evicted", "Preempting", "NodeShutdown", "Terminated"})
"""Reasons of pods that the kubelet stops to free their node.

Source: kubelet/eviction/helpers.go, preemption.go, nodeshutdown_manager.go, v1.32.10.
"""

END_KINDS = frozenset(kind for kind in CauseKind if kind.startswith("killed-")) | {
    CauseKind.OOM_KILLED,
    CauseKind.START_FAILED,
    CauseKind.COMPLETED,
    CauseKind.EXITED,
    CauseKind.ENDED_BY_SIGNAL,
    CauseKind.ENDED_UNSEEN,
}
"""The kinds that tell who ended an instance."""

_End = Callable[[WhyCase, ContainerInstance], Cause | None]


def end_cause(case: WhyCase, instance: ContainerInstance) -> Cause:
    """Return who ended an instance or asked for its end."""
    for row in _ENDS:
        if (cause := row(case, instance)) is not None:
            return cause
    return _of(case, instance, CauseKind.ENDED_UNSEEN)


def signal_of(exited: ContainerEntry) -> int | None:
    """Return the number of the signal that ended an instance, None if none did."""
    code = exited.exit_code or 0
    return exited.signal or (code - _SIGNALLED if code > _SIGNALLED else None)


def _of(
    case: WhyCase, instance: ContainerInstance, kind: CauseKind, message: str = ""
) -> Cause:
    return case.cause(
        kind,
        instance.end_at,
        quirk=_how(case, instance),
        evidence=Evidence(
            instance=instance,
            message=message,
            ended_at=_ended_at(case, instance),
            lines=pre_stop_lines(case, instance),
        ),
    )


def pre_stop_lines(case: WhyCase, instance: ContainerInstance) -> tuple[str, ...]:
    """Return that the preStop hook of an instance is one that cannot be run."""
    is_by_tcp = isinstance(case.container.pre_stop, TCPSocketAction)
    stop = instance.stopping
    if not is_by_tcp or stop is None or not stop.grace_period_seconds:
        return ()
    return (f"Its preStop hook did not run: {_HOOK_BY_TCP}.",)


_HOOK_BY_TCP = "a hook may have tcpSocket, and the kubelet cannot run it"


def _ended_at(case: WhyCase, instance: ContainerInstance) -> datetime | None:
    """Return when an instance ended, by the back-off or the status after it.

    Its exit is journaled when a relist or the end of a stop shows it.
    """
    following = case.history.next_after(instance)
    waits: list[BackoffEntry | None] = [case.history.waits, case.history.decision]
    if following is not None:
        waits = [following.waited, following.allowed]
    states = () if case.status is None else (case.status.state, case.status.last_state)
    known = [wait.since for wait in waits if wait is not None]
    known += [
        state.finished_at
        for state in states
        if isinstance(state, Terminated) and state.container_id == instance.container_id
    ]
    exited, started = instance.exited, instance.started_at
    if exited is None or started is None:
        return None
    return next((at for at in known if at and started <= at <= exited.at), None)


def _how(case: WhyCase, instance: ContainerInstance) -> CauseKind | None:
    """Return what was odd about the way in which it was stopped, if anything was."""
    stop, exited = instance.stopping, instance.exited
    if stop is None or exited is None or not stop.grace_period_seconds:
        return None
    grace = stop.grace_period_seconds * _SECOND
    # The exit is seen by a relist each second, the grace period begins with the call.
    is_late = exited.at - stop.at + _SECOND >= grace
    if is_late and _was_cut_off(case, stop.at, grace):
        return CauseKind.PRE_STOP_HOOK_CUT_OFF
    if is_late and signal_of(exited) == SIGKILL and not exited.oom_killed:
        return CauseKind.SIGTERM_IGNORED
    return canceled_commands(case, instance)


def canceled_commands(case: WhyCase, instance: ContainerInstance) -> CauseKind | None:
    """Find a readiness probe whose command is not run since the pod's deletion.

    The container stays as ready as it was. Source: kubelet_rules.py,
    `cancels_exec_on_deletion`; k/k#140881.
    """
    stop = instance.stopping
    if stop is None or stop.by is not ExitCause.DELETE:
        return None
    tick = case.last_tick(ProbeType.READINESS, instance)
    if tick is None or tick.timing.started_at < stop.at:
        return None
    failure = tick_failure(tick, case.container, case.history, case.rules)
    is_canceled = failure is not None and failure.kind is CauseKind.EXEC_CANCELED
    return CauseKind.EXEC_CANCELED if is_canceled else None


def _was_cut_off(case: WhyCase, began_at: datetime, grace: timedelta) -> bool:
    """Return whether the preStop hook took the whole grace period."""
    handler = case.container.pre_stop
    if isinstance(handler, SleepAction):
        return handler.seconds * _SECOND >= grace
    return handler is not None and any(
        failure.event.reason == FAILED_PRE_STOP and failure.at >= began_at + grace
        for failure in case.history.hook_failures
    )


def _asker(instance: ContainerInstance) -> ExitCause:
    end = instance.end
    return ExitCause.ITSELF if end is None or end.by is None else end.by


# -- killed


def _hook_failed(case: WhyCase, instance: ContainerInstance) -> Cause | None:
    stop = instance.stopping
    if stop is None or stop.reason != KillReason.FAILED_POST_START_HOOK:
        return None
    end = stop.at
    message = next(case.hook_failures(FAILED_POST_START, instance), "")
    if isinstance(case.container.post_start, TCPSocketAction):
        message = _HOOK_BY_TCP
    return case.cause(
        CauseKind.KILLED_BY_POST_START_HOOK,
        end,
        _hook_cause(case, instance.hook(HookType.POST_START)),
        quirk=_how(case, instance),
        hook=HookType.POST_START,
        evidence=Evidence(
            instance=instance,
            message=message,
        ),
    )


def _hook_cause(case: WhyCase, hook: HookEntry | None) -> Cause | None:
    """Return why a hook failed, if more is known than its error."""
    failure = None if hook is None else hook_failure(hook, case.container, case.rules)
    if hook is None or failure is None:
        return None
    return case.cause(
        failure.kind,
        hook.started_at,
        hook=hook.hook,
        evidence=Evidence(failure=failure),
    )


def _probe_killed(case: WhyCase, instance: ContainerInstance) -> Cause | None:
    """Find a kill by a probe; without other containers it is one of the pod."""
    by, kill = _asker(instance), instance.kill
    probe_type = PROBE_CAUSES.get(by)
    if by is ExitCause.POD and kill is not None:
        probe_type = kill.key.probe_type
    if probe_type is None:
        return None
    kind = (
        CauseKind.KILLED_BY_STARTUP
        if probe_type is ProbeType.STARTUP
        else CauseKind.KILLED_BY_LIVENESS
    )
    return case.cause(
        kind,
        instance.end_at,
        None if kill is None else probe_cause(case, kill),
        _startup_window(case, instance) or _how(case, instance),
        probe=probe_type,
        evidence=Evidence(
            instance=instance,
            tick=kill,
            count=0 if kill is None else kill.run.count,
            needed=0 if kill is None else kill.run.threshold,
        ),
    )


def _startup_window(case: WhyCase, instance: ContainerInstance) -> CauseKind | None:
    """Find a liveness probe that ran before the instance had started up.

    Source: kubelet_rules.py, `inherits_started`; k/k#141155.
    """
    kill = instance.kill
    if (
        not case.rules.inherits_started
        or kill is None
        or kill.key.probe_type is not ProbeType.LIVENESS
        or case.container.startup_probe is None
        or not instance.restart_count
    ):
        return None
    began_up = any(
        tick.sequence < kill.sequence and tick.stored.after is Result.SUCCESS
        for tick in case.ticks(ProbeType.STARTUP, instance)
    )
    return None if began_up else CauseKind.STARTUP_WINDOW


def _pod_stopped(case: WhyCase, instance: ContainerInstance) -> Cause | None:
    if _asker(instance) is not ExitCause.POD:
        return None
    reason = case.pod_status.reason
    kind = CauseKind.KILLED_WITH_POD
    if reason == _DEADLINE:
        kind = CauseKind.KILLED_BY_DEADLINE
    elif reason in _DRAINED:
        kind = CauseKind.KILLED_BY_DRAIN
    status = case.pod_status
    name = status.reason
    is_deleted = case.pod.deletion_requested_at is not None
    if not name and status.phase.is_terminal and not is_deleted:
        name = "its other containers had ended for good"
    return case.cause(
        kind,
        instance.end_at,
        quirk=_how(case, instance),
        name=name,
        evidence=Evidence(instance=instance, message=status.message),
    )


def _all_restarted(case: WhyCase, instance: ContainerInstance) -> Cause | None:
    if _asker(instance) is not ExitCause.RESTART_ALL:
        return None
    by = _restarter(case, instance)
    because = None if by is None else end_cause(*by)
    name = "" if by is None else by[0].container.name
    return case.cause(
        CauseKind.KILLED_BY_RESTART_ALL,
        instance.end_at,
        because,
        name=name,
        evidence=Evidence(instance=instance),
    )


def _restarter(
    case: WhyCase, instance: ContainerInstance
) -> tuple[WhyCase, ContainerInstance] | None:
    """Return the instance whose exit restarted all containers of the pod."""
    end = instance.end
    ends: list[tuple[datetime, WhyCase, ContainerInstance]] = []
    for other in case.others:
        for ended in other.history.instances:
            exited = ended.exited
            if exited is None or exited.by is not ExitCause.ITSELF:
                continue
            restarts = restarts_all_after(other.container, exited.exit_code or 0)
            if restarts and end is not None and exited.at <= end.at:
                ends.append((exited.at, other, ended))
    if not ends:
        return None
    _, other, ended = max(ends, key=lambda candidate: candidate[0])
    return other, ended


_BY_ASKER: Mapping[ExitCause, CauseKind] = {
    ExitCause.DELETE: CauseKind.KILLED_BY_DELETION,
    ExitCause.DEFINITION: CauseKind.KILLED_BY_EDIT,
    ExitCause.USER: CauseKind.KILLED_BY_USER,
    ExitCause.UNSEEN: CauseKind.ENDED_UNSEEN,
    ExitCause.UNKNOWN: CauseKind.ENDED_UNSEEN,
    ExitCause.UNCERTAIN: CauseKind.ENDED_UNSEEN,
}


def _asked(case: WhyCase, instance: ContainerInstance) -> Cause | None:
    kind = _BY_ASKER.get(_asker(instance))
    return None if kind is None else _of(case, instance, kind)


# -- exited by itself


def _start_failed(case: WhyCase, instance: ContainerInstance) -> Cause | None:
    exited = instance.exited
    if exited is None or exited.reason not in START_ERRORS:
        return None
    if _asker(instance) is not ExitCause.ITSELF:
        return None
    cause = _of(case, instance, CauseKind.START_FAILED, _last_message(case))
    return replace(cause, evidence=replace(cause.evidence, reason=exited.reason))


def _last_message(case: WhyCase) -> str:
    status = case.status
    known = () if status is None else (status.state, status.last_state)
    messages = (state.message for state in known if isinstance(state, Terminated))
    return next(filter(None, messages), "")


def _out_of_memory(case: WhyCase, instance: ContainerInstance) -> Cause | None:
    exited = instance.exited
    if exited is None or not exited.oom_killed:
        return None
    return _of(case, instance, CauseKind.OOM_KILLED)


def _killed_by_another(case: WhyCase, instance: ContainerInstance) -> Cause | None:
    exited = instance.exited
    if exited is None or signal_of(exited) not in {SIGKILL, SIGTERM}:
        return None
    return _of(case, instance, CauseKind.KILLED_BY_ANOTHER)


def _crashed(case: WhyCase, instance: ContainerInstance) -> Cause | None:
    exited = instance.exited
    if exited is None or exited.signal is None:
        return None
    return _of(case, instance, CauseKind.ENDED_BY_SIGNAL)


def _exited(case: WhyCase, instance: ContainerInstance) -> Cause | None:
    exited = instance.exited
    if exited is None:
        return None
    kind = CauseKind.EXITED if exited.exit_code else CauseKind.COMPLETED
    return _of(case, instance, kind)


_ENDS: tuple[_End, ...] = (
    _hook_failed,
    _probe_killed,
    _pod_stopped,
    _all_restarted,
    _asked,
    _start_failed,
    _out_of_memory,
    _killed_by_another,
    _crashed,
    _exited,
)
