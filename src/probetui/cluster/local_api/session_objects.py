"""The pods, events and node of a session as API objects."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any

from msgspec.structs import replace

from probetui.cluster.api_server.object_feed import ObjectFeed
from probetui.cluster.api_server.resources import (
    EVENTS,
    LEASES,
    NAMESPACES,
    NODES,
    PODS,
    ApiResource,
)
from probetui.drive.session import Session
from probetui.engine.snapshot import PodSnapshot
from probetui.k8s.api.codec import Json, format_time
from probetui.k8s.api.pod import POD
from probetui.k8s.pod import Pod
from probetui.k8s.pod_source import api_pod, is_static_pod
from probetui.kubelet.events.event_recorder import EventRecorder
from probetui.kubelet.journal import EventEntry, JournalEntry
from probetui.kubelet.nodestatus.node_status import (
    LEASE_NAMESPACE,
    NodeFacts,
    new_lease,
    new_node,
    node_status,
    renewed_lease,
)
from probetui.kubelet.status.status_patch import StatusContext, api_status
from probetui.kubelet_rules import KubeletRules
from probetui.record.masking import Mask

EVENTS_KEPT = timedelta(hours=1)
"""As long as an API server keeps them."""


class SessionObjects:
    """Keeps a feed of objects in line with a session; a sink of its journal.

    Args:
        feed: receives the objects.
        session: the session.
        facts: the node's name, addresses and system.
        rules: those of the kubelet's version.
        mask: the secrets to mask.
    """

    def __init__(
        self,
        feed: ObjectFeed,
        session: Session,
        facts: NodeFacts,
        rules: KubeletRules,
        mask: Mask,
    ) -> None:
        self._feed = feed
        self._session = session
        self._facts = facts
        self._mask = mask
        self._context = StatusContext(facts.addresses, rules)
        self._recorder = EventRecorder(
            facts.name, allows_by_type=rules.allows_events_by_type
        )
        self._pods: dict[str, Pod] = {}
        self._shown: dict[tuple[str, str], PodSnapshot] = {}
        self._first_versions: dict[str, str] = {}
        self._not_ready: str | None = None

    def register_pods(self, pods: Iterable[Pod]) -> None:
        """Register the pods that events may concern."""
        self._pods.update((pod.uid, pod) for pod in pods)

    def consume(self, entries: Sequence[JournalEntry]) -> None:
        """Apply new journal entries, and update the pods."""
        self._show_pods()
        for entry in entries:
            if isinstance(entry, EventEntry):
                self._add_event(entry)
        not_ready = self._session.snapshot.node.not_ready
        if not_ready != self._not_ready:
            self._not_ready = not_ready
            self._show_node()

    def beat(self) -> None:
        """Renew the node lease and expire old events; due each `LEASE_RENEW_PERIOD`."""
        now, name = self._feed.now(), self._facts.name
        held = self._feed.find(LEASES, LEASE_NAMESPACE, name)
        if held is None:
            node = self._feed.get(NODES, "", name)
            lease = new_lease(name, node["metadata"]["uid"], now)
            self._put(LEASES, lease)
        else:
            self._put(LEASES, renewed_lease(held, now))
        oldest = now - EVENTS_KEPT
        for event in self._feed.list(EVENTS).items:
            if datetime.fromisoformat(event["lastTimestamp"]) < oldest:
                metadata = event["metadata"]
                self._feed.remove(EVENTS, metadata["namespace"], metadata["name"])

    def _show_pods(self) -> None:
        # A name has one object, as in a cluster: that of the newest pod, which waits
        # while an older one ends.
        pods = {
            (pod.pod.namespace, pod.pod.name): pod
            for pod in self._session.snapshot.pods
        }
        for place in self._shown:
            if place not in pods:
                self._feed.remove(PODS, *place)
        for place, pod in pods.items():
            if pod is not self._shown.get(place):
                self._show_pod(pod)
        self._shown = pods

    def _show_pod(self, snapshot: PodSnapshot) -> None:
        pod = snapshot.pod
        if self._feed.find(NAMESPACES, "", pod.namespace) is None:
            self._put(NAMESPACES, _namespace(pod.namespace))
        written = POD.write(self._mask.pod(api_pod(pod)))
        status = api_status(
            written["spec"],
            snapshot.api_status or snapshot.status,
            {},
            self._context,
            self._feed.now(),
            could_have_running_containers=False,
        )
        metadata = {
            key: value
            for key, value in written["metadata"].items()
            if value is not None
        }
        metadata.setdefault(
            "creationTimestamp", format_time(self._session.snapshot.started_at)
        )
        spec = {"nodeName": self._facts.name, **written["spec"]}
        masked = _masked(status, self._mask)
        stored = self._feed.put(
            PODS, {**written, "metadata": metadata, "spec": spec, "status": masked}
        )
        if not is_static_pod(pod):
            version = stored["metadata"]["resourceVersion"]
            self._first_versions.setdefault(pod.uid, version)

    def _add_event(self, entry: EventEntry) -> None:
        event = entry.event
        pod = self._pods.get(event.pod_uid)
        if pod is None:
            return
        masked = replace(event, message=self._mask.text(event.message))
        version = self._first_versions.get(pod.uid, "")
        write = self._recorder.record(masked, pod, version)
        if write is not None:
            self._put(EVENTS, write.body)

    def _show_node(self) -> None:
        held = self._feed.find(NODES, "", self._facts.name) or {}
        status = node_status(
            self._facts,
            held.get("status", {}),
            self._not_ready or "",
            self._session.snapshot.node.images,
            self._feed.now(),
        )
        self._put(NODES, new_node(self._facts, status))

    def _put(self, resource: ApiResource, new: Json) -> None:
        """Store an object; it keeps the uid and creation time of the stored one."""
        metadata = new["metadata"]
        held = self._feed.find(
            resource, metadata.get("namespace", ""), metadata["name"]
        )
        identity = (
            {
                "uid": str(uuid.uuid4()),
                "creationTimestamp": format_time(self._feed.now()),
            }
            if held is None
            else {key: held["metadata"][key] for key in ("uid", "creationTimestamp")}
        )
        self._feed.put(resource, {**new, "metadata": {**metadata, **identity}})


def _namespace(name: str) -> Json:
    return {
        "kind": "Namespace",
        "apiVersion": "v1",
        "metadata": {"name": name},
        "status": {"phase": "Active"},
    }


def _masked(value: Json, mask: Mask) -> Json:
    """Return a status with secrets masked in its messages."""
    if mask.is_empty:
        return value
    masked: Json = _mask_texts(value, mask)
    return masked


def _mask_texts(value: Any, mask: Mask) -> Any:
    if isinstance(value, dict):
        return {
            key: mask.text(member)
            if key == "message" and isinstance(member, str)
            else _mask_texts(member, mask)
            for key, member in value.items()
        }
    if isinstance(value, list):
        return [_mask_texts(member, mask) for member in value]
    return value
