"""Containers that stand still while probes are paused, so that nothing goes on."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime

from probetui.k8s.pod import Pod
from probetui.k8s.runtime import ContainerID, RuntimeState
from probetui.kubelet.disrupted import Disrupted
from probetui.kubelet.effects import Disrupt, Disruption
from probetui.kubelet.inputs import (
    Command,
    DisruptContainer,
    ResumeProbes,
    RunToChange,
    StepProbe,
    TryProbe,
)
from probetui.kubelet.lifetimes import Lifetimes
from probetui.kubelet.pleg import PodCache
from probetui.kubelet.routine import Runner

LetsProbesRun = ResumeProbes | RunToChange | StepProbe | TryProbe


class Freezer:
    """Freezes whatever runs during a pause, and lets go of it before a probe runs.

    A probe of what stands still would say nothing: runtimes refuse commands in it. So
    what lets probes run is held until containers go on, and they stand still again when
    the probes are over. What a person has frozen stays frozen, and what a person lets
    go goes on. A container is frozen once nothing else is being done for its pod, such
    as a hook, and let go when it is to be stopped. Owned by the engine.

    Args:
        pods: the pods that are known, by UID.
        cache: what the runtime has.
        disrupted: what stands still already.
        runner: what is being done for pods.
        lifetimes: what is being stopped.
        disrupt: asks for it.
    """

    def __init__(
        self,
        pods: Mapping[str, Pod],
        cache: PodCache,
        disrupted: Disrupted,
        runner: Runner,
        lifetimes: Lifetimes,
        disrupt: Callable[[DisruptContainer, datetime], None],
    ) -> None:
        self._pods = pods
        self._cache = cache
        self._disrupted = disrupted
        self._runner = runner
        self._lifetimes = lifetimes
        self._disrupt = disrupt
        self._frozen: set[ContainerID] = set()
        self._thawing: set[ContainerID] = set()
        self._held: list[LetsProbesRun] = []
        self._is_asked_again = False

    def holds(self, command: Command) -> bool:
        """Keep a command back that lets probes run, until containers go on.

        Who asks again does not want to wait for what may never come.
        """
        if not isinstance(command, LetsProbesRun):
            return False
        if not (self._frozen or self._thawing or self._held):
            return False
        self._is_asked_again = bool(self._held)
        self._held.append(command)
        return True

    def follow(self, now: datetime, *, is_still: bool) -> tuple[LetsProbesRun, ...]:
        """Let containers stand still or go on; return what was held long enough.

        Args:
            now: the instant.
            is_still: probes are paused, and none of them is under way.
        """
        is_still = is_still and not self._held
        running = {each[-1]: each for each in self._running()}
        self._frozen &= running.keys()
        for pod, name, container_id in running.values():
            uid = pod.uid
            wants = is_still and self._lifetimes.stopping_of(container_id) is None
            if container_id in self._frozen and not wants:
                self._frozen.discard(container_id)
                self._thawing.add(container_id)
                self._disrupt(DisruptContainer(uid, name, Disruption.UNFREEZE), now)
            elif wants and self._may_begin(uid, container_id):
                self._frozen.add(container_id)
                self._disrupt(DisruptContainer(uid, name, Disruption.FREEZE), now)
        self._thawing = {
            each
            for each in self._thawing & running.keys()
            if self._is_moved(running[each][0].uid, each)
        }
        if not self._held or (self._thawing and not self._is_asked_again):
            return ()
        held, self._held = tuple(self._held), []
        return held

    def _may_begin(self, pod_uid: str, container_id: ContainerID) -> bool:
        is_frozen = self._disrupted.frozen_since(container_id) is not None
        if is_frozen or container_id in self._frozen:
            return False
        operations = self._runner.operations(pod_uid).values()
        return all(isinstance(each, Disrupt) for each in operations)

    def _is_moved(self, pod_uid: str, container_id: ContainerID) -> bool:
        """Tell whether a container stands still, or is being frozen or let go."""
        return self._disrupted.frozen_since(container_id) is not None or any(
            isinstance(each, Disrupt) and each.container_id == container_id
            for each in self._runner.operations(pod_uid).values()
        )

    def _running(self) -> Iterator[tuple[Pod, str, ContainerID]]:
        for pod in self._pods.values():
            status = self._cache.get(pod.uid)
            for container in pod.all_containers():
                instance = status.newest(container.name)
                if instance is not None and instance.state is RuntimeState.RUNNING:
                    yield pod, container.name, instance.container_id
