"""The table of a fleet: its containers, the worst first, and why one was killed."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import ClassVar

from msgspec import Struct
from rich.cells import cell_len
from rich.text import Text
from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.events import Resize
from textual.theme import Theme
from textual.widgets import DataTable, Input, Static

from probetui.presentation.text.cells import one_line
from probetui.tui.screens.sizes import MinimumSizeScreen
from probetui.tui.themed_app import ThemedApp

NAME = "NAME"
_WORST = "worst"
_SECONDS_A_ROW = 0.0001
"""The pause in typing after which the rows are filtered."""

_NOTHING = frozenset({"", "-", "?"})
_PADDING = 2
"""Of a column: a cell on both sides."""

_SCROLLBAR = 1
_MARK = 2
"""A space, and what shows the column by which rows are sorted."""

_ALWAYS = 2
"""So many columns stay beside a name that is too long for one line."""

OnProgress = Callable[[int, int], None]


class FleetEntry(Struct, frozen=True):
    """A container as a row.

    Attributes:
        cells: texts by the headings of columns, its name among them.
        numbers: what columns of numbers are sorted by, the largest first.
        roles: of texts that are coloured, such as `error`, by the headings.
        searched: the text that a filter finds.
        details: lines about it, which have everything that may not fit into the table.
    """

    cells: Mapping[str, str]
    numbers: Mapping[str, float]
    roles: Mapping[str, str]
    searched: str
    details: Sequence[str]


class FleetContents(Struct, frozen=True):
    """The rows, the worst first, and what is said above them.

    `columns` are the headings of the other columns, those first that matter most.
    """

    sentence: str
    about: str
    holes: Sequence[str]
    columns: Sequence[str]
    entries: Sequence[FleetEntry]


class FleetWhyScreen(MinimumSizeScreen[None], inherit_bindings=False):
    """Why something happened to a container, as `probetui why` says it.

    Args:
        title: which container.
        answer: the text, once it is there.
    """

    CSS_PATH = "styles/fleet.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,enter", "dismiss_none", show=False),
        Binding("down,j", "scroll(1)", show=False),
        Binding("up,k", "scroll(-1)", show=False),
        Binding("pagedown,space", "scroll(10)", show=False),
        Binding("pageup", "scroll(-10)", show=False),
    ]

    def __init__(self, title: str, answer: Callable[[], Awaitable[str]]) -> None:
        super().__init__()
        self._title, self._answer = title, answer

    def compose(self) -> ComposeResult:
        yield Static(self._title, id="why-title", markup=False)
        with VerticalScroll(id="why-text", can_focus=False):
            yield Static("asking why ...", markup=False)
        yield Static("up/down scroll  esc back", id="why-keys", markup=False)

    def on_mount(self) -> None:
        self._ask()

    @work(exclusive=True)
    async def _ask(self) -> None:
        text = await self._answer()
        self.query_one("#why-text Static", Static).update(text)

    def action_dismiss_none(self) -> None:
        self.dismiss(None)

    def action_scroll(self, rows: int) -> None:
        self.query_one("#why-text").scroll_relative(y=rows, animate=False)


class FleetScreen(MinimumSizeScreen[None], inherit_bindings=False):
    """The containers, of which one has the cursor.

    Args:
        read: reads them, and tells how far it is.
        why: says why a container was killed, by its index.
        parts: what progress is counted in.
        is_ascii: whether to draw with ASCII only.
    """

    CSS_PATH = "styles/fleet.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("q,ctrl+c", "leave", show=False),
        Binding("o", "sort", show=False),
        Binding("slash", "filter", show=False),
        Binding("escape", "clear", show=False),
        Binding("j", "move(1)", show=False),
        Binding("k", "move(-1)", show=False),
        Binding("g", "end(0)", show=False),
        Binding("G", "end(-1)", show=False),
    ]

    def __init__(
        self,
        read: Callable[[OnProgress], Awaitable[FleetContents]],
        why: Callable[[int], Awaitable[str]],
        *,
        parts: str,
        is_ascii: bool,
    ) -> None:
        super().__init__()
        self._read, self._why, self._parts = read, why, parts
        self._mark = "v" if is_ascii else "▾"
        self._contents = FleetContents("", "", (), (), ())
        self._sorted_by = _WORST
        self._shown: list[int] = []

    def compose(self) -> ComposeResult:
        yield Static("", id="fleet-sum", markup=False)
        yield Static("", id="fleet-about", markup=False)
        yield Static("asking ...", id="fleet-wait", markup=False)
        table: DataTable[Text] = DataTable(
            id="fleet-table",
            cursor_type="row",
            cursor_foreground_priority="renderable",
        )
        table.display = False
        yield table
        yield Static("", id="fleet-details", markup=False)
        yield Input(placeholder="a part of a name or advice", id="fleet-filter")
        yield Static("q leave", id="fleet-keys", markup=False)

    def on_mount(self) -> None:
        self._load()

    @property
    def _table(self) -> DataTable[Text]:
        return self.query_one("#fleet-table", DataTable)

    # -- contents

    @work(exclusive=True, exit_on_error=False)
    async def _load(self) -> None:
        try:
            self._contents = contents = await self._read(self._tell)
        except Exception as error:  # noqa: BLE001  # it is raised once the app has ended
            self.app.exit(error)
            return
        self._write("#fleet-sum", contents.sentence)
        about = self.query_one("#fleet-about", Static)
        about.set_class(bool(contents.holes), "-holes")
        about.update("\n".join(map(one_line, (contents.about, *contents.holes))))
        self.query_one("#fleet-wait").display = False
        self._table.display = True
        self._table.focus()
        self._fill()

    def _tell(self, done: int, total: int) -> None:
        if self.is_attached:
            self._write("#fleet-wait", f"{done} of {total} {self._parts} are read")

    def _write(self, selector: str, text: str) -> None:
        self.query_one(selector, Static).update(text)

    def _fill(self) -> None:
        """Fill the table anew; the cursor stays on its container."""
        table = self._table
        chosen = self._chosen
        wanted = self.query_one("#fleet-filter", Input).value.casefold()
        entries = self._contents.entries
        self._shown = [
            index
            for index, entry in enumerate(entries)
            if wanted in entry.searched.casefold()
        ]
        by = self._sorted_by
        if by in self._contents.columns:
            self._shown.sort(key=lambda index: -entries[index].numbers.get(by, 0.0))
        elif by == NAME:
            self._shown.sort(key=lambda index: entries[index].cells[NAME])
        table.clear(columns=True)
        inks = {
            name.removeprefix("role-"): color
            for name, color in self.app.get_css_variables().items()
            # Those of the terminal have names that Rich does not know.
            if name.startswith("role-") and color.startswith("#")
        }
        widths = self._widths()
        for heading, width in widths.items():
            label = f"{heading} {self._mark}" if heading == by else heading
            table.add_column(Text(label), width=width, key=heading)
        for index in self._shown:
            entry = entries[index]
            name = one_line(entry.cells[NAME])
            cells = [
                Text(
                    one_line(entry.cells[heading]),
                    inks.get(entry.roles.get(heading, ""), ""),
                    overflow="fold",
                )
                for heading in widths
            ]
            # A line may end with half of a wide character's room.
            room = widths[NAME] - (not name.isascii())
            lines = -(-cell_len(name) // room)
            table.add_row(*cells, height=max(lines, 1))
        if chosen in self._shown:
            table.move_cursor(row=self._shown.index(chosen))
        self._show_details()
        count = len(self._shown)
        of_all = f" of {len(entries)}" if wanted else ""
        self._write(
            "#fleet-keys",
            f"{count}{of_all} containers, by {by.lower()}  enter why  o sort  / filter"
            "  q leave",
        )

    def _widths(self) -> dict[str, int]:
        """Return the columns that fit and say something, with their widths."""
        entries = self._contents.entries
        columns = [
            heading
            for heading in self._contents.columns
            if any(entry.cells[heading] not in _NOTHING for entry in entries)
        ]
        longest = {
            heading: max(
                cell_len(heading) + _MARK * (heading == self._sorted_by),
                *(cell_len(one_line(entry.cells[heading])) for entry in entries),
                0,
            )
            for heading in (NAME, *columns)
        }
        room = self.size.width - _SCROLLBAR
        always = columns[:_ALWAYS]
        least = sum(longest[heading] + _PADDING for heading in always) + _PADDING
        widths = {NAME: max(min(longest[NAME], room - least), len(NAME) + _MARK)}
        room -= widths[NAME] + _PADDING
        for heading in columns:
            if longest[heading] + _PADDING <= room:
                widths[heading] = longest[heading]
                room -= longest[heading] + _PADDING
        return widths

    @property
    def _chosen(self) -> int:
        """The index of the container with the cursor, -1 for none."""
        row = self._table.cursor_row
        return self._shown[row] if 0 <= row < len(self._shown) else -1

    def _show_details(self) -> None:
        chosen = self._chosen
        entries = self._contents.entries
        details = entries[chosen].details if chosen >= 0 else ("no such container",)
        self._write("#fleet-details", "\n".join(map(one_line, details)))

    # -- keys

    def on_resize(self, event: Resize) -> None:
        super().on_resize(event)
        if self._contents.columns:
            self.call_after_refresh(self._fill)

    def on_data_table_row_highlighted(self) -> None:
        self._show_details()

    def on_data_table_row_selected(self) -> None:
        chosen = self._chosen
        if chosen >= 0:
            title = one_line(self._contents.entries[chosen].details[0])
            self.app.push_screen(FleetWhyScreen(title, lambda: self._why(chosen)))

    def on_data_table_header_selected(self, event: DataTable.HeaderSelected) -> None:
        self._sort_by(str(event.column_key.value))

    @work(exclusive=True, group="filter")
    async def on_input_changed(self) -> None:
        # Thousands of rows take longer than a key.
        await asyncio.sleep(len(self._contents.entries) * _SECONDS_A_ROW)
        self._fill()

    def on_input_submitted(self) -> None:
        self._table.focus()

    def action_sort(self) -> None:
        orders = [_WORST, NAME, *self._contents.columns]
        place = orders.index(self._sorted_by) if self._sorted_by in orders else 0
        self._sort_by(orders[(place + 1) % len(orders)])

    def _sort_by(self, order: str) -> None:
        self._sorted_by = order
        self._fill()
        self._table.move_cursor(row=0)

    def action_filter(self) -> None:
        field = self.query_one("#fleet-filter", Input)
        field.add_class("-open")
        field.focus()

    def action_clear(self) -> None:
        field = self.query_one("#fleet-filter", Input)
        field.value = ""
        field.remove_class("-open")
        self._table.focus()

    def action_move(self, rows: int) -> None:
        self._table.move_cursor(row=self._table.cursor_row + rows)

    def action_end(self, row: int) -> None:
        self._table.move_cursor(row=row if row >= 0 else len(self._shown) - 1)

    def action_leave(self) -> None:
        self.app.exit()


class FleetApp(ThemedApp[Exception | None], inherit_bindings=False):
    """Shows a fleet; its result is the error that ended it, None if the user did.

    Args:
        read: reads the containers, and tells how far it is.
        why: says why a container was killed, by its index.
        parts: what progress is counted in.
        is_ascii: whether to draw with ASCII only.
        theme: the name of a theme, None for that of a dark terminal.
        themes: of the user.
    """

    def __init__(
        self,
        read: Callable[[OnProgress], Awaitable[FleetContents]],
        why: Callable[[int], Awaitable[str]],
        *,
        parts: str,
        is_ascii: bool,
        theme: str | None = None,
        themes: Sequence[Theme] = (),
    ) -> None:
        super().__init__(theme, themes)
        self._screen = FleetScreen(read, why, parts=parts, is_ascii=is_ascii)

    def on_mount(self) -> None:
        self.push_screen(self._screen)
