"""SimulatedSource: a simulation that goes back in time by checkpoints."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta

from msgspec import Struct

from probetui.debugger.commands import PauseProbes, ResumeProbes, RunToChange, StepProbe
from probetui.drive.playback.checkpoint import Checkpoint, take_checkpoint
from probetui.drive.playback.source import (
    TURNS_BETWEEN_CHECKPOINTS,
    TickPositions,
    has_tick,
)
from probetui.drive.session_journal import SEEKABLE, SessionJournal
from probetui.drive.simulation import InputListener, Simulation, ignore_input
from probetui.engine.inputs import Command
from probetui.engine.snapshot import PlaybackKind, Snapshot
from probetui.k8s.probe import ProbeKey
from probetui.kubelet.journal import JournalEntry
from probetui.kubelet.prober.prober import MAX_PROBE_RETRIES

_SECOND = timedelta(seconds=1)
_LONG = timedelta(minutes=10)

_TRY_AGAIN = 200
"""Turns until the next attempt at a checkpoint that could not be taken."""


_LARGE_BYTES = 1 << 19
"""A checkpoint takes 0.1 s per MiB. Larger ones are taken less often to keep the screen
responsive; going back then takes longer."""


class _SimulationCheckpoint(Struct, frozen=True):
    """A checkpoint and its position."""

    position: int
    at: datetime
    state: Checkpoint


class _IssuedCommand(Struct, frozen=True):
    """A command of the user, and its time."""

    at: datetime
    command: Command


class SimulatedSource:
    """A `PlaybackSource` without an end.

    To go back, it restores a checkpoint and runs again from there: the world gives the
    same answers, and the user's commands are repeated. Later commands are discarded.

    Args:
        begin: makes the simulation anew, its scheduled commands included.
        on_input: called with the inputs, once each.
        journal: where the entries go.
        apart: the number of turns between checkpoints.
    """

    kind = PlaybackKind.SIM
    end = None
    note = ""

    def __init__(
        self,
        begin: Callable[[], Simulation],
        on_input: InputListener = ignore_input,
        journal: SessionJournal | None = None,
        apart: int = TURNS_BETWEEN_CHECKPOINTS,
    ) -> None:
        self._begin = begin
        self._on_input = on_input
        self._journal = SessionJournal(SEEKABLE) if journal is None else journal
        self._apart = apart
        self._simulation = begin()
        self._simulation.attach(self._journal, on_input)
        self._commands: dict[int, _IssuedCommand] = {}
        self._checkpoints: list[_SimulationCheckpoint] = []
        self._wants_checkpoint_at = apart
        self._marks = TickPositions()

    @property
    def now(self) -> datetime:
        """The virtual time."""
        return self._simulation.now

    @property
    def position(self) -> int:
        """The number of inputs submitted to the engine."""
        return self._simulation.turns

    @property
    def journal(self) -> Sequence[JournalEntry]:
        """Every entry up to now."""
        return self._journal

    @property
    def is_held(self) -> bool:
        """Whether the probes are paused, by whomever."""
        return self.snapshot().is_paused

    def snapshot(self) -> Snapshot:
        """Return the state at `now`."""
        return self._simulation.engine.snapshot(self.now)

    def next_at(self) -> datetime | None:
        """Return the time of the next turn."""
        return self._simulation.next_at()

    def turn(self) -> Sequence[JournalEntry]:
        """Run what is due next."""
        self._take_checkpoint_if_due()
        position = self.position
        entries = self._simulation.turn().entries
        if has_tick(entries):
            self._marks.add(position)
        return entries

    def pass_until(self, instant: datetime) -> None:
        """Advance to an instant before which nothing is due."""
        self._simulation.pass_until(instant)

    def submit(self, command: Command) -> None:
        """Submit a command to the engine; run a probe that it starts to completion.

        Otherwise the probe would stay in flight while the clock is stopped.
        """
        self._submit(command)
        if self.is_held:
            self._finish_probes_limits_in_flight()

    def run_to_change(self) -> bool:
        """Resume the probes until the engine pauses them at a change."""
        self._submit(RunToChange())
        return True

    def hold(self, *, is_internal: bool = True) -> None:
        """Pause the probes, unless they are paused."""
        if not self.is_held:
            self._submit(PauseProbes(is_internal))

    def release(self, *, is_internal: bool = True) -> None:
        """Resume the probes, if they are paused."""
        if self.is_held:
            self._submit(ResumeProbes(is_internal))

    def step(self, limit: datetime | None = None, key: ProbeKey | None = None) -> bool:
        """Advance to the next tick that is due by a limit, and run it."""
        self.hold()
        begin = self.position
        far = self.now + _LONG
        step_at = self._next_step_at(far if limit is None else min(far, limit), key)
        if limit is not None and (step_at or far) > limit:
            self._run_until(limit)
            return False
        if step_at is not None:
            self._run_until(step_at)
        if not has_tick(self._submit(StepProbe(key)), key):
            self._finish_probes_limits_in_flight()
        self._marks.cut(begin)
        self._marks.add(begin)
        return True

    def last_tick_position(self) -> int | None:
        """Return the position before the last tick."""
        return self._marks.before(self.position)

    def seek_position(self, position: int) -> None:
        """Go back to a position."""
        self._replay_from(
            [
                checkpoint
                for checkpoint in self._checkpoints
                if checkpoint.position <= position
            ],
            lambda simulation: simulation.turns < position,
        )

    def seek_back(self, instant: datetime) -> None:
        """Go back to the end of an instant."""

        def is_before(simulation: Simulation) -> bool:
            done = self._commands.get(simulation.turns)
            at = simulation.next_at() if done is None else done.at
            return at is not None and at <= instant

        self._replay_from(
            [
                checkpoint
                for checkpoint in self._checkpoints
                if checkpoint.at <= instant
            ],
            is_before,
        )
        self.pass_until(instant)

    @property
    def is_held_by_engine(self) -> bool:
        """Whether the engine paused."""
        return self.is_held

    def approach(self, instant: datetime) -> bool:  # noqa: ARG002  # no checkpoint is used
        """Return True: a simulation restores no later checkpoint."""
        return True

    def look_ahead(self) -> bool:
        """Return False: the future depends on the user's commands."""
        return False

    @property
    def prepared_until(self) -> datetime:
        """The virtual time."""
        return self.now

    def _submit(self, command: Command) -> Sequence[JournalEntry]:
        self._commands[self.position] = _IssuedCommand(self.now, command)
        return self._simulation.submit(command).entries

    def _run_until(self, instant: datetime) -> None:
        """Run everything that is due up to an instant, and advance to it."""
        while (at := self.next_at()) is not None and at <= instant:
            self.turn()
        self.pass_until(instant)

    def _next_step_at(self, end: datetime, key: ProbeKey | None) -> datetime | None:
        """Run until a tick is upcoming, of the probe `key` if given; return its time.

        None if there is none by an instant.
        """
        while True:
            steps = [
                upcoming.at
                for upcoming in self.snapshot().upcoming
                if upcoming.is_step and key in {None, upcoming.probe_key}
            ]
            if steps:
                return steps[0]
            at = self.next_at()
            if at is None or at > end:
                return None
            self.turn()

    def _finish_probes_limits_in_flight(self) -> None:
        """Run until no probe is in flight, or one exceeds its time limit."""
        timeouts = self._limits_in_flight()
        end = self.now + (max(timeouts, default=0) * MAX_PROBE_RETRIES + 1) * _SECOND
        while timeouts and (at := self.next_at()) is not None and at <= end:
            self.turn()
            timeouts = self._limits_in_flight()

    def _limits_in_flight(self) -> list[int]:
        """Return the time limits, in seconds, of the probes in flight."""
        return [
            probe.probe.timeout_seconds
            for pod in self.snapshot().pods
            for container in pod.containers
            for probe in container.probes
            if (probe.in_flight_since and not probe.is_result_held)
            or probe.trying_since
        ]

    def _take_checkpoint_if_due(self) -> None:
        if self.position < self._wants_checkpoint_at:
            return
        state = take_checkpoint(self._simulation)
        if state is None:
            self._wants_checkpoint_at = self.position + _TRY_AGAIN
        else:
            self._checkpoints.append(
                _SimulationCheckpoint(self.position, self.now, state)
            )
            times = 1 + len(state.pickled) // _LARGE_BYTES
            self._wants_checkpoint_at = self.position + times * self._apart

    def _replay_from(
        self,
        checkpoints: Sequence[_SimulationCheckpoint],
        goes_on: Callable[[Simulation], bool],
    ) -> None:
        """Restore the last suitable checkpoint and run while a condition holds."""
        simulation: Simulation = (
            checkpoints[-1].state.restore() if checkpoints else self._begin()
        )
        # The journal has the entries already.
        entries: list[JournalEntry] = []
        simulation.attach(entries, ignore_input)
        while goes_on(simulation):
            issued = self._commands.get(simulation.turns)
            if issued is None:
                simulation.turn()
            else:
                simulation.pass_until(issued.at)
                simulation.submit(issued.command)
            entries.clear()
        simulation.attach(self._journal, self._on_input)
        self._simulation = simulation
        self._drop_future()

    def _drop_future(self) -> None:
        self._journal.cut(self._simulation.entries)
        self._marks.cut(self.position)
        self._commands = {
            position: issued
            for position, issued in self._commands.items()
            if position < self.position
        }
        self._checkpoints = [
            checkpoint
            for checkpoint in self._checkpoints
            if checkpoint.position <= self.position
        ]
        last = self._checkpoints[-1].position if self._checkpoints else 0
        self._wants_checkpoint_at = last + self._apart
