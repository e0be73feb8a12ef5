"""Hypothesis strategies for sessions: pods, behaviors of containers, commands."""

from __future__ import annotations

from datetime import datetime, timedelta
from itertools import cycle
from typing import Any

from hypothesis import strategies as st
from msgspec import Struct

from probetui.debugger.commands import (
    AddNote,
    Bookmark,
    BreakpointKind,
    ClearBackoff,
    DelayProbes,
    DryRunProbe,
    EditProbe,
    InjectContainerFault,
    Injected,
    InjectResults,
    KillContainer,
    MuteProbes,
    PauseProbes,
    RestartContainer,
    ResumeProbes,
    RunToChange,
    SetBreakpoints,
    StepProbe,
    TriggerProbe,
    UnmuteProbes,
)
from probetui.debugger.scope import ALL_PROBES, Scope
from probetui.debugger.timing import Timing
from probetui.drive.scenario.behavior import CallBehavior, InstanceBehavior, ProbeAnswer
from probetui.drive.scenario.world import World
from probetui.engine.engine import Engine
from probetui.engine.inputs import Command, DeletePod, Input
from probetui.k8s.pod import Container, Pod, RestartPolicy
from probetui.k8s.probe import Probe, ProbeKey, ProbeType
from probetui.kubelet.config import KubeletConfig
from probetui.kubelet.effects import Fault, Operation, Relist, RunProbe
from probetui.kubelet.runtime.turn import Turn
from tests.builders import START, a_container, a_pod, a_probe
from tests.drive.engine_bench import ERRS, FAILS, SUCCEEDS, EngineBench

POD_UID = "uid-of-web"
LENGTH_SECONDS = 90

ANSWERS = (SUCCEEDS, FAILS, FAILS, ERRS)


class SessionPlan(Struct, frozen=True):
    """All that the engine does not decide.

    `commands` come at these seconds; the runtime is away from `lost_at` to `found_at`.
    Answers are used in order and repeat from the start. Calls are used in order once;
    every later call succeeds at once.
    """

    pod: Pod
    config: KubeletConfig
    answers: tuple[ProbeAnswer, ...]
    lives: dict[str, tuple[InstanceBehavior, ...]]
    calls: tuple[CallBehavior, ...]
    commands: tuple[tuple[float, Command], ...]
    lost_at: float
    found_at: float


class WatchedEngine(Engine):
    """An engine that records its inputs and turns."""

    def __init__(self, config: KubeletConfig) -> None:
        super().__init__(config, START)
        self.inputs: list[tuple[Input | None, datetime]] = []
        self.turns: list[Turn] = []
        self._is_submitting = False

    def submit(self, item: Input, now: datetime) -> Turn:
        self.inputs.append((item, now))
        self._is_submitting = True
        turn = super().submit(item, now)
        self._is_submitting = False
        self.turns.append(turn)
        return turn

    def advance(self, now: datetime) -> Turn:
        turn = super().advance(now)
        if not self._is_submitting:
            self.inputs.append((None, now))
            self.turns.append(turn)
        return turn


def seconds(most: float) -> st.SearchStrategy[float]:
    """Return instants that often coincide with ticks, and often do not."""
    return st.integers(0, int(most * 4)).map(lambda quarters: quarters / 4)


def lengths(most: float) -> st.SearchStrategy[timedelta]:
    return seconds(most).map(lambda number: timedelta(seconds=number))


@st.composite
def probes(draw: st.DrawFn, kind: ProbeType) -> Probe:
    is_readiness = kind is ProbeType.READINESS
    return a_probe(
        initial_delay_seconds=draw(st.integers(0, 3)),
        period_seconds=draw(st.integers(1, 4)),
        failure_threshold=draw(st.integers(1, 3)),
        success_threshold=draw(st.integers(1, 2)) if is_readiness else 1,
    )


@st.composite
def containers(draw: st.DrawFn, /, name: str, **fields: Any) -> Container:
    chosen = {
        f"{kind.lower()}_probe": draw(st.none() | probes(kind)) for kind in ProbeType
    }
    return a_container(name, **chosen, **fields)


@st.composite
def pods(draw: st.DrawFn) -> Pod:
    sidecar = containers("side", restart_policy=RestartPolicy.ALWAYS)
    return a_pod(
        *draw(st.tuples(containers("app")) | st.tuples(*map(containers, ("app", "x")))),
        init_containers=draw(st.just(()) | st.tuples(sidecar)),
        restart_policy=draw(st.sampled_from(RestartPolicy)),
        termination_grace_period_seconds=draw(st.integers(0, 6)),
    )


INSTANCES = st.builds(
    InstanceBehavior,
    lasts=st.none() | lengths(20),
    exit_code=st.sampled_from([0, 1]),
    stops_after=st.none() | lengths(8),
    stop_code=st.sampled_from([0, 143]),
)
KINDS = st.sampled_from(ProbeType)
CALLS = st.builds(CallBehavior, takes=lengths(3), error=st.sampled_from(["", "", "no"]))


NAMES = st.sampled_from(["app", "side"])
KEYS = st.builds(ProbeKey, st.just(POD_UID), NAMES, KINDS)
SCOPES = st.one_of(
    st.just(ALL_PROBES),
    st.builds(Scope, st.just(POD_UID), st.just("") | NAMES),
    KEYS.map(Scope.of),
)
INJECTED = st.lists(st.sampled_from(Injected), max_size=5).map(tuple)
COUNTS = st.integers(0, 4)


def container_commands(command: Any, *others: Any) -> st.SearchStrategy[Command]:
    """Return commands about one of the containers."""
    return st.builds(command, st.just(POD_UID), NAMES, *others)


USUAL: list[st.SearchStrategy[Command]] = [
    st.builds(TriggerProbe, KEYS),
    container_commands(RestartContainer),
    st.sampled_from([PauseProbes(), StepProbe(), ResumeProbes()]),
    st.builds(DeletePod, st.just(POD_UID), st.none() | st.integers(0, 9)),
]
INJECTIONS = st.builds(InjectResults, KEYS, INJECTED)
INTERVENTIONS: list[st.SearchStrategy[Command]] = [
    INJECTIONS,
    st.builds(DelayProbes, SCOPES, lengths(4)),
    st.builds(MuteProbes, SCOPES),
    st.builds(UnmuteProbes, SCOPES),
    st.builds(SetBreakpoints, st.frozensets(st.sampled_from(BreakpointKind)), SCOPES),
    st.builds(RunToChange, SCOPES),
    container_commands(KillContainer),
    container_commands(InjectContainerFault, st.sampled_from(Fault)),
    st.builds(Bookmark, st.text(max_size=3)),
    st.builds(AddNote, st.text(max_size=3), st.booleans()),
]
"""These change what happens, but not the rules of the kubelet."""

RULE_BREAKING: list[st.SearchStrategy[Command]] = [
    st.builds(DryRunProbe, KEYS),
    st.builds(
        EditProbe,
        KEYS,
        st.none() | st.builds(Timing, COUNTS, COUNTS, COUNTS, COUNTS, COUNTS),
    ),
    container_commands(ClearBackoff),
]
"""After these, some rules of the kubelet no longer hold for what was changed."""


@st.composite
def plans(
    draw: st.DrawFn,
    kinds: tuple[st.SearchStrategy[Command], ...] = (*USUAL, *INTERVENTIONS),
) -> SessionPlan:
    """Return plans of sessions with commands of these kinds."""
    commands = st.tuples(seconds(LENGTH_SECONDS), st.one_of(kinds))
    lost_at = draw(seconds(LENGTH_SECONDS))
    some_answers = st.builds(
        lambda answer_probe, takes: ProbeAnswer(answer_probe.attempt, takes),
        st.sampled_from(ANSWERS),
        lengths(3),
    )
    return SessionPlan(
        pod=draw(pods()),
        config=KubeletConfig(seed=draw(st.integers(0, 3))),
        answers=tuple(draw(st.lists(some_answers, min_size=1, max_size=20))),
        lives={
            name: tuple(draw(st.lists(INSTANCES, min_size=1, max_size=3)))
            for name in ("app", "side")
        },
        calls=tuple(draw(st.lists(CALLS, max_size=30))),
        commands=tuple(
            sorted(draw(st.lists(commands, max_size=6)), key=lambda item: item[0])
        ),
        lost_at=lost_at,
        found_at=lost_at + draw(seconds(20)),
    )


def simulate(plan: SessionPlan) -> tuple[EngineBench, WatchedEngine]:
    """Simulate a planned session to its last second."""
    answers, calls = cycle(plan.answers), iter(plan.calls)

    def answer_probe(_effect: RunProbe, _age: timedelta) -> ProbeAnswer:
        return next(answers)

    def call_behavior(_call: Operation | Relist) -> CallBehavior:
        return next(calls, CallBehavior())

    engine = WatchedEngine(plan.config)
    world = World(plan.lives, answer_probe, dealing=call_behavior)
    bench = EngineBench(plan.pod, engine=engine, world=world)
    changes = [
        *((at, command) for at, command in plan.commands),
        (plan.lost_at, "the daemon is gone"),
        (plan.found_at, ""),
    ]
    for second, what in sorted(changes, key=lambda item: item[0]):
        bench.run_until(second)
        if isinstance(what, str):
            world.unreachable = what
        else:
            bench.send(what)
    bench.run_until(LENGTH_SECONDS)
    return bench, engine
