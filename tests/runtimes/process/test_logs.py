"""What containers print."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Sequence
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


def resize(log: Path, size: int) -> None:
    with log.open("r+b") as file:
        file.truncate(size)


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


BLOCK = 4096
"""What common file systems free at once."""


@pytest.fixture
def small_logs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logs, "MAX_FILE_BYTES", BLOCK)


def numbered(numbers: range) -> bytes:
    """Return lines of eight bytes."""
    return b"".join(b"%07d\n" % number for number in numbers)


def is_told_or_said(lines: Sequence[LogLine], count: int) -> bool:
    """Return whether each number is told once and in order, or a gap is said there."""
    before = -1
    for line in lines:
        number = int(line.text)
        if number <= before or line.is_after_gap is (number == before + 1):
            return False
        before = number
    return before == count - 1


@pytest.mark.usefixtures("small_logs")
async def test_of_a_log_that_is_too_long_the_end_is_kept(log: Path) -> None:
    writer = logs.open_log(log)
    os.write(writer, numbered(range(8 * BLOCK)))

    logs.free_space(log)
    os.write(writer, b"four\n")
    logs.free_space(log)
    os.close(writer)

    assert size_on_disk(log) <= 3 * BLOCK
    assert (await last(log, 3))[-2:] == [f"{8 * BLOCK - 1:07}", "four"]


@pytest.mark.usefixtures("small_logs")
@pytest.mark.parametrize("more", range(9))
async def test_no_line_is_told_of_which_only_the_end_is_kept(
    log: Path, more: int
) -> None:
    clock, ending = FakeClock(), Ending()
    append(log, numbered(range(10)))
    lines = logs.follow(log, tail=10, has_ended=ending, clock=clock)
    told = [await anext(lines) for _ in range(10)]

    append(log, b"x" * more + b"\n" + numbered(range(10, 2 * BLOCK)))
    logs.free_space(log)
    ending.has_come = True
    told += [line async for line in lines]

    assert is_told_or_said(told, 2 * BLOCK)
    assert {len(text) for text in await last(log, BLOCK)} == {7}


@pytest.mark.usefixtures("small_logs")
@pytest.mark.parametrize("times", [1, 2, 5])
async def test_who_follows_a_log_is_told_all_or_what_is_lost(
    log: Path, times: int
) -> None:
    clock, ending = FakeClock(), Ending()
    append(log, numbered(range(10)))
    lines = logs.follow(log, tail=10, has_ended=ending, clock=clock)
    told = [await anext(lines) for _ in range(10)]

    for number in range(times):
        append(log, numbered(range(10 + number * BLOCK, 10 + (number + 1) * BLOCK)))
        logs.free_space(log)
    ending.has_come = True
    told += [line async for line in lines]

    assert is_told_or_said(told, 10 + times * BLOCK)
    assert [line.is_after_gap for line in told].count(True) == 1


@pytest.mark.usefixtures("small_logs")
async def test_who_follows_a_log_loses_nothing_of_which_the_space_is_not_freed(
    log: Path,
) -> None:
    clock, ending = FakeClock(), Ending()
    lines = logs.follow(log, tail=10, has_ended=ending, clock=clock)
    append(log, numbered(range(10)))
    told = [await anext(lines) for _ in range(10)]
    append(log, numbered(range(10, BLOCK)))
    told += [await anext(lines) for _ in range(BLOCK - 10)]

    append(log, numbered(range(BLOCK, BLOCK + 100)))
    logs.free_space(log)
    ending.has_come = True
    told += [line async for line in lines]

    assert size_on_disk(log) <= 3 * BLOCK
    assert is_told_or_said(told, BLOCK + 100)
    assert not any(line.is_after_gap for line in told)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        pytest.param("LONGEST_FILE_BYTES", BLOCK, id="too long"),
        pytest.param("_punch_hole", lambda _file, _end: False, id="without holes"),
    ],
)
@pytest.mark.usefixtures("small_logs")
async def test_a_log_that_cannot_have_a_hole_is_emptied(
    log: Path, monkeypatch: pytest.MonkeyPatch, name: str, value: object
) -> None:
    monkeypatch.setattr(logs, name, value)
    append(log, numbered(range(8 * BLOCK)))

    logs.free_space(log)

    assert content(log) == b""


@pytest.mark.parametrize(
    "empty",
    [
        pytest.param(Path.unlink, id="another file"),
        pytest.param(lambda log: resize(log, 0), id="in place"),
    ],
)
@pytest.mark.parametrize("after", [1, 20, 2_000])
async def test_a_log_that_is_emptied_in_place_is_read_from_its_beginning(
    log: Path, after: int, empty: Callable[[Path], None]
) -> None:
    clock, ending = FakeClock(), Ending()
    append(log, numbered(range(20)) + b"begun")
    lines = logs.follow(log, tail=21, has_ended=ending, clock=clock)
    told = [await anext(lines) for _ in range(20)]

    empty(log)
    append(log, numbered(range(100, 100 + after)))
    ending.has_come = True
    begun, first, *others = [line async for line in lines]

    assert begun == LogLine(None, "begun")
    assert first == LogLine(None, "0000100", is_after_gap=True)
    assert is_told_or_said([*told, first, *others], 100 + after)


async def test_what_is_lost_at_the_end_of_a_log_is_an_error(log: Path) -> None:
    clock, ending = FakeClock(), Ending()
    append(log, b"one\n")
    lines = logs.follow(log, tail=20, has_ended=ending, clock=clock)
    assert (await anext(lines)).text == "one"

    resize(log, 0)
    ending.has_come = True

    with pytest.raises(OSError, match="printed last may be lost"):
        await anext(lines)


@pytest.mark.usefixtures("small_logs")
async def test_a_log_is_followed_behind_a_hole_that_its_container_makes(
    log: Path,
) -> None:
    clock, ending = FakeClock(), Ending()
    append(log, b"one\n")
    lines = logs.follow(log, tail=20, has_ended=ending, clock=clock)
    assert (await anext(lines)).text == "one"

    resize(log, 1 << 40)
    append(log, b"\nthe end\n")
    logs.free_space(log)
    ending.has_come = True

    told = [line async for line in lines]
    assert told[-1] == LogLine(None, "the end", is_after_gap=True)
    assert sum(len(line.text) for line in told) < 2 * logs.BLOCK_BYTES
    assert await last(log, 1) == ["the end"]


def test_a_log_that_is_gone_needs_no_room(log: Path) -> None:
    logs.free_space(log)

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
