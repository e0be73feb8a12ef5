from __future__ import annotations

import asyncio
import errno
import logging
from collections.abc import AsyncIterator, Callable
from datetime import timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from probetui.drive import executor
from probetui.drive.executor import Executor
from probetui.engine.inputs import (
    Fact,
    LastOutputRead,
    ListenersFound,
    ProbeStillRuns,
)
from probetui.errors import ContainerConfigError, ContainerRuntimeError
from probetui.k8s.pod import EnvVar
from probetui.k8s.probe import ExecAction, Probe
from probetui.k8s.runtime import (
    ContainerID,
    Listeners,
    ListenerScope,
    LogLine,
    RuntimeContainerStatus,
    RuntimeState,
    SandboxStatus,
    SocketAddress,
    StoredImage,
)
from probetui.k8s.volume import EmptyDir, Volume
from probetui.kubelet.effects import (
    CreateContainer,
    Effect,
    Fault,
    FindListeners,
    GetImageStatus,
    GetImageUser,
    GetPodSandboxStatus,
    GetRuntimeStatus,
    InjectFault,
    ListImages,
    MountVolume,
    Operation,
    PulledImage,
    PullImage,
    ReadLastOutput,
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
    ImagesListed,
    OperationFinished,
    OperationProgress,
    ProbeFinished,
    Relisted,
    RelistFailed,
    RuntimeStatusRead,
)
from probetui.kubelet.outcome import Attempt, ProbeOutcome, ProbeResult
from probetui.kubelet.runtime_health import READY_CONDITIONS
from probetui.ports import HookResult, Runtime
from tests.builders import START, a_container, a_key, a_pod, a_probe, at
from tests.fakes import (
    FAILING,
    FakeClock,
    FakeEngine,
    FakeProber,
    FakeRuntime,
    Image,
    Run,
)

POD, APP, KEY = a_pod(), a_container(), a_key()
PROBE = a_probe()
NOBODY = ContainerID("fake://nobody")
SOMEBODY = ContainerID("fake://somebody")
LISTENERS = Listeners((SocketAddress("127.0.0.1", 80),), ListenerScope.CONTAINER)
SECOND = timedelta(seconds=1)
SCRATCH = Volume("scratch", EmptyDir())


class FakeHooks:
    """`ports.HookRunner` that returns a given result."""

    def __init__(self, result: HookResult) -> None:
        self._result = result

    async def run(self, operation: RunHook) -> HookResult:
        return self._result


class BrokenProber:
    """A prober with a bug."""

    async def probe(self, effect: RunProbe) -> ProbeOutcome:
        raise LookupError("a bug")


class HangingProber:
    """A prober whose probe ends when it is told to; `facts` are what came before."""

    def __init__(self) -> None:
        self.facts: list[Fact] = []
        self.ends = asyncio.Event()

    def hear(self, fact: Fact) -> None:
        """Keep a fact; the probe ends once it is said to run still."""
        self.facts.append(fact)
        self.ends.set()

    async def probe(self, effect: RunProbe) -> ProbeOutcome:
        await self.ends.wait()
        return ProbeOutcome((Attempt(ProbeResult.SUCCESS),), START)


class WithVolumes(FakeRuntime):
    """A runtime with volumes; `mounted` has the mounted volumes."""

    def __init__(self, engine: FakeEngine) -> None:
        super().__init__(engine)
        self.mounted: set[str] = set()

    async def mount_volume(self, operation: MountVolume) -> None:
        self.mounted.add(operation.volume.name)

    async def unmount_volume(self, operation: UnmountVolume) -> None:
        self.mounted.discard(operation.volume_name)


class WithUsers(FakeRuntime):
    """A runtime that knows the user of every image."""

    async def image_user(self, image: str) -> str:
        return f"the user of {image}"


class Bench:
    """An executor with a fake runtime; `facts` are what it reported."""

    def __init__(
        self,
        *,
        prober: Any = None,
        hook: HookResult | None = None,
        late_seconds: float = 1,
        make_runtime: Callable[[FakeEngine], FakeRuntime] = FakeRuntime,
    ) -> None:
        self.clock = FakeClock()
        self.engine = FakeEngine(self.clock)
        self.runtime = make_runtime(self.engine)
        self.prober = FakeProber(self.clock)
        self.facts: list[Fact] = []
        self.executor = Executor(
            self.runtime,
            prober or self.prober,
            FakeHooks(hook or HookResult()),
            self.clock,
            late_seconds=late_seconds,
        )

    async def execute(self, effect: Effect) -> Fact:
        """Carry an effect out, while time jumps, and return the last fact."""
        async with self.clock.jumping():
            await self.executor.execute(effect, self.facts.append)
        return self.facts[-1]

    async def do(self, operation: Operation) -> OperationFinished:
        fact = await self.execute(RunOperation(7, POD.uid, operation))
        assert isinstance(fact, OperationFinished)
        assert fact.operation_id == 7
        return fact

    async def create(self) -> ContainerID:
        sandbox = await self.do(RunPodSandbox(POD, 0))
        created = await self.do(
            CreateContainer(POD, APP, str(sandbox.value), 0, "image")
        )
        return ContainerID(str(created.value))

    async def start(self) -> ContainerID:
        container_id = await self.create()
        await self.do(StartContainer(container_id))
        return container_id

    def state(self) -> RuntimeState:
        return self.engine.container("app").state


def a_run_probe(probe: Probe = PROBE) -> RunProbe:
    return RunProbe(9, KEY, POD, APP, probe, NOBODY, "10.0.0.2")


class TestOperations:
    async def test_a_sandbox_is_created_inspected_stopped_and_removed(self) -> None:
        bench = Bench()
        sandbox_id = str((await bench.do(RunPodSandbox(POD, 3))).value)

        status = (await bench.do(GetPodSandboxStatus(sandbox_id))).value
        await bench.do(StopPodSandbox(sandbox_id))
        stopped = (await bench.do(GetPodSandboxStatus(sandbox_id))).value
        await bench.do(RemovePodSandbox(sandbox_id))

        assert isinstance(status, SandboxStatus)
        assert isinstance(stopped, SandboxStatus)
        assert (status.attempt, status.is_ready, stopped.is_ready) == (3, True, False)
        assert bench.engine.sandboxes == {}

    async def test_a_container_is_created_started_stopped_and_removed(self) -> None:
        bench = Bench()
        container_id = await bench.create()
        states = [bench.state()]

        await bench.do(StartContainer(container_id))
        states.append(bench.state())
        await bench.do(StopContainer(container_id, "app", 30))
        states.append(bench.state())
        await bench.do(RemoveContainer(container_id))

        assert states == [
            RuntimeState.CREATED,
            RuntimeState.RUNNING,
            RuntimeState.EXITED,
        ]
        assert bench.engine.containers == {}

    async def test_a_stop_uses_the_grace_period_of_the_operation(self) -> None:
        bench = Bench()
        bench.engine.runs = lambda _operation: Run(on_sigterm=None)
        container_id = await bench.start()

        await bench.do(StopContainer(container_id, "app", 7))

        assert bench.clock.now() == at(7)

    async def test_a_stop_returns_the_exit_status_of_the_container(self) -> None:
        bench = Bench()
        container_id = await bench.start()

        finished = await bench.do(StopContainer(container_id, "app", 30))

        ended = finished.value
        assert isinstance(ended, RuntimeContainerStatus)
        assert ended.container_id == container_id
        assert ended.state is RuntimeState.EXITED

    async def test_a_stop_succeeds_although_the_exit_status_cannot_be_read(
        self, caplog: pytest.LogCaptureFixture
    ) -> None:
        class Silent(FakeRuntime):
            async def container_status(
                self, container_id: ContainerID
            ) -> RuntimeContainerStatus | None:
                raise ContainerRuntimeError("the daemon is gone")

        bench = Bench(make_runtime=Silent)
        container_id = await bench.start()

        finished = await bench.do(StopContainer(container_id, "app", 30))

        assert (finished.value, finished.error) == (None, None)
        assert "the daemon is gone" in caplog.text

    async def test_the_status_of_an_image_is_read(self) -> None:
        bench = Bench()
        bench.engine.images["gone:1"] = Image(is_here=False)

        here = await bench.do(GetImageStatus("here:1"))
        gone = await bench.do(GetImageStatus("gone:1"))

        assert here == OperationFinished(7, "sha256:0f1e2d")
        assert gone == OperationFinished(7, None)

    async def test_a_pull_reports_its_progress(self) -> None:
        bench = Bench()

        pulled = await bench.do(PullImage(POD, "a:1"))

        assert pulled.value == PulledImage("sha256:0f1e2d", 4_000_000)
        assert bench.facts == [OperationProgress(7, "pulling a:1"), pulled]

    async def test_a_failed_hook_returns_its_output_and_its_error(self) -> None:
        bench = Bench(hook=HookResult("half done", "exit 1"))

        finished = await bench.do(RunHook(POD, APP, NOBODY, ExecAction(("x",)), ""))

        assert finished == OperationFinished(7, "half done", "exit 1")

    async def test_a_hook_reports_a_server_without_tls(self) -> None:
        bench = Bench(hook=HookResult(fallback_host="10.0.0.2:443"))

        finished = await bench.do(RunHook(POD, APP, NOBODY, ExecAction(("x",)), ""))

        assert finished == OperationFinished(7, "", fallback_host="10.0.0.2:443")

    async def test_volumes_are_mounted_and_unmounted(self) -> None:
        bench = Bench(make_runtime=WithVolumes)
        assert isinstance(bench.runtime, WithVolumes)

        await bench.do(MountVolume(POD, SCRATCH, (), START))
        mounted = set(bench.runtime.mounted)
        finished = await bench.do(UnmountVolume(POD.uid, "scratch"))

        assert finished == OperationFinished(7)
        assert (mounted, bench.runtime.mounted) == ({"scratch"}, set())

    async def test_the_user_of_an_image_is_read(self) -> None:
        bench = Bench(make_runtime=WithUsers)

        finished = await bench.do(GetImageUser("a:1"))

        assert finished == OperationFinished(7, "the user of a:1")

    async def test_where_nobody_knows_users_an_image_has_none(self) -> None:
        finished = await Bench().do(GetImageUser("a:1"))

        assert finished == OperationFinished(7, None)

    async def test_a_fault_is_injected_into_its_container(self) -> None:
        bench = Bench()
        container_id = await bench.start()

        finished = await bench.do(InjectFault(container_id, "app", Fault.FREEZE))

        assert finished == OperationFinished(7)
        assert bench.engine.container("app").is_frozen

    @pytest.mark.parametrize(
        "operation",
        [
            pytest.param(MountVolume(POD, SCRATCH, (), START), id="mount"),
            pytest.param(UnmountVolume(POD.uid, "scratch"), id="unmount"),
        ],
    )
    async def test_what_a_runtime_does_not_support_is_an_error(
        self, operation: Operation, caplog: pytest.LogCaptureFixture
    ) -> None:
        finished = await Bench().do(operation)

        assert finished.error == "fake has no volumes"
        assert not caplog.records


class TestErrors:
    async def test_an_error_of_the_runtime_keeps_its_message(self) -> None:
        bench = Bench()
        bench.engine.sandbox_error = "no network"

        finished = await bench.do(RunPodSandbox(POD, 0))

        assert finished == OperationFinished(7, error="no network")

    async def test_a_container_that_cannot_be_prepared_is_a_config_error(self) -> None:
        bench = Bench()

        def refuse(_operation: CreateContainer) -> Run:
            raise ContainerConfigError("failed to prepare subPath")

        bench.engine.runs = refuse
        sandbox = await bench.do(RunPodSandbox(POD, 0))

        finished = await bench.do(
            CreateContainer(POD, APP, str(sandbox.value), 0, "image")
        )

        assert finished == OperationFinished(
            7, error="failed to prepare subPath", config_error=True
        )

    async def test_an_image_that_does_not_exist_is_not_found(self) -> None:
        bench = Bench()
        bench.engine.images["a:1"] = Image(is_here=False, pull_error="a:1: not found")

        finished = await bench.do(PullImage(POD, "a:1"))

        assert finished == OperationFinished(7, error="a:1: not found", not_found=True)

    @pytest.mark.parametrize(
        ("effect", "fact"),
        [
            pytest.param(Relist(), RelistFailed("LookupError: a bug"), id="relist"),
            pytest.param(
                RunOperation(7, POD.uid, GetImageStatus("a:1")),
                OperationFinished(7, error="LookupError: a bug"),
                id="operation",
            ),
        ],
    )
    async def test_a_bug_fails_one_effect_and_is_logged(
        self, effect: Effect, fact: Fact, caplog: pytest.LogCaptureFixture
    ) -> None:
        class Broken(FakeRuntime):
            async def _call(self) -> None:
                raise LookupError("a bug")

        bench = Bench()
        bench.executor._runtime = Broken(bench.engine)

        with caplog.at_level(logging.ERROR):
            reported = await bench.execute(effect)

        assert reported == fact
        assert "Traceback" in caplog.text

    async def test_variables_of_containers_are_not_logged(
        self, caplog: pytest.LogCaptureFixture
    ) -> None:
        class Full(FakeRuntime):
            async def create_container(self, operation: CreateContainer) -> ContainerID:
                raise OSError(errno.ENOSPC, "No space left on device")

        bench = Bench()
        bench.executor._runtime = Full(bench.engine)
        app = replace(APP, env=(EnvVar("DB_PASS", "hunter2-hunter2"),))
        create = CreateContainer(POD, app, "sandbox", 0, "image")

        with caplog.at_level(logging.DEBUG):
            await bench.execute(RunOperation(7, POD.uid, create))

        assert "carrying out operation 7, CreateContainer" in caplog.text
        assert "No space left on device" in caplog.text
        assert "hunter2" not in caplog.text

    async def test_a_bug_of_a_prober_is_a_probe_error(
        self, caplog: pytest.LogCaptureFixture
    ) -> None:
        fact = await Bench(prober=BrokenProber()).execute(a_run_probe())

        assert isinstance(fact, ProbeFinished)
        assert fact.probe_id == 9
        assert fact.outcome.last.error == "LookupError: a bug"
        assert fact.outcome.last.result is ProbeResult.UNKNOWN
        assert "carrying out probe 9 of uid-of-web/app/Liveness" in caplog.text

    async def test_a_probe_that_outlasts_its_timeout_is_reported_twice(self) -> None:
        prober = HangingProber()
        bench = Bench(prober=prober, late_seconds=0)
        effect = a_run_probe(a_probe(timeout_seconds=0))

        await bench.executor.execute(effect, prober.hear)

        still_runs, finished = prober.facts
        assert still_runs == ProbeStillRuns(9)
        assert isinstance(finished, ProbeFinished)

    async def test_a_probe_that_ends_in_time_is_reported_once(self) -> None:
        bench = Bench(late_seconds=0)

        fact = await bench.execute(a_run_probe())

        assert isinstance(fact, ProbeFinished)
        assert bench.facts == [fact]

    async def test_a_cancelled_effect_reports_nothing(self) -> None:
        bench = Bench()
        bench.engine.answers_after = 60 * SECOND
        task = asyncio.ensure_future(
            bench.executor.execute(Relist(), bench.facts.append)
        )
        await bench.clock.settle()

        task.cancel()

        with pytest.raises(asyncio.CancelledError):
            await task
        assert bench.facts == []


class TestRelists:
    async def test_a_relist_has_the_instant_of_its_request(self) -> None:
        bench = Bench()
        await bench.start()
        bench.engine.answers_after = 3 * SECOND

        fact = await bench.execute(Relist())

        assert isinstance(fact, Relisted)
        assert (fact.started_at, bench.clock.now()) == (START, at(3))
        assert [pod.pod_uid for pod in fact.pods] == [POD.uid]

    async def test_a_runtime_that_does_not_answer_is_reported(self) -> None:
        bench = Bench()
        bench.engine.unreachable = "no daemon"

        assert await bench.execute(Relist()) == RelistFailed("no daemon")


class WithImages(FakeRuntime):
    """A runtime with 60 images; the size of an image in bytes is its number."""

    async def list_images(self) -> tuple[StoredImage, ...]:
        await self._call()
        names = tuple("abcdefg")
        return tuple(
            StoredImage(str(number), names, number, ("app",)) for number in range(1, 61)
        )


class WithoutConditions(FakeRuntime):
    """A runtime that cannot tell whether it is ready."""

    conditions = Runtime.conditions


class TestRuntimeHealth:
    async def test_the_conditions_of_the_runtime_are_reported(self) -> None:
        bench = Bench()

        assert await bench.execute(GetRuntimeStatus()) == RuntimeStatusRead(
            READY_CONDITIONS
        )

    async def test_a_runtime_status_that_cannot_be_read_is_reported(self) -> None:
        bench = Bench()
        bench.engine.unreachable = "no daemon"

        fact = await bench.execute(GetRuntimeStatus())
        silent = await Bench(make_runtime=WithoutConditions).execute(GetRuntimeStatus())

        assert fact == RuntimeStatusRead(error="no daemon")
        assert silent == RuntimeStatusRead(error="fake has no conditions")

    async def test_the_largest_images_are_listed_and_all_are_counted(self) -> None:
        fact = await Bench(make_runtime=WithImages).execute(ListImages())

        assert isinstance(fact, ImagesListed)
        assert (fact.count, fact.size_bytes) == (60, 60 * 61 // 2)
        assert [image.size_bytes for image in fact.images] == list(range(60, 10, -1))
        assert fact.images[0] == StoredImage("60", tuple("abcde"), 60)

    async def test_images_that_cannot_be_listed_are_reported(self) -> None:
        bench = Bench(make_runtime=WithImages)
        bench.engine.unreachable = "no daemon"

        refused = await bench.execute(ListImages())
        none = await Bench().execute(ListImages())

        assert refused == ImagesListed(error="no daemon")
        assert none == ImagesListed(error="fake has no images")


class WithListeners(FakeRuntime):
    """A runtime that sees the listeners of one container."""

    async def listeners(self, container_id: ContainerID) -> Listeners:
        if container_id == NOBODY:
            raise ContainerRuntimeError("it does not run")
        return LISTENERS


class SlowListeners(FakeRuntime):
    """A runtime whose look for listeners ends when the test says so."""

    def __init__(self, engine: FakeEngine) -> None:
        super().__init__(engine)
        self.has_begun = asyncio.Event()
        self.may_end = asyncio.Event()

    async def listeners(self, container_id: ContainerID) -> Listeners:
        self.has_begun.set()
        await self.may_end.wait()
        return LISTENERS


class TestListeners:
    @pytest.mark.parametrize(
        ("make_runtime", "container_id", "expected"),
        [
            pytest.param(WithListeners, SOMEBODY, (LISTENERS, ""), id="seen"),
            pytest.param(
                WithListeners, NOBODY, (None, "it does not run"), id="refused"
            ),
            pytest.param(
                FakeRuntime, SOMEBODY, (None, "fake does not report them"), id="nobody"
            ),
        ],
    )
    async def test_the_listeners_of_a_container_are_reported(
        self,
        make_runtime: type[FakeRuntime],
        container_id: ContainerID,
        expected: tuple[Listeners | None, str],
    ) -> None:
        bench = Bench(make_runtime=make_runtime)

        fact = await bench.execute(FindListeners(container_id))

        assert fact == ListenersFound(container_id, *expected)

    async def test_a_stop_waits_until_the_listeners_were_seen(self) -> None:
        bench = Bench(make_runtime=SlowListeners)
        looks = bench.runtime
        assert isinstance(looks, SlowListeners)
        container_id = await bench.start()

        look = asyncio.ensure_future(bench.execute(FindListeners(container_id)))
        await looks.has_begun.wait()
        stop = asyncio.ensure_future(bench.do(StopContainer(container_id, "app", 1)))
        await asyncio.sleep(0)
        state_during_look = bench.state()
        looks.may_end.set()
        await asyncio.gather(look, stop)

        assert state_during_look is RuntimeState.RUNNING
        assert ListenersFound(container_id, LISTENERS) in bench.facts
        assert bench.state() is RuntimeState.EXITED

    async def test_a_pre_stop_hook_waits_until_the_listeners_were_seen(self) -> None:
        bench = Bench(make_runtime=SlowListeners)
        looks = bench.runtime
        assert isinstance(looks, SlowListeners)
        container_id = await bench.start()
        hook = ExecAction(("true",))

        look = asyncio.ensure_future(bench.execute(FindListeners(container_id)))
        await looks.has_begun.wait()
        run = asyncio.ensure_future(
            bench.do(RunHook(POD, APP, container_id, hook, "", is_pre_stop=True))
        )
        await asyncio.sleep(0)
        looks.may_end.set()
        await asyncio.gather(look, run)

        reported = [type(fact) for fact in bench.facts[-2:]]
        assert reported == [ListenersFound, OperationFinished]

    async def test_nobody_looks_at_a_container_that_is_being_stopped(self) -> None:
        bench = Bench(make_runtime=WithListeners)
        container_id = await bench.start()
        await bench.do(StopContainer(container_id, "app", 1))

        fact = await bench.execute(FindListeners(container_id))

        assert fact == ListenersFound(container_id, None, is_ending=True)

    async def test_a_stop_gives_up_a_look_that_takes_too_long(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(executor, "_LONGEST_LOOKUP_SECONDS", 0)
        bench = Bench(make_runtime=SlowListeners)
        looks = bench.runtime
        assert isinstance(looks, SlowListeners)
        container_id = await bench.start()

        look = asyncio.ensure_future(bench.execute(FindListeners(container_id)))
        await looks.has_begun.wait()
        await bench.do(StopContainer(container_id, "app", 1))
        await look

        given_up = ListenersFound(container_id, None, "it was stopped meanwhile")
        assert given_up in bench.facts
        assert bench.state() is RuntimeState.EXITED


class SlowLogs(FakeRuntime):
    """A runtime that returns a log only once it `may_end`."""

    def __init__(self, engine: FakeEngine) -> None:
        super().__init__(engine)
        self.has_begun, self.may_end = asyncio.Event(), asyncio.Event()

    async def follow_logs(
        self, container_id: ContainerID, *, tail: int, follow: bool
    ) -> AsyncIterator[LogLine]:
        self.has_begun.set()
        await self.may_end.wait()
        async for line in super().follow_logs(container_id, tail=tail, follow=follow):
            yield line


class TestLastOutput:
    async def test_what_an_instance_printed_last_is_reported_with_its_message(
        self,
    ) -> None:
        bench = Bench()
        container_id = await bench.start()
        bench.engine.container("app").lines.append(LogLine(None, "no database"))
        await bench.do(StopContainer(container_id, "app", 1))
        bench.engine.container("app").message = "bye"

        fact = await bench.execute(ReadLastOutput(container_id))

        assert isinstance(fact, LastOutputRead)
        assert [line.text for line in fact.lines or ()] == ["no database"]
        assert (fact.message, fact.problem) == ("bye", "")

    async def test_a_log_that_is_gone_is_reported_with_the_reason(self) -> None:
        bench = Bench()

        fact = await bench.execute(ReadLastOutput(NOBODY))

        assert isinstance(fact, LastOutputRead)
        assert fact.lines is None
        assert str(NOBODY) in fact.problem

    async def test_a_log_that_never_comes_is_given_up(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(executor, "LOG_SECONDS", 0)
        bench = Bench(make_runtime=SlowLogs)
        container_id = await bench.start()

        fact = await bench.execute(ReadLastOutput(container_id))

        problem = "fake did not return it within 0s"
        assert fact == LastOutputRead(container_id, None, problem=problem)

    async def test_a_removal_waits_until_the_log_was_read(self) -> None:
        bench = Bench(make_runtime=SlowLogs)
        logs = bench.runtime
        assert isinstance(logs, SlowLogs)
        container_id = await bench.start()
        bench.engine.container("app").lines.append(LogLine(None, "no database"))
        await bench.do(StopContainer(container_id, "app", 1))

        read = asyncio.ensure_future(bench.execute(ReadLastOutput(container_id)))
        await logs.has_begun.wait()
        removal = asyncio.ensure_future(bench.do(RemoveContainer(container_id)))
        await asyncio.sleep(0)
        was_there = bench.state() is RuntimeState.EXITED
        logs.may_end.set()
        await asyncio.gather(read, removal)

        (fact,) = (fact for fact in bench.facts if isinstance(fact, LastOutputRead))
        assert was_there
        assert [line.text for line in fact.lines or ()] == ["no database"]
        assert await bench.runtime.container_status(container_id) is None

    async def test_a_removal_does_not_wait_long_for_a_log(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(executor, "_LONGEST_LOOKUP_SECONDS", 0)
        bench = Bench(make_runtime=SlowLogs)
        logs = bench.runtime
        assert isinstance(logs, SlowLogs)
        container_id = await bench.start()

        read = asyncio.ensure_future(bench.execute(ReadLastOutput(container_id)))
        await logs.has_begun.wait()
        await bench.do(RemoveContainer(container_id))
        logs.may_end.set()
        fact = await read

        assert isinstance(fact, LastOutputRead)
        assert fact.lines is None


class TestProbes:
    async def test_a_probe_reports_its_outcome(self) -> None:
        bench = Bench()
        bench.prober.script(KEY, FAILING)

        fact = await bench.execute(a_run_probe())

        assert isinstance(fact, ProbeFinished)
        assert fact.probe_id == 9
        assert fact.outcome.last.output == "not well"


async def test_every_effect_reports_one_fact() -> None:
    bench = Bench()
    container_id = await bench.start()
    bench.facts.clear()
    effects: list[Effect] = [
        Relist(),
        GetRuntimeStatus(),
        ListImages(),
        a_run_probe(),
        RunOperation(8, POD.uid, StopContainer(container_id, "app", 1)),
        RunOperation(9, POD.uid, StartContainer(NOBODY)),
    ]

    for effect in effects:
        await bench.execute(effect)

    assert len(bench.facts) == len(effects)
