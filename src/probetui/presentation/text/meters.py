"""Meters: a count against its threshold as segments, and what is left of a wait.

Both can be read without colour: what is filled and what is empty are other characters.
"""

from __future__ import annotations

from datetime import timedelta

from probetui.presentation.text.spans import Line, Role, Span, line, muted
from probetui.presentation.tick.marks import MarkSet

_SEGMENT = 2
"""Cells of a segment that stands apart from its neighbours by a space."""


def segments(filled: int, total: int, role: Role, marks: MarkSet, width: int) -> Line:
    """Return a count against its threshold, in at most `width` cells.

    `██ ██ ░░` where each count has room for a segment of its own, `██░` where each has
    a cell, a bar in proportion otherwise. In ASCII `[##.]`, or `##.` without room for
    the brackets. A count beyond the threshold fills it.
    """
    total = max(total, 1)
    filled = min(max(filled, 0), total)
    if marks.is_ascii and total + 2 <= width:
        return line("[", *_bar(filled, total, role, marks), "]")
    if total * (_SEGMENT + 1) - 1 <= width and not marks.is_ascii:
        return _apart(filled, total, role, marks)
    if total <= width:
        return _bar(filled, total, role, marks)
    return bar(filled / total, role, marks, width)


_LEAST_IN_BRACKETS = 5
"""Cells of a bar with brackets; a single mark between them would say nothing."""


def bar(part: float, role: Role, marks: MarkSet, width: int) -> Line:
    """Return a bar of `width` cells of which a part, from 0 to 1, is filled.

    It is empty only at 0 and full only at 1, so that a little of much can be seen.
    """
    if marks.is_ascii and width >= _LEAST_IN_BRACKETS:
        filled = _cells(part, width - len("[]"))
        return line("[", *_bar(filled, width - len("[]"), role, marks), "]")
    return _bar(_cells(part, width), width, role, marks)


def countdown(
    left: timedelta, whole: timedelta, role: Role, marks: MarkSet, width: int
) -> Line:
    """Return what is left of a wait as a bar that empties; empty when it is over."""
    part = left / whole if whole > timedelta() else 0.0
    return bar(part, role, marks, width)


def _cells(part: float, width: int) -> int:
    if part <= 0 or width < 1:
        return 0
    if part >= 1:
        return width
    return min(max(round(part * width), 1), max(width - 1, 1))


def _bar(filled: int, width: int, role: Role, marks: MarkSet) -> Line:
    rest = muted(marks.bar_empty * (width - filled))
    return line(Span(marks.bar * filled, role), rest)


def _apart(filled: int, total: int, role: Role, marks: MarkSet) -> Line:
    full, empty = marks.bar * _SEGMENT, marks.bar_empty * _SEGMENT
    rest = " ".join([empty] * (total - filled))
    done = " ".join([full] * filled)
    return line(Span(done, role), " " if done and rest else "", muted(rest))
