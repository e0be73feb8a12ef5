"""The story: rows of the event log, in which one thing that happened is one row.

A run of failures is a row that grows; a kill is a row of its event and of the signals
that are sent; a restart is a row of why it had not to wait, and of its events.
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
    """Lines that say one thing, oldest first; grows while it goes on.

    `is_raw` shows its one line as a cluster has it, in place of the story's words.
    """

    __slots__ = ("_head", "is_raw", "lines")

    def __init__(self, first: EventLine, *, is_raw: bool = False) -> None:
        self.lines = [first]
        self.is_raw = is_raw
        self._head = first

    def add(self, following: EventLine) -> None:
        """Add a line; what it says replaces what was said before."""
        self.lines.append(following)
        if following.word or not self._head.word:
            self._head = following

    @property
    def sequence(self) -> int:
        """The sequence number of its first line."""
        return self.lines[0].sequence

    @property
    def at(self) -> datetime:
        """When it began."""
        return self.lines[0].at

    @property
    def head(self) -> EventLine:
        """The line that says what happened."""
        return self._head

    def event_cell(self, view: View, room: int) -> Line:
        """Return what happened, in a word or two: `KILL`, `✗ 1/3  2/3`.

        A run of failures that needs more than `room` cells has its first and its last.
        """
        head = self._head
        marks = view.marks
        match "" if self.is_raw else head.word:
            case "failure":
                words = Span(self._counts(f"{marks.failure} ", room), Role.WARNING)
            case "error" | "warning" as kind:
                mark = marks.errored if kind == "error" else marks.warning
                times = f" x{len(self.lines)}" if len(self.lines) > 1 else ""
                words = Span(f"{mark} {kind}{times}", Role.WARNING)
            case "":
                mark = f"{marks.errored} " if head.role is Role.WARNING else ""
                words = Span(view.safe(mark + (head.reason or head.type)), head.role)
            case word:
                words = Span(view.safe(word), head.role)
        return line(words)

    @property
    def _is_repeated(self) -> bool:
        """Whether all its lines say the same."""
        events = {(one.reason, one.message) for one in self.lines}
        return len(self.lines) > 1 and len(events) == 1

    def message_cell(self, view: View, *, is_whole: bool = False) -> Line:
        """Return what there is to say about it, on one line; whole or as needed."""
        head = self._head
        words = "" if self.is_raw else head.words
        if not words:
            has_note = not self.is_raw and head.note
            words = f"[{head.note}] {head.message}" if has_note else head.message
            if self._is_repeated:
                words = f"x{len(self.lines)} {words}"
        if is_whole:
            return line(one_line(view.mask.text(words), newline=view.marks.newline))
        return line(view.safe(words))

    @property
    def is_note(self) -> bool:
        """Whether it is a note on the session, about no pod."""
        return self._head.type == "note" and not self._head.object

    def note_cell(self, view: View, room: int) -> Line:
        """Return a note in full if it fits, or with its place and field in short."""
        head = self._head
        word = Span(head.reason or "note", head.role)
        text = view.safe(head.message)
        left = room - len(word.text) - 2
        if len(text) > left:
            text = _PROBLEM.sub(_in_short(view.marks.ellipsis), text)
        return line(word, "  ", text)

    def _counts(self, mark: str, room: int) -> str:
        """Return `1/3  2/3  3/3 +4`: the run to its threshold, and those beyond it.

        `.. 3/3` is a run whose beginning is not in the log, or in another row.
        """
        # A failure that was observed has a line, and another one if its event came.
        every = list(
            {_tick(shown): shown.count for shown in self.lines if shown.count}.values()
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


def _tick(shown: EventLine) -> int:
    """Return the number of the tick of a line, or its own."""
    tick = shown.tick.sequence if shown.tick is not None else shown.tick_sequence
    return tick or shown.sequence


def _is_beyond(count: str) -> bool:
    """Return whether a place in a run, `4/3`, is beyond its threshold."""
    run, _, threshold = count.removeprefix(">=").partition("/")
    return int(run) > int(threshold)


_PROBLEM = re.compile(
    r"^(?P<folder>[^:]*/)?(?P<at>[^/\s]+:\d+:\d+: )"
    r"(?P<path>\S+\.)?(?=[^.\s]+\.[^.\s]+: )"
)
"""How a problem of a manifest begins, up to the last two parts of its field."""


def _in_short(ellipsis: str) -> Callable[[re.Match[str]], str]:
    """Return what puts the beginning of a problem in short: `…/pod.yaml:9:48: …`."""

    def shortened(found: re.Match[str]) -> str:
        folder = f"{ellipsis}/" if found["folder"] else ""
        return f"{folder}{found['at']}{ellipsis if found['path'] else ''}"

    return shortened


_OF_A_START = {"backoff", "BackOff", "Pulling", "Pulled", "Created", "Started"}
"""Reasons of the lines of a row about a restart, or about the wait for it."""


class Story:
    """Puts lines into rows, as they come; one owner adds each line once, in order."""

    def __init__(self) -> None:
        self.rows: list[StoryRow] = []
        self._by_number: dict[int, StoryRow] = {}

    def extend(self, lines: Iterable[EventLine], *, is_raw: bool = False) -> int:
        """Add lines and return how many rows are new; raw, each line is a row."""
        before = len(self.rows)
        for added in lines:
            row = self._by_number.get(added.row)
            joins = not is_raw and added.row != added.sequence
            if joins and row is not None:
                row.add(added)
                continue
            row = StoryRow(added, is_raw=is_raw)
            # An instance's end goes before the next start of the same instant.
            is_before = added.is_late and not is_raw and self._ends_with_start(added)
            self.rows.insert(len(self.rows) - is_before, row)
            self._by_number[added.row] = row
        return len(self.rows) - before

    def _ends_with_start(self, late: EventLine) -> bool:
        """Return whether the last row is a start, or its wait, at that instant."""
        if not self.rows:
            return False
        head, at = self.rows[-1].head, self.rows[-1].at
        same = (head.pod_uid, head.object) == (late.pod_uid, late.object)
        return head.reason in _OF_A_START and same and at == late.at

    def evict(self, oldest: int) -> int:
        """Drop the rows that begin before a sequence number; return how many."""
        gone = 0
        while gone < len(self.rows) and self.rows[gone].sequence < oldest:
            self._by_number.pop(self.rows[gone].lines[0].row, None)
            gone += 1
        del self.rows[:gone]
        return gone
