"""The main screen: containers, the chosen one in detail, events."""

from __future__ import annotations

from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Container
from textual.events import Resize
from textual.screen import Screen
from textual.widgets import Input, Static

from probetui.k8s.probe import ProbeType
from probetui.presentation.detail import Subject, choose_probe
from probetui.presentation.filters import Filter
from probetui.tui.key_labels import footer_labels
from probetui.tui.messages import CommandGiven, ContainerChosen, FilterClosed
from probetui.tui.options import ScreenOptions
from probetui.tui.screens.pods_keys import (
    GIVE,
    KEYS,
    command_of,
    enabled_actions,
)
from probetui.tui.screens.sizes import BY_HEIGHT, BY_WIDTH, FRAMED, LEAST, is_below
from probetui.tui.sight import Sight
from probetui.tui.widgets.container_table import ContainerTable
from probetui.tui.widgets.detail_pane import DetailPane
from probetui.tui.widgets.event_pane import EventPane
from probetui.tui.widgets.filter_bar import FilterBar
from probetui.tui.widgets.one_line import Banner, HeaderBar, KeyLine
from probetui.tui.widgets.pane import Pane

_PANES = ("containers", "detail", "events")


class PodsScreen(Screen[None], inherit_bindings=False):
    """Shows what it is given; what a person wants of the engine leaves as messages."""

    CSS_PATH = "../styles/pods.tcss"
    AUTO_FOCUS = "#containers"
    HORIZONTAL_BREAKPOINTS = BY_WIDTH
    VERTICAL_BREAKPOINTS = BY_HEIGHT
    BINDINGS: ClassVar[list[BindingType]] = KEYS

    def __init__(self, sight: Sight, options: ScreenOptions) -> None:
        super().__init__()
        self._sight = sight
        self._options = options
        self._subject: Subject | None = None
        self._wanted_probe: ProbeType | None = None
        self._zoomed = ""
        self._conditions: object = None
        view, is_ascii = sight.view, options.ascii
        self._header, self._banner = HeaderBar(), Banner()
        self._containers = ContainerTable(view, is_ascii=is_ascii)
        self._detail = DetailPane(view, is_ascii=is_ascii)
        self._events = EventPane(view, is_ascii=is_ascii)
        self._filter, self._keys = FilterBar(), KeyLine()

    def compose(self) -> ComposeResult:
        yield self._header
        yield self._banner
        yield Container(self._containers, self._detail, self._events, id="panes")
        yield self._filter
        yield self._keys
        yield Static(
            f"too small for probetui ({LEAST.width} x {LEAST.height}); it runs on",
            id="too-small",
            markup=False,
        )

    def on_mount(self) -> None:
        self.bindings_updated_signal.subscribe(self, self._show_keys)
        self.show(self._sight)

    def on_resize(self, event: Resize) -> None:
        self.set_class(is_below(event.size, LEAST), "-too-small")
        is_bare = is_below(event.size, FRAMED)
        self.set_class(is_bare, "-bare")
        for pane in (self._containers, self._detail, self._events):
            pane.show_bare(is_bare=is_bare)

    def on_descendant_focus(self) -> None:
        self.set_class(isinstance(self.focused, EventPane), "-on-events")

    def show(self, sight: Sight) -> None:
        """Show what there is to see now; only what changed is painted."""
        self._sight = sight
        snapshot, view = sight.snapshot, sight.view
        self._header.show(snapshot, sight.runtime_name, view)
        self._banner.show(snapshot, sight.runtime_name, view)
        self._containers.show(snapshot.pods, view)
        self._events.show(sight.fresh, sight.counts, view)
        self._filter.show_hits()
        self._show_detail()

    def check_action(
        self,
        action: str,
        parameters: tuple[object, ...],
    ) -> bool | None:
        """Tell which keys work now; the others are neither shown nor listed."""
        if isinstance(self.focused, Input):
            return False
        if action == GIVE and self._options.read_only:
            return False
        name = str(parameters[0]) if action == GIVE else action
        return self._enabled().get(name, True)

    def action_pane(self, name: str) -> None:
        if self._zoomed:
            self._zoom(name)
        self.query_one(f"#{name}", Pane).focus()

    def action_other_pane(self, step: int) -> None:
        index = _PANES.index(self._focused_pane().id or "") + step
        self.action_pane(_PANES[index % len(_PANES)])

    def action_zoom(self, name: str = "") -> None:
        name = name or self._focused_pane().id or ""
        self._zoom("" if self._zoomed == name else name)

    def action_open(self) -> None:
        pane = self._focused_pane()
        self._zoom("detail" if isinstance(pane, ContainerTable) else pane.id or "")

    def action_unzoom(self) -> None:
        self._zoom("")

    def action_back(self) -> None:
        if self._zoomed:
            self._zoom("")
        else:
            self._pane_to_filter().show_filter(Filter())
            self.refresh_bindings()

    def action_probe(self, step: int) -> None:
        if self._subject is not None and self._subject.probe is not None:
            probes = self._subject.container.probes
            index = probes.index(self._subject.probe) + step
            self._wanted_probe = probes[index % len(probes)].key.probe_type
            self._show_detail()

    def action_filter(self) -> None:
        self._keys.display = False
        self._filter.open(self._pane_to_filter())

    def action_give(self, name: str) -> None:
        if (command := command_of(name, self._subject)) is not None:
            self.post_message(CommandGiven(command))

    @on(ContainerChosen)
    def _container_chosen(self) -> None:
        self._show_detail()

    @on(FilterClosed)
    def _filter_closed(self) -> None:
        self._keys.display = True

    def _show_detail(self) -> None:
        chosen = self._containers.chosen_container
        if chosen is None:
            self._subject = None
        else:
            probe = choose_probe(chosen[1], self._wanted_probe)
            self._subject = Subject(*chosen, probe)
        self._detail.show(self._subject, self._sight.view)
        if (conditions := self._enabled()) != self._conditions:
            self._conditions = conditions
            self.refresh_bindings()

    def _enabled(self) -> dict[str, bool]:
        return enabled_actions(
            self._subject,
            is_paused=self._sight.snapshot.is_paused,
            is_zoomed=bool(self._zoomed),
            is_filtered=self._pane_to_filter().filter.is_active,
        )

    def _zoom(self, name: str) -> None:
        """Give one pane the whole screen; an empty name gives all panes their part."""
        was = self._zoomed
        self._zoomed = name
        for each in _PANES:
            self.set_class(each == name, f"-zoom-{each}")
        self.set_class(bool(name), "-zoomed")
        self.query_one(f"#{name or ('containers' if was == 'detail' else was)}").focus()
        self.refresh_bindings()

    def _focused_pane(self) -> Pane:
        focused = self.focused
        return focused if isinstance(focused, Pane) else self._containers

    def _pane_to_filter(self) -> ContainerTable | EventPane:
        if isinstance(self.focused, EventPane):
            return self.focused
        return self._containers

    def _show_keys(self, _screen: Screen[None]) -> None:
        self._keys.show(footer_labels(self.active_bindings))
