"""The story: the event log with one row for each thing that happened.

A run of failures is one row, which grows. The row of a kill has its event and the
signals; the row of a restart has the back-off decision and the events of the start.

What repeats is folded. Pulls that fail, and events that say the same, are one row,
which stands where it came last. Of equal restarts, and of a readiness that flaps, the
newest is told in full; those before it are one row, a `Fold`, which stands where the
last of them did. Rows are never folded while they can still grow.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from itertools import pairwise
from operator import attrgetter

from msgspec import Struct, field

from probetui.analysis.container_history import LEAST_FOLDED
from probetui.kubelet.kuberuntime.restart import pull_range
from probetui.presentation.container.back_off import format_due
from probetui.presentation.container.instances import format_intervals
from probetui.presentation.events.log import PULL, EventLine
from probetui.presentation.text.cells import one_line
from probetui.presentation.text.spans import Line, Role, Span, line, text_of
from probetui.presentation.text.view import View

_UNLIMITED = 1_000


class StoryRow:
    """The lines about one thing that happened, oldest first.

    Args:
        first: the first line.
        is_raw: whether to show the line as a cluster has it, not in the story's words.
    """

    __slots__ = (
        "_head",
        "_seen",
        "is_part",
        "is_raw",
        "is_unfolded",
        "lines",
        "place",
        "times",
    )

    def __init__(self, first: EventLine, *, is_raw: bool = False) -> None:
        self.lines = [first]
        self.is_raw = is_raw
        self.place = 0
        """The key of the row in its story."""
        self.times = 1
        """How often it happened, including lines that are no longer there."""
        self.is_unfolded = self.is_part = False
        self._head = first
        self._seen = 0, ""
        """The text on the screen, and how many lines it is of."""

    def add(self, following: EventLine) -> None:
        """Add a line, which becomes the head if it has a headline."""
        self.lines.append(following)
        if following.word and not self._head.word:
            self.times = 0  # what came before was only about to be
        if following.word or not self._head.word:
            self.times += 1
            self._head = following

    def evict(self, oldest: int) -> bool:
        """Drop lines before a sequence number; return whether the row is gone.

        A row that has one place goes with its beginning.
        """
        if not self.recurs:
            return self.sequence < oldest
        self.lines = [shown for shown in self.lines if shown.sequence >= oldest]
        return not self.lines

    @property
    def recurs(self) -> bool:
        """Whether the row stands where it came last."""
        return self._head.recurs and not self.is_raw

    @property
    def parts(self) -> Sequence[StoryRow]:
        """The rows that it unfolds into, oldest first; none if it cannot unfold."""
        if not self.recurs or len(self.lines) < 2:  # noqa: PLR2004  # a repetition
            return ()
        parts = [StoryRow(shown, is_raw=True) for shown in self.lines]
        for part in parts:
            part.is_part = True
        return parts

    def seen(self, view: View) -> str:
        """Return the text on the screen, which filters search."""
        if self._seen[0] != len(self.lines):
            cells = self.event_cell(view, _UNLIMITED), self.message_cell(view)
            texts = (view.safe(self._head.object), *map(text_of, cells))
            self._seen = len(self.lines), " ".join(texts)
        return self._seen[1]

    @property
    def sequence(self) -> int:
        """The sequence number of the first line."""
        return self.lines[0].sequence

    @property
    def at(self) -> datetime:
        """The time of the first line, or of the last one of what recurs."""
        return self.lines[-1 if self.recurs else 0].at

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
                times = f" {marks.times}{self.times}" if self.times > 1 else ""
                headline = Span(f"{mark} {kind}{times}", Role.WARNING)
            case word if word == PULL and self.times > 1:
                headline = Span(f"{word} {marks.times}{self.times}", head.role)
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

    def message_cell(
        self,
        view: View,
        *,
        is_whole: bool = False,
        next_pull_at: datetime | None = None,
    ) -> Line:
        """Format the message on one line; cut to the usual length unless `is_whole`.

        `next_pull_at` is when the image of the container may be pulled again.
        """
        head = self._head
        message = "" if self.is_raw else head.words
        if not message:
            has_note = not self.is_raw and head.note
            message = f"[{head.note}] {head.message}" if has_note else head.message
            if self._is_repeated:
                message = f"{view.marks.times}{self.times} {message}"
        elif head.word == PULL and next_pull_at is not None:
            due = format_due(pull_range(next_pull_at), view.now)
            message = f"{message}; next try {due}"
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


class Course(Struct, frozen=True):
    """Rows about one course of events, which may repeat.

    `main` is the row that stands for it, `why` the one whose message says what led to
    it.
    """

    rows: Sequence[StoryRow]
    main: StoryRow
    why: StoryRow


class Fold(StoryRow):
    """Equal courses of events as one row.

    Args:
        word: what each of them was; empty for the headline of its main row.
        courses: all of them, oldest first.
    """

    __slots__ = ("_ends", "_rows", "_why", "_word")

    def __init__(self, word: str, courses: Sequence[Course]) -> None:
        super().__init__(courses[0].main.head)
        self._word = word or self._head.word
        self._rows: list[StoryRow] = []
        self._ends: list[datetime] = []
        self._why = courses[0].why
        self.times = 0
        for course in courses:
            self.add_course(course)

    def add_course(self, course: Course) -> None:
        """Add a later course."""
        for row in course.rows:
            row.is_part = True
        self._rows += sorted(course.rows, key=attrgetter("place"))
        self._ends.append(course.main.at)
        self._head, self._why = course.main.head, course.why
        self.lines = [shown for row in self._rows for shown in row.lines]
        self.times += 1

    def evict(self, oldest: int) -> bool:
        """Drop the rows before a sequence number; return whether none is left."""
        self._rows = [row for row in self._rows if not row.evict(oldest)]
        self.lines = [shown for row in self._rows for shown in row.lines]
        return not self._rows

    @property
    def recurs(self) -> bool:
        """Whether the row stands where it came last: that of its last course."""
        return False

    @property
    def parts(self) -> Sequence[StoryRow]:
        """The rows of all courses."""
        return self._rows

    @property
    def at(self) -> datetime:
        """The time of the last course."""
        return self._head.at

    def event_cell(self, view: View, room: int) -> Line:
        """Format the headline, with how often it happened."""
        del room  # it is short
        word = view.safe(self._word)
        return line(Span(f"{word} {view.marks.times}{self.times}", self._head.role))

    def message_cell(
        self,
        view: View,
        *,
        is_whole: bool = False,
        next_pull_at: datetime | None = None,
    ) -> Line:
        """Format how far apart they were, and why: `every ~5m, exited by itself`."""
        del is_whole, next_pull_at
        intervals = [later - earlier for earlier, later in pairwise(self._ends)]
        return line(view.safe(f"{format_intervals(intervals)}{self._why.head.words}"))


_READINESS = "Readiness"
_FLAPS = "FLAPS"


class _Courses(Struct):
    """What of one container may repeat, as rows of the story.

    `life` has the rows since the last exit, `lives` the whole lives that ended alike
    and are not folded yet, of which the newest never is; `ended` says how. `flap` has
    the rows about readiness since the container was ready last, `flaps` the whole ones.
    """

    life: list[StoryRow] = field(default_factory=list)
    lives: list[Course] = field(default_factory=list)
    life_fold: Fold | None = None
    ended: tuple[str, ...] = ()
    was_ready: bool = False
    flap: list[StoryRow] = field(default_factory=list)
    flaps: list[Course] = field(default_factory=list)
    flap_fold: Fold | None = None


class Story:
    """Assembles lines into rows; its owner adds each line once, in order."""

    def __init__(self) -> None:
        self._entries: dict[int, StoryRow] = {}
        """All rows that are not part of another one, in order, by their places."""
        self._next_place = 0
        self._by_number: dict[int, StoryRow] = {}
        self._courses: dict[tuple[str, str], _Courses] = {}
        self._rows: list[StoryRow] | None = []

    @property
    def rows(self) -> Sequence[StoryRow]:
        """All rows, oldest first; those of an unfolded row below it."""
        if self._rows is None:
            self._rows = list(_unfolded(self._entries.values()))
        return self._rows

    def extend(self, lines: Iterable[EventLine], *, is_raw: bool = False) -> int:
        """Add lines and return how many rows are new, or came again.

        Args:
            lines: the next lines.
            is_raw: whether each line is a row of its own.
        """
        fresh: set[int] = set()
        for added in lines:
            row = self._by_number.get(added.row)
            joins = not is_raw and added.row != added.sequence
            if joins and row is not None:
                row.add(added)
                if row.recurs and not row.is_part:
                    self._move_to_the_end(row)
                    fresh.add(row.place)
                elif row.is_unfolded:
                    self._rows = None
                continue
            row = StoryRow(added, is_raw=is_raw)
            self._append(row)
            fresh.add(row.place)
            self._by_number[added.row] = row
            if not is_raw and added.container_name:
                self._fold(row, added)
        return len(fresh)

    def toggle(self, row: StoryRow) -> None:
        """Unfold a row into its parts, or fold them again."""
        row.is_unfolded = not row.is_unfolded
        self._rows = None

    def evict(self, oldest: int) -> None:
        """Drop what is before a sequence number."""
        gone = [row for row in self._entries.values() if row.evict(oldest)]
        for row in gone:
            del self._entries[row.place]
        self._by_number = {
            number: row for number, row in self._by_number.items() if number >= oldest
        }
        self._rows = None

    def _append(self, row: StoryRow) -> None:
        """Append a row; a late one goes before a start at the same instant."""
        last = next(reversed(self._entries.values()), None)
        is_late = row.head.is_late and not row.is_raw and _is_start_of(last, row.head)
        self._place_last(row)
        if is_late and last is not None:
            self._move_to_the_end(last)
        elif self._rows is not None:
            self._rows.append(row)

    def _place_last(self, row: StoryRow) -> None:
        self._next_place += 1
        row.place = self._next_place
        self._entries[row.place] = row

    def _move_to_the_end(self, row: StoryRow) -> None:
        if next(reversed(self._entries)) == row.place and not row.is_unfolded:
            return
        self._entries.pop(row.place, None)
        self._place_last(row)
        self._rows = None

    def _fold(self, row: StoryRow, added: EventLine) -> None:
        """Fold what a new row shows to repeat."""
        key = (added.pod_uid, added.container_name)
        courses = self._courses.setdefault(key, _Courses())
        courses.life.append(row)
        if added.word.startswith("EXIT"):
            self._end_life(courses, row)
        elif added.word == "NOT READY" or (
            added.word == "failure" and added.message.startswith(_READINESS)
        ):
            if courses.was_ready:
                courses.flap.append(row)
        elif added.word == "READY":
            self._end_flap(courses, row)

    def _end_life(self, courses: _Courses, exited: StoryRow) -> None:
        kills = [row for row in courses.life if row.head.word == "KILL"]
        told = [exited, *kills]
        ended = tuple(text for row in told for text in (row.head.word, row.head.words))
        if ended != courses.ended:
            courses.ended, courses.lives, courses.life_fold = ended, [], None
        courses.lives.append(Course(courses.life, exited, told[-1]))
        courses.life_fold = self._fold_earlier(courses.lives, courses.life_fold)
        courses.life, courses.was_ready = [], False
        courses.flap, courses.flaps, courses.flap_fold = [], [], None

    def _end_flap(self, courses: _Courses, ready: StoryRow) -> None:
        flap, courses.flap, was_ready = courses.flap, [], courses.was_ready
        courses.was_ready = True
        lost = next((row for row in flap if row.head.word == "NOT READY"), None)
        if not was_ready or lost is None:
            return
        why = next((row for row in flap if row.head.word == "failure"), lost)
        courses.flaps.append(Course([*flap, ready], lost, why))
        before = courses.flap_fold
        courses.flap_fold = self._fold_earlier(courses.flaps, before, _FLAPS)
        if courses.flap_fold is not None:
            courses.life = [row for row in courses.life if not row.is_part]
            if before is None:
                courses.life.append(courses.flap_fold)

    def _fold_earlier(
        self, courses: list[Course], fold: Fold | None, word: str = ""
    ) -> Fold | None:
        """Fold all courses but the newest, if there are enough of them."""
        *earlier, _ = courses
        if not earlier or (fold is None and len(courses) < LEAST_FOLDED):
            return fold
        del courses[:-1]
        folded = [row for course in earlier for row in course.rows]
        places = [row.place for row in folded if row.place in self._entries]
        if not places:
            # The log no longer has them.
            return fold
        if fold is None:
            fold = Fold(word, earlier)
        else:
            self._entries.pop(fold.place, None)
            for course in earlier:
                fold.add_course(course)
        fold.place = places[-1]
        self._entries[fold.place] = fold
        for place in places[:-1]:
            del self._entries[place]
        self._rows = None
        return fold


def in_full(rows: Iterable[StoryRow]) -> Iterator[StoryRow]:
    """Yield rows with those of a fold in its place."""
    for row in rows:
        if isinstance(row, Fold):
            yield from in_full(row.parts)
        else:
            yield row


def _unfolded(rows: Iterable[StoryRow]) -> Iterator[StoryRow]:
    for row in rows:
        yield row
        if row.is_unfolded:
            yield from _unfolded(row.parts)


def _is_start_of(last: StoryRow | None, late: EventLine) -> bool:
    """Return whether the last row is a start, or its wait, at the same instant."""
    if last is None:
        return False
    head = last.head
    same = (head.pod_uid, head.object) == (late.pod_uid, late.object)
    return head.reason in _START_REASONS and same and last.at == late.at
