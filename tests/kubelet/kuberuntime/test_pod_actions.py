from __future__ import annotations

from collections.abc import Mapping

import pytest

from probetui.k8s.pod import Container, Pod, RestartPolicy
from probetui.k8s.runtime import (
    ContainerID,
    RuntimeContainerStatus,
    RuntimePodStatus,
    RuntimeState,
)
from probetui.kubelet.kuberuntime.grace_period import KillReason
from probetui.kubelet.kuberuntime.pod_actions import PodActions, compute_pod_actions
from probetui.kubelet.outcome import Result
from probetui.kubelet_rules import PORTED_RULES, KubeletRules, rules_of
from tests.builders import (
    START,
    a_container,
    a_pod,
    a_runtime_status,
    a_sandbox,
    an_instance,
)

CREATED, RUNNING, EXITED, UNKNOWN = RuntimeState
ALWAYS, ON_FAILURE, NEVER = RestartPolicy
INIT, APP, OTHER = a_container("init"), a_container(), a_container("other")
SIDE = a_container("side", restart_policy=ALWAYS)
DEAD_SANDBOX = (a_sandbox(is_ready=False),)
FAILURE = {an_instance().container_id: Result.FAILURE}
NO_RESULTS: Mapping[ContainerID, Result] = {}


def decide(
    pod: Pod,
    *instances: RuntimeContainerStatus,
    liveness: Mapping[ContainerID, Result] = NO_RESULTS,
    startup: Mapping[ContainerID, Result] = NO_RESULTS,
) -> PodActions:
    """Decide about a pod whose sandbox is fine."""
    return compute_pod_actions(pod, a_runtime_status(*instances), liveness, startup)


def decide_without_sandbox(
    pod: Pod, *instances: RuntimeContainerStatus, rules: KubeletRules = PORTED_RULES
) -> PodActions:
    status = a_runtime_status(*instances, sandboxes=DEAD_SANDBOX)
    return compute_pod_actions(pod, status, {}, {}, rules=rules)


def kills(actions: PodActions) -> list[tuple[str, str, KillReason]]:
    return [
        (container.container.name, container.message, container.reason)
        for container in actions.containers_to_kill
    ]


class TestSandbox:
    def test_a_new_pod_gets_a_sandbox_and_its_containers(self) -> None:
        actions = compute_pod_actions(
            a_pod(APP, OTHER), RuntimePodStatus("uid-of-web"), {}, {}
        )

        assert actions == PodActions(
            kill_pod=True,
            create_sandbox=True,
            sandbox_id="",
            attempt=0,
            containers_to_start=(0, 1),
        )

    def test_init_containers_come_before_everything_else(self) -> None:
        actions = decide_without_sandbox(a_pod(init_containers=(INIT,)))

        assert actions.next_init_container == INIT
        assert actions.containers_to_start == ()

    def test_so_do_sidecars(self) -> None:
        actions = decide_without_sandbox(a_pod(init_containers=(SIDE,)))

        assert actions.init_containers_to_start == (0,)
        assert actions.next_init_container is None

    def test_a_pod_that_is_never_restarted_is_only_killed(self) -> None:
        actions = decide_without_sandbox(
            a_pod(restart_policy=NEVER), an_instance(state=EXITED)
        )

        assert actions == PodActions(
            kill_pod=True, create_sandbox=False, sandbox_id="sandbox", attempt=1
        )

    def test_one_that_never_got_going_may_still_do_so(self) -> None:
        actions = decide_without_sandbox(a_pod(restart_policy=NEVER))

        assert (actions.create_sandbox, actions.containers_to_start) == (True, (0,))

    @pytest.mark.parametrize(
        ("version", "is_retried"), [("1.15.0", False), ("1.15.1", True), ("1.15", True)]
    )
    def test_a_sandbox_that_could_not_be_made_is_tried_again_from_1_15_1_on(
        self, version: str, *, is_retried: bool
    ) -> None:
        pod, rules = a_pod(restart_policy=NEVER), rules_of(version)

        actions = decide_without_sandbox(pod, rules=rules)
        first = compute_pod_actions(pod, RuntimePodStatus(pod.uid), {}, {}, rules=rules)

        assert actions.create_sandbox is is_retried
        assert first.create_sandbox

    def test_what_succeeded_is_not_started_again(self) -> None:
        actions = decide_without_sandbox(
            a_pod(APP, OTHER, restart_policy=ON_FAILURE), an_instance(APP, EXITED)
        )

        assert actions.containers_to_start == (1,)

    @pytest.mark.parametrize(
        "instance",
        [
            pytest.param(an_instance(APP, EXITED, exit_code=1), id="failed"),
            pytest.param(an_instance(APP, CREATED), id="created"),
        ],
    )
    def test_what_did_not_succeed_is_started_again(
        self, instance: RuntimeContainerStatus
    ) -> None:
        actions = decide_without_sandbox(a_pod(restart_policy=ON_FAILURE), instance)

        assert actions.containers_to_start == (0,)

    @pytest.mark.parametrize(
        ("of_pod", "own", "starts"),
        [
            pytest.param(ALWAYS, ON_FAILURE, False, id="own OnFailure"),
            pytest.param(ON_FAILURE, ALWAYS, True, id="own Always"),
            pytest.param(ALWAYS, NEVER, True, id="own Never"),
        ],
    )
    def test_a_container_that_has_succeeded_goes_by_its_own_policy(
        self, of_pod: RestartPolicy, own: RestartPolicy, *, starts: bool
    ) -> None:
        pod = a_pod(a_container(restart_policy=own), OTHER, restart_policy=of_pod)

        actions = decide_without_sandbox(pod, an_instance(state=EXITED))

        assert (0 in actions.containers_to_start) is starts

    def test_a_pod_that_has_succeeded_gets_no_sandbox(self) -> None:
        actions = decide_without_sandbox(
            a_pod(restart_policy=ON_FAILURE), an_instance(state=EXITED)
        )

        assert (actions.kill_pod, actions.create_sandbox) == (True, False)

    @pytest.mark.parametrize(
        ("version", "is_renewed"),
        [
            ("1.15", True),
            ("1.18.13", True),
            ("1.18.14", False),
            ("1.19.3", True),
            ("1.19.4", False),
            ("1.20", False),
        ],
    )
    @pytest.mark.parametrize("inits", [(), (INIT,)], ids=["no init", "init"])
    def test_a_pod_that_has_succeeded_is_given_no_sandbox_in_new_versions(
        self, version: str, inits: tuple[Container, ...], *, is_renewed: bool
    ) -> None:
        actions = decide_without_sandbox(
            a_pod(restart_policy=ON_FAILURE, init_containers=inits),
            an_instance(state=EXITED),
            *(an_instance(container, EXITED) for container in inits),
            rules=rules_of(version),
        )

        assert (actions.kill_pod, actions.create_sandbox) == (True, is_renewed)
        assert actions.containers_to_start == ()

    def test_nor_does_one_with_sidecars(self) -> None:
        pod = a_pod(restart_policy=ON_FAILURE, init_containers=(SIDE,))

        actions = decide_without_sandbox(pod, an_instance(state=EXITED))

        assert (actions.kill_pod, actions.create_sandbox) == (True, False)


class TestInitContainers:
    def test_the_next_one_is_started_and_nothing_else(self) -> None:
        actions = decide(a_pod(init_containers=(INIT,)))

        assert actions.next_init_container == INIT
        assert actions.containers_to_start == ()

    def test_a_running_one_is_waited_for(self) -> None:
        actions = decide(a_pod(init_containers=(INIT,)), an_instance(INIT))

        assert actions == PodActions(
            kill_pod=False, create_sandbox=False, sandbox_id="sandbox", attempt=0
        )

    def test_the_containers_follow_when_they_are_done(self) -> None:
        actions = decide(a_pod(init_containers=(INIT,)), an_instance(INIT, EXITED))

        assert actions.containers_to_start == (0,)

    def test_a_failure_ends_a_pod_that_is_never_restarted(self) -> None:
        pod = a_pod(init_containers=(INIT,), restart_policy=NEVER)

        actions = decide(pod, an_instance(INIT, EXITED, exit_code=1))

        assert actions.kill_pod
        assert actions.next_init_container is None

    def test_one_in_an_unknown_state_is_killed_first(self) -> None:
        actions = decide(a_pod(init_containers=(INIT,)), an_instance(INIT, UNKNOWN))

        message = 'Init container is in "unknown" state, try killing it before restart'
        assert kills(actions) == [("init", message, KillReason.UNKNOWN)]
        assert actions.next_init_container == INIT

    def test_a_failed_one_beside_sidecars_kills_a_pod_that_is_never_restarted(
        self,
    ) -> None:
        pod = a_pod(init_containers=(INIT, SIDE), restart_policy=NEVER)

        actions = decide(pod, an_instance(INIT, EXITED, exit_code=1))

        assert actions.kill_pod
        assert actions.containers_to_start == ()

    def test_containers_wait_for_sidecars(self) -> None:
        actions = decide(a_pod(init_containers=(SIDE, INIT)), an_instance(SIDE))

        assert actions.init_containers_to_start == (1,)
        assert actions.containers_to_start == ()

    def test_containers_follow_the_last_sidecar(self) -> None:
        actions = decide(a_pod(init_containers=(SIDE,)), an_instance(SIDE))

        assert actions.containers_to_start == (0,)


class TestContainers:
    def test_a_running_one_is_kept(self) -> None:
        actions = decide(a_pod(), an_instance())

        assert actions == PodActions(
            kill_pod=False, create_sandbox=False, sandbox_id="sandbox", attempt=0
        )

    def test_an_exited_one_is_started_again(self) -> None:
        actions = decide(a_pod(), an_instance(state=EXITED))

        assert (actions.containers_to_start, kills(actions)) == ((0,), [])

    def test_one_in_an_unknown_state_is_killed_first(self) -> None:
        actions = decide(a_pod(), an_instance(state=UNKNOWN))

        message = 'Container is in "unknown" state, try killing it before restart'
        assert kills(actions) == [("app", message, KillReason.UNKNOWN)]
        assert actions.containers_to_start == (0,)

    def test_a_failed_liveness_probe_kills_and_restarts(self) -> None:
        """Quirk: the result counts although this container has no such probe."""
        actions = decide(a_pod(), an_instance(), liveness=FAILURE)

        message = "Container app failed liveness probe, will be restarted"
        assert kills(actions) == [("app", message, KillReason.LIVENESS_PROBE)]
        assert (actions.containers_to_start, actions.kill_pod) == ((0,), False)

    def test_a_failed_startup_probe_kills_and_restarts(self) -> None:
        actions = decide(a_pod(), an_instance(), startup=FAILURE)

        message = "Container app failed startup probe, will be restarted"
        assert kills(actions) == [("app", message, KillReason.STARTUP_PROBE)]

    def test_liveness_is_named_where_both_failed(self) -> None:
        actions = decide(a_pod(), an_instance(), liveness=FAILURE, startup=FAILURE)

        assert [container.reason for container in actions.containers_to_kill] == [
            KillReason.LIVENESS_PROBE
        ]

    def test_the_result_of_an_earlier_instance_does_not_count(self) -> None:
        actions = decide(a_pod(), an_instance(number=1), liveness=FAILURE)

        assert kills(actions) == []

    def test_with_never_a_failed_probe_ends_the_pod(self) -> None:
        actions = decide(a_pod(restart_policy=NEVER), an_instance(), liveness=FAILURE)

        assert kills(actions) == [
            ("app", "Container app failed liveness probe", KillReason.LIVENESS_PROBE)
        ]
        assert (actions.kill_pod, actions.containers_to_start) == (True, ())

    def test_with_never_another_running_container_keeps_the_pod(self) -> None:
        pod = a_pod(APP, OTHER, restart_policy=NEVER)

        actions = decide(pod, an_instance(OTHER), an_instance(), liveness=FAILURE)

        assert (actions.kill_pod, len(kills(actions))) == (False, 1)

    def test_a_changed_definition_restarts_whatever_the_policy(self) -> None:
        pod = a_pod(a_container(image="busybox:1.37"), restart_policy=NEVER)

        actions = decide(pod, an_instance(APP))

        message = "Container app definition changed, will be restarted"
        assert kills(actions) == [("app", message, KillReason.NONE)]
        assert actions.containers_to_start == (0,)

    def test_nothing_to_keep_and_nothing_to_start_ends_the_pod(self) -> None:
        actions = decide(a_pod(restart_policy=NEVER), an_instance(state=EXITED))

        assert actions.kill_pod

    def test_sidecars_alone_do_not_keep_a_pod(self) -> None:
        ended = a_container("ended", restart_policy=ALWAYS)
        pod = a_pod(init_containers=(ended, SIDE), restart_policy=NEVER)

        actions = decide(
            pod,
            an_instance(APP, EXITED),
            an_instance(SIDE),
            an_instance(ended, EXITED),
        )

        assert (actions.kill_pod, actions.init_containers_to_start) == (True, ())

    def test_a_deleted_pod_starts_nothing(self) -> None:
        pod = a_pod(deletion_requested_at=START)

        actions = decide(pod, an_instance(state=EXITED))

        assert (actions.kill_pod, actions.containers_to_start) == (True, ())

    def test_ephemeral_containers_are_started_once_and_at_any_time(self) -> None:
        pod = a_pod(
            init_containers=(INIT,),
            ephemeral_containers=(a_container("debug"), a_container("again")),
        )

        actions = decide(pod, an_instance(a_container("again"), EXITED))

        assert actions.ephemeral_containers_to_start == (0,)
