"""Format rows, columns and ages as kubectl does.

Source: Go 1.23 text/tabwriter, as k8s.io/cli-runtime printers use it;
k8s.io/apimachinery util/duration/duration.go, v0.32.10, HumanDuration.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta

from msgspec import Struct

from probetui.kubelet.events.event_correlator import ClusterEvent
from probetui.presentation.text.spans import Line, Role, Span, line

_GAP = 2


def align_columns(rows: Sequence[Sequence[str]]) -> list[tuple[str, ...]]:
    """Pad every cell except a row's last to the width of its column.

    A column is a block of consecutive rows that have a cell after it.
    """
    filled = [list(row) for row in rows]
    for column in range(max(map(len, rows), default=0)):
        for block in _blocks(rows, column):
            width = max(cell_width(rows[index][column]) for index in block) + _GAP
            for index in block:
                text = rows[index][column]
                filled[index][column] = text + " " * (width - cell_width(text))
    return [tuple(row) for row in filled]


def cell_width(text: str) -> int:
    """Return the approximate width of a text in cells of a terminal."""
    if text.isascii():
        return len(text)
    return sum(map(_width_of_character, text))


def _blocks(rows: Sequence[Sequence[str]], column: int) -> Iterator[list[int]]:
    block: list[int] = []
    for index, row in enumerate(rows):
        if len(row) > column + 1:
            block.append(index)
        elif block:
            yield block
            block = []
    if block:
        yield block


def _width_of_character(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


_SECOND = timedelta(seconds=1)
_MINUTE, _HOUR, _DAY = 60, 3600, 24 * 3600
_SECONDS_UNTIL = 2 * _MINUTE
_SECONDS_BESIDE_MINUTES_UNTIL = 10 * _MINUTE
_MINUTES_UNTIL = 3 * _HOUR
_MINUTES_BESIDE_HOURS_UNTIL = 8 * _HOUR
_HOURS_UNTIL = 2 * _DAY
_HOURS_BESIDE_DAYS_UNTIL = 8 * _DAY
_YEAR = 365 * _DAY
_DAYS_UNTIL = 2 * _YEAR
_DAYS_BESIDE_YEARS_UNTIL = 8 * _YEAR


def format_human_duration(length: timedelta) -> str:
    """Format a duration in its one or two largest units: `31s`, `3m11s`, `5h`.

    -2 s and less is `<invalid>`, other negative durations are `0s`.
    """
    if length <= -2 * _SECOND:
        return "<invalid>"
    seconds = max(length // _SECOND, 0)
    if seconds < _SECONDS_UNTIL:
        return f"{seconds}s"
    if seconds < _SECONDS_BESIDE_MINUTES_UNTIL:
        return _units(seconds, _MINUTE, "m", 1, "s", 60)
    if seconds < _MINUTES_UNTIL:
        return f"{seconds // _MINUTE}m"
    if seconds < _MINUTES_BESIDE_HOURS_UNTIL:
        return _units(seconds, _HOUR, "h", _MINUTE, "m", 60)
    if seconds < _HOURS_UNTIL:
        return f"{seconds // _HOUR}h"
    if seconds < _HOURS_BESIDE_DAYS_UNTIL:
        return _units(seconds, _DAY, "d", _HOUR, "h", 24)
    if seconds < _DAYS_UNTIL:
        return f"{seconds // _DAY}d"
    if seconds < _DAYS_BESIDE_YEARS_UNTIL:
        return _units(seconds, _YEAR, "y", _DAY, "d", 365)
    return f"{seconds // _YEAR}y"


def format_event_age(event: ClusterEvent, now: datetime) -> str:
    """Format an event's age: `31s`, or `31s (x9 over 3m11s)` for more than one.

    Source: k8s.io/kubectl describe/describe.go, v0.32.10, DescribeEvents.
    """
    first = format_since(event.first_seen_at, now)
    if event.count <= 1:
        return first
    return f"{format_since(event.last_seen_at, now)} (x{event.count} over {first})"


def format_since(at: datetime, now: datetime) -> str:
    """Format how long ago an instant was, which the API truncates to seconds."""
    return format_human_duration(now - at.replace(microsecond=0))


def format_rfc1123(at: datetime) -> str:
    """Format an instant as `kubectl describe` does, in UTC."""
    utc = at.astimezone(UTC)
    # Not strftime's %a and %b, which depend on the locale.
    day = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")[utc.weekday()]
    month = (
        "Jan", "Feb", "Mar", "Apr", "May", "Jun",
        "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    )[utc.month - 1]  # fmt: skip
    return f"{day}, {utc:%d} {month} {utc:%Y %H:%M:%S} +0000"


def _units(
    seconds: int, large: int, name: str, small: int, small_name: str, most: int
) -> str:
    """Format the large unit and, unless it is zero, the small one."""
    rest = seconds // small % most
    return f"{seconds // large}{name}" + (f"{rest}{small_name}" if rest else "")


NONE = "<none>"
_INDENT = "  "


class DescribeRow(Struct, frozen=True):
    """One line of cells in columns; `role` is that of the last cell.

    A single cell is a heading if it ends with a colon.
    """

    depth: int
    cells: tuple[str, ...]
    role: Role = Role.PLAIN


def describe_row(depth: int, *cells: str, role: Role = Role.PLAIN) -> DescribeRow:
    """Return a row; a shorthand with its cells as positional arguments."""
    return DescribeRow(depth, cells, role)


def texts(depth: int, label: str, lines: Iterable[str]) -> list[DescribeRow]:
    """Return a label with its values below one another, `<none>` if there are none."""
    first, *others = list(lines) or [NONE]
    return [
        describe_row(depth, f"{label}:", first),
        *(describe_row(depth, "", other) for other in others),
    ]


def pairs(label: str, mapping: Mapping[str, str], between: str) -> list[DescribeRow]:
    """Return the rows of a mapping, sorted by key."""
    return texts(0, label, [f"{key}{between}{mapping[key]}" for key in sorted(mapping)])


def lines_of(rows: Iterable[DescribeRow]) -> list[Line]:
    """Return rows as lines with aligned columns, labels muted."""
    rows = list(rows)
    cells = [
        (_INDENT * row.depth + row.cells[0], *row.cells[1:]) if row.cells else ("",)
        for row in rows
    ]
    return [
        _line(row, filled)
        for row, filled in zip(rows, align_columns(cells), strict=True)
    ]


def _line(given: DescribeRow, filled: tuple[str, ...]) -> Line:
    *labels, last = filled
    if not labels:
        is_heading = last.endswith(":")
        return line(Span(last, Role.STRONG if is_heading else given.role))
    return line(*(Span(label, Role.MUTED) for label in labels), Span(last, given.role))
