"""Crash-loop back-off: how long a container waits before it is started again.

Source: client-go util/flowcontrol/backoff.go, v0.32.10; kubelet
kuberuntime_manager.go, v1.32.10, doBackOff.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple

from probetui.k8s.pod import Container, Pod
from probetui.k8s.runtime import (
    RuntimeContainerStatus,
    RuntimePodStatus,
    RuntimeState,
)
from probetui.kubelet.container_hash import stable_key
from probetui.kubelet.go_text import go_duration

CRASH_LOOP_BACK_OFF = "CrashLoopBackOff"
NO_WINDOW = timedelta()


class _Entry(NamedTuple):
    window: timedelta
    updated_at: datetime


class Backoff:
    """A window per key that doubles with every start; owned by the engine.

    Args:
        initial: the first window.
        maximum: the longest window.
        expiry: a key whose last start lies further back than this is as good as new.
    """

    __slots__ = ("_entries", "_expiry", "_initial", "_maximum")

    def __init__(
        self, initial: timedelta, maximum: timedelta, expiry: timedelta
    ) -> None:
        self._initial = initial
        self._maximum = maximum
        self._expiry = expiry
        self._entries: dict[str, _Entry] = {}

    def get(self, key: str) -> timedelta:
        """Return the stored window, expired or not; zero if there is none."""
        entry = self._entries.get(key)
        return NO_WINDOW if entry is None else entry.window

    def window_at(self, key: str, event_time: datetime) -> timedelta:
        """Return the window that counts for something that happened then."""
        entry = self._entries.get(key)
        if entry is None or self._has_expired(entry, event_time):
            return NO_WINDOW
        return entry.window

    def following(self, window: timedelta) -> timedelta:
        """Return the window that comes after this one."""
        if not window:
            return self._initial
        return min(window * 2, self._maximum)

    def is_in_backoff_since(
        self, key: str, event_time: datetime, now: datetime
    ) -> bool:
        """Tell whether less than the window has passed since `event_time`."""
        window = self.window_at(key, event_time)
        return bool(window) and now - event_time < window

    def is_in_backoff_since_update(self, key: str, event_time: datetime) -> bool:
        """Tell whether `event_time` is within the window after the last `next`.

        Image pulls are judged so: there `event_time` is now.
        """
        entry = self._entries.get(key)
        if entry is None or self._has_expired(entry, event_time):
            return False
        return event_time - entry.updated_at < entry.window

    def next(self, key: str, event_time: datetime, now: datetime) -> timedelta:
        """Begin or lengthen the key's window, and return it."""
        window = self.following(self.window_at(key, event_time))
        self._entries[key] = _Entry(window, now)
        return window

    def forget(self, key: str) -> None:
        """Make a key as good as new; of one that is not known, nothing is left.

        Source: client-go flowcontrol/backoff.go, v0.32.10, DeleteEntry.
        """
        self._entries.pop(key, None)

    def gc(self, now: datetime) -> tuple[str, ...]:
        """Forget the keys that have expired by now, and return them."""
        expired = tuple(
            key for key, each in self._entries.items() if self._has_expired(each, now)
        )
        for key in expired:
            del self._entries[key]
        return expired

    def delete(self, key: str) -> bool:
        """Forget one key; tell whether there was something to forget."""
        return self._entries.pop(key, None) is not None

    def _has_expired(self, entry: _Entry, event_time: datetime) -> bool:
        return event_time - entry.updated_at > self._expiry


@dataclass(frozen=True, slots=True)
class BackoffDecision:
    """What back-off says of one start, and why.

    Attributes:
        waits: the start does not happen now.
        window: the whole wait in force when asked, zero if none.
        since: the end of the exited instance it is reckoned from, None if there is
            none.
        until: the end of the wait, None unless it waits.
        next_window: what the restart after this start will have to wait.
        is_reset: there was a window, but it had expired.
        message: the waiting reason's message, empty unless it waits.
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


def do_back_off(
    backoff: Backoff,
    pod: Pod,
    container: Container,
    status: RuntimePodStatus,
    now: datetime,
) -> BackoffDecision:
    """Decide whether a container may be started now; if so, lengthen its window.

    `status` is the one read before the sync. An instance that was killed in this sync
    still runs in it and is passed over, so a restart after a failed probe is judged
    by the end of the instance before.
    """
    key = stable_key(pod, container)
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
        return BackoffDecision(
            waits=True,
            window=window,
            since=since,
            until=since + window,
            next_window=backoff.following(window),
            message=(
                f"back-off {go_duration(window)} restarting failed "
                f"container={container.name} pod={where}"
            ),
            event_message=(
                f"Back-off restarting failed container {container.name} in pod {where}"
            ),
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
    """Return the newest instance that has exited, passing over newer others."""
    for each in status.containers:
        if each.name == name and each.state is RuntimeState.EXITED:
            return each
    return None
