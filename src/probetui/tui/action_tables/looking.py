"""What is shown, and how."""

from __future__ import annotations

from probetui.tui.action import Action, Argument, Circumstances, On, Where
from probetui.tui.themes import theme_names


def _has_several_probes(now: Circumstances) -> bool:
    return len(now.container.probes) > 1


LOOKING = (
    Action(
        "look.open",
        "enter",
        "open",
        "open",
        "Show it in full",
        (Where.MAIN,),
        "open",
        on=On.PANE,
    ),
    Action(
        "look.previous-probe",
        "left_square_bracket",
        "probe before",
        "previous probe",
        "The container's probe before",
        (Where.MAIN,),
        "probe(-1)",
        on=On.CONTAINER,
        when=_has_several_probes,
    ),
    Action(
        "look.next-probe",
        "right_square_bracket",
        "next probe",
        "next probe",
        "The container's next probe",
        (Where.MAIN,),
        "probe(1)",
        on=On.CONTAINER,
        when=_has_several_probes,
    ),
    Action(
        "look.events",
        "v",
        "events",
        "events",
        "All events",
        (Where.MAIN,),
        "app.show_screen('events')",
        on=On.ALL_PODS,
        arguments=(Argument("what", ("all", "cluster", "folded")),),
        footer=90,
    ),
    Action(
        "look.zoom",
        "z",
        "zoom",
        "zoom",
        "This pane alone, and back",
        (Where.MAIN,),
        "zoom",
        on=On.PANE,
        footer=100,
    ),
    Action(
        "look.filter",
        "slash",
        "filter",
        "filter",
        "Filter; ! for all others",
        (Where.MAIN,),
        "filter",
        on=On.PANE,
        arguments=(Argument("text", takes_rest=True),),
        footer=20,
    ),
    Action(
        "look.back",
        "escape",
        "back",
        "all panes",
        "All panes again, or no filter",
        (Where.MAIN,),
        "back",
    ),
    Action(
        "look.follow",
        "a,end",
        "follow",
        "follow",
        "Follow new lines",
        (Where.FOLLOWING,),
        "follow",
        on=On.PANE,
        footer=25,
    ),
    Action(
        "look.faults",
        "f",
        "faults",
        "faults",
        "Faults only, and back",
        (Where.EVENTS,),
        "faults",
        on=On.PANE,
        footer=26,
    ),
    Action(
        "look.theme",
        "",
        "theme",
        "theme",
        "Other colours",
        (Where.PROGRAM,),
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
        "time",
        "time format",
        "Times: since start, ago",
        (Where.PROGRAM,),
        "time_format",
    ),
)
