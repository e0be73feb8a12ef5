"""The trace of a tick as lines: in two columns where there is room, else in one."""

from __future__ import annotations

from collections.abc import Sequence

from probetui.presentation.detail import Subject
from probetui.presentation.spans import EMPTY, Line, Role, Span, line, muted, text_of
from probetui.presentation.trace import Fact, Trace, next_due, ticks_lost, trace
from probetui.presentation.view import View

TWO_COLUMNS = 100
"""Cells from which on the questions of a tick stand side by side."""

_LABEL = 22
_NARROW_LABEL = 15
_ANSWER = 4
_LONG_AGO = "this tick is too long ago: only its mark is kept"


def subject_trace(subject: Subject, view: View) -> Trace | None:
    """Return the trace of the tick that is looked at, None if there is none."""
    tick = subject.tick
    if tick is None or subject.probe is None:
        return None
    period = subject.probe.probe.period_seconds
    if subject.cursor is None:
        next_at = subject.probe.next_tick_at or next_due(tick, None, period)
    else:
        following = subject.ticks.tick(subject.cursor + 1)
        next_at = next_due(tick, following, period)
    lost = ticks_lost(tick, next_at, period)
    return trace(tick, subject.pod.pod, next_at, view, ticks_lost=lost)


def trace_lines(subject: Subject, view: View, width: int, height: int) -> list[Line]:
    """Return the trace of the tick that is looked at.

    Where there is little room the questions that were passed share a line.
    """
    shown = subject_trace(subject, view)
    if shown is None:
        is_lost = subject.cursor is not None
        return [line(muted(_LONG_AGO if is_lost else "no tick yet"))]
    if width >= TWO_COLUMNS:
        passed = [_gate_with_label(each) for each in shown.gates if each.passed]
        stopped = [_gate_with_label(each) for each in shown.gates if not each.passed]
        facts = _labelled(shown.facts, _LABEL)
        return [*_side_by_side(passed, width), *stopped, *facts]
    facts = _labelled(shown.facts, _NARROW_LABEL)
    if len(shown.gates) + len(facts) < height:
        return [*(_gate_with_answer(each) for each in shown.gates), EMPTY, *facts]
    return [*_gates_in_short(shown.gates), *facts]


def _gates_in_short(gates: Sequence[Fact]) -> list[Line]:
    passed = [f"{each.label} {text_of(each.words)}" for each in gates if each.passed]
    stopped = [
        line(muted("stopped by".ljust(_NARROW_LABEL)), f"{each.label}: ", *each.words)
        for each in gates
        if not each.passed
    ]
    if not passed:
        return stopped
    words = "; ".join(passed)
    return [line(muted("passed".ljust(_NARROW_LABEL)), words), *stopped]


def _labelled(facts: Sequence[Fact], width: int) -> list[Line]:
    return [line(muted(each.label.ljust(width)), *each.words) for each in facts]


def _gate_with_label(fact: Fact) -> Line:
    return line(muted(fact.label.ljust(_LABEL)), *fact.words)


def _gate_with_answer(fact: Fact) -> Line:
    """Return a question behind whether it was passed, which is not its answer."""
    passed = Span("ok", Role.SUCCESS) if fact.passed else Span("NO", Role.WARNING)
    padding = " " * (_ANSWER - len(passed.text))
    return line(passed, padding, muted(f"{fact.label}  "), *fact.words)


def _side_by_side(lines: Sequence[Line], width: int) -> list[Line]:
    """Return lines in two columns, the first half in the left one."""
    height = -(-len(lines) // 2)
    room = width // 2
    rows = []
    for index in range(height):
        left = lines[index]
        right = lines[index + height] if index + height < len(lines) else EMPTY
        padding = " " * max(room - len(text_of(left)), 1)
        rows.append(line(*left, padding, *right))
    return rows
