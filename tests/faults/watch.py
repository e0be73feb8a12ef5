"""`probetui watch` in a world: of a cluster it sees only what faults let through.

A node of ours is the kubelet, and what its session journals is the truth. The client,
the feed, the observation and the session that watch it are the program's own. Their way
to the API server fails on its own, the kubelet's counters are late or refused, its
clock may be apart from ours, and it may be started again, as may `watch`.
"""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict
from collections.abc import Collection, Iterator
from datetime import datetime, timedelta
from pathlib import Path
from random import Random

from prometheus_client.exposition import generate_latest
from prometheus_client.registry import CollectorRegistry

from probetui.analysis.container_history import SessionHistory
from probetui.cluster.client import ApiClient
from probetui.cluster.errors import ClusterError, ServerUnreachableError
from probetui.cluster.observe.feed import Feed
from probetui.cluster.observe.inputs import ObservedInput, ObservedInputEncoder
from probetui.cluster.observe.kubelet_counters import CountersUnavailableError
from probetui.cluster.observe.observation import ClusterObservation
from probetui.cluster.observe.session import ObservedSession
from probetui.cluster.selection import PodSelection
from probetui.drive.metrics import ProbeMetrics
from probetui.drive.session import Session
from probetui.engine.snapshot import Snapshot
from probetui.k8s.probe import ProbeKey
from probetui.kubelet.config import KubeletConfig
from probetui.kubelet.journal import (
    PROBE_CAUSES,
    ContainerEntry,
    ExitCause,
    LifecycleStep,
    TickAction,
    TickEntry,
)
from probetui.kubelet.outcome import Result
from tests.cases.truth import Observed, untruths
from tests.cluster.node.bench import NODE
from tests.faults.api_server import SPELLS, FaultyServerTransport, RequestFate
from tests.faults.disk import Disk, RecordedLife
from tests.faults.fates import Fate, Schedule
from tests.faults.node import _ACCESS, _RULES, _cause
from tests.faults.node import _Run as _NodeRun
from tests.faults.places import Places
from tests.faults.rules import UNSAID
from tests.faults.session import Life, World
from tests.faults.world import LoopClock
from tests.virtual_loop import run_in_virtual_time

FAULTY_SECONDS = 150
SETTLING_SECONDS = 200
"""By then a watch that is silent is taken for dead."""

_APART = (0, 0, 0, 0, 75, -75, -3600)
"""By so many seconds our clock may be ahead of the kubelet's."""

_ASKED_EACH = 25.0
_SECOND = timedelta(seconds=1)
_WORDS = (Result.SUCCESS, Result.FAILURE)


def run_watch_world(
    seed: int, folder: Path, kept: Collection[int] | None = None
) -> World:
    """Run the world of a cluster that is watched, by its seed.

    Args:
        seed: what all is drawn from.
        folder: where its files are.
        kept: the numbers of the faults that happen, None for all.
    """
    logging.getLogger("probetui").setLevel(logging.CRITICAL)
    world = World(seed, Schedule(kept))
    run = _Run(world, folder)
    try:
        _, world.seconds = run_in_virtual_time(run.run())
    except Exception as error:  # noqa: BLE001  # a bug, with the seed that shows it
        world.broken.append(f"raised {_cause(error)!r}")
    world.pods = tuple(run.pods.values())
    return world


class _ApartClock(LoopClock):
    """The clock of who watches, which is apart from the kubelet's.

    Args:
        ahead: by how much.
    """

    def __init__(self, ahead: timedelta) -> None:
        super().__init__()
        self.ahead = ahead

    def after(self, seconds: float) -> datetime:
        return super().after(seconds) + self.ahead


class _WatchersTransport(FaultyServerTransport):
    """The way of who watches to the API server."""

    async def next_of_watch(self, chunks: object, name: str) -> bytes | None:
        chunk = await super().next_of_watch(chunks, name)  # type: ignore[arg-type]
        twice = RequestFate.TWICE, RequestFate.ANSWERED_LATE
        if chunk is not None and self.last_fate in twice:
            return chunk + chunk
        return chunk

    def _draw(self, name: str) -> RequestFate:
        self.last_fate = super()._draw(f"watch: {name}")
        return self.last_fate


class _Run(_NodeRun):
    def __init__(self, world: World, folder: Path) -> None:
        super().__init__(world)
        self.random = Random(f"watch {world.seed}")
        self.folder = folder
        self.watches: list[_Watch] = []

    def begin(self) -> None:
        super().begin()
        self.fates.weights = {Fate.PROMPT: 1, **dict.fromkeys(list(Fate)[1:], 0)}
        # The kubelet may have a bad way, too: then its statuses are late.
        self.server.are_kind = self.random.random() < 0.5  # half of them
        self.way = _WatchersTransport(
            self.server.api,
            self.random,
            self.clock,
            self.world.schedule,
            self.world.counts,
        )
        self.watch_clock = _ApartClock(self.random.choice(_APART) * _SECOND)
        self.counters = _Counters(self)

    async def run(self) -> None:
        self.begin()
        keeper = asyncio.ensure_future(self._keep_node())
        watcher = asyncio.ensure_future(self._keep_watch())
        while asyncio.get_running_loop().time() < FAULTY_SECONDS:
            await self._sleep(self.random.choice((0.05, 0.7, 3, 11, 20)))
            await self._happen()
        self.server.are_kind = self.way.are_kind = self.counters.are_kind = True
        self.server.is_away = self.way.is_away = False
        self.server.refusal = self.way.refusal = None
        await asyncio.sleep(SETTLING_SECONDS)
        watch = self.watches[-1]
        if watch.is_running:
            watch.check_settled()
        else:
            self._break("watch does not run at the end")
        for task in (watcher, keeper):
            task.cancel()
            await asyncio.wait({task})
        if self.node is not None:
            self.node.kill()
            await self.node.has_ended()
        if others := asyncio.all_tasks() - {asyncio.current_task()}:
            names = sorted(str(task.get_coro()) for task in others)
            self._break(f"still running: {', '.join(names)}")
        for each in self.watches:
            self.world.broken += map(f"watch {each.number}: ".__add__, each.judge())

    async def _happen(self) -> None:
        acts = {
            self._create: 10,
            self._delete: 4,
            self._delete_at_once: 1,
            self._annotate: 2,
            self._exit: 4,
            self._kill: 1,
            self._go_away: 3,
            self._refuse_all: 2,
            self._restart_server: 2,
            self._end_watch: 1,
        }
        await self.do_one_of(acts)

    async def _go_away(self) -> None:
        """Let the server be away, for who watches alone or for all."""
        ways = self._ways()
        for way in ways:
            way.is_away = True
            way.break_off()
        await self._let_pass()
        for way in ways:
            way.is_away = False

    async def _refuse_all(self) -> None:
        ways, refusal = self._ways(), self.random.choice(SPELLS)
        for way in ways:
            way.refusal = refusal
        await self._let_pass()
        for way in ways:
            way.refusal = None

    async def _restart_server(self) -> None:
        self.way.break_off()
        await super()._restart_server()

    async def _end_watch(self) -> None:
        if self.watches:
            self.watches[-1].kill()

    def _ways(self) -> list[FaultyServerTransport]:
        return [self.way, self.server][: self.random.choice((1, 1, 2))]

    async def _let_pass(self) -> None:
        ends = self.clock.now() + self.random.choice((2, 15, 60)) * _SECOND
        while self.clock.now() < ends:
            await self._sleep(self.random.choice((1, 3, 15)))
            await self.random.choice((self._create, self._exit, self._exit))()

    async def _keep_watch(self) -> None:
        """Start `watch` again whenever it has ended."""
        while True:
            await asyncio.sleep(self.random.choice((1, 10, 50)))
            watch = _Watch(self, len(self.watches) + 1)
            if problem := await watch.begin():
                self.world.counts[f"watch ended: {problem}"] += 1
                continue
            self.watches.append(watch)
            await watch.run()


class _Counters:
    """The counters of the kubelet, with what it knew of each run when it answered.

    Attributes:
        are_kind: each answer is prompt.
    """

    def __init__(self, run: _Run) -> None:
        self._run = run
        self._metrics: tuple[Session, ProbeMetrics, CollectorRegistry] | None = None
        self._read = 0
        self._answers = 0
        self.are_kind = False
        self.runs_at: dict[bytes, dict[ProbeKey, tuple[Result, int]]] = {}

    async def fetch(self, node: str) -> bytes:
        """Return the counters, late or not at all."""
        assert node == NODE
        run = self._run
        fate = Fate.PROMPT
        if not self.are_kind:
            weights = (80, 4, 4, 1, 3, 1, 1)
            fate = run.random.choices(tuple(Fate), weights)[0]
        is_fault = fate is not Fate.PROMPT
        if is_fault and not run.world.schedule.allows(
            f"counters: {fate}", run.clock.now()
        ):
            fate = Fate.PROMPT
        run.world.counts[f"counters: {fate}"] += 1
        delay = run.random.choice((0.05, 0.8, 4))
        match fate:
            case Fate.PROMPT:
                return self._answer()
            case Fate.LATE:
                await asyncio.sleep(delay)
                return self._answer()
            case Fate.ANSWERED_LATE:
                answer = self._answer()
                await asyncio.sleep(delay)
                return answer
            case Fate.REFUSED:
                raise CountersUnavailableError("not allowed")
            case Fate.UNHEARD:
                raise ServerUnreachableError("connection reset by peer")
            case _:
                await asyncio.sleep(10)
                raise ServerUnreachableError("it did not answer")

    def _answer(self) -> bytes:
        node = self._run.node
        if node is None or not node.is_running:
            raise ServerUnreachableError("connection refused")
        session = node.session
        if self._metrics is None or self._metrics[0] is not session:
            registry = CollectorRegistry()
            self._metrics = session, ProbeMetrics(_RULES), registry
            registry.register(self._metrics[1])
            self._read = 0
        _, metrics, registry = self._metrics
        journal = session.journal
        metrics.consume(journal[self._read :])
        self._read = len(journal)
        self._answers += 1
        answer = generate_latest(registry) + b"# %d\n" % self._answers
        self.runs_at[answer] = _runs_of(session.snapshot)
        return answer


def _runs_of(snapshot: Snapshot) -> dict[ProbeKey, tuple[Result, int]]:
    """Return the last result of each worker and how often it came in a row."""
    return {
        probe.key: (probe.last_result, probe.result_run)
        for pod in snapshot.pods
        for container in pod.containers
        for probe in container.probes
        if probe.worker_alive and not probe.run_doubt
    }


class _Observation(ClusterObservation):
    """An observation whose runs are compared with the kubelet's at each poll."""

    def compare_with(self, run: _Run, broken: list[str]) -> None:
        self._run, self._broken = run, broken

    def record_counters(
        self, name: str, text: bytes, asked_at: datetime, answered_at: datetime
    ) -> None:
        super().record_counters(name, text, asked_at, answered_at)
        truth = self._run.counters.runs_at.pop(text)
        counts = self._run.world.counts
        for key, (last, run) in _runs_of(self.snapshot(answered_at)).items():
            counts["watch: a run is exact"] += 1
            if key in truth and truth[key] != (last, run):
                told, was = f"{run} times {last}", f"{truth[key][1]} {truth[key][0]}"
                self._broken.append(
                    f"{key} is said to be {told} at {answered_at}, and was {was}"
                )


class _Watch:
    """One run of `probetui watch`.

    Attributes:
        number: of those that there were.
        is_running: it watches.
    """

    def __init__(self, run: _Run, number: int) -> None:
        self._run = run
        self.number = number
        self.is_running = False
        clock = self._clock = run.watch_clock
        self._broken: list[str] = []
        self._observation = _Observation(clock.now())
        self._observation.compare_with(run, self._broken)
        self._client = ApiClient(_ACCESS, clock, transport=run.way)
        self._feed = Feed(
            self._client,
            self._observation,
            PodSelection(),
            clock,
            run.counters if run.random.random() < 0.8 else None,  # most
            Random(run.random.random()),
        )
        self._session = ObservedSession(
            self._observation, self._feed, self._client, clock, "watched"
        )
        self._inputs: list[tuple[ObservedInput | None, datetime, int]] = []
        self._observation.on_input = lambda *item: self._inputs.append(item)
        self._restarts: dict[tuple[str, str], int] = {}
        self._past = SessionHistory([])
        self._task: asyncio.Future[None] | None = None

    async def begin(self) -> str:
        """List the pods for the first time; return why it is not possible."""
        await self._client.__aenter__()
        try:
            await self._feed.begin()
        except ClusterError as error:
            await self._client.__aexit__(None, None, None)
            return type(error).__name__
        return ""

    async def run(self) -> None:
        """Watch until it is ended or killed."""
        world, number = self._run.world, self.number
        record = self._record = RecordedLife(
            self._run.folder / f"watch-{number}.jsonl",
            Disk(self._run.random, self._clock, world.schedule, world.counts, Places()),
            KubeletConfig(),
            (),
            observed=True,
        )
        encoder = ObservedInputEncoder(None)
        inputs: list[tuple[object, datetime]] = []

        def on_input(item: ObservedInput | None, at: datetime, sequence: int) -> None:
            json = None if item is None else encoder.encode(item)
            inputs.append((json, at))
            record.recorder.note_input(json, at, sequence)

        for seen in self._inputs:
            on_input(*seen)
        self._observation.on_input = on_input
        self.life = Life(
            KubeletConfig(),
            record.began_at,
            inputs,  # type: ignore[arg-type]  # what was seen
            self._session.journal,
            record,
            is_observed=True,
        )
        world.lives.append(self.life)
        self._session.on_new_pods = lambda: record.recorder.register_pods(
            pod.pod for pod in self._session.snapshot.pods
        )
        record.follow(self._session)
        self._session.on_bug = lambda error: self._broken.append(f"a bug: {error!r}")
        self._task = asyncio.ensure_future(self._session.run())
        asking = asyncio.ensure_future(self._ask())
        self.is_running = True
        try:
            await asyncio.wait({self._task})
        finally:
            self.is_running = False
            asking.cancel()
            if not self._task.done():
                self._session.stop()
                await asyncio.wait({self._task})
                record.end()
            await self._client.__aexit__(None, None, None)
        if not self._task.cancelled() and (error := self._task.exception()):
            error = _cause(error)
            if not isinstance(error, ClusterError):
                self._broken.append(f"it ended by itself: {error!r}")
            record.end()

    def kill(self) -> None:
        """End it wherever it is, as SIGKILL does."""
        if self._task is not None and self.is_running:
            self._record.kill()
            self._task.cancel()

    async def _ask(self) -> None:
        """Ask "why?" now and then, and look at the counts of restarts."""
        read = 0
        while True:
            await asyncio.sleep(_ASKED_EACH)
            journal, snapshot = self._session.journal, self._session.snapshot
            self._past.add_entries(journal[read:], read)
            read = len(journal)
            pods = tuple(pod.pod for pod in snapshot.pods)
            now = self._clock.now()
            observed = Observed(self._past, journal[:read], now, _RULES, pods)
            self._broken += [
                untrue
                for untrue in untruths(observed)
                if not any(known in untrue for known in UNSAID)
            ]

    def check_settled(self) -> None:
        """Check that it has come to know what is, and says so."""
        snapshot = self._session.snapshot
        if snapshot.runtime_lost_since is not None:
            self._broken.append(f"the server is not found: {snapshot.runtime_error}")
        there = {*self._run._names()}
        if (seen := {pod.pod.name for pod in snapshot.pods} - {"static"}) != there:
            self._broken.append(f"{there} are there, and {seen} are seen")

    # -- what it said, beside the truth

    def judge(self) -> Iterator[str]:
        """Yield what it said, and is not so."""
        yield from self._broken
        truth = _Truth(self._run.world.lives, self._clock.ahead)
        counts: dict[tuple[str, str], int] = {}
        known = set[str]()
        for entry in self._session.journal:
            if isinstance(entry, TickEntry) and entry.action is TickAction.KILL:
                yield from truth.check_kill(entry)
            if not isinstance(entry, ContainerEntry):
                continue
            if entry.what is LifecycleStep.STARTED:
                known.add(entry.container_id)
            if entry.or_newer and truth.is_of_a_newer(entry, known):
                self._run.world.counts["watch: a stop of a newer instance"] += 1
            else:
                is_known = entry.container_id in known
                yield from truth.check_step(entry, is_known=is_known)
            if entry.what is LifecycleStep.STARTED:
                place = entry.pod_uid, entry.container_name
                if entry.restart_count < counts.get(place, 0):
                    yield f"the count of {place} goes back, {entry.sequence}"
                counts[place] = entry.restart_count
        yield from self._judge_ends(truth)

    def _judge_ends(self, truth: _Truth) -> Iterator[str]:
        """Yield what is said in the end of instances that have ended."""
        past = SessionHistory(self._session.journal)
        past.add_entries(self._session.journal, 0)
        for place in past.containers():
            for instance in past.container(*place).instances:
                stop, kill = instance.stopping, instance.kill
                if instance.exited is None:
                    continue
                if stop is not None:
                    yield from truth.check_step(stop, is_known=False)
                if kill is not None:
                    yield from truth.check_kill(kill, is_over=True)


_ASKED = frozenset(
    {
        ExitCause.LIVENESS,
        ExitCause.STARTUP,
        ExitCause.DELETE,
        ExitCause.DEFINITION,
        ExitCause.POD,
        ExitCause.POST_START_HOOK,
        ExitCause.RESTART_ALL,
    }
)
"""Causes of stops by the kubelet."""


class _Truth:
    """What the kubelet did, in all its lives, by the IDs of instances."""

    def __init__(self, lives: list[Life], ahead: timedelta) -> None:
        self._ahead = ahead
        self._steps: dict[str, list[ContainerEntry]] = defaultdict(list)
        self._killed: dict[ProbeKey, set[str]] = defaultdict(set)
        for life in lives:
            for entry in () if life.is_observed else life.journal:
                match entry:
                    case TickEntry(action=TickAction.KILL):
                        self._killed[entry.key].add(entry.container_id)
                    case ContainerEntry():
                        self._steps[entry.container_id].append(entry)
                    case _:
                        pass

    def check_kill(self, tick: TickEntry, *, is_over: bool = False) -> Iterator[str]:
        """Yield that a tick did not kill the instance that it is said of, or none.

        If it says so, it may be of a newer one, until the end of the other is known.
        """
        own_id, killed = tick.container_id, self._killed[tick.key]
        is_so = own_id in killed if own_id else bool(killed)
        if tick.or_newer and not is_over:
            number = self._number(own_id)
            is_so = is_so or any(self._number(each) > number for each in killed)
        if not is_so:
            yield f"{tick.key} killed {killed}, not {own_id}, {tick.sequence}"

    def is_of_a_newer(self, told: ContainerEntry, known: Collection[str]) -> bool:
        """Return whether a stop is that of an instance that no status has shown.

        A kubelet that ended before it had sent anything of the newer one leaves no
        trace of it, and the next one tells of a stop before it tells of statuses.
        """
        return any(
            step.what is LifecycleStep.STOPPING
            and step.by is told.by
            and (step.pod_uid, step.container_name)
            == (told.pod_uid, told.container_name)
            and step.restart_count > told.restart_count
            and step.container_id not in known
            # Its second is the node's, until the offset of the clock is known.
            and min(abs(told.at - step.at), abs(told.at - step.at - self._ahead))
            <= 2 * _SECOND
            for steps in self._steps.values()
            for step in steps
        )

    def _number(self, own_id: str) -> int:
        steps = self._steps.get(own_id)
        return steps[0].restart_count if steps else -1

    def check_step(self, entry: ContainerEntry, *, is_known: bool) -> Iterator[str]:
        """Yield what is not so of a step of an instance.

        A last state has no number. It is mostly that of the instance before; once that
        is removed, a kubelet keeps an older one.
        """
        own_id, what, by = entry.container_id, entry.what, entry.by
        steps = self._steps.get(own_id)
        if steps is None:
            return  # an older one, which the kubelet found
        told = f"{own_id} {what} ({entry.sequence})"
        counts = {step.restart_count for step in steps}
        if is_known and entry.restart_count not in counts:
            yield f"{told} is number {entry.restart_count}, it was {counts}"
        causes = {step.by for step in steps} & _ASKED or {ExitCause.ITSELF}
        # One that ends before its stop is one that its probe had killed all the same.
        causes |= {
            cause
            for cause, kind in PROBE_CAUSES.items()
            if own_id
            in self._killed[ProbeKey(entry.pod_uid, entry.container_name, kind)]
        }
        if ExitCause.DELETE in causes:
            causes.add(ExitCause.POD)
        if by in _ASKED | {ExitCause.ITSELF} and by not in causes:
            yield f"{told} by {by}, it was by {causes}"
        for step in steps:
            if step.what is what:
                yield from self._check_same(entry, step, told)

    def _check_same(
        self, entry: ContainerEntry, step: ContainerEntry, told: str
    ) -> Iterator[str]:
        if step.exit_code != entry.exit_code:
            yield f"{told} with {entry.exit_code}, not {step.exit_code}"
        at = step.at + self._ahead
        if entry.not_before and not entry.earliest <= at <= entry.latest:
            yield f"{told} {entry.earliest} to {entry.latest}, it was at {at}"
