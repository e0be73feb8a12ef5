"""The screens that actions open, by the names that the table has for them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module

from textual.screen import Screen


def _screen(module: str, kind: str, **options: bool) -> Callable[..., Screen[None]]:
    """Return what makes a screen of that kind, and imports its module only then.

    All of them take 50 ms to import, and nobody opens one before the first is there.
    """

    def make(*arguments: object) -> Screen[None]:
        made: Screen[None] = getattr(import_module(f"{__package__}.{module}"), kind)(
            *arguments, **options
        )
        return made

    return make


SCREENS: Mapping[str, Callable[..., Screen[None]]] = {
    "events": _screen("events", "EventsScreen"),
    "logs": _screen("logs", "LogsScreen"),
    "previous-logs": _screen("logs", "LogsScreen", is_previous=True),
    "explain": _screen("explain", "ExplainScreen"),
    "describe": _screen("describe", "DescribeScreen"),
    "yaml": _screen("yaml", "YamlScreen"),
    "container": _screen("container", "ContainerScreen"),
    "probe-output": _screen("probe_output", "ProbeOutputScreen"),
    "why": _screen("why", "WhyScreen"),
    "step": _screen("step", "StepScreen"),
    "inject": _screen("inject", "InjectScreen"),
    "break": _screen("breaking", "BreakScreen"),
    "edit": _screen("edit", "EditScreen"),
}
"""What `app.show_screen('name')` makes of the stage and puts on the screen.

Words that are typed after the action's name follow the stage.
"""
