"""The kubelet's metrics of probes, counted from a session's journal.

Source: prober/prober_manager.go, worker.go, v1.32.10, ProberResults, ProberDuration.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from datetime import timedelta

from msgspec import Struct, field
from prometheus_client.core import CounterMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from probetui.k8s.pod import Pod
from probetui.k8s.probe import ProbeKey
from probetui.kubelet.journal import JournalEntry, PodGoneEntry, TickEntry
from probetui.kubelet.outcome import Result
from probetui.kubelet_rules import PORTED_RULES, KubeletRules
from probetui.safe_text import safe_line

BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""Upper bounds in seconds: the defaults of Prometheus' client for Go."""

RESULTS = {Result.SUCCESS: "successful", Result.FAILURE: "failed"}
PROBE_LABELS = ("probe_type", "container", "pod", "namespace")
ONE_SECOND = timedelta(seconds=1)


class _Series(Struct):
    """The counters of one worker; owned by `ProbeMetrics`."""

    counts: dict[str, int] = field(default_factory=dict)
    buckets: list[int] = field(default_factory=lambda: [0] * (len(BUCKETS) + 1))
    seconds: float = 0.0


class ProbeMetrics(Collector):
    """Counts probes without errors, and durations of the successful ones.

    The series of a worker end with it. Difference: if the worker stopped with its pod,
    they end slightly later, when the pod is gone.

    Args:
        rules: those of the kubelet's version, which has both metrics or the first.
    """

    def __init__(self, rules: KubeletRules = PORTED_RULES) -> None:
        self._rules = rules
        self._pods: dict[str, Pod] = {}
        self._series: dict[ProbeKey, _Series] = {}

    def register_pods(self, pods: Iterable[Pod]) -> None:
        """Record the names of pods."""
        self._pods.update((pod.uid, pod) for pod in pods)

    def consume(self, entries: Sequence[JournalEntry]) -> None:
        """Count the journal entries added since the last call."""
        for entry in entries:
            if isinstance(entry, TickEntry):
                self._count(entry)
            elif isinstance(entry, PodGoneEntry):
                for key in [
                    probe_key
                    for probe_key in self._series
                    if probe_key[0] == entry.pod_uid
                ]:
                    del self._series[key]

    def collect(self) -> Iterator[Metric]:
        """Yield the metrics with all their series."""
        total = CounterMetricFamily(
            "prober_probe",
            "Cumulative number of probes of a container by result.",
            labels=("probe_type", "result", *PROBE_LABELS[1:], "pod_uid"),
        )
        duration = HistogramMetricFamily(
            "prober_probe_duration_seconds",
            "Duration in seconds of a successful probe of a container.",
            labels=PROBE_LABELS,
        )
        for key, series in self._series.items():
            names, pod_uid = self._names(key), safe_line(key.pod_uid)
            for result, count in series.counts.items():
                labels = (names[0], result, *names[1:], pod_uid)
                total.add_metric(labels, count)
            if series.counts.get("successful"):
                duration.add_metric(names, _cumulative(series.buckets), series.seconds)
        yield total
        if self._rules.measures_probes:
            yield duration

    def _count(self, tick: TickEntry) -> None:
        if tick.exit is not None:
            self._series.pop(tick.key, None)
        if tick.result not in RESULTS:
            return
        series = self._series.setdefault(tick.key, _Series())
        word = RESULTS[tick.result]
        series.counts[word] = series.counts.get(word, 0) + 1
        if tick.result is Result.SUCCESS:
            seconds = tick.timing.duration / ONE_SECOND
            series.buckets[bisect_left(BUCKETS, seconds)] += 1
            series.seconds += seconds

    def _names(self, key: ProbeKey) -> tuple[str, str, str, str]:
        pod = self._pods.get(key.pod_uid)
        name = key.pod_uid if pod is None else pod.name
        namespace = "" if pod is None else pod.namespace
        # curl prints them, and the format escapes line breaks and quotes only.
        return (
            key.probe_type.value,
            safe_line(key.container_name),
            safe_line(name),
            safe_line(namespace),
        )


def _cumulative(buckets: Sequence[int]) -> list[tuple[str, float]]:
    """Return cumulative counts per bucket bound, as Prometheus requires."""
    below = 0
    counts = []
    for bound, count in zip((*map(str, BUCKETS), "+Inf"), buckets, strict=True):
        below += count
        counts.append((bound, float(below)))
    return counts
