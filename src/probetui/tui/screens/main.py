"""The main screen: containers, the selected one in detail, events."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Container
from textual.events import Resize
from textual.geometry import Offset, Size
from textual.widget import Widget

from probetui.engine.snapshot import PodSnapshot
from probetui.k8s.probe import ProbeType
from probetui.presentation.text.filters import Filter
from probetui.tui.actions.action import KeyContext, Target, target_text
from probetui.tui.actions.container_names import ContainerKey
from probetui.tui.actions.table import bindings
from probetui.tui.messages import FilterClosed, LogUpdated
from probetui.tui.panes.bars import Banner, HeaderBar, LessonBar
from probetui.tui.panes.container_table import LINES_AROUND, ContainerTable
from probetui.tui.panes.event_pane import EventPane, next_pulls
from probetui.tui.panes.filter_bar import FilterBar
from probetui.tui.panes.lane_pane import (
    LATENCY_ROWS,
    LEAST_OF_PROBES,
    MOST_PLOT_ROWS,
    PLOT_ROWS,
    LanesPage,
)
from probetui.tui.panes.lane_view import LaneSource
from probetui.tui.panes.output_pane import OutputController, OutputPane
from probetui.tui.panes.pane import Pane
from probetui.tui.panes.subject_panes import (
    CardPage,
    DecisionTracePage,
    FactsPage,
    HeadlinePage,
    OtherProbesPage,
    SubjectPane,
    TicksPage,
    WhyPage,
)
from probetui.tui.screens.action_screen import ActionScreen
from probetui.tui.screens.registry import SCREEN_OPENERS, open_jump
from probetui.tui.screens.sizes import (
    BY_HEIGHT,
    BY_WIDTH,
    FRAMED,
    WIDE,
    is_below,
    size_classes,
)
from probetui.tui.state import UiState
from probetui.tui.view_model import ViewModel

if TYPE_CHECKING:
    from probetui.presentation.container.detail import Subject
    from probetui.presentation.text.spans import Line
    from probetui.tui.screens.jump import JumpTarget, Places

_PANES = ("containers", "detail", "other", "ticks", "why", "trace", "events", "output")
_LOW_CARD, _HIGH_CARD, _WHY = 9, 12, 3
_AROUND_TICKS, _FEW_INSTANCES, _MOST_INSTANCES = 4, 2, 3
"""The rows of the ticks: edges and output, and the fewest and most instances."""
_LEAST_FOR_ALL = 22
_ROOMY = 36
"""The least height of a terminal for the full card and all ticks."""

_ROOMY_FOR_CAUSES = 40
"""The rows, without those of a lesson, from which on the chain of causes has five."""

_MORE_CAUSES = 3
"""Rows that the chain of causes may have of the output below it, beside the events."""

_LEAST_EVENTS = 5
"""Rows of the events beside lanes, before these get more than they need at least."""

_FIVE_EVENTS = 7
"""Rows of the events with their heads, where five of them are shown."""

_TRACE_ROWS = 13
"""Rows of the decision trace with its frame: the gates, and what followed."""

_LEAST_FACTS = 10
"""Rows of the settings of a container without probes, and of its pod beside them."""

_MORE_FACTS = 8
"""Rows that the settings and the trace may have besides."""

_LEAST_FOR_FRAMES = 28
"""Rows from which on the reason has a frame beside lanes, and the card a third row."""

_CARD_OF_FEW = 10
FEW = 3
"""The most containers whose list leaves room below it."""

_MOST_FOR_CONTAINERS = 0.4
_SCREENS_INSTEAD = {"trace": "gates", "output": "logs"}


class MainScreen(ActionScreen, inherit_bindings=False):
    """Shows the session, and selects container, probe and tick."""

    CSS_PATH = "../styles/main.tcss"
    AUTO_FOCUS = "#containers"
    HORIZONTAL_BREAKPOINTS = BY_WIDTH
    VERTICAL_BREAKPOINTS = BY_HEIGHT
    KEY_CONTEXTS: ClassVar[tuple[KeyContext, ...]] = (KeyContext.MAIN, KeyContext.PANES)
    BINDINGS: ClassVar[list[BindingType]] = bindings(*KEY_CONTEXTS)

    def __init__(self, ui_state: UiState) -> None:
        super().__init__(ui_state)
        self._is_styled = False
        self._is_laid_out = False
        self._zoomed = ""
        self._grid_rows = ""
        self._in_turn: list[str] = []
        self._log: object = ui_state.view_model.log
        view, is_ascii = ui_state.view_model.view, ui_state.options.ascii
        self._header, self._banner = HeaderBar(ui_state.options.about), Banner()
        self._goals = 0
        self._lesson = LessonBar(ui_state.host.lesson)
        self._containers = ContainerTable(view, self._on_selection, is_ascii=is_ascii)
        self._card, self._headline = CardPage(), HeadlinePage()
        self._why_page = WhyPage()
        (
            self._detail,
            self._other,
            self._ticks,
            self._why,
            self._trace,
            self._facts,
        ) = (
            SubjectPane(page, view, id=name, is_ascii=is_ascii)
            for page, name in (
                (self._card, "detail"),
                (OtherProbesPage(), "other"),
                (TicksPage(), "ticks"),
                (self._why_page, "why"),
                (DecisionTracePage(), "trace"),
                (FactsPage(), "facts"),
            )
        )
        self._why.can_focus = self._facts.can_focus = False
        self._lanes_page, self._ticks_page = LanesPage(), self._ticks.page
        self._has_lanes = ui_state.options.lanes
        if self._has_lanes:
            self._ticks.page = self._lanes_page
            self._detail.page = self._headline
            self.add_class("-lanes")
        self._explain()
        self._events = EventPane(view, is_ascii=is_ascii)
        self._output = OutputPane(view, is_ascii=is_ascii)
        self._outputs = OutputController(
            self._output, ui_state.host.logs, self._log_grown
        )
        self._filter = FilterBar()

    def compose(self) -> ComposeResult:
        yield self._header
        yield self._banner
        yield self._lesson
        yield Container(*self._panes, id="panes")
        yield self._filter
        yield self.key_line

    def on_mount(self) -> None:
        has_logs = self.ui_state.host.logs is not None
        self.set_class(not has_logs, "-without-logs", update=False)
        self.show(self.ui_state.view_model)

    def on_screen_resume(self) -> None:
        # Before Textual styles and lays out everything, so that it does so only once.
        self._fit_into(self.app.size)
        self._is_styled = True

    def on_resize(self, event: Resize) -> None:
        self._fit_into(event.size)
        self.call_after_refresh(self._show_resized)

    def _fit_into(self, size: Size) -> None:
        self._lesson.fit_into(size)
        is_bare = is_below(size, FRAMED)
        classes = size_classes(size) | {"-bare": is_bare}
        self.update_classes(classes, update=self._is_styled, animate=False)
        for pane in self._panes:
            pane.show_bare(is_bare=is_bare)
        self._choose_card()
        self._share_rows()

    def _show_resized(self) -> None:
        self._show_detail()
        if not self._is_laid_out:
            self._is_laid_out = True
            self.refresh()

    def _explain(self) -> None:
        """Show why beside lanes; cards have the last tick's own, below its trace."""
        page, has_lanes = self._why_page, self._has_lanes
        page.explain = self._chain_about if has_lanes else None
        page.explain_in_full = self._full_answer if has_lanes else None

    def _chain_about(self, subject: Subject, room: int) -> Sequence[Line]:
        # Late: a first screen that waits for its pods explains nothing.
        from probetui.tui.screens.answers import chain_about  # noqa: PLC0415

        return chain_about(subject, self.ui_state.view_model, room)

    def _full_answer(self, subject: Subject) -> Sequence[Line]:
        from probetui.tui.screens.answers import full_answer  # noqa: PLC0415

        return full_answer(subject, self.ui_state.view_model)

    def _compositor_refresh(self) -> None:
        # Nothing is drawn before all panes know their size.
        if self._is_laid_out:
            super()._compositor_refresh()

    def on_unmount(self) -> None:
        self._outputs.close()

    def on_descendant_focus(self) -> None:
        self.set_class(isinstance(self.focused, EventPane), "-on-events")

    def show_subject(self) -> None:
        self._show_detail()

    def show(self, view_model: ViewModel) -> None:
        snapshot, view = view_model.snapshot, view_model.view
        before = self.ui_state.selection
        self._header.show(snapshot, view_model.runtime_name, view)
        self._banner.show(snapshot, view_model.runtime_name, view)
        self._show_goals(view_model)
        self._look_back()
        self._containers.follows_trouble = self._follows_trouble
        self._containers.warned = view_model.warned
        self._containers.show(snapshot.pods, view)
        has_others = any(
            len(container.probes) > 1
            for pod in snapshot.pods
            for container in pod.containers
        )
        self.set_class(not has_others, "-single-probes", update=self._is_styled)
        self._share_rows()
        if view_model.log is not self._log:
            self._log = view_model.log
            self._events.clear()
        self._events.names_objects = view_model.has_several_containers
        self._events.next_pulls = next_pulls(snapshot.pods)
        self._events.show_containers(self._containers.kept)
        self._events.show(view_model.fresh, view_model.counts, view)
        self._filter.show_hits()
        self._show_detail()
        if self.ui_state.selection != before:
            self.ui_state.own_choices += 1
            self.call_after_refresh(self._selection_named)

    def _selection_named(self) -> None:
        self.ui_state.named_choices = self.ui_state.own_choices

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Return whether an action is possible, which depends on the shown panes."""
        if action in {"unzoom", "back"} and not (
            self._zoomed
            or (action == "back" and self._pane_to_filter().filter.is_active)
        ):
            return False
        return super().check_action(action, parameters)

    def action_pane(self, name: str) -> None:
        """Focus a pane, or open its screen if the pane does not fit.

        One without a screen of its own has just lost its room, and is passed over.
        """
        pane = self.query_one(f"#{name}", Pane)
        if self._zoomed and (name != "trace" or name in self._in_turn):
            self._zoom(name)
        if pane.display:
            pane.focus()
        elif name in _SCREENS_INSTEAD and self.ui_state.subject is not None:
            self.app.push_screen(SCREEN_OPENERS[_SCREENS_INSTEAD[name]](self.ui_state))

    def action_other_pane(self, step: int) -> None:
        names = self._in_turn if self._zoomed else self._displayed()
        index = names.index(self._focused_pane().id or "") + step
        self.action_pane(names[index % len(names)])

    def action_zoom(self, name: str = "") -> None:
        name = name or self._focused_pane().id or ""
        self._zoom("" if self._zoomed == name else name)

    def action_open(self) -> None:
        pane = self._focused_pane()
        if pane is self._events and self._events.unfold():
            return
        if pane in {self._containers, self._detail} and self.ui_state.subject:
            self.app.push_screen(SCREEN_OPENERS["container"](self.ui_state))
        else:
            self._zoom(pane.id or "")

    def action_jump_mode(self) -> None:
        """Put a letter on every pane and container; the letter goes there."""
        self.app.push_screen(open_jump(self._jump_places), self._jump)

    def _jump_places(self) -> Places:
        """Return where the letters of panes and of visible containers go."""
        places: dict[JumpTarget, Offset] = {}
        for pane in self._panes:
            if pane.display and pane.can_focus and pane.region:
                places[pane.id or ""] = pane.region.offset
        region = self._containers.region
        if self._containers.display and region:
            for key, y in self._containers.visible_rows_of():
                places[key] = region.offset + Offset(1, y)
        return places

    def _jump(self, target: JumpTarget | None) -> None:
        if isinstance(target, ContainerKey):
            self.action_pane("containers")
            self.choose(target, None)
        elif target is not None:
            self.action_pane(target)

    def action_lanes(self) -> None:
        """Show lanes of time in place of the cards, or these again."""
        self._has_lanes = not self._has_lanes
        self._ticks.page = self._lanes_page if self._has_lanes else self._ticks_page
        self._choose_card()
        self.set_class(self._has_lanes, "-lanes")
        places: dict[Widget, int] = {
            pane: place for place, pane in enumerate(self._panes)
        }
        self.query_one("#panes").sort_children(key=lambda pane: places[pane])
        self._look_back()
        self._explain()
        view_model = self.ui_state.view_model
        self._containers.show(view_model.snapshot.pods, view_model.view)
        self._share_rows()
        self.call_after_refresh(self._show_resized)
        self.refresh_bindings()

    def action_cell_time(self, step: int) -> None:
        """Have a cell of the lanes stand for more time, or for less."""
        if self._has_lanes:
            self._containers.change_cell_time(step)
            self._show_detail()
            self._containers.repaint()
            self._ticks.repaint()

    def action_unzoom(self) -> None:
        self._zoom("")

    def action_back(self) -> None:
        if self._zoomed:
            self._zoom("")
        else:
            self._pane_to_filter().show_filter(Filter())
            self.refresh_bindings()

    def choose(self, key: ContainerKey, probe: ProbeType | None) -> None:
        """Select a container and one of its probes; clear a filter that hides it."""
        self.ui_state.wanted_probe = probe or self.ui_state.wanted_probe
        self._containers.choose_container(key)
        self._on_selection()

    def action_next_trouble(self) -> None:
        self._containers.choose_next_trouble()

    def action_follow_trouble(self) -> None:
        """Select what is most urgent from now on, or leave the selection to keys."""
        self.ui_state.follows_trouble = not self.ui_state.follows_trouble
        if self.ui_state.follows_trouble:
            self.ui_state.wanted_probe = None
        self.show(self.ui_state.view_model)

    def action_all_pods(self) -> None:
        """Show events of the selected pod only, or of all pods again."""
        subject = self.ui_state.subject
        if self._events.pod_uid or subject is None:
            self._events.show_pod("")
        else:
            self._events.show_pod(subject.pod.pod.uid, subject.pod.pod.name)

    def action_state_lines(self) -> None:
        """Show changes of state among the events, or hide them again."""
        self._events.action_state_lines()

    def action_filter(self, text: str = "") -> None:
        if text:
            pane = self._pane_to_filter()
            pane.show_filter(Filter.parse(text, has_labels=pane.HAS_LABELS))
            self.refresh_bindings()
            return
        self.key_line.display = False
        self._filter.open(self._pane_to_filter())

    @on(FilterClosed)
    def _filter_closed(self) -> None:
        self.key_line.display = True

    def _show_goals(self, view_model: ViewModel) -> None:
        """Show what has been reached in a lesson."""
        lesson = self.ui_state.host.lesson
        goals = () if lesson is None or lesson.quiz is None else lesson.quiz.goals
        if len(goals) != self._goals:
            self._goals = len(goals)
            self._lesson.show_goals(tuple(goals), view_model.view.marks)
            self._lesson.fit_into(self.app.size)
            self._lesson.repaint()

    def _look_back(self) -> None:
        """Have lanes drawn of what there is to see, around the selected tick."""
        if not self._has_lanes:
            self._containers.lane_source = None
            return
        view_model = self.ui_state.view_model
        source = LaneSource(
            view_model.past.lanes,
            view_model.snapshot,
            view_model.view,
            self.ui_state.at,
        )
        # What was drawn of the same source is known.
        if source != self._containers.lane_source:
            self._containers.lane_source = source

    @property
    def _follows_trouble(self) -> bool:
        """Whether to follow trouble now: not below a screen about the selection."""
        return self.ui_state.follows_trouble and self.app.screen is self

    def _on_selection(self) -> None:
        """Show what the user has selected."""
        self.ui_state.follows_trouble = False
        if self._containers.chosen_probe is not None:
            self.ui_state.wanted_probe = self._containers.chosen_probe
        # Rows are shared for what is selected now.
        self.ui_state.choose(self._containers.chosen_container)
        self._share_rows()
        self._events.show_containers(self._containers.kept)
        self._show_detail()

    def _show_detail(self) -> None:
        if self._containers.follows_trouble and not self.ui_state.follows_trouble:
            self._containers.follows_trouble = False
            self._containers.repaint()
        before = self._containers.lane_source
        self.ui_state.choose(
            self._containers.chosen_container, follows_trouble=self._follows_trouble
        )
        subject, view = self.ui_state.subject, self.ui_state.view_model.view
        probe = None if subject is None else subject.probe
        self._containers.show_probe(None if probe is None else probe.key.probe_type)
        self._look_back()
        self._header.show_instant(self.ui_state.at)
        if self._containers.lane_source != before:
            self._containers.repaint()
        self._lanes_page.lane_view = self._containers.lane_view
        is_alone = not self._ticks.display
        if self._card.is_alone != is_alone:
            self._card.is_alone = is_alone
            self._detail.repaint()
        for pane in self._panes:
            if isinstance(pane, SubjectPane):
                pane.show(subject, view)
        several = subject is not None and len(subject.container.probes) > 1
        self.set_class(several, "-several-probes", update=self._is_styled)
        self._outputs.show(self.ui_state)
        self._show_target()
        self.refresh_keys()

    def _show_target(self) -> None:
        """Name the selection in the footer, unless the card names it."""
        subject, context, name = self.ui_state.subject, self.ui_state.context, ""
        if subject is not None and not self._detail.display:
            has_probe = subject.probe is not None
            name = target_text(Target.PROBE if has_probe else Target.CONTAINER, context)
        self.key_line.show_target(name)

    def _share_rows(self) -> None:
        """Size the list by its rows, within limits; events get the rest."""
        few = self._containers.total <= FEW
        self.set_class(few, "-few", update=self._is_styled)
        if not self._has_lanes:
            instances = most_instances(self.ui_state.view_model.snapshot.pods)
            rows = grid_rows(self.app.size.height, self._containers.total, instances)
        else:
            layout = self._lane_rows()
            rows = layout.heights
            is_full = not layout.has_probes
            self.set_class(is_full, "-without-probes", update=self._is_styled)
            subject = self.ui_state.subject
            has_output = self.ui_state.host.logs is not None
            has_output = has_output or bool(subject and subject.probe)
            self.set_class(not has_output, "-without-output", update=self._is_styled)
            is_wide = self.app.size.width >= WIDE
            # Without a probe there is no decision: settings have its place, and beside
            # them is the pod.
            has_trace = layout.has_trace and bool(
                subject and (subject.probe or is_wide)
            )
            self.set_class(has_trace, "-with-trace", update=self._is_styled)
            has_facts = layout.has_trace and (is_wide or not has_trace)
            self.set_class(has_facts, "-with-facts", update=self._is_styled)
            if not has_output and not has_facts and is_wide:
                # Why and the events beside it have all that is left.
                rows = f"{rows.rsplit(' ', 2)[0]} 1fr"
        if rows != self._grid_rows:
            # None where the screen is being composed, or closed: a snapshot may come
            # after its panes have gone.
            for panes in self.query("#panes"):
                self._grid_rows = rows
                panes.styles.grid_rows = rows or None

    def _lane_rows(self) -> LaneRows:
        """Return the rows beside lanes; all probes are unfolded if they have room."""
        subject, table = self.ui_state.subject, self._containers
        probes = 0 if subject is None else len(subject.container.probes)
        size = self.app.size.height, self._lesson_rows
        # As if the selected one had a probe, or rows would move with the selection.
        unfolded = table.rows_unfolded
        whole = lane_rows(*size, unfolded, max(probes, 1), has_lanes=False)
        table.make_room(has_room=whole.has_plot)
        # The lane of a container with one probe is that of the probe.
        has_several = table.rows_unfolded > table.total
        is_unfolded = not has_several or (
            subject is not None and table.is_unfolded(subject.pod, subject.container)
        )
        if self._lanes_page.has_lanes is is_unfolded:
            self._lanes_page.has_lanes = not is_unfolded
            self._ticks.repaint()
        has_lanes = table.has_probes and has_several and not table.unfolds_all
        waits = rules = 0
        if subject is not None and not probes:
            # Late: few first screens have a container that was restarted.
            from probetui.presentation.container.waits import (  # noqa: PLC0415
                count_rules,
                count_waits,
            )

            waits = count_waits(subject)
            rules = count_rules(subject, self.ui_state.view_model.view)
        return lane_rows(
            *size,
            table.listed_rows,
            probes,
            has_lanes=has_lanes,
            is_wide=self.app.size.width >= WIDE,
            waits=waits,
            rules=rules,
        )

    @property
    def _lesson_rows(self) -> int:
        """The rows of the lesson's text, which the panes do not have."""
        height = self._lesson.styles.height
        return int(height.value) if self._lesson.display and height else 0

    @property
    def _panes(self) -> tuple[Pane, ...]:
        if self._has_lanes:
            return (
                self._detail,
                self._containers,
                self._ticks,
                self._why,
                self._events,
                self._output,
                self._facts,
                self._trace,
                self._other,
            )
        return (
            self._containers,
            self._detail,
            self._other,
            self._output,
            self._why,
            self._ticks,
            self._trace,
            self._facts,
            self._events,
        )

    def _log_grown(self) -> None:
        self.post_message(LogUpdated())

    @on(LogUpdated)
    def _show_output(self) -> None:
        self._outputs.show(self.ui_state)

    def _zoom(self, name: str) -> None:
        """Zoom one pane; an empty name shows all panes again."""
        before = self._zoomed
        if not before:
            self._in_turn = self._displayed()
        self._zoomed = name
        self._card.is_zoomed = name == "detail"
        self._choose_card()
        for pane in _PANES:
            self.set_class(pane == name, f"-zoom-{pane}")
        self.set_class(bool(name), "-zoomed")
        self.query_one(
            f"#{name or ('containers' if before == 'detail' else before)}"
        ).focus()
        self.refresh_bindings()
        self.call_after_refresh(self._show_target)

    def _choose_card(self) -> None:
        """Have a headline above lanes, and the whole card in place of it elsewhere."""
        is_headline = self._has_lanes and not self._card.is_zoomed
        is_headline = is_headline and not self._detail.is_bare
        self._detail.page = self._headline if is_headline else self._card
        self._detail.repaint()

    def _displayed(self) -> list[str]:
        return [
            pane.id or "" for pane in self._panes if pane.display and pane.can_focus
        ]

    def _focused_pane(self) -> Pane:
        focused = self.focused
        return focused if isinstance(focused, Pane) else self._containers

    def _pane_to_filter(self) -> ContainerTable | EventPane:
        if isinstance(self.focused, EventPane):
            return self.focused
        return self._containers


def most_instances(pods: Iterable[PodSnapshot]) -> int:
    """Return the largest number of instances of a container."""
    statuses = (container.status for pod in pods for container in pod.containers)
    return 1 + max((status.restart_count for status in statuses if status), default=0)


class LaneRows(NamedTuple):
    """The rows of a screen with lanes, and what of it has some."""

    heights: str
    has_probes: bool
    has_trace: bool = False
    has_plot: bool = False


def lane_rows(
    height: int,
    taken: int,
    containers: int,
    probes: int,
    *,
    has_lanes: bool = True,
    is_wide: bool = False,
    waits: int = 0,
    rules: int = 0,
) -> LaneRows:
    """Return the rows where lanes are shown.

    They are for a terminal of that height, of which a lesson has `taken` some: card,
    containers, probes of the selected container, why, events, as far as the style sheet
    shows these. What is left over goes to the plot of a probe, its latencies and the
    decision trace, in this order and as far as the events keep their share. On a low
    terminal the probes give way to more containers than there is room for. On a wide
    one, where the lines of why are short, it has some of the rows below it. Without
    probes the `waits` between instances have the room of the plot, and then the `rules`
    that restarts go by.
    """
    card, why = (3, 1) if height < _LEAST_FOR_FRAMES else (4, 3)
    if height >= _ROOMY:
        card = 5
        why = 7 if height - taken >= _ROOMY_FOR_CAUSES else 5
    # Unfolded, all lanes are in the list, and below it is the plot if there is room.
    of_probes = LEAST_OF_PROBES + probes if has_lanes and probes else 0
    if height < _LEAST_FOR_ALL:
        why = of_probes = 0
    wanted = max(containers, 1) + LINES_AROUND
    room = height - 2 - taken - card - why - of_probes - _LEAST_EVENTS
    # Whatever is selected, or the rows would move with the selection.
    with_one = room + of_probes - LEAST_OF_PROBES - 1
    if _LEAST_FOR_ALL <= height < _LEAST_FOR_FRAMES and wanted > with_one:
        room += of_probes - (_FIVE_EVENTS - _LEAST_EVENTS)
        of_probes = 0
    listed = max(min(wanted, room), LINES_AROUND + 1)
    trace = 0
    # Twice what the events have at least stays with them.
    left = room - listed - _LEAST_EVENTS
    if height < _LEAST_FOR_FRAMES:
        # On a low terminal five of them do.
        left = room - listed - (_FIVE_EVENTS - _LEAST_EVENTS)
    around = 0 if has_lanes else LEAST_OF_PROBES
    is_shown = of_probes or (not has_lanes and height >= _LEAST_FOR_ALL)
    has_plot = bool(is_shown and probes and left >= PLOT_ROWS + around)
    if not probes and height >= _LEAST_FOR_ALL:
        of_probes, trace = _rows_without_probe(left, waits, rules)
    if has_plot:
        plot, left, of_probes = PLOT_ROWS, left - around, of_probes + around
        left -= plot
        if left >= LATENCY_ROWS:
            plot, left = plot + LATENCY_ROWS, left - LATENCY_ROWS
        if left >= _TRACE_ROWS:
            trace, left = _TRACE_ROWS, left - _TRACE_ROWS
        # What is left is shared by the plot and the events.
        more = min((left + 1) // 2, MOST_PLOT_ROWS - PLOT_ROWS)
        of_probes += plot + more
        trace += min((left - more) // 2, _MORE_FACTS) if trace else 0
    if is_wide and why:
        below = height - 2 - taken - card - listed - of_probes - why - trace
        why += max(min(below - _FIVE_EVENTS, _MORE_CAUSES), 0)
    above = " ".join(str(row) for row in (card, listed, of_probes, why) if row)
    heights = f"{above} 1fr {trace or ''}".rstrip()
    has_probes = of_probes > 0 or height < _LEAST_FOR_ALL
    return LaneRows(heights, has_probes, trace > 0, has_plot)


def _rows_without_probe(left: int, waits: int, rules: int) -> tuple[int, int]:
    """Return the rows of the waits of a container without probes, and of settings."""
    of_waits = LEAST_OF_PROBES + waits + rules
    if not waits or left < LEAST_OF_PROBES + PLOT_ROWS:
        of_waits = 0
    elif left >= of_waits + waits + 1 + _LEAST_FACTS:
        # With room to spare each wait has a second row, with its times.
        of_waits += waits + 1
    # The last of the rules may have one of the rows of the events.
    of_waits = max(min(of_waits, left + (1 if rules else 0)), 0)
    left -= of_waits
    if left < _LEAST_FACTS:
        return of_waits, 0
    facts = _LEAST_FACTS + max(left - _LEAST_FACTS, 0) // 2
    return of_waits, min(facts, _TRACE_ROWS + _MORE_FACTS)


def grid_rows(height: int, containers: int, instances: int) -> str:
    """Return the heights of the grid's rows, if list and card are side by side.

    The rows of a terminal of that height are: containers, why, ticks, events. A few
    containers leave room for why below them, beside the card. The ticks have a row for
    each of the `instances` of one container, up to a few. Empty on a low terminal,
    whose rows the style sheet defines.
    """
    if height < _LEAST_FOR_ALL:
        return ""
    is_roomy = height >= _ROOMY
    card = _HIGH_CARD if is_roomy else _LOW_CARD
    most = max(int(height * _MOST_FOR_CONTAINERS), card)
    ticks = _AROUND_TICKS + min(
        instances, _MOST_INSTANCES if is_roomy else _FEW_INSTANCES
    )
    if containers <= FEW:
        lines = max(containers, 1) + LINES_AROUND
        beside = _CARD_OF_FEW if is_roomy else card
        return f"{lines} {beside - lines} {ticks} 1fr"
    top = min(max(containers + LINES_AROUND, card), most)
    return f"{top} {_WHY} {ticks} 1fr"
