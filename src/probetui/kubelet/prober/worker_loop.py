"""Worker loops: start jitter, ticker, and the slots that wake a worker.

The kubelet's loop is a goroutine that selects on three channels of one slot each;
here the slots are fields, and the loop's owner checks which are ready.

Source: prober/worker.go, v1.32.10, run.
"""

from __future__ import annotations

from collections import deque
from datetime import datetime, timedelta
from random import Random

from msgspec import Struct

from probetui.kubelet.effects import RunProbe
from probetui.kubelet.journal import Gate, TickEntry, Trigger
from probetui.kubelet.outcome import Result
from probetui.kubelet.prober.gates import GateCache
from probetui.kubelet.prober.worker import Worker
from probetui.kubelet_rules import PORTED_RULES, KubeletRules

HISTORY = 60


class TickStart(Struct, frozen=True):
    """What is known of a tick once it was decided whether it probes.

    `hold_before` is from before the tick looked at its container. `late_drops` is the
    number of ticks dropped because it was consumed late.
    """

    trigger: Trigger
    at: datetime
    gates: tuple[Gate, ...]
    new_container: bool
    stored_before: Result | None
    hold_before: bool
    late_drops: int = 0


class InFlight(Struct, frozen=True):
    """A probe in flight, and the start of its tick."""

    asked: RunProbe
    start: TickStart


class Stop:
    """The wake-up of a loop that stops it."""


STOP = Stop()


def start_jitter(
    period: timedelta, age: timedelta, rng: Random, rules: KubeletRules = PORTED_RULES
) -> timedelta:
    """Return how long a worker waits before its first step.

    Quirk, kept: the random part is of the whole period, however old the kubelet is
    already; and only a kubelet younger than the period waits at all.

    Args:
        period: the probe's period.
        age: how long the kubelet has been running.
        rng: the engine's random source.
        rules: those of the kubelet's version, of which old ones always wait.

    Source: prober/worker.go, v1.32.10, run.
    """
    waits = rules.delays_every_worker or period > age
    return rng.random() * period if waits else timedelta()


class WorkerLoop:
    """A worker and the schedule of its steps; owned by the probe manager.

    Attributes:
        first_at: when the first step is due.
        ticker_at: the next tick; None until the first step.
        trigger: a manual trigger that waits, if any; a second one is dropped.
        stop: whether a stop waits.
    """

    __slots__ = (
        "error_run",
        "errors",
        "failures",
        "first_at",
        "gates",
        "history",
        "in_flight",
        "last_run",
        "period",
        "skips",
        "stop",
        "successes",
        "ticker_at",
        "ticks",
        "trigger",
        "worker",
    )

    def __init__(self, worker: Worker, first_at: datetime) -> None:
        self.worker = worker
        self.period = worker.period
        self.first_at = first_at
        self.ticker_at: datetime | None = None
        self.trigger: Trigger | None = None
        self.stop = False
        self.gates = GateCache()
        self.in_flight: InFlight | None = None
        self.ticks = self.successes = self.failures = self.errors = self.skips = 0
        self.error_run = 0
        self.last_run: TickEntry | None = None
        self.history: deque[TickEntry] = deque(maxlen=HISTORY)

    @property
    def next_tick_at(self) -> datetime:
        """When the next step is due, triggers aside."""
        return self.first_at if self.ticker_at is None else self.ticker_at

    def end_flight(self) -> InFlight:
        """Clear and return the answered probe in flight."""
        flight = self.in_flight
        if flight is None:
            msg = f"{self.worker.key} has no probe in flight"
            raise AssertionError(msg)
        self.in_flight = None
        return flight

    def count(self, result: Result | None) -> None:
        """Count a tick that probed, and its result if it has one."""
        self.ticks += 1
        self.error_run = self.error_run + 1 if result is None else 0
        match result:
            case Result.SUCCESS:
                self.successes += 1
            case Result.FAILURE:
                self.failures += 1
            case _:
                self.errors += 1

    def select(self, now: datetime, rng: Random) -> Trigger | Stop | None:
        """Consume a ready event, chosen at random if there are several.

        Nothing is ready while a step runs. Until the first step only that step is.
        """
        if self.in_flight is not None:
            return None
        if self.ticker_at is None:
            if now < self.first_at:
                return None
            self.ticker_at = self._start_of_ticker(now) + self.period
            return Trigger.PERIODIC
        ready: list[Trigger | Stop] = []
        if self.stop:
            ready.append(STOP)
        if self.ticker_at <= now:
            ready.append(Trigger.PERIODIC)
        if self.trigger is not None:
            ready.append(self.trigger)
        if not ready:
            return None
        chosen = ready[0] if len(ready) == 1 else rng.choice(ready)
        self._consume(chosen, now)
        return chosen

    def select_while_held(self, now: datetime) -> Trigger | Stop | None:
        """Consume a stop or a manual trigger while ticks are held."""
        if self.in_flight is not None or self.ticker_at is None:
            return None
        if self.stop:
            self.stop = False
            return STOP
        if self.trigger is Trigger.USER:
            self._consume(Trigger.USER, now)
            return Trigger.USER
        return None

    def run_early(self, now: datetime) -> Trigger:
        """Consume the next event before it is due; the ticker keeps its phase."""
        if self.trigger is not None and self.ticker_at is not None:
            taken = self.trigger
            self._consume(taken, now)
            return taken
        if self.ticker_at is None:
            self.ticker_at = now + self.period
        else:
            self._consume(Trigger.PERIODIC, max(now, self.ticker_at))
        return Trigger.PERIODIC

    def late_drops(self, due: datetime, now: datetime) -> int:
        """Return how many ticks are dropped because one is consumed late.

        One tick waits while a step runs. Ticks dropped for the step's duration are not
        included, and the first step has no ticker yet.
        """
        if not self.ticks:
            return 0
        dropped = (now - due) // self.period
        last = self.last_run
        if last is not None and last.at > due:
            dropped -= max(last.timing.duration // self.period - 1, 0)
        return max(dropped, 0)

    def restart_ticker(self, now: datetime) -> None:
        """Restart the ticker with the probe's period; a pending first step stays."""
        self.period = self.worker.period
        if self.ticker_at is not None:
            self.ticker_at = now + self.period

    def _start_of_ticker(self, now: datetime) -> datetime:
        """Return the start of the ticker's phase; a late wake-up keeps it."""
        return self.first_at if now - self.first_at < self.period else now

    def _consume(self, chosen: Trigger | Stop, now: datetime) -> None:
        if chosen is Trigger.PERIODIC:
            # One tick is kept while a step runs, the others are dropped; the phase
            # stays.
            ticker_at = self.ticker_at or now
            ticker_at += self.period
            if ticker_at <= now:
                ticker_at += (now - ticker_at) // self.period * self.period
                ticker_at += self.period
            self.ticker_at = ticker_at
        elif chosen is STOP:
            self.stop = False
        else:
            self.trigger = None
            if self.worker.rules.trigger_restarts_period:
                self.ticker_at = now + self.period
