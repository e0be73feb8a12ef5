"""Probe diagnostics: where containers listen, and findings about probes.

None of this is part of the kubelet, and no decision of the kubelet depends on it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import NamedTuple

from msgspec import Struct, field
from msgspec.structs import replace

from probetui.engine.inputs import ExecSeen, ListenersFound
from probetui.k8s.pod import Container, Pod
from probetui.k8s.probe import (
    ExecAction,
    HTTPGetAction,
    Probe,
    ProbeKey,
    ProbeType,
    TCPSocketAction,
)
from probetui.k8s.runtime import (
    ContainerID,
    Listeners,
    ListenerScope,
    RuntimePodStatus,
    SocketAddress,
)
from probetui.kubelet.config import KubeletConfig
from probetui.kubelet.effects import FindListeners
from probetui.kubelet.journal import (
    DryRunEntry,
    FindingEntry,
    JournalEntry,
    ListenersEntry,
    StateEntry,
    StateField,
    TickEntry,
)
from probetui.kubelet.outcome import Attempt, HTTPAnswer
from probetui.kubelet.runtime.go_format import go_quote
from probetui.kubelet.runtime.turn import TurnBuilder

GOOD_FOR = timedelta(seconds=3)
"""The time for which the listeners of a container are not looked up again."""

EXEC_MISSING = "exec-missing-in-image"
REDIRECT = "redirect-seen"

_REDIRECTION = 3
_LONGEST_NAME = 80
_ProbedEntry = TickEntry | DryRunEntry


class _ListenerLookup(Struct):
    """The listeners known of one container, and the probes waiting for them.

    `reported` holds the last report about each endpoint that refused.
    """

    pod_uid: str
    container_name: str
    at: datetime | None = None
    found: ListenersFound | None = None
    is_under_way: bool = False
    waiting: dict[SocketAddress, _ProbedEntry] = field(default_factory=dict)
    reported: dict[SocketAddress, object] = field(default_factory=dict)

    def known(self, now: datetime) -> ListenersFound | None:
        """Return the listeners found, None if they are out of date."""
        is_fresh = self.at is not None and now - self.at < GOOD_FOR
        return self.found if is_fresh else None


class ProbeDiagnostics:
    """Inspects finished ticks and dry runs; owned by the engine.

    A container's listeners are looked up only after a refused connection, at most once
    per `GOOD_FOR`, and never before the result of the probe has been recorded.

    Args:
        turn: collects effects and entries.
        config: selects findings and listener lookups.
        pods: those that are known, by UID.
    """

    def __init__(
        self, turn: TurnBuilder, config: KubeletConfig, pods: Mapping[str, Pod]
    ) -> None:
        self._turn = turn
        self._pods = pods
        self._finds_listeners = config.finds_listeners
        self._tells_findings = config.tells_findings
        self._findings: set[tuple[ProbeKey, str]] = set()
        self._lookups: dict[ContainerID, _ListenerLookup] = {}
        self._places: dict[str, str] = {}

    def register_places(self, places: Mapping[str, str]) -> None:
        """Record the positions of fields in the manifests, in the form of `SetPods`."""
        self._places.update(places)

    def on_entries(self, entries: Iterable[JournalEntry], now: datetime) -> None:
        """Journal findings, and look up listeners after refused connections."""
        for entry in entries:
            if not isinstance(entry, _ProbedEntry) or not entry.attempts:
                continue
            last = entry.attempts[-1]
            if last.refused_at is not None and self._finds_listeners:
                self._on_refused(entry, last.refused_at, now)
            if self._tells_findings:
                self._journal_finding(entry, last, now)

    def on_listeners_found(self, answer: ListenersFound, now: datetime) -> None:
        """Journal where a container listens, for each probe that was refused."""
        lookup = self._lookups.get(answer.container_id)
        if lookup is None or not lookup.is_under_way:
            return
        lookup.is_under_way = False
        if answer.is_ending:
            lookup.waiting.clear()
            return
        lookup.at, lookup.found = now, answer
        for endpoint, entry in lookup.waiting.items():
            self._journal_listeners(lookup, endpoint, entry, answer, now)
        lookup.waiting.clear()

    def on_exec_seen(
        self, seen: ExecSeen, pods: Mapping[str, RuntimePodStatus], now: datetime
    ) -> None:
        """Journal a command that another client runs in a container."""
        for uid, status in pods.items():
            for container in status.containers:
                if container.container_id == seen.container_id and uid in self._pods:
                    number = self._turn.next_sequence()
                    self._turn.write(
                        StateEntry(
                            number,
                            now,
                            uid,
                            container.name,
                            "",
                            StateField.EXEC,
                            "",
                            seen.text,
                        )
                    )

    def forget_pod(self, pod_uid: str) -> None:
        """Forget a removed pod."""
        for container_id in [
            key for key, lookup in self._lookups.items() if lookup.pod_uid == pod_uid
        ]:
            del self._lookups[container_id]
        self._findings = {
            (key, rule) for key, rule in self._findings if key.pod_uid != pod_uid
        }

    def _journal_finding(
        self, entry: _ProbedEntry, attempt: Attempt, now: datetime
    ) -> None:
        pod = self._pods.get(entry.key.pod_uid)
        finding = None if pod is None else find_finding(attempt, pod, entry.key)
        if finding is None or (entry.key, finding.rule) in self._findings:
            return
        self._findings.add((entry.key, finding.rule))
        self._turn.write(
            FindingEntry(
                self._turn.next_sequence(),
                now,
                entry.key,
                *finding,
                self._places.get(f"{entry.key.pod_uid} {finding.path}", ""),
                entry.sequence,
            )
        )

    def _on_refused(
        self, entry: _ProbedEntry, endpoint: SocketAddress, now: datetime
    ) -> None:
        key = entry.key
        pod = self._pods.get(key.pod_uid)
        container = None if pod is None else pod.container(key.container_name)
        if container is None or targets_other_host(container, key.probe_type):
            return
        lookup = self._lookups.get(entry.container_id)
        if lookup is None:
            self._forget_instances(key.pod_uid, key.container_name)
            lookup = _ListenerLookup(key.pod_uid, key.container_name)
            self._lookups[entry.container_id] = lookup
        if (known := lookup.known(now)) is not None:
            self._journal_listeners(lookup, endpoint, entry, known, now)
            return
        lookup.waiting[endpoint] = entry
        if not lookup.is_under_way:
            lookup.is_under_way = True
            self._turn.emit(FindListeners(entry.container_id))

    def _forget_instances(self, pod_uid: str, container_name: str) -> None:
        """Forget the earlier instances of a container, which no longer listen."""
        for container_id in [
            key
            for key, lookup in self._lookups.items()
            if (lookup.pod_uid, lookup.container_name) == (pod_uid, container_name)
        ]:
            del self._lookups[container_id]

    def _journal_listeners(
        self,
        lookup: _ListenerLookup,
        endpoint: SocketAddress,
        entry: _ProbedEntry,
        answer: ListenersFound,
        now: datetime,
    ) -> None:
        """Journal where a container listens, unless it is unchanged."""
        matter = relevant_listeners(answer, endpoint)
        if lookup.reported.get(endpoint) == matter:
            return
        lookup.reported[endpoint] = matter
        pod, listeners = self._pods.get(entry.key.pod_uid), answer.listeners
        if pod is not None and listeners is not None:
            listeners = narrow_to_container(listeners, pod)
        self._turn.write(
            ListenersEntry(
                self._turn.next_sequence(),
                now,
                entry.key,
                entry.container_id,
                endpoint,
                listeners,
                answer.problem,
                entry.sequence,
            )
        )


class ProbeFinding(NamedTuple):
    """A finding about a probe, as `FindingEntry` has it."""

    rule: str
    path: str
    message: str


def find_finding(attempt: Attempt, pod: Pod, key: ProbeKey) -> ProbeFinding | None:
    """Return the finding about an attempt of a probe, None without one."""
    if not attempt.is_missing and attempt.http is None:
        return None
    match = next(
        (
            (path, container)
            for path, container in pod.containers_with_paths()
            if container.name == key.container_name
        ),
        None,
    )
    if match is None:
        return None
    path, container = match
    field_path = f"{path}.{key.probe_type.lower()}Probe"
    probe = container.probe(key.probe_type)
    match None if probe is None else probe.handler:
        case ExecAction(command) if attempt.is_missing:
            return ProbeFinding(
                EXEC_MISSING,
                f"{field_path}.exec.command",
                f"{_program(command)} is not in the container: {_consequence(attempt)}",
            )
        case HTTPGetAction() if attempt.http is not None:
            redirect = _redirect(attempt.http)
            return (
                ProbeFinding(REDIRECT, f"{field_path}.httpGet", redirect)
                if redirect
                else None
            )
        case _:
            return None


def _program(command: tuple[str, ...]) -> str:
    return go_quote(command[0][:_LONGEST_NAME]) if command else "nothing"


def _consequence(attempt: Attempt) -> str:
    """Return the consequence of a command that cannot start, by runtime."""
    if attempt.error is None:
        return "as on Docker it is a failure; a CRI runtime makes it an error"
    return "the probe errors, and what errors never counts"


def _redirect(answer: HTTPAnswer) -> str:
    """Return the outcome of a redirect, empty if there was none."""
    if answer.redirects:
        first = go_quote(answer.redirects[0])
        return f"is redirected to {first}, which is followed on the same host"
    if answer.status // 100 != _REDIRECTION:
        return ""
    places = (
        header.value for header in answer.headers if header.name.lower() == "location"
    )
    if place := next(places, ""):
        return (
            f"is redirected to {go_quote(place)}, another host: not followed, and "
            "counted as a success"
        )
    return f"is answered with status {answer.status}, which counts as a success"


def relevant_listeners(answer: ListenersFound, refused: SocketAddress) -> object:
    """Return the listeners that explain a refusal: on its port, else all."""
    if answer.listeners is None:
        return answer.problem
    endpoints = answer.listeners.endpoints
    return (
        tuple(endpoint for endpoint in endpoints if endpoint.port == refused.port)
        or endpoints
    )


def narrow_to_container(listeners: Listeners, pod: Pod) -> Listeners:
    """Attribute a pod's listeners to the container if it is the only one."""
    if listeners.extent is not ListenerScope.POD:
        return listeners
    is_alone = len(pod.containers) + len(pod.sidecars) == 1
    return replace(listeners, extent=ListenerScope.CONTAINER) if is_alone else listeners


def targets_other_host(container: Container, probe_type: ProbeType) -> bool:
    """Return whether a probe names its own host, which may not be the pod's."""
    probe: Probe | None = container.probe(probe_type)
    handler = None if probe is None else probe.handler
    return isinstance(handler, HTTPGetAction | TCPSocketAction) and bool(handler.host)
