"""The log of events and of changes that a cluster never shows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar

from textual.binding import BindingType

from probetui.presentation.events import EventLine
from probetui.presentation.filters import Filter
from probetui.presentation.sentences import why
from probetui.presentation.spans import EMPTY, Line, Role, Span, line, muted, strong
from probetui.presentation.text_cells import all_lines
from probetui.presentation.view import View
from probetui.tui.action import Where
from probetui.tui.actions import bindings
from probetui.tui.inks import CURSOR, Column, InkLine, headings, inks, row, wrapped
from probetui.tui.widgets.list_pane import ListPane

_ROOM_FOR_NOTES = 110
_NARROW = (
    Column("", 1),
    Column("TIME", 10),
    Column("TYPE", 7),
    Column("REASON", 10),
    Column("OBJECT", 14),
    Column("MESSAGE"),
)
_WIDE = (
    Column("", 1),
    Column("TIME", 10),
    Column("TYPE", 7),
    Column("REASON", 14),
    Column("OBJECT", 20),
    Column("MESSAGE"),
    Column("PROBETUI", 14),
)
_ONE_OBJECT = tuple(each for each in _NARROW if each.heading != "OBJECT")
_BARE = (Column("", 1), Column("", 8), Column("", 9), Column("", 14), Column(""))
_TALL_ENOUGH_FOR_HEADINGS = 8
_MESSAGE_LINES = 8
_ROOM_FOR_LINES_BELOW = 18


class EventPane(ListPane):
    """Newest at the bottom; follows until a person looks at something older."""

    PLACES: ClassVar[tuple[Where, ...]] = (Where.PANE, Where.EVENTS)
    BINDINGS: ClassVar[list[BindingType]] = bindings(*PLACES)

    def __init__(self, view: View, *, is_ascii: bool = False) -> None:
        super().__init__(id="events", is_ascii=is_ascii)
        self._view = view
        self._all: list[EventLine] = []
        self._shown: list[EventLine] = []
        self._objects: set[str] = set()
        self._unseen = 0
        self._counts = (0, 0)
        self.is_following = True
        self.faults_only = False
        self.filter = Filter()

    @property
    def hits(self) -> str:
        """How many lines the filter keeps, in words."""
        return f"{len(self._shown)} of {len(self._all)}"

    def show(
        self, fresh: Iterable[EventLine], counts: tuple[int, int], view: View
    ) -> None:
        """Add lines; `counts` is how many warnings and normal events there were."""
        self._view, self._counts = view, counts
        lines = list(fresh)
        self._all += lines
        self._objects.update(each.object for each in lines if each.object)
        kept = [each for each in lines if self._keeps(each)]
        self._shown += kept
        if self.is_following:
            self._go_to_end()
        else:
            self._unseen += len(kept)
        self.repaint()

    def show_filter(self, wanted: Filter) -> None:
        """Keep only lines that a filter keeps."""
        self.filter = wanted
        self._select_again()

    def title(self) -> Line:
        words = "follow" if self.is_following else "follow off"
        faults = "  faults only" if self.faults_only else ""
        found = f"  filter: {self._view.safe(self.filter.text)} ({self.hits})"
        return line(
            "3 ",
            strong("Events"),
            muted(f"  {words}{faults}"),
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

    def pill(self) -> Line:
        if not self._unseen:
            return EMPTY
        plural = "" if self._unseen == 1 else "s"
        return line(Span(f"{self._unseen} new line{plural}, a follows", Role.ACCENT))

    def count(self) -> int:
        return len(self._shown)

    def above(self) -> Sequence[InkLine]:
        if self.is_bare or self.inner_height < _TALL_ENOUGH_FOR_HEADINGS:
            return ()
        columns = self._columns()
        return [row(headings(columns), columns, self.inner_width)]

    def below(self) -> Sequence[InkLine]:
        """Return the chosen line in full, where there is room for it."""
        if self.inner_height < _ROOM_FOR_LINES_BELOW or not self._shown:
            return ()
        if not self.has_focus:
            return ()
        return self._in_full(self._shown[self.cursor])

    def row(self, index: int) -> InkLine:
        """Return one line of the log."""
        entry = self._shown[index]
        is_chosen = self.has_focus and index == self.cursor
        also = CURSOR if is_chosen else ""
        marker = line(strong(">")) if is_chosen else line()
        columns = self._columns()
        texts = self._cells(entry, columns)
        return row(
            [inks(each, also) for each in (marker, *texts)],
            columns,
            self.inner_width,
            also=also,
            ellipsis=self.ellipsis,
        )

    def chosen(self) -> None:
        """Stop following when something older is chosen, and start at the last."""
        self._follow(is_following=self.cursor >= len(self._shown) - 1)

    def scroll_lines(self, step: int) -> None:
        self.top = self._within(self.top + step)
        is_at_end = self.top >= self.count() - self.visible_rows
        self._follow(is_following=is_at_end)
        self.repaint()

    def action_follow(self) -> None:
        self._follow(is_following=not self.is_following or bool(self._unseen))
        if self.is_following:
            self._go_to_end()
        self.repaint()

    def action_faults(self) -> None:
        self.faults_only = not self.faults_only
        self._select_again()

    def _columns(self) -> tuple[Column, ...]:
        if self.is_bare:
            return _BARE
        if self.inner_width >= _ROOM_FOR_NOTES:
            return _WIDE
        return _NARROW if len(self._objects) > 1 else _ONE_OBJECT

    def _cells(self, entry: EventLine, columns: Sequence[Column]) -> list[Line]:
        view = self._view
        message = view.safe(entry.message)
        name = line(view.safe(entry.object))
        reason = line(Span(view.safe(entry.reason), entry.role))
        if columns is _BARE:
            time = line(muted(view.times.clock(entry.at)))
            return [
                time,
                reason,
                name,
                line(f"[{entry.note}]" if entry.note else message),
            ]
        kind = entry.type if entry.is_of_a_cluster else f"{entry.type:>7}"
        time = line(muted(view.times.stamp(entry.at)))
        common = [time, line(Span(kind, entry.role)), reason]
        if columns is not _ONE_OBJECT:
            common.append(name)
        note = Span(entry.note, entry.role)
        if columns is _WIDE:
            return [*common, line(message), line(note)]
        if entry.note:
            return [*common, line(note._replace(text=f"[{entry.note}] "), message)]
        return [*common, line(message)]

    def _in_full(self, entry: EventLine) -> list[InkLine]:
        """Return the whole message, wrapped, and what probetui knows about it."""
        view, width = self._view, self.inner_width - 1
        stamp = view.times.stamp(entry.at)
        head = f" {stamp}  {entry.type} {view.safe(entry.reason)}  "
        message = [
            part
            for each in all_lines(view.mask.text(entry.message))
            for part in wrapped(inks(line(f"   {each}")), width, indent=3)
        ]
        lines = [(), inks(line(strong(f"{head}{view.safe(entry.object)}")))]
        lines += message[:_MESSAGE_LINES]
        if entry.tick is not None:
            told = line(muted(f"   tick #{entry.tick.n}: "), why(entry.tick))
            lines += wrapped(inks(told), width, indent=3)
        return lines

    def _keeps(self, entry: EventLine) -> bool:
        if self.faults_only and not entry.is_fault:
            return False
        if not self.filter.is_active:
            return True
        words = (entry.type, entry.reason, entry.object, entry.message, entry.note)
        return self.filter.keeps(" ".join(words))

    def _select_again(self) -> None:
        """Show what filter and faults leave, with the cursor where it was."""
        chosen = self._shown[self.cursor] if self.cursor < len(self._shown) else None
        self._shown = [each for each in self._all if self._keeps(each)]
        if self.is_following or chosen is None:
            self._go_to_end()
        else:
            older = sum(each.sequence <= chosen.sequence for each in self._shown)
            self.choose(max(older - 1, 0))
        self.repaint()

    def _follow(self, *, is_following: bool) -> None:
        self.is_following = is_following
        if is_following:
            self._unseen = 0

    def _go_to_end(self) -> None:
        self.choose(max(len(self._shown) - 1, 0))
        self._unseen = 0
