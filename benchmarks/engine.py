"""The engine alone on virtual time: worker ticks per second of CPU, and memory.

    python benchmarks/engine.py [--workers N] [--seconds N] [--json] [--profile]

Every pod has a liveness and a readiness probe, each every second, at random instants as
after the start of a kubelet. Probes are answered at once, so that only the engine's
work for ticks and for a relist of all pods every second is measured. A fixed loop of
the interpreter alternates with it; both are medians of seconds.
"""

from __future__ import annotations

import argparse
import cProfile
import json
import pstats
import resource
import statistics
import sys
import time
from collections import deque
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta

from limits import times

from probetui.drive.scenario.world import World
from probetui.engine.engine import Engine
from probetui.engine.inputs import AddPod, Fact
from probetui.k8s.pod import Container, Pod
from probetui.k8s.probe import ExecAction, Probe
from probetui.kubelet.config import KubeletConfig
from probetui.kubelet.effects import Effect, RunProbe
from probetui.kubelet.facts import ProbeFinished
from probetui.kubelet.journal import TickEntry
from probetui.kubelet.outcome import Attempt, ProbeOutcome, ProbeResult
from probetui.kubelet.runtime.turn import Turn

START = datetime(2026, 1, 1, tzinfo=UTC)
SECOND = timedelta(seconds=1)
SETTLE = timedelta(seconds=5)
"""At the start all pods come up at once; the measurement begins after that."""

PROBE = Probe(ExecAction(("true",)), period_seconds=1)
WELL = ProbeOutcome((Attempt(ProbeResult.SUCCESS),), START)
PROBES_PER_POD = 2


@dataclass(frozen=True)
class Measured:
    """The results; memory is the peak of the whole process."""

    workers: int
    ticks: int
    cpu_seconds: float
    ticks_per_cpu_second: int
    microseconds_per_tick: float
    microseconds_per_loop: float
    """Of the yardstick: a hundred steps of a loop."""
    tick_times: float
    peak_mib: float


class Bench:
    """An engine whose effects are executed at the same instant."""

    def __init__(self, pods: int) -> None:
        config = KubeletConfig(age=timedelta())
        self._engine = Engine(config, START)
        self._world = World()
        self._facts: deque[Fact] = deque()
        self._now = START
        self.ticks = 0
        for number in range(pods):
            self._take(self._engine.submit(AddPod(a_pod(number)), START))

    def run_for(self, length: timedelta) -> None:
        """Advance the virtual time."""
        end = self._now + length
        engine, facts = self._engine, self._facts
        while True:
            while facts:
                self._take(engine.submit(facts.popleft(), self._now))
            deadline = engine.next_deadline()
            if deadline is None or deadline > end:
                break
            self._now = deadline
            self._take(engine.advance(deadline))
        self._now = end

    def _take(self, turn: Turn) -> None:
        for effect in turn.effects:
            self._facts.append(self._answer(effect))
        for entry in turn.entries:
            if isinstance(entry, TickEntry):
                self.ticks += 1

    def _answer(self, effect: Effect) -> Fact:
        if isinstance(effect, RunProbe):
            return ProbeFinished(effect.probe_id, WELL)
        return self._world.answer(effect, self._now)[1]


LOOPS = 400


class Counter:
    """The methods that the loop calls."""

    def __init__(self) -> None:
        self.values: dict[int, int] = {}

    def add(self, key: int, number: int) -> int:
        """Add a number to one of the values."""
        self.values[key] = number = self.values.get(key, 0) + number
        return number


def run_loops(count: int) -> float:
    """Return the CPU time of loops of a hundred calls each, in seconds."""
    began = time.process_time()
    for _ in range(count):
        counter = Counter()
        for step in range(100):
            counter.add(step % 7, step)
    return time.process_time() - began


def a_pod(number: int) -> Pod:
    app = Container("app", "busybox:1.36", liveness_probe=PROBE, readiness_probe=PROBE)
    return Pod(f"uid-{number}", f"pod-{number}", containers=(app,))


def measure(workers: int, seconds: int, profile: cProfile.Profile | None) -> Measured:
    bench = Bench(workers // PROBES_PER_POD)
    bench.run_for(SETTLE)
    ticks, cpu = 0, 0.0
    per_tick, per_loop = [], []
    for _ in range(seconds):
        ticks_before = bench.ticks
        if profile is not None:
            profile.enable()
        began = time.process_time()
        bench.run_for(SECOND)
        took = time.process_time() - began
        if profile is not None:
            profile.disable()
        cpu += took
        ticks += bench.ticks - ticks_before
        per_tick.append(took / (bench.ticks - ticks_before))
        per_loop.append(run_loops(LOOPS) / LOOPS)
    tick, loop = statistics.median(per_tick), statistics.median(per_loop)
    return Measured(
        workers,
        ticks,
        round(cpu, 3),
        round(1 / tick),
        round(tick * 1_000_000, 1),
        round(loop * 1_000_000, 1),
        times(tick, loop),
        round(peak_mib(), 1),
    )


def peak_mib() -> float:
    """Return the peak memory of this process."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1 << 20 if sys.platform == "darwin" else 1 << 10)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--workers", type=int, default=1000)
    parser.add_argument("--seconds", type=int, default=30, help="of virtual time")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--profile", action="store_true", help="show the top costs")
    arguments = parser.parse_args()
    profile = cProfile.Profile() if arguments.profile else None
    measured = measure(arguments.workers, arguments.seconds, profile)
    if arguments.json:
        print(json.dumps(asdict(measured)))
    else:
        print(
            f"{measured.workers} workers: {measured.ticks_per_cpu_second:,} ticks/s "
            f"of CPU ({measured.microseconds_per_tick} us each, a loop of 100 calls "
            f"{measured.microseconds_per_loop} us: {measured.tick_times} times), "
            f"peak {measured.peak_mib} MiB"
        )
    if profile is not None:
        pstats.Stats(profile).sort_stats("tottime").print_stats(35)


if __name__ == "__main__":
    main()
