"""What comes next: a sentence of `why`, in short on the screen, and in columns.

`outlook_sentences` and `brief_outlook` tell an `Outlook`, of what is or of a failure
that has not happened. `format_effect`, `format_kill`, `format_restart` and
`next_failure_fields` are the words of a column, `next failure`, and no sentences.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from probetui.analysis.next_failure import (
    BackoffForecast,
    FailureEffect,
    NextFailure,
    Outlook,
    OutlookCondition,
    OutlookEvent,
    predict_next_failure,
)
from probetui.analysis.timing import LATEST_RESYNC
from probetui.durations import format_age, format_countdown
from probetui.engine.snapshot import ContainerSnapshot, ProbeSnapshot
from probetui.k8s.pod import Pod
from probetui.kubelet.kuberuntime.restart import InstantRange
from probetui.presentation.container.back_off import (
    AT_NEXT_SYNC,
    format_due,
    format_longest,
)
from probetui.presentation.text.view import View


def outlook_sentences(outlook: Outlook, view: View) -> Iterator[str]:
    """Yield what comes next, with a full stop."""
    if outlook.condition is None:
        yield f"It {_EVENTS[outlook.what]}{_when(outlook, view)}."
        return
    yield _CONDITIONS[outlook.condition](outlook, view)
    if outlook.otherwise is not None:
        yield from outlook_sentences(outlook.otherwise, view)


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
    at = ""
    if outlook.is_at_resync:
        at = f" up to {format_age(LATEST_RESYNC)} later"
    elif outlook.earliest is not None and outlook.earliest > view.now:
        at = f", at {view.times.stamp(outlook.earliest)} at the earliest"
    return f"{times}, and it {what}{at}."


def _after_the_cause(outlook: Outlook, _view: View) -> str:
    return f"It {_EVENTS[outlook.what]} once that is over."


def _if_it_runs(outlook: Outlook, view: View) -> str:
    at = outlook.latest or outlook.earliest
    stamp = "" if at is None else view.times.stamp(at)
    when = f"at {stamp}" if outlook.latest is None else f"by {stamp} at the latest"
    return f"SIGKILL follows {when}, unless it has ended by then."


def _if_somebody_acts(_outlook: Outlook, _view: View) -> str:
    return "Nothing changes by itself: somebody must act."


_CONDITIONS = {
    OutlookCondition.SUCCESSES: _after_successes,
    OutlookCondition.FAILURES: _after_failures,
    OutlookCondition.CAUSE_ENDS: _after_the_cause,
    OutlookCondition.STILL_RUNS: _if_it_runs,
    OutlookCondition.SOMEBODY_ACTS: _if_somebody_acts,
}


# -- the column of the next failure


_TEXTS = {
    FailureEffect.NO_WORKER: "none: the worker has exited",
    FailureEffect.ON_HOLD: "none: on hold, the probe does not run",
    FailureEffect.WAITS_FOR_STARTUP: "none: waiting for the startup probe",
    FailureEffect.STARTUP_DONE: "none: startup has succeeded",
    FailureEffect.NOT_RUNNING: "none: no running container to probe",
    FailureEffect.CANCELED: "none: commands of a deleted pod are canceled",
    FailureEffect.POD_DELETED: "no action: the pod is being deleted",
    FailureEffect.MUTED: "none: muted, no action",
    FailureEffect.NOT_READY: "not ready (readiness never kills)",
    FailureEffect.STAYS_NOT_READY: "stays not ready (readiness never kills)",
    FailureEffect.WOULD_KILL: "would kill (watch only: no action)",
    FailureEffect.KILL: "kill",
}


def next_failure_of(
    pod: Pod, container: ContainerSnapshot, probe: ProbeSnapshot, view: View
) -> NextFailure:
    """Predict the next failure of a probe at the time of the view."""
    return predict_next_failure(
        pod, container, probe, view.now, view.rules, acts=view.acts
    )


def format_effect(failure: NextFailure) -> str:
    """Format the effect, without the details of a kill."""
    if failure.effect is FailureEffect.COUNTED:
        return f"failure {failure.run} of {failure.threshold}, no action"
    return _TEXTS[failure.effect]


def format_kill(failure: NextFailure, view: View) -> str:
    """Format time, grace period and its source of the kill, empty if there is none."""
    if failure.grace is None:
        return ""
    seconds, source = failure.grace
    at = f" at {view.times.clock(failure.kills_at)}" if failure.kills_at else ""
    if failure.at_resync:
        at = f" up to {format_age(LATEST_RESYNC)} after{at.removeprefix(' at')}"
    never = "" if failure.backoff else f", {format_restart(failure)}"
    return f"{at}, {seconds}s grace ({source}){never}"


def format_restart(failure: NextFailure) -> str:
    """Format the restart after a kill, with its back-off."""
    forecast = failure.backoff
    if forecast is None:
        return "no restart (policy Never)"
    window = format_age(forecast.window)
    match forecast.waits:
        case False if forecast.exited_at is None:
            return "restart without back-off (no earlier exit)"
        case False if not forecast.window:
            return "restart without back-off (none yet)"
        case False:
            return f"restart without back-off ({window} are over)"
        case True:
            return f"then back-off, {format_wait_range(forecast)}"
        case None:
            left, wait = format_age(forecast.left_at_kill), format_wait_range(forecast)
            return f"back-off, {wait}, unless it takes {left} to stop"


def format_wait_range(forecast: BackoffForecast) -> str:
    """Format the wait of a killed container for its restart: `20s to 36s`."""
    return f"{format_age(forecast.window)} to {format_longest(forecast.longest)}"


def next_failure_fields(failure: NextFailure) -> str:
    """Format the forecast for a plain line: `next-failure kill grace=30s(pod) …`."""
    match failure.effect:
        case FailureEffect.ON_HOLD:
            shown = "none: on hold"
        case FailureEffect.COUNTED:
            shown = f"run {failure.run - 1}->{failure.run} of {failure.threshold}"
        case FailureEffect.MUTED:
            shown = "none: muted"
        case FailureEffect.STAYS_NOT_READY:
            shown = "stays not-ready"
        case effect:
            shown = effect.replace(" ", "-")
    if failure.at_resync and failure.effect is FailureEffect.KILL:
        shown += "-at-resync"
    if failure.grace is not None:
        shown += f" grace={failure.grace.seconds}s({failure.grace.source})"
        shown += _restart_fields(failure.backoff)
    return f"next-failure {shown}"


def _restart_fields(forecast: BackoffForecast | None) -> str:
    if forecast is None:
        return " restart=never"
    if forecast.waits is False:
        return " backoff=none"
    wait = "waits" if forecast.waits else "maybe"
    return f" backoff={wait}({format_age(forecast.window)})"
