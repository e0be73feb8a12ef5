"""Journal entries as lines of an event log.

Two kinds of line: events as a cluster would record them, and lines of state, which a
cluster never shows. What probetui adds to an event is kept apart from its message.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from types import MappingProxyType

from probetui.k8s.event import Event, EventType
from probetui.k8s.pod import Pod
from probetui.kubelet.journal import (
    Action,
    BackoffEntry,
    ContainerEntry,
    Entry,
    EventEntry,
    FindingEntry,
    Lifecycle,
    ListenersEntry,
    NoteEntry,
    PodGoneEntry,
    StateEntry,
    TickEntry,
    TryEntry,
    UserEntry,
    What,
)
from probetui.manifest.problem import Severity
from probetui.presentation.containers import object_name
from probetui.presentation.durations import age, took
from probetui.presentation.exits import asked_by, exit_words
from probetui.presentation.findings import seen_words, severity_of
from probetui.presentation.folding import ClusterView
from probetui.presentation.refusals import refusal_words
from probetui.presentation.spans import Role
from probetui.presentation.stopping import told_first

_ACTED = {
    Action.NONE: "as stored",
    Action.MUTED: "muted",
    Action.WOULD_KILL: "not acted",
}
_KEPT_TO_ITSELF = {
    What.READY,
    What.STARTED,
    What.HOLD,
    What.RESULT,
    What.PHASE,
    What.EXEC,
}


_ROLES = {
    Severity.ERROR: Role.ERROR,
    Severity.WARNING: Role.WARNING,
    Severity.NOTE: Role.MUTED,
}


@dataclass(frozen=True, slots=True)
class EventLine:
    """One line of the log, in cells; texts are as they came, not yet made safe.

    `type` is Normal, Warning, or `state`, `user`, `note`, `finding` for what a cluster
    does not show. `note` is probetui's own addition. `tick` is the tick behind it; in a
    log, which would take three times as much, it is left out, and `tick_sequence` is
    its number. `event` is what a cluster is told. Without a pod it is about all.
    """

    sequence: int
    at: datetime
    type: str
    reason: str
    object: str
    message: str
    note: str = ""
    role: Role = Role.PLAIN
    tick: TickEntry | None = None
    event: Event | None = None
    pod_uid: str = ""
    container_name: str = ""
    tick_sequence: int = 0

    @property
    def searchable(self) -> str:
        """What a filter looks at."""
        return f"{self.type} {self.reason} {self.object} {self.message} {self.note}"

    @property
    def is_fault(self) -> bool:
        """Whether it tells of something that is not as it should be."""
        return self.role is not Role.PLAIN and self.role is not Role.MUTED

    @property
    def is_of_a_cluster(self) -> bool:
        """Whether a cluster would record it too."""
        return self.type in {EventType.NORMAL, EventType.WARNING}


class EventLog:
    """Turns entries into lines as they come; remembers restarts and back-offs.

    It has one owner, who feeds it every entry once, in order.
    """

    def __init__(self) -> None:
        self._restarts: dict[tuple[str, str], int] = {}
        self._waits: dict[tuple[str, str], datetime | None] = {}
        self.cluster = ClusterView()
        self.warnings = 0
        self.normals = 0

    def feed(  # noqa: C901  # one arm per kind
        self,
        entry: Entry,
        names: Mapping[str, str],
        pods: Mapping[str, Pod] = MappingProxyType({}),
    ) -> EventLine | None:
        """Return the line for an entry, or None if it has none.

        `names` says what to call each pod and `pods` what is in it, both by UID;
        without the pod, nothing is said of a preStop hook.
        """
        match entry:
            case EventEntry():
                return self._event(entry, names)
            case StateEntry():
                return _state(entry, names)
            case ContainerEntry():
                pod = pods.get(entry.pod_uid)
                return self._container(entry, names, pod)
            case BackoffEntry():
                return self._backoff(entry, names)
            case UserEntry():
                return EventLine(
                    entry.sequence, entry.at, "user", entry.command, entry.target, ""
                )
            case TryEntry():
                return _try(entry, names)
            case NoteEntry():
                role = Role.ERROR if entry.is_fault else Role.MUTED
                what = "bookmark" if entry.is_bookmark else ""
                return EventLine(
                    entry.sequence, entry.at, "note", what, "", entry.text, "", role
                )
            case ListenersEntry(key=key):
                return EventLine(
                    entry.sequence,
                    entry.at,
                    "state",
                    "refused",
                    object_name(names, key.pod_uid, key.container_name),
                    refusal_words(entry),
                    role=Role.MUTED,
                    pod_uid=key.pod_uid,
                    container_name=key.container_name,
                )
            case FindingEntry(key=key):
                return EventLine(
                    entry.sequence,
                    entry.at,
                    "finding",
                    entry.rule,
                    object_name(names, key.pod_uid, key.container_name),
                    seen_words(entry),
                    role=_ROLES[severity_of(entry.rule)],
                    pod_uid=key.pod_uid,
                    container_name=key.container_name,
                )
            case PodGoneEntry():
                return _state_line(
                    entry, "", "gone", "nothing is left", names, Role.PLAIN
                )
            case _:
                return None

    def _event(self, entry: EventEntry, names: Mapping[str, str]) -> EventLine:
        event = entry.event
        count = self._restarts.get((event.pod_uid, event.container_name), 0)
        self.cluster.feed(entry, count)
        is_warning = event.type is EventType.WARNING
        self.warnings += is_warning
        self.normals += not is_warning
        note = ""
        if entry.tick is not None:
            note = verdict(entry.tick)
        elif event.reason == "Started":
            note = f"restart {count}" if count else ""
        return EventLine(
            entry.sequence,
            entry.at,
            event.type,
            event.reason,
            object_name(names, event.pod_uid, event.container_name),
            event.message,
            note,
            Role.WARNING if is_warning else Role.PLAIN,
            entry.tick,
            event,
            event.pod_uid,
            event.container_name,
        )

    def _container(
        self, entry: ContainerEntry, names: Mapping[str, str], pod: Pod | None
    ) -> EventLine | None:
        self._restarts[entry.pod_uid, entry.container_name] = entry.restart_count
        match entry.what:
            case Lifecycle.STOPPING:
                reason, message = "stop", _stopping(entry, pod)
            case Lifecycle.EXITED:
                reason, message = "exit", exit_words(entry)
            case Lifecycle.GONE:
                reason, message = "gone", "it ran, and has vanished from the runtime"
            case Lifecycle.WOULD_STOP:
                reason, message = "would stop", f"not acted: {_stopping(entry, pod)}"
            case Lifecycle.WOULD_START:
                restart = f"restart {entry.restart_count}"
                reason, message = "would start", f"not acted: {restart}"
            case _:
                return None
        return _state_line(entry, entry.container_name, reason, message, names)

    def _backoff(
        self, entry: BackoffEntry, names: Mapping[str, str]
    ) -> EventLine | None:
        """Return the line, but only one for each wait: it is asked about many times."""
        key = (entry.pod_uid, entry.container_name)
        before = self._waits.get(key)
        self._waits[key] = entry.until
        if entry.waits and entry.until == before:
            return None
        words = backoff_words(entry)
        return _state_line(entry, entry.container_name, "backoff", words, names)


def verdict(tick: TickEntry) -> str:
    """Return what came of a tick's result: `2/3 ignored`, `3/3 acted`, `discarded`."""
    injected = ", injected" if tick.injected else ""
    injected += ", delayed" if tick.delay else ""
    if tick.result is None:
        return f"discarded{injected}"
    counted = f"{tick.run}/{tick.threshold}"
    if tick.run < tick.threshold:
        return f"{counted} ignored{injected}"
    return f"{counted} {_ACTED.get(tick.action, 'acted')}{injected}"


def backoff_words(entry: BackoffEntry) -> str:
    """Return what back-off said: `no wait (75s >= 10s), window now 20s`."""
    following = f"window now {age(entry.next_window)}"
    if entry.waits:
        until = entry.until - entry.at if entry.until else timedelta()
        following = f"next window {age(entry.next_window)}"
        return f"waits {age(until)} of {age(entry.window)}, {following}"
    if entry.since is None:
        return "no wait: no earlier exit"
    passed = age(entry.at - entry.since)
    if entry.is_reset:
        return f"no wait: window forgotten after {passed}, {following}"
    if not entry.window:
        return f"no wait: no window yet, {following}"
    return f"no wait ({passed} >= {age(entry.window)}), {following}"


def _stopping(entry: ContainerEntry, pod: Pod | None) -> str:
    container = None if pod is None else pod.container(entry.container_name)
    first = told_first(container, entry.grace_period_seconds)
    asked = asked_by(entry.by) if entry.by else "asked for"
    if entry.grace_period_seconds is None:
        return f"{first}, {asked}"
    grace = f"{entry.grace_period_seconds}s"
    source = f" ({entry.grace_source})" if entry.grace_source else ""
    return f"{first}, SIGKILL in {grace}{source}, {asked}"


def _try(entry: TryEntry, names: Mapping[str, str]) -> EventLine:
    key = entry.key
    last = entry.attempts[-1]
    result = "errored" if entry.result is None else entry.result.name.lower()
    message = f"{key.probe_type.lower()} {result} in {took(entry.duration)}"
    text = last.output if last.error is None else last.error
    return EventLine(
        entry.sequence,
        entry.at,
        "user",
        "tried",
        object_name(names, key.pod_uid, key.container_name),
        f"{message}: {text}" if text else message,
        "not counted",
    )


def _state(entry: StateEntry, names: Mapping[str, str]) -> EventLine | None:
    if entry.what not in _KEPT_TO_ITSELF:
        return None
    words = _change_words(entry)
    return _state_line(entry, entry.container_name, entry.what, words, names)


def _state_line(
    entry: StateEntry | ContainerEntry | BackoffEntry | PodGoneEntry,
    container_name: str,
    reason: str,
    message: str,
    names: Mapping[str, str],
    role: Role = Role.MUTED,
) -> EventLine:
    """Return a line for what a cluster keeps to itself."""
    return EventLine(
        entry.sequence,
        entry.at,
        "state",
        reason,
        object_name(names, entry.pod_uid, container_name),
        message,
        "",
        role,
        pod_uid=entry.pod_uid,
        container_name=container_name,
    )


def _change_words(entry: StateEntry) -> str:
    subject = entry.subject.lower()
    match entry.what, entry.after:
        case What.HOLD, "on":
            return f"{subject} on hold until a tick sees a new container id"
        case What.HOLD, _ if entry.cause is None:
            return f"{subject} hold released: the container was not killed"
        case What.HOLD, _:
            return f"{subject} hold released by a new container id"
        case What.RESULT, after:
            initial = "" if entry.before else " (initial value)"
            return f"{subject} := {after}{initial}"
        case What.EXEC, after:
            return f"somebody else ran: {after}"
        case _, after:
            return f"{entry.before or 'none'} -> {after}"
