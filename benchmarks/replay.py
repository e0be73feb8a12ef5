"""A long recording: the time to open it, to scan it, and to seek in it.

    python benchmarks/replay.py [--ticks N] [--pods N] [--json]

A hundred pods of three probes each are simulated and recorded until there are 100,000
ticks. The recording is opened, scanned ahead as the screen does between keys, and
sought to instants all over it; the result is the time until the snapshot of that
instant.
"""

from __future__ import annotations

import argparse
import gc
import json
import statistics
import tempfile
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import NamedTuple

from limits import Limit, report_limits

from probetui.cli import gc_tuning
from probetui.drive.playback.replay import ReplaySource
from probetui.drive.scenario.behavior import (
    InstanceBehavior,
    ResultName,
    ResultPhase,
    ResultPhases,
    ScriptedResult,
)
from probetui.drive.scenario.world import World
from probetui.drive.simulation import Simulation
from probetui.engine.engine import Engine
from probetui.engine.inputs import Input, SetPods
from probetui.k8s.pod import Container, Pod
from probetui.k8s.probe import ExecAction, Probe, ProbeType
from probetui.kubelet.config import KubeletConfig
from probetui.kubelet.journal import TickEntry
from probetui.record.codec import SessionHeader
from probetui.record.format import RecordContext
from probetui.record.reader import RecordingFile
from probetui.record.writer import Recorder, RecordWriter

START = datetime(2026, 1, 1, tzinfo=UTC)
SECOND = timedelta(seconds=1)
SEEKS, STEPS = 40, 20
LIMIT_SECONDS = 0.5


def pods(count: int) -> tuple[Pod, ...]:
    """Return pods of one container with three probes, each every second."""
    probe = Probe(ExecAction(("true",)), period_seconds=1)
    app = Container(
        "app",
        image="none",
        liveness_probe=probe,
        readiness_probe=probe,
        startup_probe=probe,
    )
    return tuple(
        Pod(f"uid-{number}", f"pod-{number}", containers=(app,))
        for number in range(count)
    )


def world() -> World:
    """Return a world in which containers flap, and are killed now and then."""
    success, failure = (
        ScriptedResult(result, takes=timedelta(milliseconds=20))
        for result in (ResultName.SUCCESS, ResultName.FAILURE)
    )
    flapping = ResultPhases(
        (ResultPhase(success, times=7), ResultPhase(failure, times=4)), repeat=True
    )
    dying = ResultPhases(
        (ResultPhase(success, times=90), ResultPhase(failure, times=3)), repeat=True
    )
    answers = {ProbeType.READINESS: flapping, ProbeType.LIVENESS: dying}
    return World({"app": (InstanceBehavior(answers=answers, stops_after=SECOND),)})


def record(path: Path, count: int, ticks: int) -> Mapping[str, float]:
    """Simulate and record until there are that many ticks."""
    wanted, config = pods(count), KubeletConfig()
    context = RecordContext(START, {pod.uid: pod for pod in wanted})
    recorder = Recorder(RecordWriter.open(path), context)
    recorder.begin(SessionHeader("0", "sim", "v1.32", {}, [], 0, config))
    simulation = Simulation(Engine(config, START), world(), START)

    def record_input(item: Input | None, now: datetime) -> None:
        recorder.note_input(item, now, simulation.entries)

    simulation.attach([], record_input)
    simulation.schedule(SetPods(wanted), START)
    seen = 0
    watch = Stopwatch()
    while seen < ticks:
        entries = simulation.turn().entries
        seen += sum(isinstance(entry, TickEntry) for entry in entries)
        recorder.consume(entries)
    recorder.end("left", 0, simulation.now)
    return {
        "ticks": seen,
        "inputs": simulation.turns,
        "virtual s": (simulation.now - START).total_seconds(),
        **named("record", watch.read()),
        "file MB": path.stat().st_size / 1e6,
    }


class Took(NamedTuple):
    """Seconds of wall time and CPU time; a busy machine takes more wall time."""

    wall: float
    cpu: float


class Stopwatch:
    """Measures the time since its creation."""

    def __init__(self) -> None:
        self._wall, self._cpu = time.perf_counter(), time.process_time()

    def read(self) -> Took:
        """Return the time since its creation."""
        return Took(time.perf_counter() - self._wall, time.process_time() - self._cpu)


def seek(course: ReplaySource, instant: datetime) -> Took:
    """Seek to an instant and return the time until its snapshot."""
    watch = Stopwatch()
    if instant < course.now:
        course.seek_back(instant)
    else:
        while not course.approach(instant):
            pass
        while (due := course.next_at()) is not None and due <= instant:
            course.turn()
        course.pass_until(instant)
    course.snapshot()
    return watch.read()


def measure(path: Path) -> Mapping[str, float]:
    """Open a recording, scan it, and seek, as the program collects garbage."""
    gc.collect()
    gc_tuning.disable()
    watch = Stopwatch()
    course = ReplaySource(RecordingFile(path))
    opened = watch.read()
    first = seek(course, START + SECOND)
    gc_tuning.freeze()
    watch = Stopwatch()
    slices = []
    is_more = True
    while is_more:
        one = Stopwatch()
        is_more = course.look_ahead()
        slices.append(one.read())
    inputs_surveyed = watch.read()
    assert course.note == "", course.note
    assert course.end is not None
    length = (course.end - START).total_seconds()
    rng = Random(7)
    seeks = [
        seek(course, START + rng.uniform(0, length) * SECOND) for _ in range(SEEKS)
    ]
    steps = []
    for _ in range(STEPS):
        watch = Stopwatch()
        mark = course.last_tick_position()
        if mark is not None:
            course.seek_position(mark)
        steps.append(watch.read())
    return {
        **named("open", opened),
        **named("first second", first),
        **named("look through it", inputs_surveyed),
        **named("longest slice of that", worst(slices)),
        **named("seek, median", median(seeks)),
        **named("seek, worst", worst(seeks)),
        **named("step back, median", median(steps)),
        **named("step back, worst", worst(steps)),
    }


def named(what: str, took: Took) -> Mapping[str, float]:
    return {f"{what}, wall s": took.wall, f"{what}, cpu s": took.cpu}


def worst(times: Sequence[Took]) -> Took:
    return Took(max(took.wall for took in times), max(took.cpu for took in times))


def median(times: Sequence[Took]) -> Took:
    return Took(
        statistics.median(took.wall for took in times),
        statistics.median(took.cpu for took in times),
    )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--ticks", type=int, default=100_000)
    parser.add_argument("--pods", type=int, default=100)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "session.jsonl"
        found = {**record(path, arguments.pods, arguments.ticks), **measure(path)}
    if arguments.json:
        print(json.dumps(found, indent=2))
    else:
        for name, value in found.items():
            print(f"{name:32} {value:12,.3f}")
        what = "seek, worst, of the processor"
        report_limits(
            Limit(what, round(found["seek, worst, cpu s"], 3), LIMIT_SECONDS, "s")
        )


if __name__ == "__main__":
    main()
