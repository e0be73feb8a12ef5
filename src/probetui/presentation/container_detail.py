"""What there is to say of one container besides its probes."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

from probetui.kubelet.gates import short_id
from probetui.kubelet.snapshot import ContainerSnapshot, PodSnapshot
from probetui.presentation.containers import state
from probetui.presentation.durations import age, countdown
from probetui.presentation.exits import asked_by, last_exit_words
from probetui.presentation.spans import Line, Role, Span, line, muted
from probetui.presentation.stopping import is_hooked, told_first
from probetui.presentation.view import View

_SECOND = timedelta(seconds=1)
LABEL = 14
"""Cells of the first column: a label and at least one space."""
QUOTED = 2
"""Spaces before a line of what was printed."""


def labelled(label: str, *parts: str | Span) -> Line:
    """Return a line with its label in the first column."""
    return line(muted(label.ljust(LABEL)), *parts)


def stopping_words(container: ContainerSnapshot, view: View) -> str:
    """Return signals, their times, what is left of the grace, and its source.

    Empty unless the container is being stopped.
    """
    stopping = container.stopping
    if stopping is None:
        return ""
    grace = stopping.grace_period_seconds
    begins, *others = stopping_parts(container, view)
    if is_hooked(container.container, grace):
        begins = told_first(container.container, grace)
    return ", ".join((begins, *others))


def stopping_parts(container: ContainerSnapshot, view: View) -> tuple[str, ...]:
    """Return the same in parts that can stand on lines of their own.

    A preStop hook has its time too: the kubelet begins with it. None unless the
    container is being stopped.
    """
    stopping = container.stopping
    if stopping is None:
        return ()
    grace = stopping.grace_period_seconds
    since = view.times.clock(stopping.since)
    ends_at = stopping.since + grace * _SECOND
    begins = f"SIGTERM {since}"
    if is_hooked(container.container, grace):
        begins = f"preStop {since}, then SIGTERM"
    left = countdown(ends_at - view.now)
    return (
        begins,
        f"SIGKILL {view.times.clock(ends_at)}",
        f"{left} of {grace}s grace left ({stopping.grace_source})",
    )


def waiting_words(container: ContainerSnapshot, view: View) -> str:
    """Return the back-off window, what it counts from, and the time of the retry.

    Empty unless the container waits in back-off.
    """
    backoff = container.backoff
    if backoff is None or backoff.until is None:
        return ""
    since = f" from exit {view.times.clock(backoff.since)}" if backoff.since else ""
    retry = f"retry in {countdown(backoff.until - view.now)}"
    if backoff.until <= view.now:
        retry = "over: the retry waits for the pod's next sync"
    return (
        f"window {age(backoff.window)}{since}, {retry}, "
        f"next window {age(backoff.next_window)}"
    )


def under_way(
    pod: PodSnapshot, container: ContainerSnapshot, view: View
) -> Iterator[Line]:
    """Yield the kill, the wait, or whatever else is being done now."""
    if container.stopping is not None:
        words = stopping_words(container, view)
        by = asked_by(container.stopping.by)
        yield labelled("kill", Span(words, Role.WARNING), f", {by}")
    elif words := waiting_words(container, view):
        yield labelled("back-off", Span(words, Role.ERROR))
    elif pod.operation:
        yield labelled("doing", Span(view.safe(pod.operation), Role.ACCENT))


def _done_by_you(container: ContainerSnapshot, view: View) -> Iterator[Line]:
    """Yield what a person has done to it that lasts."""
    if container.frozen_since is not None:
        since = Span(f"for {age(view.now - container.frozen_since)}", Role.ACCENT)
        yield labelled("frozen", since, ", by you: nothing in it moves (x lets it go)")
    if container.cut_off_since is not None:
        since = Span(f"for {age(view.now - container.cut_off_since)}", Role.ACCENT)
        yield labelled("cut off", since, ", by you: nobody reaches it (x joins it)")


def container_lines(
    pod: PodSnapshot, container: ContainerSnapshot, view: View
) -> Iterator[Line]:
    """Yield state, last exit and image."""
    status = container.status
    count = status.restart_count if status else 0
    ready = "yes" if status and status.ready else "no"
    now = state(pod, container, view)
    yield labelled("state", now, f"   ready {ready}   restarts {count}")
    yield from _done_by_you(container, view)
    if container.last_exit is not None:
        at = view.times.stamp(container.last_exit.at)
        yield labelled("last exit", f"{at} {last_exit_words(container.last_exit)}")
    shown_id = f"  id {short_id(status.container_id)}" if status else ""
    yield labelled("image", view.safe(container.container.image), muted(shown_id))
    if not container.probes:
        yield labelled("probes", "none: only its own end can restart this container")
