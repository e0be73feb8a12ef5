"""Builders of observations and their records, for tests of the judge."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.conformance.observation import Observation

Record = Mapping[str, Any]
WALL = 1_767_225_600.0
"""2026-01-01T00:00:00Z, when the pod of each observation is submitted."""


def an_observation(*records: Record) -> Observation:
    """Return an observation of a pod."""
    return Observation.of([{"t": 0.0, "kind": "submitted", "wall": WALL}, *records])


def event(
    t: float, reason: str, container: str | None = "app", message: str = ""
) -> Record:
    """Return the record of an event."""
    common = {"t": t, "kind": "event", "type": "Normal", "container": container}
    return common | {"reason": reason, "message": message}


def action(t: float, do: str = "delete") -> Record:
    """Return the record of an action."""
    return {"t": t, "kind": "action", "do": do}


def gone(t: float) -> Record:
    """Return the record of the end of the pod."""
    return {"t": t, "kind": "gone"}


def end(t: float) -> Record:
    """Return the last record."""
    return {"t": t, "kind": "end"}


def status(
    t: float,
    *containers: Record,
    phase: str = "Running",
    ready: bool = False,
    init: tuple[Record, ...] = (),
    gen: int = 0,
) -> Record:
    """Return the record of a status of the pod."""
    conditions = [{"type": "Ready", "status": str(ready)}]
    body = {"phase": phase, "conditions": conditions, "containerStatuses": containers}
    body |= {"initContainerStatuses": init}
    return {"t": t, "kind": "status", "gen": gen, "status": body}


def container(
    state: str = "running",
    details: Record | None = None,
    *,
    name: str = "app",
    restarts: int = 0,
    ready: bool = False,
    started: bool = False,
    last: Record | None = None,
) -> Record:
    """Return a container in a status; `last` is how the previous run ended."""
    return {
        "name": name,
        "state": {state: details or {}},
        "lastState": {"terminated": last} if last else {},
        "restartCount": restarts,
        "ready": ready,
        "started": started,
    }


def ended(second: float, exit_code: int = 0, **more: Any) -> Record:
    """Return a terminated state, `second` seconds after the submission of the pod."""
    fraction = f"{second % 1:.2f}".removeprefix("0").removesuffix(".00")
    finished = f"2026-01-01T00:00:{int(second):02d}{fraction}Z"
    return {"exitCode": exit_code, "finishedAt": finished, **more}
