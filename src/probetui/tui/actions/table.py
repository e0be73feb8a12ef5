"""The table of everything that the user can do, by key or by name.

Bindings, footer, help, the `:` line and the palette are made from it. To add an action:

1. Put a row into the module of its group in this package. `action.py` explains the
   fields. The id is `group.name` and never changes, because key maps use it.
2. Define what it does, in one of these ways:
   - `build_command=lambda now, words: Mute(now.probe.key)`: a command for the engine;
   - `act="faults"`: `action_faults` of the class that has `where` in `KEY_CONTEXTS`;
   - `act="app.show_screen('why')"`: a screen of `screens/registry.py`.
   Typed arguments follow the parameters: `def action_seek(self, to="")`.
3. Define where its keys work (`where`), what it acts on (`on`), and when it is possible
   (`when`, a pure function of `ActionContext`; without its target it is off anyway).
4. A new context needs a member of `KeyContext`, a line in `OVERLAPPING_CONTEXTS`, and
   in the class of the screen or widget `KEY_CONTEXTS = (KeyContext.PANE,
   KeyContext.NEW)` and `BINDINGS = bindings(*KEY_CONTEXTS)`.

The tests walk the table; nothing else is needed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from textual.actions import parse
from textual.binding import Binding, BindingType

from probetui.tui.actions.action import Action, KeyContext
from probetui.tui.actions.control import CONTROL_ACTIONS, PLAYBACK_ACTIONS
from probetui.tui.actions.experiments import EXPERIMENT_ACTIONS
from probetui.tui.actions.navigation import DISPLAY_ACTIONS, NAVIGATION_ACTIONS
from probetui.tui.actions.program import DIALOG_ACTIONS, PROGRAM_ACTIONS
from probetui.tui.actions.reading import EXPLANATION_ACTIONS, READING_ACTIONS

ACTIONS: tuple[Action, ...] = (
    *NAVIGATION_ACTIONS,
    *DISPLAY_ACTIONS,
    *READING_ACTIONS,
    *EXPLANATION_ACTIONS,
    *CONTROL_ACTIONS,
    *PLAYBACK_ACTIONS,
    *EXPERIMENT_ACTIONS,
    *PROGRAM_ACTIONS,
    *DIALOG_ACTIONS,
)

ACTIONS_BY_ID = {action.id: action for action in ACTIONS}

OVERLAPPING_CONTEXTS: tuple[tuple[KeyContext, ...], ...] = (
    (
        KeyContext.PANE,
        KeyContext.CONTAINERS,
        KeyContext.MAIN,
        KeyContext.PANES,
        KeyContext.PROGRAM,
    ),
    (
        KeyContext.PANE,
        KeyContext.ENTRIES,
        KeyContext.FOLLOWING,
        KeyContext.EVENTS,
        KeyContext.MAIN,
        KeyContext.PANES,
        KeyContext.PROGRAM,
    ),
    (
        KeyContext.PANE,
        KeyContext.ENTRIES,
        KeyContext.FOLLOWING,
        KeyContext.EVENTS,
        KeyContext.EVENT_LIST,
        KeyContext.EVENT_LOG,
        KeyContext.READING,
        KeyContext.PROGRAM,
    ),
    (
        KeyContext.PANE,
        KeyContext.ENTRIES,
        KeyContext.FOLLOWING,
        KeyContext.LOG,
        KeyContext.READING,
        KeyContext.PROGRAM,
    ),
    (
        KeyContext.PANE,
        KeyContext.TICKS,
        KeyContext.MAIN,
        KeyContext.PANES,
        KeyContext.PROGRAM,
    ),
    (KeyContext.PANE, KeyContext.ANSWER, KeyContext.PROGRAM),
    (KeyContext.STAGE, KeyContext.PROGRAM),
    (KeyContext.JUMP,),
    (KeyContext.FILTER,),
    (KeyContext.COMMAND_LINE,),
    (KeyContext.PANE, KeyContext.QUESTION),
    (KeyContext.QUESTION, KeyContext.LEAVING),
    (KeyContext.PANE, KeyContext.CHOICE),
    (KeyContext.PANE, KeyContext.STEPS, KeyContext.PROGRAM),
    (KeyContext.PANE, KeyContext.MENU, KeyContext.MENU_SCREEN, KeyContext.TIMING),
    (KeyContext.PANE, KeyContext.HELP),
)
"""Contexts whose keys work at the same time, so that no key may have two meanings."""


Call = tuple[str, tuple[object, ...]]


def _calls(action: Action) -> Iterator[Call]:
    _, name, parameters = parse(action.call)
    yield name, parameters
    if action.build_command is not None:
        yield "give", (action.id,)


# If two actions make the same call, the one that works everywhere stands for both.
_BY_CALL = {
    call: action
    for action in sorted(ACTIONS, key=lambda action: action.is_priority)
    for call in _calls(action)
}


def bindings(*places: KeyContext) -> list[BindingType]:
    """Return Textual's bindings of the keys in some contexts."""
    return [
        Binding(
            action.keys,
            action.call,
            action.footer_text,
            id=action.id,
            tooltip=action.tooltip,
            show=bool(action.footer),
            priority=action.is_priority,
        )
        for action in ACTIONS
        if action.keys and set(action.where) & set(places)
    ]


def find_action(name: str, parameters: Iterable[object]) -> Action | None:
    """Return the action that Textual is about to run, None if it is not in the table.

    Args:
        name: the action's name without `app.` or `screen.`.
        parameters: its parameters; typed arguments may follow those of the table.
    """
    given = tuple(parameters)
    for length in range(len(given), -1, -1):
        if (action := _BY_CALL.get((name, given[:length]))) is not None:
            return action
    return None
