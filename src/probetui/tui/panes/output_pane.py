"""The output pane: the output of the selected probe and the log of its container."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import islice

from probetui.drive.logs import LogState, LogTail
from probetui.drive.session import SupportsLogs
from probetui.k8s.runtime import ContainerID
from probetui.presentation.container.detail import Subject, container_title
from probetui.presentation.container.logs import current_log, log_cells
from probetui.presentation.text.spans import (
    EMPTY,
    Line,
    Role,
    Span,
    line,
    muted,
    strong,
)
from probetui.presentation.text.view import View
from probetui.tui.panes.pane import Pane
from probetui.tui.state import UiState
from probetui.tui.styled_text import StyledLine, styled_line

_OUTPUT_INDENT = 4


class LogReader:
    """Reads the log of one container instance at a time.

    Args:
        keeper: follows logs; None if the session has none.
        on_change: called when the log has new lines.
    """

    def __init__(
        self, keeper: SupportsLogs | None, on_change: Callable[[], None]
    ) -> None:
        self._keeper = keeper
        self._on_change = on_change
        self._tail: LogTail | None = None

    @property
    def has_logs(self) -> bool:
        """Whether the session has logs."""
        return self._keeper is not None

    def read(self, container_id: ContainerID) -> LogTail | None:
        """Return the tail of an instance's log; the empty ID closes the current one."""
        if self._tail is not None and self._tail.container_id == container_id:
            return self._tail
        self.close()
        if container_id and self._keeper is not None:
            self._tail = self._keeper.follow_logs(container_id, self._on_change)
        return self._tail

    def close(self) -> None:
        """Stop reading."""
        if self._tail is not None:
            self._tail.close()
        self._tail = None


class OutputPane(Pane):
    """The probe's outputs, newest first, with the newest lines of the log below."""

    def __init__(self, view: View, *, is_ascii: bool = False) -> None:
        super().__init__(id="output", is_ascii=is_ascii)
        self._view = view
        self._subject: Subject | None = None
        self._tail: LogTail | None = None
        self._problem = ""
        self._has_log = True

    def show(
        self,
        subject: Subject | None,
        view: View,
        tail: LogTail | None = None,
        problem: str = "",
        *,
        has_log: bool = True,
    ) -> None:
        """Show a container's probe and log; `problem` says why there is no log.

        Where there never is one, `has_log` is off, and the probe has all the room.
        """
        self._has_log = has_log
        self._subject, self._view, self._tail = subject, view, tail
        self._problem = problem or (tail.problem if tail is not None else "")
        self.repaint()

    def title(self) -> Line:
        if self._subject is None:
            return line("4 ", strong("Output"))
        name = container_title(self._subject, self._view)
        return line("4 ", strong("Output"), f"  {name}")

    def badge(self) -> Line:
        return line(muted("l logs  p previous")) if self._has_log else EMPTY

    def rows(self) -> Sequence[StyledLine]:
        if self._subject is None:
            return [styled_line(line(muted("No container selected.")))]
        height = self.inner_height
        if not self._has_log:
            return self._wrapped_outputs(height)
        outputs = self._wrapped_outputs(max(height // 2, 1))
        log = self._log(max(height - len(outputs) - 2, 1))
        return [*outputs, *([()] if outputs else []), *map(styled_line, log)]

    def _wrapped_outputs(self, room: int) -> list[StyledLine]:
        return self.broken(self._outputs(room), _OUTPUT_INDENT)[:room]

    def _outputs(self, room: int) -> list[Line]:
        subject = self._subject
        probe = None if subject is None else subject.probe
        if subject is None or probe is None:
            return [] if self._has_log else [line(muted("The container has no probe."))]
        # Imported late: on most terminals this pane does not fit.
        from probetui.presentation.probe.output import output_blocks  # noqa: PLC0415

        blocks = output_blocks(probe, self._view, subject.timeline)
        shown = list(islice(blocks, room))
        return shown or [line(muted("Not probed yet."))]

    def _log(self, room: int) -> list[Line]:
        tail = self._tail
        state = "" if tail is None else f" ({tail.state})"
        heading = line(muted(f"container log{state}"))
        if self._problem:
            problem = self._view.safe(self._problem)
            return [heading, line(Span(f"  {problem}", Role.WARNING))]
        if tail is None or not tail.lines:
            is_open = tail is not None and tail.state is LogState.READING
            reason = "No output yet." if is_open else "nothing printed"
            return [heading, line(muted(f"  ({reason})"))]
        newest = tail.lines[-room:]
        return [
            heading,
            *(line("  ", *log_cells(log_line, self._view)) for log_line in newest),
        ]


class OutputController:
    """Updates an `OutputPane`; reads the selected container's log while it is visible.

    Args:
        pane: the pane to update.
        logs: follows logs; None if the session has none.
        on_change: called when the log has new lines.
    """

    def __init__(
        self, pane: OutputPane, logs: SupportsLogs | None, on_change: Callable[[], None]
    ) -> None:
        self._pane = pane
        self._reader = LogReader(logs, on_change)

    def show(self, ui_state: UiState) -> None:
        """Show the selected container and probe."""
        subject = ui_state.subject
        if subject is None or not self._pane.display:
            self._reader.close()
            self._pane.show(subject, ui_state.view_model.view)
            return
        view = ui_state.view_model.view
        if not self._reader.has_logs:
            self._pane.show(subject, view, has_log=False)
            return
        target = current_log(subject.container)
        tail = self._reader.read(target.container_id)
        self._pane.show(subject, view, tail, target.problem)

    def close(self) -> None:
        """Stop reading."""
        self._reader.close()
