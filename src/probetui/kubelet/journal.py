"""The journal: an ordered log of events for screen, plain output and records.

Every entry has a sequence number that grows by one, and the instant it happened.

A tick has parts: its timing, its outcome (`Probed`, or why it did not probe), the
worker's run, stored result and hold around it, and `Overridden`, which hooks return and
no part of the kubelet reads. Sessions keep ticks by the thousand, and none can be part
of a reference cycle: the garbage collector does not track them (`gc=False`).
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from enum import StrEnum

from msgspec import Struct

from probetui.k8s.event import Event
from probetui.k8s.probe import ProbeKey, ProbeType
from probetui.k8s.runtime import ContainerID, Listeners, LogLine, SocketAddress
from probetui.k8s.status import PodStatus
from probetui.kubelet.outcome import Attempt, PeerBehavior, Result


class Skip(StrEnum):
    """Why a tick did not probe, although the worker continues."""

    NO_STATUS = "no-status"
    CONTAINER_MISSING = "container-missing"
    ON_HOLD = "on-hold"
    NOT_RUNNING = "not-running"
    INITIAL_DELAY = "initial-delay"
    NOT_STARTED = "not-started"
    ALREADY_STARTED = "already-started"


class Exit(StrEnum):
    """Why a tick was the worker's last."""

    POD_ENDED = "pod-ended"
    CONTAINER_WILL_NOT_RESTART = "container-will-not-restart"
    POD_DELETED = "pod-deleted"
    STOPPED = "stopped"


class Trigger(StrEnum):
    """The trigger of a tick."""

    PERIODIC = "periodic"
    READINESS = "readiness"
    USER = "user"


class TickAction(StrEnum):
    """The consequence of a tick; WOULD_KILL if this kubelet does not act."""

    NONE = "no-action"
    DISCARDED = "discarded"
    KILL = "kill"
    WOULD_KILL = "would-kill"
    READY = "ready"
    NOT_READY = "not-ready"
    STARTED = "started"
    MUTED = "muted"


class Gate(Struct, frozen=True):
    """One check of a tick, in the kubelet's order, and its answer."""

    name: str
    value: str
    passed: bool


class TickTiming(Struct, frozen=True, gc=False):
    """When a tick fired, and for how long it ran.

    `period_seconds` is the probe's at the tick, 0 in records without it. `late_drops`
    counts the ticks dropped because this one was consumed late; those dropped for a
    slow probe follow from its duration.
    """

    started_at: datetime
    duration: timedelta = timedelta()
    period_seconds: int = 0
    late_drops: int = 0


class Probed(Struct, frozen=True, gc=False):
    """The outcome of a tick that probed.

    `result` is None where the probe could not be run. `action` is `MUTED` if the result
    would have had consequences but was withheld.
    """

    attempts: tuple[Attempt, ...]
    result: Result | None
    action: TickAction


class TickRun(Struct, frozen=True, gc=False):
    """The worker's run of equal results after a tick.

    `threshold` is the one that applies to the tick's result. `doubt` is why the run may
    be longer, for a tick observed from outside.
    """

    count: int
    threshold: int
    doubt: str = ""


class StoredChange(Struct, frozen=True, gc=False):
    """The stored result before and after a tick."""

    before: Result | None
    after: Result | None


class HoldChange(Struct, frozen=True, gc=False):
    """Whether the worker was on hold before and after a tick."""

    before: bool
    after: bool


class Overridden(Struct, frozen=True, gc=False):
    """What a debugger changed of a tick; the kubelet passes it on unread.

    `injected` says that the result replaces a run, `muted` that results are withheld.
    `delay` was added to each attempt. `held` is how long a pause held the tick.
    """

    injected: bool = False
    muted: bool = False
    delay: timedelta = timedelta()
    held: timedelta = timedelta()


NOT_OVERRIDDEN = Overridden()

NO_INSTANT = datetime(1970, 1, 1, tzinfo=UTC)
"""The instants of a tick without them."""


class TickEntry(Struct, frozen=True, gc=False):
    """One tick of a worker, probed or skipped; written at its end.

    `at` is when it was over. `n` counts the ticks of this worker from 1.
    `new_container` says that this tick was the first to see its container.
    """

    sequence: int
    at: datetime
    key: ProbeKey
    n: int
    trigger: Trigger
    timing: TickTiming
    container_id: ContainerID
    new_container: bool
    gates: tuple[Gate, ...]
    outcome: Probed | Skip | Exit
    run: TickRun
    stored: StoredChange
    hold: HoldChange
    overridden: Overridden = NOT_OVERRIDDEN

    @property
    def skip(self) -> Skip | None:
        """Why the tick did not probe, although the worker continues."""
        return self.outcome if isinstance(self.outcome, Skip) else None

    @property
    def exit(self) -> Exit | None:
        """Why the tick was the worker's last."""
        return self.outcome if isinstance(self.outcome, Exit) else None

    @property
    def attempts(self) -> tuple[Attempt, ...]:
        """The runs of the handler, none if the tick did not probe."""
        return self.outcome.attempts if isinstance(self.outcome, Probed) else ()

    @property
    def result(self) -> Result | None:
        """The result that was counted."""
        return self.outcome.result if isinstance(self.outcome, Probed) else None

    @property
    def action(self) -> TickAction:
        """The consequence, none if the tick did not probe."""
        if isinstance(self.outcome, Probed):
            return self.outcome.action
        return TickAction.NONE

    @property
    def is_observed(self) -> bool:
        """Whether it was a kubelet's elsewhere, and is known from outside."""
        return bool(self.gates) and self.gates[0].name == "source"

    @property
    def or_newer(self) -> bool:
        """Whether it is of its instance or of one after it: no status had told."""
        return self.is_observed and self.gates[-1].name == "instance"

    @property
    def routine(self) -> TickEntry:
        """The tick without what differs between ticks of a probe that find the same.

        These are its numbers, instants and durations, the attempts, and the count of
        the run.
        """
        timing, outcome, run = self.timing, self.outcome, self.run
        if isinstance(outcome, Probed):
            outcome = Probed((), outcome.result, outcome.action)
        return TickEntry(
            0,
            NO_INSTANT,
            self.key,
            0,
            self.trigger,
            TickTiming(
                NO_INSTANT, timedelta(), timing.period_seconds, timing.late_drops
            ),
            self.container_id,
            self.new_container,
            self.gates,
            outcome,
            TickRun(0, run.threshold, run.doubt),
            self.stored,
            self.hold,
            self.overridden,
        )


class DryRunEntry(Struct, frozen=True):
    """A dry run: a probe whose result is shown and not counted.

    `result` is None where the probe could not be run.
    """

    sequence: int
    at: datetime
    key: ProbeKey
    container_id: ContainerID
    started_at: datetime
    duration: timedelta
    attempts: tuple[Attempt, ...]
    result: Result | None


class EventEntry(Struct, frozen=True):
    """An event as a cluster would record it; `tick` is the tick that caused it."""

    sequence: int
    at: datetime
    event: Event
    tick: TickEntry | None = None


class StateField(StrEnum):
    """The changed property of a pod or container."""

    READY = "ready"
    STARTED = "started"
    HOLD = "hold"
    RESULT = "result"
    PHASE = "phase"
    CONDITION = "condition"
    EXEC = "exec"
    SAMPLED = "sampled"
    """Its readiness may have been another between two samples."""


class StateEntry(Struct, frozen=True):
    """A change that a cluster does not show, or shows only in a status.

    `cause` is the sequence number of the tick behind it. `subject` names the probe
    type or the condition, where there is one. For an exec of another client, `after` is
    the command. `not_before` is the sample before the one at `at`.
    """

    sequence: int
    at: datetime
    pod_uid: str
    container_name: str
    subject: str
    what: StateField
    before: str
    after: str
    cause: int | None = None
    not_before: datetime | None = None

    @property
    def not_after(self) -> datetime:
        """The instant of the sample that shows it."""
        return self.at


class LifecycleStep(StrEnum):
    """A step in the life of a container instance.

    GONE is an instance that ran when it was last seen. WOULD_STOP and WOULD_START are
    journaled where this kubelet does not act.
    """

    CREATED = "created"
    STARTED = "started"
    STOPPING = "stopping"
    KILLED = "killed"
    EXITED = "exited"
    REMOVED = "removed"
    GONE = "gone"
    WOULD_STOP = "would-stop"
    WOULD_START = "would-start"


class ExitCause(StrEnum):
    """What caused a container's end."""

    LIVENESS = "liveness"
    STARTUP = "startup"
    ITSELF = "itself"
    USER = "user"
    DELETE = "delete"
    DEFINITION = "definition"
    POD = "pod"
    POST_START_HOOK = "post-start-hook"
    """Its own postStart hook failed; in old records that is POD."""
    RESTART_ALL = "restart-all"
    """Another container's exit, by its rule."""
    UNSEEN = "unseen"
    """It ended before it was watched."""
    UNCERTAIN = "uncertain"
    """A probe may have asked for it: the order of results is not known."""
    UNKNOWN = "unknown"
    """No probe asked for it; somebody else may have, without a trace."""


PROBE_CAUSES = {
    ExitCause.LIVENESS: ProbeType.LIVENESS,
    ExitCause.STARTUP: ProbeType.STARTUP,
}
"""The types of the probes that ask for an end."""


class ContainerEntry(Struct, frozen=True):
    """A step in the life of one container instance.

    `grace_period_seconds` is set while stopping and for an end that was asked for;
    `grace_source` says where it came from ("pod", "liveness probe", …). `not_before`
    and `not_after` are set where `at` is not known, but between them. `or_newer` marks
    a stop that is of this instance or of one after it: no status tells yet.
    """

    sequence: int
    at: datetime
    pod_uid: str
    container_name: str
    container_id: ContainerID
    restart_count: int
    what: LifecycleStep
    exit_code: int | None = None
    signal: int | None = None
    oom_killed: bool = False
    grace_period_seconds: int | None = None
    grace_source: str = ""
    by: ExitCause | None = None
    reason: str = ""
    not_before: datetime | None = None
    not_after: datetime | None = None
    or_newer: bool = False

    @property
    def earliest(self) -> datetime:
        """The earliest instant that it may have been at."""
        return self.not_before or self.at

    @property
    def latest(self) -> datetime:
        """The latest instant that it may have been at."""
        return self.not_after or self.at


class StoppingSnapshot(Struct, frozen=True):
    """The stop of a container in progress."""

    since: datetime
    grace_period_seconds: int
    grace_source: str
    by: ExitCause


class LastExit(Struct, frozen=True):
    """The exit of this instance or of the one before it."""

    at: datetime
    exit_code: int
    by: ExitCause
    reason: str
    oom_killed: bool
    container_id: ContainerID


class BackoffEntry(Struct, frozen=True):
    """The crash-loop back-off decision about the start of a container.

    `window` is the whole wait in force (zero: none yet), `since` the end of the exited
    instance from which it is counted (None: there is none), `until` the end of the wait
    if the container waits, and `latest` the latest instant of the restart after it,
    None in old records. `next_window` is that of the next restart.
    """

    sequence: int
    at: datetime
    pod_uid: str
    container_name: str
    window: timedelta
    since: datetime | None
    waits: bool
    until: datetime | None
    next_window: timedelta
    is_reset: bool = False
    latest: datetime | None = None

    @property
    def left(self) -> timedelta:
        """The remaining wait; zero if it was over when seen."""
        return max(self.until - self.at, timedelta()) if self.until else timedelta()


class StatusEntry(Struct, frozen=True):
    """A pod's whole status after a change."""

    sequence: int
    at: datetime
    pod_uid: str
    status: PodStatus


class UserEntry(Struct, frozen=True):
    """A command of the user; `target` is text."""

    sequence: int
    at: datetime
    command: str
    target: str


class NoteEntry(Struct, frozen=True):
    """A note to the user, about the runtime or about probetui itself.

    `is_bookmark` marks the user's own note, `is_refusal` the answer to a command that
    was not carried out. `pod_uid` is that of the pod that it warns of, if any.
    """

    sequence: int
    at: datetime
    text: str
    is_fault: bool = False
    is_bookmark: bool = False
    is_refusal: bool = False
    pod_uid: str = ""


class ListenersEntry(Struct, frozen=True):
    """Where a container listens, looked up because a probe's connection was refused.

    `refused_at` is where the probe went, `cause` the sequence number of its tick or
    try. `listeners` is None if they cannot be read; `problem` is the reason.
    """

    sequence: int
    at: datetime
    key: ProbeKey
    container_id: ContainerID
    refused_at: SocketAddress
    listeners: Listeners | None
    problem: str = ""
    cause: int | None = None


class FindingEntry(Struct, frozen=True):
    """A finding about a probe that ran; journaled once per probe.

    `rule` is the name of the finding, `path` its field of the pod and `place` the
    position of the field in the manifest, empty if unknown. `cause` is the sequence
    number of the tick or try that showed it.
    """

    sequence: int
    at: datetime
    key: ProbeKey
    rule: str
    path: str
    message: str
    place: str = ""
    cause: int | None = None


class LastOutputEntry(Struct, frozen=True):
    """What an instance printed last, read from its log once it had exited.

    `lines` is None if the log cannot be read; `problem` is the reason. `message` is the
    termination message.
    """

    sequence: int
    at: datetime
    pod_uid: str
    container_name: str
    container_id: ContainerID
    restart_count: int
    lines: tuple[LogLine, ...] | None
    message: str = ""
    problem: str = ""


class HookType(StrEnum):
    """The lifecycle hooks, as a manifest names them."""

    POST_START = "postStart"
    PRE_STOP = "preStop"


class HookEntry(Struct, frozen=True):
    """A lifecycle hook has started, or has ended.

    While it runs, `ended_at` is None. `error` is why it failed; the exit code of a
    command is in it. `output` is what a command printed, or what a server answered;
    without an answer, `peer` is what the server did, where the error does not say so.
    """

    sequence: int
    at: datetime
    pod_uid: str
    container_name: str
    container_id: ContainerID
    hook: HookType
    started_at: datetime
    ended_at: datetime | None = None
    error: str | None = None
    output: str = ""
    peer: PeerBehavior | None = None


class UnfinishedTickEntry(Struct, frozen=True):
    """A tick began at `started_at` and has not ended.

    It is written once its probe has run for longer than its timeout, or when the
    session ends before it; the tick of a calm session has none.
    """

    sequence: int
    at: datetime
    key: ProbeKey
    container_id: ContainerID
    started_at: datetime
    timeout_seconds: int

    @property
    def is_overdue(self) -> bool:
        """Whether its timeout is over."""
        return (self.at - self.started_at).total_seconds() > self.timeout_seconds


class PodGoneEntry(Struct, frozen=True):
    """A pod is gone: none of it runs or will run."""

    sequence: int
    at: datetime
    pod_uid: str


JournalEntry = (
    TickEntry
    | DryRunEntry
    | EventEntry
    | StateEntry
    | ContainerEntry
    | BackoffEntry
    | StatusEntry
    | UserEntry
    | NoteEntry
    | ListenersEntry
    | FindingEntry
    | LastOutputEntry
    | HookEntry
    | UnfinishedTickEntry
    | PodGoneEntry
)
