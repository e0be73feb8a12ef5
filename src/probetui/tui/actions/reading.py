"""Actions for lists and pages of text, and for explanations."""

from __future__ import annotations

from collections.abc import Iterator

from probetui.kubelet.journal import ExitCause
from probetui.tui.actions.action import (
    Action,
    ActionContext,
    Argument,
    KeyContext,
    PaletteEntry,
    Target,
    target_text,
)

_ANSWER = (KeyContext.ANSWER,)
_ENTRIES = (KeyContext.ENTRIES,)
_EVENT_LIST = (KeyContext.EVENT_LIST,)
_EVENT_LOG = (KeyContext.EVENT_LOG,)
_LOG = (KeyContext.LOG,)
_MAIN = (KeyContext.MAIN,)
_PROGRAM = (KeyContext.PROGRAM,)
_READING = (KeyContext.READING,)
_STAGE = (KeyContext.STAGE,)
_LANES = (KeyContext.CONTAINERS, KeyContext.TICKS)


def _has_logs(now: ActionContext) -> bool:
    return now.host.logs is not None


READING_ACTIONS = (
    Action(
        "move.output",
        "4",
        "Go to the output pane",
        _MAIN,
        "pane('output')",
        typed="output pane",
        word="output",
        on=Target.CONTAINER,
    ),
    Action(
        "move.trace",
        "5",
        "Go to the decision trace",
        _MAIN,
        "pane('trace')",
        typed="trace pane",
        word="trace",
        on=Target.CONTAINER,
    ),
    Action(
        "look.describe",
        "d",
        "Describe the pod as kubectl does",
        _MAIN,
        "app.show_screen('describe')",
        on=Target.POD,
    ),
    Action(
        "look.node",
        "D",
        "Describe the node: runtime, sources, pod workers, images",
        _MAIN,
        "app.show_screen('node')",
        on=Target.ALL_PODS,
    ),
    Action(
        "look.yaml",
        "y",
        "Show the pod as YAML, with its defaults",
        _MAIN,
        "app.show_screen('yaml')",
        on=Target.POD,
        footer=96,
    ),
    Action(
        "look.logs",
        "l",
        "Show the log of the container",
        _MAIN,
        "app.show_screen('logs')",
        on=Target.CONTAINER,
        footer=94,
        aliases=("log",),
    ),
    Action(
        "look.previous-logs",
        "p",
        "Show the log of the previous instance",
        _MAIN,
        "app.show_screen('previous-logs')",
        on=Target.CONTAINER,
        when=_has_logs,
    ),
    Action(
        "files.export",
        "",
        "Write the state of all probes to a file",
        _PROGRAM,
        "app.export",
        on=Target.ALL_PODS,
        arguments=(Argument("form", ("json",)),),
        is_local=True,
    ),
    Action(
        "look.current-instance",
        "l",
        "Show the log of the current instance",
        _LOG,
        "instance('current')",
        word="current",
        footer=88,
    ),
    Action(
        "look.previous-instance",
        "p",
        "Show the log of the previous instance",
        _LOG,
        "instance('previous')",
        word="previous",
        footer=90,
    ),
    Action(
        "look.search",
        "slash",
        "Filter or search; ! excludes, ~ fuzzy",
        _READING,
        "filter",
        word="filter",
        on=Target.PANE,
        arguments=(Argument("text", takes_rest=True),),
        footer=20,
    ),
    Action(
        "look.next-hit",
        "n",
        "Go to the next match, in lanes to the next change",
        (KeyContext.ENTRIES, KeyContext.CONTAINERS, KeyContext.TICKS),
        "hit(1)",
        on=Target.PANE,
    ),
    Action(
        "look.previous-hit",
        "N",
        "Go to the previous match, in lanes to the one before",
        (KeyContext.ENTRIES, KeyContext.CONTAINERS, KeyContext.TICKS),
        "hit(-1)",
        on=Target.PANE,
    ),
    Action(
        "look.wrap",
        "W",
        "Wrap long lines, or cut them",
        _ENTRIES,
        "wrap",
        on=Target.PANE,
        footer=84,
    ),
    Action(
        "look.copy",
        "c",
        "Copy the line",
        _ENTRIES,
        "copy",
        typed="copy line",
        word="copy",
        on=Target.PANE,
        footer=92,
    ),
    Action(
        "look.copy-as",
        "C",
        "Copy as kubectl describe shows it",
        _EVENT_LIST,
        "copy_as",
        typed="copy as kubectl",
        word="copy as",
        on=Target.PANE,
    ),
    Action(
        "look.folded",
        "F",
        "Show what a cluster would show, or all",
        _EVENT_LOG,
        "folded",
        footer=82,
    ),
    Action(
        "look.all-pods",
        "0",
        "Show events of all pods or of the selected one",
        (KeyContext.EVENT_LOG, KeyContext.PANES),
        "all_pods",
    ),
    Action(
        "look.jump",
        "enter",
        "Go to the tick behind the event",
        _EVENT_LOG,
        "jump",
        typed="to the tick",
        footer=86,
    ),
    Action(
        "look.leave",
        "escape",
        "Clear the filter, or go back",
        _READING,
        "back",
        word="back",
    ),
    Action(
        "app.leave",
        "q",
        "Go back",
        _READING,
        "leave",
        typed="back to the panes",
        word="back",
        footer=110,
        shares_keys_of="app.quit",
    ),
)


def _has_ticks(now: ActionContext) -> bool:
    return bool(now.probe.history)


def _has_output(now: ActionContext) -> bool:
    return now.probe.last_run is not None


def _questions(now: ActionContext) -> Iterator[PaletteEntry]:
    where = target_text(Target.CONTAINER, now)
    last_exit = now.container.last_exit
    if last_exit is None:
        yield PaletteEntry(f"Why: the last decision about {where}")
    elif last_exit.by is ExitCause.ITSELF:
        yield PaletteEntry(f"Why did {where} end last time?")
    else:
        yield PaletteEntry(f"Why was {where} killed last time?")


def _explanations(now: ActionContext) -> Iterator[PaletteEntry]:
    where = target_text(Target.CONTAINER, now)
    kinds = [probe.key.probe_type.lower() for probe in now.container.probes]
    if not kinds:
        yield PaletteEntry(f"Explain: {where}, which has no probe")
    for kind in kinds:
        yield PaletteEntry(f"Explain: {kind} timing of {where}")
    for kind in kinds:
        yield PaletteEntry(f"Help: what does {kind} mean here")


EXPLANATION_ACTIONS = (
    Action(
        "look.why",
        "w",
        "Explain this tick, the last exit, the wait",
        _MAIN,
        "app.show_screen('why')",
        on=Target.CONTAINER,
        footer=56,
        palette_entries=_questions,
    ),
    Action(
        "look.present",
        "P",
        "Show the selected probe to an audience",
        _MAIN,
        "app.show_screen('present')",
        on=Target.CONTAINER,
        gives_way=True,
    ),
    Action(
        "look.why-line",
        "w",
        "Explain the tick behind the line, the last exit",
        _EVENT_LOG,
        "why",
        typed="why this line",
        word="why",
        on=Target.CONTAINER,
        footer=28,
    ),
    Action(
        "look.explain",
        "",
        "Explain the container's probes in words and numbers",
        _MAIN,
        "app.show_screen('explain')",
        on=Target.CONTAINER,
        palette_entries=_explanations,
    ),
    Action(
        "look.container",
        "",
        "Show all instances and the selected probe in full",
        _MAIN,
        "app.show_screen('container')",
        on=Target.CONTAINER,
    ),
    Action(
        "look.probe-output",
        "",
        "Show the full output of the last probe",
        _MAIN,
        "app.show_screen('probe-output')",
        word="output",
        on=Target.PROBE,
        when=_has_output,
    ),
    Action(
        "look.older-tick",
        "left",
        "Select the previous tick",
        _MAIN,
        "tick(-1)",
        on=Target.PROBE,
        when=_has_ticks,
    ),
    Action(
        "look.newer-tick",
        "right",
        "Select the next tick, or follow",
        _MAIN,
        "tick(1)",
        on=Target.PROBE,
        when=_has_ticks,
    ),
    Action(
        "look.first-tick",
        "home",
        "Select the first tick of the session",
        _LANES,
        "first_tick",
        on=Target.PROBE,
        when=_has_ticks,
    ),
    Action(
        "look.newest-tick",
        "end",
        "Go back to now: select the newest tick and follow",
        _LANES,
        "newest_tick",
        on=Target.PROBE,
        when=_has_ticks,
    ),
    Action(
        "look.copy-answer",
        "c",
        "Copy the command to repeat the probe, or the output",
        _ANSWER,
        "copy_answer",
        word="copy",
        on=Target.PROBE,
        footer=92,
        is_listed=False,
    ),
    Action(
        "look.close-answer",
        "escape",
        "Go back",
        _ANSWER,
        "close",
        word="back",
        is_listed=False,
    ),
    Action(
        "app.close-answer",
        "q",
        "Go back",
        _ANSWER,
        "close",
        typed="back from answer",
        word="back",
        footer=110,
        shares_keys_of="app.quit",
        is_listed=False,
    ),
    Action(
        "look.close-present",
        "escape,P",
        "Go back",
        _STAGE,
        "close",
        typed="back from presenting",
        word="back",
        is_listed=False,
    ),
    Action(
        "app.close-present",
        "q",
        "Go back",
        _STAGE,
        "close",
        typed="end the presentation",
        word="back",
        footer=110,
        shares_keys_of="app.quit",
        is_listed=False,
    ),
)
