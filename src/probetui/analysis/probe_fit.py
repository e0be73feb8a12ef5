"""Fit probe settings to measurements: start budget, time-out, threshold, period.

A healthy container fails a probe now and then, in runs that end by themselves. With
threshold k, a run of k failures is a false kill. A run begins at a tick with
probability p and continues at the next with probability q. So a run of k ticks begins
at any tick with probability p q^(k-1), and the mean time between false kills is period
/ (p q^(k-1)). For p and q we take the upper ends of 95 % confidence intervals (Clopper
and Pearson 1934). Independent failures are the case q = p.

A run that reaches the recorded threshold k is a kill, so those that end by themselves
are shorter, and say too little of q: it is corrected for that they are below k, or
taken as if all kills were false, whatever is less.

Start times are assumed to be log-normal; the budget is the upper end of the prediction
interval for the next start (Student's t).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import timedelta
from operator import mul
from statistics import NormalDist, fmean, median, stdev
from typing import NamedTuple

from msgspec import Struct, field
from msgspec.structs import replace

from probetui.analysis.timing import notice_delay
from probetui.k8s.probe import Probe

LEAST_PROBES = 100
"""With fewer, the bound of p is 3 % or more even if none of them failed."""

LEAST_STARTS = 5
"""With fewer, the spread of start times is uncertain by more than a factor of 3."""

LEAST_FAILURE_RUNS = 10
"""With fewer, the length of failure runs cannot be estimated."""

UNKNOWN_GOES_ON = 0.5
"""The least q if too few runs were seen: a run is as likely to continue as to end."""

LATENCY_MARGIN = 2.0
START_MARGIN = 1.5
START_RISK = 0.001
"""The largest acceptable probability that the budget ends a healthy start."""

_CONFIDENCE = 0.95
_MANY = 2_000
_PERCENT_99 = 0.99
_LONGEST_START_PERIOD = 10
_SECOND = timedelta(seconds=1)
_DAY = timedelta(days=1)


class MeasuredProbe(NamedTuple):
    """One run of a probe: the age of its instance and the duration, in seconds.

    `is_success` is None if the probe could not be run; such a run is not counted.
    """

    age: float
    is_success: bool | None
    took: float
    is_cut_off: bool = False


class ProbeEvidence(Struct, frozen=True):
    """The measurements of one probe while its container was healthy.

    Attributes:
        probe: the recorded settings.
        probes: how many ran after the container had started.
        latencies: durations of those that did not time out, in seconds.
        cut_off: how many timed out.
        failure_runs: the length in ticks of each run of failures that ended by itself.
        kills: how many runs reached the threshold; these failures count as real.
        begun: how many runs there may be, if `failure_runs` are some of them joined.
        successes_by: instead of latencies, how many successes took at most so many
            seconds.
        has_latencies: whether it is known how long probes take.
    """

    probe: Probe
    probes: int = 0
    latencies: tuple[float, ...] = ()
    cut_off: int = 0
    failure_runs: tuple[int, ...] = ()
    kills: int = 0
    begun: int = 0
    successes_by: Mapping[float, float] = field(default_factory=dict)
    has_latencies: bool = True

    @property
    def slowest(self) -> float:
        """The longest latency; of buckets, the bound of the highest with any.

        What took longer than the time-out is no success.
        """
        if self.successes_by:
            return self._bucket(1.0)
        return max(self.latencies, default=0.0)

    @property
    def p99(self) -> float:
        """The latency that 99 % do not exceed; of buckets, a bound of it."""
        if self.successes_by:
            return self._bucket(_PERCENT_99)
        return _quantile(self.latencies, _PERCENT_99)

    def _bucket(self, part: float) -> float:
        wanted = part * max(self.successes_by.values())
        bounds = (at for at, count in self.successes_by.items() if count >= wanted)
        return min(*bounds, float(self.probe.timeout_seconds))

    @property
    def longest_failure_run(self) -> int:
        """The most consecutive failures that a success followed."""
        return max(self.failure_runs, default=0)


class StartEvidence(Struct, frozen=True):
    """How long starts took until the first success, in seconds.

    `unfinished` counts the starts that ended before that.
    """

    seconds: tuple[float, ...] = ()
    unfinished: int = 0


def probe_evidence(
    probe: Probe, lives: Iterable[Sequence[MeasuredProbe]]
) -> ProbeEvidence:
    """Summarize a probe's runs, given instance by instance.

    Runs before the first success belong to the start. A run of failures at the end of
    a life is a kill if it reached the threshold; a shorter one is not counted.
    """
    ran: list[MeasuredProbe] = []
    runs: list[int] = []
    kills = 0
    for life in lives:
        run: list[MeasuredProbe] = []
        is_started = False
        for measured in life:
            if measured.is_success:
                is_started = True
                ran += (*run, measured)
                runs += [len(run)] if run else []
                run = []
            elif measured.is_success is False and is_started:
                run.append(measured)
        kills += len(run) >= probe.failure_threshold
    return ProbeEvidence(
        probe,
        len(ran),
        tuple(measured.took for measured in ran if not measured.is_cut_off),
        sum(measured.is_cut_off for measured in ran),
        tuple(runs),
        kills,
    )


def first_success(life: Iterable[MeasuredProbe]) -> float | None:
    """Return the age in seconds at the first success, None if there was none."""
    return next((measured.age for measured in life if measured.is_success), None)


class FitGoal(Struct, frozen=True):
    """The goal of a fit: at most one false kill in `per`, detection within `notice`."""

    per: timedelta
    notice: timedelta

    @property
    def start_risk(self) -> float:
        """The largest acceptable probability that a healthy start is ended."""
        return min(START_RISK, _DAY / self.per)


class LivenessFit(Struct, frozen=True):
    """A probe that reaches the goal.

    `false_kill_every` estimates the time between false kills, `noticed` is the longest
    time from a failure of the app to its detection, `assumed` names an assumption that
    the record could not confirm, empty if there is none.
    """

    probe: Probe
    p99: float
    false_kill_every: timedelta
    noticed: timedelta
    assumed: str = ""


class StartupFit(Struct, frozen=True):
    """A startup probe whose budget is at least `needed`."""

    probe: Probe
    needed: timedelta


class NotFitted(Struct, frozen=True):
    """What is missing for a fit, one sentence each."""

    missing: tuple[str, ...]


def fit_liveness(evidence: ProbeEvidence, goal: FitGoal) -> LivenessFit | NotFitted:
    """Fit a liveness probe.

    The recorded period is kept if possible, because it was measured; otherwise the
    longest shorter one is taken.
    """
    missing = []
    if evidence.probes < LEAST_PROBES:
        missing.append(
            f"{_counted(evidence.probes, 'probe', 'probes')} of the running container "
            f"seen; {LEAST_PROBES} are needed"
        )
    allowed = round((1 - _PERCENT_99) * evidence.probes)
    if evidence.cut_off > allowed:
        limit = evidence.probe.timeout_seconds
        were = "may have been" if evidence.successes_by else "were"
        missing.append(
            f"{evidence.cut_off} of {evidence.probes} probes {were} cut off after "
            f"{limit} s, so how long they take is unknown: record with a larger "
            "timeoutSeconds"
        )
    if missing:
        return NotFitted(tuple(missing))
    limit = evidence.probe.timeout_seconds
    if evidence.has_latencies:
        limit = max(1, math.ceil(evidence.slowest * LATENCY_MARGIN))
    best: tuple[timedelta, Probe] | None = None
    for period in range(evidence.probe.period_seconds, 0, -1):
        probe = replace(evidence.probe, period_seconds=period, timeout_seconds=limit)
        probe = replace(probe, failure_threshold=_threshold(evidence, probe, goal))
        noticed = notice_delay(probe).most
        if noticed <= goal.notice:
            return LivenessFit(
                probe,
                evidence.p99,
                false_kill_every(evidence, probe),
                noticed,
                _assumption(evidence),
            )
        if best is None or noticed < best[0]:
            best = noticed, probe
    assert best is not None, "a period is at least a second"  # noqa: S101  # for the type
    soonest, probe = best
    reason = (
        "no period and threshold satisfy both: with false kills that rare the "
        f"soonest notice is {soonest // _SECOND} s (periodSeconds "
        f"{probe.period_seconds}, failureThreshold {probe.failure_threshold}); "
        "allow more of either, or record longer"
    )
    return NotFitted((reason,))


def _counted(count: int, singular: str, plural: str) -> str:
    return f"{count} {singular if count == 1 else plural}"


def false_kill_every(evidence: ProbeEvidence, probe: Probe) -> timedelta:
    """Return a lower bound of the mean time between false kills."""
    begins, goes_on = _failure_run_bounds(evidence, probe.period_seconds)
    chance = begins * goes_on ** (probe.failure_threshold - 1)
    seconds = probe.period_seconds / chance if chance > 0 else math.inf
    return timedelta(seconds=min(seconds, timedelta.max.total_seconds() / 2))


def fit_startup(
    evidence: StartEvidence, probe: Probe, goal: FitGoal
) -> StartupFit | NotFitted:
    """Fit a startup probe.

    Args:
        evidence: the measured starts.
        probe: gives the handler and the time-out.
        goal: limits how often a healthy start may be ended.
    """
    count, missing = len(evidence.seconds), []
    if count < LEAST_STARTS:
        missing.append(
            f"{_counted(count, 'start', 'starts')} seen; {LEAST_STARTS} are needed: "
            "record several sessions, or ask about a longer time"
        )
    if evidence.unfinished:
        missing.append(
            f"{_counted(evidence.unfinished, 'start was', 'starts were')} ended before "
            "a first success, and how long they take is unknown: record with a larger "
            "failureThreshold of the startup probe, or initialDelaySeconds"
        )
    if missing:
        return NotFitted(tuple(missing))
    slowest = max(evidence.seconds)
    logarithms = [math.log(max(seconds, 0.001)) for seconds in evidence.seconds]
    quantile = student_quantile(1 - goal.start_risk, count - 1)
    reach = quantile * stdev(logarithms) * math.sqrt(1 + 1 / count)
    needed = max(math.exp(fmean(logarithms) + reach), slowest * START_MARGIN)
    period = min(max(round(median(evidence.seconds) / 10), 1), _LONGEST_START_PERIOD)
    # The first tick may come at once: the budget is the time between it and the last.
    threshold = math.ceil(needed / period) + 1
    fitted = replace(
        probe,
        initial_delay_seconds=0,
        period_seconds=period,
        failure_threshold=threshold,
    )
    return StartupFit(fitted, timedelta(seconds=needed))


def upper_bound(successes: int, trials: int) -> float:
    """Return the upper end of the one-sided 95 % interval of a probability."""
    if successes >= trials:
        return 1.0
    if successes > _MANY:
        return _wilson(successes, trials)
    return _bisected(
        lambda chance: _at_most(successes, trials, chance) > 1 - _CONFIDENCE,
        successes / trials,
    )


def _bisected(is_less: Callable[[float], bool], low: float = 0.0) -> float:
    """Return the least probability of which something is no longer so."""
    high = 1.0
    for _ in range(60):
        middle = (low + high) / 2
        if is_less(middle):
            low = middle
        else:
            high = middle
    return high


def _wilson(successes: int, trials: int) -> float:
    """Return the same for so many that the normal distribution does."""
    z = NormalDist().inv_cdf(_CONFIDENCE)
    share, part = successes / trials, z * z / trials
    spread = math.sqrt(share * (1 - share) * part + part * part / 4)
    return (share + part / 2 + spread) / (1 + part)


def student_quantile(probability: float, freedom: int) -> float:
    """Return a quantile of Student's t; within 4 % from 4 degrees of freedom on.

    Source: Abramowitz and Stegun, Handbook of Mathematical Functions, 26.7.5.
    """
    z = NormalDist().inv_cdf(probability)
    return (
        z
        + (z**3 + z) / (4 * freedom)
        + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * freedom**2)
        + (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / (384 * freedom**3)
    )


def _at_most(successes: int, trials: int, probability: float) -> float:
    """Return the binomial probability of at most that many successes."""
    logarithm, other = math.log(probability), math.log1p(-probability)
    return math.fsum(
        math.exp(
            math.lgamma(trials + 1)
            - math.lgamma(number + 1)
            - math.lgamma(trials - number + 1)
            + number * logarithm
            + (trials - number) * other
        )
        for number in range(successes + 1)
    )


def _failure_run_bounds(evidence: ProbeEvidence, period: int) -> tuple[float, float]:
    """Return upper bounds of p and q: that a run begins at a tick, that it continues.

    A shorter period raises q, because a run then lasts more ticks; a longer one does
    not lower it.
    """
    failed = sum(evidence.failure_runs)
    runs = len(evidence.failure_runs)
    begun = max(evidence.begun, runs)
    begins = upper_bound(begun, max(evidence.probes - failed, 1) + begun)
    if runs >= LEAST_FAILURE_RUNS:
        goes_on = _goes_on(evidence)
    else:
        seen = (failed - runs) / failed if failed else 0.0
        goes_on = max(UNKNOWN_GOES_ON, seen)
    return begins, goes_on ** min(period / evidence.probe.period_seconds, 1.0)


def _goes_on(evidence: ProbeEvidence) -> float:
    """Return an upper bound of q from enough runs, all of them below the threshold."""
    failed, runs = sum(evidence.failure_runs), len(evidence.failure_runs)
    threshold = evidence.probe.failure_threshold
    unending = evidence.kills * (threshold - 1)
    as_if_false = upper_bound(failed - runs + unending, failed + unending)
    seen = upper_bound(failed - runs, failed)
    corrected = untruncated(1 / (1 - seen), threshold)
    return as_if_false if corrected is None else min(as_if_false, corrected)


def untruncated(mean: float, threshold: int) -> float | None:
    """Return the q of runs whose mean length is that of those below a threshold.

    None if that says nothing of q, as these are as long as they can be.
    """
    lengths = range(1, threshold)
    if not mean < threshold / 2:
        return None

    def below(q: float) -> float:
        weights = [math.pow(q, length - 1) for length in lengths]
        return math.fsum(map(mul, lengths, weights)) / math.fsum(weights)

    return _bisected(lambda q: below(q) < mean)


def _assumption(evidence: ProbeEvidence) -> str:
    runs = len(evidence.failure_runs)
    if runs >= LEAST_FAILURE_RUNS:
        return ""
    seen = f"runs of failures: only {runs}" if runs else "failures: none"
    return (
        f"{seen} recorded, which does not say how long they last; each is taken to be "
        "as likely to go on as to end"
    )


def _threshold(evidence: ProbeEvidence, probe: Probe, goal: FitGoal) -> int:
    """Return the least threshold that reaches the goal for false kills.

    It exceeds the longest recorded run of failures, converted to this period.
    """
    ticks = evidence.longest_failure_run * evidence.probe.period_seconds
    seen = math.ceil(ticks / probe.period_seconds) + 1
    begins, goes_on = _failure_run_bounds(evidence, probe.period_seconds)
    chance = probe.period_seconds / (goal.per / _SECOND)
    return max(seen, math.ceil(math.log(chance / begins, goes_on)) + 1)


def _quantile(values: Sequence[float], part: float) -> float:
    """Return the least value that a share `part` of the values does not exceed."""
    ordered = sorted(values)
    return ordered[math.ceil(part * len(ordered)) - 1] if ordered else 0.0
