"""What a Prometheus would have scraped while the recorded cluster ran.

Two jobs, as the chart kube-prometheus-stack has them: the kubelet's /metrics/probes,
and kube-state-metrics by the names of its documentation.
"""

from __future__ import annotations

import gzip
import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from random import Random
from typing import Any

from tests.cluster.recorded import recorded

_DATA = Path(__file__).parents[1] / "data"
_KUBELET = '{job="kubelet",metrics_path="/metrics/probes",node="node1",'
BEGIN = -10.0

Points = dict[str, list[tuple[float, float]]]
"""Samples by series: seconds after the recording's start, and the value."""


def recorded_object(name: str) -> dict[str, Any]:
    """Return a file of the recording that is one object."""
    data: dict[str, Any] = json.loads(
        gzip.decompress((_DATA / f"{name}.json.gz").read_bytes())
    )
    return data


def start() -> float:
    """Return when the recording began, in Unix seconds."""
    return float(recorded_object("meta")["T0_epoch"])


def scraped(interval: float, lost: float = 0.0, late: float = 2.2) -> Points:
    """Return the samples of the recording at an interval in seconds.

    Args:
        interval: between two scrapes.
        lost: the share of scrapes that failed.
        late: by how many seconds kube-state-metrics is scraped later.
    """
    chance = Random(1)
    points: Points = defaultdict(list)
    current: dict[str, float] = {}
    due = BEGIN
    for poll in recorded("metrics-probes"):
        while due <= poll["t"]:
            _scrape(points, current, due, chance, lost)
            due += interval
        for name, value in (poll.get("changed") or {}).items():
            current[name.replace("{", _KUBELET, 1)] = value
        for name in poll.get("gone") or ():
            current.pop(name.replace("{", _KUBELET, 1), None)
    pods: dict[str, Mapping[str, float]] = {}
    due = BEGIN + late
    for at, kind, pod in _pod_changes():
        while due <= at:
            states = {
                key: value for state in pods.values() for key, value in state.items()
            }
            _scrape(points, states, due, chance, lost)
            due += interval
        uid = pod["metadata"]["uid"]
        if kind == "DELETED":
            pods.pop(uid, None)
        else:
            pods[uid] = dict(_states(pod))
    return points


def openmetrics(points: Points, begin: float) -> str:
    """Return samples as a file that promtool makes blocks of."""
    families: dict[str, dict[str, list[tuple[float, float]]]] = defaultdict(dict)
    for series, values in points.items():
        families[series.partition("{")[0]][series] = values
    lines = []
    for name in sorted(families):
        kind = "counter" if name.endswith("_total") else "unknown"
        lines.append(f"# TYPE {name.removesuffix('_total')} {kind}")
        for series, values in families[name].items():
            lines += (f"{series} {value} {begin + at:.3f}" for at, value in values)
    return "\n".join([*lines, "# EOF", ""])


def _scrape(
    points: Points, current: Mapping[str, float], at: float, chance: Random, lost: float
) -> None:
    if chance.random() >= lost:
        for series, value in current.items():
            points[series].append((at, value))


def _pod_changes() -> Iterator[tuple[float, str, dict[str, Any]]]:
    for line in recorded("pods.watch"):
        event = line.get("event")
        if event and event["type"] in {"ADDED", "MODIFIED", "DELETED"}:
            yield line["t"], event["type"], event["object"]


def _states(pod: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    """Yield the series of kube-state-metrics of a pod."""
    metadata, status = pod["metadata"], pod.get("status", {})
    own = {
        "job": "kube-state-metrics",
        "namespace": metadata["namespace"],
        "pod": metadata["name"],
        "uid": metadata["uid"],
    }
    yield series("kube_pod_created", own), _epoch(metadata["creationTimestamp"])
    if deleted := metadata.get("deletionTimestamp"):
        yield series("kube_pod_deletion_timestamp", own), _epoch(deleted)
    groups = (
        ("kube_pod_container", "containerStatuses"),
        ("kube_pod_init_container", "initContainerStatuses"),
    )
    for prefix, group in groups:
        for container in status.get(group, ()):
            labels = {**own, "container": container["name"]}
            yield from _container_states(f"{prefix}_status", labels, container)


def _container_states(
    prefix: str, labels: Mapping[str, str], container: Mapping[str, Any]
) -> Iterator[tuple[str, float]]:
    yield series(f"{prefix}_restarts_total", labels), container["restartCount"]
    yield series(f"{prefix}_ready", labels), int(container.get("ready", False))
    last = container.get("lastState", {}).get("terminated")
    if last:
        reason = {**labels, "reason": last.get("reason", "")}
        yield series(f"{prefix}_last_terminated_reason", reason), 1
        yield series(f"{prefix}_last_terminated_exitcode", labels), last["exitCode"]
        ended = _epoch(last["finishedAt"])
        yield series(f"{prefix}_last_terminated_timestamp", labels), ended


def series(name: str, labels: Mapping[str, str] | Iterable[tuple[str, str]]) -> str:
    """Return a series as the exposition format has it."""
    pairs = labels.items() if isinstance(labels, Mapping) else labels
    return f"{name}{{{','.join(f'{key}={json.dumps(text)}' for key, text in pairs)}}}"


def _epoch(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()
