"""The keys of the main screen, and when they make sense."""

from __future__ import annotations

from textual.binding import Binding, BindingType

from probetui.k8s.status import Running
from probetui.kubelet.inputs import (
    Command,
    PauseProbes,
    RestartContainer,
    ResumeProbes,
    StepProbe,
    TriggerProbe,
)
from probetui.kubelet.snapshot import ProbeSnapshot
from probetui.presentation.detail import Subject

KEYS: list[BindingType] = [
    Binding(
        "tab",
        "other_pane(1)",
        "next pane",
        id="move.next-pane",
        tooltip="To the next pane",
    ),
    Binding(
        "shift+tab",
        "other_pane(-1)",
        "previous pane",
        id="move.previous-pane",
        tooltip="To the pane before",
    ),
    Binding(
        "1",
        "pane('containers')",
        "containers",
        id="move.containers",
        tooltip="To the containers",
    ),
    Binding(
        "2",
        "pane('detail')",
        "detail",
        id="move.detail",
        tooltip="To the chosen container",
    ),
    Binding("3", "pane('events')", "events", id="move.events", tooltip="To the events"),
    Binding("enter", "open", "open", id="look.open", tooltip="Show it in full"),
    Binding(
        "left_square_bracket",
        "probe(-1)",
        "probe before",
        id="look.previous-probe",
        tooltip="The container's probe before",
    ),
    Binding(
        "right_square_bracket",
        "probe(1)",
        "next probe",
        id="look.next-probe",
        tooltip="The container's next probe",
    ),
    Binding(
        "v",
        "zoom('events')",
        "events",
        id="look.events",
        tooltip="All events",
    ),
    Binding(
        "z",
        "zoom",
        "zoom",
        id="look.zoom",
        tooltip="This pane alone, and back",
    ),
    Binding(
        "slash",
        "filter",
        "filter",
        id="look.filter",
        tooltip="Filter; ! for all others",
    ),
    Binding(
        "escape",
        "back",
        "back",
        id="look.back",
        tooltip="All panes again, or no filter",
    ),
    Binding("q", "unzoom", "back", id="app.back", tooltip="All panes again"),
    Binding(
        "space",
        "give('pause')",
        "pause",
        id="time.pause",
        tooltip="Hold back all ticks",
    ),
    Binding(
        "space",
        "give('resume')",
        "resume",
        id="time.resume",
        tooltip="Let ticks go again",
    ),
    Binding(
        "full_stop",
        "give('step')",
        "step",
        id="time.step",
        tooltip="Let the next tick go",
    ),
    Binding(
        "t",
        "give('trigger')",
        "probe",
        id="probe.trigger",
        tooltip="Probe now, out of schedule",
    ),
    Binding(
        "r",
        "give('restart')",
        "restart",
        id="container.restart",
        tooltip="Kill it as the kubelet does",
    ),
]

GIVE = "give"
"""The action that gives a command; read-only screens do not have it."""


def command_of(name: str, subject: Subject | None) -> Command | None:
    """Return the command of that name for what is chosen, None if there is none."""
    match name, subject:
        case "pause", _:
            return PauseProbes()
        case "resume", _:
            return ResumeProbes()
        case "step", _:
            return StepProbe()
        case "trigger", Subject(probe=ProbeSnapshot(key=key)):
            return TriggerProbe(key)
        case "restart", Subject(pod, container):
            return RestartContainer(pod.pod.uid, container.container.name)
        case _:
            return None


def enabled_actions(
    subject: Subject | None, *, is_paused: bool, is_zoomed: bool, is_filtered: bool
) -> dict[str, bool]:
    """Return the actions that do not always make sense, and whether they do now."""
    probe = subject.probe if subject else None
    status = subject.container.status if subject else None
    return {
        "pause": not is_paused,
        "resume": is_paused,
        "trigger": probe is not None and probe.worker_alive,
        "restart": status is not None and isinstance(status.state, Running),
        "probe": subject is not None and len(subject.container.probes) > 1,
        "unzoom": is_zoomed,
        "back": is_zoomed or is_filtered,
    }
