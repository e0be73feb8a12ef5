"""What versions of the kubelet do differently with the same pods, by simulation.

Between two neighbouring versions one field of the rules after the other is switched to
its later value; a field counts where that changes what is decided, shown or refused.
Only what read the field is simulated again: the scripts one after the other, until one
shows the difference.
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
"""The difference between versions that know a field of the manifests or do not."""


class VersionInput(Struct, frozen=True):
    """The pods as one version reads them, and what it says of the manifests.

    A key of `problems` says what is done with which field, its value also why.
    """

    pods: tuple[Pod, ...]
    objects: tuple[ConfigObject, ...]
    problems: Mapping[str, str]


class Observation(Struct, frozen=True):
    """Something that a version does or shows; `after` None is before the start."""

    after: float | None
    text: str


class VersionDifference(Struct, frozen=True):
    """One difference between neighbouring versions.

    Attributes:
        field: of the rules, or `KNOWN_FIELDS`.
        script: the first one in which it is seen; empty if no simulation shows it.
        since: the first version that does the later thing.
        before: the first thing that differs, as the earlier version does it.
        later: the same of the later version; None is nothing.
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
    """Yield the differences as they are found, those of the earliest versions first.

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
    """A comparison of pairs of versions; what one took is not done again."""

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
        """Yield what two versions decide, show or refuse otherwise."""
        now = replace(earlier, version=later.version, release=later.release)
        problems = self._load(earlier).problems
        dropped = _dropped(problems)
        given = _keep_earlier_reasons(self._load(now), dropped)
        for key in sorted({*problems} ^ {*given.problems}):
            yield VersionDifference(
                KNOWN_FIELDS,
                "",
                later.release,
                _problem(problems, key),
                _problem(given.problems, key),
            )
        yield from self._switched(now, later, given, dropped, texts=False)

    def texts(
        self, earlier: KubeletRules, later: KubeletRules
    ) -> Iterator[VersionDifference]:
        """Yield what two versions say in other words."""
        old = {name: getattr(earlier, name) for name in TEXT_RULES}
        dropped = _dropped(self._load(earlier).problems)
        now = replace(later, **old)
        given = _keep_earlier_reasons(self._load(now), dropped)
        yield from self._switched(now, later, given, dropped, texts=True)

    def _switched(
        self,
        now: KubeletRules,
        later: KubeletRules,
        given: VersionInput,
        dropped: Mapping[str, str],
        *,
        texts: bool,
    ) -> Iterator[VersionDifference]:
        """Yield what changes with each field of the rules that is switched."""
        for field in KubeletRules.__struct_fields__:
            if field in _NO_DIFFERENCE or (field in TEXT_RULES) is not texts:
                continue
            if getattr(now, field) == getattr(later, field):
                continue
            before = now, given
            now = replace(now, **{field: getattr(later, field)})
            given = _keep_earlier_reasons(self._load(now), dropped)
            if field == "sends_accept" and any(map(_has_http_probe, given.pods)):
                yield VersionDifference(
                    field,
                    "",
                    later.release,
                    Observation(None, "Accept-Encoding: gzip"),
                    Observation(None, "Accept: */*"),
                )
            if change := self._first_change(field, before, (now, given)):
                yield change

    def _first_change(
        self, field: str, before: _Reading, later: _Reading
    ) -> VersionDifference | None:
        """Return what the first script shows of a field that is switched."""
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
    given: VersionInput, reasons: Mapping[str, str]
) -> VersionInput:
    """Return what a version reads; a field that both drop has the earlier reason."""
    problems = {key: reasons.get(key, text) for key, text in given.problems.items()}
    return replace(given, problems=problems)


def _problem(problems: Mapping[str, str], key: str) -> Observation | None:
    return Observation(None, problems[key]) if key in problems else None


def _has_http_probe(pod: Pod) -> bool:
    return any(isinstance(probe.handler, HTTPGetAction) for probe in pod.probes())


_StreamKey = tuple[int, str]
"""A rank, what matters most first, and what a stream of observations is about."""

_Observations = Mapping[_StreamKey, list[Observation]]
"""What is refused, then steps of containers, events, states and ticks: in order."""

_REFUSED, _DROPPED, _STEP, _EVENT, _STATE, _HIDDEN_STATE, _TICK, _WARNED = range(8)
_PROBLEMS = {"drops": _DROPPED, "warns": _WARNED}
"""The ranks of problems by their first words."""

_HIDDEN = frozenset({StateField.RESULT, StateField.HOLD})
"""States that no cluster shows."""


def _first_change(
    field: str, script: str, since: str, before: _Observations, later: _Observations
) -> VersionDifference | None:
    """Return what differs first in the stream that matters most."""
    for key in sorted({*before, *later}):
        for old, new in zip_longest(before.get(key, ()), later.get(key, ())):
            if old != new:
                return VersionDifference(field, script, since, old, new)
    return None


class _TrialConfig(KubeletConfig, frozen=True):
    """A configuration with rules of no version."""

    trial: KubeletRules | None = None

    @property
    def rules(self) -> KubeletRules:
        """The rules to try."""
        return self.trial or super().rules


class _ReadRules(KubeletRules, frozen=True, eq=False):
    """Rules that keep which of their fields were read."""

    reads: set[str] = msgspec.field(default_factory=set)

    def __getattribute__(self, name: str) -> Any:
        """Return an attribute; the name of a field is kept."""
        if name in _RULES_FIELDS:
            super().__getattribute__("reads").add(name)
        return super().__getattribute__(name)


_RULES_FIELDS = frozenset(KubeletRules.__struct_fields__)


class _Inputs:
    """The pods as rules read them; manifests are read anew only if that may differ."""

    def __init__(self, load: Callable[[KubeletRules], VersionInput]) -> None:
        self._load = load
        self._read: list[tuple[Mapping[str, object], VersionInput]] = []

    def load(self, rules: KubeletRules) -> VersionInput:
        """Return what some rules read."""
        for read, given in self._read:
            if all(getattr(rules, name) == value for name, value in read.items()):
                return given
        trial = _ReadRules(**asdict(rules))
        given = self._load(trial)
        read = {name: getattr(rules, name) for name in trial.reads}
        self._read.append((read, given))
        return given


class _Simulated(Struct, frozen=True):
    """A simulation, and the rules that it depended on."""

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
        """Return whether it would come to the same with these, apart from some."""
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
    """Simulations of one script, none of which is run twice.

    Rules that nothing read in one cannot change it.
    """

    def __init__(self, script: Scenario) -> None:
        self._script = script
        self._done: list[_Simulated] = []

    def depends_on(self, field: str, rules: KubeletRules, given: VersionInput) -> bool:
        """Return whether a field is read, so that another value may show.

        No text decides what else is read.
        """
        return field in self._done_for(rules, given, apart_from=TEXT_RULES).rules

    def observe(self, rules: KubeletRules, given: VersionInput) -> _Observations:
        """Return all that can be seen of pods with some rules."""
        done = self._done_for(rules, given)
        observations = dict(done.observations)
        for what, problem in given.problems.items():
            rank = _PROBLEMS.get(what.partition(" ")[0], _REFUSED)
            observations[rank, what] = [Observation(None, problem)]
        return observations

    def _done_for(
        self,
        rules: KubeletRules,
        given: VersionInput,
        apart_from: frozenset[str] = frozenset(),
    ) -> _Simulated:
        # A uid follows from the manifest, of which versions read different parts.
        pods = tuple(
            replace(pod, uid=f"pod-{number}") for number, pod in enumerate(given.pods)
        )
        for done in self._done:
            if done.is_of(rules, pods, given.objects, apart_from=apart_from):
                return done
        return self._simulate(rules, pods, given.objects)

    def _simulate(
        self,
        rules: KubeletRules,
        pods: tuple[Pod, ...],
        objects: tuple[ConfigObject, ...],
    ) -> _Simulated:
        trial = _ReadRules(**asdict(rules))
        found = _observe(trial, pods, objects, self._script)
        # The version's own name is in requests, which no script answers otherwise.
        read = {name: getattr(rules, name) for name in trial.reads - _NO_DIFFERENCE}
        done = _Simulated(pods, objects, read, found)
        self._done.append(done)
        return done


def _observe(
    rules: KubeletRules,
    pods: tuple[Pod, ...],
    objects: tuple[ConfigObject, ...],
    script: Scenario,
) -> _Observations:
    """Simulate pods and return all that can be seen."""
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
