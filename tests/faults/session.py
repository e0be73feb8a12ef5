"""One world by its seed: pods, faults, commands, crashes of ours, and the end."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from random import Random

from probetui.cli.session.ending import remove_session_pods
from probetui.debugger.commands import ResumeProbes
from probetui.drive.realtime import RealtimeSession
from probetui.engine.inputs import AddPod, Command, Input, LastOutputRead
from probetui.k8s.pod import Container, Pod, RestartPolicy
from probetui.k8s.probe import ExecAction, Probe, ProbeType
from probetui.kubelet.config import KubeletConfig
from probetui.kubelet.journal import JournalEntry
from probetui.kubelet_rules import VERSIONS, rules_for_kubelet
from probetui.record.writer import SUFFIX
from tests.builders import a_container, a_pod, a_probe
from tests.fakes import FakeContainer
from tests.faults.disk import Disk, RecordedLife
from tests.faults.effects import WatchedEngine, WatchedExecutor
from tests.faults.fates import Fate, Fates, Schedule
from tests.faults.log_files import CriLog, LogFile, ProcessLog, short_logs
from tests.faults.places import OurProcess, Places
from tests.faults.users import a_command, a_rarer_command
from tests.faults.world import (
    FaultyHooks,
    FaultyProber,
    FaultyRuntime,
    JumpingClock,
    LoopClock,
    Mishaps,
    Talk,
    WatchedFakeEngine,
    a_life,
    an_image,
)
from tests.virtual_loop import run_in_virtual_time

FAULTY_SECONDS = 300
"""After so long calls go well, and the session is ended."""

PLACED_SECONDS = 40
"""So long where we end at one of all places: there are some hundreds."""

LOGS_EACH, LOGS_AT = 8, 1
"""Of the worlds of so many seeds one has containers that print, and logs that fail."""

JUMPS_EACH, JUMPS_AT = 7, 4
"""Of the worlds of so many seeds one has clocks that jump."""

MILD_FROM, MILD_WEIGHT = 20_000, 4_000
"""From this seed on, in every other world most calls are prompt: in others containers
hardly come to be probed."""

BUSY_FROM = 50_000
"""From this seed on users do all that they can, too, in every other world."""

PACED_FROM = 100_000
"""From this seed on, in some worlds things take longer, and hours pass."""

PACES = (1, 6, 60)
"""How many times as long. The kubelet's own periods stay as they are: its back-off
comes to its longest and is over again, an image is not used for long."""

_HOOK = ExecAction(("drain",))


@dataclass(frozen=True, slots=True)
class Life:
    """One run of probetui: all inputs of its engine, its journal, maybe its record.

    One that `is_observed` is of `watch`: its inputs are what was seen, as JSON.
    """

    config: KubeletConfig
    started_at: datetime
    inputs: Sequence[tuple[Input | None, datetime]]
    journal: Sequence[JournalEntry]
    record: RecordedLife | None
    is_observed: bool = False


@dataclass(slots=True)
class World:
    """What a seed made, and what became of it.

    Attributes:
        pods: their manifests.
        lives: the runs of probetui, one more than it was killed.
        broken: what does not hold, found while it ran.
        counts: the fates of calls.
        seconds: how long it lasted, in virtual time.
        pod_seconds: the time of each pod in the world of a node.
        schedule: the faults that it met.
        places: where we could have ended, up to where we did.
    """

    seed: int
    schedule: Schedule
    pods: tuple[Pod, ...] = ()
    lives: list[Life] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0
    pod_seconds: float = 0.0
    places: list[str] = field(default_factory=list)


def run_world(
    seed: int,
    folder: Path,
    kept: Collection[int] | None = None,
    ends_at: int | None = None,
) -> World:
    """Run the world of a seed to its end.

    Args:
        seed: what all is drawn from.
        folder: where its files are.
        kept: the numbers of the faults that happen, None for all.
        ends_at: the place at which we are killed, and nowhere else; None to draw that.
    """
    logging.getLogger("probetui").setLevel(logging.CRITICAL)
    world = World(seed, Schedule(kept))
    try:
        with short_logs():
            _, world.seconds = run_in_virtual_time(_Run(world, folder, ends_at).run())
    except Exception as error:  # noqa: BLE001  # a bug, with the seed that shows it
        world.broken.append(f"raised {type(error).__name__}: {error}")
    return world


class _Run:
    def __init__(self, world: World, folder: Path, ends_at: int | None) -> None:
        self.world = world
        self.folder = folder
        self.ends_at = ends_at
        self.random = Random(world.seed)  # a world is repeated by its seed
        # What is drawn for the disk changes nothing else of a seed.
        self.random_of_disk = Random(f"disk {world.seed}")
        self.random_of_clock = Random(f"clock {world.seed}")
        self.random_of_logs = Random(f"logs {world.seed}")
        is_busy = world.seed >= BUSY_FROM and world.seed % 4 in {1, 2}
        self.user = Random(f"user {world.seed}") if is_busy else None
        self.talk: Talk | None = None
        self.logs = 0
        self.jumps = world.seed % JUMPS_EACH == JUMPS_AT
        self.pace = 1
        if world.seed >= PACED_FROM:
            self.pace = Random(f"pace {world.seed}").choice(PACES)

    async def run(self) -> None:
        random, world = self.random, self.world
        self.tasks = {asyncio.current_task()}
        self.places = Places(self.ends_at)
        world.places = self.places.passed
        self.clock = JumpingClock() if self.jumps else LoopClock()
        self.engine = WatchedFakeEngine(self.clock)
        self.engine.runs = lambda _operation: a_life(random, self.pace)
        self.mishaps = Mishaps(world.seed, self.clock, world.schedule, world.counts)
        self.fates = Fates(random, self.clock, world.schedule)
        if world.seed >= MILD_FROM and world.seed % 2:
            self.fates.weights[Fate.PROMPT] = MILD_WEIGHT
        self.version = random.choice(VERSIONS[VERSIONS.index("1.20") :])
        names = ("web", "db", "job")[: random.randint(1, 3)]
        if self.pace > 1:
            names = tuple(f"{name}-{number}" for name in names for number in range(5))
        world.pods = tuple(self._pod(name) for name in names)
        for pod in world.pods:
            for container in pod.all_containers():
                self.engine.images[container.image] = an_image(random)
        self.config = KubeletConfig(
            version=self.version,
            seed=world.seed,
            queues_while_waiting=True,
            keeps_evidence=random.random() < 0.5,  # half of them
            polls_runtime=random.random() < 0.5,  # half of them
        )
        if world.seed % LOGS_EACH == LOGS_AT:
            fates = Fates(self.random_of_logs, self.clock, world.schedule)
            self.talk = Talk(self.random_of_logs, self.engine, fates, self._log_file)
        self._begin()
        if self.ends_at is None:
            await self._live(FAULTY_SECONDS * self.pace)
            return
        if await self._is_first_over():
            await self._begin_again()
            await self._live(PLACED_SECONDS)

    async def _is_first_over(self) -> bool:
        """Let the first life go on to its end; return whether we were killed."""
        living = asyncio.ensure_future(self._live(PLACED_SECONDS))
        killed = asyncio.ensure_future(self.places.has_ended.wait())
        self.tasks |= {living, killed}
        await asyncio.wait({living, killed}, return_when=asyncio.FIRST_COMPLETED)
        is_killed = self.places.has_ended.is_set()
        for task in (living, killed):
            task.cancel()
        await asyncio.wait({living, killed})
        if not living.cancelled():
            living.result()
        return is_killed

    async def _live(self, seconds: float) -> None:
        """Let things happen for so long, and end it."""
        talking = None
        if self.talk is not None:
            talking = asyncio.ensure_future(self.talk.go_on(self._living_session))
        ends = asyncio.get_running_loop().time() + seconds
        try:
            while asyncio.get_running_loop().time() < ends:
                await asyncio.sleep(self.random.choice((0.05, 0.7, 3, 11 * self.pace)))
                await self._happen()
                if isinstance(self.clock, JumpingClock):
                    self._jump(self.clock)
        finally:
            if talking is not None:
                talking.cancel()
                await asyncio.wait({talking})
        await self._end()

    def _living_session(self) -> RealtimeSession | None:
        is_killed = self.task.done() or self.task.cancelling()
        return None if is_killed else self.session

    # -- what happens

    async def _happen(self) -> None:
        what = self.random.choices(
            ("command", "daemon restarts", "exit", "we are killed"),
            weights=(12, 2, 3, self.ends_at is None),
        )[0]
        if not self.world.schedule.allows(what, self.clock.now()):
            return
        match what:
            case "command":
                self.world.counts["command"] += 1
                self.session.send(self._command())
            case "daemon restarts":
                self.world.counts["daemon restarts"] += 1
                await self._restart_daemon()
            case "exit":
                running = [c for c in self.engine.containers.values() if c.runs()]
                if running:
                    self.world.counts["exit"] += 1
                    self.engine.end(self.random.choice(running), 1)
            case "we are killed":
                self.world.counts["we are killed"] += 1
                await self._begin_again()
            case _:
                pass

    def _jump(self, clock: JumpingClock) -> None:
        """Set the engine's wall clock at times, or suspend the machine."""
        random, counts = self.random_of_clock, self.world.counts
        what = random.choices(
            ("", "wall clock is set", "machine is suspended"), weights=(8, 1, 1)
        )[0]
        if what and not self.world.schedule.allows(what, clock.now()):
            return
        match what:
            case "wall clock is set":
                counts["wall clock is set"] += 1
                seconds = random.choice((0.3, 3, 70, 3600, 200_000))
                clock.set_wall(timedelta(seconds=random.choice((-1, 1)) * seconds))
            case "machine is suspended":
                counts["machine is suspended"] += 1
                clock.suspend(timedelta(seconds=random.choice((0.5, 4, 40, 500))))
            case _:
                pass

    async def _restart_daemon(self) -> None:
        all_fates = [self.fates] + ([] if self.talk is None else [self.talk.fates])
        for fates in all_fates:
            fates.away = "connection refused"
        if self.random.random() < 0.3:  # live restore is off
            self.engine.lose_all()
        for fates in all_fates:
            fates.restart()
        self.engine.notify_watchers()
        try:
            await asyncio.sleep(self.random.choice((0.2, 4, 25)))
        finally:
            for fates in all_fates:
                fates.away = ""

    def _command(self) -> Command:
        if self.user is not None and self.user.random() < 0.6:  # more than half
            return a_rarer_command(self.user, self.world.pods)
        return a_command(self.random, self.world.pods)

    def _log_file(self, container: FakeContainer) -> LogFile | None:
        # Files are looked at each tenth of a second: too often for five hours.
        is_long = self.pace == max(PACES)
        kinds = ("memory",) if is_long else ("memory", "cri", "process")
        self.logs += 1
        path = self.folder / f"log-{self.logs}"
        match self.random_of_logs.choice(kinds):
            case "cri":
                return CriLog(path, container, self.engine, self.random_of_logs)
            case "process":
                return ProcessLog(path, container, self.engine)
            case _:
                return None

    # -- probetui

    def _begin(self) -> None:
        now = self.clock.now()
        inputs: list[tuple[Input | None, datetime]] = []
        self.process = process = OurProcess(self.places)
        self.places.on_end = process.end
        suffix = self.random_of_disk.choice(("", SUFFIX))
        record = RecordedLife(
            self.folder / f"{len(self.world.lives)}.jsonl{suffix}",
            Disk(
                self.random_of_disk,
                self.clock,
                self.world.schedule,
                self.world.counts,
                self.places,
            ),
            self.config,
            self.world.pods,
        )

        def on_input(item: Input | None, at: datetime) -> None:
            inputs.append((item, at))
            record.on_input(item, at)

        self.prober = FaultyProber(self.engine, self.random, self.clock, self.mishaps)
        self.runtime = runtime = FaultyRuntime(
            self.engine,
            self.fates,
            self.clock,
            process,
            self.talk,
        )
        hooks = FaultyHooks(self.clock, self.random, self.mishaps)
        engine = WatchedEngine(self.config, now)
        self.prober.is_tried = lambda effect: (
            effect.probe_id not in engine.running_probes()
        )
        self.executor = WatchedExecutor(
            runtime,
            self.prober,
            hooks,
            self.clock,
            engine,
            lambda: self.session.has_run_ended,
        )
        self.session = RealtimeSession(
            engine,
            self.executor,
            runtime,
            self.clock,
            runtime_name="faulty",
            on_input=on_input,
        )
        record.follow(self.session)
        self.record = record
        self.places.on_end = self._end_at_once
        self.world.lives.append(
            Life(self.config, now, inputs, self.session.journal, record)
        )
        for pod in self.world.pods:
            self.session.send(AddPod(pod))
        self.task = asyncio.ensure_future(self.session.run())

    async def _begin_again(self) -> None:
        await self._kill()
        await asyncio.sleep(self.random.choice((0.1, 2, 20)))
        self._begin()

    def _end_at_once(self) -> None:
        self.process.end()
        self.record.file.kill()

    async def _kill(self) -> None:
        """End probetui wherever it is, as SIGKILL does; nothing is tidied up."""
        self.process.end()
        self.record.kill()
        if self.talk is not None:
            self.talk.end(is_over=False)
        self.task.cancel()
        with suppress(asyncio.CancelledError):
            await self.task
        self._look()

    async def _end(self) -> None:
        self.fates.are_kind, self.fates.away = True, ""
        self.fates.restart()
        self.engine.notify_watchers()
        self.session.send(ResumeProbes())
        await asyncio.sleep(1)
        if self.task.done():
            self.world.broken.append(f"the session ended by itself: {self._failure()}")
            return
        if not await self.session.shutdown():
            # As for a hook that takes longer than the grace period.
            self.world.counts["pods that did not end in time"] += 1
        await self._end_talk()
        self.session.stop()
        await self.task
        self.record.end()
        await remove_session_pods(self.runtime, self.world.pods)
        self._look()
        left = [*self.engine.containers, *self.engine.sandboxes]
        if left:
            self.world.broken.append(f"left behind: {', '.join(map(str, left))}")
        others = asyncio.all_tasks() - self.tasks
        if others:
            names = ", ".join(sorted(str(task.get_coro()) for task in others))
            self.world.broken.append(f"still running: {names}")
        for (name, fate), count in self.fates.counts.items():
            self.world.counts[f"{name}: {fate}"] += count

    async def _end_talk(self) -> None:
        """Check what was read of logs, and what was kept of each that has ended."""
        if (talk := self.talk) is None:
            return
        talk.fates.are_kind = True
        talk.fates.restart()
        await asyncio.sleep(30)  # a reader of a flood takes its time
        talk.end(is_over=not self.engine.containers)
        for life in self.world.lives:
            for item, _ in life.inputs:
                if isinstance(item, LastOutputRead):
                    talk.check_last_output(item)
        self.world.broken += talk.broken
        self.world.counts += talk.did
        self.world.counts["log ends early"] += talk.fates.cut_streams
        for (name, fate), count in talk.fates.counts.items():
            self.world.counts[f"{name}: {fate}"] += count

    def _failure(self) -> object:
        return "cancelled" if self.task.cancelled() else self.task.exception()

    def _look(self) -> None:
        """Note what the runtime and the prober saw of the life that ends."""
        broken = self.world.broken
        broken += [f"{pod}/{name} ran twice" for pod, name in self.engine.twice]
        broken += [f"overlapping probe: {what}" for what in self.prober.overlaps]
        broken += [f"probe before the start: {what}" for what in self.prober.off_duty]
        broken += self.executor.unanswered(self.world.lives[-1].inputs)
        self.engine.twice.clear()

    # -- pods

    def _pod(self, name: str) -> Pod:
        random = self.random
        main = [self._container(f"{name}-app")]
        if random.random() < 0.4:  # some
            main.append(self._container(f"{name}-two"))
        inits: list[Container] = []
        if random.random() < 0.3:  # some
            inits.append(a_container(f"{name}-init", image=f"{name}-init:1"))
        # Before 1.29 an API server drops the restart policy of an init container.
        has_sidecars = rules_for_kubelet(self.version).sidecars
        if has_sidecars and random.random() < 0.3:
            inits.append(
                self._container(f"{name}-side", restart_policy=RestartPolicy.ALWAYS)
            )
        return a_pod(
            *main,
            name=name,
            init_containers=tuple(inits),
            restart_policy=random.choice(
                (RestartPolicy.ALWAYS, RestartPolicy.ALWAYS, *RestartPolicy)
            ),
            termination_grace_period_seconds=random.choice((0, 1, 5, 30)),
        )

    def _container(self, name: str, **fields: object) -> Container:
        random = self.random
        probes = {
            f"{kind.lower()}_probe": self._probe()
            for kind in ProbeType
            if random.random() < 0.5  # half of them
        }
        hooks = {
            hook: _HOOK
            for hook in ("post_start", "pre_stop")
            if random.random() < 0.2  # some
        }
        return a_container(name, image=f"{name}:1", **probes, **hooks, **fields)

    def _probe(self) -> Probe:
        random = self.random
        return a_probe(
            initial_delay_seconds=random.choice((0, 0, 2)),
            period_seconds=random.choice((1, 2, 5)) * self.pace,
            timeout_seconds=random.choice((1, 3)),
            failure_threshold=random.choice((1, 3)),
        )
