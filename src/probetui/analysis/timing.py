"""The timing that follows from settings: first probe, detection, kill, recovery."""

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

_SECOND = timedelta(seconds=1)
_MINUTE_SECONDS = 60

_KILL_REASONS = {
    ProbeType.LIVENESS: KillReason.LIVENESS_PROBE,
    ProbeType.STARTUP: KillReason.STARTUP_PROBE,
    ProbeType.READINESS: KillReason.NONE,
}


class TimeRange(NamedTuple):
    """From when to when something may happen."""

    least: timedelta
    most: timedelta

    def then(self, other: TimeRange) -> TimeRange:
        """Return from when to when both have happened, one after the other."""
        return TimeRange(self.least + other.least, self.most + other.most)


class ProbeTiming(Struct, frozen=True):
    """How long things take, by a probe's settings alone.

    Attributes:
        first: from a container's start to its first probe.
        noticed: from the moment the app fails to the failure that counts.
        recovered: from the moment it works again to the success that counts.
        grace: what a container gets to end, where this probe kills; else None.
        restarted: from the moment the app fails to the container's end, which the
            restart follows unless there is back-off; None where nothing is restarted.
        budget: from a container's start to its kill if a startup probe never
            succeeds; None for other probes.
        cost: how many probes there are in a minute.
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
    """Return whether a failure kills at the pod's next resync only, not at once."""
    return probe_type is ProbeType.STARTUP and not rules.results_wake_pod


class Latency(NamedTuple):
    """How long the last runs of a probe took."""

    last: timedelta
    median: timedelta
    longest: timedelta


def summarize_latency(durations: Sequence[timedelta]) -> Latency | None:
    """Return how long runs took, given oldest first; None without any."""
    if not durations:
        return None
    median = sorted(durations)[len(durations) // 2]
    return Latency(durations[-1], median, max(durations))


def notice_delay(probe: Probe) -> TimeRange:
    """Return how long it takes until a failing app is known to fail.

    At least: it breaks just before a tick, and probes fail at once. At most: just after
    one, and every probe runs into its time limit; one that takes longer than the period
    delays the next.
    """
    return _counted(probe, probe.failure_threshold)


def timing_of(
    pod: Pod,
    container: Container,
    probe_type: ProbeType,
    rules: KubeletRules,
) -> ProbeTiming:
    """Return how long things take for a probe that the container has."""
    probe = container.probe(probe_type)
    assert probe is not None, "who asks has seen it"  # noqa: S101  # for the type
    first = _first(probe)
    noticed = notice_delay(probe)
    kills = probe_type is not ProbeType.READINESS
    grace = kill_grace_period(pod, container, probe_type, rules) if kills else None
    budget = None
    if probe_type is ProbeType.STARTUP:
        budget = _budget(probe, first)
        if kills_at_resync(probe_type, rules):
            budget = budget.then(TimeRange(timedelta(), LATEST_RESYNC))
    return ProbeTiming(
        first=first,
        noticed=noticed,
        recovered=_counted(probe, probe.success_threshold),
        grace=grace,
        restarted=_restarted(pod, container, noticed, grace),
        budget=budget,
        cost=Fraction(_MINUTE_SECONDS, max(probe.period_seconds, 1)),
    )


def _first(probe: Probe) -> TimeRange:
    """Return when a container is probed first.

    The delay counts from the start's whole second, and then a tick has to come.
    """
    delay = probe.initial_delay_seconds * _SECOND
    return TimeRange(
        max(delay - _SECOND, timedelta()), delay + probe.period_seconds * _SECOND
    )


def _counted(probe: Probe, threshold: int) -> TimeRange:
    """Return how long it takes until that many equal results have come.

    At best the first of them is at once and all are quick. At worst a probe has just
    seen the opposite, and each takes its whole time.
    """
    period = probe.period_seconds * _SECOND
    between = threshold - 1
    return TimeRange(
        between * period,
        period + between * _slowest(probe) + probe.timeout_seconds * _SECOND,
    )


def _budget(probe: Probe, first: TimeRange) -> TimeRange:
    """Return when a container is killed whose startup probe never succeeds."""
    between = probe.failure_threshold - 1
    timeout = probe.timeout_seconds * _SECOND
    later = TimeRange(
        between * probe.period_seconds * _SECOND,
        between * _slowest(probe) + timeout,
    )
    return first.then(later)


def _restarted(
    pod: Pod, container: Container, noticed: TimeRange, grace: GracePeriod | None
) -> TimeRange | None:
    if grace is None or not should_restart_on_failure(pod, container):
        return None
    return noticed.then(TimeRange(timedelta(), grace.seconds * _SECOND))


def _slowest(probe: Probe) -> timedelta:
    """Return how far apart probes are that take their whole time.

    One that is slower than the period drops ticks; the next begins at once.
    """
    return max(probe.period_seconds, probe.timeout_seconds) * _SECOND


def ticks_lost(tick: TickEntry, next_at: datetime | None, period_seconds: int) -> int:
    """Return how many ticks never came because a probe took longer than its period.

    One tick waits while a probe runs; those after it are lost, never made up for. The
    period given is that of a tick which does not say its own.
    """
    period = (tick.timing.period_seconds or period_seconds) * _SECOND
    if next_at is None or tick.timing.duration <= period:
        return 0
    return max((next_at - tick.timing.started_at) // period - 1, 0)
