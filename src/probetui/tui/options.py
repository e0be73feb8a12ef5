"""The options of the screen."""

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
"""Textual's names of keys, separated by commas, by the ids of actions."""


class ScreenOptions(Struct, frozen=True):
    """How the screen looks and what its keys may do.

    `pause_opens_step` makes a pause on the main screen open step mode. `theme` None
    stands for the theme in TEXTUAL_THEME, else our own for a dark background; `themes`
    are the user's. `keymap` has the user's keys of actions. `zone` None is this
    machine's. `show_secrets` shows values whose names mark them as secret. `reach` has
    connection options for commands to run by hand. `sources` has the names of the
    manifests, `record` the path of the record; both may be empty.
    """

    ascii: bool = False
    lanes: bool = True
    """Whether lanes of time are shown at first, in place of cards."""

    presents: bool = False
    """Whether one probe is shown to an audience at first."""

    notifies: bool = False
    """Whether the terminal is told of kills: its bell, and a notification."""

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
    in_browser: bool = False
    """Whether it is shown in a browser, from where nothing is written here."""

    @property
    def about(self) -> SessionInfo:
        """What the header shows of the session besides its snapshots."""
        return SessionInfo(self.sources, self.record, self.read_only, self.isolated)
