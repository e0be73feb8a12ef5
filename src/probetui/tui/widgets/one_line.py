"""The lines at the edges of the screen: header, banner, keys."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from textual.events import Click

from probetui.kubelet.snapshot import Snapshot
from probetui.presentation.header import (
    LEVELS,
    NOTHING_ABOUT_IT,
    About,
    header,
    playback_trouble,
    runtime_lost,
    stopped,
)
from probetui.presentation.spans import EMPTY, Line
from probetui.presentation.view import View
from probetui.tui.inks import PLAIN, Ink, InkLine, cells, fit, inks
from probetui.tui.key_labels import KeyLabel
from probetui.tui.messages import KeyClicked
from probetui.tui.widgets.painted import Painted

_SIGNS = "?:/"
_GAP = 2


class HeaderBar(Painted):
    """What runs where, how it goes, and the time."""

    def __init__(self, about: About = NOTHING_ABOUT_IT) -> None:
        super().__init__(id="header")
        self._about = about
        self._snapshot: Snapshot | None = None
        self._runtime_name = ""
        self._view: View | None = None

    def show(self, snapshot: Snapshot, runtime_name: str, view: View) -> None:
        """Show other values."""
        self._snapshot, self._runtime_name, self._view = snapshot, runtime_name, view
        self.repaint()

    def content(self) -> Sequence[InkLine]:
        if self._snapshot is None or self._view is None:
            return ()
        versions = (
            header(self._snapshot, self._runtime_name, self._view, level, self._about)
            for level in range(LEVELS)
        )
        width = self.size.width
        left: InkLine = ()
        for version in versions:
            left, right = (inks(each) for each in version)
            if cells(left) + cells(right) <= width:
                return [(*fit(left, width - cells(right)), *right)]
        return [left]


class Banner(Painted):
    """One line about what is not as it should be, or why it stopped; else hidden."""

    def __init__(self) -> None:
        super().__init__(id="banner")
        self._line: Line = EMPTY

    def show(self, snapshot: Snapshot, runtime_name: str, view: View) -> None:
        """Show the trouble there is, or why probes were paused, if anything."""
        lost = runtime_lost(snapshot, runtime_name, view)
        self._line = lost or playback_trouble(snapshot, view) or stopped(snapshot, view)
        self.display = bool(self._line)
        self.repaint()

    def content(self) -> Sequence[InkLine]:
        return [inks(self._line)]


class KeyLine(Painted):
    """The keys that work now, most useful first; a click is a press."""

    def __init__(self) -> None:
        super().__init__(id="keys")
        self._labels: Sequence[KeyLabel] = ()
        self._places: list[tuple[range, KeyLabel]] = []

    def show(self, labels: Sequence[KeyLabel]) -> None:
        """Show other keys."""
        self._labels = labels
        self.repaint()

    def content(self) -> Sequence[InkLine]:
        """Return the keys that fit; the rest is in the help."""
        self._places = []
        line: list[Ink] = []
        used = 0
        for label in self._fitting():
            gap = " " * (_GAP if line else 1)
            key, text = label.keys[0], _words(label)
            start = used + len(gap)
            used = start + len(key + text)
            self._places.append((range(start, used), label))
            line += [(gap, PLAIN), (key, "key"), (text, PLAIN)]
        return [tuple(line)]

    def _fitting(self) -> list[KeyLabel]:
        """Return the first keys and the last, which is how to leave."""
        if not self._labels:
            return []
        *others, last = self._labels
        with_words = _first_in(others, self.size.width - 1 - _width(last))
        alone = replace(last, text="")
        more = _first_in(others, self.size.width - 1 - len(last.keys[0]))
        # One key more is worth the word for how to leave, which is the last of all.
        is_worth_it = len(more) > len(with_words)
        return [*more, alone] if is_worth_it else [*with_words, last]

    def on_click(self, event: Click) -> None:
        for place, label in self._places:
            if event.x in place:
                self.post_message(KeyClicked(label.key))


def _words(label: KeyLabel) -> str:
    """Return what stands behind a key; a sign needs no space before it."""
    is_sign = label.keys[0] in _SIGNS
    return label.text if is_sign or not label.text else f" {label.text}"


def _width(label: KeyLabel) -> int:
    return len(label.keys[0]) + len(_words(label)) + _GAP


def _first_in(labels: Sequence[KeyLabel], room: int) -> list[KeyLabel]:
    """Return as many labels as there is room for, from the first."""
    kept = []
    for label in labels:
        room -= _width(label)
        if room < 0:
            break
        kept.append(label)
    return kept
