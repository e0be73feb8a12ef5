"""A thousand HTTP and a thousand TCP probes, each every second: engine and probers.

    python benchmarks/load.py [--seconds N] [--probes N] [--json]

Containers are scripted, and the servers run in another process on loopback, so that
only the engine, the real-time driver and the probers are measured: the lateness of
ticks, CPU time per probe, peak memory. Garbage collection is set up as in the program.
A second process that only sleeps measures how late the machine wakes it.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import resource
import socket
import statistics
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timedelta
from itertools import cycle
from multiprocessing.connection import Connection
from pathlib import Path

from limits import Limit, Yardstick, report_limits

from probetui.analysis.timing import ticks_lost
from probetui.cli import gc_tuning
from probetui.drive.clocks import SystemClock
from probetui.drive.realtime import LATENESS_SHOWN, RealtimeSession
from probetui.drive.scenario.world import World
from probetui.engine.engine import Engine
from probetui.engine.inputs import AddPod, Fact
from probetui.engine.snapshot import Snapshot
from probetui.errors import ContainerRuntimeError
from probetui.k8s.pod import Container, Pod
from probetui.k8s.probe import (
    HTTPGetAction,
    Probe,
    ProbeHandler,
    ProbeKey,
    TCPSocketAction,
)
from probetui.k8s.runtime import ContainerID
from probetui.kubelet.config import KubeletConfig
from probetui.kubelet.effects import Effect, RunProbe
from probetui.kubelet.facts import ProbeFinished
from probetui.kubelet.journal import TickEntry
from probetui.kubelet.outcome import Result
from probetui.ports import ExecResult
from probetui.probers.prober import ProbeDispatcher
from probetui.runtimes.process.runtime import ProcessRuntime

LOOPBACK = "127.0.0.1"
HOSTS = [LOOPBACK, *(f"127.0.0.{number}" for number in range(2, 21))]
"""Ports of a single host run out: every connection keeps one for a minute."""

BACKLOG = 4096
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok"
PERIOD = timedelta(seconds=1)
SETTLE_SECONDS = 5
"""At the start all pods come up at once; only ticks after that are measured."""


class Answering(asyncio.Protocol):
    """Sends a response if a request arrives, and closes."""

    def connection_made(  # noqa: D102  # asyncio's
        self, transport: asyncio.BaseTransport
    ) -> None:
        self.transport = transport

    def data_received(self, _data: bytes) -> None:  # noqa: D102  # asyncio's
        assert isinstance(self.transport, asyncio.Transport)
        self.transport.write(ANSWER)
        self.transport.close()


async def serve(pipe: Connection) -> None:
    """Serve on a port that the kernel selects, at all `HOSTS`, for ever."""
    loop = asyncio.get_running_loop()
    port = 0
    async with asyncio.TaskGroup() as tasks:
        for host in HOSTS:
            listener = socket.create_server((host, port), backlog=BACKLOG)
            port = listener.getsockname()[1]
            server = await loop.create_server(Answering, sock=listener, backlog=BACKLOG)
            tasks.create_task(server.serve_forever())
        pipe.send(port)


def run_server(pipe: Connection) -> None:
    asyncio.run(serve(pipe))


SLEEP_SECONDS = 0.01


def run_sleeper(pipe: Connection) -> None:
    """Sleep repeatedly until a message; send the 99th percentile of lateness, in ms."""
    late = []
    while not pipe.poll():
        began = time.monotonic()
        time.sleep(SLEEP_SECONDS)
        late.append((time.monotonic() - began - SLEEP_SECONDS) * 1000)
    pipe.send(round(sorted(late)[len(late) * 99 // 100], 2))


class RealProbes:
    """Executes effects: probes are real, containers are scripted."""

    def __init__(self, world: World, clock: SystemClock) -> None:
        self._dispatch = ProbeDispatcher(NoCommands(), clock)
        self._world = world
        self._clock = clock

    async def execute(self, effect: Effect, report: Callable[[Fact], None]) -> None:
        """Execute an effect and report the result."""
        if isinstance(effect, RunProbe):
            outcome = await self._dispatch.probe(effect)
            report(ProbeFinished(effect.probe_id, outcome))
            return
        _, fact = self._world.answer(effect, self._clock.now())
        report(fact)


class NoCommands:
    """Runs no commands: there are no exec probes."""

    async def exec_sync(
        self,
        container_id: ContainerID,
        command: tuple[str, ...],
        timeout_seconds: int,  # noqa: ARG002  # of the port
    ) -> ExecResult:
        """Raise an error."""
        raise ContainerRuntimeError(f"{container_id}: {command}: no exec here")


def pods(count: int, port: int) -> list[Pod]:
    """Return pods of two containers, with an HTTP and a TCP liveness probe.

    Not readiness: all pods become ready by one relist, and the triggers of that
    moment would bring all their ticks together for good.
    """

    def probe(handler: ProbeHandler) -> Probe:
        return Probe(handler, period_seconds=1, timeout_seconds=5)

    hosts = cycle(HOSTS)
    return [
        Pod(
            f"uid-{number}",
            f"pod-{number}",
            containers=(
                Container(
                    "http", "any", liveness_probe=probe(HTTPGetAction(port, host=host))
                ),
                Container(
                    "tcp", "any", liveness_probe=probe(TCPSocketAction(port, host=host))
                ),
            ),
        )
        for number, host in zip(range(count), hosts, strict=False)
    ]


def phases(snapshot: Snapshot) -> dict[ProbeKey, datetime]:
    """Return an instant at which a tick of each probe is due."""
    return {
        probe.key: probe.next_tick_at
        for pod in snapshot.pods
        for container in pod.containers
        for probe in container.probes
        if probe.next_tick_at is not None
    }


def lateness(
    ticks: Iterable[TickEntry], due: Mapping[ProbeKey, datetime]
) -> list[float]:
    """Return the lateness of all ticks in milliseconds, sorted.

    A delay by a slow response to the previous probe is not lateness.
    """
    late = []
    free_at: dict[ProbeKey, datetime] = {}
    for tick in ticks:
        since_due = (tick.timing.started_at - due[tick.key]) % PERIOD
        due_at = tick.timing.started_at - since_due - tick.timing.late_drops * PERIOD
        could_start_at = max(due_at, free_at.get(tick.key, due_at))
        late.append(
            (tick.timing.started_at - could_start_at) / timedelta(milliseconds=1)
        )
        free_at[tick.key] = tick.at
    return sorted(late)


def lost(
    ticks: Iterable[TickEntry], due: Mapping[ProbeKey, datetime]
) -> tuple[int, int]:
    """Return how many ticks were lost and reported, and how many were not reported."""
    reported = silent = 0
    last: dict[ProbeKey, TickEntry] = {}
    for tick in ticks:
        before = last.get(tick.key)
        last[tick.key] = tick
        if before is None:
            continue
        phase = due[tick.key]
        places = [
            (entry.timing.started_at - phase) // PERIOD for entry in (before, tick)
        ]
        ended_at = before.timing.started_at + before.timing.duration
        reported_here = tick.timing.late_drops + ticks_lost(before, ended_at, 1)
        reported += reported_here
        silent += max(places[1] - places[0] - 1 - reported_here, 0)
    return reported, silent


async def measure(count: int, seconds: int, port: int) -> dict[str, float]:
    """Run the probes and return the figures."""
    gc_tuning.disable()
    clock = SystemClock()
    # A young kubelet spreads the first ticks over the period.
    engine = Engine(KubeletConfig(age=timedelta()), clock.now())
    # Of the runtime a session asks for what happened, and nothing does.
    nothing_runs = ProcessRuntime(Path(tempfile.mkdtemp()), clock)
    session = RealtimeSession(
        engine,
        RealProbes(World(), clock),
        nothing_runs,
        clock,
        runtime_name="benchmark",
    )
    for pod in pods(count, port):
        session.send(AddPod(pod))
    gc_tuning.freeze()
    running = asyncio.create_task(session.run())
    await asyncio.sleep(SETTLE_SECONDS)
    since, due = clock.now(), phases(session.snapshot)
    cpu, wall = time.process_time(), time.monotonic()
    for _ in range(seconds):
        await asyncio.sleep(1)
        # A running probe has no next tick; one that always runs is not measured.
        due |= phases(session.snapshot)
    cpu, wall = time.process_time() - cpu, time.monotonic() - wall
    session.stop()
    await running
    # Measured before the whole journal is unpacked, which only a benchmark does.
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    ticks = [entry for entry in session.journal if isinstance(entry, TickEntry)]
    judged = [
        tick for tick in ticks if tick.timing.started_at >= since and tick.attempts
    ]
    assert all(tick.result is Result.SUCCESS for tick in judged)
    judged = [tick for tick in judged if tick.key in due]
    late = lateness(judged, due)
    reported, silent = lost(judged, due)
    slow = sum(tick.timing.duration > PERIOD for tick in judged)
    return {
        "probes": len(judged),
        "answers_after_a_period": slow,
        "ticks_lost": reported,
        "ticks_lost_in_silence": silent,
        "probes_per_second": round(len(judged) / wall),
        "lateness_median_ms": round(statistics.median(late), 2),
        "lateness_p99_ms": round(late[len(late) * 99 // 100], 2),
        "cpu_per_probe_us": round(cpu / len(judged) * 1e6, 1),
        "cores": round(cpu / wall, 3),
        "peak_mib": round(peak / 1024, 1),
    }


def main() -> None:
    """Print the figures in one line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, default=30)
    parser.add_argument("--probes", type=int, default=1000, help="of each kind")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    server = context.Process(target=run_server, args=(theirs,), daemon=True)
    server.start()
    port = ours.recv()
    asked, answering = context.Pipe()
    sleeper = context.Process(target=run_sleeper, args=(answering,), daemon=True)
    sleeper.start()
    figures = asyncio.run(measure(options.probes, options.seconds, port))
    asked.send(None)
    figures["sleeper_p99_ms"] = asked.recv()
    server.terminate()
    if options.json:
        print(json.dumps(figures))
        return
    print(
        "{probes} probes, {probes_per_second}/s: lateness median "
        "{lateness_median_ms} ms; {cpu_per_probe_us} µs CPU per probe, {cores} cores, "
        "peak {peak_mib} MiB".format(**figures)
    )
    shown_from = LATENESS_SHOWN / timedelta(milliseconds=1)
    asleep = Yardstick("a process that only sleeps", figures["sleeper_p99_ms"])
    late = figures["lateness_p99_ms"]
    silent = figures["ticks_lost_in_silence"]
    print(
        "{ticks_lost} ticks were lost and reported, {answers_after_a_period} answers "
        "took longer than a period".format(**figures)
    )
    report_limits(
        Limit("lateness, p99", late, shown_from, "ms", asleep),
        Limit("ticks lost in silence", silent, 1, "ticks"),
    )


if __name__ == "__main__":
    main()
