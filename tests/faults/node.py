"""`probetui node` in a world: an API server that fails, its users, and our own end.

The agent, its client, the session and the executor are the program's own. What a user
of the cluster does to its pods comes in between, and we may be killed at any time.
"""

from __future__ import annotations

import asyncio
import json
import logging
import uuid
from collections import Counter
from collections.abc import (
    Callable,
    Collection,
    Coroutine,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import suppress
from datetime import timedelta
from functools import partial
from random import Random
from typing import Any, TypeAlias

import httpx2

from probetui.cluster.api_server.failure import ApiFailure
from probetui.cluster.client import ApiClient
from probetui.cluster.errors import ClusterError
from probetui.cluster.kubeconfig import ApiServerInfo, ClusterAccess, UserCredentials
from probetui.cluster.node.agent import NodeAgent
from probetui.cluster.node.api_pods import ReadPod
from probetui.cluster.node.registration import NodeExistsError
from probetui.cluster.serving.http_server import HttpRequest, HttpResponse
from probetui.drive.realtime import RealtimeSession
from probetui.engine.inputs import Input, SetPods
from probetui.k8s.pod import Pod
from probetui.k8s.pod_source import API_SOURCE, FILE_SOURCE
from probetui.k8s.status import PodStatus
from probetui.kubelet.config import KubeletConfig
from probetui.kubelet.journal import StatusEntry
from probetui.kubelet_rules import rules_of
from tests.builders import a_container, a_pod
from tests.cluster.api_server.resources import LEASES, NODES, PODS
from tests.cluster.api_server.server import FaultyServer
from tests.cluster.api_server.store import DeleteOptions, WritableStore
from tests.cluster.node.bench import FACTS, NODE
from tests.faults.api_server import (
    SPELLS,
    FaultyServerTransport,
    name_of_request,
    read_request,
)
from tests.faults.effects import WatchedEngine, WatchedExecutor
from tests.faults.fates import Fate, Fates, Schedule
from tests.faults.places import OurProcess, Places
from tests.faults.session import Life, World
from tests.faults.world import (
    FaultyHooks,
    FaultyProber,
    FaultyRuntime,
    LoopClock,
    Mishaps,
    WatchedFakeEngine,
    a_life,
)
from tests.virtual_loop import run_in_virtual_time

FAULTY_SECONDS, PLACED_SECONDS = 900, 60
SETTLING_SECONDS = 400
"""By then a watch that is silent is taken for dead, and a back-off is over."""

_RULES = rules_of("1.36")
_ACCESS = ClusterAccess(
    "faults", "default", ApiServerInfo("http://api.test"), UserCredentials()
)
_NAMES = ("web", "db", "job", "cache")
Act: TypeAlias = Callable[[], Coroutine[Any, Any, None]]

_AT_ONCE = DeleteOptions(grace_period_seconds=0)


def run_node_world(
    seed: int, kept: Collection[int] | None = None, ends_at: int | None = None
) -> World:
    """Run the world of a node by its seed.

    Args:
        seed: what all is drawn from.
        kept: the numbers of the faults that happen, None for all.
        ends_at: the place at which we are killed, and nowhere else; None to draw that.
    """
    logging.getLogger("probetui").setLevel(logging.CRITICAL)
    world = World(seed, Schedule(kept))
    run = _Run(world, ends_at)
    try:
        _, world.seconds = run_in_virtual_time(run.run())
    except Exception as error:  # noqa: BLE001  # a bug, with the seed that shows it
        world.broken.append(f"raised {_cause(error)!r}")
    world.pods = tuple(run.pods.values())
    return world


class _Run:
    def __init__(self, world: World, ends_at: int | None = None) -> None:
        self.world = world
        self.ends_at = ends_at
        self.random = Random(f"node {world.seed}")
        self.pods: dict[str, Pod] = {}
        self.static: tuple[Pod, ...] = ()
        self.forced: set[str] = set()
        self.counts_of_restarts: dict[tuple[str, str], int] = {}
        self.node: _Node | None = None

    def begin(self) -> None:
        """Make what the world is of."""
        random, world = self.random, self.world
        self.places = Places(self.ends_at)
        world.places = self.places.passed
        self.clock = LoopClock()
        self.engine = WatchedFakeEngine(self.clock)
        self.engine.runs = lambda _operation: a_life(random)
        self.mishaps = Mishaps(world.seed, self.clock, world.schedule, world.counts)
        self.fates = Fates(random, self.clock, world.schedule)
        if random.random() < 0.7:  # most have a runtime that hardly fails
            self.fates.weights[Fate.PROMPT] = 4_000
        self.store = WritableStore(
            self.clock.now,
            new_uid=lambda: uuid.UUID(int=random.getrandbits(128), version=4),
        )
        self.server = FaultyServerTransport(
            FaultyServer(self.store), random, self.clock, world.schedule, world.counts
        )
        self.server.on_coming, self.server.on_done = self._on_coming, self._on_done
        if random.random() < 0.4:  # some
            self.static = (a_pod(a_container("static"), name="static", uid="static"),)

    async def run(self) -> None:
        """Let things happen, and end it."""
        self.begin()
        random = self.random
        node = asyncio.ensure_future(self._keep_node())
        seconds = FAULTY_SECONDS if self.ends_at is None else PLACED_SECONDS
        while asyncio.get_running_loop().time() < seconds:
            await self._sleep(random.choice((0.05, 0.7, 3, 11, 40)))
            await self._happen()
        await self._end(node)

    async def _sleep(self, seconds: float) -> None:
        self.world.pod_seconds += seconds * len(self._names())
        await asyncio.sleep(seconds)

    # -- what happens

    async def _happen(self) -> None:
        acts = {
            self._create: 10,
            self._delete: 6,
            self._delete_at_once: 1,
            self._annotate: 3,
            self._meddle: 3,
            self._exit: 4,
            self._go_away: 2,
            self._refuse_all: 2,
            self._restart_server: 2,
            self._kill: self.ends_at is None,
        }
        await self.do_one_of(acts)

    async def do_one_of(self, acts: Mapping[Act, int]) -> None:
        """Let something happen, as often as its weight is."""
        act = self.random.choices(tuple(acts), weights=tuple(acts.values()))[0]
        what = act.__name__.strip("_").replace("_", " ")
        if self.world.schedule.allows(what, self.clock.now()):
            self.world.counts[what] += 1
            await act()

    async def _create(self) -> None:
        random, names = self.random, {*_NAMES} - {*self._names()}
        if not names:
            return
        probes = {
            f"{kind}Probe": {
                "exec": {"command": ["true"]},
                "periodSeconds": random.choice((1, 5, 20)),
                "failureThreshold": random.choice((1, 3)),
            }
            for kind in ("liveness", "readiness", "startup")
            if random.random() < 0.4  # some
        }
        container = {"name": "app", "image": "busybox:1.36", **probes}
        metadata: dict[str, object] = {"name": random.choice(sorted(names))}
        if random.random() < 0.1:  # some
            metadata["finalizers"] = ["example.com/wait"]
        spec = {
            "nodeName": NODE,
            "restartPolicy": random.choice(("Always", "Always", "OnFailure", "Never")),
            "terminationGracePeriodSeconds": random.choice((0, 1, 3, 30)),
            "containers": [container],
        }
        self.store.create(PODS, "default", {"metadata": metadata, "spec": spec})

    async def _delete(self) -> None:
        if names := self._names():
            self.store.delete(PODS, "default", self.random.choice(names))

    async def _delete_at_once(self) -> None:
        """Delete a pod without waiting for its node, as with --force."""
        if names := self._names():
            pod = self._find(self.random.choice(names))
            self.forced.add(pod["metadata"]["uid"])
            self.store.delete(PODS, "default", pod["metadata"]["name"], _AT_ONCE)

    async def _annotate(self) -> None:
        for name in self._names()[:1]:
            pod = self._find(name)
            annotations = {"touched": str(self.random.random())}
            metadata = {**pod["metadata"], "annotations": annotations}
            finalizers = metadata.pop("finalizers", None)
            if finalizers and "deletionTimestamp" not in metadata:
                metadata["finalizers"] = finalizers
            self.store.update(PODS, "default", name, {**pod, "metadata": metadata})

    async def _meddle(self) -> None:
        """Let somebody else change a status, as who marks a node unreachable does."""
        if not (names := self._names()):
            return
        pod = self._find(self.random.choice(names))
        status = pod.get("status") or {}
        conditions = [
            {**condition, "status": "False", "reason": "Meddled"}
            if condition["type"] == "Ready"
            else condition
            for condition in status.get("conditions") or ()
        ]
        changed = {**pod, "status": {**status, "conditions": conditions}}
        name = pod["metadata"]["name"]
        self.store.update(PODS, "default", name, changed, "status")

    async def _exit(self) -> None:
        if running := [c for c in self.engine.containers.values() if c.runs()]:
            self.engine.end(self.random.choice(running), 1)

    async def _go_away(self) -> None:
        self.server.is_away = True
        self.server.break_off()
        await self._let_pass()
        self.server.is_away = False

    async def _refuse_all(self) -> None:
        self.server.refusal = self.random.choice(SPELLS)
        await self._let_pass()
        self.server.refusal = None

    async def _restart_server(self) -> None:
        """Start the server again; it knows no old version of anything."""
        self.server.break_off()
        self.store.compact()

    async def _let_pass(self) -> None:
        """Let things happen for a while, which may be an hour."""
        ends = self.clock.now() + timedelta(
            seconds=self.random.choice((2, 20, 90, 400, 3600))
        )
        while self.clock.now() < ends:
            await self._sleep(self.random.choice((3, 20, 200)))
            what = self.random.choice(
                (self._create, self._delete, self._exit, self._exit)
            )
            await what()

    async def _kill(self) -> None:
        if self.node is not None:
            self.node.kill()

    # -- pods in the cluster

    def _names(self) -> list[str]:
        pods = self.store.list(PODS, "default").items
        return [pod["metadata"]["name"] for pod in pods if not _is_mirror(pod)]

    def _find(self, name: str) -> Any:
        return self.store.get(PODS, "default", name)

    # -- the node

    async def _keep_node(self) -> None:
        """Start the node again whenever it has ended."""
        while True:
            self.node = _Node(self)
            problem = await self.node.run()
            self._look(self.node)
            if problem:
                self.world.counts[f"node ended: {problem}"] += 1
            await asyncio.sleep(self.random.choice((1, 10, 50)))

    def _look(self, node: _Node) -> None:
        broken = self.world.broken
        broken += [f"{pod}/{name} ran twice" for pod, name in self.engine.twice]
        broken += [f"overlapping probe: {what}" for what in node.prober.overlaps]
        broken += [f"probe before the start: {what}" for what in node.prober.off_duty]
        broken += node.executor.unanswered(node.life.inputs)
        self.engine.twice.clear()

    # -- what comes to the server

    def _on_coming(self, wanted: HttpRequest) -> None:
        """Check a request before it is done."""
        if wanted.method != "DELETE" or "/pods/" not in wanted.path:
            return
        options = json.loads(wanted.body)
        uid = options.get("preconditions", {}).get("uid")
        if options.get("gracePeriodSeconds") != 0 or uid in self.forced:
            return
        running = [
            container.container_id
            for container in self.engine.containers.values()
            if container.runs() and container.operation.pod.uid == uid
        ]
        if running:
            self.world.broken.append(
                f"a pod is confirmed to be gone while {running} runs, {self._now()}"
            )

    def _on_done(self, wanted: HttpRequest, answer: HttpResponse) -> None:
        """Check a status that was written."""
        if wanted.method != "PATCH" or not wanted.path.endswith("/status"):
            return
        if answer.status != 200 or "/pods/" not in wanted.path:
            return
        pod = json.loads(answer.body)
        uid = pod["metadata"]["uid"]
        for status in pod["status"].get("containerStatuses", ()):
            place, count = (uid, status["name"]), status["restartCount"]
            if count < self.counts_of_restarts.get(place, 0):
                self.world.broken.append(f"the count of {place} goes back to {count}")
            self.counts_of_restarts[place] = count
        if self.node is not None and not _is_mirror(pod):
            self.node.check_order(uid, pod["status"])

    def _now(self) -> str:
        return f"{self.clock.now():%H:%M:%S.%f}"

    # -- the end

    async def _end(self, keeper: asyncio.Future[None]) -> None:
        """Let everything go well, delete the pods, and end the node."""
        self.places.close()
        self.server.are_kind, self.server.is_away = True, False
        self.server.refusal = None
        self.fates.are_kind = True
        self.fates.restart()
        self.engine.notify_watchers()
        await asyncio.sleep(SETTLING_SECONDS)
        node = self.node
        if node is None or not node.is_running:
            self._break("the node does not run at the end")
            return
        await self._check_settled(node)
        for name in self._names():
            pod = self._find(name)
            metadata = {**pod["metadata"]}
            metadata.pop("finalizers", None)
            self.store.update(PODS, "default", name, {**pod, "metadata": metadata})
            with suppress(ApiFailure):  # it was for its finalizer alone
                self.store.delete(PODS, "default", name)
        await asyncio.sleep(SETTLING_SECONDS)
        if names := self._names():
            self._break(f"deleted and still there: {', '.join(names)}")
        left = {
            container.operation.pod.uid for container in self.engine.containers.values()
        }
        if left - {pod.uid for pod in self.static}:
            self._break(f"containers of pods that are gone: {', '.join(left)}")
        self._check_memory(node)
        keeper.cancel()
        await asyncio.wait({keeper})
        await node.end()
        self._look(node)
        if self.store.find(NODES, "", NODE) or self.store.list(LEASES).items:
            self._break("the node or its lease is left")
        if others := asyncio.all_tasks() - {asyncio.current_task()}:
            names_of = sorted(str(task.get_coro()) for task in others)
            self._break(f"still running: {', '.join(names_of)}")

    async def _check_settled(self, node: _Node) -> None:
        """Check it, and again: what has changed just now is told a moment later."""
        broken: list[str] = []
        for seconds in (0, 2, 5):
            await asyncio.sleep(seconds)
            broken = [*self._unsettled(node)]
            if not broken:
                return
        self.world.broken += broken

    def _unsettled(self, node: _Node) -> Iterator[str]:
        """Yield what the cluster does not know, and what it wants and does not run."""
        listed = self.store.list(PODS, "default").items
        for pod in listed:
            if _is_mirror(pod):
                continue
            uid, name = pod["metadata"]["uid"], pod["metadata"]["name"]
            entry = node.newest_status(uid)
            if entry is None:
                if pod["status"].get("phase") not in {"Succeeded", "Failed"}:
                    yield f"{name} of the cluster does not run here"
            elif not _is_told(_shape(entry), _shape_of_json(pod["status"])):
                told = _shape_of_json(pod["status"])
                yield f"of {name} the cluster has {told}, and it is {_shape(entry)}"
        known = {pod["metadata"]["uid"] for pod in listed}
        static = {pod.uid for pod in self.static}
        for container in self.engine.containers.values():
            uid = container.operation.pod.uid
            if uid not in known | static and container.runs():
                yield f"{uid} is gone from the cluster and runs"
        mirrors = [pod["metadata"]["name"] for pod in listed if _is_mirror(pod)]
        if mirrors != [pod.name for pod in self.static]:
            yield f"mirror pods: {mirrors}"
        lease = self.store.find(LEASES, "kube-node-lease", NODE)
        if lease is None:
            yield "there is no lease"

    def _check_memory(self, node: _Node) -> None:
        """Check that nothing of pods that are gone is kept."""
        kept = node.kept_of(self.static)
        if kept:
            self._break(f"kept of pods that are gone: {kept}")

    def _break(self, what: str) -> None:
        self.world.broken.append(what)


class _Node:
    """One run of `probetui node`."""

    def __init__(self, run: _Run) -> None:
        self._run = run
        self.clock = clock = run.clock
        self.process = OurProcess(run.places)
        run.places.on_end = self.kill
        self.prober = FaultyProber(run.engine, run.random, clock, run.mishaps)
        runtime = FaultyRuntime(run.engine, run.fates, clock, self.process)
        config = KubeletConfig(
            version=_RULES.version,
            sources=(API_SOURCE, FILE_SOURCE),
            seed=run.world.seed,
            queues_while_waiting=True,
            has_api_server=True,
        )
        inputs: list[tuple[Input | None, Any]] = []
        engine = WatchedEngine(config, clock.now())
        self.executor = WatchedExecutor(
            runtime,
            self.prober,
            FaultyHooks(clock, run.random, run.mishaps),
            clock,
            engine,
            lambda: self.session.has_run_ended,
        )
        self.session = RealtimeSession(
            engine,
            self.executor,
            runtime,
            clock,
            runtime_name="faulty",
            on_input=lambda item, at: inputs.append((item, at)),
        )
        self.life = Life(config, clock.now(), inputs, self.session.journal, None)
        self.messages: list[str] = []
        self._client = ApiClient(
            _ACCESS, clock, transport=_Way(run.server, self.process)
        )
        self.agent = NodeAgent(
            self._client, clock, FACTS, _RULES, self._apply, self.messages.append
        )
        self._pods: Sequence[Pod] = ()
        self._task: asyncio.Future[None] | None = None
        self._written: dict[str, int] = {}
        self._statuses: dict[str, list[PodStatus]] = {}
        self._read_entries = 0
        self.is_running = False

    async def run(self) -> str:
        """Run until it ends, is killed or fails; return why it has ended."""
        self._task = asyncio.ensure_future(self._live())
        try:
            await asyncio.wait({self._task})
        finally:
            self.is_running = False
        if self._task.cancelled():
            return "killed"
        error = _cause(self._task.exception())
        if isinstance(error, NodeExistsError):
            return "its name is taken"
        if isinstance(error, ClusterError):
            return "refused"
        if error is not None:
            self._run.world.broken.append(f"the node ended by itself: {error!r}")
        return "by itself"

    async def _live(self) -> None:
        async with self._client:
            await self.agent.register(adopts=True)
            self._set_static()
            await self.agent.start()
            self.agent.attach(self.session)
            self._run.world.lives.append(self.life)
            self.is_running = True
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self.session.run())
                tasks.create_task(self.agent.run())

    def kill(self) -> None:
        """End it wherever it is, as SIGKILL does."""
        self.process.end()
        if self._task is not None:
            self._task.cancel()

    async def has_ended(self) -> None:
        """Wait until it has ended."""
        if self._task is not None:
            await asyncio.wait({self._task})

    async def end(self) -> None:
        """End it as a user does."""
        self.agent.refuse_new()
        await self.agent.drain()
        self.agent.detach()
        if not await self.session.shutdown():
            self._run.world.broken.append("pods did not end in time")
        await self.agent.finish_events()
        if not await self.agent.withdraw(keeps_node=False):
            self._run.world.broken.append("the node is not withdrawn")
        self.session.stop()
        self.kill()
        if self._task is not None:
            with suppress(asyncio.CancelledError):
                await self._task

    def _set_static(self) -> None:
        self.session.send(SetPods(self._run.static, source=FILE_SOURCE))
        self._set(())

    async def _apply(self, read: Sequence[ReadPod]) -> None:
        loaded = [one.loaded for one in read if one.loaded is not None]
        pods = tuple(one.pod for one in loaded)
        conditions = {one.pod.uid: one.conditions for one in loaded}
        self.session.send(SetPods(pods, conditions=conditions))
        self._set(pods)

    def _set(self, pods: Sequence[Pod]) -> None:
        static = self._run.static
        pods = (*static, *pods)
        if pods != self._pods:
            self._pods = pods
            self._run.pods |= {pod.uid: pod for pod in pods}
            self.agent.on_pods(pods, {pod.uid: FILE_SOURCE for pod in static})

    # -- what it says

    def _read_journal(self) -> None:
        journal = self.session.journal
        for entry in journal[self._read_entries :]:
            if isinstance(entry, StatusEntry):
                self._statuses.setdefault(entry.pod_uid, []).append(entry.status)
        self._read_entries = len(journal)

    def newest_status(self, uid: str) -> PodStatus | None:
        """Return what it says last of a pod."""
        self._read_journal()
        return next(reversed(self._statuses.get(uid, ())), None)

    def check_order(self, uid: str, written: Any) -> None:
        """Check that no older status is written after a newer one."""
        self._read_journal()
        shape = _shape_of_json(written)
        shapes = [_shape(status) for status in self._statuses.get(uid, ())]
        last = self._written.get(uid, 0)
        if shape in shapes[last:]:
            self._written[uid] = shapes.index(shape, last)
        elif shape in shapes[:last]:
            self._run.world.broken.append(f"an older status of {uid} is written")

    def kept_of(self, static: Sequence[Pod]) -> Counter[str]:
        """Count what the agent holds of pods, but for static ones."""
        uids = {pod.uid for pod in static} | {
            uid for uid, pod in self._agent_pods().items() if _is_mirror(pod)
        }
        agent = self.agent
        tables: dict[str, Collection[str]] = {
            "known": agent._known,
            "first versions": agent._first_versions,
            "problems": agent._reported_problems,
            "given": agent._given,
            "rejected": agent._rejected,
            "statuses": agent._statuses._published,
            "read": agent._reader._read,
        }
        kept = {what: len({*table} - uids) for what, table in tables.items()}
        return +Counter(kept)

    def _agent_pods(self) -> Any:
        return self.agent._watch.pods


class _Way(httpx2.AsyncBaseTransport):
    """The way of one process to the server."""

    def __init__(self, server: FaultyServerTransport, process: OurProcess) -> None:
        self._server = server
        self._process = process

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request, unless we have ended."""
        call = partial(self._server.handle_async_request, request)
        if request.method == "GET":
            return await self._process.ask(call)
        name, _ = name_of_request(await read_request(request))
        return await self._process.change(name, call)


def _cause(error: BaseException | None) -> BaseException | None:
    """Return the error in groups of one."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


Shape = tuple[Any, tuple[tuple[Any, ...], ...]]


def _shape(status: PodStatus) -> Shape:
    return status.phase, tuple(
        (one.name, one.restart_count, one.ready, type(one.state).__name__.lower())
        for one in status.container_statuses or ()
    )


def _shape_of_json(status: Any) -> Shape:
    return status.get("phase"), tuple(
        (one["name"], one["restartCount"], one["ready"], next(iter(one["state"])))
        for one in status.get("containerStatuses") or ()
    )


def _is_told(here: Shape, there: Shape) -> bool:
    """Return whether the cluster has a status; its counts may be of lost containers."""
    (phase, ours), (their_phase, theirs) = here, there
    return phase == their_phase and [
        (one[0], max(one[1], other[1]), *one[2:])
        for one, other in zip(ours, theirs, strict=False)
    ] == list(theirs)


def _is_mirror(pod: Any) -> bool:
    annotations = pod["metadata"].get("annotations") or {}
    return "kubernetes.io/config.mirror" in annotations
