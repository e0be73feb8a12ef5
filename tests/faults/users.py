"""What users do in a session: every command, and edits of what it was begun with."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from random import Random

from probetui.debugger.commands import (
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
from probetui.engine.inputs import Command, DeletePod
from probetui.k8s.pod import Pod
from probetui.k8s.probe import ProbeKey, ProbeType
from probetui.kubelet.effects import Fault


def a_command(random: Random, pods: Sequence[Pod]) -> Command:
    """Return what a user of the debugger does, most often."""
    pod = random.choice(pods)
    container = random.choice(tuple(pod.all_containers()))
    where = pod.uid, container.name
    kind = random.choice(tuple(ProbeType))
    commands: tuple[Command, ...] = (
        RestartContainer(*where),
        KillContainer(*where),
        ClearBackoff(*where),
        InjectContainerFault(*where, random.choice(tuple(Fault))),
        TriggerProbe(ProbeKey(*where, kind)),
        InjectResults(ProbeKey(*where, kind), (random.choice(tuple(Injected)),) * 3),
        MuteProbes(Scope(pod.uid, container.name)),
        UnmuteProbes(ALL_PROBES),
        PauseProbes(),
        StepProbe(),
        ResumeProbes(),
        ResumeProbes(),
    )
    return random.choice(commands)


def a_rarer_command(random: Random, pods: Sequence[Pod]) -> Command:
    """Return what a user does at times."""
    pod = random.choice(pods)
    container = random.choice(tuple(pod.all_containers()))
    key = ProbeKey(pod.uid, container.name, random.choice(tuple(ProbeType)))
    scope = random.choice((ALL_PROBES, Scope(pod.uid), Scope.of(key)))
    points = [point for point in BreakpointKind if random.random() < 0.5]
    delay = timedelta(seconds=random.choice((0, 0.5, 2, 30)))
    grace_period = random.choice((None, 0, 1, 30))
    commands: tuple[Command, ...] = (
        EditProbe(key, random.choice((None, _a_timing(random)))),
        DelayProbes(scope, delay),
        DryRunProbe(key),
        RunToChange(scope),
        SetBreakpoints(frozenset(points), scope),
        StepProbe(key),
        Bookmark("it is slow here"),
        DeletePod(pod.uid, grace_period),
        ResumeProbes(),
    )
    return random.choice(commands)


def _a_timing(random: Random) -> Timing:
    return Timing(
        initial_delay_seconds=random.choice((0, 0, 3)),
        timeout_seconds=random.choice((1, 5)),
        period_seconds=random.choice((1, 4, 10)),
        success_threshold=1,
        failure_threshold=random.choice((1, 2, 5)),
    )
