"""The screens that actions open, by the names that the table has for them."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from textual.screen import Screen

from probetui.tui.screens.container import ContainerScreen
from probetui.tui.screens.probe_output import ProbeOutputScreen
from probetui.tui.screens.why import WhyScreen
from probetui.tui.stage import Stage

SCREENS: Mapping[str, Callable[[Stage], Screen[None]]] = {
    "container": ContainerScreen,
    "probe-output": ProbeOutputScreen,
    "why": WhyScreen,
}
"""What `app.show_screen('name')` puts on the screen."""
