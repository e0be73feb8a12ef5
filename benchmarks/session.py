"""CPU time of a whole session per probe: engine, probers, journal, record and lines.

    python benchmarks/session.py [--pods N] [--seconds N] [--json]
                                 [--runtime process|cri|docker]

The installed program runs pods with an HTTP and a TCP probe every second, in its own
HOME, keeps a record and prints a line per probe to a file. It is measured from outside,
also once with probes that rarely run, which gives its idle time. The yardstick is a
process that runs at the same time and only connects, sends the same request, receives
and closes, on the same event loop of Python, half a second after every probe of the
session: simultaneous probes cost less than half of single ones, for any client, and
how many are simultaneous depends on the runtime, which started the pods. All connect to
a server of this benchmark. The image of containers is busybox:1.36. Set
CONTAINER_RUNTIME_ENDPOINT if containerd listens on another endpoint.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from datetime import datetime
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING

from limits import Limit, Yardstick, report_limits, times
from load import LOOPBACK, run_server
from start import ENVIRONMENT, PROGRAM, processor_clock

if TYPE_CHECKING:
    from collections.abc import Iterator

START_SECONDS = 120
SETTLE_SECONDS = 5
END_SECONDS = 60
PROBES_OF_A_POD = 2
OFFSET = 0.5
"""Seconds from a probe of the session to the yardstick's own."""

SELDOM = 3600
SUCCEEDED, BECAME_READY = " success ", " ready false->true"
MICROSECONDS = 1_000_000
MOST_BARE_LOOPS = 2.1
"""1.2 times the CPU time of a kubelet 1.36.2 per probe above its idle time.

The kubelet took 386 µs when the first release took 786; that release takes 3.6 bare
loops with plain processes. Microseconds would measure the machine.
"""

POD = """
apiVersion: v1
kind: Pod
metadata: {{name: session-{run}-{number}}}
spec:
  terminationGracePeriodSeconds: 0
  containers:
  - name: app
    image: busybox:1.36
    command: [sleep, infinity]
    livenessProbe:
      {{httpGet: {{port: {port}, host: {host}}}, periodSeconds: {period}}}
    readinessProbe:
      {{tcpSocket: {{port: {port}, host: {host}}}, periodSeconds: {period}}}
---"""
REQUEST = (
    b"GET / HTTP/1.1\r\nHost: %b:%d\r\nUser-Agent: kube-probe/1.36\r\nAccept: */*\r\n"
    b"Connection: close\r\n\r\n"
)


def phases(path: Path) -> dict[str, dict[str, float]]:
    """Return at which part of a second the probes of every pod succeed, by type."""
    found: dict[str, dict[str, float]] = {}
    for line in path.read_text().splitlines():
        if SUCCEEDED in line:
            at, where, probe_type, *_ = line.split()
            instant = datetime.fromisoformat(at).timestamp()
            found.setdefault(probe_type, {})[where] = instant % 1
    return found


async def connect_every_second(port: int, request: bytes, phase: float) -> None:
    """Connect once a second at that phase, send the request, receive and close."""
    loop = asyncio.get_running_loop()
    due = loop.time() + (phase - time.time()) % 1
    await asyncio.sleep(due - loop.time())
    while True:
        with socket.socket() as sock:
            sock.settimeout(0)
            await loop.sock_connect(sock, (LOOPBACK, port))
            if request:
                await loop.sock_sendall(sock, request)
                await loop.sock_recv(sock, 1 << 14)
        due += 1
        await asyncio.sleep(due - loop.time())


async def probe_bare(port: int, http: list[float], tcp: list[float]) -> None:
    request = REQUEST % (LOOPBACK.encode(), port)
    async with asyncio.TaskGroup() as tasks:
        for phase in http:
            tasks.create_task(connect_every_second(port, request, phase + OFFSET))
        for phase in tcp:
            tasks.create_task(connect_every_second(port, b"", phase + OFFSET))


def run_bare(port: int, http: list[float], tcp: list[float]) -> None:
    asyncio.run(probe_bare(port, http, tcp))


def cpu_seconds(process: int) -> float:
    """Return the CPU seconds of a process."""
    return time.clock_gettime(processor_clock(process))


def count(path: Path, words: str) -> int:
    """Return how often the words were printed."""
    return path.read_text().count(words)


@contextmanager
def a_session(
    runtime: str, pods: int, port: int, period: int
) -> Iterator[tuple[int, Path]]:
    """Run the program; yield its process and the file with its lines."""
    with tempfile.TemporaryDirectory() as folder:
        manifest, lines = Path(folder, "pods.yaml"), Path(folder, "lines")
        manifest.write_text(
            "".join(
                POD.format(
                    run=os.getpid(), number=n, port=port, host=LOOPBACK, period=period
                )
                for n in range(pods)
            )
        )
        command = [PROGRAM, "run", "--plain", "--runtime", runtime, "-f", str(manifest)]
        names = ("XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME")
        with lines.open("wb") as output:
            process = subprocess.Popen(
                command,
                stdout=output,
                stderr=output,
                env={**ENVIRONMENT, **dict.fromkeys(names, folder)},
            )
        try:
            deadline = time.monotonic() + START_SECONDS
            while count(lines, BECAME_READY) < pods:
                if process.poll() is not None or time.monotonic() > deadline:
                    raise SystemExit(f"no session:\n{lines.read_text()[-2000:]}")
                time.sleep(0.2)
            time.sleep(SETTLE_SECONDS)
            yield process.pid, lines
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(END_SECONDS)


def measure(runtime: str, pods: int, seconds: int, port: int) -> dict[str, float]:
    """Run the sessions and the yardstick; return the figures."""
    with a_session(runtime, pods, port, SELDOM) as (process, _):
        before = cpu_seconds(process)
        time.sleep(seconds)
        idle = (cpu_seconds(process) - before) / seconds
    with a_session(runtime, pods, port, 1) as (process, lines):
        phase = phases(lines)
        http, tcp = (list(phase[kind].values()) for kind in ("liveness", "readiness"))
        bare = multiprocessing.get_context("spawn").Process(
            target=run_bare, args=(port, http, tcp), daemon=True
        )
        bare.start()
        assert bare.pid is not None
        time.sleep(SETTLE_SECONDS)
        probes, began = -count(lines, SUCCEEDED), time.monotonic()
        used, used_bare = -cpu_seconds(process), -cpu_seconds(bare.pid)
        time.sleep(seconds)
        used, used_bare = used + cpu_seconds(process), used_bare + cpu_seconds(bare.pid)
        probes, wall = probes + count(lines, SUCCEEDED), time.monotonic() - began
    bare.terminate()
    probe_us = MICROSECONDS * (used - idle * wall) / probes
    bare_probe_us = MICROSECONDS * used_bare / (wall * pods * PROBES_OF_A_POD)
    return {
        "probes_per_second": round(probes / wall, 1),
        "cpu_per_probe_us": round(MICROSECONDS * used / probes, 1),
        "cpu_per_probe_over_idle_us": round(probe_us, 1),
        "bare_us": round(bare_probe_us, 1),
        "idle_cores": round(idle, 4),
        "over_idle_times": times(probe_us, bare_probe_us),
    }


def receive_port(pipe: Connection) -> int:
    port: int = pipe.recv()
    return port


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pods", type=int, default=40)
    parser.add_argument("--seconds", type=int, default=20)
    parser.add_argument(
        "--runtime", choices=("process", "cri", "docker"), default="process"
    )
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    spawn = multiprocessing.get_context("spawn")
    ours, theirs = spawn.Pipe()
    server = spawn.Process(target=run_server, args=(theirs,), daemon=True)
    server.start()
    figures = measure(options.runtime, options.pods, options.seconds, ours.recv())
    server.terminate()
    if options.json:
        print(json.dumps(figures))
        return
    print(
        "{probes_per_second} probes/s: {cpu_per_probe_us} µs of CPU each, "
        "{cpu_per_probe_over_idle_us} µs over {idle_cores} cores when idle, "
        "{over_idle_times} times a bare loop".format(**figures)
    )
    bare = Yardstick("a bare loop", figures["bare_us"])
    taken = figures["cpu_per_probe_over_idle_us"]
    limit = round(MOST_BARE_LOOPS * bare.figure, 1)
    report_limits(Limit("CPU of a probe, all in", taken, limit, "µs", bare))


if __name__ == "__main__":
    sys.exit(main())
