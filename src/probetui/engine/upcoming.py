"""Upcoming events: ticks, resyncs and the ends of waits, in order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from heapq import nsmallest

from probetui.debugger.stepping import tick_queue
from probetui.engine.snapshot import PodSnapshot, Upcoming, UpcomingKind
from probetui.k8s.status import PodStatus, Running
from probetui.kubelet.facts import ProbeFinished
from probetui.kubelet.journal import Skip
from probetui.kubelet.prober.worker import Worker, whole_seconds
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


def predict_skip(worker: Worker, status: PodStatus | None, at: datetime) -> Skip | None:
    """Predict why a tick at an instant would skip; None if it would probe.

    For display only: it changes no state.
    """
    if status is None:
        return Skip.NO_STATUS
    container = worker.find_container(status)
    if container is None:
        return Skip.CONTAINER_MISSING
    is_new = (worker.container_id or "://") != container.container_id
    if worker.on_hold and not is_new:
        return Skip.ON_HOLD
    if not isinstance(container.state, Running):
        return Skip.NOT_RUNNING
    if container.state.started_at is None:
        return Skip.INITIAL_DELAY
    age_seconds = whole_seconds(at - container.state.started_at)
    decision = worker.pass_time_gates(container, age_seconds)
    return decision if isinstance(decision, Skip) else None
