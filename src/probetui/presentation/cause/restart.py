"""How an instance came after one that had ended, as sentences."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import timedelta

from probetui.analysis.causes.cause import Restart, RestartTiming
from probetui.durations import format_age
from probetui.kubelet.config import KubeletConfig
from probetui.kubelet.journal import BackoffEntry
from probetui.presentation.text.view import View

_MINUTE = timedelta(minutes=1)


def restart_sentences(
    restart: Restart, view: View, *, is_newest: bool = True
) -> Iterator[str]:
    """Yield when an instance was restarted, and why not earlier or later.

    The next window is told of the newest restart only: of others it is past.
    """
    verb = "It was restarted" if restart.has_started else "A restart was tried"
    if restart.waited is not None and restart.timing is not RestartTiming.WITH_ALL:
        yield f"It was in back-off{wait_text(restart.waited, view)}."
    yield _TIMINGS[restart.timing](restart, verb, view)
    if restart.decision is None or restart.timing is RestartTiming.WITH_ALL:
        return
    if restart.follows_probe_kill and restart.waited is None:
        yield (
            "After a kill by a probe the kubelet counts back-off from the exit of the "
            "instance before: its cached status still shows the killed one as "
            "running. So such restarts are often immediate."
        )
    if is_newest:
        yield from next_window_sentences(restart.decision)


def next_window_sentences(decision: BackoffEntry) -> Iterator[str]:
    """Yield how long the back-off after a restart is, if there is one."""
    if decision.next_window:
        expiry = KubeletConfig().backoff_expiry
        yield (
            f"Next back-off: {format_age(decision.next_window)}; it resets when an "
            f"instance exits more than {expiry // _MINUTE} minutes after its start."
        )


def wait_text(wait: BackoffEntry, view: View) -> str:
    """Return until when a wait lasts, its length, and what that counts from."""
    until = "" if wait.until is None else f" until {view.times.stamp(wait.until)}"
    since = ""
    if wait.since is not None:
        since = f", counted from the exit at {view.times.stamp(wait.since)}"
    return f"{until}: {format_age(wait.window)}{since}"


def _at(restart: Restart, verb: str, view: View) -> str:
    if restart.decision is None:
        return verb
    return f"{verb} at {view.times.stamp(restart.decision.at)}"


def _passed(restart: Restart) -> str:
    decision = restart.decision
    if decision is None or decision.since is None:
        return ""
    return format_age(decision.at - decision.since)


def _with_all(_restart: Restart, verb: str, _view: View) -> str:
    return f"{verb} without back-off, as all containers of the pod were."


def _unknown(_restart: Restart, verb: str, _view: View) -> str:
    return f"{verb}; the back-off at that time is not known."


def _after_wait(restart: Restart, verb: str, view: View) -> str:
    decision, by_sync = restart.decision, "by the first pod sync after the wait"
    if decision is None or decision.waits:
        # The newest decision that is known is the one to wait.
        return f"{verb} {by_sync}."
    passed = _passed(restart)
    started = f"{_at(restart, verb, view)} {by_sync}"
    return f"{started}, {passed} after the exit." if passed else f"{started}."


def _cleared(restart: Restart, verb: str, view: View) -> str:
    return f"{_at(restart, verb, view)}: its back-off had been cleared."


def _without(why: str) -> _Timing:
    def say(restart: Restart, verb: str, view: View) -> str:
        return f"{_at(restart, verb, view)} without back-off: {why}."

    return say


def _window_over(restart: Restart, verb: str, view: View) -> str:
    decision = restart.decision
    window = "" if decision is None else format_age(decision.window)
    end = ""
    if decision is not None and decision.since is not None:
        end = f" at {view.times.stamp(decision.since)}, {_passed(restart)} before"
    which = " of the previous instance" if restart.counts_from_before else ""
    return (
        f"{_at(restart, verb, view)} without back-off: the back-off of {window} counts "
        f"from the exit{which}{end}."
    )


_Timing = Callable[[Restart, str, View], str]

_TIMINGS: Mapping[RestartTiming, _Timing] = {
    RestartTiming.WITH_ALL: _with_all,
    RestartTiming.UNKNOWN: _unknown,
    RestartTiming.AFTER_WAIT: _after_wait,
    RestartTiming.WAIT_CLEARED: _cleared,
    RestartTiming.NOTHING_EXITED: _without(
        "back-off counts from the exit of an earlier instance, and none had exited "
        "when the kubelet checked"
    ),
    RestartTiming.WINDOW_RESET: _without("the back-off had been reset"),
    RestartTiming.NO_WINDOW: _without(
        "no back-off yet, this restart sets the first one"
    ),
    RestartTiming.WINDOW_OVER: _window_over,
}
