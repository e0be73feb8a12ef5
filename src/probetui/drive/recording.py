"""Journal entries as records: one JSON object per entry, with fixed field names.

Every record has `v` (the version of this format), `seq` (grows by one from line to
line, over the whole session, also where it went back in time), `ts` (wall time, UTC,
microseconds), `t` (seconds since the session began) and `type`; `cause` is the `seq`
of an earlier line. Lengths of time are seconds, except `ms`. Fields may be added; none
is ever renamed. `record_reader` is the way back; it still reads the records of before,
in which an input had the `seq` of the entry in front of it.

What is encoded here has the numbers of the journal; a `Recorder` puts those of the
lines in their places.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from probetui.drive.masking import Mask
from probetui.drive.value_json import encode_value, timestamp
from probetui.k8s.listeners import Endpoint
from probetui.k8s.pod import Pod
from probetui.k8s.probe import ProbeKey
from probetui.k8s.status import PodStatus
from probetui.kubelet.config import KubeletConfig
from probetui.kubelet.event_recorder import ClusterEvent
from probetui.kubelet.journal import (
    BackoffEntry,
    ContainerEntry,
    Entry,
    EventEntry,
    FindingEntry,
    ListenersEntry,
    NoteEntry,
    PodGoneEntry,
    StateEntry,
    StatusEntry,
    TickEntry,
    TryEntry,
    UserEntry,
    What,
)
from probetui.kubelet.outcome import Attempt, HTTPAnswer, Result
from probetui.safe_text import safe_json

VERSION = 1

AS_IT_IS = KubeletConfig()

Record = dict[str, object]
"""One line of a recording, as `json.dumps` takes it."""

_FREE_TEXT = frozenset(
    {"output", "error", "detail", "message", "text", "body", "redirects"}
)
"""Fields that repeat what containers and servers say: the only ones to mask. A secret
that happens to be called like a pod must not take the pod's name out of the record."""


@dataclass(frozen=True, slots=True)
class RecordContext:
    """What an entry does not carry, but its record does.

    `started_at` is the zero of `t`. `pods` are those of the session by uid; a pod that
    is not there is recorded by its uid alone. `status_to_json` spells a status as the
    API does; it comes from above, where the screen has it from too.
    """

    started_at: datetime
    pods: Mapping[str, Pod]
    status_to_json: Callable[[PodStatus], Mapping[str, object]]
    mask: Mask = field(default_factory=Mask)


@dataclass(frozen=True, slots=True)
class SessionHeader:
    """What the first record of a session says of it.

    `manifests` are pairs of file name and whole text, as they were run. `config` is
    the engine's: a replay needs it.
    """

    probetui: str
    runtime: str
    kubelet: str
    options: Mapping[str, object]
    manifests: Sequence[tuple[str, str]]
    seed: int | None
    config: KubeletConfig = AS_IT_IS


def encode_session(
    header: SessionHeader, sequence: int, context: RecordContext
) -> Record:
    """Return the record that opens a session."""
    return {
        **_common("session", sequence, context.started_at, context),
        "probetui": header.probetui,
        "runtime": header.runtime,
        "kubelet": header.kubelet,
        "options": dict(header.options),
        "manifests": [{"name": name, "text": text} for name, text in header.manifests],
        "seed": header.seed,
        "config": encode_value(KubeletConfig, header.config),
    }


def encode_end(
    reason: str, exit_status: int, sequence: int, at: datetime, context: RecordContext
) -> Record:
    """Return the record that closes a session."""
    return {
        **_common("end", sequence, at, context),
        "reason": reason,
        "exit": exit_status,
    }


def encode_input(
    number: int,
    item: object,
    at: datetime,
    sequence: int,
    context: RecordContext,
) -> Record:
    """Return the record of something that went into the engine.

    Args:
        number: counts the inputs of the session from 1.
        item: the input as JSON, None for an instant at which time alone passed.
        at: when the engine was given it.
        sequence: of the line.
        context: of the session.
    """
    return {
        **_common("input", sequence, at, context),
        "n": number,
        "input": _masked("input", item, context.mask),
    }


def encode_rewind(
    kept: int, inputs: int, at: datetime, sequence: int, context: RecordContext
) -> Record:
    """Return the record that takes back what came after an entry and an input.

    Readers forget every entry whose `seq` is above `kept`, and every input whose `n` is
    above `inputs`.
    """
    common = _common("rewind", sequence, at, context)
    return {**common, "kept": kept, "inputs": inputs}


def encode_entry(entry: Entry, context: RecordContext) -> Record:
    """Return the record of one journal entry, secrets masked."""
    kind, body = _encode(entry, context)
    record = {**_common(kind, entry.sequence, entry.at, context), **body}
    if context.mask.is_empty:
        return record
    return {key: _masked(key, value, context.mask) for key, value in record.items()}


def _encode(  # noqa: C901  # one arm per kind
    entry: Entry, context: RecordContext
) -> tuple[str, Record]:
    match entry:
        case TickEntry():
            return "tick", _tick(entry, context)
        case TryEntry():
            return "try", _try(entry, context)
        case EventEntry():
            return "event", _event(entry, context)
        case StateEntry():
            return "state", _state(entry, context)
        case ContainerEntry():
            return "container", _container(entry, context)
        case BackoffEntry():
            return "backoff", _backoff(entry, context)
        case StatusEntry():
            return "status", _status(entry, context)
        case UserEntry():
            return "user", {"command": entry.command, "target": entry.target}
        case NoteEntry():
            return "note", {
                "text": entry.text,
                "fault": entry.is_fault,
                "bookmark": entry.is_bookmark,
            }
        case ListenersEntry():
            return "listeners", _listeners(entry, context)
        case FindingEntry():
            return "finding", _finding(entry, context)
        case PodGoneEntry():
            return "gone", _pod(entry.pod_uid, context)


def encode_folding(shown: ClusterEvent | None) -> Record:
    """Return what a cluster makes of an event, None for one that it drops."""
    if shown is None:
        return {"folded": None, "dropped": True}
    folded: Record = {
        "count": shown.count,
        "first": timestamp(shown.first_seen_at),
        "last": timestamp(shown.last_seen_at),
    }
    return {"folded": folded, "dropped": False}


def without_end(lines: int, ended_at: datetime, started_at: datetime) -> str:
    """Return what is to be said of a recording that no `end` closes."""
    seconds = (ended_at - started_at).total_seconds()
    clock = f"{int(seconds // 60):02d}:{seconds % 60:04.1f}"
    return (
        f"it has no end, only {lines} lines up to {clock}: its session was killed, "
        "goes on, or could not be recorded any further"
    )


def to_line(record: Record) -> bytes:
    """Return a record as one line of UTF-8, newline included.

    What a terminal would obey, what would break the line for a reader who splits at
    every Unicode line break, and lone surrogates (bytes of a container's output that
    were not UTF-8, which have no UTF-8 form) are escaped; they read back unchanged.
    """
    return (safe_json(_JSON.encode(record)) + "\n").encode()


_JSON = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def _common(kind: str, sequence: int, at: datetime, context: RecordContext) -> Record:
    return {
        "v": VERSION,
        "seq": sequence,
        "ts": timestamp(at),
        "t": _seconds(at - context.started_at),
        "type": kind,
    }


def _pod(uid: str, context: RecordContext) -> Record:
    pod = context.pods.get(uid)
    if pod is None:
        return {"pod": uid, "namespace": "", "podUID": uid}
    return {"pod": pod.name, "namespace": pod.namespace, "podUID": uid}


def _tick(entry: TickEntry, context: RecordContext) -> Record:
    return {
        **_pod(entry.key.pod_uid, context),
        "container": entry.key.container_name,
        "containerID": entry.container_id,
        "newContainer": entry.new_container,
        "probe": entry.key.probe_type.lower(),
        "n": entry.n,
        "trigger": entry.trigger,
        "startedAt": timestamp(entry.started_at),
        "ms": _milliseconds(entry.duration),
        "gates": [
            {"name": each.name, "value": each.value, "passed": each.passed}
            for each in entry.gates
        ],
        "skipped": entry.skip,
        "exit": entry.exit,
        "attempts": [_attempt(each, context.mask) for each in entry.attempts],
        "result": _result(entry.result),
        "injected": entry.injected,
        "run": {
            "result": _result(entry.result),
            "count": entry.run,
            "threshold": entry.threshold,
        },
        "stored": {
            "before": _result(entry.stored_before),
            "after": _result(entry.stored_after),
        },
        "hold": {"before": entry.hold_before, "after": entry.hold_after},
        "action": entry.action,
        "muted": entry.muted,
        **({"delayMs": _milliseconds(entry.delay)} if entry.delay else {}),
        **({"heldMs": _milliseconds(entry.held)} if entry.held else {}),
    }


def _try(entry: TryEntry, context: RecordContext) -> Record:
    return {
        **_pod(entry.key.pod_uid, context),
        "container": entry.key.container_name,
        "containerID": entry.container_id,
        "probe": entry.key.probe_type.lower(),
        "startedAt": timestamp(entry.started_at),
        "ms": _milliseconds(entry.duration),
        "attempts": [_attempt(each, context.mask) for each in entry.attempts],
        "result": _result(entry.result),
    }


def _attempt(attempt: Attempt, mask: Mask) -> Record:
    record: Record = {
        "result": attempt.result,
        "ms": _milliseconds(attempt.duration),
        "detail": attempt.detail,
        "output": attempt.output,
        "error": attempt.error,
    }
    if attempt.http is not None:
        record["http"] = _answer(attempt.http, mask)
    if attempt.refused_at is not None:
        record["refused"] = _endpoint(attempt.refused_at)
    if attempt.is_missing:
        record["missing"] = True
    return record


def _answer(answer: HTTPAnswer, mask: Mask) -> Record:
    record: Record = {
        "status": answer.status,
        "headers": [
            {"name": each.name, "value": mask.value(each.name, each.value)}
            for each in answer.headers
        ],
        "body": answer.body,
        "redirects": list(answer.redirects),
    }
    if answer.cut_bytes:
        record["cut"] = answer.cut_bytes
    return record


def _event(entry: EventEntry, context: RecordContext) -> Record:
    event = entry.event
    pod = _pod(event.pod_uid, context)
    return {
        **pod,
        "container": event.container_name,
        "eventType": event.type,
        "reason": event.reason,
        "message": event.message,
        "object": {
            "kind": "Pod",
            "namespace": pod["namespace"],
            "name": pod["pod"],
            "uid": event.pod_uid,
            "fieldPath": event.field_path,
        },
        "eventTime": timestamp(event.at),
        "cause": None if entry.tick is None else entry.tick.sequence,
    }


def _state(entry: StateEntry, context: RecordContext) -> Record:
    mask = context.mask
    return {
        **_pod(entry.pod_uid, context),
        "container": entry.container_name,
        "subject": entry.subject,
        "what": entry.what,
        "from": entry.before,
        "to": mask.text(entry.after) if entry.what is What.EXEC else entry.after,
        "cause": entry.cause,
    }


def _container(entry: ContainerEntry, context: RecordContext) -> Record:
    return {
        **_pod(entry.pod_uid, context),
        "container": entry.container_name,
        "containerID": entry.container_id,
        "restartCount": entry.restart_count,
        "what": entry.what,
        "exitCode": entry.exit_code,
        "signal": entry.signal,
        "oom": entry.oom_killed,
        "grace": entry.grace_period_seconds,
        "graceSource": entry.grace_source,
        "by": entry.by,
        "reason": entry.reason,
    }


def _backoff(entry: BackoffEntry, context: RecordContext) -> Record:
    return {
        **_pod(entry.pod_uid, context),
        "container": entry.container_name,
        "window": _seconds(entry.window),
        "since": _optional_timestamp(entry.since),
        "sinceWhat": None if entry.since is None else "previous-exit",
        "waits": entry.waits,
        "until": _optional_timestamp(entry.until),
        "nextWindow": _seconds(entry.next_window),
        "reset": entry.is_reset,
    }


def _status(entry: StatusEntry, context: RecordContext) -> Record:
    return {
        **_pod(entry.pod_uid, context),
        "status": context.status_to_json(entry.status),
    }


def _listeners(entry: ListenersEntry, context: RecordContext) -> Record:
    listeners = entry.listeners
    return {
        **_probe(entry.key, context),
        "containerID": entry.container_id,
        "refused": _endpoint(entry.refused_at),
        "listeners": (
            None if listeners is None else list(map(_endpoint, listeners.endpoints))
        ),
        "extent": None if listeners is None else listeners.extent,
        "problem": entry.problem,
        "cause": entry.cause,
    }


def _finding(entry: FindingEntry, context: RecordContext) -> Record:
    return {
        **_probe(entry.key, context),
        "rule": entry.rule,
        "path": entry.path,
        "place": entry.place,
        "message": entry.message,
        "cause": entry.cause,
    }


def _probe(key: ProbeKey, context: RecordContext) -> Record:
    return {
        **_pod(key.pod_uid, context),
        "container": key.container_name,
        "probe": key.probe_type.lower(),
    }


def _endpoint(endpoint: Endpoint) -> Record:
    return {"address": endpoint.address, "port": endpoint.port}


def _result(result: Result | None) -> str | None:
    return None if result is None else str(result)


def _optional_timestamp(at: datetime | None) -> str | None:
    return None if at is None else timestamp(at)


def _seconds(length: timedelta) -> float:
    return length.total_seconds()


def _milliseconds(length: timedelta) -> float:
    return length / timedelta(milliseconds=1)


def _masked(key: str, value: object, mask: Mask) -> object:
    match value:
        case str():
            return mask.text(value) if key in _FREE_TEXT else value
        case Mapping():
            return {inner: _masked(inner, each, mask) for inner, each in value.items()}
        case list():
            return [_masked(key, each, mask) for each in value]
        case _:
            return value
