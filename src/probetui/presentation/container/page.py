"""The container screen: everything about one container and one of its probes."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

from probetui.durations import format_age, format_countdown
from probetui.engine.snapshot import ContainerSnapshot, ProbeSnapshot
from probetui.k8s.pod import Container
from probetui.k8s.probe import ExecAction, HTTPGetAction, SleepAction, TCPSocketAction
from probetui.k8s.runtime import ContainerID
from probetui.kubelet.config import KubeletConfig
from probetui.kubelet.journal import Skip
from probetui.presentation.container.detail import Subject
from probetui.presentation.container.exits import runs_pre_stop, stop_reason_text
from probetui.presentation.container.instances import instance_lines
from probetui.presentation.container.status_lines import (
    container_lines,
    format_backoff_wait,
    operation_lines,
    stopping_parts,
)
from probetui.presentation.probe.detail import (
    cost_line,
    count_line,
    diagnostic_lines,
    last_output_line,
    latency_line,
    limit_text,
    next_tick_line,
    outlook_lines,
    run_line,
    settings_lines,
    standing_lines,
    stored_result_span,
    timing_lines,
)
from probetui.presentation.probe.next_failure import (
    format_next_failure,
    next_failure_of,
)
from probetui.presentation.text.spans import (
    EMPTY,
    LABEL,
    Line,
    Role,
    Span,
    labelled,
    line,
    muted,
    text_of,
)
from probetui.presentation.text.view import View
from probetui.presentation.tick.strips import strip_lines

_FEW_LIVES = 2
_MANY_LIVES = 6


def short_lines(subject: Subject, view: View, width: int) -> list[Line]:
    """Return what matters most: instances, run, hold, delay, last, kill, wait."""
    probe = subject.probe
    if probe is None:
        return full_lines(subject, view, width)
    return [
        *_lives_or_ticks(subject, probe, view, width),
        _run_and_stored(probe, view),
        _hold(subject, probe, view),
        _delay(probe, view),
        _last(probe, view),
        *diagnostic_lines(probe.key, probe.last_run, subject.history, view),
        *_kill_and_hook(subject, view, width),
        _wait(subject.container, view),
    ]


def full_lines(subject: Subject, view: View, width: int) -> list[Line]:
    """Return everything there is to say, but for the trace and the whole output."""
    pod, container, probe = subject.pod, subject.container, subject.probe
    if probe is None:
        lives = instance_lines(subject.ticks, subject.history, view, width, _MANY_LIVES)
        about = container_lines(pod, container, view)
        return [*lives, EMPTY, *operation_lines(pod, container, view), *about]
    failure = next_failure_of(pod.pod, container, probe, view)
    period = probe.probe.period_seconds
    return [
        *settings_lines(probe, view),
        EMPTY,
        *instance_lines(subject.ticks, subject.history, view, width, _MANY_LIVES),
        *strip_lines(subject.ticks, subject.cursor, period, view, width),
        EMPTY,
        *standing_lines(container, probe, view),
        *outlook_lines(subject.tick, failure, view),
        EMPTY,
        *_kill_panel(subject, view, width),
        *_backoff_panel(container, view),
        EMPTY,
        _last(probe, view),
        *diagnostic_lines(probe.key, probe.last_run, subject.history, view),
        latency_line(probe),
        cost_line(probe),
        count_line(probe),
        *timing_lines(pod.pod, container, probe),
        EMPTY,
        *container_lines(pod, container, view),
    ]


def _lives_or_ticks(
    subject: Subject, probe: ProbeSnapshot, view: View, width: int
) -> Iterator[Line]:
    """Return the last instances, or all ticks while a tick is selected."""
    if subject.cursor is None:
        return instance_lines(subject.ticks, subject.history, view, width, _FEW_LIVES)
    period = probe.probe.period_seconds
    return strip_lines(subject.ticks, subject.cursor, period, view, width)


def _run_and_stored(probe: ProbeSnapshot, view: View) -> Line:
    run = (*run_line(probe, view), Span(limit_text(probe)))
    return labelled("run", *run, muted("   stored result  "), stored_result_span(probe))


def _hold(subject: Subject, probe: ProbeSnapshot, view: View) -> Line:
    if not probe.on_hold:
        return labelled("on hold", "no")
    instance = None
    if subject.container.status is not None:
        which = subject.container.status.container_id
        instance = subject.history.instance(ContainerID(which))
    since = ""
    if (
        instance is not None
        and instance.kill is not None
        and instance.kill.key == probe.key
    ):
        since = f"since {view.times.stamp(instance.kill.at)}, "
    words = f"  {since}until the container has restarted"
    return labelled("on hold", Span("yes", Role.HOLD), words)


def _delay(probe: ProbeSnapshot, view: View) -> Line:
    seconds = probe.probe.initial_delay_seconds
    delay = f"{seconds}s after each start" if seconds else "none"
    if probe.upcoming_skip is Skip.INITIAL_DELAY and probe.delay_until is not None:
        delay = f"{format_countdown(probe.delay_until - view.now)} left of {seconds}s"
    return labelled(
        "delay", delay, muted("   next tick  "), *next_tick_line(probe, view)
    )


def _last(probe: ProbeSnapshot, view: View) -> Line:
    return labelled("last", *last_output_line(probe, view))


def _kill_and_hook(subject: Subject, view: View, width: int) -> Iterator[Line]:
    """Yield the kill that is under way with its hook, or what a failure would do."""
    container, probe = subject.container, subject.probe
    if (stopping := container.stopping) is not None:
        hook = ""
        if runs_pre_stop(container.container, stopping.grace_period_seconds):
            hook = f"preStop {_hook_words(container.container, view)}"
        yield from _kill(container, view, width, hook)
    elif probe is not None:
        failure = next_failure_of(subject.pod.pod, container, probe, view)
        yield labelled("next failure", format_next_failure(failure))


def _kill(
    container: ContainerSnapshot, view: View, width: int, hook: str = ""
) -> Iterator[Line]:
    """Yield the kill that is under way, on as many lines as its parts take."""
    if container.stopping is None:
        return
    parts = [Span(part, Role.WARNING) for part in stopping_parts(container, view)]
    others = (stop_reason_text(container.stopping.by), hook)
    parts += [Span(other) for other in others if other]
    label, room = "kill", width - LABEL
    row = line(parts[0])
    for part in parts[1:]:
        longer = line(*row, part._replace(text=f", {part.text}"))
        if len(text_of(longer)) < room:
            row = longer
            continue
        yield labelled(label, *row, part._replace(text=","))
        label, row = "", line(part)
    yield labelled(label, *row)


def _wait(container: ContainerSnapshot, view: View) -> Line:
    if words := format_backoff_wait(container, view):
        return labelled("back-off", Span(words, Role.ERROR))
    return labelled("back-off", _no_wait(container, view))


def _no_wait(container: ContainerSnapshot, view: View) -> str:
    backoff = container.backoff
    if backoff is None or not backoff.next_window:
        return "no window yet: the next restart does not wait"
    window = format_age(backoff.next_window)
    if container.last_exit is None:
        return f"next window {window}; no exit yet that it could count from"
    at = view.times.clock(container.last_exit.at)
    left = container.last_exit.at + backoff.next_window - view.now
    over = "over" if left <= timedelta() else f"{format_countdown(left)} left"
    return f"next window {window}, counted from exit {at}: {over}"


def _kill_panel(subject: Subject, view: View, width: int) -> Iterator[Line]:
    if subject.container.stopping is None:
        yield labelled("kill", "none under way")
    yield from _kill(subject.container, view, width)
    hook = _hook_words(subject.container.container, view)
    yield labelled("", muted(f"preStop {hook}"))


def _hook_words(container: Container, view: View) -> str:
    match container.pre_stop:
        case None:
            return "none"
        case ExecAction(command):
            return _within(f"exec {' '.join(command)}", view)
        case HTTPGetAction(port, path):
            return _within(f"http GET :{port}{path}", view)
        case TCPSocketAction(port):
            return _within(f"tcp :{port}", view)
        case SleepAction(seconds):
            return _within(f"sleep {seconds}s", view)


def _within(hook: str, view: View) -> str:
    return f"{view.safe(hook)}, within the grace"


def _backoff_panel(container: ContainerSnapshot, view: View) -> Iterator[Line]:
    yield _wait(container, view)
    expiry = KubeletConfig().backoff_expiry
    minutes = expiry // timedelta(minutes=1)
    yield labelled("", muted(f"resets after {minutes} minutes without a crash"))
