"""When to pause by itself: at break-points, and at the first change of anything."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from probetui.k8s.pod import Pod
from probetui.k8s.probe import ProbeKey, ProbeType
from probetui.kubelet.inputs import BreakPoint, ProbeFinished
from probetui.kubelet.journal import (
    BackoffEntry,
    ContainerEntry,
    Entry,
    Lifecycle,
    StateEntry,
    TickEntry,
    What,
)
from probetui.kubelet.outcome import Result
from probetui.kubelet.scope import Scope, Scoped
from probetui.kubelet.snapshot import StopReason
from probetui.kubelet.worker import Worker

_CHANGES = {What.RESULT, What.READY, What.HOLD}


class Breaker:
    """Says when to stop and why; owned by the engine.

    It looks at entries as they are written, so that nothing that is due at the same
    instant goes on after what it stopped at.

    Args:
        pods: the pods that are known, by UID; for their names.

    Attributes:
        points: what to stop at, and for which probes.
        target: where a change is run to, None unless one is.
        held: results that would kill and wait, oldest first.
        stopped_by: why it stopped, until probes go on.
    """

    __slots__ = ("_pods", "held", "points", "stopped_by", "target")

    def __init__(self, pods: Mapping[str, Pod]) -> None:
        self._pods = pods
        self.points: Scoped[frozenset[BreakPoint]] = Scoped(frozenset())
        self.target: Scope | None = None
        self.held: dict[ProbeKey, ProbeFinished] = {}
        self.stopped_by: StopReason | None = None

    @property
    def is_armed(self) -> bool:
        """Whether there is anything to stop at."""
        return self.target is not None or bool(self.points)

    def go_on(self, target: Scope | None = None) -> None:
        """Forget why it stopped; a `target` is where the next change is run to."""
        self.stopped_by = None
        self.target = target

    def holds_back(
        self, worker: Worker, result: Result, finished: ProbeFinished, now: datetime
    ) -> bool:
        """Keep a result that would kill where that is to be stopped at.

        A kill is one that a probe asks for; the end of a pod is not held up.
        """
        key = worker.key
        if BreakPoint.BEFORE_KILL not in self.points.of(Scope.of(key)):
            return False
        if not worker.would_kill(result):
            return False
        threshold = worker.threshold(Result.FAILURE)
        self.held[key] = finished
        self._stop(
            now,
            BreakPoint.BEFORE_KILL,
            key,
            f"before a kill: {self._probe(key)} has failed {threshold} times in a row",
        )
        return True

    def look(self, entry: Entry) -> bool:
        """Tell whether to pause because of an entry."""
        match entry:
            case TickEntry():
                self._look_at_tick(entry)
            case StateEntry() if entry.what in _CHANGES:
                self._look_at_state(entry)
            case ContainerEntry(what=Lifecycle.STARTED) if entry.restart_count:
                scope = Scope(entry.pod_uid, entry.container_name)
                self._changed(scope, entry.at, f"{self._name(scope)} has restarted")
            case BackoffEntry():
                scope = Scope(entry.pod_uid, entry.container_name)
                waits = "waits" if entry.waits else "does not wait"
                self._changed(scope, entry.at, f"{self._name(scope)} {waits} to start")
            case _:
                pass
        return self.stopped_by is not None

    def _look_at_tick(self, tick: TickEntry) -> None:
        if tick.result is not Result.FAILURE or tick.run != 1:
            return
        if BreakPoint.FIRST_FAILURE in self.points.of(Scope.of(tick.key)):
            text = f"first failure: {self._probe(tick.key)} has failed"
            self._stop(tick.at, BreakPoint.FIRST_FAILURE, tick.key, text)

    def _look_at_state(self, entry: StateEntry) -> None:
        scope = Scope(entry.pod_uid, entry.container_name)
        if entry.what is What.READY:
            is_ready = "ready" if entry.after == "true" else "not ready"
            text = f"change of readiness: {self._name(scope)} is {is_ready}"
            if BreakPoint.READINESS in self.points.of(scope):
                self._stop(entry.at, BreakPoint.READINESS, _readiness(scope), text)
        else:
            before = entry.before or "none"
            what = f"{entry.subject.lower()} {entry.what}"
            text = f"{self._name(scope)} {what} {before} -> {entry.after}"
        self._changed(scope, entry.at, text)

    def _changed(self, scope: Scope, at: datetime, text: str) -> None:
        if self.target is not None and self.target.includes(scope):
            self._stop(at, None, None, text)

    def _stop(
        self, at: datetime, point: BreakPoint | None, key: ProbeKey | None, text: str
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


def _readiness(scope: Scope) -> ProbeKey:
    return ProbeKey(scope.pod_uid, scope.container_name, ProbeType.READINESS)
