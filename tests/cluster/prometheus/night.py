"""The night of the package: simulated pods, scraped each 15 seconds.

`python -m tests.cluster.prometheus.night` writes the samples again.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import timedelta
from itertools import groupby, pairwise
from random import Random
from typing import Any

from probetui.cluster.prometheus.packaged import SAMPLES, WORKLOADS
from probetui.drive.scenario.behavior import (
    InstanceBehavior,
    ProbeAnswer,
    ResultPhase,
    ResultPhases,
)
from probetui.k8s.pod import Pod
from probetui.k8s.probe import ProbeType
from probetui.kubelet.effects import RunProbe
from probetui.kubelet.outcome import Attempt, ProbeResult
from probetui.manifest.load import load_manifests
from probetui.manifest.yaml.parser import SourceFile
from tests.cluster.observe.sampled_pods import Faults, Story, simulate

STEP = 15.0
HOURS = 6
_BEFORE = 3600.0
"""The pods are older than the first sample."""

_COUNTERS_AT, _STATES_AT = 3.2, 7.9
_WELL = InstanceBehavior(stops_after=timedelta(seconds=2))
_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, math.inf)


def clock(hours: int, minutes: int, seconds: float) -> float:
    """Return a time of day as seconds of the simulation."""
    return _BEFORE + hours * 3600 + minutes * 60 + seconds


def fails(*times: tuple[float, float], **life: Any) -> InstanceBehavior:
    """Return an instance whose probes fail between ages, and how else it lives."""

    def behave(_effect: RunProbe, age: timedelta) -> ProbeAnswer:
        seconds = age.total_seconds()
        is_well = not any(begin <= seconds < end for begin, end in times)
        result = ProbeResult.SUCCESS if is_well else ProbeResult.FAILURE
        return ProbeAnswer(Attempt(result, ""), timedelta(milliseconds=20))

    phases = ResultPhases((ResultPhase(behave, times=None),))
    answers = dict.fromkeys((ProbeType.LIVENESS, ProbeType.READINESS), phases)
    return InstanceBehavior(answers=answers, **life)


def _backup(seconds: float, length: float) -> tuple[float, float]:
    return seconds, seconds + length


LIVES: Mapping[tuple[str, str], tuple[str, Sequence[InstanceBehavior]]] = {
    ("web", "web-5d9c7b6f4-8xk2p"): (
        "ReplicaSet/web-5d9c7b6f4",
        (fails((clock(3, 11, 48.5), math.inf), stops_after=None),),
    ),
    ("web", "web-5d9c7b6f4-tq7zr"): (
        "ReplicaSet/web-5d9c7b6f4",
        (fails(_backup(clock(3, 11, 48.5), 10), _backup(clock(4, 40, 8), 5)),),
    ),
    ("cart", "cart-0"): (
        "StatefulSet/cart",
        (
            InstanceBehavior(
                lasts=timedelta(seconds=clock(2, 27, 1)),
                exit_code=137,
                oom_killed=True,
            ),
        ),
    ),
    ("mail", "mail-7c4d8f9b6-x9wlm"): ("ReplicaSet/mail-7c4d8f9b6", ()),
}


def night() -> dict[str, Any]:
    """Return the samples, as the package has them."""
    loaded = load_manifests([SourceFile("night", WORKLOADS.read_bytes())]).loaded
    pods = {each.object.name: each.pod for each in loaded}
    series: list[dict[str, Any]] = []
    for number, ((workload, name), (owner, lives)) in enumerate(LIVES.items()):
        pod = pods[workload]
        story = _simulate(pod, lives)
        names = {"namespace": pod.namespace, "pod": name, "container": "app"}
        uid = f"5f0c1e7a-0000-4000-8000-00000000000{number}"
        series += _counters(story, {**names, "pod_uid": uid}, f"node{number % 2 + 1}")
        series += _states(story, {**names, "uid": uid}, owner)
    return {"step": STEP, "seconds": HOURS * 3600, "series": series}


def _simulate(pod: Pod, lives: Sequence[InstanceBehavior]) -> Story:
    remaining = iter(lives)

    def life(_random: Random) -> InstanceBehavior:
        return next(remaining, _WELL)

    seconds = _BEFORE + HOURS * 3600
    return simulate(Random(1), seconds, Faults(), lambda _random: pod, life)


def _scrapes(offset: float) -> list[float]:
    count = int(HOURS * 3600 / STEP)
    return [offset + place * STEP for place in range(count)]


def _counters(
    story: Story, own: Mapping[str, str], node: str
) -> Iterator[dict[str, Any]]:
    times = _scrapes(_COUNTERS_AT)
    where = {"job": "kubelet", "metrics_path": "/metrics/probes", "node": node}
    for kind, ticks in story.ticks.items():
        labels = {**own, **where, "probe_type": kind.value}
        counts: dict[str, list[float | None]] = {"successful": [], "failed": []}
        for at in times:
            seen = [failed for when, failed, _ in ticks if when <= _BEFORE + at]
            counts["successful"].append(len(seen) - sum(seen))
            counts["failed"].append(sum(seen) or None)
        for result, values in counts.items():
            metric = {"__name__": "prober_probe_total", **labels, "result": result}
            yield from _run_lengths(metric, times, values)
        if kind is ProbeType.LIVENESS:
            name = "prober_probe_duration_seconds_bucket"
            # It has no pod_uid.
            labels.pop("pod_uid")
            slow = 0.5 if labels["pod"].startswith("web") else 0.01
            for bound in _BUCKETS:
                share = 1.0 if bound >= slow else 0.0
                values = [
                    None if count is None else share * count
                    for count in counts["successful"]
                ]
                text = "+Inf" if bound == math.inf else str(bound)
                metric = {"__name__": name, **labels, "le": text}
                yield from _run_lengths(metric, times, values)


def _states(
    story: Story, own: Mapping[str, str], owner: str
) -> Iterator[dict[str, Any]]:
    times = _scrapes(_STATES_AT)
    labels = {**own, "job": "kube-state-metrics"}
    pod = {key: value for key, value in labels.items() if key != "container"}
    kind, _, owner_name = owner.partition("/")

    def known(
        changes: Sequence[tuple[float, Any]], value_of: Callable[[Any], float]
    ) -> list[float | None]:
        found = []
        for at in times:
            seen = [value for since, value in changes if since <= _BEFORE + at]
            found.append(value_of(seen[-1]) if seen else None)
        return found

    def named(name: str, **more: str) -> dict[str, str]:
        return {"__name__": f"kube_pod_{name}", **labels, **more}

    created = {**pod, "__name__": "kube_pod_created"}
    yield from _run_lengths(created, times, [-_BEFORE] * len(times))
    owned = {"owner_kind": kind, "owner_name": owner_name}
    metric = {**pod, "__name__": "kube_pod_owner", **owned}
    yield from _run_lengths(metric, times, [1.0] * len(times))
    status = "container_status"
    values = known(story.restarts, float)
    yield from _run_lengths(named(f"{status}_restarts_total"), times, values)
    values = known(story.ready, float)
    yield from _run_lengths(named(f"{status}_ready"), times, values)
    ends = [(since, (at, code)) for since, at, code in story.ends]
    last = f"{status}_last_terminated"
    at = known(ends, lambda end: end[0] - _BEFORE)
    yield from _run_lengths(named(f"{last}_timestamp"), times, at)
    codes = known(ends, lambda end: float(end[1]))
    yield from _run_lengths(named(f"{last}_exitcode"), times, codes)
    reason = "OOMKilled" if own["pod"].startswith("cart") else "Error"
    metric = named(f"{last}_reason", reason=reason)
    yield from _run_lengths(metric, times, known(ends, lambda _end: 1.0))


def _run_lengths(
    metric: Mapping[str, str], times: Sequence[float], values: Sequence[float | None]
) -> Iterator[dict[str, Any]]:
    """Yield a series from its first value on: how often which difference follows."""
    first = next(
        (place for place, value in enumerate(values) if value is not None), None
    )
    if first is None:
        return
    kept = [value for value in values[first:] if value is not None]
    assert len(kept) == len(values) - first
    steps = [round(after - before) for before, after in pairwise(kept)]
    runs = [[len([*group]), step] for step, group in groupby(steps)]
    yield {
        "metric": dict(metric),
        "first": [times[first], kept[0]],
        "runs": runs,
    }


def text() -> str:
    """Return the samples as their file has them."""
    value = night()
    lines = ",\n".join(
        json.dumps(series, separators=(",", ":")) for series in value["series"]
    )
    head = f'{{"step":{value["step"]},"seconds":{value["seconds"]},"series":['
    return f"{head}\n{lines}\n]}}\n"


if __name__ == "__main__":
    SAMPLES.write_text(text())
