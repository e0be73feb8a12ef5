"""Getting rid of what is over: dead instances, ended pods, pods nobody knows.

Source: kubelet_pods.go, kuberuntime_gc.go, pod_container_deletor.go, v1.32.10.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime

from probetui.k8s.pod import Container, Pod, RestartPolicy
from probetui.k8s.runtime import ContainerID, RuntimePodStatus, RuntimeState
from probetui.kubelet.effects import (
    RemoveContainer,
    RemovePodSandbox,
    StopPodSandbox,
)
from probetui.kubelet.garbage import surplus_instances
from probetui.kubelet.pod_update import PodUpdate, UpdateType
from probetui.kubelet.pod_worker import PodWorkers
from probetui.kubelet.routine import Routine, Runner

ORPHAN_GRACE_PERIOD_SECONDS = 1


class Disposer:
    """Starts the routines that remove things; owned by the engine.

    Args:
        runner: carries the routines.
        workers: end what still runs of a pod that nobody knows.
        kept: how many dead instances of each container stay.
        forget: told of a pod of which nothing is left, and since when.
    """

    def __init__(
        self,
        runner: Runner,
        workers: PodWorkers,
        kept: int,
        forget: Callable[[str, datetime], None],
    ) -> None:
        self._runner = runner
        self._workers = workers
        self._kept = kept
        self._forget = forget
        self._removing: set[str] = set()
        self._removing_containers: set[ContainerID] = set()

    def remove_content(
        self, pod_uid: str, status: RuntimePodStatus | None, now: datetime
    ) -> None:
        """Remove all that the runtime has of a pod that is over, then forget it.

        What fails is tried again at the next housekeeping.
        """
        if pod_uid in self._removing:
            return
        self._removing.add(pod_uid)

        def done(error: str | None, at: datetime) -> None:
            self._removing.discard(pod_uid)
            if error is None:
                self._forget(pod_uid, at)

        self._runner.start(
            pod_uid, _remove_all(status or RuntimePodStatus(pod_uid)), done, now
        )

    def remove_surplus(
        self, status: RuntimePodStatus, names: Iterable[str], now: datetime
    ) -> None:
        """Remove the dead instances of these containers but the newest ones."""
        ids = tuple(
            each.container_id
            for name in names
            for each in surplus_instances(status, name, self._kept)
            if each.container_id not in self._removing_containers
        )
        if not ids:
            return
        self._removing_containers.update(ids)

        def done(_result: None, _at: datetime) -> None:
            self._removing_containers.difference_update(ids)

        self._runner.start(status.pod_uid, _remove_containers(ids), done, now)

    def end_orphans(
        self,
        in_runtime: Mapping[str, RuntimePodStatus],
        known: Mapping[str, Pod],
        now: datetime,
    ) -> None:
        """Kill what runs of pods that nobody knows; remove them once nothing runs."""
        for uid, status in tuple(in_runtime.items()):
            if uid in known or self._workers.knows(uid):
                continue
            if any(each.state is RuntimeState.RUNNING for each in status.containers):
                self._workers.update(
                    PodUpdate(
                        UpdateType.KILL,
                        orphan_pod(status),
                        is_runtime_only=True,
                        grace_period_override=ORPHAN_GRACE_PERIOD_SECONDS,
                    ),
                    now,
                )
            else:
                self.remove_content(uid, status, now)


def orphan_pod(status: RuntimePodStatus) -> Pod:
    """Return what can be made out of a pod of which only the runtime knows."""
    names = dict.fromkeys(each.name for each in status.containers)
    return Pod(
        status.pod_uid,
        status.name,
        status.namespace or "default",
        restart_policy=RestartPolicy.NEVER,
        containers=tuple(Container(name) for name in names),
    )


def _remove_all(status: RuntimePodStatus) -> Routine[str | None]:
    """Remove containers, then sandboxes; return the last error there was."""
    error = None
    for container in status.containers:
        removed = yield RemoveContainer(container.container_id)
        error = removed.error or error
    for sandbox in status.sandboxes:
        stopped = yield StopPodSandbox(sandbox.sandbox_id)
        removed = yield RemovePodSandbox(sandbox.sandbox_id)
        error = removed.error or stopped.error or error
    return error


def _remove_containers(ids: tuple[ContainerID, ...]) -> Routine[None]:
    """Remove containers; what fails is found again by the next look at them."""
    for container_id in ids:
        yield RemoveContainer(container_id)
