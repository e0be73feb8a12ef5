"""Format the state of one probe: gauge, marks, overrides, settings."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

from probetui.analysis.timeline import is_warning
from probetui.durations import format_age, format_duration
from probetui.engine.snapshot import ProbeSnapshot
from probetui.k8s.probe import (
    ExecAction,
    GRPCAction,
    HTTPGetAction,
    Probe,
    ProbeType,
    TCPSocketAction,
)
from probetui.kubelet.journal import Exit, Skip, TickAction
from probetui.kubelet.outcome import Result
from probetui.presentation.text.spans import Line, Role, Span, line, muted
from probetui.presentation.text.view import View
from probetui.presentation.tick.marks import MarkSet, result_mark
from probetui.presentation.tick.report import count_text

MOST_PLACES = 10
"""The largest threshold that a gauge draws mark by mark; above it is a number."""

_SECOND = timedelta(seconds=1)


def threshold(probe: ProbeSnapshot, result: Result) -> int:
    """Return how many equal results in a row make `result` stored."""
    if result is Result.FAILURE:
        return probe.probe.failure_threshold
    return probe.probe.success_threshold


def run_count(probe: ProbeSnapshot) -> str:
    """Format the result run: `2`, or `>=2` if it may be longer."""
    return count_text(probe.result_run, probe.run_doubt)


def is_running_towards_change(probe: ProbeSnapshot) -> bool:
    """Return whether the run leads to a result other than the stored one."""
    return probe.result_run > 0 and probe.last_result is not probe.stored_result


def run_gauge(probe: ProbeSnapshot, marks: MarkSet) -> Line:
    """Draw the run against its threshold: `✗✗· 2/3`, `✗ 4/30`, or a bare mark.

    A run that agrees with the stored result is a bare mark. Errors do not change a run;
    `! err 3` shows them so that the stored result does not seem to be theirs. A run
    that may be longer is written `>=2/3`.
    """
    if probe.last_run is None:
        return line(muted(marks.empty))
    if not is_running_towards_change(probe):
        return (standing_mark(probe, marks),)
    run, most = probe.result_run, threshold(probe, probe.last_result)
    mark = result_mark(probe.last_result, marks)
    errored = marks.errored if probe.error_run else ""
    count = Span(f" {run_count(probe)}/{most}{errored}", mark.role)
    if most > MOST_PLACES:
        return (mark, count)
    rest = muted(marks.empty * max(most - run, 0))
    return line(mark._replace(text=mark.text * min(run, most)), rest, count)


def standing_mark(probe: ProbeSnapshot, marks: MarkSet) -> Span:
    """Return the mark of a probe whose run agrees with the stored result."""
    if probe.error_run:
        return Span(f"{marks.errored} err {probe.error_run}", Role.WARNING)
    if (
        probe.stored_result is Result.SUCCESS
        and probe.last_run is not None
        and is_warning(probe.last_run)
    ):
        return Span(marks.warning, Role.WARNING)
    return result_mark(probe.stored_result, marks)


def is_startup_done(probe: ProbeSnapshot) -> bool:
    """Return whether this is a startup probe that has succeeded for its container."""
    return (
        probe.key.probe_type is ProbeType.STARTUP
        and probe.stored_result is Result.SUCCESS
    )


def would_be_killed(probe: ProbeSnapshot) -> bool:
    """Return whether the last run would have killed the container (watch-only).

    The worker then counts from 0 again with its initial result, as after a restart;
    that is no sign of health.
    """
    last = probe.last_run
    return last is not None and last.action is TickAction.WOULD_KILL


def upcoming_skip_text(probe: ProbeSnapshot) -> str:
    """Return why the next tick will not probe: `on hold`; empty if it will.

    The kubelet also holds a startup probe that has succeeded: `startup done`.
    """
    if probe.upcoming_skip is Skip.ON_HOLD and is_startup_done(probe):
        return "startup done"
    return "" if probe.upcoming_skip is None else probe.upcoming_skip.replace("-", " ")


def probe_state_word(probe: ProbeSnapshot) -> str:
    """Return why a probe does not run or how it fails, in a word; empty otherwise."""
    if not probe.worker_alive:
        return ""
    if is_startup_done(probe):
        return "done"
    if probe.on_hold:
        return "on hold"
    match probe.upcoming_skip:
        case Skip.NOT_STARTED:
            return "waiting for startup"
        case Skip.INITIAL_DELAY:
            return "initial delay"
        case Skip.NOT_RUNNING | Exit.CONTAINER_WILL_NOT_RESTART | Exit.POD_ENDED:
            return "not running"
        case _ if probe.error_run:
            return "error"
        case _ if probe.last_run is not None and probe.last_result is Result.FAILURE:
            return "failing"
        case _:
            return ""


def override_spans(probe: ProbeSnapshot) -> Line:
    """Return the user's overrides of a probe: `MUTED`, `INJECTED 2`."""
    overrides = []
    if probe.muted:
        overrides.append("MUTED")
    if probe.injections:
        overrides.append(f"INJECTED {len(probe.injections)}")
    if probe.delay:
        overrides.append(f"DELAYED {format_duration(probe.delay)}")
    if probe.manifest_probe is not None:
        overrides.append("EDITED")
    return tuple(Span(override, Role.ACCENT) for override in overrides)


def override_marks(probe: ProbeSnapshot) -> Line:
    """Return the user's overrides as one character each: `M`, `*`, `D`, `E`."""
    marks = "M" if probe.muted else ""
    marks += "*" if probe.injections else ""
    marks += "D" if probe.delay else ""
    marks += "E" if probe.manifest_probe is not None else ""
    return line(Span(marks, Role.ACCENT))


def next_tick(probes: Iterable[ProbeSnapshot]) -> ProbeSnapshot | None:
    """Return the probe whose tick comes next, preferring ticks that will probe."""
    ticking = [probe for probe in probes if probe.next_tick_at is not None]
    probing = [snapshot for snapshot in ticking if snapshot.upcoming_skip is None]
    return min(probing or ticking, key=_next_tick_at, default=None)


def _next_tick_at(probe: ProbeSnapshot) -> datetime:
    assert probe.next_tick_at is not None  # noqa: S101  # chosen by it, just above
    return probe.next_tick_at


def format_handler(probe: Probe, view: View) -> str:
    """Format a handler: `exec cat /tmp/healthy`, `http GET :8080/ready`."""
    return view.safe(handler_text(probe))


def handler_text(probe: Probe) -> str:
    """Format a handler as `format_handler` does, but not safe for the terminal."""
    match probe.handler:
        case ExecAction(command):
            return f"exec {' '.join(command)}"
        case HTTPGetAction(port, path, host, scheme) as action:
            version = " HTTP/2" if action.uses_http2 else ""
            return f"{scheme.lower()}{version} GET {host}:{port}{path}"
        case TCPSocketAction(port, host):
            return f"tcp {host}:{port}"
        case GRPCAction(port, service) as action:
            kind = "grpc TLS" if action.uses_tls else "grpc"
            return f"{kind} :{port} {service}".rstrip()
        case None:
            return "no handler"


def format_timing(probe: Probe) -> str:
    """Format the timing: `period 5s  timeout 1s  delay 5s  failures 3`."""
    timing = f"period {probe.period_seconds}s  timeout {probe.timeout_seconds}s"
    timing += f"  delay {probe.initial_delay_seconds}s"
    timing += f"  failures {probe.failure_threshold}"
    if probe.success_threshold > 1:
        timing += f"  successes {probe.success_threshold}"
    return timing


def format_timing_briefly(probe: Probe) -> str:
    """Format the timing briefly: `every 5s, 3 failures`."""
    most = probe.failure_threshold
    timing = f"every {probe.period_seconds}s, {most} failure{'' if most == 1 else 's'}"
    if probe.success_threshold > 1:
        timing += f", {probe.success_threshold} successes"
    return timing


def delay_left(probe: ProbeSnapshot, now: datetime) -> str:
    """Format the rest of the initial delay in whole seconds, rounded up."""
    if probe.delay_until is None:
        return f"{probe.probe.initial_delay_seconds}s"
    return format_age(-((now - probe.delay_until) // _SECOND) * _SECOND)
