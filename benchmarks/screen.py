"""CPU time of the main screen, and its response time to keys, in a busy session.

    python benchmarks/screen.py [--pods N] [--events N] [--rate HZ] [--seconds S]
                                [--size 120x40] [--json]
    python benchmarks/screen.py --sim [--pods N] [--period S] [--cards] ...

The screen runs in a separate process, on a pseudo-terminal. A session without an
engine publishes snapshots at the given rate, with every probe ticking once a second.
CPU is that process's, session included. Key to paint is the time from writing a key to
the terminal until its result has been read. With `--events` the event log has that many
lines; the benchmark moves in it, and filters it while typing.

With `--sim` at 80x24 and a period of ten seconds or more, bytes per second before the
first key are held against the limit of a calm screen.

With `--sim` it is the whole installed program: `probetui sim` at the pace of the wall's
clock, with pods of three probes; with `--cards` it shows cards in place of lanes. Its
CPU is read from the system (Linux).

Then the same is done with a bare Textual app: a `DataTable` of as many rows, of which
as many change as pods tick, and a line that names the chosen one.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import fcntl
import json
import os
import pty
import random
import re
import select
import statistics
import struct
import subprocess
import sys
import tempfile
import termios
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

from limits import Limit, Yardstick, report_limits, times
from msgspec.structs import replace

YARDSTICK = "a bare DataTable"
KEY_TO_PAINT_MILLISECONDS = 50.0
PERCENT_OF_A_CORE = 25.0
CALM_KILOBYTES_PER_SECOND = 4.0
WARM_UP_SECONDS = 2.0
CALM_SECONDS = 5.0
CALM_PERIOD = 10
LONGEST_ANSWER_SECONDS = 5.0
LONGEST_START_SECONDS = 30.0
CONTAINER = "app"
CHOSEN_NAME = re.compile(rb"pod-\d+/app")
SIM_POD = """
apiVersion: v1
kind: Pod
metadata: {{name: pod-{number:03}}}
spec:
  containers:
  - name: app
    image: none
    livenessProbe: {{exec: {{command: ["true"]}}, periodSeconds: {period}}}
    readinessProbe: {{exec: {{command: ["true"]}}, periodSeconds: {period}}}
    startupProbe: {{exec: {{command: ["true"]}}, periodSeconds: {period}}}
"""
SIM_SCRIPT = """
containers:
  app:
    - readiness:
        - {result: success, times: 7, takes: 12ms}
        - {result: failure, times: 1, takes: 12ms}
      liveness: [{result: success, takes: 12ms}]
"""


def main() -> None:
    options = parse()
    if options.child:
        asyncio.run(draw(options))
        return
    result = measure(options)
    if options.json:
        print(json.dumps(result))
        return
    events = f", {options.events} events" if options.events else ""
    pace = f"period {options.period} s" if options.sim else f"{options.rate} Hz"
    print(
        f"{options.pods} pods x 3 probes{events}, {pace}, {options.size}: "
        f"{result['keys']} keys, median {result['key_median_ms']} ms "
        f"({YARDSTICK} {result['yardstick_key_median_ms']} ms), "
        f"{result['kilobytes_per_second']} kB/s with them"
    )
    limits = [
        ("key to paint, p99", "key_p99_ms", KEY_TO_PAINT_MILLISECONDS, "ms"),
        ("of one core", "cpu_percent", PERCENT_OF_A_CORE, "%"),
    ]
    if is_calm(options):
        calm = ("without keys", "calm_kilobytes_per_second")
        limits.append((*calm, CALM_KILOBYTES_PER_SECOND, "kB/s"))
    report_limits(
        *(
            Limit(
                what,
                result[name],
                limit,
                unit,
                # The number of bytes does not depend on the machine.
                Yardstick(YARDSTICK, result[f"yardstick_{name}"])
                if unit != "kB/s"
                else None,
            )
            for what, name, limit, unit in limits
        )
    )


def is_calm(options: argparse.Namespace) -> bool:
    """Return whether the limit of bytes applies to the screen."""
    is_slow = options.period >= CALM_PERIOD
    return options.sim and is_slow and options.size == "80x24"


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--pods", type=int, default=100)
    parser.add_argument("--events", type=int, default=0)
    parser.add_argument("--sim", action="store_true", help="the whole program")
    parser.add_argument("--period", type=int, default=1, help="of probes, with --sim")
    parser.add_argument("--cards", action="store_true", help="no lanes, with --sim")
    parser.add_argument("--rate", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--size", default="120x40")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args()


# the side of the terminal

Press = Callable[[int, argparse.Namespace], tuple[list[float], int]]
"""Presses keys on a terminal; returns the time of each answer and bytes painted."""


def measure(options: argparse.Namespace) -> dict[str, float]:
    """Measure the screen, and the yardstick after it."""
    press = press_keys_in_events if options.events else press_keys
    with tempfile.TemporaryDirectory() as home:
        if options.sim:
            command = sim_command(Path(home), options)
        else:
            command = [sys.executable, __file__, "--child", *sys.argv[1:]]
        figures = measure_command(command, Path(home), options, press)
        bare = measure_command(
            bare_table_command(options), Path(home), options, press_keys
        )
    return {
        **figures,
        **{f"yardstick_{name}": figure for name, figure in bare.items()},
        "cpu_times": times(figures["cpu_percent"], bare["cpu_percent"]),
    }


def measure_command(
    command: list[str], home: Path, options: argparse.Namespace, press: Press
) -> dict[str, float]:
    """Run a screen on a terminal, press keys, and read its output."""
    width, height = (int(number) for number in options.size.split("x"))
    here, there = pty.openpty()
    fcntl.ioctl(there, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))
    environment = {
        **os.environ,
        "TERM": "xterm-256color",
        "COLORTERM": "truecolor",
        "XDG_STATE_HOME": str(home),
        "XDG_CONFIG_HOME": str(home),
    }
    screen = subprocess.Popen(
        command, stdin=there, stderr=there, stdout=there, env=environment
    )
    os.close(there)
    try:
        calm, answers, painted, cpu = run(here, screen.pid, options, press)
        drain(here, lambda: screen.poll() is None)
    finally:
        screen.kill()
        screen.wait()
        os.close(here)
    answers.sort()
    return {
        "cpu_percent": round(100 * cpu, 1),
        "key_median_ms": round(1000 * statistics.median(answers), 1),
        "key_p99_ms": round(1000 * answers[int(len(answers) * 0.99)], 1),
        "keys": len(answers),
        "calm_kilobytes_per_second": round(calm / 1000 / CALM_SECONDS, 1),
        "kilobytes_per_second": round(painted / 1000 / options.seconds, 1),
    }


def run(
    terminal: int, pid: int, options: argparse.Namespace, press: Press
) -> tuple[int, list[float], int, float]:
    """Wait without a key, then press keys.

    Return the bytes painted before, the times of the answers, bytes painted meanwhile,
    and the share of a core.

    The cost of the start is not included.
    """
    wait_for(terminal, b"pod-000/", LONGEST_START_SECONDS)
    read_for(terminal, WARM_UP_SECONDS)
    calm = read_for(terminal, CALM_SECONDS)
    cpu, started_at = cpu_seconds(pid), time.monotonic()
    answers, painted = press(terminal, options)
    share = (cpu_seconds(pid) - cpu) / (time.monotonic() - started_at)
    os.write(terminal, b"q")
    return calm, answers, painted, share


def cpu_seconds(pid: int) -> float:
    """Return the CPU time of a process: proc(5), utime and stime."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")


def sim_command(home: Path, options: argparse.Namespace) -> list[str]:
    """Return the command of the program with that many pods, whose probes flap."""
    manifest, script = home / "pods.yaml", home / "script.yaml"
    pods = (
        SIM_POD.format(number=n, period=options.period) for n in range(options.pods)
    )
    manifest.write_text("---\n".join(pods))
    script.write_text(SIM_SCRIPT)
    program = str(Path(sys.executable).with_name("probetui"))
    cards = ["--no-lanes"] if options.cards else []
    return [program, "sim", "-f", str(manifest), "--script", str(script), *cards]


def bare_table_command(options: argparse.Namespace) -> list[str]:
    """Return the command of a table with as many rows and changes per second."""
    a_second = options.pods / (options.period if options.sim else 1)
    changes = max(round(a_second / options.rate), 1)
    numbers = (options.pods, options.rate, changes)
    program = str(Path(__file__).with_name("bare_table.py"))
    return [sys.executable, program, *map(str, numbers)]


def press_keys(terminal: int, options: argparse.Namespace) -> tuple[list[float], int]:
    """Move down and up the list; return the time of each answer and bytes painted.

    The answer is another name in the title of the card, painted together with the rows
    that it goes from and to. Other rows keep their order while keys come, and of their
    cells only those are painted that change: never the name.
    """
    rng = random.Random(1)
    os.write(terminal, b"g")
    painted = read_for(terminal, WARM_UP_SECONDS)
    answers: list[float] = []
    ends_at = time.monotonic() + options.seconds
    row = 0
    while time.monotonic() < ends_at:
        painted += read_for(terminal, rng.uniform(0.02, 0.12))
        step = 1 if row == 0 or (row < options.pods - 1 and rng.random() < 0.7) else -1
        row += step
        pressed_at = time.monotonic()
        os.write(terminal, b"j" if step > 0 else b"k")
        painted += wait_for(terminal, CHOSEN_NAME)
        answers.append(time.monotonic() - pressed_at)
    return answers, painted


def press_keys_in_events(
    terminal: int, options: argparse.Namespace
) -> tuple[list[float], int]:
    """Open the event log, move in it and filter it; return the same."""
    rng = random.Random(1)
    count = options.events
    os.write(terminal, b"v")
    painted = wait_for(terminal, event_words(count - 1))
    answers: list[float] = []

    def answer(key: bytes, words: bytes) -> int:
        bytes_before = read_for(terminal, rng.uniform(0.02, 0.12))
        pressed_at = time.monotonic()
        os.write(terminal, key)
        bytes_after = wait_for(terminal, words)
        answers.append(time.monotonic() - pressed_at)
        return bytes_before + bytes_after

    ends_at = time.monotonic() + options.seconds
    while time.monotonic() < ends_at:
        painted += answer(b"g", event_words(0))
        for row in range(1, 10):
            painted += answer(b"j", event_words(row))
        painted += answer(b"G", event_words(count - 1))
        painted += answer(b"/", b"filter events /")
        typed = f"{rng.randrange(count):06}"
        for length in range(1, len(typed) + 1):
            wanted = typed[:length]
            hits = sum(wanted in f"{number:06}" for number in range(count))
            painted += answer(wanted[-1].encode(), f"{hits} of {count}".encode())
        painted += answer(b"\x1b", event_words(count - 1))
        painted += read_for(
            terminal, 0.2
        )  # a lone escape is recognised by what follows
    os.write(terminal, b"q")
    return answers, painted


def event_words(number: int) -> bytes:
    return f"event {number:06}".encode()


def wait_for(
    terminal: int,
    words: bytes | re.Pattern[bytes],
    longest: float = LONGEST_ANSWER_SECONDS,
) -> int:
    """Read until the words have been painted; return the number of bytes."""
    pattern = re.compile(re.escape(words)) if isinstance(words, bytes) else words
    seen = b""
    ends_at = time.monotonic() + longest
    while not pattern.search(seen):
        assert time.monotonic() < ends_at, f"{words!r} was not painted"
        if select.select([terminal], [], [], 0.1)[0]:
            seen += os.read(terminal, 1 << 16)
    return len(seen)


def read_for(terminal: int, seconds: float) -> int:
    """Read all output for that time; return the number of bytes."""
    painted = 0
    ends_at = time.monotonic() + seconds
    while (left := ends_at - time.monotonic()) > 0:
        if select.select([terminal], [], [], left)[0]:
            painted += len(os.read(terminal, 1 << 16))
    return painted


def drain(terminal: int, is_running: Callable[[], bool]) -> None:
    """Read until the screen is closed."""
    with contextlib.suppress(OSError):  # the other side of the terminal is closed
        while is_running():
            read_for(terminal, 0.1)


# the side of the screen: everything below runs in the child

if "--child" in sys.argv:
    # Imported only where it is used: the measuring side must stay light.
    from probetui.cli import gc_tuning
    from probetui.drive.clocks import SystemClock
    from probetui.engine.inputs import Command
    from probetui.engine.snapshot import (
        ContainerSnapshot,
        PodSnapshot,
        ProbeSnapshot,
        Snapshot,
    )
    from probetui.k8s.event import Event, EventType
    from probetui.k8s.pod import Container, Pod
    from probetui.k8s.probe import HTTPGetAction, Probe, ProbeKey, ProbeType
    from probetui.k8s.runtime import ContainerID
    from probetui.k8s.status import ContainerStatus, PodPhase, PodStatus, Running
    from probetui.kubelet.journal import (
        EventEntry,
        HoldChange,
        JournalEntry,
        Probed,
        StoredChange,
        TickAction,
        TickEntry,
        TickRun,
        TickTiming,
        Trigger,
    )
    from probetui.kubelet.outcome import Attempt, ProbeResult, Result
    from probetui.kubelet.pod_workers.pod_update import PodWorkerState
    from probetui.tui.app import ProbetuiApp
    from probetui.tui.options import ScreenOptions

    SECOND = timedelta(seconds=1)
    ID = ContainerID("bench://0123456789abcdef")
    PROBE = Probe(HTTPGetAction(8080), 0, 1, 1, 1, 3)

    class BusySession:
        """A session whose probes all tick once a second, and fail now and then."""

        runtime_name = "benchmark 1.0"
        playback = None

        def __init__(self, pods: int, events: int, clock: SystemClock) -> None:
            self._clock = clock
            self._rng = random.Random(2)
            self.started_at = clock.now()
            self.journal: list[JournalEntry] = [
                an_event(number, self.started_at) for number in range(events)
            ]
            self._is_growing = not events
            self._callbacks: list[Callable[[], None]] = []
            self._next = 0
            self.pods = [a_pod(index, self.started_at) for index in range(pods)]

        @property
        def snapshot(self) -> Snapshot:
            """The current snapshot, at the current time."""
            return Snapshot(
                taken_at=self._clock.now(),
                started_at=self.started_at,
                sequence=len(self.journal),
                pods=tuple(self.pods),
                entries=(),
                queue=(),
                is_paused=False,
                restarts=0,
                faults=len(self.journal),
                runtime_lost_since=None,
                runtime_error="",
            )

        def subscribe(self, callback: Callable[[], None]) -> Callable[[], None]:
            """Call back after every publication."""
            self._callbacks.append(callback)
            return lambda: self._callbacks.remove(callback)

        def send(self, command: Command) -> None:
            """Ignore a command."""

        def publish(self, ticking: int) -> None:
            """Let the next pods tick, and notify subscribers."""
            now = self._clock.now()
            for _ in range(ticking):
                index = self._next % len(self.pods)
                self.pods[index] = ticked(self.pods[index], now, self._rng)
                self._next += 1
            if self._is_growing and self._rng.random() < 0.2:
                self.journal.append(an_event(len(self.journal), now))
            for callback in self._callbacks:
                callback()

    def a_pod(index: int, now: datetime) -> PodSnapshot:
        pod = Pod(
            f"uid-{index}",
            f"pod-{index:03}",
            containers=(
                Container(
                    CONTAINER,
                    startup_probe=PROBE,
                    liveness_probe=PROBE,
                    readiness_probe=PROBE,
                ),
            ),
        )
        probes = tuple(
            ProbeSnapshot(
                ProbeKey(pod.uid, CONTAINER, probe_type),
                PROBE,
                worker_alive=True,
                stored_result=Result.SUCCESS,
                last_result=Result.SUCCESS,
                result_run=0,
                on_hold=False,
                in_flight_since=None,
                next_tick_at=now + SECOND,
                is_held_back=False,
                upcoming_skip=None,
                delay_until=None,
                ticks=0,
                successes=0,
                failures=0,
                errors=0,
                skips=0,
                last_run=None,
                history=(),
            )
            for probe_type in (
                ProbeType.LIVENESS,
                ProbeType.READINESS,
                ProbeType.STARTUP,
            )
        )
        status = ContainerStatus(CONTAINER, ID, Running(now), ready=True, started=True)
        container = ContainerSnapshot(
            pod.containers[0],
            is_init=False,
            status=status,
            probes=probes,
            stopping=None,
            backoff=None,
            last_exit=None,
        )
        return PodSnapshot(
            pod, PodStatus(PodPhase.RUNNING), PodWorkerState.SYNC, "", (container,)
        )

    def ticked(pod: PodSnapshot, now: datetime, rng: random.Random) -> PodSnapshot:
        container = pod.containers[0]
        probes = tuple(after_tick(probe, now, rng) for probe in container.probes)
        return replace(pod, containers=(replace(container, probes=probes),))

    def after_tick(
        probe: ProbeSnapshot, now: datetime, rng: random.Random
    ) -> ProbeSnapshot:
        has_failed = rng.random() < 0.1
        result = Result.FAILURE if has_failed else Result.SUCCESS
        run = probe.result_run + 1 if result is probe.last_result else 1
        tick = a_tick(probe, now, result, run)
        return replace(
            probe,
            last_result=result,
            result_run=run,
            next_tick_at=now + SECOND,
            ticks=probe.ticks + 1,
            last_run=tick,
            history=(*probe.history[-59:], tick),
        )

    def a_tick(
        probe: ProbeSnapshot, now: datetime, result: Result, run: int
    ) -> TickEntry:
        probe_result = (
            ProbeResult.FAILURE if result is Result.FAILURE else ProbeResult.SUCCESS
        )
        took = timedelta(milliseconds=12)
        return TickEntry(
            sequence=0,
            at=now,
            key=probe.key,
            n=probe.ticks + 1,
            trigger=Trigger.PERIODIC,
            timing=TickTiming(now, took),
            container_id=ID,
            new_container=False,
            gates=(),
            outcome=Probed(
                (Attempt(probe_result, f"status {run}", duration=took),),
                result,
                TickAction.NONE,
            ),
            run=TickRun(run, 3),
            stored=StoredChange(Result.SUCCESS, Result.SUCCESS),
            hold=HoldChange(before=False, after=False),
        )

    def an_event(number: int, now: datetime) -> EventEntry:
        # No other digits, because the benchmark filters by digits of the number.
        message = f"event {number:06}: HTTP probe failed with an empty body"
        event = Event(
            EventType.WARNING, "Unhealthy", message, "uid-of-another", "", now
        )
        return EventEntry(number, now, event)


async def draw(options: argparse.Namespace) -> None:
    """Run the screen until it is closed."""
    gc_tuning.disable()
    session = BusySession(options.pods, options.events, SystemClock())
    app = ProbetuiApp(session, options=ScreenOptions(zone=UTC))
    screen = asyncio.create_task(app.run_async())
    ticking = max(options.pods // options.rate, 1)
    settles_at = time.monotonic() + WARM_UP_SECONDS / 2
    is_settled = False
    while not screen.done():
        session.publish(ticking)
        await asyncio.sleep(1 / options.rate)
        if not is_settled and time.monotonic() > settles_at:
            gc_tuning.freeze()
            is_settled = True


if __name__ == "__main__":
    main()
