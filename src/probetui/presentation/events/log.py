"""The event log: journal entries as lines, of which the newest stay in memory.

Two kinds of line: events as a cluster records them, and lines of state, which a
cluster never shows. What probetui adds to an event is kept apart from its message.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from types import MappingProxyType

from msgspec import Struct
from msgspec.structs import replace

from probetui.analysis.event_aggregation import ClusterEvents
from probetui.analysis.findings import finding_text, severity_of
from probetui.durations import format_age, format_duration
from probetui.k8s.event import Event, EventType
from probetui.k8s.pod import Pod
from probetui.kubelet.journal import (
    BackoffEntry,
    ContainerEntry,
    DryRunEntry,
    EventEntry,
    FindingEntry,
    JournalEntry,
    LifecycleStep,
    ListenersEntry,
    NoteEntry,
    PodGoneEntry,
    StateEntry,
    StateField,
    TickEntry,
    UserEntry,
)
from probetui.manifest.problem import Severity
from probetui.presentation.container.exits import (
    first_signal_text,
    format_exit,
    stop_reason_text,
)
from probetui.presentation.container.table import (
    ContainerBoundEntry,
    container_of,
    object_name,
)
from probetui.presentation.probe.refusals import refusal_text
from probetui.presentation.text.spans import Role
from probetui.presentation.tick.report import report_tick

_KEPT_TO_ITSELF = {
    StateField.READY,
    StateField.STARTED,
    StateField.HOLD,
    StateField.RESULT,
    StateField.PHASE,
    StateField.EXEC,
}


_ROLES = {
    Severity.ERROR: Role.ERROR,
    Severity.WARNING: Role.WARNING,
    Severity.NOTE: Role.MUTED,
}


class EventLine(Struct, frozen=True):
    """One line of the log, in cells; texts are as they came, not yet made safe.

    `type` is Normal, Warning, or `state`, `user`, `note`, `finding` for what a cluster
    does not show. `note` is probetui's own addition. `tick` is the tick behind it; in a
    log, which would take three times as much, it is left out, and `tick_sequence` is
    its number. `event` is what a cluster records. Without a pod it is of the session.
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
        """The text that a filter searches."""
        return f"{self.type} {self.reason} {self.object} {self.message} {self.note}"

    @property
    def is_fault(self) -> bool:
        """Whether it reports a problem."""
        return self.role is not Role.PLAIN and self.role is not Role.MUTED

    @property
    def is_cluster_event(self) -> bool:
        """Whether a cluster would record it too."""
        return self.type in {EventType.NORMAL, EventType.WARNING}


class EventLog:
    """Turns entries into lines as they come; remembers restarts and back-offs.

    It has one owner, who feeds it every entry once, in order.
    """

    def __init__(self) -> None:
        self._restarts: dict[tuple[str, str], int] = {}
        self._waits: dict[tuple[str, str], datetime | None] = {}
        self.cluster = ClusterEvents()
        self.warnings = 0
        self.normals = 0

    def feed(  # noqa: C901  # one arm per kind
        self,
        entry: JournalEntry,
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
            case StateEntry(what=what) if what in _KEPT_TO_ITSELF:
                return _line(entry, names, "state", what, _change_text(entry))
            case ContainerEntry():
                pod = pods.get(entry.pod_uid)
                return self._container(entry, names, pod)
            case BackoffEntry():
                return self._backoff(entry, names)
            case UserEntry(command=command, target=target):
                return EventLine(entry.sequence, entry.at, "user", command, target, "")
            case DryRunEntry():
                return _dry_run(entry, names)
            case NoteEntry():
                role = Role.ERROR if entry.is_fault else Role.MUTED
                reason = "bookmark" if entry.is_bookmark else ""
                return EventLine(
                    entry.sequence, entry.at, "note", reason, "", entry.text, "", role
                )
            case ListenersEntry():
                return _line(entry, names, "state", "refused", refusal_text(entry))
            case FindingEntry(rule=rule):
                role = _ROLES[severity_of(rule)]
                return _line(entry, names, "finding", rule, finding_text(entry), role)
            case PodGoneEntry():
                return _line(entry, names, "state", "gone", "pod removed", Role.PLAIN)
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
            note = report_tick(entry.tick).note
        elif event.reason == "Started":
            note = f"restart {count}" if count else ""
        role = Role.WARNING if is_warning else Role.PLAIN
        shown = _line(entry, names, event.type, event.reason, event.message, role)
        return replace(shown, note=note, tick=entry.tick, event=event)

    def _container(
        self, entry: ContainerEntry, names: Mapping[str, str], pod: Pod | None
    ) -> EventLine | None:
        self._restarts[entry.pod_uid, entry.container_name] = entry.restart_count
        match entry.what:
            case LifecycleStep.STOPPING:
                reason, message = "stop", _stopping(entry, pod)
            case LifecycleStep.EXITED:
                reason, message = "exit", format_exit(entry)
            case LifecycleStep.GONE:
                reason, message = "gone", "disappeared from the runtime while it ran"
            case LifecycleStep.WOULD_STOP:
                reason, message = "would stop", f"watch only: {_stopping(entry, pod)}"
            case LifecycleStep.WOULD_START:
                restart = f"restart {entry.restart_count}"
                reason, message = "would start", f"watch only: {restart}"
            case _:
                return None
        return _line(entry, names, "state", reason, message)

    def _backoff(
        self, entry: BackoffEntry, names: Mapping[str, str]
    ) -> EventLine | None:
        """Return the line, but only one for each wait: it is asked about many times."""
        key = (entry.pod_uid, entry.container_name)
        before = self._waits.get(key)
        self._waits[key] = entry.until
        if entry.waits and entry.until == before:
            return None
        return _line(entry, names, "state", "backoff", format_backoff(entry))


def format_backoff(entry: BackoffEntry) -> str:
    """Return what back-off said: `no wait (75s >= 10s), window now 20s`."""
    following = f"window now {format_age(entry.next_window)}"
    if entry.waits:
        until = entry.until - entry.at if entry.until else timedelta()
        following = f"next window {format_age(entry.next_window)}"
        return f"waits {format_age(until)} of {format_age(entry.window)}, {following}"
    if entry.since is None:
        return "no wait: no earlier exit"
    passed = format_age(entry.at - entry.since)
    if entry.is_reset:
        return f"no wait: window reset after {passed}, {following}"
    if not entry.window:
        return f"no wait: no window yet, {following}"
    return f"no wait ({passed} >= {format_age(entry.window)}), {following}"


def _stopping(entry: ContainerEntry, pod: Pod | None) -> str:
    container = None if pod is None else pod.container(entry.container_name)
    first = first_signal_text(container, entry.grace_period_seconds)
    asked = stop_reason_text(entry.by) if entry.by else "asked for"
    if entry.grace_period_seconds is None:
        return f"{first}, {asked}"
    grace = f"{entry.grace_period_seconds}s"
    source = f" ({entry.grace_source})" if entry.grace_source else ""
    return f"{first}, SIGKILL in {grace}{source}, {asked}"


def _dry_run(entry: DryRunEntry, names: Mapping[str, str]) -> EventLine:
    key = entry.key
    last = entry.attempts[-1]
    result = "errored" if entry.result is None else entry.result.name.lower()
    message = f"{key.probe_type.lower()} {result} in {format_duration(entry.duration)}"
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


def _line(
    entry: ContainerBoundEntry,
    names: Mapping[str, str],
    kind: str,
    reason: str,
    message: str,
    role: Role = Role.MUTED,
) -> EventLine:
    """Return a line about a container, or about its whole pod."""
    pod_uid, container_name = container_of(entry)
    name = object_name(names, pod_uid, container_name)
    return EventLine(
        entry.sequence,
        entry.at,
        kind,
        reason,
        name,
        message,
        role=role,
        pod_uid=pod_uid,
        container_name=container_name,
    )


def _change_text(entry: StateEntry) -> str:
    subject = entry.subject.lower()
    match entry.what, entry.after:
        case StateField.HOLD, "on":
            return f"{subject} on hold until the container has restarted"
        case StateField.HOLD, _ if entry.cause is None:
            return f"{subject} hold released: the container was not killed"
        case StateField.HOLD, _:
            return f"{subject} hold released by a new container ID"
        case StateField.RESULT, after:
            initial = "" if entry.before else " (initial value)"
            return f"{subject} := {after}{initial}"
        case StateField.EXEC, after:
            return f"exec by another client: {after}"
        case _, after:
            return f"{entry.before or 'none'} -> {after}"


MIN_LINES = 100_000
MAX_CHARACTERS = 32 << 20
"""Of all messages; beyond it lines are evicted even below `MIN_LINES`."""


class EventLineBuffer:
    """Lines numbered from 0; a line keeps its number when older ones are evicted.

    It has one owner, who adds to it. The session's record has every line.

    Args:
        least: this many of the newest lines are kept,
        most_characters: unless their messages are longer than that.
    """

    def __init__(
        self, least: int = MIN_LINES, *, most_characters: int = MAX_CHARACTERS
    ) -> None:
        self._least = least
        self._most_characters = most_characters
        self._characters = 0
        self._lines: list[EventLine] = []
        self.evicted = 0
        """How many of the oldest lines were evicted."""

    def __len__(self) -> int:
        """Return how many lines are there."""
        return len(self._lines)

    def __iter__(self) -> Iterator[EventLine]:
        """Yield the lines that are there, oldest first."""
        return iter(self._lines)

    @property
    def total(self) -> int:
        """How many lines there have ever been."""
        return self.evicted + len(self._lines)

    def extend(self, lines: Iterable[EventLine]) -> None:
        """Add lines, and evict old ones, many at a time."""
        size = len(self._lines)
        self._lines += lines
        self._characters += sum(len(line.message) for line in self._lines[size:])
        excess = len(self._lines) - self._least
        if excess > self._least // 10:
            self._evict(excess)
        while self._characters > self._most_characters:
            self._evict(max(len(self._lines) // 10, 1))

    def _evict(self, count: int) -> None:
        self._characters -= sum(len(line.message) for line in self._lines[:count])
        del self._lines[:count]
        self.evicted += count

    def since(self, number: int) -> list[EventLine]:
        """Return the lines from a number on, as far as they are there."""
        return self._lines[max(number - self.evicted, 0) :]

    @property
    def oldest(self) -> int:
        """The sequence number of the oldest line that is there, 0 if none is."""
        return self._lines[0].sequence if self._lines else 0
