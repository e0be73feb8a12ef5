"""CPU time of `probetui watch` with 1,000 pods on 50 nodes.

Every pod has a liveness and a readiness probe every 10 seconds; every kubelet gets two
requests a period and responds like a real one, with the buckets of all durations. One
pod in a hundred restarts every minute. Everything is decoded, followed and journaled;
requests over a socket are measured separately. The yardstick only decodes the same data
and sends as many requests. Printing and drawing are not included.

    .venv/bin/python benchmarks/observe.py [--pods N] [--nodes N] [--seconds N]
"""

from __future__ import annotations

import argparse
import asyncio
import time
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx2
import msgspec
from limits import Limit, Yardstick, report_limits

from probetui.cluster.observe.observation import ClusterObservation

_LIMIT = 0.2
_START = datetime(2026, 11, 24, tzinfo=UTC)
_PERIOD = 10
_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, "+Inf")


def _pod(number: int, node: str, restarts: int, now: datetime) -> bytes:
    probe = {
        "httpGet": {"path": "/", "port": 8080, "scheme": "HTTP"},
        "periodSeconds": _PERIOD,
        "timeoutSeconds": 1,
        "successThreshold": 1,
        "failureThreshold": 3,
    }
    stamp = f"{now:%Y-%m-%dT%H:%M:%SZ}"
    status = {
        "name": "app",
        "ready": True,
        "started": True,
        "restartCount": restarts,
        "image": "app",
        "imageID": "app",
        "containerID": f"containerd://{number}-{restarts}",
        "state": {"running": {"startedAt": stamp}},
        "lastState": {},
    }
    pod: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": f"web-{number}", "namespace": "shop", "uid": f"u{number}"},
        "spec": {
            "nodeName": node,
            "containers": [
                {"name": "app", "image": "app", "livenessProbe": probe}
                | {"readinessProbe": probe}
            ],
        },
        "status": {"phase": "Running", "containerStatuses": [status]},
    }
    return msgspec.json.encode({"type": "MODIFIED", "object": pod})


def _metrics(numbers: range, count: int) -> bytes:
    lines = []
    for number in numbers:
        for kind in ("Liveness", "Readiness"):
            who = f'container="app",namespace="shop",pod="web-{number}"'
            lines += [
                f"prober_probe_duration_seconds_bucket{{{who},"
                f'probe_type="{kind}",le="{bound}"}} {count}'
                for bound in _BUCKETS
            ]
            lines.append(
                f'prober_probe_total{{{who},pod_uid="u{number}",probe_type="{kind}",'
                f'result="successful"}} {count}'
            )
    return "\n".join(lines).encode()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pods", type=int, default=1000)
    parser.add_argument("--nodes", type=int, default=50)
    parser.add_argument("--seconds", type=int, default=120)
    given = parser.parse_args()
    observation = ClusterObservation(_START)
    pods_per_node = given.pods // given.nodes
    homes = {
        f"node{number}": range(number * pods_per_node, (number + 1) * pods_per_node)
        for number in range(given.nodes)
    }
    for node, numbers in homes.items():
        for number in numbers:
            line = msgspec.json.decode(_pod(number, node, 0, _START))
            observation.set_pod(line["object"], _START)
    observation.take_entries()
    inputs: list[tuple[datetime, str, bytes]] = []
    for half in range(given.seconds * 2 // _PERIOD):
        now = _START + timedelta(seconds=half * _PERIOD / 2)
        for node, numbers in homes.items():
            inputs.append((now, node, _metrics(numbers, 10 + half // 2)))
        for number in range(half % 12, given.pods, 1200):
            home = f"node{number // pods_per_node}"
            inputs.append((now, "", _pod(number, home, 1 + half // 12, now)))
    began = time.process_time()
    ticks = 0
    shown_at = _START
    for now, node, data in inputs:
        if node:
            observation.record_counters(node, data, now, now)
        else:
            observation.set_pod(msgspec.json.decode(data)["object"], now)
        ticks += len(observation.take_entries())
        while shown_at <= now:  # once a second, like a screen
            observation.check(shown_at)
            observation.snapshot(shown_at)
            shown_at += timedelta(seconds=1)
    share = (time.process_time() - began) / given.seconds
    requests = given.nodes * 2 / _PERIOD
    cost = asyncio.run(_request_cost(_metrics(homes["node0"], 10)))
    bare = _bare_cost(inputs) / given.seconds
    print(f"{given.pods} pods on {given.nodes} nodes, {ticks} entries")
    print(f"following them:   {share:.3f} of a core, decoding alone {bare:.3f}")
    print(f"{requests:.0f} requests a second: {requests * cost:.3f} of a core")
    asking = requests * cost
    yardstick = Yardstick("bare", round(bare + asking, 3))
    whole = round(share + asking, 3)
    report_limits(Limit("together", whole, _LIMIT, "of a core", yardstick))


def _bare_cost(inputs: Sequence[tuple[datetime, str, bytes]]) -> float:
    """Return the CPU time of decoding the data only."""
    began = time.process_time()
    for _, node, data in inputs:
        if node:
            for line in data.decode().splitlines():
                name, _, value = line.rpartition(" ")
                assert name
                assert float(value) >= 0
        else:
            msgspec.json.decode(data)
    return time.process_time() - began


async def _request_cost(answer: bytes) -> float:
    """Return the processor time of one request over a socket, both its ends."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while await reader.read(65536):
            head = f"HTTP/1.1 200 OK\r\ncontent-length: {len(answer)}\r\n\r\n"
            writer.write(head.encode() + answer)
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    count = 200
    async with httpx2.AsyncClient() as client:
        await client.get(f"http://127.0.0.1:{port}/")
        began = time.process_time()
        for _ in range(count):
            await client.get(f"http://127.0.0.1:{port}/")
        spent = time.process_time() - began
    server.close()
    await asyncio.sleep(0.1)  # the connection ends
    return spent / count


if __name__ == "__main__":
    main()
