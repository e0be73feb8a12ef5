"""The trace of a tick as lines: in two columns where there is room, else in one."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from probetui.k8s.status import ContainerStatus, Running
from probetui.kubelet.journal import TickEntry
from probetui.presentation.detail import Subject
from probetui.presentation.reproduce import by_hand
from probetui.presentation.spans import EMPTY, Line, Role, Span, line, muted, text_of
from probetui.presentation.trace import Fact, Trace, next_due, ticks_lost, trace
from probetui.presentation.view import View

TWO_COLUMNS = 100
"""Cells from which on the questions of a tick stand side by side."""

_LABEL = 22
_NARROW_LABEL = 15
_ANSWER = 4
_PASSED = {
    "pod status known": "pod known",
    "phase": "phase {}",
    "on hold": "not on hold",
    "container running": "running",
    "pod being deleted": "not being deleted",
    "initial delay": "delay {}",
}
"""What there is to say of a question that was passed; of others the answer."""
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
    found = trace(
        tick,
        subject.pod.pod,
        next_at,
        view,
        ticks_lost=ticks_lost(tick, next_at, period),
        started_at=_started_at(subject, tick),
    )
    if not (command := by_hand(subject, view)):
        return found
    shown = Fact("by hand", line(Span(command, Role.ACCENT)))
    return Trace(found.gates, (*found.facts, shown))


def _started_at(subject: Subject, tick: TickEntry) -> datetime | None:
    """Return when the instance that a tick saw was started, None if unknown."""
    life = subject.past.life(tick.container_id)
    if life is not None and life.started_at is not None:
        return life.started_at
    match subject.container.status:
        case ContainerStatus(container_id=tick.container_id, state=Running(started_at)):
            return started_at
        case _:
            return None


def trace_lines(subject: Subject, view: View, width: int, height: int) -> list[Line]:
    """Return the trace of the tick that is looked at.

    Where there is little room the questions that were passed share a line.
    """
    shown = subject_trace(subject, view)
    if subject.probe is None:
        return [line(muted("no probe is defined: nothing ticks here"))]
    if shown is None:
        is_lost = subject.cursor is not None
        return [line(muted(_LONG_AGO if is_lost else "no tick yet"))]
    if width >= TWO_COLUMNS:
        passed = [_gate_with_label(each) for each in shown.gates if each.passed]
        stopped = [_gate_with_label(each) for each in shown.gates if not each.passed]
        facts = _labelled(_in_short(shown.facts), _NARROW_LABEL)
        return [*_side_by_side(passed, width), *stopped, *facts]
    facts = _labelled(_in_short(shown.facts), _NARROW_LABEL)
    if len(shown.gates) + len(facts) < height:
        return [*(_gate_with_answer(each) for each in shown.gates), EMPTY, *facts]
    return [*_gates_in_short(shown.gates), *facts]


def _in_short(facts: Sequence[Fact]) -> list[Fact]:
    """Return facts with those that are no news on one line, where the first was."""
    news = [each for each in facts if each.is_news]
    others = [each for each in facts if not each.is_news]
    if others:
        words = ", ".join(f"{each.label} {text_of(each.words)}" for each in others)
        news.insert(facts.index(others[0]), Fact("as before", line(words)))
    return news


def _gates_in_short(gates: Sequence[Fact]) -> list[Line]:
    passed = [_passed_in_short(each) for each in gates if each.passed]
    stopped = [
        line(muted("stopped by".ljust(_NARROW_LABEL)), f"{each.label}: ", *each.words)
        for each in gates
        if not each.passed
    ]
    if not passed:
        return stopped
    words = "; ".join(passed)
    return [line(muted("passed".ljust(_NARROW_LABEL)), words), *stopped]


def _passed_in_short(gate: Fact) -> str:
    return _PASSED.get(gate.label, "{}").format(gate.words[0].text)


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
