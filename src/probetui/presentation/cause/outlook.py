"""What comes next, as a sentence and in short; every front end has it from here."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from probetui.analysis.causes.cause import Outlook, OutlookCondition, OutlookEvent
from probetui.analysis.timing import LATEST_RESYNC
from probetui.durations import format_age, format_countdown
from probetui.kubelet.kuberuntime.restart import InstantRange
from probetui.presentation.container.back_off import AT_NEXT_SYNC, format_due
from probetui.presentation.text.view import View


def outlook_sentences(outlook: Outlook, view: View) -> Iterator[str]:
    """Yield what comes next, with a full stop."""
    if outlook.condition is None:
        yield f"It {_EVENTS[outlook.what]}{_when(outlook, view)}."
        return
    yield _CONDITIONS[outlook.condition](outlook, view)


def brief_outlook(
    outlook: Outlook, view: View, *, what: str = "", which: str = "the next probe"
) -> str:
    """Return what comes next in short: `kill in 3.1s if the next probe fails`.

    Args:
        outlook: what comes next.
        view: has the time.
        what: is told in place of what comes, empty for `brief_event`.
        which: names the probe that must fail or succeed, if it is one.
    """
    what = what or brief_event(outlook, view)
    match outlook.condition:
        case OutlookCondition.FAILURES | OutlookCondition.SUCCESSES:
            comma = "," if outlook.is_at_resync else ""
            at = _countdown(outlook, view)
            return f"{what}{at}{comma} if {_in_a_row(outlook, which)}"
        case OutlookCondition.STILL_RUNS:
            left = _countdown(outlook, view)
            return f"{what}{left} unless it exits" if left else f"{what}: {_GRACE_OVER}"
        case _:
            earliest, latest = outlook.earliest, outlook.latest
            if earliest is None or latest is None:
                return f"{what} {AT_NEXT_SYNC}"
            return f"{what} {format_due(InstantRange(earliest, latest), view.now)}"


def brief_event(outlook: Outlook, view: View) -> str:
    """Return what comes, without the time and the condition: `kill`."""
    if outlook.is_at_resync:
        return f"kill up to {format_age(LATEST_RESYNC)} later"
    if outlook.what is OutlookEvent.KILLED and not view.acts:
        return "would kill (watch only)"
    return _BRIEF[outlook.what]


_BRIEF: Mapping[OutlookEvent, str] = {
    OutlookEvent.CREATED: "creation",
    OutlookEvent.STARTED: "started",
    OutlookEvent.READY: "ready",
    OutlookEvent.NOT_READY: "not ready",
    OutlookEvent.RESTARTED: "restart",
    OutlookEvent.PULLED_AGAIN: "pull",
    OutlookEvent.TRIED_AGAIN: "another try",
    OutlookEvent.KILLED: "kill",
    OutlookEvent.SIGKILL: "SIGKILL",
    OutlookEvent.STOPPED: "stop",
    OutlookEvent.NOTHING: "no action",
}
_GRACE_OVER = "the grace period is over"


def _in_a_row(outlook: Outlook, which: str) -> str:
    fails = outlook.condition is OutlookCondition.FAILURES
    if outlook.count > 1:
        verb = "fail" if fails else "succeed"
        return f"the next {outlook.count} probes {verb}"
    return f"{which} {'fails' if fails else 'succeeds'}"


def _countdown(outlook: Outlook, view: View) -> str:
    at = outlook.earliest
    if at is None or at <= view.now:
        return ""
    return f" in {format_countdown(at - view.now)}"


_EVENTS: Mapping[OutlookEvent, str] = {
    OutlookEvent.CREATED: "is created",
    OutlookEvent.STARTED: "counts as started",
    OutlookEvent.READY: "is ready",
    OutlookEvent.NOT_READY: "is not ready any more",
    OutlookEvent.RESTARTED: "is restarted by the next sync of its pod",
    OutlookEvent.PULLED_AGAIN: "is pulled again, with back-off",
    OutlookEvent.TRIED_AGAIN: "is tried again by the next syncs of its pod",
    OutlookEvent.KILLED: "is killed",
    OutlookEvent.SIGKILL: "gets SIGKILL",
    OutlookEvent.STOPPED: "is stopped",
    OutlookEvent.NOTHING: "stays as it is",
}


def _when(outlook: Outlook, view: View) -> str:
    earliest, latest = outlook.earliest, outlook.latest
    if earliest is None or latest is None:
        return ""
    if view.now > latest:
        return ", which is late"
    stamp = view.times.stamp
    return f", between {stamp(earliest)} and {stamp(latest)}"


def _after_successes(outlook: Outlook, _view: View) -> str:
    count = outlook.count
    times = "One success" if count == 1 else f"{count} successes in a row"
    probe = "" if outlook.probe is None else f" of its {outlook.probe.lower()} probe"
    after = {
        OutlookEvent.STARTED: (
            "and it counts as started; its other probes wait for that"
        ),
        OutlookEvent.READY: "and it is ready; no failure of this probe restarts it",
    }
    return f"{times}{probe}, {after[outlook.what]}."


def _after_failures(outlook: Outlook, view: View) -> str:
    count = outlook.count
    times = "One more failure" if count == 1 else f"{count} more failures in a row"
    what = _EVENTS[outlook.what]
    if outlook.what is OutlookEvent.KILLED and not view.acts:
        what = "would be killed (watch only)"
    return f"{times}, and it {what}."


def _after_the_cause(outlook: Outlook, _view: View) -> str:
    return f"It {_EVENTS[outlook.what]} once that is over."


def _if_it_runs(outlook: Outlook, view: View) -> str:
    at = "" if outlook.earliest is None else view.times.stamp(outlook.earliest)
    return f"SIGKILL follows at {at}, unless it has ended by then."


def _if_somebody_acts(_outlook: Outlook, _view: View) -> str:
    return "Nothing changes by itself: somebody must act."


_CONDITIONS = {
    OutlookCondition.SUCCESSES: _after_successes,
    OutlookCondition.FAILURES: _after_failures,
    OutlookCondition.CAUSE_ENDS: _after_the_cause,
    OutlookCondition.STILL_RUNS: _if_it_runs,
    OutlookCondition.SOMEBODY_ACTS: _if_somebody_acts,
}
