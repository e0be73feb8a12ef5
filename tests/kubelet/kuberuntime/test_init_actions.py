from __future__ import annotations

from typing import Any

import pytest

from probetui.k8s.pod import Container, Pod, RestartPolicy
from probetui.k8s.runtime import RuntimeContainerStatus, RuntimeState
from probetui.kubelet.kuberuntime.grace_period import KillReason
from probetui.kubelet.kuberuntime.init_actions import (
    InitActions,
    any_regular_container_created,
    compute_init_actions,
    find_next_init_container,
)
from probetui.kubelet.outcome import Result
from tests.builders import (
    a_container,
    a_pod,
    a_probe,
    a_runtime_status,
    an_instance,
)

CREATED, RUNNING, EXITED, UNKNOWN = RuntimeState
ALWAYS, ON_FAILURE, NEVER = RestartPolicy
FIRST, SECOND, APP = a_container("first"), a_container("second"), a_container()
SUCCESS, FAILURE = Result.SUCCESS, Result.FAILURE


def a_sidecar(name: str = "side", **fields: Any) -> Container:
    return a_container(name, restart_policy=ALWAYS, **fields)


def with_inits(*inits: Container, policy: RestartPolicy = ALWAYS) -> Pod:
    return a_pod(init_containers=inits, restart_policy=policy)


def actions(
    pod: Pod,
    *instances: RuntimeContainerStatus,
    liveness: Result | None = None,
    startup: Result | None = None,
) -> InitActions:
    """Decide, with beliefs about the newest instance of `side`."""
    side = an_instance(a_sidecar()).container_id
    return compute_init_actions(
        pod,
        a_runtime_status(*instances),
        {} if liveness is None else {side: liveness},
        {} if startup is None else {side: startup},
    )


class TestPlainInitContainers:
    def test_a_pod_without_any_is_done(self) -> None:
        assert find_next_init_container(a_pod(), a_runtime_status()).is_done

    def test_a_running_app_means_that_they_were_done(self) -> None:
        pod = with_inits(FIRST)

        assert find_next_init_container(pod, a_runtime_status(an_instance())).is_done

    def test_the_first_one_begins(self) -> None:
        upcoming = find_next_init_container(
            with_inits(FIRST, SECOND), a_runtime_status()
        )

        assert (upcoming.is_done, upcoming.container) == (False, FIRST)

    def test_a_running_one_is_waited_for(self) -> None:
        status = a_runtime_status(an_instance(FIRST))

        upcoming = find_next_init_container(with_inits(FIRST, SECOND), status)

        assert (upcoming.is_done, upcoming.container) == (False, None)

    def test_the_next_one_follows_a_success(self) -> None:
        status = a_runtime_status(an_instance(FIRST, EXITED))

        upcoming = find_next_init_container(with_inits(FIRST, SECOND), status)

        assert (upcoming.container, upcoming.failed) == (SECOND, None)

    def test_the_last_success_means_done_though_the_others_are_gone(self) -> None:
        status = a_runtime_status(an_instance(SECOND, EXITED))

        assert find_next_init_container(with_inits(FIRST, SECOND), status).is_done

    def test_a_failed_one_is_next_again(self) -> None:
        failed = an_instance(FIRST, EXITED, exit_code=1)

        upcoming = find_next_init_container(
            with_inits(FIRST, SECOND), a_runtime_status(failed)
        )

        assert (upcoming.container, upcoming.failed) == (FIRST, failed)

    def test_one_that_was_only_created_is_passed_over(self) -> None:
        status = a_runtime_status(
            an_instance(SECOND, CREATED), an_instance(FIRST, EXITED)
        )

        upcoming = find_next_init_container(with_inits(FIRST, SECOND), status)

        assert upcoming.container == SECOND


@pytest.mark.parametrize(
    ("state", "expected"),
    [(CREATED, True), (RUNNING, True), (EXITED, True), (UNKNOWN, False)],
)
def test_whether_a_pod_got_as_far_as_its_containers(
    state: RuntimeState,
    expected: bool,  # noqa: FBT001  # a column of the table
) -> None:
    status = a_runtime_status(an_instance(APP, state))

    assert any_regular_container_created(a_pod(APP), status) is expected


class TestSidecars:
    def test_the_first_init_container_begins(self) -> None:
        assert actions(with_inits(a_sidecar(), SECOND)).to_start == (0,)

    def test_the_next_one_follows_a_running_sidecar(self) -> None:
        answer = actions(with_inits(a_sidecar(), SECOND), an_instance(a_sidecar()))

        assert answer == InitActions(
            is_initialized=False, kills_pod=False, to_start=(1,), to_kill=()
        )

    def test_a_running_last_sidecar_makes_the_pod_initialized(self) -> None:
        answer = actions(
            with_inits(FIRST, a_sidecar()),
            an_instance(a_sidecar()),
            an_instance(FIRST, EXITED),
        )

        assert (answer.is_initialized, answer.to_start) == (True, ())

    @pytest.mark.parametrize("startup", [None, Result.UNKNOWN])
    def test_nothing_follows_before_its_startup_probe_succeeds(
        self, startup: Result | None
    ) -> None:
        side = a_sidecar(startup_probe=a_probe())

        answer = actions(with_inits(side, SECOND), an_instance(side), startup=startup)

        assert answer == InitActions(
            is_initialized=False, kills_pod=False, to_start=(), to_kill=()
        )

    def test_the_next_one_follows_its_startup(self) -> None:
        side = a_sidecar(startup_probe=a_probe())

        answer = actions(with_inits(side, SECOND), an_instance(side), startup=SUCCESS)

        assert answer.to_start == (1,)

    def test_a_failed_startup_replaces_it(self) -> None:
        side = a_sidecar(startup_probe=a_probe())

        answer = actions(with_inits(side, SECOND), an_instance(side), startup=FAILURE)

        assert answer.to_start == (0,)
        assert [(kill.message, kill.reason) for kill in answer.to_kill] == [
            ("Init container side failed startup probe", KillReason.STARTUP_PROBE)
        ]

    def test_a_failed_liveness_replaces_it_beside_the_running_app(self) -> None:
        side = a_sidecar(liveness_probe=a_probe())

        answer = actions(
            with_inits(side), an_instance(APP), an_instance(side), liveness=FAILURE
        )

        assert (answer.is_initialized, answer.to_start) == (True, (0,))
        assert [(kill.message, kill.reason) for kill in answer.to_kill] == [
            ("Init container side failed liveness probe", KillReason.LIVENESS_PROBE)
        ]

    def test_results_of_probes_that_it_does_not_have_do_not_count(self) -> None:
        """Quirk: for regular containers they do."""
        answer = actions(
            with_inits(a_sidecar()),
            an_instance(a_sidecar()),
            liveness=FAILURE,
            startup=FAILURE,
        )

        assert (answer.is_initialized, answer.to_kill) == (True, ())

    def test_a_changed_definition_replaces_it_for_no_probes_sake(self) -> None:
        running = an_instance(a_sidecar(image="busybox:1.35"))

        answer = actions(with_inits(a_sidecar(), SECOND), running)

        assert answer.to_start == (0, 1)
        assert [(kill.message, kill.reason) for kill in answer.to_kill] == [
            ("Init container side definition changed", KillReason.NONE)
        ]

    @pytest.mark.parametrize("state", [CREATED, EXITED])
    def test_it_is_started_again_whatever_its_end(self, state: RuntimeState) -> None:
        pod = with_inits(a_sidecar(), policy=NEVER)

        answer = actions(pod, an_instance(APP), an_instance(a_sidecar(), state))

        assert answer.to_start == (0,)

    def test_one_in_an_unknown_state_is_killed_first(self) -> None:
        answer = actions(with_inits(a_sidecar()), an_instance(a_sidecar(), UNKNOWN))

        assert answer.to_start == (0,)
        assert [(kill.message, kill.reason) for kill in answer.to_kill] == [
            (
                'Init container is in "unknown" state, try killing it before restart',
                KillReason.UNKNOWN,
            )
        ]

    def test_one_whose_instance_is_gone_is_started_in_an_initialized_pod(self) -> None:
        answer = actions(with_inits(FIRST, a_sidecar()), an_instance(APP))

        assert (answer.is_initialized, answer.to_start) == (True, (1,))

    def test_those_before_the_last_known_one_are_kept_running(self) -> None:
        pod = with_inits(a_sidecar(), SECOND)

        answer = actions(pod, an_instance(SECOND), an_instance(a_sidecar(), EXITED))

        assert (answer.is_initialized, answer.to_start) == (False, (0,))


class TestPlainInitContainersBesideSidecars:
    @pytest.mark.parametrize(
        ("instance", "to_start"),
        [
            pytest.param(an_instance(FIRST, CREATED), (0,), id="created"),
            pytest.param(an_instance(FIRST), (), id="running"),
            pytest.param(an_instance(FIRST, EXITED), (1,), id="succeeded"),
            pytest.param(an_instance(FIRST, EXITED, exit_code=1), (0,), id="failed"),
            pytest.param(an_instance(FIRST, UNKNOWN), (0,), id="unknown"),
        ],
    )
    def test_what_follows_the_first_one(
        self, instance: RuntimeContainerStatus, to_start: tuple[int, ...]
    ) -> None:
        answer = actions(with_inits(FIRST, a_sidecar()), instance)

        assert (answer.is_initialized, answer.to_start) == (False, to_start)

    def test_the_success_of_the_last_one_makes_the_pod_initialized(self) -> None:
        answer = actions(
            with_inits(a_sidecar(), SECOND),
            an_instance(SECOND, EXITED),
            an_instance(a_sidecar()),
        )

        assert (answer.is_initialized, answer.to_start) == (True, ())

    @pytest.mark.parametrize(
        "instance",
        [
            pytest.param(an_instance(SECOND, EXITED, exit_code=1), id="failed"),
            pytest.param(an_instance(SECOND, UNKNOWN), id="unknown"),
        ],
    )
    def test_a_failure_ends_a_pod_that_is_never_restarted(
        self, instance: RuntimeContainerStatus
    ) -> None:
        pod = with_inits(a_sidecar(), SECOND, policy=NEVER)

        answer = actions(pod, instance, an_instance(a_sidecar()))

        assert answer == InitActions(
            is_initialized=False, kills_pod=True, to_start=(), to_kill=()
        )

    def test_init_containers_are_not_checked_once_the_pod_is_initialized(self) -> None:
        failed = an_instance(FIRST, EXITED, exit_code=1)
        pod = with_inits(FIRST, a_sidecar())

        answer = actions(pod, an_instance(APP), an_instance(a_sidecar()), failed)

        assert (answer.is_initialized, answer.to_start) == (True, ())
