"""The event correlator: counts, aggregates and rate-limits events.

Source: client-go tools/record/events_cache.go, v0.32.10, EventCorrelator.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from msgspec import Struct
from msgspec.structs import replace

from probetui.k8s.event import Event, EventType
from probetui.kubelet.runtime.lru_cache import LRUCache

CACHE_LIMIT = 4096
SIMILAR_LIMIT = 10
SIMILAR_INTERVAL = timedelta(minutes=10)
SPAM_BURST = 25
SPAM_REFILL = timedelta(minutes=5)
COMBINED = "(combined from similar events): "


class ClusterEvent(Struct, frozen=True):
    """An event as a cluster shows it, with a count.

    `is_combined` marks an aggregate of events with different messages; its message and
    path are those of the last.
    """

    type: EventType
    reason: str
    message: str
    pod_uid: str
    field_path: str
    first_seen_at: datetime
    last_seen_at: datetime
    count: int = 1
    is_combined: bool = False


class _EqualKey(Struct, frozen=True):
    """The key of equal events; all come from one kubelet."""

    pod_uid: str
    field_path: str
    type: EventType
    reason: str
    message: str


class _SimilarKey(Struct, frozen=True):
    """The key of similar events, which may differ in container and message."""

    pod_uid: str
    type: EventType
    reason: str


_Key = _EqualKey | _SimilarKey


class _Similar(Struct, frozen=True):
    """The messages of similar events, oldest first, and when the last one came."""

    messages: dict[str, None]
    last_at: datetime


class _Seen(Struct, frozen=True):
    """The count and the first time of an event, recorded or not."""

    times: int
    first_at: datetime


class _Allowance(Struct, frozen=True):
    """The number of events that may still be recorded for a pod, and its time.

    Reckoned in the time that they took to come back.
    """

    saved: timedelta
    at: datetime


class EventCorrelator:
    """Correlates events as the kubelet's event recorder does; one owner.

    In this order: many similar events are aggregated, equal ones are counted, and
    events beyond the pod's allowance are counted and not recorded.

    Args:
        allows_by_type: a pod has one allowance per type of event instead of one in all.
    """

    __slots__ = ("_allowances", "_allows_by_type", "_recorded", "_seen", "_similar")

    def __init__(self, *, allows_by_type: bool = False) -> None:
        self._allows_by_type = allows_by_type
        self._similar: LRUCache[_SimilarKey, _Similar] = LRUCache(CACHE_LIMIT)
        self._seen: LRUCache[_Key, _Seen] = LRUCache(CACHE_LIMIT)
        self._allowances: LRUCache[tuple[str, str], _Allowance] = LRUCache(CACHE_LIMIT)
        self._recorded: LRUCache[_Key, ClusterEvent] = LRUCache(CACHE_LIMIT)

    def correlate(self, event: Event) -> ClusterEvent | None:
        """Count one occurrence; return the event as shown, None if dropped."""
        key: _Key = _EqualKey(
            event.pod_uid, event.field_path, event.type, event.reason, event.message
        )
        similar = _SimilarKey(event.pod_uid, event.type, event.reason)
        is_combined = self._are_many(similar, event)
        if is_combined:
            key = similar
        seen = self._seen.get(key)
        seen = (
            _Seen(1, event.at) if seen is None else replace(seen, times=seen.times + 1)
        )
        self._seen.set(key, seen)
        spam_key = event.pod_uid, event.type if self._allows_by_type else ""
        if not self._is_allowed(spam_key, event.at):
            return None
        recorded = ClusterEvent(
            type=event.type,
            reason=event.reason,
            message=f"{COMBINED}{event.message}" if is_combined else event.message,
            pod_uid=event.pod_uid,
            field_path=event.field_path,
            first_seen_at=seen.first_at,
            last_seen_at=event.at,
            count=seen.times,
            is_combined=is_combined,
        )
        self._recorded.set(key, recorded)
        return recorded

    def recorded(self) -> tuple[ClusterEvent, ...]:
        """Return the events that a cluster shows, the last one seen at the end.

        Difference: a cluster forgets an event after an hour, this does not.
        """
        return self._recorded.values()

    def _are_many(self, key: _SimilarKey, event: Event) -> bool:
        """Return whether an event is one of many similar ones.

        Quirk, kept: the tenth message is the first one combined, and then one of the
        ten is forgotten, so that the message of an earlier event may count as new.
        Which one it is the kubelet leaves to chance; here it is the oldest.
        """
        similar = self._similar.get(key)
        if similar is None or event.at - similar.last_at > SIMILAR_INTERVAL:
            similar = _Similar({}, event.at)
        messages = similar.messages
        messages[event.message] = None
        self._similar.set(key, _Similar(messages, event.at))
        if len(messages) < SIMILAR_LIMIT:
            return False
        del messages[next(iter(messages))]
        return True

    def _is_allowed(self, key: tuple[str, str], now: datetime) -> bool:
        """Return whether another event of a pod may be recorded, and count it."""
        allowance = self._allowances.get(key)
        saved = SPAM_BURST * SPAM_REFILL
        if allowance is not None:
            saved = min(saved, allowance.saved + (now - allowance.at))
        is_allowed = saved >= SPAM_REFILL
        if is_allowed:
            saved -= SPAM_REFILL
        self._allowances.set(key, _Allowance(saved, now))
        return is_allowed
