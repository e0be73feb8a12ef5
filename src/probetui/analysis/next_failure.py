"""What comes next, as an `Outlook`, and what the next failure of a probe would do.

An outlook of the answer to "why?" and one of a failure that has not happened are the
same kind of value; `presentation.outlook` makes text of both.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from enum import StrEnum

from msgspec import Struct
from msgspec.structs import replace

from probetui.analysis.timing import kill_grace_period, kills_at_resync
from probetui.engine.snapshot import ContainerSnapshot, ProbeSnapshot
from probetui.k8s.pod import Container, Pod
from probetui.k8s.probe import ExecAction, ProbeType
from probetui.kubelet.journal import Exit, Skip, TickAction, TickEntry
from probetui.kubelet.kuberuntime.grace_period import GracePeriod
from probetui.kubelet.kuberuntime.restart import (
    is_only_container,
    restart_range,
    should_restart_on_failure,
)
from probetui.kubelet.outcome import Result
from probetui.kubelet_rules import KubeletRules


class OutlookEvent(StrEnum):
    """What may come next; the names never change."""

    CREATED = "created"
    STARTED = "started"
    READY = "ready"
    NOT_READY = "not-ready"
    RESTARTED = "restarted"
    PULLED_AGAIN = "pulled-again"
    TRIED_AGAIN = "tried-again"
    KILLED = "killed"
    SIGKILL = "sigkill"
    STOPPED = "stopped"
    NOTHING = "nothing"


class OutlookCondition(StrEnum):
    """What must happen first; the names never change."""

    SUCCESSES = "successes"
    """So many successes in a row of the probe."""
    FAILURES = "failures"
    """So many failures more of the probe."""
    CAUSE_ENDS = "cause-ends"
    """What it waits for is over."""
    SOMEBODY_ACTS = "somebody-acts"
    """Nothing comes by itself."""
    STILL_RUNS = "still-runs"
    """It has not ended by then."""


class Outlook(Struct, frozen=True):
    """What comes next, and when; there is none for what has ended.

    Attributes:
        what: what comes.
        earliest: not before this instant, None if that is not known.
        latest: not after it, None if that is not known.
        condition: what must happen first, None if it comes by itself.
        count: how many successes or failures.
        probe: whose.
        is_at_resync: a kill comes with the next resync of the pod, not at once.
        otherwise: what comes if the condition is not met, None if that is not known.
    """

    what: OutlookEvent
    earliest: datetime | None = None
    latest: datetime | None = None
    condition: OutlookCondition | None = None
    count: int = 0
    probe: ProbeType | None = None
    is_at_resync: bool = False
    otherwise: Outlook | None = None


class FailureEffect(StrEnum):
    """What one more failure would do."""

    NO_WORKER = "no worker"
    ON_HOLD = "on hold"
    WAITS_FOR_STARTUP = "waits for startup"
    STARTUP_DONE = "startup done"
    CANCELED = "canceled"
    NOT_RUNNING = "not running"
    COUNTED = "counted"
    MUTED = "muted"
    NOT_READY = "not ready"
    STAYS_NOT_READY = "stays not ready"
    POD_DELETED = "pod deleted"
    WOULD_KILL = "would kill"
    KILL = "kill"


class BackoffForecast(Struct, frozen=True):
    """Whether crash-loop back-off would delay a restart.

    Attributes:
        waits: None if it depends on how long the container takes to stop.
        exited_at: when the window began, None if no instance has exited.
        window: zero if there is none yet.
        left_at_kill: what is left of the window when the stop is requested.
        longest: the longest time from the end of the container to its restart.
    """

    waits: bool | None
    exited_at: datetime | None = None
    window: timedelta = timedelta()
    left_at_kill: timedelta = timedelta()
    longest: timedelta = timedelta()


class NextFailure(Struct, frozen=True):
    """What the next failure would do.

    `run` of `threshold` is what it would count to, and `at_threshold` what that does.
    `grace` is set if it kills, and `backoff` if the container is restarted then. A kill
    `at_resync` comes with the pod's next resync, not at once.
    """

    effect: FailureEffect
    at_threshold: FailureEffect = FailureEffect.KILL
    at_resync: bool = False
    run: int = 0
    threshold: int = 0
    grace: GracePeriod | None = None
    kills_at: datetime | None = None
    backoff: BackoffForecast | None = None


def outlook_of_failures(failure: NextFailure, at: datetime | None = None) -> Outlook:
    """Return what a run of failures comes to that has not happened.

    `at` is when the last probe of the run is due, None if that is not known.
    """
    return Outlook(
        _AT_THRESHOLD.get(failure.at_threshold, OutlookEvent.NOTHING),
        None if failure.at_resync else at,
        condition=OutlookCondition.FAILURES,
        count=max(failure.threshold - failure.run + 1, 1),
        is_at_resync=failure.at_resync,
    )


_AT_THRESHOLD: Mapping[FailureEffect, OutlookEvent] = {
    FailureEffect.KILL: OutlookEvent.KILLED,
    FailureEffect.WOULD_KILL: OutlookEvent.KILLED,
    FailureEffect.NOT_READY: OutlookEvent.NOT_READY,
    FailureEffect.STAYS_NOT_READY: OutlookEvent.NOT_READY,
}


def predict_next_failure(
    pod: Pod,
    container: ContainerSnapshot,
    probe: ProbeSnapshot,
    now: datetime,
    rules: KubeletRules,
    *,
    acts: bool,
) -> NextFailure:
    """Return what the next failure of a probe would do, if the next tick probes."""
    if (effect := _no_probe(pod, probe, rules)) is not None:
        return NextFailure(effect, effect)
    failures = probe.result_run if probe.last_result is Result.FAILURE else 0
    following = _after_failures(
        failures,
        probe.probe.failure_threshold,
        probe.key.probe_type,
        is_muted=probe.muted,
        is_not_ready=probe.stored_result is Result.FAILURE,
        is_deleted=pod.deletion_requested_at is not None,
        acts=acts,
        rules=rules,
    )
    if following.effect is not FailureEffect.KILL:
        return following
    backoff, last_exit = container.backoff, container.last_exit
    window = timedelta()
    if backoff is not None:
        window = backoff.next_window if backoff.until is None else backoff.window
    return _with_kill(
        following,
        pod,
        container.container,
        probe.key.probe_type,
        probe.next_tick_at,
        probe.next_tick_at or now,
        None if last_exit is None else last_exit.at,
        window,
        rules,
    )


def predict_failure_after(
    tick: TickEntry,
    pod: Pod,
    container: Container,
    failure_threshold: int,
    kill_at: datetime,
    exited_at: datetime | None,
    window: timedelta,
    rules: KubeletRules,
    *,
    acts: bool,
) -> NextFailure:
    """Return what a failure right after this tick would do.

    `exited_at` is when the container's last exit was, which its back-off `window`
    counts from.
    """
    if tick.action is TickAction.KILL:
        return NextFailure(FailureEffect.ON_HOLD, FailureEffect.ON_HOLD)
    following = _after_failures(
        tick.run.count if tick.result is Result.FAILURE else 0,
        failure_threshold,
        tick.key.probe_type,
        is_muted=tick.overridden.muted,
        is_not_ready=tick.stored.after is Result.FAILURE,
        is_deleted=pod.deletion_requested_at is not None,
        acts=acts,
        rules=rules,
    )
    if following.effect is not FailureEffect.KILL:
        return following
    return _with_kill(
        following,
        pod,
        container,
        tick.key.probe_type,
        kill_at,
        kill_at,
        exited_at,
        window,
        rules,
    )


def _after_failures(
    failures: int,
    threshold: int,
    probe_type: ProbeType,
    *,
    is_muted: bool,
    is_not_ready: bool,
    is_deleted: bool,
    acts: bool,
    rules: KubeletRules,
) -> NextFailure:
    effect = FailureEffect.KILL
    if is_muted:
        effect = FailureEffect.MUTED
    elif probe_type is ProbeType.READINESS and is_not_ready:
        effect = FailureEffect.STAYS_NOT_READY
    elif probe_type is ProbeType.READINESS:
        effect = FailureEffect.NOT_READY
    elif is_deleted:
        # Its sync ends with the kill of the whole pod, and never looks at results.
        effect = FailureEffect.POD_DELETED
    elif not acts:
        effect = FailureEffect.WOULD_KILL
    return NextFailure(
        FailureEffect.COUNTED if failures + 1 < threshold else effect,
        effect,
        effect is FailureEffect.KILL and kills_at_resync(probe_type, rules),
        failures + 1,
        threshold,
    )


def _with_kill(
    failure: NextFailure,
    pod: Pod,
    container: Container,
    probe_type: ProbeType,
    kills_at: datetime | None,
    kill_at: datetime,
    exited_at: datetime | None,
    window: timedelta,
    rules: KubeletRules,
) -> NextFailure:
    grace = kill_grace_period(pod, container, probe_type, rules)
    backoff = None
    if should_restart_on_failure(pod, container):
        length = timedelta(seconds=grace.seconds)
        is_alone = is_only_container(pod)
        backoff = predict_backoff(
            exited_at, window, kill_at, length, rules, is_alone=is_alone
        )
    return replace(failure, grace=grace, kills_at=kills_at, backoff=backoff)


def _no_probe(
    pod: Pod, probe: ProbeSnapshot, rules: KubeletRules
) -> FailureEffect | None:
    """Return why the next tick does not probe, or None if it does."""
    if not probe.worker_alive:
        return FailureEffect.NO_WORKER
    is_command = isinstance(probe.probe.handler, ExecAction)
    is_deleted = pod.deletion_requested_at is not None
    if is_command and is_deleted and rules.cancels_exec_on_deletion:
        return FailureEffect.CANCELED
    is_startup_done = (
        probe.key.probe_type is ProbeType.STARTUP
        and probe.stored_result is Result.SUCCESS
    )
    if probe.on_hold and (is_startup_done or not probe.is_hold_ending):
        # The kubelet puts a startup probe on hold for either result.
        return FailureEffect.STARTUP_DONE if is_startup_done else FailureEffect.ON_HOLD
    match probe.upcoming_skip:
        case None | Skip.INITIAL_DELAY | Exit.POD_DELETED | Exit.STOPPED:
            # What is in flight still comes, and does nothing in a pod that ends.
            return None
        case Skip.NOT_STARTED:
            return FailureEffect.WAITS_FOR_STARTUP
        case Skip.ALREADY_STARTED:
            return FailureEffect.STARTUP_DONE
        case _:
            return FailureEffect.NOT_RUNNING


def predict_backoff(
    exited_at: datetime | None,
    window: timedelta,
    kill_at: datetime,
    grace: timedelta,
    rules: KubeletRules,
    *,
    is_alone: bool = True,
) -> BackoffForecast:
    """Return whether a restart after a probe's kill would wait.

    As in the kubelet, whether it waits is decided by the exit of the instance before
    the one that is killed. The next sync knows of the exit of this one: if there is a
    wait, it is the whole window from then on.
    """
    if exited_at is None or not window:
        return BackoffForecast(waits=False, exited_at=exited_at)
    left = exited_at + window - kill_at
    waits: bool | None = None
    if left <= timedelta():
        waits = False
    elif grace < left:
        waits = True
    due = restart_range(kill_at + window, window, rules, is_alone=is_alone)
    return BackoffForecast(waits, exited_at, window, left, due.latest - kill_at)
