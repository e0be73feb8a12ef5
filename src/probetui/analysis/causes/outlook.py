"""What comes next of a container, from when to when, and under which condition."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import timedelta

from msgspec.structs import replace

from probetui.analysis.causes.case import WhyCase
from probetui.analysis.causes.cause import Cause
from probetui.analysis.causes.kinds import CauseKind
from probetui.analysis.next_failure import Outlook, OutlookCondition, OutlookEvent
from probetui.analysis.timing import kills_at_resync
from probetui.kubelet.kuberuntime.restart import (
    is_only_container,
    pull_range,
    restart_range,
)

K = CauseKind
_RETRY = Outlook(OutlookEvent.TRIED_AGAIN)
_CREATION = Outlook(OutlookEvent.CREATED, condition=OutlookCondition.CAUSE_ENDS)


def outlook_of(case: WhyCase, cause: Cause) -> Outlook | None:
    """Return what comes next, None if nothing does or it has ended."""
    if case.is_over:
        return None
    find = _OUTLOOKS.get(cause.kind)
    return find(case, cause) if callable(find) else find


def _restart(case: WhyCase, cause: Cause) -> Outlook:
    wait = cause.evidence.backoff
    if wait is None or wait.until is None:
        return Outlook(OutlookEvent.RESTARTED)
    latest = wait.latest
    if latest is None:
        is_alone = is_only_container(case.pod)
        _, latest = restart_range(
            wait.until, wait.window, case.rules, is_alone=is_alone
        )
    return Outlook(OutlookEvent.RESTARTED, wait.until, latest)


def _pull(case: WhyCase, cause: Cause) -> Outlook:
    if case.next_pull_at is None or cause.subject.container != case.container.name:
        return Outlook(OutlookEvent.PULLED_AGAIN)
    return Outlook(OutlookEvent.PULLED_AGAIN, *pull_range(case.next_pull_at))


def _success(event: OutlookEvent) -> _Find:
    """Return a function that finds how many successes lead to an event."""

    def find(case: WhyCase, cause: Cause) -> Outlook:
        probe_type = cause.subject.probe
        probe = None if probe_type is None else case.container.probe(probe_type)
        needed = 1 if probe is None else probe.success_threshold
        if cause.kind is K.READINESS_TOO_FEW_SUCCESSES:
            needed -= cause.evidence.count
        condition = OutlookCondition.SUCCESSES
        return Outlook(
            event, condition=condition, count=max(needed, 1), probe=probe_type
        )

    return find


def _kill(case: WhyCase, cause: Cause) -> Outlook:
    left = max(cause.evidence.needed - cause.evidence.count, 1)
    tick, probe_type = cause.evidence.tick, cause.subject.probe
    probe = None if probe_type is None else case.container.probe(probe_type)
    at_resync = probe_type is not None and kills_at_resync(probe_type, case.rules)
    earliest = None
    if tick is not None and probe is not None and not at_resync:
        seconds = tick.timing.period_seconds or probe.period_seconds
        earliest = tick.timing.started_at + timedelta(seconds=left * seconds)
    return Outlook(
        OutlookEvent.KILLED,
        earliest,
        condition=OutlookCondition.FAILURES,
        count=left,
        probe=probe_type,
        is_at_resync=at_resync,
    )


def _startup(case: WhyCase, cause: Cause) -> Outlook:
    success = _success(OutlookEvent.STARTED)(case, cause)
    assert success is not None, "a success leads on"  # noqa: S101  # for the type
    return replace(success, otherwise=_kill(case, cause))


def _sigkill(case: WhyCase, cause: Cause) -> Outlook | None:
    until = cause.evidence.until
    if until is None or case.now > until:
        return None
    stop = None if cause.evidence.instance is None else cause.evidence.instance.stopping
    earliest = until if stop is None else until - (stop.latest - stop.earliest)
    return Outlook(
        OutlookEvent.SIGKILL,
        earliest,
        None if earliest == until else until,
        condition=OutlookCondition.STILL_RUNS,
    )


_Find = Callable[[WhyCase, Cause], Outlook | None]

_OUTLOOKS: Mapping[CauseKind, _Find | Outlook] = {
    K.BACK_OFF: _restart,
    K.RESTART_DUE: Outlook(OutlookEvent.RESTARTED),
    K.IMAGE_PULL_FAILED: _pull,
    K.IMAGE_NEVER_PULLED: _RETRY,
    K.IMAGE_NOT_INSPECTED: _RETRY,
    K.MISSING_CONFIG_MAP: _RETRY,
    K.MISSING_SECRET: _RETRY,
    K.MISSING_KEY: _RETRY,
    K.MISSING_CLAIM: _RETRY,
    K.MISSING_TOKEN: _RETRY,
    K.VOLUME_NOT_MOUNTED: _RETRY,
    K.SANDBOX_FAILED: _RETRY,
    K.NETWORK_NOT_READY: _RETRY,
    K.CONFIG_REFUSED: _RETRY,
    K.RUNTIME_REFUSED: _RETRY,
    K.START_ERROR: _RETRY,
    K.WAITS_FOR_INIT_CONTAINER: _CREATION,
    K.WAITS_FOR_SIDECAR: _CREATION,
    K.WAITS_FOR_POST_START_HOOK: _CREATION,
    K.WAITS_FOR_START_BEFORE: _CREATION,
    K.WAITS_FOR_OLDER_POD: _CREATION,
    K.IMAGE_PULLING: _CREATION,
    K.POST_START_HOOK_RUNNING: Outlook(
        OutlookEvent.STARTED, condition=OutlookCondition.CAUSE_ENDS
    ),
    K.STARTUP_NOT_PROBED: _success(OutlookEvent.STARTED),
    K.STARTUP_PROBE_FAILS: _startup,
    K.STARTUP_PROBE_ERRORS: _success(OutlookEvent.STARTED),
    K.READINESS_NOT_PROBED: _success(OutlookEvent.READY),
    K.READINESS_PROBE_FAILS: _success(OutlookEvent.READY),
    K.READINESS_PROBE_ERRORS: _success(OutlookEvent.READY),
    K.READINESS_TOO_FEW_SUCCESSES: _success(OutlookEvent.READY),
    K.READINESS_GATE_UNSET: Outlook(
        OutlookEvent.READY, condition=OutlookCondition.SOMEBODY_ACTS
    ),
    K.LIVENESS_PROBE_FAILS: _kill,
    K.DELETION_WAITS_FOR_SYNC: Outlook(
        OutlookEvent.STOPPED, condition=OutlookCondition.CAUSE_ENDS
    ),
    K.PRE_STOP_HOOK_RUNNING: _sigkill,
    K.SIGTERM_IGNORED: _sigkill,
}
