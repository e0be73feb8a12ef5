"""The results manager: stored results by container, and a queue of changes.

Source: prober/results/results_manager.go, v1.32.10.
"""

from __future__ import annotations

from msgspec import Struct

from probetui.k8s.probe import ProbeType
from probetui.k8s.runtime import ContainerID
from probetui.kubelet.outcome import Result


class ResultUpdate(Struct, frozen=True):
    """A new or changed stored result."""

    container_id: ContainerID
    result: Result
    pod_uid: str


class ResultsManager:
    """Stored results of one probe type, by container ID; owned by the probe manager.

    Difference: the kubelet's channel holds 20 updates and makes a setter wait; here
    the queue is drained after every input and never fills.
    """

    __slots__ = ("_results", "probe_type", "updates")

    def __init__(self, probe_type: ProbeType) -> None:
        self.probe_type = probe_type
        self._results: dict[ContainerID, Result] = {}
        self.updates: list[ResultUpdate] = []
        """Changes since the last `take_updates`, oldest first."""

    def get(self, container_id: ContainerID) -> Result | None:
        """Return the stored result, None if there is none."""
        return self._results.get(container_id)

    def set(self, container_id: ContainerID, result: Result, pod_uid: str) -> None:
        """Store a result; queue an update if it changed."""
        if self._results.get(container_id) is result:
            return
        self._results[container_id] = result
        self.updates.append(ResultUpdate(container_id, result, pod_uid))

    def remove(self, container_id: ContainerID) -> None:
        """Forget a container, without an update."""
        self._results.pop(container_id, None)

    def take_updates(self) -> tuple[ResultUpdate, ...]:
        """Return the updates since the last call, oldest first, and forget them."""
        updates = tuple(self.updates)
        self.updates.clear()
        return updates
