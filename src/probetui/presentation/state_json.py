"""A session's state as JSON, for programs (UX-32); `state_schema` has its shape."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

import msgspec

from probetui.drive.masking import Mask
from probetui.k8s.listeners import Endpoint
from probetui.k8s.probe import ProbeType
from probetui.kubelet.journal import FindingEntry, ListenersEntry, TickEntry
from probetui.kubelet.outcome import Attempt, Result
from probetui.kubelet.snapshot import (
    BackoffSnapshot,
    ContainerSnapshot,
    LastExit,
    PodSnapshot,
    ProbeSnapshot,
    Snapshot,
    StoppingSnapshot,
)
from probetui.presentation import state_schema as shape
from probetui.presentation.api_json import container_status_to_json, pod_status_to_json
from probetui.presentation.containers import kind
from probetui.presentation.findings import severity_of
from probetui.presentation.lives import ContainerPast
from probetui.presentation.past import Past
from probetui.presentation.probe_json import probe_to_json
from probetui.presentation.probes import threshold
from probetui.presentation.refusals import refusal_words

_MILLISECOND = timedelta(milliseconds=1)
_WORDS: dict[ProbeType, shape.ProbeWord] = {
    ProbeType.LIVENESS: "liveness",
    ProbeType.READINESS: "readiness",
    ProbeType.STARTUP: "startup",
}
_BELIEVED: dict[Result, shape.Believed] = {
    Result.UNKNOWN: "Unknown",
    Result.SUCCESS: "Success",
    Result.FAILURE: "Failure",
}
_KINDS: dict[str, Literal["container", "sidecar", "init"]] = {
    "": "container",
    "sidecar": "sidecar",
    "init": "init",
}


def state_text(
    snapshot: Snapshot, runtime_name: str, mask: Mask, past: Past | None = None
) -> str:
    """Return a session's state as indented JSON, ending with a newline.

    The `past` knows what probes showed: why they were refused, and what is unwise.
    A byte that is not UTF-8 is an escaped lone surrogate, as in the record.
    """
    plain = msgspec.to_builtins(session_state(snapshot, runtime_name, mask, past))
    # Not by msgspec's own encoder: it refuses lone surrogates.
    return json.dumps(plain, indent=2) + "\n"


def session_state(
    snapshot: Snapshot, runtime_name: str, mask: Mask, past: Past | None = None
) -> shape.SessionState:
    """Return a session's state, secrets masked."""
    known = past or Past(())
    return shape.SessionState(
        taken_at=_instant(snapshot.taken_at),
        started_at=_instant(snapshot.started_at),
        runtime=runtime_name,
        runtime_lost_since=_optional(snapshot.runtime_lost_since),
        runtime_error=mask.text(snapshot.runtime_error),
        paused=snapshot.is_paused,
        restarts=snapshot.restarts,
        faults=snapshot.faults,
        queue=[
            shape.Queued(
                pod_uid=each.key.pod_uid,
                container=each.key.container_name,
                probe=_WORDS[each.key.probe_type],
                at=_instant(each.at),
            )
            for each in snapshot.queue
        ],
        pods=[_pod(each, mask, known) for each in snapshot.pods],
    )


def _pod(pod: PodSnapshot, mask: Mask, past: Past) -> shape.Pod:
    return shape.Pod(
        pod=pod.pod.name,
        namespace=pod.pod.namespace,
        pod_uid=pod.pod.uid,
        phase=pod.status.phase,
        worker_state=pod.state,
        operation=mask.text(pod.operation),
        status=_masked(pod_status_to_json(pod.status), mask),
        containers=[
            _container(each, mask, past.container(pod.pod.uid, each.container.name))
            for each in pod.containers
        ],
    )


def _container(
    container: ContainerSnapshot, mask: Mask, past: ContainerPast
) -> shape.Container:
    status = container.status
    return shape.Container(
        container=container.container.name,
        kind=_KINDS[kind(container)],
        status=_masked(container_status_to_json(status), mask) if status else None,
        stopping=_stopping(container.stopping) if container.stopping else None,
        backoff=_backoff(container.backoff) if container.backoff else None,
        last_exit=_last_exit(container.last_exit) if container.last_exit else None,
        frozen_since=_optional(container.frozen_since),
        cut_off_since=_optional(container.cut_off_since),
        break_points=sorted(container.break_points),
        probes=[_probe(each, mask, past) for each in container.probes],
    )


def _probe(probe: ProbeSnapshot, mask: Mask, past: ContainerPast) -> shape.Probe:
    last, last_run = probe.last_result, probe.last_run
    return shape.Probe(
        probe=_WORDS[probe.key.probe_type],
        spec=probe_to_json(probe.probe, mask),
        is_edited=probe.manifest_probe is not None,
        worker_alive=probe.worker_alive,
        stored=_believed(probe.believed),
        run=shape.Run(
            result=_believed(last) if probe.result_run else None,
            count=probe.result_run,
            threshold=threshold(probe, last),
        ),
        on_hold=probe.on_hold,
        muted=probe.muted,
        injections=list(probe.injections),
        delay=probe.delay.total_seconds(),
        in_flight_since=_optional(probe.in_flight_since),
        next_tick_at=_optional(probe.next_tick_at),
        next_skip=probe.upcoming_skip,
        delay_until=_optional(probe.delay_until),
        counts=shape.Counts(
            ticks=probe.ticks,
            successes=probe.successes,
            failures=probe.failures,
            errors=probe.errors,
            skips=probe.skips,
        ),
        last_run=None if last_run is None else _last_run(last_run, mask, past),
        findings=[
            _finding(each, mask) for each in past.findings if each.key == probe.key
        ],
    )


def _last_run(tick: TickEntry, mask: Mask, past: ContainerPast) -> shape.LastRun:
    look = past.listeners(tick)
    return shape.LastRun(
        n=tick.n,
        started_at=_instant(tick.started_at),
        ms=tick.duration / _MILLISECOND,
        result=_believed(tick.result),
        run=shape.Run(
            result=_believed(tick.result), count=tick.run, threshold=tick.threshold
        ),
        action=tick.action,
        injected=tick.injected,
        delay=tick.delay.total_seconds(),
        attempts=[_attempt(each, mask) for each in tick.attempts],
        refusal=None if look is None else _refusal(look, mask),
    )


def _refusal(look: ListenersEntry, mask: Mask) -> shape.Refusal:
    found = look.listeners
    return shape.Refusal(
        at=_instant(look.at),
        refused=_endpoint(look.refused_at),
        listeners=None if found is None else list(map(_endpoint, found.endpoints)),
        extent=None if found is None else found.extent,
        problem=mask.text(look.problem),
        message=mask.text(refusal_words(look)),
    )


def _endpoint(endpoint: Endpoint) -> shape.Endpoint:
    return shape.Endpoint(address=endpoint.address, port=endpoint.port)


def _finding(entry: FindingEntry, mask: Mask) -> shape.Finding:
    return shape.Finding(
        at=_instant(entry.at),
        rule=entry.rule,
        severity=severity_of(entry.rule),
        path=entry.path,
        place=entry.place,
        message=mask.text(entry.message),
    )


def _attempt(attempt: Attempt, mask: Mask) -> shape.Attempt:
    return shape.Attempt(
        result=attempt.result,
        ms=attempt.duration / _MILLISECOND,
        detail=mask.text(attempt.detail),
        output=mask.text(attempt.output),
        error=None if attempt.error is None else mask.text(attempt.error),
    )


def _stopping(stopping: StoppingSnapshot) -> shape.Stopping:
    return shape.Stopping(
        since=_instant(stopping.since),
        grace=float(stopping.grace_period_seconds),
        grace_source=stopping.grace_source,
        by=stopping.by,
    )


def _backoff(backoff: BackoffSnapshot) -> shape.Backoff:
    return shape.Backoff(
        window=backoff.window.total_seconds(),
        since=_optional(backoff.since),
        until=_optional(backoff.until),
        next_window=backoff.next_window.total_seconds(),
    )


def _last_exit(last_exit: LastExit) -> shape.LastExit:
    return shape.LastExit(
        at=_instant(last_exit.at),
        exit_code=last_exit.exit_code,
        by=last_exit.by,
        reason=last_exit.reason,
        oom=last_exit.oom_killed,
        container_id=last_exit.container_id,
    )


def _believed(result: Result | None) -> shape.Believed | None:
    return None if result is None else _BELIEVED[result]


def _instant(at: datetime) -> str:
    text = at.astimezone(UTC).isoformat(timespec="microseconds")
    return text.removesuffix("+00:00") + "Z"


def _optional(at: datetime | None) -> str | None:
    return None if at is None else _instant(at)


def _masked(value: Any, mask: Mask, name: str = "") -> Any:
    """Return an object of the API without secrets in its messages."""
    match value:
        case dict():
            return {key: _masked(each, mask, key) for key, each in value.items()}
        case list():
            return [_masked(each, mask, name) for each in value]
        case str() if name == "message":
            return mask.text(value)
        case _:
            return value
