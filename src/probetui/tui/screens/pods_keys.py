"""The keys of the main screen."""

from __future__ import annotations

from textual.binding import Binding, BindingType

KEYS: list[BindingType] = [
    Binding(
        "tab",
        "app.focus_next",
        "next pane",
        id="move.next-pane",
        tooltip="To the next pane",
    ),
    Binding(
        "shift+tab",
        "app.focus_previous",
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
    Binding("space", "pause", "pause", id="time.pause", tooltip="Hold back all ticks"),
    Binding(
        "space", "resume", "resume", id="time.resume", tooltip="Let ticks go again"
    ),
    Binding(
        "full_stop",
        "step",
        "step",
        id="time.step",
        tooltip="Let the next tick go",
    ),
    Binding(
        "t",
        "trigger",
        "probe",
        id="probe.trigger",
        tooltip="Probe now, out of schedule",
    ),
    Binding(
        "r",
        "restart",
        "restart",
        id="container.restart",
        tooltip="Kill it as the kubelet does",
    ),
]

CHANGES = frozenset({"pause", "resume", "step", "trigger", "restart"})
"""Actions that change something; read-only screens do not have them."""
