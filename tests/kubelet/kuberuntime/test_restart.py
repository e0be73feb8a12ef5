from __future__ import annotations

from datetime import timedelta

import pytest

from probetui.k8s.pod import Pod, RestartPolicy
from probetui.k8s.runtime import RuntimeContainerStatus, RuntimeState
from probetui.kubelet.config import KubeletConfig
from probetui.kubelet.kuberuntime.restart import (
    is_init_container_failed,
    is_only_container,
    resets_window,
    should_container_be_restarted,
    should_restart_on_failure,
)
from tests.builders import START, a_container, a_pod, a_runtime_status, an_instance

ALWAYS, ON_FAILURE, NEVER = RestartPolicy
EXITED, UNKNOWN = RuntimeState.EXITED, RuntimeState.UNKNOWN
SUCCEEDED = an_instance(state=EXITED)
FAILED = an_instance(state=EXITED, exit_code=1)


@pytest.mark.parametrize(
    ("policy", "newest", "expected"),
    [
        pytest.param(ALWAYS, SUCCEEDED, True, id="always-succeeded"),
        pytest.param(ALWAYS, FAILED, True, id="always-failed"),
        pytest.param(ON_FAILURE, SUCCEEDED, False, id="on-failure-succeeded"),
        pytest.param(ON_FAILURE, FAILED, True, id="on-failure-failed"),
        pytest.param(NEVER, SUCCEEDED, False, id="never-succeeded"),
        pytest.param(NEVER, FAILED, False, id="never-failed"),
        pytest.param(ALWAYS, an_instance(), False, id="running"),
    ],
)
def test_a_container_is_restarted_as_its_policy_says(
    policy: RestartPolicy,
    newest: RuntimeContainerStatus,
    expected: bool,  # noqa: FBT001  # a column of the table
) -> None:
    pod = a_pod(restart_policy=policy)

    restarts = should_container_be_restarted("app", pod, a_runtime_status(newest))

    assert restarts is expected


@pytest.mark.parametrize("state", [RuntimeState.CREATED, UNKNOWN])
def test_what_may_never_have_run_is_replaced_even_with_never(
    state: RuntimeState,
) -> None:
    """Quirk: the restart policy does not count for these states."""
    status = a_runtime_status(an_instance(state=state))

    assert should_container_be_restarted("app", a_pod(restart_policy=NEVER), status)


def test_a_container_without_an_instance_is_started() -> None:
    pod = a_pod(restart_policy=NEVER)

    assert should_container_be_restarted("app", pod, a_runtime_status())


def test_nothing_of_a_deleted_pod_is_started() -> None:
    pod = a_pod(deletion_requested_at=START)

    assert not should_container_be_restarted("app", pod, a_runtime_status())


def test_only_the_newest_instance_counts() -> None:
    status = a_runtime_status(an_instance(number=1), FAILED)

    assert not should_container_be_restarted("app", a_pod(), status)


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        pytest.param(ALWAYS, True, id="always"),
        pytest.param(ON_FAILURE, True, id="on-failure"),
        pytest.param(NEVER, False, id="never"),
    ],
)
def test_only_never_lets_a_failed_container_be(
    policy: RestartPolicy,
    expected: bool,  # noqa: FBT001  # a column of the table
) -> None:
    assert should_restart_on_failure(a_pod(restart_policy=policy)) is expected


@pytest.mark.parametrize(
    ("instance", "expected"),
    [
        pytest.param(SUCCEEDED, False, id="succeeded"),
        pytest.param(FAILED, True, id="failed"),
        pytest.param(an_instance(state=UNKNOWN), True, id="unknown"),
        pytest.param(an_instance(), False, id="running"),
        pytest.param(
            an_instance(state=EXITED, reason="OOMKilled"), True, id="oom-with-exit-0"
        ),
        pytest.param(an_instance(reason="OOMKilled"), True, id="oom-while-running"),
    ],
)
def test_when_an_init_container_counts_as_failed(
    instance: RuntimeContainerStatus,
    expected: bool,  # noqa: FBT001  # a column of the table
) -> None:
    """Quirk: OOMKilled counts in any state and with any exit code."""
    assert is_init_container_failed(instance) is expected


@pytest.mark.parametrize(
    ("pod", "is_alone"),
    [
        pytest.param(a_pod(), True, id="one"),
        pytest.param(a_pod(a_container(), a_container("other")), False, id="two"),
        pytest.param(
            a_pod(init_containers=(a_container("init"),)), False, id="one and an init"
        ),
    ],
)
def test_a_container_is_alone_where_the_pod_has_no_other(
    pod: Pod, *, is_alone: bool
) -> None:
    assert is_only_container(pod) is is_alone


def test_only_a_run_of_more_than_ten_minutes_resets_the_back_off() -> None:
    ten_minutes = timedelta(minutes=10)

    assert KubeletConfig().backoff_expiry == ten_minutes
    assert not resets_window(ten_minutes)
    assert resets_window(ten_minutes + timedelta(microseconds=1))
