"""Event aggregation: which events a cluster combines into one, and which it drops.

The rules are the kubelet's (`kubelet/events/event_correlator.py`). This module
remembers which occurrence became part of which event of the cluster.
"""

from __future__ import annotations

from itertools import takewhile

from msgspec import Struct, field

from probetui.k8s.event import Event
from probetui.kubelet.events.event_correlator import ClusterEvent, EventCorrelator
from probetui.kubelet.journal import EventEntry


class AggregationKey(Struct, frozen=True):
    """The identity of a cluster's event; a combined one has no path and message."""

    pod_uid: str
    type: str
    reason: str
    field_path: str
    message: str


class AggregatedEvent(Struct, frozen=True):
    """How a cluster aggregates one event.

    `shown` is the cluster's event, None if it never wrote one. `instances` counts the
    instances of the container in it. `is_dropped` says that this occurrence exceeded
    the pod's rate limit: it is counted, but not written.
    """

    shown: ClusterEvent | None
    instances: int
    is_dropped: bool


_MOST_PENDING = 1_000
"""The most events that are aggregated at once; more would delay the screen."""


class _Group(Struct):
    """The occurrences behind one event of a cluster."""

    shown: ClusterEvent | None = None
    instances: set[int] = field(default_factory=set)
    occurrences: int = 0
    """How many of its events have not been evicted."""


class ClusterEvents:
    """Aggregates events; its owner adds each one once, in order.

    Events are correlated when a result is read: often none is, and a long record adds
    all of its events at once.
    """

    def __init__(self) -> None:
        self._pending: list[tuple[EventEntry, int]] = []
        self._correlator = EventCorrelator()
        self._groups: dict[AggregationKey, _Group] = {}
        self._keys: dict[int, AggregationKey] = {}
        self._dropped: set[int] = set()
        self._count_dropped = 0

    @property
    def dropped(self) -> int:
        """The number of events that a cluster would not have written."""
        self._catch_up()
        return self._count_dropped

    def add_event(self, entry: EventEntry, restart_count: int) -> None:
        """Add one event, with the restart count of its container."""
        self._pending.append((entry, restart_count))
        if len(self._pending) > _MOST_PENDING:
            self._catch_up()

    def evict(self, before: int) -> None:
        """Forget the events numbered below `before`, but not the cluster's counts."""
        old = list(takewhile(lambda sequence: sequence < before, self._keys))
        for sequence in old:
            key = self._keys.pop(sequence)
            group = self._groups[key]
            group.occurrences -= 1
            if not group.occurrences:
                del self._groups[key]
        self._dropped.difference_update(old)

    def of(self, sequence: int) -> AggregatedEvent | None:
        """Return the aggregate of the event with that number, or None."""
        self._catch_up()
        key = self._keys.get(sequence)
        if key is None:
            return None
        group = self._groups[key]
        return AggregatedEvent(
            group.shown, len(group.instances), sequence in self._dropped
        )

    def events(self, pod_uid: str | None = None) -> tuple[ClusterEvent, ...]:
        """Return a cluster's events of one pod or of all, newest last."""
        self._catch_up()
        return tuple(
            event
            for event in self._correlator.recorded()
            if pod_uid is None or event.pod_uid == pod_uid
        )

    def _catch_up(self) -> None:
        pending, self._pending = self._pending, []
        for entry, restart_count in pending:
            self._aggregate(entry, restart_count)

    def _aggregate(self, entry: EventEntry, restart_count: int) -> None:
        shown = self._correlator.correlate(entry.event)
        if shown is None:
            self._dropped.add(entry.sequence)
            self._count_dropped += 1
            key = _key(entry.event)
        else:
            key = _key_of_shown(shown)
        self._keys[entry.sequence] = key
        group = self._groups.setdefault(key, _Group())
        group.instances.add(restart_count)
        group.occurrences += 1
        if shown is not None:
            group.shown = shown


def _key(event: Event) -> AggregationKey:
    return AggregationKey(
        event.pod_uid, event.type, event.reason, event.field_path, event.message
    )


def _key_of_shown(shown: ClusterEvent) -> AggregationKey:
    path, message = shown.field_path, shown.message
    if shown.is_combined:
        path = message = ""
    return AggregationKey(shown.pod_uid, shown.type, shown.reason, path, message)
