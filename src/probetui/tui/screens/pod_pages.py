"""Pages of text: the selected pod described, as YAML, explained; and the node."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

from probetui.engine.snapshot import PodSnapshot
from probetui.k8s.pod import Pod
from probetui.presentation.kubectl.describe import describe_pod
from probetui.presentation.kubectl.yaml_view import yaml_lines
from probetui.presentation.node import node_lines
from probetui.presentation.probe.explain import explain_pod, meaning_lines
from probetui.presentation.text.filters import Filter
from probetui.presentation.text.spans import (
    EMPTY,
    Line,
    Role,
    Span,
    line,
    muted,
    strong,
)
from probetui.presentation.text.spans import text_of as words_of
from probetui.presentation.text.view import View
from probetui.tui.panes.entry_pane import EntryPane
from probetui.tui.screens.reading import ReadingScreen
from probetui.tui.state import SelectedContainer, UiState
from probetui.tui.styled_text import StyledLine, styled_line
from probetui.tui.view_model import ViewModel


class SearchableTextPane(EntryPane):
    """Lines as they are given; a filter does not hide any, it is searched for."""

    def __init__(self, view: View, *, is_ascii: bool = False) -> None:
        super().__init__(id="page", is_ascii=is_ascii)
        self._view = view
        self._heading: Line = EMPTY
        self._lines: Sequence[Line] = ()
        self._hits: list[int] = []

    @property
    def hits(self) -> str:
        """How many lines have what is searched for, and at which of them one is."""
        if not self.filter.is_active:
            return f"{len(self._lines)} lines"
        if self.cursor in self._hits:
            return f"{self._hits.index(self.cursor) + 1} of {len(self._hits)}"
        return f"{len(self._hits)} hits"

    def show(self, heading: Line, lines: Sequence[Line], view: View) -> None:
        """Show other lines; cursor and scroll position stay where they are."""
        self._heading, self._view = heading, view
        if lines is not self._lines:
            self._lines = lines
            self._find()
            self.choose(max(min(self.cursor, len(lines) - 1), 0))
        self.repaint()

    def show_filter(self, wanted: Filter) -> None:
        """Search for something, from the line on where one is."""
        self.filter = self.sought = wanted
        self._find()
        if self._hits and self.filter.is_active:
            after = (hit for hit in self._hits if hit >= self.cursor)
            self.choose(next(after, self._hits[0]))
        self.repaint()

    def title(self) -> Line:
        found = f"  search: {self._view.safe(self.filter.text)} ({self.hits})"
        return line(
            *self._heading, Span(found if self.filter.is_active else "", Role.ACCENT)
        )

    def badge(self) -> Line:
        return line(muted(f"line {self.cursor + 1} of {max(len(self._lines), 1)}"))

    def count(self) -> int:
        return len(self._lines)

    def entry(self, index: int, also: str) -> StyledLine:
        """Return one line, a mark before it where the cursor is."""
        marker = strong(">") if also else Span(" ")
        return styled_line(line(marker, *self._lines[index]), also)

    def searchable(self, index: int) -> str:
        """Return a line as it is searched."""
        return words_of(self._lines[index])

    def copy_text(self, index: int) -> str:
        """Return a line as it is copied."""
        return words_of(self._lines[index])

    def _find(self) -> None:
        self._hits = [
            index
            for index in range(len(self._lines))
            if self.filter.is_active and self.filter.keeps(self.searchable(index))
        ]


class TextScreen(ReadingScreen):
    """One page of text."""

    def __init__(self, ui_state: UiState) -> None:
        super().__init__(ui_state)
        self._page = SearchableTextPane(
            ui_state.view_model.view, is_ascii=ui_state.options.ascii
        )

    @property
    def panes(self) -> tuple[SearchableTextPane, ...]:
        return (self._page,)

    @property
    def pane(self) -> SearchableTextPane:
        return self._page

    def filterable(self) -> SearchableTextPane:
        return self._page


class NodeScreen(TextScreen):
    """The node: conditions of the runtime, sources of pods, pod workers, images."""

    def __init__(self, ui_state: UiState) -> None:
        super().__init__(ui_state)
        self._lines: list[Line] = []

    def show_content(self, view_model: ViewModel) -> None:
        lines = node_lines(
            view_model.snapshot, view_model.runtime_name, view_model.view
        )
        if lines != self._lines:
            self._lines = lines
        self._page.show(line(strong("node")), self._lines, view_model.view)

    def heading(self, view_model: ViewModel) -> Line:
        name = view_model.view.safe(view_model.snapshot.node.name)
        return line(strong(f" node {name}"))


class PodTextScreen(TextScreen):
    """A page of text about one pod; the pod is the one that is chosen when it opens."""

    WORD = ""
    """What the page is called."""

    def __init__(self, ui_state: UiState) -> None:
        super().__init__(ui_state)
        self._chosen = SelectedContainer(ui_state)

    @abstractmethod
    def lines(self, pod: PodSnapshot, view_model: ViewModel) -> Sequence[Line]:
        """Return the page; the same object as before if nothing has changed."""

    def show_content(self, view_model: ViewModel) -> None:
        pod = self._chosen.pod(view_model)
        lines = (
            self.lines(pod, view_model)
            if pod is not None
            else [line("No pod selected. esc goes back.")]
        )
        self._page.show(line(strong(self._title(view_model))), lines, view_model.view)

    def heading(self, view_model: ViewModel) -> Line:
        is_gone = not self._chosen.is_there(view_model)
        gone = (
            Span("   removed: last known state", Role.WARNING) if is_gone else Span("")
        )
        return line(strong(f" {self._title(view_model)}"), gone)

    def _title(self, view_model: ViewModel) -> str:
        pod = self._chosen.pod(view_model)
        name = "" if pod is None else view_model.view.safe(pod.pod.name)
        return f"{self.WORD} {name}"


class DescribeScreen(PodTextScreen):
    """Spec, status, and the events as a cluster combines them; kept up to date."""

    WORD = "describe"

    def __init__(self, ui_state: UiState) -> None:
        super().__init__(ui_state)
        self._lines: list[Line] = []

    def lines(self, pod: PodSnapshot, view_model: ViewModel) -> Sequence[Line]:
        """Return the page; ages make it a new one every second."""
        uid = pod.pod.uid
        events, findings = view_model.cluster.events(uid), view_model.past.findings(uid)
        lines = describe_pod(pod, events, view_model.view, findings)
        if lines != self._lines:
            self._lines = lines
        return self._lines


class YamlScreen(PodTextScreen):
    """The definition with every default, and the status."""

    WORD = "yaml"

    def __init__(self, ui_state: UiState) -> None:
        super().__init__(ui_state)
        self._seen: PodSnapshot | None = None
        self._lines: list[Line] = []

    def lines(self, pod: PodSnapshot, view_model: ViewModel) -> Sequence[Line]:
        """Return the page, written anew if definition or status have changed."""
        seen = self._seen
        if seen is None or seen.pod != pod.pod or seen.status != pod.status:
            self._lines = yaml_lines(pod, view_model.view)
        self._seen = pod
        return self._lines


class ExplainScreen(PodTextScreen):
    """What each probe means for its container, and then all of it in numbers."""

    WORD = "explain"

    def __init__(self, ui_state: UiState) -> None:
        super().__init__(ui_state)
        self._pod: Pod | None = None
        self._lines: Sequence[Line] = ()

    def lines(self, pod: PodSnapshot, view_model: ViewModel) -> Sequence[Line]:
        """Return the page; it changes with the manifest only."""
        if self._pod is not pod.pod:
            self._pod = pod.pod
            numbers = [line(text) for text in explain_pod(pod.pod, view_model.view)]
            self._lines = [*numbers, *meaning_lines(pod.pod)]
        return self._lines
