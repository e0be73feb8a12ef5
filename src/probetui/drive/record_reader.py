"""Recordings read back: records to journal entries; what is damaged is left out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from msgspec import UnsetType

from probetui.drive import record_schema
from probetui.drive.compressed_records import read_record_file
from probetui.drive.record_lines import (
    RecordLines,
)
from probetui.drive.record_schema import AnyRecord, OfPod
from probetui.drive.recording import without_end
from probetui.drive.status_json import decode_pod_status
from probetui.drive.value_json import plausible_instant
from probetui.k8s.event import Event
from probetui.k8s.listeners import Endpoint, Listeners
from probetui.k8s.probe import HTTPHeader, ProbeKey, ProbeType
from probetui.k8s.runtime import ContainerID
from probetui.kubelet.journal import (
    BackoffEntry,
    ContainerEntry,
    Entry,
    EventEntry,
    FindingEntry,
    Gate,
    ListenersEntry,
    NoteEntry,
    PodGoneEntry,
    StateEntry,
    StatusEntry,
    TickEntry,
    TryEntry,
    UserEntry,
)
from probetui.kubelet.outcome import Attempt, HTTPAnswer, Result

A = TypeVar("A")
B = TypeVar("B")


@dataclass(frozen=True, slots=True)
class Recording:
    """A recording, as far as it could be read.

    `session` and `end` are their records as they stand in the file; `end` is None for
    a session that did not close its recording. `problem` says which lines could not be
    read and why, empty if all could. `pods` has namespace and name of each pod by UID.
    """

    session: record_schema.Session
    entries: tuple[Entry, ...]
    end: record_schema.End | None
    problem: str = ""
    pods: Mapping[str, tuple[str, str]] = field(default_factory=dict)


def read_recording(path: Path) -> Recording:
    """Read a recording; of one that is damaged, all lines that are not.

    Raises:
        RecordError: the file cannot be read, is not a recording, or was written by a
            newer version of probetui.
    """
    lines = RecordLines(read_record_file(path), path)
    kept: list[_Read] = []
    pods: dict[str, tuple[str, str]] = {}
    at, end = lines.started_at, None
    for line in lines:
        record, at, end = line.record, line.at, None
        if isinstance(record, record_schema.End):
            end = record
        elif isinstance(record, record_schema.Rewind):
            _take_back(kept, record)
        elif type(record) in _DECODERS:
            try:
                kept.append(_read(record, at))
            except ValueError as error:
                lines.damages.add(line.number, error)
                continue
            if isinstance(record, OfPod) and record.pod:
                pods[record.pod_uid] = record.namespace, record.pod
    problem = str(lines.damages)
    if end is None and not problem:
        started_at = lines.started_at
        problem = without_end(lines.count, max(at, started_at), started_at)
    entries = tuple(_with_ticks(_renumbered(kept)))
    return Recording(lines.session, entries, end, problem, pods)


def decode_entries(records: Iterable[AnyRecord]) -> tuple[Entry, ...]:
    """Return the journal entries among some records, with the numbers of the records.

    Records of other types are passed over.

    Raises:
        ValueError: a value has the type that it should have, but cannot be.
    """
    read = [
        _read(record, plausible_instant(record.ts))
        for record in records
        if type(record) in _DECODERS
    ]
    return tuple(_with_ticks(read))


class _Read(NamedTuple):
    """An entry as a record has it, events without ticks; and its cause."""

    entry: Entry
    cause: int | None


def _read(record: Any, at: datetime) -> _Read:
    return _Read(_DECODERS[type(record)](record, at), getattr(record, "cause", None))


def _take_back(kept: list[_Read], rewind: record_schema.Rewind) -> None:
    """Drop what did not happen: a session may go back in time."""
    last = rewind.seq if isinstance(rewind.kept, UnsetType) else rewind.kept
    while kept and kept[-1].entry.sequence > last:
        kept.pop()


def _renumbered(read: Sequence[_Read]) -> list[_Read]:
    """Return entries numbered as a journal is, by their places, and so their causes."""
    places = {each.entry.sequence: place for place, each in enumerate(read, start=1)}
    return [
        _Read(_numbered(entry, place, places.get(cause or 0)), places.get(cause or 0))
        for place, (entry, cause) in enumerate(read, start=1)
    ]


def _numbered(entry: Entry, number: int, cause: int | None) -> Entry:
    match entry:
        case TickEntry():
            return entry._replace(sequence=number)
        case StateEntry() | ListenersEntry() | FindingEntry():
            return replace(entry, sequence=number, cause=cause)
        case _:
            return replace(entry, sequence=number)


def _with_ticks(read: Sequence[_Read]) -> Iterator[Entry]:
    """Yield entries, events with their ticks.

    A tick may come later: an event may be written before its tick is over.
    """
    ticks = {
        each.entry.sequence: each.entry
        for each in read
        if isinstance(each.entry, TickEntry)
    }
    for entry, cause in read:
        if isinstance(entry, EventEntry) and cause is not None:
            yield replace(entry, tick=ticks.get(cause))
        else:
            yield entry


def _tick(record: record_schema.Tick, at: datetime) -> TickEntry:
    return TickEntry(
        sequence=record.seq,
        at=at,
        key=_key(record),
        n=record.n,
        trigger=record.trigger,
        started_at=plausible_instant(record.started_at),
        duration=_from_milliseconds(record.ms),
        container_id=ContainerID(record.container_id),
        new_container=record.new_container,
        gates=tuple(Gate(gate.name, gate.value, gate.passed) for gate in record.gates),
        skip=record.skipped,
        exit=record.exit,
        attempts=tuple(map(_attempt, record.attempts)),
        result=_result(record.result),
        injected=record.injected,
        run=record.run.count,
        threshold=record.run.threshold,
        stored_before=_result(record.stored.before),
        stored_after=_result(record.stored.after),
        hold_before=record.hold.before,
        hold_after=record.hold.after,
        action=record.action,
        muted=record.muted,
        delay=_from_milliseconds(record.delay_ms),
        held=_from_milliseconds(record.held_ms),
    )


def _try(record: record_schema.Try, at: datetime) -> TryEntry:
    return TryEntry(
        sequence=record.seq,
        at=at,
        key=_key(record),
        container_id=ContainerID(record.container_id),
        started_at=plausible_instant(record.started_at),
        duration=_from_milliseconds(record.ms),
        attempts=tuple(map(_attempt, record.attempts)),
        result=_result(record.result),
    )


def _key(
    record: record_schema.Tick
    | record_schema.Try
    | record_schema.Listeners
    | record_schema.Finding,
) -> ProbeKey:
    kind = ProbeType(record.probe.capitalize())
    return ProbeKey(record.pod_uid, record.container, kind)


def _attempt(read: record_schema.Attempt) -> Attempt:
    return Attempt(
        result=read.result,
        output=read.output,
        error=read.error,
        duration=_from_milliseconds(read.ms),
        detail=read.detail,
        http=None if isinstance(read.http, UnsetType) else _answer(read.http),
        refused_at=(
            None if isinstance(read.refused, UnsetType) else _endpoint(read.refused)
        ),
        is_missing=read.missing,
    )


def _answer(read: record_schema.HTTPAnswer) -> HTTPAnswer:
    return HTTPAnswer(
        status=read.status,
        headers=tuple(HTTPHeader(header.name, header.value) for header in read.headers),
        body=read.body,
        redirects=tuple(read.redirects),
        cut_bytes=read.cut,
    )


def _event(record: record_schema.Event, at: datetime) -> EventEntry:
    event = Event(
        type=record.event_type,
        reason=record.reason,
        message=record.message,
        pod_uid=record.object.uid,
        field_path=record.object.field_path,
        at=plausible_instant(record.event_time),
        container_name=record.container,
    )
    return EventEntry(record.seq, at, event, None)


def _state(record: record_schema.State, at: datetime) -> StateEntry:
    return StateEntry(
        sequence=record.seq,
        at=at,
        pod_uid=record.pod_uid,
        container_name=record.container,
        subject=record.subject,
        what=record.what,
        before=record.before,
        after=record.after,
        cause=record.cause,
    )


def _container(record: record_schema.Container, at: datetime) -> ContainerEntry:
    return ContainerEntry(
        sequence=record.seq,
        at=at,
        pod_uid=record.pod_uid,
        container_name=record.container,
        container_id=ContainerID(record.container_id),
        restart_count=record.restart_count,
        what=record.what,
        exit_code=record.exit_code,
        signal=record.signal,
        oom_killed=record.oom,
        grace_period_seconds=record.grace,
        grace_source=record.grace_source,
        by=record.by,
        reason=record.reason,
    )


def _backoff(record: record_schema.Backoff, at: datetime) -> BackoffEntry:
    return BackoffEntry(
        sequence=record.seq,
        at=at,
        pod_uid=record.pod_uid,
        container_name=record.container,
        window=timedelta(seconds=record.window),
        since=_optional(plausible_instant, record.since),
        waits=record.waits,
        until=_optional(plausible_instant, record.until),
        next_window=timedelta(seconds=record.next_window),
        is_reset=record.reset,
    )


def _status(record: record_schema.Status, at: datetime) -> StatusEntry:
    status = decode_pod_status(record.status)
    return StatusEntry(record.seq, at, record.pod_uid, status)


def _user(record: record_schema.User, at: datetime) -> UserEntry:
    return UserEntry(record.seq, at, record.command, record.target)


def _note(record: record_schema.Note, at: datetime) -> NoteEntry:
    return NoteEntry(record.seq, at, record.text, record.fault, record.bookmark)


def _listeners(record: record_schema.Listeners, at: datetime) -> ListenersEntry:
    found, extent = record.listeners, record.extent
    return ListenersEntry(
        sequence=record.seq,
        at=at,
        key=_key(record),
        container_id=ContainerID(record.container_id),
        refused_at=_endpoint(record.refused),
        listeners=(
            None
            if found is None or extent is None
            else Listeners(tuple(map(_endpoint, found)), extent)
        ),
        problem=record.problem,
        cause=record.cause,
    )


def _finding(record: record_schema.Finding, at: datetime) -> FindingEntry:
    return FindingEntry(
        sequence=record.seq,
        at=at,
        key=_key(record),
        rule=record.rule,
        path=record.path,
        message=record.message,
        place=record.place,
        cause=record.cause,
    )


def _endpoint(read: record_schema.Endpoint) -> Endpoint:
    return Endpoint(read.address, read.port)


def _gone(record: record_schema.Gone, at: datetime) -> PodGoneEntry:
    return PodGoneEntry(record.seq, at, record.pod_uid)


_DECODERS: Mapping[type[Any], Callable[[Any, datetime], Entry]] = {
    record_schema.Tick: _tick,
    record_schema.Try: _try,
    record_schema.Event: _event,
    record_schema.State: _state,
    record_schema.Container: _container,
    record_schema.Backoff: _backoff,
    record_schema.Status: _status,
    record_schema.User: _user,
    record_schema.Note: _note,
    record_schema.Listeners: _listeners,
    record_schema.Finding: _finding,
    record_schema.Gone: _gone,
}


def _optional(convert: Callable[[A], B], value: A | None) -> B | None:
    return None if value is None else convert(value)


def _result(name: str | None) -> Result | None:
    return None if name is None else Result[name.upper()]


def _from_milliseconds(number: float) -> timedelta:
    return timedelta(milliseconds=number)
