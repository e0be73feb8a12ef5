"""What a probe's settings come to: when it runs, notices, kills, lets back in."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from fractions import Fraction
from typing import NamedTuple

from probetui.k8s.pod import Container, Pod, RestartPolicy
from probetui.k8s.probe import Probe, ProbeType
from probetui.kubelet.grace_period import (
    GracePeriod,
    KillReason,
    termination_grace_period,
)

_SECOND = timedelta(seconds=1)
_MINUTE_SECONDS = 60

_REASONS = {
    ProbeType.LIVENESS: KillReason.LIVENESS_PROBE,
    ProbeType.STARTUP: KillReason.STARTUP_PROBE,
}


class Range(NamedTuple):
    """From when to when something may happen."""

    least: timedelta
    most: timedelta

    def then(self, other: Range) -> Range:
        """Return from when to when both have happened, one after the other."""
        return Range(self.least + other.least, self.most + other.most)


@dataclass(frozen=True, slots=True)
class ProbeTiming:
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

    first: Range
    noticed: Range
    recovered: Range
    grace: GracePeriod | None
    restarted: Range | None
    budget: Range | None
    cost: Fraction


def timing_of(pod: Pod, container: Container, probe_type: ProbeType) -> ProbeTiming:
    """Return how long things take for a probe that the container has."""
    probe = container.probe(probe_type)
    assert probe is not None, "who asks has seen it"  # noqa: S101  # for the type
    first = _first(probe)
    noticed = _counted(probe, probe.failure_threshold)
    reason = _REASONS.get(probe_type)
    grace = termination_grace_period(pod, container, reason) if reason else None
    return ProbeTiming(
        first=first,
        noticed=noticed,
        recovered=_counted(probe, probe.success_threshold),
        grace=grace,
        restarted=_restarted(pod, container, noticed, grace),
        budget=_budget(probe, first) if probe_type is ProbeType.STARTUP else None,
        cost=Fraction(_MINUTE_SECONDS, max(probe.period_seconds, 1)),
    )


def _first(probe: Probe) -> Range:
    """Return when a container is probed first.

    The delay is reckoned from the start's whole second, and a tick has to come by.
    """
    delay = probe.initial_delay_seconds * _SECOND
    return Range(
        max(delay - _SECOND, timedelta()), delay + probe.period_seconds * _SECOND
    )


def _counted(probe: Probe, threshold: int) -> Range:
    """Return how long it takes until that many equal results have come.

    At best the first of them is at once and all are quick. At worst a probe has just
    seen the opposite, and each takes its whole time.
    """
    period = probe.period_seconds * _SECOND
    between = threshold - 1
    return Range(
        between * period,
        period + between * _slowest(probe) + probe.timeout_seconds * _SECOND,
    )


def _budget(probe: Probe, first: Range) -> Range:
    """Return when a container is killed whose startup probe never succeeds."""
    between = probe.failure_threshold - 1
    timeout = probe.timeout_seconds * _SECOND
    later = Range(
        between * probe.period_seconds * _SECOND,
        between * _slowest(probe) + timeout,
    )
    return first.then(later)


def _restarted(
    pod: Pod, container: Container, noticed: Range, grace: GracePeriod | None
) -> Range | None:
    is_restarted = pod.restart_policy is not RestartPolicy.NEVER or container.is_sidecar
    if grace is None or not is_restarted:
        return None
    return noticed.then(Range(timedelta(), grace.seconds * _SECOND))


def _slowest(probe: Probe) -> timedelta:
    """Return how far apart probes are that take their whole time.

    One that is slower than the period drops ticks; the next begins at once.
    """
    return max(probe.period_seconds, probe.timeout_seconds) * _SECOND
