"""What comes next, while probes are paused, and what the last step did."""

from __future__ import annotations

from collections.abc import Sequence

from probetui.kubelet.snapshot import Snapshot
from probetui.presentation.containers import pod_names
from probetui.presentation.spans import EMPTY, Line, line, muted, strong
from probetui.presentation.upcoming import (
    queue_lines,
    step_lines,
    step_subject,
    stop_line,
)
from probetui.tui.inks import InkLine, inks
from probetui.tui.sight import Sight
from probetui.tui.widgets.rows_pane import RowsPane


class QueuePane(RowsPane):
    """The queue: ticks that a step would run, and what the clock brings by itself."""

    MARGIN = 0

    def __init__(self, *, is_ascii: bool) -> None:
        super().__init__(id="queue", is_ascii=is_ascii)
        self._sight: Sight | None = None

    def show(self, sight: Sight) -> None:
        """Show what comes next now."""
        self._sight = sight
        self.repaint()

    def title(self) -> Line:
        return line(strong("Queue"), ": what would happen next")

    def badge(self) -> Line:
        if self._sight is None:
            return EMPTY
        return stop_line(self._sight.snapshot)

    def rows(self) -> Sequence[InkLine]:
        return [inks(each) for each in self._lines()]

    def _lines(self) -> Sequence[Line]:
        if self._sight is None:
            return ()
        snapshot = self._sight.snapshot
        if not snapshot.is_paused:
            return [line(muted("probes are running: . or S lets one go, space pauses"))]
        return list(queue_lines(snapshot, _names(snapshot), self._sight.view))


class StepPane(RowsPane):
    """Before and after of the last step, or run to a change."""

    def __init__(self, *, is_ascii: bool) -> None:
        super().__init__(id="last-step", is_ascii=is_ascii)
        self._sight: Sight | None = None

    def show(self, sight: Sight) -> None:
        """Show what the last step did until now."""
        self._sight = sight
        self.repaint()

    def title(self) -> Line:
        return line(strong("Before -> after"), " the last step")

    def badge(self) -> Line:
        if self._sight is None:
            return EMPTY
        snapshot, view = self._sight.snapshot, self._sight.view
        return step_subject(snapshot, _names(snapshot), view)

    def rows(self) -> Sequence[InkLine]:
        if self._sight is None:
            return ()
        snapshot, view = self._sight.snapshot, self._sight.view
        names = _names(snapshot)
        lines = step_lines(snapshot, snapshot.entries, names, view)
        return [inks(each) for each in lines]


def _names(snapshot: Snapshot) -> dict[str, str]:
    return pod_names(each.pod for each in snapshot.pods)
