"""The lanes of the chosen container: one for each probe, and a plot of one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from textual.events import Click
from textual.message import Message

from probetui.analysis.lanes import LaneCell
from probetui.engine.snapshot import ProbeSnapshot
from probetui.k8s.probe import ProbeType
from probetui.presentation.container.detail import Subject, container_title
from probetui.presentation.container.ticks import last_output_lines
from probetui.presentation.lanes import (
    latency_lines,
    level_rows,
    past_run,
    plot_lines,
    slowest_probes,
    threshold_label,
)
from probetui.presentation.probe.cell import CELLS, probe_cell
from probetui.presentation.probe.detail import count_cells, latency_cells
from probetui.presentation.text.spans import (
    EMPTY,
    LABEL,
    Line,
    Role,
    Span,
    line,
    muted,
    strong,
    text_of,
)
from probetui.tui.messages import InstantRequested, ProbeRequested
from probetui.tui.panes.lane_view import LaneView, styled_lane
from probetui.tui.panes.subject_panes import SubjectPage, SubjectPane
from probetui.tui.styled_text import StyledLine, styled_line

LEAST_OF_PROBES = 2
"""Rows besides one for each probe: the frame's."""

PLOT_ROWS = 5
"""Rows of the plot, which is drawn where there are so many to spare."""

_LATENCY = 26
"""The cells that the headline keeps free beside what was printed."""

MOST_PLOT_ROWS = 12
LATENCY_ROWS = 3
"""Rows of the latencies below the plot, once that has its own."""


class LanesPage(SubjectPage):
    """A lane for each probe of the container, and the chosen one as a plot."""

    def __init__(self) -> None:
        self.lane_view: LaneView | None = None
        self.has_lanes = True
        """Whether it has the lanes, which are in the list of containers otherwise."""
        self._has_waits = False
        """Whether the waits between instances are drawn, which have no axis of time."""
        self._rows_of: list[ProbeType] = []
        """The probe of each row that has a lane or a part of a plot."""

    def title(self, pane: SubjectPane) -> Line:
        subject = pane.subject
        if subject is not None and self._shows_waits(subject, pane):
            name = container_title(subject, pane.view)
            return line(
                strong(f"Instances of {name}"), muted("  and the waits after them")
            )
        if subject is None or subject.probe is None or not self._is_plot(pane):
            return line(strong("Probes"))
        kind = subject.probe.key.probe_type.lower()
        return line(strong(f"{kind} of {container_title(subject, pane.view)}"))

    def _is_plot(self, pane: SubjectPane) -> bool:
        """Return whether the plot of the chosen probe is all that there is to draw."""
        return not self.has_lanes and pane.inner_height >= PLOT_ROWS

    def _shows_waits(self, subject: Subject, pane: SubjectPane) -> bool:
        """Return whether the waits between instances say more than lanes of probes.

        They do in a back-off, in which nothing is probed.
        """
        if not subject.container.probes:
            return True
        backoff = subject.container.backoff
        is_waiting = backoff is not None and backoff.until is not None
        lanes = len(subject.container.probes) if self.has_lanes else 0
        has_room = pane.inner_height - lanes >= PLOT_ROWS
        is_now = is_waiting and subject.cursor is None
        return bool(is_now and has_room and subject.history.instances)

    def badge(self, subject: Subject) -> Line:
        del subject  # it is of the axis only
        shown = self.lane_view
        if shown is None or self._has_waits:
            return EMPTY
        return line(muted(f"{shown.axis.cell_seconds:g}s per cell, - + change it"))

    def rows(self, subject: Subject, pane: SubjectPane) -> Sequence[StyledLine]:
        shown, probes = self.lane_view, subject.container.probes
        self._rows_of = []
        self._has_waits = self._shows_waits(subject, pane)
        if self._has_waits:
            # Late: few containers are restarted before the first screen.
            from probetui.presentation.container.waits import (  # noqa: PLC0415
                waits_lines,
            )

            size = pane.row_width, pane.inner_height
            return [*map(styled_line, waits_lines(subject, pane.view, *size))]
        if shown is None:
            return []
        taken = (0 if self._is_plot(pane) else len(probes)) + PLOT_ROWS
        last = _more_output(subject, pane)[: max(pane.inner_height - taken, 0)]
        cells = shown.cells(subject.pod, subject.container).probes
        rows: list[StyledLine] = []
        for probe, lane in zip(probes, cells, strict=True):
            is_chosen = subject.probe is not None and probe.key == subject.probe.key
            if self._is_plot(pane):
                if is_chosen:
                    room = pane.inner_height - len(last)
                    rows += map(styled_line, _plots(probe, lane, shown, room))
                    self._rows_of += [probe.key.probe_type] * len(rows)
                continue
            name = Span(
                probe.key.probe_type.lower(), Role.STRONG if is_chosen else Role.PLAIN
            )
            cursor = shown.cursor if is_chosen else None
            state = probe_cell(probe, pane.view, is_over=False, room=CELLS)
            if (place := shown.cursor) is not None:
                state = past_run(lane[place])
            rows.append(_with_lane(line(name), state, lane, shown, cursor))
            room = pane.inner_height - len(probes) - len(last)
            if is_chosen and room >= PLOT_ROWS:
                rows += map(styled_line, _plots(probe, lane, shown, room))
            added = len(rows) - len(self._rows_of)
            self._rows_of += [probe.key.probe_type] * added
        return [*rows, *last]

    def clicked(
        self, subject: Subject, pane: SubjectPane, event: Click
    ) -> Message | None:
        """Return the instant of the cell that was clicked, and its probe."""
        del subject  # its probes are in `_rows_of`
        inside = event.get_content_offset_capture(pane)
        row, shown = inside.y - 1, self.lane_view
        if shown is None or not 0 <= row < len(self._rows_of):
            return None
        cell = inside.x - 1 - shown.indent
        if cell < 0:
            return ProbeRequested(self._rows_of[row])
        return InstantRequested(shown.axis.end_of(cell), self._rows_of[row])


def _more_output(subject: Subject, pane: SubjectPane) -> list[StyledLine]:
    """Return what was printed last, if the headline has only a part of it."""
    output = last_output_lines(subject, pane.view, pane.inner_height)
    is_whole = all(len(text_of(row)) <= pane.row_width - _LATENCY for row in output)
    return [] if len(output) == 1 and is_whole else pane.broken(output, LABEL)


def _with_lane(
    name: Line,
    state: Line,
    cells: Sequence[LaneCell],
    shown: LaneView,
    cursor: int | None,
) -> StyledLine:
    room = shown.indent - 1
    label = (*name, Span("  "), *state)
    width = sum(len(span.text) for span in label)
    gap = Span(" " * max(room - width, 1))
    return (*styled_line((*label, gap)), *styled_lane(cells, shown.marks, cursor))


def _plots(
    probe: ProbeSnapshot,
    cells: Sequence[LaneCell],
    shown: LaneView,
    room: int,
) -> Iterator[Line]:
    """Yield the plot of a probe and, if there is room, its latencies below it."""
    threshold = probe.probe.failure_threshold
    # A run that is told from the next one says more than latencies do.
    least = max(PLOT_ROWS, min(2 * threshold, MOST_PLOT_ROWS // 2))
    has_latency = room >= least + LATENCY_ROWS
    rows = min(room - (LATENCY_ROWS if has_latency else 0), MOST_PLOT_ROWS)
    levels = level_rows(rows, threshold)
    plot = plot_lines(cells, shown.marks, rows, threshold)
    counted = dict(enumerate(count_cells(probe), start=1))
    for number, row in enumerate(plot):
        label = muted(f"{levels[number]} ") if number in levels else Span("")
        if number == 0:
            label = Span(threshold_label(probe), Role.ERROR)
        yield _labelled(label, row, shown, counted.get(number, EMPTY))
    if has_latency:
        limit = f"{probe.probe.timeout_seconds}s = time-out "
        timeout = probe.probe.timeout_seconds
        known = shown.lanes.latencies(probe.key)
        slowest = slowest_probes(known, shown.axis, timeout)
        latencies = latency_lines(slowest, shown.marks, LATENCY_ROWS)
        took = dict(enumerate(latency_cells(probe), start=1))
        for number, row in enumerate(latencies):
            words = {0: limit, LATENCY_ROWS - 1: "latency "}.get(number, "")
            yield _labelled(muted(words), row, shown, took.get(number, EMPTY))


def _labelled(label: Span, row: Line, shown: LaneView, numbers: Line = EMPTY) -> Line:
    """Return a row of a plot behind its label, and before it `numbers` if they fit."""
    gap = max(shown.indent - 1 - len(label.text), 0)
    width = len(text_of(numbers))
    if width > gap - 1:
        return line(" " * gap, label, *row)
    return line(*numbers, " " * (gap - width), label, *row)
