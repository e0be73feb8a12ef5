"""The containers of a cluster that a store knows something of, and their samples.

Two steps: queries that the store answers from aggregates find the candidates, whose
probes failed, which were restarted or became not ready; only of these the raw samples
are read, some pods and hours at a time.

Without honorLabels the labels of the exporter win, and those of the pod are `exported_`
ones. An HA pair stores everything twice, with another label: the series with the most
samples counts, others only where it has none.

Source: kube-state-metrics docs/metrics/workload/pod-metrics.md, v2.16.
"""

from __future__ import annotations

import asyncio
import math
import re
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from datetime import UTC, datetime
from functools import partial
from itertools import pairwise
from typing import NamedTuple, TypeVar

from msgspec import Struct, field

from probetui.cluster.observe.probe_counters import ProbeCounts
from probetui.cluster.observe.sampled_container import (
    ContainerSamples,
    CountsSample,
    Sample,
)
from probetui.cluster.prometheus.client import (
    LostStoreError,
    Series,
    StoreClient,
    StoreError,
    TooMuchError,
)
from probetui.cluster.prometheus.selectors import (
    is_one_of,
    matchers,
    quoted,
    range_of,
    selector,
)
from probetui.k8s.probe import ProbeType

T = TypeVar("T")

COUNTER = "prober_probe_total"
DURATIONS = "prober_probe_duration_seconds_bucket"
_RESTARTS = "kube_pod_container_status_restarts_total"
_READY = "kube_pod_container_status_ready"
_STATES = (
    "kube_pod_(init_)?container_status_(restarts_total|ready|last_terminated_reason"
    "|last_terminated_exitcode|last_terminated_timestamp)"
    "|kube_pod_(init_)?container_state_started"
    "|kube_pod_(created|deletion_timestamp|owner)"
)
_OURS = ("namespace", "pod", "container")
_IDENTITY = frozenset(
    {*_OURS, *(f"exported_{name}" for name in _OURS), "uid", "pod_uid"}
)
_BY = ", ".join(sorted(_IDENTITY))
_OF_RESULTS = frozenset({"probe_type", "result"})
_RESULTS = {"successful": 0, "failed": 1}
_TYPES = {kind.value: kind for kind in ProbeType}

_DAY = 86_400.0
_HOURS = 6 * 3_600.0
_SHORTEST = 300.0
"""A time that is refused is asked for in halves, down to this."""

_CLOCK_SECONDS = 60.0
"""A clock that is further ahead is said to be off."""

_LONGEST_BACK_OFF = 360.0
"""An end is shown once the next instance runs: so long after it, and a status later."""

_PODS_AT_ONCE = 10
_QUERIES_AT_ONCE = 4
_LOOKBACK = 300.0
"""A change that falls between two parts of a time is in the later of them."""

SCRAPE_ADVICE = (
    "is /metrics/probes of the kubelets scraped? An endpoint of a ServiceMonitor for "
    "it: {port: https-metrics, scheme: https, path: /metrics/probes, honorLabels: "
    "true, bearerTokenFile: /var/run/secrets/kubernetes.io/serviceaccount/token, "
    "tlsConfig: {insecureSkipVerify: true}}"
)


class ContainerName(NamedTuple):
    """Which container is meant."""

    namespace: str
    pod: str
    uid: str
    container: str


class LastEnd(Struct, frozen=True):
    """How the last ended instance ended; `at` is in Unix seconds."""

    at: float | None = None
    reason: str = ""
    exit_code: int | None = None


class SeenEnd(NamedTuple):
    """The end of an instance, and the first sample that shows it."""

    seen_at: float
    end: LastEnd


class StoredContainer(Struct, frozen=True):
    """What a store has of one container.

    Attributes:
        owner: kind and name of the object that made the pod, empty if not known.
        ends: the ends that samples show, by time; not all of them.
        starts: when the instance that runs was started, by time; empty if not known.
        successes_by: of each probe type, how many successes took at most so many
            seconds, by the upper bounds of the buckets.
    """

    name: ContainerName
    owner: tuple[str, str]
    samples: ContainerSamples
    last_end: LastEnd
    successes_by: Mapping[ProbeType, Mapping[float, float]]
    ends: Sequence[SeenEnd] = ()
    starts: Sequence[Sample] = ()


class FleetQuery(Struct, frozen=True):
    """What is asked: a time in Unix seconds, labels of the store, a namespace.

    `pod` and `container` are empty for all; `pods` is a regular expression of names,
    and `described` what has these pods, in words.
    """

    begin: float
    end: float
    labels: Mapping[str, str] = field(default_factory=dict)
    namespace: str = ""
    pod: str = ""
    container: str = ""
    pods: str = ""
    described: str = ""

    @property
    def pod_matchers(self) -> dict[str, str]:
        """The matchers of a pod's labels, by their name, without the name."""
        wanted = {}
        if self.namespace:
            wanted["namespace"] = f"={quoted(self.namespace)}"
        if self.pods:
            wanted["pod"] = f"=~{quoted(self.pods)}"
        elif self.pod:
            wanted["pod"] = f"={quoted(self.pod)}"
        return wanted


class FleetStore:
    """Reads containers from a store.

    Args:
        client: the store.
        query: what is asked.

    Attributes:
        shown_url: of the store, without what may be secret.
        containers: how many containers with probes there are at the end of the time.
        on_progress: called with how many of how many parts have been read.
    """

    def __init__(self, client: StoreClient, query: FleetQuery) -> None:
        self._client = client
        self.shown_url = client.shown_url
        self._query = query
        self._turns = asyncio.Semaphore(_QUERIES_AT_ONCE)
        self._matchers: dict[str, list[str]] = {}
        self._found: set[str] = set()
        self._holes: Counter[str] = Counter()
        self._lost: StoreError | None = None
        self.containers = 0
        self.on_progress: Callable[[int, int], None] = _do_nothing

    @property
    def holes(self) -> list[str]:
        """What could not be answered; refusals of one kind are one."""
        return [
            text if count == 1 else f"{text}; {count} queries in all"
            for text, count in self._holes.items()
        ]

    async def find(self) -> list[ContainerName]:
        """Return the candidates, each once.

        Raises:
            StoreError: the store cannot be asked, or has neither metric.
        """
        probed = await self._find_metric(COUNTER)
        known = await self._find_metric(_READY)
        if not probed and not known:
            raise StoreError(
                f"{self._client.shown_url} has no series {COUNTER} and none {_READY}"
                f"{self._where()} (tried `{self._existence(COUNTER)}`): {SCRAPE_ADVICE}"
            )
        if not probed:
            self._note(f"no series {COUNTER}{self._where()}: {SCRAPE_ADVICE}")
        if not known:
            self._note(
                f"no series {_READY}{self._where()}: without kube-state-metrics "
                "restarts and readiness are not known"
            )
        self.containers = await self._count(COUNTER if probed else _READY)
        await self._note_retention(COUNTER if probed else _READY)
        found: dict[ContainerName, None] = {}
        for begin, end in _parts(self._query.begin, self._query.end, _DAY):
            for promql_of in self._candidate_queries():
                async for series in self._ask_parts(promql_of, begin, end):
                    name = container_name(series.labels)
                    if name.container and self._is_wanted(name):
                        found[name] = None
        return [*found]

    async def find_pods(self) -> list[ContainerName]:
        """Return the containers of the pods that are asked for, whatever came of them.

        Raises:
            StoreError: the store cannot be asked, or knows nothing of such pods.
        """
        query = self._query
        found: dict[ContainerName, None] = {}
        tried = ""
        for begin, end in _parts(query.begin, query.end, _DAY):
            for metric in (COUNTER, _READY):
                for prefix in ("", "exported_"):
                    wanted = self._of_pods(prefix)
                    samples = selector(metric, wanted, end - begin)
                    promql = f"group by ({_BY}) (last_over_time({samples}))"
                    tried = tried or promql
                    for series in await self._ask(promql, end):
                        name = container_name(series.labels)
                        if name.container and self._is_wanted(name):
                            found[name] = None
        if not found and self.holes:
            raise StoreError(self.holes[0])
        if not found:
            names = f"pod {query.namespace and f'{query.namespace}/'}{query.pod}"
            if query.described:
                since, until = (
                    f"{datetime.fromtimestamp(at, UTC):%Y-%m-%d %H:%M}"
                    for at in (query.begin, query.end)
                )
                raise StoreError(
                    f"{self._client.shown_url} has no {query.described} "
                    f"between {since} and {until} UTC: its kind and name, its "
                    "namespace, --since and the store's retention say where they may "
                    "be; "
                    "`probetui fleet` lists what the store has, --explain-queries what "
                    "was asked"
                )
            raise StoreError(
                f"{self._client.shown_url} has nothing of {names} at that time "
                f"(tried `{tried}`): its name, its namespace, --at or --since and the "
                "store's retention say where it may be; `probetui fleet` lists pods"
            )
        return [*found]

    async def of_pods(
        self, metric: str, by: Sequence[str], value: str
    ) -> list[Sequence[Series]]:
        """Return what a store has of a metric of the pods that are asked for, by day.

        Args:
            metric: the metric.
            by: the labels of the answers, besides those of the container.
            value: what is asked of its samples, with `%s` for them.
        """
        days: list[Sequence[Series]] = []
        labels = ", ".join([_BY, *by])
        for begin, end in _parts(self._query.begin, self._query.end, _DAY):
            day: list[Series] = []
            for prefix in ("", "exported_"):
                samples = selector(metric, self._of_pods(prefix), end - begin)
                promql = f"max by ({labels}) ({value.replace('%s', samples)})"
                day += [
                    series
                    for series in await self._ask(promql, end)
                    if self._is_wanted(container_name(series.labels))
                ]
            days.append(day)
        return days

    async def read(self, names: Sequence[ContainerName]) -> list[StoredContainer]:
        """Read the samples of containers; what cannot be read is a hole."""
        return await self.read_each(names, lambda stored: stored)

    async def read_each(
        self,
        names: Sequence[ContainerName],
        keep: Callable[[StoredContainer], T],
        learn: Callable[[Sequence[StoredContainer]], Awaitable[None]] | None = None,
    ) -> list[T]:
        """Read the samples of containers as `read`, and return what is kept of each.

        The samples of a day of one container take more than a megabyte. `learn` is
        called with those of some pods before they are kept.
        """
        pods = sorted({name[:3] for name in names})
        days = max((self._query.end - self._query.begin) / _DAY, 1)
        at_once = max(int(_PODS_AT_ONCE / days), 1)
        batches = [pods[at : at + at_once] for at in range(0, len(pods), at_once)]
        wanted = set(names)
        done = 0
        self.on_progress(0, len(batches))

        async def read(batch: Sequence[tuple[str, str, str]]) -> list[T]:
            nonlocal done
            async with self._turns:
                stored = await self._read_pods(batch)
            done += 1
            self.on_progress(done, len(batches))
            found = [each for each in stored if each.name in wanted]
            if learn is not None:
                await learn(found)
            return [keep(each) for each in found]

        async with asyncio.TaskGroup() as tasks:
            reading = [tasks.create_task(read(batch)) for batch in batches]
        return [kept for task in reading for kept in task.result()]

    # -- queries

    def _of_pods(self, prefix: str) -> list[str]:
        """Return the matchers of what is asked for, as honorLabels names it or not."""
        wanted = matchers(self._query.labels)
        of_pods = self._query.pod_matchers.items()
        return [*wanted, *(f"{prefix}{name}{match}" for name, match in of_pods)]

    def _where(self) -> str:
        """Return the labels that are asked for, for messages."""
        labels = [*matchers(self._query.labels)]
        if self._query.namespace:
            labels += matchers({"namespace": self._query.namespace})
        return f" with {', '.join(labels)}" if labels else ""

    def _existence(self, metric: str) -> str:
        wanted = matchers(self._query.labels)
        return f"group by (namespace, exported_namespace) ({selector(metric, wanted)})"

    async def _find_metric(self, metric: str) -> bool:
        """Return whether a metric is there, and learn what its labels are called."""
        query = self._query
        found = await self._client.query(self._existence(metric), query.end)
        if not found:
            # It may have ended; what a store hides of the last seconds is no reason.
            wanted = matchers(query.labels)
            seconds = min(query.end - query.begin, _DAY)
            promql = (
                "group by (namespace, exported_namespace) (last_over_time("
                f"{selector(metric, wanted, seconds)}))"
            )
            found = await self._client.query(promql, query.end)
        is_exported = any(series.labels.get("exported_namespace") for series in found)
        self._matchers[metric] = self._of_pods("exported_" if is_exported else "")
        if found:
            self._found.add(metric)
        return bool(found)

    async def _note_retention(self, metric: str) -> None:
        """Note from when on there are samples, if that is not all the time."""
        query, promql = self._query, self._existence(metric)
        absent, present = query.begin, query.end
        if await self._ask(promql, min(absent + _LOOKBACK, present)):
            return
        while present - absent > max((query.end - query.begin) / 100, _LOOKBACK):
            middle = (absent + present) / 2
            if await self._ask(promql, middle):
                present = middle
            else:
                absent = middle
        since = datetime.fromtimestamp(present, UTC)
        self._note(
            f"no samples of {metric}{self._where()} before about "
            f"{since:%Y-%m-%d %H:%M} UTC: the store's retention ends there, or nothing "
            "was scraped; of the time before nothing is known"
        )

    async def _count(self, metric: str) -> int:
        wanted = self._matchers[metric]
        promql = f"count(count by ({_BY}) ({selector(metric, wanted)}))"
        counted = await self._ask(promql, self._query.end)
        return int(counted[0].values[-1][1]) if counted and counted[0].values else 0

    def _candidate_queries(self) -> Iterator[Callable[[float], str]]:
        """Yield queries for what failed, restarted or became not ready in a time."""
        if COUNTER in self._found:
            failed = [
                *self._matchers[COUNTER],
                'result="failed"',
                'probe_type=~"Liveness|Startup"',
            ]
            yield partial(_rose, COUNTER, failed)
        if _READY in self._found:
            wanted = self._matchers[_READY]
            yield partial(_rose, _RESTARTS, wanted)
            # To become ready once is to start.
            for rule in ("changes({}) > 1", "max_over_time({}) == 0"):
                yield partial(_that, rule, wanted)

    def _is_wanted(self, name: ContainerName) -> bool:
        query = self._query
        return (
            (not query.namespace or name.namespace == query.namespace)
            and (not query.pod or name.pod == query.pod)
            and (not query.pods or bool(re.fullmatch(query.pods, name.pod)))
            and (not query.container or name.container == query.container)
        )

    async def _ask(self, promql: str, at: float) -> list[Series]:
        """Ask, and note what is refused or was no number."""
        if self._lost is not None:
            return []
        try:
            answer = await self._client.query(promql, at)
        except StoreError as error:
            self._note_error(error)
            return []
        self._note_dropped(answer)
        return answer

    async def _ask_parts(
        self, promql_of: Callable[[float], str], begin: float, end: float
    ) -> AsyncIterator[Series]:
        """Ask about a time, and about parts of it where that is too much."""
        parts = [(begin, end)]
        while parts and self._lost is None:
            begin, end = parts.pop()
            length = end - begin
            # Whether a range has its first instant differs between versions.
            overlap = _LOOKBACK if begin > self._query.begin else 0.001
            try:
                answer = await self._client.query(promql_of(length + overlap), end)
            except TooMuchError as error:
                if length <= _SHORTEST:
                    # No part will be short enough for such a limit.
                    self._note_error(error)
                    return
                middle = (begin + end) / 2
                parts += [(middle, end), (begin, middle)]
                continue
            except StoreError as error:
                self._note_error(error)
                continue
            self._note_dropped(answer)
            for series in answer:
                yield series

    def _note_dropped(self, answer: Iterable[Series]) -> None:
        for series in answer:
            if series.dropped:
                name = series.name or "a series"
                self._note(
                    f"samples of {name} are no numbers that can be, and are left out"
                )

    def _note_error(self, error: StoreError) -> None:
        if isinstance(error, LostStoreError):
            self._lost = error
        # The first query stands for all that are refused for the same reason.
        known = next((text for text in self._holes if error.reason in text), None)
        self._holes[known or str(error)] += 1

    def _note(self, text: str) -> None:
        self._holes[text] = 1

    async def _samples(self, promql_of: Callable[[float], str]) -> list[Series]:
        """Return raw samples of the whole time, joined from parts of it."""
        joined: dict[tuple[str, frozenset[tuple[str, str]]], list[tuple[float, float]]]
        joined = defaultdict(list)
        for begin, end in _parts(self._query.begin, self._query.end, _HOURS):
            async for series in self._ask_parts(promql_of, begin, end):
                values = joined[series.name, frozenset(series.labels.items())]
                last = values[-1][0] if values else -math.inf
                values += (pair for pair in series.values if pair[0] > last)
        return [
            Series(name, dict(labels), values)
            for (name, labels), values in joined.items()
            if values
        ]

    async def _read_pods(
        self, pods: Sequence[tuple[str, str, str]]
    ) -> list[StoredContainer]:
        uids = is_one_of(sorted({uid for _, _, uid in pods if uid}))
        labels = matchers(self._query.labels)
        counted = await self._samples(
            lambda seconds: selector(COUNTER, [*labels, f"pod_uid=~{uids}"], seconds)
        )
        states = await self._samples(
            lambda seconds: selector(
                "", [*labels, f'__name__=~"{_STATES}"', f"uid=~{uids}"], seconds
            )
        )
        names = is_one_of(sorted({pod for _, pod, _ in pods}))
        durations: list[tuple[Series, bool]] = []
        is_exported = any("exported_pod" in series.labels for series in counted)
        wanted = [*labels, f"{'exported_' if is_exported else ''}pod=~{names}"]
        if counted:
            seconds = self._query.end - self._query.begin
            promql = f"last_over_time({selector(DURATIONS, wanted, seconds)})"
            ended = await self._ask(promql, self._query.end)
            begun = await self._ask(selector(DURATIONS, wanted), self._query.begin)
            durations = [(series, True) for series in ended]
            durations += [(series, False) for series in begun]
        status = _States(states)
        found = [*_containers(self._query.begin, counted, status, durations)]
        for doubt in status.doubts:
            self._note(doubt)
        return found


def _that(rule: str, wanted: Sequence[str], seconds: float) -> str:
    """Return a query for the containers whose readiness has met a rule."""
    return f"group by ({_BY}) ({rule.format(selector(_READY, wanted, seconds))})"


def _rose(metric: str, wanted: Sequence[str], seconds: float) -> str:
    """Return a query for the counters that rose in a time, or appeared in it.

    `increase()` would not see the latter.
    """
    samples = selector(metric, wanted, seconds)
    before = f"{selector(metric, wanted)} offset {range_of(seconds)}"
    return (
        f"group by ({_BY}) (changes({samples}) > 0 or "
        f"(last_over_time({samples}) > 0 unless {before}))"
    )


def _parts(begin: float, end: float, length: float) -> Iterator[tuple[float, float]]:
    """Yield a time in parts of at most a length, oldest first."""
    count = max(math.ceil((end - begin) / length), 1)
    step = (end - begin) / count
    for number in range(count):
        yield begin + number * step, begin + (number + 1) * step


def _do_nothing(_done: int, _all: int) -> None:
    """Ignore progress."""


# -- series to containers


def _own(labels: Mapping[str, str], name: str) -> str:
    """Return a label of the pod's, whatever the exporter's is."""
    return labels.get(f"exported_{name}") or labels.get(name, "")


def container_name(labels: Mapping[str, str]) -> ContainerName:
    """Return which container labels are of."""
    uid = labels.get("pod_uid") or labels.get("uid", "")
    namespace, pod, container = (_own(labels, name) for name in _OURS)
    return ContainerName(namespace, pod, uid, container)


_Source = frozenset[tuple[str, str]]
"""The labels of a series that are not of its subject: who scraped what for whom."""


def _source(labels: Mapping[str, str], of_metric: frozenset[str]) -> _Source:
    ignored = _IDENTITY | of_metric
    return frozenset(item for item in labels.items() if item[0] not in ignored)


class _Scraped(NamedTuple):
    """The counters of a worker as one source has them, by time."""

    source: _Source
    at: Sequence[float]
    counts: Sequence[ProbeCounts]


class _Processes:
    """What the counters of one source say about the process that has them.

    Counters of others of the same scrapes show whether a kubelet was restarted, where
    those of one worker could have caught up.
    """

    def __init__(self, scraped: Iterable[_Scraped]) -> None:
        self._ended: set[tuple[_Source, float, float]] = set()
        self._same: set[tuple[_Source, float, float]] = set()
        times: dict[_Source, set[float]] = defaultdict(set)
        for source, at, counts in scraped:
            times[source].update(at)
            pairs = zip(pairwise(at), pairwise(counts), strict=True)
            for (begin, end), (was, now) in pairs:
                if now.successes < was.successes or now.failures < was.failures:
                    self._ended.add((source, begin, end))
                elif now.total > end - begin + 2:
                    # More than a probe each second has in that time.
                    self._same.add((source, begin, end))
        self._times = {source: sorted(of_it) for source, of_it in times.items()}

    def is_same(self, source: _Source, begin: float, end: float) -> bool | None:
        """Return whether the process of a scrape is that of the one before."""
        if (source, begin, end) in self._ended:
            return False
        return True if (source, begin, end) in self._same else None

    def last_between(self, source: _Source, begin: float, end: float) -> float | None:
        """Return the last scrape between two instants, None without one."""
        times = self._times[source]
        at = bisect_left(times, end) - 1
        return times[at] if at >= bisect_right(times, begin) else None


def _containers(
    begin: float,
    counted: Sequence[Series],
    status: _States,
    durations: Sequence[tuple[Series, bool]],
) -> Iterator[StoredContainer]:
    scraped = _scraped(counted)
    processes = _Processes(each for of_it in scraped.values() for each in of_it)
    successes = _successes(durations)
    names = {name for name, _ in scraped} | set(status.containers())
    for name in sorted(names):
        probes = {
            kind: tuple(_probe_samples(of_it, processes))
            for (own_name, kind), of_it in scraped.items()
            if own_name == name
        }
        yield StoredContainer(
            name,
            status.owner(name),
            ContainerSamples(
                begin,
                probes,
                status.values(name, "restarts_total"),
                status.values(name, "ready"),
                status.created_at(name),
                status.alive_until(name),
            ),
            status.last_end(name),
            {
                kind: by_bound
                for kind in ProbeType
                if (by_bound := successes.get((name[:2], name.container, kind)))
            },
            status.ends(name),
            status.starts(name),
        )


def _scraped(
    counted: Sequence[Series],
) -> dict[tuple[ContainerName, ProbeType], list[_Scraped]]:
    """Return the counters of each worker, by the sources that have them."""
    values: dict[tuple[ContainerName, ProbeType], dict[_Source, dict[float, list[int]]]]
    values = defaultdict(lambda: defaultdict(lambda: defaultdict(lambda: [0, 0])))
    for series in counted:
        labels = series.labels
        kind = _TYPES.get(labels.get("probe_type", ""))
        place = _RESULTS.get(labels.get("result", ""))
        if kind is None or place is None:
            continue
        name = container_name(labels)
        by_time = values[name, kind][_source(labels, _OF_RESULTS)]
        for at, value in series.values:
            by_time[at][place] = int(value)
    return {
        key: [
            _Scraped(
                source,
                [*sorted(by_time)],
                [ProbeCounts(*by_time[at]) for at in sorted(by_time)],
            )
            for source, by_time in by_source.items()
        ]
        for key, by_source in values.items()
    }


def _probe_samples(
    scraped: Sequence[_Scraped], processes: _Processes
) -> Iterator[CountsSample]:
    """Yield the samples of one worker, of the source that has the most of them.

    Two sources cannot be mixed: each has the time at which it asked, not that of the
    answer.
    """
    chosen: list[_Scraped] = []
    for each in sorted(scraped, key=lambda one: -len(one.at)):
        if all(each.at[-1] < one.at[0] or each.at[0] > one.at[-1] for one in chosen):
            chosen.append(each)
    chosen.sort(key=lambda one: one.at[0])
    before: float | None = None
    was = ProbeCounts()
    for source, times, all_counts in chosen:
        for at, counts in zip(times, all_counts, strict=True):
            absent_at = processes.last_between(
                source, -math.inf if before is None else before, at
            )
            # Where a store has dropped the labels of targets, scrapes of others are
            # between those of the worker: its counters go on then.
            is_new = counts.successes < was.successes or counts.failures < was.failures
            if before is None and absent_at is not None:
                is_new = counts.total <= at - absent_at + 2
            if absent_at is not None and is_new:
                yield CountsSample(absent_at, None)
                yield CountsSample(at, counts)
            elif before is not None:
                is_same = processes.is_same(source, before, at)
                yield CountsSample(at, counts, is_same)
            else:
                yield CountsSample(at, counts)
            before, was = at, counts


class _States:
    """The series of kube-state-metrics, by pod and container.

    Attributes:
        doubts: of instants that cannot be, each once: nodes have clocks of their own.
    """

    def __init__(self, states: Sequence[Series]) -> None:
        self.doubts: dict[str, None] = {}
        self._of_containers: dict[tuple[ContainerName, str], list[Series]]
        self._of_containers = defaultdict(list)
        self._of_pods: dict[tuple[str, str, str], list[Series]] = defaultdict(list)
        self._uids: dict[tuple[str, str], str] = {}
        for series in states:
            name = container_name(series.labels)
            self._uids[name[:2]] = name.uid
            kind, _, what = series.name.rpartition("container_")
            if name.container and kind:
                what = what.removeprefix("status_")
                self._of_containers[name, what].append(series)
            self._of_pods[name.uid, series.name, ""].append(series)

    def containers(self) -> Iterator[ContainerName]:
        """Yield the containers that have a status."""
        for name, what in self._of_containers:
            if what == "restarts_total":
                yield name

    def values(self, name: ContainerName, what: str) -> tuple[Sample, ...]:
        """Return the samples of one source: that which has the most."""
        found = self._of_containers.get((self._with_uid(name), what), ())
        most = max(found, key=lambda series: len(series.values), default=None)
        if most is None:
            return ()
        # Counts and instants are whole.
        return tuple(Sample(at, float(int(value))) for at, value in most.values)

    def created_at(self, name: ContainerName) -> float | None:
        """Return when the pod was created."""
        found = self._pod_series(name, "kube_pod_created")
        if not found:
            return None
        first, created_at = found[0].values[0][0], found[0].values[-1][1]
        return created_at if 0 <= created_at <= first + _CLOCK_SECONDS else None

    def alive_until(self, name: ContainerName) -> float:
        """Return the last sample that shows the pod, and no deletion of it."""
        shown = [sample.at for sample in self.values(name, "restarts_total")]
        deleted = self._pod_series(name, "kube_pod_deletion_timestamp")
        until = min((series.values[0][0] for series in deleted), default=math.inf)
        return max((at for at in shown if at < until), default=-math.inf)

    def owner(self, name: ContainerName) -> tuple[str, str]:
        """Return kind and name of what made the pod, both empty if not known."""
        for series in self._pod_series(name, "kube_pod_owner"):
            kind = series.labels.get("owner_kind", "")
            owner = series.labels.get("owner_name", "")
            if kind not in {"", "<none>"}:
                return kind, owner
        return "", ""

    def last_end(self, name: ContainerName) -> LastEnd:
        """Return how the last ended instance ended."""
        own = self._with_uid(name)
        times = self.values(name, "last_terminated_timestamp")
        codes = self.values(name, "last_terminated_exitcode")
        reasons = [
            (series.values[-1][0], series.labels.get("reason", ""))
            for series in self._of_containers.get((own, "last_terminated_reason"), ())
            if series.values and series.values[-1][1] == 1.0
        ]
        return LastEnd(
            times[-1].value if times else None,
            max(reasons)[1] if reasons else "",
            int(codes[-1].value) if codes else None,
        )

    def ends(self, name: ContainerName) -> tuple[SeenEnd, ...]:
        """Return the ends that samples show, each once."""
        own = self._with_uid(name)
        codes = dict(self.values(name, "last_terminated_exitcode"))
        reasons = {
            at: series.labels.get("reason", "")
            for series in self._of_containers.get((own, "last_terminated_reason"), ())
            for at, value in series.values
            if value == 1.0
        }
        found: dict[float, SeenEnd] = {}
        alive_at = [at for at, _ in self.values(name, "restarts_total")]
        for at, ended_at in self.values(name, "last_terminated_timestamp"):
            if ended_at in found:
                continue
            code = codes.get(at)
            place = bisect_left(alive_at, at)
            earliest = alive_at[place - 1] - _LONGEST_BACK_OFF if place else 0.0
            known_at = ended_at
            if not earliest <= ended_at <= at + _CLOCK_SECONDS and (found or place):
                # It is not later than the sample that shows it.
                known_at = at
                self.doubts[
                    f"{name.pod}/{name.container}: its node names an end that does not "
                    "fit the samples: that node's clock is off, or the store's"
                ] = None
            end = LastEnd(
                known_at, reasons.get(at, ""), None if code is None else int(code)
            )
            found[ended_at] = SeenEnd(at, end)
        return tuple(found.values())

    def starts(self, name: ContainerName) -> tuple[Sample, ...]:
        """Return when instances were started, as far as that can be."""
        return tuple(
            sample
            for sample in self.values(name, "state_started")
            if 0 <= sample.value <= sample.at + _CLOCK_SECONDS
        )

    def _with_uid(self, name: ContainerName) -> ContainerName:
        """Return the name with the uid that it has here: static pods have a mirror."""
        if (name, "restarts_total") in self._of_containers:
            return name
        return name._replace(uid=self._uids.get(name[:2], name.uid))

    def _pod_series(self, name: ContainerName, metric: str) -> list[Series]:
        found = self._of_pods.get((self._with_uid(name).uid, metric, ""), [])
        return [series for series in found if series.values]


_Timed = tuple[tuple[str, str], str, ProbeType]
"""Namespace and pod, container and probe: durations have no uid."""


def _successes(
    durations: Sequence[tuple[Series, bool]],
) -> dict[_Timed, dict[float, float]]:
    """Return how many successes of the time took at most so long.

    A pair is a bucket, and whether it is of the end of the time: one of its begin is
    subtracted, unless the counter went back.
    """
    ended: dict[tuple[_Timed, _Source], dict[float, float]] = defaultdict(dict)
    begun: dict[tuple[_Timed, _Source], dict[float, float]] = defaultdict(dict)
    for series, is_of_end in durations:
        labels = series.labels
        kind = _TYPES.get(labels.get("probe_type", ""))
        bound = _bound(labels.get("le", ""))
        if kind is None or bound is None or not series.values:
            continue
        name = container_name(labels)
        timed = (name[:2], name.container, kind)
        key = (timed, _source(labels, _OF_DURATIONS))
        (ended if is_of_end else begun)[key][bound] = series.values[-1][1]
    chosen: dict[_Timed, dict[float, float]] = {}
    for key, by_bound in ended.items():
        before = begun.get(key, {})
        if any(before.get(bound, 0.0) > count for bound, count in by_bound.items()):
            before = {}
        counts = {
            bound: count - before.get(bound, 0.0) for bound, count in by_bound.items()
        }
        timed, _ = key
        known = chosen.get(timed, {})
        if max(counts.values()) >= max(known.values(), default=0.0):
            chosen[timed] = counts
    return chosen


_OF_DURATIONS = frozenset({"probe_type", "le"})


def _bound(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
