"""Replay the recording of a real cluster in an API server of the tests.

As a program it serves the recording in real time: `python -m tests.cluster.player PORT
[SECOND]`.
"""

from __future__ import annotations

import asyncio
import json
import re
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from probetui.cluster.serving.http_server import HttpResponse
from probetui.drive.clocks import SystemClock
from tests.cluster import recording
from tests.cluster.api_server.resources import EVENTS, NODES, PODS
from tests.cluster.api_server.store import WritableStore
from tests.cluster.servers import running_server

_TIME = re.compile(r'"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.\d+)?Z"')


class Step(NamedTuple):
    """A recorded change at an instant, in seconds of the recording."""

    at: float
    kind: str
    value: Any


def steps() -> list[Step]:
    """Return all recorded changes of the API server and the kubelet, in order."""
    found = [Step(line["t"], name, line["event"]) for name, line in _watch_lines()]
    series: dict[str, float] = {}
    for line in recording.lines("metrics-probes"):
        for removed_name in line.get("gone", ()):
            series.pop(removed_name, None)
        series.update(line.get("changed", {}))
        text = "".join(f"{name} {value}\n" for name, value in series.items())
        found.append(Step(line["t"], "metrics", text.encode()))
    return sorted(found, key=lambda step: step.at)


def _watch_lines() -> Iterator[tuple[str, Any]]:
    for name in ("pods", "events"):
        for line in recording.lines(f"{name}.watch"):
            event = line.get("event")
            if event and event["type"] != "BOOKMARK":
                yield name, line


def shifted(json_object: Any, by: timedelta) -> Any:
    """Return an object with all its instants moved."""

    def move(match: re.Match[str]) -> str:
        instant = datetime.fromisoformat(match[1]).replace(tzinfo=UTC) + by
        return f'"{instant:%Y-%m-%dT%H:%M:%SZ}"'

    return json.loads(_TIME.sub(move, json.dumps(json_object)))


class Player:
    """Puts the recording's objects into a store.

    Args:
        store: the API server's.
        shift: how much instants are moved.
    """

    def __init__(self, store: WritableStore, shift: timedelta) -> None:
        self._store = store
        self.shift = shift
        self.metrics = b""

    def node(self, address: str = "127.0.0.1") -> None:
        """Put the node."""
        status = {
            "addresses": [{"type": "InternalIP", "address": address}],
            "nodeInfo": {"kubeletVersion": "v1.36.2"},
        }
        node = {"metadata": {"name": "node1"}, "spec": {}, "status": status}
        self._store.put(NODES, {"apiVersion": "v1", "kind": "Node", **node})

    def replay(self, step: Step) -> None:
        """Apply a recorded change."""
        if step.kind == "metrics":
            self.metrics = step.value
            return
        resource = PODS if step.kind == "pods" else EVENTS
        value = shifted(step.value["object"], self.shift)
        metadata = value["metadata"]
        if step.value["type"] == "DELETED":
            self._store.remove(resource, metadata["namespace"], metadata["name"])
        else:
            self._store.put(resource, value)


async def replay(player: Player, clock: SystemClock, since: float) -> None:
    """Replay the recording after an instant, in real time."""
    left = [step for step in steps() if step.at > since]
    now = clock.now()
    player.shift = now - recording.at(since)
    began = now - timedelta(seconds=since)
    for step in left:
        await clock.sleep_until(began + timedelta(seconds=step.at))
        player.replay(step)


def put_state_at(store: WritableStore, clock: SystemClock, instant: float) -> Player:
    """Put the objects at an instant of the recording, as if that were now."""
    player = Player(store, clock.now() - recording.at(instant))
    player.node()
    for step in steps():
        if step.at <= instant:
            player.replay(step)
    return player


async def _serve(port: int, since: float) -> None:
    async def metrics(*_: Any) -> HttpResponse:
        return HttpResponse(200, body=player.metrics)

    clock = SystemClock()
    async with running_server(port=port, connect={"nodes/proxy": metrics}) as server:
        player = put_state_at(server.store, clock, since)
        sys.stdout.write(f"{server.url}\n")
        sys.stdout.flush()
        await replay(player, clock, since)
        await asyncio.sleep(3600)


if __name__ == "__main__":
    asyncio.run(_serve(int(sys.argv[1]), float((*sys.argv, "0")[2])))
