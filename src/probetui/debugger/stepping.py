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

    def next_key(
        self, now: datetime, wanted: ProbeKey | None = None
    ) -> ProbeKey | None:
        """Return the probe that `step` would run, None without one.

        A result that a breakpoint held back goes before any tick.

        Args:
            now: the instant.
            wanted: the only probe to consider, None for all.
        """
        keys = [*self._scheduler.held]
        keys += [key for _, key in tick_queue(self._scheduler, now)]
        return next((key for key in keys if wanted in {None, key}), None)

    def step(self, now: datetime, wanted: ProbeKey | None = None) -> ProbeKey | None:
        """Run exactly one tick, or use a held result; return the probe, or None."""
        key = self.next_key(now, wanted)
        if key in self._scheduler.held:
            self._scheduler.release(key, now)
        elif key is not None:
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
