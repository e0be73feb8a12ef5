"""Plain lines with the facts of the detail pane that no single journal entry has."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from datetime import datetime, timedelta

from msgspec import Struct, field

from probetui.analysis.next_failure import predict_failure_after
from probetui.analysis.timing import kill_grace_period, notice_delay, summarize_latency
from probetui.durations import format_age, format_duration
from probetui.k8s.pod import Container, Pod
from probetui.k8s.probe import Probe, ProbeKey, ProbeType
from probetui.kubelet.journal import (
    BackoffEntry,
    ContainerEntry,
    JournalEntry,
    LifecycleStep,
    TickEntry,
)
from probetui.kubelet.outcome import Result
from probetui.kubelet.prober.gates import short_id
from probetui.kubelet_rules import KubeletRules
from probetui.presentation.outlook import next_failure_fields
from probetui.presentation.probe.state import handler_text

_DURATIONS = 60
"""The number of runs that the detail pane summarizes."""

_KINDS = (ProbeType.LIVENESS, ProbeType.READINESS, ProbeType.STARTUP)


class _Counted(Struct):
    successes: int = 0
    failures: int = 0
    errors: int = 0
    skips: int = 0
    durations: deque[timedelta] = field(
        default_factory=lambda: deque(maxlen=_DURATIONS)
    )

    def add(self, tick: TickEntry) -> None:
        """Count a tick."""
        if not tick.attempts:
            self.skips += 1
            return
        self.durations.append(tick.attempts[-1].duration)
        match tick.result:
            case Result.SUCCESS:
                self.successes += 1
            case Result.FAILURE:
                self.failures += 1
            case _:
                self.errors += 1


class _Restarts(Struct):
    """The input of back-off: the last exit, and the window that it opens."""

    exited_at: datetime | None = None
    window: timedelta = timedelta()


class PlainDetail:
    """Collects what the detail pane summarizes, from every entry once, in order.

    Args:
        acts: whether kills and restarts are carried out.
        rules: those of the kubelet's version.
    """

    def __init__(self, *, acts: bool = True, rules: KubeletRules) -> None:
        self._acts = acts
        self._rules = rules
        self._restarts: dict[tuple[str, str], _Restarts] = {}
        self._counted: dict[ProbeKey, _Counted] = {}
        self._introduced: set[tuple[str, str]] = set()
        self._next_failures: dict[ProbeKey, str] = {}

    def started(self, entry: ContainerEntry, pod: Pod | None) -> Iterator[str]:
        """Yield the image of an instance and, for the first one, its probes."""
        key = entry.pod_uid, entry.container_name
        container = None if pod is None else pod.container(entry.container_name)
        if pod is None or container is None:
            return
        number = f" id {short_id(entry.container_id)}" if entry.container_id else ""
        yield f"image {container.image}{number}"
        if key in self._introduced:
            return
        self._introduced.add(key)
        if not any(map(container.probe, _KINDS)):
            yield "probes none"
        for kind in _KINDS:
            probe = container.probe(kind)
            if probe is not None:
                fields = settings_fields(pod, container, probe, kind, self._rules)
                yield f"{kind.lower()} {fields}"

    def remember(self, entry: JournalEntry) -> None:
        """Record the input of back-off."""
        match entry:
            case ContainerEntry(what=LifecycleStep.EXITED):
                self._restarts_of(entry).exited_at = entry.at
            case BackoffEntry():
                self._restarts_of(entry).window = (
                    entry.window if entry.waits else entry.next_window
                )
            case _:
                pass

    def _restarts_of(self, entry: ContainerEntry | BackoffEntry) -> _Restarts:
        key = entry.pod_uid, entry.container_name
        return self._restarts.setdefault(key, _Restarts())

    def count(self, tick: TickEntry) -> None:
        """Count a tick."""
        self._counted.setdefault(tick.key, _Counted()).add(tick)

    def next_failure(self, tick: TickEntry, pod: Pod | None) -> str:
        """Return the fields of the next failure, empty if they are unchanged."""
        container = None if pod is None else pod.container(tick.key.container_name)
        probe = None if container is None else container.probe(tick.key.probe_type)
        if pod is None or container is None or probe is None or tick.result is None:
            return ""
        known = self._restarts.get(tick.key[:2], _Restarts())
        failure = predict_failure_after(
            tick,
            pod,
            container,
            probe.failure_threshold,
            kill_at=tick.timing.started_at + timedelta(seconds=probe.period_seconds),
            exited_at=known.exited_at,
            window=known.window,
            rules=self._rules,
            acts=self._acts,
        )
        fields = next_failure_fields(failure)
        if fields == self._next_failures.get(tick.key, ""):
            return ""
        self._next_failures[tick.key] = fields
        return fields

    def summary(self, key: ProbeKey, pod: Pod | None) -> str:
        """Summarize a probe's ticks, empty if there were none."""
        counted = self._counted.get(key)
        if counted is None:
            return ""
        counts = (
            f"results {counted.successes} succeeded, {counted.failures} failed, "
            f"{counted.errors} errored, {counted.skips} skipped"
        )
        return counts + _latency(counted.durations, _probe(key, pod))

    @property
    def probes(self) -> list[ProbeKey]:
        """The probes that have ticked."""
        return list(self._counted)


def settings_fields(
    pod: Pod,
    container: Container,
    probe: Probe,
    kind: ProbeType,
    rules: KubeletRules,
) -> str:
    """Format a probe's handler, timing, detection time and grace period."""
    soonest, latest = notice_delay(probe)
    fields = (
        f"probes {handler_text(probe)} period={probe.period_seconds}s "
        f"timeout={probe.timeout_seconds}s delay={probe.initial_delay_seconds}s "
        f"failures={probe.failure_threshold} successes={probe.success_threshold} "
        f"noticed-after={format_age(soonest)}-{format_age(latest)}"
    )
    if kind is ProbeType.READINESS:
        return f"{fields} never-kills"
    grace = kill_grace_period(pod, container, kind, rules)
    return f"{fields} kill-grace={grace.seconds}s({grace.source})"


def _latency(durations: deque[timedelta], probe: Probe | None) -> str:
    latency = summarize_latency(durations)
    if latency is None:
        return ""
    last, median, longest = map(format_duration, latency)
    fields = f"; latency last {last} median {median} max {longest}"
    if probe is None:
        return fields
    timeout = format_duration(timedelta(seconds=probe.timeout_seconds))
    return f"{fields} timeout {timeout}"


def _probe(key: ProbeKey, pod: Pod | None) -> Probe | None:
    container = None if pod is None else pod.container(key.container_name)
    return None if container is None else container.probe(key.probe_type)
