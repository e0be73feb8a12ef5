from __future__ import annotations

from collections.abc import Iterable

from probetui.k8s.pod import Container, Pod, RestartPolicy
from probetui.k8s.runtime import RuntimePodStatus, RuntimeState
from probetui.kubelet.config import KubeletConfig
from probetui.kubelet.effects import (
    Operation,
    RemoveContainer,
    RunOperation,
    StopContainer,
)
from probetui.kubelet.kubelet import Kubelet, orphan_pod
from probetui.kubelet.pleg.pleg import CachedStatus
from probetui.kubelet.pod_workers.pod_update import (
    SyncCallKind,
    UpdatePodOptions,
    UpdateType,
)
from tests.builders import (
    START,
    a_container,
    a_pod,
    a_runtime_status,
    a_sandbox,
    an_instance,
)

EXITED = RuntimeState.EXITED
WEB = "uid-of-web"
EXITED = RuntimeState.EXITED


def a_kubelet(*statuses: RuntimePodStatus, known: Iterable[Pod] = ()) -> Kubelet:
    """Return a kubelet that has ended what the runtime has of pods nobody knows."""
    kubelet = Kubelet(KubeletConfig(), START, pods={pod.uid: pod for pod in known})
    for status in statuses:
        kubelet.in_runtime[status.pod_uid] = status
        kubelet.cache.set(CachedStatus(status, None, START))
    return kubelet


def pending_operations(kubelet: Kubelet) -> list[Operation]:
    return [
        effect.operation
        for effect in kubelet.turn.finish().effects
        if isinstance(effect, RunOperation)
    ]


class TestOrphans:
    def test_running_containers_of_an_unknown_pod_are_killed(self) -> None:
        kubelet = a_kubelet(a_runtime_status(an_instance()))

        kubelet._end_orphans(START)

        call = kubelet.workers.call_of(WEB)
        assert call is not None
        assert call.kind is SyncCallKind.TERMINATING_RUNTIME
        assert call.grace_period_seconds == 1
        assert [type(operation) for operation in pending_operations(kubelet)] == [
            StopContainer
        ]

    def test_once_nothing_of_it_runs_it_is_removed(self) -> None:
        kubelet = a_kubelet(a_runtime_status(an_instance(state=EXITED)))

        kubelet._end_orphans(START)

        assert not kubelet.workers.has_worker(WEB)
        assert pending_operations(kubelet) == [
            RemoveContainer(an_instance().container_id)
        ]

    def test_an_empty_pod_is_forgotten_during_the_iteration(self) -> None:
        removed_uids: list[str] = []
        kubelet = Kubelet(KubeletConfig(), START, on_pod_removed=removed_uids.append)
        for name in ("web", "other"):
            status = a_runtime_status(sandboxes=(), pod=name)
            kubelet.in_runtime[status.pod_uid] = status

        kubelet._end_orphans(START)

        assert removed_uids == [WEB, "uid-of-other"]
        assert kubelet.in_runtime == {}

    def test_pods_that_are_known_or_have_a_worker_are_left_alone(self) -> None:
        other = a_runtime_status(an_instance(), pod="other")
        kubelet = a_kubelet(a_runtime_status(an_instance()), other, known=[a_pod()])
        kubelet.workers.update(
            UpdatePodOptions(UpdateType.CREATE, a_pod(name="other")), START
        )
        pending_operations(kubelet)

        kubelet._end_orphans(START)

        assert pending_operations(kubelet) == []


def test_a_pod_is_restored_from_an_orphan_as_far_as_possible() -> None:
    status = a_runtime_status(
        an_instance(number=1),
        an_instance(a_container("side")),
        an_instance(),
        name="old",
        sandboxes=(a_sandbox(),),
    )

    assert orphan_pod(status) == Pod(
        WEB,
        "old",
        "default",
        restart_policy=RestartPolicy.NEVER,
        containers=(Container("app"), Container("side")),
    )
