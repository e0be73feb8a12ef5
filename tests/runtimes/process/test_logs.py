"""What containers print."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from probetui.k8s.runtime import LogLine
from probetui.runtimes.process import logs
from tests.fakes import FakeClock


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "0.log"


class Ending:
    """Whether the container has ended."""

    def __init__(self) -> None:
        self.has_come = False

    def __call__(self) -> bool:
        return self.has_come


def append(log: Path, text: bytes) -> None:
    descriptor = logs.open_log(log)
    os.write(descriptor, text)
    os.close(descriptor)


def content(log: Path) -> bytes:
    return log.read_bytes()


def size_on_disk(path: Path) -> int:
    return path.stat().st_blocks * 512


async def texts(lines: AsyncIterator[LogLine]) -> list[str]:
    return [line.text async for line in lines]


async def last(log: Path, count: int) -> list[str]:
    return await texts(logs.follow(log, tail=count, has_ended=None, clock=FakeClock()))


@pytest.mark.parametrize(
    ("text", "count", "expected"),
    [
        pytest.param(b"", 5, [], id="nothing"),
        pytest.param(b"one\ntwo\n", 5, ["one", "two"], id="fewer than asked for"),
        pytest.param(b"one\ntwo\nthree\n", 2, ["two", "three"], id="more"),
        pytest.param(b"one\ntwo\nth", 2, ["two", "th"], id="an unfinished line"),
        pytest.param(b"one\n\n\n", 2, ["", ""], id="empty lines"),
        pytest.param(b"one\ntwo\n", 0, [], id="none asked for"),
        pytest.param(b"\xff\x1b[31m\n", 1, ["\udcff\x1b[31m"], id="any bytes"),
    ],
)
async def test_the_last_lines_are_read(
    log: Path, text: bytes, count: int, expected: list[str]
) -> None:
    append(log, text)

    assert await last(log, count) == expected


async def test_the_last_lines_of_a_long_log_are_read(log: Path) -> None:
    append(log, b"".join(b"%06d\n" % number for number in range(100_000)))

    assert await last(log, 3) == ["099997", "099998", "099999"]
    assert len(await last(log, 50_000)) == 50_000


async def test_a_container_that_printed_nothing_has_no_lines(log: Path) -> None:
    assert await last(log, 10) == []


async def test_later_lines_are_followed_to_the_end(log: Path) -> None:
    clock, ending = FakeClock(), Ending()
    append(log, b"before\nhal")
    follower = asyncio.ensure_future(
        texts(logs.follow(log, tail=1, has_ended=ending, clock=clock))
    )

    await clock.advance(logs.POLL)
    append(log, b"f\nafter\n")
    await clock.advance(logs.POLL)
    append(log, b"the end")
    ending.has_come = True
    await clock.advance(logs.POLL)

    assert await follower == ["half", "after", "the end"]


async def test_all_that_was_printed_before_the_end_is_read(log: Path) -> None:
    clock, ending = FakeClock(), Ending()
    follower = asyncio.ensure_future(
        texts(logs.follow(log, tail=10, has_ended=ending, clock=clock))
    )
    await clock.settle()

    append(log, b"x\n" * 3 * logs.BLOCK_BYTES)
    ending.has_come = True
    await clock.advance(logs.POLL)

    assert len(await follower) == 3 * logs.BLOCK_BYTES


async def test_a_container_can_be_followed_before_it_starts(log: Path) -> None:
    clock, ending = FakeClock(), Ending()
    follower = asyncio.ensure_future(
        texts(logs.follow(log, tail=10, has_ended=ending, clock=clock))
    )

    await clock.advance(logs.POLL)
    append(log, b"hello\n")
    ending.has_come = True
    await clock.advance(logs.POLL)

    assert await follower == ["hello"]


@pytest.mark.parametrize(
    "before",
    [
        pytest.param(b"", id="to come"),
        pytest.param(b"x" * (2 * logs.MAX_LINE_BYTES + 10), id="there already"),
    ],
)
async def test_a_line_without_an_end_is_returned_in_parts(
    log: Path, before: bytes
) -> None:
    clock, ending = FakeClock(), Ending()
    append(log, before)
    follower = asyncio.ensure_future(
        texts(logs.follow(log, tail=10, has_ended=ending, clock=clock))
    )

    await clock.advance(logs.POLL)
    append(log, b"x" * (2 * logs.MAX_LINE_BYTES + 10 - len(before)))
    ending.has_come = True
    await clock.advance(logs.POLL)

    assert [len(part) for part in await follower] == [
        logs.MAX_LINE_BYTES,
        logs.MAX_LINE_BYTES,
        10,
    ]


def test_a_log_whose_folder_is_something_else_by_now_is_left(tmp_path: Path) -> None:
    """Containers run as the same user; the logs of all others are rotated on."""
    (tmp_path / "folder").touch()

    assert not logs.is_too_long(tmp_path / "folder" / "0.log")


async def test_a_log_that_is_too_long_is_moved_away_and_can_still_be_read(
    log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logs, "MAX_FILE_BYTES", 10)
    writer = logs.open_log(log)
    os.write(writer, b"one\ntwo\nthree\n")

    logs.rotate(log)
    os.write(writer, b"four\n")
    logs.rotate(log)
    os.close(writer)

    assert content(log) == b"four\n"
    assert await last(log, 3) == ["two", "three", "four"]


async def test_who_follows_a_log_loses_nothing_when_it_is_moved_away(
    log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logs, "MAX_FILE_BYTES", 10)
    clock, ending = FakeClock(), Ending()
    append(log, b"one\n")
    follower = asyncio.ensure_future(
        texts(logs.follow(log, tail=10, has_ended=ending, clock=clock))
    )
    await clock.advance(logs.POLL)

    append(log, b"two\nthree\n")
    logs.rotate(log)
    append(log, b"4\n")
    ending.has_come = True
    await clock.advance(logs.POLL)

    assert await follower == ["one", "two", "three", "4"]


async def test_only_the_end_of_a_flood_is_moved_away(
    log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logs, "MAX_FILE_BYTES", 100_000)
    with log.open("wb") as file:
        file.truncate(1 << 40)
    append(log, b"\nthe end\n")

    logs.rotate(log)
    moved = log.with_name("0.log.1")

    assert content(log) == b""
    assert (await last(log, 1)) == ["the end"]
    assert size_on_disk(moved) < 1 << 20


async def test_following_a_flood_continues_at_its_end(
    log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logs, "MAX_FILE_BYTES", 10_000)
    monkeypatch.setattr(logs, "UNREAD_BYTES", 4)
    clock, ending = FakeClock(), Ending()
    append(log, b"one\n")
    follower = asyncio.ensure_future(
        texts(logs.follow(log, tail=10, has_ended=ending, clock=clock))
    )
    await clock.settle()

    append(log, b"x\n" * 10_000 + b"two\n")
    logs.rotate(log)
    append(log, b"3\n")
    ending.has_come = True
    await clock.advance(logs.POLL)

    assert await follower == ["one", "two", "3"]


def test_a_log_that_is_gone_needs_no_room(log: Path) -> None:
    logs.rotate(log)

    assert not log.exists()


def test_a_termination_message_is_the_end_of_the_log(log: Path) -> None:
    append(log, b"".join(b"line %d\n" % number for number in range(200)))

    message = logs.last_message(log)

    assert message.startswith(b"line 120\n")
    assert message.endswith(b"line 199\n")


def test_a_termination_message_has_a_limit(log: Path) -> None:
    append(log, b"x" * 10_000 + b"\nend")

    message = logs.last_message(log)

    assert len(message) == 2048
    assert message.endswith(b"x\nend")


async def test_a_log_without_a_line_end_is_read_in_parts(log: Path) -> None:
    append(log, b"x" * (3 * logs.MAX_LINE_BYTES + 1))

    read = await last(log, 10)

    assert [len(part) for part in read] == [logs.MAX_LINE_BYTES] * 3 + [1]


def test_a_log_without_a_line_end_is_read_only_as_far_as_requested(
    log: Path,
) -> None:
    append(log, b"x" * (64 * logs.MAX_LINE_BYTES))

    text, end = logs._last_bytes(log, 4)

    assert end == 64 * logs.MAX_LINE_BYTES
    assert len(text) <= 4 * logs.MAX_LINE_BYTES + 2 * logs.BLOCK_BYTES
