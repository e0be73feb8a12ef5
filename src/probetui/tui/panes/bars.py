"""The bars at the edges of a screen: header, banner, title, lesson, keys."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from datetime import datetime

from msgspec.structs import replace
from textual.events import Click
from textual.geometry import Size

from probetui.engine.snapshot import Snapshot
from probetui.presentation.header import (
    LEVELS,
    NO_SESSION_INFO,
    SHORT,
    SessionInfo,
    add_up,
    breakpoint_banner,
    count_pod,
    header,
    lateness_banner,
    lateness_mark,
    overload_banner,
    playback_banner,
    runtime_lost_banner,
    timed_out_probes,
)
from probetui.presentation.per_pod import PerPod
from probetui.presentation.text.spans import (
    EMPTY,
    Line,
    Role,
    Span,
    line,
    muted,
    strong,
)
from probetui.presentation.text.view import View
from probetui.presentation.tick.marks import UNICODE, MarkSet
from probetui.tui.actions.key_labels import KeyLabel
from probetui.tui.host_services import CurrentLesson
from probetui.tui.messages import KeyClicked
from probetui.tui.panes.line_widget import LineWidget
from probetui.tui.styled_text import (
    PLAIN,
    StyledLine,
    StyledSegment,
    cells,
    fit,
    shortened,
    styled_line,
    wrapped,
)

_GAP = 2
_MOST_FOR_TARGET = 0.5
"""The share of the footer that the name of the keys' target may take."""


class HeaderBar(LineWidget):
    """The header: runtime, counts, mode of the clock, time."""

    def __init__(self, about: SessionInfo = NO_SESSION_INFO) -> None:
        super().__init__(id="header")
        self._about = about
        self._counts = PerPod(count_pod)
        self._snapshot: Snapshot | None = None
        self._runtime_name = ""
        self._view: View | None = None
        self._at: datetime | None = None

    def show(self, snapshot: Snapshot, runtime_name: str, view: View) -> None:
        """Show another snapshot."""
        self._snapshot, self._runtime_name, self._view = snapshot, runtime_name, view
        self.repaint()

    def show_instant(self, at: datetime | None) -> None:
        """Say which instant of the past is looked at, None for now."""
        if at != self._at:
            self._at = at
            self.repaint()

    @property
    def room_beside_badge(self) -> int:
        """The free cells to the right of the clock's badge; 0 before it is shown.

        Cells that the badge may need later, when paused or with shorter counts, do not
        count as free.
        """
        if self._snapshot is None or self._view is None:
            return 0
        left, _ = self._sides()
        later = header(
            replace(self._snapshot, is_paused=True),
            self._runtime_name,
            self._view,
            SHORT,
            self._about,
        )
        return self.size.width - max(cells(left), cells(styled_line(later[0])))

    def content(self) -> Sequence[StyledLine]:
        left, right = self._sides()
        if not right:
            return [left] if left else ()
        assert self._snapshot is not None  # noqa: S101  # there are sides
        room = self.size.width - cells(right)
        late = styled_line(lateness_mark(self._snapshot))
        # In the gap, so that it pushes nothing about; a banner says it as well.
        if late and cells(left) + _GAP + cells(late) <= room:
            return [(*fit(left, room - cells(late)), *late, *right)]
        return [(*fit(left, room), *right)]

    def _sides(self) -> tuple[StyledLine, StyledLine]:
        """Return both sides of the longest level that fits, or only the left one."""
        if self._snapshot is None or self._view is None:
            return (), ()
        counts = add_up(self._counts.of(self._snapshot.pods))
        left: StyledLine = ()
        for level in range(LEVELS):
            sides = header(
                self._snapshot,
                self._runtime_name,
                self._view,
                level,
                self._about,
                counts,
                self._at,
            )
            left, right = map(styled_line, sides)
            if cells(left) + cells(right) <= self.size.width:
                return left, right
        return left, ()


class Banner(LineWidget):
    """One line about a problem, or the reason of a pause; hidden if there is none."""

    def __init__(self) -> None:
        super().__init__(id="banner")
        self._timed_out = PerPod(timed_out_probes)
        self._line: Line = EMPTY

    def show(self, snapshot: Snapshot, runtime_name: str, view: View) -> None:
        """Show the most serious problem, or why probes were paused, if anything."""
        lost = runtime_lost_banner(snapshot, runtime_name, view)
        self._line = (
            lost
            or playback_banner(snapshot, view)
            or breakpoint_banner(snapshot, view)
            or overload_banner(snapshot, self._timed_out.of(snapshot.pods))
            or lateness_banner(snapshot)
        )
        self.display = bool(self._line)
        self.repaint()

    def content(self) -> Sequence[StyledLine]:
        return [styled_line(self._line)]


class KeyLine(LineWidget):
    """The footer with keys, most useful first; a click presses one.

    A key that is off keeps its place, so that places depend on the focused pane only,
    not on the state of the selection.
    """

    def __init__(self) -> None:
        super().__init__(id="keys")
        self._slots: dict[Hashable, dict[str, KeyLabel]] = {}
        self._shown: list[KeyLabel] = []
        self._working: set[str] = set()
        self._places: list[tuple[range, KeyLabel]] = []
        self._target = ""

    def show_target(self, name: str) -> None:
        """Name the target of the keys before them, empty if it is named elsewhere."""
        if name != self._target:
            self._target = name
            self.repaint()

    def show(self, labels: Sequence[KeyLabel], context: Hashable = None) -> None:
        """Show the keys that work now, and those that have worked in this context."""
        slots = self._slots.setdefault(context, {})
        slots |= {label.slot: label for label in labels}
        self._shown = sorted(slots.values(), key=lambda label: label.footer)
        self._working = {label.id for label in labels}
        self.repaint()

    def content(self) -> Sequence[StyledLine]:
        """Return the target and the keys that fit; the help has all keys."""
        self._places = []
        target = self._target_label()
        shown: list[StyledSegment] = list(target)
        start = cells(target) + (_GAP if target else 1)
        for label in self._fitting(self.size.width - start):
            key, width = label.keys[0], _width(label)
            shown.append((" " * (_GAP if shown else 1), PLAIN))
            is_on = label.id in self._working
            if is_on:
                self._places.append((range(start, start + width), label))
            text = f" {label.text}".ljust(width - len(key))
            key_look, text_look = ("key", PLAIN) if is_on else ("muted", "muted")
            shown += [(key, key_look), (text, text_look)]
            start += width + _GAP
        return [tuple(shown)]

    def _target_label(self) -> StyledLine:
        if not self._target:
            return ()
        most = int(self.size.width * _MOST_FOR_TARGET)
        name = shortened(self._target, most, self.ellipsis)
        return styled_line(line(" ", strong(name)))

    def _fitting(self, room: int) -> list[KeyLabel]:
        """Return the first keys that fit, and the last, which leaves the screen."""
        if not self._shown:
            return []
        *others, last = self._shown
        room -= _width(last)
        kept = []
        for label in others:
            room -= _width(label) + _GAP
            if room < 0:
                break
            kept.append(label)
        return [*kept, last]

    def on_click(self, event: Click) -> None:
        for place, label in self._places:
            if event.x in place:
                self.post_message(KeyClicked(label.key))


def _width(label: KeyLabel) -> int:
    return len(label.keys[0]) + 1 + label.text_width


class TopLine(LineWidget):
    """A line with a left and a right part; the left one is cut if need be."""

    def __init__(self) -> None:
        super().__init__(id="top-line")
        self._left: Line = EMPTY
        self._right: Line = EMPTY

    def show(self, left: Line, right: Line) -> None:
        """Show other parts."""
        self._left, self._right = left, right
        self.repaint()

    def content(self) -> Sequence[StyledLine]:
        right = styled_line(self._right)
        return [(*fit(styled_line(self._left), self.size.width - cells(right)), *right)]


_LINES_BELOW_LESSON = 20
"""The lines of a terminal that are reserved for the panes."""

_MOST_LESSON_LINES = 6


class LessonBar(LineWidget):
    """The text and the exercise of the lesson; hidden without one."""

    def __init__(self, lesson: CurrentLesson | None) -> None:
        super().__init__(id="lesson")
        self._lesson = lesson
        self._text: Line = EMPTY
        self._exercise: Line = EMPTY
        self.display = lesson is not None
        self.show_goals((), UNICODE)
        if lesson is not None and lesson.exercise:
            self._exercise = line(strong(" Try  "), lesson.exercise)

    def show_goals(self, goals: Sequence[str], marks: MarkSet) -> None:
        """Show what has been reached in the lesson."""
        lesson = self._lesson
        if lesson is None:
            return
        place = f"  {lesson.number} of {lesson.count}  "
        reached = (Span(f"{marks.success} {goal}  ", Role.SUCCESS) for goal in goals)
        self._text = line(
            strong(f" {lesson.name}"), muted(place), *reached, lesson.text
        )

    def fit_into(self, size: Size) -> None:
        """Set the height for a terminal of that size."""
        room = min(max(size.height - _LINES_BELOW_LESSON, 1), _MOST_LESSON_LINES)
        self.styles.height = min(len(self._lines(size.width)), room)

    def content(self) -> Sequence[StyledLine]:
        """Return the wrapped text; one that does not fit ends with an ellipsis."""
        width, height = self.size
        if height == 1:
            return [fit(styled_line(self._text), width, ellipsis=self.ellipsis)]
        lines = self._lines(width)
        if len(lines) <= height:
            return lines
        more = (f" {self.ellipsis}", PLAIN)
        return [*lines[: height - 1], (*lines[height - 1], more)]

    def _lines(self, width: int) -> list[StyledLine]:
        """Return the whole text, with room for an ellipsis at the end of each line."""
        room = max(width - 2, 1)
        text = wrapped(styled_line(self._text), room, 1)
        if not self._exercise:
            return text
        return [*text, *wrapped(styled_line(self._exercise), room, 6)]
