"""A recording that is lived again: the engine, given what it was given then.

Facts are in the recording, so nothing is asked of any world; what the engine says is
only compared with what it said. One engine goes ahead and looks: it keeps checkpoints,
so that any instant is near one, and finds out where the two part.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields
from datetime import datetime, timedelta
from typing import Any, NamedTuple, overload

from probetui.drive.checkpoint import Checkpoint, take_checkpoint
from probetui.drive.course import Marks, has_tick
from probetui.drive.input_records import InputDecoder
from probetui.drive.record_lines import DamageError
from probetui.drive.recording import RecordContext, encode_entry
from probetui.drive.session_journal import SEEKABLE, SessionJournal
from probetui.drive.tape import Tape
from probetui.drive.value_json import decode_value
from probetui.errors import RecordError
from probetui.k8s.status import PodStatus
from probetui.kubelet.config import KubeletConfig
from probetui.kubelet.effects import RunOperation, RunProbe
from probetui.kubelet.engine import Engine
from probetui.kubelet.inputs import (
    Command,
    Input,
    OperationFinished,
    OperationProgress,
    ProbeFinished,
)
from probetui.kubelet.journal import Entry
from probetui.kubelet.snapshot import PlaybackKind, Snapshot
from probetui.kubelet.turn import Turn

_AT_ONCE = 40
"""Inputs to look at without letting anybody else have a turn."""

_TRY_AGAIN = 200

_APART = 2_000
_MOST_KEPT = 128
"""Some tens of megabytes, where there are a hundred pods."""

_NOT_OURS = frozenset({"v", "pod", "namespace", "object", "folded", "dropped"})
"""Fields of records that do not come from the engine."""


class _Stray(Exception):  # noqa: N818  # it is no error of the program
    """The recording has an answer to what the engine did not ask."""


class _Living:
    """An engine on its way through a recording; can be pickled.

    Attributes:
        position: how many inputs it has been given.
        entries: how many entries came of them.
        now: the instant it has come to.
    """

    def __init__(self, config: KubeletConfig, started_at: datetime) -> None:
        self.engine = Engine(config, started_at)
        self.position = 0
        self.entries = 0
        self.now = started_at
        self._decoder = InputDecoder()
        self._asked: set[int] = set()

    def live(self, tape: Tape) -> Turn:
        """Give it the next input; one that is damaged is skipped, and the tape told.

        Raises:
            _Stray: it is an answer to nothing, though nothing is missing before it.
        """
        now = tape.instants[self.position]
        turn = self._turn(tape, now)
        self.now = now
        self.position += 1
        self.entries += len(turn.entries)
        self._asked.update(
            effect.probe_id if isinstance(effect, RunProbe) else effect.operation_id
            for effect in turn.effects
            if isinstance(effect, RunProbe | RunOperation)
        )
        return turn

    def _turn(self, tape: Tape, now: datetime) -> Turn:
        try:
            json = tape.input(self.position)
            if json is None:
                return self.engine.advance(now)
            item = self._decoder.decode(json)
            self._check(item)
        except DamageError as error:
            tape.note_damage(self.position, error)
        except _Stray as error:
            if not tape.is_damaged:
                raise
            tape.note_damage(self.position, error)
        else:
            return self.engine.submit(item, now)
        return self.engine.advance(now)

    def _check(self, item: Input) -> None:
        match item:
            case (
                ProbeFinished(probe_id=number) | OperationFinished(operation_id=number)
            ):
                if number not in self._asked:
                    raise _Stray(f"answer {number} has no question")
                self._asked.discard(number)
            case OperationProgress(operation_id=number) if number not in self._asked:
                raise _Stray(f"progress of {number}, which nobody asked for")
            case _:
                return


class _Kept(NamedTuple):
    """A checkpoint, and how many inputs came before it."""

    position: int
    state: Checkpoint


class RecordedCourse:
    """A `Course` that has been run before.

    Args:
        tape: the recording.
        status_to_json: spells a status as its records do.
        apart: how many inputs there are between checkpoints; more in a long recording.

    Raises:
        RecordError: the recording does not say how to begin.
    """

    kind = PlaybackKind.REPLAY
    stands_still = False

    def __init__(
        self,
        tape: Tape,
        status_to_json: Callable[[PodStatus], Mapping[str, object]],
        apart: int = _APART,
    ) -> None:
        try:
            config = _decode_config(tape.session.config)
        except ValueError as error:
            raise RecordError(f"the session record is damaged: {error}") from error
        started_at = tape.started_at
        self._tape = tape
        self._apart = apart
        self._context = RecordContext(started_at, {}, status_to_json)
        self._present = _Living(config, started_at)
        self._ahead = _Living(config, started_at)
        self._ahead_journal = SessionJournal(SEEKABLE)
        self._last = len(tape)
        self._differs = ""
        self._broken = ""
        self._marks = Marks()
        self._kept = [_kept(self._ahead)]
        self._wants_checkpoint_at = apart
        self._now = started_at
        self._journal = _Part(self._ahead_journal, lambda: self._present.entries)

    # -- where it is

    @property
    def now(self) -> datetime:
        """The instant it has come to."""
        return self._now

    @property
    def position(self) -> int:
        """How many inputs the engine has been given."""
        return self._present.position

    @property
    def end(self) -> datetime | None:
        """When the recording ends."""
        return self._tape.ended_at

    @property
    def surveyed(self) -> int:
        """How many inputs have been looked at."""
        return self._ahead.position

    @property
    def note(self) -> str:
        """What is missing, and where it is not as it was."""
        notes = (self._tape.problem, self._broken, self._differs)
        return "; ".join(each for each in notes if each)

    @property
    def journal(self) -> Sequence[Entry]:
        """Every entry up to now."""
        return self._journal

    def snapshot(self) -> Snapshot:
        """Return what there is to see now."""
        return self._present.engine.snapshot(self._now)

    def next_at(self) -> datetime | None:
        """Return when the next input was given."""
        if self.position >= self._last:
            return None
        return self._tape.instants[self.position]

    # -- going on and back

    def turn(self) -> Sequence[Entry]:
        """Give the engine what comes next."""
        while self.surveyed <= self.position < self._last:
            self._survey()
        if self.position >= self._last:
            return ()
        entries = self._present.live(self._tape).entries
        self._now = max(self._now, self._present.now)
        return entries

    def pass_until(self, instant: datetime) -> None:
        """Let time pass."""
        self._now = max(self._now, instant)

    def submit(self, command: Command) -> None:
        """Do nothing: what has been cannot be changed."""

    def hold(self) -> None:
        """Do nothing: ticks come as they came."""

    def release(self) -> None:
        """Do nothing: ticks come as they came."""

    def step(self) -> None:
        """Go on until a tick is over."""
        while self.next_at() is not None:
            if has_tick(self.turn()):
                return

    def run_to_change(self) -> bool:
        """Go on; nobody stops it."""
        return False

    def last_mark(self) -> int | None:
        """Return where the last tick was about to end."""
        return self._marks.before(self.position)

    def go_to(self, position: int) -> None:
        """Go to a position that has been surveyed."""
        self._come_near(position)
        while self.position < position:
            self._present.live(self._tape)
        self._now = self._present.now

    def go_back(self, instant: datetime) -> None:
        """Go to where it was at an instant."""
        self.go_to(min(self._tape.position_at(instant), self._last))
        self._now = max(self._now, instant)

    def leap(self, instant: datetime) -> bool:
        """Come near an instant by a checkpoint; False while that is surveyed."""
        position = min(self._tape.position_at(instant), self._last)
        if self.surveyed < position:
            self.look_ahead()
            return False
        if position > self.position:
            self._come_near(position)
            self._now = max(self._now, self._present.now)
        return True

    def look_ahead(self) -> bool:
        """Survey some more; False when everything has been."""
        end = min(self.surveyed + _AT_ONCE, self._last)
        while self.surveyed < min(end, self._last):
            self._survey()
        return self.surveyed < self._last

    @property
    def prepared_until(self) -> datetime:
        """The instant up to which it has been looked at."""
        return max(self._now, self._ahead.now)

    def _come_near(self, position: int) -> None:
        """Start from the last checkpoint, unless the present is nearer."""
        kept = max(each for each in self._kept if each.position <= position)
        if not kept.position <= self.position <= position:
            self._present = kept.state.restore()

    # -- looking ahead

    def _survey(self) -> None:
        """Let the engine ahead live one input, and compare what it says."""
        position, first = self._ahead.position, self._ahead.entries
        try:
            entries = self._ahead.live(self._tape).entries
        except Exception as error:  # noqa: BLE001  # an engine given nonsense: see _broken
            self._last = position
            clock = _clock(self._tape.instants[position] - self._context.started_at)
            reason = error if isinstance(error, _Stray) else repr(error)
            self._broken = f"cannot be followed further than {clock}: {reason}"
            return
        self._ahead_journal.extend(entries)
        if has_tick(entries):
            self._marks.add(position)
        if not self._differs:
            self._compare(entries, first)
        self._keep_checkpoint()

    def _keep_checkpoint(self) -> None:
        position = self._ahead.position
        if position < self._wants_checkpoint_at:
            return
        state = take_checkpoint(self._ahead)
        if state is None:
            self._wants_checkpoint_at = position + _TRY_AGAIN
        else:
            self._kept.append(_Kept(position, state))
            if len(self._kept) > _MOST_KEPT:
                del self._kept[1::2]
                self._apart *= 2
            self._wants_checkpoint_at = position + self._apart

    def _compare(self, entries: Sequence[Entry], first: int) -> None:
        for number, entry in enumerate(entries, first):
            if number >= self._tape.entries:
                return
            said = encode_entry(entry, self._context)
            try:
                field = _first_difference(self._tape.entry(number), said)
            except DamageError as error:
                field = f"which cannot be read: {error}"
            if field:
                clock = _clock(entry.at - self._context.started_at)
                self._differs = (
                    f"not as it was from {clock} on: entry {number + 1}, {field}"
                )
                return


class _Part(Sequence[Entry]):
    """The beginning of a journal, as long as it is now."""

    def __init__(self, journal: SessionJournal, length: Callable[[], int]) -> None:
        self._journal = journal
        self._length_now = length

    @property
    def _length(self) -> int:
        return min(self._length_now(), len(self._journal))

    @property
    def first(self) -> int:
        """The place of the oldest entry that is still there."""
        return self._journal.first

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[Entry]:
        yield from self._journal[: self._length]

    @overload
    def __getitem__(self, place: int) -> Entry: ...
    @overload
    def __getitem__(self, place: slice) -> list[Entry]: ...
    def __getitem__(self, place: int | slice) -> Entry | list[Entry]:
        if isinstance(place, slice):
            start, stop, step = place.indices(self._length)
            return self._journal[start:stop:step]
        if not -self._length <= place < self._length:
            raise IndexError(f"entry {place} of {self._length} is not there")
        return self._journal[place % self._length]


def _decode_config(json: Any) -> KubeletConfig:
    """Read how the kubelet of a recording behaved.

    Raises:
        ValueError: it is not that of any kubelet.
    """
    config: KubeletConfig = decode_value(KubeletConfig, json)
    for field in fields(config):
        value = getattr(config, field.name)
        if (
            isinstance(value, timedelta)
            and value <= timedelta()
            and value != config.age
        ):
            raise ValueError(f"{field.name} must be longer than nothing")
    return config


def _kept(living: _Living) -> _Kept:
    state = take_checkpoint(living)
    if state is None:
        raise AssertionError("an engine that has done nothing can be kept")
    return _Kept(living.position, state)


def _first_difference(recorded: Mapping[str, Any], said: Mapping[str, Any]) -> str:
    """Say in which field two records differ, empty if in none."""
    for key, value in recorded.items():
        if key not in _NOT_OURS and said.get(key) != value:
            return f"{key}: {said.get(key)!r}, was {value!r}"
    return ""


def _clock(length: Any) -> str:
    seconds = length.total_seconds()
    return f"{int(seconds // 60):02d}:{seconds % 60:04.1f}"
