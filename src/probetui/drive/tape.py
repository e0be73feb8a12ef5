"""A recording as it lies in its file: where each input and each entry stands.

A long session is a file of a hundred megabytes; it is looked through once, and its
lines are read when they are wanted.
"""

from __future__ import annotations

import json
from array import array
from bisect import bisect_right
from datetime import datetime
from pathlib import Path
from typing import Any

from msgspec import UnsetType

from probetui.drive.compressed_records import read_record_file
from probetui.drive.input_records import InputDecoder
from probetui.drive.record_lines import DamageError, Line, RecordLines
from probetui.drive.record_schema import End, Input, Rewind, Session
from probetui.drive.recording import without_end
from probetui.errors import RecordError
from probetui.k8s.pod import Pod
from probetui.kubelet.inputs import AddPod, SetPods

Json = dict[str, Any]

_PODS = ("AddPod", "SetPods")


class Tape:
    """A recording; what was taken back in it is not there.

    Args:
        path: the file.

    Attributes:
        session: its first record.
        started_at: the instant of that.
        instants: when each input was given to the engine.
        ended_at: the instant of the last record.

    Raises:
        RecordError: the file cannot be read, is no recording, was written by a newer
            version of probetui, or has no inputs in it.
    """

    def __init__(self, path: Path) -> None:
        self._data = read_record_file(path)
        self._lines = RecordLines(self._data, path)
        self.session = self._lines.session
        self.started_at = self.ended_at = self._lines.started_at
        self.instants: list[datetime] = []
        self._inputs = array("Q")
        self._input_lines = array("Q")
        self._input_numbers = array("Q")
        self._pod_inputs: list[int] = []
        self._entries = array("Q")
        self._sequences = array("Q")
        self._has_end = False
        for line in self._lines:
            self._take(line)
        if self.session.continues:
            raise RecordError(
                f"{path}: cannot be played: it is a later part of a session whose "
                "beginning was not kept (`probetui why` can read it)"
            )
        if not self._inputs:
            raise RecordError(
                f"{path}: cannot be played: it says what happened, but not what the "
                "engine was told (an earlier probetui wrote it, or nothing happened)"
            )

    @property
    def problem(self) -> str:
        """Which lines cannot be used and why, empty if all can."""
        damages = str(self._lines.damages)
        if self._has_end or damages:
            return damages
        return without_end(self._lines.count, self.ended_at, self.started_at)

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
        """Return the pods that the session was told to run, in order."""
        found: dict[str, Pod] = {}
        for offset in self._pod_inputs:
            try:
                item = InputDecoder().decode(self._input_at(offset) or {})
            except DamageError:
                continue  # It is told when the engine is to be given it.
            if isinstance(item, AddPod | SetPods):
                pods = (item.pod,) if isinstance(item, AddPod) else item.pods
                found |= {pod.uid: pod for pod in pods}
        return tuple(found.values())

    def position_at(self, instant: datetime) -> int:
        """Return how many inputs there were up to an instant."""
        return bisect_right(self.instants, instant)

    def _take(self, line: Line) -> None:
        record = line.record
        self.ended_at = line.at
        self._has_end = isinstance(record, End)
        match record:
            case Input():
                self._take_input(line, record)
            case Rewind():
                kept_inputs = bisect_right(self._input_numbers, record.inputs)
                del self._inputs[kept_inputs:], self.instants[kept_inputs:]
                del self._input_numbers[kept_inputs:], self._input_lines[kept_inputs:]
                last = record.seq if isinstance(record.kept, UnsetType) else record.kept
                kept = bisect_right(self._sequences, last)
                del self._entries[kept:], self._sequences[kept:]
            case Session() | End():
                pass
            case _:
                self._entries.append(line.offset)
                self._sequences.append(record.seq)

    def _take_input(self, line: Line, record: Input) -> None:
        self._inputs.append(line.offset)
        self._input_numbers.append(record.n)
        self._input_lines.append(line.number)
        self.instants.append(line.at)
        if isinstance(record.input, dict) and record.input.get("is") in _PODS:
            self._pod_inputs.append(line.offset)

    def _line(self, offset: int) -> bytes:
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
