"""A recording as it lies in its file: where each input and each entry stands.

A long session is a file of a hundred megabytes; it is looked through once, and its
lines are read when they are wanted.
"""

from __future__ import annotations

import json
import re
from array import array
from bisect import bisect_right
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

from probetui.drive.compressed_records import read_record_file
from probetui.drive.recording import VERSION, without_end
from probetui.drive.value_json import decode_value
from probetui.errors import RecordError
from probetui.k8s.pod import Pod
from probetui.kubelet.inputs import AddPod, SetPods

Json = dict[str, Any]

_BEGINNING = re.compile(
    rb'\{"v":(\d+),"seq":(\d+),"ts":"([^"]+)","t":[^,"]+,"type":"(\w+)"'
)

_POD_INPUT = re.compile(rb'"is":\s?"(AddPod|SetPods)"')


class _Head(NamedTuple):
    """What every record begins with."""

    version: int
    sequence: int
    at: datetime
    kind: str


class Tape:
    """A recording; what was taken back in it is not there.

    Args:
        path: the file.

    Attributes:
        session: its first record.
        instants: when each input was given to the engine.
        ended_at: the instant of the last record.
        problem: how much could not be read and why, empty if all could.

    Raises:
        RecordError: the file cannot be read, is no recording, was written by a newer
            version of probetui, or has no inputs in it.
    """

    def __init__(self, path: Path) -> None:
        self._data = _contents(path)
        self.instants: list[datetime] = []
        self.problem = ""
        self._inputs = array("Q")
        self._entries = array("Q")
        self._sequences = array("Q")
        self.session: Json = {}
        self.ended_at: datetime | None = None
        self._lines = 0
        self._has_end = False
        for offset, head in self._heads(path):
            self._take(offset, head)
        if not self.session:
            raise RecordError(
                f"{path}: is not a recording: no session record comes first"
            )
        if self.session.get("continues"):
            raise RecordError(
                f"{path}: cannot be played: it is a later part of a session whose "
                "beginning was not kept (`probetui why` can read it)"
            )
        if not self._inputs:
            raise RecordError(
                f"{path}: cannot be played: it says what happened, but not what the "
                "engine was told (an earlier probetui wrote it, or nothing happened)"
            )
        if not self._has_end and not self.problem:
            self.problem = self._without_end()

    @property
    def entries(self) -> int:
        """How many entries there are."""
        return len(self._entries)

    def __len__(self) -> int:
        """Return how many inputs there are."""
        return len(self._inputs)

    def input(self, number: int) -> Json | None:
        """Return an input, counted from 0; None where only time passed."""
        item: Json | None = self._record(self._inputs[number])["input"]
        return item

    def entry(self, number: int) -> Json:
        """Return the record of an entry, counted from 0, numbered as in a journal."""
        record = self._record(self._entries[number])
        record["seq"] = number + 1
        if record.get("cause") is not None:
            record["cause"] = bisect_right(self._sequences, record["cause"])
        return record

    def pods(self) -> tuple[Pod, ...]:
        """Return the pods that the session was told to run, in order."""
        found: dict[str, Pod] = {}
        for offset in self._inputs:
            end = self._data.find(b"\n", offset)
            if _POD_INPUT.search(self._data, offset, end) is not None:
                item = decode_value(AddPod | SetPods, self._record(offset)["input"])
                pods = (item.pod,) if isinstance(item, AddPod) else item.pods
                found |= {each.uid: each for each in pods}
        return tuple(found.values())

    def position_at(self, instant: datetime) -> int:
        """Return how many inputs there were up to an instant."""
        return bisect_right(self.instants, instant)

    def _heads(self, path: Path) -> Iterator[tuple[int, _Head]]:
        """Yield where each whole line begins, and how; say what is left."""
        offset = number = 0
        size = len(self._data)
        while offset < size:
            number += 1
            end = self._data.find(b"\n", offset) + 1
            head = _head(self._data[offset:end]) if end else None
            if head is None:
                lost = size - offset
                self.problem = f"line {number}: {lost} bytes are cut off or spoilt"
                return
            if head.version > VERSION:
                raise RecordError(
                    f"{path}: the recording has version {head.version}, "
                    f"this probetui reads up to version {VERSION}"
                )
            if number == 1 and head.kind != "session":
                return
            yield offset, head
            offset = end

    def _without_end(self) -> str:
        started_at = _instant(self.session["ts"])
        return without_end(self._lines, self.ended_at or started_at, started_at)

    def _take(self, offset: int, head: _Head) -> None:
        self.ended_at = head.at
        self._lines += 1
        self._has_end = head.kind == "end"
        match head.kind:
            case "session":
                self.session = self._record(offset)
            case "input":
                self._inputs.append(offset)
                self.instants.append(head.at)
            case "rewind":
                record = self._record(offset)
                inputs = record["inputs"]
                del self._inputs[inputs:], self.instants[inputs:]
                last = record.get("kept", head.sequence)
                kept = bisect_right(self._sequences, last)
                del self._entries[kept:], self._sequences[kept:]
            case "end":
                pass
            case _:
                self._entries.append(offset)
                self._sequences.append(head.sequence)

    def _record(self, offset: int) -> Json:
        end = self._data.find(b"\n", offset)
        record: Json = json.loads(self._data[offset:end])
        return record


def _contents(path: Path) -> bytes:
    data = read_record_file(path)
    if not data:
        raise RecordError(f"{path}: is not a recording: it is empty")
    return data


def _head(line: bytes) -> _Head | None:
    """Return how a line begins, None for one that is not whole or no record."""
    found = _BEGINNING.match(line)
    if found is not None and line.endswith(b"}\n"):
        version, sequence, at, kind = found.groups()
        return _Head(int(version), int(sequence), _instant(at.decode()), kind.decode())
    # Somebody else's tool may have written it anew.
    try:
        record = json.loads(line)
        return _Head(
            int(record["v"]),
            int(record["seq"]),
            _instant(record["ts"]),
            str(record["type"]),
        )
    except (ValueError, KeyError, TypeError):
        return None


def _instant(text: str) -> datetime:
    return datetime.fromisoformat(text)
