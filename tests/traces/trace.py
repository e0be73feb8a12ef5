"""Traces: a pod, and what a real kubelet recorded of it.

They come from the folder in `PROBETUI_TRACES_DIR` if set, else from `data`.
"""

from __future__ import annotations

import gzip
import json
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from tests.conformance.observation import Observation

DATA = Path(os.environ.get("PROBETUI_TRACES_DIR") or Path(__file__).parent / "data")

POLL_SECONDS = 0.25
"""How often the kubelet of the traces was asked for statuses."""

Json = Mapping[str, Any]

_FIELD_PATH = re.compile(r"spec\.(?:initContainers|containers)\{(?P<name>.+)\}")


@dataclass(frozen=True, slots=True)
class Trace:
    """One pod.

    `manifest` is what the kubelet read, `seen` what it recorded from then on. Statuses
    were recorded until `statuses_end` (seconds) only.
    """

    name: str
    manifest: Json
    seen: Observation
    statuses_end: float

    @property
    def deleted_at(self) -> float | None:
        """When the manifest was taken away again, in seconds; None if it was not."""
        return next((t for what, t in self.seen.actions if what == "delete"), None)

    @property
    def periods(self) -> Mapping[str, int]:
        """The longest period of the probes of each container, in seconds."""
        return {
            each["name"]: max(
                (each[key].get("periodSeconds", 10) for key in _PROBES if key in each),
                default=0,
            )
            for each in containers(self.manifest)
        }


_PROBES = ("startupProbe", "livenessProbe", "readinessProbe")


def containers(manifest: Json) -> list[Json]:
    """Return the init containers of a pod, then its containers."""
    spec = manifest["spec"]
    return [*(spec.get("initContainers") or ()), *spec["containers"]]


@cache
def load_traces(folder: Path = DATA) -> Mapping[str, Trace]:
    """Return all traces of a folder, by name.

    All pods were observed for the same time, of which only the latest record of all
    tells.
    """
    files = sorted([*folder.glob("*.json"), *folder.glob("*.json.gz")])
    texts = {each.name.split(".")[0]: _read(each) for each in files}
    recorded = {name: json.loads(text) for name, text in texts.items()}
    ends = {
        kind: max(each["t"] for trace in recorded.values() for each in trace[kind])
        for kind in ("events", "statuses")
    }
    return {
        name: Trace(
            name, trace["pod"], _observation(trace, ends["events"]), ends["statuses"]
        )
        for name, trace in recorded.items()
    }


def _read(path: Path) -> str:
    if path.suffix == ".gz":
        return gzip.decompress(path.read_bytes()).decode()
    return path.read_text(encoding="utf-8")


def _observation(trace: Json, end: float) -> Observation:
    records = [*map(_event, trace["events"]), *map(_status, trace["statuses"])]
    records.sort(key=lambda each: float(each["t"]))
    return Observation.of([*records, {"t": end, "kind": "end"}])


def _event(event: Json) -> Json:
    match = _FIELD_PATH.fullmatch(event.get("fieldPath") or "")
    container = match["name"] if match else None
    return {**event, "kind": "event", "container": container}


def _status(status: Json) -> Json:
    t = status["t"]
    if status.get("manifestRemoved"):
        return {"t": t, "kind": "action", "do": "delete"}
    if status.get("gone"):
        return {"t": t, "kind": "gone"}
    conditions = [
        {"type": name, "status": value}
        for name, value in (status.get("conditions") or {}).items()
    ]
    return {"t": t, "kind": "status", "status": {**status, "conditions": conditions}}


def names() -> Iterator[str]:
    """Yield the names of all traces."""
    yield from load_traces()
