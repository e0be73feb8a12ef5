"""Compare kubelet versions by simulating the same pods.

Between two neighbouring versions, the fields of the rules are switched to their later
values one by one; a field matters if that changes a decision, a status or a refusal.
Only simulations that read the field run again: script by script, until one shows a
difference.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import timedelta
from itertools import pairwise, zip_longest
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import asdict, replace

from probetui.drive.scenario.behavior import (
    CallBehavior,
    InstanceBehavior,
    ResultName,
    ResultPhase,
    ResultPhases,
    ScriptedResult,
)
from probetui.drive.scenario.script import Scenario, ScheduledCommand, ScriptAction
from probetui.drive.simulation import Simulation
from probetui.engine.engine import Engine
from probetui.engine.inputs import SetObjects, SetPods
from probetui.k8s.pod import Pod
from probetui.k8s.probe import HTTPGetAction, ProbeType
from probetui.k8s.volume import ConfigObject
from probetui.kubelet.config import KubeletConfig
from probetui.kubelet.journal import (
    ContainerEntry,
    EventEntry,
    StateEntry,
    StateField,
    TickEntry,
)
from probetui.kubelet_rules import TEXT_RULES, KubeletRules

LENGTH = timedelta(minutes=3)
"""Simulated time of each run."""

_TURN = timedelta(seconds=30)
_DEATH = timedelta(seconds=60)
_PROBE_EVENTS = frozenset({"Unhealthy", "ProbeWarning"})
_NO_DIFFERENCE = frozenset({"version", "release", "feature_gates"})


KNOWN_FIELDS = "known_fields"
"""The difference between versions with and without a field of the manifests."""


class VersionInput(Struct, frozen=True):
    """The pods as one version reads them, and its messages about the manifests.

    A key of `problems` is an action and a field, its value adds the reason.
    """

    pods: tuple[Pod, ...]
    objects: tuple[ConfigObject, ...]
    problems: Mapping[str, str]


class Observation(Struct, frozen=True):
    """A decision or text of a version; `after` None is before the start."""

    after: float | None
    text: str


class VersionDifference(Struct, frozen=True):
    """One difference between neighbouring versions.

    Attributes:
        field: a field of the rules, or `KNOWN_FIELDS`.
        script: the first script that shows it; empty if no simulation does.
        since: the first version with the later behavior.
        before: the first observation that differs, of the earlier version.
        later: that of the later version; None if it has none.
    """

    field: str
    script: str
    since: str
    before: Observation | None
    later: Observation | None


def built_in_scripts(pods: Sequence[Pod]) -> dict[str, Scenario]:
    """Return the scripts for some pods, by name; init containers end after a second."""
    failing = ScriptedResult(ResultName.FAILURE)
    success = ScriptedResult(ResultName.SUCCESS)
    inits = {
        f"{pod.name}/{container.name}"
        for pod in pods
        for container in pod.init_containers
        if not container.is_sidecar
    }
    names = {
        f"{pod.name}/{container.name}"
        for pod in pods
        for container in pod.all_containers()
    }

    def script(
        life: InstanceBehavior, orders: tuple[ScheduledCommand, ...] = ()
    ) -> Scenario:
        ends = InstanceBehavior(lasts=timedelta(seconds=1))
        lives = {name: (ends if name in inits else life,) for name in names}
        return Scenario(lives=lives, orders=orders)

    def always(result: ResultName) -> InstanceBehavior:
        phases = ResultPhases((ResultPhase(ScriptedResult(result), None),))
        return InstanceBehavior(answers=dict.fromkeys(ProbeType, phases))

    never = ResultPhases((ResultPhase(failing, None),))
    slow = ResultPhases(
        (
            ResultPhase(failing, None, timedelta(seconds=20)),
            ResultPhase(success, None),
        )
    )
    turns = ResultPhases(
        (ResultPhase(success, None, _TURN), ResultPhase(failing, None))
    )
    turning = InstanceBehavior(
        answers={ProbeType.LIVENESS: turns, ProbeType.READINESS: turns}
    )
    deletion = ScheduledCommand(_TURN, ScriptAction.DELETE)
    images = {
        container.image: CallBehavior(timedelta(seconds=5))
        for pod in pods
        for container in pod.all_containers()
    }
    slow_life = InstanceBehavior(answers=dict.fromkeys(ProbeType, slow))
    return {
        "healthy": script(InstanceBehavior()),
        "never-ready": script(InstanceBehavior(answers={ProbeType.READINESS: never})),
        "slow-start": replace(script(slow_life), images=images),
        "dies": script(InstanceBehavior(lasts=_DEATH, exit_code=1)),
        "crash-loop": script(InstanceBehavior(lasts=timedelta(seconds=1), exit_code=1)),
        "unhealthy": script(turning),
        "times-out": script(always(ResultName.TIMEOUT)),
        "errored": script(always(ResultName.ERRORED)),
        "deleted": script(replace(turning, stops_after=None), (deletion,)),
    }


def find_differences(
    versions: Sequence[KubeletRules],
    scripts: Mapping[str, Scenario],
    load: Callable[[KubeletRules], VersionInput],
    *,
    texts: bool = False,
) -> Iterator[VersionDifference]:
    """Yield the differences as they are found, earliest versions first.

    Args:
        versions: the rules of those to compare, oldest first.
        scripts: what containers and probes do, by name.
        load: reads the pods by the rules of a version.
        texts: yield what only the words of messages differ in, after all else.
    """
    comparison = _Comparison(scripts, load)
    for earlier, later in pairwise(versions):
        yield from comparison.decisions(earlier, later)
    if texts:
        for earlier, later in pairwise(versions):
            yield from comparison.texts(earlier, later)


_Reading = tuple[KubeletRules, VersionInput]
"""Some rules, and the pods as they read them."""


class _Comparison:
    """A comparison of pairs of versions that reuses its simulations."""

    def __init__(
        self,
        scripts: Mapping[str, Scenario],
        load: Callable[[KubeletRules], VersionInput],
    ) -> None:
        self._scripts = {name: _Simulations(script) for name, script in scripts.items()}
        self._load = _Inputs(load).load

    def decisions(
        self, earlier: KubeletRules, later: KubeletRules
    ) -> Iterator[VersionDifference]:
        """Yield differences in the decisions, statuses and refusals of two versions."""
        now = replace(earlier, version=later.version, release=later.release)
        problems = self._load(earlier).problems
        dropped = _dropped(problems)
        source = _keep_earlier_reasons(self._load(now), dropped)
        for key in sorted({*problems} ^ {*source.problems}):
            yield VersionDifference(
                KNOWN_FIELDS,
                "",
                later.release,
                _problem(problems, key),
                _problem(source.problems, key),
            )
        yield from self._switched(now, later, source, dropped, texts=False)

    def texts(
        self, earlier: KubeletRules, later: KubeletRules
    ) -> Iterator[VersionDifference]:
        """Yield differences in the texts of two versions."""
        old = {name: getattr(earlier, name) for name in TEXT_RULES}
        dropped = _dropped(self._load(earlier).problems)
        now = replace(later, **old)
        source = _keep_earlier_reasons(self._load(now), dropped)
        yield from self._switched(now, later, source, dropped, texts=True)

    def _switched(
        self,
        now: KubeletRules,
        later: KubeletRules,
        source: VersionInput,
        dropped: Mapping[str, str],
        *,
        texts: bool,
    ) -> Iterator[VersionDifference]:
        """Yield the differences that each changed rule causes."""
        for field in KubeletRules.__struct_fields__:
            if field in _NO_DIFFERENCE or (field in TEXT_RULES) is not texts:
                continue
            if getattr(now, field) == getattr(later, field):
                continue
            before = now, source
            now = replace(now, **{field: getattr(later, field)})
            source = _keep_earlier_reasons(self._load(now), dropped)
            if field == "sends_accept" and any(map(_has_http_probe, source.pods)):
                yield VersionDifference(
                    field,
                    "",
                    later.release,
                    Observation(None, "Accept-Encoding: gzip"),
                    Observation(None, "Accept: */*"),
                )
            if change := self._first_change(field, before, (now, source)):
                yield change

    def _first_change(
        self, field: str, before: _Reading, later: _Reading
    ) -> VersionDifference | None:
        """Return the first difference that a changed rule causes in any script."""
        is_same_input = before[1] == later[1]
        for name, script in self._scripts.items():
            if is_same_input and not script.depends_on(field, *before):
                continue
            change = _first_change(
                field,
                name,
                later[0].release,
                script.observe(*before),
                script.observe(*later),
            )
            if change is not None:
                return change
        return None


def _dropped(problems: Mapping[str, str]) -> Mapping[str, str]:
    return {key: text for key, text in problems.items() if key.startswith("drops ")}


def _keep_earlier_reasons(
    source: VersionInput, reasons: Mapping[str, str]
) -> VersionInput:
    """Return a version's input; fields dropped by both keep the earlier reason."""
    problems = {key: reasons.get(key, text) for key, text in source.problems.items()}
    return replace(source, problems=problems)


def _problem(problems: Mapping[str, str], key: str) -> Observation | None:
    return Observation(None, problems[key]) if key in problems else None


def _has_http_probe(pod: Pod) -> bool:
    return any(isinstance(probe.handler, HTTPGetAction) for probe in pod.probes())


_StreamKey = tuple[int, str]
"""The rank of a stream of observations, most important first, and its subject."""

_Observations = Mapping[_StreamKey, list[Observation]]
"""Refusals, container steps, events, states and ticks, in order."""

_REFUSED, _DROPPED, _STEP, _EVENT, _STATE, _HIDDEN_STATE, _TICK, _WARNED = range(8)
_PROBLEMS = {"drops": _DROPPED, "warns": _WARNED}
"""The ranks of problems by their first words."""

_HIDDEN = frozenset({StateField.RESULT, StateField.HOLD})
"""States that no cluster shows."""


def _first_change(
    field: str, script: str, since: str, before: _Observations, later: _Observations
) -> VersionDifference | None:
    """Return the first difference in the most important stream."""
    for key in sorted({*before, *later}):
        for old, new in zip_longest(before.get(key, ()), later.get(key, ())):
            if old != new:
                return VersionDifference(field, script, since, old, new)
    return None


class _TrialConfig(KubeletConfig, frozen=True):
    """A configuration whose rules match no version."""

    trial: KubeletRules | None = None

    @property
    def rules(self) -> KubeletRules:
        """The rules to try."""
        return self.trial or super().rules


class _ReadRules(KubeletRules, frozen=True, eq=False):
    """Rules that record which of their fields were read."""

    reads: set[str] = msgspec.field(default_factory=set)

    def __getattribute__(self, name: str) -> Any:
        """Return an attribute; record the name of a field."""
        if name in _RULES_FIELDS:
            super().__getattribute__("reads").add(name)
        return super().__getattribute__(name)


_RULES_FIELDS = frozenset(KubeletRules.__struct_fields__)


class _Inputs:
    """The pods as rules read them; manifests are re-read only if that may differ."""

    def __init__(self, load: Callable[[KubeletRules], VersionInput]) -> None:
        self._load = load
        self._read: list[tuple[Mapping[str, object], VersionInput]] = []

    def load(self, rules: KubeletRules) -> VersionInput:
        """Return the pods as the rules read them."""
        for read, source in self._read:
            if all(getattr(rules, name) == value for name, value in read.items()):
                return source
        trial = _ReadRules(**asdict(rules))
        source = self._load(trial)
        read = {name: getattr(rules, name) for name in trial.reads}
        self._read.append((read, source))
        return source


class _Simulated(Struct, frozen=True):
    """A simulation and the rules that it depends on."""

    pods: tuple[Pod, ...]
    objects: tuple[ConfigObject, ...]
    rules: Mapping[str, object]
    observations: _Observations

    def is_of(
        self,
        rules: KubeletRules,
        pods: tuple[Pod, ...],
        objects: tuple[ConfigObject, ...],
        *,
        apart_from: frozenset[str] = frozenset(),
    ) -> bool:
        """Return whether other rules give the same result, some fields aside."""
        return (
            all(
                getattr(rules, name) == value
                for name, value in self.rules.items()
                if name not in apart_from
            )
            and self.pods == pods
            and self.objects == objects
        )


class _Simulations:
    """Simulations of one script, each run only once.

    A simulation does not depend on rules that it did not read.
    """

    def __init__(self, script: Scenario) -> None:
        self._script = script
        self._done: list[_Simulated] = []

    def depends_on(self, field: str, rules: KubeletRules, source: VersionInput) -> bool:
        """Return whether a simulation reads a field, so that its value may matter.

        Texts do not affect which other rules are read.
        """
        return field in self._done_for(rules, source, apart_from=TEXT_RULES).rules

    def observe(self, rules: KubeletRules, source: VersionInput) -> _Observations:
        """Return all observations of the pods under some rules."""
        simulated = self._done_for(rules, source)
        observations = dict(simulated.observations)
        for key, problem in source.problems.items():
            rank = _PROBLEMS.get(key.partition(" ")[0], _REFUSED)
            observations[rank, key] = [Observation(None, problem)]
        return observations

    def _done_for(
        self,
        rules: KubeletRules,
        source: VersionInput,
        apart_from: frozenset[str] = frozenset(),
    ) -> _Simulated:
        # A uid follows from the manifest, of which versions read different parts.
        pods = tuple(
            replace(pod, uid=f"pod-{number}") for number, pod in enumerate(source.pods)
        )
        for simulated in self._done:
            if simulated.is_of(rules, pods, source.objects, apart_from=apart_from):
                return simulated
        return self._simulate(rules, pods, source.objects)

    def _simulate(
        self,
        rules: KubeletRules,
        pods: tuple[Pod, ...],
        objects: tuple[ConfigObject, ...],
    ) -> _Simulated:
        trial = _ReadRules(**asdict(rules))
        observations = _observe(trial, pods, objects, self._script)
        # Requests contain the version's name, but no script depends on it.
        read = {name: getattr(rules, name) for name in trial.reads - _NO_DIFFERENCE}
        done = _Simulated(pods, objects, read, observations)
        self._done.append(done)
        return done


def _observe(
    rules: KubeletRules,
    pods: tuple[Pod, ...],
    objects: tuple[ConfigObject, ...],
    script: Scenario,
) -> _Observations:
    """Simulate pods and return all observations."""
    start = script.start
    config = _TrialConfig(trial=rules, queues_while_waiting=True)
    simulation = Simulation(Engine(config, start), script.world(), start)
    simulation.schedule(SetObjects(objects), start)
    simulation.schedule(SetPods(pods), start)
    for at, command in script.commands(pods):
        simulation.schedule(command, at)
    simulation.run_for(LENGTH)
    observations: dict[_StreamKey, list[Observation]] = defaultdict(list)
    for entry in simulation.journal:
        match entry:
            case ContainerEntry():
                key, text = (_STEP, entry.container_name), _step_text(entry)
            case EventEntry(event=event):
                key = _EVENT, f"{event.reason} {event.container_name}"
                if event.reason in _PROBE_EVENTS:
                    key = _EVENT, f"{key[1]} {event.message.partition(' ')[0]}"
                text = f"{event.type} {event.reason} {event.message}"
            case StateEntry(what=what):
                text = _state_text(entry)
                rank = _HIDDEN_STATE if what in _HIDDEN else _STATE
                key = rank, f"{entry.container_name} {entry.subject} {what}"
            case TickEntry(key=probe):
                key = _TICK, f"{probe.container_name} {probe.probe_type}"
                text = _tick_text(entry)
            case _:
                continue
        after = round((entry.at - start).total_seconds(), 1)
        observations[key].append(Observation(after, text))
    return observations


def _step_text(entry: ContainerEntry) -> str:
    words = [entry.container_name, str(entry.what)]
    if entry.exit_code is not None:
        words.append(str(entry.exit_code))
    if entry.grace_period_seconds is not None:
        words.append(f"grace={entry.grace_period_seconds}s")
    if entry.by is not None:
        words.append(f"by={entry.by}")
    return " ".join(words)


def _state_text(entry: StateEntry) -> str:
    words = (entry.container_name, entry.subject, str(entry.what))
    return f"{' '.join(filter(None, words))} {entry.before}->{entry.after}"


def _tick_text(entry: TickEntry) -> str:
    what = entry.skip or entry.exit or entry.result or entry.action
    return f"{entry.key.container_name} {entry.key.probe_type.lower()} probe: {what}"
