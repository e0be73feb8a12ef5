"""The main screen: containers, the chosen one in detail, events."""

from __future__ import annotations

from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Container
from textual.events import Resize

from probetui.k8s.probe import ProbeType
from probetui.presentation.filters import Filter
from probetui.tui.action import Where
from probetui.tui.actions import bindings
from probetui.tui.container_keys import ContainerKey
from probetui.tui.messages import FilterClosed, LogGrown
from probetui.tui.output_desk import OutputDesk
from probetui.tui.screens.catalogue import SCREENS
from probetui.tui.screens.keyed import KeyedScreen
from probetui.tui.screens.sizes import BY_HEIGHT, BY_WIDTH, FRAMED, is_below
from probetui.tui.sight import Sight
from probetui.tui.stage import Stage
from probetui.tui.widgets.container_table import ContainerTable
from probetui.tui.widgets.decision_trace import DecisionTrace
from probetui.tui.widgets.detail_pane import DetailPane
from probetui.tui.widgets.event_pane import EventPane
from probetui.tui.widgets.filter_bar import FilterBar
from probetui.tui.widgets.lesson_bar import LessonBar
from probetui.tui.widgets.one_line import Banner, HeaderBar
from probetui.tui.widgets.output_pane import OutputPane
from probetui.tui.widgets.pane import Pane

_PANES = ("containers", "detail", "trace", "events", "output")
_SCREENS_INSTEAD = {"trace": "container", "output": "logs"}


class PodsScreen(KeyedScreen, inherit_bindings=False):
    """Shows what it is given, and says what of it is chosen."""

    CSS_PATH = "../styles/pods.tcss"
    AUTO_FOCUS = "#containers"
    HORIZONTAL_BREAKPOINTS = BY_WIDTH
    VERTICAL_BREAKPOINTS = BY_HEIGHT
    PLACES: ClassVar[tuple[Where, ...]] = (Where.MAIN, Where.PANES)
    BINDINGS: ClassVar[list[BindingType]] = bindings(*PLACES)

    def __init__(self, stage: Stage) -> None:
        super().__init__(stage)
        self._zoomed = ""
        self._in_turn: list[str] = []
        self._log: object = stage.sight.log
        view, is_ascii = stage.sight.view, stage.options.ascii
        self._header, self._banner = HeaderBar(stage.options.about), Banner()
        self._lesson = LessonBar(stage.outside.lesson)
        self._containers = ContainerTable(view, self._show_detail, is_ascii=is_ascii)
        self._detail = DetailPane(view, is_ascii=is_ascii)
        self._trace = DecisionTrace(view, is_ascii=is_ascii)
        self._events = EventPane(view, is_ascii=is_ascii)
        self._output = OutputPane(view, is_ascii=is_ascii)
        self._outputs = OutputDesk(self._output, stage.outside.logs, self._log_grown)
        self._filter = FilterBar()

    def compose(self) -> ComposeResult:
        yield self._header
        yield self._banner
        yield self._lesson
        yield Container(*self._panes, id="panes")
        yield self._filter
        yield self.key_line

    def on_mount(self) -> None:
        self.show(self.stage.sight)

    def on_resize(self, event: Resize) -> None:
        self._lesson.fit_into(event)
        is_bare = is_below(event.size, FRAMED)
        self.set_class(is_bare, "-bare")
        for pane in self._panes:
            pane.show_bare(is_bare=is_bare)
        self.call_after_refresh(self._show_detail)

    def on_unmount(self) -> None:
        self._outputs.close()

    def on_descendant_focus(self) -> None:
        self.set_class(isinstance(self.focused, EventPane), "-on-events")

    def show_subject(self) -> None:
        self._show_detail()

    def show(self, sight: Sight) -> None:
        snapshot, view = sight.snapshot, sight.view
        self._header.show(snapshot, sight.runtime_name, view)
        self._banner.show(snapshot, sight.runtime_name, view)
        self._containers.show(snapshot.pods, view)
        if sight.log is not self._log:
            self._log = sight.log
            self._events.clear()
        self._events.show(sight.fresh, sight.counts, view)
        self._filter.show_hits()
        self._show_detail()

    def check_action(
        self,
        action: str,
        parameters: tuple[object, ...],
    ) -> bool | None:
        """Tell which keys work now, also by which panes are shown."""
        if action in {"unzoom", "back"} and not (
            self._zoomed
            or (action == "back" and self._pane_to_filter().filter.is_active)
        ):
            return False
        return super().check_action(action, parameters)

    def action_pane(self, name: str) -> None:
        """Go to a pane; one that there is no room for has a screen of its own."""
        if self._zoomed:
            self._zoom(name)
        pane = self.query_one(f"#{name}", Pane)
        if pane.display:
            pane.focus()
        elif self.stage.subject is not None:
            self.app.push_screen(SCREENS[_SCREENS_INSTEAD[name]](self.stage))

    def action_other_pane(self, step: int) -> None:
        names = self._in_turn if self._zoomed else self._displayed()
        index = names.index(self._focused_pane().id or "") + step
        self.action_pane(names[index % len(names)])

    def action_zoom(self, name: str = "") -> None:
        name = name or self._focused_pane().id or ""
        self._zoom("" if self._zoomed == name else name)

    def action_open(self) -> None:
        pane = self._focused_pane()
        if isinstance(pane, ContainerTable | DetailPane) and self.stage.subject:
            self.app.push_screen(SCREENS["container"](self.stage))
        else:
            self._zoom(pane.id or "")

    def action_unzoom(self) -> None:
        self._zoom("")

    def action_back(self) -> None:
        if self._zoomed:
            self._zoom("")
        else:
            self._pane_to_filter().show_filter(Filter())
            self.refresh_bindings()

    def choose(self, key: ContainerKey, probe: ProbeType | None) -> None:
        """Choose a container, and one of its probes; a filter that hides it goes."""
        self.stage.wanted_probe = probe or self.stage.wanted_probe
        self._containers.choose_container(key)
        self._show_detail()

    def action_all_pods(self) -> None:
        """Show events of the chosen pod only, or of all pods again."""
        subject = self.stage.subject
        if self._events.pod_uid or subject is None:
            self._events.show_pod("")
        else:
            self._events.show_pod(subject.pod.pod.uid, subject.pod.pod.name)

    def action_filter(self, text: str = "") -> None:
        if text:
            pane = self._pane_to_filter()
            pane.show_filter(Filter.parse(text, has_labels=pane.has_labels))
            self.refresh_bindings()
            return
        self.key_line.display = False
        self._filter.open(self._pane_to_filter())

    @on(FilterClosed)
    def _filter_closed(self) -> None:
        self.key_line.display = True

    def _show_detail(self) -> None:
        self.stage.choose(self._containers.chosen_container)
        self._detail.show(self.stage.subject, self.stage.sight.view)
        self._trace.show(self.stage.subject, self.stage.sight.view)
        self._outputs.show(self.stage)
        self.refresh_keys()

    @property
    def _panes(self) -> tuple[Pane, ...]:
        return (
            self._containers,
            self._detail,
            self._trace,
            self._events,
            self._output,
        )

    def _log_grown(self) -> None:
        self.post_message(LogGrown())

    @on(LogGrown)
    def _show_output(self) -> None:
        self._outputs.show(self.stage)

    def _zoom(self, name: str) -> None:
        """Give one pane the whole screen; an empty name gives all panes their part."""
        was = self._zoomed
        if not was:
            self._in_turn = self._displayed()
        self._zoomed = name
        for each in _PANES:
            self.set_class(each == name, f"-zoom-{each}")
        self.set_class(bool(name), "-zoomed")
        self.query_one(f"#{name or ('containers' if was == 'detail' else was)}").focus()
        self.refresh_bindings()

    def _displayed(self) -> list[str]:
        return [each.id or "" for each in self._panes if each.display]

    def _focused_pane(self) -> Pane:
        focused = self.focused
        return focused if isinstance(focused, Pane) else self._containers

    def _pane_to_filter(self) -> ContainerTable | EventPane:
        if isinstance(self.focused, EventPane):
            return self.focused
        return self._containers
