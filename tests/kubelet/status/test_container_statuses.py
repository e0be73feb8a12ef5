from __future__ import annotations

import pytest

from probetui.k8s.pod import Pod, RestartPolicy, VolumeMount
from probetui.k8s.runtime import RuntimeContainerStatus, RuntimeState
from probetui.k8s.status import (
    ContainerState,
    ContainerStatus,
    Running,
    Terminated,
    VolumeMountStatus,
    Waiting,
)
from probetui.kubelet.kuberuntime.reason_cache import ReasonCache, StartFailure
from probetui.kubelet.status.container_statuses import container_statuses
from probetui.kubelet_rules import rules_of
from tests.builders import (
    START,
    a_container,
    a_pod,
    a_runtime_status,
    an_instance,
    at,
)

CREATED, RUNNING, EXITED, UNKNOWN = RuntimeState
INIT = a_container("init")
CREATING = Waiting("ContainerCreating")
CRASH_LOOP = StartFailure("CrashLoopBackOff", "back-off 10s")
LOST_END = Terminated(
    137,
    "ContainerStatusUnknown",
    "The container could not be located when the pod was terminated",
)


def exited(number: int = 0, exit_code: int = 0) -> RuntimeContainerStatus:
    return an_instance(state=EXITED, number=number, exit_code=exit_code)


def was(
    state: ContainerState,
    last: ContainerState | None = None,
    *,
    restarts: int = 3,
    name: str = "app",
) -> ContainerStatus:
    """What was published of a container."""
    return ContainerStatus(
        name,
        state=state,
        last_state=last,
        restart_count=restarts,
        volume_mounts=(VolumeMountStatus("data", "/data"),),
    )


def status_of_app(
    *instances: RuntimeContainerStatus,
    pod: Pod | None = None,
    old: ContainerStatus | None = None,
    failure: StartFailure | None = None,
) -> ContainerStatus:
    reasons = ReasonCache()
    pod = pod or a_pod()
    if failure is not None:
        reasons.set(pod.uid, "app", failure)
    previous = () if old is None else (old,)
    (status,) = container_statuses(
        pod, a_runtime_status(*instances), previous, reasons, of_init=False
    )
    return status


@pytest.mark.parametrize(("version", "signal"), [("1.36", ""), ("1.37", "SIGUSR1")])
def test_a_status_names_the_stop_signal_that_the_runtime_names(
    version: str, signal: str
) -> None:
    running = an_instance(state=RUNNING, stop_signal="SIGUSR1")

    (status,) = container_statuses(
        a_pod(),
        a_runtime_status(running),
        (),
        ReasonCache(),
        of_init=False,
        rules=rules_of(version),
    )

    assert status.stop_signal == signal


class TestWithoutAnInstance:
    def test_a_new_container_is_being_created(self) -> None:
        mounts = (
            VolumeMount("data", "/data"),
            VolumeMount("config", "/config", read_only=True),
        )
        pod = a_pod(a_container(volume_mounts=mounts))

        status = status_of_app(pod=pod)

        assert status == ContainerStatus(
            "app",
            state=CREATING,
            image="busybox:1.36",
            volume_mounts=(
                VolumeMountStatus("data", "/data"),
                VolumeMountStatus(
                    "config", "/config", read_only=True, recursive_read_only="Disabled"
                ),
            ),
        )

    def test_all_containers_wait_for_init_containers(self) -> None:
        status = status_of_app(pod=a_pod(init_containers=(INIT,)))

        assert status.state == Waiting("PodInitializing")

    def test_an_ended_container_stays_as_it_was(self) -> None:
        old = was(Terminated(1))

        assert status_of_app(old=old) is old

    def test_a_waiting_one_keeps_its_count_and_its_last_end(self) -> None:
        status = status_of_app(old=was(CREATING, Terminated(1)))

        assert (status.state, status.last_state) == (CREATING, Terminated(1))
        assert status.restart_count == 3

    def test_a_running_one_must_have_ended_unseen(self) -> None:
        status = status_of_app(old=was(Running()))

        assert status.state == CREATING
        assert status.last_state == Terminated(
            137,
            "ContainerStatusUnknown",
            "The container could not be located when the pod was deleted.  "
            "The container used to be Running",
        )
        assert status.restart_count == 4

    def test_that_is_no_restart_in_a_deleted_pod(self) -> None:
        status = status_of_app(
            old=was(Running()), pod=a_pod(deletion_requested_at=START)
        )

        assert status.restart_count == 3

    def test_an_exit_of_an_earlier_relist_is_kept(self) -> None:
        status = status_of_app(old=was(Running(), Terminated(1)))

        assert (status.last_state, status.restart_count) == (Terminated(1), 3)


class TestWithInstances:
    def test_a_running_one_runs(self) -> None:
        running = an_instance(number=2, image_ref="sha256:abc")

        status = status_of_app(running, old=was(CREATING))

        assert status == ContainerStatus(
            "app",
            container_id="fake://app-2",
            state=Running(at(201)),
            restart_count=2,
            image="busybox:1.36",
            image_id="sha256:abc",
            volume_mounts=(VolumeMountStatus("data", "/data"),),
        )

    def test_those_of_other_containers_do_not_count(self) -> None:
        other = an_instance(a_container("other"))

        assert status_of_app(other, an_instance()).container_id == "fake://app-0"

    def test_a_created_one_waits_without_a_reason(self) -> None:
        assert status_of_app(an_instance(state=CREATED)).state == Waiting()

    def test_an_exited_container_has_its_exit_status(self) -> None:
        instance = an_instance(state=EXITED, exit_code=2, reason="Error", message="why")

        assert status_of_app(instance).state == Terminated(
            2, "Error", "why", at(1), at(11), "fake://app-0"
        )

    def test_the_instance_before_gives_the_last_state(self) -> None:
        status = status_of_app(an_instance(number=2), exited(1, exit_code=7), exited())

        assert isinstance(status.last_state, Terminated)
        assert status.last_state.exit_code == 7

    def test_a_published_last_state_does_not_outlive_its_instance(self) -> None:
        """Quirk: it is not kept once the runtime knows the container."""
        status = status_of_app(an_instance(), old=was(Running(), Terminated(1)))

        assert status.last_state is None

    def test_an_unknown_container_that_ran_has_exited(self) -> None:
        status = status_of_app(an_instance(state=UNKNOWN), old=was(Running()))

        assert (status.state, status.restart_count) == (LOST_END, 4)

    @pytest.mark.parametrize("old", [None, was(CREATING)])
    def test_an_unknown_container_that_did_not_run_waits(
        self, old: ContainerStatus | None
    ) -> None:
        assert status_of_app(an_instance(state=UNKNOWN), old=old).state == Waiting()


class TestStartFailures:
    def test_a_container_that_could_not_be_started_waits_for_that_reason(self) -> None:
        status = status_of_app(exited(exit_code=1), failure=CRASH_LOOP)

        assert status.state == Waiting("CrashLoopBackOff", "back-off 10s")
        assert isinstance(status.last_state, Terminated)
        assert status.last_state.exit_code == 1

    def test_one_that_never_ran_keeps_its_last_state(self) -> None:
        status = status_of_app(old=was(CREATING, Terminated(1)), failure=CRASH_LOOP)

        assert status.state == Waiting("CrashLoopBackOff", "back-off 10s")
        assert status.last_state == Terminated(1)

    def test_without_a_failure_an_ended_one_shows_its_end(self) -> None:
        assert isinstance(status_of_app(exited(exit_code=1)).state, Terminated)

    def test_an_old_failure_does_not_count_while_it_runs(self) -> None:
        assert isinstance(
            status_of_app(an_instance(), failure=CRASH_LOOP).state, Running
        )

    def test_nor_once_it_is_over(self) -> None:
        pod = a_pod(restart_policy=RestartPolicy.NEVER)

        status = status_of_app(exited(exit_code=1), pod=pod, failure=CRASH_LOOP)

        assert isinstance(status.state, Terminated)


class TestInitContainers:
    def test_one_that_is_done_is_not_to_be_started(self) -> None:
        reasons = ReasonCache()
        pod = a_pod(init_containers=(INIT,))
        reasons.set(pod.uid, "init", CRASH_LOOP)

        (status,) = container_statuses(
            pod, a_runtime_status(an_instance(INIT, EXITED)), (), reasons, of_init=True
        )

        assert isinstance(status.state, Terminated)

    def test_one_that_failed_is(self) -> None:
        reasons = ReasonCache()
        pod = a_pod(init_containers=(INIT,))
        reasons.set(pod.uid, "init", CRASH_LOOP)
        failed = an_instance(INIT, EXITED, exit_code=1)

        (status,) = container_statuses(
            pod, a_runtime_status(failed), (), reasons, of_init=True
        )

        assert status.state == Waiting("CrashLoopBackOff", "back-off 10s")

    def test_they_are_in_the_order_of_the_spec(self) -> None:
        inits = (a_container("z"), a_container("a"))

        statuses = container_statuses(
            a_pod(init_containers=inits),
            a_runtime_status(),
            (),
            ReasonCache(),
            of_init=True,
        )

        assert [status.name for status in statuses] == ["z", "a"]

    def test_regular_ones_are_in_the_order_of_their_names(self) -> None:
        pod = a_pod(a_container("z"), a_container("a"))

        statuses = container_statuses(
            pod, a_runtime_status(), (), ReasonCache(), of_init=False
        )

        assert [status.name for status in statuses] == ["a", "z"]
