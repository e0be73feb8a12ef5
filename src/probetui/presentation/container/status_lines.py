"""Format a container's stop, back-off, state, last exit and image."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

from probetui.durations import format_age, format_countdown
from probetui.engine.snapshot import ContainerSnapshot, PodSnapshot
from probetui.k8s.pod import RestartPolicy
from probetui.k8s.runtime import NO_CONTAINER
from probetui.k8s.status import Terminated, Waiting
from probetui.kubelet.kuberuntime.restart import effective_restart_policy, pull_range
from probetui.kubelet.prober.gates import short_id
from probetui.presentation.container.back_off import format_due, range_of_wait
from probetui.presentation.container.exits import (
    first_signal_text,
    format_last_exit,
    runs_pre_stop,
    stop_reason_text,
)
from probetui.presentation.container.table import state
from probetui.presentation.text.spans import LABEL, Line, Role, Span, labelled, muted
from probetui.presentation.text.view import View

NORMAL_WAITS = frozenset(
    {"", "ContainerCreating", "PodInitializing", "CrashLoopBackOff"}
)
"""Waiting reasons that do not point to a problem of the container or its image."""

IMAGE_REASONS = frozenset({"ErrImagePull", "ImagePullBackOff", "RegistryUnavailable"})
_SECOND = timedelta(seconds=1)


def format_stopping(container: ContainerSnapshot, view: View) -> str:
    """Format the current stop: signals with times, the grace left, and its source.

    Empty unless the container is being stopped.
    """
    stopping = container.stopping
    if stopping is None:
        return ""
    grace = stopping.grace_period_seconds
    begins, *others = stopping_parts(container, view)
    if runs_pre_stop(container.container, grace):
        begins = first_signal_text(container.container, grace)
    return ", ".join((begins, *others))


def stopping_parts(container: ContainerSnapshot, view: View) -> tuple[str, ...]:
    """Format the current stop in parts that can be on separate lines.

    Unlike `format_stopping` they have the start of a preStop hook, which the kubelet
    runs first. Empty unless the container is being stopped.
    """
    stopping = container.stopping
    if stopping is None:
        return ()
    grace = stopping.grace_period_seconds
    since = view.times.clock(stopping.since)
    ends_at = stopping.since + grace * _SECOND
    begins = f"SIGTERM {since}"
    if runs_pre_stop(container.container, grace):
        begins = f"preStop {since}, then SIGTERM"
    left = format_countdown(ends_at - view.now)
    return (
        begins,
        f"SIGKILL {view.times.clock(ends_at)}",
        f"{left} of {grace}s grace left ({stopping.grace_source})",
    )


def format_backoff_wait(container: ContainerSnapshot, view: View) -> str:
    """Format the current back-off: window, its start, and the time of the retry.

    Empty unless the container is in back-off.
    """
    backoff = container.backoff
    due = None if backoff is None else range_of_wait(backoff, view.rules)
    if backoff is None or due is None:
        return ""
    since = f" from exit {view.times.clock(backoff.since)}" if backoff.since else ""
    return (
        f"{format_age(backoff.window)}{since}, "
        f"retry {format_due(due, view.now)}, "
        f"next {format_age(backoff.next_window)}"
    )


def format_waiting(container: ContainerSnapshot, view: View) -> str:
    """Format why a container cannot start, and when its image is pulled again.

    `ErrImagePull: no such host, next pull in 12s to 28s`; empty without a problem.
    """
    state_now = None if container.status is None else container.status.state
    if not isinstance(state_now, Waiting) or state_now.reason in NORMAL_WAITS:
        return ""
    problem = f"{state_now.reason}: {view.safe(state_now.message) or 'no message'}"
    next_pull_at = container.next_pull_at
    if state_now.reason not in IMAGE_REASONS or next_pull_at is None:
        return problem
    return f"{problem}, next pull {format_due(pull_range(next_pull_at), view.now)}"


def operation_lines(
    pod: PodSnapshot, container: ContainerSnapshot, view: View
) -> Iterator[Line]:
    """Yield the current kill, back-off or wait, or else the operation on the pod."""
    if container.stopping is not None:
        stop = format_stopping(container, view)
        by = stop_reason_text(container.stopping.by)
        yield labelled("kill", Span(stop, Role.WARNING), f", {by}")
    elif wait := format_backoff_wait(container, view):
        yield labelled("back-off", Span(wait, Role.ERROR))
    elif problem := format_waiting(container, view):
        yield labelled("waiting", Span(problem, Role.ERROR))
    elif pod.operation:
        yield labelled("doing", Span(view.safe(pod.operation), Role.ACCENT))


def user_lines(container: ContainerSnapshot, view: View) -> Iterator[Line]:
    """Yield the user's faults that are in force: frozen, cut off."""
    if container.frozen_since is not None:
        since = Span(
            f"for {format_age(view.now - container.frozen_since)}", Role.ACCENT
        )
        yield labelled("frozen", since, ", by you (x unfreezes)")
    if container.cut_off_since is not None:
        since = Span(
            f"for {format_age(view.now - container.cut_off_since)}", Role.ACCENT
        )
        yield labelled("cut off", since, ", by you (x restores the network)")


def container_lines(
    pod: PodSnapshot, container: ContainerSnapshot, view: View
) -> Iterator[Line]:
    """Yield state, faults, last exit and image, and why there is no probe."""
    status = container.status
    count = status.restart_count if status else 0
    ready = "yes" if status and status.ready else "no"
    now = state(pod, container, view)
    yield labelled("state", now, f"   ready {ready}   restarts {count}")
    yield from user_lines(container, view)
    if container.last_exit is not None:
        at = view.times.stamp(container.last_exit.at)
        yield labelled("last exit", f"{at} {format_last_exit(container.last_exit)}")
    yield image_line(container, view)
    if not container.probes:
        yield labelled("probes", f"none: {unprobed_text(pod, container)}")


def unprobed_text(pod: PodSnapshot, container: ContainerSnapshot) -> str:
    """Describe what restarts a container that has no probes."""
    if container.is_init and not container.container.is_sidecar:
        if status := container.status:
            state_now = status.state
            if isinstance(state_now, Terminated) and not state_now.exit_code:
                return "it has succeeded, as an init container must"
        return "it must exit with 0 before the next container starts"
    policy = effective_restart_policy(pod.pod, container.container)
    if container.container.restart_rules or policy is RestartPolicy.ALWAYS:
        return "only its own exit can restart this container"
    if policy is RestartPolicy.ON_FAILURE:
        return "only a failure of its own can restart this container"
    return f"nothing restarts this container: restartPolicy {policy}"


def image_line(
    container: ContainerSnapshot, view: View, width: int | None = None
) -> Line:
    """Format the image and the container's ID.

    If they do not fit in `width` cells, the ID is left out, then the beginning of the
    image.
    """
    status = container.status
    container_id = status.container_id if status else NO_CONTAINER
    shown_id = f"  id {short_id(container_id)}" if container_id else ""
    image = view.safe(container.container.image)
    if width is not None:
        room = max(width - LABEL, 1)
        shown_id = shown_id if len(image + shown_id) <= room else ""
        if len(image) > room:
            image = view.marks.ellipsis + image[-room + len(view.marks.ellipsis) :]
    return labelled("image", image, muted(shown_id))
