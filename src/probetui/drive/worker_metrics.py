"""Metrics of what a kubelet keeps to itself: runs, the way to a kill, holds."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from probetui.engine.snapshot import ProbeSnapshot, Snapshot
from probetui.k8s.probe import ProbeType
from probetui.kubelet.outcome import Result
from probetui.safe_text import safe_line

_LABELS = ("probe_type", "container", "pod", "namespace", "pod_uid")


def _run_of(probe: ProbeSnapshot, result: Result) -> int:
    return probe.result_run if probe.last_result is result else 0


def _until_kill(probe: ProbeSnapshot) -> int | None:
    if probe.key.probe_type is ProbeType.READINESS:
        return None
    if probe.on_hold:
        return 0
    return max(probe.probe.failure_threshold - _run_of(probe, Result.FAILURE), 0)


WORKER_METRICS: tuple[tuple[str, str, Callable[[ProbeSnapshot], int | None]], ...] = (
    (
        "probetui_probe_failures_in_a_row",
        "Failures since the last success, 0 after one.",
        lambda probe: _run_of(probe, Result.FAILURE),
    ),
    (
        "probetui_probe_successes_in_a_row",
        "Successes since the last failure, 0 after one.",
        lambda probe: _run_of(probe, Result.SUCCESS),
    ),
    (
        "probetui_probe_failures_until_kill",
        "Further failures in a row after which the probe kills its container.",
        _until_kill,
    ),
    (
        "probetui_probe_on_hold",
        "Whether the probe waits for the restart of the container that it killed.",
        lambda probe: int(probe.on_hold),
    ),
    (
        "probetui_probe_exact",
        "Whether the run is known, 0 where it is only the least that it can be.",
        lambda probe: int(not probe.run_doubt),
    ),
)


class WorkerMetrics(Collector):
    """The state of each worker of a session, whose kubelet may be a cluster's.

    Args:
        snapshot: returns the current state.
    """

    def __init__(self, snapshot: Callable[[], Snapshot]) -> None:
        self._snapshot = snapshot

    def collect(self) -> Iterator[Metric]:
        """Yield the metrics with all their series."""
        workers = [
            (_labels(probe, pod.pod.name, pod.pod.namespace), probe)
            for pod in self._snapshot().pods
            for container in pod.containers
            for probe in container.probes
            if probe.worker_alive
        ]
        for name, text, value_of in WORKER_METRICS:
            gauge = GaugeMetricFamily(name, text, labels=_LABELS)
            for labels, probe in workers:
                value = value_of(probe)
                if value is not None:
                    gauge.add_metric(labels, value)
            yield gauge


def _labels(probe: ProbeSnapshot, pod: str, namespace: str) -> tuple[str, ...]:
    key = probe.key
    names = (key.container_name, pod, namespace, key.pod_uid)
    return (key.probe_type.value, *map(safe_line, names))
