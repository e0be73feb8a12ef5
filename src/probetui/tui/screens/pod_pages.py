"""Pages of text: the selected pod described, as YAML, explained; and the node."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType

from probetui.engine.snapshot import PodSnapshot
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
from probetui.tui.actions.action import KeyContext
from probetui.tui.actions.table import bindings
from probetui.tui.panes.pane import Pane
from probetui.tui.panes.reading_area import ReadingArea
from probetui.tui.panes.viewport import EntryViewport
from probetui.tui.screens.action_screen import ActionScreen
from probetui.tui.state import SelectedContainer, UiState
from probetui.tui.styled_text import StyledLine, styled_line
from probetui.tui.view_model import ViewModel


class SearchableTextPane(Pane):
    """Lines of text; a filter hides none of them, but is searched for."""

    KEY_CONTEXTS: ClassVar[tuple[KeyContext, ...]] = (
        KeyContext.PANE,
        KeyContext.ENTRIES,
    )
    BINDINGS: ClassVar[list[BindingType]] = bindings(*KEY_CONTEXTS)

    def __init__(
        self, view: View, *, is_ascii: bool = False, wraps: bool = False, indent: int
    ) -> None:
        super().__init__(id="page", is_ascii=is_ascii)
        self.viewport: EntryViewport = EntryViewport(self, fills=lambda _index: True)
        self.viewport.wraps = wraps
        self.indent = indent
        self._view = view
        self._heading: Line = EMPTY
        self._lines: Sequence[Line] = ()
        self._hits: list[int] = []

    @property
    def is_marked(self) -> bool:
        """Whether the cursor is visible."""
        return self.has_focus

    @property
    def hits(self) -> str:
        """The number of matching lines, and which of them has the cursor."""
        if not self.filter.is_active:
            return f"{len(self._lines)} lines"
        if self.viewport.cursor in self._hits:
            return f"{self._hits.index(self.viewport.cursor) + 1} of {len(self._hits)}"
        return f"{len(self._hits)} hits"

    def show(self, heading: Line, lines: Sequence[Line], view: View) -> None:
        """Show other lines; cursor and scroll position stay."""
        self._heading, self._view = heading, view
        if lines is not self._lines:
            self._lines = lines
            self._find()
            self.viewport.choose(max(min(self.viewport.cursor, len(lines) - 1), 0))
        self.viewport.show()

    def show_filter(self, wanted: Filter) -> None:
        """Search for a text from the cursor on."""
        self.filter = self.viewport.sought = wanted
        self._find()
        if self._hits and self.filter.is_active:
            after = (hit for hit in self._hits if hit >= self.viewport.cursor)
            self.viewport.choose(next(after, self._hits[0]))
        self.viewport.show()

    def title(self) -> Line:
        searched = f"  search: {self._view.safe(self.filter.text)} ({self.hits})"
        return line(
            *self._heading, Span(searched if self.filter.is_active else "", Role.ACCENT)
        )

    def badge(self) -> Line:
        return line(
            muted(f"line {self.viewport.cursor + 1} of {max(len(self._lines), 1)}")
        )

    def count(self) -> int:
        return len(self._lines)

    def row(self, index: int) -> StyledLine:
        return self.viewport.cut(index)

    def entry(self, index: int, also: str) -> StyledLine:
        """Return one line, marked if it has the cursor."""
        marker = strong(">") if also else Span(" ")
        return styled_line(line(marker, *self._lines[index]), also)

    def searchable(self, index: int) -> str:
        """Return the text of a line for searches."""
        return words_of(self._lines[index])

    def copy_text(self, index: int) -> str:
        """Return the text of a line for copying."""
        return words_of(self._lines[index])

    def _find(self) -> None:
        self._hits = [
            index
            for index in range(len(self._lines))
            if self.filter.is_active and self.filter.keeps(self.searchable(index))
        ]


class Page(ABC):
    """A page of text, which is rebuilt while it is open."""

    WORD = ""
    """The name of the page."""

    ABOUT = ""
    """A short description of the page."""

    WRAPS = False
    """Whether it begins with lines that take as many rows as they need."""

    INDENT = 2
    """The cells before what does not fit in a line's first row."""

    @abstractmethod
    def __init__(self, ui_state: UiState) -> None:
        """Build the page of the current selection."""

    @abstractmethod
    def title(self, view_model: ViewModel) -> str:
        """Return the name of the object, for the title."""

    @abstractmethod
    def lines(self, view_model: ViewModel) -> Sequence[Line]:
        """Return the lines; the same object as before if nothing has changed."""

    def note(self, view_model: ViewModel) -> str:  # noqa: ARG002  # empty unless overridden
        """Return a warning for the heading, empty without one."""
        return ""


class TextScreen(ActionScreen, inherit_bindings=False):
    """Shows one page about the container that is selected when it opens."""

    CSS_PATH = "../styles/screens.tcss"

    def __init__(self, ui_state: UiState, page: type[Page]) -> None:
        super().__init__(ui_state)
        self._page = page(ui_state)
        self._text = SearchableTextPane(
            ui_state.view_model.view,
            is_ascii=ui_state.options.ascii,
            wraps=page.WRAPS,
            indent=page.INDENT,
        )
        self._reading = ReadingArea(
            ui_state, [self._text], self._heading, self.key_line
        )

    def compose(self) -> ComposeResult:
        yield self._reading

    def on_mount(self) -> None:
        self.show(self.ui_state.view_model)

    def show(self, view_model: ViewModel) -> None:
        title = line(strong(self._page.title(view_model)))
        self._text.show(title, self._page.lines(view_model), view_model.view)
        self._reading.show_heading()
        self.refresh_keys()

    def _heading(self, view_model: ViewModel) -> Line:
        page = self._page
        note = Span(page.note(view_model), Role.WARNING)
        return line(strong(f" {page.WORD}"), muted(f"   {page.ABOUT}"), note)


class NodePage(Page):
    """The node: conditions of the runtime, sources of pods, pod workers, images."""

    WORD = "node"
    ABOUT = "its runtime, sources of pods, pod workers and images"

    def __init__(self, ui_state: UiState) -> None:
        del ui_state  # there is one node
        self._lines: list[Line] = []

    def title(self, view_model: ViewModel) -> str:
        return view_model.view.safe(view_model.snapshot.node.name)

    def lines(self, view_model: ViewModel) -> Sequence[Line]:
        lines = node_lines(
            view_model.snapshot, view_model.runtime_name, view_model.view
        )
        if lines != self._lines:
            self._lines = lines
        return self._lines


class PodPage(Page):
    """A page about one pod."""

    def __init__(self, ui_state: UiState) -> None:
        self._chosen = SelectedContainer(ui_state)
        self._seen: PodSnapshot | None = None
        self._lines: Sequence[Line] = ()

    @abstractmethod
    def lines_of(
        self, pod: PodSnapshot, seen: PodSnapshot | None, view_model: ViewModel
    ) -> Sequence[Line] | None:
        """Return the page, None if it is the same as for `seen`, the last snapshot."""

    def title(self, view_model: ViewModel) -> str:
        pod = self._chosen.pod(view_model)
        return "" if pod is None else view_model.view.safe(pod.pod.name)

    def note(self, view_model: ViewModel) -> str:
        is_there = self._chosen.is_there(view_model)
        return "" if is_there else "   removed: last known state"

    def lines(self, view_model: ViewModel) -> Sequence[Line]:
        pod = self._chosen.pod(view_model)
        if pod is None:
            return [line("No pod selected. esc goes back.")]
        lines = self.lines_of(pod, self._seen, view_model)
        self._seen = pod
        if lines is not None and lines != self._lines:
            self._lines = lines
        return self._lines


class DescribePage(PodPage):
    """Spec, status, and the events as a cluster combines them."""

    WORD = "describe"
    ABOUT = "as kubectl describe shows it"

    def lines_of(
        self,
        pod: PodSnapshot,
        seen: PodSnapshot | None,  # noqa: ARG002  # ages change every second
        view_model: ViewModel,
    ) -> Sequence[Line] | None:
        uid = pod.pod.uid
        events, findings = view_model.cluster.events(uid), view_model.past.findings(uid)
        return describe_pod(pod, events, view_model.view, findings)


class YamlPage(PodPage):
    """The definition with every default, and the status."""

    WORD = "yaml"
    ABOUT = "with its defaults and its status"

    def lines_of(
        self, pod: PodSnapshot, seen: PodSnapshot | None, view_model: ViewModel
    ) -> Sequence[Line] | None:
        if seen is not None and (seen.pod, seen.status) == (pod.pod, pod.status):
            return None
        return yaml_lines(pod, view_model.view)


class ExplainPage(PodPage):
    """What each probe does to its container, in words and in numbers."""

    WRAPS = True
    INDENT = 18
    WORD = "explain"
    ABOUT = "what each probe does, and how soon"

    def lines_of(
        self, pod: PodSnapshot, seen: PodSnapshot | None, view_model: ViewModel
    ) -> Sequence[Line] | None:
        if seen is not None and seen.pod is pod.pod:
            return None
        numbers = [line(text) for text in explain_pod(pod.pod, view_model.view)]
        return [*numbers, *meaning_lines(pod.pod)]


PAGES: Mapping[str, type[Page]] = {
    "node": NodePage,
    "describe": DescribePage,
    "yaml": YamlPage,
    "explain": ExplainPage,
}


def open_page(ui_state: UiState, page: str) -> TextScreen:
    """Return the screen of a page."""
    return TextScreen(ui_state, PAGES[page])
