"""What small apps share: our themes, and the looks of roles in their style sheets."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path, PurePath
from typing import ClassVar

from textual.app import App, ReturnType
from textual.theme import Theme

from probetui.tui.styled_text import STYLE_CLASSES
from probetui.tui.themes import DARK, OWN_THEMES, role_variables, without_hues

_STYLES = Path(__file__).parent / "styles"


class ThemedApp(App[ReturnType], inherit_bindings=False):
    """An app without a session, in our looks.

    Args:
        theme: the name of a theme, None for that of a dark terminal.
        themes: of the user.
    """

    CSS_PATH: ClassVar[list[str | PurePath]] = [_STYLES / "app.tcss"]
    COMPONENT_CLASSES: ClassVar[set[str]] = set(STYLE_CLASSES)
    ENABLE_COMMAND_PALETTE = False

    def __init__(self, theme: str | None = None, themes: Sequence[Theme] = ()) -> None:
        super().__init__()
        for own in (*OWN_THEMES, *themes):
            self.register_theme(own)
        self.theme = theme if theme in self.available_themes else DARK
        self.animation_level = "none"

    def get_css_variables(self) -> dict[str, str]:
        """Add the colours of roles to the theme's variables."""
        theme = super().get_css_variables()
        roles = role_variables(theme)
        return {**theme, **(without_hues(roles) if self.no_color else roles)}
