"""A session's state as JSON; the structs give both the encoder and the JSON Schema.

Field names are those of the record. Durations are in seconds, except `ms`; instants are
RFC 3339 in UTC.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import timedelta
from functools import cache
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct, field

from probetui.analysis.causes.kinds import CauseKind
from probetui.analysis.causes.probe_failure import ProbeFailure, tick_failure
from probetui.analysis.container_history import ContainerHistory, SessionHistory
from probetui.analysis.findings import severity_of
from probetui.debugger.commands import BreakpointKind, Injected
from probetui.engine.snapshot import (
    BackoffSnapshot,
    ContainerSnapshot,
    PodSnapshot,
    ProbeSnapshot,
    QueuedTick,
    Snapshot,
)
from probetui.k8s.api.probe import PROBE
from probetui.k8s.api.status import CONTAINER_STATUS, POD_STATUS
from probetui.k8s.pod import Pod
from probetui.k8s.probe import ProbeKey
from probetui.k8s.runtime import ListenerScope, SocketAddress
from probetui.k8s.status import ContainerStatus, PodPhase, PodStatus
from probetui.kubelet.journal import (
    Exit,
    ExitCause,
    FindingEntry,
    LastExit,
    ListenersEntry,
    Skip,
    StoppingSnapshot,
    TickAction,
    TickEntry,
)
from probetui.kubelet.outcome import Attempt, ProbeResult
from probetui.kubelet.pod_workers.pod_update import PodWorkerState
from probetui.manifest.problem import Severity
from probetui.presentation.cause.probe_failure import failure_clause
from probetui.presentation.container.table import kind
from probetui.presentation.probe.refusals import refusal_text
from probetui.presentation.probe.state import threshold
from probetui.presentation.text.view import View
from probetui.record.format import (
    RESULTS,
    Instant,
    MaskedText,
    ProbeTypeWord,
    ResultWord,
)
from probetui.record.masking import Mask
from probetui.record.wire import SAME, At, Computed, Leaf, WireCodec, json_schema

STATE_API_VERSION = "probetui/v1"
STATE_KIND = "SessionState"

_MILLISECOND = timedelta(milliseconds=1)
_RESULT_WORDS = {result: word for word, result in RESULTS.items()}


class _StateContext(Struct, frozen=True):
    """What a snapshot lacks: the mask, the runtime's name, refusals and findings."""

    mask: Mask
    runtime_name: str
    history: SessionHistory
    pods: Mapping[str, Pod]
    view: View

    def container(self, key: ProbeKey) -> ContainerHistory:
        return self.history.container(key.pod_uid, key.container_name)


def state_text(
    snapshot: Snapshot,
    runtime_name: str,
    mask: Mask,
    past: SessionHistory | None = None,
) -> str:
    """Return a session's state as indented JSON with secrets masked, and a newline.

    The `past` gives refusals and findings. A byte that is not UTF-8 becomes an escaped
    lone surrogate, as in the record.
    """
    pods = {pod.pod.uid: pod.pod for pod in snapshot.pods}
    context = _StateContext(
        mask,
        runtime_name,
        past or SessionHistory(()),
        pods,
        View.timeless(mask, snapshot.rules),
    )
    state = _codec_of(SessionState).encode(snapshot, context)
    # Not msgspec's encoder, which refuses lone surrogates.
    return json.dumps(state, indent=2) + "\n"


def _write_refusal(tick: TickEntry, context: _StateContext) -> Any:
    lookup = context.container(tick.key).listeners(tick)
    if lookup is None:
        return None
    return _codec_of(RefusalObject).encode(lookup, context)


def _write_failure(tick: TickEntry, context: _StateContext) -> Any:
    pod = context.pods.get(tick.key.pod_uid)
    container = None if pod is None else pod.container(tick.key.container_name)
    history = context.container(tick.key)
    failure = tick_failure(tick, container, history, context.view.rules)
    if failure is None:
        return None
    return _codec_of(FailureObject).encode(failure, context)


def _write_failure_text(failure: ProbeFailure, context: _StateContext) -> str:
    return failure_clause(failure, context.view)


def _write_refusal_text(lookup: ListenersEntry, context: _StateContext) -> str:
    return context.mask.text(refusal_text(lookup))


def _write_findings(probe: ProbeSnapshot, context: _StateContext) -> Any:
    findings = context.container(probe.key).findings
    codec = _codec_of(FindingObject)
    return [
        codec.encode(entry, context) for entry in findings if entry.key == probe.key
    ]


def _find_severity(entry: FindingEntry, _context: _StateContext) -> Severity:
    return severity_of(entry.rule)


def _write_spec(probe: ProbeSnapshot, context: _StateContext) -> Any:
    return PROBE.write(context.mask.probe(probe.probe))


def _is_edited(probe: ProbeSnapshot, _context: _StateContext) -> bool:
    return probe.manifest_probe is not None


def _write_next_skip(probe: ProbeSnapshot, _context: _StateContext) -> Skip | None:
    skip = probe.upcoming_skip
    return skip if isinstance(skip, Skip) else None


def _write_next_exit(probe: ProbeSnapshot, _context: _StateContext) -> Exit | None:
    skip = probe.upcoming_skip
    return skip if isinstance(skip, Exit) else None


def _write_run(probe: ProbeSnapshot, _context: _StateContext) -> Any:
    last, run = probe.last_result, probe.result_run
    doubt = {"atLeast": probe.run_doubt} if probe.run_doubt else {}
    return {
        "result": _RESULT_WORDS[last] if run else None,
        "count": run,
        "threshold": threshold(probe, last),
        **doubt,
    }


def _find_kind(container: ContainerSnapshot, _context: _StateContext) -> str:
    return kind(container) or "container"


def _write_container_status(
    status: ContainerStatus | None, context: _StateContext
) -> Any:
    if status is None:
        return None
    return _mask_messages(CONTAINER_STATUS.write(status), context.mask)


def _write_pod_status(status: PodStatus, context: _StateContext) -> Any:
    return _mask_messages(POD_STATUS.write(status), context.mask)


def _sort_break_points(
    points: frozenset[BreakpointKind], _context: _StateContext
) -> Any:
    return sorted(points)


def _find_api_version(_snapshot: Snapshot, _context: _StateContext) -> str:
    return STATE_API_VERSION


def _find_state_kind(_snapshot: Snapshot, _context: _StateContext) -> str:
    return STATE_KIND


def _find_runtime(_snapshot: Snapshot, context: _StateContext) -> str:
    return context.runtime_name


def _mask_messages(value: Any, mask: Mask, name: str = "") -> Any:
    """Return an API object with secrets masked in its messages."""
    match value:
        case dict():
            return {key: _mask_messages(item, mask, key) for key, item in value.items()}
        case list():
            return [_mask_messages(item, mask, name) for item in value]
        case str() if name == "message":
            return mask.text(value)
        case _:
            return value


Seconds = Annotated[
    float,
    Meta(description="seconds"),
    Leaf(lambda duration, _: duration.total_seconds()),
]
Milliseconds = Annotated[
    float,
    Meta(description="milliseconds", ge=0),
    Leaf(lambda duration, _: duration / _MILLISECOND),
]
Count = Annotated[int, Meta(ge=0)]
ApiObject = Annotated[
    dict[str, Any], Meta(description="as the Kubernetes API writes it")
]


class StateObject(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    forbid_unknown_fields=True,
    rename="camel",
):
    """A JSON object, its fields in camel case."""


class EndpointObject(StateObject, frozen=True):
    """An address and a port."""

    address: str
    port: int


class RefusalObject(StateObject, frozen=True):
    """Why a connection was refused, by where the container listened.

    `listeners` is null if that is unknown; `problem` is then the reason. `message` is
    the explanation as a sentence.
    """

    at: Instant
    refused: Annotated[
        EndpointObject, Meta(description="where the probe connected"), At("refused_at")
    ]
    listeners: Annotated[list[EndpointObject] | None, At("listeners.endpoints")]
    extent: Annotated[
        ListenerScope | None,
        Meta(description="whose network, and so whose listeners, were searched"),
        At("listeners.extent"),
    ]
    problem: MaskedText
    message: Annotated[str, Computed(_write_refusal_text)]


class FailureObject(StateObject, frozen=True):
    """Why a probe failed; `kind` is that of a page of the catalogue of causes.

    `message` is the explanation as a clause, empty if no more is known than the probe
    said.
    """

    kind: CauseKind
    message: Annotated[str, Computed(_write_failure_text)]


class FindingObject(StateObject, frozen=True):
    """A likely mistake that a probe revealed.

    `path` is a field of the pod, `place` its position in the manifest.
    """

    at: Instant
    rule: str
    severity: Annotated[Severity, Computed(_find_severity)]
    path: str
    place: str
    message: MaskedText


class AttemptObject(StateObject, frozen=True):
    """One run of a handler; an `error` says why it could not run."""

    result: ProbeResult
    ms: Annotated[Milliseconds, At("duration")]
    detail: MaskedText
    output: MaskedText
    error: MaskedText | None


class RunObject(StateObject, frozen=True):
    """Equal results in a row; the threshold is the one that applies to them."""

    result: ResultWord | None
    count: Annotated[Count, At("run.count")]
    threshold: Annotated[Count, At("run.threshold")]


class LastRunObject(StateObject, frozen=True):
    """The last tick that probed."""

    n: Count
    started_at: Annotated[Instant, At("timing.started_at")]
    ms: Annotated[Milliseconds, At("timing.duration")]
    result: Annotated[ResultWord | None, Meta(description="null: errored")]
    run: Annotated[RunObject, SAME]
    action: TickAction
    injected: Annotated[bool, At("overridden.injected")]
    delay: Annotated[Seconds, At("overridden.delay")]
    attempts: list[AttemptObject]
    refusal: Annotated[
        RefusalObject | None,
        Meta(description="null: not refused, or the reason is unknown"),
        Computed(_write_refusal),
    ]
    failure: Annotated[
        FailureObject | None,
        Meta(description="null: it did not fail"),
        Computed(_write_failure),
    ]


class CountsObject(StateObject, frozen=True):
    """The number of ticks of a probe, by outcome."""

    ticks: Count
    successes: Count
    failures: Count
    errors: Count
    skips: Count


class ProbeObject(StateObject, frozen=True):
    """One probe and its worker."""

    probe: ProbeTypeWord
    spec: Annotated[ApiObject, Meta(title="v1.Probe"), Computed(_write_spec)]
    is_edited: Annotated[bool, Computed(_is_edited)]
    worker_alive: bool
    stored: Annotated[ResultWord | None, At("stored_result")]
    run: Annotated[RunObject, Computed(_write_run)]
    on_hold: bool
    muted: bool
    injections: list[Injected]
    delay: Annotated[Seconds, Meta(description="the user's delay of each outcome")]
    in_flight_since: Instant | None
    next_tick_at: Instant | None
    next_skip: Annotated[
        Skip | None,
        Meta(description="why the next tick will not probe; null: it will, or ends"),
        Computed(_write_next_skip),
    ]
    next_exit: Annotated[
        Exit | None,
        Meta(description="why the worker ends with the next tick; null: it does not"),
        Computed(_write_next_exit),
    ]
    delay_until: Instant | None
    counts: Annotated[CountsObject, SAME]
    error_run: Annotated[
        Count, Meta(description="errors since the last run that counted")
    ]
    last_run: LastRunObject | None
    findings: Annotated[list[FindingObject], Computed(_write_findings)]


class StoppingObject(StateObject, frozen=True):
    """A container that is being stopped."""

    since: Instant
    grace: Annotated[
        float,
        Meta(description="seconds"),
        Leaf(lambda seconds, _: float(seconds)),
        At("grace_period_seconds"),
    ]
    grace_source: str
    by: ExitCause


class BackoffObject(StateObject, frozen=True):
    """The crash-loop back-off of a container."""

    window: Seconds
    since: Instant | None
    until: Annotated[Instant | None, Meta(description="null: it does not wait")]
    next_window: Seconds
    latest: Annotated[
        Instant | None,
        Meta(
            description="when the restart comes at the latest; null: it does not wait"
        ),
    ]


class LastExitObject(StateObject, frozen=True):
    """The end of the previous instance."""

    at: Instant
    exit_code: int
    by: ExitCause
    reason: str
    oom: Annotated[bool, At("oom_killed")]
    container_id: str = field(name="containerID")


class ContainerObject(StateObject, frozen=True):
    """One container with its probes."""

    container: Annotated[str, At("container.name")]
    kind: Annotated[Literal["container", "sidecar", "init"], Computed(_find_kind)]
    status: Annotated[
        ApiObject | None,
        Meta(title="v1.ContainerStatus"),
        Leaf(_write_container_status),
    ]
    stopping: StoppingObject | None
    backoff: BackoffObject | None
    last_exit: LastExitObject | None
    frozen_since: Instant | None
    cut_off_since: Instant | None
    break_points: Annotated[list[BreakpointKind], Leaf(_sort_break_points)]
    probes: list[ProbeObject]


class PodObject(StateObject, frozen=True):
    """One pod with its containers, init containers first."""

    pod: Annotated[str, At("pod.name")]
    namespace: Annotated[str, At("pod.namespace")]
    pod_uid: Annotated[str, At("pod.uid")] = field(name="podUID")
    phase: Annotated[PodPhase, At("status.phase")]
    worker_state: Annotated[PodWorkerState, At("state")]
    operation: Annotated[MaskedText, Meta(description="the operation in progress")]
    status: Annotated[ApiObject, Meta(title="v1.PodStatus"), Leaf(_write_pod_status)]
    containers: list[ContainerObject]


class QueuedObject(StateObject, frozen=True):
    """An upcoming tick."""

    pod_uid: Annotated[str, At("key.pod_uid")] = field(name="podUID")
    container: Annotated[str, At("key.container_name")]
    probe: ProbeTypeWord
    at: Instant


class SessionState(StateObject, frozen=True, kw_only=True):
    """The state of a session at one instant."""

    api_version: Annotated[
        Literal[STATE_API_VERSION],  # type: ignore[valid-type]  # a constant
        Computed(_find_api_version),
    ] = STATE_API_VERSION
    kind: Annotated[
        Literal[STATE_KIND],  # type: ignore[valid-type]  # a constant
        Computed(_find_state_kind),
    ] = STATE_KIND
    taken_at: Instant
    started_at: Instant
    runtime: Annotated[str, Computed(_find_runtime)]
    runtime_lost_since: Instant | None
    runtime_error: MaskedText
    paused: Annotated[bool, At("is_paused")]
    restarts: Count
    faults: Count
    queue: list[QueuedObject]
    pods: list[PodObject]


_KINDS: Mapping[type[msgspec.Struct], type[Any]] = {
    AttemptObject: Attempt,
    BackoffObject: BackoffSnapshot,
    ContainerObject: ContainerSnapshot,
    EndpointObject: SocketAddress,
    FailureObject: ProbeFailure,
    FindingObject: FindingEntry,
    LastExitObject: LastExit,
    LastRunObject: TickEntry,
    PodObject: PodSnapshot,
    ProbeObject: ProbeSnapshot,
    QueuedObject: QueuedTick,
    RefusalObject: ListenersEntry,
    SessionState: Snapshot,
    StoppingObject: StoppingSnapshot,
}
"""The struct that each object is written from."""

_SCHEMA_NAMES: Mapping[type, str] = {
    TickAction: "Action",
    AttemptObject: "Attempt",
    BackoffObject: "Backoff",
    BreakpointKind: "BreakPoint",
    ExitCause: "By",
    ContainerObject: "Container",
    EndpointObject: "Endpoint",
    FailureObject: "Failure",
    FindingObject: "Finding",
    Injected: "Injected",
    LastExitObject: "LastExit",
    LastRunObject: "LastRun",
    ListenerScope: "Extent",
    PodPhase: "PodPhase",
    PodObject: "Pod",
    PodWorkerState: "PodWorkerState",
    ProbeResult: "ProbeResult",
    ProbeObject: "Probe",
    QueuedObject: "Queued",
    RefusalObject: "Refusal",
    RunObject: "Run",
    SessionState: "SessionState",
    Severity: "Severity",
    Exit: "Exit",
    Skip: "Skip",
    StoppingObject: "Stopping",
    CountsObject: "Counts",
}


def state_schema() -> dict[str, Any]:
    """Return the JSON Schema of a session's state."""
    return json_schema(SessionState, "The state of a probetui session", _SCHEMA_NAMES)


@cache
def _codec_of(struct: type[msgspec.Struct]) -> WireCodec:
    return WireCodec(struct, _KINDS[struct], _KINDS)
