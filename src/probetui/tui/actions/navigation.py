"""Actions that move between and within panes, and change what they show."""

from __future__ import annotations

from collections.abc import Iterator

from probetui.k8s.probe import ProbeType
from probetui.presentation.container.sorting import ContainerOrder
from probetui.presentation.probe.state import probe_state_word
from probetui.tui.actions.action import (
    Action,
    ActionContext,
    Argument,
    KeyContext,
    PaletteEntry,
    Target,
)
from probetui.tui.actions.container_names import ContainerKey, objects
from probetui.tui.themes import theme_names

_CONTAINERS = (KeyContext.CONTAINERS,)
_EVENTS = (KeyContext.EVENTS,)
_FOLLOWING = (KeyContext.FOLLOWING,)
_MAIN = (KeyContext.MAIN,)
_PANE = (KeyContext.PANE,)
_PANES = (KeyContext.PANES,)
_PROGRAM = (KeyContext.PROGRAM,)

_SEVERAL = 2


def _names(now: ActionContext) -> list[str]:
    return list(objects(now))


def _everywhere(now: ActionContext) -> Iterator[PaletteEntry]:
    """Yield every container, and each probe of those that have several."""
    names = {key: name for name, key in objects(now).items()}
    for pod in now.snapshot.pods:
        for container in pod.containers:
            name = names[ContainerKey(pod.pod.uid, container.container.name)]
            yield PaletteEntry(f"Go to: {name}", (name,))
            if len(container.probes) < _SEVERAL:
                continue
            for probe in container.probes:
                kind = probe.key.probe_type.lower()
                word = probe_state_word(probe)
                state = f" ({word})" if word else ""
                yield PaletteEntry(f"Go to: {name} {kind}{state}", (name, kind))


def _kinds(_now: ActionContext) -> list[str]:
    return [probe_type.lower() for probe_type in ProbeType]


NAVIGATION_ACTIONS = (
    Action("move.up", "up,k", "Move one line up", _PANE, "move(-1)", on=Target.PANE),
    Action(
        "move.down", "down,j", "Move one line down", _PANE, "move(1)", on=Target.PANE
    ),
    Action(
        "move.page-up",
        "pageup,ctrl+b",
        "Move one page up",
        _PANE,
        "page(-1)",
        on=Target.PANE,
    ),
    Action(
        "move.page-down",
        "pagedown,ctrl+f",
        "Move one page down",
        _PANE,
        "page(1)",
        on=Target.PANE,
    ),
    Action("move.top", "g", "Go to the first line", _PANE, "first", on=Target.PANE),
    Action(
        "move.first",
        "home",
        "Go to the first line",
        _FOLLOWING,
        "first",
        on=Target.PANE,
    ),
    Action("move.bottom", "G", "Go to the last line", _PANE, "last", on=Target.PANE),
    Action("move.next-pane", "tab", "Go to the next pane", _MAIN, "other_pane(1)"),
    Action(
        "move.previous-pane",
        "shift+tab",
        "Go to the previous pane",
        _MAIN,
        "other_pane(-1)",
    ),
    Action(
        "move.containers",
        "1",
        "Go to the containers",
        _MAIN,
        "pane('containers')",
        aliases=("po", "pods"),
    ),
    Action("move.detail", "2", "Go to the selected container", _MAIN, "pane('detail')"),
    Action(
        "move.events",
        "3",
        "Go to the events",
        _MAIN,
        "pane('events')",
        typed="events pane",
        word="events",
    ),
    Action(
        "move.jump",
        "J",
        "Go to a pane or a container by the letter on it",
        _PANES,
        "jump_mode",
        typed="jump",
        gives_way=True,
    ),
    Action(
        "move.go",
        "",
        "Go to a container or one of its probes",
        _MAIN,
        "app.go",
        typed="go to",
        arguments=(
            Argument("container", _names, is_required=True),
            Argument("probe", _kinds),
        ),
        palette_entries=_everywhere,
    ),
)


def _has_several_probes(now: ActionContext) -> bool:
    return len(now.container.probes) > 1


DISPLAY_ACTIONS = (
    Action(
        "look.open",
        "enter",
        "Open the selection in full",
        _MAIN,
        "open",
        on=Target.PANE,
    ),
    Action(
        "look.previous-probe",
        "left_square_bracket",
        "Show the previous probe",
        _MAIN,
        "probe(-1)",
        on=Target.CONTAINER,
        when=_has_several_probes,
    ),
    Action(
        "look.next-probe",
        "right_square_bracket",
        "Show the next probe",
        _MAIN,
        "probe(1)",
        on=Target.CONTAINER,
        when=_has_several_probes,
    ),
    Action(
        "look.events",
        "v",
        "Show all events",
        _MAIN,
        "app.show_events",
        on=Target.ALL_PODS,
        arguments=(Argument("what", ("all", "cluster", "folded")),),
        footer=58,
        aliases=("ev",),
    ),
    Action(
        "look.zoom",
        "z",
        "Zoom this pane in or out",
        _MAIN,
        "zoom",
        on=Target.PANE,
        footer=100,
    ),
    Action(
        "look.lanes",
        "L",
        "Show cards in place of lanes, or lanes again",
        _PANES,
        "lanes",
    ),
    Action(
        "look.unfold",
        "U",
        "Show the lanes of its probes, or fold them",
        _CONTAINERS,
        "unfold",
        typed="unfold",
        on=Target.CONTAINER,
        gives_way=True,
    ),
    Action(
        "look.unfold-all",
        "asterisk",
        "Show the lanes of all probes, or fold them",
        _CONTAINERS,
        "unfold_all",
        typed="unfold all",
        on=Target.ALL_PODS,
        gives_way=True,
    ),
    Action(
        "look.longer-cells",
        "minus",
        "Show more time in each cell of the lanes",
        _PANES,
        "cell_time(1)",
        typed="longer cells",
    ),
    Action(
        "look.shorter-cells",
        "plus",
        "Show less time in each cell of the lanes",
        _PANES,
        "cell_time(-1)",
        typed="shorter cells",
    ),
    Action(
        "look.filter",
        "slash",
        "Filter; ! excludes, ~ fuzzy, -l labels",
        _MAIN,
        "filter",
        on=Target.PANE,
        arguments=(Argument("text", takes_rest=True),),
        footer=20,
    ),
    Action(
        "look.sort",
        "o",
        "Sort by worst, name, restarts or next tick",
        _CONTAINERS,
        "sort",
        on=Target.PANE,
        arguments=(Argument("by", tuple(ContainerOrder)),),
    ),
    Action(
        "look.reverse",
        "O",
        "Reverse the sort order",
        _CONTAINERS,
        "reverse",
        on=Target.PANE,
    ),
    Action(
        "look.next-trouble",
        "exclamation_mark",
        "Select the next container in trouble",
        (KeyContext.PANES,),
        "next_trouble",
        word="trouble",
        on=Target.PANE,
        gives_way=True,
    ),
    Action(
        "look.follow-trouble",
        "F",
        "Select what is in trouble, whichever that is",
        (KeyContext.PANES,),
        "follow_trouble",
        word="follow trouble",
        on=Target.PANE,
        gives_way=True,
    ),
    Action(
        "look.back",
        "escape",
        "Show all panes, or clear the filter",
        _MAIN,
        "back",
        typed="all panes",
        word="back",
    ),
    Action(
        "look.follow",
        "a,end",
        "Follow new lines",
        _FOLLOWING,
        "follow",
        on=Target.PANE,
        footer=25,
    ),
    Action(
        "look.faults",
        "f",
        "Show warnings only, or all events",
        _EVENTS,
        "faults",
        typed="warnings",
        on=Target.PANE,
        footer=26,
    ),
    Action(
        "look.state-lines",
        "h",
        "Show or hide status changes in the events",
        (KeyContext.EVENT_LOG, KeyContext.PANES),
        "state_lines",
        typed="status changes",
        word="state",
    ),
    Action(
        "look.theme",
        "",
        "Set the theme",
        _PROGRAM,
        "set_theme",
        arguments=(
            Argument(
                "name",
                lambda now: theme_names(now.options.themes),
                is_required=True,
            ),
        ),
    ),
    Action(
        "look.time",
        "u",
        "Switch times: clock, since start, ago",
        _PROGRAM,
        "time_format",
        typed="time format",
        word="time",
    ),
)
