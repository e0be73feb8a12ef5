"""The screens that actions open, by the names that the table has for them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from textual.screen import Screen

from probetui.tui.screens.container import ContainerScreen
from probetui.tui.screens.describe import DescribeScreen
from probetui.tui.screens.events import EventsScreen
from probetui.tui.screens.logs import LogsScreen
from probetui.tui.screens.probe_output import ProbeOutputScreen
from probetui.tui.screens.why import WhyScreen
from probetui.tui.screens.yaml import YamlScreen

SCREENS: Mapping[str, Callable[..., Screen[None]]] = {
    "events": EventsScreen,
    "logs": LogsScreen,
    "previous-logs": partial(LogsScreen, is_previous=True),
    "describe": DescribeScreen,
    "yaml": YamlScreen,
    "container": ContainerScreen,
    "probe-output": ProbeOutputScreen,
    "why": WhyScreen,
}
"""What `app.show_screen('name')` makes of the stage and puts on the screen.

Words that are typed after the action's name follow the stage.
"""
