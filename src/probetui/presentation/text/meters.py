"""Draw meters: a count against its threshold as segments, the rest of a wait as a bar.

Both can be read without colour: filled and empty parts are different characters.
"""

from __future__ import annotations

from datetime import timedelta

from probetui.presentation.text.spans import Line, Role, Span, line, muted
from probetui.presentation.tick.marks import MarkSet

_SEGMENT = 2
"""The width, in cells, of a segment with a space between it and the next."""


def segments(filled: int, total: int, role: Role, marks: MarkSet, width: int) -> Line:
    """Draw a count against its threshold, in at most `width` cells.

    The longest form that fits is taken: `██ ██ ░░` with separate segments, `██░` with
    one cell each, or a proportional bar. In ASCII it is `[##.]`, or `##.` if the
    brackets do not fit. A count beyond the threshold fills the meter.
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


def wide_segments(
    filled: int, total: int, role: Role, marks: MarkSet, width: int
) -> Line:
    """Draw a count against its threshold over `width` cells, one segment for each."""
    total = max(total, 1)
    filled = min(max(filled, 0), total)
    room = width - total + 1
    if room < total * _LEAST_WIDE:
        return bar(filled / total, role, marks, width)
    spans: list[Span] = []
    for place in range(total):
        length = room * (place + 1) // total - room * place // total
        spans += [Span(" ")] if place else []
        is_filled = place < filled
        text = (marks.bar if is_filled else marks.bar_empty) * length
        # Without a run there is nothing to look at.
        rest = Span(text, Role.MUTED, is_faint=not filled)
        spans.append(Span(text, role) if is_filled else rest)
    return line(*spans)


_LEAST_WIDE = 3
"""The least cells of a segment over the whole width: shorter ones look ragged."""

_LEAST_IN_BRACKETS = 5
"""The least width, in cells, of a bar with brackets."""


def bar(part: float, role: Role, marks: MarkSet, width: int) -> Line:
    """Draw a bar of `width` cells, filled in proportion to `part` from 0 to 1.

    It is empty only at 0 and full only at 1, so that even small parts are visible.
    """
    if marks.is_ascii and width >= _LEAST_IN_BRACKETS:
        filled = _cells(part, width - len("[]"))
        return line("[", *_bar(filled, width - len("[]"), role, marks), "]")
    return _bar(_cells(part, width), width, role, marks)


def waited(left: timedelta, whole: timedelta) -> float:
    """Return which part of a wait is over, from 0 to 1.

    A bar of it fills as a run of failures does, towards what comes.
    """
    return min(max(1 - left / whole, 0.0), 1.0) if whole > timedelta() else 1.0


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
