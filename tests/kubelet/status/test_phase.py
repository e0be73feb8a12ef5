from __future__ import annotations

import pytest

from probetui.k8s.pod import Pod, RestartPolicy
from probetui.k8s.pod_source import CONFIG_SOURCE
from probetui.k8s.status import (
    ContainerState,
    ContainerStatus,
    PodPhase,
    Running,
    Terminated,
    Waiting,
)
from probetui.kubelet.status.phase import has_any_regular_container_started, pod_phase
from tests.builders import a_container, a_pod

ALWAYS, ON_FAILURE, NEVER = RestartPolicy
PENDING, RUNNING, SUCCEEDED, FAILED, _ = PodPhase
WAITING, RUN = Waiting("ContainerCreating"), Running()
DONE, BROKEN = Terminated(0), Terminated(1)
INIT = a_container("init")
SIDE = a_container("side", restart_policy=ALWAYS)


def of(
    name: str,
    state: ContainerState | None,
    last: ContainerState | None = None,
    *,
    started: bool | None = None,
) -> ContainerStatus:
    return ContainerStatus(name, state=state, last_state=last, started=started)


def with_policy(policy: RestartPolicy) -> Pod:
    return a_pod(restart_policy=policy)


@pytest.mark.parametrize(
    ("policy", "state", "last", "expected"),
    [
        pytest.param(ALWAYS, RUN, None, RUNNING, id="running"),
        pytest.param(ALWAYS, WAITING, None, PENDING, id="not-started-yet"),
        pytest.param(ALWAYS, None, None, PENDING, id="nothing-known"),
        pytest.param(ALWAYS, DONE, None, RUNNING, id="always-done"),
        pytest.param(ALWAYS, BROKEN, None, RUNNING, id="always-failed"),
        pytest.param(ALWAYS, WAITING, BROKEN, RUNNING, id="crash-loop"),
        pytest.param(ON_FAILURE, DONE, None, SUCCEEDED, id="on-failure-done"),
        pytest.param(ON_FAILURE, BROKEN, None, RUNNING, id="on-failure-failed"),
        pytest.param(ON_FAILURE, WAITING, DONE, RUNNING, id="waiting-after-success"),
        pytest.param(NEVER, DONE, None, SUCCEEDED, id="never-done"),
        pytest.param(NEVER, BROKEN, None, FAILED, id="never-failed"),
    ],
)
def test_the_phase_of_a_pod_with_one_container(
    policy: RestartPolicy,
    state: ContainerState | None,
    last: ContainerState | None,
    expected: PodPhase,
) -> None:
    statuses = [of("app", state, last)]

    assert pod_phase(with_policy(policy), statuses, is_terminal=False) is expected


def test_a_container_without_a_status_makes_the_pod_pending() -> None:
    pod = a_pod(a_container(), a_container("other"))

    phase = pod_phase(pod, [of("app", RUN)], is_terminal=False)

    assert phase is PENDING


def test_of_two_statuses_with_one_name_the_first_counts() -> None:
    statuses = [of("app", RUN), of("app", WAITING)]

    assert pod_phase(a_pod(), statuses, is_terminal=False) is RUNNING


@pytest.mark.parametrize(
    ("state", "last", "policy", "expected"),
    [
        pytest.param(WAITING, None, ALWAYS, PENDING, id="waiting"),
        pytest.param(RUN, None, ALWAYS, PENDING, id="running"),
        pytest.param(None, None, ALWAYS, PENDING, id="nothing-known"),
        pytest.param(BROKEN, None, NEVER, FAILED, id="failed-for-good"),
        pytest.param(WAITING, BROKEN, NEVER, FAILED, id="failed-and-waiting"),
        pytest.param(BROKEN, None, ALWAYS, PENDING, id="failed-and-to-be-repeated"),
        pytest.param(DONE, None, ALWAYS, PENDING, id="done"),
    ],
)
def test_the_phase_of_a_pod_whose_app_waits_for_an_init_container(
    state: ContainerState | None,
    last: ContainerState | None,
    policy: RestartPolicy,
    expected: PodPhase,
) -> None:
    pod = a_pod(init_containers=(INIT,), restart_policy=policy)
    statuses = [of("app", WAITING), of("init", state, last)]

    assert pod_phase(pod, statuses, is_terminal=False) is expected


def test_an_init_container_without_a_status_makes_the_pod_pending() -> None:
    pod = a_pod(init_containers=(INIT,))

    assert pod_phase(pod, [of("app", RUN)], is_terminal=False) is PENDING


@pytest.mark.parametrize(
    ("app", "side", "expected"),
    [
        pytest.param(of("app", RUN), of("side", RUN, started=True), RUNNING, id="fine"),
        pytest.param(
            of("app", WAITING), of("side", RUN, started=False), PENDING, id="starting"
        ),
        pytest.param(
            of("app", WAITING, BROKEN),
            of("side", RUN),
            PENDING,
            id="starting-while-the-app-waits-to-be-restarted",
        ),
        pytest.param(
            of("app", RUN), of("side", RUN, started=False), RUNNING, id="restarted"
        ),
        pytest.param(of("app", RUN), of("side", WAITING), PENDING, id="not-started"),
        pytest.param(of("app", RUN), of("side", WAITING, DONE), RUNNING, id="waiting"),
        pytest.param(of("app", RUN), of("side", BROKEN), RUNNING, id="ended"),
        pytest.param(of("app", RUN), of("side", None), PENDING, id="nothing-known"),
        pytest.param(of("app", RUN), of("gone", RUN), PENDING, id="without-status"),
        pytest.param(
            of("app", BROKEN), of("side", RUN, started=True), RUNNING, id="app-ended"
        ),
    ],
)
def test_the_phase_of_a_pod_with_a_sidecar(
    app: ContainerStatus, side: ContainerStatus, expected: PodPhase
) -> None:
    pod = a_pod(init_containers=(SIDE,), restart_policy=NEVER)

    assert pod_phase(pod, [app, side], is_terminal=False) is expected


def test_a_pod_of_only_ended_sidecars_is_pending() -> None:
    pod = Pod("uid", "web", init_containers=(SIDE,))

    assert pod_phase(pod, [of("side", DONE)], is_terminal=False) is PENDING


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        pytest.param(DONE, SUCCEEDED, id="succeeded"),
        pytest.param(BROKEN, FAILED, id="failed"),
    ],
)
def test_a_terminated_pod_has_ended_whatever_its_policy(
    state: ContainerState, expected: PodPhase
) -> None:
    phase = pod_phase(with_policy(ALWAYS), [of("app", state)], is_terminal=True)

    assert phase is expected


def test_a_terminated_static_pod_has_not() -> None:
    """Quirk: what the API server did not give does not end by being terminated."""
    pod = a_pod(annotations={CONFIG_SOURCE: "file"})

    assert pod_phase(pod, [of("app", DONE)], is_terminal=True) is RUNNING


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        pytest.param(of("app", RUN), True, id="running"),
        pytest.param(of("app", DONE), True, id="ended"),
        pytest.param(of("app", WAITING, DONE), False, id="waiting"),
        pytest.param(of("init", RUN), False, id="not-a-regular-one"),
    ],
)
def test_whether_a_regular_container_has_started(
    status: ContainerStatus,
    expected: bool,  # noqa: FBT001  # a column of the table
) -> None:
    pod = a_pod(init_containers=(INIT,))

    assert has_any_regular_container_started(pod, [status]) is expected
