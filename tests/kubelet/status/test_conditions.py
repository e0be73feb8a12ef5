from __future__ import annotations

import pytest

from probetui.k8s.pod import RestartPolicy
from probetui.k8s.runtime import SandboxStatus
from probetui.k8s.status import (
    ConditionStatus,
    ContainerStatus,
    PodCondition,
    PodPhase,
    Running,
    Waiting,
)
from probetui.kubelet.status.conditions import (
    containers_ready,
    initialized,
    pod_ready,
    ready_to_start_containers,
)
from tests.builders import a_container, a_pod, a_runtime_status

TRUE, FALSE, _ = ConditionStatus
RUNNING, SUCCEEDED, FAILED = PodPhase.RUNNING, PodPhase.SUCCEEDED, PodPhase.FAILED
INIT = a_container("init")
SIDE = a_container("side", restart_policy=RestartPolicy.ALWAYS)
POD = a_pod(a_container("a"), a_container("b"), init_containers=(INIT, SIDE))
GATED = a_pod(readiness_gates=("x.io/one", "x.io/two"))

READY = [ContainerStatus(name, ready=True) for name in ("side", "a", "b")]
UNREADY = [ContainerStatus(name) for name in ("side", "a", "b")]


class TestContainersReady:
    def test_true_when_sidecars_and_containers_are_ready(self) -> None:
        condition = containers_ready(POD, READY, RUNNING)

        assert condition == PodCondition("ContainersReady", TRUE)

    def test_false_names_those_that_are_not(self) -> None:
        condition = containers_ready(POD, [READY[0], *UNREADY[1:]], RUNNING)

        assert condition == PodCondition(
            "ContainersReady",
            FALSE,
            "ContainersNotReady",
            "containers with unready status: [a b]",
        )

    def test_false_names_those_without_a_status_first(self) -> None:
        condition = containers_ready(POD, UNREADY[:1], RUNNING)

        assert condition.message == (
            "containers with unknown status: [a b], "
            "containers with unready status: [side]"
        )

    def test_false_without_any_statuses(self) -> None:
        condition = containers_ready(POD, None, RUNNING)

        assert condition.reason == "UnknownContainerStatuses"

    @pytest.mark.parametrize(
        ("phase", "statuses", "reason"),
        [
            pytest.param(SUCCEEDED, READY, "PodCompleted", id="completed"),
            pytest.param(SUCCEEDED, [], "ContainersNotReady", id="not-all-known"),
            pytest.param(FAILED, [], "PodFailed", id="failed"),
        ],
    )
    def test_false_when_the_pod_has_ended(
        self, phase: PodPhase, statuses: list[ContainerStatus], reason: str
    ) -> None:
        condition = containers_ready(POD, statuses, phase)

        assert (condition.status, condition.reason) == (FALSE, reason)


class TestReady:
    def test_true_with_all_containers(self) -> None:
        assert pod_ready(POD, [], READY, RUNNING) == PodCondition("Ready", TRUE)

    def test_false_for_the_reason_of_the_containers(self) -> None:
        condition = pod_ready(POD, [], UNREADY, RUNNING)

        assert condition == PodCondition(
            "Ready",
            FALSE,
            "ContainersNotReady",
            "containers with unready status: [side a b]",
        )

    def test_a_false_condition_names_missing_and_false_gates(self) -> None:
        shut = [PodCondition("x.io/two", FALSE)]

        condition = pod_ready(
            GATED, shut, [ContainerStatus("app", ready=True)], RUNNING
        )

        assert condition == PodCondition(
            "Ready",
            FALSE,
            "ReadinessGatesNotReady",
            'corresponding condition of pod readiness gate "x.io/one" does not exist., '
            'the status of pod readiness gate "x.io/two" is not "True", but False',
        )

    def test_true_with_all_gates_open(self) -> None:
        open_ = [PodCondition(gate, TRUE) for gate in GATED.readiness_gates]

        condition = pod_ready(
            GATED, open_, [ContainerStatus("app", ready=True)], RUNNING
        )

        assert condition == PodCondition("Ready", TRUE)


class TestInitialized:
    def test_true_when_init_containers_are_done_and_sidecars_started(self) -> None:
        statuses = [
            ContainerStatus("init", ready=True),
            ContainerStatus("side", started=True),
        ]

        condition = initialized(POD, statuses, PodPhase.PENDING)

        assert condition == PodCondition("Initialized", TRUE)

    def test_false_names_those_that_are_not(self) -> None:
        statuses = [ContainerStatus("side", ready=True, started=False)]

        condition = initialized(POD, statuses, PodPhase.PENDING)

        assert condition == PodCondition(
            "Initialized",
            FALSE,
            "ContainersNotInitialized",
            "containers with unknown status: [init], "
            "containers with incomplete status: [side]",
        )

    def test_stays_true_once_a_container_has_started(self) -> None:
        statuses = [
            ContainerStatus("init", ready=True),
            ContainerStatus("side", state=Waiting(), started=False),
            ContainerStatus("a", state=Running()),
        ]

        assert initialized(POD, statuses, RUNNING) == PodCondition("Initialized", TRUE)

    def test_false_without_any_statuses(self) -> None:
        condition = initialized(POD, None, PodPhase.PENDING)

        assert condition.reason == "UnknownContainerStatuses"

    def test_true_without_init_containers(self) -> None:
        condition = initialized(a_pod(), None, PodPhase.PENDING)

        assert condition == PodCondition("Initialized", TRUE)

    def test_true_when_the_pod_has_completed(self) -> None:
        statuses = [ContainerStatus("init", ready=True), ContainerStatus("side")]

        condition = initialized(POD, statuses, SUCCEEDED)

        assert condition == PodCondition("Initialized", TRUE, "PodCompleted")


@pytest.mark.parametrize(
    ("sandboxes", "expected"),
    [
        pytest.param(a_runtime_status().sandboxes, TRUE, id="usable"),
        pytest.param((), FALSE, id="none"),
    ],
)
def test_containers_can_be_started_in_a_usable_sandbox(
    sandboxes: tuple[SandboxStatus, ...], expected: ConditionStatus
) -> None:
    status = a_runtime_status(sandboxes=sandboxes)

    condition = ready_to_start_containers(a_pod(), status)

    assert condition == PodCondition("PodReadyToStartContainers", expected)
