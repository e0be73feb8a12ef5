"""What a person may choose about the screen, apart from what it shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import tzinfo
from pathlib import Path

from msgspec import Struct, field
from textual.theme import Theme

from probetui.analysis.reproduce import LOCAL_REACH, CommandLineReach
from probetui.k8s.service import Service
from probetui.presentation.header import SessionInfo

Keymap = Mapping[str, str]
"""Keys as Textual names them, with commas, by the ids of actions."""


class ScreenOptions(Struct, frozen=True):
    """How the screen looks and what its keys may do.

    `pause_opens_step` lets a pause on the main screen go on to where ticks are stepped.
    `theme` None is what Textual's variable names, else our own for a dark background;
    `themes` are those of the user. `keymap` has other keys for actions. `zone` None is
    the zone of this machine. `show_secrets` shows values whose names say that they are
    secret. `reach` is for commands to try by hand. `sources` names the manifests,
    `record` the file that everything is written to; both may be empty.
    """

    ascii: bool = False
    motion: bool = True
    mouse: bool = True
    pause_opens_step: bool = False
    theme: str | None = None
    follows_terminal: bool = False
    """Whether `theme` is corrected once the terminal has reported its background."""

    themes: Sequence[Theme] = ()
    keymap: Keymap = field(default_factory=dict)
    read_only: bool = False
    show_secrets: bool = False
    title: str = "probetui"
    screenshot_folder: Path = Path()
    zone: tzinfo | None = None
    reach: CommandLineReach = LOCAL_REACH
    sources: Sequence[str] = ()
    record: str = ""
    services: tuple[Service, ...] = ()
    isolated: bool = True

    @property
    def about(self) -> SessionInfo:
        """What the header says of the session besides its snapshots."""
        return SessionInfo(self.sources, self.record, self.read_only, self.isolated)
