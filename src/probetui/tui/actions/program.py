"""Actions of the program itself (help, palette, files, quit), and of dialogs."""

from __future__ import annotations

from probetui.debugger.commands import Bookmark
from probetui.tui.actions.action import Action, Argument, KeyContext, Target

_CHOICE = (KeyContext.CHOICE,)
_COMMAND_LINE = (KeyContext.COMMAND_LINE,)
_FILTER = (KeyContext.FILTER,)
_HELP = (KeyContext.HELP,)
_JUMP = (KeyContext.JUMP,)
_LEAVING = (KeyContext.LEAVING,)
_MAIN = (KeyContext.MAIN,)
_PROGRAM = (KeyContext.PROGRAM,)
_QUESTION = (KeyContext.QUESTION,)


PROGRAM_ACTIONS = (
    Action(
        "app.help",
        "question_mark,f1",
        "Show keys and marks",
        _PROGRAM,
        "help",
        footer=10,
    ),
    Action(
        "app.command",
        "colon",
        "Run an action by name",
        _PROGRAM,
        "command_line",
        word="cmd",
        on=Target.PROGRAM,
        footer=15,
    ),
    Action(
        "app.palette",
        "ctrl+p",
        "Find an action by name",
        _PROGRAM,
        "command_palette",
        on=Target.PROGRAM,
        is_priority=True,
    ),
    Action(
        "app.screenshot",
        "f8",
        "Save a picture of the screen (SVG)",
        _PROGRAM,
        "save_picture",
        word="picture",
        arguments=(Argument("form", ("svg", "txt")),),
        is_local=True,
    ),
    Action("app.mouse", "", "Toggle mouse capture", _PROGRAM, "mouse"),
    Action(
        "app.suspend",
        "ctrl+z",
        "Suspend to the shell; fg returns",
        _PROGRAM,
        "suspend_process",
        on=Target.PROGRAM,
        is_local=True,
    ),
    Action(
        "files.copy",
        "c",
        "Copy the line, or what the pane shows",
        (KeyContext.CONTAINERS, KeyContext.TICKS),
        "copy_pane",
        on=Target.PANE,
    ),
    Action(
        "files.copy-as",
        "C",
        "Copy as: output, YAML, JSON, a command",
        _MAIN,
        "app.copy_menu",
        on=Target.CONTAINER,
    ),
    Action(
        "files.bookmark",
        "b",
        "Add a note to the events and the record",
        (KeyContext.MAIN, KeyContext.READING),
        "app.command_line('bookmark ')",
        build_command=lambda _now, words: Bookmark(" ".join(words)),
        on=Target.ALL_PODS,
        arguments=(Argument("text", takes_rest=True),),
    ),
    Action(
        "files.reload",
        "ctrl+r",
        "Reload the manifests; shows changes first",
        _MAIN,
        "app.reload",
        on=Target.ALL_PODS,
        when=lambda now: now.host.reread is not None,
        changes=True,
    ),
    Action(
        "app.copy",
        "ctrl+c",
        "Copy the selection; without any, quit now",
        _PROGRAM,
        "copy_or_quit",
        typed="copy marked",
        word="copy or quit",
    ),
    Action(
        "app.back",
        "q",
        "Show all panes",
        _MAIN,
        "unzoom",
        footer=110,
        shares_keys_of="app.quit",
    ),
    Action(
        "app.quit",
        "q",
        "Quit; asks if pods have run for a minute",
        _PROGRAM,
        "leave",
        on=Target.PROGRAM,
        footer=120,
        aliases=("q",),
    ),
    Action(
        "app.quit-now",
        "ctrl+q",
        "Quit now, without asking",
        _PROGRAM,
        "quit",
        word="quit",
        on=Target.PROGRAM,
        is_priority=True,
        aliases=("q!",),
    ),
)


_LINE = _COMMAND_LINE

DIALOG_ACTIONS = (
    Action("app.yes", "y", "Confirm", _QUESTION, "answer(True)", is_listed=False),
    Action(
        "app.no", "n,escape,q", "Cancel", _QUESTION, "answer(False)", is_listed=False
    ),
    Action(
        "app.keep",
        "k",
        "Quit, and keep the pods running",
        _LEAVING,
        "keep",
        is_listed=False,
    ),
    Action(
        "app.interrupt",
        "ctrl+c",
        "Quit now",
        (*_QUESTION, *_CHOICE, *_JUMP),
        "app.quit",
        is_listed=False,
        gives_way=True,
    ),
    Action(
        "app.choose",
        "enter",
        "Choose the selected line",
        _CHOICE,
        "choose",
        is_listed=False,
    ),
    Action(
        "app.close-jump",
        "escape,q",
        "Go nowhere",
        _JUMP,
        "dismiss(None)",
        word="close",
        is_listed=False,
    ),
    Action(
        "app.close-menu",
        "escape,q",
        "Close without a choice",
        _CHOICE,
        "dismiss(None)",
        word="close",
        is_listed=False,
    ),
    Action(
        "app.complete",
        "tab",
        "Complete with the next suggestion",
        _LINE,
        "complete(1)",
        is_listed=False,
    ),
    Action(
        "app.complete-back",
        "shift+tab",
        "Complete with the previous suggestion",
        _LINE,
        "complete(-1)",
        is_listed=False,
    ),
    Action(
        "app.older",
        "up",
        "Recall the previous line",
        _LINE,
        "history(-1)",
        is_listed=False,
    ),
    Action(
        "app.newer",
        "down",
        "Recall the next line",
        _LINE,
        "history(1)",
        is_listed=False,
    ),
    Action(
        "app.close-line",
        "escape",
        "Close without running anything",
        _LINE,
        "dismiss(None)",
        word="close",
        is_listed=False,
    ),
    Action(
        "look.clear-filter",
        "escape",
        "Clear the filter",
        _FILTER,
        "clear",
        word="clear",
        is_listed=False,
    ),
    Action(
        "app.close-help",
        "escape,q,question_mark,f1",
        "Close the help",
        _HELP,
        "close",
        word="close",
        is_listed=False,
    ),
    Action(
        "look.search-keys",
        "slash",
        "Search keys by what they do",
        _HELP,
        "filter",
        word="search",
        is_listed=False,
    ),
)
