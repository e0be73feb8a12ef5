"""The cost of our CRI client, on a real runtime.

    python benchmarks/cri.py [-r URL] [--execs N] [--rounds N] [--pods N]
                             [--seconds N] [--json]

Wall time of a command in a container, with our client and with grpc.aio alone; rounds
of both alternate, and the best of each counts. CPU time of this process while it
relists many pods once a second. The pods are removed at the end.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import grpc.aio
from limits import times

from probetui.drive.clocks import SystemClock
from probetui.k8s.pod import Container, Pod
from probetui.k8s.runtime import ContainerID
from probetui.kubelet.effects import CreateContainer, RunPodSandbox
from probetui.runtimes.cri import runtime_v1_pb2 as cri
from probetui.runtimes.cri.connection import connect, list_endpoints, socket_path
from probetui.runtimes.cri.runtime import CriOptions, CriRuntime
from probetui.runtimes.cri.translate import to_cri_id

IMAGE = "busybox:1.36"
COMMAND = ("true",)
MILLISECONDS = 1000
AT_ONCE = 4

Act = Callable[[], Awaitable[None]]


async def run_pod(runtime: CriRuntime, number: int) -> ContainerID:
    """Run a pod with one container that sleeps; it needs no pod network."""
    container = Container("app", IMAGE, command=("sleep", "3600"))
    name = f"bench-{os.getpid()}-{number}"
    pod = Pod(name, name, containers=(container,), host_network=True)
    sandbox_id = await runtime.run_pod_sandbox(RunPodSandbox(pod, 0))
    image_id = await runtime.image_status(IMAGE) or ""
    container_id = await runtime.create_container(
        CreateContainer(pod, container, sandbox_id, 0, image_id)
    )
    await runtime.start_container(container_id)
    return container_id


async def run_pods(runtime: CriRuntime, count: int) -> list[ContainerID]:
    """Run pods, a few at a time."""
    turn = asyncio.Semaphore(AT_ONCE)

    async def run(number: int) -> ContainerID:
        async with turn:
            return await run_pod(runtime, number)

    return list(await asyncio.gather(*map(run, range(count))))


async def remove_pods(runtime: CriRuntime) -> None:
    for pod in await runtime.relist():
        for sandbox in pod.sandboxes:
            await runtime.stop_pod_sandbox(sandbox.sandbox_id)
            await runtime.remove_pod_sandbox(sandbox.sandbox_id)


def ours(runtime: CriRuntime, container_id: ContainerID) -> Act:
    """Return a command with our client."""

    async def act() -> None:
        result = await runtime.exec_sync(container_id, COMMAND, 10)
        if result.exit_code:
            raise SystemExit(f"the command failed: {result}")

    return act


def bare(channel: grpc.aio.Channel, container_id: ContainerID) -> Act:
    """Return the same call with grpcio alone."""
    call = channel.unary_unary(
        "/runtime.v1.RuntimeService/ExecSync",
        request_serializer=cri.ExecSyncRequest.SerializeToString,
        response_deserializer=cri.ExecSyncResponse.FromString,
    )

    async def act() -> None:
        request = cri.ExecSyncRequest(
            container_id=to_cri_id(container_id), cmd=COMMAND, timeout=10
        )
        answer = await call(request, timeout=130)
        if answer.exit_code:
            raise SystemExit(f"the command failed: {answer}")

    return act


async def wall_per_call(act: Act, calls: int) -> float:
    """Return the wall time of one call, in milliseconds."""
    await act()
    started_at = time.perf_counter()
    for _ in range(calls):
        await act()
    return (time.perf_counter() - started_at) / calls * MILLISECONDS


async def measure_execs(
    runtime: CriRuntime, socket: str, container_id: ContainerID, rounds: int, calls: int
) -> dict[str, float]:
    """Alternate rounds and return the best of each."""
    async with grpc.aio.insecure_channel(f"unix://{socket}") as channel:
        acts = {
            "exec_ms": ours(runtime, container_id),
            "bare_ms": bare(channel, container_id),
        }
        seen: dict[str, list[float]] = {name: [] for name in acts}
        for _ in range(rounds):
            for name, act in acts.items():
                seen[name].append(await wall_per_call(act, calls))
    best = {name: round(min(values), 2) for name, values in seen.items()}
    return best | {"exec_times": times(best["exec_ms"], best["bare_ms"])}


async def measure_relists(runtime: CriRuntime, seconds: int) -> dict[str, float]:
    """Relist once a second; return its CPU usage in percent of a core."""
    pods = await runtime.relist()
    walls = []
    wall, cpu = time.perf_counter(), time.process_time()
    for number in range(seconds):
        started_at = time.perf_counter()
        await runtime.relist()
        walls.append(time.perf_counter() - started_at)
        await asyncio.sleep(max(0, wall + number + 1 - time.perf_counter()))
    share = (time.process_time() - cpu) / (time.perf_counter() - wall)
    return {
        "pods": len(pods),
        "relist_percent": round(100 * share, 2),
        "relist_ms": round(min(walls) * MILLISECONDS, 1),
    }


async def measure(options: argparse.Namespace) -> dict[str, float]:
    (place, *_) = list_endpoints(options.runtime_endpoint)
    with tempfile.TemporaryDirectory(prefix="probetui-bench-") as folder:
        runtime = await connect(
            SystemClock(),
            CriOptions(Path(folder), owner=f"bench-{os.getpid()}"),
            endpoint=options.runtime_endpoint,
        )
        try:
            container_id, *_ = await run_pods(runtime, max(1, options.pods))
            execs = await measure_execs(
                runtime,
                socket_path(place.url) or "",
                container_id,
                options.rounds,
                options.execs,
            )
            return execs | await measure_relists(runtime, options.seconds)
        finally:
            await remove_pods(runtime)
            await runtime.close()


def main() -> None:
    parser = argparse.ArgumentParser(description="The cost of a client of the CRI")
    parser.add_argument("-r", "--runtime-endpoint", metavar="URL")
    parser.add_argument("--execs", type=int, default=20, help="in each round")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--pods", type=int, default=100)
    parser.add_argument("--seconds", type=int, default=20, help="of relisting")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    result = asyncio.run(measure(options))
    if options.json:
        print(json.dumps(result))
        return
    print(
        "command in a container {exec_ms} ms, the bare call {bare_ms} ms "
        "({exec_times} times); {pods} pods relisted each second take "
        "{relist_percent} % of a core, {relist_ms} ms each".format(**result)
    )


if __name__ == "__main__":
    main()
