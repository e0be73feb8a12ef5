"""What changes how things run: the clock, probes, containers."""

from __future__ import annotations

from probetui.k8s.status import Running
from probetui.kubelet.inputs import (
    DeletePod,
    KillContainer,
    RestartContainer,
    StepProbe,
    TriggerProbe,
)
from probetui.kubelet.snapshot import PodWorkerState
from probetui.tui.action import Action, Circumstances, On, Where
from probetui.tui.shell import shell_command

_HERE = (Where.MAIN, Where.STEPS)


def _is_running(now: Circumstances) -> bool:
    status = now.container.status
    return status is not None and isinstance(status.state, Running)


def _has_shell(now: Circumstances) -> bool:
    return _is_running(now) and bool(shell_command(now))


def _is_wanted(now: Circumstances) -> bool:
    return now.pod.state is PodWorkerState.SYNC


RUNNING = (
    Action(
        "time.pause",
        "space",
        "pause",
        "pause",
        "Hold back all ticks, and show what comes next",
        (*_HERE, Where.EVENT_LOG),
        "app.pause",
        on=On.ALL_PODS,
        when=lambda now: not now.snapshot.is_paused,
        changes=True,
        footer=30,
    ),
    Action(
        "time.resume",
        "space",
        "resume",
        "resume",
        "Let ticks go again",
        (*_HERE, Where.EVENT_LOG),
        "app.resume",
        on=On.ALL_PODS,
        when=lambda now: now.snapshot.is_paused,
        changes=True,
        footer=30,
        shares_keys_of="time.pause",
    ),
    Action(
        "time.step",
        "full_stop",
        "step",
        "step",
        "Let the next tick go",
        _HERE,
        gives=lambda _now, _words: StepProbe(),
        on=On.ALL_PODS,
        changes=True,
        footer=40,
    ),
    Action(
        "probe.trigger",
        "t",
        "probe",
        "probe now",
        "Probe now, out of schedule",
        _HERE,
        gives=lambda now, _words: TriggerProbe(now.probe.key),
        on=On.PROBE,
        when=lambda now: now.probe.worker_alive,
        changes=True,
        footer=50,
    ),
    Action(
        "container.delete-pod",
        "ctrl+d",
        "delete",
        "delete pod",
        "End the pod gracefully; asks first",
        (Where.MAIN,),
        gives=lambda now, _words: DeletePod(now.pod.pod.uid),
        on=On.POD,
        when=_is_wanted,
        changes=True,
        asks=lambda now: f"Delete pod {now.pod.pod.name}?",
    ),
    Action(
        "container.kill",
        "ctrl+k",
        "kill",
        "kill",
        "Kill it at once: no hook, no grace",
        (Where.MAIN,),
        gives=lambda now, _words: KillContainer(
            now.pod.pod.uid, now.container.container.name
        ),
        on=On.CONTAINER,
        when=_is_running,
        changes=True,
    ),
    Action(
        "container.shell",
        "s",
        "shell",
        "shell",
        "A shell in the container",
        (Where.MAIN,),
        "app.shell",
        on=On.CONTAINER,
        when=_has_shell,
        changes=True,
        footer=101,
    ),
    Action(
        "container.restart",
        "r",
        "restart",
        "restart",
        "Kill it as the kubelet does",
        _HERE,
        gives=lambda now, _words: RestartContainer(
            now.pod.pod.uid, now.container.container.name
        ),
        on=On.CONTAINER,
        when=_is_running,
        changes=True,
        footer=60,
    ),
)
