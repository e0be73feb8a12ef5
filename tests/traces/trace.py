"""Traces: pods, and what a real kubelet recorded of them.

They come from the folder in `PROBETUI_TRACES_DIR` if set, else from `data`. Tests that
name a trace need those in `data` and are skipped with another folder: `only_own`.
"""

from __future__ import annotations

import gzip
import json
import math
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from msgspec.structs import replace

from probetui.k8s.pod import Pod
from probetui.k8s.pod_source import CONFIG_SOURCE, FILE_SOURCE
from probetui.kubelet.config import KubeletConfig
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
"""The period at which statuses were read from the kubelet of the traces."""

START_SECONDS = 0.5
"""The longest time from Pulled to Started on an idle machine, in seconds."""

BUSY = 1.0
"""The additional seconds from which on a machine was too busy for times to be
compared."""

_TIMEOUT_MESSAGE = re.compile(r"\w+ probe failed: command timed out: .*", re.DOTALL)
_EMPTY_MESSAGE = re.compile(r"\w+ probe failed: ")
"""The message of the event of a command that ran into its time limit."""

Json = Mapping[str, Any]

_TIMED_OUT = re.compile(r"timed out|timeout|deadline exceeded|Client\.Timeout")
_FIELD_PATH = re.compile(r"spec\.(?:initContainers|containers)\{(?P<name>.+)\}")


@dataclass(frozen=True, slots=True)
class Trace:
    """One pod.

    `name` is that of the file, `manifest` what the kubelet read, `observation` what was
    recorded from then on. Statuses were recorded until `statuses_end` (seconds) only.
    `version` is the kubelet's, `major.minor`, `runtime` what container IDs begin with.
    `probed` has the completed probes in the kubelet's log: time, container, probe
    (`Liveness`) and result (`succeeded`, `failed`, `errored`).
    """

    name: str
    manifest: Json
    observation: Observation
    statuses_end: float
    version: str = PORTED_RULES.version
    runtime: str = "containerd"
    probed: Sequence[tuple[float, str, str, str]] = ()

    @property
    def config(self) -> KubeletConfig:
        """The configuration of a kubelet of that version."""
        return KubeletConfig(version=self.version, queues_while_waiting=True)

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
        """Whether the kubelet could not pull an image."""
        return any(
            event.reason == "ErrImageNeverPull"
            or event.message.startswith("Failed to pull image ")
            for event in self.observation.events
        )

    @property
    def is_slow(self) -> bool:
        """Whether probes ran into their time limits."""
        return any(
            event.reason == "Unhealthy" and _TIMED_OUT.search(event.message)
            for event in self.observation.events
        )

    @property
    def is_edited(self) -> bool:
        """Whether the manifest was changed while the pod ran."""
        return any(what == "edit" for what, _ in self.observation.actions)

    @property
    def lateness(self) -> float:
        """How late its machine was: the seconds that a start took beyond the usual."""
        longest = 0.0
        starts_of_container: dict[str | None, float] = {}
        for event in self.observation.events:
            if event.reason == "Pulled":
                starts_of_container[event.container] = event.t
            elif (
                event.reason in {"Started", "Failed"}
                and event.container in starts_of_container
            ):
                longest = max(longest, event.t - starts_of_container[event.container])
        late = max(0.0, longest - START_SECONDS)
        return math.inf if late > BUSY else late

    @property
    def timeouts(self) -> Mapping[tuple[str, int, str], Sequence[float]]:
        """When commands of probes ran into their time limits on that machine.

        In seconds from the start of an instance, by container, number of the instance
        and probe (`Liveness`).
        """
        found: dict[tuple[str, int, str], list[float]] = {}
        starts: dict[str, list[float]] = {}
        for event in self.observation.events:
            starts_of_container = starts.setdefault(event.container or "", [])
            if event.reason == "Started":
                starts_of_container.append(event.t)
            elif starts_of_container and self.is_out_of_time(event.message):
                probe = event.message.partition(" ")[0]
                key = event.container or "", len(starts_of_container) - 1, probe
                limit = self.time_limit(event.container or "", probe)
                found.setdefault(key, []).append(
                    event.t - limit - starts_of_container[-1]
                )
        return found

    def is_out_of_time(self, message: str) -> bool:
        """Return whether an event is of a command that ran into its time limit."""
        has_timeout_message = self.config.rules.tells_exec_timeout
        return bool(
            (_TIMEOUT_MESSAGE if has_timeout_message else _EMPTY_MESSAGE).fullmatch(
                message
            )
        )

    def time_limit(self, name: str, probe: str) -> float:
        """Return the time limit of a probe (`Liveness`), in seconds."""
        for container in containers(self.manifest):
            for key, word in _PROBES.items():
                if container["name"] == name and word == probe and key in container:
                    return float(container[key].get("timeoutSeconds", 1))
        return 0.0

    @property
    def deleted_at(self) -> float | None:
        """When the manifest was removed, in seconds; None if it was not."""
        return next(
            (t for what, t in self.observation.actions if what == "delete"), None
        )

    @property
    def changes(self) -> Sequence[tuple[str, float]]:
        """Actions on the manifest, `edit` and `delete`, and their times in seconds."""
        return [one for one in self.observation.actions if one[0] in {"edit", "delete"}]

    @property
    def is_of_docker(self) -> bool:
        """Whether the kubelet ran its containers by dockershim."""
        return self.runtime == "docker"

    @property
    def periods(self) -> Mapping[str, int]:
        """The longest period of the probes of each container, in seconds."""
        return {
            name: max(probes.values(), default=0)
            for name, probes in self.probes.items()
        }

    @property
    def probes(self) -> Mapping[str, Mapping[str, int]]:
        """The probes of each container (`Liveness`) and their periods, in seconds."""
        return {
            container["name"]: {
                word: container[key].get("periodSeconds", 10)
                for key, word in _PROBES.items()
                if key in container
            }
            for container in containers(self.manifest)
        }


_KINDS = ("events", "statuses")
_PROBES = {
    "startupProbe": "Startup",
    "livenessProbe": "Liveness",
    "readinessProbe": "Readiness",
}


def containers(manifest: Json) -> list[Json]:
    """Return the init containers of a pod, then its containers."""
    spec = manifest["spec"]
    return [*(spec.get("initContainers") or ()), *spec["containers"]]


@cache
def load_traces(folder: Path = DATA) -> Mapping[str, Trace]:
    """Return all traces of a folder, by the names of the files.

    All pods of a run were observed for the same time; its end is the latest record of
    them all.
    """
    files = sorted([*folder.glob("*.json"), *folder.glob("*.json.gz")])
    recorded = {_name(file): json.loads(_read(file)) for file in files}
    ends: dict[tuple[object, str], float] = {}
    for trace in recorded.values():
        for kind in _KINDS:
            key = trace.get("run"), kind
            ends[key] = max(ends.get(key, 0.0), *(one["t"] for one in trace[kind]), 0.0)
    return {
        name: Trace(
            name,
            trace["pod"],
            _observation(trace, max(ends[trace.get("run"), kind] for kind in _KINDS)),
            ends[trace.get("run"), "statuses"],
            _minor(trace.get("kubelet", PORTED_RULES.version)),
            _runtime(trace),
            tuple(map(tuple, trace.get("probes", ()))),
        )
        for name, trace in recorded.items()
    }


@cache
def all_traces(folder: Path = DATA) -> Mapping[str, Trace]:
    """Return the traces in a folder and, named `folder/trace`, in those inside it."""
    found = dict(load_traces(folder))
    for inner in sorted(path for path in folder.iterdir() if path.is_dir()):
        for name, trace in load_traces(inner).items():
            found[f"{inner.name}/{name}"] = trace
    return found


def _minor(version: str) -> str:
    return ".".join(version.removeprefix("v").split(".")[:2])


def _runtime(trace: Json) -> str:
    """Return what container IDs begin with, `docker` for a kubelet with dockershim."""
    if "dockershim" in trace.get("kubelet", ""):
        return "docker"
    ids = (
        container.get("containerID") or ""
        for status in trace["statuses"]
        for key in ("initContainerStatuses", "containerStatuses")
        for container in status.get(key) or ()
    )
    return next((one.partition("://")[0] for one in ids if one), "containerd")


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
    if status.get("manifestEdited"):
        return {"t": t, "kind": "action", "do": "edit"}
    if status.get("newUID"):
        return {"t": t, "kind": "action", "do": "list anew"}
    if status.get("gone"):
        return {"t": t, "kind": "gone"}
    conditions = [
        {"type": name, "status": value}
        for name, value in (status.get("conditions") or {}).items()
    ]
    return {"t": t, "kind": "status", "status": {**status, "conditions": conditions}}


class RefusedError(Exception):
    """A pod that is not valid."""


def a_pod_of(manifest: Json, rules: KubeletRules = PORTED_RULES) -> Pod:
    """Return the static pod of a manifest, as that version of Kubernetes has it.

    Raises:
        RefusedError: that version refuses the pod.
    """
    source = SourceFile("pod.yaml", yaml.safe_dump(dict(manifest)))
    pods = load_manifests([source], rules=rules).pods
    if not pods:
        raise RefusedError(manifest["metadata"]["name"])
    (pod,) = pods
    return replace(pod, annotations={**pod.annotations, CONFIG_SOURCE: FILE_SOURCE})
