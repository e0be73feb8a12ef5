"""What is only told where this kubelet does not act, and not done.

A kubelet always acts. Here it may be told to watch: containers of others, or our own
while somebody looks on. What it decides stays the same and is written into the
journal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime

from probetui.k8s.pod import Container, Pod
from probetui.k8s.runtime import ContainerID, RuntimeContainerStatus, RuntimePodStatus
from probetui.kubelet.config import KubeletConfig
from probetui.kubelet.grace_period import KillReason, termination_grace_period
from probetui.kubelet.journal import By, Lifecycle
from probetui.kubelet.lifetimes import Lifetimes
from probetui.kubelet.reason_cache import StartFailure

NOT_RUNNING = "NotRunning"
GONE = "Gone"

_PROBES = frozenset({KillReason.LIVENESS_PROBE, KillReason.STARTUP_PROBE})


class Restraint:
    """Says what may be done, and tells what is left undone; owned by the engine.

    Args:
        config: says what is carried out.
        lifetimes: who is told.
        spare: lets the probes of a container begin anew that is not killed.
    """

    def __init__(
        self,
        config: KubeletConfig,
        lifetimes: Lifetimes,
        spare: Callable[[ContainerID, datetime], None],
    ) -> None:
        self._config = config
        self._lifetimes = lifetimes
        self._spare = spare
        self._told: set[tuple[ContainerID, Lifecycle]] = set()
        self._seen: set[tuple[str, str]] = set()

    @property
    def kills(self) -> bool:
        """Whether containers may be stopped that nobody asked to delete."""
        return self._config.kills

    def look_at(self, pod: Pod, status: RuntimePodStatus) -> None:
        """Remember which containers have been there."""
        self._seen.update((pod.uid, each.name) for each in status.containers)

    def may_start(self, newest: RuntimeContainerStatus | None) -> bool:
        """Tell whether a container may be started: for the first time, or again."""
        return self._config.creates if newest is None else self._config.restarts

    def tell_stop(
        self,
        pod: Pod,
        instance: RuntimeContainerStatus,
        by: By,
        now: datetime,
        *,
        why: str = "",
        reason: KillReason = KillReason.NONE,
    ) -> None:
        """Tell of a container that would be stopped.

        What a probe demands it can demand again; all else is told once.
        """
        container = pod.container(instance.name)
        told = (instance.container_id, Lifecycle.WOULD_STOP)
        is_probe = reason in _PROBES
        if container is None or (told in self._told and not is_probe):
            return
        self._told.add(told)
        grace = termination_grace_period(pod, container, reason)
        self._lifetimes.would_stop(pod, instance, by, grace, why, now)
        if is_probe:
            self._spare(instance.container_id, now)

    def tell_stops(
        self, pod: Pod, running: Iterable[RuntimeContainerStatus], by: By, now: datetime
    ) -> None:
        """Tell of all containers of a pod that would be stopped with it."""
        for each in running:
            self.tell_stop(pod, each, by, now)

    def tell_start(
        self,
        pod: Pod,
        container: Container,
        newest: RuntimeContainerStatus | None,
        now: datetime,
    ) -> StartFailure | None:
        """Tell of a container that would be started; return why it waits instead."""
        if newest is None:
            if (pod.uid, container.name) in self._seen:
                return StartFailure(GONE, "it has vanished; waiting for another one")
            return StartFailure(NOT_RUNNING, "no such container; waiting for one")
        told = (newest.container_id, Lifecycle.WOULD_START)
        if told not in self._told:
            self._told.add(told)
            self._lifetimes.would_start(pod, newest, now)
        return None

    def forget_pod(self, pod_uid: str) -> None:
        """Drop what is kept of a pod that is gone."""
        self._seen = {each for each in self._seen if each[0] != pod_uid}
