"""Draw ticks as a row of marks, in which equal ones in a row are folded.

`✓6 ✗✗✗ K hold6`: six successes, three failures, a kill, six ticks on hold.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from probetui.analysis.timeline import TickMark, Timeline
from probetui.presentation.text.spans import (
    EMPTY,
    Line,
    Role,
    Span,
    line,
    muted,
    text_of,
)
from probetui.presentation.text.view import View
from probetui.presentation.tick.marks import SKIP_WORDS, MarkSet, tick_mark

NOW = " <now"
_MOST_UNFOLDED = {"failure": 6}
"""The most equal ticks that are drawn one by one; more of them are folded."""

_MOST_OTHERS_UNFOLDED = 3
_ROOM_AT_CURSOR = 12
"""The width, in cells, reserved for the selected tick and the one before it."""


class StripPart(Struct, frozen=True):
    """A part of a strip: equal ticks in a row.

    Attributes:
        ticks: the numbers of the ticks.
        spans: the marks or words.
        begins: the code of the first mark; a part that ends with the same code joins it
            without a space. Empty if a space is required.
        ends: the code of the last mark, likewise.
        column: where it begins in the strip.
        lead: the cells before the marks.
        unit: the cells of each mark; 0 if the ticks are folded.
    """

    ticks: range
    spans: Line
    begins: str = ""
    ends: str = ""
    column: int = 0
    lead: int = 0
    unit: int = 0

    @property
    def width(self) -> int:
        """The width in cells."""
        return len(text_of(self.spans))

    def tick_at(self, offset: int) -> int:
        """Return the tick at an offset from the beginning; if folded, the newest."""
        if not self.unit:
            return self.ticks[-1]
        place = max(offset - self.lead, 0) // self.unit
        return self.ticks[min(place, len(self.ticks) - 1)]

    def gap(self, following: StripPart) -> int:
        """Return the number of cells between this part and the following one."""
        return 0 if self.ends and self.ends == following.begins else 1


class TickStrip(Struct, frozen=True):
    """A strip with the positions of its ticks.

    `dropped` older and `newer` newer ticks did not fit.
    """

    spans: Line
    parts: tuple[StripPart, ...] = ()
    dropped: int = 0
    newer: int = 0

    def tick_at(self, column: int) -> int | None:
        """Return the tick at a column, the newest of folded ones, None between them."""
        for part in self.parts:
            if part.column <= column < part.column + part.width:
                return part.tick_at(column - part.column)
        return None


def fold_ticks(
    timeline: Timeline,
    ticks: range,
    view: View,
    width: int,
    *,
    cursor: int | None = None,
    period_seconds: int = 1,
) -> TickStrip:
    """Draw the newest of some ticks as a strip of at most `width` cells.

    The selected tick is bracketed and always visible: newer ticks are left out if they
    do not fit.

    Args:
        timeline: the ticks of the probe.
        ticks: the range to draw.
        view: how they are shown.
        width: in cells.
        cursor: the selected tick, None for none.
        period_seconds: the probe's period, to compute lost ticks of old records.
    """
    stop, room = ticks.stop, width
    if cursor in ticks and cursor is not None:
        newer = _parts_back(timeline, range(cursor + 1, stop), view, period_seconds)
        needed = _ROOM_AT_CURSOR + len(text_of(_period_sign(timeline, cursor)))
        if not _fits(newer, width - needed):
            stop, room = cursor + 1, width - len(_newer(ticks.stop - cursor - 1))
    parts: list[StripPart] = []
    kept = range(ticks.start, stop)
    for part in _parts_back(timeline, kept, view, period_seconds, cursor):
        room -= part.width + (part.gap(parts[-1]) if parts else 0)
        if room < 0:
            break
        parts.append(part)
    first = parts[-1].ticks.start if parts else kept.stop
    return _placed(parts[::-1], first - ticks.start, ticks.stop - stop)


def _fits(parts: Iterator[StripPart], width: int) -> bool:
    """Return whether parts fit into `width` cells; stop as soon as they do not."""
    for part in parts:
        width -= part.width + 1
        if width < 0:
            return False
    return True


def _newer(count: int) -> str:
    return f" +{count} newer"


def _parts_back(
    timeline: Timeline,
    ticks: range,
    view: View,
    period_seconds: int,
    cursor: int | None = None,
) -> Iterator[StripPart]:
    """Yield parts from newest to oldest; the selected tick is a part of its own."""
    start, stop = ticks.start, ticks.stop
    while stop > start:
        first = start
        if cursor is not None and cursor < stop:
            first = max(start, cursor + (cursor < stop - 1))
        alike = timeline.alike(range(first, stop))
        part = _part(timeline, alike, start, view, period_seconds)
        if cursor is not None and cursor in alike:
            sign = _period_sign(timeline, cursor)
            marks = part.spans[len(sign) :]
            bracketed = (Span("[", Role.STRONG), *marks, Span("]", Role.STRONG))
            part = StripPart(alike, (*sign, *bracketed))
        yield part
        stop = alike.start


def _part(
    timeline: Timeline, ticks: range, first: int, view: View, period_seconds: int
) -> StripPart:
    marks, mark = view.marks, timeline.mark_at(ticks[-1])
    spans = list(_marks_of(mark, len(ticks), marks))
    is_folded = len(ticks) > _most_unfolded(mark) or mark.code in SKIP_WORDS
    begins = ends = "" if is_folded else mark.code
    unit = 0 if is_folded else len(spans[0].text) // len(ticks)
    lead = 0
    if mark.is_kill:
        spans.append(Span(f" {marks.kill}", Role.KILL))
    if lost := timeline.ticks_lost(ticks, period_seconds):
        spans.append(Span(f" lost{lost}", Role.WARNING))
    if mark.is_kill or mark.is_flip or lost:
        ends = ""
    if timeline.mark_at(ticks.start).is_new_container and ticks.start != first:
        spans.insert(0, Span(f"{marks.new_container} "))
        begins, lead = "", len(spans[0].text)
    if sign := _period_sign(timeline, ticks.start):
        spans[:0] = sign
        begins, lead = "", lead + len(text_of(sign))
    return StripPart(ticks, tuple(spans), begins, ends, lead=lead, unit=unit)


def _period_sign(timeline: Timeline, tick: int) -> Line:
    """Return `period5s ` if the period changes with a tick."""
    period = timeline.period_from(tick)
    return line(Span(f"period{period}s ", Role.ACCENT)) if period else EMPTY


def _most_unfolded(mark: TickMark) -> int:
    return _MOST_UNFOLDED.get(mark.code, _MOST_OTHERS_UNFOLDED)


def _marks_of(appearance: TickMark, count: int, marks: MarkSet) -> Iterator[Span]:
    mark = tick_mark(appearance, marks)
    if appearance.code in SKIP_WORDS:
        number = str(count) if count > 1 else ""
        yield muted(f"{SKIP_WORDS[appearance.code]}{number}")
        return
    unit = mark.text
    if appearance.is_out_of_schedule:
        unit += marks.out_of_schedule
    if appearance.is_injected:
        unit += marks.injected
    if count > _most_unfolded(appearance):
        yield mark._replace(text=f"{unit}{count}")
    else:
        yield mark._replace(text=unit * count)
    if appearance.is_flip and count == 1:
        is_bad = appearance.code == "failure"
        flip = marks.became_bad if is_bad else marks.became_good
        yield Span(flip, Role.ERROR if is_bad else Role.SUCCESS)


def _placed(parts: Sequence[StripPart], dropped: int, newer: int) -> TickStrip:
    spans: list[Span] = []
    placed: list[StripPart] = []
    column = 0
    for part in parts:
        if placed and placed[-1].gap(part):
            spans.append(Span(" "))
            column += 1
        placed.append(replace(part, column=column))
        spans += part.spans
        column += part.width
    tail = (muted(_newer(newer)),) if newer else ()
    return TickStrip((*spans, *tail), tuple(placed), dropped, newer)


def short_strip(
    timeline: Timeline,
    cursor: int | None,
    view: View,
    width: int,
    period_seconds: int = 1,
) -> Line:
    """Draw the strip of all instances on one line, with a bar between instances."""
    if not timeline.indexes:
        return line(muted("no tick yet"))
    strip = fold_ticks(
        timeline,
        timeline.indexes,
        view,
        width - len(NOW),
        cursor=cursor,
        period_seconds=period_seconds,
    )
    return line(*strip.spans, muted("" if strip.newer else NOW))
