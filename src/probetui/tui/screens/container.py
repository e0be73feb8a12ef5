"""One container on a screen of its own: its lives, its probe, its ticks."""

from __future__ import annotations

from typing import ClassVar, Protocol, runtime_checkable

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Container
from textual.events import Resize

from probetui.tui.action import Where
from probetui.tui.actions import bindings
from probetui.tui.screens.keyed import KeyedScreen
from probetui.tui.screens.probe_output import ProbeOutputScreen
from probetui.tui.screens.sizes import BY_HEIGHT, BY_WIDTH, FRAMED, is_below
from probetui.tui.sight import Sight
from probetui.tui.stage import Stage
from probetui.tui.widgets.container_pane import ContainerPane
from probetui.tui.widgets.decision_trace import DecisionTrace
from probetui.tui.widgets.one_line import Banner, HeaderBar
from probetui.tui.widgets.pane import Pane

_PANES = {"detail": "life", "trace": "life-trace"}


@runtime_checkable
class Filtering(Protocol):
    """A screen with a list that can be filtered."""

    def action_filter(self, text: str = "") -> None:
        """Filter it, or ask for what."""


class ContainerScreen(KeyedScreen, inherit_bindings=False):
    """Shows what is chosen on the main screen, which stays below it."""

    CSS_PATH = "../styles/container.tcss"
    AUTO_FOCUS = "#life"
    HORIZONTAL_BREAKPOINTS = BY_WIDTH
    VERTICAL_BREAKPOINTS = BY_HEIGHT
    PLACES: ClassVar[tuple[Where, ...]] = (Where.MAIN,)
    BINDINGS: ClassVar[list[BindingType]] = bindings(*PLACES)

    def __init__(self, stage: Stage) -> None:
        super().__init__(stage)
        self._zoomed = ""
        view, is_ascii = stage.sight.view, stage.options.ascii
        self._header, self._banner = HeaderBar(stage.options.about), Banner()
        self._life = ContainerPane(view, is_ascii=is_ascii)
        self._trace = DecisionTrace(view, id="life-trace", is_ascii=is_ascii)

    def compose(self) -> ComposeResult:
        yield self._header
        yield self._banner
        yield Container(self._life, self._trace, id="life-panes")
        yield self.key_line

    def on_mount(self) -> None:
        self.show(self.stage.sight)

    def on_resize(self, event: Resize) -> None:
        is_bare = is_below(event.size, FRAMED)
        for pane in (self._life, self._trace):
            pane.show_bare(is_bare=is_bare)

    def show(self, sight: Sight) -> None:
        self._header.show(sight.snapshot, sight.runtime_name, sight.view)
        self._banner.show(sight.snapshot, sight.runtime_name, sight.view)
        self.show_subject()

    def show_subject(self) -> None:
        view = self.stage.sight.view
        self._life.show(self.stage.subject, view)
        self._trace.show(self.stage.subject, view)
        self.refresh_keys()

    def check_action(
        self,
        action: str,
        parameters: tuple[object, ...],
    ) -> bool | None:
        """Leave out the keys that are for the other panes of the main screen."""
        if action == "pane" and parameters and parameters[0] not in _PANES:
            return False
        return super().check_action(action, parameters)

    def action_pane(self, name: str) -> None:
        self.query_one(f"#{_PANES[name]}", Pane).focus()

    def action_other_pane(self, _step: int) -> None:
        is_life = self.focused is self._life
        (self._trace if is_life else self._life).focus()

    def action_zoom(self) -> None:
        """Give the focused pane the whole screen, or both their part."""
        name = "" if self._zoomed else (self.focused or self._life).id or ""
        self._zoomed = name
        for each in _PANES.values():
            self.set_class(each == name, f"-only-{each}")

    def action_filter(self, text: str = "") -> None:
        """Go back to the list of containers and filter it."""
        below = self.app.screen_stack[-2]
        self.action_unzoom()
        if isinstance(below, Filtering):
            below.action_filter(text)

    def action_open(self) -> None:
        self.app.push_screen(ProbeOutputScreen(self.stage))

    def action_back(self) -> None:
        """Leave, and look at the newest tick again."""
        self.action_unzoom()

    def action_unzoom(self) -> None:
        self.stage.cursor = None
        self.dismiss()
        self.show_subject_everywhere()
