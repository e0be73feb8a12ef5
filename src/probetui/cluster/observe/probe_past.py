"""What samples say for the choice of a probe's settings, and of what others had done.

Each number has bounds. The runs of failures that healed by themselves and the kills are
those of `ResultRun`. A start took from when its instance was started until its first
success, which is between two samples.

Under other settings each run of failures is counted again, by itself: what a restart
that was not, or another one, would have changed afterwards no sample says. A run is
known as long as it was probed. One that ended in a kill may have healed a moment later,
so that a higher threshold might have spared it, or not; one that healed had at most one
period more on either side.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from msgspec import Struct, field
from msgspec.structs import replace

from probetui.analysis.probe_fit import (
    LEAST_FAILURE_RUNS,
    ProbeEvidence,
    untruncated,
)
from probetui.cluster.observe.probe_counters import ProbeCounts
from probetui.cluster.observe.result_run import Bounds, sum_by_length
from probetui.cluster.observe.sampled_container import (
    ANSWER_SECONDS,
    ContainerSamples,
    ContainerSettings,
    CountsSample,
    RestartCounter,
    Sample,
    bound_container,
    with_processes,
)
from probetui.k8s.probe import Probe, ProbeType

_FEW = 0.01

KILLING = (ProbeType.STARTUP, ProbeType.LIVENESS)

Histogram = Mapping[float, float]
"""How many successes took at most so many seconds, by the bounds of its buckets."""


class SeenStart(NamedTuple):
    """How many seconds a start took until the first success, at least and at most."""

    least: float
    most: float


class ProbePast(Struct, frozen=True):
    """What is known of one probe, of one container or of several together.

    Attributes:
        probe: its settings then.
        counts: its results.
        kills: how often it had its container killed.
        healed: the runs of at least one failure, of at least two and so on that ended
            with a success.
        successes_by: how long successes took; empty if that is not known.
    """

    probe: Probe
    counts: ProbeCounts = ProbeCounts()
    kills: Bounds = Bounds()
    healed: tuple[Bounds, ...] = ()
    successes_by: Histogram = field(default_factory=dict)

    def plus(self, other: ProbePast) -> ProbePast:
        """Return both together."""
        bounds = {*self.successes_by, *other.successes_by}
        successes = self.counts.successes + other.counts.successes
        failures = self.counts.failures + other.counts.failures
        return ProbePast(
            self.probe,
            ProbeCounts(successes, failures),
            self.kills.plus(*other.kills),
            sum_by_length(self.healed, other.healed),
            {
                bound: self.successes_by.get(bound, 0.0)
                + other.successes_by.get(bound, 0.0)
                for bound in sorted(bounds)
            },
        )

    @property
    def runs(self) -> Bounds:
        """How many runs of failures healed by themselves."""
        return self.healed[0] if self.healed else Bounds()

    @property
    def longest_healed(self) -> int:
        """The most failures in a row that may have healed."""
        lengths = (n for n, bounds in enumerate(self.healed, 1) if bounds.most)
        return max(lengths, default=0)


class ContainerPast(Struct, frozen=True):
    """What is known of a container, of one pod or of all pods of a workload.

    Attributes:
        containers: how many there are.
        probes: those that kill, and have results.
        starts: those that ended with a success.
        unfinished: the starts that a probe ended before.
        doubts: why bounds may be apart, with the number of containers.
    """

    containers: int = 0
    probes: Mapping[ProbeType, ProbePast] = field(default_factory=dict)
    starts: tuple[SeenStart, ...] = ()
    unfinished: Bounds = Bounds()
    doubts: Mapping[str, int] = field(default_factory=dict)

    def plus(self, other: ContainerPast) -> ContainerPast:
        """Return both together."""
        probes = {**self.probes}
        for kind, past in other.probes.items():
            probes[kind] = probes[kind].plus(past) if kind in probes else past
        doubts = {**self.doubts}
        for doubt, count in other.doubts.items():
            doubts[doubt] = doubts.get(doubt, 0) + count
        return ContainerPast(
            self.containers + other.containers,
            probes,
            self.starts + other.starts,
            self.unfinished.plus(*other.unfinished),
            doubts,
        )


def container_past(
    samples: ContainerSamples,
    settings: ContainerSettings,
    started: Sequence[Sample] = (),
    restarts: RestartCounter | None = None,
) -> ContainerPast:
    """Return what samples of a container say.

    Args:
        samples: of the container.
        settings: as they were all the time.
        started: when the instance that runs was started, by time.
        restarts: its restart counter, if more is known of it than samples.
    """
    bounds = bound_container(samples, settings, restarts)
    samples = replace(samples, probes=with_processes(samples.probes, settings))
    probes: dict[ProbeType, ProbePast] = {}
    doubts = set(bounds.doubts)
    for kind in KILLING:
        probe, own = settings.container.probe(kind), bounds.probes.get(kind)
        if probe is None or own is None or own.tally is None:
            continue
        tally = own.tally
        # Of all probes there were no more than instances ended.
        most = max(min(tally.kills.most, bounds.probe_kills.most), tally.kills.least)
        kills = Bounds(tally.kills.least, most)
        probes[kind] = ProbePast(probe, own.counts, kills, tally.healed)
    first = next(
        (kind for kind in KILLING if settings.container.probe(kind) is not None), None
    )
    starts: list[SeenStart] = []
    ended = 0
    if first is not None:
        for start in _starts(samples, started, first):
            if start is None:
                ended += 1
            else:
                starts.append(start)
    kills = probes[first].kills if first in probes else Bounds()
    if first is ProbeType.LIVENESS:
        # Of its kills, those of instances that had succeeded are no starts.
        kills = Bounds(min(kills.least, ended), min(kills.most, ended))
    return ContainerPast(
        1, probes, tuple(starts), kills, dict.fromkeys(sorted(doubts), 1)
    )


# -- starts


def _starts(
    samples: ContainerSamples, started: Sequence[Sample], first: ProbeType
) -> Iterator[SeenStart | None]:
    """Yield how long each start took, None for one that ended before a success.

    Args:
        samples: of the container.
        started: when its instances were started.
        first: the probe that succeeds first.
    """
    seen: dict[float, float] = {}
    for at, value in started:
        seen.setdefault(value, at)
    created_at = samples.created_at
    if created_at is not None and created_at >= samples.since:
        counts = [sample.value for sample in samples.restarts[:1]]
        if not seen or (counts and counts[0] > 0 and min(seen) > created_at):
            # Not before, at least: what it waited for an image counts, too.
            seen[created_at] = created_at
    times = sorted(begun for begun in seen if begun >= samples.since)
    for begun, until in zip(times, [*times[1:], math.inf], strict=False):
        start = _start(samples, begun, seen[begun], until, first)
        if start is not None or until < math.inf:
            yield start


def _start(
    samples: ContainerSamples,
    begun: float,
    seen_at: float,
    until: float,
    first: ProbeType,
) -> SeenStart | None:
    """Return how long the start of an instance took, None if no success is seen."""
    least, most = 0.0, math.inf
    later = bisect_left(samples.restarts, seen_at, key=lambda sample: sample.at)
    is_pods_first = begun == samples.created_at or any(
        not sample.value for sample in samples.restarts[later : later + 1]
    )
    for kind, scrapes in samples.probes.items():
        if kind is not first and first is not ProbeType.STARTUP:
            continue
        # Other probes have results at all only once the startup probe has succeeded.
        silent, shown = _first_rise(
            scrapes,
            (begun, until),
            (lambda counts: counts.successes)
            if kind is first
            else (lambda counts: counts.total),
            is_pods_first=is_pods_first,
        )
        if kind is first and silent is not None:
            least = max(silent - begun - 1, 0.0)
        if shown is not None:
            most = min(most, shown + ANSWER_SECONDS - begun)
    if first is ProbeType.STARTUP:
        ready = (
            at for at, value in samples.ready if seen_at <= at < until and value == 1.0
        )
        most = min(most, next(ready, math.inf) - begun)
    # The instant of the start is known in whole seconds.
    most = max(most, 1.0)
    return SeenStart(min(least, most), most) if most < math.inf else None


def _first_rise(
    scrapes: Sequence[CountsSample],
    lived: tuple[float, float],
    value: Callable[[ProbeCounts], int],
    *,
    is_pods_first: bool,
) -> tuple[float | None, float | None]:
    """Return the last scrape without a success of an instance, and the first with one.

    What was counted in the interval in which it was started may be of the one before,
    if there was one.
    """
    begun, until = lived
    place = bisect_left(scrapes, begun + 1, key=lambda scrape: scrape.at)
    before = scrapes[place - 1].counts if place else None
    was = 0 if before is None else value(before)
    silent: float | None = None
    is_own, is_silent = is_pods_first, True
    for scrape in scrapes[place:]:
        if scrape.at >= until:
            break
        now = 0 if scrape.counts is None else value(scrape.counts)
        if now and now != was:
            if is_own:
                return silent, scrape.at
            is_silent = False
        # Counters of another process may have come to the same.
        is_silent = is_silent and bool(scrape.is_same_process)
        silent = scrape.at if is_silent else silent
        is_own, was = True, now
    return silent, None


# -- other settings


class PastUnder(Struct, frozen=True):
    """The kills of a past, and those that there would have been under other settings.

    Attributes:
        before: the kills that were.
        kept: those of them that would have been, too.
        new: runs that healed, and would have been killed; `most` is None where no
            number is known.
        likely_spared: of the kills, those that would have healed before, by the runs
            that did; None if too few did.
        later: by how many seconds a kill of what stays dead would have come later, at
            least and at most.
        reasons: why bounds are apart.
    """

    before: Bounds
    kept: Bounds
    new: tuple[int, int | None]
    likely_spared: int | None
    later: tuple[int, int]
    reasons: tuple[str, ...]

    @property
    def after(self) -> tuple[int, int | None]:
        """How many kills there would have been."""
        least, most = self.new
        return (
            self.kept.least + least,
            None if most is None else self.kept.most + most,
        )

    @property
    def spared(self) -> Bounds:
        """How many of the kills would not have been."""
        return Bounds(
            max(self.before.least - self.kept.most, 0),
            max(self.before.most - self.kept.least, 0),
        )


_AT_THE_KILL = "what a container would have answered after a kill is not known"
_TIMED_OUT = "which failures timed out is not known"
_NO_DURATIONS = "how long successes took is not known"
_UNPROBED = "what was between two ticks is not known"
_BEFORE_FIRST = "what was before the first tick is not known"


def past_under(past: ProbePast, probe: Probe) -> PastUnder:
    """Return what other settings of a probe would have made of its past."""
    was = past.probe
    reasons: list[str] = []
    kept_least = past.kills.least
    if not _is_reached(was, probe, was.failure_threshold, is_certain=True):
        kept_least = 0
        if past.kills.most:
            reasons.append(_AT_THE_KILL)
    least, most = _healed_kills(past, probe)
    if probe.timeout_seconds > was.timeout_seconds and past.counts.failures:
        reasons.append(_TIMED_OUT)
        kept_least = least = 0
    if probe.initial_delay_seconds > was.initial_delay_seconds and past.kills.most:
        reasons.append(_BEFORE_FIRST)
        kept_least = 0
    unlimited: int | None = most
    if probe.timeout_seconds < was.timeout_seconds:
        if not past.successes_by:
            unlimited = None
            reasons.append(_NO_DURATIONS)
        elif slow := _slower(past.successes_by, probe.timeout_seconds):
            failures = slow + sum(bounds.most for bounds in past.healed)
            unlimited = most + failures // probe.failure_threshold
    if math.ceil(was.period_seconds / probe.period_seconds) > probe.failure_threshold:
        unlimited = None
        reasons.append(_UNPROBED)
    earlier = was.initial_delay_seconds - probe.initial_delay_seconds
    if earlier > 0 and earlier // probe.period_seconds + 1 >= probe.failure_threshold:
        unlimited = None
        reasons.append(_BEFORE_FIRST)
    slack = 0 if was.period_seconds == probe.period_seconds else probe.period_seconds
    later = _ticking(probe) - _ticking(was)
    return PastUnder(
        past.kills,
        Bounds(kept_least, past.kills.most),
        (least, unlimited),
        _likely_spared(past, probe),
        (later - slack, later + slack),
        tuple(reasons),
    )


def _ticking(probe: Probe) -> int:
    """Return the seconds from the first failed tick of a run to its last."""
    return (probe.failure_threshold - 1) * probe.period_seconds


def _is_reached(was: Probe, probe: Probe, length: int, *, is_certain: bool) -> bool:
    """Return whether a run of so many failures is, or may be, a kill of `probe`."""
    if was.period_seconds == probe.period_seconds:
        return length >= probe.failure_threshold
    if is_certain:
        ticks = (length - 1) * was.period_seconds // probe.period_seconds
    else:
        ticks = math.ceil((length + 1) * was.period_seconds / probe.period_seconds)
    return ticks >= probe.failure_threshold


def _healed_kills(past: ProbePast, probe: Probe) -> tuple[int, int]:
    """Return how many runs that healed would have been kills, at least and at most."""
    least = most = 0
    for length, bounds in enumerate(past.healed, 1):
        if not least and _is_reached(past.probe, probe, length, is_certain=True):
            least = bounds.least
        if not most and _is_reached(past.probe, probe, length, is_certain=False):
            most = bounds.most
    return least, most


def _slower(successes_by: Histogram, seconds: float) -> int:
    """Return how many successes may have taken longer."""
    total = max(successes_by.values())
    faster = (count for bound, count in successes_by.items() if bound <= seconds)
    return math.ceil(total - max(faster, default=0.0))


def _likely_spared(past: ProbePast, probe: Probe) -> int | None:
    """Return how many kills a higher threshold would likely have spared.

    Runs of failures go on from tick to tick as those that healed did.
    """
    was = past.probe
    ticks = probe.failure_threshold - was.failure_threshold
    if (
        ticks <= 0
        or was.period_seconds != probe.period_seconds
        or past.runs.least < LEAST_FAILURE_RUNS
    ):
        return None
    counts = [(bounds.least + bounds.most) / 2 for bounds in past.healed]
    goes_on = untruncated(sum(counts) / counts[0], was.failure_threshold)
    if goes_on is None:
        return None
    reached = goes_on ** (was.failure_threshold - 1)
    false_kills = counts[0] * reached / (1 - reached)
    return min(round(false_kills * (1 - goes_on**ticks)), past.kills.most)


# -- fits


def evidence_of(past: ProbePast) -> ProbeEvidence:
    """Return what a probe is fitted to: of all orders of results, the worst of each.

    The runs that healed are as many as they may be for how often they begin, and as
    long for how long they last.
    """
    most = [bounds.most for bounds in past.healed]
    longer = most[1] if len(most) > 1 else 0
    runs = [max(past.runs.least, longer), *most[1:]] if most else []
    lengths = [
        length
        for length, (count, more) in enumerate(pairwise([*runs, 0]), 1)
        for _ in range(max(count - more, 0))
    ]
    cut_off = 0
    if past.successes_by:
        # Where successes come near the time-out, failures may be those that did not.
        near = _slower(past.successes_by, past.probe.timeout_seconds / 2)
        is_near = near > _FEW * max(past.successes_by.values())
        cut_off = sum(lengths) if is_near else 0
    return ProbeEvidence(
        past.probe,
        past.counts.successes + sum(lengths),
        cut_off=cut_off,
        failure_runs=tuple(lengths),
        kills=past.kills.most,
        begun=past.runs.most,
        successes_by={**past.successes_by},
        has_latencies=bool(past.successes_by),
    )
