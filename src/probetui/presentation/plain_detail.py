"""Facts of the detail pane that no single journal entry tells, as plain lines."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from probetui.k8s.pod import Container, Pod, RestartPolicy
from probetui.k8s.probe import Probe, ProbeKey, ProbeType
from probetui.kubelet.gates import short_id
from probetui.kubelet.grace_period import termination_grace_period
from probetui.kubelet.journal import (
    Action,
    BackoffEntry,
    ContainerEntry,
    Entry,
    Lifecycle,
    TickEntry,
)
from probetui.kubelet.outcome import Result
from probetui.presentation.durations import age, took
from probetui.presentation.latency import noticed
from probetui.presentation.probes import handler_text
from probetui.presentation.sentences import KILL_REASONS, forecast_of

_DURATIONS = 60
"""As many runs of a probe as the detail pane looks back on."""

_KILLS = "next-failure kill"
_KINDS = (ProbeType.LIVENESS, ProbeType.READINESS, ProbeType.STARTUP)


@dataclass(slots=True)
class _Counted:
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


@dataclass(slots=True)
class _Restarts:
    """What back-off reckons with: the last exit, and the window that it begins."""

    exited_at: datetime | None = None
    window: timedelta = timedelta()


class PlainDetail:
    """Remembers what the detail pane sums up; fed every entry once, in order.

    Args:
        acts: whether kills and restarts are carried out.
    """

    def __init__(self, *, acts: bool = True) -> None:
        self._acts = acts
        self._restarts: dict[tuple[str, str], _Restarts] = {}
        self._counted: dict[ProbeKey, _Counted] = {}
        self._introduced: set[tuple[str, str]] = set()
        self._next_failures: dict[ProbeKey, str] = {}

    def started(self, entry: ContainerEntry, pod: Pod | None) -> Iterator[str]:
        """Yield what an instance is, and when the first one starts how it is probed."""
        key = entry.pod_uid, entry.container_name
        container = None if pod is None else pod.container(entry.container_name)
        if pod is None or container is None:
            return
        yield f"image {container.image} id {short_id(entry.container_id)}"
        if key in self._introduced:
            return
        self._introduced.add(key)
        if not any(map(container.probe, _KINDS)):
            yield "probes none"
        for kind in _KINDS:
            probe = container.probe(kind)
            if probe is not None:
                yield f"{kind.lower()} {settings_words(pod, container, probe, kind)}"

    def remember(self, entry: Entry) -> None:
        """Take in what back-off will reckon with."""
        match entry:
            case ContainerEntry(what=Lifecycle.EXITED):
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
        """Take in a tick."""
        self._counted.setdefault(tick.key, _Counted()).add(tick)

    def next_failure(self, tick: TickEntry, pod: Pod | None) -> str:
        """Return what the next failure would do, empty if that is known already."""
        container = None if pod is None else pod.container(tick.key.container_name)
        probe = None if container is None else container.probe(tick.key.probe_type)
        if pod is None or container is None or probe is None or tick.result is None:
            return ""
        words = next_failure_words(tick, pod, container, probe, acts=self._acts)
        if words.startswith(_KILLS):
            words += self._after(tick, pod, container, probe)
        if words == self._next_failures.get(tick.key, ""):
            return ""
        self._next_failures[tick.key] = words
        return words

    def _after(
        self, tick: TickEntry, pod: Pod, container: Container, probe: Probe
    ) -> str:
        """Return whether the restart after a kill would wait."""
        if pod.restart_policy is RestartPolicy.NEVER and not container.is_sidecar:
            return " restart=never"
        known = self._restarts.get(tick.key[:2], _Restarts())
        kill_at = tick.started_at + timedelta(seconds=probe.period_seconds)
        reason = KILL_REASONS[tick.key.probe_type]
        grace = termination_grace_period(pod, container, reason)
        forecast = forecast_of(
            known.exited_at, known.window, kill_at, timedelta(seconds=grace.seconds)
        )
        if forecast.waits is False:
            return " backoff=none"
        may = "waits" if forecast.waits else "maybe"
        return f" backoff={may} window={age(known.window)}"

    def summary(self, key: ProbeKey, pod: Pod | None) -> str:
        """Return what a probe's ticks came to, empty if there were none."""
        counted = self._counted.get(key)
        if counted is None:
            return ""
        words = (
            f"counted {counted.successes} succeeded, {counted.failures} failed, "
            f"{counted.errors} errored, {counted.skips} skipped"
        )
        return words + _latency(counted.durations, _probe(key, pod))

    @property
    def probes(self) -> list[ProbeKey]:
        """The probes that have ticked."""
        return list(self._counted)


def settings_words(
    pod: Pod, container: Container, probe: Probe, kind: ProbeType
) -> str:
    """Return what a probe does, when, and how soon a failure is noticed."""
    soonest, latest = noticed(probe)
    words = (
        f"probes {handler_text(probe)} period={probe.period_seconds}s "
        f"timeout={probe.timeout_seconds}s delay={probe.initial_delay_seconds}s "
        f"failures={probe.failure_threshold} successes={probe.success_threshold} "
        f"noticed-after={age(soonest)}-{age(latest)}"
    )
    if kind is ProbeType.READINESS:
        return f"{words} never-kills"
    grace = termination_grace_period(pod, container, KILL_REASONS[kind])
    return f"{words} kill-grace={grace.seconds}s({grace.source})"


def next_failure_words(
    tick: TickEntry, pod: Pod, container: Container, probe: Probe, *, acts: bool
) -> str:
    """Return what a failure right after this tick would do."""
    run = tick.run if tick.result is Result.FAILURE else 0
    if tick.action is Action.KILL:
        return "next-failure none: on hold"
    if run + 1 < probe.failure_threshold:
        return f"next-failure run {run}->{run + 1} of {probe.failure_threshold}"
    if tick.muted:
        return "next-failure none: muted"
    kind = tick.key.probe_type
    if kind is ProbeType.READINESS:
        stays = "stays " if tick.stored_after is Result.FAILURE else ""
        return f"next-failure {stays}not-ready"
    if not acts:
        return "next-failure would-kill"
    grace = termination_grace_period(pod, container, KILL_REASONS[kind])
    return f"{_KILLS} grace={grace.seconds}s({grace.source})"


def _latency(durations: deque[timedelta], probe: Probe | None) -> str:
    if not durations:
        return ""
    middle = sorted(durations)[len(durations) // 2]
    words = (
        f"; latency last {took(durations[-1])} median {took(middle)} "
        f"max {took(max(durations))}"
    )
    if probe is None:
        return words
    return f"{words} timeout {took(timedelta(seconds=probe.timeout_seconds))}"


def _probe(key: ProbeKey, pod: Pod | None) -> Probe | None:
    container = None if pod is None else pod.container(key.container_name)
    return None if container is None else container.probe(key.probe_type)
