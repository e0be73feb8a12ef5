"""Freeze containers while probes are paused."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime

from probetui.debugger.active_faults import ActiveFaults
from probetui.debugger.commands import (
    DryRunProbe,
    InjectContainerFault,
    ResumeProbes,
    RunToChange,
    StepProbe,
)
from probetui.k8s.pod import Pod
from probetui.k8s.runtime import ContainerID, RuntimeState
from probetui.kubelet.effects import Fault, InjectFault
from probetui.kubelet.kubelet import Kubelet

LetsProbesRun = ResumeProbes | RunToChange | StepProbe | DryRunProbe


class Freezer:
    """Freezes running containers during a pause, and unfreezes them before a probe.

    A probe of a frozen container would be meaningless: runtimes refuse commands in it.
    So commands that run probes are deferred until containers are unfrozen, and the
    containers are frozen again after the probes. A container that the user froze stays
    frozen, and one that the user unfroze keeps running. A container is frozen only
    while no other operation, such as a hook, runs for its pod, and is unfrozen before
    it is stopped. Owned by the engine.

    Args:
        kubelet: whose containers they are.
        faults: the containers that are frozen already.
        inject: asks for a fault.
    """

    def __init__(
        self,
        kubelet: Kubelet,
        faults: ActiveFaults,
        inject: Callable[[InjectContainerFault, datetime], None],
    ) -> None:
        self._kubelet = kubelet
        self._faults = faults
        self._inject = inject
        self._frozen: set[ContainerID] = set()
        self._thawing: set[ContainerID] = set()
        self._deferred: list[LetsProbesRun] = []
        self._is_asked_again = False

    def defers(self, command: object) -> bool:
        """Defer a command that runs probes until containers are unfrozen.

        A second command does not wait, as an unfreeze may never finish.
        """
        if not isinstance(command, LetsProbesRun):
            return False
        if not (self._frozen or self._thawing or self._deferred):
            return False
        self._is_asked_again = bool(self._deferred)
        self._deferred.append(command)
        return True

    def follow(self, now: datetime, *, is_still: bool) -> tuple[LetsProbesRun, ...]:
        """Freeze or unfreeze containers; return the deferred commands that are due.

        Args:
            now: the instant.
            is_still: probes are paused, and none of them is under way.
        """
        is_still = is_still and not self._deferred
        running = {instance[-1]: instance for instance in self._running()}
        self._frozen &= running.keys()
        for pod, name, container_id in running.values():
            uid = pod.uid
            wants = (
                is_still
                and self._kubelet.runtime.lifecycle.stopping_of(container_id) is None
            )
            if container_id in self._frozen and not wants:
                self._frozen.discard(container_id)
                self._thawing.add(container_id)
                self._inject(InjectContainerFault(uid, name, Fault.UNFREEZE), now)
            elif wants and self._may_freeze(uid, container_id):
                self._frozen.add(container_id)
                self._inject(InjectContainerFault(uid, name, Fault.FREEZE), now)
        self._thawing = {
            container_id
            for container_id in self._thawing & running.keys()
            if self._is_changing(running[container_id][0].uid, container_id)
        }
        if not self._deferred or (self._thawing and not self._is_asked_again):
            return ()
        deferred, self._deferred = tuple(self._deferred), []
        return deferred

    def _may_freeze(self, pod_uid: str, container_id: ContainerID) -> bool:
        is_frozen = self._faults.frozen_since(container_id) is not None
        if is_frozen or container_id in self._frozen:
            return False
        operations = self._kubelet.runner.operations(pod_uid).values()
        return all(isinstance(operation, InjectFault) for operation in operations)

    def _is_changing(self, pod_uid: str, container_id: ContainerID) -> bool:
        """Return whether a container is frozen, or is being frozen or unfrozen."""
        return self._faults.frozen_since(container_id) is not None or any(
            isinstance(operation, InjectFault)
            and operation.container_id == container_id
            for operation in self._kubelet.runner.operations(pod_uid).values()
        )

    def _running(self) -> Iterator[tuple[Pod, str, ContainerID]]:
        for pod in self._kubelet.pods.values():
            status = self._kubelet.cache.get(pod.uid)
            for container in pod.all_containers():
                instance = status.newest(container.name)
                if instance is not None and instance.state is RuntimeState.RUNNING:
                    yield pod, container.name, instance.container_id
