"""What a person may choose about the screen, apart from what it shows."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import tzinfo
from pathlib import Path

from textual.theme import BUILTIN_THEMES


@dataclass(frozen=True, slots=True)
class ScreenOptions:
    """How the screen looks and what its keys may do.

    `theme` None leaves Textual's default. `zone` None is the zone of this machine.
    `show_secrets` shows values whose names say that they are secret.
    """

    ascii: bool = False
    motion: bool = True
    mouse: bool = True
    theme: str | None = None
    read_only: bool = False
    show_secrets: bool = False
    title: str = "probetui"
    screenshot_folder: Path = Path()
    zone: tzinfo | None = None


def theme_names() -> tuple[str, ...]:
    """Return the themes that `ScreenOptions.theme` may name, in order."""
    return tuple(sorted(BUILTIN_THEMES))
