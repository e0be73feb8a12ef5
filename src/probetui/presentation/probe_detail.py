"""What there is to say of one probe, line by line."""

from __future__ import annotations

from collections.abc import Iterator

from probetui.k8s.probe import ProbeType
from probetui.k8s.status import Running
from probetui.kubelet.journal import Action, Skip, TickEntry
from probetui.kubelet.outcome import Attempt, Result
from probetui.kubelet.snapshot import ContainerSnapshot, ProbeSnapshot
from probetui.presentation.container_detail import QUOTED, labelled
from probetui.presentation.durations import age, countdown, took
from probetui.presentation.marks import tick_mark
from probetui.presentation.probes import (
    bar,
    gauge,
    handler_words,
    is_running_towards_change,
    threshold,
    timing_words,
)
from probetui.presentation.sentences import NextFailure, why
from probetui.presentation.spans import Line, Role, Span, line, muted
from probetui.presentation.text_cells import all_lines
from probetui.presentation.view import View

_BAR = 10
_STORED_SOMETHING = frozenset(Action) - {Action.NONE, Action.DISCARDED, Action.MUTED}


def settings_lines(probe: ProbeSnapshot, view: View) -> Iterator[Line]:
    """Yield what a probe does, and when."""
    yield labelled("handler", Span(handler_words(probe.probe, view), Role.STRONG))
    yield labelled("timing", timing_words(probe.probe))


def standing_lines(
    container: ContainerSnapshot,
    probe: ProbeSnapshot,
    view: View,
) -> Iterator[Line]:
    """Yield how a probe stands."""
    run = labelled("result run", *run_words(probe, view))
    if is_running_towards_change(probe):
        run += (muted("   threshold "), *bar(probe, view.marks, _BAR))
    yield run
    yield labelled("stored", believed(probe), muted(_stored_since(probe, view)))
    yield labelled("on hold", *_hold_words(probe, view))
    yield labelled("initial delay", _delay_words(container, probe, view))
    yield labelled("next tick", *next_tick_words(probe, view, _next_at(probe, view)))


def outlook_lines(
    tick: TickEntry | None, failure: NextFailure, view: View
) -> Iterator[Line]:
    """Yield what the next failure would do, and why a tick did what it did."""
    yield labelled("next failure", failure.words + _times_of_kill(failure, view))
    if failure.backoff is not None:
        yield labelled("", failure.backoff.words)
    yield labelled("why", why_words(tick, view))


def count_line(probe: ProbeSnapshot) -> Line:
    """Return what a probe's ticks have come to, in numbers."""
    return labelled(
        "counted",
        f"{probe.successes} succeeded, {probe.failures} failed, "
        f"{probe.errors} errored, {probe.skips} skipped",
    )


def output_lines(probe: ProbeSnapshot, view: View) -> Iterator[Line]:
    """Yield everything that the last probe printed, or why it could not be run."""
    tick = probe.last_run
    if tick is None or not tick.attempts:
        return
    attempt = tick.attempts[-1]
    text = view.mask.text(output_text(attempt))
    times = f"attempt {len(tick.attempts)} of 3, " if len(tick.attempts) > 1 else ""
    size = f", {times}{_size(text)} bytes"
    yield labelled("last output", *last_words(tick, view), size)
    for each in all_lines(text):
        yield line(f"{' ' * QUOTED}{each}")


def why_words(tick: TickEntry | None, view: View) -> str:
    """Return why a tick did what it did, with its time."""
    if tick is None:
        return "no tick yet"
    return f"{view.times.stamp(tick.started_at)} {why(tick)}"


def believed(probe: ProbeSnapshot) -> Span:
    """Return the stored result as a word."""
    match probe.believed:
        case None:
            return muted("none")
        case Result.SUCCESS:
            return Span("Success", Role.SUCCESS)
        case Result.FAILURE:
            return Span("Failure", Role.ERROR)
        case Result.UNKNOWN:
            return muted("Unknown")


def run_words(probe: ProbeSnapshot, view: View) -> Line:
    """Return the run with its gauge: `✗✗· 2/3 failures`, `✓ 8 successes, as stored`."""
    shown = gauge(probe, view.marks)
    if probe.last_run is None:
        return (*shown, Span(" not probed yet"))
    if not probe.worker_alive:
        return (*shown, Span(" none (its worker has left)"))
    if not probe.successes + probe.failures:
        return (*shown, Span(" 0 (nothing counted yet)"))
    if probe.result_run == 0:
        return (*shown, Span(" 0 (reset on hold)"))
    word = "failure" if probe.last_result is Result.FAILURE else "success"
    plural = word + ("s" if word == "failure" else "es")
    if is_running_towards_change(probe):
        return (*shown, Span(f" {plural}"))
    count = probe.result_run
    return (*shown, Span(f" {count} {word if count == 1 else plural}, as stored"))


def last_words(tick: TickEntry, view: View) -> Line:
    """Return mark, exit and duration of a tick that probed: `✗ exit 1 in 34ms`."""
    mark = tick_mark(tick, view.marks)
    if not tick.attempts:
        return line(mark)
    return line(mark, f" {attempt_words(tick.attempts[-1], view)}")


def attempt_words(attempt: Attempt, view: View) -> str:
    """Return how an attempt ended: `exit 1 in 34ms`, `errored in 2ms`."""
    ended = "errored" if attempt.error is not None else view.safe(attempt.detail)
    return f"{ended or attempt.result} in {took(attempt.duration)}"


def output_text(attempt: Attempt) -> str:
    """Return what an attempt printed, or the error for which it could not run."""
    return attempt.output if attempt.error is None else attempt.error


def _stored_since(probe: ProbeSnapshot, view: View) -> str:
    """Return since when and why the stored result is what it is, if it is in sight."""
    for tick in reversed(probe.history):
        if tick.action in _STORED_SOMETHING:
            return f"  since {view.times.stamp(tick.at)}"
        if tick.skip is Skip.NOT_RUNNING and tick.stored_before != tick.stored_after:
            return f"  since {view.times.stamp(tick.at)} (container not running)"
        if tick.new_container:
            return f"  since {view.times.stamp(tick.at)} (initial value)"
    return ""


def next_tick_words(probe: ProbeSnapshot, view: View, at: str = "") -> Line:
    """Return how long it is to the next tick, and whether that will be skipped.

    `at` stands behind the time that is left.
    """
    if probe.in_flight_since is not None:
        return line("when the one in flight is over")
    if probe.next_tick_at is None:
        return line("none")
    when = countdown(probe.next_tick_at - view.now)
    if probe.is_held_back and probe.next_tick_at <= view.now:
        when = "held back by the pause"
    if probe.upcoming_skip is None:
        return line(f"{when}{at}")
    reason = probe.upcoming_skip.replace("-", " ")
    return line(f"{when}{at}", muted(f"  (skipped: {reason})"))


def _next_at(probe: ProbeSnapshot, view: View) -> str:
    if probe.in_flight_since is not None or probe.next_tick_at is None:
        return ""
    return f"  at {view.times.wall(probe.next_tick_at)}"


def _hold_words(probe: ProbeSnapshot, view: View) -> Line:
    if probe.on_hold:
        return line(Span("yes", Role.HOLD), "  until a tick sees a new container id")
    for tick in reversed(probe.history):
        if tick.hold_before and not tick.hold_after:
            at = view.times.stamp(tick.at)
            return line("no", muted(f"  released {at} by a new container id"))
    return line("no")


def _delay_words(container: ContainerSnapshot, probe: ProbeSnapshot, view: View) -> str:
    """Return the initial delay, and whether the startup probe makes it pointless."""
    delay = _delay(container, probe, view)
    status = container.status
    is_gated = (
        container.container.startup_probe is not None
        and probe.key.probe_type is not ProbeType.STARTUP
        and not (status is not None and status.started)
    )
    return f"{delay}; the startup probe has to succeed first" if is_gated else delay


def _delay(container: ContainerSnapshot, probe: ProbeSnapshot, view: View) -> str:
    seconds = probe.probe.initial_delay_seconds
    if probe.delay_until is not None and probe.delay_until > view.now:
        return f"{countdown(probe.delay_until - view.now)} of {seconds}s left"
    if not seconds:
        return "none"
    match container.status.state if container.status else None:
        case Running(started_at) if started_at is not None:
            return f"over ({seconds}s, started {age(view.now - started_at)} ago)"
        case _:
            return f"{seconds}s after the next start"


def _times_of_kill(failure: NextFailure, view: View) -> str:
    if failure.grace is None:
        return ""
    seconds, source = failure.grace
    at = f" at {view.times.clock(failure.kills_at)}" if failure.kills_at else ""
    after = "" if failure.backoff else ", no restart (policy Never)"
    return f"{at}, {seconds}s grace ({source}){after}"


def _size(text: str) -> int:
    """Return the bytes that were printed; a lone surrogate stands for one of them."""
    lone = sum("\udc80" <= each <= "\udcff" for each in text)
    return len(text.encode("utf-8", "surrogatepass")) - 2 * lone


def limit_words(probe: ProbeSnapshot) -> str:
    """Return what the run leads to at its limit: `-> kill at 3`; empty if nowhere."""
    if not is_running_towards_change(probe):
        return ""
    limit = threshold(probe, probe.last_result)
    if probe.key.probe_type is not ProbeType.READINESS:
        return f" -> kill at {limit}" if probe.last_result is Result.FAILURE else ""
    word = "not ready" if probe.last_result is Result.FAILURE else "ready"
    return f" -> {word} at {limit}"
