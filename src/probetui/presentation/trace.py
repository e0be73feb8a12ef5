"""What one tick decided, step by step: every question it asked, and what came of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple

from probetui.k8s.pod import Pod
from probetui.kubelet.grace_period import termination_grace_period
from probetui.kubelet.journal import Action, Gate, Skip, TickEntry, Trigger
from probetui.kubelet.outcome import Attempt, ProbeOutcome, ProbeResult, Result
from probetui.kubelet.prober import judge_outcome
from probetui.presentation.durations import countdown, took
from probetui.presentation.marks import is_warning, tick_mark
from probetui.presentation.sentences import GOES_ON, KILL_REASONS
from probetui.presentation.spans import Line, Role, Span, line, muted, strong
from probetui.presentation.stopping import told_first
from probetui.presentation.view import View

MAX_ATTEMPTS = 3
_SECOND = timedelta(seconds=1)
_TRIGGERS = {
    Trigger.READINESS: "out of schedule: the container is not ready",
    Trigger.USER: "out of schedule: asked for by hand",
}


class Fact(NamedTuple):
    """One line of the trace; `passed` is set for a question that a tick asked.

    What is no news is as it mostly is: nothing changed.
    """

    label: str
    words: Line
    passed: bool | None = None
    is_news: bool = True


@dataclass(frozen=True, slots=True)
class Trace:
    """A tick's questions in the kubelet's order, and then what it did."""

    gates: tuple[Fact, ...]
    facts: tuple[Fact, ...]


def title(tick: TickEntry, view: View) -> Line:
    """Return which tick it is: number, time, and what made it happen."""
    trigger = tick.trigger if tick.trigger is not Trigger.READINESS else "readiness"
    return line(
        strong(f"tick #{tick.n}"),
        f" {view.times.stamp(tick.started_at)} ",
        tick_mark(tick, view.marks),
        muted(f" {trigger}"),
    )


def trace(
    tick: TickEntry,
    pod: Pod | None,
    next_at: datetime | None,
    view: View,
    *,
    ticks_lost: int = 0,
    started_at: datetime | None = None,
) -> Trace:
    """Return everything about a tick.

    Without the `pod`, the grace period of a kill is left out. `next_at` is when the
    tick after it was or will be due, None if that is not known; `ticks_lost` of those
    in between never came. `started_at` is when the container that it saw was started,
    None if that is not known.
    """
    notes = _notes(tick, pod, started_at, view)
    gates = tuple(_gate(tick, each, notes, view) for each in tick.gates)
    return Trace(gates, tuple(_facts(tick, pod, next_at, view, ticks_lost)))


def stopped_at(tick: TickEntry) -> Gate | None:
    """Return the question that kept a tick from probing, None if it probed."""
    if (tick.skip is None and tick.exit is None) or not tick.gates:
        return None
    return tick.gates[-1]


def _notes(
    tick: TickEntry, pod: Pod | None, started_at: datetime | None, view: View
) -> dict[str, str]:
    """Return what there is to add to answers of a tick that passed them, by question.

    The initial delay counts from the whole second: a pod's status has no more.
    """
    notes = {}
    container = pod.container(tick.key.container_name) if pod is not None else None
    if container is not None and container.startup_probe is None:
        notes["startup gate"] = "no startupProbe"
    if started_at is not None and started_at <= tick.started_at:
        passed = countdown(tick.started_at - started_at)
        notes["container running"] = (
            f"started {view.times.stamp(started_at)}, {passed} before"
        )
        whole = started_at.replace(microsecond=0)
        seconds = (tick.started_at - whole) // _SECOND
        probe = container.probe(tick.key.probe_type) if container is not None else None
        if probe is not None and probe.initial_delay_seconds:
            counted = f"{seconds}s since {view.times.stamp(whole)}"
            notes["initial delay"] = counted
    return notes


def _gate(tick: TickEntry, gate: Gate, notes: Mapping[str, str], view: View) -> Fact:
    value = view.safe(gate.value)
    if gate is not stopped_at(tick):
        note = f"  {notes[gate.name]}" if gate.name in notes else ""
        return Fact(gate.name, line(value, muted(note)), gate.passed)
    role = Role.HOLD if tick.skip is Skip.ON_HOLD else Role.WARNING
    return Fact(
        gate.name,
        line(Span(value, role), muted("  stopped here: the probe was not run")),
        passed=False,
    )


def _facts(
    tick: TickEntry,
    pod: Pod | None,
    next_at: datetime | None,
    view: View,
    ticks_lost: int,
) -> Iterator[Fact]:
    if tick.trigger is not Trigger.PERIODIC:
        yield Fact("trigger", line(_TRIGGERS[tick.trigger]))
    if tick.held:
        words = f"{took(tick.held)} by a pause"
        yield Fact("held back", line(words, muted("; delays, grace, back-off went on")))
    if tick.attempts:
        yield from _attempts(tick, view)
        yield Fact("result run", _run(tick))
    yield Fact("stored result", _stored(tick), is_news=_is_stored_anew(tick))
    yield Fact("effect", _effect(tick, pod), is_news=_has_effect(tick))
    if tick.attempts:
        yield Fact("event", _event(tick, view))
    if tick.skip is not None:
        yield Fact("goes on", line(GOES_ON[tick.skip]))
    if tick.exit is not None:
        yield Fact("next tick", line("none: this was the worker's last"))
    elif next_at is not None:
        lost = ""
        if ticks_lost:
            lost = f"  {ticks_lost} lost before it: this one took longer than a period"
        yield Fact("next tick", line(view.times.stamp(next_at), muted(lost)))
    yield Fact("cluster shows", line(cluster_words(tick)))


def _attempts(tick: TickEntry, view: View) -> Iterator[Fact]:
    for number, each in enumerate(tick.attempts, start=1):
        note = ""
        if number == len(tick.attempts):
            note = _why_no_other(tick)
        yield Fact(
            f"attempt {number}/{MAX_ATTEMPTS}",
            line(*attempt_line(each, view), muted(note)),
        )


def _why_no_other(tick: TickEntry) -> str:
    if tick.injected:
        return "  (injected by hand, nothing was run)"
    if tick.delay:
        return f"  (answered {took(tick.delay)} late by hand)"
    if tick.result is not Result.FAILURE:
        return ""
    return "  (only errored attempts are tried again)"


def attempt_line(attempt: Attempt, view: View) -> Line:
    """Return how an attempt ended: `exit 1 in 34ms -> failure`."""
    if attempt.error is not None:
        error = view.safe(attempt.error)
        words = f"errored in {took(attempt.duration)}: {error}"
        return line(Span(words, Role.ACCENT))
    ended = view.safe(attempt.detail)
    how = f"{ended} in " if ended else "in "
    role = _ROLES.get(attempt.result, Role.ERROR)
    return line(f"{how}{took(attempt.duration)} -> ", Span(attempt.result, role))


_ROLES = {ProbeResult.SUCCESS: Role.SUCCESS, ProbeResult.WARNING: Role.WARNING}


def _run(tick: TickEntry) -> Line:
    if tick.result is None:
        return line("unchanged (errored)")
    word = "failure" if tick.result is Result.FAILURE else "success"
    moved = f"{tick.run - 1} -> {tick.run}" if tick.run > 1 else "starts at 1"
    reached = tick.run >= tick.threshold
    return line(
        f"{word} {moved}   threshold {tick.threshold}   ",
        Span("reached", Role.STRONG) if reached else "below it",
    )


def _stored(tick: TickEntry) -> Line:
    before, after = (
        "none" if each is None else str(each)
        for each in (tick.stored_before, tick.stored_after)
    )
    if tick.new_container and tick.result is None:
        return line(f"{after} (initial value for a new container)")
    if before == after:
        return line(f"stays {after}")
    role = Role.ERROR if tick.stored_after is Result.FAILURE else Role.SUCCESS
    return line(f"{before} -> ", Span(after, role))


def _is_stored_anew(tick: TickEntry) -> bool:
    is_initial = tick.new_container and tick.result is None
    return is_initial or tick.stored_before is not tick.stored_after


def _has_effect(tick: TickEntry) -> bool:
    released = tick.hold_before and not tick.hold_after
    return tick.action is not Action.NONE or released


def _effect(tick: TickEntry, pod: Pod | None) -> Line:
    match tick.action:
        case Action.KILL:
            return line(Span(f"kill{_grace(tick, pod)}", Role.KILL), ", probe on hold")
        case Action.WOULD_KILL:
            grace = _grace(tick, pod)
            return line(Span(f"would kill{grace}", Role.KILL), ", not acted")
        case Action.READY:
            return line(Span("the container becomes ready", Role.SUCCESS))
        case Action.NOT_READY:
            return line(Span("the container becomes not ready", Role.WARNING))
        case Action.STARTED:
            words = "the container counts as started: the other probes may begin"
            return line(Span(words, Role.SUCCESS))
        case Action.MUTED:
            words = "none: muted, the result is neither stored nor acted on"
            return line(Span(words, Role.ACCENT))
        case Action.DISCARDED:
            return line("none: an errored probe never restarts a container")
        case _:
            released = tick.hold_before and not tick.hold_after
            return line("hold released by a new container id" if released else "none")


def _grace(tick: TickEntry, pod: Pod | None) -> str:
    container = pod.container(tick.key.container_name) if pod is not None else None
    if pod is None or container is None:
        return ""
    reason = KILL_REASONS[tick.key.probe_type]
    seconds, source = termination_grace_period(pod, container, reason)
    first = told_first(container, seconds)
    return f": {first}, then SIGKILL after {seconds}s of grace ({source})"


def event_of(tick: TickEntry) -> tuple[str, str] | None:
    """Return reason and message of the event that a tick makes, None if none."""
    if not tick.attempts:
        return None
    outcome = ProbeOutcome(tick.attempts, tick.started_at)
    judged = judge_outcome(tick.key.probe_type, outcome)
    if judged.reason is None or judged.message is None:
        return None
    return judged.reason, judged.message


def _event(tick: TickEntry, view: View) -> Line:
    event = event_of(tick)
    if event is None:
        return line(muted("none"))
    reason, message = event
    return line(Span("Warning", Role.WARNING), f" {reason}  ", Span(view.safe(message)))


def cluster_words(tick: TickEntry) -> str:
    """Return what somebody in front of a cluster would get to see of a tick."""
    if tick.skip is not None or tick.exit is not None:
        return "nothing: a tick that does not probe leaves no event and no log"
    if tick.result is None:
        return "an Unhealthy event like that of a failure, though it counts for nothing"
    if is_warning(tick):
        return "a ProbeWarning event; the result counts as success"
    if tick.result is Result.SUCCESS:
        return f"{_status_change(tick)}a success leaves no event"
    if tick.action in {Action.KILL, Action.WOULD_KILL}:
        return "this event, then Killing; not that it was the last of the run"
    if tick.action is Action.NOT_READY:
        return "this event, and that the container is not ready"
    if tick.threshold == 1:
        return "this event"
    return (
        f"the same event for 1/{tick.threshold} and {tick.threshold}/{tick.threshold}"
    )


def _status_change(tick: TickEntry) -> str:
    match tick.action:
        case Action.READY:
            return "the container as ready; "
        case Action.STARTED:
            return "the container as started; "
        case _:
            return "nothing: "


def ticks_lost(tick: TickEntry, next_at: datetime | None, period_seconds: int) -> int:
    """Return how many ticks never came because a probe took longer than its period.

    One tick waits while a probe runs; those after it are lost, never made up for.
    """
    period = period_seconds * _SECOND
    if next_at is None or tick.duration <= period:
        return 0
    return max((next_at - tick.started_at) // period - 1, 0)


def next_due(
    tick: TickEntry, following: TickEntry | None, period_seconds: int
) -> datetime | None:
    """Return when the tick after this one was due, reckoned where it is not known.

    A tick out of schedule begins the period anew; one on schedule may have come late,
    so that what did come is the better answer.
    """
    if tick.exit is not None:
        return None
    if following is not None:
        return following.started_at
    return tick.started_at + period_seconds * _SECOND
