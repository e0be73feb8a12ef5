"""The state of a session as types, and the JSON Schema that follows from them.

Names of fields are those of the record. `state_json` fills these types from a
snapshot. Lengths of time are seconds, except `ms`; instants are RFC 3339 in UTC.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, field

from probetui.k8s.listeners import Extent
from probetui.k8s.status import PodPhase
from probetui.kubelet.inputs import BreakPoint, Injected
from probetui.kubelet.journal import Action, By, Skip
from probetui.kubelet.outcome import ProbeResult
from probetui.kubelet.snapshot import PodWorkerState
from probetui.manifest.problem import Severity
from probetui.presentation.api_json import STATE_API_VERSION, STATE_KIND

Instant = Annotated[
    str,
    Meta(
        description="RFC 3339 in UTC, with six digits of the second",
        pattern=r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$",
    ),
]
Seconds = Annotated[float, Meta(description="seconds")]
Milliseconds = Annotated[float, Meta(description="milliseconds", ge=0)]
Count = Annotated[int, Meta(ge=0)]
Believed = Literal["Unknown", "Success", "Failure"]
ProbeWord = Literal["liveness", "readiness", "startup"]
ApiObject = Annotated[
    dict[str, Any], Meta(description="as the Kubernetes API writes it")
]


class Shape(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    forbid_unknown_fields=True,
    rename="camel",
):
    """A JSON object, its fields in camel case."""


class Endpoint(Shape, frozen=True):
    """An address and a port."""

    address: str
    port: int


class Refusal(Shape, frozen=True):
    """Why a connection was refused, by where the container listened.

    `listeners` is null where that cannot be seen, for which `problem` is the reason;
    `message` has it in words.
    """

    at: Instant
    refused: Annotated[Endpoint, Meta(description="where the probe went")]
    listeners: list[Endpoint] | None
    extent: Annotated[
        Extent | None, Meta(description="whose network it is, so whose listeners")
    ]
    problem: str
    message: str


class Finding(Shape, frozen=True):
    """What a probe showed to be likely not meant so.

    `path` is a field of the pod, `place` where it stands in the manifest.
    """

    at: Instant
    rule: str
    severity: Severity
    path: str
    place: str
    message: str


class Attempt(Shape, frozen=True):
    """One run of a handler; an `error` says why it could not run."""

    result: ProbeResult
    ms: Milliseconds
    detail: str
    output: str
    error: str | None


class Run(Shape, frozen=True):
    """Equal results in a row; the threshold is the one that applies to them."""

    result: Believed | None
    count: Count
    threshold: Count


class LastRun(Shape, frozen=True):
    """The last tick that probed."""

    n: Count
    started_at: Instant
    ms: Milliseconds
    result: Annotated[Believed | None, Meta(description="null: errored")]
    run: Run
    action: Action
    injected: bool
    delay: Seconds
    attempts: list[Attempt]
    refusal: Annotated[
        Refusal | None, Meta(description="null: not refused, or why is not known")
    ]


class Counts(Shape, frozen=True):
    """What the ticks of a probe have come to."""

    ticks: Count
    successes: Count
    failures: Count
    errors: Count
    skips: Count


class Probe(Shape, frozen=True):
    """One probe and its worker, as they stand."""

    probe: ProbeWord
    spec: Annotated[ApiObject, Meta(title="v1.Probe")]
    is_edited: bool
    worker_alive: bool
    stored: Believed | None
    run: Run
    on_hold: bool
    muted: bool
    injections: list[Injected]
    delay: Annotated[Seconds, Meta(description="added to every answer by a person")]
    in_flight_since: Instant | None
    next_tick_at: Instant | None
    next_skip: Annotated[
        Skip | None, Meta(description="what the next tick would do; null: probe")
    ]
    delay_until: Instant | None
    counts: Counts
    last_run: LastRun | None
    findings: list[Finding]


class Stopping(Shape, frozen=True):
    """A container that is being stopped."""

    since: Instant
    grace: Seconds
    grace_source: str
    by: By


class Backoff(Shape, frozen=True):
    """What crash-loop back-off holds for a container."""

    window: Seconds
    since: Instant | None
    until: Annotated[Instant | None, Meta(description="null: it does not wait")]
    next_window: Seconds


class LastExit(Shape, frozen=True):
    """How an instance ended."""

    at: Instant
    exit_code: int
    by: By
    reason: str
    oom: bool
    container_id: str = field(name="containerID")


class Container(Shape, frozen=True):
    """One container with its probes."""

    container: str
    kind: Literal["container", "sidecar", "init"]
    status: Annotated[ApiObject | None, Meta(title="v1.ContainerStatus")]
    stopping: Stopping | None
    backoff: Backoff | None
    last_exit: LastExit | None
    frozen_since: Instant | None
    cut_off_since: Instant | None
    break_points: list[BreakPoint]
    probes: list[Probe]


class Pod(Shape, frozen=True):
    """One pod with its containers, init containers first."""

    pod: str
    namespace: str
    pod_uid: str = field(name="podUID")
    phase: PodPhase
    worker_state: PodWorkerState
    operation: Annotated[str, Meta(description="what is being done for it now")]
    status: Annotated[ApiObject, Meta(title="v1.PodStatus")]
    containers: list[Container]


class Queued(Shape, frozen=True):
    """A tick to come."""

    pod_uid: str = field(name="podUID")
    container: str
    probe: ProbeWord
    at: Instant


class SessionState(Shape, frozen=True, kw_only=True):
    """A whole session at one instant."""

    api_version: Literal[STATE_API_VERSION] = STATE_API_VERSION  # type: ignore[valid-type]  # a constant
    kind: Literal[STATE_KIND] = STATE_KIND  # type: ignore[valid-type]  # a constant
    taken_at: Instant
    started_at: Instant
    runtime: str
    runtime_lost_since: Instant | None
    runtime_error: str
    paused: bool
    restarts: Count
    faults: Count
    queue: list[Queued]
    pods: list[Pod]


def state_schema() -> dict[str, Any]:
    """Return the JSON Schema of a session's state."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "The state of a probetui session",
        **msgspec.json.schema(SessionState),
    }
