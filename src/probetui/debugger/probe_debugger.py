"""Debugger commands: step, breakpoints, dry runs, injected results, timings.

Every change is a journaled command with an instant, so a session with debugger commands
replays from its inputs like any other.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from itertools import groupby
from typing import NamedTuple

from probetui.debugger.breakpoints import StopReason
from probetui.debugger.commands import (
    AddNote,
    Bookmark,
    BreakpointKind,
    DebuggerCommand,
    DelayProbes,
    DryRunProbe,
    EditProbe,
    Injected,
    InjectResults,
    MuteProbes,
    PauseProbes,
    ResumeProbes,
    RunToChange,
    SetBreakpoints,
    StepProbe,
    TriggerProbe,
    UnmuteProbes,
)
from probetui.debugger.dry_runs import DryRuns
from probetui.debugger.injection import NO_DELAY
from probetui.debugger.overrides import ProbeOverrides
from probetui.debugger.scope import ALL_PROBES, Scope
from probetui.debugger.stepping import Stepper
from probetui.debugger.timing import Timing
from probetui.k8s.probe import ProbeKey
from probetui.kubelet.journal import JournalEntry
from probetui.kubelet.kubelet import Kubelet
from probetui.kubelet.runtime.go_format import go_duration


class Step(NamedTuple):
    """A step, or a run to change: entries with a number above `sequence` came after.

    `key` is what stepped, None for a run to change.
    """

    at: datetime
    sequence: int
    key: ProbeKey | None


class ProbeDebugger:
    """Carries out debugger commands; owned by the engine.

    Args:
        kubelet: whose probes they are.
        overrides: the settings that the workers read.
        dry_runs: the dry runs in flight.
    """

    def __init__(
        self, kubelet: Kubelet, overrides: ProbeOverrides, dry_runs: DryRuns
    ) -> None:
        self.last_step: Step | None = None
        self._turn = kubelet.turn
        self._scheduler = kubelet.probes.scheduler
        self._statuses = kubelet.statuses
        self._pods = kubelet.pods
        self._stepper = Stepper(self._scheduler, overrides)
        self._overrides = overrides
        self._breakpoints = overrides.breakpoints
        self._dry_runs = dry_runs
        self._noted: StopReason | None = None

    def dispatch(  # noqa: C901, PLR0912  # one arm per command
        self, command: DebuggerCommand, now: datetime
    ) -> None:
        """Carry out a debugger command."""
        match command:
            case TriggerProbe(key):
                self._turn.user_command(now, "probe now", self._probe(key))
                self._scheduler.trigger(key)
            case PauseProbes(is_internal):
                if not is_internal:
                    self._turn.user_command(now, "pause", "all probes")
                self._breakpoints.clear_stop()
                self._stepper.pause()
            case ResumeProbes(is_internal):
                if not is_internal:
                    self._turn.user_command(now, "resume", "all probes")
                self._breakpoints.clear_stop()
                self._stepper.resume(now)
            case StepProbe(key):
                self._step(key, now)
            case RunToChange(scope):
                self._run_to_change(scope, now)
            case InjectResults(key, results):
                self._inject(key, results, now)
            case DelayProbes(scope, delay):
                self._delay(scope, delay, now)
            case MuteProbes(scope):
                self._mute("mute", scope, now, muted=True)
            case UnmuteProbes(scope):
                self._mute("unmute", scope, now, muted=False)
            case DryRunProbe(key):
                self._try(key, now)
            case EditProbe(key, timing):
                self._edit(key, timing, now)
            case SetBreakpoints(points, scope):
                self._set_break_points(points, scope, now)
            case Bookmark(text):
                self._turn.note(now, text, is_bookmark=True)
            case AddNote(text, is_fault, pod_uid):
                self._turn.note(now, text, is_fault=is_fault, pod_uid=pod_uid)
        self._turn.watch = self._watch if self._breakpoints.is_armed else None

    def journal_pause(self, now: datetime) -> None:
        """Journal why probes were paused, once."""
        stopped_by = self._breakpoints.stopped_by
        if stopped_by is self._noted:
            return
        self._noted = stopped_by
        if stopped_by is not None:
            self._turn.note(now, f"paused: {stopped_by.text}")

    def forget_pod(self, pod_uid: str) -> None:
        """Forget a removed pod."""
        self._overrides.forget_pod(pod_uid)

    def _watch(self, entry: JournalEntry) -> None:
        if not self._stepper.is_paused and self._breakpoints.should_pause(entry):
            self._stepper.pause()

    def _step(self, wanted: ProbeKey | None, now: datetime) -> None:
        target = "the next probe" if wanted is None else self._probe(wanted)
        self._turn.user_command(now, "step", target)
        sequence = self._turn.sequence
        self._breakpoints.clear_stop()
        self._stepper.pause()
        key = self._stepper.step(now, wanted)
        if key is not None:
            self.last_step = Step(now, sequence, key)

    def _run_to_change(self, scope: Scope, now: datetime) -> None:
        target = Scope(scope.pod_uid, scope.container_name)
        self._turn.user_command(now, "run to change", self._where(target))
        self.last_step = Step(now, self._turn.sequence, None)
        self._breakpoints.clear_stop(target)
        self._turn.watch = self._watch
        self._stepper.resume(now)

    def _inject(
        self, key: ProbeKey, results: tuple[Injected, ...], now: datetime
    ) -> None:
        runs = [(injected, len(tuple(run))) for injected, run in groupby(results)]
        text = ", ".join(
            f"{injected} x{count}" if count > 1 else injected
            for injected, count in runs
        )
        self._turn.user_command(
            now, "inject", f"{self._probe(key)}: {text or 'nothing'}"
        )
        self._overrides.injections.set(key, results)
        self._scheduler.changed_pods.add(key.pod_uid)

    def _delay(self, scope: Scope, delay: timedelta, now: datetime) -> None:
        target = self._where(scope)
        if delay < NO_DELAY:
            self._turn.refuse(now, f"{target}: not delayed: less than nothing")
            return
        self._turn.user_command(
            now, "delay", f"{target}: {go_duration(delay) if delay else 'nothing'}"
        )
        self._overrides.delays.set(scope, delay)
        self._scheduler.changed_pods.update(self._pods)

    def _mute(self, word: str, scope: Scope, now: datetime, *, muted: bool) -> None:
        self._turn.user_command(now, word, self._where(scope))
        self._overrides.muted.set(scope, muted)
        self._scheduler.changed_pods.update(self._pods)

    def _try(self, key: ProbeKey, now: datetime) -> None:
        self._turn.user_command(now, "try", self._probe(key))
        pod = self._pods.get(key.pod_uid)
        refusal = (
            "there is no such pod"
            if pod is None
            else self._dry_runs.begin(pod, key, self._statuses.get(pod.uid), now)
        )
        if refusal:
            self._turn.refuse(now, f"{self._probe(key)}: not tried: {refusal}")
        self._scheduler.changed_pods.add(key.pod_uid)

    def _edit(self, key: ProbeKey, timing: Timing | None, now: datetime) -> None:
        pod = self._pods.get(key.pod_uid)
        container = None if pod is None else pod.container(key.container_name)
        manifest = None if container is None else container.probe(key.probe_type)
        probe = self._probe(key)
        problems = () if timing is None else timing.problems(key.probe_type)
        if manifest is None:
            problems = ("there is no such probe",)
        if manifest is None or problems:
            text = f"{probe}: not changed: {'; '.join(problems)}"
            self._turn.refuse(now, text)
            return
        timings = self._overrides.timings
        old = timings.get(key, Timing.of(manifest))
        new = timing or Timing.of(manifest)
        changes = ", ".join(
            f"{name} {before} -> {after}" for name, before, after in old.changes(new)
        )
        self._turn.user_command(now, "edit", f"{probe}: {changes or 'no change'}")
        if new == Timing.of(manifest):
            timings.pop(key, None)
        else:
            timings[key] = new
        if changes:
            self._scheduler.reload_timing(key, now)

    def _set_break_points(
        self, points: frozenset[BreakpointKind], scope: Scope, now: datetime
    ) -> None:
        text = ", ".join(point for point in BreakpointKind if point in points)
        self._turn.user_command(
            now, "break", f"{self._where(scope)}: {text or 'nowhere'}"
        )
        self._breakpoints.points.set(scope, points)
        self._scheduler.changed_pods.update(self._pods)

    # -- words

    def _probe(self, key: ProbeKey) -> str:
        return self._where(Scope.of(key))

    def _where(self, scope: Scope) -> str:
        """Return the name of a scope: `shop/web liveness`, `shop`, `all probes`."""
        if scope == ALL_PROBES:
            return "all probes"
        pod = self._pods.get(scope.pod_uid)
        names = ("" if pod is None else pod.name, scope.container_name)
        where = "/".join(name for name in names if name)
        return f"{where} {(scope.probe_type or '').lower()}".strip()
