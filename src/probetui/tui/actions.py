"""The table of everything that a person can do, by key or by name.

Bindings, the footer, the help, the `:` line and the palette are all made from it. To
add an action:

1. Put a row into the module of `action_tables/` for its group. `action.py` says what
   each field is. Its id is `group.name` and stays for ever, because people's key maps
   name it; its name is what is typed after `:`.
2. Say what it does, in one of these ways:
   - `gives=lambda now, words: Mute(now.probe.key)`: a command for the engine;
   - `act="faults"`: `action_faults` of the class that has the place in `PLACES`;
   - `act="app.show_screen('why')"`: a screen; `screens/catalogue.py` says which.
   Words typed after the name follow the parameters: `def action_seek(self, to="")`.
3. Say where its keys work (`where`), what it acts on (`on`), and when (`when`, a pure
   function of `Circumstances`; that there is what it acts on needs no saying).
4. A new place: a member of `Where`, a line in `TOGETHER`, and in the class of the
   screen or widget `PLACES = (Where.PANE, Where.NEW)` and `BINDINGS =
   bindings(*PLACES)`.

Nothing else is needed: the tests walk the table.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from textual.actions import parse
from textual.binding import Binding, BindingType

from probetui.tui.action import Action, Where
from probetui.tui.action_tables.answering import ANSWERING
from probetui.tui.action_tables.experimenting import EXPERIMENTING
from probetui.tui.action_tables.looking import LOOKING
from probetui.tui.action_tables.moving import MOVING
from probetui.tui.action_tables.playing import PLAYING
from probetui.tui.action_tables.program import PROGRAM
from probetui.tui.action_tables.reading import READING
from probetui.tui.action_tables.running import RUNNING
from probetui.tui.action_tables.understanding import UNDERSTANDING

ACTIONS: tuple[Action, ...] = (
    *MOVING,
    *LOOKING,
    *READING,
    *UNDERSTANDING,
    *RUNNING,
    *PLAYING,
    *EXPERIMENTING,
    *PROGRAM,
    *ANSWERING,
)

BY_ID = {each.id: each for each in ACTIONS}

TOGETHER: tuple[tuple[Where, ...], ...] = (
    (Where.PANE, Where.CONTAINERS, Where.MAIN, Where.PANES, Where.PROGRAM),
    (
        Where.PANE,
        Where.ENTRIES,
        Where.FOLLOWING,
        Where.EVENTS,
        Where.MAIN,
        Where.PANES,
        Where.PROGRAM,
    ),
    (
        Where.PANE,
        Where.ENTRIES,
        Where.FOLLOWING,
        Where.EVENTS,
        Where.EVENT_LIST,
        Where.EVENT_LOG,
        Where.READING,
        Where.PROGRAM,
    ),
    (
        Where.PANE,
        Where.ENTRIES,
        Where.FOLLOWING,
        Where.LOG,
        Where.READING,
        Where.PROGRAM,
    ),
    (Where.PANE, Where.TICKS, Where.MAIN, Where.PANES, Where.PROGRAM),
    (Where.PANE, Where.ANSWER, Where.PROGRAM),
    (Where.FILTER,),
    (Where.COMMAND_LINE,),
    (Where.PANE, Where.QUESTION),
    (Where.PANE, Where.CHOICE),
    (Where.PANE, Where.STEPS, Where.PROGRAM),
    (Where.PANE, Where.MENU, Where.MENU_SCREEN, Where.TIMING),
    (Where.PANE, Where.HELP),
)
"""Places whose keys work at the same time; no two of those may mean two things."""


Call = tuple[str, tuple[object, ...]]


def _calls(action: Action) -> Iterator[Call]:
    _, name, parameters = parse(action.call)
    yield name, parameters
    if action.gives is not None:
        yield "give", (action.id,)


# Where two actions do the same, the one that works everywhere stands for both.
_BY_CALL = {
    call: each
    for each in sorted(ACTIONS, key=lambda each: each.is_priority)
    for call in _calls(each)
}


def bindings(*places: Where) -> list[BindingType]:
    """Return what Textual needs to know of the keys of some places."""
    return [
        Binding(
            each.keys,
            each.call,
            each.word,
            id=each.id,
            tooltip=each.tooltip,
            show=bool(each.footer),
            priority=each.is_priority,
        )
        for each in ACTIONS
        if each.keys and set(each.where) & set(places)
    ]


def action_called(name: str, parameters: Iterable[object]) -> Action | None:
    """Return the action that Textual is about to run, None if it is not of the table.

    Args:
        name: the action's name without `app.` or `screen.`.
        parameters: its parameters; typed words may follow those of the table.
    """
    given = tuple(parameters)
    for length in range(len(given), -1, -1):
        if (found := _BY_CALL.get((name, given[:length]))) is not None:
            return found
    return None
