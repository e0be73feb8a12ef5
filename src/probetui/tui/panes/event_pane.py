"""The log of events, and of changes that a cluster does not show."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, ClassVar

from msgspec.structs import replace
from textual.binding import BindingType

from probetui.engine.snapshot import PodSnapshot
from probetui.presentation.events.log import (
    EventLine,
    EventLineBuffer,
    format_event_line,
)
from probetui.presentation.events.story import Fold, Story, StoryRow
from probetui.presentation.text.filters import Filter, no_match_text
from probetui.presentation.text.spans import (
    Line,
    Role,
    Span,
    line,
    muted,
    strong,
    text_of,
)
from probetui.presentation.text.view import View
from probetui.tui.actions.action import KeyContext
from probetui.tui.actions.container_names import ContainerKey
from probetui.tui.actions.table import bindings
from probetui.tui.panes.pane import Pane
from probetui.tui.panes.viewport import EntryViewport
from probetui.tui.styled_text import (
    PLAIN,
    Column,
    StyledLine,
    headings,
    row,
    styled_line,
)

if TYPE_CHECKING:
    # On the main screen no event is shown in full.
    from probetui.tui.panes.event_detail import EventDetail

_WIDE_ENOUGH = 110
_LEAST_BETWEEN = 4
_NARROW = (
    Column("", 1),
    Column("TIME", 10),
    Column("OBJECT", 14, keeps_end=True),
    Column("EVENT", 15),
    Column("MESSAGE"),
)
_WIDE = (
    Column("", 1),
    Column("TIME", 10),
    Column("OBJECT", 20, keeps_end=True),
    Column("EVENT", 17),
    Column("MESSAGE"),
)
_BARE = (
    Column("", 1),
    Column("", 8),
    Column("", 14, keeps_end=True),
    Column("", 12),
    Column(""),
)
_TALL_ENOUGH_FOR_HEADINGS = 8
_LEAST_OF_MESSAGES = 28
"""The cells that long names of objects leave to messages."""

_BEFORE_OBJECT = 2
"""The number of columns before the object."""


class EventPane(Pane):
    """The event log, newest at the bottom; it follows until the user moves up.

    Its owner calls either `show` with every line once, or `read` with the whole log.

    Args:
        view: how values are shown.
        detail: the pane's lower part with the selected event, if it is shown.
        is_ascii: whether to draw with ASCII only.
    """

    KEY_CONTEXTS: ClassVar[tuple[KeyContext, ...]] = (
        KeyContext.PANE,
        KeyContext.ENTRIES,
        KeyContext.FOLLOWING,
        KeyContext.EVENTS,
    )
    BINDINGS: ClassVar[list[BindingType]] = bindings(*KEY_CONTEXTS)

    def __init__(
        self, view: View, detail: EventDetail | None = None, *, is_ascii: bool = False
    ) -> None:
        super().__init__(id="events", is_ascii=is_ascii)
        self.viewport: EntryViewport = EntryViewport(
            self, follows=True, fills=self._can_be_full
        )
        self.view = view
        self._detail = detail
        self._all = EventLineBuffer()
        self._story = Story()
        self._rows: Sequence[StoryRow] = ()
        """The rows of the story that the filter keeps."""
        self._state_lines = 0
        self._counts = (0, 0)
        self._longest_object = 0
        self.names_objects = True
        """Whether rows name their object; off if it is always the same."""
        self._token: object = None
        self.faults_only = False
        self._wants_state = True if detail is not None else None
        """Whether status changes are shown; None shows them as far as rows fit."""
        self._has_room_for_state = True
        self._state_from = 0
        """The sequence number of the first status change that has room."""
        self.is_cluster_only = False
        """Whether only a cluster's events are shown, each in a row of its own."""
        self.pod_uid = ""
        """The pod whose lines are shown, empty for all pods."""
        self._pod_name = ""
        self.containers: frozenset[ContainerKey] | None = None
        """The containers whose rows are shown, None for all."""
        self.next_pulls: Mapping[ContainerKey, datetime] = {}
        """When an image that could not be pulled may be pulled again."""
        self._source: EventLineBuffer | None = None
        self._read = 0

    @property
    def shows_state(self) -> bool:
        """Whether status changes are shown."""
        if self._wants_state is None:
            return self._has_room_for_state
        return self._wants_state

    @property
    def is_marked(self) -> bool:
        """Whether the cursor is visible: always if its event is shown below."""
        return self.has_focus or self._detail is not None

    @property
    def hits(self) -> str:
        """The number of rows that the filter keeps: `3 of 12`."""
        return f"{len(self._rows)} of {len(self._story.rows)}"

    @property
    def chosen_row(self) -> StoryRow | None:
        """The row under the cursor, None if there is none."""
        cursor = self.viewport.cursor
        return self._rows[cursor] if cursor < len(self._rows) else None

    @property
    def chosen_line(self) -> EventLine | None:
        """The newest line of the row under the cursor, None if there is none."""
        chosen = self.chosen_row
        if chosen is None or self._detail is None:
            return None if chosen is None else chosen.head
        return self._detail.with_tick(chosen.head)

    def read(self, log: EventLineBuffer, counts: tuple[int, int], view: View) -> None:
        """Show the new lines of a log; another log is read from its beginning."""
        if log is not self._source:
            self._source, self._read = log, 0
            self.forget()
        fresh = log.since(self._read)
        self._read = log.total
        self.show(fresh, counts, view)

    def show(
        self, fresh: Iterable[EventLine], counts: tuple[int, int], view: View
    ) -> None:
        """Add lines; `counts` are the numbers of warnings and of normal events."""
        lines = list(fresh)
        token = (counts, view.token, self.names_objects)
        if not lines and token == self._token:
            return
        self._token = token
        self.view, self._counts = view, counts
        first, evicted = self._all.total, self._all.evicted
        self._all.extend(lines)
        longest = max((len(shown.object) for shown in lines), default=0)
        self._longest_object = max(self._longest_object, longest)
        added = self._extend_story(first)
        if self._all.evicted > evicted:
            self._story.evict(self._all.oldest)
            self._count(self._kept(0))
        self._take_rows()
        self.viewport.add_newest(added)
        self._hide_what_has_no_room()
        self.viewport.show()

    def on_resize(self) -> None:
        if not self._has_room_for_state or self._state_from:
            self._has_room_for_state, self._state_from = True, 0
            self._select_again()
        self._hide_what_has_no_room()
        super().on_resize()

    def _hide_what_has_no_room(self) -> None:
        """Hide older status changes once not all rows fit, and in the end all."""
        is_shown = self._wants_state is None and self._has_room_for_state
        rows = len(self._story.rows)
        if is_shown and self.size.height and rows > self.visible_rows:
            self._state_from = self._first_with_room()
            self._has_room_for_state = self._state_from > 0
            self._select_again()

    def _first_with_room(self) -> int:
        """Return the first status change that fits below the whole rows, 0 for none."""
        changes = [kept.sequence for kept in self._rows if kept.head.is_state]
        left = self.visible_rows - (len(self._rows) - len(changes))
        if left <= 0 or len(self._rows) != len(self._story.rows):
            return 0
        for index, kept in enumerate(self._rows):
            if not kept.head.is_state:
                left -= len(self.viewport.block(index)) - 1
        return changes[-left] if 0 < left < len(changes) else 0

    def _take_rows(self) -> None:
        """Take the rows that the filter keeps; those in sight stay where they are."""
        before, viewport = self._rows, self.viewport
        rows = self._story.rows
        if self.filter.is_active:
            rows = [row for row in rows if self._keeps(row)]
        elif self.containers is not None:
            rows = [row for row in rows if self._is_of_listed(row)]
        self._rows = rows
        if before and not viewport.is_following:
            top, cursor = viewport.top, viewport.cursor
            viewport.cursor = self._place_of(before, cursor)
            viewport.top = viewport.within(self._place_of(before, top))

    def _place_of(self, before: Sequence[StoryRow], index: int) -> int:
        """Return where a row is now, or else the last one that is not later."""
        row = before[min(index, len(before) - 1)]
        if index < len(self._rows) and self._rows[index] is row:
            return index
        places = {id(shown): place for place, shown in enumerate(self._rows)}
        if (place := places.get(id(row))) is not None:
            return place
        older = (place for place, shown in enumerate(self._rows) if shown.at <= row.at)
        return max(older, default=0)

    def _keeps(self, row: StoryRow) -> bool:
        """Return whether the filter keeps a row: a folded one by its parts, too."""
        texts = (row, *(row.parts if isinstance(row, Fold) else ()))
        return self._is_of_listed(row) and any(
            self.filter.keeps(part.seen(self.view)) for part in texts
        )

    def _is_of_listed(self, row: StoryRow) -> bool:
        """Return whether a row is about one of the containers whose rows are shown."""
        head = row.head
        if self.containers is None or not head.pod_uid:
            return True
        if not head.container_name:
            return any(key.pod_uid == head.pod_uid for key in self.containers)
        return ContainerKey(head.pod_uid, head.container_name) in self.containers

    def clear(self) -> None:
        """Remove all lines and return to the newest, after a seek backwards."""
        self.forget()
        self._token = None
        self.viewport.go_to_newest()

    def forget(self) -> None:
        """Remove all lines."""
        self._all, self._story = EventLineBuffer(), Story()
        self._has_room_for_state, self._state_from = True, 0
        self._rows, self._state_lines = (), 0

    def show_pod(self, pod_uid: str, name: str = "") -> None:
        """Show only lines of one pod; an empty UID stands for all."""
        self.pod_uid, self._pod_name = pod_uid, name
        self._select_again()

    def show_filter(self, wanted: Filter) -> None:
        """Filter the rows by what they show."""
        self.filter = wanted
        if wanted.is_active:
            self.viewport.sought = wanted
        self._select_again()

    def show_containers(self, keys: frozenset[ContainerKey] | None) -> None:
        """Show only rows about these containers and their pods; None stands for all."""
        if keys != self.containers:
            self.containers = keys
            self._select_again()

    def unfold(self) -> bool:
        """Unfold the row under the cursor, or fold it; return whether it can be."""
        chosen = self.chosen_row
        if chosen is None or not chosen.parts:
            return False
        self.viewport.follow(is_following=False)
        self._story.toggle(chosen)
        self._take_rows()
        self.viewport.show()
        return True

    def pill(self) -> Line:
        """Return what `enter` does, or how many rows are new."""
        chosen = self.chosen_row
        if not self.has_focus or chosen is None or not chosen.parts:
            return super().pill()
        verb = "folds" if chosen.is_unfolded else "unfolds"
        return line(muted(f"enter {verb} {len(chosen.parts)} rows"))

    def title(self) -> Line:
        following = "follow" if self.viewport.is_following else "follow off"
        faults = "  warnings only" if self.faults_only else ""
        scope = f"  only {self.view.safe(self._pod_name)}" if self._pod_name else ""
        if self.containers is not None:
            plural = "" if len(self.containers) == 1 else "s"
            scope = f"  of {len(self.containers)} container{plural}"
        if not scope and self.inner_width >= _WIDE_ENOUGH:
            scope = "  all pods"
        dropped = f"  {self._all.evicted} older dropped" if self._all.evicted else ""
        filtered = f"  filter: {self.view.safe(self.filter.text)} ({self.hits})"
        return line(
            "3 ",
            strong("Events"),
            muted(f"  {following}{faults}{scope}{dropped}"),
            Span(filtered if self.filter.is_active else "", Role.ACCENT),
            muted(self._hidden()),
        )

    def badge(self) -> Line:
        warnings, normals = self._counts
        role = Role.WARNING if warnings else Role.MUTED
        room = self.inner_width - len(text_of(self.title())) - _LEAST_BETWEEN
        whole, short = (
            line(Span(f"{warning} {warnings}", role), muted(f"  {normal} {normals}"))
            for warning, normal in (("Warning", "Normal"), ("W", "N"))
        )
        return whole if len(text_of(whole)) <= room else short

    def count(self) -> int:
        return len(self._rows)

    def above(self) -> Sequence[StyledLine]:
        if self.is_bare or self.inner_height < _TALL_ENOUGH_FOR_HEADINGS:
            return ()
        columns = self._columns()
        return [row(headings(columns), columns, self.inner_width)]

    def below(self) -> Sequence[StyledLine]:
        """Return the selected line in full, or why there is none and what to do."""
        chosen, head = self.chosen_row, self.chosen_line
        if chosen is not None and head is not None:
            return () if self._detail is None else self._detail.rows(self, chosen, head)
        reason = "No events yet."
        if self.filter.is_active:
            reason = no_match_text("event", self.view.safe(self.filter.text))
        elif self.faults_only:
            reason = "No warnings."
        elif self.containers is not None:
            reason = "No events of the containers that the filter keeps."
        return [styled_line(line(muted(f" {reason}")))]

    def row(self, index: int) -> StyledLine:
        """Return one row of the story, in columns."""
        shown, columns, also = (
            self._rows[index],
            self._columns(),
            self.viewport.look_of(index),
        )
        key = ContainerKey(shown.head.pod_uid, shown.head.container_name)
        cells = [
            *self._fixed_cells(shown, columns, also),
            shown.message_cell(self.view, next_pull_at=self.next_pulls.get(key)),
        ]
        if shown.is_note:
            # A note has no object: its text begins in that column.
            columns = (*columns[:_BEFORE_OBJECT], Column(""))
            taken = sum(column.width or 0 for column in columns) + _BEFORE_OBJECT
            room = self.inner_width - taken
            cells[_BEFORE_OBJECT:] = [shown.note_cell(self.view, room)]
        drawn = row(
            [styled_line(cell, also) for cell in cells],
            columns,
            self.inner_width,
            also=also,
            ellipsis=self.ellipsis,
        )
        return self.viewport.underlined(drawn)

    def entry(self, index: int, also: str) -> StyledLine:
        """Return one row of the story with its message in full."""
        shown, columns = self._rows[index], self._columns()[:-1]
        cells = self._fixed_cells(shown, columns, also)
        head = row(
            [styled_line(cell, also) for cell in cells],
            columns,
            self.indent - 1,
            also=also,
        )
        look = f"{PLAIN} {also}" if also else PLAIN
        message = shown.message_cell(self.view, is_whole=True)
        return (*head, (" ", look), *styled_line(message, also))

    @property
    def indent(self) -> int:
        """The indentation of messages, in cells."""
        columns = self._columns()[:-1]
        return sum(column.width or 0 for column in columns) + len(columns)

    def searchable(self, index: int) -> str:
        """Return the text of a row for filters."""
        return self._rows[index].seen(self.view)

    def copy_text(self, index: int) -> str:
        """Return the lines of a row for copying."""
        lines = self._rows[index].lines
        return "\n".join(format_event_line(shown, self.view) for shown in lines)

    def copy_as_kubectl(self) -> str:
        """Return the selected event as `kubectl describe` shows it, else as shown here.

        Empty if no event is selected.
        """
        chosen = self.chosen_row
        if chosen is None or self._detail is None:
            return ""
        text = self._detail.format_as_kubectl(chosen, self.view)
        return text or self.copy_text(self.viewport.cursor)

    def action_faults(self) -> None:
        self.faults_only = not self.faults_only
        self._select_again()

    def action_state_lines(self) -> None:
        self._wants_state = not self.shows_state
        self._select_again()

    def _can_be_full(self, index: int) -> bool:
        """Return whether a row may take several lines, which a note never needs."""
        return not self._story.rows[index].is_note

    def _hidden(self) -> str:
        """Format the number of hidden status changes, empty if there is none."""
        hidden = self._state_lines
        if self.shows_state:
            hidden -= sum(len(row.lines) for row in self._rows if row.head.is_state)
        if (
            self._wants_state
            or hidden <= 0
            or (self.shows_state and not self._state_from)
        ):
            return ""
        plural = "" if hidden == 1 else "s"
        return f"  {hidden} status change{plural} hidden"

    def _columns(self) -> tuple[Column, ...]:
        columns = _WIDE if self.inner_width >= _WIDE_ENOUGH else _NARROW
        if self.is_bare:
            columns = _BARE
        if not self.names_objects:
            return tuple(column for column in columns if not column.keeps_end)
        others = (0 if column.keeps_end else column.width or 0 for column in columns)
        taken = sum(others) + len(columns) - 1 + _LEAST_OF_MESSAGES
        most = min(self._longest_object, self.inner_width - taken)
        return tuple(_widened(column, most) for column in columns)

    def _fixed_cells(
        self, shown: StoryRow, columns: Sequence[Column], also: str
    ) -> list[Line]:
        """Return the cells of all columns except the message."""
        times = self.view.times
        time = times.clock(shown.at) if self.is_bare else times.stamp(shown.at)
        marker = line(strong(">")) if also else line()
        cells = [marker, line(muted(time))]
        if any(column.keeps_end for column in columns):
            cells.append(line(self.view.safe(shown.head.object)))
        fixed = [column for column in columns if column.width]
        room = fixed[-1].width or 0
        if shown.is_part:
            return [*cells, line(" ", *shown.event_cell(self.view, room - 1))]
        return [*cells, shown.event_cell(self.view, room)]

    def _extend_story(self, first: int) -> int:
        """Add the lines from number `first` on; return the number of new rows."""
        kept = self._kept(first)
        self._count(kept, self._state_lines)
        if not self.is_cluster_only:
            first = 0 if self._wants_state else self._state_from
            kept = [
                event_line
                for event_line in kept
                if not event_line.is_state
                or (self.shows_state and event_line.sequence >= first)
            ]
        return self._story.extend(kept, is_raw=self.is_cluster_only)

    def _count(self, kept: Sequence[EventLine], before: int = 0) -> None:
        """Update the count of lines of state among the kept ones."""
        self._state_lines = before + sum(shown.is_state for shown in kept)

    def _kept(self, first: int) -> list[EventLine]:
        """Return the lines from number `first` of which the story is told."""
        lines = self._all.since(first)
        if self.pod_uid:
            lines = [
                event_line
                for event_line in lines
                if event_line.pod_uid in {self.pod_uid, ""}
            ]
        if self.is_cluster_only:
            lines = [event_line for event_line in lines if event_line.is_cluster_event]
        return (
            [event_line for event_line in lines if event_line.is_fault]
            if self.faults_only
            else lines
        )

    def _select_again(self) -> None:
        """Filter all lines again; the cursor stays on its row."""
        chosen = self.chosen_row
        self._story, self._state_lines = Story(), 0
        self._extend_story(0)
        self._take_rows()
        if self.viewport.is_following or chosen is None:
            self.viewport.go_to_newest()
        else:
            older = sum(shown.sequence <= chosen.sequence for shown in self._rows)
            self.viewport.choose(max(older - 1, 0))
        self.viewport.show()


def next_pulls(pods: Iterable[PodSnapshot]) -> dict[ContainerKey, datetime]:
    """Return when images may be pulled again that could not be."""
    return {
        ContainerKey(pod.pod.uid, container.container.name): container.next_pull_at
        for pod in pods
        for container in pod.containers
        if container.next_pull_at is not None
    }


def _widened(column: Column, most: int) -> Column:
    """Return the column of objects widened to `most` cells, others unchanged."""
    width = column.width or 0
    return replace(column, width=max(most, width)) if column.keeps_end else column
