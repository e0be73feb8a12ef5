"""Why a pod that is being deleted is not gone.

A deletion comes after the sync that runs: a pull, a postStart hook or a stop is not
broken off. Then all containers are stopped at once, each by its preStop hook, its stop
signal and, when the grace period is over, SIGKILL; sidecars wait for the containers
that are started after them.

Source: pod_workers.go, kuberuntime_container.go, kuberuntime_termination_order.go,
v1.32.10.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

from probetui.analysis.causes.case import WhyCase
from probetui.analysis.causes.cause import Cause, Evidence
from probetui.analysis.causes.endings import canceled_commands, end_cause
from probetui.analysis.causes.kinds import CauseKind
from probetui.analysis.causes.obstacles import pulling
from probetui.analysis.causes.rows import Row, first_of
from probetui.analysis.container_history import FAILED_PRE_STOP, ContainerInstance
from probetui.k8s.probe import SleepAction
from probetui.kubelet.journal import ContainerEntry, ExitCause, HookType

_SECOND = timedelta(seconds=1)
_AT_POD_END = frozenset({ExitCause.DELETE, ExitCause.POD})


def deletion_waits(case: WhyCase) -> Cause | None:
    """Find the sync that a deletion waits for, if one is known to run."""
    deleted_at = case.deleted_at
    if deleted_at is None or case.is_over or _is_terminating(case):
        return None
    because = running_sync(case)
    if because is None:
        return None
    return case.cause(
        CauseKind.DELETION_WAITS_FOR_SYNC,
        deleted_at,
        because,
        evidence=Evidence(instance=case.last),
    )


def pod_being_deleted(case: WhyCase) -> Cause | None:
    """Find a deletion under way."""
    deleted_at = case.deleted_at
    if deleted_at is None or case.is_over:
        return None
    return case.cause(CauseKind.POD_BEING_DELETED, deleted_at)


def sidecar_stops_later(case: WhyCase) -> Cause | None:
    """Find the containers that a sidecar is stopped after."""
    last, stop = _stop_of(case)
    if stop is None or last is None or not _stops_in_order(case, stop):
        return None
    waits_for = [other for other, exited in _ends_before(case) if exited is None]
    if not waits_for:
        return None
    names = ", ".join(other.container.name for other in waits_for)
    return case.cause(
        CauseKind.SIDECAR_STOPS_LATER,
        stop.at,
        waits_for[0].why,
        canceled_commands(case, last),
        name=names,
        evidence=Evidence(instance=last, until=grace_end(stop)),
    )


def _stops_in_order(case: WhyCase, stop: ContainerEntry) -> bool:
    is_ordered = case.container.is_sidecar and case.rules.orders_sidecar_ends
    return is_ordered and stop.by in _AT_POD_END


def _ends_before(
    case: WhyCase,
) -> Iterator[tuple[WhyCase, ContainerEntry | None]]:
    """Yield the containers that a sidecar is stopped after, and their exits."""
    for other in case.later:
        is_lasting = other.container in case.pod.containers
        if (is_lasting or other.container.is_sidecar) and other.last is not None:
            yield other, other.last.exited


def pre_stop_hook_running(case: WhyCase) -> Cause | None:
    """Find a preStop hook that is not known to have ended."""
    last, stop = _stop_of(case)
    if stop is None or last is None or not _runs_pre_stop(case, stop):
        return None
    hook = last.hook(HookType.PRE_STOP)
    has_ended = hook is not None and hook.ended_at is not None
    if has_ended or any(case.hook_failures(FAILED_PRE_STOP, last)):
        return None
    until = ends_at = grace_end(stop)
    handler = case.container.pre_stop
    if isinstance(handler, SleepAction):
        ends_at = min(until, stop.latest + handler.seconds * _SECOND)
    if case.now >= ends_at:
        return None
    return case.cause(
        CauseKind.PRE_STOP_HOOK_RUNNING,
        stop.at,
        end_cause(case, last),
        canceled_commands(case, last),
        hook=HookType.PRE_STOP,
        evidence=Evidence(instance=last, until=until),
    )


def sigterm_ignored(case: WhyCase) -> Cause | None:
    """Find a stop signal that the container has not ended on."""
    last, stop = _stop_of(case)
    if stop is None or last is None or not stop.grace_period_seconds:
        return None
    hook = last.hook(HookType.PRE_STOP)
    return case.cause(
        CauseKind.SIGTERM_IGNORED,
        (None if hook is None else hook.ended_at) or _signalled_at(case, stop),
        end_cause(case, last),
        canceled_commands(case, last),
        evidence=Evidence(instance=last, until=grace_end(stop)),
    )


def _signalled_at(case: WhyCase, stop: ContainerEntry) -> datetime:
    """Return when the stop signal came; a sidecar gets it after the others ended."""
    if not _stops_in_order(case, stop):
        return stop.at
    ends = (exited.at for _, exited in _ends_before(case) if exited is not None)
    return max((stop.at, *ends))


def being_killed(case: WhyCase) -> Cause | None:
    """Find a stop without a grace period, or one of unknown length."""
    last, stop = _stop_of(case)
    return None if stop is None or last is None else end_cause(case, last)


BEING_STOPPED: tuple[Row, ...] = (
    sidecar_stops_later,
    pre_stop_hook_running,
    sigterm_ignored,
    being_killed,
)


def grace_end(stop: ContainerEntry) -> datetime:
    """Return when the grace period of a stop is over at the latest."""
    return stop.latest + (stop.grace_period_seconds or 0) * _SECOND


def _stop_of(case: WhyCase) -> tuple[ContainerInstance | None, ContainerEntry | None]:
    last = case.last
    if last is None or last.exited is not None:
        return last, None
    return last, last.stopping


def _runs_pre_stop(case: WhyCase, stop: ContainerEntry) -> bool:
    return case.container.pre_stop is not None and bool(stop.grace_period_seconds)


def _is_terminating(case: WhyCase) -> bool:
    """Return whether the containers of a deleted pod are being stopped for it."""
    return any(
        (last := other.last) is not None
        and last.stopping is not None
        and last.stopping.by is ExitCause.DELETE
        for other in (case, *case.others)
    )


def running_sync(case: WhyCase) -> Cause | None:
    """Return what the sync of a pod is doing, None if that is not known."""
    for other in (case, *case.others):
        last, stop = _stop_of(other)
        if stop is not None and last is not None:
            return first_of(BEING_STOPPED, other)
        if (pull := pulling(other)) is not None:
            return pull
        if other.runs_post_start_hook and last is not None:
            return other.cause(
                CauseKind.POST_START_HOOK_RUNNING,
                last.started_at,
                hook=HookType.POST_START,
                evidence=Evidence(instance=last),
            )
    return None
