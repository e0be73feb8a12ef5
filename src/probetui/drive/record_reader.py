"""Recordings read back: records to journal entries; of a cut-off file what is whole."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar

from probetui.drive.compressed_records import read_record_file
from probetui.drive.recording import VERSION, without_end
from probetui.drive.status_json import Json, decode_pod_status
from probetui.errors import RecordError
from probetui.k8s.event import Event, EventType
from probetui.k8s.listeners import Endpoint, Extent, Listeners
from probetui.k8s.probe import HTTPHeader, ProbeKey, ProbeType
from probetui.k8s.runtime import ContainerID
from probetui.kubelet.journal import (
    Action,
    BackoffEntry,
    By,
    ContainerEntry,
    Entry,
    EventEntry,
    Exit,
    FindingEntry,
    Gate,
    Lifecycle,
    ListenersEntry,
    NoteEntry,
    PodGoneEntry,
    Skip,
    StateEntry,
    StatusEntry,
    TickEntry,
    Trigger,
    TryEntry,
    UserEntry,
    What,
)
from probetui.kubelet.outcome import Attempt, HTTPAnswer, ProbeResult, Result


@dataclass(frozen=True, slots=True)
class Recording:
    """A recording, as far as it could be read.

    `session` and `end` are their records as they stand in the file; `end` is None for
    a session that did not close its recording. `problem` says how much could not be
    read and why, empty if all could. `pods` has namespace and name of each pod by UID.
    """

    session: Mapping[str, Any]
    entries: tuple[Entry, ...]
    end: Mapping[str, Any] | None
    problem: str = ""
    pods: Mapping[str, tuple[str, str]] = field(default_factory=dict)


def read_recording(path: Path) -> Recording:
    """Read a recording; of one that was cut off, what is whole.

    Raises:
        RecordError: the file cannot be read, is not a recording, or was written by a
            newer version of probetui.
    """
    data = read_record_file(path)
    records, problem = _whole_records(data, path)
    if not records or records[0].get("type") != "session":
        raise RecordError(f"{path}: is not a recording: no session record comes first")
    lines = len(records)
    end = records[-1] if records[-1]["type"] == "end" else None
    try:
        records = _what_stands(records)
        entries = decode_entries(_renumbered(records))
    except (KeyError, TypeError, ValueError) as error:
        raise RecordError(f"{path}: is not a recording: {error!r}") from error
    if end is None and not problem:
        last = max(_instant(each["ts"]) for each in (records[0], records[-1]))
        problem = without_end(lines, last, _instant(records[0]["ts"]))
    return Recording(records[0], entries, end, problem, _pods(records))


def _what_stands(records: Iterable[Json]) -> list[Json]:
    """Return the records without what was taken back: a session may go back in time."""
    kept: list[Json] = []
    for each in records:
        if each["type"] == "rewind":
            kept = [before for before in kept if not _is_after(before, each)]
        else:
            kept.append(each)
    return kept


def _is_after(record: Json, rewind: Json) -> bool:
    if record["type"] == "input":
        return int(record["n"]) > int(rewind["inputs"])
    last = rewind["kept"] if "kept" in rewind else rewind["seq"]
    return int(record["seq"]) > int(last)


def _renumbered(records: Iterable[Json]) -> Iterator[Json]:
    """Yield the records of entries, numbered as a journal is: by their places."""
    kept = [each for each in records if each["type"] in _DECODERS]
    numbers = {each["seq"]: number for number, each in enumerate(kept, start=1)}
    for each in kept:
        cause = {"cause": numbers.get(each["cause"])} if "cause" in each else {}
        yield each | cause | {"seq": numbers[each["seq"]]}


def _pods(records: Iterable[Mapping[str, Any]]) -> dict[str, tuple[str, str]]:
    """Return namespace and name of the pods that records name, by UID."""
    return {
        each["podUID"]: (each["namespace"], each["pod"])
        for each in records
        if each.get("pod")
    }


def decode_entries(records: Iterable[Mapping[str, Any]]) -> tuple[Entry, ...]:
    """Return the journal entries among some records, in order.

    Records of other types are passed over. Raises `KeyError`, `TypeError` or
    `ValueError` for records that are not ours.
    """
    kept = [each for each in records if each["type"] in _DECODERS]
    # An event may be written before the tick that caused it is over.
    ticks = {each["seq"]: _tick(each, {}) for each in kept if each["type"] == "tick"}
    return tuple(_DECODERS[each["type"]](each, ticks) for each in kept)


def _whole_records(data: bytes, path: Path) -> tuple[list[Json], str]:
    records: list[Json] = []
    read = 0
    for line in data.splitlines(keepends=True):
        record = _whole_record(line)
        if record is None:
            lost = len(data) - read
            return (
                records,
                f"line {len(records) + 1}: {lost} bytes are cut off or spoilt",
            )
        if record["v"] > VERSION:
            raise RecordError(
                f"{path}: the recording has version {record['v']}, "
                f"this probetui reads up to version {VERSION}"
            )
        records.append(record)
        read += len(line)
    return records, ""


def _whole_record(line: bytes) -> Json | None:
    if not line.endswith(b"\n"):
        return None
    try:
        record = json.loads(line)
    except ValueError:
        return None
    is_record = (
        isinstance(record, dict)
        and isinstance(record.get("v"), int)
        and isinstance(record.get("type"), str)
    )
    return record if is_record else None


Ticks = Mapping[int, TickEntry]
A = TypeVar("A")
B = TypeVar("B")


def _tick(record: Mapping[str, Any], _ticks: Ticks) -> TickEntry:
    return TickEntry(
        sequence=record["seq"],
        at=_instant(record["ts"]),
        key=_key(record),
        n=record["n"],
        trigger=Trigger(record["trigger"]),
        started_at=_instant(record["startedAt"]),
        duration=_from_milliseconds(record["ms"]),
        container_id=ContainerID(record["containerID"]),
        new_container=record["newContainer"],
        gates=tuple(Gate(**each) for each in record["gates"]),
        skip=_optional(Skip, record["skipped"]),
        exit=_optional(Exit, record["exit"]),
        attempts=tuple(_attempt(each) for each in record["attempts"]),
        result=_result(record["result"]),
        injected=record["injected"],
        run=record["run"]["count"],
        threshold=record["run"]["threshold"],
        stored_before=_result(record["stored"]["before"]),
        stored_after=_result(record["stored"]["after"]),
        hold_before=record["hold"]["before"],
        hold_after=record["hold"]["after"],
        action=Action(record["action"]),
        muted=record.get("muted", False),
        delay=_from_milliseconds(record.get("delayMs", 0)),
        held=_from_milliseconds(record.get("heldMs", 0)),
    )


def _try(record: Mapping[str, Any], _ticks: Ticks) -> TryEntry:
    return TryEntry(
        sequence=record["seq"],
        at=_instant(record["ts"]),
        key=_key(record),
        container_id=ContainerID(record["containerID"]),
        started_at=_instant(record["startedAt"]),
        duration=_from_milliseconds(record["ms"]),
        attempts=tuple(_attempt(each) for each in record["attempts"]),
        result=_result(record["result"]),
    )


def _key(record: Mapping[str, Any]) -> ProbeKey:
    kind = ProbeType(record["probe"].capitalize())
    return ProbeKey(record["podUID"], record["container"], kind)


def _attempt(json: Mapping[str, Any]) -> Attempt:
    return Attempt(
        result=ProbeResult(json["result"]),
        output=json["output"],
        error=json["error"],
        duration=_from_milliseconds(json["ms"]),
        detail=json["detail"],
        http=_optional(_answer, json.get("http")),
        refused_at=_optional(_endpoint, json.get("refused")),
        is_missing=json.get("missing", False),
    )


def _answer(json: Mapping[str, Any]) -> HTTPAnswer:
    return HTTPAnswer(
        status=json["status"],
        headers=tuple(HTTPHeader(**each) for each in json["headers"]),
        body=json["body"],
        redirects=tuple(json["redirects"]),
        cut_bytes=json.get("cut", 0),
    )


def _event(record: Mapping[str, Any], ticks: Ticks) -> EventEntry:
    event = Event(
        type=EventType(record["eventType"]),
        reason=record["reason"],
        message=record["message"],
        pod_uid=record["object"]["uid"],
        field_path=record["object"]["fieldPath"],
        at=_instant(record["eventTime"]),
        container_name=record["container"],
    )
    cause = record["cause"]
    tick = None if cause is None else ticks.get(cause)
    return EventEntry(record["seq"], _instant(record["ts"]), event, tick)


def _state(record: Mapping[str, Any], _ticks: Ticks) -> StateEntry:
    return StateEntry(
        sequence=record["seq"],
        at=_instant(record["ts"]),
        pod_uid=record["podUID"],
        container_name=record["container"],
        subject=record["subject"],
        what=What(record["what"]),
        before=record["from"],
        after=record["to"],
        cause=record["cause"],
    )


def _container(record: Mapping[str, Any], _ticks: Ticks) -> ContainerEntry:
    return ContainerEntry(
        sequence=record["seq"],
        at=_instant(record["ts"]),
        pod_uid=record["podUID"],
        container_name=record["container"],
        container_id=ContainerID(record["containerID"]),
        restart_count=record["restartCount"],
        what=Lifecycle(record["what"]),
        exit_code=record["exitCode"],
        signal=record["signal"],
        oom_killed=record["oom"],
        grace_period_seconds=record["grace"],
        grace_source=record["graceSource"],
        by=_optional(By, record["by"]),
        reason=record["reason"],
    )


def _backoff(record: Mapping[str, Any], _ticks: Ticks) -> BackoffEntry:
    return BackoffEntry(
        sequence=record["seq"],
        at=_instant(record["ts"]),
        pod_uid=record["podUID"],
        container_name=record["container"],
        window=timedelta(seconds=record["window"]),
        since=_optional(_instant, record["since"]),
        waits=record["waits"],
        until=_optional(_instant, record["until"]),
        next_window=timedelta(seconds=record["nextWindow"]),
        is_reset=record["reset"],
    )


def _status(record: Mapping[str, Any], _ticks: Ticks) -> StatusEntry:
    status = decode_pod_status(record["status"])
    return StatusEntry(record["seq"], _instant(record["ts"]), record["podUID"], status)


def _user(record: Mapping[str, Any], _ticks: Ticks) -> UserEntry:
    return UserEntry(
        record["seq"], _instant(record["ts"]), record["command"], record["target"]
    )


def _note(record: Mapping[str, Any], _ticks: Ticks) -> NoteEntry:
    return NoteEntry(
        record["seq"],
        _instant(record["ts"]),
        record["text"],
        record["fault"],
        record.get("bookmark", False),
    )


def _listeners(record: Mapping[str, Any], _ticks: Ticks) -> ListenersEntry:
    found = record["listeners"]
    return ListenersEntry(
        sequence=record["seq"],
        at=_instant(record["ts"]),
        key=_key(record),
        container_id=ContainerID(record["containerID"]),
        refused_at=_endpoint(record["refused"]),
        listeners=(
            None
            if found is None
            else Listeners(tuple(map(_endpoint, found)), Extent(record["extent"]))
        ),
        problem=record["problem"],
        cause=record["cause"],
    )


def _finding(record: Mapping[str, Any], _ticks: Ticks) -> FindingEntry:
    return FindingEntry(
        sequence=record["seq"],
        at=_instant(record["ts"]),
        key=_key(record),
        rule=record["rule"],
        path=record["path"],
        message=record["message"],
        place=record["place"],
        cause=record["cause"],
    )


def _endpoint(json: Mapping[str, Any]) -> Endpoint:
    return Endpoint(json["address"], json["port"])


def _gone(record: Mapping[str, Any], _ticks: Ticks) -> PodGoneEntry:
    return PodGoneEntry(record["seq"], _instant(record["ts"]), record["podUID"])


_DECODERS: Mapping[str, Callable[[Mapping[str, Any], Ticks], Entry]] = {
    "tick": _tick,
    "try": _try,
    "event": _event,
    "state": _state,
    "container": _container,
    "backoff": _backoff,
    "status": _status,
    "user": _user,
    "note": _note,
    "listeners": _listeners,
    "finding": _finding,
    "gone": _gone,
}


def _optional(convert: Callable[[A], B], value: A | None) -> B | None:
    return None if value is None else convert(value)


def _result(name: str | None) -> Result | None:
    return None if name is None else Result[name.upper()]


def _instant(text: str) -> datetime:
    return datetime.fromisoformat(text)


def _from_milliseconds(number: float) -> timedelta:
    return timedelta(milliseconds=number)
