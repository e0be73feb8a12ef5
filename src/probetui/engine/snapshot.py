"""Snapshots: frozen values of the engine's state; unchanged parts are shared."""

from __future__ import annotations

from datetime import datetime, timedelta
from enum import StrEnum

from msgspec import Struct

from probetui.debugger.breakpoints import StopReason
from probetui.debugger.commands import BreakpointKind, Injected
from probetui.k8s.pod import Container, Pod
from probetui.k8s.probe import Probe, ProbeKey, ProbeType
from probetui.k8s.runtime import RuntimeCondition, StoredImage
from probetui.k8s.status import ContainerStatus, PodStatus
from probetui.kubelet.journal import (
    Exit,
    JournalEntry,
    LastExit,
    Skip,
    StoppingSnapshot,
    TickEntry,
)
from probetui.kubelet.outcome import Result
from probetui.kubelet.pod_workers.pod_update import PodWorkerState
from probetui.kubelet_rules import PORTED_RULES, KubeletRules

_AFTER_THE_HOLD = frozenset({None, Skip.NOT_STARTED, Skip.INITIAL_DELAY})
"""What a tick can do that is no longer on hold."""


class ProbeSnapshot(Struct, frozen=True):
    """The state of one worker.

    `stored_result` is the results manager's for the shown container, None without one.
    `upcoming_skip` is why the next tick would skip if nothing changed: None means
    probe, an exit that the worker leaves with that tick. `delay_until` is set if there
    is an initial delay. `is_held_back` means that probes are paused and a due tick
    waits. `history` is newest last, at most 60. `worker_alive` is False before the
    worker exists and after it left.

    `muted` means that results have no consequences; `injections` are the pending ones.
    `manifest_probe` is set while `probe` has another timing than the manifest's.
    `trying_since` is when the dry run in flight began. `is_result_held` means that a
    breakpoint holds back a result that would kill. `delay` is the delay that the user
    set. `error_run` counts the errors since the last run that counted. Where
    `result_run` is only the least that it can be, `run_doubt` says why.
    """

    key: ProbeKey
    probe: Probe
    worker_alive: bool = False
    stored_result: Result | None = None
    last_result: Result = Result.SUCCESS
    result_run: int = 0
    on_hold: bool = False
    in_flight_since: datetime | None = None
    next_tick_at: datetime | None = None
    is_held_back: bool = False
    upcoming_skip: Skip | Exit | None = None
    delay_until: datetime | None = None
    ticks: int = 0
    successes: int = 0
    failures: int = 0
    errors: int = 0
    skips: int = 0
    last_run: TickEntry | None = None
    history: tuple[TickEntry, ...] = ()
    muted: bool = False
    injections: tuple[Injected, ...] = ()
    manifest_probe: Probe | None = None
    trying_since: datetime | None = None
    is_result_held: bool = False
    delay: timedelta = timedelta()
    error_run: int = 0
    run_doubt: str = ""

    @property
    def is_hold_ending(self) -> bool:
        """Whether the container has restarted, so that the next tick ends the hold."""
        return self.on_hold and self.upcoming_skip in _AFTER_THE_HOLD


class BackoffSnapshot(Struct, frozen=True):
    """The crash-loop back-off of a container.

    `until` and `latest` are set while the container waits for its next start: the
    earliest and the latest instant of it.
    """

    window: timedelta
    since: datetime | None
    until: datetime | None
    next_window: timedelta
    latest: datetime | None = None


class ContainerSnapshot(Struct, frozen=True):
    """One container of a pod, with its probes in the order liveness, readiness,
    startup (only those that are defined).

    `frozen_since` is set while the user has frozen it, `cut_off_since` while the user
    has disconnected its pod. `break_points` are those that are set for it.
    `next_pull_at` is when the back-off of its image is over, None where there is none.
    """

    container: Container
    is_init: bool
    status: ContainerStatus | None
    probes: tuple[ProbeSnapshot, ...]
    stopping: StoppingSnapshot | None
    backoff: BackoffSnapshot | None
    last_exit: LastExit | None
    frozen_since: datetime | None = None
    break_points: frozenset[BreakpointKind] = frozenset()
    cut_off_since: datetime | None = None
    next_pull_at: datetime | None = None


class PodSnapshot(Struct, frozen=True):
    """One pod; the same object as before if it is unchanged.

    `operation` says in words what is being done for it now ("pulling busybox 40%"),
    `operation_container` for which container, empty if that is not known.
    `api_status` is what an API server would hold of the pod, or of its mirror pod: it
    says later than `status` that a pod has ended. None is for the same.
    """

    pod: Pod
    status: PodStatus
    state: PodWorkerState
    operation: str
    containers: tuple[ContainerSnapshot, ...]
    api_status: PodStatus | None = None
    operation_container: str = ""


class QueuedTick(Struct, frozen=True):
    """A tick to come; `>` runs them in this order."""

    key: ProbeKey
    at: datetime


class PlaybackKind(StrEnum):
    """The kind of a playback session."""

    SIM = "sim"
    REPLAY = "replay"


class PlaybackSnapshot(Struct, frozen=True):
    """The state of a playback session's clock.

    `pace` is the speed relative to the wall clock, None for as fast as possible.
    `length` is that of a recording, None without an end. `has_ended` means that no more
    turns will come. `note` describes a problem, such as a truncated recording.
    `seeking` is the progress of a seek, from 0 to 1; None without one.
    """

    kind: PlaybackKind
    is_paused: bool
    pace: float | None
    length: timedelta | None = None
    has_ended: bool = False
    note: str = ""
    seeking: float | None = None


class UpcomingKind(StrEnum):
    """The kind of an upcoming event, due by itself or by a step."""

    HELD_RESULT = "held-result"
    TRIGGER = "trigger"
    TICK = "tick"
    DELAY_OVER = "delay-over"
    BACKOFF_OVER = "back-off-over"
    GRACE_OVER = "grace-over"
    RESYNC = "resync"


STEPS = frozenset({UpcomingKind.HELD_RESULT, UpcomingKind.TRIGGER, UpcomingKind.TICK})


class Upcoming(Struct, frozen=True):
    """An upcoming event; a resync is of a whole pod.

    While paused, what is a step waits for one (the first of them for the next); the
    rest comes on the clock.
    """

    what: UpcomingKind
    at: datetime
    pod_uid: str
    container_name: str = ""
    probe_type: ProbeType | None = None

    @property
    def probe_key(self) -> ProbeKey | None:
        """The probe that it is about, None if it is about none."""
        if self.probe_type is None:
            return None
        return ProbeKey(self.pod_uid, self.container_name, self.probe_type)

    @property
    def is_step(self) -> bool:
        """Whether the event waits for a step while probes are paused."""
        return self.what in STEPS


class LastStep(Struct, frozen=True):
    """The last step, or run to a change, and the state just before it.

    The difference to the pods of the snapshot is what the step did: one that did not
    change is the same object. Entries with a number above `sequence` came after.
    `key` is what stepped, None for a run to a change.
    """

    at: datetime
    sequence: int
    key: ProbeKey | None
    pods: tuple[PodSnapshot, ...]


class SourceSnapshot(Struct, frozen=True):
    """A source of pods: `api`, `file` or `http`, and its number of pods.

    Nothing is cleaned up before every source has reported its pods.
    """

    name: str
    is_heard: bool
    pods: int


class PodWorkerSnapshot(Struct, frozen=True):
    """A pod worker and its place in the work queue.

    `call` is the running call, empty without one. `has_update` says that an update
    waits for the worker. `due_at` is when the pod is synced again at the latest, None
    where it is in no queue.
    """

    pod_uid: str
    state: PodWorkerState
    call: str
    has_update: bool
    due_at: datetime | None


class NodeSnapshot(Struct, frozen=True):
    """The node as the kubelet sees it: its runtime, images, sources of pods, workers.

    `conditions` are the runtime's, as of `checked_at`, empty where they are not polled.
    `not_ready` is the message of the node's condition Ready, empty while it is ready.
    `relisted_at` is when the last relist that succeeded began. `images` are the largest
    as of `images_at`, of `image_count` in all.
    """

    name: str = ""
    sources: tuple[SourceSnapshot, ...] = ()
    conditions: tuple[RuntimeCondition, ...] = ()
    checked_at: datetime | None = None
    status_error: str = ""
    not_ready: str = ""
    relisted_at: datetime | None = None
    images: tuple[StoredImage, ...] = ()
    image_count: int = 0
    image_bytes: int = 0
    images_at: datetime | None = None
    images_error: str = ""
    workers: tuple[PodWorkerSnapshot, ...] = ()


class LatenessOwner(StrEnum):
    """The origin of lateness: probetui, other programs, or a stop of this one."""

    PROBETUI = "probetui"
    MACHINE = "this machine"
    STOP = "a stop"


class LatenessCause(Struct, frozen=True):
    """Why ticks are late, and the share of that time, from 0 to 1.

    Its text goes on from a sentence that says for how long they were.
    """

    owner: LatenessOwner
    share: float

    def __str__(self) -> str:
        share = f"{self.share:.0%} of that time"
        match self.owner:
            case LatenessOwner.PROBETUI:
                return f"probetui has too much to do: it ran {share}"
            case LatenessOwner.MACHINE:
                return f"this machine is busy: probetui waited {share} for a processor"
            case LatenessOwner.STOP:
                return "probetui was stopped, or this machine was suspended"


class Snapshot(Struct, frozen=True):
    """The state of the engine at one instant.

    `sequence` is that of the newest journal entry; `entries` are the newest ones,
    at most 500, oldest first. `runtime_lost_since` is set while the runtime does not
    answer, `runtime_error` says why. `playback` is None on the wall's clock.

    `upcoming` is what comes next, in order, at most 50; it is filled while paused, like
    `queue`, which has the ticks alone. `stopped_by` is why probes were paused
    automatically. Without `acts` kills and restarts are only journalled. `lateness` is
    how late recent ticks were, `lateness_cause` why, if known. `is_observed` means that
    a kubelet elsewhere runs the pods, which are only watched. `rules` are those of the
    kubelet's version. `node` is what the kubelet knows apart from the pods.
    """

    taken_at: datetime
    started_at: datetime
    sequence: int
    pods: tuple[PodSnapshot, ...]
    entries: tuple[JournalEntry, ...]
    queue: tuple[QueuedTick, ...]
    is_paused: bool
    restarts: int
    faults: int
    runtime_lost_since: datetime | None
    runtime_error: str
    lateness: timedelta = timedelta()
    lateness_cause: LatenessCause | None = None
    playback: PlaybackSnapshot | None = None
    upcoming: tuple[Upcoming, ...] = ()
    stopped_by: StopReason | None = None
    last_step: LastStep | None = None
    is_running_to_change: bool = False
    acts: bool = True
    rules: KubeletRules = PORTED_RULES
    node: NodeSnapshot = NodeSnapshot()
    is_observed: bool = False
