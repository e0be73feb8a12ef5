"""Active faults: frozen containers, and pods without a network."""

from __future__ import annotations

from datetime import datetime

from probetui.k8s.runtime import ContainerID
from probetui.kubelet.effects import Fault
from probetui.kubelet.pleg.pleg import PodCache


class ActiveFaults:
    """Start times of freezes and network cuts; owned by the engine.

    The next instance of a container is not frozen. It is cut off if it is in the
    sandbox that was: a new sandbox has a network of its own.

    Args:
        cache: what the runtime has.
        shares_network: the containers of a pod are in the network of its sandbox; else
            each has its own, which it finds again when it is started again.
    """

    def __init__(self, cache: PodCache, *, shares_network: bool) -> None:
        self._cache = cache
        self._shares_network = shares_network
        self._frozen: dict[ContainerID, datetime] = {}
        self._cut_off: dict[str, datetime] = {}

    def record_fault(
        self,
        fault: Fault,
        pod_uid: str,
        container_id: ContainerID,
        now: datetime,
    ) -> None:
        """Record that a fault was injected or removed."""
        match fault:
            case Fault.FREEZE:
                self._frozen.setdefault(container_id, now)
            case Fault.UNFREEZE:
                self._frozen.pop(container_id, None)
            case Fault.CUT_NETWORK:
                network = self._network_of(pod_uid, container_id)
                self._cut_off.setdefault(network, now)
            case Fault.RESTORE_NETWORK:
                self._cut_off.pop(self._network_of(pod_uid, container_id), None)
            case Fault.STOP | Fault.KILL:
                pass  # the runtime reports what has ended

    def frozen_since(self, container_id: ContainerID) -> datetime | None:
        """Return since when an instance is frozen, None if it is not."""
        return self._frozen.get(container_id)

    def cut_off_since(self, pod_uid: str, container_id: ContainerID) -> datetime | None:
        """Return since when an instance is without a network, None if it is not."""
        if not self._cut_off:
            return None
        return self._cut_off.get(self._network_of(pod_uid, container_id))

    def _network_of(self, pod_uid: str, container_id: ContainerID) -> str:
        sandboxes = self._cache.get(pod_uid).sandboxes
        if self._shares_network and sandboxes:
            return sandboxes[0].sandbox_id
        return container_id
