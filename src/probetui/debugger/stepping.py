"""Pause, resume and step: which ticks run and which wait."""

from __future__ import annotations

from datetime import datetime

from probetui.debugger.overrides import ProbeOverrides
from probetui.k8s.probe import ProbeKey
from probetui.kubelet.prober.worker_scheduler import WorkerScheduler


class Stepper:
    """Holds ticks back and releases them one by one; owned by the debugger.

    Args:
        scheduler: steps the workers.
        overrides: tells the scheduler whether ticks wait.
    """

    def __init__(self, scheduler: WorkerScheduler, overrides: ProbeOverrides) -> None:
        self._scheduler = scheduler
        self._overrides = overrides

    @property
    def is_paused(self) -> bool:
        """Whether ticks wait."""
        return self._overrides.holds_ticks

    def pause(self) -> None:
        """Hold back all ticks from now on; a probe in flight goes on."""
        self._overrides.pause()

    def resume(self, now: datetime) -> None:
        """Resume ticks; each worker runs at most one that was held back.

        Results that a breakpoint held back go first.
        """
        self._overrides.resume(now)
        for key in tuple(self._scheduler.held):
            self._scheduler.release(key, now)
        for key, loop in self._scheduler.loops.items():
            if loop.trigger:
                self._scheduler.wake(key)

    def step(self, now: datetime) -> ProbeKey | None:
        """Run exactly one tick, the next in time; return its probe, None without one.

        A result that a breakpoint held back goes before any tick.
        """
        held = next(iter(self._scheduler.held), None)
        if held is not None:
            self._scheduler.release(held, now)
            return held
        queue = tick_queue(self._scheduler, now)
        if not queue:
            return None
        _, key = queue[0]
        self._scheduler.run_early(key, now)
        return key


def tick_queue(
    scheduler: WorkerScheduler, now: datetime
) -> list[tuple[datetime, ProbeKey]]:
    """Return the ticks to come, next first; one per worker that is not busy."""
    waiting = [
        (now if loop.trigger else loop.next_tick_at, key)
        for key, loop in scheduler.loops.items()
        if loop.in_flight is None
    ]
    # The kubelet has no order among equal instants; ours is that of creation.
    return sorted(waiting, key=lambda tick: tick[0])
