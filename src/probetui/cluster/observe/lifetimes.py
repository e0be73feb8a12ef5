"""The instances of a container by the node's clock, and whose a stop was.

An event names a container, and not which of its instances. Statuses have the start and
the end of an instance; they may be late, and a kubelet skips those that have changed
again. Both have whole seconds of the node's clock, so they are compared as they came,
without the offset to ours, which is an estimate.

A stop and the start that follows it are often in the same second: it is of the instance
that ended then, if that one is known.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import NamedTuple

from msgspec import Struct

from probetui.k8s.event import Event
from probetui.k8s.runtime import ContainerID, parse_container_id
from probetui.k8s.status import ContainerStatus, Running, Terminated
from probetui.kubelet.journal import ExitCause

_KEPT = 20
_MOST_SERIES = 100
_SECOND = timedelta(seconds=1)
_OF_PODS = frozenset({ExitCause.DELETE, ExitCause.POD})
_BEFORE_A_START = frozenset({"Pulling", "Pulled", "Created", "BackOff"})


class SeenStop(NamedTuple):
    """A Killing event, by the node's clock."""

    by: ExitCause
    at: datetime


class _UnseenStops(NamedTuple):
    """Stops that a later event counts, and of which none was seen."""

    by: ExitCause
    since: datetime
    until: datetime


class Lifetime(Struct):
    """An instance; `seen_at` is when, by our clock, a status first showed it run."""

    own_id: ContainerID
    number: int
    started: datetime | None
    ended: datetime | None = None
    seen_at: datetime | None = None


class Lifetimes:
    """The newest instances of a container and its stops, the oldest first."""

    def __init__(self) -> None:
        self._instances: list[Lifetime] = []
        self._stops: deque[SeenStop] = deque(maxlen=_KEPT)
        self._unseen: deque[_UnseenStops] = deque(maxlen=_KEPT)
        self._next_starts: deque[datetime] = deque(maxlen=_KEPT)
        self._starts: deque[datetime] = deque(maxlen=_KEPT)
        self.newest_event: datetime | None = None
        """When the newest event was."""
        self._series: dict[tuple[str, str], datetime] = {}
        self._lives: deque[tuple[datetime, datetime]] = deque(maxlen=_KEPT)
        """Of each kubelet that ended: its newest event and the first of the next."""

    def show(
        self, status: ContainerStatus, offset: timedelta, received_at: datetime
    ) -> None:
        """Add what a status shows, whose times were moved by an offset."""
        for state in (status.last_state, status.state):
            if not isinstance(state, Running | Terminated):
                continue
            own_id = status.container_id
            if isinstance(state, Terminated):
                own_id = state.container_id or own_id
            instance = self.instance(parse_container_id(own_id))
            if instance is None:
                started = state.started_at
                instance = Lifetime(
                    parse_container_id(own_id),
                    number_of(status, own_id),
                    None if started is None else started - offset,
                )
                self._instances.append(instance)
                # A list may be older than what a watch has shown.
                self._instances.sort(key=lambda each: each.number)
                del self._instances[:-_KEPT]
            if isinstance(state, Running):
                instance.seen_at = instance.seen_at or received_at
            elif instance.ended is None and state.finished_at is not None:
                instance.ended = state.finished_at - offset

    def add_event(self, event: Event, began: datetime, offset: timedelta) -> None:
        """Note an event, whose time was moved by an offset.

        Args:
            event: the event.
            began: when its series did, by the node's clock.
            offset: by how much its own time was moved.
        """
        at = event.at - offset
        series = event.reason, event.message
        before = self._series.get(series)
        # A kubelet counts on; one that is started again begins anew.
        if before is not None and self.newest_event is not None and began > before:
            self._lives.append((self.newest_event, began))
        self._series[series] = max(before or began, began)
        if len(self._series) > _MOST_SERIES:
            del self._series[next(iter(self._series))]
        self.newest_event = max(self.newest_event or at, at)
        if event.reason in _BEFORE_A_START:
            self._next_starts.append(at)
        elif event.reason == "Started":
            self._starts.append(at)
            self._next_starts.append(at - _SECOND)  # it may follow in the next second

    def events_known_until(self, at: datetime) -> datetime | None:
        """Return up to when no event is missing that was sent until then.

        A kubelet sends them in order, and what it had not sent ends with it.
        """
        ended = (newest for newest, following in self._lives if newest < at < following)
        return min(ended, default=self.newest_event)

    def add_stop(self, by: ExitCause, at: datetime) -> None:
        """Add a Killing event."""
        if (stop := SeenStop(by, at)) not in self._stops:
            self._stops.append(stop)

    def add_unseen_stops(self, by: ExitCause, since: datetime, until: datetime) -> None:
        """Add that there were other stops in between."""
        self._unseen.append(_UnseenStops(by, since, until))

    @property
    def first_start(self) -> datetime | None:
        """When the container was first started, None if that is not known."""
        first = self._instances[0] if self._instances else None
        return None if first is None or first.number else first.started

    def instance(self, own_id: ContainerID) -> Lifetime | None:
        """Return an instance by its ID, None if no status had its times."""
        known = (each for each in self._instances if each.own_id == own_id)
        return next(known, None)

    def may_have_newer(self, instance: Lifetime) -> bool:
        """Return whether there may be an instance after it that no status shows yet.

        Neither its absence nor that of its events proves anything: a status may be
        late, and a kubelet that ends, or has sent too many events, drops the others.
        """
        return instance is self._instances[-1] and instance.ended is None

    def at(self, at: datetime) -> Lifetime | None:
        """Return the newest known instance that ran at a second.

        None if it is not certain which one of those that are known; `may_have_newer`
        says whether it may be one after it.
        """
        known = self._instances
        neighbours = zip([None, *known], known, [*known[1:], None], strict=False)
        for before, each, after in neighbours:
            if each.started is None or each.started > at:
                return None
            if self._is_over(each, after, at):
                continue
            may_be_next = (
                each.started == at
                and each.number
                and (before is None or before.number != each.number - 1)
            )
            may_have_ended = each.ended is None and not (
                after is None or after.number == each.number + 1
            )
            return None if may_be_next or may_have_ended else each
        return None

    def _is_over(
        self, instance: Lifetime, after: Lifetime | None, at: datetime
    ) -> bool:
        """Return whether an instance had ended before a second."""
        if instance.ended is not None:
            return instance.ended < at
        if after is not None:
            return after.started is not None and after.started < at
        began = instance.started
        ends = (*self._next_starts, *(stop.at for stop in self._stops))
        if began is None:
            return False
        # Another start in the same second as its own has no later time.
        starts = sum(began <= start <= at for start in self._starts)
        return starts > 1 or any(began < end < at for end in ends)

    def stops_of(self, own_id: ContainerID) -> Iterator[SeenStop]:
        """Yield the stops that are certainly of an instance, in order."""
        for stop in sorted(self._stops, key=lambda stop: stop.at):
            instance = self._instance_of(stop)
            if instance is not None and instance.own_id == own_id:
                yield stop

    def _instance_of(self, stop: SeenStop) -> Lifetime | None:
        """Return the instance that was stopped, None if that is not certain.

        A stop that ends the pod may be of the next instance, where that began in the
        same second: it need not be what ended the one before.
        """
        known, instance = self._instances, self.at(stop.at)
        if instance is None or stop.by not in _OF_PODS:
            return instance
        following = known[known.index(instance) + 1 :]
        return None if any(each.started == stop.at for each in following) else instance

    def stops(self, by: ExitCause, since: datetime, until: datetime) -> list[datetime]:
        """Return when there were stops for a cause in a time."""
        return [
            stop.at
            for stop in self._stops
            if stop.by is by and since <= stop.at <= until
        ]

    def doubtful_stops(self, own_id: ContainerID) -> set[ExitCause]:
        """Return the causes of stops that are perhaps of an instance."""
        instance = self.instance(own_id)
        began = None if instance is None else instance.started
        ended = None if instance is None else instance.ended
        if began is None or ended is None:
            return {stop.by for stop in self._stops} | {
                stops.by for stops in self._unseen
            }
        return {
            stop.by
            for stop in self._stops
            if began <= stop.at <= ended and self._instance_of(stop) is None
        } | {
            stops.by
            for stops in self._unseen
            if stops.since <= ended and began <= stops.until
        }


def number_of(status: ContainerStatus, own_id: str) -> int:
    """Return the number of an instance that a status shows: the newest or another.

    Until the next one is created, the newest is the last that ended.
    """
    is_before = own_id != status.container_id and status.restart_count > 0
    return status.restart_count - is_before
