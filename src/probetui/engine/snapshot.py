"""Snapshots: frozen values of the engine's state, shared where nothing changed."""

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
    """One worker as it stands.

    `stored_result` is what the results manager holds for the container in sight, None
    if nothing. `upcoming_skip` is what the next tick would do if nothing changed: None
    means probe. `delay_until` is set where there is an initial delay. `is_held_back`
    says that probes are paused: a tick that is due waits. `history` is newest last, at
    most 60. `worker_alive` is False before the worker exists and after it left.

    `muted` says that results have no consequences, `injections` which are still to
    come. `manifest_probe` is set while `probe` has another timing than the manifest's.
    `trying_since` is when the dry run in flight began.
    `is_result_held` says that a break-point holds back a result that would kill.
    `delay` is how much later it is answered because a person said so. `error_run`
    counts the errors since the last run that counted. Where `result_run` is only the
    least that it can be, `run_doubt` says why.
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
    upcoming_skip: Skip | None = None
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
        """Whether the container has restarted, and the next tick takes off the hold."""
        return self.on_hold and self.upcoming_skip in _AFTER_THE_HOLD


class BackoffSnapshot(Struct, frozen=True):
    """What crash-loop back-off holds for a container.

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

    `frozen_since` is set while it stands still because a person said so,
    `cut_off_since` while its pod is without a network for that reason. `break_points`
    are those that are set for it. `next_pull_at` is when the back-off of its image is
    over, None where there is none.
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
    """One pod; the same object as before where nothing of it changed.

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
    """A tick to come, in the order `.` would run them."""

    key: ProbeKey
    at: datetime


class PlaybackKind(StrEnum):
    """What is played where the clock is not the wall's."""

    SIM = "sim"
    REPLAY = "replay"


class PlaybackSnapshot(Struct, frozen=True):
    """How a session is played whose clock is not the wall's.

    `pace` is how many times faster than the wall's clock it goes, None for as fast as
    it can. `length` is that of a recording, None for what has no end. `has_ended` says
    that nothing more will come. `note` is a sentence about what is not as it should
    be, such as that the recording was cut off. `seeking` is how much of the way to
    where it was sent is behind it, from 0 to 1; None when it is there.
    """

    kind: PlaybackKind
    is_paused: bool
    pace: float | None
    length: timedelta | None = None
    has_ended: bool = False
    note: str = ""
    seeking: float | None = None


class UpcomingKind(StrEnum):
    """What can come next by itself, or by a step."""

    HELD_RESULT = "held-result"
    TRIGGER = "trigger"
    TICK = "tick"
    DELAY_OVER = "delay-over"
    BACKOFF_OVER = "back-off-over"
    GRACE_OVER = "grace-over"
    RESYNC = "resync"


STEPS = frozenset({UpcomingKind.HELD_RESULT, UpcomingKind.TRIGGER, UpcomingKind.TICK})


class Upcoming(Struct, frozen=True):
    """Something that is to come; a resync is of a whole pod.

    While paused, what is a step waits for one (the first of them for the next); the
    rest comes on the clock.
    """

    what: UpcomingKind
    at: datetime
    pod_uid: str
    container_name: str = ""
    probe_type: ProbeType | None = None

    @property
    def is_step(self) -> bool:
        """Whether it waits for a step while probes are paused."""
        return self.what in STEPS


class LastStep(Struct, frozen=True):
    """The last step, or run to a change, and how things were just before it.

    The difference to the pods of the snapshot is what the step did: one that did not
    change is the same object. Entries with a number above `sequence` came after.
    `key` is what stepped, None for a run to a change.
    """

    at: datetime
    sequence: int
    key: ProbeKey | None
    pods: tuple[PodSnapshot, ...]


class SourceSnapshot(Struct, frozen=True):
    """A source of pods: `api`, `file` or `http`, and how many pods it has.

    Nothing is cleaned up before each source has been heard.
    """

    name: str
    is_heard: bool
    pods: int


class PodWorkerSnapshot(Struct, frozen=True):
    """A pod worker and its place in the work queue.

    `call` is what runs now, empty if nothing does. `has_update` says that an update
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
    """Whose lateness it is: ours, of other programs, or of what stopped this one."""

    PROBETUI = "probetui"
    MACHINE = "this machine"
    STOP = "a stop"


class LatenessCause(Struct, frozen=True):
    """Why ticks are late, and for what part of that time it held, from 0 to 1.

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
    `queue`, which has the ticks alone. `stopped_by` says why probes are paused where no
    person did it. Without `acts` kills and restarts are only journalled.
    `lateness` is by how much ticks have come late lately, `lateness_cause` why, where
    that is known. `is_observed` says that a kubelet elsewhere runs the pods, which are
    only watched.
    `rules` are those of the kubelet's version. `node` is what the kubelet knows apart
    from the pods.
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
