"""Recordings: journal entries for `why`, inputs for a replay."""

from __future__ import annotations

import json
from array import array
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

from msgspec import Struct, UnsetType, field
from msgspec.structs import replace

from probetui.engine.inputs import AddPod, SetPods
from probetui.errors import RecordError
from probetui.k8s.pod import Pod
from probetui.kubelet.journal import (
    EventEntry,
    JournalEntry,
    TickEntry,
)
from probetui.record.codec import decode_entry, is_entry
from probetui.record.file import (
    RECORD_BYTES,
    Line,
    RecordLines,
    describe_missing_end,
)
from probetui.record.format import (
    EndRecord,
    InputRecord,
    PodFields,
    RewindRecord,
    SessionRecord,
)
from probetui.record.inputs import InputDecoder
from probetui.record.values import DamageError

Json = dict[str, Any]

_OFFSETS = "Q"
"""The type of offsets and numbers in arrays: a list takes five times the memory."""

_PODS = ("AddPod", "SetPods")
"""The inputs that bring pods, by their names in files."""


class Recording(Struct, frozen=True):
    """What could be read of a recording.

    `session` and `end` are their records as they stand in the file; `end` is None for
    a session that did not close its recording. `problem` says which lines could not be
    read and why, empty if all could. `pods` has namespace and name of each pod by UID,
    `added` the pods of a session without manifests, as one that watches a cluster.
    """

    session: SessionRecord
    entries: tuple[JournalEntry, ...]
    end: EndRecord | None
    problem: str = ""
    pods: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    added: Mapping[str, Pod] = field(default_factory=dict)

    @property
    def started_at(self) -> datetime:
        """The instant of its first record."""
        return datetime.fromisoformat(self.session.ts)

    @property
    def ended_at(self) -> datetime:
        """The end of the session, or the last instant that is known of it."""
        last = self.end or self.session
        instants = [datetime.fromisoformat(last.ts)]
        return max(instants + [entry.at for entry in self.entries[-1:]])


def read_recording(path: Path, most_bytes: int = RECORD_BYTES) -> Recording:
    """Read a recording, without its damaged lines.

    Args:
        path: the file.
        most_bytes: how large it may be, unpacked.

    Raises:
        RecordError: the file cannot be read, is not a recording, or was written by a
            newer version of probetui.
    """
    lines = RecordLines(path, most_bytes)
    kept: list[_Read] = []
    pods: dict[str, tuple[str, str]] = {}
    added: dict[str, Pod] = {}
    at, end = lines.started_at, None
    for line in lines:
        record, at, end = line.record, line.at, None
        if isinstance(record, EndRecord):
            end = record
        elif isinstance(record, RewindRecord):
            _take_back(kept, record)
        elif isinstance(record, InputRecord):
            if not lines.session.manifests:
                added |= {pod.uid: pod for pod in _pods_of(record.input)}
        elif is_entry(record):
            try:
                kept.append(_read(record, at))
            except ValueError as error:
                lines.damages.add(line.number, error)
                continue
            if isinstance(record, PodFields) and record.pod:
                pods[record.pod_uid] = record.namespace, record.pod
    problem = str(lines.damages)
    if end is None and not problem:
        started_at = lines.started_at
        problem = describe_missing_end(lines.count, max(at, started_at), started_at)
    entries = tuple(_with_ticks(_renumbered(kept)))
    return Recording(lines.session, entries, end, problem, pods, added)


def _pods_of(item: object) -> Sequence[Pod]:
    """Return the pods that an input adds, none of one that cannot be read."""
    if not isinstance(item, dict) or item.get("is") not in _PODS:
        return ()
    try:
        added = InputDecoder().decode(item)
    except DamageError:
        return ()  # Reported when the input is replayed.
    if isinstance(added, AddPod):
        return (added.pod,)
    return added.pods if isinstance(added, SetPods) else ()


class _Read(NamedTuple):
    """An entry with the number of its record, and its cause; events without ticks."""

    entry: JournalEntry
    cause: int | None


def _read(record: Any, at: datetime) -> _Read:
    return _Read(decode_entry(record, at), getattr(record, "cause", None))


def _take_back(kept: list[_Read], rewind: RewindRecord) -> None:
    """Drop the entries that a rewind takes back."""
    last = last_kept(rewind)
    while kept and kept[-1].entry.sequence > last:
        kept.pop()


def last_kept(rewind: RewindRecord) -> int:
    """Return the number of the newest line that a rewind keeps, if it is an entry's."""
    return rewind.seq if isinstance(rewind.kept, UnsetType) else rewind.kept


def _renumbered(read: Sequence[_Read]) -> list[_Read]:
    """Return entries and their causes renumbered by their places, as in a journal."""
    places: dict[int | None, int] = {
        entry.sequence: place for place, (entry, _) in enumerate(read, start=1)
    }
    return [
        _Read(_numbered(entry, place, places.get(cause)), places.get(cause))
        for place, (entry, cause) in enumerate(read, start=1)
    ]


def _numbered(entry: JournalEntry, number: int, cause: int | None) -> JournalEntry:
    if hasattr(entry, "cause"):
        return replace(entry, sequence=number, cause=cause)
    return replace(entry, sequence=number)


def _with_ticks(read: Sequence[_Read]) -> Iterator[JournalEntry]:
    """Yield entries, events with their ticks.

    The tick may come later: an event may be written before its tick is over.
    """
    ticks = {entry.sequence: entry for entry, _ in read if isinstance(entry, TickEntry)}
    for entry, cause in read:
        if isinstance(entry, EventEntry) and cause is not None:
            yield replace(entry, tick=ticks.get(cause))
        else:
            yield entry


class RecordingFile:
    """A recording without what a rewind took back; its lines are decoded when needed.

    Args:
        path: the file.
        most_bytes: how large it may be, unpacked.

    Attributes:
        session: its first record.
        started_at: the instant of that.
        instants: when each input was given to the engine.
        ended_at: the instant of the last record.

    Raises:
        RecordError: the file cannot be read, is no recording, was written by a newer
            version of probetui, or has no inputs in it.
    """

    def __init__(self, path: Path, most_bytes: int = RECORD_BYTES) -> None:
        self._data = bytearray()
        self._lines = RecordLines(path, most_bytes)
        self.session = self._lines.session
        self.started_at = self.ended_at = self._lines.started_at
        self.instants: list[datetime] = []
        self._inputs = array(_OFFSETS)
        self._input_lines = array(_OFFSETS)
        self._input_numbers = array(_OFFSETS)
        self._pod_inputs: list[int] = []
        self._entries = array(_OFFSETS)
        self._sequences = array(_OFFSETS)
        self._has_end = False
        for line in self._lines:
            self._index_line(line)
        if self.session.continues:
            raise RecordError(
                f"{path}: cannot be played: it is a later part of a session whose "
                "beginning was not kept (`probetui why` can read it)"
            )
        if not self._inputs:
            raise RecordError(
                f"{path}: cannot be played: it has no inputs of the engine (an earlier "
                "probetui wrote it, or nothing happened)"
            )

    @property
    def problem(self) -> str:
        """Which lines cannot be used and why, empty if all can."""
        damages = str(self._lines.damages)
        if self._has_end or damages:
            return damages
        return describe_missing_end(self._lines.count, self.ended_at, self.started_at)

    @property
    def entries(self) -> int:
        """How many entries there are."""
        return len(self._entries)

    def __len__(self) -> int:
        """Return how many inputs there are."""
        return len(self._inputs)

    def input(self, number: int) -> Json | None:
        """Return an input, counted from 0; None where only time passed.

        Raises:
            DamageError: a field that is not known cannot be read.
        """
        return self._input_at(self._inputs[number])

    @property
    def is_damaged(self) -> bool:
        """Whether there are lines that cannot be used or are missing."""
        return bool(self._lines.damages)

    def note_damage(self, number: int, reason: object) -> None:
        """Note that an input cannot be given to the engine."""
        self._lines.damages.add(self._input_lines[number], reason)

    def entry(self, number: int) -> Json:
        """Return the record of an entry, counted from 0, numbered as in a journal.

        Raises:
            DamageError: a field that is not known cannot be read.
        """
        record = self._json(self._entries[number])
        record["seq"] = number + 1
        if record.get("cause") is not None:
            record["cause"] = bisect_right(self._sequences, record["cause"])
        return record

    def pods(self) -> tuple[Pod, ...]:
        """Return the pods of the session, in the order in which they were added."""
        pods_by_uid: dict[str, Pod] = {}
        for offset in self._pod_inputs:
            pods = _pods_of(self._input_at(offset))
            pods_by_uid |= {pod.uid: pod for pod in pods}
        return tuple(pods_by_uid.values())

    def position_at(self, instant: datetime) -> int:
        """Return how many inputs there were up to an instant."""
        return bisect_right(self.instants, instant)

    def _index_line(self, line: Line) -> None:
        record = line.record
        self.ended_at = line.at
        self._has_end = isinstance(record, EndRecord)
        match record:
            case InputRecord():
                self._index_input(line, record)
            case RewindRecord():
                kept_inputs = bisect_right(self._input_numbers, record.inputs)
                del self._inputs[kept_inputs:], self.instants[kept_inputs:]
                del self._input_numbers[kept_inputs:], self._input_lines[kept_inputs:]
                kept = bisect_right(self._sequences, last_kept(record))
                del self._entries[kept:], self._sequences[kept:]
            case SessionRecord() | EndRecord():
                pass
            case _:
                self._entries.append(self._keep(line))
                self._sequences.append(record.seq)

    def _index_input(self, line: Line, record: InputRecord) -> None:
        offset = self._keep(line)
        self._inputs.append(offset)
        self._input_numbers.append(record.n)
        self._input_lines.append(line.number)
        self.instants.append(line.at)
        if isinstance(record.input, dict) and record.input.get("is") in _PODS:
            self._pod_inputs.append(offset)

    def _keep(self, line: Line) -> int:
        """Keep the text of a line and return where it is."""
        offset = len(self._data)
        self._data += line.text
        return offset

    def _line(self, offset: int) -> bytearray:
        return self._data[offset : self._data.find(b"\n", offset) + 1]

    def _input_at(self, offset: int) -> Json | None:
        item: Json | None = self._json(offset)["input"]
        return item

    def _json(self, offset: int) -> Json:
        try:
            record: Json = json.loads(self._line(offset))
        except (ValueError, RecursionError) as error:
            raise DamageError(str(error)) from None
        return record
