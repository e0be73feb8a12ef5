"""Logs that have become too long."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import os
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import grpc
import pytest

from probetui.errors import ContainerRuntimeError
from probetui.k8s.runtime import LogLine
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


async def test_a_log_is_not_put_in_place_of_one_of_the_same_second(
    client: CriClient, container: CriContainer, log: Path
) -> None:
    write(log, b"x" * (LIMIT + 1))
    os.utime(log, (0, 0))
    aside = log.with_name("0.log.19700101-000000")
    write(aside, b"before")

    await LogRotation(client, LIMIT).rotate_long_logs([container])

    assert size(log) == LIMIT + 1
    assert size(aside) == len(b"before")


class Followed:
    """A log that is followed, and rotated as a kubelet does it."""

    def __init__(self, log: Path) -> None:
        self._log = log
        self._count = 0
        self._has_ended = False
        self.lines = follow_log(str(log), tail=1_000, has_ended=self._ask)

    async def _ask(self) -> bool:
        return self._has_ended

    def print(self, *texts: str, tag: str = "F") -> None:
        write(self._log, *(entry(text, tag, at=self._next()) for text in texts))

    def _next(self) -> int:
        self._count += 1
        return self._count

    def aside(self) -> Path:
        """Set the log aside, and return its new path."""
        to = self._log.with_name(f"0.log.20250101-{self._next():06}")
        os.rename(self._log, to)  # noqa: PTH104, TID251  # a log of the test's
        return to

    def remove(self) -> None:
        self._log.unlink()

    def rotate(self, *, keeps: int = 4) -> None:
        """Set the log aside, compress older ones, remove the oldest."""
        older = sorted(list_rotated(self._log))
        for path in older:
            if path.suffix != ".gz":
                compress(path)
        self.aside()
        self._log.touch()
        for path in sorted(list_rotated(self._log))[:-keeps]:
            path.unlink()

    async def rest(self) -> list[LogLine]:
        """Return what is told up to the end."""
        self._has_ended = True
        return [line async for line in self.lines]


def compress(path: Path) -> Path:
    """Compress a file; return its new path."""
    compressed = Path(f"{path}.gz")
    compressed.write_bytes(gzip.compress(path.read_bytes()))
    path.unlink()
    return compressed


@pytest.fixture
async def followed(log: Path) -> AsyncIterator[Followed]:
    """Return a log of which the first line is read."""
    followed = Followed(log)
    followed.print("0")
    async with contextlib.aclosing(followed.lines):
        assert (await anext(followed.lines)).text == "0"
        yield followed


@pytest.mark.parametrize("times", range(5))
async def test_who_follows_reads_all_files_that_were_set_aside(
    followed: Followed, times: int
) -> None:
    for number in range(times):
        followed.print(f"{number} begins", f"{number} ends")
        followed.rotate()
    followed.print("last")

    told = await followed.rest()

    assert [line.text for line in told] == [
        *(f"{number} {what}" for number in range(times) for what in ("begins", "ends")),
        "last",
    ]
    assert not any(line.is_after_gap for line in told)


@pytest.mark.parametrize("count", range(7))
async def test_the_last_lines_are_those_of_all_files(
    followed: Followed, log: Path, count: int
) -> None:
    followed.print("1", "2", "be", tag="F")
    followed.rotate()
    followed.print("gi", tag="P")
    followed.rotate()
    followed.print("ns")

    lines = follow_log(str(log), tail=count, has_ended=None)

    expected = ["0", "1", "2", "be", "gins"]
    assert [line.text async for line in lines] == expected[max(0, 5 - count) :]


@pytest.mark.parametrize("keeps", [1, 2, 3])
async def test_lines_of_a_file_that_is_removed_before_it_is_read_are_said_to_be_lost(
    followed: Followed, keeps: int
) -> None:
    for number in range(4):
        followed.print(str(number))
        followed.rotate(keeps=keeps)
    followed.print("last")

    told = await followed.rest()

    kept = [str(number) for number in range(4 - keeps, 4)]
    assert [line.text for line in told] == ["0", *kept, "last"]
    assert [line.is_after_gap for line in told] == [False, True] + [False] * keeps


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(lambda whole: whole[:-20], id="cut short"),
        pytest.param(lambda whole: whole[:30] + b"!" * 30, id="overwritten"),
        pytest.param(lambda _whole: b"not compressed", id="something else"),
    ],
)
async def test_of_a_damaged_file_lines_are_said_to_be_lost(
    followed: Followed, damage: Callable[[bytes], bytes]
) -> None:
    followed.rotate()
    followed.print("one")
    path = compress(followed.aside())
    path.write_bytes(damage(path.read_bytes()))
    followed.print("last")

    told = await followed.rest()

    assert [line.text for line in told] == ["last"]
    assert told[-1].is_after_gap


async def test_a_log_that_is_removed_and_made_again_is_read_on(
    followed: Followed,
) -> None:
    followed.remove()
    followed.print("last")

    told = await followed.rest()

    assert [(line.text, line.is_after_gap) for line in told] == [("last", False)]


@pytest.mark.parametrize("count", [1, 100])
async def test_of_a_log_that_is_emptied_in_place_lines_may_be_lost(
    followed: Followed, log: Path, count: int
) -> None:
    write(log, b"")
    with log.open("r+b") as file:
        file.truncate()
    texts = [f"after {number}" for number in range(count)]
    followed.print(*texts)

    told = await followed.rest()

    assert [line.text for line in told] == texts
    assert [line.is_after_gap for line in told] == [True] + [False] * (count - 1)


async def test_what_is_lost_at_the_end_of_a_log_is_an_error(followed: Followed) -> None:
    followed.rotate()
    followed.print("lost")
    followed.rotate(keeps=1)
    followed.rotate(keeps=1)

    with pytest.raises(ContainerRuntimeError, match="printed last may be lost"):
        await followed.rest()


async def test_a_line_goes_on_in_the_next_file_and_a_torn_one_does_not(
    followed: Followed, log: Path
) -> None:
    followed.print("be", tag="P")
    followed.rotate()
    followed.print("gun")
    write(log, entry("torn", at=0)[:-2])
    followed.rotate()
    followed.print("last")

    assert [line.text for line in await followed.rest()] == ["begun", "tor", "last"]


async def test_what_is_written_to_the_old_file_after_the_new_one_is_made_is_read(
    followed: Followed, log: Path
) -> None:
    aside = followed.aside()
    write(log)
    reading = asyncio.ensure_future(anext(followed.lines))
    await asyncio.sleep(0)

    write(aside, entry("late"))
    followed.print("last")

    assert (await reading).text == "late"
    assert [line.text for line in await followed.rest()] == ["last"]


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
