"""Why a container that was created is not up, or is up and not ready."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta

from probetui.analysis.causes.case import WhyCase
from probetui.analysis.causes.cause import Cause, Evidence
from probetui.analysis.causes.deletion import (
    deletion_waits,
    pod_being_deleted,
    running_sync,
)
from probetui.analysis.causes.kinds import CauseKind
from probetui.analysis.causes.obstacles import own_reason
from probetui.analysis.causes.probe_cause import probe_cause
from probetui.analysis.causes.rows import Row
from probetui.analysis.container_history import ContainerInstance
from probetui.analysis.readiness import NotReady, Obstacle
from probetui.analysis.timing import HELD_FOR
from probetui.k8s.probe import ExecAction, ProbeType
from probetui.k8s.status import ConditionStatus, Running
from probetui.kubelet.journal import HookType, TickEntry, UnfinishedTickEntry
from probetui.kubelet.outcome import ProbeResult, Result

_SECOND = timedelta(seconds=1)
_SURELY_HELD = 5 * HELD_FOR
"""A busy machine is later than `HELD_FOR` at times, and a child holds on for long."""

_BY_OBSTACLE: Mapping[tuple[ProbeType, Obstacle], CauseKind] = {
    (ProbeType.STARTUP, Obstacle.NOT_PROBED): CauseKind.STARTUP_NOT_PROBED,
    (ProbeType.STARTUP, Obstacle.FAILED): CauseKind.STARTUP_PROBE_FAILS,
    (ProbeType.STARTUP, Obstacle.ERRORED): CauseKind.STARTUP_PROBE_ERRORS,
    (ProbeType.READINESS, Obstacle.NOT_PROBED): CauseKind.READINESS_NOT_PROBED,
    (ProbeType.READINESS, Obstacle.FAILED): CauseKind.READINESS_PROBE_FAILS,
    (ProbeType.READINESS, Obstacle.ERRORED): CauseKind.READINESS_PROBE_ERRORS,
    (
        ProbeType.READINESS,
        Obstacle.TOO_FEW_SUCCESSES,
    ): CauseKind.READINESS_TOO_FEW_SUCCESSES,
}


def not_started(case: WhyCase) -> Cause | None:
    """Find an instance that was created and has not been started."""
    last = case.last
    if last is None or case.is_up:
        return None
    return own_reason(case) or case.cause(
        CauseKind.NOT_STARTED_YET, last.created_at, evidence=Evidence(instance=last)
    )


def post_start_hook_running(case: WhyCase) -> Cause | None:
    """Find its own postStart hook."""
    last = case.last
    if last is None or not case.runs_post_start_hook:
        return None
    return case.cause(
        CauseKind.POST_START_HOOK_RUNNING,
        last.started_at,
        hook=HookType.POST_START,
        evidence=Evidence(instance=last),
    )


def not_in_the_status(case: WhyCase) -> Cause | None:
    """Find an instance of which the kubelet has made no status yet.

    It makes one when a sync of the pod begins, and runs no probe before: a sync that
    takes long holds up the containers that it has started.
    """
    last = case.last
    if last is None or case.pod_history.status is None:
        return None
    if case.is_in_status:
        return None
    return case.cause(
        CauseKind.NOT_SYNCED,
        last.started_at,
        running_sync(case),
        evidence=Evidence(instance=last),
    )


def behind_in_the_status(case: WhyCase) -> Cause | None:
    """Find a container that is ready by its probes and not by the pod's status.

    A sync that takes long holds up the status, too. Of a kubelet elsewhere statuses
    and results come by other ways: neither is late for the other there.
    """
    if not case.is_in_status or case.is_ready:
        return None
    if any(tick.is_observed for tick in case.last_ticks):
        return None
    return case.cause(
        CauseKind.NOT_SYNCED,
        None,
        running_sync(case),
        probe=None if case.container.readiness_probe is None else ProbeType.READINESS,
        evidence=Evidence(instance=case.last),
    )


def waits_for_probe(case: WhyCase) -> Cause | None:
    """Find the startup probe, or the readiness probe after it."""
    reason = case.not_ready
    if reason is None:
        return None
    tick = reason.tick
    is_muted = tick is not None and tick.overridden.muted
    kind = (
        CauseKind.PROBE_MUTED
        if is_muted
        else _BY_OBSTACLE[reason.probe_type, reason.obstacle]
    )
    failed = not is_muted and reason.obstacle in {Obstacle.FAILED, Obstacle.ERRORED}
    last = case.last
    because = probe_hangs(case, reason.probe_type)
    if because is None and tick is not None and failed:
        because = probe_cause(case, tick)
    return case.cause(
        kind,
        reason.since if tick else None if last is None else last.started_at,
        because,
        probe=reason.probe_type,
        evidence=Evidence(
            instance=last,
            tick=tick,
            count=0 if tick is None else tick.run.count,
            needed=_needed(case, reason),
            until=_due(case, reason) if tick is None and because is None else None,
        ),
    )


def _needed(case: WhyCase, reason: NotReady) -> int:
    """Return how often it must fail or succeed, or its delay if that is not over."""
    match reason.obstacle:
        case Obstacle.FAILED:
            return reason.probe.failure_threshold
        case Obstacle.NOT_PROBED:
            is_over = case.now >= _end_of_delay(case, reason)
            return 0 if is_over else reason.probe.initial_delay_seconds
        case _:
            return reason.probe.success_threshold


def _end_of_delay(case: WhyCase, reason: NotReady) -> datetime:
    last = case.last
    began = None if last is None else last.started_at
    return (began or case.now) + reason.probe.initial_delay_seconds * _SECOND


def _due(case: WhyCase, reason: NotReady) -> datetime | None:
    """Return when the first tick is due that may run a probe, None if unknown."""
    before = case.newest_tick(reason.probe_type)
    if before is None:
        return None
    seconds = before.timing.period_seconds or reason.probe.period_seconds
    due, period = before.timing.started_at + seconds * _SECOND, seconds * _SECOND
    missing = _end_of_delay(case, reason) - due
    return due + max(-(-missing // period), 0) * period


def init_container_runs(case: WhyCase) -> Cause | None:
    """Find a plain init container, which need not be ready."""
    last = case.last
    if last is None or not case.is_plain_init:
        return None
    return case.cause(
        CauseKind.RUNNING, last.started_at, evidence=Evidence(instance=last)
    )


def probe_hangs(case: WhyCase, probe_type: ProbeType) -> Cause | None:
    """Find a tick that has not ended although its timeout is over."""
    unfinished = case.unfinished_tick(probe_type)
    if unfinished is None:
        return None
    over = case.now - unfinished.started_at - unfinished.timeout_seconds * _SECOND
    if over < HELD_FOR:
        return None
    return case.cause(
        CauseKind.PROBE_HANGS,
        unfinished.started_at,
        _held_open(case, unfinished),
        probe=probe_type,
        evidence=Evidence(instance=case.last, unfinished=unfinished),
    )


def _held_open(case: WhyCase, unfinished: UnfinishedTickEntry) -> Cause | None:
    """Find a command that has been ended, and whose output a child keeps open.

    The runtime ends a command that takes longer than its time limit, and then waits
    for the end of its output.

    Source: k/k#82987, containerd#9568.
    """
    probe_type = unfinished.key.probe_type
    probe = case.container.probe(probe_type)
    over = case.now - unfinished.started_at - unfinished.timeout_seconds * _SECOND
    is_command = probe is not None and isinstance(probe.handler, ExecAction)
    if not (is_command and case.rules.exec_timeout_is_failure) or over < _SURELY_HELD:
        return None
    return case.cause(
        CauseKind.OUTPUT_HELD_OPEN,
        unfinished.started_at,
        probe=probe_type,
    )


def not_ready_by_samples(case: WhyCase) -> Cause | None:
    """Find a container that is not ready by its samples, which have no reason."""
    is_sampled = case.past.undecided is not None and case.is_in_status
    status = case.pod_history.status
    if not is_sampled or case.is_ready or status is None:
        return None
    ready = status.condition("Ready")
    if ready is not None and ready.status is ConditionStatus.UNKNOWN:
        return None
    return case.cause(CauseKind.BETWEEN_SAMPLES, evidence=Evidence(instance=case.last))


def other_probe_hangs(case: WhyCase) -> Cause | None:
    """Find a probe of a container that is ready whose tick does not end."""
    return probe_hangs(case, ProbeType.LIVENESS) or probe_hangs(
        case, ProbeType.READINESS
    )


def liveness_fails(case: WhyCase) -> Cause | None:
    """Find a liveness probe that fails or cannot be run, and has not killed yet."""
    last = case.last
    tick = None if last is None else case.last_tick(ProbeType.LIVENESS, last)
    probe = case.container.liveness_probe
    if tick is None or probe is None or tick.result is Result.SUCCESS:
        return None
    if tick.overridden.muted:
        return None
    is_error = tick.result is None
    return case.cause(
        CauseKind.LIVENESS_PROBE_ERRORS if is_error else CauseKind.LIVENESS_PROBE_FAILS,
        _run_began(case, ProbeType.LIVENESS, last, tick),
        probe_cause(case, tick),
        probe=ProbeType.LIVENESS,
        evidence=Evidence(
            instance=last,
            tick=tick,
            count=tick.run.count,
            needed=probe.failure_threshold,
        ),
    )


def _run_began(
    case: WhyCase,
    probe_type: ProbeType,
    instance: ContainerInstance | None,
    last: TickEntry,
) -> datetime:
    """Return when the first tick of a run of equal results began."""
    began_at = last.timing.started_at
    if instance is not None:
        for tick in case.ticks(probe_type, instance):
            if tick.result is not last.result:
                break
            began_at = tick.timing.started_at
    return began_at


def readiness_gate(case: WhyCase) -> Cause | None:
    """Find a readiness gate that is not True."""
    for gate in case.pod.readiness_gates:
        if not case.is_condition_true(gate):
            condition = case.pod_status.condition(gate)
            return case.cause(
                CauseKind.READINESS_GATE_UNSET,
                name=gate,
                evidence=Evidence(
                    message="" if condition is None else condition.message
                ),
            )
    return None


def another_container(case: WhyCase) -> Cause | None:
    """Find another container that keeps the pod from being ready."""
    for other in case.others:
        if other.is_plain_init or other.undecided is not None:
            continue
        if not other.is_up or other.not_ready is not None:
            return case.cause(
                CauseKind.OTHER_CONTAINER_NOT_READY,
                None,
                other.why,
                name=other.container.name,
            )
    return None


def ready(case: WhyCase) -> Cause:
    """Return that nothing is wrong, and what only counts as a success."""
    last, state = case.last, None if case.status is None else case.status.state
    # One that ran before anybody looked was first seen at some time, not started then.
    is_older = isinstance(state, Running) and state.started_at is None
    since = None if last is None or is_older else last.started_at
    redirected = _redirected(case)
    return case.cause(
        CauseKind.READY, since, redirected, evidence=Evidence(instance=last)
    )


def _redirected(case: WhyCase) -> Cause | None:
    """Find a probe whose last answer was a redirect that is not followed."""
    last = case.last
    for probe_type in (ProbeType.READINESS, ProbeType.LIVENESS):
        tick = None if last is None else case.last_tick(probe_type, last)
        if tick is None or not tick.attempts:
            continue
        if tick.attempts[-1].result is ProbeResult.WARNING:
            return probe_cause(case, tick)
    return None


RUNNING: tuple[Row, ...] = (
    deletion_waits,
    pod_being_deleted,
    not_started,
    post_start_hook_running,
    not_in_the_status,
    waits_for_probe,
    init_container_runs,
    behind_in_the_status,
    not_ready_by_samples,
    other_probe_hangs,
    liveness_fails,
    another_container,
    readiness_gate,
    ready,
)
