"""Format the forecast of a probe's next failure: for the screen and for plain lines.

These are the words of a column, `next failure`, and no sentences: what a run of
failures comes to is an `Outlook`, which `presentation.cause.outlook` tells.
"""

from __future__ import annotations

from probetui.analysis.next_failure import (
    BackoffForecast,
    FailureEffect,
    NextFailure,
    predict_next_failure,
)
from probetui.analysis.timing import LATEST_RESYNC
from probetui.durations import format_age
from probetui.engine.snapshot import ContainerSnapshot, ProbeSnapshot
from probetui.k8s.pod import Pod
from probetui.presentation.container.back_off import format_longest
from probetui.presentation.text.view import View

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
