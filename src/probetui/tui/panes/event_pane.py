"""The log of events and of changes that a cluster never shows."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from operator import attrgetter
from typing import ClassVar

from textual.binding import BindingType

from probetui.presentation.events.detail import format_event_line
from probetui.presentation.events.log import EventLine, EventLineBuffer
from probetui.presentation.text.cells import one_line
from probetui.presentation.text.filters import Filter, no_match_text
from probetui.presentation.text.spans import Line, Role, Span, line, muted, strong
from probetui.presentation.text.view import View
from probetui.tui.actions.action import KeyContext
from probetui.tui.actions.table import bindings
from probetui.tui.panes.entry_pane import FollowingPane
from probetui.tui.styled_text import (
    PLAIN,
    Column,
    StyledLine,
    headings,
    row,
    styled_line,
)

_ROOM_FOR_NOTES = 110
_NARROW = (
    Column("", 1),
    Column("TIME", 10),
    Column("TYPE", 7),
    Column("REASON", 10),
    Column("OBJECT", 14, keeps_end=True),
    Column("MESSAGE"),
)
_WIDE = (
    Column("", 1),
    Column("TIME", 10),
    Column("TYPE", 7),
    Column("REASON", 14),
    Column("OBJECT", 20, keeps_end=True),
    Column("MESSAGE"),
    Column("PROBETUI", 14),
)
_ONE_OBJECT = tuple(column for column in _NARROW if column.heading != "OBJECT")
_BARE = (
    Column("", 1),
    Column("", 8),
    Column("", 9),
    Column("", 14, keeps_end=True),
    Column(""),
)
_TALL_ENOUGH_FOR_HEADINGS = 8
_sequence = attrgetter("sequence")


class EventPane(FollowingPane):
    """Newest at the bottom; follows until a person looks at something older.

    It has one owner, who gives it every line once, or the whole log again and again.
    """

    KEY_CONTEXTS: ClassVar[tuple[KeyContext, ...]] = (
        KeyContext.PANE,
        KeyContext.ENTRIES,
        KeyContext.FOLLOWING,
        KeyContext.EVENTS,
    )
    BINDINGS: ClassVar[list[BindingType]] = bindings(*KEY_CONTEXTS)

    def __init__(self, view: View, *, is_ascii: bool = False) -> None:
        super().__init__(id="events", is_ascii=is_ascii)
        self.view = view
        self._all = EventLineBuffer()
        self._texts: list[str] = []
        self._shown: list[EventLine] = []
        self._objects: set[str] = set()
        self._counts = (0, 0)
        self.faults_only = False
        self.pod_uid = ""
        """The pod that all lines shown are about, empty for all pods."""
        self._pod_name = ""

    @property
    def hits(self) -> str:
        """How many lines the filter keeps, in words."""
        return f"{len(self._shown)} of {len(self._all)}"

    @property
    def chosen_line(self) -> EventLine | None:
        """The line under the cursor, None if there is none."""
        return self._shown[self.cursor] if self.cursor < len(self._shown) else None

    def show(
        self, fresh: Iterable[EventLine], counts: tuple[int, int], view: View
    ) -> None:
        """Add lines; `counts` is how many warnings and normal events there were."""
        self.view, self._counts = view, counts
        lines = list(fresh)
        first, evicted = self._all.total, self._all.evicted
        self._all.extend(lines)
        self._objects.update(
            event_line.object for event_line in lines if event_line.object
        )
        if self._all.evicted > evicted:
            self._evict(self._all.evicted - evicted)
        kept = self._kept(first)
        self._shown += kept
        self.grow(len(kept))
        self.repaint()

    def clear(self) -> None:
        """Forget every line: the session went back in time."""
        self.forget()
        self.go_to_end()

    def forget(self) -> None:
        """Have no line any more."""
        self._all, self._texts, self._shown = EventLineBuffer(), [], []
        self._objects = set()

    def show_pod(self, pod_uid: str, name: str = "") -> None:
        """Keep only lines about one pod; an empty UID keeps all."""
        self.pod_uid, self._pod_name = pod_uid, name
        self._select_again()

    def show_filter(self, wanted: Filter) -> None:
        """Keep only lines that a filter keeps."""
        self.filter = wanted
        if wanted.is_active:
            self.sought = wanted
        self._select_again()

    def title(self) -> Line:
        words = "follow" if self.is_following else "follow off"
        faults = "  warnings only" if self.faults_only else ""
        scope = f"  only {self.view.safe(self._pod_name)}" if self._pod_name else ""
        if not scope and self.inner_width >= _ROOM_FOR_NOTES:
            scope = "  all pods"
        gone = f"  {self._all.evicted} older dropped" if self._all.evicted else ""
        found = f"  filter: {self.view.safe(self.filter.text)} ({self.hits})"
        return line(
            "3 ",
            strong("Events"),
            muted(f"  {words}{faults}{scope}{gone}"),
            Span(found if self.filter.is_active else "", Role.ACCENT),
        )

    def badge(self) -> Line:
        warnings, normals = self._counts
        is_narrow = self.inner_width < _ROOM_FOR_NOTES
        words = ("W", "N") if is_narrow else ("Warning", "Normal")
        return line(
            Span(f"{words[0]} {warnings}", Role.WARNING if warnings else Role.MUTED),
            muted(f"  {words[1]} {normals}"),
        )

    def count(self) -> int:
        return len(self._shown)

    def above(self) -> Sequence[StyledLine]:
        if self.is_bare or self.inner_height < _TALL_ENOUGH_FOR_HEADINGS:
            return ()
        columns = self._columns()
        return [row(headings(columns), columns, self.inner_width)]

    def below(self) -> Sequence[StyledLine]:
        """Return why there is no line, and what to do."""
        if self._shown:
            return ()
        words = "No events yet."
        if self.filter.is_active:
            words = no_match_text("event", self.view.safe(self.filter.text))
        elif self.faults_only:
            words = "No warnings."
        return [styled_line(line(muted(f" {words}")))]

    def row(self, index: int) -> StyledLine:
        """Return one line of the log, in columns."""
        entry, columns, also = self._shown[index], self._columns(), self._look_of(index)
        texts = self._cells(entry, columns, also)
        shown = row(
            [styled_line(text, also) for text in texts],
            columns,
            self.inner_width,
            also=also,
            ellipsis=self.ellipsis,
        )
        return self._found(index, shown)

    def entry(self, index: int, also: str) -> StyledLine:
        """Return one line of the log with its message in full."""
        entry, columns = self._shown[index], self._columns()
        fixed = tuple(column for column in columns if column.width is not None)
        fixed = tuple(column for column in fixed if column.heading != "PROBETUI")
        cells = self._cells(entry, fixed, also)[: len(fixed)]
        width = self.indent - 1
        head = row([styled_line(cell, also) for cell in cells], fixed, width, also=also)
        note = Span(f"[{entry.note}] " if entry.note else "", entry.role)
        text = one_line(
            self.view.mask.text(entry.message), newline=self.view.marks.newline
        )
        look = f"{PLAIN} {also}" if also else PLAIN
        return (*head, (" ", look), *styled_line(line(note, text), also))

    @property
    def indent(self) -> int:
        """How far messages stand to the right."""
        columns = self._columns()
        widths = [
            column.width
            for column in columns
            if column.width and column.heading != "PROBETUI"
        ]
        return sum(widths) + len(widths)

    def searchable(self, index: int) -> str:
        """Return a line as a filter looks at it."""
        return self.view.mask.text(self._shown[index].searchable)

    def copy_text(self, index: int) -> str:
        """Return a line as it is copied."""
        return format_event_line(self._shown[index], self.view)

    def action_faults(self) -> None:
        self.faults_only = not self.faults_only
        self._select_again()

    def _columns(self) -> tuple[Column, ...]:
        if self.is_bare:
            return _BARE
        if self.inner_width >= _ROOM_FOR_NOTES:
            return _WIDE
        return _NARROW if len(self._objects) > 1 else _ONE_OBJECT

    def _cells(
        self, entry: EventLine, columns: Sequence[Column], also: str
    ) -> list[Line]:
        view = self.view
        marker = line(strong(">")) if also else line()
        message = view.safe(entry.message)
        name = line(view.safe(entry.object))
        reason = line(Span(view.safe(entry.reason), entry.role))
        if self.is_bare:
            time = line(muted(view.times.clock(entry.at)))
            told = line(f"[{entry.note}]" if entry.note else message)
            return [marker, time, reason, name, told]
        kind = entry.type if entry.is_cluster_event else f"{entry.type:>7}"
        time = line(muted(view.times.stamp(entry.at)))
        common = [marker, time, line(Span(kind, entry.role)), reason]
        if any(column.heading == "OBJECT" for column in columns):
            common.append(name)
        note = Span(entry.note, entry.role)
        if columns is _WIDE:
            return [*common, line(message), line(note)]
        if entry.note:
            return [*common, line(note._replace(text=f"[{entry.note}] "), message)]
        return [*common, line(message)]

    def _kept(self, first: int) -> list[EventLine]:
        """Return the lines from a place on that filter and faults leave."""
        wanted = self.filter
        if not wanted.is_active:
            lines = self._all.since(first)
        else:
            mask = self.view.mask
            # Put together once: a long log is searched at every key that is typed.
            self._texts += (
                mask.text(event_line.searchable)
                for event_line in self._all.since(self._all.evicted + len(self._texts))
            )
            fresh = self._all.since(first)
            texts = self._texts[len(self._texts) - len(fresh) :]
            pairs = zip(fresh, texts, strict=True)
            lines = [event_line for event_line, text in pairs if wanted.keeps(text)]
        if self.pod_uid:
            lines = [
                event_line
                for event_line in lines
                if event_line.pod_uid in {self.pod_uid, ""}
            ]
        return (
            [event_line for event_line in lines if event_line.is_fault]
            if self.faults_only
            else lines
        )

    def _evict(self, count: int) -> None:
        """Follow the log in letting old lines go; what is in sight stays there."""
        del self._texts[:count]
        gone = bisect_left(self._shown, self._all.oldest, key=_sequence)
        del self._shown[:gone]
        self.cursor = max(self.cursor - gone, 0)
        self.top = max(self.top - gone, 0)

    def _select_again(self) -> None:
        """Show what filter and faults leave, with the cursor where it was."""
        chosen = self.chosen_line
        self._shown = self._kept(0)
        if self.is_following or chosen is None:
            self.go_to_end()
        else:
            older = sum(
                event_line.sequence <= chosen.sequence for event_line in self._shown
            )
            self.choose(max(older - 1, 0))
        self.repaint()
