"""The help: ten keys to begin with and the marks, then all keys that work now."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.events import Key
from textual.screen import ModalScreen

from probetui.presentation.header import (
    NO_BOUNDS,
    NOT_ISOLATED,
    SHORT_ISOLATION_MARK,
)
from probetui.presentation.lanes import lane_legend, lane_marks
from probetui.presentation.text.filters import Filter
from probetui.presentation.text.spans import Line, Role, Span, line, muted, strong
from probetui.presentation.tick.marks import MarkSet, mark_legend
from probetui.tui.actions.action import KeyContext
from probetui.tui.actions.key_labels import GROUPS, KeyLabel
from probetui.tui.actions.table import bindings
from probetui.tui.panes.filter_bar import FilterBar
from probetui.tui.panes.pane import LEAST_EDGE, Pane
from probetui.tui.screens.sizes import MinimumSizeScreen
from probetui.tui.styled_text import StyledLine, cells, fit, styled_line, wrapped

_KEYS_WIDTH = 9
_TWO_COLUMNS = 72
_FIRST_KEYS = 10
_HELP = "app.help"
_BADGES = (
    "press to try  / search  esc closes",
    "/ search  esc closes",
    "esc closes",
)


class HelpPane(Pane):
    """Ten keys and the marks, then the groups of keys, in as many columns as fit.

    If plain processes are not isolated, a notice comes first.
    """

    MARGIN = 0

    def __init__(
        self,
        name: str,
        labels: Sequence[KeyLabel],
        marks: MarkSet,
        *,
        is_ascii: bool,
        is_isolated: bool = True,
    ) -> None:
        super().__init__(id="help", is_ascii=is_ascii)
        self._is_isolated = is_isolated
        self._name_of_pane = name
        self._labels = labels
        self._marks = marks

    @property
    def hits(self) -> str:
        """The number of actions that match: `3 of 12`."""
        return f"{len(self._matching())} of {len(self._labels)}"

    def show_filter(self, wanted: Filter) -> None:
        """Filter the actions by their keys and texts."""
        self.filter = wanted
        self.viewport.top = 0
        self.repaint()

    def title(self) -> Line:
        hits = f"  found {self.hits}" if self.filter.is_active else ""
        whole = line(strong("Keys"), f" for: {self._name_of_pane}{hits}")
        has_room = cells(styled_line(whole)) <= self.size.width - LEAST_EDGE
        return whole if has_room else line(strong("Keys"), hits)

    def badge(self) -> Line:
        """Return the longest hint that fits beside the title."""
        room = self.size.width - LEAST_EDGE - cells(styled_line(self.title()))
        fitting = (badge for badge in _BADGES if len(badge) <= room)
        return line(muted(next(fitting, "")))

    def rows(self) -> Sequence[StyledLine]:
        keys = self._columns_of(self._key_blocks())
        if self.filter.is_active:
            return keys
        marks = [
            *wrapped(_legend(" LANES  ", self._lane_legend()), self.inner_width, 8),
            *wrapped(
                _legend(" MARKS  ", mark_legend(self._marks)), self.inner_width, 8
            ),
        ]
        return [*self._isolation(), *self._first_keys(), (), *marks, (), *keys]

    def _columns_of(self, blocks: Sequence[Sequence[Line]]) -> list[StyledLine]:
        columns = 2 if self.inner_width >= _TWO_COLUMNS else 1
        room = self.inner_width // columns
        units: list[list[StyledLine]] = []
        for heading, *entries in blocks:
            broken = [
                wrapped(styled_line(entry), room - 1, indent=_KEYS_WIDTH + 2)
                for entry in entries
            ]
            units += [[styled_line(heading), *broken[0]], *broken[1:]]
        return _in_columns(units, columns, room)

    def _first_keys(self) -> list[StyledLine]:
        """Return the keys with which the footer begins, and the one that leaves."""
        labels = sorted(
            (label for label in self._labels if label.footer and label.id != _HELP),
            key=lambda label: label.footer,
        )
        first = [*labels[: _FIRST_KEYS - 1], *labels[_FIRST_KEYS - 1 :][-1:]]
        lines = [
            _key_line(label.keys[0], label.tooltip or label.text) for label in first
        ]
        heading = line(Span(" TO BEGIN WITH", Role.STRONG))
        return self._columns_of([[heading, *lines]]) if lines else []

    def _lane_legend(self) -> Sequence[tuple[str, str]]:
        return lane_legend(lane_marks(is_ascii=self._marks.is_ascii))

    def _isolation(self) -> Sequence[StyledLine]:
        """Return the meaning of the mark after the runtime, if the header has it."""
        if self._is_isolated:
            return ()
        mark = Span(f" processes{SHORT_ISOLATION_MARK}", Role.WARNING)
        notice = styled_line((mark, Span(f"  {NOT_ISOLATED}: {NO_BOUNDS}")))
        return wrapped(notice, self.inner_width, indent=13)

    def _matching(self) -> list[KeyLabel]:
        return [
            label
            for label in self._labels
            if self.filter.keeps(f"{' '.join(label.keys)} {label.text} {label.tooltip}")
        ]

    def _key_blocks(self) -> list[list[Line]]:
        matching = self._matching()
        blocks = []
        for group, heading in GROUPS.items():
            lines = [
                _key_line(" ".join(label.keys), label.tooltip or label.text)
                for label in matching
                if label.group == group
            ]
            if lines:
                blocks.append([line(Span(f" {heading}", Role.STRONG)), *lines])
        pairs = [] if self.filter.is_active else list(_letter_pairs(self._labels))
        if pairs:
            blocks.append([line(Span(" SMALL AND CAPITAL", Role.STRONG)), *pairs])
        return blocks


def _legend(heading: str, meanings: Sequence[tuple[str, str]]) -> StyledLine:
    spans: list[Span] = [Span(heading, Role.STRONG)]
    for mark, meaning in meanings:
        # No-break spaces keep a mark with its meaning.
        text = f"{mark}\u00a0".replace(" ", "\u00a0")
        spans += [
            Span(text, Role.ACCENT),
            Span(f"{meaning}   ".replace(" ", "\u00a0", meaning.count(" "))),
        ]
    return styled_line(tuple(spans))


class HelpScreen(
    ModalScreen[str | None], MinimumSizeScreen[str | None], inherit_bindings=False
):
    """Lists exactly the keys that work on the screen below.

    Dismissed with the key that was pressed to try it, None without one.
    """

    CSS_PATH = "../styles/screens.tcss"
    KEY_CONTEXTS: ClassVar[tuple[KeyContext, ...]] = (KeyContext.HELP,)
    BINDINGS: ClassVar[list[BindingType]] = bindings(*KEY_CONTEXTS)

    def __init__(
        self,
        name: str,
        labels: Sequence[KeyLabel],
        marks: MarkSet,
        *,
        is_ascii: bool,
        is_isolated: bool = True,
    ) -> None:
        super().__init__()
        self._pane = HelpPane(
            name, labels, marks, is_ascii=is_ascii, is_isolated=is_isolated
        )
        self._filter = FilterBar()
        self._keys = {key for label in labels for key in label.pressed}

    def compose(self) -> ComposeResult:
        yield self._pane
        yield self._filter

    def action_filter(self) -> None:
        """Search the keys by their actions."""
        self._filter.open(self._pane)

    def action_close(self) -> None:
        """Clear the search, or else close the help."""
        if self._pane.filter.is_active:
            self._pane.show_filter(Filter())
        else:
            self.dismiss(None)

    def on_key(self, event: Key) -> None:
        """Close with a key that the help lists, unless the help itself uses it."""
        if event.key in self._keys and event.key not in self.active_bindings:
            event.stop()
            self.dismiss(event.key)


def _letter_pairs(labels: Sequence[KeyLabel]) -> Iterator[Line]:
    """Yield the letters whose capitals have another action, with both actions."""
    names = {key: label.text for label in labels for key in label.keys}
    for key in sorted(names):
        capital = key.upper()
        if len(key) == 1 and key.islower() and capital in names:
            yield _key_line(f"{key} {capital}", f"{names[key]} / {names[capital]}")


def _key_line(keys: str, text: str) -> Line:
    return line("  ", Span(keys.ljust(_KEYS_WIDTH), Role.ACCENT), text)


def _in_columns(
    units: Sequence[Sequence[StyledLine]], columns: int, room: int
) -> list[StyledLine]:
    """Arrange lines in columns of about the same height, each `room` cells wide.

    A column ends with a whole unit: an entry, or a heading with its first entry.
    """
    height = max(-(-sum(map(len, units)) // columns), 1)
    parts: list[list[StyledLine]] = [[]]
    for unit in units:
        if len(parts[-1]) >= height:
            parts.append([])
        parts[-1] += unit
    return [
        tuple(segment for cell in row for segment in fit(cell, room))
        for row in zip_longest(*parts, fillvalue=())
    ]
