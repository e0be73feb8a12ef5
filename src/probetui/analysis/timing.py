"""Compute timing from probe settings: first probe, detection, kill, recovery."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from fractions import Fraction
from typing import NamedTuple

from msgspec import Struct

from probetui.k8s.pod import Container, Pod
from probetui.k8s.probe import Probe, ProbeType
from probetui.kubelet.journal import TickEntry
from probetui.kubelet.kuberuntime.grace_period import (
    GracePeriod,
    KillReason,
    termination_grace_period,
)
from probetui.kubelet.kuberuntime.restart import should_restart_on_failure
from probetui.kubelet_rules import KubeletRules

LATEST_RESYNC = timedelta(seconds=90)
"""The longest time from a sync of a pod to its next resync.

Source: pod_workers.go, v1.32.10, completeWork.
"""

HELD_FOR = timedelta(seconds=1)
"""A command that ends this long after its time limit is waited for by its runtime; a
busy machine is late by less.

Source: containerd v1.7, pkg/cri/sbserver/container_execsync.go, execInContainer: a
command that is killed for its time is waited for until its output is closed.
"""

_SECOND = timedelta(seconds=1)
_MINUTE_SECONDS = 60

_KILL_REASONS = {
    ProbeType.LIVENESS: KillReason.LIVENESS_PROBE,
    ProbeType.STARTUP: KillReason.STARTUP_PROBE,
    ProbeType.READINESS: KillReason.NONE,
}


class TimeRange(NamedTuple):
    """The least and the most time that something takes."""

    least: timedelta
    most: timedelta

    def then(self, other: TimeRange) -> TimeRange:
        """Return the range of both, one after the other."""
        return TimeRange(self.least + other.least, self.most + other.most)


class ProbeTiming(Struct, frozen=True):
    """The times that follow from a probe's settings alone.

    Attributes:
        first: from a container's start to its first probe.
        noticed: from the failure of the app to the failure that reaches the threshold.
        recovered: from its recovery to the success that reaches the threshold.
        grace: the grace period of a kill by this probe; None for a readiness probe.
        restarted: from the failure of the app to the container's exit; the restart
            follows at once unless there is back-off. None if nothing is restarted.
        budget: from a container's start to its kill if a startup probe never
            succeeds; None for other probes.
        cost: probes per minute.
    """

    first: TimeRange
    noticed: TimeRange
    recovered: TimeRange
    grace: GracePeriod | None
    restarted: TimeRange | None
    budget: TimeRange | None
    cost: Fraction


def kill_grace_period(
    pod: Pod,
    container: Container,
    probe_type: ProbeType,
    rules: KubeletRules,
) -> GracePeriod:
    """Return the grace period of a kill by a probe of this type, and its source."""
    return termination_grace_period(pod, container, _KILL_REASONS[probe_type], rules)


def kills_at_resync(probe_type: ProbeType, rules: KubeletRules) -> bool:
    """Return whether a failure kills only at the pod's next resync, not at once."""
    return probe_type is ProbeType.STARTUP and not rules.results_wake_pod


class Latency(NamedTuple):
    """The durations of a probe's last runs."""

    last: timedelta
    median: timedelta
    longest: timedelta


def summarize_latency(durations: Sequence[timedelta]) -> Latency | None:
    """Summarize durations, given oldest first; None if there are none."""
    if not durations:
        return None
    median = sorted(durations)[len(durations) // 2]
    return Latency(durations[-1], median, max(durations))


def notice_delay(probe: Probe) -> TimeRange:
    """Return how long it takes to detect that an app fails.

    At best it breaks just before a tick, and probes fail at once. At worst it breaks
    just after one, and every probe times out; a probe that takes longer than the period
    delays the next.
    """
    between = probe.failure_threshold - 1
    period = probe.period_seconds * _SECOND
    return TimeRange(
        between * period,
        period + between * _longest_interval(probe) + probe.timeout_seconds * _SECOND,
    )


def timing_of(
    pod: Pod,
    container: Container,
    probe_type: ProbeType,
    rules: KubeletRules,
) -> ProbeTiming:
    """Return the timing of a probe that the container has."""
    probe = container.probe(probe_type)
    assert probe is not None, "the caller has seen it"  # noqa: S101  # for the type
    first = _first_probe(probe)
    noticed = notice_delay(probe)
    kills = probe_type is not ProbeType.READINESS
    grace = kill_grace_period(pod, container, probe_type, rules) if kills else None
    is_startup = probe_type is ProbeType.STARTUP
    return ProbeTiming(
        first=first,
        noticed=noticed,
        recovered=_recovery(probe, probe_type, rules),
        grace=grace,
        restarted=_restart_after(pod, container, noticed, grace),
        budget=start_budget(container, rules) if is_startup else None,
        cost=Fraction(_MINUTE_SECONDS, max(probe.period_seconds, 1)),
    )


def start_budget(container: Container, rules: KubeletRules) -> TimeRange | None:
    """Return how soon a container is killed that never comes up, None if it is not.

    With a startup probe that is its budget, without one the liveness probe's patience.
    """
    probe = container.startup_probe or container.liveness_probe
    if probe is None:
        return None
    budget = _budget(probe, _first_probe(probe))
    is_startup = container.startup_probe is not None
    if is_startup and kills_at_resync(ProbeType.STARTUP, rules):
        budget = budget.then(TimeRange(timedelta(), LATEST_RESYNC))
    return budget


def ready_after_start(container: Container, rules: KubeletRules) -> TimeRange | None:
    """Return when a container is ready whose app answers from its start on.

    None if nothing delays that: it is ready as soon as it runs.
    """
    startup, readiness = container.startup_probe, container.readiness_probe
    up = None
    if startup is not None:
        first = _first_probe(startup)
        up = TimeRange(first.least, first.most + startup.timeout_seconds * _SECOND)
        if not rules.results_wake_pod:
            # Only a sync makes it count as started.
            up = up.then(TimeRange(timedelta(), LATEST_RESYNC))
    if readiness is None:
        return up
    first = _first_probe(readiness)
    if up is not None:
        tick = readiness.period_seconds * _SECOND
        first = TimeRange(max(first.least, up.least), max(first.most, up.most + tick))
    between = readiness.success_threshold - 1
    shortest = _shortest_interval(readiness, ProbeType.READINESS, rules)
    return TimeRange(
        first.least + between * shortest,
        first.most
        + between * _longest_interval(readiness)
        + readiness.timeout_seconds * _SECOND,
    )


def _first_probe(probe: Probe) -> TimeRange:
    """Return the time to a container's first probe.

    The delay counts from the start truncated to seconds, and ends at the next tick.
    """
    delay = probe.initial_delay_seconds * _SECOND
    return TimeRange(
        max(delay - _SECOND, timedelta()), delay + probe.period_seconds * _SECOND
    )


def _recovery(probe: Probe, probe_type: ProbeType, rules: KubeletRules) -> TimeRange:
    """Return the time from the recovery of an app to the success at the threshold.

    At worst a probe of the hung app has just begun, and all take their whole time-out.
    The resyncs of the pod, which trigger probes, set no other limit: a sync that pulls
    an image or stops a container lasts as long as that does.
    """
    between = probe.success_threshold - 1
    return TimeRange(
        between * _shortest_interval(probe, probe_type, rules),
        (between + 1) * _longest_interval(probe) + probe.timeout_seconds * _SECOND,
    )


def _budget(probe: Probe, first: TimeRange) -> TimeRange:
    """Return the time to the kill of a container whose startup probe never succeeds."""
    between = probe.failure_threshold - 1
    timeout = probe.timeout_seconds * _SECOND
    later = TimeRange(
        between * probe.period_seconds * _SECOND,
        between * _longest_interval(probe) + timeout,
    )
    return first.then(later)


def _restart_after(
    pod: Pod, container: Container, noticed: TimeRange, grace: GracePeriod | None
) -> TimeRange | None:
    if grace is None or not should_restart_on_failure(pod, container):
        return None
    return noticed.then(TimeRange(timedelta(), grace.seconds * _SECOND))


def _shortest_interval(
    probe: Probe, probe_type: ProbeType, rules: KubeletRules
) -> timedelta:
    """Return the interval of probes of a container that is not ready.

    Each status of its pod may trigger one out of turn, and statuses may come at once.
    """
    if probe_type is ProbeType.READINESS and rules.triggers_readiness:
        return timedelta()
    return probe.period_seconds * _SECOND


def _longest_interval(probe: Probe) -> timedelta:
    """Return the interval of probes that time out.

    A probe that is slower than its period loses ticks; the next begins at once.
    """
    return max(probe.period_seconds, probe.timeout_seconds) * _SECOND


def ticks_lost(tick: TickEntry, next_at: datetime | None, period_seconds: int) -> int:
    """Return how many ticks were lost because a probe took longer than its period.

    While a probe runs, one tick waits; further ones are lost. `period_seconds` is for a
    tick that does not record its period.
    """
    period = (tick.timing.period_seconds or period_seconds) * _SECOND
    if next_at is None or tick.timing.duration <= period:
        return 0
    return max((next_at - tick.timing.started_at) // period - 1, 0)
