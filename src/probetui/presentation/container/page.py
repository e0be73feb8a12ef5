"""Draw the container screen: everything about one container and one of its probes."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

from probetui.durations import format_age, format_countdown
from probetui.engine.snapshot import ContainerSnapshot
from probetui.k8s.pod import Container
from probetui.k8s.probe import ExecAction, HTTPGetAction, SleepAction, TCPSocketAction
from probetui.kubelet.config import KubeletConfig
from probetui.presentation.container.card import fact_rows, verdict_lines, with_room
from probetui.presentation.container.detail import Subject
from probetui.presentation.container.exits import runs_pre_stop, stop_reason_text
from probetui.presentation.container.status_lines import (
    container_lines,
    format_backoff_wait,
    operation_lines,
    stopping_parts,
)
from probetui.presentation.container.ticks import last_output_lines, tick_rows
from probetui.presentation.outlook import next_failure_of
from probetui.presentation.probe.detail import (
    cost_line,
    count_line,
    diagnostic_lines,
    latency_line,
    outlook_lines,
    settings_lines,
    standing_lines,
    timing_lines,
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

_RESET = KubeletConfig().backoff_expiry // timedelta(minutes=1)
_OF_A_KILL, _OF_A_BACKOFF = ("SIGTERM", "grace"), ("next back-off",)
"""The facts that the row of a kill or of a back-off repeats."""

_MANY = 6
"""The most rows of instances, and of output."""


def short_lines(subject: Subject, view: View, width: int, height: int) -> list[Line]:
    """Return the page for a screen with the trace: verdict, instances, output, kill."""
    probe = subject.probe
    if probe is None:
        return full_lines(subject, view, width)
    is_killed = subject.container.stopping is not None
    without = _OF_A_KILL if is_killed else _OF_A_BACKOFF
    card = [
        *verdict_lines(subject, view, width),
        *fact_rows(subject, view, width, without=without),
        *diagnostic_lines(subject.container.container, probe, subject.history, view),
        *_kill(subject.container, view, width, _hook(subject, view)),
        *_backoff(subject.container, view),
    ]
    failure = next_failure_of(subject.pod.pod, subject.container, probe, view)
    # The title has the handler, the trace has the reason.
    _handler, timing = settings_lines(probe, view)
    *outlook, _why = outlook_lines(subject.tick, failure, view)
    details = [
        timing,
        *outlook,
        latency_line(probe),
        count_line(probe),
        *timing_lines(subject.pod.pod, subject.container, probe, view.rules),
    ]
    output = last_output_lines(subject, view, 2)
    room = max(height - len(card) - len(output), 1)
    rows = tick_rows(subject, view, width, room)[-room:]
    fitting = [detail for detail in details if len(text_of(detail)) <= width]
    return with_room([*card, *(row.spans for row in rows), *output], fitting, height)


def full_lines(subject: Subject, view: View, width: int) -> list[Line]:
    """Return the whole page, without the trace and the full output."""
    pod, container, probe = subject.pod, subject.container, subject.probe
    ticks = [row.spans for row in tick_rows(subject, view, width, _MANY)]
    if probe is None:
        about = container_lines(pod, container, view)
        return [*operation_lines(pod, container, view), *about, EMPTY, *ticks]
    failure = next_failure_of(pod.pod, container, probe, view)
    return [
        *verdict_lines(subject, view, width),
        EMPTY,
        *settings_lines(probe, view),
        EMPTY,
        *ticks,
        *last_output_lines(subject, view, _MANY),
        EMPTY,
        *_kill(container, view, width, _hook(subject, view)),
        *_backoff(container, view),
        *standing_lines(container, probe, view),
        *outlook_lines(subject.tick, failure, view),
        *diagnostic_lines(subject.container.container, probe, subject.history, view),
        EMPTY,
        latency_line(probe),
        cost_line(probe),
        count_line(probe),
        *timing_lines(pod.pod, container, probe, view.rules),
        EMPTY,
        *container_lines(pod, container, view),
    ]


def _hook(subject: Subject, view: View) -> str:
    """Return the preStop hook of the current kill, empty if none runs."""
    container = subject.container
    stopping = container.stopping
    if stopping is None or not runs_pre_stop(
        container.container, stopping.grace_period_seconds
    ):
        return ""
    return f"preStop {_format_hook(container.container, view)}"


def _kill(
    container: ContainerSnapshot, view: View, width: int, hook: str = ""
) -> Iterator[Line]:
    """Yield the current kill, on as many lines as its parts need."""
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


def _backoff(container: ContainerSnapshot, view: View) -> Iterator[Line]:
    """Yield the current back-off, else the one that a restart now would get.

    Yield nothing if there is no window or it has passed.
    """
    if wait := format_backoff_wait(container, view):
        yield labelled("back-off", Span(wait, Role.ERROR))
        yield labelled("", muted(f"resets after {_RESET} minutes without a crash"))
        return
    backoff, last_exit = container.backoff, container.last_exit
    if backoff is None or last_exit is None or not backoff.next_window:
        return
    left = last_exit.at + backoff.next_window - view.now
    if left <= timedelta():
        return
    window, at = format_age(backoff.next_window), view.times.clock(last_exit.at)
    rest = f"{format_countdown(left)} left of {window} after the exit at {at}"
    yield labelled("back-off", f"a restart now would wait: {rest}")


def _format_hook(container: Container, view: View) -> str:
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
