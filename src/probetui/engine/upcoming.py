"""Upcoming events: ticks, resyncs and the ends of waits, in order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from heapq import nsmallest

from probetui.debugger.stepping import tick_queue
from probetui.engine.snapshot import PodSnapshot, Upcoming, UpcomingKind
from probetui.k8s.status import PodStatus
from probetui.kubelet.facts import ProbeFinished
from probetui.kubelet.journal import Exit, Skip
from probetui.kubelet.prober.worker_loop import WorkerLoop
from probetui.kubelet.prober.worker_scheduler import WorkerScheduler

UPCOMING_SHOWN = 50


def upcoming(
    scheduler: WorkerScheduler,
    resyncs: Iterable[tuple[datetime, str]],
    pods: Iterable[PodSnapshot],
    now: datetime,
) -> tuple[Upcoming, ...]:
    """Return at most 50 upcoming events: held results, then others, soonest first.

    At equal instants, steps come first, in the order in which they would run.

    Args:
        scheduler: for the ticks to come, and the results that a breakpoint holds back.
        resyncs: when pods are to be synced again, by UID.
        pods: for delays, back-offs and grace periods that come to their end.
        now: the instant; earlier events are not upcoming.
    """
    first = [
        Upcoming(UpcomingKind.HELD_RESULT, _ended_at(finished), *key)
        for key, finished in scheduler.held.items()
    ]
    later = [
        Upcoming(
            UpcomingKind.TRIGGER if scheduler.loops[key].trigger else UpcomingKind.TICK,
            at,
            *key,
        )
        for at, key in tick_queue(scheduler, now)
    ]
    ends = [end for pod in pods for end in _ends(pod)]
    later += [end for end in ends if end.at > now]
    later += [Upcoming(UpcomingKind.RESYNC, at, uid) for at, uid in resyncs]
    rest = nsmallest(UPCOMING_SHOWN, later, key=lambda item: item.at)
    return tuple((first + rest)[:UPCOMING_SHOWN])


def _ended_at(finished: ProbeFinished) -> datetime:
    return finished.outcome.started_at + finished.outcome.duration


def _ends(pod: PodSnapshot) -> Iterator[Upcoming]:
    """Yield the ends of the waits of a pod's containers."""
    uid = pod.pod.uid
    for container in pod.containers:
        name = container.container.name
        for probe in container.probes:
            if probe.delay_until is not None:
                yield Upcoming(UpcomingKind.DELAY_OVER, probe.delay_until, *probe.key)
        if container.backoff is not None and container.backoff.until is not None:
            yield Upcoming(
                UpcomingKind.BACKOFF_OVER, container.backoff.until, uid, name
            )
        if container.stopping is not None:
            grace = timedelta(seconds=container.stopping.grace_period_seconds)
            yield Upcoming(
                UpcomingKind.GRACE_OVER, container.stopping.since + grace, uid, name
            )


def predict_skip(loop: WorkerLoop, status: PodStatus | None) -> Skip | Exit | None:
    """Predict why the next tick will not probe; None if it will.

    An exit is the worker's last tick. For display only: it changes no state.
    """
    skip = loop.worker.foresee(status, loop.next_tick_at)
    # A worker that waits for its first tick sees the stop after it.
    if loop.stop and (skip is not None or loop.ticker_at is not None):
        return Exit.STOPPED
    return skip
