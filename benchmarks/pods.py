"""CPU time of pods in the engine: compared to a Docker daemon, and in one pod or many.

    python benchmarks/pods.py [--pods N] [--rounds N] [--without-docker] [--json]

First that many pods of one busybox container are started on Docker, and CPU time is
compared: the engine's own, this whole process's, the daemon's (dockerd and containerd
with the helpers they waited for, less their idle time). Then, on virtual time, thirty
probes in ten containers of one pod are compared to thirty pods with one probe each. The
best round of each counts; Docker needs Linux and the image.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import tempfile
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TypeVar

from probetui.drive.clocks import SystemClock
from probetui.drive.executor import Executor
from probetui.drive.realtime import RealtimeSession
from probetui.drive.scenario.world import World
from probetui.drive.simulation import Simulation
from probetui.engine.engine import Engine
from probetui.engine.inputs import AddPod, Input
from probetui.k8s.pod import Container, Pod
from probetui.k8s.probe import ExecAction, Probe
from probetui.kubelet.config import KubeletConfig
from probetui.kubelet.journal import ContainerEntry, LifecycleStep, TickEntry
from probetui.kubelet.runtime.turn import Turn
from probetui.probers.lifecycle_hooks import LifecycleHookRunner
from probetui.probers.prober import ProbeDispatcher
from probetui.runtimes.docker.connection import connect
from probetui.runtimes.docker.runtime import DockerOptions

IMAGE = "busybox:1.36"
DAEMONS = frozenset({"dockerd", "containerd"})
START = datetime(2026, 1, 1, tzinfo=UTC)
PROBE = Probe(ExecAction(("true",)), period_seconds=1)
IDLE_SECONDS = 2.0
SETTLE = timedelta(seconds=5)
MEASURED = timedelta(minutes=2)
SHOWN_EVERY = timedelta(milliseconds=50)
"""How often a screen asks for a snapshot."""

T = TypeVar("T")


class WeighedEngine(Engine):
    """An engine that measures its CPU time: `cpu_seconds`, of its own thread."""

    cpu_seconds = 0.0
    _is_measureing = False

    def submit(self, item: Input, now: datetime) -> Turn:
        """Measure an input."""
        return self._measure(lambda: super(WeighedEngine, self).submit(item, now))

    def advance(self, now: datetime) -> Turn:
        """Measure a turn; the turn of an input is part of `submit`."""
        return self._measure(lambda: super(WeighedEngine, self).advance(now))

    def next_deadline(self) -> datetime | None:
        """Measure the query for the next turn."""
        return self._measure(super().next_deadline)

    def _measure(self, work: Callable[[], T]) -> T:
        if self._is_measureing:
            return work()
        self._is_measureing = True
        began = time.thread_time()
        try:
            return work()
        finally:
            self.cpu_seconds += time.thread_time() - began
            self._is_measureing = False


# pods on Docker


@dataclass(frozen=True)
class Started:
    """CPU time of starting pods, in milliseconds per pod."""

    pods: int
    wall_seconds: float
    engine_ms: float
    process_ms: float
    daemon_ms: float
    engine_percent: float
    """Of the daemon's."""
    process_percent: float


async def start_pods(count: int) -> Started:
    """Start pods on Docker, return the figures, and remove the pods."""
    clock = SystemClock()
    engine = WeighedEngine(KubeletConfig(), clock.now())
    folder = Path(tempfile.mkdtemp(prefix="probetui-benchmark-"))
    options = DockerOptions(folder, owner="probetui-benchmark")
    runtime = await connect(clock, options)
    executor = Executor(
        runtime, ProbeDispatcher(runtime, clock), LifecycleHookRunner(runtime), clock
    )
    session = RealtimeSession(
        engine, executor, runtime, clock, runtime_name=await runtime.version()
    )
    idle = await idle_rate()
    daemon, cpu, wall = daemon_seconds(), time.process_time(), time.monotonic()
    for number in range(count):
        session.send(AddPod(a_docker_pod(number)))
    async with until_removed(session):
        await all_started(session, count)
        wall = time.monotonic() - wall
        cpu = time.process_time() - cpu
        daemon = daemon_seconds() - daemon - idle * wall
        own = engine.cpu_seconds
    await runtime.close()
    return Started(
        count,
        round(wall, 2),
        round(1000 * own / count, 2),
        round(1000 * cpu / count, 2),
        round(1000 * daemon / count, 2),
        round(100 * own / daemon, 1),
        round(100 * cpu / daemon, 1),
    )


@contextlib.asynccontextmanager
async def until_removed(session: RealtimeSession) -> AsyncIterator[None]:
    """Run a session; its pods are removed at the end, also after an interrupt."""
    running = asyncio.create_task(session.run())
    try:
        yield
    finally:
        # The first interrupt has cancelled this task; the code below is not cancelled.
        assert await session.shutdown()
        session.stop()
        await running


def a_docker_pod(number: int) -> Pod:
    app = Container("app", IMAGE, command=("sleep", "3600"))
    name = f"probetui-benchmark-{number}"
    return Pod(name, name, containers=(app,), termination_grace_period_seconds=0)


async def all_started(session: RealtimeSession, count: int) -> None:
    """Wait until that many containers have been started."""
    has_changed = asyncio.Event()
    end = session.subscribe(has_changed.set)
    while sum(map(is_start, session.journal)) < count:
        await has_changed.wait()
        has_changed.clear()
    end()


def is_start(entry: object) -> bool:
    return isinstance(entry, ContainerEntry) and entry.what is LifecycleStep.STARTED


async def idle_rate() -> float:
    """Return the daemon's idle load, in seconds of CPU per second."""
    before = daemon_seconds()
    await asyncio.sleep(IDLE_SECONDS)
    return (daemon_seconds() - before) / IDLE_SECONDS


def daemon_seconds() -> float:
    """Return the CPU time of the daemon's processes, ended children included."""
    ticks = 0
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            name, _, fields = path.read_text().partition("(")[2].rpartition(")")
        except OSError:
            continue  # it has ended since
        if name in DAEMONS:
            # utime, stime, cutime and cstime, proc(5); the state is the first field
            ticks += sum(map(int, fields.split()[11:15]))
    return ticks / os.sysconf("SC_CLK_TCK")


# one pod or many


@dataclass(frozen=True)
class Shapes:
    """CPU time of the engine per tick, in microseconds."""

    one_pod_us: float
    thirty_pods_us: float
    ratio: float


def compare_shapes(rounds: int) -> Shapes:
    """Measure thirty probes in one pod and in thirty, alternately."""
    one, thirty = one_pod(), thirty_pods()
    pairs = [(per_tick(one), per_tick(thirty)) for _ in range(rounds)]
    best_one = min(pair[0] for pair in pairs)
    best_thirty = min(pair[1] for pair in pairs)
    return Shapes(
        round(1e6 * best_one, 2),
        round(1e6 * best_thirty, 2),
        round(best_one / best_thirty, 2),
    )


def per_tick(pods: list[Pod]) -> float:
    """Return the engine's CPU time per tick of these pods, in seconds."""
    engine = WeighedEngine(KubeletConfig(age=timedelta()), START)
    simulation = Simulation(engine, World(), START)
    for pod in pods:
        simulation.submit(AddPod(pod))
    simulation.run_for(SETTLE)
    engine.cpu_seconds, ticks_before = 0.0, count_ticks(simulation)
    simulation.run_for(MEASURED)
    return engine.cpu_seconds / (count_ticks(simulation) - ticks_before)


def count_ticks(simulation: Simulation) -> int:
    return sum(isinstance(entry, TickEntry) for entry in simulation.journal)


def one_pod() -> list[Pod]:
    """Return one pod of ten containers with three probes each."""
    containers = tuple(
        Container(
            f"app-{number}",
            IMAGE,
            liveness_probe=PROBE,
            readiness_probe=PROBE,
            startup_probe=PROBE,
        )
        for number in range(10)
    )
    return [Pod("uid", "pod", containers=containers)]


def thirty_pods() -> list[Pod]:
    """Return thirty pods with one probe each, of the same kinds as in one pod."""
    apps = (
        Container("app", IMAGE, liveness_probe=PROBE),
        Container("app", IMAGE, readiness_probe=PROBE),
        Container("app", IMAGE, startup_probe=PROBE),
    )
    return [
        Pod(f"uid-{number}", f"pod-{number}", containers=(apps[number % 3],))
        for number in range(30)
    ]


def main() -> None:
    """Print the figures, one line per part."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pods", type=int, default=50)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--without-docker", action="store_true")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    shapes = compare_shapes(options.rounds)
    figures = {"shapes": asdict(shapes)}
    if not options.without_docker:
        rounds = [asyncio.run(start_pods(options.pods)) for _ in range(options.rounds)]
        started = min(rounds, key=lambda start: start.engine_ms)
        figures["started"] = asdict(started)
    if options.json:
        print(json.dumps(figures))
        return
    print(
        "30 probes: {one_pod_us} us of CPU per tick in one pod, "
        "{thirty_pods_us} us in thirty, ratio {ratio}".format(**figures["shapes"])
    )
    if "started" in figures:
        print(
            "{pods} pods on Docker in {wall_seconds} s; CPU per pod: engine "
            "{engine_ms} ms, whole process {process_ms} ms, daemon {daemon_ms} ms; "
            "engine {engine_percent}% and process {process_percent}% of the "
            "daemon's".format(**figures["started"])
        )


if __name__ == "__main__":
    main()
