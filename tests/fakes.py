"""Fakes: a clock that tests advance, a scripted runtime and a scripted prober.

The runtime passes the same contract tests as the real ones in `tests/runtimes`. Fakes
expose state (`FakeEngine.containers`, `FakeProber.probes`), never which calls were
made.
"""

from __future__ import annotations

import asyncio
import contextlib
import heapq
import itertools
from collections import Counter, deque
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from probetui.errors import (
    ContainerRuntimeError,
    ExecTimeoutError,
    ImageNotFoundError,
)
from probetui.k8s.pod import Pod
from probetui.k8s.probe import ProbeKey
from probetui.k8s.runtime import (
    ContainerID,
    LogLine,
    RuntimeCondition,
    RuntimeContainerStatus,
    RuntimePodStatus,
    RuntimeState,
    SandboxStatus,
)
from probetui.kubelet.effects import (
    CreateContainer,
    Fault,
    PulledImage,
    PullImage,
    RunPodSandbox,
    RunProbe,
)
from probetui.kubelet.kuberuntime.container_hash import container_hash
from probetui.kubelet.outcome import Attempt, ProbeOutcome, ProbeResult
from probetui.kubelet.runtime_health import READY_CONDITIONS
from probetui.ports import ExecResult, Progress, Runtime
from probetui.runtimes.missing_executable import command_error
from tests.builders import START

NO_TIME = timedelta()
SIGKILL_EXIT_CODE = 137
SIGTERM_EXIT_CODE = 143


@dataclass(order=True, slots=True)
class _Timer:
    deadline: datetime
    sequence: int
    callback: Callable[[], None] | None = field(compare=False)

    def cancel(self) -> None:
        self.callback = None


class FakeClock:
    """`ports.Clock` that moves only in `advance` and `jumping`."""

    def __init__(self, start: datetime = START) -> None:
        self._now = start
        self._timers: list[_Timer] = []
        self._sequence = itertools.count()
        self._timer_added = asyncio.Event()

    def now(self) -> datetime:
        return self._now

    async def sleep_until(self, deadline: datetime) -> None:
        if deadline <= self._now:
            return
        wake = asyncio.Event()
        timer = self.call_at(deadline, wake.set)
        try:
            await wake.wait()
        finally:
            timer.cancel()

    def call_at(self, deadline: datetime, callback: Callable[[], None]) -> _Timer:
        """Call back at that instant; callbacks of one instant run in their order."""
        timer = _Timer(max(deadline, self._now), next(self._sequence), callback)
        heapq.heappush(self._timers, timer)
        self._timer_added.set()
        return timer

    @property
    def next_deadline(self) -> datetime | None:
        """The earliest instant that a timer waits for."""
        while self._timers and self._timers[0].callback is None:
            heapq.heappop(self._timers)
        return self._timers[0].deadline if self._timers else None

    async def advance(self, by: timedelta) -> None:
        """Advance the clock and run the timers that become due, at their own instants.

        Between two instants, and at the end, all tasks run as far as they can.
        """
        until = self._now + by
        await self.settle()
        while (deadline := self.next_deadline) and deadline <= until:
            await self._wake(deadline)
        self._now = until
        await self.settle()

    @contextlib.asynccontextmanager
    async def jumping(self) -> AsyncIterator[None]:
        """In the block, jump to the next deadline whenever all tasks wait."""
        jumps = asyncio.ensure_future(self._jump())
        try:
            yield
        finally:
            jumps.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await jumps

    @staticmethod
    async def settle() -> None:
        """Let tasks run until all of them wait for time or for the outside world."""
        loop = asyncio.get_running_loop()
        for _ in range(100_000):
            await asyncio.sleep(0)
            # asyncio has no public way to check whether anything is left to run.
            if not loop._ready:  # type: ignore[attr-defined]  # see above
                return
        raise AssertionError("the tasks never come to rest")

    async def _jump(self) -> None:
        while True:
            await self.settle()
            if (deadline := self.next_deadline) is None:
                self._timer_added.clear()
                await self._timer_added.wait()
            else:
                await self._wake(deadline)

    async def _wake(self, deadline: datetime) -> None:
        self._now = deadline
        callback = heapq.heappop(self._timers).callback
        if callback is not None:
            callback()
        await self.settle()


@dataclass(frozen=True, slots=True)
class Run:
    """Behavior of one instance of a container after its start.

    `exit_code` is for an exit of its own, after `exits_after` (None: never).
    `on_sigterm` is the exit code after a SIGTERM, which takes `stops_after`; None
    ignores the signal. `prints` pairs the time after the start with the text.
    """

    exits_after: timedelta | None = None
    exit_code: int = 0
    oom_killed: bool = False
    on_sigterm: int | None = SIGTERM_EXIT_CODE
    stops_after: timedelta = NO_TIME
    prints: tuple[tuple[timedelta, str], ...] = ()
    create_error: str = ""
    start_error: str = ""


@dataclass(frozen=True, slots=True)
class Exec:
    """The result of a command in a container; with `takes` None it never ends."""

    exit_code: int = 0
    stdout: bytes = b""
    stderr: bytes = b""
    takes: timedelta | None = NO_TIME
    error: str = ""


class Image(Struct, frozen=True):
    """An image, present or to be pulled."""

    image_id: str = "sha256:0f1e2d"
    size_bytes: int = 4_000_000
    is_here: bool = True
    pull_takes: timedelta = NO_TIME
    pull_error: str = ""


@dataclass(slots=True)
class FakeContainer:
    """A container of the fake engine; tests may read it and change its behavior.

    `running_execs` are the commands that run in it at this moment. While it `is_frozen`
    it prints nothing and does not react to SIGTERM.
    """

    container_id: ContainerID
    operation: CreateContainer
    run: Run
    created_at: datetime
    started_at: datetime | None = None
    finished_at: datetime | None = None
    exit_code: int = 0
    reason: str = ""
    message: str = ""
    running_execs: list[tuple[str, ...]] = field(default_factory=list)
    lines: list[LogLine] = field(default_factory=list)
    wakers: list[asyncio.Event] = field(default_factory=list)
    is_frozen: bool = False
    hash: int = field(init=False)

    def __post_init__(self) -> None:
        self.hash = container_hash(self.operation.container)

    @property
    def state(self) -> RuntimeState:
        if self.finished_at is not None:
            return RuntimeState.EXITED
        return RuntimeState.RUNNING if self.started_at else RuntimeState.CREATED

    def runs(self) -> bool:
        return self.state is RuntimeState.RUNNING

    def status(self) -> RuntimeContainerStatus:
        container = self.operation.container
        return RuntimeContainerStatus(
            container_id=self.container_id,
            name=container.name,
            state=self.state,
            created_at=self.created_at,
            started_at=self.started_at,
            finished_at=self.finished_at,
            exit_code=self.exit_code,
            reason=self.reason,
            message=self.message,
            image=container.image,
            image_ref=self.operation.image_id,
            restart_count=self.operation.attempt,
            hash=self.hash,
            oom_killed=self.reason == "OOMKilled",
        )

    def wake(self) -> None:
        for waker in self.wakers:
            waker.set()


@dataclass(slots=True)
class FakeSandbox:
    """A sandbox of the fake engine."""

    operation: RunPodSandbox
    status: SandboxStatus


def by_name(runs: Mapping[str, Sequence[Run]]) -> Callable[[CreateContainer], Run]:
    """Script containers by name: one `Run` per attempt, the last one for the rest."""

    def choose(operation: CreateContainer) -> Run:
        known = runs.get(operation.container.name) or (Run(),)
        return known[min(operation.attempt, len(known) - 1)]

    return choose


class FakeEngine:
    """The backend of `FakeRuntime`, like a daemon; it holds all state.

    `unreachable` is the error of every call while it is not empty, `answers_after`
    the time every call takes. Images that `images` does not list are present.
    `cut_off` has the sandboxes without a network, `pulls` all pulls.
    """

    def __init__(self, clock: FakeClock) -> None:
        self.clock = clock
        self.runs: Callable[[CreateContainer], Run] = lambda _operation: Run()
        self.execs: Callable[[FakeContainer, tuple[str, ...]], Exec] = (
            lambda _container, _command: Exec()
        )
        self.images: dict[str, Image] = {}
        self.pulls: list[PullImage] = []
        self.conditions: tuple[RuntimeCondition, ...] = READY_CONDITIONS
        self.sandbox_error = ""
        self.unreachable = ""
        self.answers_after = NO_TIME
        self.sandboxes: dict[str, FakeSandbox] = {}
        self.containers: dict[ContainerID, FakeContainer] = {}
        self.watchers: list[asyncio.Event] = []
        self.cut_off: set[str] = set()
        self._serial = itertools.count(1)

    def serial(self) -> int:
        return next(self._serial)

    def container(self, name: str) -> FakeContainer:
        """Return the newest instance of the container of that name."""
        return [
            container
            for container in self.containers.values()
            if container.operation.container.name == name
        ][-1]

    def end(self, container: FakeContainer, exit_code: int, reason: str = "") -> None:
        """Let a container exit now; one that does not run stays as it is."""
        if not container.runs():
            return
        container.finished_at = self.clock.now()
        container.exit_code = exit_code
        container.reason = reason or ("Error" if exit_code else "Completed")
        container.wake()
        self.notify_watchers()

    def start(self, container: FakeContainer) -> None:
        now, run = self.clock.now(), container.run
        container.started_at = now
        for after, text in run.prints:
            self.clock.call_at(now + after, partial(self.print, container, text))
        if run.exits_after is not None:
            reason = "OOMKilled" if run.oom_killed else ""
            self.clock.call_at(
                now + run.exits_after,
                lambda: self.end(container, run.exit_code, reason),
            )
        self.notify_watchers()

    def print(self, container: FakeContainer, text: str) -> None:
        """Let a container print a line now, if it runs and is not frozen."""
        if container.runs() and not container.is_frozen:
            container.lines.append(LogLine(self.clock.now(), text))
            container.wake()

    def notify_watchers(self) -> None:
        for watcher in self.watchers:
            watcher.set()


class FakeRuntime(Runtime):
    """`ports.Runtime` on a `FakeEngine`, with logs, events and faults."""

    name = "fake"

    def __init__(self, engine: FakeEngine) -> None:
        self.engine = engine
        self._clock = engine.clock
        self._frozen: list[FakeContainer] = []
        self._cut: set[str] = set()

    async def version(self) -> str:
        await self._call()
        return "fake 1.0"

    async def conditions(self) -> tuple[RuntimeCondition, ...]:
        await self._call()
        return self.engine.conditions

    async def relist(self) -> tuple[RuntimePodStatus, ...]:
        await self._call()
        by_pod: dict[str, list[FakeSandbox]] = {}
        for sandbox in self.engine.sandboxes.values():
            by_pod.setdefault(sandbox.operation.pod.uid, []).insert(0, sandbox)
        containers: dict[str, list[FakeContainer]] = {uid: [] for uid in by_pod}
        for container in reversed(self.engine.containers.values()):
            containers.setdefault(container.operation.pod.uid, []).append(container)
        return tuple(
            self._pod(sandboxes, containers[uid]) for uid, sandboxes in by_pod.items()
        )

    def _pod(
        self, sandboxes: list[FakeSandbox], containers: list[FakeContainer]
    ) -> RuntimePodStatus:
        newest = sandboxes[0].status
        pod = sandboxes[0].operation.pod
        return RuntimePodStatus(
            pod_uid=pod.uid,
            name=pod.name,
            namespace=pod.namespace,
            sandboxes=tuple(sandbox.status for sandbox in sandboxes),
            containers=tuple(container.status() for container in containers),
            ips=(newest.ip,) if newest.is_ready and newest.ip else (),
            seen_at=self._clock.now(),
        )

    async def run_pod_sandbox(self, operation: RunPodSandbox) -> str:
        await self._call()
        if self.engine.sandbox_error:
            raise ContainerRuntimeError(self.engine.sandbox_error)
        serial = self.engine.serial()
        sandbox_id = f"sandbox-{serial}"
        is_on_host = operation.pod.host_network
        status = SandboxStatus(
            sandbox_id,
            is_ready=True,
            attempt=operation.attempt,
            created_at=self._clock.now(),
            host_network=is_on_host,
            ip="" if is_on_host else f"10.88.{serial // 250}.{serial % 250 + 1}",
        )
        self.engine.sandboxes[sandbox_id] = FakeSandbox(operation, status)
        self.engine.notify_watchers()
        return sandbox_id

    async def pod_sandbox_status(self, sandbox_id: str) -> SandboxStatus:
        await self._call()
        return self._sandbox(sandbox_id).status

    async def stop_pod_sandbox(self, sandbox_id: str) -> None:
        await self._call()
        sandbox = self.engine.sandboxes.get(sandbox_id)
        if sandbox is None:
            return
        for container in self._containers_in(sandbox_id):
            self.engine.end(container, SIGKILL_EXIT_CODE)
        sandbox.status = replace(sandbox.status, is_ready=False)
        self.engine.notify_watchers()

    async def remove_pod_sandbox(self, sandbox_id: str) -> None:
        await self.stop_pod_sandbox(sandbox_id)
        for container in self._containers_in(sandbox_id):
            del self.engine.containers[container.container_id]
        self.engine.sandboxes.pop(sandbox_id, None)

    async def image_status(self, image: str) -> str | None:
        await self._call()
        found = self._image(image)
        return found.image_id if found.is_here else None

    async def pull_image(self, operation: PullImage, progress: Progress) -> PulledImage:
        await self._call()
        found = self._image(operation.image)
        self.engine.pulls.append(operation)
        progress(f"pulling {operation.image}")
        await self._clock.sleep_until(self._clock.now() + found.pull_takes)
        if found.pull_error:
            raise ImageNotFoundError(found.pull_error)
        self.engine.images[operation.image] = replace(found, is_here=True)
        return PulledImage(found.image_id, found.size_bytes)

    async def create_container(self, operation: CreateContainer) -> ContainerID:
        await self._call()
        if not self._sandbox(operation.sandbox_id).status.is_ready:
            raise ContainerRuntimeError(f"{operation.sandbox_id} is not running")
        if not self._image(operation.container.image).is_here:
            raise ImageNotFoundError(f"no such image: {operation.container.image}")
        run = self.engine.runs(operation)
        if run.create_error:
            raise ContainerRuntimeError(run.create_error)
        container_id = ContainerID(f"fake://container-{self.engine.serial()}")
        self.engine.containers[container_id] = FakeContainer(
            container_id, operation, run, self._clock.now()
        )
        self.engine.notify_watchers()
        return container_id

    async def start_container(self, container_id: ContainerID) -> None:
        await self._call()
        container = self._container(container_id)
        if container.state is not RuntimeState.CREATED:
            raise ContainerRuntimeError(f"container is {container.state}")
        if container.run.start_error:
            raise ContainerRuntimeError(container.run.start_error)
        self.engine.start(container)

    async def stop_container(
        self, container_id: ContainerID, grace_period_seconds: int
    ) -> None:
        await self._call()
        container = self.engine.containers.get(container_id)
        if container is None or not container.runs():
            return
        now = self._clock.now()
        if grace_period_seconds > 0:
            self._send_sigterm(container)
        await self._sleep(container, now + timedelta(seconds=grace_period_seconds))
        self.engine.end(container, SIGKILL_EXIT_CODE)

    async def container_status(
        self, container_id: ContainerID
    ) -> RuntimeContainerStatus | None:
        await self._call()
        container = self.engine.containers.get(container_id)
        return None if container is None else container.status()

    def _send_sigterm(self, container: FakeContainer) -> None:
        run, exit_code = container.run, container.run.on_sigterm
        if exit_code is not None and not container.is_frozen:
            self._clock.call_at(
                self._in(run.stops_after),
                lambda: self.engine.end(container, exit_code),
            )

    async def inject_fault(self, container_id: ContainerID, fault: Fault) -> None:
        await self._call()
        container = self._container(container_id)
        if not container.runs():
            raise ContainerRuntimeError(f"container is {container.state}")
        sandbox_id = container.operation.sandbox_id
        match fault:
            case Fault.FREEZE:
                self._frozen.append(container)
                container.is_frozen = True
            case Fault.UNFREEZE:
                container.is_frozen = False
            case Fault.STOP:
                self._send_sigterm(container)
            case Fault.KILL:
                self.engine.end(container, SIGKILL_EXIT_CODE)
            case Fault.CUT_NETWORK:
                self._cut.add(sandbox_id)
                self.engine.cut_off.add(sandbox_id)
            case Fault.RESTORE_NETWORK:
                self.engine.cut_off.discard(sandbox_id)

    def fault_refusal(self, pod: Pod, fault: Fault) -> str:
        return ""

    async def remove_container(self, container_id: ContainerID) -> None:
        await self._call()
        container = self.engine.containers.get(container_id)
        if container is not None:
            self.engine.end(container, SIGKILL_EXIT_CODE)
            del self.engine.containers[container_id]
            self.engine.notify_watchers()

    async def exec_sync(
        self,
        container_id: ContainerID,
        command: tuple[str, ...],
        timeout_seconds: int,
    ) -> ExecResult:
        await self._call()
        container = self._container(container_id)
        if not container.runs():
            raise ContainerRuntimeError(f"container is {container.state}")
        if container.is_frozen:
            raise ContainerRuntimeError("container is paused")
        answer = self.engine.execs(container, command)
        if answer.error:
            raise command_error(answer.error)
        limit = timedelta(seconds=timeout_seconds) if timeout_seconds else None
        is_late = limit is not None and (answer.takes is None or answer.takes > limit)
        takes = limit if is_late else answer.takes
        container.running_execs.append(command)
        try:
            await self._sleep(container, None if takes is None else self._in(takes))
        finally:
            container.running_execs.remove(command)
        if not container.runs():
            return ExecResult(SIGKILL_EXIT_CODE, b"", b"")
        if is_late:
            raise ExecTimeoutError(f"{command} timed out", killed=True)
        return ExecResult(answer.exit_code, answer.stdout, answer.stderr)

    async def follow_logs(
        self, container_id: ContainerID, *, tail: int, follow: bool
    ) -> AsyncIterator[LogLine]:
        """Yield the last lines and, with `follow`, new ones until it exits."""
        await self._call()
        container = self._container(container_id)
        seen = max(0, len(container.lines) - tail)
        while True:
            fresh = container.lines[seen:]
            for line in fresh:
                yield line
            seen += len(fresh)
            if not follow or container.state is RuntimeState.EXITED:
                return
            await self._change(container)

    async def watch(self) -> AsyncIterator[None]:
        """Yield after changes; simultaneous changes are one yield."""
        happened = asyncio.Event()
        self.engine.watchers.append(happened)
        try:
            while True:
                await happened.wait()
                happened.clear()
                if self.engine.unreachable:
                    raise self._unreachable()
                yield
        finally:
            self.engine.watchers.remove(happened)

    async def close(self) -> None:
        """Undo the faults that were injected here; there is nothing to release."""
        for container in self._frozen:
            container.is_frozen = False
        self.engine.cut_off -= self._cut

    async def _call(self) -> None:
        if self.engine.answers_after:
            await self._clock.sleep_until(self._in(self.engine.answers_after))
        if self.engine.unreachable:
            raise self._unreachable()

    def _unreachable(self) -> ContainerRuntimeError:
        return ContainerRuntimeError(self.engine.unreachable, unreachable=True)

    def _in(self, duration: timedelta) -> datetime:
        return self._clock.now() + duration

    async def _sleep(self, container: FakeContainer, deadline: datetime | None) -> None:
        """Wait until that instant (None: for ever) or for the container's exit."""
        while container.runs() and (deadline is None or self._clock.now() < deadline):
            await self._change(container, deadline)

    async def _change(
        self, container: FakeContainer, deadline: datetime | None = None
    ) -> None:
        """Wait until the container exits or prints, at most until that instant."""
        wake = asyncio.Event()
        container.wakers.append(wake)
        timer = self._clock.call_at(deadline, wake.set) if deadline else None
        try:
            await wake.wait()
        finally:
            container.wakers.remove(wake)
            if timer:
                timer.cancel()

    def _sandbox(self, sandbox_id: str) -> FakeSandbox:
        try:
            return self.engine.sandboxes[sandbox_id]
        except KeyError:
            raise ContainerRuntimeError(f"no such sandbox: {sandbox_id}") from None

    def _container(self, container_id: ContainerID) -> FakeContainer:
        try:
            return self.engine.containers[container_id]
        except KeyError:
            raise ContainerRuntimeError(f"no such container: {container_id}") from None

    def _containers_in(self, sandbox_id: str) -> list[FakeContainer]:
        return [
            container
            for container in self.engine.containers.values()
            if container.operation.sandbox_id == sandbox_id
        ]

    def _image(self, image: str) -> Image:
        return self.engine.images.get(image, Image())


@dataclass(frozen=True, slots=True)
class Answer:
    """The scripted outcome of a probe, in one attempt."""

    result: ProbeResult = ProbeResult.SUCCESS
    output: str = ""
    error: str | None = None
    takes: timedelta = NO_TIME


FAILING = Answer(ProbeResult.FAILURE, "not well")


class FakeProber:
    """`ports.Prober` with a script per probe; a probe without one succeeds at once.

    `probes` counts the probes that have started, `in_flight` has those that have not
    ended.
    """

    def __init__(self, clock: FakeClock) -> None:
        self._clock = clock
        self._scripts: dict[ProbeKey, deque[Answer]] = {}
        self.probes: Counter[ProbeKey] = Counter()
        self.in_flight: set[ProbeKey] = set()

    def script(self, key: ProbeKey, *answers: Answer) -> None:
        """Set the outcomes from now on; the last one is repeated."""
        self._scripts[key] = deque(answers)

    async def probe(self, effect: RunProbe) -> ProbeOutcome:
        started_at = self._clock.now()
        answer = self._next(effect.key)
        self.probes[effect.key] += 1
        self.in_flight.add(effect.key)
        try:
            await self._clock.sleep_until(started_at + answer.takes)
        finally:
            self.in_flight.discard(effect.key)
        attempt = Attempt(answer.result, answer.output, answer.error, answer.takes)
        return ProbeOutcome((attempt,), started_at, answer.takes)

    def _next(self, key: ProbeKey) -> Answer:
        answers = self._scripts.get(key) or deque([Answer()])
        return answers.popleft() if len(answers) > 1 else answers[0]
