"""A probe's ticks as a row of marks, with a cursor on one of them."""

from __future__ import annotations

from collections.abc import Iterator

from probetui.analysis.timeline import Timeline
from probetui.kubelet.journal import TickEntry
from probetui.presentation.text.spans import Line, Role, Span, line, muted, text_of
from probetui.presentation.text.view import View
from probetui.presentation.tick.marks import PlacedMark, join_marks, place_marks

NOW = " <now"
_NEWER_WIDTH = 10
"""Cells for ` +99 newer`, or ` +1234567`."""
_LEFT_OF_CURSOR = 3
"""The cursor stands at this part of the strip, counted from its end."""


def strip_lines(
    timeline: Timeline,
    cursor: int | None,
    period_seconds: int,
    view: View,
    width: int,
) -> Iterator[Line]:
    """Yield the strip, and below it what stands where.

    `cursor` is the number of the selected tick; None means the newest, and
    that the strip goes on by itself.
    """
    if not timeline.indexes:
        yield line(muted("no tick yet"))
    elif cursor is None:
        yield from _following(timeline, period_seconds, view, width)
    else:
        yield from _with_cursor(timeline, cursor, view, width)


def short_strip(timeline: Timeline, cursor: int | None, view: View, width: int) -> Line:
    """Return the strip on one line; the tick at the cursor is between brackets."""
    if not timeline.indexes:
        return line(muted("no tick yet"), muted(NOW))
    if cursor is None:
        placed = _placed(timeline, timeline.indexes, view, width - len(NOW))
        return line(*join_marks(placed), muted(NOW))
    placed = _around(timeline, cursor, view, width - _NEWER_WIDTH - 2)
    before = join_marks(mark for mark in placed if mark.tick < cursor)
    at = join_marks(mark for mark in placed if mark.tick == cursor)
    after = join_marks(mark for mark in placed if mark.tick > cursor)
    tail = muted(_newer(timeline, placed))
    return line(
        *before, Span("[", Role.STRONG), *at, Span("]", Role.STRONG), *after, tail
    )


def instance_strip(
    timeline: Timeline, ticks: range, view: View, width: int
) -> tuple[Line, int]:
    """Return the newest marks of some ticks, and how many of them did not fit."""
    placed = place_marks(timeline.mark_at, ticks, view.marks, width, first=ticks.start)
    return join_marks(placed), len(ticks) - len(placed)


def _following(
    timeline: Timeline, period_seconds: int, view: View, width: int
) -> Iterator[Line]:
    placed = _placed(timeline, timeline.indexes, view, width - len(NOW))
    ticks = join_marks(placed)
    scale = f"one mark = {period_seconds}s"
    gap = width - len(text_of(ticks)) - len(NOW) - len(scale)
    yield line(*ticks, muted(NOW), muted(" " * gap + scale if gap > 1 else ""))
    if not placed:
        return
    footnote = f"^{_clock(timeline.tick(placed[0].tick), view)}"
    newest = _newest_container(timeline, placed)
    if newest is not None and newest.column > len(footnote):
        footnote = footnote.ljust(newest.column)
        clock = _clock(timeline.tick(newest.tick), view)
        footnote += f"^{clock} new container"
    yield line(muted(footnote))


def _newest_container(
    timeline: Timeline, placed: tuple[PlacedMark, ...]
) -> PlacedMark | None:
    for mark in reversed(placed[1:]):
        if timeline.mark_at(mark.tick).is_new_container:
            return mark
    return None


def _with_cursor(
    timeline: Timeline, cursor: int, view: View, width: int
) -> Iterator[Line]:
    placed = _around(timeline, cursor, view, width - _NEWER_WIDTH)
    yield line(*join_marks(placed), muted(_newer(timeline, placed)))
    column = next(mark.mark_column for mark in placed if mark.tick == cursor)
    tick = timeline.tick(cursor)
    number = f"#{tick.n} " if tick is not None else ""
    words = f"{number}{_clock(tick, view)}"
    dropped = timeline.indexes.start
    if dropped and cursor == dropped:
        words += f"  {dropped} older dropped"
    if column + 1 + len(words) <= width:
        yield line(" " * column, Span(f"^{words}", Role.STRONG))
    elif len(words) <= column:
        yield line(Span(f"{words}^".rjust(column + 1), Role.STRONG))
    else:
        yield line(" " * column, Span("^", Role.STRONG))


def _around(
    timeline: Timeline, cursor: int, view: View, width: int
) -> tuple[PlacedMark, ...]:
    """Return the marks around the cursor, which is among them whatever the width."""
    indexes = timeline.indexes
    for room in (width // _LEFT_OF_CURSOR, 0):
        stop = min(cursor + 1 + room, indexes.stop)
        placed = _placed(timeline, range(indexes.start, stop), view, width)
        if placed and placed[0].tick <= cursor:
            return placed
    return _placed(timeline, range(cursor, cursor + 1), view, max(width, 8))


def _placed(
    timeline: Timeline, ticks: range, view: View, width: int
) -> tuple[PlacedMark, ...]:
    return place_marks(
        timeline.mark_at, ticks, view.marks, width, first=timeline.indexes.start
    )


def _newer(timeline: Timeline, placed: tuple[PlacedMark, ...]) -> str:
    """Return how many ticks are newer than those in sight."""
    newer = timeline.indexes.stop - placed[-1].tick - 1
    if not newer:
        return NOW
    words = f" +{newer} newer"
    return words if len(words) <= _NEWER_WIDTH else f" +{newer}"


def _clock(tick: TickEntry | None, view: View) -> str:
    return "long ago" if tick is None else view.times.clock(tick.started_at)
