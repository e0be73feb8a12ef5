"""Watch-only mode: journal an action instead of performing it.

A kubelet always acts. In this mode it only watches: other programs' containers, or its
own while the user inspects them. Its decisions stay the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from probetui.k8s.pod import Container, Pod
from probetui.k8s.probe import ProbeKey
from probetui.k8s.runtime import (
    ContainerID,
    RuntimeContainerStatus,
    RuntimePodStatus,
    RuntimeState,
)
from probetui.kubelet.config import KubeletConfig
from probetui.kubelet.journal import ExitCause, LifecycleStep, StateEntry, StateField
from probetui.kubelet.kuberuntime.action_policy import ActionPolicy
from probetui.kubelet.kuberuntime.container_lifecycle import ContainerLifecycle
from probetui.kubelet.kuberuntime.grace_period import (
    KillReason,
    termination_grace_period,
)
from probetui.kubelet.kuberuntime.reason_cache import StartFailure
from probetui.kubelet.outcome import Result
from probetui.kubelet.prober.prober_manager import ProbeManager
from probetui.kubelet.runtime.turn import TurnBuilder

NOT_RUNNING = "NotRunning"
GONE = "Gone"

_PROBES = frozenset({KillReason.LIVENESS_PROBE, KillReason.STARTUP_PROBE})


class WatchOnlyPolicy(ActionPolicy):
    """Journals what it does not allow; owned by the engine.

    Args:
        config: selects the actions that are carried out.
        lifecycle: where suppressed actions are journaled.
        probes: the workers to reset for a container that is not killed.
        turn: where journal entries go.
    """

    def __init__(
        self,
        config: KubeletConfig,
        lifecycle: ContainerLifecycle,
        probes: ProbeManager,
        turn: TurnBuilder,
    ) -> None:
        self._config = config
        self._lifecycle = lifecycle
        self._probes = probes
        self._turn = turn
        self._journaled: set[tuple[ContainerID, LifecycleStep]] = set()
        self._seen: set[tuple[str, str]] = set()

    def register_containers(self, pod: Pod, status: RuntimePodStatus) -> None:
        """Record which containers have existed."""
        self._seen.update((pod.uid, instance.name) for instance in status.containers)

    def may_kill(
        self,
        pod: Pod,
        running: Sequence[RuntimeContainerStatus],
        by: ExitCause,
        now: datetime,
        *,
        reason: KillReason = KillReason.NONE,
        message: str = "",
    ) -> bool:
        """Allow kills of stopped containers; journal the kills of running ones.

        Kills by probes can repeat; others are journaled once.
        """
        if self._config.kills:
            return True
        for instance in running:
            container = pod.container(instance.name)
            entry = (instance.container_id, LifecycleStep.WOULD_STOP)
            is_probe = reason in _PROBES
            if container is None or (entry in self._journaled and not is_probe):
                continue
            self._journaled.add(entry)
            grace = termination_grace_period(pod, container, reason)
            self._lifecycle.would_stop(pod, instance, by, grace, message, now)
            if is_probe:
                self._reset_suppressed_kill(instance.container_id, now)
        return not running

    def may_start(self, newest: RuntimeContainerStatus | None) -> bool:
        """Allow a first start if containers are created, a restart if restarted."""
        return self._config.creates if newest is None else self._config.restarts

    def withhold_start(
        self,
        pod: Pod,
        container: Container,
        newest: RuntimeContainerStatus | None,
        now: datetime,
    ) -> StartFailure | None:
        """Journal a restart once; return why a missing container waits."""
        if newest is None:
            if (pod.uid, container.name) in self._seen:
                return StartFailure(GONE, "it has vanished; waiting for another one")
            return StartFailure(NOT_RUNNING, "no such container; waiting for one")
        entry = (newest.container_id, LifecycleStep.WOULD_START)
        if newest.state is not RuntimeState.RUNNING and entry not in self._journaled:
            self._journaled.add(entry)
            self._lifecycle.record_step(
                pod.uid,
                newest.name,
                newest.container_id,
                newest.restart_count + 1,
                LifecycleStep.WOULD_START,
                now,
            )
        return None

    def forget_pod(self, pod_uid: str) -> None:
        """Forget a removed pod."""
        self._seen = {key for key in self._seen if key[0] != pod_uid}

    def _reset_suppressed_kill(self, container_id: ContainerID, now: datetime) -> None:
        """Reset the workers that wanted a container killed.

        Difference: where the kubelet only watches, a container that it would have
        killed is probed on, as the next one would be.
        """
        for key, loop in self._probes.scheduler.loops.items():
            worker = loop.worker
            results = self._probes.results[key.probe_type]
            if worker.container_id != container_id or not worker.on_hold:
                continue
            if results.get(container_id) is not Result.FAILURE:
                continue
            results.set(container_id, worker.initial_result, key.pod_uid)
            worker.on_hold = False
            after = str(worker.initial_result)
            self._write_change(key, StateField.RESULT, "Failure", after, now)
            self._write_change(key, StateField.HOLD, "on", "off", now)
            self._probes.scheduler.changed_pods.add(key.pod_uid)

    def _write_change(
        self, key: ProbeKey, field: StateField, before: str, after: str, now: datetime
    ) -> None:
        sequence = self._turn.next_sequence()
        self._turn.write(StateEntry(sequence, now, *key, field, before, after))
