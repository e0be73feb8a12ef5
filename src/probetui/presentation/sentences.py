"""Why a tick did what it did, and what the next failure would do, in one sentence."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from probetui.k8s.pod import Pod, RestartPolicy
from probetui.k8s.probe import ProbeType
from probetui.kubelet.grace_period import (
    GracePeriod,
    KillReason,
    termination_grace_period,
)
from probetui.kubelet.journal import Action, Exit, Skip, TickEntry
from probetui.kubelet.outcome import Result
from probetui.kubelet.snapshot import ContainerSnapshot, ProbeSnapshot
from probetui.presentation.durations import age
from probetui.presentation.probes import threshold
from probetui.presentation.view import View

_SKIPPED = {
    Skip.NO_STATUS: "the pod has no status yet",
    Skip.CONTAINER_MISSING: "there is no container yet",
    Skip.ON_HOLD: "on hold until a tick sees a new container id",
    Skip.NOT_RUNNING: "container not running, stored result set to Failure",
    Skip.NOT_STARTED: "gated until the startup probe succeeds",
    Skip.ALREADY_STARTED: "the container has started, nothing left to find out",
}
GOES_ON = {
    Skip.NO_STATUS: "once the kubelet has worked out the pod's status",
    Skip.CONTAINER_MISSING: "once the container has been created",
    Skip.ON_HOLD: "once a tick sees a new container id: a restart, nothing else",
    Skip.NOT_RUNNING: "once a container runs; until then it counts as failed",
    Skip.INITIAL_DELAY: "after the delay, in whole seconds from the container's start",
    Skip.NOT_STARTED: "once the startup probe has succeeded",
    Skip.ALREADY_STARTED: "never for this container: startup succeeds only once",
}
"""What ends the reason for which a tick probed nothing."""
_ENDED = {
    Exit.POD_ENDED: "the pod has ended",
    Exit.CONTAINER_WILL_NOT_RESTART: "the container has ended and is not restarted",
    Exit.POD_DELETED: "the pod is being deleted",
    Exit.STOPPED: "it was told to stop",
}
KILL_REASONS = {
    ProbeType.LIVENESS: KillReason.LIVENESS_PROBE,
    ProbeType.STARTUP: KillReason.STARTUP_PROBE,
    ProbeType.READINESS: KillReason.NONE,
}


def why(tick: TickEntry) -> str:
    """Return why a tick did what it did: gates, run, threshold, consequence."""
    if tick.skip is Skip.INITIAL_DELAY:
        return f"skipped: initial delay, {_gate_value(tick, 'initial delay')}"
    if tick.skip is not None:
        return f"skipped: {_SKIPPED[tick.skip]}"
    if tick.exit is not None:
        return f"last tick: {_ENDED[tick.exit]}"
    if tick.result is None:
        times = len(tick.attempts)
        return f"errored {times} times, thrown away: never restarts the container"
    return f"probed: {run_words(tick)}, {_consequence(tick)}"


def run_words(tick: TickEntry) -> str:
    """Return how a tick moved the run: `run 1->2`, `run starts at 1`."""
    if tick.run > 1:
        return f"run {tick.run - 1}->{tick.run}"
    return "run starts at 1"


def _gate_value(tick: TickEntry, name: str) -> str:
    return next((each.value for each in tick.gates if each.name == name), "not over")


def _consequence(tick: TickEntry) -> str:
    if tick.run < tick.threshold:
        return f"below threshold {tick.threshold}, stored result unchanged"
    reached = f"threshold {tick.threshold} reached"
    match tick.action:
        case Action.KILL:
            return f"{reached}: container killed, probe on hold"
        case Action.WOULD_KILL:
            return f"{reached}: would be killed, not acted"
        case Action.READY:
            return f"{reached}: container ready"
        case Action.NOT_READY:
            return f"{reached}: container not ready"
        case Action.STARTED:
            return f"{reached}: container started"
        case Action.MUTED:
            return f"{reached}: muted, nothing is stored or done"
        case _:
            return f"agrees with the stored result {tick.result}"


@dataclass(frozen=True, slots=True)
class BackoffForecast:
    """What crash-loop back-off would say of a restart, as far as it can be known."""

    waits: bool | None
    """None: it depends on how long the container takes to stop."""
    words: str


@dataclass(frozen=True, slots=True)
class NextFailure:
    """What the next failure would do.

    `grace` and `backoff` are set if it kills; `backoff` is None where nothing is
    restarted.
    """

    words: str
    grace: GracePeriod | None = None
    kills_at: datetime | None = None
    backoff: BackoffForecast | None = None

    @property
    def sentence(self) -> str:
        """The whole of it in one sentence, but for the source of the grace period."""
        if self.grace is None:
            return self.words
        after = self.backoff.words if self.backoff else "no restart (policy Never)"
        return f"{self.words}, {self.grace.seconds}s grace, {after}"


def next_failure(
    pod: Pod, container: ContainerSnapshot, probe: ProbeSnapshot, view: View
) -> NextFailure:
    """Say what the next failure of a probe would do, if the next tick probes."""
    if (words := _no_probe(probe)) is not None:
        return NextFailure(words)
    most = threshold(probe, Result.FAILURE)
    run = probe.result_run if probe.last_result is Result.FAILURE else 0
    if run + 1 < most:
        return NextFailure(f"run {run}->{run + 1} of {most}, nothing else happens")
    if probe.muted:
        return NextFailure("none: muted, nothing is done")
    if probe.key.probe_type is ProbeType.READINESS:
        if probe.believed is Result.FAILURE:
            return NextFailure("stays not ready, is never killed for it")
        return NextFailure("not ready, is never killed for it")
    if not view.acts:
        return NextFailure("would kill, which is only told")
    reason = KILL_REASONS[probe.key.probe_type]
    grace = termination_grace_period(pod, container.container, reason)
    if pod.restart_policy is RestartPolicy.NEVER and not container.container.is_sidecar:
        return NextFailure("kill", grace, probe.next_tick_at)
    forecast = backoff_forecast(
        container, probe.next_tick_at or view.now, timedelta(seconds=grace.seconds)
    )
    return NextFailure("kill", grace, probe.next_tick_at, forecast)


def _no_probe(probe: ProbeSnapshot) -> str | None:
    """Return why the next tick probes nothing, or None if it does."""
    if not probe.worker_alive:
        return "none: no worker probes any more"
    if probe.on_hold:
        return "none: on hold, nothing is probed"
    match probe.upcoming_skip:
        case None | Skip.INITIAL_DELAY:
            return None
        case Skip.NOT_STARTED:
            return "none: gated until startup succeeds"
        case Skip.ALREADY_STARTED:
            return "none: the container has started"
        case _:
            return "none: no running container to probe"


def backoff_forecast(
    container: ContainerSnapshot, kill_at: datetime, grace: timedelta
) -> BackoffForecast:
    """Say whether a restart after a probe's kill would wait.

    The window is reckoned from the end of the instance before the one that is killed,
    as the kubelet does.
    """
    backoff, last_exit = container.backoff, container.last_exit
    window = timedelta()
    if backoff is not None:
        window = backoff.next_window if backoff.until is None else backoff.window
    exited_at = None if last_exit is None else last_exit.at
    return forecast_of(exited_at, window, kill_at, grace)


def forecast_of(
    exited_at: datetime | None, window: timedelta, kill_at: datetime, grace: timedelta
) -> BackoffForecast:
    """Say whether a restart waits for a window that began with an exit, if any did."""
    if exited_at is None:
        return BackoffForecast(
            waits=False, words="restart without back-off (no earlier exit)"
        )
    if not window:
        return BackoffForecast(
            waits=False, words="restart without back-off (no window yet)"
        )
    ends_at = exited_at + window
    if kill_at >= ends_at:
        return BackoffForecast(
            waits=False,
            words=f"restart without back-off ({age(window)} window is past)",
        )
    if kill_at + grace < ends_at:
        at_least = age(ends_at - kill_at - grace)
        return BackoffForecast(
            waits=True, words=f"then back-off, at least {at_least} of {age(window)}"
        )
    return BackoffForecast(
        waits=None,
        words=f"back-off unless it takes {age(ends_at - kill_at)} to stop",
    )
