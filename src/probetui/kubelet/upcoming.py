"""What comes next: ticks, and what the clock brings by itself, in one order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from heapq import nsmallest

from probetui.k8s.probe import ProbeKey
from probetui.kubelet.inputs import ProbeFinished
from probetui.kubelet.probe_manager import ProbeManager
from probetui.kubelet.snapshot import Next, PodSnapshot, Upcoming

UPCOMING_SHOWN = 50


def upcoming(
    probes: ProbeManager,
    held: Mapping[ProbeKey, ProbeFinished],
    resyncs: Iterable[tuple[datetime, str]],
    pods: Iterable[PodSnapshot],
    now: datetime,
) -> tuple[Upcoming, ...]:
    """Return what comes next, at most 50: held results, then all else, soonest first.

    Among equal instants steps go first, in the order in which they would be taken.

    Args:
        probes: for the ticks to come.
        held: what a break-point holds back, oldest first.
        resyncs: when pods are to be synced again, by UID.
        pods: for delays, back-offs and grace periods that come to their end.
        now: what is over by then is not to come.
    """
    first = [
        Upcoming(Next.HELD_RESULT, _ended_at(finished), *key)
        for key, finished in held.items()
    ]
    found = [
        Upcoming(Next.TRIGGER if is_trigger else Next.TICK, at, *key)
        for at, key, is_trigger in _ticks(probes, now)
    ]
    ends = [each for pod in pods for each in _ends(pod)]
    found += [each for each in ends if each.at > now]
    found += [Upcoming(Next.RESYNC, at, uid) for at, uid in resyncs]
    rest = nsmallest(UPCOMING_SHOWN, found, key=lambda each: each.at)
    return tuple((first + rest)[:UPCOMING_SHOWN])


def _ended_at(finished: ProbeFinished) -> datetime:
    return finished.outcome.started_at + finished.outcome.duration


def _ticks(
    probes: ProbeManager, now: datetime
) -> Iterator[tuple[datetime, ProbeKey, bool]]:
    for at, key in probes.queue(now):
        loop = probes.worker(key)
        yield at, key, loop is not None and loop.trigger is not None


def _ends(pod: PodSnapshot) -> Iterator[Upcoming]:
    """Yield the ends of what a pod's containers wait for."""
    uid = pod.pod.uid
    for each in pod.containers:
        name = each.container.name
        for probe in each.probes:
            if probe.delay_until is not None:
                yield Upcoming(Next.DELAY_OVER, probe.delay_until, *probe.key)
        if each.backoff is not None and each.backoff.until is not None:
            yield Upcoming(Next.BACKOFF_OVER, each.backoff.until, uid, name)
        if each.stopping is not None:
            grace = timedelta(seconds=each.stopping.grace_period_seconds)
            yield Upcoming(Next.GRACE_OVER, each.stopping.since + grace, uid, name)
