"""A table as one page."""

from __future__ import annotations

from collections.abc import Sequence

from probetui.presentation.page.elements import add, asset, html_of, start_page
from probetui.presentation.report import Table


def table_page(command: str, sentence: str, notes: Sequence[str], table: Table) -> str:
    """Return a page with the table of a command.

    Args:
        command: which one, as `fleet`.
        sentence: the table in one sentence.
        notes: where it comes from, and what it lacks.
        table: with headings in capitals, as on a terminal.
    """
    style = asset("report.css") + asset("table.css")
    root, body = start_page(f"probetui: {sentence}", style)
    main = add(body, "main")
    header = add(main, "header")
    add(header, "p", f"probetui {command}", class_="program")
    add(header, "h1", sentence)
    for note in notes:
        add(header, "p", note, class_="origin")
    if table.rows:
        frame = add(main, "div", class_="wide", tabindex="0", role="region")
        frame.set("aria-label", sentence)
        rows = add(frame, "table")
        heading = add(add(rows, "thead"), "tr")
        for name in table.rows[0]:
            add(heading, "th", name.capitalize(), scope="col")
        filled = add(rows, "tbody")
        for row in table.rows:
            line = add(filled, "tr")
            for cell in row.values():
                add(line, "td", cell)
    return f"<!DOCTYPE html>\n{html_of(root)}\n"
