from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from probetui.k8s.pod import Container, Pod, RestartPolicy
from probetui.k8s.pod_source import CONFIG_SOURCE
from probetui.k8s.runtime import ContainerID
from probetui.k8s.status import (
    ConditionStatus,
    ContainerState,
    ContainerStatus,
    PodCondition,
    PodPhase,
    PodStatus,
    Running,
    Terminated,
    Waiting,
)
from probetui.kubelet.status.container_statuses import LOST_AT_TERMINATION
from probetui.kubelet.status.status_manager import (
    StatusManager,
    merge_pod_status,
    needs_readiness_reconciled,
)
from tests.builders import START, a_container, a_pod, at

TRUE, FALSE, _ = ConditionStatus
ALWAYS, ON_FAILURE, NEVER = RestartPolicy
APP_ID = ContainerID("fake://app-0")
DONE, BROKEN, WAITING = Terminated(0), Terminated(1), Waiting("ContainerCreating")
UNTRIED = ContainerStatus("", state=WAITING)
RUNS = ContainerStatus("", state=Running())
TRIED = ContainerStatus("", state=WAITING, last_state=BROKEN)
INIT = a_container("init")
SIDE = a_container("side", restart_policy=ALWAYS)


def of_app(state: ContainerState | None = None, **fields: Any) -> PodStatus:
    """A running pod with one container."""
    status = ContainerStatus(
        "app", container_id=APP_ID, state=state or Running(at(0)), **fields
    )
    return PodStatus(PodPhase.RUNNING, container_statuses=(status,))


def of_init(name: str, state: ContainerState, **fields: Any) -> PodStatus:
    """A pending pod with one init container."""
    status = ContainerStatus(name, state=state, **fields)
    return PodStatus(PodPhase.PENDING, init_container_statuses=(status,))


def publishing(pod: Pod, *statuses: PodStatus) -> StatusManager:
    manager = StatusManager()
    for second, status in enumerate(statuses):
        manager.set_pod_status(pod, status, at(second))
    return manager


class TestSetting:
    def test_nothing_is_published_before_the_first_status(self) -> None:
        assert StatusManager().get("uid-of-web") is None

    def test_a_status_is_published(self) -> None:
        manager = StatusManager()

        published = manager.set_pod_status(a_pod(), of_app(), at(0))

        assert published is manager.get("uid-of-web")
        assert published == replace(of_app(), start_time=at(0))

    def test_an_equal_status_changes_nothing(self) -> None:
        manager = publishing(a_pod(), of_app())
        before = manager.get("uid-of-web")

        assert manager.set_pod_status(a_pod(), of_app(), at(9)) is before

    @pytest.mark.parametrize(
        ("pod", "counts"),
        [
            pytest.param(a_pod(), False, id="usually"),
            pytest.param(a_pod(deletion_requested_at=START), True, id="deleted-pod"),
        ],
    )
    def test_conditions_of_others_are_published_only_of_a_deleted_pod(
        self,
        pod: Pod,
        counts: bool,  # noqa: FBT001  # a column of the table
    ) -> None:
        manager = publishing(pod, of_app())
        gate = PodCondition("x.io/gate", TRUE)

        published = manager.set_pod_status(
            pod, replace(of_app(), conditions=(gate,)), at(1)
        )

        assert published is not None
        assert (gate in published.conditions) is counts

    @pytest.mark.parametrize(
        ("policy", "old", "new", "is_refused"),
        [
            pytest.param(NEVER, BROKEN, WAITING, True, id="never-failed"),
            pytest.param(NEVER, BROKEN, DONE, False, id="never-other-end"),
            pytest.param(NEVER, WAITING, Running(), False, id="never-starts"),
            pytest.param(ON_FAILURE, BROKEN, WAITING, False, id="on-failure-failed"),
            pytest.param(ON_FAILURE, DONE, WAITING, True, id="on-failure-done"),
            pytest.param(ALWAYS, DONE, WAITING, False, id="always"),
        ],
    )
    def test_a_final_phase_is_not_changed(
        self,
        policy: RestartPolicy,
        old: ContainerState,
        new: ContainerState,
        is_refused: bool,  # noqa: FBT001  # a column of the table
    ) -> None:
        pod = a_pod(restart_policy=policy)
        manager = publishing(pod, of_app(old))
        before = manager.get(pod.uid)

        after = manager.set_pod_status(pod, of_app(new), at(1))

        assert (after is before) is is_refused

    @pytest.mark.parametrize(
        ("container", "is_refused"),
        [
            pytest.param(INIT, True, id="plain"),
            pytest.param(replace(SIDE, name="init"), False, id="sidecar"),
        ],
    )
    def test_only_sidecars_of_init_containers_may_come_back(
        self,
        container: Container,
        is_refused: bool,  # noqa: FBT001  # a column of the table
    ) -> None:
        pod = a_pod(init_containers=(container,), restart_policy=NEVER)
        manager = publishing(pod, of_init("init", BROKEN))
        before = manager.get(pod.uid)

        after = manager.set_pod_status(pod, of_init("init", WAITING), at(1))

        assert (after is before) is is_refused

    @pytest.mark.parametrize("inits", [(), (INIT,)])
    def test_statuses_of_other_init_containers_than_the_specs_are_refused(
        self, inits: tuple[Container, ...]
    ) -> None:
        pod = a_pod(init_containers=inits, restart_policy=NEVER)
        manager = publishing(pod, of_init("other", WAITING))
        before = manager.get(pod.uid)

        assert manager.set_pod_status(pod, of_app(), at(1)) is before

    def test_a_final_phase_from_the_api_server_is_not_changed(self) -> None:
        pod = a_pod(restart_policy=NEVER)
        manager = StatusManager()

        published = manager.set_pod_status(
            pod, of_app(WAITING), at(0), api_status=of_app(BROKEN)
        )

        assert published is None


class TestProbeResults:
    def test_readiness_changes_the_conditions_at_once(self) -> None:
        unready = PodCondition("Ready", FALSE, "ContainersNotReady")
        manager = publishing(a_pod(), replace(of_app(), conditions=(unready,)))

        published = manager.set_container_readiness(a_pod(), APP_ID, at(5), ready=True)

        assert published is not None
        assert published.conditions == (
            PodCondition("Ready", TRUE, last_transition_at=at(5)),
            PodCondition("ContainersReady", TRUE, last_transition_at=at(5)),
        )
        assert (published.container_statuses or ())[0].ready

    def test_a_sidecars_readiness_counts(self) -> None:
        pod = a_pod(init_containers=(SIDE,))
        side = ContainerStatus("side", "fake://side-0", Running(at(0)), ready=True)
        manager = publishing(
            pod, replace(of_app(ready=True), init_container_statuses=(side,))
        )

        published = manager.set_container_readiness(
            pod, ContainerID("fake://side-0"), at(5), ready=False
        )

        assert published is not None
        condition = published.condition("Ready")
        assert condition is not None
        assert condition.message == "containers with unready status: [side]"

    def test_startup_changes_only_the_flag(self) -> None:
        manager = publishing(a_pod(), of_app())

        published = manager.set_container_startup(a_pod(), APP_ID, at(5), started=True)

        assert published == replace(of_app(started=True), start_time=at(0))

    def test_an_equal_status_changes_nothing(self) -> None:
        manager = publishing(a_pod(), of_app(ready=True, started=True))
        before = manager.get("uid-of-web")

        ready = manager.set_container_readiness(a_pod(), APP_ID, at(5), ready=True)
        started = manager.set_container_startup(a_pod(), APP_ID, at(5), started=True)

        assert ready is started is before

    def test_another_instances_result_changes_nothing(self) -> None:
        manager = publishing(a_pod(), of_app())
        before = manager.get("uid-of-web")
        other = ContainerID("fake://app-1")

        ready = manager.set_container_readiness(a_pod(), other, at(5), ready=True)
        started = manager.set_container_startup(a_pod(), other, at(5), started=True)

        assert ready is started is before

    def test_nothing_is_published_before_the_first_status(self) -> None:
        manager = StatusManager()

        ready = manager.set_container_readiness(a_pod(), APP_ID, at(0), ready=True)
        started = manager.set_container_startup(a_pod(), APP_ID, at(0), started=True)

        assert (ready, started) == (None, None)

    def test_containers_without_statuses_are_null_still(self) -> None:
        status = replace(of_app(), init_container_statuses=None)
        manager = publishing(a_pod(), status)

        published = manager.set_container_readiness(a_pod(), APP_ID, at(5), ready=True)

        assert published is not None
        assert published.init_container_statuses is None


class TestTermination:
    def terminated(self, pod: Pod, status: PodStatus, **given: PodStatus) -> PodStatus:
        published = publishing(pod, status).terminate_pod(pod, at(9), **given)
        assert published is not None
        return published

    def states(self, statuses: tuple[ContainerStatus, ...] | None) -> list[object]:
        return [status.state for status in statuses or ()]

    def test_a_container_whose_end_nobody_saw_counts_as_failed(self) -> None:
        status = self.terminated(a_pod(), of_app())

        assert status.phase is PodPhase.FAILED
        assert self.states(status.container_statuses) == [LOST_AT_TERMINATION]

    def test_a_published_exit_stays(self) -> None:
        ended = replace(of_app(DONE), phase=PodPhase.SUCCEEDED)

        status = self.terminated(a_pod(), ended)

        assert status.phase is PodPhase.SUCCEEDED
        assert self.states(status.container_statuses) == [DONE]

    def test_without_any_status_the_pod_has_failed(self) -> None:
        status = StatusManager().terminate_pod(a_pod(), at(9))

        assert status == PodStatus(PodPhase.FAILED, start_time=at(9))

    def test_a_static_pod_keeps_its_phase(self) -> None:
        pod = a_pod(annotations={CONFIG_SOURCE: "file"})

        assert self.terminated(pod, of_app()).phase is PodPhase.RUNNING

    @pytest.mark.parametrize(
        ("container", "api_status", "expected"),
        [
            pytest.param(INIT, PodStatus(), WAITING, id="nothing-known"),
            pytest.param(INIT, of_app(WAITING), WAITING, id="app-never-ran"),
            pytest.param(INIT, of_app(), LOST_AT_TERMINATION, id="app-ran"),
            pytest.param(
                INIT,
                of_app(WAITING, last_state=BROKEN),
                LOST_AT_TERMINATION,
                id="app-ran-before",
            ),
            pytest.param(
                INIT, of_init("init", DONE), LOST_AT_TERMINATION, id="init-done"
            ),
            pytest.param(
                INIT,
                of_init("init", WAITING, last_state=DONE),
                LOST_AT_TERMINATION,
                id="init-done-before",
            ),
            pytest.param(INIT, of_init("init", BROKEN), WAITING, id="init-failed"),
            pytest.param(INIT, of_init("other", DONE), WAITING, id="other-init"),
            pytest.param(
                SIDE,
                of_init("side", Running(), started=True),
                LOST_AT_TERMINATION,
                id="sidecar-started",
            ),
            pytest.param(
                SIDE,
                of_init("side", Running(), started=False),
                WAITING,
                id="sidecar-starting",
            ),
        ],
    )
    def test_the_status_of_the_api_server_shows_whether_the_app_may_have_run(
        self, container: Container, api_status: PodStatus, expected: ContainerState
    ) -> None:
        """Quirk: what is published here is not looked at."""
        pod = a_pod(init_containers=(container,))

        status = self.terminated(pod, of_app(WAITING), api_status=api_status)

        assert self.states(status.container_statuses) == [expected]

    @pytest.mark.parametrize(
        ("inits", "failed"),
        [
            pytest.param((UNTRIED, UNTRIED), 1, id="never-tried"),
            pytest.param((UNTRIED, RUNS), 2, id="running"),
            pytest.param((UNTRIED, TRIED), 2, id="tried-before"),
            pytest.param((UNTRIED, RUNS, UNTRIED), 2, id="before-the-last"),
        ],
    )
    def test_init_containers_that_were_tried_count_as_failed(
        self, inits: tuple[ContainerStatus, ...], failed: int
    ) -> None:
        named = tuple(
            replace(status, name=name)
            for name, status in zip("abc", inits, strict=False)
        )
        pod = a_pod(init_containers=tuple(a_container(status.name) for status in named))

        status = self.terminated(pod, PodStatus(init_container_statuses=named))

        assert self.states(status.init_container_statuses) == [
            *[LOST_AT_TERMINATION] * failed,
            *[WAITING] * (len(inits) - failed),
        ]


class TestForgetting:
    def test_unknown_pods_are_forgotten(self) -> None:
        manager = publishing(a_pod(), of_app())
        manager.set_pod_status(a_pod(name="other"), of_app(), at(0))
        manager.terminate_pod(a_pod(), at(1))

        manager.remove_orphans({"uid-of-other"})

        assert manager.get("uid-of-web") is None
        assert manager.get("uid-of-other") is not None


class TestMerging:
    def merge(
        self, old: PodStatus, new: PodStatus, *, may_run: bool = False
    ) -> PodStatus:
        return merge_pod_status(old, new, at(9), could_have_running_containers=may_run)

    def test_conditions_of_others_come_from_the_api_server(self) -> None:
        gate = PodCondition("x.io/gate", TRUE)
        old = PodStatus(conditions=(gate, PodCondition("Ready", FALSE)))
        new = PodStatus(
            conditions=(PodCondition("Ready", TRUE), PodCondition("x.io/old", TRUE))
        )

        assert self.merge(old, new).conditions == (gate, PodCondition("Ready", TRUE))

    def test_the_end_is_held_back_while_containers_may_run(self) -> None:
        old = PodStatus(PodPhase.RUNNING, reason="old", message="m")
        new = PodStatus(PodPhase.FAILED, reason="Evicted", message="gone")

        merged = self.merge(old, new, may_run=True)

        assert (merged.phase, merged.reason, merged.message) == (
            PodPhase.RUNNING,
            "old",
            "m",
        )

    @pytest.mark.parametrize(
        ("phase", "reason"),
        [
            pytest.param(PodPhase.FAILED, "PodFailed", id="failed"),
            pytest.param(PodPhase.SUCCEEDED, "PodCompleted", id="succeeded"),
        ],
    )
    def test_a_pod_that_has_ended_is_not_ready(
        self, phase: PodPhase, reason: str
    ) -> None:
        ready = PodCondition("Ready", TRUE, last_transition_at=at(1))
        scheduled = PodCondition("PodScheduled", TRUE)
        new = PodStatus(phase, conditions=(scheduled, ready))

        merged = self.merge(PodStatus(PodPhase.RUNNING), new)

        assert merged.conditions == (
            scheduled,
            PodCondition("Ready", FALSE, reason, last_transition_at=at(9)),
            PodCondition("ContainersReady", FALSE, reason, last_transition_at=at(9)),
        )

    @pytest.mark.parametrize(
        ("may_run", "is_told"),
        [
            pytest.param(True, False, id="may-run"),
            pytest.param(False, True, id="has-ended"),
        ],
    )
    def test_a_fault_is_reported_with_the_exit(
        self,
        may_run: bool,  # noqa: FBT001  # a column of the table
        is_told: bool,  # noqa: FBT001  # a column of the table
    ) -> None:
        disruption = PodCondition("DisruptionTarget", TRUE)
        new = PodStatus(PodPhase.FAILED, conditions=(disruption,))

        merged = self.merge(PodStatus(PodPhase.RUNNING), new, may_run=may_run)

        assert (merged.condition("DisruptionTarget") is not None) is is_told


class TestReadinessGates:
    GATED = a_pod(readiness_gates=("x.io/gate",), init_containers=(SIDE,))
    OPEN = PodCondition("x.io/gate", TRUE)
    READY = PodCondition("Ready", TRUE)

    def held(
        self, *conditions: PodCondition, side_is_ready: bool = True, **app: Any
    ) -> PodStatus:
        """What an API server holds of a running pod."""
        side = ContainerStatus("side", state=Running(at(0)), ready=side_is_ready)
        status = of_app(**{"ready": True, **app})
        return replace(status, init_container_statuses=(side,), conditions=conditions)

    def test_ready_that_follows_from_gates_and_containers_is_left_alone(self) -> None:
        held = self.held(self.OPEN, self.READY)

        assert not needs_readiness_reconciled(self.GATED, held)

    def test_a_gate_that_was_closed_contradicts_ready(self) -> None:
        held = self.held(PodCondition("x.io/gate", FALSE), self.READY)

        assert needs_readiness_reconciled(self.GATED, held)

    @pytest.mark.parametrize(
        "unready",
        [
            pytest.param({"ready": False}, id="a container"),
            pytest.param({"side_is_ready": False}, id="a sidecar"),
        ],
    )
    def test_so_does_what_is_not_ready(self, unready: Any) -> None:
        held = self.held(self.OPEN, self.READY, **unready)

        assert needs_readiness_reconciled(self.GATED, held)

    def test_another_message_is_a_contradiction_too(self) -> None:
        ready = PodCondition("Ready", TRUE, message="so far")

        assert needs_readiness_reconciled(self.GATED, self.held(self.OPEN, ready))

    @pytest.mark.parametrize(
        ("pod", "conditions"),
        [
            pytest.param(a_pod(), (READY,), id="no gate"),
            pytest.param(GATED, (OPEN,), id="no Ready yet"),
        ],
    )
    def test_there_is_nothing_to_reconcile(
        self, pod: Pod, conditions: tuple[PodCondition, ...]
    ) -> None:
        held = self.held(*conditions, ready=False)

        assert not needs_readiness_reconciled(pod, held)
