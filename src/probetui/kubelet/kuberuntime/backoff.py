"""Crash-loop back-off: the wait of a container before its restart.

Source: kuberuntime_manager.go, v1.32.10, doBackOff.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from msgspec import Struct

from probetui.k8s.pod import Container, Pod
from probetui.k8s.runtime import RuntimeContainerStatus, RuntimePodStatus, RuntimeState
from probetui.kubelet.kuberuntime.container_hash import stable_key
from probetui.kubelet.kuberuntime.restart import is_only_container, restart_range
from probetui.kubelet.runtime.backoff import Backoff
from probetui.kubelet.runtime.go_format import go_duration
from probetui.kubelet_rules import PORTED_RULES, KubeletRules

CRASH_LOOP_BACK_OFF = "CrashLoopBackOff"


class BackoffDecision(Struct, frozen=True):
    """The back-off decision about one start, with its inputs.

    Attributes:
        waits: the start does not happen now.
        window: the whole wait in force when asked, zero if none.
        since: the end of the exited instance it is reckoned from, None if there is
            none.
        until: the end of the wait, None unless it waits.
        next_window: the wait of the restart after this start.
        is_reset: there was a window, but it had expired.
        message: the waiting reason's message, empty unless it waits.
        latest: when the container is started after the wait at the latest, None
            unless it waits.
        event_message: that of the Warning event `BackOff`, empty unless it waits.
    """

    waits: bool
    window: timedelta
    since: datetime | None
    until: datetime | None
    next_window: timedelta
    is_reset: bool = False
    message: str = ""
    event_message: str = ""
    latest: datetime | None = None


def do_back_off(
    backoff: Backoff,
    pod: Pod,
    container: Container,
    status: RuntimePodStatus,
    now: datetime,
    rules: KubeletRules = PORTED_RULES,
) -> BackoffDecision:
    """Decide whether a container may start now; if so, lengthen its window.

    `status` is the one read before the sync. An instance killed in this sync is still
    running in it and is skipped, so a restart after a failed probe is judged by the end
    of the instance before.
    """
    key = stable_key(pod, container, rules)
    exited = newest_exited(status, container.name)
    if exited is None or exited.finished_at is None:
        window = backoff.get(key)
        return BackoffDecision(
            waits=False, window=window, since=None, until=None, next_window=window
        )
    since = exited.finished_at
    window = backoff.window_at(key, since)
    if window and now - since < window:
        where = f"{pod.name}_{pod.namespace}({pod.uid})"
        until = since + window
        counted_until = until
        if status.newest(container.name) is not exited:
            # The next sync counts from the end of the instance killed in this one.
            counted_until = now + window
        due = restart_range(
            counted_until, window, rules, is_alone=is_only_container(pod)
        )
        return BackoffDecision(
            waits=True,
            window=window,
            since=since,
            until=until,
            next_window=backoff.following(window),
            message=(
                f"{rules.back_off_wait_text} {go_duration(window)} restarting failed "
                f"container={container.name} pod={where}"
            ),
            event_message=rules.back_off_text.format(name=container.name, where=where),
            latest=due.latest,
        )
    is_reset = not window and bool(backoff.get(key))
    return BackoffDecision(
        waits=False,
        window=window,
        since=since,
        until=None,
        next_window=backoff.next(key, since, now),
        is_reset=is_reset,
    )


def newest_exited(status: RuntimePodStatus, name: str) -> RuntimeContainerStatus | None:
    """Return the newest exited instance, even if others are newer."""
    for container in status.containers:
        if container.name == name and container.state is RuntimeState.EXITED:
            return container
    return None
