"""The format of records: each kind of line, described once.

From the struct of a kind follow how its line is written, checked and read, and what
`probetui schema record` says of it. Names in files are the tags and the fields of these
structs and the words in the tables: they never change, whatever a class or an attribute
is called in the code. A reader should leave fields and kinds that it does not know
alone: more may come.

Every line has `v` (the version of this format), `seq` (grows by one from line to line,
over the whole session, also where it went back in time), `ts` (wall time, UTC,
microseconds), `t` (seconds since the session began) and `type`; `cause` is the `seq` of
an earlier line. Durations are in seconds, except `ms`. Fields may be added; none is
ever renamed. Earlier releases gave an input the `seq` of the entry before it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from types import NoneType
from typing import Annotated, Any, ClassVar, Literal, get_args

from msgspec import UNSET, Meta, Struct, UnsetType, field
from msgspec import field as attribute

from probetui.k8s.api.status import POD_STATUS
from probetui.k8s.event import EventType
from probetui.k8s.pod import Pod
from probetui.k8s.probe import HTTPHeader, ProbeType
from probetui.k8s.runtime import ListenerScope, LogLine, SocketAddress
from probetui.k8s.status import PodStatus
from probetui.kubelet.journal import (
    BackoffEntry,
    ContainerEntry,
    DryRunEntry,
    EventEntry,
    Exit,
    ExitCause,
    FindingEntry,
    Gate,
    HookEntry,
    HookType,
    JournalEntry,
    LastOutputEntry,
    LifecycleStep,
    ListenersEntry,
    NoteEntry,
    PodGoneEntry,
    Probed,
    Skip,
    StateEntry,
    StateField,
    StatusEntry,
    TickAction,
    TickEntry,
    Trigger,
    UnfinishedTickEntry,
    UserEntry,
)
from probetui.kubelet.outcome import (
    Attempt,
    HTTPAnswer,
    PeerBehavior,
    ProbeResult,
    Redirect,
    Result,
)
from probetui.record.masking import Mask
from probetui.record.values import encode_time, format_timestamp, parse_session_instant
from probetui.record.wire import (
    OMIT_DEFAULT,
    SAME,
    At,
    Computed,
    Leaf,
    json_schema,
    words,
)

VERSION = 1

RESULTS = {
    "Unknown": Result.UNKNOWN,
    "Success": Result.SUCCESS,
    "Failure": Result.FAILURE,
}
PROBE_TYPES = {
    "liveness": ProbeType.LIVENESS,
    "readiness": ProbeType.READINESS,
    "startup": ProbeType.STARTUP,
}

_LONGEST = 10**10
"""Seconds: some three hundred years. With more, instants cannot be reckoned with."""

_MILLISECOND = timedelta(milliseconds=1)

_FREE_TEXT = frozenset(
    {"output", "error", "detail", "message", "text", "body", "redirects"}
)
"""Fields of free-form objects that repeat what containers and servers say: the only
ones to mask. A secret that happens to be called like a pod must not take the pod's name
out of the record."""


_SCALARS = frozenset({str, int, float, bool, NoneType})
"""What JSON has as it is."""


class RecordContext(Struct, frozen=True):
    """What an entry does not carry, but its record does.

    `started_at` is the zero of `t`. `pods` are those of the session by uid; a pod that
    is not there is recorded by its uid alone.
    """

    started_at: datetime
    pods: Mapping[str, Pod]
    mask: Mask = attribute(default_factory=Mask)


def mask_json(value: Any, mask: Mask, key: str = "") -> Any:
    """Return what `encode_value` made as JSON, its free text masked."""
    # Not by `match`, which asks for abstract types: every input passes here.
    if isinstance(value, str):
        return mask.text(value) if key in _FREE_TEXT else value
    if isinstance(value, dict):
        return {
            name: inner
            if type(inner) in _SCALARS and name not in _FREE_TEXT
            else mask_json(inner, mask, name)
            for name, inner in value.items()
        }
    if isinstance(value, (list, tuple)):
        return [mask_json(item, mask, key) for item in value]
    if isinstance(value, (datetime, timedelta)):
        return encode_time(value)
    return value


def _mask_text(text: str, context: RecordContext) -> str:
    return context.mask.text(text)


def _mask_header(header: HTTPHeader, context: RecordContext) -> str:
    return context.mask.value(header.name, header.value)


def _mask_exec(entry: StateEntry, context: RecordContext) -> str:
    """Return the new state; of an exec that is a command."""
    is_command = entry.what is StateField.EXEC
    return context.mask.text(entry.after) if is_command else entry.after


def _write_status(status: PodStatus, context: RecordContext) -> Any:
    return mask_json(POD_STATUS.write(status), context.mask)


def _pod_uid(entry: Any) -> str:
    owner = getattr(entry, "key", getattr(entry, "event", entry))
    uid: str = owner.pod_uid
    return uid


def _pod_name(entry: JournalEntry, context: RecordContext) -> str:
    uid = _pod_uid(entry)
    pod = context.pods.get(uid)
    return uid if pod is None else pod.name


def _namespace(entry: JournalEntry, context: RecordContext) -> str:
    pod = context.pods.get(_pod_uid(entry))
    return "" if pod is None else pod.namespace


def _object_kind(_entry: JournalEntry, _context: RecordContext) -> str:
    return "Pod"


def _tick_number(entry: EventEntry, _context: RecordContext) -> int | None:
    return None if entry.tick is None else entry.tick.sequence


def _since_what(entry: BackoffEntry, _context: RecordContext) -> str | None:
    return None if entry.since is None else "previous-exit"


def _left_to_recorder(_entry: JournalEntry, _context: RecordContext) -> UnsetType:
    """Write nothing: only the recorder knows what a cluster makes of an event."""
    return UNSET


Instant = Annotated[
    str,
    Meta(
        description="RFC 3339 in UTC, with six digits of the second",
        pattern=r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$",
    ),
    Leaf(lambda at, _: format_timestamp(at), parse_session_instant),
]
Seconds = Annotated[
    float,
    Meta(description="seconds", ge=-_LONGEST, le=_LONGEST),
    Leaf(
        lambda duration, _: duration.total_seconds(),
        lambda seconds: timedelta(seconds=seconds),
    ),
]
Milliseconds = Annotated[
    float,
    Meta(description="milliseconds", ge=0, le=1000 * _LONGEST),
    Leaf(
        lambda duration, _: duration / _MILLISECOND,
        lambda milliseconds: timedelta(milliseconds=milliseconds),
    ),
]
Count = Annotated[int, Meta(ge=0, le=2**53)]
Integer = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]
ResultWord = Annotated[Literal["Unknown", "Success", "Failure"], words(RESULTS)]
ProbeTypeWord = Annotated[
    Literal["liveness", "readiness", "startup"],
    words(PROBE_TYPES),
    At("key.probe_type"),
]
ContainerName = Annotated[
    str, At("container_name", "key.container_name", "event.container_name")
]
MaskedText = Annotated[str, Leaf(_mask_text)]


class CommonFields(Struct, frozen=True, kw_only=True, tag_field="type"):
    """What every record has; `entry` is the kind of journal entry that it is of."""

    entry: ClassVar[type[Any] | None] = None
    v: Annotated[Literal[VERSION], Meta(description="the version of this format")]  # type: ignore[valid-type]  # a constant
    seq: Annotated[
        Count, Meta(description="grows by one from line to line; no two are alike")
    ]
    ts: Instant
    t: Annotated[float, Meta(description="seconds since the session began")]


class PodFields(CommonFields, frozen=True, kw_only=True):
    """What every record about a pod has."""

    pod: Annotated[str, Computed(_pod_name)]
    namespace: Annotated[str, Computed(_namespace)]
    pod_uid: Annotated[str, At("pod_uid", "key.pod_uid", "event.pod_uid")] = field(
        name="podUID"
    )


class ManifestRecord(Struct, frozen=True):
    """A manifest as it was run."""

    name: str
    text: str


class SessionRecord(
    CommonFields, frozen=True, kw_only=True, tag="session", omit_defaults=True
):
    """The first record: all that it takes to run the session again.

    `continues` marks a later part of a session whose beginning is in another file,
    `observed` one in which a cluster's pods were watched: its inputs are what was seen.
    """

    probetui: str
    runtime: str
    kubelet: str
    options: dict[str, Any]
    manifests: list[ManifestRecord]
    seed: Integer | None
    config: Any
    continues: bool = False
    observed: bool = False


class GateRecord(Struct, frozen=True):
    """A question that a tick asked."""

    name: str
    value: str
    passed: bool


class HeaderRecord(Struct, frozen=True):
    """One header of an answer over HTTP."""

    name: str
    value: Annotated[
        str,
        Computed(_mask_header),
        At("value"),
    ]


class HTTPAnswerRecord(Struct, frozen=True):
    """What a server answered; `body` is empty where the output is the body.

    `cut` is how many bytes of headers and redirects are not kept.
    """

    status: Integer
    headers: list[HeaderRecord]
    body: MaskedText
    redirects: list[MaskedText]
    cut: Annotated[Count, At("cut_bytes"), OMIT_DEFAULT] = 0


class EndpointRecord(Struct, frozen=True):
    """Where somebody listens, or where a connection was refused."""

    address: str
    port: Integer


class RedirectRecord(Struct, frozen=True):
    """A redirect that was followed to where no answer came."""

    status: Integer
    url: MaskedText
    location: MaskedText


class AttemptRecord(Struct, frozen=True):
    """One run of a handler; an `error` says why it could not run.

    `refused` is there where a connection was refused, `missing` where the executable
    of a command is not there. `followed` are the redirects to where no answer came,
    `peer` is what a server did that gave none.
    """

    result: ProbeResult
    ms: Annotated[Milliseconds, At("duration")]
    detail: MaskedText
    output: MaskedText
    error: MaskedText | None
    http: HTTPAnswerRecord | UnsetType = UNSET
    refused: Annotated[EndpointRecord | UnsetType, At("refused_at")] = UNSET
    missing: Annotated[bool, At("is_missing"), OMIT_DEFAULT] = False
    followed: Annotated[list[RedirectRecord], OMIT_DEFAULT] = field(
        default_factory=list
    )
    peer: PeerBehavior | UnsetType = UNSET


class RunRecord(Struct, frozen=True):
    """Equal results in a row, against the threshold that applies.

    `atLeast` says why there may have been more.
    """

    result: ResultWord | None
    count: Annotated[Integer, At("run.count")]
    threshold: Annotated[Integer, At("run.threshold")]
    at_least: Annotated[MaskedText, At("run.doubt"), OMIT_DEFAULT] = field(
        default="", name="atLeast"
    )


class StoredRecord(Struct, frozen=True):
    """What is believed before and after."""

    before: Annotated[ResultWord | None, At("stored.before")]
    after: Annotated[ResultWord | None, At("stored.after")]


class HoldRecord(Struct, frozen=True):
    """Whether the worker is on hold before and after."""

    before: Annotated[bool, At("hold.before")]
    after: Annotated[bool, At("hold.after")]


class TickRecord(PodFields, frozen=True, kw_only=True, tag="tick"):
    """One tick of a worker, probed or skipped."""

    entry: ClassVar = TickEntry
    container: ContainerName
    container_id: str = field(name="containerID")
    new_container: bool = field(name="newContainer")
    probe: ProbeTypeWord
    n: Integer
    trigger: Trigger
    started_at: Annotated[Instant, At("timing.started_at")] = field(name="startedAt")
    ms: Annotated[Milliseconds, At("timing.duration")]
    gates: list[GateRecord]
    skipped: Annotated[Skip | None, At("skip")]
    exit: Exit | None
    attempts: list[AttemptRecord]
    result: ResultWord | None
    injected: Annotated[bool, At("overridden.injected")]
    run: Annotated[RunRecord, SAME]
    stored: Annotated[StoredRecord, SAME]
    hold: Annotated[HoldRecord, SAME]
    action: TickAction
    muted: Annotated[bool, At("overridden.muted")] = False
    delay_ms: Annotated[Milliseconds, At("overridden.delay"), OMIT_DEFAULT] = field(
        default=0, name="delayMs"
    )
    held_ms: Annotated[Milliseconds, At("overridden.held"), OMIT_DEFAULT] = field(
        default=0, name="heldMs"
    )
    period_seconds: Annotated[Integer, At("timing.period_seconds"), OMIT_DEFAULT] = (
        field(default=0, name="periodSeconds")
    )
    late_drops: Annotated[Count, At("timing.late_drops"), OMIT_DEFAULT] = field(
        default=0, name="lateDrops"
    )


class DryRunRecord(PodFields, frozen=True, kw_only=True, tag="try"):
    """A probe that a person tried; it counts for nothing."""

    entry: ClassVar = DryRunEntry
    container: ContainerName
    container_id: str = field(name="containerID")
    probe: ProbeTypeWord
    started_at: Instant = field(name="startedAt")
    ms: Annotated[Milliseconds, At("duration")]
    attempts: list[AttemptRecord]
    result: ResultWord | None


class ObjectRecord(Struct, frozen=True, kw_only=True):
    """What an event is about."""

    kind: Annotated[Literal["Pod"], Computed(_object_kind)]
    namespace: Annotated[str, Computed(_namespace)]
    name: Annotated[str, Computed(_pod_name)]
    uid: Annotated[str, At("event.pod_uid")]
    field_path: Annotated[str, At("event.field_path")] = field(name="fieldPath")


class AggregationRecord(Struct, frozen=True):
    """How a cluster would show an event, with those it folds into one."""

    count: Integer
    first: Instant
    last: Instant


class EventRecord(PodFields, frozen=True, kw_only=True, tag="event"):
    """An event as a cluster would record it; `cause` is the `seq` of a tick."""

    entry: ClassVar = EventEntry
    container: ContainerName
    event_type: Annotated[EventType, At("event.type")] = field(name="eventType")
    reason: Annotated[str, At("event.reason")]
    message: Annotated[MaskedText, At("event.message")]
    object: Annotated[ObjectRecord, SAME]
    event_time: Annotated[Instant, At("event.at")] = field(name="eventTime")
    cause: Annotated[
        Count | None,
        Computed(_tick_number),
    ]
    folded: Annotated[AggregationRecord | None, Computed(_left_to_recorder)] = None
    dropped: Annotated[bool, Computed(_left_to_recorder)] = False


class StateRecord(PodFields, frozen=True, kw_only=True, tag="state"):
    """Something that a cluster keeps to itself, or shows only in a status."""

    entry: ClassVar = StateEntry
    container: ContainerName
    subject: str
    what: StateField
    before: str = field(name="from")
    after: Annotated[
        str,
        Computed(_mask_exec),
        At("after"),
    ] = field(name="to")
    cause: Count | None
    not_before: Annotated[Instant | None, OMIT_DEFAULT] = field(
        name="notBefore", default=None
    )


class ContainerRecord(PodFields, frozen=True, kw_only=True, tag="container"):
    """A step in the life of a container; `grace` is in seconds.

    `notBefore` and `notAfter` are there where `ts` is not known, but between them.
    With `orNewer` it is of this instance or of one after it.
    """

    entry: ClassVar = ContainerEntry
    container: ContainerName
    container_id: str = field(name="containerID")
    restart_count: Integer = field(name="restartCount")
    what: LifecycleStep
    exit_code: Integer | None = field(name="exitCode")
    signal: Integer | None
    oom: Annotated[bool, At("oom_killed")]
    grace: Annotated[
        Annotated[int, Meta(ge=-_LONGEST, le=_LONGEST)] | None,
        At("grace_period_seconds"),
    ]
    grace_source: str = field(name="graceSource")
    by: ExitCause | None
    reason: str
    not_before: Annotated[Instant | None, OMIT_DEFAULT] = field(
        name="notBefore", default=None
    )
    not_after: Annotated[Instant | None, OMIT_DEFAULT] = field(
        name="notAfter", default=None
    )
    or_newer: Annotated[bool, OMIT_DEFAULT] = field(name="orNewer", default=False)


class BackoffRecord(PodFields, frozen=True, kw_only=True, tag="backoff"):
    """What crash-loop back-off said when a container was about to start."""

    entry: ClassVar = BackoffEntry
    container: ContainerName
    window: Seconds
    since: Instant | None
    since_what: Annotated[
        Literal["previous-exit"] | None,
        Computed(_since_what),
    ] = field(name="sinceWhat")
    waits: bool
    until: Instant | None
    next_window: Seconds = field(name="nextWindow")
    reset: Annotated[bool, At("is_reset")]
    latest: Instant | None = None


class StatusRecord(PodFields, frozen=True, kw_only=True, tag="status"):
    """A pod's whole status, as the Kubernetes API prints `v1.PodStatus`."""

    entry: ClassVar = StatusEntry
    status: Annotated[
        dict[str, Any],
        Leaf(_write_status, POD_STATUS.read),
    ]


class UserRecord(CommonFields, frozen=True, kw_only=True, tag="user"):
    """Something a person asked for."""

    entry: ClassVar = UserEntry
    command: str
    target: str


class NoteRecord(CommonFields, frozen=True, kw_only=True, tag="note"):
    """A note for the user; a bookmark is the user's own.

    A refusal is the answer to a command that was not carried out. `podUID` is that of
    the pod that it warns of; records of older versions have none.
    """

    entry: ClassVar = NoteEntry
    text: MaskedText
    fault: Annotated[bool, At("is_fault")]
    bookmark: Annotated[bool, At("is_bookmark")] = False
    refusal: Annotated[bool, At("is_refusal")] = False
    pod_uid: str = field(default="", name="podUID")


class ListenersRecord(PodFields, frozen=True, kw_only=True, tag="listeners"):
    """Where a container listens, looked up after a connection was refused.

    `listeners` is null where it cannot be seen, for which `problem` is the reason.
    """

    entry: ClassVar = ListenersEntry
    container: ContainerName
    probe: ProbeTypeWord
    container_id: str = field(name="containerID")
    refused: Annotated[EndpointRecord, At("refused_at")]
    listeners: Annotated[list[EndpointRecord] | None, At("listeners.endpoints")]
    extent: Annotated[ListenerScope | None, At("listeners.extent")]
    problem: str
    cause: Count | None


class FindingRecord(PodFields, frozen=True, kw_only=True, tag="finding"):
    """A likely mistake in the manifest, which a probe has revealed.

    `path` is the field of the pod, `place` its position in the manifest's file.
    """

    entry: ClassVar = FindingEntry
    container: ContainerName
    probe: ProbeTypeWord
    rule: str
    path: str
    place: str
    message: MaskedText
    cause: Count | None


class LogLineRecord(Struct, frozen=True):
    """One line that a container printed; `at` is null where the runtime keeps none.

    Before a line with `after_gap` others may be lost.
    """

    at: Instant | None
    text: MaskedText
    stderr: Annotated[bool, At("is_stderr"), OMIT_DEFAULT] = False
    after_gap: Annotated[bool, At("is_after_gap"), OMIT_DEFAULT] = False


class LastOutputRecord(PodFields, frozen=True, kw_only=True, tag="output"):
    """What an instance of a container printed last, read once it had exited.

    At most ten lines and 2 KiB. `lines` is null where the log could not be read, for
    which `problem` is the reason. `message` is the termination message.
    """

    entry: ClassVar = LastOutputEntry

    container: ContainerName
    container_id: str = field(name="containerID")
    restart_count: Integer = field(name="restartCount")
    lines: list[LogLineRecord] | None
    message: MaskedText
    problem: str


class HookRecord(PodFields, frozen=True, kw_only=True, tag="hook"):
    """A lifecycle hook has started, or has ended at `endedAt`.

    `output` is what a command printed or a server answered; `error` why it failed.
    """

    entry: ClassVar = HookEntry

    container: ContainerName
    container_id: str = field(name="containerID")
    hook: HookType
    started_at: Instant = field(name="startedAt")
    ended_at: Instant | None = field(name="endedAt")
    error: MaskedText | None
    output: MaskedText
    peer: PeerBehavior | UnsetType = UNSET


class UnfinishedTickRecord(PodFields, frozen=True, kw_only=True, tag="unfinished"):
    """A tick began at `startedAt` and has not ended, although its timeout is over.

    At the end of the session it is there of any tick that has not ended.
    """

    entry: ClassVar = UnfinishedTickEntry
    container: ContainerName
    probe: ProbeTypeWord
    container_id: str = field(name="containerID")
    started_at: Instant = field(name="startedAt")
    timeout_seconds: Integer = field(name="timeoutSeconds")


class GoneRecord(PodFields, frozen=True, kw_only=True, tag="gone"):
    """A pod has ended for good."""

    entry: ClassVar = PodGoneEntry


class InputRecord(CommonFields, frozen=True, kw_only=True, tag="input"):
    """What went into the engine; null is time alone."""

    n: Count
    input: dict[str, Any] | None


class RewindRecord(CommonFields, frozen=True, kw_only=True, tag="rewind"):
    """What came after the line `kept`, and after so many inputs, did not happen."""

    kept: Count | UnsetType = UNSET
    inputs: Count


class EndRecord(CommonFields, frozen=True, kw_only=True, tag="end"):
    """The last record, with the exit status."""

    reason: str
    exit: Integer


AnyRecord = (
    SessionRecord
    | TickRecord
    | DryRunRecord
    | EventRecord
    | StateRecord
    | ContainerRecord
    | BackoffRecord
    | StatusRecord
    | UserRecord
    | NoteRecord
    | ListenersRecord
    | FindingRecord
    | LastOutputRecord
    | HookRecord
    | UnfinishedTickRecord
    | GoneRecord
    | InputRecord
    | RewindRecord
    | EndRecord
)

ENTRY_KINDS: Mapping[type[CommonFields], type[Any]] = {
    record: record.entry for record in get_args(AnyRecord) if record.entry is not None
}
"""Which kind of journal entry each kind of line has."""


def _make_tick(
    *,
    skip: Skip | None,
    exit: Exit | None,  # noqa: A002  # as the line calls it
    attempts: tuple[Attempt, ...],
    result: Result | None,
    action: TickAction,
    **parts: Any,
) -> TickEntry:
    """Return the tick of a record, whose outcome the record has side by side."""
    outcome = skip or exit or Probed(attempts, result, action)
    return TickEntry(outcome=outcome, **parts)


ENTRY_MAKERS: Mapping[type[CommonFields], Callable[..., JournalEntry]] = {
    TickRecord: _make_tick
}
"""What makes the entries that are shaped otherwise than their lines."""

VALUE_KINDS: Mapping[type[Struct], type[Any]] = {
    AttemptRecord: Attempt,
    EndpointRecord: SocketAddress,
    GateRecord: Gate,
    HTTPAnswerRecord: HTTPAnswer,
    HeaderRecord: HTTPHeader,
    RedirectRecord: Redirect,
    LogLineRecord: LogLine,
}
"""What the objects within a line are."""

_SCHEMA_NAMES: Mapping[type, str] = {
    TickAction: "Action",
    AggregationRecord: "Folded",
    DryRunRecord: "Try",
    ExitCause: "By",
    PeerBehavior: "Peer",
    LifecycleStep: "Lifecycle",
    ListenerScope: "Extent",
    StateField: "What",
}
"""What the schema calls classes with another name than in the code.

All others are called as in the code, records without `Record`: a class that is renamed
gets a line here (a golden schema shows that).
"""


def record_schema() -> dict[str, Any]:
    """Return the JSON Schema of one line of a record."""
    return json_schema(
        AnyRecord, "A line of a probetui record", _SCHEMA_NAMES, suffix="Record"
    )
