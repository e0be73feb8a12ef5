"""The recording of a real API server and kubelet 1.36.2 with 17 pods, in `data`.

All instants are in seconds since the creation of the first pod.
"""

from __future__ import annotations

import gzip
import json
from collections import defaultdict
from datetime import datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from probetui.cluster.observe.probe_counters import ProbeCounts, SeriesReader
from probetui.k8s.api.pod import POD
from probetui.k8s.pod import Pod
from probetui.k8s.probe import Probe, ProbeKey, ProbeType
from probetui.kubelet.outcome import Result

_DATA = Path(__file__).parent / "data"
META = json.loads(gzip.decompress((_DATA / "meta.json.gz").read_bytes()))
T0 = datetime.fromisoformat(META["T0"])
END = META["main_part_ended"]


def lines(name: str) -> list[Any]:
    """Return the objects of a file of JSON Lines."""
    text = gzip.decompress((_DATA / f"{name}.jsonl.gz").read_bytes()).decode()
    return [json.loads(line) for line in text.splitlines()]


def at(seconds: float) -> datetime:
    """Return an instant of the recording."""
    return T0 + timedelta(seconds=seconds)


class Poll(NamedTuple):
    """One answer of /metrics/probes."""

    asked_at: datetime
    answered_at: datetime
    counts: dict[ProbeKey, ProbeCounts]


@cache
def polls() -> tuple[Poll, ...]:
    """Return the polls of every half second of the main part."""
    found: list[Poll] = []
    series: dict[str, float] = {}
    reader = SeriesReader()
    for line in lines("metrics-probes"):
        if line["t"] > END:
            break
        for name in line.get("gone", ()):
            series.pop(name, None)
        series.update(line.get("changed", {}))
        text = "".join(f"{name} {value}\n" for name, value in series.items())
        polled_at = at(line["t"])
        counts = reader.read(text.encode())
        found.append(
            Poll(polled_at, polled_at + timedelta(seconds=line["took"]), counts)
        )
    return tuple(found)


@cache
def pods() -> dict[str, Pod]:
    """Return the pods by UID, as they were created."""
    found: dict[str, Pod] = {}
    for line in lines("pods.watch"):
        event = line.get("event")
        if event and event["type"] == "ADDED":
            pod = POD.read(event["object"])
            found[pod.uid] = pod
    return found


@cache
def probes() -> dict[ProbeKey, Probe]:
    """Return all probes."""
    return {
        ProbeKey(pod.uid, container.name, kind): probe
        for pod in pods().values()
        for container in pod.all_containers()
        for kind in ProbeType
        if (probe := container.probe(kind)) is not None
    }


class TrueTick(NamedTuple):
    """A tick as the kubelet's log has it; `result` is None for an error."""

    at: datetime
    result: Result | None


_WORDS = {"succeeded": Result.SUCCESS, "failed": Result.FAILURE, "errored": None}


@cache
def true_ticks() -> dict[ProbeKey, list[TrueTick]]:
    """Return every tick of the main part."""
    uids = {pod.name: uid for uid, pod in pods().items()}
    found: dict[ProbeKey, list[TrueTick]] = defaultdict(list)
    for seconds, pod, container, kind, word in lines("truth-probes"):
        if seconds <= END:
            key = ProbeKey(uids[pod], container, ProbeType(kind))
            found[key].append(TrueTick(at(seconds), _WORDS[word]))
    return found
