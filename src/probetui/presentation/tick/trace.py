"""The trace of one tick: the gates it went through, and what it led to.

In two columns where there is room, else in one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta

from msgspec import Struct

from probetui.analysis.timing import kill_grace_period, ticks_lost
from probetui.durations import format_countdown, format_duration
from probetui.k8s.pod import Pod
from probetui.k8s.status import ContainerStatus, Running
from probetui.kubelet.journal import Gate, Skip, TickAction, TickEntry, Trigger
from probetui.kubelet.outcome import Attempt, ProbeResult, Result
from probetui.kubelet.prober.prober import MAX_PROBE_RETRIES
from probetui.presentation.container.detail import Subject, subject_command
from probetui.presentation.container.exits import first_signal_text
from probetui.presentation.probe.endpoints import endpoints_text
from probetui.presentation.text.spans import (
    EMPTY,
    Line,
    Role,
    Span,
    line,
    muted,
    strong,
    text_of,
)
from probetui.presentation.text.view import View
from probetui.presentation.tick.marks import mark_span
from probetui.presentation.tick.report import (
    NOBODY_PROBED,
    TickEvent,
    blocking_gate,
    report_tick,
    run_count,
    skip_text,
    tick_event,
)

_SECOND = timedelta(seconds=1)
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
_STARTUP = "startup gate"
_LONG_AGO = "the trace of this tick was dropped (too old)"
_TRIGGERS = {
    Trigger.READINESS: "early: the container is not ready",
    Trigger.USER: "requested by a user",
}


class TraceRow(Struct, frozen=True):
    """One line of the trace; `passed` is set for a question that a tick asked.

    What is no news is as it mostly is: nothing changed.
    """

    label: str
    words: Line
    passed: bool | None = None
    is_news: bool = True


class TickTrace(Struct, frozen=True):
    """A tick's questions in the kubelet's order, and then what it did."""

    gates: tuple[TraceRow, ...]
    facts: tuple[TraceRow, ...]


def trace_title(tick: TickEntry, view: View) -> Line:
    """Return which tick it is: number, time, and what made it happen."""
    trigger = tick.trigger if tick.trigger is not Trigger.READINESS else "readiness"
    return line(
        strong(f"tick #{tick.n}"),
        f" {view.times.stamp(tick.timing.started_at)} ",
        mark_span(tick, view.marks),
        muted(f" {trigger}"),
    )


def build_trace(
    tick: TickEntry,
    pod: Pod | None,
    next_at: datetime | None,
    view: View,
    *,
    ticks_lost: int = 0,
    started_at: datetime | None = None,
) -> TickTrace:
    """Return everything about a tick.

    Without the `pod`, the grace period of a kill is left out. `next_at` is when the
    tick after it was or will be due, None if that is not known; `ticks_lost` of those
    in between never came. `started_at` is when the container that it saw was started,
    None if that is not known.
    """
    notes = _notes(tick, pod, started_at, view)
    gates = tuple(_gate(tick, gate, notes, view) for gate in tick.gates)
    return TickTrace(gates, tuple(_facts(tick, pod, next_at, view, ticks_lost)))


def _notes(
    tick: TickEntry, pod: Pod | None, started_at: datetime | None, view: View
) -> dict[str, str]:
    """Return what there is to add to answers of a tick that passed them, by question.

    The initial delay counts from the whole second: a pod's status has no more.
    """
    notes = {}
    container = pod.container(tick.key.container_name) if pod is not None else None
    if container is not None and container.startup_probe is None:
        notes[_STARTUP] = "no startupProbe"
    if started_at is not None and started_at <= tick.timing.started_at:
        passed = format_countdown(tick.timing.started_at - started_at)
        notes["container running"] = (
            f"started {view.times.stamp(started_at)}, {passed} before"
        )
        whole = started_at.replace(microsecond=0)
        seconds = (tick.timing.started_at - whole) // _SECOND
        probe = container.probe(tick.key.probe_type) if container is not None else None
        if probe is not None and probe.initial_delay_seconds:
            counted = f"{seconds}s since {view.times.stamp(whole)}"
            notes["initial delay"] = counted
    return notes


def _gate(
    tick: TickEntry, gate: Gate, notes: Mapping[str, str], view: View
) -> TraceRow:
    value = view.safe(gate.value)
    if gate is not blocking_gate(tick):
        note = f"  {notes[gate.name]}" if gate.name in notes else ""
        return TraceRow(_label(gate), line(value, muted(note)), gate.passed)
    role = Role.HOLD if tick.skip is Skip.ON_HOLD else Role.WARNING
    return TraceRow(
        _label(gate),
        line(Span(value, role), muted("  -> skipped")),
        passed=False,
    )


def _label(gate: Gate) -> str:
    return "startup" if gate.name == _STARTUP else gate.name


def _facts(
    tick: TickEntry,
    pod: Pod | None,
    next_at: datetime | None,
    view: View,
    ticks_lost: int,
) -> Iterator[TraceRow]:
    if tick.trigger is not Trigger.PERIODIC:
        yield TraceRow("trigger", line(_TRIGGERS[tick.trigger]))
    if tick.overridden.held:
        words = f"for {format_duration(tick.overridden.held)}"
        yield TraceRow(
            "paused",
            line(words, muted("; initial delay, grace and back-off continued")),
        )
    if tick.timing.late_drops:
        due = (
            "1 tick"
            if tick.timing.late_drops == 1
            else f"{tick.timing.late_drops} ticks"
        )
        yield TraceRow(
            "taken late",
            line(
                Span(f"{due} fell due before it and did not run", Role.WARNING),
                muted(f": {NOBODY_PROBED}"),
            ),
        )
    if tick.attempts:
        yield from _attempts(tick, view)
        yield TraceRow("result run", _run(tick))
    yield TraceRow("stored result", _stored(tick), is_news=_is_stored_anew(tick))
    report = report_tick(tick)
    effect = line(Span(*report.effect), muted(_grace(tick, pod, view)))
    yield TraceRow("effect", effect, is_news=report.has_effect)
    yield from _endpoints(tick, pod, view)
    if tick.attempts:
        yield TraceRow("event", _event(tick_event(tick, view.rules), view))
    if tick.skip is not None:
        yield TraceRow("resumes", line(skip_text(tick.skip, tick).resumes))
    if tick.exit is not None:
        yield TraceRow("next tick", line("none: the worker exited"))
    elif next_at is not None:
        lost = ""
        if ticks_lost:
            lost = (
                f"  {ticks_lost} dropped before it: "
                "the probe took longer than its period"
            )
        yield TraceRow("next tick", line(view.times.stamp(next_at), muted(lost)))
    label = "cluster shows" if tick.is_observed else "in a cluster"
    yield TraceRow(label, line(report.cluster))


def _endpoints(tick: TickEntry, pod: Pod | None, view: View) -> Iterator[TraceRow]:
    """Yield what follows for the Services that select the pod."""
    if tick.action in {TickAction.READY, TickAction.NOT_READY}:
        is_ready = tick.action is TickAction.READY
        follows = endpoints_text(pod, view.services, is_ready=is_ready)
        yield TraceRow("endpoints", line(f"the pod is {follows}"), is_news=True)


def _attempts(tick: TickEntry, view: View) -> Iterator[TraceRow]:
    for number, attempt in enumerate(tick.attempts, start=1):
        note = ""
        if number == len(tick.attempts):
            note = _why_no_other(tick)
        yield TraceRow(
            f"attempt {number}/{MAX_PROBE_RETRIES}",
            line(*format_attempt_line(attempt, view), muted(note)),
        )


def _why_no_other(tick: TickEntry) -> str:
    if tick.overridden.injected:
        return "  (injected, the probe did not run)"
    if tick.overridden.delay:
        return f"  (answer delayed by {format_duration(tick.overridden.delay)})"
    if tick.result is not Result.FAILURE:
        return ""
    return "  (only errors are retried)"


def format_attempt_line(attempt: Attempt, view: View) -> Line:
    """Return how an attempt ended: `exit 1 in 34ms -> failure`."""
    if attempt.error is not None:
        error = view.safe(attempt.error)
        after = f" in {format_duration(attempt.duration)}" if attempt.is_timed else ""
        return line(Span(f"error{after}: {error}", Role.WARNING))
    ended = view.safe(attempt.detail)
    role = _ROLES.get(attempt.result, Role.ERROR)
    if not attempt.is_timed:
        return line(Span(attempt.result, role))
    how = f"{ended} in " if ended else "took "
    return line(
        f"{how}{format_duration(attempt.duration)} -> ", Span(attempt.result, role)
    )


_ROLES = {ProbeResult.SUCCESS: Role.SUCCESS, ProbeResult.WARNING: Role.WARNING}


def _run(tick: TickEntry) -> Line:
    if tick.result is None:
        return line("unchanged (an error is not counted)")
    word = "failure" if tick.result is Result.FAILURE else "success"
    moved = (
        f"{tick.run.count - 1} -> {tick.run.count}"
        if tick.run.count > 1
        else "starts at 1"
    )
    if tick.run.doubt:
        moved = run_count(tick)
    reached = tick.run.count >= tick.run.threshold
    return line(
        f"{word} {moved}   threshold {tick.run.threshold}   ",
        Span("reached", Role.STRONG) if reached else "not reached",
    )


def _stored(tick: TickEntry) -> Line:
    before, after = (
        "none" if result is None else str(result)
        for result in (tick.stored.before, tick.stored.after)
    )
    if tick.new_container and tick.result is None:
        return line(f"{after} (initial value for a new container)")
    if before == after:
        return line(f"stays {after}")
    role = Role.ERROR if tick.stored.after is Result.FAILURE else Role.SUCCESS
    return line(f"{before} -> ", Span(after, role))


def _is_stored_anew(tick: TickEntry) -> bool:
    is_initial = tick.new_container and tick.result is None
    return is_initial or tick.stored.before is not tick.stored.after


def _grace(tick: TickEntry, pod: Pod | None, view: View) -> str:
    if pod is None or tick.action not in {TickAction.KILL, TickAction.WOULD_KILL}:
        return ""
    container = pod.container(tick.key.container_name)
    if container is None:
        return ""
    seconds, source = kill_grace_period(pod, container, tick.key.probe_type, view.rules)
    first = first_signal_text(container, seconds)
    return f"  {first}, SIGKILL after {seconds}s grace ({source})"


def _event(event: TickEvent | None, view: View) -> Line:
    if event is None:
        return line(muted("none"))
    reason, message = event
    return line(Span("Warning", Role.WARNING), f" {reason}  ", Span(view.safe(message)))


def next_due(
    tick: TickEntry, following: TickEntry | None, period_seconds: int
) -> datetime | None:
    """Return when the tick after this one was due, computed where it is not known.

    A tick out of schedule begins the period anew; one on schedule may have come late,
    so that what did come is the better answer.
    """
    if tick.exit is not None:
        return None
    if following is not None:
        return following.timing.started_at
    return tick.timing.started_at + period_seconds * _SECOND


def subject_trace(subject: Subject, view: View) -> TickTrace | None:
    """Return the trace of the selected tick, None if there is none."""
    tick = subject.tick
    if tick is None or subject.probe is None:
        return None
    period = subject.probe.probe.period_seconds
    if subject.cursor is None:
        # While a probe runs, the tick after the newest one is the one under way.
        under_way = subject.probe.in_flight_since
        known = subject.probe.next_tick_at or under_way
        next_at = known or next_due(tick, None, period)
    else:
        following = subject.ticks.tick(subject.cursor + 1)
        next_at = next_due(tick, following, period)
    trace = build_trace(
        tick,
        subject.pod.pod,
        next_at,
        view,
        ticks_lost=ticks_lost(tick, next_at, period),
        started_at=_started_at(subject, tick),
    )
    if not (command := subject_command(subject, view)):
        return trace
    shown = TraceRow("by hand", line(Span(command, Role.ACCENT)))
    return TickTrace(trace.gates, (*trace.facts, shown))


def _started_at(subject: Subject, tick: TickEntry) -> datetime | None:
    """Return when the instance that a tick saw was started, None if unknown."""
    instance = subject.history.instance(tick.container_id)
    if instance is not None and instance.started_at is not None:
        return instance.started_at
    match subject.container.status:
        case ContainerStatus(container_id=tick.container_id, state=Running(started_at)):
            return started_at
        case _:
            return None


def trace_lines(subject: Subject, view: View, width: int, height: int) -> list[Line]:
    """Return the trace of the selected tick.

    Where there is little room the questions that were passed share a line.
    """
    shown = subject_trace(subject, view)
    if subject.probe is None:
        return [line(muted("no probe is defined"))]
    if shown is None:
        is_lost = subject.cursor is not None
        return [line(muted(_LONG_AGO if is_lost else "no tick yet"))]
    if width >= TWO_COLUMNS:
        passed = [_gate_with_label(gate) for gate in shown.gates if gate.passed]
        stopped = [_gate_with_label(gate) for gate in shown.gates if not gate.passed]
        facts = _labelled(_in_short(shown.facts), _NARROW_LABEL)
        return [*_side_by_side(passed, width), *stopped, *facts]
    facts = _labelled(_in_short(shown.facts), _NARROW_LABEL)
    if len(shown.gates) + len(facts) < height:
        return [*(_gate_with_answer(gate) for gate in shown.gates), EMPTY, *facts]
    return [*_gates_in_short(shown.gates), *facts]


def _in_short(facts: Sequence[TraceRow]) -> list[TraceRow]:
    """Return facts with those that are no news on one line, where the first was."""
    news = [fact for fact in facts if fact.is_news]
    others = [fact for fact in facts if not fact.is_news]
    if others:
        words = ", ".join(f"{other.label} {text_of(other.words)}" for other in others)
        news.insert(facts.index(others[0]), TraceRow("no change", line(words)))
    return news


def _gates_in_short(gates: Sequence[TraceRow]) -> list[Line]:
    passed = [_passed_in_short(gate) for gate in gates if gate.passed]
    stopped = [
        line(muted("stopped by".ljust(_NARROW_LABEL)), f"{gate.label}: ", *gate.words)
        for gate in gates
        if not gate.passed
    ]
    if not passed:
        return stopped
    words = "; ".join(passed)
    return [line(muted("passed".ljust(_NARROW_LABEL)), words), *stopped]


def _passed_in_short(gate: TraceRow) -> str:
    return _PASSED.get(gate.label, "{}").format(gate.words[0].text)


def _labelled(facts: Sequence[TraceRow], width: int) -> list[Line]:
    return [line(muted(fact.label.ljust(width)), *fact.words) for fact in facts]


def _gate_with_label(fact: TraceRow) -> Line:
    return line(muted(fact.label.ljust(_LABEL)), *fact.words)


def _gate_with_answer(fact: TraceRow) -> Line:
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
