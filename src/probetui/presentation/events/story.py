"""The story: the event log with one row for each thing that happened.

A run of failures is one row, which grows. The row of a kill has its event and the
signals; the row of a restart has the back-off decision and the events of the start.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from datetime import datetime

from probetui.presentation.events.log import EventLine
from probetui.presentation.text.cells import one_line
from probetui.presentation.text.spans import Line, Role, Span, line
from probetui.presentation.text.view import View


class StoryRow:
    """The lines about one thing that happened, oldest first.

    Args:
        first: the first line.
        is_raw: whether to show the line as a cluster has it, not in the story's words.
    """

    __slots__ = ("_head", "is_raw", "lines")

    def __init__(self, first: EventLine, *, is_raw: bool = False) -> None:
        self.lines = [first]
        self.is_raw = is_raw
        self._head = first

    def add(self, following: EventLine) -> None:
        """Add a line, which becomes the head if it has a headline."""
        self.lines.append(following)
        if following.word or not self._head.word:
            self._head = following

    @property
    def sequence(self) -> int:
        """The sequence number of the first line."""
        return self.lines[0].sequence

    @property
    def at(self) -> datetime:
        """The time of the first line."""
        return self.lines[0].at

    @property
    def head(self) -> EventLine:
        """The line that describes the row."""
        return self._head

    def event_cell(self, view: View, room: int) -> Line:
        """Format the headline: `KILL`, `✗ 1/3  2/3`.

        A run of failures that needs more than `room` cells shows its first and last.
        """
        head = self._head
        marks = view.marks
        match "" if self.is_raw else head.word:
            case "failure":
                headline = Span(self._counts(f"{marks.failure} ", room), Role.WARNING)
            case "error" | "warning" as kind:
                mark = marks.errored if kind == "error" else marks.warning
                times = f" x{len(self.lines)}" if len(self.lines) > 1 else ""
                headline = Span(f"{mark} {kind}{times}", Role.WARNING)
            case "":
                mark = f"{marks.errored} " if head.role is Role.WARNING else ""
                headline = Span(view.safe(mark + (head.reason or head.type)), head.role)
            case word:
                headline = Span(view.safe(word), head.role)
        return line(headline)

    @property
    def _is_repeated(self) -> bool:
        """Whether all lines have the same reason and message."""
        events = {(shown.reason, shown.message) for shown in self.lines}
        return len(self.lines) > 1 and len(events) == 1

    def message_cell(self, view: View, *, is_whole: bool = False) -> Line:
        """Format the message on one line; cut to the usual length unless `is_whole`."""
        head = self._head
        message = "" if self.is_raw else head.words
        if not message:
            has_note = not self.is_raw and head.note
            message = f"[{head.note}] {head.message}" if has_note else head.message
            if self._is_repeated:
                message = f"x{len(self.lines)} {message}"
        if is_whole:
            return line(one_line(view.mask.text(message), newline=view.marks.newline))
        return line(view.safe(message))

    @property
    def is_note(self) -> bool:
        """Whether the row is a note on the session, not on a pod."""
        return self._head.type == "note" and not self._head.object

    def note_cell(self, view: View, room: int) -> Line:
        """Format a note; if it does not fit, its place and field are shortened."""
        head = self._head
        word = Span(head.reason or "note", head.role)
        text = view.safe(head.message)
        if len(text) > room - len(word.text) - 2:
            text = _PROBLEM.sub(_abbreviator(view.marks.ellipsis), text)
        return line(word, "  ", text)

    def _counts(self, mark: str, room: int) -> str:
        """Format a run of failures: `1/3  2/3  3/3 +4`, with four beyond the threshold.

        `.. 3/3` is a run whose beginning is not in the log, or in another row.
        """
        # An observed failure has one line, and another one if its event came.
        every = list(
            {
                _tick_number(shown): shown.count for shown in self.lines if shown.count
            }.values()
        )
        counts = [count for count in every if not _is_beyond(count)]
        if not counts:
            return f"{mark}{every[-1].partition('/')[0]} in a row"
        beyond = len(every) - len(counts)
        more = f" +{beyond}" if beyond else ""
        first, last = counts[0], counts[-1]
        whole, ends = "  ".join(counts), f"{first} .. {last}"
        if not first.removeprefix(">=").startswith("1/"):
            whole, ends = f".. {whole}", f".. {last}"
        fitting = (text for text in (whole, ends) if len(mark + text + more) <= room)
        return f"{mark}{next(fitting, last)}{more}"


def _tick_number(shown: EventLine) -> int:
    """Return the sequence number of a line's tick, or else the line's own."""
    tick = shown.tick.sequence if shown.tick is not None else shown.tick_sequence
    return tick or shown.sequence


def _is_beyond(count: str) -> bool:
    """Return whether a position in a run, `4/3`, is beyond the threshold."""
    run, _, threshold = count.removeprefix(">=").partition("/")
    return int(run) > int(threshold)


_PROBLEM = re.compile(
    r"^(?P<folder>[^:]*/)?(?P<at>[^/\s]+:\d+:\d+: )"
    r"(?P<path>\S+\.)?(?=[^.\s]+\.[^.\s]+: )"
)
"""The beginning of a problem of a manifest, up to the last two parts of its field."""


def _abbreviator(ellipsis: str) -> Callable[[re.Match[str]], str]:
    """Return a substitution that abbreviates a `_PROBLEM`: `…/pod.yaml:9:48: …`."""

    def abbreviated(match: re.Match[str]) -> str:
        folder = f"{ellipsis}/" if match["folder"] else ""
        return f"{folder}{match['at']}{ellipsis if match['path'] else ''}"

    return abbreviated


_START_REASONS = {"backoff", "BackOff", "Pulling", "Pulled", "Created", "Started"}
"""The reasons of lines about a start, or about the wait for it."""


class Story:
    """Assembles lines into rows; its owner adds each line once, in order."""

    def __init__(self) -> None:
        self.rows: list[StoryRow] = []
        self._by_number: dict[int, StoryRow] = {}

    def extend(self, lines: Iterable[EventLine], *, is_raw: bool = False) -> int:
        """Add lines and return how many rows are new.

        Args:
            lines: the next lines.
            is_raw: whether each line is a row of its own.
        """
        before = len(self.rows)
        for added in lines:
            row = self._by_number.get(added.row)
            joins = not is_raw and added.row != added.sequence
            if joins and row is not None:
                row.add(added)
                continue
            row = StoryRow(added, is_raw=is_raw)
            # The last line of an instance goes before a start at the same instant.
            is_before = added.is_late and not is_raw and self._ends_with_start(added)
            self.rows.insert(len(self.rows) - is_before, row)
            self._by_number[added.row] = row
        return len(self.rows) - before

    def _ends_with_start(self, late: EventLine) -> bool:
        """Return whether the last row is a start, or its wait, at the same instant."""
        if not self.rows:
            return False
        head, at = self.rows[-1].head, self.rows[-1].at
        same = (head.pod_uid, head.object) == (late.pod_uid, late.object)
        return head.reason in _START_REASONS and same and at == late.at

    def evict(self, oldest: int) -> int:
        """Drop the rows that begin before a sequence number; return their count."""
        gone = 0
        while gone < len(self.rows) and self.rows[gone].sequence < oldest:
            self._by_number.pop(self.rows[gone].lines[0].row, None)
            gone += 1
        del self.rows[:gone]
        return gone
