"""Logs that have become too long."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path

import grpc
import pytest

from probetui.runtimes.cri import log_rotation
from probetui.runtimes.cri import runtime_v1_pb2 as cri
from probetui.runtimes.cri.client import CriClient
from probetui.runtimes.cri.log_rotation import LogRotation, list_rotated
from probetui.runtimes.cri.logs import follow_log
from probetui.runtimes.cri.translate import CriContainer, to_container
from probetui.runtimes.log_limits import MAX_FILES
from tests.runtimes.cri.server import CriServer
from tests.runtimes.cri.test_logs import entry, write

LIMIT = 100


@pytest.fixture
async def client(server: CriServer) -> AsyncIterator[CriClient]:
    made = CriClient(server.socket)
    yield made
    await made.close()


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(log_rotation, "POD_LOGS", str(tmp_path / "pods"))
    folder = tmp_path / "pods/web"
    folder.mkdir(parents=True)
    return folder / "0.log"


@pytest.fixture
def container(server: CriServer, log: Path) -> CriContainer:
    """Return a container that runs, and writes to the log."""
    status = server.containers[server.add_container({})][1]
    status.log_path = str(log)
    return to_container(status, "fake")


async def test_a_log_that_is_too_long_is_set_aside_and_a_new_one_begun(
    server: CriServer, client: CriClient, container: CriContainer, log: Path
) -> None:
    write(log, b"x" * (LIMIT + 1))

    await LogRotation(client, LIMIT).rotate_long_logs([container])

    (aside,) = list_rotated(log)
    assert size(aside) == LIMIT + 1
    assert size(log) == 0
    assert server.call_counts["ReopenContainerLog"] == 1


@pytest.mark.parametrize(
    ("length", "state"),
    [
        pytest.param(LIMIT, cri.CONTAINER_RUNNING, id="not too long"),
        pytest.param(LIMIT + 1, cri.CONTAINER_EXITED, id="of a container that ended"),
    ],
)
async def test_others_stay(
    server: CriServer,
    client: CriClient,
    log: Path,
    length: int,
    state: cri.ContainerState,
) -> None:
    write(log, b"x" * length)
    status = server.containers[server.add_container({}, state)][1]
    status.log_path = str(log)

    await LogRotation(client, LIMIT).rotate_long_logs([to_container(status, "fake")])

    assert size(log) == length


async def test_logs_are_checked_at_intervals(
    client: CriClient, container: CriContainer, log: Path
) -> None:
    log_rotation = LogRotation(client, LIMIT)
    await log_rotation.rotate_long_logs([container])
    write(log, b"x" * (LIMIT + 1))

    await log_rotation.rotate_long_logs([container])

    assert size(log) == LIMIT + 1


async def test_the_oldest_make_room(
    client: CriClient, container: CriContainer, log: Path
) -> None:
    for day in range(10, 17):
        write(log.with_name(f"0.log.202501{day}-000000"), b"old")
    write(log, b"x" * (LIMIT + 1))

    await LogRotation(client, LIMIT).rotate_long_logs([container])

    names = sorted(path.name for path in list_rotated(log))
    assert len(names) == MAX_FILES - 1
    assert names[:-1] == [f"0.log.202501{day}-000000" for day in (14, 15, 16)]


async def test_what_was_set_aside_is_no_more_than_all_files_may_hold(
    client: CriClient, container: CriContainer, log: Path
) -> None:
    for day in range(10, 13):
        write(log.with_name(f"0.log.202501{day}-000000"), b"x" * 3 * LIMIT)
    write(log, b"x" * (LIMIT + 1))

    await LogRotation(client, LIMIT).rotate_long_logs([container])

    names = sorted(aside.name for aside in list_rotated(log))
    assert names[:-1] == ["0.log.20250112-000000"]


async def test_a_runtime_that_refuses_keeps_its_log(
    server: CriServer, client: CriClient, container: CriContainer, log: Path
) -> None:
    server.refusing["ReopenContainerLog"] = grpc.StatusCode.UNKNOWN
    write(log, b"x" * (LIMIT + 1))

    await LogRotation(client, LIMIT).rotate_long_logs([container])

    assert size(log) == LIMIT + 1
    assert list_rotated(log) == []


async def test_who_follows_reads_on_in_the_new_one(log: Path) -> None:
    ended = asyncio.Event()

    async def has_ended() -> bool:
        return ended.is_set()

    write(log, entry("one"))
    lines = follow_log(str(log), tail=10, has_ended=has_ended)
    first = (await anext(lines)).text
    write(log, entry("two"))
    os.rename(log, f"{log}.1")  # noqa: PTH104, TID251  # at once, in a coroutine
    write(log, entry("three"))
    ended.set()

    assert first == "one"
    assert [line.text async for line in lines] == ["two", "three"]


def size(path: Path) -> int:
    return path.stat().st_size


@pytest.mark.parametrize("name", ["0.log", "pods/../0.log", "link/0.log"])
async def test_nothing_is_renamed_that_is_not_below_the_logs_of_pods(
    server: CriServer, client: CriClient, log: Path, tmp_path: Path, name: str
) -> None:
    (log.parent.parent / "link").symlink_to(tmp_path)
    beside = tmp_path / "0.log"
    write(beside, b"x" * (LIMIT + 1))
    status = server.containers[server.add_container({})][1]
    status.log_path = str(tmp_path / name.replace("link", "pods/link"))

    await LogRotation(client, LIMIT).rotate_long_logs([to_container(status, "fake")])

    assert size(beside) == LIMIT + 1
    assert server.call_counts["ReopenContainerLog"] == 0
