"""Cases of `promtool test rules`: a simulated pod, as a Prometheus would scrape it.

What is expected of a rule is taken from the session, not from its expression: a kill,
the failure up to which the rule counts, a change of readiness. At the next scrape the
alert has to be there. In a run in which all is well none may be, at any time.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from math import ceil
from typing import Any

from msgspec import Struct

from probetui.cluster.prometheus.probe_rules import (
    LEAST_ANSWERS,
    ProbeRule,
    RuleKind,
    grace_seconds,
    state_prefix,
)
from probetui.cluster.prometheus.selectors import quoted
from probetui.cluster.prometheus.workloads import sample_pod_name
from probetui.drive.metrics import ProbeMetrics
from probetui.drive.scenario.behavior import (
    InstanceBehavior,
    ResultName,
    ResultPhase,
    ResultPhases,
    ScriptedResult,
)
from probetui.drive.scenario.script import START, Scenario
from probetui.drive.simulation import Simulation
from probetui.engine.engine import Engine
from probetui.engine.inputs import SetObjects, SetPods
from probetui.engine.snapshot import ContainerSnapshot, Snapshot
from probetui.k8s.probe import ProbeKey, ProbeType
from probetui.k8s.status import Terminated, Waiting
from probetui.k8s.volume import ConfigObject
from probetui.kubelet.config import KubeletConfig
from probetui.kubelet.journal import (
    PROBE_CAUSES,
    ContainerEntry,
    JournalEntry,
    LifecycleStep,
    TickEntry,
)
from probetui.kubelet.outcome import Result
from probetui.kubelet_rules import KubeletRules
from probetui.manifest.manifests import LoadedPod

WELL_SECONDS = 600
"""How long all is well in the run without alerts."""

BEARS_A_FAILURE = 3
"""A threshold from which one failure is no reason for an alert."""

MOST_SCRAPES = 2_000
"""After so many nothing is waited for any more."""

STATUS_DELAY = timedelta(seconds=5)
"""So long after an end the container has started again, or waits to."""

_SECOND = timedelta(seconds=1)
_SUCCESS = ScriptedResult(ResultName.SUCCESS)
_FAILURE = ScriptedResult(ResultName.FAILURE)
_ALWAYS_FAILS = ResultPhases((ResultPhase(_FAILURE, None),))


class RuleCase(Struct, frozen=True):
    """Samples of one run, and which alerts are there when.

    Attributes:
        values: by series, in promtool's notation.
        expected: whether an alert fires so many seconds after the start.
    """

    name: str
    values: Mapping[str, str]
    expected: Sequence[tuple[int, ProbeRule, bool]]


class SimulatedPod(Struct, frozen=True):
    """A pod of a manifest, and how it is scraped.

    Attributes:
        scrape: the seconds between two scrapes.
    """

    loaded: LoadedPod
    objects: Sequence[ConfigObject]
    rules: KubeletRules
    scrape: int

    def cases(self, made: Sequence[ProbeRule]) -> Iterator[RuleCase]:
        """Yield a case of each rule, and one in which all is well.

        A probe that errors here, as by the name of a port that its container does not
        have, has no results: its rules have no case.
        """
        well = _ScrapedRun(self, self._healthy(), made)
        well.run_until(START + WELL_SECONDS * _SECOND)
        apart = max(well.seconds // 4 // self.scrape, 1) * self.scrape
        times = range(apart, well.seconds + 1, apart)
        quiet = [(at, rule, False) for at in times for rule in made]
        yield RuleCase(f"{self.name}: all is well", well.values(), quiet)
        for rule in made:
            run = _ScrapedRun(self, self._scenario(rule), made)
            is_evidence = _EVIDENCE[rule.kind](rule, self.scrape)
            if (at := run.find(is_evidence)) is not None:
                name = f"{self.name}: {rule.container.name} {rule.summary}"
                yield RuleCase(name, run.values(), [(at, rule, True)])

    @property
    def name(self) -> str:
        """The name of its pod in a cluster."""
        return sample_pod_name(self.loaded)

    def _healthy(self) -> Scenario:
        """Return a run in which each probe that bears it fails once."""
        once = (ResultPhase(_FAILURE), ResultPhase(_SUCCESS, None))
        pod = self.loaded.pod
        return Scenario(
            lives={
                f"{pod.name}/{container.name}": (
                    InstanceBehavior(
                        answers={
                            probe_type: ResultPhases(once)
                            for probe_type in ProbeType
                            if (probe := container.probe(probe_type)) is not None
                            and probe.failure_threshold >= BEARS_A_FAILURE
                        }
                    ),
                )
                for container in pod.all_containers()
                if any(map(container.probe, ProbeType))
            }
        )

    def _scenario(self, rule: ProbeRule) -> Scenario:
        """Return what happens to the container that a rule is about."""
        name = f"{self.loaded.pod.name}/{rule.container.name}"
        phases = _PHASES[rule.kind](rule, self.scrape)
        stops = None
        if rule.kind is RuleKind.KILLED:
            # It hangs, and uses up the grace period that the rule waits for.
            grace = grace_seconds(
                self.loaded.pod, rule.container, rule.probe_type, self.rules
            )
            stops = max(grace - 1, 0) * _SECOND
        life = InstanceBehavior(
            answers={rule.probe_type: phases}, stops_after=stops or timedelta()
        )
        return Scenario(lives={name: (life,)})


class _ScrapedRun:
    """A simulation of one pod and its samples, from the first scrape at the start."""

    def __init__(
        self, pod: SimulatedPod, scenario: Scenario, made: Sequence[ProbeRule]
    ) -> None:
        self._pod = pod
        self._bounds = {str(rule.slow) for rule in made}
        self._metrics = ProbeMetrics(pod.rules)
        self._metrics.register_pods([pod.loaded.pod])
        self._journal: list[JournalEntry] = []
        self._read = 0
        self._scrapes = 0
        self._samples: dict[str, list[tuple[int, float]]] = defaultdict(list)
        config = KubeletConfig(version=pod.rules.version)
        engine = Engine(config, START)
        self._simulation = Simulation(engine, scenario.world(), START, self._journal)
        self._simulation.schedule(SetObjects(tuple(pod.objects)), START)
        self._simulation.schedule(SetPods((pod.loaded.pod,)), START)

    @property
    def seconds(self) -> int:
        """The time of the last scrape."""
        return (self._scrapes - 1) * self._pod.scrape

    def run_until(self, end: datetime) -> None:
        """Scrape until an instant."""
        while self._due() <= end:
            self._scrape()

    def find(self, is_evidence: Callable[[JournalEntry], bool]) -> int | None:
        """Scrape until something has happened; return when that is first seen.

        Returns:
            The time of the scrape in seconds, None if it does not happen.
        """
        while self._scrapes < MOST_SCRAPES:
            shown = next(filter(is_evidence, self._scrape()), None)
            if shown is None:
                continue
            if isinstance(shown, ContainerEntry) and self._is_just_over(shown):
                self._scrape()
            return self.seconds
        return None

    def _is_just_over(self, entry: ContainerEntry) -> bool:
        """Return whether statuses may not show an end yet."""
        return self._simulation.now - entry.at < STATUS_DELAY

    def values(self) -> dict[str, str]:
        """Return all samples, as promtool writes them."""
        return {
            series: _notation(samples, self._scrapes)
            for series, samples in self._samples.items()
        }

    def _due(self) -> datetime:
        return START + self._scrapes * self._pod.scrape * _SECOND

    def _scrape(self) -> Sequence[JournalEntry]:
        """Run until the next scrape; return what happened before it."""
        self._simulation.run_until(self._due())
        entries = self._journal[self._read :]
        self._read = len(self._journal)
        self._metrics.consume(entries)
        for series, value in (*self._probe_samples(), *self._state_samples()):
            self._samples[series].append((self._scrapes, value))
        self._scrapes += 1
        return entries

    def _probe_samples(self) -> Iterator[tuple[str, float]]:
        for metric in self._metrics.collect():
            for sample in metric.samples:
                if sample.name.endswith("_sum"):
                    continue
                if "le" in sample.labels and sample.labels["le"] not in self._bounds:
                    continue
                labels = {**sample.labels, "pod": self._pod.name}
                yield _series(sample.name, labels), sample.value

    def _state_samples(self) -> Iterator[tuple[str, float]]:
        snapshot: Snapshot = self._simulation.engine.snapshot(self._simulation.now)
        for pod in snapshot.pods:
            for container in pod.containers:
                own = {
                    "namespace": pod.pod.namespace,
                    "pod": self._pod.name,
                    "container": container.container.name,
                }
                yield from _states(own, container)


def _states(
    own: Mapping[str, str], container: ContainerSnapshot
) -> Iterator[tuple[str, float]]:
    """Yield what kube-state-metrics has of a container."""
    status = container.status
    if status is None:
        return
    prefix = state_prefix(is_init=container.is_init)
    yield _series(f"{prefix}_restarts_total", own), status.restart_count
    yield _series(f"{prefix}_ready", own), int(status.ready)
    is_over = isinstance(status.state, Terminated)
    yield _series(f"{prefix}_terminated", own), int(is_over)
    if isinstance(status.state, Waiting):
        labels = {**own, "reason": status.state.reason}
        yield _series(f"{prefix}_waiting_reason", labels), 1
    if isinstance(status.last_state, Terminated):
        labels = {**own, "reason": status.last_state.reason}
        yield _series(f"{prefix}_last_terminated_reason", labels), 1


def _series(name: str, labels: Mapping[str, Any]) -> str:
    pairs = (f"{label}={quoted(str(value))}" for label, value in labels.items())
    return f"{name}{{{', '.join(pairs)}}}"


def _notation(samples: Sequence[tuple[int, float]], scrapes: int) -> str:
    """Return samples as promtool writes them: `_x3 0+1x5 stale`."""
    parts: list[str] = []
    at = index = 0
    while index < len(samples):
        number, first = samples[index]
        if number > at:
            parts += _gap(number - at, is_first=not parts)
        end = index + 1
        step = samples[end][1] - first if end < len(samples) else 0
        while (
            end < len(samples)
            and samples[end][0] == number + end - index
            and samples[end][1] == first + step * (end - index)
        ):
            end += 1
        times = end - index - 1
        more = f"{'+' if step >= 0 else '-'}{abs(step):g}x{times}" if times else ""
        parts.append(f"{first:g}{more}")
        at, index = number + end - index, end
    if at < scrapes:
        parts += _gap(scrapes - at, is_first=False)
    return " ".join(parts)


def _gap(length: int, *, is_first: bool) -> list[str]:
    """Return a time without samples: a series that was there is stale in it."""
    if is_first:
        return [f"_x{length}"]
    return ["stale", *([f"_x{length - 1}"] if length > 1 else [])]


# -- what happens, and by what it is told


def _fails_for(rule: ProbeRule, _scrape: int) -> ResultPhases:
    """Return answers that are near a kill, and then well."""
    return ResultPhases(
        (
            ResultPhase(_SUCCESS, 2),
            ResultPhase(_FAILURE, rule.failures),
            ResultPhase(_SUCCESS, None),
        )
    )


def _fails(_rule: ProbeRule, _scrape: int) -> ResultPhases:
    return _ALWAYS_FAILS


def _flaps(rule: ProbeRule, scrape: int) -> ResultPhases:
    probe = rule.probe
    seen = ceil(2 * scrape / probe.period_seconds)
    return ResultPhases(
        (
            ResultPhase(_SUCCESS, probe.success_threshold - 1 + seen),
            ResultPhase(_FAILURE, probe.failure_threshold - 1 + seen),
        ),
        repeat=True,
    )


def _is_slow(rule: ProbeRule, _scrape: int) -> ResultPhases:
    takes = (rule.slow + rule.probe.timeout_seconds) / 2 * _SECOND
    slow = ScriptedResult(ResultName.SUCCESS, takes=takes)
    return ResultPhases((ResultPhase(slow, None),))


_PHASES: Mapping[RuleKind, Callable[[ProbeRule, int], ResultPhases]] = {
    RuleKind.NEAR_KILL: _fails_for,
    RuleKind.KILLED: _fails,
    RuleKind.START_BUDGET: _fails,
    RuleKind.FLAPPING: _flaps,
    RuleKind.NEAR_TIMEOUT: _is_slow,
}


class _Results(Struct):
    """Whether a probe has had a result so many times."""

    rule: ProbeRule
    result: Result
    times: int

    def __call__(self, entry: JournalEntry) -> bool:
        if (
            isinstance(entry, TickEntry)
            and _is_of(self.rule, entry.key)
            and entry.result is self.result
        ):
            self.times -= 1
        return self.times <= 0


class _Killed(Struct):
    """Whether a container was killed by a probe, and has ended."""

    rule: ProbeRule

    def __call__(self, entry: JournalEntry) -> bool:
        return (
            isinstance(entry, ContainerEntry)
            and entry.container_name == self.rule.container.name
            and entry.what in {LifecycleStep.KILLED, LifecycleStep.EXITED}
            and entry.by is not None
            and PROBE_CAUSES.get(entry.by) is self.rule.probe_type
        )


def _is_of(rule: ProbeRule, key: ProbeKey) -> bool:
    return (key.container_name, key.probe_type) == (
        rule.container.name,
        rule.probe_type,
    )


def _is_ready_again(rule: ProbeRule, scrape: int) -> _Results:
    """Return whether a container is ready after it was twice not."""
    ready = _flaps(rule, scrape).phases[0].times or 0
    return _Results(rule, Result.SUCCESS, 2 * ready + rule.probe.success_threshold)


def _has_failed(rule: ProbeRule, _scrape: int) -> _Results:
    return _Results(rule, Result.FAILURE, rule.failures)


def _has_answered(rule: ProbeRule, _scrape: int) -> _Results:
    return _Results(rule, Result.SUCCESS, LEAST_ANSWERS)


_EVIDENCE: Mapping[
    RuleKind, Callable[[ProbeRule, int], Callable[[JournalEntry], bool]]
] = {
    RuleKind.NEAR_KILL: _has_failed,
    RuleKind.KILLED: lambda rule, _: _Killed(rule),
    RuleKind.START_BUDGET: _has_failed,
    RuleKind.FLAPPING: _is_ready_again,
    RuleKind.NEAR_TIMEOUT: lambda rule, _: _Results(
        rule, Result.SUCCESS, LEAST_ANSWERS
    ),
}
