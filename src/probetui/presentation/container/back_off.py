"""Format the end of a back-off: a range, because the pod's next sync ends it."""

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
    """Return the earliest and latest restart after a wait, None if there is no wait.

    `rules` are for old records, whose waits do not have the latest instant.
    """
    if wait.until is None:
        return None
    if wait.latest is not None:
        return InstantRange(wait.until, wait.latest)
    return restart_range(wait.until, wait.window, rules)


def late_sync(rules: KubeletRules) -> str:
    """Format how far a wait can exceed its window: `plus up to 16s`."""
    window = KubeletConfig().backoff_max
    began = datetime.min.replace(tzinfo=UTC)
    earliest, latest = restart_range(began + window, window, rules)
    most = format_longest(latest - earliest)
    if rules.sleeps_until_back_off_ends:
        return f"plus up to half of it, at most {most}"
    return f"plus up to {most}"


def format_due(due: InstantRange, now: datetime) -> str:
    """Format when something is due: `in 14s to 30s`, `within 9s`.

    After the latest instant, only the delayed next sync of the pod can be named.
    """
    if now > due.latest:
        return AT_NEXT_SYNC
    latest = format_latest(due, now)
    if now >= due.earliest:
        return f"within {latest}"
    return f"in {format_countdown(due.earliest - now)} to {latest}"


def format_latest(due: InstantRange, now: datetime) -> str:
    """Format the longest time until something is due: `30s`."""
    return format_longest(due.latest - now)


def format_longest(length: timedelta) -> str:
    """Format a longest time, rounded up to a second: `30s`."""
    return format_age(rounded_up(length))


def rounded_up(length: timedelta) -> timedelta:
    """Round up to whole seconds."""
    return (length + _ROUNDS_UP) // _SECOND * _SECOND
