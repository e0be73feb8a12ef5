"""The record's format as types, and the JSON Schema that follows from them.

`recording` writes what these types describe, `record_lines` reads every line as one of
them; tests hold every record to them. A reader should leave fields and kinds that it
does not know alone: more may come.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, field

from probetui.drive.recording import VERSION
from probetui.k8s.event import EventType
from probetui.k8s.listeners import Extent
from probetui.kubelet.journal import Action, By, Exit, Lifecycle, Skip, Trigger, What
from probetui.kubelet.outcome import ProbeResult

JsonSchema = dict[str, Any]

DIALECT = "https://json-schema.org/draft/2020-12/schema"

Instant = Annotated[
    str,
    Meta(
        description="RFC 3339 in UTC, with six digits of the second",
        pattern=r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$",
    ),
]
_LONGEST = 10**10
"""Seconds: some three hundred years. With more, instants cannot be reckoned with."""

Seconds = Annotated[float, Meta(description="seconds", ge=-_LONGEST, le=_LONGEST)]
Milliseconds = Annotated[
    float, Meta(description="milliseconds", ge=0, le=1000 * _LONGEST)
]
Count = Annotated[int, Meta(ge=0, le=2**53)]
Integer = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]
Believed = Literal["Unknown", "Success", "Failure"]
ProbeWord = Literal["liveness", "readiness", "startup"]


class Common(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    tag_field="type",
):
    """What every record has."""

    v: Annotated[Literal[VERSION], Meta(description="the version of this format")]  # type: ignore[valid-type]  # a constant
    seq: Annotated[
        Count, Meta(description="grows by one from line to line; no two are alike")
    ]
    ts: Instant
    t: Annotated[float, Meta(description="seconds since the session began")]


class OfPod(Common, frozen=True, kw_only=True):
    """What every record about a pod has."""

    pod: str
    namespace: str
    pod_uid: str = field(name="podUID")


class Manifest(msgspec.Struct, frozen=True):
    """A manifest as it was run."""

    name: str
    text: str


class Session(Common, frozen=True, kw_only=True, tag="session"):
    """The first record: all that it takes to run the session again.

    `continues` marks a later part of a session whose beginning is in another file.
    """

    probetui: str
    runtime: str
    kubelet: str
    options: dict[str, Any]
    manifests: list[Manifest]
    seed: Integer | None
    config: Any
    continues: bool = False


class Gate(msgspec.Struct, frozen=True):
    """A question that a tick asked."""

    name: str
    value: str
    passed: bool


class Header(msgspec.Struct, frozen=True):
    """One header of an answer over HTTP."""

    name: str
    value: str


class HTTPAnswer(msgspec.Struct, frozen=True):
    """What a server answered; `body` is empty where the output is the body.

    `cut` is how many bytes of headers and redirects are not kept.
    """

    status: Integer
    headers: list[Header]
    body: str
    redirects: list[str]
    cut: Count = 0


class Endpoint(msgspec.Struct, frozen=True):
    """Where somebody listens, or where a connection was refused."""

    address: str
    port: Integer


class Attempt(msgspec.Struct, frozen=True):
    """One run of a handler; an `error` says why it could not run.

    `refused` is there where a connection was refused, `missing` where the executable
    of a command is not there.
    """

    result: ProbeResult
    ms: Milliseconds
    detail: str
    output: str
    error: str | None
    http: HTTPAnswer | msgspec.UnsetType = msgspec.UNSET
    refused: Endpoint | msgspec.UnsetType = msgspec.UNSET
    missing: bool = False


class Run(msgspec.Struct, frozen=True):
    """Equal results in a row, against the threshold that applies."""

    result: Believed | None
    count: Integer
    threshold: Integer


class Stored(msgspec.Struct, frozen=True):
    """What is believed before and after."""

    before: Believed | None
    after: Believed | None


class Hold(msgspec.Struct, frozen=True):
    """Whether the worker is on hold before and after."""

    before: bool
    after: bool


class Tick(OfPod, frozen=True, kw_only=True, tag="tick"):
    """One tick of a worker, probed or skipped."""

    container: str
    container_id: str = field(name="containerID")
    new_container: bool = field(name="newContainer")
    probe: ProbeWord
    n: Integer
    trigger: Trigger
    started_at: Instant = field(name="startedAt")
    ms: Milliseconds
    gates: list[Gate]
    skipped: Skip | None
    exit: Exit | None
    attempts: list[Attempt]
    result: Believed | None
    injected: bool
    run: Run
    stored: Stored
    hold: Hold
    action: Action
    muted: bool = False
    delay_ms: Milliseconds = field(default=0, name="delayMs")
    held_ms: Milliseconds = field(default=0, name="heldMs")


class Try(OfPod, frozen=True, kw_only=True, tag="try"):
    """A probe that a person tried; it counts for nothing."""

    container: str
    container_id: str = field(name="containerID")
    probe: ProbeWord
    started_at: Instant = field(name="startedAt")
    ms: Milliseconds
    attempts: list[Attempt]
    result: Believed | None


class Object(msgspec.Struct, frozen=True, kw_only=True):
    """What an event is about."""

    kind: Literal["Pod"]
    namespace: str
    name: str
    uid: str
    field_path: str = field(name="fieldPath")


class Folded(msgspec.Struct, frozen=True):
    """How a cluster would show an event, with those it folds into one."""

    count: Integer
    first: Instant
    last: Instant


class Event(OfPod, frozen=True, kw_only=True, tag="event"):
    """An event as a cluster would record it; `cause` is the `seq` of a tick."""

    container: str
    event_type: EventType = field(name="eventType")
    reason: str
    message: str
    object: Object
    event_time: Instant = field(name="eventTime")
    cause: Count | None
    folded: Folded | None = None
    dropped: bool = False


class State(OfPod, frozen=True, kw_only=True, tag="state"):
    """Something that a cluster keeps to itself, or shows only in a status."""

    container: str
    subject: str
    what: What
    before: str = field(name="from")
    after: str = field(name="to")
    cause: Count | None


class Container(OfPod, frozen=True, kw_only=True, tag="container"):
    """A step in the life of a container; `grace` is in seconds."""

    container: str
    container_id: str = field(name="containerID")
    restart_count: Integer = field(name="restartCount")
    what: Lifecycle
    exit_code: Integer | None = field(name="exitCode")
    signal: Integer | None
    oom: bool
    grace: Annotated[int, Meta(ge=-_LONGEST, le=_LONGEST)] | None
    grace_source: str = field(name="graceSource")
    by: By | None
    reason: str


class Backoff(OfPod, frozen=True, kw_only=True, tag="backoff"):
    """What crash-loop back-off said when a container was about to start."""

    container: str
    window: Seconds
    since: Instant | None
    since_what: Literal["previous-exit"] | None = field(name="sinceWhat")
    waits: bool
    until: Instant | None
    next_window: Seconds = field(name="nextWindow")
    reset: bool


class Status(OfPod, frozen=True, kw_only=True, tag="status"):
    """A pod's whole status, as the Kubernetes API prints `v1.PodStatus`."""

    status: dict[str, Any]


class User(Common, frozen=True, kw_only=True, tag="user"):
    """Something a person asked for."""

    command: str
    target: str


class Note(Common, frozen=True, kw_only=True, tag="note"):
    """Something to tell a person; a bookmark is that person's own."""

    text: str
    fault: bool
    bookmark: bool = False


class Listeners(OfPod, frozen=True, kw_only=True, tag="listeners"):
    """Where a container listens, looked up after a connection was refused.

    `listeners` is null where it cannot be seen, for which `problem` is the reason.
    """

    container: str
    probe: ProbeWord
    container_id: str = field(name="containerID")
    refused: Endpoint
    listeners: list[Endpoint] | None
    extent: Extent | None
    problem: str
    cause: Count | None


class Finding(OfPod, frozen=True, kw_only=True, tag="finding"):
    """What a probe showed to be likely not meant so.

    `path` is a field of the pod, `place` where it stands in the manifest.
    """

    container: str
    probe: ProbeWord
    rule: str
    path: str
    place: str
    message: str
    cause: Count | None


class Gone(OfPod, frozen=True, kw_only=True, tag="gone"):
    """A pod has ended for good."""


class Input(Common, frozen=True, kw_only=True, tag="input"):
    """What went into the engine; null is time alone."""

    n: Count
    input: dict[str, Any] | None


class Rewind(Common, frozen=True, kw_only=True, tag="rewind"):
    """What came after the line `kept`, and after so many inputs, did not happen."""

    kept: Count | msgspec.UnsetType = msgspec.UNSET
    inputs: Count


class End(Common, frozen=True, kw_only=True, tag="end"):
    """The last record, with the exit status."""

    reason: str
    exit: Integer


AnyRecord = (
    Session
    | Tick
    | Try
    | Event
    | State
    | Container
    | Backoff
    | Status
    | User
    | Note
    | Listeners
    | Finding
    | Gone
    | Input
    | Rewind
    | End
)


def record_schema() -> JsonSchema:
    """Return the JSON Schema of one line of a record."""
    return {
        "$schema": DIALECT,
        "title": "A line of a probetui record",
        **msgspec.json.schema(AnyRecord),
    }
