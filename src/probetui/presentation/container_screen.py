"""Everything about one container and one of its probes, for a screen of their own."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

from probetui.k8s.pod import Container
from probetui.k8s.probe import ExecAction, HTTPGetAction, SleepAction, TCPSocketAction
from probetui.kubelet.config import KubeletConfig
from probetui.kubelet.journal import Skip
from probetui.kubelet.snapshot import ContainerSnapshot, ProbeSnapshot
from probetui.presentation.container_detail import (
    LABEL,
    container_lines,
    labelled,
    stopping_parts,
    under_way,
    waiting_words,
)
from probetui.presentation.detail import Subject
from probetui.presentation.durations import age, countdown
from probetui.presentation.exits import asked_by
from probetui.presentation.generations import generation_lines
from probetui.presentation.latency import cost_line, latency_line, timing_lines
from probetui.presentation.probe_detail import (
    believed,
    count_line,
    last_words,
    limit_words,
    next_tick_words,
    outlook_lines,
    output_text,
    run_words,
    settings_lines,
    standing_lines,
)
from probetui.presentation.sentences import next_failure
from probetui.presentation.sightings import sighting_lines
from probetui.presentation.spans import EMPTY, Line, Role, Span, line, muted, text_of
from probetui.presentation.stopping import is_hooked
from probetui.presentation.strips import strip_lines
from probetui.presentation.view import View

_FEW_LIVES = 2
_MANY_LIVES = 6


def short_lines(subject: Subject, view: View, width: int) -> list[Line]:
    """Return the lines that matter most: lives, run, hold, delay, last, kill, wait."""
    probe = subject.probe
    if probe is None:
        return full_lines(subject, view, width)
    return [
        *_lives_or_ticks(subject, probe, view, width),
        _run_and_stored(probe, view),
        _hold(subject, probe, view),
        _delay(probe, view),
        _last(probe, view),
        *sighting_lines(probe.key, probe.last_run, subject.past, view),
        *_kill_and_hook(subject, view, width),
        _wait(subject.container, view),
    ]


def full_lines(subject: Subject, view: View, width: int) -> list[Line]:
    """Return everything there is to say, but for the trace and the whole output."""
    pod, container, probe = subject.pod, subject.container, subject.probe
    if probe is None:
        lives = generation_lines(subject.ticks, subject.past, view, width, _MANY_LIVES)
        about = container_lines(pod, container, view)
        return [*lives, EMPTY, *under_way(pod, container, view), *about]
    failure = next_failure(pod.pod, container, probe, view)
    period = probe.probe.period_seconds
    return [
        *settings_lines(probe, view),
        EMPTY,
        *generation_lines(subject.ticks, subject.past, view, width, _MANY_LIVES),
        *strip_lines(subject.ticks, subject.cursor, period, view, width),
        EMPTY,
        *standing_lines(container, probe, view),
        *outlook_lines(subject.tick, failure, view),
        EMPTY,
        *_kill_panel(subject, view, width),
        *_backoff_panel(container, view),
        EMPTY,
        _last(probe, view),
        *sighting_lines(probe.key, probe.last_run, subject.past, view),
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
    """Return the last lives, or all ticks while somebody goes through them."""
    if subject.cursor is None:
        return generation_lines(subject.ticks, subject.past, view, width, _FEW_LIVES)
    period = probe.probe.period_seconds
    return strip_lines(subject.ticks, subject.cursor, period, view, width)


def _run_and_stored(probe: ProbeSnapshot, view: View) -> Line:
    run = (*run_words(probe, view), Span(limit_words(probe)))
    return labelled("run", *run, muted("   stored result  "), believed(probe))


def _hold(subject: Subject, probe: ProbeSnapshot, view: View) -> Line:
    if not probe.on_hold:
        return labelled("on hold", "no")
    life = None
    if subject.container.status is not None:
        which = subject.container.status.container_id
        life = next(
            (each for each in subject.past.lives if each.container_id == which), None
        )
    since = ""
    if life is not None and life.kill is not None and life.kill.key == probe.key:
        since = f"since {view.times.stamp(life.kill.at)}, "
    words = f"  {since}until a tick sees a new container id"
    return labelled("on hold", Span("yes", Role.HOLD), words)


def _delay(probe: ProbeSnapshot, view: View) -> Line:
    seconds = probe.probe.initial_delay_seconds
    delay = f"{seconds}s after each start" if seconds else "none"
    if probe.upcoming_skip is Skip.INITIAL_DELAY and probe.delay_until is not None:
        delay = f"{countdown(probe.delay_until - view.now)} left of {seconds}s"
    return labelled(
        "delay", delay, muted("   next tick  "), *next_tick_words(probe, view)
    )


def _last(probe: ProbeSnapshot, view: View) -> Line:
    tick = probe.last_run
    if tick is None or not tick.attempts:
        return labelled("last", "not probed yet")
    output = view.safe(output_text(tick.attempts[-1]))
    return labelled("last", *last_words(tick, view), "  ", Span(output, Role.STRONG))


def _kill_and_hook(subject: Subject, view: View, width: int) -> Iterator[Line]:
    """Yield the kill that is under way with its hook, or what a failure would do."""
    container, probe = subject.container, subject.probe
    if (stopping := container.stopping) is not None:
        hook = ""
        if is_hooked(container.container, stopping.grace_period_seconds):
            hook = f"preStop {_hook_words(container.container, view)}"
        yield from _kill(container, view, width, hook)
    elif probe is not None:
        failure = next_failure(subject.pod.pod, container, probe, view)
        yield labelled("next failure", failure.sentence)


def _kill(
    container: ContainerSnapshot, view: View, width: int, hook: str = ""
) -> Iterator[Line]:
    """Yield the kill that is under way, on as many lines as its parts take."""
    if container.stopping is None:
        return
    parts = [Span(each, Role.WARNING) for each in stopping_parts(container, view)]
    others = (asked_by(container.stopping.by), hook)
    parts += [Span(each) for each in others if each]
    label, room = "kill", width - LABEL
    row = line(parts[0])
    for each in parts[1:]:
        longer = line(*row, each._replace(text=f", {each.text}"))
        if len(text_of(longer)) < room:
            row = longer
            continue
        yield labelled(label, *row, each._replace(text=","))
        label, row = "", line(each)
    yield labelled(label, *row)


def _wait(container: ContainerSnapshot, view: View) -> Line:
    if words := waiting_words(container, view):
        return labelled("back-off", Span(words, Role.ERROR))
    return labelled("back-off", _no_wait(container, view))


def _no_wait(container: ContainerSnapshot, view: View) -> str:
    backoff = container.backoff
    if backoff is None or not backoff.next_window:
        return "no window yet: the next restart does not wait"
    window = age(backoff.next_window)
    if container.last_exit is None:
        return f"next window {window}; nothing ended yet that it could count from"
    at = view.times.clock(container.last_exit.at)
    left = container.last_exit.at + backoff.next_window - view.now
    over = "over" if left <= timedelta() else f"{countdown(left)} left"
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
    yield labelled(
        "", muted(f"forgotten when an instance has lived for {minutes} minutes")
    )
