"""The fake under the contract of real runtimes, and what it has beyond that."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta

import pytest

from probetui.errors import ContainerRuntimeError
from probetui.k8s.probe import ProbeType
from probetui.k8s.runtime import NO_CONTAINER, ContainerID, RuntimeState
from probetui.kubelet.effects import CreateContainer, PullImage, RunPodSandbox, RunProbe
from probetui.kubelet.outcome import ProbeResult
from probetui.ports import Runtime
from tests.builders import a_container, a_key, a_pod, a_probe, at
from tests.fakes import (
    FAILING,
    Answer,
    Exec,
    FakeClock,
    FakeContainer,
    FakeEngine,
    FakeProber,
    FakeRuntime,
    Image,
    Run,
    by_name,
)
from tests.runtimes.bench import (
    APART,
    BEATS,
    BEATS_NO_MORE,
    BYTES,
    COMPLETES,
    ECHO,
    FAILS,
    FLOODS,
    GREETING,
    HAS_BEATEN,
    HEEDS_USR1,
    IS_READY,
    LONG,
    MEETS,
    MISSING_PROGRAM,
    MUMBLES,
    POLITE,
    SLOW,
    SPEAKS,
    SPEAKS_AND_STAYS,
    SPEAKS_LATER,
    STUBBORN,
    UNAWARE,
    WHERE,
    Bench,
    sh,
)
from tests.runtimes.capability_contract import (
    EventContract,
    ImageContract,
    LogContract,
)
from tests.runtimes.contract import RuntimeContract
from tests.runtimes.fault_contract import COUNTS, FaultContract

NOW = timedelta()
SECOND = timedelta(seconds=1)

RUNS = {
    sh(POLITE): Run(on_sigterm=7),
    sh(STUBBORN): Run(on_sigterm=None),
    sh(UNAWARE): Run(on_sigterm=None),
    sh(HEEDS_USR1): Run(on_sigterm=11),
    sh(SLOW): Run(),
    sh(COMPLETES): Run(exits_after=NOW),
    sh(FAILS): Run(exits_after=NOW, exit_code=3),
    sh(SPEAKS): Run(
        exits_after=NOW, prints=((NOW, "one"), (NOW, "two"), (NOW, "three"))
    ),
    sh(FLOODS): Run(
        exits_after=NOW, exit_code=4, prints=((NOW, "x" * 1_000_000), (NOW, "end"))
    ),
    sh(SPEAKS_LATER): Run(
        exits_after=SECOND / 2, prints=((NOW, "first"), (SECOND / 2, "last"))
    ),
    sh(SPEAKS_AND_STAYS): Run(prints=((NOW, "here"),)),
    sh(MUMBLES): Run(exits_after=NOW, prints=((NOW, "\udcff \x1b[31m"),)),
    sh(COUNTS): Run(prints=tuple((index * SECOND / 20, "on") for index in range(1200))),
    (MISSING_PROGRAM,): Run(start_error=f"{MISSING_PROGRAM}: no such file"),
}
"""What the scripts of the contract do when they are a container's main program."""


def answer(container: FakeContainer, command: tuple[str, ...]) -> Exec:
    """Say what the scripts of the contract do when they are run in a container."""
    spec = container.operation.container
    environment = {var.name: var.value for var in spec.env}
    *_, last = command
    beats = sh(BEATS) in container.running_execs
    answers = {
        sh(IS_READY): Exec(),
        sh(APART): Exec(5, b"out", b"err"),
        sh(BYTES): Exec(stdout=b"\xff\x00\xfe"),
        sh(LONG): Exec(stdout=b"x" * 10 * 1024, stderr=b"end"),
        sh(GREETING): Exec(stdout=environment.get("GREETING", "").encode()),
        sh(WHERE): Exec(stdout=f"{spec.working_dir}\n".encode()),
        sh(ECHO, last): Exec(stdout=last.encode(), takes=SECOND / 2),
        sh(MEETS, last): Exec(stdout=last.encode(), takes=SECOND / 2),
        sh(SLOW): Exec(takes=30 * SECOND),
        sh(BEATS): Exec(takes=None),
        sh(HAS_BEATEN): Exec(0 if beats else 1),
        sh(BEATS_NO_MORE): Exec(1 if beats else 0),
        (MISSING_PROGRAM,): Exec(
            error=f'exec: "{MISSING_PROGRAM}": stat {MISSING_PROGRAM}: '
            "no such file or directory"
        ),
    }
    return answers[command]


class FakeBench(Bench):
    """The fake engine, taught the scripts of the contract."""

    def __init__(self, clock: FakeClock) -> None:
        self.engine = FakeEngine(clock)
        self.engine.runs = self._run
        self.engine.execs = answer
        self.engine.images[ImageContract.missing_image] = Image(
            is_here=False, pull_error="no such image"
        )
        self._unmanaged: set[str] = set()
        super().__init__(FakeRuntime(self.engine), clock)

    @staticmethod
    def _run(operation: CreateContainer) -> Run:
        container = operation.container
        return RUNS[container.command + container.args]

    def another(self) -> Runtime:
        return FakeRuntime(self.engine)

    async def add_unmanaged(self) -> None:
        self._unmanaged.add("somebody else's")

    async def unmanaged_is_running(self) -> bool:
        return bool(self._unmanaged)


class TestFakeRuntime(
    RuntimeContract, ImageContract, LogContract, EventContract, FaultContract
):
    @pytest.fixture
    async def bench(self) -> AsyncIterator[Bench]:
        clock = FakeClock()
        async with clock.jumping():
            yield FakeBench(clock)


class Scene:
    """A pod `web` with a container `app`, on a fake engine."""

    def __init__(self, *runs: Run) -> None:
        self.clock = FakeClock()
        self.engine = FakeEngine(self.clock)
        self.engine.runs = by_name({"app": runs})
        self.runtime = FakeRuntime(self.engine)

    async def start(self, attempt: int = 0) -> ContainerID:
        pod = a_pod()
        sandbox_id = await self.runtime.run_pod_sandbox(RunPodSandbox(pod, attempt))
        created = await self.runtime.create_container(
            CreateContainer(pod, pod.containers[0], sandbox_id, attempt, "")
        )
        await self.runtime.start_container(created)
        return created


async def test_a_container_exits_when_its_script_ends() -> None:
    scene = Scene(Run(exits_after=3 * SECOND, exit_code=2))
    container_id = await scene.start()

    await scene.clock.advance(10 * SECOND)

    container = scene.engine.containers[container_id]
    assert container.state is RuntimeState.EXITED
    assert (container.exit_code, container.finished_at) == (2, at(3))


async def test_every_attempt_has_its_own_script_and_the_last_one_repeats() -> None:
    scene = Scene(Run(exits_after=SECOND), Run())

    for attempt in range(3):
        await scene.start(attempt)
    await scene.clock.advance(5 * SECOND)

    states = [container.state for container in scene.engine.containers.values()]
    assert states == [
        RuntimeState.EXITED,
        RuntimeState.RUNNING,
        RuntimeState.RUNNING,
    ]


async def test_a_container_out_of_memory_has_the_reason() -> None:
    scene = Scene(Run(exits_after=SECOND, exit_code=137, oom_killed=True))
    await scene.start()

    await scene.clock.advance(SECOND)

    ((status,),) = [pod.containers for pod in await scene.runtime.relist()]
    assert (status.reason, status.oom_killed) == ("OOMKilled", True)


async def test_a_container_may_take_its_time_to_stop() -> None:
    scene = Scene(Run(stops_after=4 * SECOND))
    container_id = await scene.start()

    async with scene.clock.jumping():
        await scene.runtime.stop_container(container_id, 30)

    assert scene.clock.now() == at(4)
    assert scene.engine.containers[container_id].exit_code == 143


async def test_a_command_ends_with_its_container() -> None:
    scene = Scene(Run(exits_after=2 * SECOND))
    scene.engine.execs = lambda _container, _command: Exec(takes=None)
    container_id = await scene.start()

    async with scene.clock.jumping():
        result = await scene.runtime.exec_sync(container_id, ("sleep",), 0)

    assert result.exit_code == 137
    assert scene.clock.now() == at(2)


async def test_a_pull_takes_its_time_and_brings_the_image() -> None:
    scene = Scene()
    scene.engine.images["app:1"] = Image(
        "sha256:1", 9, is_here=False, pull_takes=5 * SECOND
    )
    shown: list[str] = []

    async with scene.clock.jumping():
        pulled = await scene.runtime.pull_image(
            PullImage(a_pod(), "app:1"), shown.append
        )

    assert (pulled.image_id, pulled.size_bytes) == ("sha256:1", 9)
    assert await scene.runtime.image_status("app:1") == "sha256:1"
    assert scene.clock.now() == at(5)
    assert shown


async def test_an_engine_that_is_away_answers_nothing() -> None:
    scene = Scene()
    scene.engine.unreachable = "connection refused"

    with pytest.raises(ContainerRuntimeError, match="refused") as caught:
        await scene.runtime.relist()

    assert caught.value.unreachable


async def test_an_engine_may_be_slow() -> None:
    scene = Scene()
    scene.engine.answers_after = 2 * SECOND

    async with scene.clock.jumping():
        await scene.runtime.relist()

    assert scene.clock.now() == at(2)


def a_run_probe(probe_type: ProbeType = ProbeType.LIVENESS) -> RunProbe:
    pod, probe = a_pod(), a_probe()
    return RunProbe(1, a_key(probe_type), pod, a_container(), probe, NO_CONTAINER, "")


async def test_a_prober_follows_its_script_and_repeats_the_last_answer() -> None:
    prober = FakeProber(FakeClock())
    prober.script(a_key(), Answer(), FAILING)

    outcomes = [await prober.probe(a_run_probe()) for _ in range(3)]

    assert [outcome.last.result for outcome in outcomes] == [
        ProbeResult.SUCCESS,
        ProbeResult.FAILURE,
        ProbeResult.FAILURE,
    ]
    assert prober.probes == {a_key(): 3}


async def test_a_probe_without_a_script_succeeds() -> None:
    prober = FakeProber(FakeClock())

    outcome = await prober.probe(a_run_probe(ProbeType.READINESS))

    assert outcome.last.result is ProbeResult.SUCCESS


async def test_a_probe_takes_as_long_as_the_script_says() -> None:
    clock = FakeClock()
    prober = FakeProber(clock)
    prober.script(a_key(), Answer(takes=3 * SECOND))
    task = asyncio.ensure_future(prober.probe(a_run_probe()))

    await clock.advance(2 * SECOND)
    assert prober.in_flight == {a_key()}
    await clock.advance(SECOND)

    outcome = await task
    assert (outcome.started_at, outcome.duration) == (at(0), 3 * SECOND)
    assert prober.in_flight == set()
