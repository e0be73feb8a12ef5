"""Run the pods of traces with the installed program, all at once and in real time."""

from __future__ import annotations

import json
import re
import signal
import subprocess
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from operator import itemgetter
from pathlib import Path

import yaml

from tests.conformance.observation import Observation
from tests.conformance.translation import Translation
from tests.e2e.program import Program
from tests.engines import unique_namespace
from tests.lateness import Lateness
from tests.traces.trace import Json, Trace

NAMESPACE = "traces"
"""The prefix of the namespace of a session's pods."""

SECONDS_BETWEEN_PODS = 1.0
"""Seconds from one pod to the next.

Forty containers that are created at once take seconds to start on any machine, and the
statuses meanwhile differ from the recorded ones.
"""

SHARE = 0.95
BUSY_MILLISECONDS = 450
"""With all pods on Docker, commands took up to 340 ms without a time-out."""

BUSY_SECONDS = 5.0
"""Of ten: with half of the processor time, a run cannot be compared."""

MessageRewrite = Callable[[str], str]
Traces = Mapping[str, Trace]
"""Traces by the names of their files."""


@dataclass(frozen=True, slots=True)
class Session:
    """The output of one run of the program.

    `records` has all its records, `removed` when the manifests of pods were removed
    (seconds), `stderr` its standard error. `slow` are the pods with slow probes on
    purpose. `lateness` is how many of ten seconds programs lost when the machine was
    busiest.
    """

    records: list[Json]
    removed: Mapping[str, float]
    stderr: str
    status: int
    end: float
    slow: frozenset[str] = frozenset()
    lateness: float = 0.0

    def excuse(self) -> str:
        """Return why the machine was too busy for a comparison; empty if it was not.

        If trivial commands often take a large part of the second that a probe has, some
        run into its time limit.
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
        if self.lateness >= BUSY_SECONDS:
            return f"the machine was too busy, it took {self.lateness:.1f} of 10 s"
        return ""

    def observation_of(
        self, pod: str, rewrite: MessageRewrite = str, trace_pod_name: str | None = None
    ) -> Observation:
        """Return the observation of one pod, with rewritten messages.

        Messages have the name of the pod in the trace, `trace_pod_name`, if it differs.
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
        observation = Observation.of(sorted([*others, *records], key=itemgetter("t")))
        observation.events[:] = [
            replace(
                event,
                message=rewrite(
                    _with_trace_pod(event.message, pod, trace_pod_name or pod)
                ),
            )
            for event in observation.events
        ]
        return observation


def live_name(name: str) -> str:
    """Return a valid pod name for the file name of a trace."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") or "pod"


def with_name(manifest: Json, name: str) -> Json:
    """Return the manifest with another name of the pod."""
    return {**manifest, "metadata": {**manifest["metadata"], "name": name}}


def run_pods(
    program: Program, runtime: str, manifests: Mapping[str, Json], traces: Traces
) -> Session:
    """Run all pods for the duration of the traces, and remove manifests as they do."""
    removals = {
        live_name(name): trace.deleted_at
        for name, trace in traces.items()
        if trace.deleted_at is not None
    }
    pods = {live_name(name): manifest for name, manifest in manifests.items()}
    duration = max(trace.observation.end for trace in traces.values())
    end = duration + SECONDS_BETWEEN_PODS * (len(pods) - 1)
    slow = frozenset(live_name(name) for name in traces if traces[name].is_slow)
    folder = program.home / "pods"
    folder.mkdir(parents=True)
    (version,) = {trace.version for trace in traces.values()}
    namespace = unique_namespace(f"{NAMESPACE}-{version.replace('.', '-')}")
    where = ("-f", str(folder), "--watch", "-n", namespace, "--runtime", runtime)
    kubelet = ("--kubelet", version, "--seed", "0")
    command = ("run", *where, "-o", "jsonl", *kubelet)
    pending = list(pods)
    submitted_at = {pending[0]: 0.0}
    _write(folder, pending[0], pods[pending.pop(0)])
    with Lateness() as lateness, program.started(*command) as process:
        records, removed = [], {}
        for record in _records(process):
            records.append(record)
            t = record["t"]
            if pending and t >= max(submitted_at.values()) + SECONDS_BETWEEN_PODS:
                submitted_at[pending[0]] = t
                _write(folder, pending[0], pods[pending.pop(0)])
            for name, at in removals.items():
                if (
                    name in submitted_at
                    and t >= submitted_at[name] + at
                    and name not in removed
                ):
                    removed[name] = t
                    (folder / f"{name}.yaml").unlink()
            if t >= end:
                break
        assert not pending, f"not run at all: {pending}"
        process.send_signal(signal.SIGINT)
        records += _records(process)
        assert process.stderr is not None
        stderr = process.stderr.read()
        status, late = process.wait(), lateness.worst()
        return Session(records, removed, stderr, status, end, slow, late)


def _write(folder: Path, pod: str, manifest: Json) -> None:
    """Write a pod's manifest to the watched folder atomically."""
    text = yaml.safe_dump(dict(with_name(manifest, pod)))
    unfinished = folder / f"{pod}.unfinished"
    unfinished.write_text(text, encoding="utf-8")
    unfinished.rename(folder / f"{pod}.yaml")


def _with_trace_pod(message: str, pod: str, trace_pod_name: str) -> str:
    """Return a message with the name and namespace of the pod in the trace."""
    here = rf"\b{re.escape(pod)}_{NAMESPACE}-[\w-]+\("
    return re.sub(here, f"{trace_pod_name}_default(", message)


def _records(process: subprocess.Popen[str]) -> Iterator[Json]:
    assert process.stdout is not None
    for line in process.stdout:
        record: Json = json.loads(line)
        yield record


def a_program(home: Path, variables: Mapping[str, str] | None = None) -> Program:
    """Return the program with its folders in `home`, and with additional variables."""
    home.mkdir()
    return Program(home, variables or {})
