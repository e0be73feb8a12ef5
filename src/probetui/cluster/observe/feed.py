"""Feed: supplies an observation by two watches, and polls each node twice a period.

A broken watch is restarted from the newest version seen, or, if that has expired, from
a new list. The delay is the server's Retry-After, or our own.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from collections.abc import Set as AbstractSet
from datetime import datetime, timedelta
from random import Random
from typing import NamedTuple

from probetui.cluster.bounded_responses import ObjectList, TooLargeError
from probetui.cluster.client import (
    EVENTS,
    PODS,
    WATCH_PERIOD,
    ApiClient,
    Object,
    Resource,
    WatchEvent,
    WatchEventType,
)
from probetui.cluster.errors import ApiError, ClusterError, ExpiredError, ForbiddenError
from probetui.cluster.observe.kubelet_counters import (
    CounterSource,
    CountersUnavailableError,
    read_node,
)
from probetui.cluster.observe.observation import ClusterObservation, read_event
from probetui.cluster.selection import PodSelection
from probetui.kubelet_rules import rules_for_kubelet
from probetui.ports import Clock

_SECOND = timedelta(seconds=1)
_LONGEST_WAIT = 30.0
_POLLS_PER_PERIOD = 2.2
"""A little more than two, so that a late answer does not make it less."""

_LEAST_SECONDS, _MOST_SECONDS = 0.45, 15.0
_NEXT_TRY = timedelta(minutes=1)
"""Between tries at counters that are refused, and how long a restart may last."""

_CATCHING_UP = timedelta(seconds=2)
"""What a watch missed comes when it begins, and tells nothing of a clock."""

_NODE_CHECK = timedelta(seconds=1)
_FAILURES_IN_A_ROW = 5
_POD_EVENTS = "involvedObject.kind=Pod"


class ReceivedPods(NamedTuple):
    """A list of the selected pods, and when it was received."""

    objects: ObjectList
    at: datetime


async def list_selected(
    client: ApiClient, selection: PodSelection, resource: Resource
) -> ObjectList:
    """List the selected pods or their events; raises `ClusterError`."""
    return await client.list(
        resource,
        selection.namespace,
        label_selector=_labels(selection, resource),
        field_selector=_fields(selection, resource),
    )


def _labels(selection: PodSelection, resource: Resource) -> str:
    return selection.label_selector if resource is PODS else ""


def _fields(selection: PodSelection, resource: Resource) -> str:
    name = selection.only_name
    if resource is PODS:
        return f"metadata.name={name}" if name else ""
    return f"{_POD_EVENTS},involvedObject.name={name}" if name else _POD_EVENTS


class Feed:
    """Fetches the inputs of an observation.

    Args:
        client: the cluster.
        observation: receives the inputs.
        selection: selects the pods.
        clock: the wall clock.
        counters: fetches counters, None to do without them.
        random: spreads requests over time.
    """

    def __init__(
        self,
        client: ApiClient,
        observation: ClusterObservation,
        selection: PodSelection,
        clock: Clock,
        counters: CounterSource | None,
        random: Random,
    ) -> None:
        self._client = client
        self._observation = observation
        self._selection = selection
        self._clock = clock
        self._counters = counters
        self._random = random
        self._version = ""
        self._changed: Callable[[], None] = lambda: None
        self._left_out: set[str] = set()

    async def begin(self, listed: ReceivedPods | None = None) -> None:
        """Submit the first list of the pods; raises `ClusterError`.

        Args:
            listed: the list, None to fetch it. What came since then is watched.
        """
        self._client.on_left_out = self._note_left_out
        objects, at = listed or (await self._list(PODS), None)
        names = await self._submit_list(objects, at)
        self._version = objects.resource_version
        for text in self._absences(names):
            self._observation.note(text, self._clock.now())

    async def run(self, changed: Callable[[], None]) -> None:
        """Watch until cancelled, and call back after each change."""
        self._changed = changed
        self._client.on_wait = self._lose_server
        version = await self._submit_first_events()
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(
                self._watch(PODS, self._version, self._submit_list, self._submit_pod)
            )
            tasks.create_task(self._watch_events(version))
            tasks.create_task(self._poll_nodes(tasks))

    def _absences(self, there: AbstractSet[str]) -> Iterator[str]:
        """Return notes about selected names that do not exist yet."""
        selection = self._selection
        for name in sorted(selection.names - there):
            where = f"namespace {selection.namespace}"
            yield f"pod {name} does not exist in {where} yet; it is waited for"
        is_empty = not self._observation.snapshot(self._clock.now()).pods
        if is_empty and not selection.names:
            yield "no pod matches yet; one that comes is shown"

    # -- watches

    async def _list(self, resource: Resource) -> ObjectList:
        return await list_selected(self._client, self._selection, resource)

    async def _submit_first_events(self) -> str:
        """Submit the events so far and return their version, empty if there are none.

        So a kill is known before the exit that follows it, which may have come since
        the pods were listed.
        """
        try:
            listed = await self._list(EVENTS)
        except ClusterError:
            return ""  # The watch of events retries, and reports the error.
        await self._submit_events(listed)
        self._find_server()
        return listed.resource_version

    async def _watch_events(self, version: str) -> None:
        try:
            await self._watch(EVENTS, version, self._submit_events, self._submit_event)
        except ForbiddenError as error:
            text = f"events are not shown: {error}"
            self._observation.note(text, self._clock.now(), is_fault=True)
            self._changed()

    async def _watch(
        self,
        resource: Resource,
        version: str,
        take_list: Callable[[ObjectList], Awaitable[object]],
        take: Callable[[WatchEvent, datetime], None],
    ) -> None:
        """Watch until cancelled; raise if a right is missing.

        `take` is called with each event, and when its watch began.
        """
        failures = 0
        while True:
            began_at = accepted_at = self._clock.now()

            def accept() -> None:
                nonlocal accepted_at
                accepted_at = self._clock.now()

            try:
                if not version:
                    listed = await self._list(resource)
                    await take_list(listed)
                    version = listed.resource_version
                    self._find_server()
                async for event in self._client.watch(
                    resource,
                    self._selection.namespace,
                    resource_version=version,
                    label_selector=_labels(self._selection, resource),
                    field_selector=_fields(self._selection, resource),
                    on_begin=accept,
                ):
                    failures = 0
                    newest = _metadata_text(event.object, "resourceVersion") or version
                    if _is_older(newest, version):
                        continue  # a proxy has sent it again
                    version = newest
                    if event.type is not WatchEventType.BOOKMARK:
                        take(event, accepted_at)
                    self._find_server()
            except ExpiredError:
                version = ""
            except ForbiddenError:
                raise
            except ClusterError as error:
                failures += 1
                self._lose_server(error)
                await self._wait(self._delay(failures, error))
            # A server that ends every watch at once must not cause a busy loop.
            await self._clock.sleep_until(began_at + WATCH_PERIOD)

    def _delay(self, failures: int, error: ClusterError) -> float:
        if isinstance(error, ApiError) and error.retry_after is not None:
            return error.retry_after
        longest = min(2.0 ** (failures - 1), _LONGEST_WAIT)
        return longest * self._random.uniform(0.5, 1)

    async def _wait(self, seconds: float) -> None:
        await self._clock.sleep_until(self._clock.now() + timedelta(seconds=seconds))

    def _lose_server(self, error: ClusterError) -> None:
        self._observation.lose_server(str(error), self._clock.now())
        self._changed()

    def _find_server(self) -> None:
        self._observation.find_server(self._clock.now())
        self._changed()

    def _note_left_out(self, error: TooLargeError) -> None:
        if str(error) not in self._left_out:
            self._left_out.add(str(error))
            text = f"left out: {error}"
            self._observation.note(text, self._clock.now(), is_fault=True)
            self._changed()

    async def _submit_list(
        self, listed: ObjectList, at: datetime | None = None
    ) -> set[str]:
        """Submit a list, of now if `at` is None; return the names in it.

        Pods missing from it are gone.
        """
        uids, names = set(), set()
        async for json in listed.objects():
            names.add(_metadata_text(json, "name"))
            now = at or self._clock.now()
            uids.add(self._observation.set_pod(json, now, is_news=False))
        self._observation.keep_pods(uids, at or self._clock.now())
        return names

    def _submit_pod(self, event: WatchEvent, watched_since: datetime) -> None:
        now = self._clock.now()
        if event.type is WatchEventType.DELETED:
            metadata = event.object.get("metadata")
            uid = metadata.get("uid") if isinstance(metadata, dict) else None
            self._observation.remove_pod(str(uid), now)
        else:
            is_news = now - watched_since > _CATCHING_UP
            self._observation.set_pod(event.object, now, is_news=is_news)

    async def _submit_events(self, listed: ObjectList) -> None:
        seen = [
            seen_event
            async for json in listed.objects()
            if (seen_event := read_event(json)) is not None
        ]
        for item in sorted(seen, key=lambda seen_event: seen_event.event.at):
            self._observation.submit(item, self._clock.now())

    def _submit_event(self, event: WatchEvent, _watched_since: datetime) -> None:
        if event.type is not WatchEventType.DELETED:  # they end after an hour
            self._observation.record_event(event.object, self._clock.now())

    # -- counters

    async def _poll_nodes(self, tasks: asyncio.TaskGroup) -> None:
        """Start one task for each node with probes."""
        followers: dict[str, asyncio.Task[None]] = {}
        while True:
            wanted = self._observation.nodes()
            for name in wanted:
                if name not in followers or followers[name].done():
                    followers[name] = tasks.create_task(self._follow_node(name))
            await self._clock.sleep_until(self._clock.now() + _NODE_CHECK)

    async def _follow_node(self, name: str) -> None:
        await self._read_rules(name)
        if self._counters is None:
            return await self._lose(name, "they were not asked for (--no-counters)")
        failures, read_at = 0, None
        while (period := self._observation.nodes().get(name)) is not None:
            asked_at = self._clock.now()
            step = min(max(period / _POLLS_PER_PERIOD, _LEAST_SECONDS), _MOST_SECONDS)
            try:
                text = await self._counters.fetch(name)
            except ClusterError as error:
                # A restarting kubelet refuses requests until it can have them
                # authorized.
                is_refusal = isinstance(
                    error, CountersUnavailableError | ForbiddenError
                )
                if is_refusal and (read_at is None or asked_at - read_at >= _NEXT_TRY):
                    await self._lose(name, str(error))
                    continue
                failures += 1
                self._observation.record_failed_poll(name, self._clock.now())
                if failures >= _FAILURES_IN_A_ROW:
                    self._observation.lose_counters(name, str(error), self._clock.now())
                    self._changed()
                # A restarting kubelet is polled again as soon as it may answer.
                await self._clock.sleep_until(asked_at + step * _SECOND)
                continue
            failures = 0
            read_at = now = self._clock.now()
            self._observation.record_counters(name, text, asked_at, now)
            self._changed()
            await self._clock.sleep_until(asked_at + step * _SECOND)
        return None

    async def _read_rules(self, name: str) -> None:
        try:
            info = await read_node(self._client, name)
        except ClusterError as error:
            text = f"node {name}: its kubelet's version is not known: {error}"
            self._observation.note(text, self._clock.now())
        else:
            rules = rules_for_kubelet(info.version)
            self._observation.set_rules(name, rules, self._clock.now())

    async def _lose(self, name: str, reason: str) -> None:
        self._observation.lose_counters(name, reason, self._clock.now())
        self._changed()
        await self._clock.sleep_until(self._clock.now() + _NEXT_TRY)


def _is_older(version: str, than: str) -> bool:
    """Compare two versions of one resource, which are numbers of etcd.

    Source: k8s.io/apimachinery pkg/util/resourceversion, v0.36.2.
    """
    if not (version.isdecimal() and than.isdecimal()):
        return False
    return (len(version), version) < (len(than), than)


def _metadata_text(json: Object, key: str) -> str:
    metadata = json.get("metadata")
    text = metadata.get(key) if isinstance(metadata, dict) else None
    return text if isinstance(text, str) else ""
