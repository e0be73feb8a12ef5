"""What probes show beside their results: who listens elsewhere, and what is unwise.

None of it is the kubelet's, and nothing that the kubelet decides depends on it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import NamedTuple

from probetui.k8s.listeners import Endpoint, Extent, Listeners
from probetui.k8s.pod import Container, Pod
from probetui.k8s.probe import (
    ExecAction,
    HTTPGetAction,
    Probe,
    ProbeKey,
    ProbeType,
    TCPSocketAction,
)
from probetui.k8s.runtime import ContainerID, RuntimePodStatus
from probetui.kubelet.config import KubeletConfig
from probetui.kubelet.effects import FindListeners
from probetui.kubelet.go_text import go_quote
from probetui.kubelet.inputs import ExecSeen, ListenersFound
from probetui.kubelet.journal import (
    Entry,
    FindingEntry,
    ListenersEntry,
    StateEntry,
    TickEntry,
    TryEntry,
    What,
)
from probetui.kubelet.outcome import Attempt, HTTPAnswer
from probetui.kubelet.turn import Ledger

GOOD_FOR = timedelta(seconds=3)
"""For so long it is not looked again where a container listens."""

EXEC_MISSING = "exec-missing-in-image"
REDIRECT = "redirect-seen"

_REDIRECTION = 3
_LONGEST_NAME = 80
_Asked = TickEntry | TryEntry


@dataclass(slots=True)
class _Looks:
    """What is known of where one container listens, and who waits to be told.

    `told` is what was last said of each endpoint that refused, as far as it matters.
    """

    pod_uid: str
    container_name: str
    at: datetime | None = None
    found: ListenersFound | None = None
    is_under_way: bool = False
    waiting: dict[Endpoint, _Asked] = field(default_factory=dict)
    told: dict[Endpoint, object] = field(default_factory=dict)

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
        self._tells_findings = config.tells_findings
        self._findings: set[tuple[ProbeKey, str]] = set()
        self._looks: dict[ContainerID, _Looks] = {}
        self._places: dict[str, str] = {}

    def know_places(self, places: Mapping[str, str]) -> None:
        """Take note of where fields stand, as `SetPods` has it."""
        self._places.update(places)

    def look_at(self, entries: Iterable[Entry], now: datetime) -> None:
        """Write, and ask for, what some entries call for."""
        for each in entries:
            if not isinstance(each, _Asked) or not each.attempts:
                continue
            last = each.attempts[-1]
            if last.refused_at is not None and self._finds_listeners:
                self._was_refused(each, last.refused_at, now)
            if self._tells_findings:
                self._find(each, last, now)

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

    def exec_seen(
        self, seen: ExecSeen, pods: Mapping[str, RuntimePodStatus], now: datetime
    ) -> None:
        """Write that somebody else runs a command in a container of ours."""
        for uid, status in pods.items():
            for each in status.containers:
                if each.container_id == seen.container_id and uid in self._pods:
                    number = self._ledger.next_sequence()
                    self._ledger.write(
                        StateEntry(
                            number, now, uid, each.name, "", What.EXEC, "", seen.text
                        )
                    )

    def forget_pod(self, pod_uid: str) -> None:
        """Forget what is known of a pod that is gone."""
        for each in [key for key, it in self._looks.items() if it.pod_uid == pod_uid]:
            del self._looks[each]
        self._findings = {it for it in self._findings if it[0].pod_uid != pod_uid}

    def _find(self, asked: _Asked, attempt: Attempt, now: datetime) -> None:
        pod = self._pods.get(asked.key.pod_uid)
        finding = None if pod is None else finding_of(attempt, pod, asked.key)
        if finding is None or (asked.key, finding.rule) in self._findings:
            return
        self._findings.add((asked.key, finding.rule))
        self._ledger.write(
            FindingEntry(
                self._ledger.next_sequence(),
                now,
                asked.key,
                *finding,
                self._places.get(f"{asked.key.pod_uid} {finding.path}", ""),
                asked.sequence,
            )
        )

    def _was_refused(self, asked: _Asked, there: Endpoint, now: datetime) -> None:
        key = asked.key
        pod = self._pods.get(key.pod_uid)
        container = None if pod is None else pod.container(key.container_name)
        if container is None or goes_elsewhere(container, key.probe_type):
            return
        looks = self._looks.get(asked.container_id)
        if looks is None:
            self._forget_instances(key.pod_uid, key.container_name)
            looks = _Looks(key.pod_uid, key.container_name)
            self._looks[asked.container_id] = looks
        if (known := looks.known(now)) is not None:
            self._tell(looks, there, asked, known, now)
            return
        looks.waiting[there] = asked
        if not looks.is_under_way:
            looks.is_under_way = True
            self._ledger.emit(FindListeners(asked.container_id))

    def _forget_instances(self, pod_uid: str, container_name: str) -> None:
        """Forget the earlier instances of a container, which listen no more."""
        for each in [
            key
            for key, it in self._looks.items()
            if (it.pod_uid, it.container_name) == (pod_uid, container_name)
        ]:
            del self._looks[each]

    def _tell(
        self,
        looks: _Looks,
        there: Endpoint,
        asked: _Asked,
        found: ListenersFound,
        now: datetime,
    ) -> None:
        """Write where a container listens, unless it has been said."""
        matter = what_matters(found, there)
        if looks.told.get(there) == matter:
            return
        looks.told[there] = matter
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


class Found(NamedTuple):
    """What an attempt showed to be likely not meant so, as `FindingEntry` has it."""

    rule: str
    path: str
    message: str


def finding_of(attempt: Attempt, pod: Pod, key: ProbeKey) -> Found | None:
    """Return what an attempt of a probe showed to be unwise, None if nothing."""
    if not attempt.is_missing and attempt.http is None:
        return None
    found = next(
        (it for it in pod.containers_with_paths() if it[1].name == key.container_name),
        None,
    )
    if found is None:
        return None
    path, container = found
    field_path = f"{path}.{key.probe_type.lower()}Probe"
    probe = container.probe(key.probe_type)
    match None if probe is None else probe.handler:
        case ExecAction(command) if attempt.is_missing:
            return Found(
                EXEC_MISSING,
                f"{field_path}.exec.command",
                f"{_program(command)} is not in the container: {_reading(attempt)}",
            )
        case HTTPGetAction() if attempt.http is not None:
            words = _redirect(attempt.http)
            return Found(REDIRECT, f"{field_path}.httpGet", words) if words else None
        case _:
            return None


def _program(command: tuple[str, ...]) -> str:
    return go_quote(command[0][:_LONGEST_NAME]) if command else "nothing"


def _reading(attempt: Attempt) -> str:
    """Return what comes of it, by how commands that cannot start are read."""
    if attempt.error is None:
        return "as on Docker it is a failure; a CRI runtime makes it an error"
    return "the probe errors, and what errors never counts"


def _redirect(answer: HTTPAnswer) -> str:
    """Return what became of a redirect, empty if there was none."""
    if answer.redirects:
        first = go_quote(answer.redirects[0])
        return f"is redirected to {first}, which is followed on the same host"
    if answer.status // 100 != _REDIRECTION:
        return ""
    places = (each.value for each in answer.headers if each.name.lower() == "location")
    if place := next(places, ""):
        return (
            f"is redirected to {go_quote(place)}, another host: not followed, and "
            "counted as a success"
        )
    return f"is answered with status {answer.status}, which counts as a success"


def what_matters(found: ListenersFound, there: Endpoint) -> object:
    """Return what of it explains a refusal: who has the port, else all others."""
    if found.listeners is None:
        return found.problem
    endpoints = found.listeners.endpoints
    return tuple(each for each in endpoints if each.port == there.port) or endpoints


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
