"""How long probes take, and how long it takes until a failure is noticed."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import NamedTuple

from probetui.k8s.pod import Pod
from probetui.k8s.probe import Probe, ProbeType
from probetui.kubelet.grace_period import termination_grace_period
from probetui.kubelet.snapshot import ContainerSnapshot, ProbeSnapshot
from probetui.presentation.container_detail import labelled
from probetui.presentation.durations import age, took
from probetui.presentation.sentences import KILL_REASONS
from probetui.presentation.spans import Line

_SECOND, _MINUTE = timedelta(seconds=1), timedelta(minutes=1)


class Noticed(NamedTuple):
    """The shortest and the longest time from a fault to the last failure needed."""

    soonest: timedelta
    latest: timedelta


def noticed(probe: Probe) -> Noticed:
    """Return how long it takes until a container that went wrong is known to be.

    Soonest: it breaks just before a tick, and probes fail at once. Latest: just after
    one, and every probe runs into its time limit; one that takes longer than the period
    delays the next.
    """
    period = probe.period_seconds * _SECOND
    timeout = probe.timeout_seconds * _SECOND
    others = probe.failure_threshold - 1
    return Noticed(others * period, period + others * max(period, timeout) + timeout)


def latency_line(probe: ProbeSnapshot) -> Line:
    """Return how long the last runs took, beside the time limit."""
    limit = f"timeout {took(probe.probe.timeout_seconds * _SECOND)}"
    durations = [each.attempts[-1].duration for each in probe.history if each.attempts]
    if probe.last_run is not None and not durations:
        durations = [probe.last_run.attempts[-1].duration]
    if not durations:
        return labelled("latency", f"not probed yet   {limit}")
    middle = sorted(durations)[len(durations) // 2]
    words = (
        f"last {took(durations[-1])}   median {took(middle)}   "
        f"max {took(max(durations))}   {limit}"
    )
    return labelled("latency", words)


def cost_line(probe: ProbeSnapshot) -> Line:
    """Return how often a probe runs, and how much of each minute it takes."""
    durations = [each.attempts[-1].duration for each in probe.history if each.attempts]
    if not durations:
        return labelled("cost", "nothing yet")
    a_minute = _MINUTE / (probe.probe.period_seconds * _SECOND)
    spent = sum(durations, timedelta()) / len(durations) * a_minute
    runs = f"{a_minute:.0f}" if a_minute >= 1 else f"{a_minute:.1f}"
    return labelled("cost", f"{runs} runs a minute, {took(spent)} of it spent probing")


def timing_lines(
    pod: Pod, container: ContainerSnapshot, probe: ProbeSnapshot
) -> Iterator[Line]:
    """Yield how soon a failure is noticed, and how soon after that it is acted on."""
    spec, kind = probe.probe, probe.key.probe_type
    soonest, latest = noticed(spec)
    sum_ = f"period {spec.period_seconds}s x failures {spec.failure_threshold}"
    yield labelled(
        "noticed after", f"{age(soonest)} to {age(latest)}   {sum_} + timeout"
    )
    if kind is ProbeType.READINESS:
        yield labelled("then", "not ready at once; a restart never follows")
        return
    grace = termination_grace_period(pod, container.container, KILL_REASONS[kind])
    yield labelled(
        "then killed", f"0s to {grace.seconds}s later (grace, {grace.source})"
    )
