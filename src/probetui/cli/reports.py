"""Prints reports, in the form that `-o` names."""

from __future__ import annotations

from msgspec import to_builtins

from probetui.cli.printing import (
    PRINTERS,
    print_line,
    print_table,
    print_text,
)
from probetui.presentation.report import Document, Report, Table


def emit(report: Report, form: str) -> None:
    """Print a report: its value for programs, its parts for people."""
    if print_value := PRINTERS.get(form):
        print_value(to_builtins(report.value()))
        return
    for part in report.parts(form):
        match part:
            case Table():
                print_table(part.rows, headers=part.has_headings)
            case Document():
                print_text(part.text)
            case _:
                print_line(part)
