"""Screens by name, imported when they are first opened.

Importing all of them takes 50 ms, and the first screen needs none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from textual.screen import Screen

if TYPE_CHECKING:
    from probetui.presentation.text.spans import Line
    from probetui.presentation.tick.marks import MarkSet
    from probetui.tui.actions.command_parser import TypedCommand
    from probetui.tui.actions.key_labels import KeyLabel
    from probetui.tui.host_services import CurrentLesson
    from probetui.tui.options import ScreenOptions
    from probetui.tui.screens.jump import JumpTarget, Places
    from probetui.tui.state import UiState


def open_events(ui_state: UiState, what: str = "") -> Screen[None]:
    """Open the event log, or the part of it that `what` names."""
    from probetui.tui.screens.events import EventsScreen

    return EventsScreen(ui_state, what)


def _open_logs(ui_state: UiState, *, is_previous: bool = False) -> Screen[None]:
    """Open the log of the selected container, or of its previous instance."""
    from probetui.tui.screens.logs import LogsScreen

    return LogsScreen(ui_state, is_previous=is_previous)


def _open_page(ui_state: UiState, *, page: str) -> Screen[None]:
    """Open a page of the selected pod."""
    from probetui.tui.screens.pod_pages import open_page

    return open_page(ui_state, page)


def _open_container(ui_state: UiState, *, is_at_gates: bool = False) -> Screen[None]:
    """Open the page of the selected container, or its decision trace."""
    from probetui.tui.screens.container import ContainerScreen

    return ContainerScreen(ui_state, is_at_gates=is_at_gates)


def _open_probe_output(ui_state: UiState) -> Screen[None]:
    """Open the output of the selected probe."""
    from probetui.tui.screens.answers import ProbeOutputScreen

    return ProbeOutputScreen(ui_state)


def _open_why(ui_state: UiState) -> Screen[None]:
    """Open the explanation of the selected container's state."""
    from probetui.tui.screens.answers import WhyScreen

    return WhyScreen(ui_state)


def _open_present(ui_state: UiState) -> Screen[None]:
    """Open the selected probe for an audience."""
    from probetui.tui.screens.present import PresentScreen

    return PresentScreen(ui_state)


def _open_step(ui_state: UiState) -> Screen[None]:
    """Open step mode."""
    from probetui.tui.screens.step import StepScreen

    return StepScreen(ui_state)


def _open_injection(ui_state: UiState) -> Screen[None]:
    """Open the menu of results to inject."""
    from probetui.tui.screens.result_injection import ResultInjectionScreen

    return ResultInjectionScreen(ui_state)


def _open_faults(ui_state: UiState) -> Screen[None]:
    """Open the menu of faults and break-points."""
    from probetui.tui.screens.fault_injection import FaultInjectionScreen

    return FaultInjectionScreen(ui_state)


def _open_edit(ui_state: UiState) -> Screen[None]:
    """Open the editor of the selected probe's timing."""
    from probetui.tui.screens.edit import EditScreen

    return EditScreen(ui_state)


SCREEN_OPENERS: Mapping[str, Callable[[UiState], Screen[None]]] = {
    "events": open_events,
    "logs": _open_logs,
    "previous-logs": partial(_open_logs, is_previous=True),
    "explain": partial(_open_page, page="explain"),
    "describe": partial(_open_page, page="describe"),
    "node": partial(_open_page, page="node"),
    "yaml": partial(_open_page, page="yaml"),
    "container": _open_container,
    "gates": partial(_open_container, is_at_gates=True),
    "probe-output": _open_probe_output,
    "why": _open_why,
    "present": _open_present,
    "step": _open_step,
    "inject": _open_injection,
    "break": _open_faults,
    "edit": _open_edit,
}
"""The screens that `app.show_screen('name')` opens."""


def open_help(
    name: str,
    labels: Sequence[KeyLabel],
    marks: MarkSet,
    *,
    is_ascii: bool,
    is_isolated: bool,
) -> Screen[str | None]:
    """Open the help for a pane; dismissed with the key that is pressed."""
    from probetui.tui.screens.help import HelpScreen

    return HelpScreen(name, labels, marks, is_ascii=is_ascii, is_isolated=is_isolated)


def open_command_line(
    ui_state: UiState, history: list[str], begun: str = ""
) -> Screen[TypedCommand | None]:
    """Open the command line with `begun` as the initial text."""
    from probetui.tui.screens.command_line import CommandLine

    return CommandLine(ui_state, history, begun)


def open_question(question: Sequence[Line], *, is_ascii: bool) -> Screen[bool]:
    """Ask for a confirmation."""
    from probetui.tui.screens.dialogs import QuestionScreen

    return QuestionScreen(question, is_ascii=is_ascii)


def open_leave_question(
    names: Sequence[str], keep: Callable[[], None], *, is_ascii: bool
) -> Screen[bool]:
    """Ask whether to stop pods at the end, or to keep them."""
    from probetui.tui.screens.dialogs import LeaveScreen

    return LeaveScreen(names, keep, is_ascii=is_ascii)


def open_jump(places: Callable[[], Places]) -> Screen[JumpTarget | None]:
    """Put a letter on each of some places; dismissed with the target of one."""
    from probetui.tui.screens.jump import JumpScreen

    return JumpScreen(places)


def open_choice(
    name: str, choices: Sequence[tuple[str, str]], *, is_ascii: bool
) -> Screen[int | None]:
    """Open a menu of choices; dismissed with the index of one."""
    from probetui.tui.screens.dialogs import ChoiceScreen

    return ChoiceScreen(name, choices, is_ascii=is_ascii)


def open_lesson_change(
    lesson: CurrentLesson, steps: int, options: ScreenOptions
) -> Screen[None]:
    """Show that a lesson ends and another one starts."""
    from probetui.tui.screens.dialogs import LessonChangeScreen

    return LessonChangeScreen(lesson, steps, options)
