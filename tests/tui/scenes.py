"""The states for screenshots, by name, with the events that led to them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta

from msgspec.structs import replace

from probetui.engine.snapshot import BackoffSnapshot, Snapshot
from probetui.k8s.event import Event, EventType
from probetui.k8s.status import Running, Waiting
from probetui.kubelet.journal import (
    BackoffEntry,
    ContainerEntry,
    EventEntry,
    ExitCause,
    JournalEntry,
    LifecycleStep,
    NoteEntry,
    Skip,
    StateEntry,
    StateField,
    StoppingSnapshot,
    TickAction,
    TickEntry,
)
from probetui.kubelet.outcome import Result
from probetui.kubelet.pod_workers.pod_update import PodWorkerState
from tests.ticks import (
    DEMO_KEY,
    FIRST,
    LIVENESS,
    NO_FILE,
    NOW,
    SECOND,
    changed_tick,
    history,
)
from tests.tui.snapshots import DEMO, a_snapshot, clock, demo, shop

_SECOND = timedelta(seconds=1)
_PATH = "spec.containers{liveness}"


def an_event(
    at: str,
    reason: str,
    message: str,
    *,
    type_: EventType = EventType.NORMAL,
    tick: TickEntry | None = None,
) -> EventEntry:
    """Return an event of the demo container."""
    event = Event(type_, reason, message, DEMO.uid, _PATH, clock(at), "liveness")
    return EventEntry(0, clock(at), event, tick)


def unhealthy(tick: TickEntry) -> EventEntry:
    """Return the event of a failed tick of the demo's liveness probe."""
    event = Event(
        EventType.WARNING,
        "Unhealthy",
        f"Liveness probe failed: {NO_FILE}",
        DEMO.uid,
        _PATH,
        tick.at,
        "liveness",
    )
    return EventEntry(0, tick.at, event, tick)


def a_container_entry(at: str, what: LifecycleStep, **fields: object) -> ContainerEntry:
    """Return a step in the lifecycle of the demo container."""
    entry = ContainerEntry(0, clock(at), DEMO.uid, "liveness", FIRST, 2, what)
    return replace(entry, **fields)


TICKS = history(DEMO_KEY, LIVENESS, "|ssssssfffKhhhhhh|ssssssff", clock("08:21:05.1"))
PAST: tuple[JournalEntry, ...] = (
    a_container_entry("08:20:25.1", LifecycleStep.CREATED, container_id=SECOND),
    a_container_entry("08:20:25.2", LifecycleStep.STARTED, container_id=SECOND),
    an_event("08:20:25.2", "Started", "Started container liveness"),
    StateEntry(
        0,
        clock("08:20:30.1"),
        DEMO.uid,
        "liveness",
        "Liveness",
        StateField.HOLD,
        "on",
        "off",
        cause=1,
    ),
)
KILLING: tuple[JournalEntry, ...] = (
    unhealthy(changed_tick(TICKS[-1], run=3, action=TickAction.KILL)),
    an_event(
        "08:21:05.1",
        "Killing",
        "Container liveness failed liveness probe, will be restarted",
    ),
    a_container_entry(
        "08:21:05.1",
        LifecycleStep.STOPPING,
        by=ExitCause.LIVENESS,
        grace_period_seconds=30,
        grace_source="pod",
    ),
    StateEntry(
        0,
        clock("08:21:05.1"),
        DEMO.uid,
        "liveness",
        "Liveness",
        StateField.HOLD,
        "off",
        "on",
    ),
)


def running() -> Snapshot:
    """The demo is healthy."""
    return a_snapshot(demo("|ssssssfffKhhhhhh|ssssssss"), entries=PAST)


def failing() -> Snapshot:
    """Two failures of three, beside a shop with containers in various states."""
    return a_snapshot(
        demo(),
        shop(),
        entries=(*PAST, unhealthy(TICKS[-2]), unhealthy(TICKS[-1]), *_worker()),
    )


def _worker() -> Sequence[JournalEntry]:
    pod_uid = "uid-shop"
    message = (
        "Back-off restarting failed container worker in pod shop_default(uid-shop)"
    )
    event = Event(
        EventType.WARNING,
        "BackOff",
        message,
        pod_uid,
        "spec.containers{worker}",
        clock("08:21:06.4"),
        "worker",
    )
    exited = ContainerEntry(
        0,
        clock("08:20:58"),
        pod_uid,
        "worker",
        FIRST,
        6,
        LifecycleStep.EXITED,
        exit_code=1,
        by=ExitCause.ITSELF,
    )
    waits = BackoffEntry(
        0,
        clock("08:21:06.4"),
        pod_uid,
        "worker",
        80 * _SECOND,
        clock("08:20:58"),
        waits=True,
        until=clock("08:22:18"),
        next_window=160 * _SECOND,
    )
    return exited, EventEntry(0, event.at, event), waits


def on_hold() -> Snapshot:
    """The third failure has started a kill."""
    pod = demo(
        "|ssssssfffKhhhhhh|ssssssfffKh",
        on_hold=True,
        upcoming_skip=Skip.ON_HOLD,
        stored_result=Result.FAILURE,
        container={
            "stopping": StoppingSnapshot(
                clock("08:21:00.1"), 30, "pod", ExitCause.LIVENESS
            ),
        },
    )
    return a_snapshot(pod, entries=(*PAST, unhealthy(TICKS[-2]), *KILLING))


def back_off() -> Snapshot:
    """The container waits for its next start."""
    pod = demo(
        "|ssssssfffKhhhhhhh",
        on_hold=True,
        upcoming_skip=Skip.ON_HOLD,
        stored_result=Result.FAILURE,
        container={
            "state": Waiting("CrashLoopBackOff", "back-off 40s"),
            "ready": False,
            "restarts": 4,
            "backoff": BackoffSnapshot(
                40 * _SECOND, clock("08:20:50"), clock("08:21:30"), 80 * _SECOND
            ),
        },
    )
    exited = a_container_entry(
        "08:20:50.0",
        LifecycleStep.EXITED,
        exit_code=137,
        by=ExitCause.LIVENESS,
        grace_period_seconds=30,
    )
    waits = BackoffEntry(
        0,
        clock("08:20:50.1"),
        DEMO.uid,
        "liveness",
        40 * _SECOND,
        clock("08:20:50"),
        waits=True,
        until=clock("08:21:30"),
        next_window=80 * _SECOND,
    )
    return a_snapshot(pod, entries=(*KILLING, exited, waits))


def gated() -> Snapshot:
    """Liveness waits for a startup probe."""
    return a_snapshot(shop())


def delay() -> Snapshot:
    """The initial delay is not over."""
    pod = demo(
        "|ssssssfffKhhhhhh|d",
        upcoming_skip=Skip.INITIAL_DELAY,
        delay_until=NOW + 3 * _SECOND,
        container={"state": Running(NOW - 2 * _SECOND)},
    )
    return a_snapshot(pod, entries=PAST)


def errored() -> Snapshot:
    """The probe cannot be run: three attempts, and the result is discarded."""
    return a_snapshot(demo("|eeee"))


def paused() -> Snapshot:
    """The session is paused, and a tick is due."""
    pod = demo(is_held_back=True, next_tick_at=NOW - _SECOND)
    return replace(failing(), pods=(pod, shop()), is_paused=True)


def in_flight() -> Snapshot:
    """A probe is running."""
    pod = demo(in_flight_since=NOW - 0.4 * _SECOND, next_tick_at=None)
    return a_snapshot(pod, entries=PAST)


def runtime_lost() -> Snapshot:
    """The runtime does not answer."""
    error = "Cannot connect to the Docker daemon at unix:///var/run/docker.sock"
    note = NoteEntry(
        0, clock("08:20:59"), f"docker does not answer: {error}", is_fault=True
    )
    return replace(
        a_snapshot(demo("|ssssssfffKhhhhhh|sssssee"), entries=(*PAST, note)),
        runtime_lost_since=NOW - 8 * _SECOND,
        runtime_error=error,
    )


def pulling() -> Snapshot:
    """The image is being pulled."""
    pod = demo(
        "",
        next_tick_at=NOW + 2 * _SECOND,
        upcoming_skip=Skip.CONTAINER_MISSING,
        stored_result=None,
        container={
            "state": Waiting("ContainerCreating"),
            "ready": False,
            "restarts": 0,
            "last_exit": None,
            "backoff": None,
        },
        pod={"operation": "pulling busybox:1.27.2 40%"},
    )
    event = an_event("08:21:03.0", "Pulling", 'Pulling image "busybox:1.27.2"')
    return a_snapshot(pod, entries=(event,))


def deleting() -> Snapshot:
    """The pod is being deleted."""
    pod = demo(
        pod={"state": PodWorkerState.TERMINATING},
        container={"stopping": StoppingSnapshot(NOW, 30, "pod", ExitCause.DELETE)},
    )
    return a_snapshot(pod)


def empty() -> Snapshot:
    """There is no pod."""
    return a_snapshot()


SCENES: dict[str, Callable[[], Snapshot]] = {
    scene.__name__: scene
    for scene in (
        running,
        failing,
        on_hold,
        back_off,
        gated,
        delay,
        errored,
        paused,
        in_flight,
        runtime_lost,
        pulling,
        deleting,
        empty,
    )
}
