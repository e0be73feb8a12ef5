"""The journal: an ordered log of events for screen, plain output and records.

Every entry has a sequence number that grows by one, and the instant it happened.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from enum import StrEnum
from operator import itemgetter
from typing import NamedTuple

from msgspec import Struct

from probetui.k8s.event import Event
from probetui.k8s.probe import ProbeKey, ProbeType
from probetui.k8s.runtime import ContainerID, Listeners, SocketAddress
from probetui.k8s.status import PodStatus
from probetui.kubelet.outcome import Attempt, Result


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


class TickEntry(NamedTuple):
    """One tick of a worker, probed or skipped; written at its end.

    `at` is when it was over, `started_at` when the tick fired. `run` counts equal
    results in a row, `threshold` is the one that applies to `result`. `n` counts the
    ticks of this worker from 1. `new_container` says that this tick was the first to
    see its container. `muted` means that the user had results ignored; the action is
    `MUTED` if the result would have had consequences. `delay` is the delay of each
    attempt that the user set. `held` is how long a pause held the tick.
    `period_seconds` is the probe's at the tick, 0 in records without it. `late_drops`
    counts the ticks dropped because this one was consumed late; those dropped for a
    slow probe follow from its duration. `run_doubt` is why the run may be longer, for a
    tick observed from outside.
    """

    sequence: int
    at: datetime
    key: ProbeKey
    n: int
    trigger: Trigger
    started_at: datetime
    duration: timedelta
    container_id: ContainerID
    new_container: bool
    gates: tuple[Gate, ...]
    skip: Skip | None
    exit: Exit | None
    attempts: tuple[Attempt, ...]
    result: Result | None
    injected: bool
    run: int
    threshold: int
    stored_before: Result | None
    stored_after: Result | None
    hold_before: bool
    hold_after: bool
    action: TickAction
    muted: bool = False
    delay: timedelta = timedelta()
    held: timedelta = timedelta()
    period_seconds: int = 0
    late_drops: int = 0
    run_doubt: str = ""


_CHANGING = ("sequence", "at", "n", "started_at", "duration", "attempts", "run")
REPEATED = tuple(name for name in TickEntry._fields if name not in _CHANGING)
"""The fields of a tick that usually equal those of the probe's previous tick."""

repeated_fields = itemgetter(*map(TickEntry._fields.index, REPEATED))
"""Returns the values of these fields of a tick."""


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


class StateEntry(Struct, frozen=True):
    """A change that a cluster does not show, or shows only in a status.

    `cause` is the sequence number of the tick behind it. `subject` names the probe
    type or the condition, where there is one. For an exec of another client, `after` is
    the command.
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
    RESTART_ALL = "restart-all"
    """Another container's exit, by its rule."""
    UNSEEN = "unseen"
    """It ended before it was watched."""


PROBE_CAUSES = {
    ExitCause.LIVENESS: ProbeType.LIVENESS,
    ExitCause.STARTUP: ProbeType.STARTUP,
}
"""The types of the probes that ask for an end."""


class ContainerEntry(Struct, frozen=True):
    """A step in the life of one container instance.

    `grace_period_seconds` is set while stopping and for an end that was asked for;
    `grace_source` says where it came from ("pod", "liveness probe", …).
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

    `is_bookmark` marks the user's own note.
    """

    sequence: int
    at: datetime
    text: str
    is_fault: bool = False
    is_bookmark: bool = False


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
    | PodGoneEntry
)
