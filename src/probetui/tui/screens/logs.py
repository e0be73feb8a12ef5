"""The log of the selected container: the current or the previous instance."""

from __future__ import annotations

from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType

from probetui.drive.logs import LogState, LogTail
from probetui.k8s.runtime import LogLine
from probetui.kubelet.prober.gates import short_id
from probetui.presentation.container.logs import (
    STAMP,
    LogTarget,
    current_log,
    log_cells,
    log_text,
    previous_log,
)
from probetui.presentation.text.filters import Filter, no_match_text
from probetui.presentation.text.spans import Line, Role, Span, line, muted, strong
from probetui.presentation.text.view import View
from probetui.tui.actions.action import KeyContext
from probetui.tui.actions.table import bindings
from probetui.tui.messages import LogUpdated
from probetui.tui.panes.output_pane import LogReader
from probetui.tui.panes.pane import Pane
from probetui.tui.panes.reading_area import ReadingArea
from probetui.tui.panes.viewport import EntryViewport
from probetui.tui.screens.action_screen import ActionScreen
from probetui.tui.state import SelectedContainer, UiState
from probetui.tui.styled_text import StyledLine, styled_line
from probetui.tui.view_model import ViewModel


class LogPane(Pane):
    """The lines of one log; those that its tail drops leave at the top.

    Lines are identified by their number from the beginning, so that the cursor stays on
    its line.
    """

    KEY_CONTEXTS: ClassVar[tuple[KeyContext, ...]] = (
        KeyContext.PANE,
        KeyContext.ENTRIES,
        KeyContext.FOLLOWING,
    )
    BINDINGS: ClassVar[list[BindingType]] = bindings(*KEY_CONTEXTS)

    def __init__(self, view: View, *, is_ascii: bool = False) -> None:
        super().__init__(id="log", is_ascii=is_ascii)
        self.viewport: EntryViewport = EntryViewport(self, follows=True)
        self._view = view
        self._name_of_log = ""
        self._tail: LogTail | None = None
        self._problem = ""
        self._kept: list[int] = []
        self._skips: frozenset[int] = frozenset()
        self._seen = 0

    @property
    def hits(self) -> str:
        """The number of lines that the filter keeps: `3 of 12`."""
        total = len(self._tail.lines) if self._tail is not None else 0
        return f"{len(self._kept)} of {total}"

    @property
    def is_marked(self) -> bool:
        """Whether the cursor is visible: not while the newest line is followed."""
        return self.has_focus and not self.viewport.is_following

    @property
    def indent(self) -> int:
        """The indentation of a long line's continuation lines, in cells."""
        is_stamped = bool(self._kept) and self._line(0).at is not None
        return STAMP if is_stamped else 0

    def show(
        self, name: str, tail: LogTail | None, view: View, problem: str = ""
    ) -> None:
        """Show the new lines of a tail; another tail is shown from its end.

        `problem` is the reason why there is no tail, or why it has ended.
        """
        self._name_of_log, self._view = name, view
        if tail is not self._tail:
            self._tail, self._kept, self._seen = tail, [], 0
            self.viewport.follow(is_following=True)
        self._problem = problem or (tail.problem if tail is not None else "")
        self._read_newest()
        self.viewport.show()

    def show_filter(self, wanted: Filter) -> None:
        """Filter the lines."""
        self.filter = wanted
        if wanted.is_active:
            self.viewport.sought = wanted
        chosen = next(iter(self._kept[self.viewport.cursor :]), None)
        self._kept, self._seen = [], 0
        is_following, self.viewport.is_following = self.viewport.is_following, False
        self._read_newest()
        self.viewport.follow(is_following=is_following)
        if is_following or chosen is None:
            self.viewport.go_to_newest()
        else:
            older = sum(number <= chosen for number in self._kept)
            self.viewport.choose(max(older - 1, 0))
        self.viewport.show()

    def title(self) -> Line:
        state = "follow" if self.viewport.is_following else "follow off"
        if self._tail is not None and self._tail.state is not LogState.READING:
            state = str(self._tail.state)
        filtered = f"  filter: {self._view.safe(self.filter.text)} ({self.hits})"
        return line(
            strong(self._view.safe(self._name_of_log)),
            muted(f"  {state}"),
            Span(filtered if self.filter.is_active else "", Role.ACCENT),
        )

    def badge(self) -> Line:
        if self._tail is None or not self._tail.dropped:
            return line(muted(f"{self._seen} lines" if self._seen != 1 else "1 line"))
        return line(muted(f"the newest {len(self._tail.lines)} of {self._seen} lines"))

    def count(self) -> int:
        return len(self._kept)

    def below(self) -> list[StyledLine]:
        """Return why there is no line, or why the log has ended."""
        if self._problem:
            problem = Span(f" {self._view.safe(self._problem)}", Role.WARNING)
            return [styled_line(line(problem))]
        if self._kept or self._tail is None:
            return []
        reason = "No output yet."
        if self._seen:
            reason = no_match_text("line", self._view.safe(self.filter.text))
        return [styled_line(line(muted(f" {reason}")))]

    def row(self, index: int) -> StyledLine:
        return self.viewport.cut(index)

    def entry(self, index: int, also: str) -> StyledLine:
        """Return one line of the log."""
        number = self._kept[index]
        shown = log_cells(
            self._line(index), self._view, is_after_skip=number in self._skips
        )
        return styled_line(shown, also)

    def searchable(self, index: int) -> str:
        """Return the text of a line for filters."""
        return self._view.mask.text(self._line(index).text)

    def copy_text(self, index: int) -> str:
        """Return the text of a line for copying."""
        return log_text(self._line(index), self._view)

    def _line(self, index: int) -> LogLine:
        assert self._tail is not None  # noqa: S101  # only lines of a tail are kept
        return self._tail.lines[self._kept[index] - self._tail.dropped]

    def _read_newest(self) -> None:
        """Drop the lines that the tail dropped, and add the new ones."""
        tail = self._tail
        if tail is None:
            return
        self._skips = frozenset(tail.skips)
        dropped = sum(number < tail.dropped for number in self._kept[: tail.dropped])
        if dropped:
            del self._kept[:dropped]
            self.viewport.drop_oldest(dropped)
        first = max(self._seen, tail.dropped)
        self._seen = tail.dropped + len(tail.lines)
        fresh = range(first, self._seen)
        if self.filter.is_active:
            mask, lines = self._view.mask, tail.lines
            kept = [
                number
                for number in fresh
                if self.filter.keeps(mask.text(lines[number - tail.dropped].text))
            ]
        else:
            kept = list(fresh)
        self._kept += kept
        self.viewport.add_newest(len(kept))


_NO_LOGS_KEPT = "This session has no logs, only probe output."


class LogsScreen(ActionScreen, inherit_bindings=False):
    """Shows the log of a container, and continues with the next instance.

    Args:
        ui_state: the state of the screen, with the selected container.
        is_previous: whether to start with the previous instance.
    """

    CSS_PATH = "../styles/screens.tcss"
    KEY_CONTEXTS: ClassVar[tuple[KeyContext, ...]] = (KeyContext.LOG,)
    BINDINGS: ClassVar[list[BindingType]] = bindings(*KEY_CONTEXTS)

    def __init__(self, ui_state: UiState, *, is_previous: bool = False) -> None:
        super().__init__(ui_state)
        self._chosen = SelectedContainer(ui_state)
        self._is_previous = is_previous
        self._reader = LogReader(ui_state.host.logs, self._grown)
        self._log = LogPane(ui_state.view_model.view, is_ascii=ui_state.options.ascii)
        self._reading = ReadingArea(ui_state, [self._log], self._heading, self.key_line)

    def compose(self) -> ComposeResult:
        yield self._reading

    def on_mount(self) -> None:
        self.show(self.ui_state.view_model)

    def on_unmount(self) -> None:
        self._reader.close()

    def show(self, view_model: ViewModel) -> None:
        target = self._target(view_model)
        problem = target.problem
        if not self._reader.has_logs:
            problem = _NO_LOGS_KEPT
        tail = self._reader.read(target.container_id)
        self._log.show(self._chosen.name(view_model), tail, view_model.view, problem)
        self._reading.show_heading()
        self.refresh_keys()

    def _heading(self, view_model: ViewModel) -> Line:
        target = self._target(view_model)
        name = self._chosen.name(view_model)
        which = "previous" if self._is_previous else "current"
        return line(
            strong(f" logs   {view_model.view.safe(name)}   "),
            Span(which, Role.WARNING if self._is_previous else Role.PLAIN),
            muted(f"   id {short_id(target.container_id) or '-'}"),
        )

    def action_instance(self, which: str) -> None:
        self._is_previous = which == "previous"
        self.show(self.ui_state.view_model)

    def _target(self, view_model: ViewModel) -> LogTarget:
        container = self._chosen.container(view_model)
        if container is None:
            return LogTarget(problem="The container is gone.")
        find = previous_log if self._is_previous else current_log
        return find(container)

    def _grown(self) -> None:
        self.post_message(LogUpdated())

    @on(LogUpdated)
    def _show_more(self) -> None:
        self.show(self.ui_state.view_model)
