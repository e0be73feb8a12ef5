"""Lines that a container printed, ready to be shown."""

from __future__ import annotations

from probetui.ports import LogLine
from probetui.presentation.spans import Line, Role, Span, line, muted
from probetui.presentation.text_cells import one_line
from probetui.presentation.view import View

STAMP = 11
"""Cells of the time before a line, where the runtime says when it was printed."""

_SKIPPED = "(lines skipped: printed too fast) "


def log_cells(printed: LogLine, view: View, *, is_after_skip: bool = False) -> Line:
    """Return a line with its time; one of standard error says so by a mark, too."""
    stamp = "" if printed.at is None else view.times.stamp(printed.at).ljust(STAMP)
    mark = Span("! ", Role.WARNING) if printed.is_stderr else Span("")
    skipped = Span(_SKIPPED, Role.ERROR) if is_after_skip else Span("")
    return line(muted(stamp), skipped, mark, log_text(printed, view))


def log_text(printed: LogLine, view: View) -> str:
    """Return what was printed, harmless and without secrets."""
    text = view.mask.text(printed.text)
    return one_line(text, newline=view.marks.newline)
