"""Replay: feed a recording's inputs to a new engine and compare what it does.

The recording supplies the facts, so no effect is carried out; the engine's entries are
compared with the recorded ones. A second engine runs ahead: it takes checkpoints, so
that every instant is close to one, and finds the differences.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple, Protocol, overload

from probetui.drive.playback.checkpoint import Checkpoint, take_checkpoint
from probetui.drive.playback.source import TickPositions, has_tick
from probetui.drive.session_journal import SEEKABLE, SessionJournal
from probetui.engine.engine import Engine
from probetui.engine.inputs import Command, Input
from probetui.engine.snapshot import PlaybackKind, Snapshot
from probetui.errors import RecordError, UsageError
from probetui.k8s.probe import ProbeKey
from probetui.kubelet.config import KubeletConfig
from probetui.kubelet.effects import RunOperation, RunProbe
from probetui.kubelet.facts import OperationFinished, OperationProgress, ProbeFinished
from probetui.kubelet.journal import JournalEntry
from probetui.kubelet.runtime.turn import Turn
from probetui.record.codec import encode_entry
from probetui.record.format import RecordContext
from probetui.record.inputs import InputDecoder
from probetui.record.reader import RecordingFile
from probetui.record.values import DamageError, decode_value

_INPUTS_PER_SURVEY = 40
"""The number of inputs to survey before yielding to other tasks."""

_TRY_AGAIN = 200

_INPUTS_BETWEEN_CHECKPOINTS = 2_000
_MOST_KEPT = 128
"""Some tens of megabytes with a hundred pods."""

_NOT_OURS = frozenset({"v", "pod", "namespace", "object", "folded", "dropped"})
"""Fields of records that do not come from the engine."""

_SEQUENCE = "seq"


class UnexpectedAnswerError(Exception):  # it is no error of the program
    """The recording has an answer to an effect that the engine did not ask for."""


class ReplayedSession(Protocol):
    """A replay target that accepts a recording's inputs and can be pickled.

    Attributes:
        position: the number of inputs it has been given.
        entries: the number of its journal entries.
        now: the instant that it has reached.
    """

    position: int
    entries: int
    now: datetime

    def feed_next_input(self, recording: RecordingFile) -> Turn:
        """Feed the next input; one that is damaged is skipped and noted."""

    def snapshot(self, now: datetime) -> Snapshot:
        """Return the state at an instant."""


class ReplayEngine:
    """A replay target with an engine; it can be pickled.

    Attributes:
        position: the number of inputs it has been given.
        entries: the number of its journal entries.
        now: the instant that it has reached.
        last_input: what it was given last; None where only time passed.
    """

    def __init__(self, config: KubeletConfig, started_at: datetime) -> None:
        self.engine = Engine(config, started_at)
        self.position = 0
        self.entries = 0
        self.now = started_at
        self.last_input: Input | None = None
        self._decoder = InputDecoder()
        self._asked: set[int] = set()

    def snapshot(self, now: datetime) -> Snapshot:
        """Return the engine's state at an instant."""
        return self.engine.snapshot(now)

    def feed_next_input(self, recording: RecordingFile) -> Turn:
        """Feed the next input; one that is damaged is skipped and noted.

        Raises:
            UnexpectedAnswerError: it is an answer to nothing, though nothing is missing
                before it.
        """
        now = recording.instants[self.position]
        turn = self._turn(recording, now)
        self.now = now
        self.position += 1
        self.entries += len(turn.entries)
        self._asked.update(
            effect.probe_id if isinstance(effect, RunProbe) else effect.operation_id
            for effect in turn.effects
            if isinstance(effect, RunProbe | RunOperation)
        )
        return turn

    def _turn(self, recording: RecordingFile, now: datetime) -> Turn:
        self.last_input = None
        try:
            json = recording.input(self.position)
            if json is None:
                return self.engine.advance(now)
            item = self._decoder.decode(json)
            self._check(item)
        except DamageError as error:
            recording.note_damage(self.position, error)
        except UnexpectedAnswerError as error:
            if not recording.is_damaged:
                raise
            recording.note_damage(self.position, error)
        else:
            self.last_input = item
            return self.engine.submit(item, now)
        return self.engine.advance(now)

    def _check(self, item: Input) -> None:
        match item:
            case (
                ProbeFinished(probe_id=number) | OperationFinished(operation_id=number)
            ):
                if number not in self._asked:
                    raise UnexpectedAnswerError(f"answer {number} was not asked for")
                self._asked.discard(number)
            case OperationProgress(operation_id=number) if number not in self._asked:
                raise UnexpectedAnswerError(
                    f"progress of {number}, which was not asked for"
                )
            case _:
                return


class _ReplayCheckpoint(NamedTuple):
    """A checkpoint, and the number of inputs before it."""

    position: int
    state: Checkpoint


class ReplaySource:
    """A `PlaybackSource` that plays a recording.

    Args:
        recording: the recording.
        apart: the number of inputs between checkpoints; more in a long recording.
        begin: returns what is fed, for a kubelet's settings and the first instant.

    Raises:
        RecordError: its session record cannot be used.
    """

    kind = PlaybackKind.REPLAY
    is_held_by_engine = False

    def __init__(
        self,
        recording: RecordingFile,
        apart: int = _INPUTS_BETWEEN_CHECKPOINTS,
        begin: Callable[[KubeletConfig, datetime], ReplayedSession] = ReplayEngine,
    ) -> None:
        try:
            config = decode_config(recording.session.config)
        except ValueError as error:
            raise RecordError(f"the session record is damaged: {error}") from error
        if recording.session.observed and begin is ReplayEngine:
            raise RecordError(
                "the record is of `watch`: no engine of probetui decided in it "
                "(`probetui replay` and `why` can read it)"
            )
        started_at = recording.started_at
        self._recording = recording
        self._apart = apart
        self._context = RecordContext(started_at, {})
        self.config = config
        self._present = begin(config, started_at)
        self._ahead = begin(config, started_at)
        self._ahead_journal = SessionJournal(SEEKABLE)
        self._last = len(recording)
        self._differs = ""
        self._broken = ""
        self._marks = TickPositions()
        self._checkpoints = [_checkpoint_of(self._ahead)]
        self._wants_checkpoint_at = apart
        self._now = started_at
        self._journal = _JournalPrefix(
            self._ahead_journal, lambda: self._present.entries
        )

    # -- where it is

    @property
    def now(self) -> datetime:
        """The instant that the replay has reached."""
        return self._now

    @property
    def position(self) -> int:
        """The number of inputs submitted to the engine."""
        return self._present.position

    @property
    def end(self) -> datetime | None:
        """When the recording ends."""
        return self._recording.ended_at

    @property
    def inputs_surveyed(self) -> int:
        """The number of surveyed inputs."""
        return self._ahead.position

    @property
    def note(self) -> str:
        """Damage in the recording, and differences between replay and recording."""
        notes = (self._recording.problem, self._broken, self._differs)
        return "; ".join(note for note in notes if note)

    @property
    def journal(self) -> Sequence[JournalEntry]:
        """Every entry up to now."""
        return self._journal

    def snapshot(self) -> Snapshot:
        """Return the state at `now`."""
        return self._present.snapshot(self._now)

    def next_at(self) -> datetime | None:
        """Return the time of the next input."""
        if self.position >= self._last:
            return None
        return self._recording.instants[self.position]

    # -- going on and back

    def turn(self) -> Sequence[JournalEntry]:
        """Survey the next input if needed, then feed it.

        Each takes a turn of its own: an input of a pod with many containers is long.
        """
        if self.inputs_surveyed <= self.position < self._last:
            self._survey()
            return ()
        if self.position >= self._last:
            return ()
        entries = self._present.feed_next_input(self._recording).entries
        self._now = max(self._now, self._present.now)
        return entries

    def pass_until(self, instant: datetime) -> None:
        """Advance `now`."""
        self._now = max(self._now, instant)

    def submit(self, command: Command) -> None:
        """Ignore the command: a recording cannot change."""

    def hold(self, *, is_internal: bool = True) -> None:
        """Do nothing: ticks come when they were recorded."""

    def release(self, *, is_internal: bool = True) -> None:
        """Do nothing: ticks come when they were recorded."""

    def step(self, limit: datetime | None = None, key: ProbeKey | None = None) -> bool:
        """Feed inputs until one tick is over, of the probe `key` if given."""
        while (at := self.next_at()) is not None:
            if limit is not None and at > limit:
                return False
            if has_tick(self.turn(), key):
                break
        return True

    def run_to_change(self) -> bool:
        """Leave it to the caller to stop at a change."""
        return False

    def last_tick_position(self) -> int | None:
        """Return the position before the last tick."""
        return self._marks.before(self.position)

    def seek_position(self, position: int) -> None:
        """Seek to a surveyed position."""
        self._restore_near(position)
        while self.position < position:
            self._present.feed_next_input(self._recording)
        self._now = self._present.now

    def seek_back(self, instant: datetime) -> None:
        """Seek back to an instant."""
        self.seek_position(min(self._recording.position_at(instant), self._last))
        self._now = max(self._now, instant)

    def approach(self, instant: datetime) -> bool:
        """Restore the checkpoint before an instant; False while surveying is needed."""
        position = min(self._recording.position_at(instant), self._last)
        if self.inputs_surveyed < position:
            self.look_ahead()
            return False
        if position > self.position:
            self._restore_near(position)
            self._now = max(self._now, self._present.now)
        return True

    def look_ahead(self) -> bool:
        """Survey more inputs; return False when none are left."""
        end = min(self.inputs_surveyed + _INPUTS_PER_SURVEY, self._last)
        while self.inputs_surveyed < min(end, self._last):
            self._survey()
        return self.inputs_surveyed < self._last

    @property
    def prepared_until(self) -> datetime:
        """The instant up to which inputs have been surveyed."""
        return max(self._now, self._ahead.now)

    def _restore_near(self, position: int) -> None:
        """Restore the last checkpoint before a position, if that is closer."""
        kept = max(kept for kept in self._checkpoints if kept.position <= position)
        if not kept.position <= self.position <= position:
            self._present = kept.state.restore()

    # -- surveying

    def _survey(self) -> None:
        """Feed one input to the engine ahead and compare its entries."""
        position, first = self._ahead.position, self._ahead.entries
        try:
            entries = self._ahead.feed_next_input(self._recording).entries
        except Exception as error:  # noqa: BLE001  # an engine given nonsense: see _broken
            self._last = position
            clock = _clock(
                self._recording.instants[position] - self._context.started_at
            )
            reason = error if isinstance(error, UnexpectedAnswerError) else repr(error)
            self._broken = f"replay stops at {clock}: {reason}"
            return
        self._ahead_journal.extend(entries)
        if has_tick(entries):
            self._marks.add(position)
        if not self._differs:
            self._compare(entries, first)
        self._take_checkpoint_if_due()

    def _take_checkpoint_if_due(self) -> None:
        position = self._ahead.position
        if position < self._wants_checkpoint_at:
            return
        state = take_checkpoint(self._ahead)
        if state is None:
            self._wants_checkpoint_at = position + _TRY_AGAIN
        else:
            self._checkpoints.append(_ReplayCheckpoint(position, state))
            if len(self._checkpoints) > _MOST_KEPT:
                del self._checkpoints[1::2]
                self._apart *= 2
            self._wants_checkpoint_at = position + self._apart

    def _compare(self, entries: Sequence[JournalEntry], first: int) -> None:
        """Record the first entry of a turn that differs from the recorded one.

        The order within a turn is not compared: earlier versions wrote what a tick
        changed before the tick's event.
        """
        encoded = [encode_entry(entry, self._context) for entry in entries]
        numbers = range(first, min(first + len(encoded), self._recording.entries))
        for number, entry, record in zip(numbers, entries, encoded, strict=False):
            try:
                field = _first_difference(self._recording.entry(number), record)
            except DamageError as error:
                field = f"which cannot be read: {error}"
            if not field:
                continue
            if not self._is_in_another_order(numbers, encoded):
                clock = _clock(entry.at - self._context.started_at)
                self._differs = (
                    f"replay differs from {clock} on: entry {number + 1}, {field}"
                )
            return

    def _is_in_another_order(
        self, numbers: range, encoded: Sequence[Mapping[str, Any]]
    ) -> bool:
        """Return whether a turn's entries are the recorded ones in another order."""
        remaining = list(encoded)
        for number in numbers:
            try:
                recorded = self._recording.entry(number)
            except DamageError:
                return False
            in_its_place = {_SEQUENCE: recorded.get(_SEQUENCE)}
            for record in remaining:
                if not _first_difference(recorded, {**record, **in_its_place}):
                    remaining.remove(record)
                    break
            else:
                return False
        return True


class _JournalPrefix(Sequence[JournalEntry]):
    """The beginning of a journal, up to a length that changes."""

    def __init__(self, journal: SessionJournal, length: Callable[[], int]) -> None:
        self._journal = journal
        self._length_now = length

    @property
    def _length(self) -> int:
        return min(self._length_now(), len(self._journal))

    @property
    def first(self) -> int:
        """The index of the oldest kept entry."""
        return self._journal.first

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[JournalEntry]:
        yield from self._journal[: self._length]

    @overload
    def __getitem__(self, place: int) -> JournalEntry: ...
    @overload
    def __getitem__(self, place: slice) -> list[JournalEntry]: ...
    def __getitem__(self, place: int | slice) -> JournalEntry | list[JournalEntry]:
        if isinstance(place, slice):
            start, stop, step = place.indices(self._length)
            return self._journal[start:stop:step]
        if not -self._length <= place < self._length:
            raise IndexError(f"entry {place} of {self._length} is not there")
        return self._journal[place % self._length]


def decode_config(json: Any) -> KubeletConfig:
    """Read the kubelet configuration of a recording.

    Raises:
        ValueError: it is not that of any kubelet.
    """
    config: KubeletConfig = decode_value(KubeletConfig, json)
    try:
        _ = config.rules
    except UsageError as error:
        raise ValueError(str(error)) from error
    for name in config.__struct_fields__:
        value = getattr(config, name)
        if (
            isinstance(value, timedelta)
            and value <= timedelta()
            and value != config.age
        ):
            raise ValueError(f"{name} must be longer than nothing")
    return config


def _checkpoint_of(living: ReplayedSession) -> _ReplayCheckpoint:
    state = take_checkpoint(living)
    if state is None:
        raise AssertionError("an engine that has done nothing can be kept")
    return _ReplayCheckpoint(living.position, state)


def _first_difference(recorded: Mapping[str, Any], replayed: Mapping[str, Any]) -> str:
    """Return the first field that differs between two records, empty if none.

    Earlier versions asked fewer questions at last: whether a kill that `watch` saw may
    be of an instance that no status shows yet.
    """
    for key, value in recorded.items():
        now = replayed.get(key)
        if key == "gates" and isinstance(now, list):
            now = now[: len(value)]
        if key not in _NOT_OURS and now != value:
            return f"{key}: {now!r}, was {value!r}"
    return ""


def _clock(length: Any) -> str:
    seconds = length.total_seconds()
    return f"{int(seconds // 60):02d}:{seconds % 60:04.1f}"
