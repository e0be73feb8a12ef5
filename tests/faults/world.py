"""A runtime, a prober and hooks in which every call may go wrong."""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from datetime import datetime, timedelta
from functools import partial
from itertools import pairwise
from random import Random
from typing import TypeVar

from msgspec.structs import replace

from probetui.drive.clocks import LONGEST_SLEEP_SECONDS
from probetui.drive.logs import LAST_LINES, LINES_KEPT, LogState, LogTail
from probetui.drive.session import SupportsLogs
from probetui.engine.inputs import LastOutputRead
from probetui.errors import ContainerRuntimeError
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
    PulledImage,
    PullImage,
    RunHook,
    RunPodSandbox,
    RunProbe,
)
from probetui.kubelet.outcome import Attempt, ProbeOutcome, ProbeResult
from probetui.ports import HookResult, Progress
from probetui.runtimes.daemon_clock import DaemonClock
from tests.builders import START
from tests.fakes import (
    SIGKILL_EXIT_CODE,
    FakeClock,
    FakeContainer,
    FakeEngine,
    FakeRuntime,
    Image,
    Run,
    _Timer,
)
from tests.faults.fates import Fates, Schedule
from tests.faults.log_files import LogFile
from tests.faults.places import OurProcess

T = TypeVar("T")
S = TypeVar("S", RuntimeContainerStatus, SandboxStatus)


class LoopClock(FakeClock):
    """The time of a virtual event loop, so that its time-outs agree with it.

    Attributes:
        imprecision: how much too early a start may seem; a status has whole seconds.
    """

    imprecision = timedelta(seconds=1)

    def now(self) -> datetime:
        return self.after(asyncio.get_running_loop().time())

    def after(self, seconds: float) -> datetime:
        """Return when so many seconds of the event loop have passed."""
        return START + timedelta(seconds=seconds)

    def wall(self, at: datetime) -> datetime:
        """Return the time of the engine's wall clock at an instant."""
        return at

    async def sleep_until(self, deadline: datetime) -> None:
        await asyncio.sleep(max((deadline - self.now()).total_seconds(), 0))

    def call_at(self, deadline: datetime, callback: Callable[[], None]) -> _Timer:
        loop = asyncio.get_running_loop()
        timer = _Timer(deadline, 0, callback)

        def run() -> None:
            if timer.callback is not None:
                timer.callback()

        loop.call_at((deadline - START).total_seconds(), run)
        return timer


class JumpingClock(LoopClock):
    """A clock of a machine that is suspended, while the engine's wall clock is set.

    That is measured by calls, which may be answered late.
    """

    imprecision = timedelta(seconds=40)

    def __init__(self) -> None:
        super().__init__()
        self._suspends: list[tuple[float, timedelta]] = []
        self._skews: list[tuple[datetime, timedelta]] = []

    def after(self, seconds: float) -> datetime:
        slept = (lasted for at, lasted in self._suspends if at <= seconds)
        return super().after(seconds) + sum(slept, timedelta())

    def wall(self, at: datetime) -> datetime:
        set_by = (skew for since, skew in self._skews if since <= at)
        return at + sum(set_by, timedelta())

    def suspend(self, lasts: timedelta) -> None:
        """Suspend the machine; the event loop does not count that."""
        self._suspends.append((asyncio.get_running_loop().time(), lasts))

    def set_wall(self, by: timedelta) -> None:
        """Set the wall clock of the engine."""
        self._skews.append((self.now(), by))

    async def sleep_until(self, deadline: datetime) -> None:
        remaining = deadline - self.now()
        while remaining > timedelta():
            await asyncio.sleep(min(remaining.total_seconds(), LONGEST_SLEEP_SECONDS))
            remaining = deadline - self.now()

    def call_at(self, deadline: datetime, callback: Callable[[], None]) -> _Timer:
        slept = sum((lasted for _, lasted in self._suspends), timedelta())
        return super().call_at(deadline - slept, callback)


class WatchedFakeEngine(FakeEngine):
    """An engine that notices when a container of a pod runs twice.

    Attributes:
        twice: the pods and containers of which two instances ran at once.
    """

    def __init__(self, clock: FakeClock) -> None:
        super().__init__(clock)
        self.twice: list[tuple[str, str]] = []

    def start(self, container: FakeContainer) -> None:
        operation = container.operation
        others = [
            other
            for other in self.containers.values()
            if other is not container
            and other.runs()
            and other.operation.pod.uid == operation.pod.uid
            and other.operation.container.name == operation.container.name
        ]
        if others:
            self.twice.append((operation.pod.name, operation.container.name))
        super().start(container)

    def lose_all(self) -> None:
        """Let every container die with the daemon."""
        for container in list(self.containers.values()):
            self.end(container, SIGKILL_EXIT_CODE)


class FaultyRuntime(FakeRuntime):
    """A runtime whose calls have fates, those of logs if there are any."""

    def __init__(
        self,
        engine: FakeEngine,
        fates: Fates,
        clock: LoopClock,
        process: OurProcess,
        talk: Talk | None = None,
    ) -> None:
        super().__init__(engine)
        self._fates = fates
        self._process = process
        self._talk = talk
        self._own_clock = clock
        jumps = isinstance(clock, JumpingClock)
        self._daemon_clock = DaemonClock(clock, self._ask if jumps else None)

    async def _ask_by(self, name: str, call: Callable[[], Awaitable[T]]) -> T:
        return await self._process.ask(partial(self._fates.decide, name, call))

    async def _change_by(self, name: str, call: Callable[[], Awaitable[T]]) -> T:
        done = partial(self._process.change, name, call)
        return await self._process.ask(partial(self._fates.decide, name, done))

    async def _ask(self) -> datetime:
        async def tell() -> datetime:
            return self._own_clock.wall(self._own_clock.now())

        return await self._ask_by("version", tell)

    async def relist(self) -> tuple[RuntimePodStatus, ...]:
        """Return the pods as they were when it was asked, or later, never before.

        Of a list that is older than its question a kubelet makes a second container.
        """
        pods = await self._ask_by("relist", super().relist)
        return tuple([await self._in_our_time(pod) for pod in pods])

    async def _in_our_time(self, pod: RuntimePodStatus) -> RuntimePodStatus:
        if not isinstance(self._own_clock, JumpingClock):
            return pod
        containers = [await self._converted(status) for status in pod.containers]
        sandboxes = [
            await self._daemon_clock.sandbox(self._on_its_wall(status))
            for status in pod.sandboxes
        ]
        return replace(pod, containers=tuple(containers), sandboxes=tuple(sandboxes))

    async def _converted(
        self, status: RuntimeContainerStatus
    ) -> RuntimeContainerStatus:
        return await self._daemon_clock.container(self._on_its_wall(status))

    def _on_its_wall(self, status: S) -> S:
        """Return a status with the times that the engine's wall clock showed."""
        times = {
            name: self._own_clock.wall(at)
            for name in ("created_at", "started_at", "finished_at")
            if (at := getattr(status, name, None)) is not None
        }
        return replace(status, **times)

    async def conditions(self) -> tuple[RuntimeCondition, ...]:
        return await self._ask_by("conditions", super().conditions)

    async def run_pod_sandbox(self, operation: RunPodSandbox) -> str:
        return await self._change_by(
            "run_pod_sandbox", partial(super().run_pod_sandbox, operation)
        )

    async def pod_sandbox_status(self, sandbox_id: str) -> SandboxStatus:
        return await self._ask_by(
            "pod_sandbox_status", partial(super().pod_sandbox_status, sandbox_id)
        )

    async def stop_pod_sandbox(self, sandbox_id: str) -> None:
        await self._change_by(
            "stop_pod_sandbox", partial(super().stop_pod_sandbox, sandbox_id)
        )

    async def remove_pod_sandbox(self, sandbox_id: str) -> None:
        await self._change_by("remove_pod_sandbox", partial(self._remove, sandbox_id))

    async def _remove(self, sandbox_id: str) -> None:
        await FakeRuntime.stop_pod_sandbox(self, sandbox_id)
        for container in self._containers_in(sandbox_id):
            del self.engine.containers[container.container_id]
        self.engine.sandboxes.pop(sandbox_id, None)

    async def image_status(self, image: str) -> str | None:
        return await self._ask_by("image_status", partial(super().image_status, image))

    async def pull_image(self, operation: PullImage, progress: Progress) -> PulledImage:
        return await self._change_by(
            "pull_image", partial(super().pull_image, operation, progress)
        )

    async def create_container(self, operation: CreateContainer) -> ContainerID:
        return await self._change_by(
            "create_container", partial(self._create, operation)
        )

    async def _create(self, operation: CreateContainer) -> ContainerID:
        """Create a container; like an engine, refuse a name that is taken."""
        for other in self.engine.containers.values():
            taken = other.operation
            if (
                taken.sandbox_id == operation.sandbox_id
                and taken.container.name == operation.container.name
                and taken.attempt == operation.attempt
            ):
                raise ContainerRuntimeError("the name is already in use")
        return await super().create_container(operation)

    async def start_container(self, container_id: ContainerID) -> None:
        asked_at = self._own_clock.now()
        await self._change_by(
            "start_container", partial(super().start_container, container_id)
        )
        self._daemon_clock.started(container_id, asked_at)

    async def stop_container(
        self, container_id: ContainerID, grace_period_seconds: int
    ) -> None:
        await self._change_by(
            "stop_container",
            partial(super().stop_container, container_id, grace_period_seconds),
        )

    async def remove_container(self, container_id: ContainerID) -> None:
        await self._change_by(
            "remove_container", partial(super().remove_container, container_id)
        )

    async def container_status(
        self, container_id: ContainerID
    ) -> RuntimeContainerStatus | None:
        status = await self._ask_by(
            "container_status", partial(super().container_status, container_id)
        )
        return None if status is None else await self._converted(status)

    async def follow_logs(
        self, container_id: ContainerID, *, tail: int, follow: bool
    ) -> AsyncIterator[LogLine]:
        """Yield a log that may be refused, end early, and break with the daemon."""
        if (talk := self._talk) is None:
            kind = super().follow_logs(container_id, tail=tail, follow=follow)
            async for line in kind:
                yield line
            return
        fates = talk.fates
        container = await fates.decide("follow_logs", partial(self._find, container_id))
        talk.begins[container_id].add(max(0, len(container.lines) - tail))
        file = talk.files.get(container_id)
        if file is None:
            lines = self._lines_in_memory(container, fates, tail, follow=follow)
        else:
            lines = file.follow(tail, follow=follow)
        async with aclosing(lines):
            async for line in lines:
                if fates.away:
                    raise ContainerRuntimeError(fates.away, unreachable=True)
                # Of one that has ended no answer is kept open.
                if container.runs() and fates.cuts("follow_logs"):
                    return
                yield line

    async def _lines_in_memory(
        self, container: FakeContainer, fates: Fates, tail: int, *, follow: bool
    ) -> AsyncGenerator[LogLine]:
        seen = max(0, len(container.lines) - tail)
        is_over = False
        while not is_over:
            # Asked before reading: then all output is there.
            is_over = not follow or container.state is RuntimeState.EXITED
            for line in container.lines[seen:]:
                yield line
                seen += 1
            if not is_over and len(container.lines) == seen:
                await fates.or_restarted(self._change(container))

    async def _find(self, container_id: ContainerID) -> FakeContainer:
        return self._container(container_id)

    async def watch(self) -> AsyncIterator[None]:
        """Yield after changes; a daemon that starts again breaks the stream."""
        async for _ in super().watch():
            if self._fates.away:
                raise ContainerRuntimeError(self._fates.away, unreachable=True)
            yield


MISHAPS_FROM, MISHAPS_EACH, MISHAPS_AT = 20_000, 3, 1
"""From this seed on one of so many worlds has mishaps; older ones stay as they are."""

_MISHAPS = {"probe": (0.01, 0.03), "hook": (0.1, 0.1)}
"""How often one never answers, and how often it raises."""


class Mishaps:
    """What a probe or a hook does only by a bug: it never answers, or raises.

    What is drawn for them is of its own, and changes nothing else of a seed.
    """

    def __init__(
        self, seed: int, clock: FakeClock, schedule: Schedule, counts: Counter[str]
    ) -> None:
        self._random = Random(f"mishaps {seed}")
        self._clock = clock
        self._schedule = schedule
        self._counts = counts
        self._happen = seed >= MISHAPS_FROM and seed % MISHAPS_EACH == MISHAPS_AT

    async def strike(self, name: str) -> None:
        """Return at once, or never, or raise.

        Raises:
            LookupError: it is what nobody expects.
        """
        if not self._happen:
            return
        never, raises = _MISHAPS[name]
        chance = self._random.random()
        if chance >= never + raises:
            return
        what = f"{name} never answers" if chance < never else f"{name} raises"
        if not self._schedule.allows(what, self._clock.now()):
            return
        self._counts[what] += 1
        if chance < never:
            await asyncio.get_running_loop().create_future()
        raise LookupError("nobody expects this")


class FaultyProber:
    """A prober whose probes succeed, fail, err, take too long, and have mishaps.

    Attributes:
        is_tried: whether a user tries a probe, which no worker keeps from.
        overlaps: the probes that were started while they ran.
        off_duty: the probes of a container that had not started, or too early.
    """

    def __init__(
        self, engine: FakeEngine, random: Random, clock: LoopClock, mishaps: Mishaps
    ) -> None:
        self._engine = engine
        self._random = random
        self._clock = clock
        self._mishaps = mishaps
        self._running: set[object] = set()
        self.is_tried: Callable[[RunProbe], bool] = lambda _effect: False
        self.overlaps: list[str] = []
        self.off_duty: list[str] = []

    async def probe(self, effect: RunProbe) -> ProbeOutcome:
        clock = self._clock
        started_at = clock.now()
        is_tried = self.is_tried(effect)
        running = effect.key, is_tried
        if running in self._running:
            self.overlaps.append(f"{effect.key} at {started_at}")
        container = self._engine.containers.get(effect.container_id)
        is_early = container is not None and not _is_on_duty(container, effect, clock)
        if is_early and not is_tried:
            self.off_duty.append(f"{effect.key} at {started_at}")
        self._running.add(running)
        takes = timedelta(seconds=self._random.choice((0, 0, 0.01, 0.5, 1, 7)))
        try:
            await clock.sleep_until(started_at + takes)
            await self._mishaps.strike("probe")
        finally:
            self._running.discard(running)
        return ProbeOutcome((self._attempt(container, takes),), started_at, takes)

    def _attempt(self, container: FakeContainer | None, takes: timedelta) -> Attempt:
        chance = self._random.random()
        if container is None or not container.runs() or chance < 0.1:  # one in ten
            return Attempt(ProbeResult.UNKNOWN, "", "cannot exec in it", takes)
        well = chance < 0.7  # most
        if well:
            return Attempt(ProbeResult.SUCCESS, "", None, takes)
        return Attempt(ProbeResult.FAILURE, "not well", None, takes)


def _is_on_duty(container: FakeContainer, effect: RunProbe, clock: LoopClock) -> bool:
    """Return whether a container has started, and its initial delay is over."""
    if container.started_at is None:
        return False
    delay = timedelta(seconds=effect.probe.initial_delay_seconds)
    return clock.now() >= container.started_at + delay - clock.imprecision


class FaultyHooks:
    """Hooks that succeed, fail, take too long, and have mishaps."""

    def __init__(self, clock: FakeClock, random: Random, mishaps: Mishaps) -> None:
        self._clock = clock
        self._random = random
        self._mishaps = mishaps

    async def run(self, operation: RunHook) -> HookResult:
        takes = timedelta(seconds=self._random.choice((0, 0.2, 3, 40)))
        await self._clock.sleep_until(self._clock.now() + takes)
        await self._mishaps.strike("hook")
        fails = self._random.random() < 0.2  # one in five
        return HookResult("bye", "exited with 1" if fails else None)


def a_life(random: Random, pace: int = 1) -> Run:
    """Return how an instance of a container behaves; it lasts longer at a pace."""
    lasts = random.choice((None, None, None, 0, 0.5, 4, 30 * pace))
    return Run(
        exits_after=None if lasts is None else timedelta(seconds=lasts),
        exit_code=random.choice((0, 1, 1, 137)),
        on_sigterm=random.choice((143, 0, None)),
        stops_after=timedelta(seconds=random.choice((0, 0, 1, 5))),
        start_error=random.choice(("",) * 15 + ("exec: no such file",)),
        create_error=random.choice(("",) * 15 + ("invalid mount",)),
    )


def an_image(random: Random) -> Image:
    """Return an image, which may have to be pulled, in vain at times."""
    return Image(
        is_here=random.random() < 0.5,  # half of them
        pull_takes=timedelta(seconds=random.choice((0, 2, 20))),
        pull_error=random.choice(("", "", "", "no such host")),
    )


_MOST_LINES = 100_000
"""A container with as many lines floods no more: hours of it are much memory."""


class Talk:
    """What containers print, and who reads it: panes that are opened and closed.

    Lines are numbered, so that each that is lost or told twice is seen.

    Args:
        random: what all is drawn from.
        engine: has the containers.
        fates: those of the calls that follow a log.
        new_file: returns the file of a container's log, None for one in memory.

    Attributes:
        files: those of all containers.
        begins: with which lines of each container somebody began to read.
        did: what was done to files, and how often.
    """

    def __init__(
        self,
        random: Random,
        engine: FakeEngine,
        fates: Fates,
        new_file: Callable[[FakeContainer], LogFile | None],
    ) -> None:
        self._random = random
        self._new_file = new_file
        self.files: dict[ContainerID, LogFile | None] = {}
        self.begins: dict[ContainerID, set[int]] = defaultdict(set)
        self._engine = engine
        self.fates = fates
        self._containers: dict[ContainerID, FakeContainer] = {}
        self._tails: list[LogTail] = []
        self.did: Counter[str] = Counter()
        self.broken: list[str] = []

    async def go_on(self, session: Callable[[], SupportsLogs | None]) -> None:
        """Print and read, until it is cancelled."""
        random = self._random
        while True:
            await asyncio.sleep(random.choice((0.1, 1, 1, 7)))
            for container in self._engine.containers.values():
                if container.container_id not in self.files:
                    self.files[container.container_id] = self._new_file(container)
            self._containers |= self._engine.containers
            if not self._engine.containers:
                continue
            container = random.choice([*self._engine.containers.values()])
            is_read = any(
                tail.container_id == container.container_id
                and tail.state is LogState.READING
                for tail in self._tails
            )
            # A flood is skipped by who reads it, from some 20,500 lines on.
            counts = (1, 30, 3_000, random.randrange(20_500, 21_500))
            is_flooding = is_read and len(container.lines) < _MOST_LINES
            count = random.choices(counts, (80, 10, 3, 30 * is_flooding))[0]
            self._print(container, count)
            living = session()
            if random.random() < 0.2 and living is not None:  # some
                tail = living.follow_logs(container.container_id, lambda: None)
                self._tails.append(tail)
            if self._tails and random.random() < 0.1:  # some
                tail = self._tails.pop(random.randrange(len(self._tails)))
                self._check(tail)
                tail.close()

    def _print(self, container: FakeContainer, count: int) -> None:
        """Print lines, between which a file may be rotated or emptied."""
        file = self.files[container.container_id]
        times = 0
        if file is not None and self._random.random() < 0.3:  # some
            times = self._random.choice((1, 1, 2, 2, 3, 6))
        places = sorted(self._random.randrange(count + 1) for _ in range(times))
        for begins, ends in pairwise((0, *places, count)):
            before = len(container.lines)
            for number in range(before, before + ends - begins):
                self._engine.print(container, str(number))
            if file is None:
                continue
            file.print(range(before, len(container.lines)), self._engine.clock.now())
            if ends == count:
                continue
            if self._random.random() < 0.1:  # few
                self.did["log is emptied"] += 1
                file.empty(len(container.lines))
            else:
                self.did["log is rotated"] += 1
                file.rotate()

    def end(self, *, is_over: bool) -> None:
        """Check what is open; `is_over` that each container has ended."""
        for tail in self._tails:
            self._check(tail)
            if is_over and tail.state is LogState.READING:
                self.broken.append(f"{tail.container_id} ended, and its log is read on")
            tail.close()
        self._tails.clear()

    def check_last_output(self, read: LastOutputRead) -> None:
        """Check what was kept of an instance that has ended."""
        container = self._containers.get(read.container_id)
        if container is None or read.lines is None:
            return
        file = self.files[container.container_id]
        if file is not None and file.has_lost:
            return
        numbers = [line.text for line in read.lines]
        last = [line.text for line in container.lines[-LAST_LINES:]]
        if numbers != last:
            self.broken.append(f"of {read.container_id} is kept {numbers}, not {last}")

    def _check(self, tail: LogTail) -> None:
        numbers = [int(line.text) for line in tail.lines]
        file = self.files[tail.container_id]
        name = f"log of {tail.container_id} ({type(file).__name__})"
        for place, (before, after) in enumerate(pairwise(numbers), tail.dropped + 1):
            is_said = place in tail.skips
            # Of a log that is emptied nobody knows what it had.
            is_emptied = file is not None and after in file.emptied
            is_lost = after != before + 1
            # Once a file is removed nobody knows whether there was another after it,
            # nor what came before the first line of who reads on.
            may_be_lost = is_lost or after in self.begins[tail.container_id]
            if file is not None:
                may_be_lost |= after in file.removed
            is_so = may_be_lost if is_said else not is_lost
            if after <= before or not (is_so or is_emptied):
                self.broken.append(f"{name}: {after} comes after {before}, {is_said}")
        if len(numbers) > LINES_KEPT:
            self.broken.append(f"{name}: {len(numbers)} lines are kept")
        if tail.state is LogState.REFUSED and not tail.problem:
            self.broken.append(f"{name} is refused without a cause")
        container = self._containers[tail.container_id]
        is_whole = tail.state is LogState.ENDED
        if is_whole and container.runs():
            self.broken.append(f"{name} has ended, and its container runs")
        printed = len(container.lines)
        is_emptied = file is not None and printed in file.emptied
        # Of one that is gone nobody can ask whether its log was read to the end.
        is_gone = tail.container_id not in self._engine.containers
        ends = [printed - 1] if printed else []
        if is_whole and numbers[-1:] != ends and not (is_emptied or is_gone):
            self.broken.append(f"{name} ends with {numbers[-1:]}, not the last line")
