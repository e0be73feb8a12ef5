"""Breakpoints and run to change: what pauses probes automatically."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from msgspec import Struct

from probetui.debugger.commands import BreakpointKind
from probetui.debugger.scope import Scope, ScopedSetting
from probetui.k8s.pod import Pod
from probetui.k8s.probe import ProbeKey, ProbeType
from probetui.kubelet.journal import (
    BackoffEntry,
    ContainerEntry,
    JournalEntry,
    LifecycleStep,
    StateEntry,
    StateField,
    TickEntry,
)
from probetui.kubelet.outcome import Result
from probetui.kubelet.prober.worker import Worker

_CHANGES = {StateField.RESULT, StateField.READY, StateField.HOLD}


class StopReason(Struct, frozen=True):
    """Why probes were paused automatically.

    `point` is None where a change was run to. `text` is a sentence without its stop.
    """

    at: datetime
    point: BreakpointKind | None
    key: ProbeKey | None
    text: str


class Breakpoints:
    """Decides when and why to pause; owned by the overrides.

    It checks entries as they are written, so that nothing due at the same instant runs
    after the entry that triggered the stop.

    Args:
        pods: the pods that are known, by UID; for their names.

    Attributes:
        points: what to stop at, and for which probes.
        target: where a change is run to, None unless one is.
        stopped_by: why it stopped, until probes resume.
    """

    __slots__ = ("_pods", "points", "stopped_by", "target")

    def __init__(self, pods: Mapping[str, Pod]) -> None:
        self._pods = pods
        self.points: ScopedSetting[frozenset[BreakpointKind]] = ScopedSetting(
            frozenset()
        )
        self.target: Scope | None = None
        self.stopped_by: StopReason | None = None

    @property
    def is_armed(self) -> bool:
        """Whether a breakpoint or a run to change is set."""
        return self.target is not None or bool(self.points)

    def clear_stop(self, target: Scope | None = None) -> None:
        """Clear the stop reason; `target` is the scope of the next run to change."""
        self.stopped_by = None
        self.target = target

    def stops_before_kill(self, worker: Worker, result: Result, now: datetime) -> bool:
        """Return whether to stop before a result that would kill is recorded.

        A kill is one that a probe asks for; the end of a pod is not held up.
        """
        key = worker.key
        if BreakpointKind.BEFORE_KILL not in self.points.of(Scope.of(key)):
            return False
        if not worker.would_kill(result):
            return False
        threshold = worker.threshold(Result.FAILURE)
        self._stop(
            now,
            BreakpointKind.BEFORE_KILL,
            key,
            f"before a kill: {self._probe(key)} has failed {threshold} times in a row",
        )
        return True

    def should_pause(self, entry: JournalEntry) -> bool:
        """Return whether to pause because of an entry."""
        match entry:
            case TickEntry():
                self._check_tick(entry)
            case StateEntry() if entry.what in _CHANGES:
                self._check_state(entry)
            case ContainerEntry(what=LifecycleStep.STARTED) if entry.restart_count:
                scope = Scope(entry.pod_uid, entry.container_name)
                self._changed(scope, entry.at, f"{self._name(scope)} has restarted")
            case BackoffEntry():
                scope = Scope(entry.pod_uid, entry.container_name)
                waits = "waits" if entry.waits else "does not wait"
                self._changed(scope, entry.at, f"{self._name(scope)} {waits} to start")
            case _:
                pass
        return self.stopped_by is not None

    def _check_tick(self, tick: TickEntry) -> None:
        if tick.result is not Result.FAILURE or tick.run.count != 1:
            return
        if BreakpointKind.FIRST_FAILURE in self.points.of(Scope.of(tick.key)):
            text = f"first failure: {self._probe(tick.key)} has failed"
            self._stop(tick.at, BreakpointKind.FIRST_FAILURE, tick.key, text)

    def _check_state(self, entry: StateEntry) -> None:
        scope = Scope(entry.pod_uid, entry.container_name)
        if entry.what is StateField.READY:
            is_ready = "ready" if entry.after == "true" else "not ready"
            text = f"readiness changed: {self._name(scope)} is {is_ready}"
            if BreakpointKind.READINESS in self.points.of(scope):
                key = ProbeKey(scope.pod_uid, scope.container_name, ProbeType.READINESS)
                self._stop(entry.at, BreakpointKind.READINESS, key, text)
        else:
            before = entry.before or "none"
            what = f"{entry.subject.lower()} {entry.what}"
            text = f"{self._name(scope)} {what} {before} -> {entry.after}"
        self._changed(scope, entry.at, text)

    def _changed(self, scope: Scope, at: datetime, text: str) -> None:
        if self.target is not None and self.target.includes(scope):
            self._stop(at, None, None, text)

    def _stop(
        self,
        at: datetime,
        point: BreakpointKind | None,
        key: ProbeKey | None,
        text: str,
    ) -> None:
        if self.stopped_by is None:
            self.stopped_by = StopReason(at, point, key, text)
        self.target = None

    def _probe(self, key: ProbeKey) -> str:
        return f"the {key.probe_type.lower()} probe of {self._name(Scope.of(key))}"

    def _name(self, scope: Scope) -> str:
        pod = self._pods.get(scope.pod_uid)
        name = scope.container_name
        return name if pod is None else f"{pod.name}/{name}"
