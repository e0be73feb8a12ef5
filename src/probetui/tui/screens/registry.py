"""Screens and services by name, imported when they are first used.

Importing all of them takes 50 ms, and the first screen needs none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def late(module: str, name: str, **options: bool | str) -> Callable[..., Any]:
    """Return a function that imports `name` from a module of `tui/` and calls it."""

    def call(*arguments: object, **named: object) -> Any:
        made = getattr(import_module(f"probetui.tui.{module}"), name)
        return made(*arguments, **named, **options)

    return call


SCREEN_FACTORIES: Mapping[str, Callable[..., Any]] = {
    "events": late("screens.events", "EventsScreen"),
    "logs": late("screens.logs", "LogsScreen"),
    "previous-logs": late("screens.logs", "LogsScreen", is_previous=True),
    "explain": late("screens.pod_pages", "open_page", page="explain"),
    "describe": late("screens.pod_pages", "open_page", page="describe"),
    "node": late("screens.pod_pages", "open_page", page="node"),
    "yaml": late("screens.pod_pages", "open_page", page="yaml"),
    "container": late("screens.container", "ContainerScreen"),
    "gates": late("screens.container", "ContainerScreen", is_at_gates=True),
    "probe-output": late("screens.answers", "ProbeOutputScreen"),
    "why": late("screens.answers", "WhyScreen"),
    "step": late("screens.step", "StepScreen"),
    "inject": late("screens.result_injection", "ResultInjectionScreen"),
    "break": late("screens.fault_injection", "FaultInjectionScreen"),
    "edit": late("screens.edit", "EditScreen"),
}
"""What `app.show_screen('name')` opens with the UI state; typed words follow it."""

open_help = late("screens.help", "HelpScreen")
open_command_line = late("screens.command_line", "CommandLine")
open_question = late("screens.dialogs", "QuestionScreen")
open_choice = late("screens.dialogs", "ChoiceScreen")
open_lesson_change = late("screens.dialogs", "LessonChangeScreen")
