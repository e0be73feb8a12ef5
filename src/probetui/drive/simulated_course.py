"""A simulation with its past, so that it can go back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from probetui.drive.checkpoint import Checkpoint, take_checkpoint
from probetui.drive.course import APART, Marks, has_tick
from probetui.drive.session_journal import SEEKABLE, SessionJournal
from probetui.drive.simulation import Hear, Simulation, hear_nothing
from probetui.kubelet.inputs import (
    Command,
    PauseProbes,
    ResumeProbes,
    RunToChange,
    StepProbe,
)
from probetui.kubelet.journal import Entry
from probetui.kubelet.snapshot import PlaybackKind, Snapshot

_SECOND = timedelta(seconds=1)
_ATTEMPTS = 3
_LONG = timedelta(minutes=10)

_TRY_AGAIN = 200
"""Turns until a checkpoint is tried again that could not be taken."""


_LARGE_BYTES = 1 << 19
"""To keep a state takes a tenth of a second per MiB: one above this is kept less often,
so that keys are answered meanwhile, and going back takes longer."""


class _Lived(NamedTuple):
    """A checkpoint, and where it was taken."""

    position: int
    at: datetime
    state: Checkpoint


class _Done(NamedTuple):
    """What a person asked for, and when."""

    at: datetime
    command: Command


class SimulatedCourse:
    """A `Course` that has no end.

    To go back is to live it again from a checkpoint: the same world gives the same
    answers, and what people did is done again. What they did later is forgotten.

    Args:
        begin: makes the simulation anew, with all that is to happen in it scheduled
            and nothing done yet.
        hear: hears the inputs, each once.
        journal: where the entries go.
        apart: how many turns there are between checkpoints.
    """

    kind = PlaybackKind.SIM
    end = None
    note = ""

    def __init__(
        self,
        begin: Callable[[], Simulation],
        hear: Hear = hear_nothing,
        journal: SessionJournal | None = None,
        apart: int = APART,
    ) -> None:
        self._begin = begin
        self._hear = hear
        self._journal = SessionJournal(SEEKABLE) if journal is None else journal
        self._apart = apart
        self._simulation = begin()
        self._simulation.attach(self._journal, hear)
        self._done: dict[int, _Done] = {}
        self._checkpoints: list[_Lived] = []
        self._wants_checkpoint_at = apart
        self._marks = Marks()

    @property
    def now(self) -> datetime:
        """The virtual instant."""
        return self._simulation.now

    @property
    def position(self) -> int:
        """How often the engine has been spoken to."""
        return self._simulation.turns

    @property
    def journal(self) -> Sequence[Entry]:
        """Every entry up to now."""
        return self._journal

    @property
    def is_held(self) -> bool:
        """Whether ticks are held back, by whomever."""
        return self.snapshot().is_paused

    def snapshot(self) -> Snapshot:
        """Return what there is to see now."""
        return self._simulation.engine.snapshot(self.now)

    def next_at(self) -> datetime | None:
        """Return when something is due next."""
        return self._simulation.next_at()

    def turn(self) -> Sequence[Entry]:
        """Let what is due next happen."""
        self._keep_checkpoint()
        position = self.position
        entries = self._simulation.turn().entries
        if has_tick(entries):
            self._marks.add(position)
        return entries

    def pass_until(self, instant: datetime) -> None:
        """Let time pass in which nothing is due."""
        self._simulation.pass_until(instant)

    def submit(self, command: Command) -> None:
        """Hand a command to the engine; a probe it begins is seen to its end.

        Else it would be under way for as long as the clock stands still.
        """
        self._give(command)
        if self.is_held:
            self._live_until_landed()

    def run_to_change(self) -> bool:
        """Let ticks go until the engine sees a change."""
        self._give(RunToChange())
        return True

    def hold(self) -> None:
        """Pause the probes, unless they are."""
        if not self.is_held:
            self._give(PauseProbes())

    def release(self) -> None:
        """Resume the probes, if they are paused."""
        if self.is_held:
            self._give(ResumeProbes())

    def step(self) -> None:
        """Let time pass until the next tick is due, and that tick go."""
        self.hold()
        begin = self.position
        step_at = self._next_step_at()
        if step_at is not None:
            while (at := self.next_at()) is not None and at <= step_at:
                self.turn()
            self.pass_until(step_at)
        if not has_tick(self._give(StepProbe())):
            self._live_until_landed()
        self._marks.cut(begin)
        self._marks.add(begin)

    def last_mark(self) -> int | None:
        """Return where the last tick began or was about to end."""
        return self._marks.before(self.position)

    def go_to(self, position: int) -> None:
        """Go back to a position."""
        self._live_again(
            [each for each in self._checkpoints if each.position <= position],
            lambda simulation: simulation.turns < position,
        )

    def go_back(self, instant: datetime) -> None:
        """Go back to the end of an instant."""

        def is_before(simulation: Simulation) -> bool:
            done = self._done.get(simulation.turns)
            at = simulation.next_at() if done is None else done.at
            return at is not None and at <= instant

        self._live_again(
            [each for each in self._checkpoints if each.at <= instant], is_before
        )
        self.pass_until(instant)

    @property
    def stands_still(self) -> bool:
        """Whether the engine paused."""
        return self.is_held

    def leap(self, instant: datetime) -> bool:  # noqa: ARG002  # there is no shorter way
        """Stay where it is: there is no shorter way than to live there."""
        return True

    def look_ahead(self) -> bool:
        """There is nothing to look at: what comes depends on what people do."""
        return False

    @property
    def prepared_until(self) -> datetime:
        """The virtual instant."""
        return self.now

    def _give(self, command: Command) -> Sequence[Entry]:
        self._done[self.position] = _Done(self.now, command)
        return self._simulation.submit(command).entries

    def _next_step_at(self) -> datetime | None:
        """Let time pass until there is something to step to, and return when that is.

        None if there is nothing for a long time.
        """
        end = self.now + _LONG
        while True:
            steps = [each.at for each in self.snapshot().upcoming if each.is_step]
            if steps:
                return steps[0]
            at = self.next_at()
            if at is None or at > end:
                return None
            self.turn()

    def _live_until_landed(self) -> None:
        """Let time pass until no probe is in flight, or one is too long for that."""
        timeouts = self._in_flight()
        end = self.now + (max(timeouts, default=0) * _ATTEMPTS + 1) * _SECOND
        while timeouts and (at := self.next_at()) is not None and at <= end:
            self.turn()
            timeouts = self._in_flight()

    def _in_flight(self) -> list[int]:
        """Return the time limit, in seconds, of every probe that is in flight."""
        return [
            each.probe.timeout_seconds
            for pod in self.snapshot().pods
            for container in pod.containers
            for each in container.probes
            if (each.in_flight_since and not each.is_result_held) or each.trying_since
        ]

    def _keep_checkpoint(self) -> None:
        if self.position < self._wants_checkpoint_at:
            return
        state = take_checkpoint(self._simulation)
        if state is None:
            self._wants_checkpoint_at = self.position + _TRY_AGAIN
        else:
            self._checkpoints.append(_Lived(self.position, self.now, state))
            times = 1 + len(state.pickled) // _LARGE_BYTES
            self._wants_checkpoint_at = self.position + times * self._apart

    def _live_again(
        self, checkpoints: Sequence[_Lived], goes_on: Callable[[Simulation], bool]
    ) -> None:
        """Live from the last checkpoint on while that is to go on."""
        simulation: Simulation = (
            checkpoints[-1].state.restore() if checkpoints else self._begin()
        )
        # The journal has the entries already.
        entries: list[Entry] = []
        simulation.attach(entries, hear_nothing)
        while goes_on(simulation):
            done = self._done.get(simulation.turns)
            if done is None:
                simulation.turn()
            else:
                simulation.pass_until(done.at)
                simulation.submit(done.command)
            entries.clear()
        simulation.attach(self._journal, self._hear)
        self._simulation = simulation
        self._forget_what_comes()

    def _forget_what_comes(self) -> None:
        self._journal.cut(self._simulation.entries)
        self._marks.cut(self.position)
        self._done = {
            position: done
            for position, done in self._done.items()
            if position < self.position
        }
        self._checkpoints = [
            each for each in self._checkpoints if each.position <= self.position
        ]
        last = self._checkpoints[-1].position if self._checkpoints else 0
        self._wants_checkpoint_at = last + self._apart
