"""Traces: a pod, and what a real kubelet recorded of it.

They come from the folder in `PROBETUI_TRACES_DIR` if set, else from `data`. Tests that
name a trace are about those in `data` and run on no other folder: `only_own`.
"""

from __future__ import annotations

import gzip
import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from msgspec.structs import replace

from probetui.k8s.pod import Pod
from probetui.kubelet.config import KubeletConfig
from probetui.kubelet.pod_source import CONFIG_SOURCE, FILE_SOURCE
from probetui.kubelet_rules import PORTED_RULES, KubeletRules
from probetui.manifest.load import load_manifests
from probetui.manifest.yaml.parser import SourceFile
from tests.conformance.observation import Observation

OWN_DATA = Path(__file__).parent / "data"
DATA = Path(os.environ.get("PROBETUI_TRACES_DIR") or OWN_DATA)

only_own = pytest.mark.skipif(
    DATA.resolve() != OWN_DATA, reason="it is about the traces of this project"
)

POLL_SECONDS = 0.25
"""How often the kubelet of the traces was asked for statuses."""

Json = Mapping[str, Any]

_TIMED_OUT = re.compile(r"timed out|timeout|deadline exceeded|Client\.Timeout")
_FIELD_PATH = re.compile(r"spec\.(?:initContainers|containers)\{(?P<name>.+)\}")


@dataclass(frozen=True, slots=True)
class Trace:
    """One pod.

    `name` is that of the file, `manifest` what the kubelet read, `seen` what it
    recorded from then on. Statuses were recorded until `statuses_end` (seconds) only.
    `version` is the kubelet's, `major.minor`.
    """

    name: str
    manifest: Json
    seen: Observation
    statuses_end: float
    version: str = PORTED_RULES.version

    @property
    def config(self) -> KubeletConfig:
        """A kubelet of that version."""
        return KubeletConfig(version=self.version)

    @property
    def pod_name(self) -> str:
        """The name of the pod, whatever the file is called."""
        return str(self.manifest["metadata"]["name"])

    @property
    def is_of_another_version(self) -> bool:
        """Whether it is of another version than the one that is ported."""
        return self.version != PORTED_RULES.version

    @property
    def lacks_image(self) -> bool:
        """Whether the kubelet could not have an image."""
        return any(
            event.reason == "ErrImageNeverPull"
            or event.message.startswith("Failed to pull image ")
            for event in self.seen.events
        )

    @property
    def is_slow(self) -> bool:
        """Whether probes ran into their time limits."""
        return any(
            event.reason == "Unhealthy" and _TIMED_OUT.search(event.message)
            for event in self.seen.events
        )

    @property
    def is_edited(self) -> bool:
        """Whether the manifest was changed while the pod ran."""
        return any(what == "edit" for what, _ in self.seen.actions)

    @property
    def deleted_at(self) -> float | None:
        """When the manifest was taken away again, in seconds; None if it was not."""
        return next((t for what, t in self.seen.actions if what == "delete"), None)

    @property
    def periods(self) -> Mapping[str, int]:
        """The longest period of the probes of each container, in seconds."""
        return {
            container["name"]: max(
                (
                    container[key].get("periodSeconds", 10)
                    for key in _PROBES
                    if key in container
                ),
                default=0,
            )
            for container in containers(self.manifest)
        }


_PROBES = ("startupProbe", "livenessProbe", "readinessProbe")


def containers(manifest: Json) -> list[Json]:
    """Return the init containers of a pod, then its containers."""
    spec = manifest["spec"]
    return [*(spec.get("initContainers") or ()), *spec["containers"]]


@cache
def load_traces(folder: Path = DATA) -> Mapping[str, Trace]:
    """Return all traces of a folder, by the names of the files.

    All pods were observed for the same time, of which only the latest record of all
    tells.
    """
    files = sorted([*folder.glob("*.json"), *folder.glob("*.json.gz")])
    recorded = {_name(file): json.loads(_read(file)) for file in files}
    ends = {
        kind: max(
            (record["t"] for trace in recorded.values() for record in trace[kind]),
            default=0.0,
        )
        for kind in ("events", "statuses")
    }
    end = max(ends.values())
    return {
        name: Trace(
            name,
            trace["pod"],
            _observation(trace, end),
            ends["statuses"],
            _minor(trace.get("kubelet", PORTED_RULES.version)),
        )
        for name, trace in recorded.items()
    }


@cache
def own_traces() -> Mapping[str, Trace]:
    """Return this project's traces of all versions; those of 1.32 have bare names."""
    found = dict(load_traces(OWN_DATA))
    for folder in sorted(path for path in OWN_DATA.iterdir() if path.is_dir()):
        for name, trace in load_traces(folder).items():
            found[f"{folder.name}/{name}"] = trace
    return found


def _minor(version: str) -> str:
    return ".".join(version.removeprefix("v").split(".")[:2])


def _name(file: Path) -> str:
    return file.name.removesuffix(".gz").removesuffix(".json")


def _read(path: Path) -> str:
    if path.suffix == ".gz":
        return gzip.decompress(path.read_bytes()).decode()
    return path.read_text(encoding="utf-8")


def _observation(trace: Json, end: float) -> Observation:
    records = [*map(_event, trace["events"]), *map(_status, trace["statuses"])]
    records.sort(key=lambda record: float(record["t"]))
    return Observation.of([*records, {"t": end, "kind": "end"}])


def _event(event: Json) -> Json:
    match = _FIELD_PATH.fullmatch(event.get("fieldPath") or "")
    container = match["name"] if match else None
    return {**event, "kind": "event", "container": container}


def _status(status: Json) -> Json:
    t = status["t"]
    if status.get("manifestRemoved"):
        return {"t": t, "kind": "action", "do": "delete"}
    if status.get("manifestEdited") or status.get("newUID"):
        return {"t": t, "kind": "action", "do": "edit"}
    if status.get("gone"):
        return {"t": t, "kind": "gone"}
    conditions = [
        {"type": name, "status": value}
        for name, value in (status.get("conditions") or {}).items()
    ]
    return {"t": t, "kind": "status", "status": {**status, "conditions": conditions}}


def a_pod_of(manifest: Json, rules: KubeletRules = PORTED_RULES) -> Pod:
    """Return the static pod of a manifest, as that version of Kubernetes has it."""
    source = SourceFile("pod.yaml", yaml.safe_dump(dict(manifest)))
    (pod,) = load_manifests([source], rules=rules).pods
    return replace(pod, annotations={**pod.annotations, CONFIG_SOURCE: FILE_SOURCE})
