"""What probes show beside their results: who listens elsewhere, and what is unwise.

None of it is the kubelet's, and nothing that the kubelet decides depends on it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from probetui.k8s.listeners import Endpoint, Extent, Listeners
from probetui.k8s.pod import Container, Pod
from probetui.k8s.probe import HTTPGetAction, Probe, ProbeType, TCPSocketAction
from probetui.k8s.runtime import ContainerID
from probetui.kubelet.config import KubeletConfig
from probetui.kubelet.effects import FindListeners
from probetui.kubelet.inputs import ListenersFound
from probetui.kubelet.journal import Entry, ListenersEntry, TickEntry, TryEntry
from probetui.kubelet.turn import Ledger

GOOD_FOR = timedelta(seconds=3)
"""For so long it is not looked again where a container listens."""

_Asked = TickEntry | TryEntry


@dataclass(slots=True)
class _Looks:
    """What is known of where one container listens, and who waits to be told.

    `told` is what was last said of each endpoint that refused.
    """

    pod_uid: str
    at: datetime | None = None
    found: ListenersFound | None = None
    is_under_way: bool = False
    waiting: dict[Endpoint, _Asked] = field(default_factory=dict)
    told: dict[Endpoint, ListenersFound] = field(default_factory=dict)

    def known(self, now: datetime) -> ListenersFound | None:
        """Return what was found, None if that was too long ago."""
        is_fresh = self.at is not None and now - self.at < GOOD_FOR
        return self.found if is_fresh else None


class Sightings:
    """Looks at ticks and tries when they are over; owned by the engine.

    Where a container listens is only asked after a refused connection, at most once
    in a while, and never before the result of the probe has been taken in.

    Args:
        ledger: where effects and entries go.
        config: says what of it is wanted.
        pods: those that are known, by UID.
    """

    def __init__(
        self, ledger: Ledger, config: KubeletConfig, pods: Mapping[str, Pod]
    ) -> None:
        self._ledger = ledger
        self._pods = pods
        self._finds_listeners = config.finds_listeners
        self._looks: dict[ContainerID, _Looks] = {}

    def look_at(self, entries: Iterable[Entry], now: datetime) -> None:
        """Write, and ask for, what some entries call for."""
        for each in entries:
            if not isinstance(each, TickEntry | TryEntry) or not each.attempts:
                continue
            there = each.attempts[-1].refused_at
            if there is not None and self._finds_listeners:
                self._was_refused(each, there, now)

    def found(self, found: ListenersFound, now: datetime) -> None:
        """Take in where a container listens, and tell whoever was refused."""
        looks = self._looks.get(found.container_id)
        if looks is None or not looks.is_under_way:
            return
        looks.is_under_way = False
        looks.at, looks.found = now, found
        for endpoint, asked in looks.waiting.items():
            self._tell(looks, endpoint, asked, found, now)
        looks.waiting.clear()

    def forget_pod(self, pod_uid: str) -> None:
        """Forget what is known of a pod that is gone."""
        for each in [key for key, it in self._looks.items() if it.pod_uid == pod_uid]:
            del self._looks[each]

    def _was_refused(self, asked: _Asked, there: Endpoint, now: datetime) -> None:
        key = asked.key
        pod = self._pods.get(key.pod_uid)
        container = None if pod is None else pod.container(key.container_name)
        if container is None or goes_elsewhere(container, key.probe_type):
            return
        looks = self._looks.setdefault(asked.container_id, _Looks(key.pod_uid))
        if (known := looks.known(now)) is not None:
            self._tell(looks, there, asked, known, now)
            return
        looks.waiting[there] = asked
        if not looks.is_under_way:
            looks.is_under_way = True
            self._ledger.emit(FindListeners(asked.container_id))

    def _tell(
        self,
        looks: _Looks,
        there: Endpoint,
        asked: _Asked,
        found: ListenersFound,
        now: datetime,
    ) -> None:
        """Write where a container listens, unless it has been said."""
        if looks.told.get(there) == found:
            return
        looks.told[there] = found
        pod, listeners = self._pods.get(asked.key.pod_uid), found.listeners
        if pod is not None and listeners is not None:
            listeners = narrowed(listeners, pod)
        self._ledger.write(
            ListenersEntry(
                self._ledger.next_sequence(),
                now,
                asked.key,
                asked.container_id,
                there,
                listeners,
                found.problem,
                asked.sequence,
            )
        )


def narrowed(listeners: Listeners, pod: Pod) -> Listeners:
    """Return a pod's listeners as the container's where it has no other that runs."""
    if listeners.extent is not Extent.POD:
        return listeners
    is_alone = len(pod.containers) + len(pod.sidecars) == 1
    return replace(listeners, extent=Extent.CONTAINER) if is_alone else listeners


def goes_elsewhere(container: Container, probe_type: ProbeType) -> bool:
    """Tell whether a probe goes to a host of its own, where the pod may not be."""
    probe: Probe | None = container.probe(probe_type)
    handler = None if probe is None else probe.handler
    return isinstance(handler, HTTPGetAction | TCPSocketAction) and bool(handler.host)
