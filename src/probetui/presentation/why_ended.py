"""How an instance of a container ended, and what back-off said of the next one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import timedelta

from probetui.k8s.pod import Container
from probetui.kubelet.config import KubeletConfig
from probetui.kubelet.grace_period import GraceSource
from probetui.kubelet.journal import BackoffEntry, By, ContainerEntry
from probetui.presentation.attempts import came_to
from probetui.presentation.durations import age, took
from probetui.presentation.exits import signal_of
from probetui.presentation.lives import NO_PAST, ContainerPast, Life
from probetui.presentation.refusals import as_sentence, refusal_words
from probetui.presentation.stopping import is_hooked
from probetui.presentation.view import View

_SECOND, _MINUTE = timedelta(seconds=1), timedelta(minutes=1)
_DEFAULT_GRACE = 30
_BY_A_PROBE = {By.LIVENESS, By.STARTUP}
_WHO = {
    By.ITSELF: "Nobody here asked for it: the container ended by itself.",
    By.USER: "Somebody asked for it by hand.",
    By.DELETE: "Its pod was deleted.",
    By.DEFINITION: "Its definition was changed, so that it had to be made anew.",
    By.POD: "Its whole pod was stopped.",
}
_NOT_STARTED = "It has not been started again."
_SOURCES: Mapping[str, str] = {
    GraceSource.LIVENESS_PROBE: "set at the liveness probe itself",
    GraceSource.STARTUP_PROBE: "set at the startup probe itself",
    GraceSource.DELETION: "asked for with the deletion",
    GraceSource.MINIMUM: "the kubelet's least, as the pod says nothing",
    GraceSource.KILL: "as was asked for: to be killed at once",
}


def end_sentences(
    life: Life, container: Container | None, view: View, past: ContainerPast = NO_PAST
) -> Iterator[str]:
    """Yield who asked for an end, with which grace, and how it came.

    Of a probe whose connection was refused, the `past` may know why.
    """
    yield from _who(life, view, past)
    if life.stopping is not None:
        yield from _grace(life.stopping, container, view)
    if life.exited is not None:
        yield _exit(life.exited, life.stopping, container, view)
    elif life.stopping is not None:
        yield from _still_stopping(life.stopping, view)


def _who(life: Life, view: View, past: ContainerPast) -> Iterator[str]:
    asked = life.end
    by = By.ITSELF if asked is None or asked.by is None else asked.by
    if by not in _BY_A_PROBE:
        yield _WHO[by]
        if life.kill is not None and by is not By.ITSELF:
            yield "A probe had failed often enough before, but did not end it."
        return
    kill = life.kill
    if kill is None:
        yield f"Its {by} probe asked for it."
        return
    times = f"failure {kill.run} of {kill.threshold} in a row"
    at = view.times.stamp(kill.started_at)
    yield f"Its {by} probe asked for it: {times}, tick #{kill.n} at {at}."
    if kill.injected:
        yield "The last of these results was chosen by somebody, not by the container."
    if kill.delay:
        late = took(kill.delay)
        yield f"Somebody held its answers back: the last of them came {late} later."
    if kill.attempts:
        yield f"The probe {came_to(kill.attempts[-1], view)}"
    looked = past.listeners(kill)
    if looked is not None and looked.listeners is not None:
        yield view.safe(as_sentence(refusal_words(looked)))


def _grace(
    stopping: ContainerEntry, container: Container | None, view: View
) -> Iterator[str]:
    if stopping.grace_period_seconds is None:
        return
    seconds = stopping.grace_period_seconds
    at = view.times.stamp(stopping.at)
    yield (
        f"It was told to stop at {at} and given {seconds}s of grace, "
        f"{_source(stopping.grace_source, seconds)}."
    )
    if is_hooked(container, seconds):
        yield "Its preStop hook ran first, and the grace went on meanwhile."


def _source(source: str, seconds: int) -> str:
    if source == GraceSource.POD:
        usual = ", which is the default" if seconds == _DEFAULT_GRACE else ""
        return f"the pod's terminationGracePeriodSeconds{usual}"
    return _SOURCES.get(source, source or "from nowhere known")


def _still_stopping(stopping: ContainerEntry, view: View) -> Iterator[str]:
    if stopping.grace_period_seconds is None:
        return
    ends_at = stopping.at + stopping.grace_period_seconds * _SECOND
    yield f"It has not ended yet; SIGKILL follows at {view.times.stamp(ends_at)}."


def _exit(
    exited: ContainerEntry,
    stopping: ContainerEntry | None,
    container: Container | None,
    view: View,
) -> str:
    code = exited.exit_code or 0
    at = view.times.stamp(exited.at)
    ended = f"Its end was seen at {at}: exit code {code}"
    signal = signal_of(code, exited.signal)
    if exited.oom_killed:
        return f"{ended}. It was out of memory, as the runtime's OOM flag says."
    if signal == "SIGKILL":
        return f"{ended}, SIGKILL. {_killed(exited, stopping, container)}"
    if signal == "SIGTERM" and stopping is not None:
        return f"{ended}, SIGTERM. It ended when it was told to."
    if signal:
        return f"{ended}, {signal}."
    if stopping is not None:
        return f"{ended}. It ended by itself within its grace."
    return f"{ended}."


def _killed(
    exited: ContainerEntry, stopping: ContainerEntry | None, container: Container | None
) -> str:
    not_memory = "It was not out of memory: the runtime set no OOM flag."
    if stopping is None or stopping.grace_period_seconds is None:
        return (
            "Nobody here sent it: it came from elsewhere, or the program itself ended "
            f"with that code, which look the same. {not_memory}"
        )
    if not stopping.grace_period_seconds:
        return f"It was given no time to end by itself. {not_memory}"
    lasted = exited.at - stopping.at
    grace = stopping.grace_period_seconds * _SECOND
    # The end is seen by a look every second, the grace begins with the call.
    if lasted + _SECOND < grace:
        hooked = is_hooked(container, stopping.grace_period_seconds)
        begin = "its preStop hook began" if hooked else "SIGTERM"
        return (
            f"That is {age(lasted)} after {begin}, sooner than the grace of "
            f"{age(grace)}, so that something else sent it. {not_memory}"
        )
    return f"It had not ended by itself within the grace. {not_memory}"


def backoff_sentences(past: ContainerPast, life: Life, view: View) -> Iterator[str]:
    """Yield whether the instance after a life had to wait, and why."""
    following = past.after(life)
    if following is None:
        decision, waited = past.decision, past.waits
        if decision is None:
            yield _NOT_STARTED
            return
    else:
        decision, waited = following.allowed, following.waited
        if decision is None:
            yield "It was started again; what back-off said is not known."
            return
    if waited is not None:
        is_waiting = following is None and _is_to_come(waited, view)
        yield _wait(waited, view, is_waiting=is_waiting)
        if not decision.waits:
            yield _after_the_wait(decision, view)
        elif following is None and not is_waiting:
            yield _NOT_STARTED
    elif not decision.waits:
        yield _no_wait(decision, life, view)
        yield from _of_probes(life)
    yield from _rules(decision)


def _is_to_come(waited: BackoffEntry, view: View) -> bool:
    """Tell whether a wait was not over when the session was looked at."""
    return waited.until is None or view.now < waited.until


def _wait(waited: BackoffEntry, view: View, *, is_waiting: bool) -> str:
    since = _since(waited, view)
    until = "" if waited.until is None else f" until {view.times.stamp(waited.until)}"
    verb = "has to wait" if is_waiting else "had to wait"
    return f"It {verb} in back-off{until}: the window is {age(waited.window)}{since}."


def _since(entry: BackoffEntry, view: View) -> str:
    if entry.since is None:
        return ""
    return f", reckoned from the end of an instance at {view.times.stamp(entry.since)}"


def _after_the_wait(decision: BackoffEntry, view: View) -> str:
    at = view.times.stamp(decision.at)
    started = f"It was started again at {at}, by a sync of its pod after the wait"
    if decision.since is None:
        return f"{started}."
    end, passed = view.times.stamp(decision.since), age(decision.at - decision.since)
    return f"{started}: {passed} after the end at {end}, window {age(decision.window)}."


def _no_wait(decision: BackoffEntry, life: Life, view: View) -> str:
    started = f"It was started again at {view.times.stamp(decision.at)} without a wait"
    if decision.since is None:
        return (
            f"{started}: back-off is reckoned from the end of an earlier instance, and "
            "there was none that had ended when the kubelet looked."
        )
    passed = age(decision.at - decision.since)
    if decision.is_reset or (not decision.window and _has_lasted(life, decision)):
        return f"{started}: the window had been forgotten."
    if not decision.window:
        return f"{started}: there was no window yet, this start began the first one."
    end = view.times.stamp(decision.since)
    which = " of the instance before" if _is_of_before(decision, life) else ""
    return (
        f"{started}: the window of {age(decision.window)} counts from the "
        f"end{which} at {end}, and {passed} had passed since."
    )


def _has_lasted(life: Life, decision: BackoffEntry) -> bool:
    """Tell whether a window there may have been was forgotten during this life."""
    if life.started_at is None or decision.since is None:
        return False
    return decision.since - life.started_at > KubeletConfig().backoff_expiry


def _is_of_before(decision: BackoffEntry, life: Life) -> bool:
    """Tell whether a window was reckoned from an end before that of this life."""
    if decision.since is None or life.exited is None:
        return False
    started_at = life.started_at or life.created_at
    return started_at is not None and decision.since <= started_at


def _of_probes(life: Life) -> Iterator[str]:
    if life.end is not None and life.end.by in _BY_A_PROBE:
        yield (
            "After a kill by a probe the kubelet looks at the instance before the "
            "killed one, which still counts as running while it decides; that is why "
            "such restarts often come at once."
        )


def _rules(decision: BackoffEntry) -> Iterator[str]:
    if decision.next_window:
        expiry = KubeletConfig().backoff_expiry
        yield (
            f"The next window is {age(decision.next_window)}; it is forgotten when an "
            f"instance ends more than {expiry // _MINUTE} minutes after its start."
        )
