"""What becomes of a container's readiness when the kubelet is started again."""

from __future__ import annotations

from datetime import timedelta

import pytest

from probetui.k8s.pod import Pod
from probetui.k8s.probe import ProbeType
from probetui.k8s.runtime import parse_container_id
from probetui.k8s.status import (
    ConditionStatus,
    PodCondition,
    PodStatus,
    Running,
)
from probetui.kubelet.config import KubeletConfig
from probetui.kubelet.outcome import Result
from probetui.kubelet.prober.prober_manager import ProbeManager
from tests.builders import (
    START,
    a_container,
    a_container_status,
    a_pod,
    a_probe,
    a_status,
)

READY = PodStatus(conditions=(PodCondition("Ready", ConditionStatus.TRUE),))
NOT_READY = PodStatus(conditions=(PodCondition("Ready", ConditionStatus.FALSE),))
UNKNOWN = PodStatus()
PROBED = a_pod(a_container(readiness_probe=a_probe(), liveness_probe=a_probe()))
GATE = "ChangeContainerStatusOnKubeletRestart=true"


def a_manager(
    pod: Pod, in_api: PodStatus, version: str, *gates: str, age: float = 0
) -> ProbeManager:
    config = KubeletConfig(
        version=version, feature_gates=gates, age=timedelta(seconds=age)
    )
    manager = ProbeManager(config, START, source_status_of=lambda _pod: in_api)
    manager.add_pod(pod, START)
    return manager


def running_for(seconds: float) -> PodStatus:
    running = Running(START - timedelta(seconds=seconds))
    return a_status(a_container_status(state=running))


def is_ready(manager: ProbeManager, pod: Pod, status: PodStatus) -> bool:
    (container,) = manager.update_pod_status(pod, status).container_statuses or ()
    return container.ready


@pytest.mark.parametrize(
    ("version", "gates", "in_api", "ran", "ready"),
    [
        pytest.param("1.36", (), READY, 60, True, id="1.36"),
        pytest.param("1.35", (), READY, 60, True, id="1.35"),
        pytest.param("1.34", (), READY, 60, False, id="1.34"),
        pytest.param("1.36", (GATE,), READY, 60, False, id="the gate is on"),
        pytest.param("1.36", (), NOT_READY, 60, False, id="it was not ready"),
        pytest.param("1.36", (), UNKNOWN, 60, False, id="a static pod"),
        pytest.param("1.36", (), READY, 10, False, id="started with the kubelet"),
        pytest.param("1.36", (), READY, 10.5, True, id="started just before"),
    ],
)
def test_a_container_stays_as_ready_as_it_was_before_the_kubelet_was_started(
    version: str, gates: tuple[str, ...], in_api: PodStatus, ran: float, *, ready: bool
) -> None:
    manager = a_manager(PROBED, in_api, version, *gates)

    assert is_ready(manager, PROBED, running_for(ran)) is ready


def test_a_kubelet_that_was_there_before_the_container_keeps_nothing() -> None:
    manager = a_manager(PROBED, READY, "1.36", age=3600)

    assert not is_ready(manager, PROBED, running_for(60))


def test_a_result_counts_more_than_what_was() -> None:
    manager = a_manager(PROBED, READY, "1.36")
    status = running_for(60)
    (container,) = status.container_statuses or ()
    container_id = parse_container_id(container.container_id)

    manager.results[ProbeType.READINESS].set(container_id, Result.FAILURE, PROBED.uid)

    assert not is_ready(manager, PROBED, status)


@pytest.mark.parametrize(("version", "stored"), [("1.34", True), ("1.36", False)])
@pytest.mark.parametrize("probe_type", [ProbeType.LIVENESS, ProbeType.READINESS])
def test_a_container_that_was_there_has_no_initial_result(
    version: str, probe_type: ProbeType, *, stored: bool
) -> None:
    manager = a_manager(PROBED, READY, version)
    results = manager.results[probe_type]
    status = manager.update_pod_status(PROBED, running_for(60))
    (container,) = status.container_statuses or ()
    (worker,) = (
        loop.worker
        for key, loop in manager.scheduler.loops.items()
        if key.probe_type is probe_type
    )

    worker.decide(status, results, START)

    found = results.get(parse_container_id(container.container_id))
    assert (found is not None) is stored


STARTS_UP = a_pod(a_container(startup_probe=a_probe()))


@pytest.mark.parametrize(
    ("version", "gates", "started"),
    [
        pytest.param("1.36", (), [True, True], id="1.36"),
        pytest.param("1.34", (), [True, False], id="1.34"),
        pytest.param("1.36", (GATE,), [True, False], id="the gate is on"),
    ],
)
def test_a_container_counts_as_started_until_the_pod_has_workers_or_for_good(
    version: str, gates: tuple[str, ...], started: list[bool]
) -> None:
    # k/k#142305: nobody asks whether it had started up for the kubelet before.
    config = KubeletConfig(version=version, feature_gates=gates, age=timedelta())
    manager = ProbeManager(config, START)
    running = Running(START - timedelta(seconds=60))
    status = a_status(a_container_status(state=running, started=None))

    first = manager.update_pod_status(STARTS_UP, status)
    manager.add_pod(STARTS_UP, START)
    second = manager.update_pod_status(STARTS_UP, first)

    found = [(one.container_statuses or ())[0].started for one in (first, second)]
    assert found == started
