"""The health of a container, and the sort order that follows from it."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from probetui.engine.snapshot import BackoffSnapshot, PodSnapshot
from probetui.k8s.pod import Container, Pod
from probetui.k8s.probe import ProbeKey, ProbeType
from probetui.k8s.status import Running, Terminated, Waiting
from probetui.kubelet.journal import ExitCause, Skip, StoppingSnapshot
from probetui.kubelet.outcome import Result
from probetui.kubelet.pod_workers.pod_update import PodWorkerState
from probetui.presentation.container.health import (
    RECOVERY,
    Health,
    SettledHealth,
    container_health,
)
from probetui.presentation.container.sorting import (
    ContainerOrder,
    ContainerSorter,
    natural,
)
from tests.ticks import LIVENESS, NOW
from tests.tui.snapshots import (
    a_container_snapshot,
    a_pod_snapshot,
    a_probe_snapshot,
    a_snapshot,
    demo,
    shop,
)

_SECOND = timedelta(seconds=1)
STOPPING = StoppingSnapshot(NOW, 30, "pod", ExitCause.LIVENESS)
BACKOFF = BackoffSnapshot(20 * _SECOND, None, NOW + 71 * _SECOND, 40 * _SECOND)


def pod_with_container(**fields: Any) -> PodSnapshot:
    return a_pod_snapshot(
        Pod("uid", "pod"), a_container_snapshot(Container("app"), **fields)
    )


@pytest.mark.parametrize(
    ("pod", "health"),
    [
        pytest.param(
            pod_with_container(stopping=STOPPING), Health.KILLED, id="being stopped"
        ),
        pytest.param(
            demo("sfffK", on_hold=True, stored_result=Result.FAILURE),
            Health.KILLED,
            id="on hold",
        ),
        pytest.param(
            demo(pod={"state": PodWorkerState.TERMINATING}), Health.KILLED, id="deleted"
        ),
        pytest.param(
            pod_with_container(backoff=BACKOFF),
            Health.BACK_OFF,
            id="waits for its start",
        ),
        pytest.param(
            pod_with_container(state=Waiting("ErrImagePull"), ready=False),
            Health.BACK_OFF,
            id="no image",
        ),
        pytest.param(
            pod_with_container(state=Terminated(1, "Error"), ready=False),
            Health.BACK_OFF,
            id="failed",
        ),
        pytest.param(
            demo(
                "sfffKh",
                on_hold=True,
                stored_result=Result.FAILURE,
                container={"state": Waiting("CrashLoopBackOff"), "ready": False},
            ),
            Health.BACK_OFF,
            id="on hold in back-off",
        ),
        pytest.param(demo("sff"), Health.LAST_CHANCE, id="2 of 3"),
        pytest.param(demo("sf"), Health.COUNTING, id="1 of 3"),
        pytest.param(demo("see", error_run=2), Health.ERRORED, id="only errors"),
        pytest.param(pod_with_container(ready=False), Health.NOT_READY, id="not ready"),
        pytest.param(
            demo("d", upcoming_skip=Skip.INITIAL_DELAY, container={"ready": False}),
            Health.STARTING,
            id="initial delay",
        ),
        pytest.param(
            pod_with_container(state=Waiting("ContainerCreating"), ready=False),
            Health.STARTING,
            id="being made",
        ),
        pytest.param(pod_with_container(state=Running(NOW)), Health.CALM, id="well"),
        pytest.param(
            pod_with_container(state=Terminated(0, "Completed"), ready=False),
            Health.CALM,
            id="done",
        ),
    ],
)
def test_the_worst_health_that_applies_is_shown(
    pod: PodSnapshot, health: Health
) -> None:
    assert container_health(pod, pod.containers[0]) is health


def test_a_container_with_a_failing_startup_probe_is_starting() -> None:
    pod = shop()
    web = next(
        container for container in pod.containers if container.container.name == "web"
    )

    assert container_health(pod, web) is Health.STARTING


def starting(name: str, threshold: int, letters: str) -> PodSnapshot:
    """Return a pod with that history and failure threshold of its startup probe."""
    probe = a_probe_snapshot(
        ProbeKey(name, "app", ProbeType.STARTUP),
        replace(LIVENESS, failure_threshold=threshold),
        letters,
        stored_result=Result.UNKNOWN,
    )
    container = a_container_snapshot(Container("app"), probe, ready=False)
    return a_pod_snapshot(Pod(name, name), container)


def test_the_starting_container_that_is_closer_to_its_kill_comes_first() -> None:
    waiting, slow = starting("waiting", 3, ""), starting("slow", 30, "fff")
    late, stuck = starting("late", 12, "fff"), starting("stuck", 5, "fff")
    sorter = ContainerSorter()

    places = sorter.places((waiting, slow, late, stuck), ContainerOrder.WORST, NOW)

    assert places == ((3, 0), (2, 0), (0, 0), (1, 0))


def test_health_gets_worse_at_once_and_better_after_a_while() -> None:
    settled, bad, good = SettledHealth(), demo("sff"), demo("sss")

    def health(pod: PodSnapshot, seconds: float) -> Health:
        return settled.of(pod, pod.containers[0], NOW + seconds * _SECOND)

    assert health(good, 0) is Health.CALM
    assert health(bad, 1) is Health.LAST_CHANCE
    assert health(good, 2) is Health.LAST_CHANCE
    assert health(good, 1 + RECOVERY.total_seconds()) is Health.LAST_CHANCE
    assert health(good, 2 + RECOVERY.total_seconds()) is Health.CALM


def test_a_flapping_probe_does_not_move_its_container() -> None:
    sorter = ContainerSorter()
    good, bad = demo("sss"), demo("ssf")
    orders = {
        sorter.places(
            a_snapshot(shop(), bad if second % 3 == 1 else good).pods,
            ContainerOrder.WORST,
            NOW + second * _SECOND,
        )
        for second in range(1, 30)
    }

    assert len(orders) == 1


def test_seeking_back_forgets_bad_health() -> None:
    settled, bad, good = SettledHealth(), demo("sff"), demo("sss")
    settled.of(bad, bad.containers[0], NOW)

    assert settled.of(good, good.containers[0], NOW - _SECOND) is Health.CALM


def test_numbers_in_names_are_sorted_by_value() -> None:
    names = ["svc-10", "svc-2", "svc", "svc-1b", "svc-1", "2-svc"]

    assert sorted(names, key=natural) == [
        "2-svc",
        "svc",
        "svc-1",
        "svc-1b",
        "svc-2",
        "svc-10",
    ]
