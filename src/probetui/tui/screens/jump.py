"""Jump mode: a letter on every pane and every container, and the letter goes there."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from string import ascii_lowercase, ascii_uppercase
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.events import Click, Key, Resize
from textual.geometry import Offset
from textual.screen import ModalScreen
from textual.widgets import Static

from probetui.tui.actions.action import KeyContext
from probetui.tui.actions.container_names import ContainerKey
from probetui.tui.actions.table import bindings
from probetui.tui.state import StatefulScreen
from probetui.tui.view_model import ViewModel

_CLOSES = "q"
_NEAR = "asdfghjkl"
LETTERS = _NEAR + "".join(
    letter for letter in ascii_lowercase if letter not in _NEAR + _CLOSES
)
LETTERS += ascii_uppercase
"""The letters in the order in which they are given away: the nearest first."""


JumpTarget = str | ContainerKey
"""What a letter stands for: the id of a pane, or a container, wherever its row is."""

Places = Mapping[JumpTarget, Offset]


class JumpScreen(
    ModalScreen[JumpTarget | None], StatefulScreen, inherit_bindings=False
):
    """Dismissed with the target of the letter that is typed, None for any other key.

    Each target keeps its letter for as long as the screen is open, and a letter that
    was given away is never another's: what is hit is what had the letter when it was
    typed. Rows that have come since have none.

    Args:
        places: returns the visible targets, and where their letters go.
    """

    CSS_PATH = "../styles/screens.tcss"
    AUTO_FOCUS = ""
    KEY_CONTEXTS: ClassVar[tuple[KeyContext, ...]] = (KeyContext.JUMP,)
    BINDINGS: ClassVar[list[BindingType]] = bindings(*KEY_CONTEXTS)

    def __init__(self, places: Callable[[], Places]) -> None:
        super().__init__()
        self._places = places
        self._targets = dict(zip(LETTERS, places(), strict=False))
        self._labels = {
            target: Static(letter, markup=False, classes="jump")
            for letter, target in self._targets.items()
        }

    def compose(self) -> ComposeResult:
        yield from self._labels.values()

    def on_mount(self) -> None:
        self._put_labels()

    def on_resize(self, event: Resize) -> None:
        if event.size != self.app.size:
            return
        self.call_after_refresh(self._put_labels)

    def show(self, view_model: ViewModel) -> None:
        """Move the letters with their rows, which may be elsewhere now."""
        del view_model  # the screen below has it already
        self.call_after_refresh(self._put_labels)

    def on_key(self, event: Key) -> None:
        event.stop()
        target = self._targets.get(event.character or "")
        # A row that is out of sight has no letter to be seen.
        self.dismiss(target if target in self._places() else None)

    def on_click(self, event: Click) -> None:
        event.stop()
        self.dismiss(None)

    def _put_labels(self) -> None:
        places = self._places()
        for target, label in self._labels.items():
            place = places.get(target)
            label.display = place is not None
            if place is not None:
                label.styles.offset = place
