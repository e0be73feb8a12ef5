"""The selected probe for an audience, in letters that are read from afar."""

from __future__ import annotations

from collections.abc import Sequence
from math import log2
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.events import Resize
from textual.widgets import Digits

from probetui.analysis.lanes import LaneAxis
from probetui.engine.snapshot import PlaybackKind, Snapshot
from probetui.presentation.container.detail import Subject, container_title
from probetui.presentation.lanes import lane_marks, threshold_label
from probetui.presentation.stage import (
    stage_cells,
    stage_countdown,
    stage_meter,
    stage_plot,
    stage_sentence,
    stage_state,
    stage_steps,
)
from probetui.presentation.text.spans import EMPTY, Line, Role, Span, line, strong
from probetui.tui.actions.action import KeyContext
from probetui.tui.actions.table import bindings
from probetui.tui.panes.lane_view import default_cell_seconds
from probetui.tui.panes.line_widget import LineWidget
from probetui.tui.screens.action_screen import ActionScreen
from probetui.tui.screens.answers import answer_about
from probetui.tui.state import StatefulApp, UiState
from probetui.tui.styled_text import StyledLine, styled_line, wrapped
from probetui.tui.view_model import ViewModel

SLOW_SECONDS = 3.0
"""How long time is slow at a kill, by the wall clock."""

_SLOW_PACE = 0.25
"""The slowest pace; each is twice the one before."""

_AROUND = 8
"""The rows that are no plot: state, caption, steps, sentence and gaps."""


class StageLines(LineWidget):
    """Lines that the screen sets."""

    def __init__(self, *, id: str) -> None:  # noqa: A002  # the framework's
        super().__init__(id=id)
        self._lines: Sequence[StyledLine] = ()

    def show(self, lines: Sequence[StyledLine]) -> None:
        """Show other lines."""
        self._lines = lines
        self.repaint()

    def content(self) -> Sequence[StyledLine]:
        return self._lines


class PresentScreen(ActionScreen, inherit_bindings=False):
    """Shows one probe; time is slow at a kill of a simulated lesson or a replay."""

    CSS_PATH = "../styles/screens.tcss"
    KEY_CONTEXTS: ClassVar[tuple[KeyContext, ...]] = (KeyContext.STAGE,)
    BINDINGS: ClassVar[list[BindingType]] = bindings(*KEY_CONTEXTS)

    def __init__(self, ui_state: UiState) -> None:
        super().__init__(ui_state)
        self._above = StageLines(id="stage-above")
        self._digits = Digits("", id="stage-digits")
        self._below = StageLines(id="stage-below")
        self._is_stopping = False
        self._slower_by = 0

    def compose(self) -> ComposeResult:
        yield self._above
        yield self._digits
        yield self._below
        yield self.key_line

    def on_mount(self) -> None:
        self.show_subject()

    def on_resize(self, event: Resize) -> None:  # noqa: ARG002  # the framework's
        self.call_after_refresh(self.show_subject)

    def on_unmount(self) -> None:
        self._resume_pace()

    def show(self, view_model: ViewModel) -> None:
        self._slow_down_at_kill(view_model.snapshot)
        self.show_subject()

    def show_subject(self) -> None:
        subject = self.ui_state.subject
        if subject is None:
            self._above.show([styled_line(line(strong("No container selected.")))])
            self._below.show(())
            self._digits.update("--")
            return
        view, width = self.ui_state.view_model.view, self.app.size.width
        countdown = stage_countdown(subject, view)
        caption = countdown.caption
        if view.marks.is_ascii:
            caption = f"{caption}  {countdown.digits}"
        probe = subject.probe
        kind = "" if probe is None else f"  {probe.key.probe_type.lower()}"
        name = f" {container_title(subject, view)}{kind}  "
        slow = Span(f"  SLOW MOTION {_SLOW_PACE:g}x ", Role.WARNING, is_reversed=True)
        self._above.show(
            [
                styled_line(
                    line(
                        strong(name),
                        *stage_state(subject, view),
                        *([slow] if self._slower_by else []),
                    )
                ),
                (),
                styled_line(line(Span(caption.center(width), countdown.role))),
            ]
        )
        for role in (Role.ERROR, Role.SUCCESS, Role.MUTED):
            self._digits.set_class(countdown.role is role, f"-{role.value}")
        self._digits.update(countdown.digits)
        # Large digits are drawn with what ASCII has not.
        self._digits.display = not view.marks.is_ascii
        self._below.show(self._picture(subject, width))

    def action_close(self) -> None:
        self.dismiss()

    def _picture(self, subject: Subject, width: int) -> Sequence[StyledLine]:
        view = self.ui_state.view_model.view
        meter = styled_line(stage_meter(subject, view, width))
        steps = stage_steps(subject, view)
        answer = answer_about(subject, self.ui_state.view_model)
        why = styled_line(stage_sentence(subject, answer, view))
        sentence = wrapped(why, width - 1, 0)[:3]
        rows = max(self.app.size.height - _AROUND - 4 - len(sentence), 1)
        plot = [styled_line(row) for row in self._plot(subject, rows, width)]
        shown: list[Line] = [steps] if steps else [EMPTY]
        return [meter, meter, (), *plot, *map(styled_line, shown), *sentence]

    def _plot(self, subject: Subject, rows: int, width: int) -> Sequence[Line]:
        probe, view_model = subject.probe, self.ui_state.view_model
        if probe is None:
            return [EMPTY] * rows
        label = threshold_label(probe)
        room, view = stage_cells(width, label), view_model.view
        age = (view.now - view.times.started_at).total_seconds()
        cell_seconds = default_cell_seconds(probe.probe.period_seconds, age, room)
        axis = LaneAxis.around(view.now, cell_seconds, room)
        lanes = view_model.past.lanes.cells(
            axis, view_model.snapshot, subject.pod, subject.container
        )
        kinds = [shown.key for shown in subject.container.probes]
        marks = lane_marks(is_ascii=view.marks.is_ascii)
        return stage_plot(lanes.probes[kinds.index(probe.key)], marks, rows, label)

    def _slow_down_at_kill(self, snapshot: Snapshot) -> None:
        """Have three seconds of slow motion where a container begins to be stopped."""
        is_stopping = any(
            container.stopping is not None
            for pod in snapshot.pods
            for container in pod.containers
        )
        begins = is_stopping and not self._is_stopping
        self._is_stopping = is_stopping
        played = snapshot.playback
        if not begins or played is None or played.pace is None or self._slower_by:
            return
        is_lesson = self.ui_state.host.lesson is not None
        if is_lesson or played.kind is PlaybackKind.REPLAY:
            self._slower_by = round(log2(played.pace / _SLOW_PACE))
            self._change_pace(-self._slower_by)
            self.set_timer(SLOW_SECONDS, self._resume_pace)

    def _resume_pace(self) -> None:
        self._change_pace(self._slower_by)
        self._slower_by = 0

    def _change_pace(self, steps: int) -> None:
        app = self.app
        if isinstance(app, StatefulApp) and app.session.playback is not None and steps:
            app.session.playback.change_pace(steps)
