"""Containers that stand still while probes are paused, so that nothing goes on."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime

from probetui.k8s.pod import Pod
from probetui.k8s.runtime import ContainerID, RuntimeState
from probetui.kubelet.disrupted import Disrupted
from probetui.kubelet.effects import Disruption
from probetui.kubelet.inputs import DisruptContainer
from probetui.kubelet.pleg import PodCache


class Freezer:
    """Freezes whatever runs during a pause, and lets go of that after it.

    What a person has frozen stays frozen. Owned by the engine.

    Args:
        pods: the pods that are known, by UID.
        cache: what the runtime has.
        disrupted: what stands still already.
        disrupt: asks for it.
    """

    def __init__(
        self,
        pods: Mapping[str, Pod],
        cache: PodCache,
        disrupted: Disrupted,
        disrupt: Callable[[DisruptContainer, datetime], None],
    ) -> None:
        self._pods = pods
        self._cache = cache
        self._disrupted = disrupted
        self._disrupt = disrupt
        self._frozen: set[ContainerID] = set()

    def follow(self, now: datetime, *, is_paused: bool) -> None:
        """Let containers stand still or go on, as probes do; new ones too."""
        if not is_paused and not self._frozen:
            return
        word = Disruption.FREEZE if is_paused else Disruption.UNFREEZE
        for pod, name, container_id in tuple(self._running()):
            if is_paused and not self._is_frozen(container_id):
                self._frozen.add(container_id)
            elif is_paused or container_id not in self._frozen:
                continue
            self._disrupt(DisruptContainer(pod.uid, name, word), now)
        if not is_paused:
            self._frozen.clear()

    def _is_frozen(self, container_id: ContainerID) -> bool:
        is_by_hand = self._disrupted.frozen_since(container_id) is not None
        return container_id in self._frozen or is_by_hand

    def _running(self) -> Iterator[tuple[Pod, str, ContainerID]]:
        for pod in self._pods.values():
            status = self._cache.get(pod.uid)
            for container in pod.all_containers():
                instance = status.newest(container.name)
                if instance is not None and instance.state is RuntimeState.RUNNING:
                    yield pod, container.name, instance.container_id
