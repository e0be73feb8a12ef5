"""What the chosen probe and its container print, side by side with the rest."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

from probetui.drive.logs import LogState, LogTail
from probetui.presentation.detail import Subject, title
from probetui.presentation.log_lines import log_cells
from probetui.presentation.outputs import output_blocks
from probetui.presentation.spans import EMPTY, Line, Role, Span, line, muted, strong
from probetui.presentation.view import View
from probetui.tui.inks import InkLine, inks
from probetui.tui.widgets.rows_pane import RowsPane


class OutputPane(RowsPane):
    """Outputs of the probe, newest first; below them the newest lines of the log."""

    def __init__(self, view: View, *, is_ascii: bool = False) -> None:
        super().__init__(id="output", is_ascii=is_ascii)
        self._view = view
        self._subject: Subject | None = None
        self._tail: LogTail | None = None
        self._problem = ""

    def show(
        self,
        subject: Subject | None,
        view: View,
        tail: LogTail | None = None,
        problem: str = "",
    ) -> None:
        """Show a container's probe and log; `problem` says why there is no log."""
        self._subject, self._view, self._tail = subject, view, tail
        self._problem = problem or (tail.problem if tail is not None else "")
        self.repaint()

    def title(self) -> Line:
        if self._subject is None:
            return line("4 ", strong("Output"))
        name = title(self._subject, self._view)
        return line("4 ", strong("Output"), f"  {name}")

    def badge(self) -> Line:
        return line(muted("l logs  p previous"))

    def rows(self) -> Sequence[InkLine]:
        return [inks(each) for each in self._lines()]

    def _lines(self) -> list[Line]:
        if self._subject is None:
            return [line(muted("nothing is chosen"))]
        height = self.inner_height
        outputs = self._outputs(max(height // 2, 1))
        log = self._log(max(height - len(outputs) - 2, 1))
        return [*outputs, EMPTY, *log] if outputs else log

    def _outputs(self, room: int) -> list[Line]:
        probe = self._subject.probe if self._subject is not None else None
        if probe is None:
            return []
        shown = list(islice(output_blocks(probe, self._view), room))
        return shown or [line(muted("not probed yet"))]

    def _log(self, room: int) -> list[Line]:
        tail = self._tail
        state = "" if tail is None else f" ({tail.state})"
        heading = line(muted(f"container log{state}"))
        if self._problem:
            words = self._view.safe(self._problem)
            return [heading, line(Span(f"  {words}", Role.WARNING))]
        if tail is None or not tail.lines:
            is_open = tail is not None and tail.state is LogState.READING
            words = "nothing printed yet" if is_open else "nothing printed"
            return [heading, line(muted(f"  ({words})"))]
        newest = tail.lines[-room:]
        return [heading, *(line("  ", *log_cells(each, self._view)) for each in newest)]
