"""Scenarios of exits, restarts and back-off, on virtual time."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from probetui.debugger.commands import RestartContainer
from probetui.drive.scenario.behavior import CallBehavior, InstanceBehavior
from probetui.k8s.pod import Container, Pod, PullPolicy, RestartPolicy
from probetui.k8s.runtime import RuntimeState
from probetui.k8s.status import PodPhase, Terminated, Waiting
from probetui.kubelet.effects import RemoveContainer
from probetui.kubelet.journal import (
    BackoffEntry,
    ContainerEntry,
    EventEntry,
    ExitCause,
    JournalEntry,
    LifecycleStep,
    PodGoneEntry,
    StateEntry,
    StateField,
    UserEntry,
)
from probetui.kubelet.pod_workers.pod_update import PodWorkerState
from tests.builders import a_container, a_pod, a_probe, at
from tests.drive.engine_bench import FAILS, EngineBench, always, probing, seconds

ALWAYS, ON_FAILURE, NEVER = RestartPolicy
CRASHES = (InstanceBehavior(timedelta(seconds=4), exit_code=1),)
COMPLETES = (InstanceBehavior(timedelta(seconds=4), exit_code=0),)
FAILING = probing(liveness=always(FAILS))


def failing(**probe: Any) -> Container:
    return a_container(liveness_probe=a_probe(**probe))


def windows(bench: EngineBench) -> list[tuple[int, bool]]:
    """Return each window that was in force, and whether it made a start wait."""
    return [(window, waits) for _, window, waits in bench.starts()]


class TestBackOff:
    def test_after_crashes_it_is_none_then_10_20_40_80_160_and_300(self) -> None:
        bench = EngineBench(a_pod(), lives={"app": CRASHES})

        bench.run_until(700)

        assert windows(bench) == [
            (0, False),
            *[(10, True), (10, False)],
            *[(20, True), (20, False)],
            *[(40, True), (40, False)],
            *[(80, True), (80, False)],
            *[(160, True), (160, False)],
            *[(300, True), (300, False)],
            (300, True),
        ]

    def test_a_back_off_counts_from_the_exit_of_the_last_instance(self) -> None:
        bench = EngineBench(a_pod(), lives={"app": CRASHES})

        bench.run_until(400)

        starts = [
            seconds(entry.at)
            for entry in bench.lifecycle_entries(LifecycleStep.STARTED)
        ]
        ends = [
            seconds(entry.at) for entry in bench.lifecycle_entries(LifecycleStep.EXITED)
        ]
        waited = [start - end for start, end in zip(starts[1:], ends, strict=False)]
        # A pod is not woken when its back-off is over; the retry of its sync starts it.
        assert waited[0] == 0
        assert all(
            window <= wait < window + 16
            for window, wait in zip((10, 20, 40, 80, 160), waited[1:], strict=True)
        )

    def test_after_probe_kills_the_first_restart_is_free_and_steps_are_skipped(
        self,
    ) -> None:
        """The series of a real kubelet for a container that is killed 6 s after its
        start: the 20 s step makes nobody wait.
        """
        bench = EngineBench(a_pod(failing(period_seconds=2)), probing=FAILING)

        bench.run_until(400)

        assert windows(bench) == [
            (0, False),
            (0, False),
            (10, True),
            (10, True),
            (10, False),
            (20, False),
            (40, True),
            (40, True),
            (40, False),
            (80, True),
            (80, True),
            (80, False),
            (160, True),
            (160, True),
            (160, False),
            (300, True),
            (300, True),
        ]

    def test_a_container_that_is_killed_may_stay_down(self) -> None:
        bench = EngineBench(a_pod(failing(period_seconds=2)), probing=FAILING)

        bench.run_until(21)

        app = bench.container()
        assert list(bench.running()) == []
        assert app.status is not None
        assert isinstance(app.status.state, Waiting)
        assert app.status.state.reason == "CrashLoopBackOff"
        assert app.backoff is not None
        assert app.backoff.until == at(28)

    def test_the_status_has_the_reason_crash_loop_back_off(self) -> None:
        bench = EngineBench(a_pod(), lives={"app": CRASHES})

        bench.run_until(40)

        (_, message) = bench.events("BackOff")[0]
        status = bench.container().status
        assert message == (
            "Back-off restarting failed container app in pod web_default(uid-of-web)"
        )
        assert status is not None
        assert status.state == Waiting(
            "CrashLoopBackOff",
            "back-off 20s restarting failed container=app pod=web_default(uid-of-web)",
        )
        assert isinstance(status.last_state, Terminated)

    def test_a_container_that_ran_for_long_is_as_good_as_new(self) -> None:
        bench = EngineBench(
            a_pod(),
            lives={
                "app": (*CRASHES, InstanceBehavior(timedelta(seconds=700), 1), *CRASHES)
            },
        )

        bench.run_until(715)

        assert windows(bench) == [(0, False), (0, False), (10, True)]

    def test_a_clean_exit_counts_like_any_other(self) -> None:
        bench = EngineBench(a_pod(), lives={"app": COMPLETES})

        bench.run_until(30)

        assert windows(bench)[:3] == [(0, False), (10, True), (10, False)]

    def test_a_container_that_runs_waits_for_nothing(self) -> None:
        bench = EngineBench(
            a_pod(), lives={"app": (*CRASHES, *CRASHES, InstanceBehavior())}
        )

        bench.run_until(60)

        backoff = bench.container().backoff
        assert backoff is not None
        assert (backoff.until, backoff.next_window) == (None, timedelta(seconds=20))


class TestPolicies:
    @pytest.mark.parametrize(
        ("policy", "exit_code", "starts", "phase"),
        [
            pytest.param(ALWAYS, 0, 2, PodPhase.RUNNING, id="always-after-success"),
            pytest.param(ALWAYS, 1, 2, PodPhase.RUNNING, id="always-after-failure"),
            pytest.param(
                ON_FAILURE, 0, 1, PodPhase.SUCCEEDED, id="on-failure-after-success"
            ),
            pytest.param(
                ON_FAILURE, 1, 2, PodPhase.RUNNING, id="on-failure-after-failure"
            ),
            pytest.param(NEVER, 0, 1, PodPhase.SUCCEEDED, id="never-after-success"),
            pytest.param(NEVER, 1, 1, PodPhase.FAILED, id="never-after-failure"),
        ],
    )
    def test_an_exit_restarts_the_container_as_its_policy_says(
        self, policy: RestartPolicy, exit_code: int, starts: int, phase: PodPhase
    ) -> None:
        bench = EngineBench(
            a_pod(restart_policy=policy),
            lives={
                "app": (
                    InstanceBehavior(timedelta(seconds=4), exit_code),
                    InstanceBehavior(),
                )
            },
        )

        bench.run_until(20)

        assert len(bench.lifecycle_entries(LifecycleStep.STARTED)) == starts
        assert bench.snapshot.pods[0].status.phase is phase

    def test_what_a_probe_killed_and_a_policy_ends_waits_for_no_restart(self) -> None:
        pod = a_pod(
            failing(period_seconds=1, failure_threshold=1), restart_policy=ON_FAILURE
        )
        bench = EngineBench(
            pod, probing=FAILING, lives={"app": (InstanceBehavior(stop_code=0),)}
        )

        bench.run_until(60)

        (ended,) = bench.snapshot.pods
        (container,) = ended.containers
        assert any(entry.waits for entry in bench.of(BackoffEntry))
        assert ended.status.phase is PodPhase.SUCCEEDED
        assert container.backoff is not None
        assert container.backoff.until is None

    def test_a_pod_that_has_ended_keeps_its_containers(self) -> None:
        bench = EngineBench(a_pod(restart_policy=NEVER), lives={"app": CRASHES})

        bench.run_until(20)

        (pod,) = bench.snapshot.pods
        assert pod.state is PodWorkerState.FINISHED
        assert [entry.pod_uid for entry in bench.of(PodGoneEntry)] == ["uid-of-web"]
        assert bench.engine.pod_uids() == ("uid-of-web",)
        assert len(bench.runtime_pods()[0].containers) == 1

    @pytest.mark.parametrize(
        ("policy", "message", "restarts"),
        [
            pytest.param(
                ALWAYS,
                "Container app failed liveness probe, will be restarted",
                1,
                id="always",
            ),
            pytest.param(
                ON_FAILURE,
                "Container app failed liveness probe, will be restarted",
                1,
                id="on-failure",
            ),
            pytest.param(NEVER, "Stopping container app", 0, id="never"),
        ],
    )
    def test_a_kill_by_a_probe_restarts_the_container_as_its_policy_says(
        self, policy: RestartPolicy, message: str, restarts: int
    ) -> None:
        bench = EngineBench(
            a_pod(failing(period_seconds=1), restart_policy=policy), probing=FAILING
        )

        bench.run_until(5.5)

        assert bench.events("Killing") == [(4, message)]
        assert len(bench.lifecycle_entries(LifecycleStep.STARTED)) == 1 + restarts

    def test_a_container_that_is_never_restarted_ignores_the_grace_period_of_the_probe(
        self,
    ) -> None:
        probe = {"period_seconds": 1, "termination_grace_period_seconds": 60}
        graces = []
        for policy in (ALWAYS, NEVER):
            bench = EngineBench(
                a_pod(failing(**probe), restart_policy=policy), probing=FAILING
            )
            bench.run_until(5)
            graces.append(
                bench.lifecycle_entries(LifecycleStep.STOPPING)[0].grace_period_seconds
            )

        assert graces == [60, 30]

    def test_a_container_that_ignores_sigterm_is_killed_after_its_grace(self) -> None:
        bench = EngineBench(
            a_pod(failing(period_seconds=1), termination_grace_period_seconds=7),
            probing=FAILING,
            lives={"app": (InstanceBehavior(stops_after=None),)},
        )

        bench.run_until(13)

        (exited,) = bench.lifecycle_entries(LifecycleStep.EXITED)
        assert (exited.exit_code, exited.signal, seconds(exited.at)) == (137, 9, 11)
        assert exited.grace_period_seconds == 7


class TestInitContainers:
    def pod(self, **fields: Any) -> Pod:
        return a_pod(init_containers=(a_container("init"),), **fields)

    def test_the_app_waits_for_init_containers(self) -> None:
        bench = EngineBench(self.pod(), lives={"init": COMPLETES})

        bench.run_until(10)

        assert seconds(bench.lifecycle_entries(LifecycleStep.STARTED)[0].at) == 4

    def test_an_init_container_that_fails_is_restarted(self) -> None:
        bench = EngineBench(self.pod(), lives={"init": (*CRASHES, *COMPLETES)})

        bench.run_until(20)

        assert len(bench.lifecycle_entries(LifecycleStep.STARTED, "init")) == 2
        assert len(bench.lifecycle_entries(LifecycleStep.STARTED)) == 1

    def test_an_init_container_that_fails_and_is_never_restarted_fails_its_pod(
        self,
    ) -> None:
        bench = EngineBench(self.pod(restart_policy=NEVER), lives={"init": CRASHES})

        bench.run_until(20)

        assert bench.lifecycle_entries(LifecycleStep.STARTED) == []
        assert bench.snapshot.pods[0].status.phase is PodPhase.FAILED

    def test_sidecars_run_beside_the_app_and_exit_after_it(self) -> None:
        side = a_container("side", restart_policy=ALWAYS)
        bench = EngineBench(
            a_pod(init_containers=(side,), restart_policy=NEVER),
            lives={"app": COMPLETES, "side": (InstanceBehavior(),)},
        )
        bench.run_until(3)
        assert sorted(bench.running()) == ["app", "side"]

        bench.run_until(20)

        app, side_ended = (
            bench.lifecycle_entries(LifecycleStep.EXITED, name)[0]
            for name in ("app", "side")
        )
        assert app.sequence < side_ended.sequence
        assert bench.snapshot.pods[0].status.phase is PodPhase.SUCCEEDED


class TestRestartsByTheUser:
    def test_a_restart_by_the_user_is_marked_and_makes_no_event(self) -> None:
        bench = EngineBench(a_pod())
        bench.run_until(5)

        bench.send(RestartContainer("uid-of-web", "app"))
        bench.run_until(8)

        (stopping,) = bench.lifecycle_entries(LifecycleStep.STOPPING)
        (exited,) = bench.lifecycle_entries(LifecycleStep.EXITED)
        assert stopping.by is exited.by is ExitCause.USER
        assert bench.times("Killing") == []
        assert len(bench.lifecycle_entries(LifecycleStep.STARTED)) == 2
        assert [(entry.command, entry.target) for entry in bench.of(UserEntry)] == [
            ("restart", "web/app")
        ]
        last = bench.container().last_exit
        assert last is not None
        assert last.by is ExitCause.USER

    @pytest.mark.parametrize(
        ("uid", "name"),
        [
            pytest.param("uid-of-web", "other", id="no-such-container"),
            pytest.param("nobody", "app", id="no-such-pod"),
        ],
    )
    def test_a_missing_container_cannot_be_restarted(self, uid: str, name: str) -> None:
        bench = EngineBench(a_pod())
        bench.run_until(5)

        bench.send(RestartContainer(uid, name))

        assert bench.of(UserEntry) == []
        assert bench.lifecycle_entries(LifecycleStep.STOPPING) == []

    def test_a_container_that_does_not_run_cannot_be_restarted(self) -> None:
        bench = EngineBench(a_pod(restart_policy=NEVER), lives={"app": CRASHES})
        bench.run_until(10)

        bench.send(RestartContainer("uid-of-web", "app"))

        assert bench.of(UserEntry) == []


class TestImages:
    def test_an_image_that_cannot_be_pulled_is_retried_again_and_again(self) -> None:
        bench = EngineBench(
            a_pod(a_container(image_pull_policy=PullPolicy.ALWAYS)),
            images=frozenset(),
        )

        bench.run_until(60)

        assert bench.reasons()[:3] == ["Pulling", "Failed", "Failed"]
        assert bench.reasons().count("BackOff") >= 1
        status = bench.container().status
        assert status is not None
        assert isinstance(status.state, Waiting)
        assert status.state.reason in {"ErrImagePull", "ImagePullBackOff"}

    def test_an_image_that_is_never_pulled_is_waited_for(self) -> None:
        bench = EngineBench(
            a_pod(a_container(image_pull_policy=PullPolicy.NEVER)),
            images=frozenset(),
        )

        bench.run_until(30)

        assert set(bench.reasons()) == {"ErrImageNeverPull", "Failed"}
        assert bench.lifecycle_entries(LifecycleStep.CREATED) == []


class TestContainerGC:
    def test_one_dead_instance_is_kept(self) -> None:
        bench = EngineBench(a_pod(), lives={"app": CRASHES})

        bench.run_until(150)

        states = [container.state for container in bench.runtime_pods()[0].containers]
        assert states.count(RuntimeState.EXITED) == 1
        assert len(bench.lifecycle_entries(LifecycleStep.REMOVED)) >= 3

    def test_an_instance_that_could_not_be_removed_is_removed_within_a_minute(
        self,
    ) -> None:
        refusals = [CallBehavior(error="busy")] * 2

        def refuse_first_removal(call: object) -> CallBehavior:
            if isinstance(call, RemoveContainer) and refusals:
                return refusals.pop()
            return CallBehavior()

        bench = EngineBench(
            a_pod(),
            lives={"app": (*CRASHES, *CRASHES, *CRASHES, InstanceBehavior())},
            dealing=refuse_first_removal,
        )

        bench.run_until(130)

        assert refusals == []
        assert len(bench.runtime_pods()[0].containers) == 2


class TestOrder:
    def test_the_entries_of_a_kill_are_in_the_order_of_cause_and_effect(self) -> None:
        bench = slow_to_die()

        bench.run_until(20)

        summaries = [words for entry in bench.journal if (words := summary_of(entry))]
        first = summaries.index("Unhealthy")
        assert summaries[first : first + 10] == [
            "Unhealthy",
            "result Failure",
            "hold on",
            "Killing",
            "stopping",
            "exited",
            "backoff",
            "Pulled",
            "Created",
            "created",
        ]

    def test_an_exit_has_the_instant_at_which_the_kill_returned(self) -> None:
        bench = slow_to_die()

        bench.run_until(20)

        (kill, *_), (end, *_) = (
            bench.lifecycle_entries(step)
            for step in (LifecycleStep.STOPPING, LifecycleStep.EXITED)
        )
        assert seconds(end.at) == seconds(kill.at) + 3
        (start, *_) = bench.lifecycle_entries(LifecycleStep.STARTED)[1:]
        assert (end.sequence, end.at) <= (start.sequence, start.at)
        assert (end.exit_code, end.by) == (137, ExitCause.LIVENESS)

    def test_an_exit_is_journaled_once(self) -> None:
        bench = EngineBench(a_pod(failing(failure_threshold=1)), probing=FAILING)

        bench.run_until(300)

        ends = [
            end.container_id for end in bench.lifecycle_entries(LifecycleStep.EXITED)
        ]
        assert len(ends) == len(set(ends)) > 1


def slow_to_die() -> EngineBench:
    """Return a container that fails at once and has to be killed after 3 s."""
    pod = a_pod(failing(failure_threshold=1), termination_grace_period_seconds=3)
    ignores = InstanceBehavior(stops_after=None)
    return EngineBench(pod, lives={"app": (ignores,)}, probing=FAILING)


def summary_of(entry: JournalEntry) -> str:
    match entry:
        case EventEntry(event=event):
            return event.reason
        case StateEntry(what=StateField.RESULT | StateField.HOLD):
            return f"{entry.what} {entry.after}"
        case ContainerEntry(what=what):
            return str(what)
        case BackoffEntry():
            return "backoff"
        case _:
            return ""
