"""What the next runs of the chosen probe may come to, in step mode."""

from __future__ import annotations

from collections.abc import Sequence

from probetui.presentation.detail import title
from probetui.presentation.spans import EMPTY, Line, Role, Span, line, muted, strong
from probetui.tui.injecting import REPEAT, Choice, Injecting
from probetui.tui.inks import InkLine, inks
from probetui.tui.stage import Stage
from probetui.tui.widgets.rows_pane import RowsPane

_SHORT = (1, 2, 3)
"""Choices that say all by their name; they share a line."""

_CELLS = 19


class ChoicePane(RowsPane):
    """The choices with their numbers; a number takes one, whatever has the focus."""

    def __init__(self, stage: Stage, injecting: Injecting, *, is_ascii: bool) -> None:
        super().__init__(id="choose", is_ascii=is_ascii)
        self._stage = stage
        self._injecting = injecting

    def title(self) -> Line:
        return line(strong("Choose the next result"), muted(" (a number, or i)"))

    def badge(self) -> Line:
        subject = self._stage.subject
        if subject is None or subject.probe is None:
            return EMPTY
        kind = subject.probe.key.probe_type.lower()
        return line(title(subject, self._stage.sight.view), f" {kind}")

    def rows(self) -> Sequence[InkLine]:
        choices = self._injecting.choices
        lines = [
            _row(choices, 0),
            line(*(part for each in _SHORT for part in _row(choices, each))),
            _row(choices, 4),
            _row(choices, 5),
            line(
                *_row(choices, len(choices) - 1),
                muted("  left, right: N "),
                Span(str(self._injecting.times), Role.ACCENT),
            ),
            self._injecting.pending(),
        ]
        return [inks(each) for each in lines]


def _row(choices: Sequence[Choice], index: int) -> Line:
    choice = choices[index]
    words = choice.words if choice.name == REPEAT else choice.words.ljust(_CELLS)
    note = choice.note if index not in _SHORT else ""
    number = (
        muted(f"{index + 1} ") if choice.is_off else Span(f"{index + 1} ", Role.ACCENT)
    )
    named = muted(words) if choice.is_off else Span(words, Role.PLAIN)
    return line(number, named, muted(f"  {note}" if note else ""))
