"""The event log: journal entries as lines, of which the newest stay in memory.

Two kinds of line: events as a cluster records them, and lines of state, which a
cluster never shows. What probetui adds to an event is kept apart from its message. A
line says which row of the story it belongs to; `story.py` puts the rows together.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from operator import attrgetter
from types import MappingProxyType

from msgspec import Struct, field
from msgspec.structs import replace

from probetui.analysis.event_aggregation import ClusterEvents
from probetui.analysis.findings import finding_text, severity_of
from probetui.analysis.timeline import is_warning
from probetui.durations import format_age, format_duration
from probetui.k8s.event import EventType
from probetui.k8s.pod import Pod
from probetui.k8s.probe import ProbeType
from probetui.k8s.runtime import NO_CONTAINER, ContainerID
from probetui.k8s.service import Service
from probetui.kubelet.journal import (
    PROBE_CAUSES,
    BackoffEntry,
    ContainerEntry,
    DryRunEntry,
    EventEntry,
    ExitCause,
    FindingEntry,
    HookEntry,
    JournalEntry,
    LastOutputEntry,
    LifecycleStep,
    ListenersEntry,
    NoteEntry,
    PodGoneEntry,
    StateEntry,
    StateField,
    TickAction,
    TickEntry,
    UnfinishedTickEntry,
    UserEntry,
)
from probetui.kubelet.kuberuntime.restart import InstantRange
from probetui.kubelet.outcome import INITIAL_RESULT, Result
from probetui.kubelet_rules import KubeletRules
from probetui.manifest.problem import Severity
from probetui.presentation.container.back_off import format_due, range_of_wait
from probetui.presentation.container.evidence import (
    hook_outcome,
    hook_text,
    last_line,
    unfinished_text,
)
from probetui.presentation.container.exits import (
    exit_cause,
    first_signal_text,
    format_exit,
    is_failure,
    stop_reason_text,
)
from probetui.presentation.container.table import (
    ContainerBoundEntry,
    container_of,
    object_name,
)
from probetui.presentation.probe.endpoints import endpoints_text
from probetui.presentation.probe.refusals import refusal_text
from probetui.presentation.text.cells import all_lines
from probetui.presentation.text.spans import Role
from probetui.presentation.text.view import View
from probetui.presentation.tick.report import report_tick, run_count

_IN_A_STATUS = {
    StateField.READY,
    StateField.STARTED,
    StateField.HOLD,
    StateField.RESULT,
    StateField.PHASE,
}
_WARNING = "warning"
_GONE = "the pod has ended for good: nothing of it runs"
_KEPT_TO_ITSELF = {*_IN_A_STATUS, StateField.EXEC}


_ROLES = {
    Severity.ERROR: Role.ERROR,
    Severity.WARNING: Role.WARNING,
    Severity.NOTE: Role.MUTED,
}


_FAULTS = frozenset({Role.WARNING, Role.ERROR, Role.KILL, Role.RESTART})


class EventLine(Struct, frozen=True):
    """One line of the log, in cells; texts are as they came, not yet made safe.

    `type` is Normal, Warning, or `state`, `user`, `note`, `finding` for what a cluster
    does not show. `note` is probetui's own addition. `tick` is the tick behind it; in a
    log, which would take three times as much, it is left out, and `tick_sequence` is
    its number. Without a pod it is of the session.

    In the story `row` is the sequence number of the first line of its row, `word` what
    stands out there (`KILL`, `EXIT 137`) and `words` the message beside it; without
    them the line adds to its row and says nothing new. `count` is the place of a
    failure in its run (`2/3`). `is_state` marks a line that the story leaves out, and
    `is_late` one of a probe whose container had exited meanwhile. A line that `recurs`
    may come any number of times: its row stands where it came last.
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
    pod_uid: str = ""
    container_name: str = ""
    tick_sequence: int = 0
    row: int = 0
    word: str = ""
    words: str = ""
    count: str = ""
    is_state: bool = False
    is_late: bool = False
    recurs: bool = False

    @property
    def is_fault(self) -> bool:
        """Whether it reports a problem."""
        return self.role in _FAULTS

    @property
    def is_cluster_event(self) -> bool:
        """Whether a cluster would record it too."""
        return self.type in {EventType.NORMAL, EventType.WARNING}


class EventLog:
    """Turns entries into lines as they come; remembers what belongs together.

    It has one owner, who feeds it every entry once, in order. `rules` are those of the
    kubelet's version, `services` those of the manifests.
    """

    def __init__(self, rules: KubeletRules, services: tuple[Service, ...] = ()) -> None:
        self._rules = rules
        self._services = services
        self._containers: dict[tuple[str, str], _Threads] = {}
        self.cluster = ClusterEvents()
        self.warnings = 0
        self.normals = 0
        self.warned: frozenset[str] = frozenset()
        """The UIDs of the pods of whose manifests the program warned."""

    def add_entry(
        self,
        entry: JournalEntry,
        names: Mapping[str, str],
        pods: Mapping[str, Pod] = MappingProxyType({}),
    ) -> EventLine | None:
        """Return the line for an entry, or None if it has none.

        `names` says what to call each pod and `pods` what is in it, both by UID;
        without the pod, nothing is said of a preStop hook.
        """
        line = self._line(entry, names, pods)
        if line is None or line.row:
            return line
        return replace(line, row=line.sequence)

    def _line(  # noqa: C901, PLR0912  # one arm per kind
        self, entry: JournalEntry, names: Mapping[str, str], pods: Mapping[str, Pod]
    ) -> EventLine | None:
        match entry:
            case TickEntry(key=key):
                return self._threads_of(key[:2]).take_tick(entry, names)
            case EventEntry():
                return self._event(entry, names)
            case StateEntry(what=what) if what in _KEPT_TO_ITSELF:
                return self._state(entry, names, pods.get(entry.pod_uid))
            case ContainerEntry():
                pod = pods.get(entry.pod_uid)
                return self._container(entry, names, pod)
            case BackoffEntry():
                return self._backoff(entry, names)
            case UserEntry():
                return _user(entry)
            case DryRunEntry():
                return _dry_run(entry, names)
            case NoteEntry():
                return self._note(entry, names)
            case ListenersEntry():
                return _line(entry, names, "state", "refused", refusal_text(entry))
            case FindingEntry(rule=rule):
                role = _ROLES[severity_of(rule)]
                return _line(entry, names, "finding", rule, finding_text(entry), role)
            case LastOutputEntry():
                return self._last_output(entry, names)
            case HookEntry():
                return _hook(entry, names)
            case UnfinishedTickEntry(key=key) if entry.is_overdue:
                text = f"{key.probe_type.lower()} probe {unfinished_text(entry)}"
                return _line(entry, names, "state", "unfinished", text, Role.WARNING)
            case PodGoneEntry():
                return _line(entry, names, "state", "gone", _GONE, Role.PLAIN)
            case _:
                return None

    def _note(self, entry: NoteEntry, names: Mapping[str, str]) -> EventLine:
        role = Role.ERROR if entry.is_fault else Role.MUTED
        reason, text = "bookmark" if entry.is_bookmark else "", entry.text
        if entry.pod_uid:
            self.warned |= {entry.pod_uid}
            role, reason = Role.WARNING, _WARNING
            text = text.removeprefix(f"{_WARNING}: ")
        return EventLine(
            entry.sequence,
            entry.at,
            "note",
            reason,
            names.get(entry.pod_uid, ""),
            text,
            role=role,
            pod_uid=entry.pod_uid,
        )

    def _threads_of(self, container: tuple[str, str]) -> _Threads:
        return self._containers.setdefault(container, _Threads())

    def _event(self, entry: EventEntry, names: Mapping[str, str]) -> EventLine:
        event = entry.event
        threads = self._threads_of((event.pod_uid, event.container_name))
        self.cluster.add_event(entry, threads.restarts)
        is_warning = event.type is EventType.WARNING
        self.warnings += is_warning
        self.normals += not is_warning
        role = Role.WARNING if is_warning else Role.PLAIN
        shown = _line(entry, names, event.type, event.reason, event.message, role)
        shown = replace(shown, tick=entry.tick)
        if entry.tick is not None:
            return threads.of_a_probe(shown, entry.tick)
        if not event.container_name:
            return threads.of_the_pod(shown)
        return threads.of_the_container(shown)

    def _state(
        self, entry: StateEntry, names: Mapping[str, str], pod: Pod | None
    ) -> EventLine:
        text = _change_text(entry)
        shown = _line(entry, names, "state", entry.what, text)
        if entry.what not in _IN_A_STATUS:
            return shown
        tick = self._threads_of((entry.pod_uid, entry.container_name)).take_change(
            entry
        )
        if tick is None:
            return replace(shown, is_state=True)
        word, role = _CHANGES[tick.action]
        verb = "succeeded" if tick.result is Result.SUCCESS else "failed"
        kind = tick.key.probe_type.lower()
        words = f"{kind} {verb} {_run(tick)}{_override(tick)}"
        if tick.action is not TickAction.STARTED:
            is_ready = tick.action is TickAction.READY
            words += f": {endpoints_text(pod, self._services, is_ready=is_ready)}"
        return replace(shown, word=word, words=words, role=role)

    def _container(
        self, entry: ContainerEntry, names: Mapping[str, str], pod: Pod | None
    ) -> EventLine | None:
        threads = self._threads_of((entry.pod_uid, entry.container_name))
        threads.restarts = entry.restart_count
        self._threads_of((entry.pod_uid, "")).last_event = None
        match entry.what:
            case LifecycleStep.STOPPING:
                reason, message = "stop", _stopping(entry, pod)
                grace = (
                    f" (grace of the {source})"
                    if (source := entry.grace_source)
                    else ""
                )
                words = f"{threads.cause(entry.by)}; {_signals(entry, pod)}{grace}"
                shown = _line(entry, names, "state", reason, message)
                return threads.of_a_kill(shown, entry.by, words)
            case LifecycleStep.EXITED:
                threads.ended(entry)
                shown = _line(entry, names, "state", "exit", format_exit(entry))
                role = Role.KILL if is_failure(entry) else Role.STRONG
                word = f"EXIT {'?' if entry.exit_code is None else entry.exit_code}"
                threads.exit_line = replace(
                    shown, word=word, words=exit_cause(entry), role=role
                )
                return threads.exit_line
            case LifecycleStep.GONE:
                reason, message = "gone", "disappeared from the runtime while it ran"
            case LifecycleStep.WOULD_STOP:
                message = f"watch only: {_stopping(entry, pod)}"
                shown = _line(entry, names, "state", "would stop", message)
                words = f"{threads.cause(entry.by)}; watch only, no action"
                return replace(shown, word="WOULD KILL", words=words, role=Role.RESTART)
            case LifecycleStep.WOULD_START:
                restart = f"restart {entry.restart_count}"
                reason, message = "would start", f"watch only: {restart}"
            case _:
                return None
        return _line(entry, names, "state", reason, message)

    def _last_output(
        self, entry: LastOutputEntry, names: Mapping[str, str]
    ) -> EventLine | None:
        """Return what an instance printed last, in the row of its exit."""
        if entry.lines is None:
            text = f"its last output could not be read: {entry.problem}"
        else:
            text = last_line(entry)
        if not text:
            return None
        shown = _line(entry, names, "state", "output", text)
        threads = self._threads_of((entry.pod_uid, entry.container_name))
        exited = threads.exit_line
        if exited is None or threads.exited_id != entry.container_id:
            return shown
        return replace(
            shown,
            row=exited.sequence,
            word=exited.word,
            words=f"{exited.words}: {text}",
            role=exited.role,
        )

    def _backoff(
        self, entry: BackoffEntry, names: Mapping[str, str]
    ) -> EventLine | None:
        """Return the line, but only one for each wait: it is asked about many times."""
        threads = self._threads_of((entry.pod_uid, entry.container_name))
        is_known = entry.waits and entry.until == threads.until
        threads.until = entry.until
        if is_known:
            return None
        due = range_of_wait(entry, self._rules)
        shown = _line(entry, names, "state", "backoff", format_backoff(entry, due))
        return threads.of_back_off(shown, entry, due)


_CHANGES = {
    TickAction.READY: ("READY", Role.SUCCESS),
    TickAction.NOT_READY: ("NOT READY", Role.RESTART),
    TickAction.STARTED: ("STARTED", Role.SUCCESS),
}
_CHANGED = {
    StateField.READY: {TickAction.READY, TickAction.NOT_READY},
    StateField.STARTED: {TickAction.STARTED},
}
_BEFORE_A_START = {"Pulling", "Pulled", "Created"}
_LONG_PULL = timedelta(seconds=1)
_HALF_A_SECOND = timedelta(seconds=0.5)
_ORDERLY = {
    ExitCause.DELETE,
    ExitCause.DEFINITION,
    ExitCause.POD,
    ExitCause.RESTART_ALL,
}
_FAILURES_KEPT = 32
_AT_ONCE = timedelta(seconds=3)
"""A restart that follows so soon has not waited; statuses have whole seconds."""

_BACK_OFF = "Back-off restarting"
_PULL_FAILED, _PULL_BACK_OFF = "Failed to pull image", "Back-off pulling image"
_PULL_ERRORS = frozenset(
    f"Error: {reason}"
    for reason in ("ErrImagePull", "ImagePullBackOff", "RegistryUnavailable")
)
PULL = "PULL"
"""The headline of pulls that fail, of which all are one row."""

_LONGEST_COMMAND = 12
"""Cells for what happened in the narrowest log."""


class _Threads(Struct):
    """What of one container is under way in the log; rows are sequence numbers.

    `runs` has the row of a run of failures, or of errors, of each probe, and which of
    both it is, `rows_of_ticks` that of each failure that was observed, of which an
    event may come later or not at all. `waited` is the window of the last wait.
    `pull_row` has the pulls that failed since the last one that did not, `warning_rows`
    what keeps the container from starting, by reason and message. Of a pod,
    `last_event` is the last event.
    """

    restarts: int = 0
    until: datetime | None = None
    waited: timedelta | None = None
    starts_after: str = ""
    kill_tick: TickEntry | None = None
    change_tick: TickEntry | None = None
    runs: dict[ProbeType, tuple[str, int]] = field(default_factory=dict)
    rows_of_ticks: dict[int, int] = field(default_factory=dict)
    exited_at: datetime | None = None
    exited_id: ContainerID = NO_CONTAINER
    exit_line: EventLine | None = None
    start_row: int = 0
    start_at: datetime | None = None
    kill_row: int = 0
    wait_row: int = 0
    pull_row: int = 0
    warning_rows: dict[tuple[str, str], int] = field(default_factory=dict)
    last_event: tuple[str, str] | None = None
    last_event_row: int = 0

    def take_tick(self, tick: TickEntry, names: Mapping[str, str]) -> EventLine | None:
        """Remember a tick that has consequences; a success ends a run of failures.

        Returns the line of a failure that was observed: its event may be lost.
        """
        if tick.result is Result.SUCCESS and not is_warning(tick):
            self.runs.pop(tick.key.probe_type, None)
        if tick.action in {TickAction.KILL, TickAction.WOULD_KILL}:
            self.kill_tick = tick
        if tick.action in _CHANGES:
            self.change_tick = tick
        if tick.result is not Result.FAILURE or not tick.is_observed:
            return None
        shown = self.of_a_probe(_observed(tick, names), tick)
        self.rows_of_ticks[tick.sequence] = shown.row
        if len(self.rows_of_ticks) > _FAILURES_KEPT:
            del self.rows_of_ticks[next(iter(self.rows_of_ticks))]
        return shown

    def take_change(self, entry: StateEntry) -> TickEntry | None:
        """Return the tick behind a change of a status, None if it is another's."""
        tick = self.change_tick
        if tick is None or (tick.at != entry.at and entry.cause != tick.sequence):
            return None
        return tick if tick.action in _CHANGED.get(entry.what, ()) else None

    def of_a_probe(self, line: EventLine, tick: TickEntry) -> EventLine:
        """Return a failure, an error or a warning in the row of its run."""
        report = report_tick(tick)
        kind, count = "failure", f"{run_count(tick)}/{tick.run.threshold}"
        if tick.result is None:
            kind, count = "error", ""
        elif is_warning(tick):
            kind, count = "warning", ""
        known, row = self.runs.get(tick.key.probe_type, ("", 0))
        if tick.sequence in self.rows_of_ticks:
            row = self.rows_of_ticks[tick.sequence]
        elif known != kind or (kind == "failure" and tick.run.count == 1):
            row = line.sequence
        self.runs[tick.key.probe_type] = kind, row
        effects = [what for what, holds in _OVERRIDES.items() if holds(tick)]
        if tick.action in {TickAction.MUTED, TickAction.NOT_READY}:
            effects.append(_EFFECTS[tick.action])
        is_late = tick.container_id == self.exited_id != NO_CONTAINER
        if is_late:
            effects.append("the instance had exited")
        prefix = f"{', '.join(effects)}: " if effects else ""
        return replace(
            line,
            is_late=is_late,
            note=report.note,
            row=row,
            word=kind,
            words=f"{prefix}{_with_exit_code(line.message, tick)}",
            count=count,
        )

    def of_the_pod(self, line: EventLine) -> EventLine:
        """Return an event of the pod; what is said again is in the row of the first."""
        if self.last_event != (line.reason, line.message):
            self.last_event, self.last_event_row = (
                (line.reason, line.message),
                line.sequence,
            )
        return replace(line, row=self.last_event_row, recurs=True)

    def of_the_container(self, line: EventLine) -> EventLine:
        """Return an event of the container in the row of its start, kill or wait."""
        if (pull := self._of_a_failed_pull(line)) is not None:
            return pull
        match line.reason:
            case "Started":
                self.warning_rows.clear()
                row = self.start_row or line.sequence
                note = f"restart {self.restarts}" if self.restarts else ""
                word = f"RESTART {self.restarts}" if self.restarts else "START"
                role = Role.RESTART if self.restarts else Role.STRONG
                words = self.starts_after or self._observed_start(line)
                self.start_row, self.starts_after, self.waited = 0, "", None
                return replace(
                    line, row=row, note=note, word=word, words=words, role=role
                )
            case reason if reason in _BEFORE_A_START:
                self.pull_row = 0
                if not self.start_row:
                    self.start_row, self.start_at = line.sequence, line.at
                row, pull_time = self.start_row, line.at - (self.start_at or line.at)
                if line.reason == "Pulled" and pull_time >= _LONG_PULL:
                    # What comes after a pull that took its time is another row.
                    self.start_row = 0
                return replace(line, row=row)
            case "Killing":
                self.kill_row = line.sequence
                is_stop = line.message.startswith("Stopping")
                word = "STOP" if is_stop else "KILL"
                role = Role.STRONG if is_stop else Role.KILL
                return replace(line, word=word, words=line.message, role=role)
            case "BackOff" if line.message.startswith(_BACK_OFF):
                self.wait_row = self.wait_row or line.sequence
                return replace(line, row=self.wait_row, role=Role.KILL)
            case _ if line.type == EventType.WARNING:
                self.start_row = 0
                kind = line.reason, line.message
                row = self.warning_rows.setdefault(kind, line.sequence)
                return replace(line, row=row, recurs=True)
            case _:
                return line

    def _of_a_failed_pull(self, line: EventLine) -> EventLine | None:
        """Return an event in the row of the pulls that fail, None for another event."""
        match line.reason, line.message:
            case "Failed", message if message.startswith(_PULL_FAILED):
                self.pull_row = self.pull_row or self.start_row or line.sequence
                self.start_row = 0
                line = replace(line, word=PULL, words=_pull_problem(message))
            case "BackOff", message if message.startswith(_PULL_BACK_OFF):
                if not self.pull_row:  # watched from here on
                    self.pull_row = line.sequence
                    line = replace(line, word=PULL, words=message)
            case ("Failed", message) if message in _PULL_ERRORS and self.pull_row:
                pass
            case "Pulling", _ if self.pull_row:
                pass
            case _:
                return None
        role = Role.KILL if line.word else line.role
        return replace(line, row=self.pull_row, role=role, recurs=True)

    def _observed_start(self, line: EventLine) -> str:
        """Return what is known of a start without a back-off entry."""
        if self.waited is not None:
            return f"after the back-off of {format_age(self.waited)}"
        if not self.restarts or self.exited_at is None:
            return line.message
        passed = max(line.at - self.exited_at, timedelta())
        no_wait = "no wait: " if passed <= _AT_ONCE else ""
        return f"{no_wait}{format_age(passed)} after the exit"

    def of_a_kill(self, line: EventLine, by: ExitCause | None, words: str) -> EventLine:
        """Return a stop in the row of its Killing event."""
        row, self.kill_row = self.kill_row, 0
        is_stop = by in _ORDERLY
        word, role = ("STOP", Role.STRONG) if is_stop else ("KILL", Role.KILL)
        return replace(line, row=row, word=word, words=words, role=role)

    def of_back_off(
        self, line: EventLine, entry: BackoffEntry, due: InstantRange | None
    ) -> EventLine:
        """Return a wait, or that there is none in the row of the start it allows."""
        if due is not None:
            self.wait_row = self.wait_row or line.sequence
            self.waited = entry.window
            word = f"BACK-OFF {format_age(entry.window)}"
            words = format_wait(entry, due)
            return replace(
                line, row=self.wait_row, word=word, words=words, role=Role.KILL
            )
        self.wait_row = 0
        self.start_row, self.start_at = line.sequence, line.at
        self.starts_after = format_no_wait(entry)
        if self.waited is not None:
            self.starts_after = f"after the back-off of {format_age(self.waited)}"
        # Until it has started, which takes a while on a busy engine.
        return replace(
            line, word="restarting", words=self.starts_after, role=Role.STRONG
        )

    def cause(self, by: ExitCause | None) -> str:
        """Return why a container is stopped: `liveness failed 3/3`."""
        tick = self.kill_tick
        if tick is None or by not in PROBE_CAUSES:
            return stop_reason_text(by) if by else "asked for"
        kind = tick.key.probe_type.lower()
        return f"{kind} failed {_run(tick)}{_override(tick)}"

    def ended(self, entry: ContainerEntry) -> None:
        """Forget what an instance had under way that has exited."""
        self.exited_at, self.exited_id = entry.at, entry.container_id
        self.runs.clear()
        self.warning_rows.clear()
        self.start_row = self.kill_row = self.wait_row = self.pull_row = 0
        self.kill_tick = self.change_tick = None


_OVERRIDES: Mapping[str, Callable[[TickEntry], object]] = {
    "injected": attrgetter("overridden.injected"),
    "delayed": attrgetter("overridden.delay"),
}
_EFFECTS = {TickAction.MUTED: "muted", TickAction.NOT_READY: "not ready"}


_AROUND_A_PROBLEM = re.compile(
    r"(?:[Ff]ailed to [^\"]*|Get|Head) \"[^\"]*\": |rpc error: code = \w+ desc = "
    r"|Error response from daemon: |dial tcp: (?=lookup )"
)
"""What image managers, runtimes and Go put before the problem of a pull."""

_LOOKUP = re.compile(r"\blookup (\S+?)(?: on \S+)?: ")


def _pull_problem(message: str) -> str:
    """Return why a pull failed: `registry.example.test: no such host`."""
    return _LOOKUP.sub(r"\1: ", _AROUND_A_PROBLEM.sub("", message))


def _with_exit_code(message: str, tick: TickEntry) -> str:
    """Return the message of a failure; without output, how the command ended in it."""
    last = tick.attempts[-1] if tick.attempts else None
    if last is None or last.output.strip():
        return message
    without = message.rstrip(": ")
    is_command = last.detail.startswith("exit ")
    return f"{without}: {last.detail}, no output" if is_command else without


def _run(tick: TickEntry) -> str:
    """Return the run against its threshold; one that goes on beyond it as a number."""
    if tick.run.count > tick.run.threshold:
        return f"{run_count(tick)} in a row"
    return f"{run_count(tick)}/{tick.run.threshold}"


def _override(tick: TickEntry) -> str:
    return "".join(f", {what}" for what, holds in _OVERRIDES.items() if holds(tick))


def format_backoff(entry: BackoffEntry, due: InstantRange | None) -> str:
    """Return what back-off said: `no wait (75s >= 10s), back-off now 20s`.

    If the container waits, its restart is `due`.
    """
    following = f"back-off now {format_age(entry.next_window)}"
    if due is not None:
        following = f"next back-off {format_age(entry.next_window)}"
        window = f"back-off {format_age(entry.window)}"
        return f"waits, restart {format_due(due, entry.at)}, {window}, {following}"
    if entry.since is None:
        return "no wait: no earlier exit"
    passed = format_age(entry.at - entry.since)
    if entry.is_reset:
        return f"no wait: back-off reset after {passed}, {following}"
    if not entry.window:
        return f"no wait: no back-off yet, {following}"
    return f"no wait ({passed} >= {format_age(entry.window)}), {following}"


def format_wait(entry: BackoffEntry, due: InstantRange) -> str:
    """Return what the story says of a wait: when it is over, and the next back-off."""
    window = format_age(entry.window)
    following = f"next back-off {format_age(entry.next_window)}"
    restart = format_due(due, entry.at)
    return f"restart {restart}: back-off {window} from the exit, {following}"


def format_no_wait(entry: BackoffEntry) -> str:
    """Return why a restart had not to wait, and how long the next one may."""
    after = entry.next_window
    following = f", next back-off {format_age(after)}" if after else ""
    if entry.since is None:
        return f"no wait: first restart{following}"
    if not entry.window and entry.at - entry.since < _HALF_A_SECOND:
        return f"no wait: no back-off yet{following}"
    passed = f"previous exit was {format_age(entry.at - entry.since)} ago"
    if entry.is_reset:
        return f"no wait: {passed}, back-off reset{following}"
    if not entry.window:
        return f"no wait: {passed}, no back-off yet{following}"
    return f"no wait: {passed}, back-off {format_age(entry.window)}{following}"


def _stopping(entry: ContainerEntry, pod: Pod | None) -> str:
    asked = stop_reason_text(entry.by) if entry.by else "asked for"
    source = f" ({entry.grace_source})" if entry.grace_source else ""
    return f"{_signals(entry, pod)}{source}, {asked}"


def _signals(entry: ContainerEntry, pod: Pod | None) -> str:
    """Return what a container is sent: `SIGTERM, SIGKILL in 30s`."""
    container = None if pod is None else pod.container(entry.container_name)
    first = first_signal_text(container, entry.grace_period_seconds)
    if entry.grace_period_seconds is None:
        return first
    return f"{first}, SIGKILL in {entry.grace_period_seconds}s"


def _observed(tick: TickEntry, names: Mapping[str, str]) -> EventLine:
    """Return a failure as it was counted, to which an event may add its output."""
    kind = tick.key.probe_type
    output = tick.attempts[-1].output
    text = f"{kind} probe failed{f': {output}' if output else ''}"
    shown = _line(tick, names, "state", "failed", text, Role.WARNING)
    return replace(shown, tick=tick)


def _user(entry: UserEntry) -> EventLine:
    """Return what a person did: `edit`, or `kill` of the `main process`."""
    command, target = entry.command, entry.target
    word, words = command, target
    if len(command) > _LONGEST_COMMAND:
        word, _, rest = command.partition(" ")
        words = f"{rest}: {target}"
    return EventLine(
        entry.sequence,
        entry.at,
        "user",
        command,
        "",
        target,
        word=word,
        words=words,
        role=Role.ACCENT,
    )


def _hook(entry: HookEntry, names: Mapping[str, str]) -> EventLine:
    """Return what a lifecycle hook did; the story leaves out all but failures."""
    outcome, text = hook_outcome(entry), hook_text(entry)
    message = f"{entry.hook} {outcome}{f': {text}' if text else ''}"
    has_failed = entry.error is not None
    shown = _line(
        entry,
        names,
        "state",
        "hook",
        message,
        Role.WARNING if has_failed else Role.MUTED,
    )
    return replace(shown, is_state=not has_failed)


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


_INITIAL = {str(kind): str(result) for kind, result in INITIAL_RESULT.items()}


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
            # A worker whose first tick probes stores that result at once.
            is_initial = not entry.before and after == _INITIAL.get(entry.subject)
            return f"{subject} := {after}{' (initial value)' if is_initial else ''}"
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


def format_event_line(entry: EventLine, view: View) -> str:
    """Return a line of the log as one text, to be copied."""
    parts = (
        view.times.stamp(entry.at),
        entry.type,
        entry.reason,
        entry.object,
        f"[{entry.note}]" if entry.note else "",
        entry.message.strip(),
    )
    words = " ".join(part for part in parts if part)
    return " ".join(all_lines(view.mask.text(words)))
