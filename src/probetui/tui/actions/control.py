"""Actions on clock, probes, containers, playback and lessons."""

from __future__ import annotations

from collections.abc import Sequence

from probetui.debugger.commands import (
    KillContainer,
    RestartContainer,
    StepProbe,
    TriggerProbe,
)
from probetui.engine.inputs import DeletePod
from probetui.k8s.runtime import ContainerID
from probetui.kubelet.pod_workers.pod_update import PodWorkerState
from probetui.tui.actions.action import (
    Action,
    ActionContext,
    Argument,
    KeyContext,
    Target,
)

_MAIN = (KeyContext.MAIN,)
_PROGRAM = (KeyContext.PROGRAM,)

_MAIN_AND_STEPS = (KeyContext.MAIN, KeyContext.STEPS)


def shell_command(now: ActionContext) -> Sequence[str]:
    """Return the command for a shell in the selected container, empty if none."""
    status, shell = now.container.status, now.host.shell
    if status is None or shell is None:
        return ()
    return shell(ContainerID(status.container_id))


def _has_shell(now: ActionContext) -> bool:
    return now.is_running() and bool(shell_command(now))


def _has_next_tick(now: ActionContext) -> bool:
    """Return whether the probe has a worker; a simulation runs until it has one."""
    return now.probe.worker_alive or now.snapshot.playback is not None


def _is_wanted(now: ActionContext) -> bool:
    return now.pod.state is PodWorkerState.SYNC


CONTROL_ACTIONS = (
    Action(
        "time.pause",
        "space",
        "Pause all probes",
        (*_MAIN_AND_STEPS, KeyContext.EVENT_LOG),
        "app.pause",
        on=Target.ALL_PODS,
        when=lambda now: not now.snapshot.is_paused,
        changes=True,
        footer=30,
    ),
    Action(
        "time.resume",
        "space",
        "Resume all probes",
        (*_MAIN_AND_STEPS, KeyContext.EVENT_LOG),
        "app.resume",
        on=Target.ALL_PODS,
        when=lambda now: now.snapshot.is_paused,
        changes=True,
        footer=30,
        shares_keys_of="time.pause",
    ),
    Action(
        "probe.step",
        "full_stop",
        "Run the next tick of this probe, then pause",
        _MAIN_AND_STEPS,
        build_command=lambda now, _words: StepProbe(now.probe.key),
        typed="step probe",
        word="step",
        on=Target.PROBE,
        when=_has_next_tick,
        changes=True,
        footer=40,
        gives_way=True,
    ),
    Action(
        "time.step",
        "greater_than_sign",
        "Run the next tick of all probes, then pause",
        _MAIN_AND_STEPS,
        build_command=lambda _now, _words: StepProbe(),
        word="step any",
        on=Target.ALL_PODS,
        changes=True,
        gives_way=True,
    ),
    Action(
        "probe.trigger",
        "t",
        "Run the next tick of this probe now",
        _MAIN_AND_STEPS,
        typed="probe now",
        word="probe",
        build_command=lambda now, _words: TriggerProbe(now.probe.key),
        on=Target.PROBE,
        when=lambda now: now.probe.worker_alive,
        changes=True,
        footer=50,
    ),
    Action(
        "container.delete-pod",
        "ctrl+d",
        "Delete the pod gracefully; asks first",
        _MAIN,
        word="delete",
        build_command=lambda now, _words: DeletePod(now.pod.pod.uid),
        on=Target.POD,
        when=_is_wanted,
        changes=True,
        acts=True,
        confirmation=lambda now: f"Delete pod {now.pod.pod.name}?",
    ),
    Action(
        "container.kill",
        "ctrl+k",
        "Kill at once: no hook, no grace period",
        _MAIN,
        build_command=lambda now, _words: KillContainer(
            now.pod.pod.uid, now.container.container.name
        ),
        on=Target.CONTAINER,
        when=ActionContext.is_running,
        changes=True,
        acts=True,
    ),
    Action(
        "container.shell",
        "s",
        "Open a shell in the container",
        _MAIN,
        "app.shell",
        on=Target.CONTAINER,
        when=_has_shell,
        changes=True,
        footer=101,
        is_local=True,
    ),
    Action(
        "container.restart",
        "r",
        "Kill the container as the kubelet does",
        _MAIN_AND_STEPS,
        build_command=lambda now, _words: RestartContainer(
            now.pod.pod.uid, now.container.container.name
        ),
        on=Target.CONTAINER,
        when=ActionContext.is_running,
        changes=True,
        acts=True,
        footer=60,
    ),
)


def _is_played(now: ActionContext) -> bool:
    return now.snapshot.playback is not None


def _can_save(now: ActionContext) -> bool:
    return now.host.save is not None


def _has_lesson(now: ActionContext) -> bool:
    return now.host.lesson is not None


PLAYBACK_ACTIONS = (
    Action(
        "time.step-back",
        "comma",
        "Go back to before the last tick (sim, replay)",
        _MAIN_AND_STEPS,
        "app.step_back",
        word="back",
        on=Target.ALL_PODS,
    ),
    Action(
        "time.slower",
        "left_parenthesis",
        "Halve the speed (sim, replay)",
        _MAIN_AND_STEPS,
        "app.change_pace(-1)",
        on=Target.ALL_PODS,
        gives_way=True,
    ),
    Action(
        "time.faster",
        "right_parenthesis",
        "Double the speed (sim, replay)",
        _MAIN_AND_STEPS,
        "app.change_pace(1)",
        on=Target.ALL_PODS,
        gives_way=True,
    ),
    Action(
        "time.seek",
        "",
        "Seek: 1m30s, 01:30, -10s, +10s",
        _MAIN_AND_STEPS,
        "app.seek",
        on=Target.ALL_PODS,
        when=_is_played,
        arguments=(Argument("time", is_required=True),),
    ),
    Action(
        "app.save",
        "ctrl+s",
        "Save the session's record to a file",
        _PROGRAM,
        "app.save",
        typed="save session",
        word="save",
        on=Target.PROGRAM,
        when=_can_save,
        is_local=True,
    ),
    Action(
        "app.next-lesson",
        "right_curly_bracket",
        "Start the next lesson",
        _MAIN,
        "app.turn_page(1)",
        on=Target.PROGRAM,
        when=_has_lesson,
        footer=15,
    ),
    Action(
        "app.previous-lesson",
        "left_curly_bracket",
        "Start the previous lesson",
        _MAIN,
        "app.turn_page(-1)",
        on=Target.PROGRAM,
        when=_has_lesson,
    ),
)
