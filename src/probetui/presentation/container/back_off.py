"""The end of a wait in back-off in words: a range, as the pod's next sync ends it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from probetui.durations import format_age, format_countdown
from probetui.engine.snapshot import BackoffSnapshot
from probetui.kubelet.config import KubeletConfig
from probetui.kubelet.journal import BackoffEntry
from probetui.kubelet.kuberuntime.restart import InstantRange, restart_range
from probetui.kubelet_rules import KubeletRules

AT_NEXT_SYNC = "at the pod's next sync"
_SECOND = timedelta(seconds=1)
_ROUNDS_UP = _SECOND - timedelta.resolution


def range_of_wait(
    wait: BackoffEntry | BackoffSnapshot, rules: KubeletRules
) -> InstantRange | None:
    """Return between which instants the restart after a wait comes, None without one.

    The `rules` count where the wait does not say it, as in old records.
    """
    if wait.until is None:
        return None
    if wait.latest is not None:
        return InstantRange(wait.until, wait.latest)
    return restart_range(wait.until, wait.window, rules)


def late_sync(rules: KubeletRules) -> str:
    """Return how far a wait can exceed its window: `plus up to 16s`."""
    window = KubeletConfig().backoff_max
    began = datetime.min.replace(tzinfo=UTC)
    earliest, latest = restart_range(began + window, window, rules)
    most = format_longest(latest - earliest)
    if rules.sleeps_until_back_off_ends:
        return f"plus up to half of it, at most {most}"
    return f"plus up to {most}"


def format_due(due: InstantRange, now: datetime) -> str:
    """Return when something is due: `in 14s to 30s`, `within 9s`.

    Past its latest instant it is due at the pod's next sync, which is held up.
    """
    if now > due.latest:
        return AT_NEXT_SYNC
    latest = format_latest(due, now)
    if now >= due.earliest:
        return f"within {latest}"
    return f"in {format_countdown(due.earliest - now)} to {latest}"


def format_latest(due: InstantRange, now: datetime) -> str:
    """Return in how long something is due at the latest: `30s`."""
    return format_longest(due.latest - now)


def format_longest(length: timedelta) -> str:
    """Return how long something takes at most, rounded up to a second: `30s`."""
    return format_age(rounded_up(length))


def rounded_up(length: timedelta) -> timedelta:
    """Return a length in whole seconds, none of it left out."""
    return (length + _ROUNDS_UP) // _SECOND * _SECOND
