"""The event recorder: the kubelet's event writes to an API server.

Source: client-go tools/record/event.go, v0.32.10, recordToSink, recordEvent.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from msgspec import Struct

from probetui.k8s.api.codec import Json, format_time
from probetui.k8s.event import Event, EventType
from probetui.k8s.pod import Pod
from probetui.kubelet.events.event_correlator import (
    CACHE_LIMIT,
    ClusterEvent,
    EventCorrelator,
)
from probetui.kubelet.runtime.lru_cache import LRUCache

COMPONENT = "kubelet"
NODE_NAMESPACE = "default"
"""Where events about a node are: it has no namespace of its own."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


class EventWrite(Struct, frozen=True):
    """The write of an event to an API server.

    `body` is the whole event. `patch` is the patch of an event written before, None for
    the first write; if that event is gone, it is created again.
    """

    namespace: str
    name: str
    body: Json
    patch: Json | None


class EventRecorder:
    """Turns the kubelet's events into writes; one owner.

    Args:
        node_name: the node's name.
        allows_by_type: as `EventCorrelator` has it.
    """

    __slots__ = ("_correlator", "_last_name", "_names", "_node_name")

    def __init__(self, node_name: str, *, allows_by_type: bool) -> None:
        self._node_name = node_name
        self._correlator = EventCorrelator(allows_by_type=allows_by_type)
        self._names: LRUCache[tuple[str, ...], str] = LRUCache(CACHE_LIMIT)
        self._last_name = 0

    def record(
        self, event: Event, pod: Pod, resource_version: str = ""
    ) -> EventWrite | None:
        """Record an event of a pod; return the write, None without one.

        Quirk, kept: a kubelet brings its copy of a pod up to date field by field, and
        the version is not among these fields, so that every event refers to the version
        that it saw first (recorded in 1.36.2).

        Args:
            event: what happened.
            pod: whose event it is.
            resource_version: the pod's version when it was first seen; empty for a
                static pod, which has none.
        """
        involved = {
            "kind": "Pod",
            "namespace": pod.namespace,
            "name": pod.name,
            "uid": pod.uid,
            "apiVersion": "v1",
        }
        if resource_version:
            involved["resourceVersion"] = resource_version
        if event.field_path:
            involved["fieldPath"] = event.field_path
        return self._record(event, involved, pod.namespace)

    def record_of_node(
        self, reason: str, message: str, now: datetime
    ) -> EventWrite | None:
        """Record a Normal event of the node; return the write."""
        name = self._node_name
        event = Event(EventType.NORMAL, reason, message, f"node/{name}", "", now)
        involved = {"kind": "Node", "name": name, "apiVersion": "v1"}
        return self._record(event, involved, NODE_NAMESPACE)

    def _record(
        self, event: Event, involved: Json, namespace: str
    ) -> EventWrite | None:
        event_shown = self._correlator.correlate(event)
        if event_shown is None:
            return None
        name = self._name(involved["name"], event_shown)
        changes: Json = {
            "count": event_shown.count,
            "lastTimestamp": format_time(event_shown.last_seen_at),
            "message": event_shown.message,
        }
        component = "" if event_shown.is_combined else COMPONENT
        body: Json = {
            "kind": "Event",
            "apiVersion": "v1",
            "metadata": {"name": name, "namespace": namespace},
            "involvedObject": involved,
            "reason": event_shown.reason,
            "source": {"component": COMPONENT, "host": self._node_name},
            "firstTimestamp": format_time(event_shown.first_seen_at),
            "type": event_shown.type.value,
            "eventTime": None,
            "reportingComponent": component,
            "reportingInstance": self._node_name if component else "",
            **changes,
        }
        patch = changes if event_shown.count > 1 else None
        return EventWrite(namespace, name, body, patch)

    def _name(self, object_name: str, shown: ClusterEvent) -> str:
        """Return an event's name: the object's, and its first time in ns."""
        key: tuple[str, ...] = (shown.pod_uid, shown.type, shown.reason)
        if not shown.is_combined:
            key = (*key, shown.field_path, shown.message)
        known = self._names.get(key)
        if known is None:
            first = (shown.first_seen_at - _EPOCH) // _MICROSECOND * 1000
            # Several events may be made in one microsecond.
            self._last_name = max(first, self._last_name + 1)
            known = f"{object_name}.{self._last_name:x}"
            self._names.set(key, known)
        return known
