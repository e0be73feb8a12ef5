"""Format one probe line by line: settings, run, outlook, output, latency, findings."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

from probetui.analysis.container_history import ContainerHistory
from probetui.analysis.findings import finding_text, severity_of
from probetui.analysis.next_failure import NextFailure
from probetui.analysis.timing import (
    LATEST_RESYNC,
    kill_grace_period,
    kills_at_resync,
    notice_delay,
    summarize_latency,
)
from probetui.durations import format_age, format_countdown, format_duration
from probetui.engine.snapshot import ContainerSnapshot, ProbeSnapshot
from probetui.k8s.pod import Container, Pod
from probetui.k8s.probe import ProbeType
from probetui.k8s.status import Running
from probetui.kubelet.journal import FindingEntry, Skip, TickAction, TickEntry
from probetui.kubelet.outcome import Attempt, Result
from probetui.kubelet.prober.prober import MAX_PROBE_RETRIES
from probetui.kubelet_rules import KubeletRules
from probetui.manifest.problem import Severity
from probetui.presentation.outlook import (
    format_effect,
    format_kill,
    format_restart,
)
from probetui.presentation.probe.state import (
    format_handler,
    format_timing,
    is_running_towards_change,
    is_startup_done,
    run_count,
    run_gauge,
    threshold,
    upcoming_skip_text,
)
from probetui.presentation.text.cells import all_lines
from probetui.presentation.text.meters import segments
from probetui.presentation.text.spans import (
    QUOTED,
    Line,
    Role,
    Span,
    labelled,
    line,
    muted,
)
from probetui.presentation.text.view import View
from probetui.presentation.tick.marks import mark_span, result_mark
from probetui.presentation.tick.report import report_tick

_SECOND, _MINUTE = timedelta(seconds=1), timedelta(minutes=1)
_BAR = 10
_OUTCOME, _COUNT = 11, 12
_STORED_SOMETHING = frozenset(TickAction) - {
    TickAction.NONE,
    TickAction.DISCARDED,
    TickAction.MUTED,
}


def settings_lines(probe: ProbeSnapshot, view: View) -> Iterator[Line]:
    """Yield the handler and the timing of a probe."""
    yield labelled("handler", Span(format_handler(probe.probe, view), Role.STRONG))
    yield labelled("timing", format_timing(probe.probe))


def standing_lines(
    container: ContainerSnapshot,
    probe: ProbeSnapshot,
    view: View,
) -> Iterator[Line]:
    """Yield the lines of a probe's state."""
    run = labelled("result run", *run_line(probe, view))
    most = threshold(probe, probe.last_result)
    if is_running_towards_change(probe) and probe.result_run < most:
        role = result_mark(probe.last_result, view.marks).role
        meter = segments(probe.result_run, most, role, view.marks, _BAR)
        run += (muted("   threshold "), *meter)
    yield run
    if probe.run_doubt:
        yield labelled("at least", muted(view.safe(probe.run_doubt)))
    yield labelled(
        "stored", stored_result_span(probe), muted(_stored_since(probe, view))
    )
    if probe.on_hold:
        until = "  until the container has restarted"
        if probe.is_hold_ending:
            until = "  until the next tick, which sees the new container"
        if is_startup_done(probe):
            until = "  startup has succeeded, the probe is done"
        yield labelled("on hold", Span("yes", Role.HOLD), until)
    if delay := _format_delay(container, probe, view):
        yield labelled("initial delay", delay)
    yield labelled("next tick", *next_tick_line(probe, view, _next_at(probe, view)))


def outlook_lines(
    tick: TickEntry | None, failure: NextFailure, view: View
) -> Iterator[Line]:
    """Yield the effect of the next failure, and the reason for a tick's effect."""
    effect = format_effect(failure) + format_kill(failure, view)
    yield labelled("next failure", effect)
    if failure.backoff is not None:
        yield labelled("", format_restart(failure))
    yield labelled("why", stamped_tick_reason(tick, view))


def count_line(probe: ProbeSnapshot) -> Line:
    """Format how many ticks succeeded, failed, errored and were skipped."""
    shown = ", ".join(f"{count} {outcome}" for count, outcome in _counts(probe))
    return labelled("results", shown or "no tick yet")


def count_cells(probe: ProbeSnapshot) -> list[Line]:
    """Return each outcome on a line of its own, and how soon a failure is noticed."""
    soonest, latest = map(format_age, notice_delay(probe.probe))
    cells = [(outcome, f"{count}") for count, outcome in _counts(probe)]
    cells.append(("noticed in", f"{soonest} to {latest}"))
    return [
        line(muted(label.ljust(_OUTCOME)), text.rjust(_COUNT)) for label, text in cells
    ]


def _counts(probe: ProbeSnapshot) -> Iterator[tuple[int, str]]:
    counts = (
        (probe.successes, "succeeded"),
        (probe.failures, "failed"),
        (probe.errors, "errored"),
        (probe.skips, "skipped"),
    )
    return ((count, outcome) for count, outcome in counts if count)


def output_lines(probe: ProbeSnapshot, view: View) -> Iterator[Line]:
    """Yield the output of the last run, or why it could not run."""
    tick = probe.last_run
    if tick is None or not tick.attempts:
        return
    attempt = tick.attempts[-1]
    text = view.mask.text(output_text(attempt))
    times = (
        f"attempt {len(tick.attempts)} of {MAX_PROBE_RETRIES}, "
        if len(tick.attempts) > 1
        else ""
    )
    size = f", {times}{_size(text)} bytes"
    yield labelled("last output", *last_run_line(tick, view), size)
    for row in all_lines(text):
        yield line(f"{' ' * QUOTED}{row}")


def stamped_tick_reason(tick: TickEntry | None, view: View) -> str:
    """Explain the effect of a tick, with its time."""
    if tick is None:
        return "no tick yet"
    return f"{view.times.stamp(tick.timing.started_at)} {report_tick(tick).summary}"


def stored_result_span(probe: ProbeSnapshot) -> Span:
    """Return the stored result as a word."""
    match probe.stored_result:
        case None:
            return muted("none")
        case Result.SUCCESS:
            return Span("Success", Role.SUCCESS)
        case Result.FAILURE:
            return Span("Failure", Role.ERROR)
        case Result.UNKNOWN:
            return muted("Unknown")


def run_line(probe: ProbeSnapshot, view: View) -> Line:
    """Format the run with its gauge: `✗✗· 2/3 failures`, `✓ 8 successes, no change`."""
    shown = run_gauge(probe, view.marks)
    if probe.last_run is None:
        return (*shown, Span(" not probed yet"))
    if not probe.worker_alive:
        return (*shown, Span(" none (the worker exited)"))
    if probe.error_run and not is_running_towards_change(probe):
        return (*shown, Span(" in a row, not counted"))
    if not probe.successes + probe.failures:
        return (*shown, Span(" 0 (nothing counted yet)"))
    if probe.result_run == 0:
        return (*shown, Span(" 0 (reset on hold)"))
    word = "failure" if probe.last_result is Result.FAILURE else "success"
    plural = word + ("s" if word == "failure" else "es")
    count, shown_count = probe.result_run, run_count(probe)
    if is_running_towards_change(probe):
        if count >= threshold(probe, probe.last_result):
            mark = result_mark(probe.last_result, view.marks)
            return (mark, Span(f" {shown_count} {plural} in a row, state unchanged"))
        return (*shown, Span(f" {plural}"))
    return (*shown, Span(f" {shown_count} {word if count == 1 else plural}, no change"))


def last_run_line(tick: TickEntry, view: View) -> Line:
    """Format mark, exit and duration of a tick that probed: `✗ exit 1 in 34ms`."""
    mark = mark_span(tick, view.marks)
    if not tick.attempts:
        return line(mark)
    return line(mark, f" {format_attempt(tick.attempts[-1], view)}")


def last_output_line(probe: ProbeSnapshot, view: View) -> Line:
    """Format outcome and output of the last run on one line."""
    tick = probe.last_run
    if tick is None or not tick.attempts:
        return line("not probed yet")
    output = view.safe(output_text(tick.attempts[-1]))
    return line(*last_run_line(tick, view), "  ", Span(output, Role.STRONG))


def format_attempt(attempt: Attempt, view: View) -> str:
    """Format an attempt: `exit 1 in 34ms`, or only `failure` for an observed probe.

    An observed probe has neither an exit code nor a duration.
    """
    if not attempt.is_timed:
        return "errored" if attempt.error is not None else str(attempt.result)
    ended = "errored" if attempt.error is not None else view.safe(attempt.detail)
    return f"{ended or attempt.result} in {format_duration(attempt.duration)}"


def output_text(attempt: Attempt) -> str:
    """Return the output of an attempt, or the error for which it could not run."""
    return attempt.output if attempt.error is None else attempt.error


def stored_since(probe: ProbeSnapshot) -> datetime | None:
    """Return when the stored result was set, None if that tick is not kept."""
    at, _ = _stored_by(probe)
    return at


def _stored_since(probe: ProbeSnapshot, view: View) -> str:
    """Format when and why the stored result was set; empty if that tick is not kept."""
    at, why = _stored_by(probe)
    return "" if at is None else f"  since {view.times.stamp(at)}{why}"


def _stored_by(probe: ProbeSnapshot) -> tuple[datetime | None, str]:
    for tick in reversed(probe.history):
        if tick.action in _STORED_SOMETHING:
            return tick.at, ""
        if tick.skip is Skip.NOT_RUNNING and tick.stored.before != tick.stored.after:
            return tick.at, " (container not running)"
        if tick.new_container:
            return tick.at, " (initial value)"
    return None, ""


def next_tick_line(probe: ProbeSnapshot, view: View, at: str = "") -> Line:
    """Format the time to the next tick, with `at` after it, and why it is skipped."""
    if probe.is_result_held:
        return line("after the result that is paused")
    if probe.in_flight_since is not None:
        return line("after the probe in flight")
    if probe.next_tick_at is None:
        return line("none")
    is_due = probe.next_tick_at <= view.now
    if view.is_paused or (probe.is_held_back and is_due):
        when = "paused"
    else:
        when = "due" if is_due else format_countdown(probe.next_tick_at - view.now)
    reason = upcoming_skip_text(probe)
    return line(f"{when}{at}", muted(f"  (skipped: {reason})" if reason else ""))


def _next_at(probe: ProbeSnapshot, view: View) -> str:
    if probe.in_flight_since is not None or probe.next_tick_at is None:
        return ""
    return f"  at {view.times.wall(probe.next_tick_at)}"


def _format_delay(
    container: ContainerSnapshot, probe: ProbeSnapshot, view: View
) -> str:
    """Format the initial delay, and the startup probe that delays the probe further.

    Empty if there is neither, or both are over.
    """
    delay = _initial_delay(container, probe, view)
    status = container.status
    is_gated = (
        container.container.startup_probe is not None
        and probe.key.probe_type is not ProbeType.STARTUP
        and not (status is not None and status.started)
    )
    if not is_gated:
        return delay
    gate = "the startup probe has to succeed first"
    return f"{delay}; {gate}" if delay else gate


def _initial_delay(
    container: ContainerSnapshot, probe: ProbeSnapshot, view: View
) -> str:
    seconds = probe.probe.initial_delay_seconds
    if probe.delay_until is not None and probe.delay_until > view.now:
        return f"{format_countdown(probe.delay_until - view.now)} of {seconds}s left"
    match container.status.state if container.status else None:
        case Running(started_at) if started_at is not None:
            return ""
        case _:
            return f"{seconds}s after the next start" if seconds else ""


def _size(text: str) -> int:
    """Return the size of an output in bytes; a lone surrogate is one byte."""
    lone = sum("\udc80" <= character <= "\udcff" for character in text)
    return len(text.encode("utf-8", "surrogatepass")) - 2 * lone


def latency_line(probe: ProbeSnapshot) -> Line:
    """Format the durations of the last runs."""
    durations = _durations(probe)
    if probe.last_run is not None and not durations:
        last_attempt = probe.last_run.attempts[-1]
        if not last_attempt.is_timed:
            return labelled("latency", "not known from outside")
        durations = [last_attempt.duration]
    latency = summarize_latency(durations)
    if latency is None:
        return labelled("latency", "not probed yet")
    last, median, longest = map(format_duration, latency)
    return labelled("latency", f"last {last}   median {median}   max {longest}")


def latency_cells(probe: ProbeSnapshot) -> list[Line]:
    """Return the median and the longest of the last runs, each on a line of its own."""
    latency = summarize_latency(_durations(probe))
    if latency is None:
        return []
    return [
        line(muted(label.ljust(_OUTCOME)), f"{format_duration(length):>{_COUNT}}")
        for label, length in (("median", latency.median), ("max", latency.longest))
    ]


def cost_line(probe: ProbeSnapshot) -> Line:
    """Format how often a probe runs, and the time that takes per minute.

    A probe that takes longer than its period loses ticks.
    """
    runs = [tick.attempts for tick in probe.history if tick.attempts]
    if not runs:
        return labelled("cost", "nothing yet")
    if not runs[-1][-1].is_timed:
        return labelled("cost", "not known from outside")
    total = sum((attempt.duration for run in runs for attempt in run), timedelta())
    mean, period = total / len(runs), probe.probe.period_seconds * _SECOND
    per_minute = _MINUTE / max(mean, period)
    rate = f"{_format_rate(per_minute)} runs a minute"
    if mean > period:
        rate += f" ({_format_rate(_MINUTE / period)} were due)"
    spent = format_duration(mean * per_minute)
    return labelled("cost", f"{rate}, {spent} of it spent probing")


def _format_rate(per_minute: float) -> str:
    return f"{per_minute:.0f}" if per_minute >= 1 else f"{per_minute:.1f}"


def _durations(probe: ProbeSnapshot) -> list[timedelta]:
    return [
        tick.attempts[-1].duration
        for tick in probe.history
        if tick.attempts and tick.attempts[-1].is_timed
    ]


def timing_lines(
    pod: Pod, container: ContainerSnapshot, probe: ProbeSnapshot, rules: KubeletRules
) -> Iterator[Line]:
    """Yield how long detection of a failure takes, and the kill after it."""
    spec, kind = probe.probe, probe.key.probe_type
    soonest, latest = notice_delay(spec)
    product = f"period {spec.period_seconds}s x failures {spec.failure_threshold}"
    yield labelled(
        "noticed after",
        f"{format_age(soonest)} to {format_age(latest)}   {product} + timeout",
    )
    if kind is ProbeType.READINESS:
        yield labelled("then", "not ready at once; never killed")
        return
    grace = kill_grace_period(pod, container.container, kind, rules)
    most = grace.seconds * _SECOND
    why = f"grace, {grace.source}"
    if kills_at_resync(kind, rules):
        most += LATEST_RESYNC
        why = f"the pod's next resync, {why}"
    yield labelled("then killed", f"0s to {format_age(most)} later ({why})")


def diagnostic_lines(
    container: Container, probe: ProbeSnapshot, history: ContainerHistory, view: View
) -> Iterator[Line]:
    """Yield why the last run of a probe failed, and the findings about the probe."""
    tick = probe.last_run
    if tick is not None and tick.result is not Result.SUCCESS:
        yield from _cause_lines(tick, container, history, view)
    for finding in history.findings:
        if finding.key == probe.key:
            text = Span(view.safe(finding_text(finding)), finding_role(finding))
            yield labelled("finding", text, muted(f"  {finding.rule}"))


def _cause_lines(
    tick: TickEntry, container: Container, history: ContainerHistory, view: View
) -> Iterator[Line]:
    # Late: the first screen has no failures yet.
    from probetui.analysis.causes.probe_failure import tick_failure  # noqa: PLC0415
    from probetui.presentation.cause.probe_failure import (  # noqa: PLC0415
        failure_clause,
    )

    failure = tick_failure(tick, container, history, view.rules)
    if failure is not None and (clause := failure_clause(failure, view)):
        label = "because" if failure.failed.listeners is None else "refused"
        yield labelled(label, Span(clause, Role.WARNING))


def finding_role(finding: FindingEntry) -> Role:
    """Return the role of a finding: plain for notes, else a warning's."""
    is_note = severity_of(finding.rule) is Severity.NOTE
    return Role.PLAIN if is_note else Role.WARNING
