"""API servers that attack: the event loop runs, and memory is bounded, and comes back.

The client is tried alone; `test_sessions_with_api_servers` has whole sessions.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import subprocess
import sys
import tracemalloc
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path

import pytest

from probetui.cluster import client as client_module
from probetui.cluster.client import PODS, ApiClient
from probetui.cluster.errors import ClusterError, ServerUnreachableError
from probetui.cluster.kubeconfig import load_access
from probetui.cluster.observe.kubelet_counters import ProxyCounters
from probetui.drive.clocks import SystemClock
from tests.cluster.servers import write_kubeconfig
from tests.hostile.api_servers import MEBIBYTE, NAME
from tests.turns import LONGEST_TURN_SECONDS, measured_turns

MOST_MEMORY = 130 * MEBIBYTE
"""What is asked for is that a session grows by less than 150 MB."""

PATIENCE_SECONDS = 60
_LOOKED_AT_SECONDS = 1.0
"""Of a watch that never ends."""


@contextlib.contextmanager
def attacking(
    attack: str, place: str, port: int = 80, times: float = math.inf
) -> Iterator[str]:
    """Run a server in a process of its own; yield its URL."""
    with subprocess.Popen(
        [
            *(sys.executable, "-m", "tests.hostile.api_servers"),
            *(attack, place, str(port), str(times)),
        ],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.kill()


@contextlib.asynccontextmanager
async def _client(
    attack: str, place: str, folder: Path, token: str = ""
) -> AsyncIterator[ApiClient]:
    with attacking(attack, place) as url:
        config = write_kubeconfig(folder / "config", url, token=token)
        access = load_access(str(config), environ={})
        async with ApiClient(access, SystemClock()) as client:
            yield client


async def _list(client: ApiClient) -> None:
    async for _ in (await client.list(PODS)).objects():
        pass


async def _watch(client: ApiClient) -> None:
    async with asyncio.timeout(_LOOKED_AT_SECONDS):
        async for _ in client.watch(PODS, resource_version="1"):
            pass


async def _get(client: ApiClient) -> None:
    await client.get(PODS, "default", NAME)


async def _read_log(client: ApiClient) -> None:
    async with asyncio.timeout(_LOOKED_AT_SECONDS):
        async for _ in client.log_lines("default", NAME, {}):
            pass


async def _fetch(client: ApiClient) -> None:
    await ProxyCounters(client).fetch("node-of-the-test")


_WORK: dict[str, Callable[[ApiClient], Awaitable[None]]] = {
    "list": _list,
    "watch": _watch,
    "object": _get,
    "refusal": _get,
    "log": _read_log,
    "metrics": _fetch,
}
_BODIES = ("gzip", "gzip-thrice", "gzip-thrice-401", "spaces", "small-chunks")
_JSON = ("values", "numbers", "strings", "depth", "annotation", "escapes")
_CASES = [
    *(("list", attack) for attack in (*_BODIES, *_JSON, "objects", "continue")),
    ("list", "informational"),
    *(("watch", attack) for attack in (*_BODIES, *_JSON, "updates", "new-pods")),
    *(("object", attack) for attack in (*_BODIES, *_JSON)),
    ("refusal", "gzip-thrice-401"),
    *(("log", attack) for attack in _BODIES),
    *(("metrics", attack) for attack in _BODIES),
]


@pytest.mark.parametrize(
    ("place", "attack"), [pytest.param(*case, id="-".join(case)) for case in _CASES]
)
async def test_an_answer_is_bounded_and_the_loop_runs(
    place: str, attack: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client_module, "REQUEST_SECONDS", 5.0)
    async with _client(attack, place, tmp_path) as client:
        tracemalloc.start()
        try:
            async with measured_turns() as turns, asyncio.timeout(PATIENCE_SECONDS):
                with contextlib.suppress(ClusterError, TimeoutError):
                    await _WORK[place](client)
            left, most = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()

    assert most < MOST_MEMORY
    assert left < 2 * MEBIBYTE
    # Counting each allocation makes what is decoded several times slower.
    assert turns.longest < 3 * LONGEST_TURN_SECONDS


@pytest.mark.parametrize("place", ["list", "object", "metrics", "watch", "refusal"])
async def test_an_answer_that_drips_has_an_end(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client_module, "REQUEST_SECONDS", 0.5)
    async with _client("drip", place, tmp_path) as client:
        with pytest.raises(ServerUnreachableError, match=r"within 0\.5s"):
            await _WORK[place](client)


async def test_a_list_of_empty_pages_has_an_end(tmp_path: Path) -> None:
    async with _client("empty-pages", "list", tmp_path) as client:
        with pytest.raises(ClusterError, match="a list of more than 1000 pages"):
            await client.list(PODS)


async def test_a_list_without_an_end_is_named(tmp_path: Path) -> None:
    async with _client("continue", "list", tmp_path) as client:
        with pytest.raises(ClusterError, match="a list of more than 64 MiB"):
            await client.list(PODS)
