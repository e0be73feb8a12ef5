"""The last hours of the pods that are watched, out of a store, before the rest."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Sequence
from datetime import timedelta
from typing import TYPE_CHECKING

from msgspec import Struct

from probetui.cli.printing import Notes
from probetui.cli.store_options import (
    note_store,
    past_length,
    store_access,
    store_labels,
    told_queries,
)
from probetui.cluster.bounded_responses import ObjectList
from probetui.cluster.client import PODS, ApiClient
from probetui.cluster.errors import ClusterError
from probetui.cluster.observe.feed import ReceivedPods, list_selected
from probetui.cluster.observe.inputs import PastEnded
from probetui.cluster.observe.observation import ClusterObservation
from probetui.cluster.prometheus.client import StoreAccess, StoreClient
from probetui.cluster.prometheus.fleet import (
    ContainerName,
    FleetQuery,
    FleetStore,
    StoredContainer,
)
from probetui.cluster.prometheus.past import (
    StoredPod,
    TimedInput,
    feed,
    known_ids,
    past_inputs,
)
from probetui.cluster.selection import PodSelection
from probetui.durations import format_age
from probetui.errors import UsageError
from probetui.k8s.api.codec import ApiFormatError
from probetui.k8s.api.pod import POD
from probetui.k8s.api.status import POD_STATUS
from probetui.k8s.pod import Pod
from probetui.k8s.status import PodStatus
from probetui.kubelet_rules import DEFAULT_VERSION
from probetui.ports import Clock

if TYPE_CHECKING:
    from probetui.cli.commands.clusters import WatchCommandOptions

_HOUR, _LONGEST = timedelta(hours=1), timedelta(days=1)
_MOST_PODS = 100
_MOST_INPUTS = 30_000
"""Some seconds of work: an hour of forty pods of three probes scraped each 30 s."""

_INPUTS_AT_ONCE = 500
"""The event loop goes on after so many."""


class AskedPast(Struct, frozen=True):
    """Which past is asked for; `problem`: why there is no store to ask."""

    length: timedelta
    access: StoreAccess | None = None
    problem: str = ""


class _Found(Struct, frozen=True):
    """A pod as the API server has it."""

    pod: Pod
    status: PodStatus

    @property
    def restarts(self) -> int:
        """How often its containers were restarted."""
        statuses = self.status.container_statuses or ()
        return sum(status.restart_count for status in statuses)


def asked_past(options: WatchCommandOptions, notes: Notes) -> AskedPast | None:
    """Return the past that is asked for, None for none.

    A store that cannot be found is no reason not to watch. It runs an event loop of its
    own.

    Raises:
        UsageError: an option cannot be used.
    """
    if not options.prometheus:
        if options.since is not None:
            raise UsageError("--since: --prometheus names the store that has the past")
        return None
    length = _HOUR if options.since is None else past_length(options.since)
    if length > _LONGEST:
        raise UsageError("--since: a session begins with a day at most")
    try:
        return AskedPast(length, store_access(options, notes))
    except ClusterError as error:
        return AskedPast(length, problem=str(error))


class WatchedPast:
    """The past of the pods that are selected now.

    Args:
        asked: which.
        options: the labels of the store, and whether queries are explained.
        clock: the wall clock.
        notes: told what the store says.

    Attributes:
        begin: when it begins; the present, if nothing is known of it.
        listed: the pods that were asked for, as they were then; None for none.
    """

    def __init__(
        self,
        asked: AskedPast,
        options: WatchCommandOptions,
        clock: Clock,
        notes: Notes,
    ) -> None:
        self._asked, self._options = asked, options
        self._clock, self._notes = clock, notes
        self._end = self.begin = clock.now()
        self._inputs: list[TimedInput] = []
        self._remarks: list[tuple[str, bool]] = []
        self.listed: ReceivedPods | None = None

    async def read(self, client: ApiClient, selection: PodSelection) -> None:
        """Read it; what cannot be read is noted in the session.

        Raises:
            ClusterError: the API server does not list the pods.
        """
        if self._asked.access is None:
            return self._remark(f"the past is not shown: {self._asked.problem}")
        objects = await list_selected(client, selection, PODS)
        self.listed = ReceivedPods(objects, self._clock.now())
        found = await _selected(objects, selection)
        if not found:
            return None
        chosen = sorted(found, key=lambda each: -each.restarts)[:_MOST_PODS]
        store = StoreClient(self._asked.access)
        try:
            stored, holes = await self._read_store(store, chosen)
        except ClusterError as error:
            return self._remark(f"the past is not shown: {error}")
        pods, self._inputs = _inputs(chosen, stored)
        length = format_age(self._asked.length)
        if not self._inputs and holes:
            return self._remark(f"the past is not shown: {holes[0]}")
        for hole in holes:
            self._remark(hole)
        if not self._inputs:
            return self._remark(
                f"{store.shown_url} has no samples of these pods in the last {length}: "
                "`probetui fleet` says which it has"
            )
        self.begin = max(self._end - self._asked.length, self._inputs[0].at)
        whose = f"{pods} pod{'s' * (pods != 1)}"
        if pods < len(found):
            whose = f"{pods} of {len(found)} pods, those with the most restarts,"
        self._remark(
            f"until now, {whose} by the samples of {store.shown_url}: what happened "
            "between two of them is bounded",
            is_fault=False,
        )
        return None

    async def _read_store(
        self, client: StoreClient, found: Sequence[_Found]
    ) -> tuple[list[StoredContainer], list[str]]:
        options = self._options
        begin = self._end - self._asked.length
        query = FleetQuery(
            begin.timestamp(), self._end.timestamp(), store_labels(options)
        )
        names = [
            ContainerName(each.pod.namespace, each.pod.name, each.pod.uid, own.name)
            for each in found
            for own in each.pod.all_containers()
        ]
        with told_queries(self._clock, explains=options.explain_queries) as tell:
            client.on_query = tell.tell
            async with client:
                store = FleetStore(client, query)
                stored = await store.read(names)
        note_store(client, self._clock, self._notes)
        return stored, store.holes

    async def feed(self, observation: ClusterObservation) -> None:
        """Feed it to an observation that has begun at its begin."""
        for text, is_fault in self._remarks:
            observation.note(text, self.begin, is_fault=is_fault)
        if not self._inputs:
            return
        fed = feed(observation, self._inputs, self.begin, self._end)
        for number, _ in enumerate(fed):
            if number % _INPUTS_AT_ONCE == 0:
                await asyncio.sleep(0)
        observation.submit(PastEnded(), self._end)

    def _remark(self, text: str, *, is_fault: bool = True) -> None:
        self._remarks.append((text, is_fault))


async def _selected(listed: ObjectList, selection: PodSelection) -> list[_Found]:
    found = []
    async for json in listed.objects(keeps=True):
        try:
            each = _Found(POD.read(json), POD_STATUS.read(json.get("status") or {}))
        except ApiFormatError:
            continue  # the feed says so
        if selection.matches(each.pod):
            found.append(each)
    return found


def _inputs(
    found: Sequence[_Found], stored: Sequence[StoredContainer]
) -> tuple[int, list[TimedInput]]:
    """Return of how many pods what an observation would have been fed, in order."""
    of_pods: dict[str, dict[str, StoredContainer]] = defaultdict(dict)
    for kept in stored:
        if kept.samples.probes or kept.samples.restarts:
            of_pods[kept.name.uid][kept.name.container] = kept
    inputs: list[TimedInput] = []
    pods = 0
    for each in found:
        if not (containers := of_pods.get(each.pod.uid)):
            continue
        ids = known_ids(each.pod.uid, each.status)
        fed = past_inputs(StoredPod(each.pod, DEFAULT_VERSION, containers, ids=ids))
        if pods and len(inputs) + len(fed) > _MOST_INPUTS:
            break
        pods, inputs = pods + 1, inputs + fed
    return pods, sorted(inputs, key=lambda timed: timed.at)
