"""Growth while the program runs for hours: memory, its record, open descriptors.

    python benchmarks/soak.py [--hours N] [--runtime process|docker] [--screen]
                              [--probes-per-second N] [--samples FILE] [--json]

The installed program runs pods with plain output, or on a pseudo-terminal of 120x40,
in its own HOME, and records the session as usual. Probes are HTTP and
TCP against a server of this benchmark, every twentieth is a command. One container
fails its readiness probe all the time and one ends every few seconds, so that there
are events and restarts as well. The image on Docker is busybox:1.36.

Every ten seconds the program is sampled from outside (Linux): its memory, descriptors,
threads, children, and the size of its record on disk, including dropped parts. It
writes the number of asyncio tasks on SIGUSR2; nothing else in it is changed. A sample
is a line of CSV in the file of samples.

Slopes are by least squares after a warm-up of ten minutes, or of a third of a run that
is shorter than half an hour. Where numbers go up and down all the time (descriptors,
threads, tasks, children), the median of the last quarter is compared with that of the
first.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import csv
import fcntl
import json
import multiprocessing
import os
import pty
import select
import signal
import statistics
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import IO, NamedTuple

from limits import Limit, report_limits

MEGABYTE = 1_000_000
SAMPLE_SECONDS = 10.0
WARM_UP_MINUTES = 10.0
END_SECONDS = 90.0

MEMORY_MEGABYTES_A_MINUTE = 0.05
RECORD_MEGABYTES_A_MINUTE = 1.0
"""At `RECORD_PROBES_PER_SECOND`."""

RECORD_PROBES_PER_SECOND = 100
MOST_MORE = 5
"""How many more descriptors, threads, tasks or children than at the start are noise."""

PROBES_OF_A_POD = 4
COMMAND_EVERY = 20
TASKS_VARIABLE = "SOAK_TASKS"

POD = """
apiVersion: v1
kind: Pod
metadata: {{name: soak-{run}-{number}}}
spec:
  terminationGracePeriodSeconds: 1
  containers:
  - name: a
    image: busybox:1.36
    command: [sh, -c, "while sleep 5; do echo a line of the log; done"]
    readinessProbe: {{{a_ready}, periodSeconds: 1, timeoutSeconds: 5}}
    livenessProbe: {{{a_live}, periodSeconds: 1, timeoutSeconds: 5}}
  - name: b
    image: busybox:1.36
    command: [sleep, infinity]
    readinessProbe: {{{b_ready}, periodSeconds: 1, timeoutSeconds: 5}}
    livenessProbe: {{{b_live}, periodSeconds: 1, timeoutSeconds: 5}}
"""

UNREST = """
apiVersion: v1
kind: Pod
metadata: {{name: soak-{run}-unrest}}
spec:
  terminationGracePeriodSeconds: 1
  containers:
  - name: unready
    image: busybox:1.36
    command: [sleep, infinity]
    readinessProbe: {{exec: {{command: ["false"]}}, periodSeconds: 5}}
  - name: ends
    image: busybox:1.36
    command: [sh, -c, "sleep 5; exit 1"]
"""


class Sample(NamedTuple):
    """One sample of the program, `seconds` after its start."""

    seconds: float
    memory_bytes: int
    record_bytes: int
    descriptors: int
    threads: int
    tasks: int
    children: int
    blocks: int
    answers: int


# the probed server, in a separate process


class Answering(asyncio.Protocol):
    """Answers a request, if one comes, and closes; counts connections."""

    answer = (
        b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nServer: soak\r\n"
        b"Content-Length: 2\r\nConnection: close\r\n\r\nok"
    )

    def __init__(self, count: Callable[[], None]) -> None:
        self._count = count

    def connection_made(  # noqa: D102  # asyncio's
        self, transport: asyncio.BaseTransport
    ) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._count()

    def data_received(self, _data: bytes) -> None:  # noqa: D102  # asyncio's
        self._transport.write(self.answer)
        self._transport.close()


def run_server(pipe: Connection) -> None:
    """Serve on a port of the kernel's choice until the other end of the pipe closes."""
    asyncio.run(serve(pipe))


async def serve(pipe: Connection) -> None:
    answered = 0

    def count() -> None:
        nonlocal answered
        answered += 1

    loop = asyncio.get_running_loop()
    is_over = asyncio.Event()

    def reply() -> None:
        try:
            pipe.recv()
            pipe.send(answered)
        except EOFError:
            is_over.set()
            loop.remove_reader(pipe.fileno())

    server = await loop.create_server(
        lambda: Answering(count), "127.0.0.1", 0, backlog=4096
    )
    pipe.send(server.sockets[0].getsockname()[1])
    loop.add_reader(pipe.fileno(), reply)
    await is_over.wait()
    server.close()


# the program


def run_program(arguments: Sequence[str]) -> None:
    """Run the program in this process, and write its number of tasks on SIGUSR2."""
    # Only this process needs the import.
    from probetui.__main__ import main as probetui  # noqa: PLC0415

    tasks_file = os.environ.pop(TASKS_VARIABLE)

    def write_task_count(_signal: int, _frame: object) -> None:
        try:
            tasks = len(asyncio.all_tasks(asyncio.get_running_loop()))
        except RuntimeError:  # the event loop is not running
            tasks = 0
        Path(tasks_file).write_text(f"{tasks} {sys.getallocatedblocks()}")

    signal.signal(signal.SIGUSR2, write_task_count)
    sys.argv = ["probetui", *arguments]
    probetui()


def manifests(probes_per_second: int, port: int) -> str:
    """Return pods with that many probes, one run a second each, and the failing pod."""
    target = f"port: {port}, host: 127.0.0.1"
    handlers = [
        'exec: {command: ["true"]}'
        if not number % COMMAND_EVERY
        else f"httpGet: {{path: /healthz, {target}}}"
        if number % 2
        else f"tcpSocket: {{{target}}}"
        for number in range(probes_per_second)
    ]
    # The last pod may have more probes.
    handlers += handlers[1 : 1 + -len(handlers) % PROBES_OF_A_POD]
    names = ("a_ready", "a_live", "b_ready", "b_live")
    run = os.getpid()
    pods = [
        POD.format(
            run=run,
            number=start // PROBES_OF_A_POD,
            **dict(zip(names, handlers[start : start + PROBES_OF_A_POD], strict=True)),
        )
        for start in range(0, len(handlers), PROBES_OF_A_POD)
    ]
    return "---".join([*pods, UNREST.format(run=run)])


@contextlib.contextmanager
def program(
    options: argparse.Namespace, home: Path, port: int
) -> Iterator[subprocess.Popen[bytes]]:
    """Run the program until the end of the block; then it removes its pods."""
    manifest = home / "pods.yaml"
    manifest.write_text(manifests(options.probes_per_second, port))
    command = [
        sys.executable,
        __file__,
        "--child",
        *("run", "-f", str(manifest), "--runtime", options.runtime),
        "--tui" if options.screen else "--plain",
    ]
    environment = {
        **os.environ,
        "HOME": str(home),
        "XDG_STATE_HOME": str(home / "state"),
        "XDG_CONFIG_HOME": str(home / "config"),
        "XDG_DATA_HOME": str(home / "data"),
        "TERM": "xterm-256color",
        "COLORTERM": "truecolor",
        TASKS_VARIABLE: str(home / "tasks"),
    }
    with _streams(options) as (here, there):
        running = subprocess.Popen(
            command,
            stdin=there if options.screen else subprocess.DEVNULL,
            stdout=there,
            stderr=there,
            env=environment,
        )
        os.close(there)
        reading = threading.Thread(target=read_all, args=(here,), daemon=True)
        reading.start()
        try:
            yield running
        finally:
            running.terminate()
            try:
                running.wait(END_SECONDS)
            except subprocess.TimeoutExpired:
                print(f"{running.pid} did not end in {END_SECONDS:g} s", flush=True)
                running.kill()
                running.wait()


@contextlib.contextmanager
def _streams(options: argparse.Namespace) -> Iterator[tuple[int, int]]:
    """Open a terminal or a pipe for the output of the program: our end and its end."""
    here, there = pty.openpty() if options.screen else os.pipe()
    if options.screen:
        fcntl.ioctl(there, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
    try:
        yield here, there
    finally:
        os.close(here)


def read_all(descriptor: int) -> None:
    """Read all output until its end."""
    with contextlib.suppress(OSError):  # the other end of a terminal is closed
        while True:
            if select.select([descriptor], [], [], 1)[0] and not os.read(
                descriptor, 1 << 16
            ):
                return


# sampling from outside


class Observer:
    """Takes samples of a running program."""

    def __init__(self, pid: int, home: Path, server: Connection) -> None:
        self._proc = Path(f"/proc/{pid}")
        self._pid = pid
        self._home = home
        self._server = server
        self._files: dict[int, int] = {}
        self._began = time.monotonic()

    def sample(self) -> Sample:
        """Take a sample now."""
        self._server.send("answers")
        pages = int((self._proc / "statm").read_text().split()[1])
        tasks, blocks = self._request_task_count()
        return Sample(
            round(time.monotonic() - self._began, 1),
            pages * os.sysconf("SC_PAGE_SIZE"),
            self._recorded(),
            self._count_of("fd"),
            self._count_of("task"),
            tasks,
            self._children(),
            blocks,
            self._server.recv(),
        )

    def _request_task_count(self) -> tuple[int, int]:
        tasks_file = self._home / "tasks"
        tasks_file.unlink(missing_ok=True)
        os.kill(self._pid, signal.SIGUSR2)
        ends_at = time.monotonic() + 5
        while time.monotonic() < ends_at:
            with contextlib.suppress(FileNotFoundError, ValueError):
                tasks, blocks = map(int, tasks_file.read_text().split())
                return tasks, blocks
            time.sleep(0.01)
        return 0, 0

    def _recorded(self) -> int:
        """Return all bytes of the record so far, including removed parts."""
        folder = self._home / "state" / "probetui" / "sessions"
        for path in folder.rglob("*"):
            with contextlib.suppress(FileNotFoundError):
                facts = path.stat()
                if path.is_file():
                    self._files[facts.st_ino] = facts.st_size
        return sum(self._files.values())

    def _count_of(self, name: str) -> int:
        return sum(1 for _ in (self._proc / name).iterdir())

    def _children(self) -> int:
        count = 0
        for task in (self._proc / "task").iterdir():
            with contextlib.suppress(OSError):  # the thread has ended
                count += len((task / "children").read_text().split())
        return count


def watch(
    running: subprocess.Popen[bytes],
    observer: Observer,
    seconds: float,
    samples_to: IO[str],
) -> list[Sample]:
    """Take samples for that time, and write them to the file."""
    writer = csv.writer(samples_to)
    writer.writerow(Sample._fields)
    samples: list[Sample] = []
    began = time.monotonic()
    while (passed := time.monotonic() - began) < seconds:
        time.sleep(min(SAMPLE_SECONDS, seconds - passed))
        if running.poll() is not None:
            sys.exit(
                f"the program ended with {running.returncode} after {passed:.0f} s"
            )
        samples.append(observer.sample())
        writer.writerow(samples[-1])
        samples_to.flush()
    return samples


# figures


def slope(samples: Sequence[Sample], field: Callable[[Sample], float]) -> float:
    """Return the growth of a value per minute, by least squares."""
    minutes = [sample.seconds / 60 for sample in samples]
    return statistics.linear_regression(minutes, [*map(field, samples)]).slope


def growth(samples: Sequence[Sample], field: Callable[[Sample], float]) -> float:
    """Return the growth of a value from the first quarter to the last."""
    quarter = max(len(samples) // 4, 1)
    first, last = samples[:quarter], samples[-quarter:]
    return statistics.median(map(field, last)) - statistics.median(map(field, first))


def limits_of(samples: Sequence[Sample], probes_per_second: int) -> list[Limit]:
    """Return the growth of all values with its limits."""
    memory = slope(samples, lambda sample: sample.memory_bytes / MEGABYTE)
    record = slope(samples, lambda sample: sample.record_bytes / MEGABYTE)
    may = RECORD_MEGABYTES_A_MINUTE * probes_per_second / RECORD_PROBES_PER_SECOND
    counts = {
        "descriptors": growth(samples, lambda sample: sample.descriptors),
        "threads": growth(samples, lambda sample: sample.threads),
        "tasks": growth(samples, lambda sample: sample.tasks),
        "children": growth(samples, lambda sample: sample.children),
    }
    return [
        Limit("memory", round(memory, 4), MEMORY_MEGABYTES_A_MINUTE, "MB a minute"),
        Limit("record", round(record, 3), may, "MB a minute"),
        *(
            Limit(f"{name}, more than at the start", figure, MOST_MORE, name)
            for name, figure in counts.items()
        ),
    ]


def measure(options: argparse.Namespace) -> list[Sample]:
    """Run the program and return its samples."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    server = context.Process(target=run_server, args=(theirs,), daemon=True)
    server.start()
    theirs.close()
    try:
        with (
            tempfile.TemporaryDirectory(prefix="soak-") as home,
            options.samples.open("w", newline="") as samples_to,
            program(options, Path(home), ours.recv()) as running,
        ):
            observer = Observer(running.pid, Path(home), ours)
            return watch(running, observer, options.hours * 3600, samples_to)
    finally:
        ours.close()
        server.join(10)


def main() -> None:
    """Print the figures with their limits."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--hours", type=float, default=4.0)
    parser.add_argument("--runtime", choices=("process", "docker"), default="process")
    parser.add_argument("--screen", action="store_true", help="on a terminal of 120x40")
    parser.add_argument("--probes-per-second", type=int, default=100)
    parser.add_argument("--samples", type=Path, default=Path("soak-samples.csv"))
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    # A benchmark that is terminated removes its pods.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    print(f"samples: {options.samples.resolve()}", flush=True)
    samples = measure(options)
    minutes = min(WARM_UP_MINUTES, options.hours * 60 / 3)
    judged = [sample for sample in samples if sample.seconds >= minutes * 60]
    limits = limits_of(judged, options.probes_per_second)
    first, last = judged[0], judged[-1]
    passed = last.seconds - first.seconds
    figures = {
        "warm_up_minutes": round(minutes, 1),
        "minutes": round(passed / 60, 1),
        "answers_per_second": round((last.answers - first.answers) / passed, 1),
        "memory_mb": round(last.memory_bytes / MEGABYTE, 1),
        "memory_max_mb": round(
            max(sample.memory_bytes for sample in samples) / MEGABYTE, 1
        ),
        "blocks_a_minute": round(slope(judged, lambda sample: sample.blocks), 1),
    }
    if options.json:
        print(json.dumps(figures | {limit.what: limit.figure for limit in limits}))
        return
    print(
        "after {warm_up_minutes} minutes, for {minutes} minutes: {answers_per_second} "
        "answers to HTTP and TCP probes a second, memory {memory_mb} MB (at most "
        "{memory_max_mb} MB), Python's blocks {blocks_a_minute:+} a minute".format(
            **figures
        )
    )
    report_limits(*limits)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        run_program(sys.argv[2:])
    else:
        main()
