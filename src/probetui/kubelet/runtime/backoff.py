"""Back-off windows that double: for crash loops and for image pulls.

Source: client-go util/flowcontrol/backoff.go, v0.32.10.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from msgspec import Struct

NO_WINDOW = timedelta()


class _BackoffWindow(Struct, frozen=True):
    window: timedelta
    updated_at: datetime


class Backoff:
    """A window per key that doubles with every start; owned by the engine.

    Args:
        initial: the first window.
        maximum: the longest window.
        expiry: a key whose last start is older than this is reset.
    """

    __slots__ = ("_entries", "_expiry", "_initial", "_maximum")

    def __init__(
        self, initial: timedelta, maximum: timedelta, expiry: timedelta
    ) -> None:
        self._initial = initial
        self._maximum = maximum
        self._expiry = expiry
        self._entries: dict[str, _BackoffWindow] = {}

    def get(self, key: str) -> timedelta:
        """Return the stored window, expired or not; zero if there is none."""
        entry = self._entries.get(key)
        return NO_WINDOW if entry is None else entry.window

    def window_at(self, key: str, event_time: datetime) -> timedelta:
        """Return the window that applies to an event at that time."""
        entry = self._entries.get(key)
        if entry is None or self._has_expired(entry, event_time):
            return NO_WINDOW
        return entry.window

    def following(self, window: timedelta) -> timedelta:
        """Return the window after this one."""
        if not window:
            return self._initial
        return min(window * 2, self._maximum)

    def is_in_backoff_since_update(self, key: str, event_time: datetime) -> bool:
        """Return whether `event_time` is within the window after the last `next`.

        Image pulls use this; there `event_time` is now.
        """
        entry = self._entries.get(key)
        if entry is None or self._has_expired(entry, event_time):
            return False
        return event_time - entry.updated_at < entry.window

    def until(self, key: str) -> datetime | None:
        """Return the end of the window after the last `next`, None without one."""
        entry = self._entries.get(key)
        return None if entry is None else entry.updated_at + entry.window

    def next(self, key: str, event_time: datetime, now: datetime) -> timedelta:
        """Begin or lengthen the key's window, and return it."""
        window = self.following(self.window_at(key, event_time))
        self._entries[key] = _BackoffWindow(window, now)
        return window

    def forget(self, key: str) -> None:
        """Reset a key; an unknown key gets no entry.

        Source: client-go flowcontrol/backoff.go, v0.32.10, DeleteEntry.
        """
        self._entries.pop(key, None)

    def gc(self, now: datetime) -> tuple[str, ...]:
        """Remove and return the expired keys."""
        expired = tuple(
            key for key, entry in self._entries.items() if self._has_expired(entry, now)
        )
        for key in expired:
            del self._entries[key]
        return expired

    def delete(self, key: str) -> bool:
        """Remove a key; return whether it existed."""
        return self._entries.pop(key, None) is not None

    def _has_expired(self, entry: _BackoffWindow, event_time: datetime) -> bool:
        return event_time - entry.updated_at > self._expiry
