"""Stepping, breaking and trying: what people do to probes to see what comes of it.

Everything here is a command with an instant, and written into the journal; so a
session in which people played is lived again from its inputs like any other.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from itertools import groupby

from probetui.k8s.pod import Pod
from probetui.k8s.probe import ProbeKey
from probetui.kubelet.delay import NO_DELAY
from probetui.kubelet.go_text import go_duration
from probetui.kubelet.inputs import (
    Bookmark,
    BreakPoint,
    DelayProbes,
    EditProbe,
    Injected,
    InjectResults,
    MuteProbes,
    PauseProbes,
    PlayCommand,
    ResumeProbes,
    RunToChange,
    SetBreakPoints,
    StepProbe,
    TriggerProbe,
    TryProbe,
    UnmuteProbes,
)
from probetui.kubelet.interventions import Interventions
from probetui.kubelet.journal import Entry, NoteEntry, UserEntry
from probetui.kubelet.probe_manager import ProbeManager
from probetui.kubelet.scope import EVERYTHING, Scope
from probetui.kubelet.snapshot import LastStep, PodSnapshot, StopReason
from probetui.kubelet.status_manager import StatusManager
from probetui.kubelet.timing import Timing
from probetui.kubelet.tries import Tries
from probetui.kubelet.turn import Ledger


class Play:
    """Takes the commands about probes; owned by the engine.

    Args:
        ledger: where entries go.
        probes: the workers.
        interventions: what the workers have to know of this.
        tries: probes that count for nothing.
        statuses: the published statuses.
        pods: the pods that are known, by UID.
        look: what there is to see of all pods.
    """

    def __init__(
        self,
        ledger: Ledger,
        probes: ProbeManager,
        interventions: Interventions,
        tries: Tries,
        statuses: StatusManager,
        pods: Mapping[str, Pod],
        look: Callable[[datetime], tuple[PodSnapshot, ...]],
    ) -> None:
        self.last_step: LastStep | None = None
        self._ledger = ledger
        self._probes = probes
        self._interventions = interventions
        self._breaker = interventions.breaker
        self._tries = tries
        self._statuses = statuses
        self._pods = pods
        self._look = look
        self._told: StopReason | None = None

    def take(  # noqa: C901, PLR0912  # one arm per command
        self, command: PlayCommand, now: datetime
    ) -> None:
        """Do what a person asks for."""
        match command:
            case TriggerProbe(key):
                self._write_user(now, "probe now", self._probe(key))
                self._probes.trigger(key)
            case PauseProbes():
                self._write_user(now, "pause", "all probes")
                self._breaker.go_on()
                self._probes.pause()
            case ResumeProbes():
                self._write_user(now, "resume", "all probes")
                self._breaker.go_on()
                self._probes.resume(now)
            case StepProbe():
                self._step(now)
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
            case TryProbe(key):
                self._try(key, now)
            case EditProbe(key, timing):
                self._edit(key, timing, now)
            case SetBreakPoints(points, scope):
                self._set_break_points(points, scope, now)
            case Bookmark(text):
                self._note(now, text, is_bookmark=True)
        self._ledger.watch = self._watch if self._breaker.is_armed else None

    def tell(self, now: datetime) -> None:
        """Write down why probes were paused, once."""
        stopped_by = self._breaker.stopped_by
        if stopped_by is self._told:
            return
        self._told = stopped_by
        if stopped_by is not None:
            self._note(now, f"paused: {stopped_by.text}")

    def forget_pod(self, pod_uid: str) -> None:
        """Drop what was said of a pod that is gone."""
        self._interventions.forget_pod(pod_uid)
        self._tries.forget_pod(pod_uid)

    def _watch(self, entry: Entry) -> None:
        if not self._probes.paused and self._breaker.look(entry):
            self._probes.pause()

    def _step(self, now: datetime) -> None:
        self._write_user(now, "step", "the next probe")
        before = self._look(now)
        sequence = self._ledger.sequence
        self._breaker.go_on()
        self._probes.pause()
        key = self._probes.step(now)
        if key is not None:
            self.last_step = LastStep(now, sequence, key, before)

    def _run_to_change(self, scope: Scope, now: datetime) -> None:
        target = Scope(scope.pod_uid, scope.container_name)
        self._write_user(now, "run to change", self._where(target))
        self.last_step = LastStep(now, self._ledger.sequence, None, self._look(now))
        self._breaker.go_on(target)
        self._ledger.watch = self._watch
        self._probes.resume(now)

    def _inject(
        self, key: ProbeKey, results: tuple[Injected, ...], now: datetime
    ) -> None:
        runs = [(each, len(tuple(run))) for each, run in groupby(results)]
        words = ", ".join(
            f"{each} x{count}" if count > 1 else each for each, count in runs
        )
        self._write_user(now, "inject", f"{self._probe(key)}: {words or 'nothing'}")
        self._interventions.injections.set(key, results)
        self._probes.changed_pods.add(key.pod_uid)

    def _delay(self, scope: Scope, delay: timedelta, now: datetime) -> None:
        target = self._where(scope)
        if delay < NO_DELAY:
            self._note(now, f"{target}: not delayed: less than nothing", is_fault=True)
            return
        self._write_user(
            now, "delay", f"{target}: {go_duration(delay) if delay else 'nothing'}"
        )
        self._interventions.delays.set(scope, delay)
        self._probes.changed_pods.update(self._pods)

    def _mute(self, word: str, scope: Scope, now: datetime, *, muted: bool) -> None:
        self._write_user(now, word, self._where(scope))
        self._interventions.muted.set(scope, muted)
        self._probes.apply_mutes()

    def _try(self, key: ProbeKey, now: datetime) -> None:
        self._write_user(now, "try", self._probe(key))
        pod = self._pods.get(key.pod_uid)
        refusal = (
            "there is no such pod"
            if pod is None
            else self._tries.begin(pod, key, self._statuses.get(pod.uid), now)
        )
        if refusal:
            self._note(now, f"{self._probe(key)}: not tried: {refusal}", is_fault=True)
        self._probes.changed_pods.add(key.pod_uid)

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
            self._note(now, text, is_fault=True)
            return
        timings = self._interventions.timings
        old = timings.get(key, Timing.of(manifest))
        new = timing or Timing.of(manifest)
        changes = ", ".join(
            f"{name} {before} -> {after}" for name, before, after in old.changes(new)
        )
        self._write_user(now, "edit", f"{probe}: {changes or 'no change'}")
        if new == Timing.of(manifest):
            timings.pop(key, None)
        else:
            timings[key] = new
        if changes:
            self._probes.retime(key, now)

    def _set_break_points(
        self, points: frozenset[BreakPoint], scope: Scope, now: datetime
    ) -> None:
        words = ", ".join(each for each in BreakPoint if each in points)
        self._write_user(now, "break", f"{self._where(scope)}: {words or 'nowhere'}")
        self._breaker.points.set(scope, points)
        self._probes.changed_pods.update(self._pods)

    # -- words

    def _probe(self, key: ProbeKey) -> str:
        return self._where(Scope.of(key))

    def _where(self, scope: Scope) -> str:
        """Say which probes are meant: `shop/web liveness`, `shop`, `all probes`."""
        if scope == EVERYTHING:
            return "all probes"
        pod = self._pods.get(scope.pod_uid)
        names = ("" if pod is None else pod.name, scope.container_name)
        where = "/".join(each for each in names if each)
        return f"{where} {(scope.probe_type or '').lower()}".strip()

    def _write_user(self, now: datetime, command: str, target: str) -> None:
        entry = UserEntry(self._ledger.next_sequence(), now, command, target)
        self._ledger.write(entry)

    def _note(
        self,
        now: datetime,
        text: str,
        *,
        is_fault: bool = False,
        is_bookmark: bool = False,
    ) -> None:
        sequence = self._ledger.next_sequence()
        self._ledger.write(NoteEntry(sequence, now, text, is_fault, is_bookmark))
