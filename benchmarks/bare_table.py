"""A minimal Textual app with a table and a line that names the selected row.

    python benchmarks/bare_table.py ROWS HZ CHANGES

The yardstick of `screen.py`: HZ times a second, CHANGES rows of the table change.
"""

from __future__ import annotations

import random
import sys

from textual.app import App, ComposeResult
from textual.binding import Binding
from textual.widgets import DataTable, Label

FIXED = ("NAME", "STATE", "RST")
CHANGING = ("LIVE", "READY", "START", "NEXT")


class Table(DataTable[str]):
    """A table with the keys of the program."""

    BINDINGS = [  # noqa: RUF012  # as the framework has it
        Binding("j", "cursor_down"),
        Binding("k", "cursor_up"),
        Binding("g", "scroll_top"),
    ]


class BareTable(App[None]):
    """Changes the next rows at every instant."""

    CSS = "Label { width: 100%; height: 1; } Table { height: 1fr; }"
    BINDINGS = [Binding("q", "quit")]  # noqa: RUF012  # as the framework has it

    def __init__(self, rows: int, rate: int, changes: int) -> None:
        super().__init__()
        self._names = [f"pod-{number:03}" for number in range(rows)]
        self._rate, self._changes = rate, changes
        self._next, self._random = 0, random.Random(2)
        self._table = Table(cursor_type="row")
        self._chosen = Label()

    def compose(self) -> ComposeResult:
        """Put the line above the table."""
        yield self._chosen
        yield self._table

    def on_mount(self) -> None:
        """Fill the table, and start to change it."""
        self._table.add_columns(*FIXED)
        for heading in CHANGING:
            self._table.add_column(heading, key=heading, width=8)
        for name in self._names:
            cells = (name, "Running 1s", "0", *("-" for _ in CHANGING))
            self._table.add_row(*cells, key=name)
        self.set_interval(1 / self._rate, self._publish)

    def on_data_table_row_highlighted(self, event: DataTable.RowHighlighted) -> None:
        """Name the selected row, like the card of the program."""
        self._chosen.update(f"{self._names[event.cursor_row]}/app")

    def _publish(self) -> None:
        for _ in range(self._changes):
            name = self._names[self._next % len(self._names)]
            self._next += 1
            for heading in CHANGING:
                words = f"{self._random.randrange(1000)} ok"
                self._table.update_cell(name, heading, words)


if __name__ == "__main__":
    BareTable(*map(int, sys.argv[1:])).run()
