"""Evidence: what containers printed last, and what their lifecycle hooks did.

None of this is part of the kubelet: no decision waits for it or depends on it.
"""

from __future__ import annotations

from datetime import datetime

from msgspec.structs import replace

from probetui.engine.inputs import LastOutputRead
from probetui.k8s.probe import ProbeKey
from probetui.k8s.runtime import ContainerID
from probetui.kubelet.config import KubeletConfig
from probetui.kubelet.effects import ReadLastOutput, RunHook, RunOperation
from probetui.kubelet.facts import OperationFinished
from probetui.kubelet.journal import (
    ContainerEntry,
    HookEntry,
    HookType,
    LastOutputEntry,
    LifecycleStep,
    UnfinishedTickEntry,
)
from probetui.kubelet.prober.worker_loop import InFlight
from probetui.kubelet.runtime.turn import Turn, TurnBuilder


class EvidenceCollector:
    """Journals the last output of each instance and every hook; owned by the engine.

    Args:
        turn: collects effects and entries.
        config: selects whether anything is journaled.
    """

    def __init__(self, turn: TurnBuilder, config: KubeletConfig) -> None:
        self._turn = turn
        self._is_on = config.keeps_evidence
        self._exits: dict[ContainerID, ContainerEntry] = {}
        self._hooks: dict[int, HookEntry] = {}
        self._unfinished: dict[ProbeKey, datetime] = {}

    def on_turn(self, turn: Turn, now: datetime) -> None:
        """Journal hooks that start, and read the logs of instances that have exited."""
        if not self._is_on:
            return
        for effect in turn.effects:
            if isinstance(effect, RunOperation) and isinstance(
                effect.operation, RunHook
            ):
                self._start_hook(effect.operation_id, effect.operation, now)
        for entry in turn.entries:
            if isinstance(entry, ContainerEntry) and entry.what is LifecycleStep.EXITED:
                self._exits[entry.container_id] = entry
                self._turn.emit(ReadLastOutput(entry.container_id))

    def on_output_read(self, read: LastOutputRead, now: datetime) -> None:
        """Journal what an instance printed last, unless there is nothing to know."""
        exited = self._exits.pop(read.container_id, None)
        if exited is None or (read.lines is None and not read.problem):
            return
        self._turn.write(
            LastOutputEntry(
                self._turn.next_sequence(),
                now,
                exited.pod_uid,
                exited.container_name,
                exited.container_id,
                exited.restart_count,
                read.lines,
                read.message,
                read.problem,
            )
        )

    def on_operation_finished(self, finished: OperationFinished, now: datetime) -> None:
        """Journal the end of a hook, unless another operation has finished."""
        started = self._hooks.pop(finished.operation_id, None)
        if started is None:
            return
        output = finished.value if isinstance(finished.value, str) else ""
        self._turn.write(
            replace(
                started,
                sequence=self._turn.next_sequence(),
                at=now,
                ended_at=now,
                error=finished.error,
                output=output,
                peer=finished.peer,
            )
        )

    def on_probe_still_runs(self, flight: InFlight | None, now: datetime) -> None:
        """Journal once that a tick has not ended, unless it has meanwhile."""
        if flight is None:
            return
        key, started_at = flight.asked.key, flight.start.at
        if self._unfinished.get(key) == started_at:
            return
        self._unfinished[key] = started_at
        self._turn.write(
            UnfinishedTickEntry(
                self._turn.next_sequence(),
                now,
                key,
                flight.asked.container_id,
                started_at,
                flight.asked.probe.timeout_seconds,
            )
        )

    def forget_pod(self, pod_uid: str) -> None:
        """Forget a removed pod."""
        self._exits = {
            key: exited
            for key, exited in self._exits.items()
            if exited.pod_uid != pod_uid
        }
        self._hooks = {
            key: hook for key, hook in self._hooks.items() if hook.pod_uid != pod_uid
        }
        self._unfinished = {
            key: started_at
            for key, started_at in self._unfinished.items()
            if key.pod_uid != pod_uid
        }

    def _start_hook(self, operation_id: int, hook: RunHook, now: datetime) -> None:
        started = HookEntry(
            self._turn.next_sequence(),
            now,
            hook.pod.uid,
            hook.container.name,
            hook.container_id,
            HookType.PRE_STOP if hook.is_pre_stop else HookType.POST_START,
            now,
        )
        self._hooks[operation_id] = started
        self._turn.write(started)
