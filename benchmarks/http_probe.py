"""CPU time of an HTTP and a TCP probe, compared to minimal clients of the same server.

    python benchmarks/http_probe.py [--rounds N] [--probes N] [--json]

The server is another process; rounds of both alternate, every request has a new
connection, and the best round of each counts. Only this process's CPU time is measured.
The minimal clients are `httpx2.AsyncClient`, h11 on asyncio's streams, and a connect.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import multiprocessing
import socket
import statistics
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from multiprocessing.connection import Connection

import h11
import httpx2
from limits import times

from probetui.drive.clocks import SystemClock
from probetui.errors import ContainerRuntimeError
from probetui.k8s.pod import Container, Pod
from probetui.k8s.probe import (
    HTTPGetAction,
    Probe,
    ProbeHandler,
    ProbeKey,
    ProbeType,
    TCPSocketAction,
)
from probetui.k8s.runtime import ContainerID
from probetui.kubelet.effects import RunProbe
from probetui.kubelet.outcome import ProbeResult
from probetui.ports import ExecResult
from probetui.probers.prober import ProbeDispatcher

LOOPBACK = "127.0.0.1"
ANSWER = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 3\r\n"
    b"Connection: close\r\n\r\nok\n"
)
MICROSECONDS = 1_000_000

Act = Callable[[], Awaitable[None]]


def serve(pipe: Connection) -> None:
    """Answer one request per connection, for ever."""
    with socket.create_server((LOOPBACK, 0), backlog=128) as listener:
        pipe.send(listener.getsockname()[1])
        while True:
            connection, _ = listener.accept()
            with connection:
                connection.recv(1 << 16)
                connection.sendall(ANSWER)


@contextlib.contextmanager
def a_server() -> Iterator[int]:
    """Run the server in another process; yield its port."""
    spawn = multiprocessing.get_context("spawn")
    here, there = spawn.Pipe()
    process = spawn.Process(target=serve, args=(there,), daemon=True)
    process.start()
    try:
        yield here.recv()
    finally:
        process.terminate()
        process.join()


class NoRuntime:
    """Runs no commands: there are no exec probes."""

    async def exec_sync(
        self, container_id: ContainerID, command: tuple[str, ...], timeout_seconds: int
    ) -> ExecResult:
        """Raise an error."""
        text = f"{command} cannot be run in {container_id} for {timeout_seconds} s"
        raise ContainerRuntimeError(text)


def probing(handler: ProbeHandler) -> Act:
    """Return a complete probe, from the engine's effect to its outcome."""
    container = Container("app")
    pod = Pod("uid", "web", containers=(container,))
    key = ProbeKey(pod.uid, container.name, ProbeType.READINESS)
    effect = RunProbe(
        1, key, pod, container, Probe(handler), ContainerID("none://0"), LOOPBACK
    )
    dispatch = ProbeDispatcher(NoRuntime(), SystemClock())

    async def act() -> None:
        outcome = await dispatch.probe(effect)
        if outcome.last.result is not ProbeResult.SUCCESS:
            raise SystemExit(f"the probe failed: {outcome.last}")

    return act


def getting(client: httpx2.AsyncClient, url: str) -> Act:
    """Return the same request with httpx2's own client."""

    async def act() -> None:
        response = await client.get(url)
        if response.status_code != 200:
            raise SystemExit(f"the request failed: {response}")

    return act


def getting_with_h11(port: int) -> Act:
    """Return the same request with h11 and asyncio only."""
    headers = [("Host", LOOPBACK), ("Connection", "close")]
    request = h11.Request(method="GET", target="/healthz", headers=headers)

    async def act() -> None:
        reader, writer = await asyncio.open_connection(LOOPBACK, port)
        connection = h11.Connection(h11.CLIENT)
        writer.write(connection.send(request) or b"")
        writer.write(connection.send(h11.EndOfMessage()) or b"")
        status = 0
        while not isinstance(event := connection.next_event(), h11.EndOfMessage):
            if event is h11.NEED_DATA:
                connection.receive_data(await reader.read(1 << 16))
            elif isinstance(event, h11.Response):
                status = event.status_code
        writer.close()
        if status != 200:
            raise SystemExit(f"the request failed: {status}")

    return act


def connecting(port: int) -> Act:
    """Return a connect and a close with asyncio."""

    async def act() -> None:
        _, writer = await asyncio.open_connection(LOOPBACK, port)
        writer.close()

    return act


async def cpu_per_call(act: Act, calls: int) -> float:
    """Return the CPU time of one call, in microseconds."""
    await act()
    started_at = time.process_time()
    for _ in range(calls):
        await act()
    return (time.process_time() - started_at) / calls * MICROSECONDS


async def measure(port: int, rounds: int, calls: int) -> dict[str, float]:
    """Alternate rounds and return the best of each, in microseconds."""
    limits = httpx2.Limits(max_keepalive_connections=0)
    async with httpx2.AsyncClient(limits=limits, trust_env=False) as client:
        acts = {
            "http_us": probing(HTTPGetAction(port, "/healthz")),
            "tcp_us": probing(TCPSocketAction(port)),
            "async_client_us": getting(client, f"http://{LOOPBACK}:{port}/healthz"),
            "h11_us": getting_with_h11(port),
            "connect_us": connecting(port),
        }
        seen: dict[str, list[float]] = {name: [] for name in acts}
        for _ in range(rounds):
            for name, act in acts.items():
                seen[name].append(await cpu_per_call(act, calls))
    best = {name: round(min(values), 1) for name, values in seen.items()}
    return best | {
        "http_times": median_times(seen["http_us"], seen["h11_us"]),
        "http_client_times": median_times(seen["http_us"], seen["async_client_us"]),
        "tcp_times": median_times(seen["tcp_us"], seen["connect_us"]),
    }


def median_times(figures: Sequence[float], yardsticks: Sequence[float]) -> float:
    """Return the median ratio of a figure to its yardstick."""
    return statistics.median(map(times, figures, yardsticks))


def main() -> None:
    parser = argparse.ArgumentParser(description="CPU time of HTTP and TCP probes")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--probes", type=int, default=400, help="in each round")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with a_server() as port:
        result = asyncio.run(measure(port, options.rounds, options.probes))
    if options.json:
        print(json.dumps(result))
        return
    print(
        "CPU per HTTP probe {http_us} µs, bare asyncio and h11 {h11_us} µs "
        "({http_times} times), bare httpx2.AsyncClient {async_client_us} µs "
        "({http_client_times} times)\n"
        "CPU per TCP probe {tcp_us} µs, a bare connect {connect_us} µs "
        "({tcp_times} times)".format(**result)
    )


if __name__ == "__main__":
    main()
