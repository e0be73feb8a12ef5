"""What one tick did, what it led to, and what a cluster shows of it: one view model.

The event log, the trace, `why`, the detail and the step pane all take their words from
here. Plain lines and JSON write the journal's own values instead.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import NamedTuple

from msgspec import Struct

from probetui.analysis.timeline import is_startup_done, is_warning
from probetui.k8s.probe import ProbeType
from probetui.kubelet.journal import Exit, Gate, Skip, TickAction, TickEntry
from probetui.kubelet.outcome import ProbeOutcome, Result
from probetui.kubelet.prober.prober import judge_outcome
from probetui.kubelet_rules import KubeletRules
from probetui.presentation.text.spans import Role

STEP = " -> "

NOBODY_PROBED = "probetui or this machine was busy, stopped or suspended"
"""Why ticks fell due in vain. A tick does not say which of them it was."""


class SkipText(Struct, frozen=True):
    """Why a tick did not probe, and what ends that."""

    reason: str
    resumes: str


_SKIPS: Mapping[Skip, SkipText] = {
    Skip.NO_STATUS: SkipText(
        "the pod has no status yet", "once the kubelet has computed the pod's status"
    ),
    Skip.CONTAINER_MISSING: SkipText(
        "there is no container yet", "once the container has been created"
    ),
    Skip.ON_HOLD: SkipText(
        "on hold until the container has restarted",
        "once the container has restarted and a tick sees its new ID",
    ),
    Skip.NOT_RUNNING: SkipText(
        "container not running, stored result set to Failure",
        "once a container runs; until then the stored result is Failure",
    ),
    Skip.INITIAL_DELAY: SkipText(
        "initial delay", "after the delay, in whole seconds from the container's start"
    ),
    Skip.NOT_STARTED: SkipText(
        "waiting for the startup probe to succeed",
        "once the startup probe has succeeded",
    ),
    Skip.ALREADY_STARTED: SkipText(
        "startup has succeeded, the probe is done",
        "with the next instance: a startup probe succeeds only once",
    ),
}


def skip_text(skip: Skip, tick: TickEntry) -> SkipText:
    """Return why a tick was skipped; success holds a startup probe for good."""
    return _SKIPS[Skip.ALREADY_STARTED if is_startup_done(tick) else skip]


_LOG_LINES: Mapping[Skip | Exit | None, str] = {
    Skip.NO_STATUS: "No status for pod",
    Skip.CONTAINER_MISSING: "Probe target container not found",
    Skip.NOT_RUNNING: "Non-running container probed",
    Exit.POD_ENDED: "Pod is terminated, exiting probe worker",
    Exit.CONTAINER_WILL_NOT_RESTART: "Non-running container probed",
    Exit.POD_DELETED: "Pod deletion requested, setting probe result to success",
}
"""What a kubelet logs at level 3 of a tick that does not probe."""

_LAST_TICK = {
    Exit.POD_ENDED: "the pod has terminated",
    Exit.CONTAINER_WILL_NOT_RESTART: "the container has terminated for good",
    Exit.POD_DELETED: "the pod is being deleted",
    Exit.STOPPED: "the worker was stopped",
}


class TickVerdict(StrEnum):
    """How far the result of a tick got."""

    NOT_PROBED = "not probed"
    NOT_COUNTED = "not counted"
    IGNORED = "ignored"
    UNCHANGED = "no change"
    MUTED = "muted"
    WATCH_ONLY = "watch only"
    ACTED = "acted"


class Effect(NamedTuple):
    """What an action does to the container, and how much it matters."""

    text: str
    role: Role = Role.PLAIN


_EFFECTS: Mapping[TickAction, Effect] = {
    TickAction.NONE: Effect("none"),
    TickAction.DISCARDED: Effect("none: an error is not counted"),
    TickAction.KILL: Effect("container killed, probe on hold", Role.KILL),
    TickAction.WOULD_KILL: Effect("container would be killed", Role.KILL),
    TickAction.READY: Effect("container ready", Role.SUCCESS),
    TickAction.NOT_READY: Effect("container not ready", Role.WARNING),
    TickAction.STARTED: Effect("container started", Role.SUCCESS),
    TickAction.MUTED: Effect("muted: result not stored, no action", Role.ACCENT),
}
_HOLD_RELEASED = Effect("hold released by a new container ID")


class TickEvent(NamedTuple):
    """The Warning event of a tick."""

    reason: str
    message: str


class TickReport(Struct, frozen=True):
    """A tick in words; build it with `report_tick`.

    Attributes:
        verdict: how far its result got.
        counted: `failure 2 of 3 in a row`, empty where nothing was counted.
        result: what the stored result became or stayed: `stored result stays Success`.
        effect: what it did to the container.
        summary: why it did what it did, in one line.
        cluster: what somebody in front of a cluster gets to see.
    """

    tick: TickEntry
    verdict: TickVerdict
    counted: str
    result: str
    effect: Effect
    summary: str
    cluster: str

    @property
    def has_effect(self) -> bool:
        """Whether anything but counting came of it."""
        return self.tick.action is not TickAction.NONE or self.effect is _HOLD_RELEASED

    @property
    def note(self) -> str:
        """The verdict beside an event: `2/3 ignored`, `3/3 acted, injected`."""
        tick = self.tick
        overridden = ", injected" if tick.overridden.injected else ""
        overridden += ", delayed" if tick.overridden.delay else ""
        if self.verdict is TickVerdict.NOT_COUNTED:
            return f"{self.verdict}{overridden}"
        return f"{run_count(tick)}/{tick.run.threshold} {self.verdict}{overridden}"

    @property
    def steps(self) -> str:
        """How far the result got, step by step on one line.

        `acted: run 3 of 3 -> stored result Failure -> container killed, probe on hold`.
        """
        match self.verdict:
            case TickVerdict.NOT_PROBED:
                return self.summary
            case TickVerdict.NOT_COUNTED:
                attempts = len(self.tick.attempts)
                steps = [f"error after {attempts} attempts", self.result]
            case _:
                run = f"run {run_count(self.tick)} of {self.tick.run.threshold}"
                steps = [run, self.result]
        if self.verdict in {TickVerdict.ACTED, TickVerdict.WATCH_ONLY}:
            steps.append(self.effect.text)
        return f"{self.verdict}: {STEP.join(steps)}"


def count_text(run: int, doubt: str) -> str:
    """Return a result run as a number: `2`, or `>=2` where it may be longer."""
    return f">={run}" if doubt else str(run)


def run_count(tick: TickEntry) -> str:
    """Return the result run that a tick has come to, as a number."""
    return count_text(tick.run.count, tick.run.doubt)


def report_tick(tick: TickEntry) -> TickReport:
    """Return what a tick did and what it led to, in words."""
    verdict = _verdict(tick)
    effect = _effect(tick)
    return TickReport(
        tick,
        verdict,
        counted=_counted(tick),
        result=_stored_result(tick, verdict),
        effect=effect,
        summary=_summary(tick, verdict, effect),
        cluster=_cluster_text(tick),
    )


def tick_event(tick: TickEntry, rules: KubeletRules) -> TickEvent | None:
    """Return reason and message of the event that a tick makes, None if none."""
    if not tick.attempts:
        return None
    outcome = ProbeOutcome(tick.attempts, tick.timing.started_at)
    judged = judge_outcome(tick.key.probe_type, outcome, rules)
    if judged.reason is None or judged.message is None:
        return None
    return TickEvent(judged.reason, judged.message)


def blocking_gate(tick: TickEntry) -> Gate | None:
    """Return the question that kept a tick from probing, None if it probed."""
    if (tick.skip is None and tick.exit is None) or not tick.gates:
        return None
    return tick.gates[-1]


def _verdict(tick: TickEntry) -> TickVerdict:
    if tick.skip is not None or tick.exit is not None:
        return TickVerdict.NOT_PROBED
    if tick.result is None:
        return TickVerdict.NOT_COUNTED
    if tick.run.count < tick.run.threshold:
        return TickVerdict.IGNORED
    match tick.action:
        case TickAction.NONE:
            return TickVerdict.UNCHANGED
        case TickAction.MUTED:
            return TickVerdict.MUTED
        case TickAction.WOULD_KILL:
            return TickVerdict.WATCH_ONLY
        case _:
            return TickVerdict.ACTED


def _counted(tick: TickEntry) -> str:
    if tick.result is None:
        return ""
    word = "failure" if tick.result is Result.FAILURE else "success"
    if is_warning(tick):
        word = "success (with a warning)"
    run = run_count(tick)
    if tick.run.count > tick.run.threshold:
        return f"{word} {run} in a row, threshold {tick.run.threshold}"
    return f"{word} {run} of {tick.run.threshold} in a row"


def _stored_result(tick: TickEntry, verdict: TickVerdict) -> str:
    match verdict:
        case TickVerdict.NOT_COUNTED:
            return "run and stored result unchanged"
        case TickVerdict.MUTED:
            return "result not stored"
        case TickVerdict.ACTED | TickVerdict.WATCH_ONLY:
            return f"stored result {tick.result}"
        case _:
            stays = "none" if tick.stored.before is None else str(tick.stored.before)
            return f"stored result stays {stays}"


def _effect(tick: TickEntry) -> Effect:
    if tick.action is TickAction.NONE and tick.hold.before and not tick.hold.after:
        return _HOLD_RELEASED
    return _EFFECTS[tick.action]


def _summary(tick: TickEntry, verdict: TickVerdict, effect: Effect) -> str:
    if tick.skip is not None:
        delay = ""
        if tick.skip is Skip.INITIAL_DELAY:
            delay = f", {_gate_value(tick, 'initial delay')}"
        return f"skipped: {skip_text(tick.skip, tick).reason}{delay}"
    if tick.exit is not None:
        return f"last tick: {_LAST_TICK[tick.exit]}"
    if verdict is TickVerdict.NOT_COUNTED:
        return f"error after {len(tick.attempts)} attempts, not counted"
    run = (
        f"run {tick.run.count - 1}->{tick.run.count}"
        if tick.run.count > 1
        else "run starts at 1"
    )
    if tick.run.doubt:
        run = f"run {run_count(tick)} ({tick.run.doubt})"
    if verdict is TickVerdict.IGNORED:
        return f"probed: {run}, below threshold {tick.run.threshold}, no action"
    if verdict is TickVerdict.UNCHANGED:
        return f"probed: {run}, stored result is {tick.result} already"
    only = f" ({verdict})" if verdict is TickVerdict.WATCH_ONLY else ""
    return f"probed: {run}, threshold {tick.run.threshold} reached: {effect.text}{only}"


def _gate_value(tick: TickEntry, name: str) -> str:
    return next((gate.value for gate in tick.gates if gate.name == name), "not over")


def _log_text(tick: TickEntry) -> str:
    """Return what the kubelet's log has of a tick that did not probe.

    Source: worker.go, v1.36.2, doProbe.
    """
    is_startup = tick.key.probe_type is ProbeType.STARTUP
    if tick.exit is Exit.POD_DELETED and is_startup:
        line = "Pod deletion requested before container has fully started"
        return f'log line "{line}"'
    line = _LOG_LINES.get(tick.skip or tick.exit, "")
    return f'at -v=3 a log line, "{line}"' if line else "no log line"


def _cluster_text(tick: TickEntry) -> str:
    if tick.skip is not None or tick.exit is not None:
        return f"no event, {_log_text(tick)} (the probe did not run)"
    if tick.result is None:
        return "an Unhealthy event, as for a failure, although an error is not counted"
    if is_warning(tick):
        return "a ProbeWarning event; the result counts as success"
    if tick.result is Result.SUCCESS:
        changes = {
            TickAction.READY: "the container as ready; ",
            TickAction.STARTED: "the container as started; ",
        }
        return f"{changes.get(tick.action, '')}no event (a success makes none)"
    if tick.action in {TickAction.KILL, TickAction.WOULD_KILL}:
        return "this event, then Killing; not how many failures there were"
    if tick.action is TickAction.NOT_READY:
        return "this event, and the container as not ready"
    if tick.run.threshold == 1:
        return "this event"
    return f"the same event for failure 1 and failure {tick.run.threshold}"
