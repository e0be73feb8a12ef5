"""The screen of one container: its instances, its probe, its ticks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Protocol, runtime_checkable

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Container
from textual.events import Click, Resize
from textual.message import Message

from probetui.presentation.container.detail import Subject, handler_summary
from probetui.presentation.container.page import full_lines, short_lines
from probetui.presentation.text.spans import LABEL, Line, line, muted
from probetui.tui.actions.action import KeyContext
from probetui.tui.actions.table import bindings
from probetui.tui.panes.bars import Banner, HeaderBar
from probetui.tui.panes.pane import Pane
from probetui.tui.panes.subject_panes import (
    DecisionTracePage,
    SubjectPage,
    SubjectPane,
    clicked_probe,
    probes_title,
)
from probetui.tui.screens.action_screen import ActionScreen
from probetui.tui.screens.answers import ProbeOutputScreen
from probetui.tui.screens.sizes import BY_HEIGHT, BY_WIDTH, FRAMED, is_below
from probetui.tui.state import UiState
from probetui.tui.styled_text import StyledLine, styled_line
from probetui.tui.view_model import ViewModel

_PANES = {"detail": "life", "trace": "life-trace"}


@runtime_checkable
class Filtering(Protocol):
    """A screen with a list that can be filtered."""

    def action_filter(self, text: str = "") -> None:
        """Filter the list, or open the filter bar."""


_MOST_SHORT_CONTAINER_LINES = 14


class ContainerPage(SubjectPage):
    """The most important lines on a low screen, else everything."""

    def title(self, pane: SubjectPane) -> Line:
        return probes_title(
            pane,
            lambda subject: line(muted(f" {handler_summary(subject, pane.view)}")),
        )

    def rows(self, subject: Subject, pane: SubjectPane) -> Sequence[StyledLine]:
        view, width, height = pane.view, pane.row_width, pane.inner_height
        if height < _MOST_SHORT_CONTAINER_LINES:
            shown = short_lines(subject, view, width, height)
            return [styled_line(short_line) for short_line in shown]
        return pane.broken(full_lines(subject, view, width), LABEL)

    def clicked(
        self, subject: Subject, pane: SubjectPane, event: Click
    ) -> Message | None:
        return clicked_probe(subject, pane, event)


class ContainerScreen(ActionScreen, inherit_bindings=False):
    """Shows the selected container of the main screen, which stays below."""

    CSS_PATH = "../styles/screens.tcss"
    AUTO_FOCUS = "#life"
    HORIZONTAL_BREAKPOINTS = BY_WIDTH
    VERTICAL_BREAKPOINTS = BY_HEIGHT
    KEY_CONTEXTS: ClassVar[tuple[KeyContext, ...]] = (KeyContext.MAIN,)
    BINDINGS: ClassVar[list[BindingType]] = bindings(*KEY_CONTEXTS)

    def __init__(self, ui_state: UiState, *, is_at_gates: bool = False) -> None:
        super().__init__(ui_state)
        self._is_at_gates = is_at_gates
        self._zoomed = ""
        view, is_ascii = ui_state.view_model.view, ui_state.options.ascii
        self._header, self._banner = HeaderBar(ui_state.options.about), Banner()
        self._life = SubjectPane(ContainerPage(), view, id="life", is_ascii=is_ascii)
        self._trace = SubjectPane(
            DecisionTracePage(), view, id="life-trace", is_ascii=is_ascii
        )

    def compose(self) -> ComposeResult:
        yield self._header
        yield self._banner
        yield Container(self._life, self._trace, id="life-panes")
        yield self.key_line

    def on_mount(self) -> None:
        self.show(self.ui_state.view_model)
        if self._is_at_gates:
            self._trace.focus()

    def on_resize(self, event: Resize) -> None:
        is_bare = is_below(event.size, FRAMED)
        for pane in (self._life, self._trace):
            pane.show_bare(is_bare=is_bare)

    def show(self, view_model: ViewModel) -> None:
        self._header.show(view_model.snapshot, view_model.runtime_name, view_model.view)
        self._banner.show(view_model.snapshot, view_model.runtime_name, view_model.view)
        self.show_subject()

    def show_subject(self) -> None:
        view = self.ui_state.view_model.view
        self._life.show(self.ui_state.subject, view)
        self._trace.show(self.ui_state.subject, view)
        self.refresh_keys()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Turn off the keys of the main screen's other panes."""
        if action == "pane" and parameters and parameters[0] not in _PANES:
            return False
        return super().check_action(action, parameters)

    def action_pane(self, name: str) -> None:
        self.query_one(f"#{_PANES[name]}", Pane).focus()

    def action_other_pane(self, _step: int) -> None:
        is_life = self.focused is self._life
        (self._trace if is_life else self._life).focus()

    def action_zoom(self) -> None:
        """Zoom the focused pane, or show both again."""
        name = "" if self._zoomed else (self.focused or self._life).id or ""
        self._zoomed = name
        for pane in _PANES.values():
            self.set_class(pane == name, f"-only-{pane}")

    def action_filter(self, text: str = "") -> None:
        """Go back to the list of containers and filter it."""
        below = self.app.screen_stack[-2]
        self.action_unzoom()
        if isinstance(below, Filtering):
            below.action_filter(text)

    def action_open(self) -> None:
        self.app.push_screen(ProbeOutputScreen(self.ui_state))

    def action_back(self) -> None:
        """Close the screen, and select the newest tick."""
        self.action_unzoom()

    def action_unzoom(self) -> None:
        self.ui_state.cursor = None
        self.dismiss()
        self.show_subject_everywhere()
