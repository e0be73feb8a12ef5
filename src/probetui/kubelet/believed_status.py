"""What the results of probes mean for a pod's status.

Source: prober/prober_manager.go, v1.32.10, UpdatePodStatus.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from probetui.k8s.pod import Container, Pod
from probetui.k8s.probe import ProbeKey, ProbeType
from probetui.k8s.runtime import parse_container_id
from probetui.k8s.status import ContainerStatus, PodStatus, Running, Terminated
from probetui.kubelet.journal import Trigger
from probetui.kubelet.outcome import Result
from probetui.kubelet.results import ResultsManager


class BelievedStatus:
    """Fills in what only the prober knows; owned by the probe manager.

    Args:
        results: what the probes of each type have found.
        has_worker: whether a probe is being run.
        trigger: has a probe run at once.
    """

    def __init__(
        self,
        results: Mapping[ProbeType, ResultsManager],
        *,
        has_worker: Callable[[ProbeKey], bool],
        trigger: Callable[[ProbeKey, Trigger], bool],
    ) -> None:
        self._results = results
        self._has_worker = has_worker
        self._trigger = trigger

    def fill_in(self, pod: Pod, status: PodStatus) -> PodStatus:
        """Return the status with `started` and `ready` of its containers filled in.

        A started container that is not ready, and has a readiness worker, makes that
        worker probe at once.

        Source: prober_manager.go, v1.32.10, UpdatePodStatus.
        """
        regular = tuple(
            self._with_readiness(pod.uid, self._with_started(pod.uid, each))
            for each in status.container_statuses or ()
        )
        init = tuple(
            self._of_init(pod, index, self._with_started(pod.uid, each))
            for index, each in enumerate(status.init_container_statuses or ())
        )
        return replace(
            status,
            container_statuses=None if status.container_statuses is None else regular,
            init_container_statuses=(
                None if status.init_container_statuses is None else init
            ),
        )

    def _with_started(self, pod_uid: str, status: ContainerStatus) -> ContainerStatus:
        if not isinstance(status.state, Running):
            started = False
        else:
            believed = self._results[ProbeType.STARTUP].get(
                parse_container_id(status.container_id)
            )
            if believed is not None:
                started = believed is Result.SUCCESS
            else:
                key = ProbeKey(pod_uid, status.name, ProbeType.STARTUP)
                started = not self._has_worker(key)
        return status if status.started is started else replace(status, started=started)

    def _with_readiness(self, pod_uid: str, status: ContainerStatus) -> ContainerStatus:
        if not status.started:
            return status
        believed = self._results[ProbeType.READINESS].get(
            parse_container_id(status.container_id)
        )
        key = ProbeKey(pod_uid, status.name, ProbeType.READINESS)
        if believed is Result.SUCCESS:
            ready = True
        elif self._has_worker(key):
            ready = False
            self._trigger(key, Trigger.READINESS)
        else:
            ready = True
        return status if status.ready is ready else replace(status, ready=ready)

    def _of_init(
        self, pod: Pod, index: int, status: ContainerStatus
    ) -> ContainerStatus:
        """Return an init container's status with `ready` filled in.

        Quirk, kept: the container is looked up by its place in the list.
        """
        spec: Container | None = None
        if index < len(pod.init_containers):
            spec = pod.init_containers[index]
        if spec is None or spec.name != status.name:
            return status
        if spec.is_sidecar:
            return self._with_readiness(pod.uid, status)
        if isinstance(status.state, Terminated) and status.state.exit_code == 0:
            return replace(status, ready=True)
        return status
