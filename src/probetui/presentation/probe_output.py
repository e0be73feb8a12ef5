"""Everything that a probe said, attempt by attempt."""

from __future__ import annotations

from collections.abc import Iterator

from probetui.kubelet.journal import TickEntry
from probetui.kubelet.outcome import Attempt, HTTPAnswer
from probetui.presentation.detail import Subject
from probetui.presentation.probe_detail import output_text
from probetui.presentation.sizes import size
from probetui.presentation.spans import EMPTY, Line, Role, Span, line, muted
from probetui.presentation.text_cells import all_lines
from probetui.presentation.trace import MAX_ATTEMPTS, attempt_line
from probetui.presentation.view import View


def shown_tick(subject: Subject) -> TickEntry | None:
    """Return the tick at the cursor, else the last one that probed."""
    if subject.cursor is not None:
        return subject.tick
    return None if subject.probe is None else subject.probe.last_run


def output_lines(tick: TickEntry | None, view: View) -> list[Line]:
    """Return all that a tick's attempts said, at most the 10 KiB that are kept."""
    if tick is None:
        return [line(muted("not probed yet"))]
    if not tick.attempts:
        return [line(muted("this tick did not probe: nothing was printed"))]
    return [
        each
        for number, attempt in enumerate(tick.attempts, start=1)
        for each in _attempt(number, attempt, view)
    ]


def _attempt(number: int, attempt: Attempt, view: View) -> Iterator[Line]:
    which = f"attempt {number}/{MAX_ATTEMPTS}  "
    yield line(Span(which, Role.STRONG), *attempt_line(attempt, view))
    text = all_lines(view.mask.text(output_text(attempt)))
    for each in text or ["(no output)"]:
        yield line(f"  {each}")
    if attempt.http is not None:
        yield from _answer(attempt.http, view)
    yield EMPTY


def _answer(answer: HTTPAnswer, view: View) -> Iterator[Line]:
    """Yield what a server answered, of which the cluster's event tells only a part."""
    for each in answer.redirects:
        yield line(muted("followed  "), view.safe(each))
    yield line(muted("status    "), str(answer.status))
    for header in answer.headers:
        value = view.mask.value(header.name, header.value)
        yield line(muted("header    "), view.safe(f"{header.name}: {value}"))
    if answer.cut_bytes:
        yield line(muted("cut: "), f"{size(answer.cut_bytes)} of headers and redirects")
    for index, each in enumerate(all_lines(view.mask.text(answer.body))):
        yield line(muted("body      " if index == 0 else " " * 10), each)
