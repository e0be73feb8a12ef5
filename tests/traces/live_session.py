"""The pods of traces run by the installed program, side by side and in real time."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from operator import itemgetter
from pathlib import Path

import yaml

from tests.conformance.observation import Observation
from tests.conformance.translation import Translation
from tests.e2e.program import Program
from tests.lateness import Lateness
from tests.traces.trace import Json, Trace

NAMESPACE = "traces"
"""What the namespace of a session's pods begins with."""

APART = 1.0
"""Seconds from one pod to the next.

Forty containers that are made at one instant take seconds to start, on any machine,
and what a kubelet shows meanwhile is not what the recorded one had to show.
"""

SHARE = 0.95
BUSY_MILLISECONDS = 450
"""Up to 340 ms were seen with all pods on Docker and no command cut off."""

BUSY_SECONDS = 5.0
"""Of ten: a program that gets half of its time is not what a kubelet was."""

Retell = Callable[[str], str]
Traces = Mapping[str, Trace]
"""Traces by the names of their files."""


@dataclass(frozen=True, slots=True)
class Session:
    """What came of one run of the program.

    `records` is all it wrote, `removed` when the manifests of pods were taken away
    (seconds), `told` what it said on standard error. `slow` are the pods whose probes
    take their time on purpose. `late` is how many of ten seconds the machine took from
    programs when it was busiest.
    """

    records: list[Json]
    removed: Mapping[str, float]
    told: str
    status: int
    end: float
    slow: frozenset[str] = frozenset()
    late: float = 0.0

    def excuse(self) -> str:
        """Return why times and results may not be the pods' own; empty if they are.

        Where commands that do nothing often take a good part of the second that a
        probe has, some take all of it.
        """
        took = sorted(
            attempt["ms"]
            for record in self.records
            if record["type"] == "tick" and record["pod"] not in self.slow
            for attempt in record["attempts"]
        )
        slow = took[int(len(took) * SHARE)] if took else 0
        if slow >= BUSY_MILLISECONDS:
            return f"the machine was too busy, 1 of 20 probes took {slow:.0f} ms"
        if self.late >= BUSY_SECONDS:
            return f"the machine was too busy, it took {self.late:.1f} of 10 s"
        return ""

    def seen(
        self, pod: str, retell: Retell = str, called: str | None = None
    ) -> Observation:
        """Return what was seen of one pod, its messages retold.

        They name the pod as the trace does where it is `called` something else there.
        """
        translation = Translation(pod)
        others: list[Json] = [{"t": self.end, "kind": "end"}]
        if pod in self.removed:
            t = self.removed[pod]
            others.append({"t": t, "kind": "action", "do": "delete"})
        records = (
            record
            for written in self.records
            if written.get("pod") == pod and written["t"] <= self.end
            for record in translation.records(written)
        )
        seen = Observation.of(sorted([*others, *records], key=itemgetter("t")))
        seen.events[:] = [
            replace(event, message=retell(_at_home(event.message, pod, called or pod)))
            for event in seen.events
        ]
        return seen


def live_name(name: str) -> str:
    """Return the name of the pod of a trace; files may be called anything."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") or "pod"


def renamed(manifest: Json, name: str) -> Json:
    """Return the manifest of a pod of another name."""
    return {**manifest, "metadata": {**manifest["metadata"], "name": name}}


def run_all(
    program: Program, runtime: str, manifests: Mapping[str, Json], traces: Traces
) -> Session:
    """Run each pod as long as the traces go, and remove manifests when they say so."""
    removals = {
        live_name(name): trace.deleted_at
        for name, trace in traces.items()
        if trace.deleted_at is not None
    }
    pods = {live_name(name): manifest for name, manifest in manifests.items()}
    lasts = max(trace.seen.end for trace in traces.values())
    end = lasts + APART * (len(pods) - 1)
    slow = frozenset(live_name(name) for name in traces if traces[name].is_slow)
    folder = program.home / "pods"
    folder.mkdir(parents=True)
    (version,) = {trace.version for trace in traces.values()}
    namespace = _namespace(version)
    where = ("-f", str(folder), "--watch", "-n", namespace, "--runtime", runtime)
    kubelet = ("--kubelet", version, "--seed", "0")
    command = ("run", *where, "-o", "jsonl", *kubelet)
    to_come = list(pods)
    came = {to_come[0]: 0.0}
    _write(folder, to_come[0], pods[to_come.pop(0)])
    with Lateness() as lateness, program.started(*command) as process:
        records, removed = [], {}
        for record in _records(process):
            records.append(record)
            t = record["t"]
            if to_come and t >= max(came.values()) + APART:
                came[to_come[0]] = t
                _write(folder, to_come[0], pods[to_come.pop(0)])
            for name, at in removals.items():
                if name in came and t >= came[name] + at and name not in removed:
                    removed[name] = t
                    (folder / f"{name}.yaml").unlink()
            if t >= end:
                break
        assert not to_come, f"not run at all: {to_come}"
        process.send_signal(signal.SIGINT)
        records += _records(process)
        assert process.stderr is not None
        told = process.stderr.read()
        status, late = process.wait(), lateness.worst()
        return Session(records, removed, told, status, end, slow, late)


def _write(folder: Path, pod: str, manifest: Json) -> None:
    """Put a pod's manifest into a watched folder, whole or not at all."""
    text = yaml.safe_dump(dict(renamed(manifest, pod)))
    unfinished = folder / f"{pod}.unfinished"
    unfinished.write_text(text, encoding="utf-8")
    unfinished.rename(folder / f"{pod}.yaml")


def _namespace(version: str) -> str:
    """Return a namespace of one session: others may run the same pods there."""
    return f"{NAMESPACE}-{version.replace('.', '-')}-{uuid.uuid4().hex[:6]}"


def _at_home(message: str, pod: str, called: str) -> str:
    """Return a message with the name and namespace that the pod of the trace has."""
    here = rf"\b{re.escape(pod)}_{NAMESPACE}-[\w-]+\("
    return re.sub(here, f"{called}_default(", message)


def _records(process: subprocess.Popen[str]) -> Iterator[Json]:
    assert process.stdout is not None
    for line in process.stdout:
        record: Json = json.loads(line)
        yield record


def a_program(home: Path, variables: Mapping[str, str] | None = None) -> Program:
    """Return the program with its folders in `home`, and with more variables."""
    home.mkdir()
    return Program(home, variables or {})
