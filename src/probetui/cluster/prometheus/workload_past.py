"""The past of a workload's probes, out of a store, over all its pods.

Raw samples are read of the pods whose probes failed, which were restarted or became not
ready. Of the others the store counts the successes itself, and samples are read of
their first hours, for how long they took to start.

The histogram of durations has no uid, and is counted by the store as well: the rise in
each day, so that what a restart of the kubelet has reset is counted again.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Protocol

from msgspec import Struct
from msgspec.structs import replace

from probetui.cluster.observe.probe_counters import ProbeCounts
from probetui.cluster.observe.probe_past import (
    KILLING,
    ContainerPast,
    Histogram,
    ProbePast,
    container_past,
)
from probetui.cluster.observe.sampled_container import (
    ContainerSamples,
    ContainerSettings,
)
from probetui.cluster.prometheus.client import Series, StoreClient
from probetui.cluster.prometheus.fleet import (
    COUNTER,
    DURATIONS,
    ContainerName,
    FleetQuery,
    FleetStore,
    LastEnd,
    StoredContainer,
    container_name,
)
from probetui.cluster.prometheus.workloads import WorkloadName
from probetui.k8s.probe import Probe, ProbeType


class SettingsSource(Protocol):
    """Has the settings of containers."""

    async def learn(self, stored: Sequence[StoredContainer]) -> None:
        """Read what the settings of containers are, unless that is known."""

    def settings(self, container: StoredContainer) -> ContainerSettings | None:
        """Return the settings of a container, None if they are not known."""


_HOUR = 3_600.0
_FIRST_HOURS = 2 * _HOUR
_RISE = "max_over_time(%s) - min_over_time(%s)"
_TYPES = {kind.value: kind for kind in ProbeType}


class WorkloadContainer(Struct, frozen=True):
    """A container of a workload, over all its pods.

    Attributes:
        workload: what has made the pods.
        name: of the container.
        settings: of one of the pods.
        past: of all of them.
    """

    workload: WorkloadName
    name: str
    settings: ContainerSettings
    past: ContainerPast

    @property
    def probes(self) -> list[Probe | None]:
        """The probes that may kill it."""
        return [self.settings.container.probe(kind) for kind in KILLING]


class WorkloadReading:
    """Reads the past of one workload.

    Args:
        client: the store.
        query: what is asked, without pods.
        workload: whose past it is.
        source: has the settings.

    Attributes:
        holes: what could not be answered, each once.
        unsettled: the containers whose settings are not known.
        on_progress: called with how many of how many parts have been read.
    """

    def __init__(
        self,
        client: StoreClient,
        query: FleetQuery,
        workload: WorkloadName,
        source: SettingsSource,
    ) -> None:
        self._client = client
        self._query = replace(
            query,
            namespace=workload.namespace,
            pods=workload.pods,
            described=workload.described,
        )
        self._workload = workload
        self._source = source
        self._owners: dict[str, tuple[str, str]] = {}
        self.holes: dict[str, None] = {}
        self.unsettled: set[ContainerName] = set()
        self.on_progress: Callable[[int, int], None] = lambda _done, _all: None

    async def read(self) -> list[WorkloadContainer]:
        """Return the containers whose probes may kill them.

        Raises:
            StoreError: the store cannot be asked, or knows nothing of such a pod.
        """
        store = FleetStore(self._client, self._query)
        store.on_progress = self.on_progress
        known = set(await self._own(store, await store.find_pods()))
        candidates = [name for name in await store.find() if name in known]
        quiet = known.difference(candidates)
        read = await store.read_each(candidates, self._past, self._source.learn)
        read += await self._read_quiet(store, quiet)
        durations = await self._durations(store, known)
        self.holes |= dict.fromkeys(store.holes)
        return [
            replace(each, past=_with_durations(each, durations))
            for each in self._joined(each for each in read if each is not None)
        ]

    def _joined(self, read: Iterable[WorkloadContainer]) -> Iterator[WorkloadContainer]:
        """Yield each container over all pods that have the settings of most."""
        found: dict[tuple[str, str], list[WorkloadContainer]] = defaultdict(list)
        for each in read:
            alike = found[each.workload.namespace, each.name]
            for place, before in enumerate(alike):
                if before.probes == each.probes:
                    past = before.past.plus(each.past)
                    alike[place] = replace(before, past=past)
                    break
            else:
                alike.append(each)
        for (namespace, name), alike in sorted(found.items()):
            most, *others = sorted(alike, key=lambda each: -each.past.containers)
            if count := sum(each.past.containers for each in others):
                self.holes[
                    f"{namespace}/{self._workload.name}/{name}: {count} pods had other "
                    "settings of their probes, and are left out"
                ] = None
            yield most

    async def _own(
        self, store: FleetStore, names: Sequence[ContainerName]
    ) -> list[ContainerName]:
        """Return the containers that are of the workload, by the owners of pods."""
        days = await store.of_pods(
            "kube_pod_owner", ("owner_kind", "owner_name"), "last_over_time(%s)"
        )
        for series in (series for day in days for series in day):
            labels = series.labels
            kind = labels.get("owner_kind", "")
            if kind not in {"", "<none>"}:
                owner = kind, labels.get("owner_name", "")
                self._owners[container_name(labels).uid] = owner
        return [
            name for name in names if self._workload.has(name.pod, self._owner(name))
        ]

    def _owner(self, name: ContainerName) -> tuple[str, str]:
        return self._owners.get(name.uid, ("", ""))

    def _past(
        self, stored: StoredContainer, successes: Mapping[ProbeType, int] | None = None
    ) -> WorkloadContainer | None:
        """Return what is kept of a container; its samples are not.

        Args:
            stored: the container.
            successes: of its whole time, if its samples are of its start alone.
        """
        if not stored.owner[0]:
            stored = replace(stored, owner=self._owner(stored.name))
        settings = self._source.settings(stored)
        if settings is None:
            self.unsettled.add(stored.name)
            return None
        if all(settings.container.probe(kind) is None for kind in KILLING):
            return None
        past = container_past(stored.samples, settings, stored.starts)
        if successes is not None:
            past = replace(
                past,
                probes={
                    kind: ProbePast(probe, ProbeCounts(successes[kind]))
                    for kind in KILLING
                    if (probe := settings.container.probe(kind)) and kind in successes
                },
            )
        workload = self._workload._replace(namespace=stored.name.namespace)
        return WorkloadContainer(workload, stored.name.container, settings, past)

    async def _read_quiet(
        self, store: FleetStore, names: set[ContainerName]
    ) -> list[WorkloadContainer | None]:
        """Return the pasts of containers of which nothing failed."""
        if not names:
            return []
        successes = await self._successes(store)
        created: dict[str, float] = {}
        for day in await store.of_pods("kube_pod_created", (), "max_over_time(%s)"):
            for series in day:
                created[container_name(series.labels).uid] = series.values[-1][1]
        windows: dict[float, list[ContainerName]] = defaultdict(list)
        for name in names:
            # One that is older than the time has no start in it.
            if created.get(name.uid, 0.0) >= self._query.begin:
                windows[created[name.uid] // _HOUR * _HOUR].append(name)
        begun: dict[ContainerName, StoredContainer] = {}
        for hour, of_it in sorted(windows.items()):
            begin = max(hour, self._query.begin)
            end = min(hour + _FIRST_HOURS, self._query.end)
            part = FleetStore(self._client, replace(self._query, begin=begin, end=end))
            begun |= {each.name: each for each in await part.read(sorted(of_it))}
            self.holes |= dict.fromkeys(part.holes)
        samples = ContainerSamples(self._query.begin, {})
        stored = [
            begun.get(name)
            or StoredContainer(name, self._owner(name), samples, LastEnd(), {})
            for name in sorted(names)
        ]
        await self._source.learn(stored)
        return [self._past(each, successes.get(each.name, {})) for each in stored]

    async def _successes(
        self, store: FleetStore
    ) -> dict[ContainerName, dict[ProbeType, int]]:
        """Return how many successes there were at least."""
        counted: dict[ContainerName, dict[ProbeType, int]] = defaultdict(dict)
        for day in await store.of_pods(COUNTER, ("probe_type", "result"), _RISE):
            for series in day:
                kind = _TYPES.get(series.labels.get("probe_type", ""))
                if kind is None or series.labels.get("result") != "successful":
                    continue
                of_it = counted[container_name(series.labels)]
                of_it[kind] = of_it.get(kind, 0) + int(series.values[-1][1])
        return counted

    async def _durations(
        self, store: FleetStore, names: set[ContainerName]
    ) -> dict[tuple[str, str, ProbeType], Histogram]:
        """Return how long successes took, by namespace, container and probe."""
        pods = {name[:2] for name in names}
        counted: dict[tuple[str, str, ProbeType], dict[float, float]]
        counted = defaultdict(lambda: defaultdict(float))
        for day in await store.of_pods(DURATIONS, ("probe_type", "le"), _RISE):
            for series in day:
                name = container_name(series.labels)
                kind = _TYPES.get(series.labels.get("probe_type", ""))
                bound = _bound(series)
                if name[:2] in pods and kind is not None and bound is not None:
                    key = name.namespace, name.container, kind
                    counted[key][bound] += series.values[-1][1]
        return {
            key: dict(
                zip(bounds, accumulate((by[at] for at in bounds), max), strict=True)
            )
            for key, by in counted.items()
            if max(by.values()) > 0 and (bounds := sorted(by))
        }


def _bound(series: Series) -> float | None:
    try:
        return float(series.labels.get("le", ""))
    except ValueError:
        return None


def _with_durations(
    container: WorkloadContainer,
    durations: Mapping[tuple[str, str, ProbeType], Histogram],
) -> ContainerPast:
    past = container.past
    place = container.workload.namespace, container.name
    return replace(
        past,
        probes={
            kind: replace(probe, successes_by=durations.get((*place, kind), {}))
            for kind, probe in past.probes.items()
        },
    )
