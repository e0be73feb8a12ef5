"""What the samples that a store keeps of one container show, as bounds.

Samples are polls that somebody else made, seldom and not all of them kept: between two
of them are results in unknown order. `ResultRun` follows every state that a worker can
be in, as for `watch`. A worker on hold has no result until its container has been
restarted, so the restart counter of kube-state-metrics says which orders are possible.

A bound holds for the time that was observed: from a worker's first sample, or from its
start if that is known, to its last.

Source: prober.go, worker.go, v1.36.2, ProberResults; status_manager.go, v1.36.2,
syncPeriod.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from probetui.cluster.observe.probe_counters import ProbeCounts
from probetui.cluster.observe.result_run import Bounds, ResultRun, RunTally
from probetui.k8s.pod import Container, Pod
from probetui.k8s.probe import ProbeKey, ProbeType
from probetui.kubelet.outcome import Result
from probetui.kubelet.prober.worker import Worker
from probetui.kubelet_rules import PORTED_RULES, KubeletRules

FROM_THE_MIDDLE = "what came before the first sample is not known"
KUBELET_RESTARTED = "the kubelet was restarted: results before that are missing"
MAY_HAVE_RESTARTED = "the kubelet may have been restarted between two samples"
NO_SETTINGS = "its settings are not known: name the manifest with -f"
SETTINGS_OF_TODAY = (
    "its settings are those of its template today: they may have been others"
)
OTHER_SETTINGS = "there are more results than the period of the manifest allows"
NO_COUNTERS = "no series prober_probe_total is of its probes"
NO_RESTARTS = "its restarts are not known: there is no sample of kube-state-metrics"
RESTARTS_WENT_BACK = "its restart counter went back"
ORDER = "the order of results between two samples is not known"

_STATUS_SECONDS = 10.0
"""How late a status may be: one that could not be written is tried again then."""

ANSWER_SECONDS = 2.0
"""How long after its time a sample may have been read."""

_LONGEST_BACKOFF_SECONDS = 300.0
_LEAST_PERIOD = 1.0
UNLIMITED = 1 << 62
_KILLING = (ProbeType.LIVENESS, ProbeType.STARTUP)


class Sample(NamedTuple):
    """A value at an instant in Unix seconds."""

    at: float
    value: float


class CountsSample(NamedTuple):
    """A worker's counters at an instant in Unix seconds; None if it has no series.

    `is_same_process` is whether the kubelet has run on since the sample before; None
    if that is not known.
    """

    at: float
    counts: ProbeCounts | None
    is_same_process: bool | None = None


class ContainerSamples(Struct, frozen=True):
    """The samples of one container, each sequence by time.

    Attributes:
        since: from when on there are samples, in Unix seconds.
        probes: the counters of its workers.
        restarts: of its restart counter.
        ready: 1 while it is ready, else 0.
        created_at: when its pod was created, None if not known.
        alive_until: the last sample that shows its pod, not being deleted.
    """

    since: float
    probes: Mapping[ProbeType, Sequence[CountsSample]]
    restarts: Sequence[Sample] = ()
    ready: Sequence[Sample] = ()
    created_at: float | None = None
    alive_until: float = -math.inf


class TimeNotReady(NamedTuple):
    """For how many seconds a container was not ready.

    `sampled` takes each sample to hold until the next one.
    """

    least: float
    sampled: float
    most: float


class ContainerSettings(Struct, frozen=True):
    """A container as its manifest has it, and the rules of its kubelet.

    `is_of_today`: they are of a template that may have changed since.
    """

    pod: Pod
    container: Container
    rules: KubeletRules = PORTED_RULES
    is_of_today: bool = False


class ProbeBounds(Struct, frozen=True):
    """What the samples of one worker show.

    Attributes:
        tally: kills and near misses; None if its settings are not known.
        counts: the results that were counted.
        observed: from when to when, in Unix seconds.
        doubts: why bounds may be apart.
    """

    tally: RunTally | None
    counts: ProbeCounts
    observed: tuple[float, float]
    doubts: tuple[str, ...] = ()


class ContainerBounds(Struct, frozen=True):
    """What the samples of one container show.

    Attributes:
        probe_kills: how often a liveness or startup probe had it killed.
        near_misses: runs of failures that ended one short of a kill; None if the
            settings are not known.
        restarts: how often it was restarted, for whatever reason.
        not_ready: how long it was not ready; None without samples.
        probes: what the samples of each worker show.
        doubts: why the bounds may be apart.
    """

    probe_kills: Bounds
    near_misses: Bounds | None
    restarts: Bounds | None
    not_ready: TimeNotReady | None
    probes: Mapping[ProbeType, ProbeBounds]
    doubts: tuple[str, ...]

    @property
    def is_exact(self) -> bool:
        """Whether kills, near misses and restarts are known exactly."""
        if SETTINGS_OF_TODAY in self.doubts:
            return False
        known = (self.probe_kills, self.near_misses, self.restarts)
        return all(bounds is not None and bounds.is_exact for bounds in known)


def bound_container(
    samples: ContainerSamples,
    settings: ContainerSettings | None,
    restarts: RestartCounter | None = None,
) -> ContainerBounds:
    """Return what samples of a container show.

    Args:
        samples: of the container.
        settings: as they were all the time; None if they are not known.
        restarts: its restart counter, if more is known of it than samples.
    """
    restarts = restarts or RestartCounter(samples)
    samples = replace(samples, probes=with_processes(samples.probes, settings))
    probes = {
        kind: _ProbeReading(samples, kind, settings, restarts).bounds()
        for kind, scrapes in samples.probes.items()
        if any(scrape.counts is not None for scrape in scrapes)
    }
    killing = [probes[kind] for kind in _KILLING if kind in probes]
    doubts = [*restarts.doubts, *(doubt for probe in killing for doubt in probe.doubts)]
    if settings is not None and settings.is_of_today and _may_kill(settings):
        doubts.append(SETTINGS_OF_TODAY)
    kills, near_misses = Bounds(), Bounds()
    for probe in killing:
        if probe.tally is None:
            kills = kills.plus(0, probe.counts.failures)
        else:
            kills = kills.plus(*probe.tally.kills)
            near_misses = near_misses.plus(*probe.tally.near_misses)
    is_known = all(probe.tally is not None for probe in killing)
    observed = [probe.observed for probe in killing]
    if not killing and (settings is None or _may_kill(settings)):
        ended = restarts.bounds or Bounds()
        kills = Bounds(0, ended.most)
        # Who has counters of readiness alone has no probe that kills.
        is_known = bool(probes) and settings is None and not ended.most
        if not is_known:
            doubts.append(NO_COUNTERS)
    if observed:
        begin = min(begin for begin, _ in observed)
        end = max(end for _, end in observed)
        late = sum(_failures_since(samples, kind, restarts.last_at) for kind in probes)
        # An instance is killed once, also the one that runs now.
        most = restarts.most_between(begin, end, late) + 1
        kills = Bounds(kills.least, max(kills.least, int(min(kills.most, most))))
    return ContainerBounds(
        kills,
        near_misses if is_known else None,
        restarts.bounds,
        _not_ready(samples, restarts, settings),
        probes,
        tuple(dict.fromkeys(doubts)),
    )


def failures_over(
    samples: ContainerSamples, begin: float, end: float, parts: int
) -> tuple[int, ...] | None:
    """Return the failures of all probes in equal parts of a time.

    They are of the part in which the sample that shows them was taken. None if there
    are no counters.
    """
    counts = [counts for probe in samples.probes.values() for _, counts, _ in probe]
    if not any(counts):
        return None
    failures = [0] * parts
    for at, news in new_failures(samples):
        if begin <= at <= end:
            part = int((at - begin) / (end - begin) * parts)
            failures[min(part, parts - 1)] += news
    return tuple(failures)


def new_failures(samples: ContainerSamples) -> Iterator[tuple[float, int]]:
    """Yield the failures of samples that show any, with their times, by probe."""
    created_at = samples.created_at
    is_new = created_at is not None and created_at >= samples.since
    for scrapes in samples.probes.values():
        before: ProbeCounts | None = ProbeCounts() if is_new else None
        for at, counts, is_same in scrapes:
            if counts is None:
                # A worker without series begins anew.
                before = ProbeCounts()
                continue
            if before is not None and counts.failures:
                is_restarted = is_same is False or (
                    counts.failures < before.failures
                    or counts.successes < before.successes
                )
                news = counts.failures - before.failures * (not is_restarted)
                if news:
                    yield at, news
            before = counts


def _failures_since(samples: ContainerSamples, kind: ProbeType, at: float) -> float:
    """Return how many failures that kill were counted since a status of a time."""
    if kind not in _KILLING:
        return 0
    seen = [scrape for scrape in samples.probes[kind] if scrape.counts is not None]
    times = [scrape.at for scrape in seen]
    first = max(bisect_right(times, at - _STATUS_SECONDS) - 1, 0)
    failures = 0
    for before, after in pairwise(seen[first:]):
        was = 0 if before.counts is None else before.counts.failures
        now = 0 if after.counts is None else after.counts.failures
        failures += now - was if now >= was else now
    if at == -math.inf or any(
        scrape.is_same_process is False for scrape in seen[first + 1 :]
    ):
        return math.inf
    return failures


def with_processes(
    probes: Mapping[ProbeType, Sequence[CountsSample]],
    settings: ContainerSettings | None,
) -> dict[ProbeType, tuple[CountsSample, ...]]:
    """Return the samples with what those of the same scrapes say of the kubelet.

    A counter that went back is of another process, and one that is higher than a new
    process could have made it is of the same.
    """
    is_same: dict[tuple[float, float], bool] = {}
    for kind, scrapes in probes.items():
        worker = None if settings is None else _worker(settings, kind)
        period = _LEAST_PERIOD if worker is None else worker.probe.period_seconds
        for before, after in pairwise(scrapes):
            answer = _is_same_process(before, after, period)
            if answer is not None:
                times = before.at, after.at
                is_same[times] = answer and is_same.get(times, True)
    return {
        kind: tuple(
            after._replace(
                is_same_process=is_same.get(
                    (before.at, after.at), after.is_same_process
                )
            )
            for before, after in pairwise((CountsSample(-math.inf, None), *scrapes))
        )
        for kind, scrapes in probes.items()
    }


def _is_same_process(
    before: CountsSample, after: CountsSample, period: float
) -> bool | None:
    """Return whether two samples are of one process; None if that is not known."""
    was, now = before.counts, after.counts
    if was is None or now is None or after.is_same_process is False:
        return after.is_same_process
    if now.successes < was.successes or now.failures < was.failures:
        return False
    if now.total > (after.at - before.at) // period + 2:
        return True
    return after.is_same_process


class RestartCounter:
    """The restart counter of a container, between its samples."""

    def __init__(self, samples: ContainerSamples) -> None:
        values = [sample.value for sample in samples.restarts]
        self.doubts: tuple[str, ...] = ()
        self.went_back = any(after < before for before, after in pairwise(values))
        if not values:
            self.doubts = (NO_RESTARTS,)
        elif self.went_back:
            self.doubts = (RESTARTS_WENT_BACK,)
        self._times = [sample.at for sample in samples.restarts]
        self._values = values
        created_at = samples.created_at
        self._is_new = created_at is not None and created_at >= samples.since

    @property
    def bounds(self) -> Bounds | None:
        """The restarts from the first sample, or the pod's start, to the last."""
        if not self._values:
            return None
        if self.went_back:
            least = sum(
                max(after - before, 0) for before, after in pairwise(self._values)
            )
            return Bounds(int(least), int(least + max(self._values)))
        first = 0.0 if self._is_new else self._values[0]
        count = int(self._values[-1] - first)
        return Bounds(count, count)

    def between(self, begin: float, end: float) -> Bounds | None:
        """Return the bounds of the counter in a time; None if they are not known.

        The most is `UNLIMITED` if there is no later sample.
        """
        if not self._values or self.went_back:
            return None
        before = bisect_right(self._times, begin - ANSWER_SECONDS) - 1
        after = bisect_left(self._times, end + _STATUS_SECONDS)
        least = self._values[before] if before >= 0 else 0.0
        if after == len(self._values):
            return Bounds(int(least), UNLIMITED)
        return Bounds(int(least), int(self._values[after]))

    def most_between(self, begin: float, end: float, late: float = math.inf) -> float:
        """Return the most restarts in a time, infinite if that is not known.

        Args:
            begin: the time.
            end: its end.
            late: the most restarts after the last sample.
        """
        bounds = self.between(begin, end)
        if bounds is None:
            return math.inf
        if bounds.most == UNLIMITED:
            return self._values[-1] + late - bounds.least
        return bounds.most - bounds.least

    @property
    def last_at(self) -> float:
        """When the last sample was taken, infinitely long ago without one."""
        return self._times[-1] if self._times else -math.inf

    def is_steady(self, begin: float, end: float) -> bool:
        """Return whether the samples at both ends of an interval are the same."""
        if self.went_back:
            return False
        before = bisect_right(self._times, begin) - 1
        after = bisect_left(self._times, end)
        return (
            before >= 0
            and after < len(self._times)
            and self._values[before] == self._values[after]
        )


class _ProbeReading:
    """Reads the samples of one worker."""

    def __init__(
        self,
        samples: ContainerSamples,
        kind: ProbeType,
        settings: ContainerSettings | None,
        restarts: RestartCounter,
    ) -> None:
        self._samples = samples
        self._scrapes = samples.probes[kind]
        self._restarts = restarts
        self._worker = None if settings is None else _worker(settings, kind)
        self._run = None
        if self._worker is not None:
            self._run = ResultRun(self._worker, tells_lengths=False)
        self._grace = _grace_seconds(settings, kind)
        self._doubts: list[str] = []
        self._counts = ProbeCounts()
        self._begin: float | None = None
        self._end = 0.0
        self._last_tick_at = -math.inf

    def bounds(self) -> ProbeBounds:
        """Return what they show."""
        if self._run is None:
            self._doubts.append(NO_SETTINGS)
        before: CountsSample | None = None
        absent_at = self._absent_at()
        for scrape in self._scrapes:
            counts = scrape.counts
            if counts is None:
                if before is not None:
                    self._lose(before.at, scrape.at, 0)
                before, absent_at = None, scrape.at
                continue
            if before is not None and before.counts is not None:
                self._compare(before.at, before.counts, scrape, counts)
            elif absent_at is not None:
                self._start(absent_at, scrape, counts)
            else:
                self._set_baseline(scrape, counts)
            before, absent_at = scrape, None
            self._end = scrape.at
        begin = self._end if self._begin is None else self._begin
        return ProbeBounds(
            self._tally(), self._counts, (begin, self._end), tuple(self._doubts)
        )

    def _absent_at(self) -> float | None:
        """Return when the worker was not there yet, None if that is not known."""
        created_at = self._samples.created_at
        if created_at is not None and created_at >= self._samples.since:
            return created_at
        return None

    def _tally(self) -> RunTally | None:
        run = self._run
        if run is None:
            return None
        tally = run.tally
        if run.may_have_killed and self._samples.alive_until < self._last_tick_at:
            # Nothing is killed by a probe in a pod that is being deleted.
            least = max(tally.kills.least - 1, 0)
            tally = tally._replace(kills=Bounds(least, tally.kills.most))
        return tally

    # -- samples

    def _set_baseline(self, scrape: CountsSample, counts: ProbeCounts) -> None:
        """Begin with a worker that is not new: results of one kind have one order."""
        self._begin = scrape.at
        if self._run is None or not counts.failures:
            return
        self._run.forget(FROM_THE_MIDDLE)
        self._doubt(FROM_THE_MIDDLE)

    def _start(
        self, absent_at: float, scrape: CountsSample, counts: ProbeCounts
    ) -> None:
        """Count the results of a worker that was not there at a time before."""
        if self._begin is None:
            self._begin = absent_at
        self._count_new(absent_at, scrape, counts, ProbeCounts())

    def _compare(
        self,
        earlier_at: float,
        was: ProbeCounts,
        scrape: CountsSample,
        now: ProbeCounts,
    ) -> None:
        """Count the results between two samples."""
        is_same = scrape.is_same_process
        if now.successes < was.successes or now.failures < was.failures:
            is_same = False
        if is_same is None and now.total > self._most_ticks(scrape.at - earlier_at):
            is_same = True
        news = ProbeCounts(now.successes - was.successes, now.failures - was.failures)
        if is_same is not None:
            if is_same:
                self._count(earlier_at, scrape.at, news)
            else:
                self._count_new(earlier_at, scrape, now, was, is_restarted=True)
            return
        restarted = None if self._run is None else self._run.copied()
        self._count(earlier_at, scrape.at, news)
        if self._run is None or restarted is None:
            return
        goes_on, self._run = self._run, restarted
        counted = self._counts
        self._count_new(earlier_at, scrape, now, was)
        self._counts = counted
        if goes_on.tally != self._run.tally:
            self._doubt(MAY_HAVE_RESTARTED)
        goes_on.join(self._run)
        self._run = goes_on

    def _count_new(
        self,
        earlier_at: float,
        scrape: CountsSample,
        counts: ProbeCounts,
        was: ProbeCounts,
        *,
        is_restarted: bool = False,
    ) -> None:
        """Count the first results of a new worker; those before it may be missing."""
        if was.total or scrape.is_same_process is not True:
            self._lose(earlier_at, scrape.at, counts.total)
            if is_restarted:
                self._doubt(KUBELET_RESTARTED)
        if self._run is not None:
            self._run.begin()
        self._count(earlier_at, scrape.at, counts)

    def _lose(self, begin: float, end: float, counted: int) -> None:
        """Count that of the results of a time only so many were seen."""
        run = self._run
        if run is None:
            return
        missing = max(int(self._most_ticks(end - begin)) + 1 - counted, 0)
        latest = end + self._grace + _LONGEST_BACKOFF_SECONDS
        restarts = self._restarts
        # All but the last of them were followed by a restart within that time.
        most = min(
            restarts.most_between(begin, latest), restarts.most_between(begin, end) + 1
        )
        run.forget(KUBELET_RESTARTED, ProbeCounts(failures=missing), most)

    def _count(self, earlier_at: float, at: float, news: ProbeCounts) -> None:
        if not news.total:
            return
        self._last_tick_at = at
        self._counts = ProbeCounts(
            self._counts.successes + news.successes,
            self._counts.failures + news.failures,
        )
        run = self._run
        if run is None:
            return
        if news.total > self._most_ticks(at - earlier_at):
            self._doubt(OTHER_SETTINGS)
            self._run = None
            return
        run.restarts = self._restarts.between(earlier_at, at)
        if news.successes and news.failures:
            run.count_in_any_order(news)
            self._doubt(ORDER)
        elif news.failures:
            run.count(Result.FAILURE, news.failures)
        else:
            run.count(Result.SUCCESS, news.successes)

    def _most_ticks(self, seconds: float) -> float:
        """Return the most results that can come in a time."""
        if self._worker is None:
            return math.inf
        return seconds // self._worker.probe.period_seconds + 2

    def _doubt(self, reason: str) -> None:
        if reason not in self._doubts:
            self._doubts.append(reason)


def _worker(settings: ContainerSettings, kind: ProbeType) -> Worker | None:
    probe = settings.container.probe(kind)
    if probe is None:
        return None
    key = ProbeKey(settings.pod.uid, settings.container.name, kind)
    return Worker(key, settings.pod, settings.container, probe, rules=settings.rules)


def _may_kill(settings: ContainerSettings) -> bool:
    return any(settings.container.probe(kind) is not None for kind in _KILLING)


def _grace_seconds(settings: ContainerSettings | None, kind: ProbeType) -> float:
    probe = None if settings is None else settings.container.probe(kind)
    if settings is None or probe is None:
        return math.inf
    own = probe.termination_grace_period_seconds
    seconds = settings.pod.termination_grace_period_seconds if own is None else own
    return 0.0 if seconds is None else seconds


def _not_ready(
    samples: ContainerSamples,
    restarts: RestartCounter,
    settings: ContainerSettings | None,
) -> TimeNotReady | None:
    """Return how many seconds the container was not ready.

    Between two samples that agree it was as they say if no result and no restart can
    have changed it meanwhile.
    """
    if not samples.ready:
        return None
    least = most = sampled = 0.0
    for before, after, is_steady in readiness_steps(samples, restarts, settings):
        length = after.at - before.at
        is_ready = before.value == 1.0
        sampled += 0.0 if is_ready else length
        if not is_steady:
            most += length
        elif not is_ready:
            least += length
            most += length
    return TimeNotReady(least, sampled, most)


def readiness_steps(
    samples: ContainerSamples,
    restarts: RestartCounter,
    settings: ContainerSettings | None,
) -> Iterator[tuple[Sample, Sample, bool]]:
    """Yield each two samples of readiness, and whether it was the same in between."""
    readiness = samples.probes.get(ProbeType.READINESS, ())
    scrapes = readiness
    if not readiness and (
        settings is None or settings.container.probe(ProbeType.STARTUP) is not None
    ):
        # A kubelet that is restarted waits for a startup probe once more.
        scrapes = next(iter(samples.probes.values()), ())
    times = [scrape.at for scrape in scrapes]
    for before, after in pairwise(samples.ready):
        is_ready = before.value == 1.0
        is_steady = before.value == after.value
        if is_steady and scrapes:
            first = bisect_right(times, before.at - _STATUS_SECONDS) - 1
            last = bisect_left(times, after.at + ANSWER_SECONDS)
            is_steady = (
                first >= 0
                and last < len(scrapes)
                and _is_silent(
                    scrapes[first : last + 1],
                    is_ready=is_ready,
                    is_readiness=bool(readiness),
                )
            )
        if is_steady and (is_ready or not readiness):
            is_steady = restarts.is_steady(before.at, after.at)
        yield before, after, is_steady


def changes_since(
    samples: ContainerSamples,
    settings: ContainerSettings,
    before: Sample,
    after: Sample,
    begin: float,
) -> float | None:
    """Return since when readiness may have changed between two samples.

    Infinite if too few results came for a change; None if that is not known. `begin` is
    before the start of the instance.
    """
    probe = settings.container.readiness_probe
    scrapes = samples.probes.get(ProbeType.READINESS, ())
    if probe is None:
        return None
    is_ready = before.value == 1.0
    needed = probe.failure_threshold if is_ready else probe.success_threshold
    times = [scrape.at for scrape in scrapes]
    run = needed * (probe.period_seconds + probe.timeout_seconds)
    first = bisect_right(times, max(before.at - _STATUS_SECONDS - run, begin)) - 1
    last = bisect_left(times, after.at + ANSWER_SECONDS)
    if first < 0 or last >= len(scrapes):
        return None
    count, since = 0, math.inf
    for earlier, later in pairwise(scrapes[first : last + 1]):
        was, now = earlier.counts, later.counts
        if was is None or now is None or not later.is_same_process:
            return None
        count += (
            now.failures - was.failures if is_ready else now.successes - was.successes
        )
        if count >= needed and since == math.inf:
            since = earlier.at
    return since


def _is_silent(
    scrapes: Sequence[CountsSample], *, is_ready: bool, is_readiness: bool
) -> bool:
    """Return whether nothing is counted that could have changed the readiness."""
    for before, after in pairwise(scrapes):
        was, now = before.counts, after.counts
        if was is None or now is None or not after.is_same_process:
            return False
        changed = (
            now.failures != was.failures if is_ready else now.successes != was.successes
        )
        if changed and is_readiness:
            return False
    return True
