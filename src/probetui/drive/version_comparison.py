"""What versions of the kubelet do differently with the same pods, by simulation.

Between two neighbouring versions one field of the rules after the other is switched to
its later value; a field counts where that changes what is decided, shown or refused.
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
from probetui.kubelet_rules import KubeletRules

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
) -> Iterator[VersionDifference]:
    """Yield the differences, those of the earliest versions first.

    Args:
        versions: the rules of those to compare, oldest first.
        scripts: what containers and probes do, by name.
        load: reads the pods by the rules of a version.
    """
    simulations = {name: _Simulations(script) for name, script in scripts.items()}
    for earlier, later in pairwise(versions):
        yield from _between(earlier, later, simulations, load)


def _between(
    earlier: KubeletRules,
    later: KubeletRules,
    scripts: Mapping[str, _Simulations],
    load: Callable[[KubeletRules], VersionInput],
) -> Iterator[VersionDifference]:
    ends = load(earlier), load(later)
    changed = {
        name: script
        for name, script in scripts.items()
        if script.observe(earlier, ends[0]) != script.observe(later, ends[1])
    }
    now = replace(earlier, version=later.version, release=later.release)
    problems = ends[0].problems
    dropped = {key: text for key, text in problems.items() if key.startswith("drops ")}
    start = _keep_earlier_reasons(load(now), dropped)
    for key in sorted({*problems} ^ {*start.problems}):
        yield VersionDifference(
            KNOWN_FIELDS,
            "",
            later.release,
            _problem(problems, key),
            _problem(start.problems, key),
        )
    seen = {name: one.observe(now, start) for name, one in changed.items()}
    for field in KubeletRules.__struct_fields__:
        if field in _NO_DIFFERENCE or getattr(now, field) == getattr(later, field):
            continue
        now = replace(now, **{field: getattr(later, field)})
        given = _keep_earlier_reasons(load(now), dropped)
        if field == "sends_accept" and any(map(_has_http_probe, given.pods)):
            yield VersionDifference(
                field,
                "",
                later.release,
                Observation(None, "Accept-Encoding: gzip"),
                Observation(None, "Accept: */*"),
            )
        first: VersionDifference | None = None
        for name, script in changed.items():
            observations = script.observe(now, given)
            if first is None:
                first = _first_change(
                    field, name, later.release, seen[name], observations
                )
            seen[name] = observations
        if first is not None:
            yield first


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
    ) -> bool:
        """Return whether it would come to the same with these."""
        return (
            all(getattr(rules, name) == value for name, value in self.rules.items())
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

    def observe(self, rules: KubeletRules, given: VersionInput) -> _Observations:
        """Return all that can be seen of pods with some rules."""
        # A uid follows from the manifest, of which versions read different parts.
        pods = tuple(
            replace(pod, uid=f"pod-{number}") for number, pod in enumerate(given.pods)
        )
        known = (one for one in self._done if one.is_of(rules, pods, given.objects))
        done = next(known, None) or self._simulate(rules, pods, given.objects)
        observations = dict(done.observations)
        for what, problem in given.problems.items():
            rank = _PROBLEMS.get(what.partition(" ")[0], _REFUSED)
            observations[rank, what] = [Observation(None, problem)]
        return observations

    def _simulate(
        self,
        rules: KubeletRules,
        pods: tuple[Pod, ...],
        objects: tuple[ConfigObject, ...],
    ) -> _Simulated:
        trial = _ReadRules(**asdict(rules))
        found = _observe(trial, pods, objects, self._script)
        read = {name: getattr(rules, name) for name in trial.reads}
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
