from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from probetui.drive.scenario.behavior import CallBehavior, InstanceBehavior, ProbeAnswer
from probetui.drive.scenario.world import World
from probetui.k8s.probe import (
    ExecAction,
    GRPCAction,
    HTTPGetAction,
    ProbeHandler,
    ProbeType,
    TCPSocketAction,
)
from probetui.k8s.runtime import (
    ContainerID,
    RuntimeContainerStatus,
    RuntimeState,
    SandboxStatus,
)
from probetui.k8s.volume import EmptyDir, Volume
from probetui.kubelet.effects import (
    CreateContainer,
    GetImageStatus,
    GetPodSandboxStatus,
    MountVolume,
    Operation,
    PulledImage,
    PullImage,
    Relist,
    RemoveContainer,
    RemovePodSandbox,
    RunHook,
    RunOperation,
    RunPodSandbox,
    RunProbe,
    StartContainer,
    StopContainer,
    StopPodSandbox,
    UnmountVolume,
)
from probetui.kubelet.facts import (
    OperationFinished,
    ProbeFinished,
    Relisted,
    RelistFailed,
)
from probetui.kubelet.kuberuntime.container_hash import container_hash
from probetui.kubelet.outcome import Attempt, ProbeResult
from probetui.kubelet.prober.gates import short_id
from tests.builders import START, a_container, a_key, a_pod, a_probe, at
from tests.drive.engine_bench import ERRS, FAILS, seconds

CREATED, RUNNING, EXITED, _ = RuntimeState
POD = a_pod()
APP = a_container()
NOBODY = ContainerID("sim://nobody")


class Bench:
    """A simulated world with the operations of a runtime."""

    def __init__(self, *instances: InstanceBehavior, **script: Any) -> None:
        self.world = World({"app": instances} if instances else None, **script)
        self.now = START
        self.answered_at = START

    def do(self, operation: Operation, uid: str = POD.uid) -> OperationFinished:
        self.answered_at, fact = self.world.answer(
            RunOperation(7, uid, operation), self.now
        )
        assert isinstance(fact, OperationFinished)
        return fact

    def run_sandbox(self, **pod: Any) -> str:
        return str(self.do(RunPodSandbox(replace(POD, **pod), attempt=0)).value)

    def create(self, attempt: int = 0, sandbox: str = "") -> ContainerID:
        sandbox = sandbox or self.run_sandbox()
        created = self.do(CreateContainer(POD, APP, sandbox, attempt, "i"))
        return ContainerID(str(created.value))

    def start(self, attempt: int = 0, sandbox: str = "") -> ContainerID:
        container_id = self.create(attempt, sandbox)
        self.do(StartContainer(container_id))
        return container_id

    def stop(self, container_id: ContainerID, grace: int = 30) -> float:
        """Stop a container and return the second at which it has exited."""
        self.do(StopContainer(container_id, "app", grace))
        return seconds(self.answered_at)

    def container_at(self, second: float = 0) -> RuntimeContainerStatus:
        """Return the newest container at that second."""
        (pod,) = self.world.pods(at(second))
        return pod.containers[0]


class TestSandboxes:
    def test_a_pod_appears_with_its_sandbox_and_an_address(self) -> None:
        bench = Bench()

        sandbox = bench.run_sandbox()

        (pod,) = bench.world.pods(START)
        assert (pod.pod_uid, pod.name, pod.namespace) == (POD.uid, "web", "default")
        assert [status.sandbox_id for status in pod.sandboxes] == [sandbox]
        assert pod.sandboxes[0].is_ready
        assert pod.ips == (pod.sandboxes[0].ip,)

    def test_addresses_are_all_different(self) -> None:
        bench = Bench()
        for number in range(300):
            bench.run_sandbox(uid=f"uid-{number}")

        assert len({pod.ips for pod in bench.world.pods(START)}) == 300

    def test_on_the_host_s_network_a_pod_has_none_of_its_own(self) -> None:
        bench = Bench()

        bench.run_sandbox(host_network=True)

        assert bench.world.pods(START)[0].ips == ()

    def test_a_created_sandbox_can_be_inspected(self) -> None:
        bench = Bench()
        sandbox = bench.run_sandbox()

        value = bench.do(GetPodSandboxStatus(sandbox)).value

        assert isinstance(value, SandboxStatus)
        assert value.sandbox_id == sandbox

    def test_a_stopped_sandbox_is_not_ready_and_its_containers_are_killed(
        self,
    ) -> None:
        bench = Bench()
        first = bench.run_sandbox()
        bench.start(sandbox=first)
        bench.create(sandbox=first)

        bench.do(StopPodSandbox(first))

        (pod,) = bench.world.pods(START)
        assert (pod.sandboxes[0].is_ready, pod.ips) == (False, ())
        states = [
            (container.state, container.exit_code) for container in pod.containers
        ]
        assert states == [(CREATED, 0), (EXITED, 137)]

    def test_containers_of_another_sandbox_keep_running(self) -> None:
        bench = Bench()
        first, second = bench.run_sandbox(), bench.run_sandbox()
        bench.start(sandbox=second)

        bench.do(StopPodSandbox(first))

        assert bench.container_at().state is RUNNING

    def test_removing_a_sandbox_removes_its_containers(self) -> None:
        bench = Bench()
        first, second = bench.run_sandbox(), bench.run_sandbox()
        bench.start(sandbox=first)

        bench.do(RemovePodSandbox(first))

        (pod,) = bench.world.pods(START)
        assert [sandbox.sandbox_id for sandbox in pod.sandboxes] == [second]
        assert pod.containers == ()

    def test_removing_the_last_sandbox_removes_the_pod(self) -> None:
        bench = Bench()
        sandbox = bench.run_sandbox()

        bench.do(RemovePodSandbox(sandbox))

        assert bench.world.pods(START) == ()

    def test_stopping_and_removing_a_missing_object_is_no_error(self) -> None:
        bench = Bench()

        finished = [
            bench.do(command)
            for command in (
                StopPodSandbox("gone"),
                RemovePodSandbox("gone"),
                RemoveContainer(NOBODY),
                StopContainer(NOBODY, "app", 30),
            )
        ]

        assert {operation_finished.error for operation_finished in finished} == {None}


class TestContainers:
    def test_a_container_is_created_then_runs(self) -> None:
        bench = Bench()
        container_id = bench.create(attempt=3)
        created = bench.container_at()
        bench.now = at(2)

        bench.do(StartContainer(container_id))

        assert (created.state, created.created_at) == (CREATED, START)
        assert (created.restart_count, created.hash) == (3, container_hash(APP))
        assert (bench.container_at().state, bench.container_at().started_at) == (
            RUNNING,
            at(2),
        )

    def test_a_container_runs_as_long_as_its_script_says(self) -> None:
        bench = Bench(InstanceBehavior(timedelta(seconds=5), exit_code=3))
        bench.start()

        assert bench.container_at(4.9).state is RUNNING
        ended = bench.container_at(60)
        assert (ended.state, ended.exit_code, ended.finished_at) == (EXITED, 3, at(5))
        assert ended.reason == "Error"

    def test_each_attempt_has_its_own_behavior_and_the_last_one_repeats(self) -> None:
        bench = Bench(
            InstanceBehavior(timedelta(seconds=5)),
            InstanceBehavior(timedelta(seconds=9)),
        )
        sandbox = bench.run_sandbox()
        for attempt in range(3):
            bench.start(attempt, sandbox)

        (pod,) = bench.world.pods(at(60))

        ends = {
            container.restart_count: container.finished_at
            for container in pod.containers
        }
        assert ends == {0: at(5), 1: at(9), 2: at(9)}

    def test_a_clean_exit_has_the_reason_completed(self) -> None:
        bench = Bench(InstanceBehavior(timedelta(seconds=5)))
        bench.start()

        assert bench.container_at(5).reason == "Completed"

    @pytest.mark.parametrize(
        ("life", "grace", "ends", "exit_code"),
        [
            pytest.param(InstanceBehavior(), 30, 0, 0, id="at-once"),
            pytest.param(
                InstanceBehavior(stops_after=timedelta(seconds=4), stop_code=143),
                30,
                4,
                143,
                id="after-a-while",
            ),
            pytest.param(
                InstanceBehavior(stops_after=timedelta(seconds=40)),
                30,
                30,
                137,
                id="too-slow",
            ),
            pytest.param(InstanceBehavior(stops_after=None), 7, 7, 137, id="never"),
            pytest.param(
                InstanceBehavior(timedelta(seconds=2), exit_code=5, stops_after=None),
                30,
                2,
                5,
                id="by-itself-meanwhile",
            ),
        ],
    )
    def test_a_stop_returns_when_the_container_has_exited(
        self, life: InstanceBehavior, grace: int, ends: float, exit_code: int
    ) -> None:
        bench = Bench(life)

        ended_at = bench.stop(bench.start(), grace)

        assert ended_at == ends
        ended = bench.container_at(60)
        assert (ended.finished_at, ended.exit_code) == (at(ends), exit_code)

    def test_stopping_an_exited_container_returns_at_once(self) -> None:
        bench = Bench()

        assert bench.stop(bench.create()) == 0
        assert bench.container_at(60).state is CREATED

    def test_a_removed_container_is_not_found_again(self) -> None:
        bench = Bench(InstanceBehavior(timedelta(seconds=5)))
        container_id = bench.start()

        bench.do(RemoveContainer(container_id))

        (pod,) = bench.world.pods(at(60))
        assert pod.containers == ()

    def test_an_unchanged_pod_is_the_same_object(self) -> None:
        bench = Bench(InstanceBehavior(timedelta(seconds=5)))
        bench.start()

        before = bench.world.pods(at(1))

        assert bench.world.pods(at(2))[0] is before[0]
        assert bench.world.pods(at(5))[0] is not before[0]

    def test_hooks_return_no_output(self) -> None:
        hook = RunHook(POD, APP, NOBODY, ExecAction(("x",)), "")

        assert Bench().do(hook) == OperationFinished(7)


class TestImages:
    def test_all_images_exist_unless_some_are_named(self) -> None:
        bench = Bench()

        assert bench.do(GetImageStatus("a:1")).value == "a:1"
        assert bench.do(PullImage(POD, "a:1")).value == PulledImage("a:1", 0)

    def test_images_that_are_not_named_cannot_be_pulled(self) -> None:
        bench = Bench(images=frozenset({"a:1"}))

        assert bench.do(GetImageStatus("a:1")).value == "a:1"
        assert bench.do(GetImageStatus("b:1")).value is None
        pulled = bench.do(PullImage(POD, "b:1"))
        assert (pulled.error, pulled.not_found) == ("b:1: not found", True)


class TestCallBehavior:
    def test_a_call_can_take_time_and_takes_effect_at_once(self) -> None:
        bench = Bench(dealing=lambda _call: CallBehavior(timedelta(seconds=3)))

        bench.run_sandbox()

        assert bench.answered_at == at(3)
        assert len(bench.world.pods(START)) == 1

    def test_a_stop_takes_the_time_of_the_call_and_of_the_container(self) -> None:
        bench = Bench(
            InstanceBehavior(stops_after=timedelta(seconds=4)),
            dealing=lambda _call: CallBehavior(timedelta(seconds=3)),
        )

        assert bench.stop(bench.start()) == 7

    def test_a_call_may_be_refused(self) -> None:
        bench = Bench(dealing=lambda _call: CallBehavior(error="daemon busy"))

        finished = bench.do(RunPodSandbox(POD, 0))

        assert (finished.error, finished.not_found) == ("daemon busy", False)
        assert bench.world.pods(START) == ()

    def test_a_relist_can_be_slow_or_refused(self) -> None:
        behaviors = [
            CallBehavior(timedelta(seconds=3), "busy"),
            CallBehavior(timedelta(seconds=2)),
        ]
        bench = Bench(dealing=lambda _call: behaviors.pop())

        answers = [bench.world.answer(Relist(), START) for _ in range(2)]

        assert answers == [
            (at(2), Relisted((), START)),
            (at(3), RelistFailed("busy")),
        ]

    def test_an_unreachable_runtime_refuses_everything(self) -> None:
        bench = Bench()
        bench.world.unreachable = "no daemon"

        assert bench.do(RunPodSandbox(POD, 0)).error == "no daemon"
        assert bench.world.answer(Relist(), START)[1] == RelistFailed("no daemon")

    @pytest.mark.parametrize(
        ("operation", "error"),
        [
            pytest.param(
                GetPodSandboxStatus("gone"), "gone: no such sandbox", id="look"
            ),
            pytest.param(
                CreateContainer(POD, APP, "gone", 0, "i"),
                "gone: no such sandbox",
                id="create",
            ),
            pytest.param(
                StartContainer(NOBODY), "sim://nobody: no such container", id="start"
            ),
        ],
    )
    def test_a_missing_object_is_not_found(
        self, operation: Operation, error: str
    ) -> None:
        finished = Bench().do(operation)

        assert (finished.error, finished.not_found) == (error, True)


def test_short_ids_of_containers_are_unique() -> None:
    bench = Bench()
    sandbox = bench.run_sandbox()

    shown = {short_id(bench.create(number, sandbox)) for number in range(50)}

    assert len(shown) == 50
    assert {len(id_) for id_ in shown} == {12}


def test_volumes_are_listed_until_they_are_unmounted() -> None:
    bench = Bench()
    mount = MountVolume(POD, Volume("scratch", EmptyDir()), (), START)

    bench.do(mount)
    mounted = dict(bench.world.volumes)
    bench.do(UnmountVolume(POD.uid, "scratch"))

    assert mounted == {(POD.uid, "scratch"): mount}
    assert bench.world.volumes == {}


class TestProbes:
    def probe(self, bench: Bench, container_id: ContainerID) -> RunProbe:
        key = a_key(ProbeType.LIVENESS)
        return RunProbe(9, key, POD, APP, a_probe(), container_id, "")

    def test_without_a_script_probes_succeed(self) -> None:
        bench = Bench()

        when, fact = bench.world.answer(self.probe(bench, bench.start()), at(4))

        assert when == at(4)
        assert isinstance(fact, ProbeFinished)
        assert fact.probe_id == 9
        assert fact.outcome.last.result is ProbeResult.SUCCESS

    @pytest.mark.parametrize("handler", [HTTPGetAction("web"), TCPSocketAction("web")])
    def test_a_named_port_that_is_missing_is_the_error_of_a_runtime(
        self, handler: HTTPGetAction | TCPSocketAction
    ) -> None:
        bench = Bench()
        effect = self.probe(bench, bench.start())
        probe = replace(effect.probe, handler=handler)

        _, fact = bench.world.answer(effect._replace(probe=probe), at(4))

        assert isinstance(fact, ProbeFinished)
        assert fact.outcome.last.error == (
            'strconv.Atoi: parsing "web": invalid syntax'
        )
        assert len(fact.outcome.attempts) == 3

    @pytest.mark.parametrize(
        ("handler", "message"),
        [
            pytest.param(
                HTTPGetAction(8080, "/healthz"),
                'Get "http://10.0.0.1:8080/healthz": dial tcp 10.0.0.1:8080: connect: '
                "connection refused",
                id="HTTP",
            ),
            pytest.param(
                TCPSocketAction(8080),
                "dial tcp 10.0.0.1:8080: connect: connection refused",
                id="TCP",
            ),
            pytest.param(
                GRPCAction(8080),
                'timeout: failed to connect service "10.0.0.1:8080" within 1s: context '
                "deadline exceeded",
                id="gRPC",
            ),
            pytest.param(
                ExecAction(("true",)), "the container is not running", id="exec"
            ),
        ],
    )
    def test_an_exited_container_answers_no_probe(
        self, handler: ProbeHandler, message: str
    ) -> None:
        bench = Bench(InstanceBehavior(lasts=timedelta(seconds=5), exit_code=1))
        effect = self.probe(bench, bench.start())
        probe = replace(effect.probe, handler=handler)
        effect = effect._replace(probe=probe, pod_ip="10.0.0.1")

        outcomes = []
        for second in (4, 6):
            _, fact = bench.world.answer(effect, at(second))
            assert isinstance(fact, ProbeFinished)
            outcomes.append(fact.outcome.last)

        alive, dead = outcomes
        assert alive.result is ProbeResult.SUCCESS
        assert message in (dead.output, dead.error)

    def test_a_probe_of_another_host_is_answered_after_the_container_exited(
        self,
    ) -> None:
        bench = Bench(InstanceBehavior(lasts=timedelta(seconds=5)))
        effect = self.probe(bench, bench.start())
        probe = replace(effect.probe, handler=TCPSocketAction(80, "example.com"))

        _, fact = bench.world.answer(effect._replace(probe=probe), at(6))

        assert isinstance(fact, ProbeFinished)
        assert fact.outcome.last.result is ProbeResult.SUCCESS

    def test_the_script_gets_the_age_of_the_instance(self) -> None:
        ages = []

        def answer(_effect: RunProbe, age: timedelta) -> ProbeAnswer:
            ages.append(age)
            return FAILS

        bench = Bench(probing=answer)
        started, created = bench.start(), bench.create()
        for container_id in (started, created, NOBODY):
            bench.world.answer(self.probe(bench, container_id), at(4))

        assert ages == [timedelta(seconds=4), timedelta(), timedelta()]

    def test_a_probe_can_take_time(self) -> None:
        slow = ProbeAnswer(Attempt(ProbeResult.SUCCESS), timedelta(seconds=3))
        bench = Bench(probing=lambda _effect, _age: slow)

        when, fact = bench.world.answer(self.probe(bench, NOBODY), at(4))

        assert when == at(7)
        assert isinstance(fact, ProbeFinished)
        assert fact.outcome.started_at == at(4)
        assert fact.outcome.duration == timedelta(seconds=3)

    def test_an_error_is_attempted_three_times(self) -> None:
        bench = Bench(probing=lambda _effect, _age: ERRS)

        _, fact = bench.world.answer(self.probe(bench, NOBODY), START)

        assert isinstance(fact, ProbeFinished)
        assert len(fact.outcome.attempts) == 3
