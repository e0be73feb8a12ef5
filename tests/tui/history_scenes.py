"""Scenes with a history: a journal of ticks and instances before the snapshot.

The container is that of the documented exec-liveness example. Its first instance ran
from 08:19:10 to 08:20:25, when liveness had killed it; then the second one started.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from msgspec.structs import replace

from probetui.engine.snapshot import BackoffSnapshot, Snapshot
from probetui.k8s.runtime import ContainerID
from probetui.k8s.status import Waiting
from probetui.kubelet.journal import (
    BackoffEntry,
    ContainerEntry,
    ExitCause,
    JournalEntry,
    LastExit,
    LifecycleStep,
    Skip,
    StoppingSnapshot,
    TickEntry,
)
from probetui.kubelet.outcome import Result
from tests.ticks import (
    DEMO_KEY,
    FIRST,
    LIVENESS,
    SECOND,
    changed_tick,
    gates_up_to_skip,
    history,
)
from tests.tui.snapshots import DEMO, a_snapshot, clock, demo

_SECOND = timedelta(seconds=1)


def ticks(
    letters: str, container: ContainerID, last_at: datetime, number: int = 0
) -> tuple[TickEntry, ...]:
    """Return ticks of one instance with all their gates, numbered from `number` on."""
    return tuple(
        changed_tick(
            entry,
            n=number + entry.n,
            container_id=container,
            gates=gates_up_to_skip(
                container, entry.skip, LIVENESS.initial_delay_seconds
            ),
            stored_after=(
                Result.FAILURE
                if letters.find("K") >= 0
                and entry.n >= letters.replace("|", "").find("K")
                else Result.SUCCESS
            ),
            hold_after=entry.skip is Skip.ON_HOLD or entry.action.value == "kill",
            hold_before=entry.skip is Skip.ON_HOLD,
            stored_before=(
                Result.FAILURE if entry.skip is Skip.ON_HOLD else Result.SUCCESS
            ),
        )
        for entry in history(DEMO_KEY, LIVENESS, letters, last_at)
    )


def a_step(at: str, what: LifecycleStep, life: int, **fields: Any) -> ContainerEntry:
    """Return a lifecycle step of the first or the second instance."""
    container = (FIRST, SECOND)[life - 1]
    return ContainerEntry(
        0, clock(at), DEMO.uid, "liveness", container, life - 1, what, **fields
    )


def _first_instance() -> tuple[JournalEntry, ...]:
    end: dict[str, Any] = {
        "grace_period_seconds": 30,
        "grace_source": "pod",
        "by": ExitCause.LIVENESS,
    }
    return (
        a_step("08:19:10.0", LifecycleStep.CREATED, 1),
        a_step("08:19:10.2", LifecycleStep.STARTED, 1),
        *ticks("|ssssssfffKhhhhhh", FIRST, clock("08:20:25.1")),
        a_step("08:19:55.1", LifecycleStep.STOPPING, 1, **end),
        a_step("08:20:25.1", LifecycleStep.EXITED, 1, exit_code=137, signal=9, **end),
        BackoffEntry(
            0,
            clock("08:20:25.1"),
            DEMO.uid,
            "liveness",
            timedelta(),
            None,
            waits=False,
            until=None,
            next_window=timedelta(),
        ),
        a_step("08:20:25.1", LifecycleStep.CREATED, 2),
        a_step("08:20:25.2", LifecycleStep.STARTED, 2),
    )


def steady() -> Snapshot:
    """Two failures of three in the second instance."""
    second = ticks("|ssssssff", SECOND, clock("08:21:05.1"), number=15)
    pod = demo(container={"restarts": 1})
    return _with_history(pod, (*_first_instance(), *second))


def stopping() -> Snapshot:
    """The third failure in the second instance: it is being stopped."""
    second = ticks("|ssssssfffKh", SECOND, clock("08:21:15.1"), number=15)
    stop = a_step(
        "08:21:10.1",
        LifecycleStep.STOPPING,
        2,
        grace_period_seconds=30,
        grace_source="pod",
        by=ExitCause.LIVENESS,
    )
    pod = demo(
        last_at=clock("08:21:15.1"),
        on_hold=True,
        upcoming_skip=Skip.ON_HOLD,
        stored_result=Result.FAILURE,
        result_run=0,
        container={
            "restarts": 1,
            "stopping": StoppingSnapshot(
                clock("08:21:10.1"), 30, "pod", ExitCause.LIVENESS
            ),
        },
    )
    snapshot = _with_history(pod, (*_first_instance(), *second, stop))
    return _at(snapshot, clock("08:21:17"))


def waiting() -> Snapshot:
    """The second instance has exited by itself; the third one waits in back-off."""
    second = ticks("|ssssssssn", SECOND, clock("08:21:15.1"), number=15)
    exited = a_step(
        "08:21:11.0",
        LifecycleStep.EXITED,
        2,
        exit_code=1,
        by=ExitCause.ITSELF,
        reason="Error",
    )
    waits = BackoffEntry(
        0,
        clock("08:21:11.1"),
        DEMO.uid,
        "liveness",
        20 * _SECOND,
        clock("08:21:11"),
        waits=True,
        until=clock("08:21:31"),
        next_window=40 * _SECOND,
    )
    pod = demo(
        last_at=clock("08:21:15.1"),
        upcoming_skip=Skip.NOT_RUNNING,
        stored_result=Result.FAILURE,
        container={
            "restarts": 1,
            "state": Waiting("CrashLoopBackOff", "back-off 20s"),
            "ready": False,
            "backoff": BackoffSnapshot(
                20 * _SECOND, clock("08:21:11"), clock("08:21:31"), 40 * _SECOND
            ),
            "last_exit": LastExit(
                clock("08:21:11"),
                1,
                ExitCause.ITSELF,
                "Error",
                oom_killed=False,
                container_id=SECOND,
            ),
        },
    )
    snapshot = _with_history(pod, (*_first_instance(), *second, exited, waits))
    return _at(snapshot, clock("08:21:17"))


def _with_history(pod: Any, entries: tuple[JournalEntry, ...]) -> Snapshot:
    """Return a snapshot whose probe has the ticks of its journal as history."""
    snapshot = a_snapshot(pod, entries=entries)
    known = tuple(entry for entry in snapshot.entries if isinstance(entry, TickEntry))
    probed = [entry for entry in known if entry.attempts]
    container = pod.containers[0]
    probe = replace(container.probes[0], history=known, last_run=probed[-1])
    shown = replace(pod, containers=(replace(container, probes=(probe,)),))
    return replace(snapshot, pods=(shown,))


def _at(snapshot: Snapshot, instant: datetime) -> Snapshot:
    return replace(snapshot, taken_at=instant)


STORIES: dict[str, Callable[[], Snapshot]] = {
    scene.__name__: scene for scene in (steady, stopping, waiting)
}
