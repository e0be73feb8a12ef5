"""What containers print, read from the files of a CRI runtime."""

from __future__ import annotations

import asyncio
import tracemalloc
from datetime import UTC, datetime
from pathlib import Path

import pytest

from probetui.k8s.runtime import LogLine
from probetui.runtimes.cri.logs import (
    BLOCK_BYTES,
    LONGEST_LINE_BYTES,
    TAIL_BYTES,
    LineJoiner,
    LogEntry,
    follow_log,
    parse_entry,
    read_last_output,
)

AT = datetime(2016, 10, 6, 0, 17, 9, 669794, UTC)
TIME = "2016-10-06T00:17:09.669794202Z"


def entry(
    text: str, tag: str = "F", stream: str = "stdout", at: int | None = None
) -> bytes:
    """Return a line of a log file; `at` are its nanoseconds."""
    time = TIME if at is None else f"{TIME[:20]}{at:09}Z"
    return f"{time} {stream} {tag} {text}\n".encode()


def an_entry(
    text: bytes,
    at: datetime | None = AT,
    *,
    is_stderr: bool = False,
    is_whole: bool = True,
) -> LogEntry:
    return LogEntry(at, text, is_stderr, is_whole)


def write(log: Path, *content: bytes) -> None:
    """Add to a file what a runtime would."""
    with log.open("ab") as file:
        file.write(b"".join(content))


async def read(path: Path, tail: int = 100) -> list[str]:
    """Return the last lines that a container printed."""
    return [
        line.text async for line in follow_log(str(path), tail=tail, has_ended=None)
    ]


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "0.log"


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        pytest.param(f"{TIME} stdout F text", an_entry(b"text"), id="out"),
        pytest.param(
            f"{TIME} stderr F text", an_entry(b"text", is_stderr=True), id="err"
        ),
        pytest.param(f"{TIME} stdout P te", an_entry(b"te", is_whole=False), id="part"),
        pytest.param(
            f"{TIME} stdout P:x te", an_entry(b"te", is_whole=False), id="more tags"
        ),
        pytest.param(f"{TIME} stdout F  two  ", an_entry(b" two  "), id="blanks"),
        pytest.param(f"{TIME} stdout F ", an_entry(b""), id="empty"),
        pytest.param(f"{TIME} stdout F", an_entry(b""), id="cut short"),
        pytest.param(
            "2016-10-06T02:17:09.669794202+02:00 stdout F text",
            an_entry(b"text"),
            id="offset",
        ),
        pytest.param("then stdout F text", an_entry(b"text", at=None), id="no instant"),
        pytest.param("words", None, id="not a line of a log"),
    ],
)
def test_a_line_of_a_file_is_understood(line: str, expected: LogEntry | None) -> None:
    assert parse_entry(line.encode()) == expected


def test_a_long_line_is_put_together_stream_by_stream() -> None:
    lines = LineJoiner()
    parts = [
        (b"one", "P", "stdout"), (b"error", "F", "stderr"),
        (b"two", "P", "stdout"), (b"three", "F", "stdout"),
    ]  # fmt: skip

    found = [
        lines.feed(entry(text.decode(), tag, stream).rstrip(b"\n"))
        for text, tag, stream in parts
    ]

    assert list(filter(None, found)) == [
        LogLine(AT, "error", is_stderr=True),
        LogLine(AT, "onetwothree"),
    ]
    assert list(lines.rest()) == []


def test_a_long_line_without_an_end_is_returned_in_parts() -> None:
    lines = LineJoiner()
    part = entry("x" * 16_000, "P").removesuffix(b"\n")

    returned = [line for _ in range(1_000) if (line := lines.feed(part)) is not None]

    longest = LONGEST_LINE_BYTES + 16_000
    assert all(len(line.text) < longest for line in returned)
    assert sum(len(line.text) for line in returned) > 1_000 * 16_000 - longest


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(entry("x" * 16_000, "P") * 2_000, id="parts without an end"),
        pytest.param(b"x" * (32 << 20), id="one line that is none"),
    ],
)
async def test_a_log_that_grows_without_line_ends_takes_no_memory(
    log: Path, content: bytes
) -> None:
    async def has_ended() -> bool:
        return True

    write(log, entry("before"))
    lines = follow_log(str(log), tail=10, has_ended=has_ended)
    assert (await anext(lines)).text == "before"
    tracemalloc.start()
    write(log, content)
    longest = max([len(line.text) async for line in lines], default=0)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert longest < 3 * LONGEST_LINE_BYTES
    assert peak < 4 * len(content)


@pytest.mark.parametrize("tail", [1, 1_000])
async def test_of_a_long_log_without_line_ends_only_the_end_is_read(
    log: Path, tail: int
) -> None:
    write(log, entry("x" * 16_000, "P") * 2_000)
    tracemalloc.start()

    read_lines = [len(text) for text in await read(log, tail=tail)]
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert sum(read_lines) <= TAIL_BYTES + BLOCK_BYTES
    assert peak < 5 * TAIL_BYTES


def test_a_line_without_an_end_is_returned_at_the_end() -> None:
    lines = LineJoiner()
    lines.feed(entry("begun", "P").rstrip(b"\n"))

    assert [line.text for line in lines.rest()] == ["begun"]


async def test_bytes_that_are_not_text_are_kept(log: Path) -> None:
    write(log, f"{TIME} stdout F ".encode(), b"\xff\n")

    assert await read(log) == ["\udcff"]


@pytest.mark.parametrize("tail", [0, 1, 2, 3, 4, 100])
async def test_the_last_lines_are_those_of_the_container(log: Path, tail: int) -> None:
    printed = ["one", "twotwotwo", "three", "four"]
    write(log, entry("one"), entry("two", "P") * 2, entry("two"))
    write(log, entry("three"), entry("four"))

    assert await read(log, tail) == printed[max(0, len(printed) - tail) :]


async def test_lines_longer_than_a_block_are_read(log: Path) -> None:
    long = "x" * (BLOCK_BYTES + 1)
    write(log, entry("first"), entry(long), entry("last"))

    assert await read(log, 2) == [long, "last"]


async def test_a_file_that_is_not_there_is_empty(log: Path) -> None:
    assert await read(log) == []
    assert read_last_output(str(log)) == b""


async def test_following_waits_for_the_file_and_for_lines_in_pieces(log: Path) -> None:
    ended = asyncio.Event()
    lines = follow_log(str(log), tail=10, has_ended=lambda: _answer(ended.is_set()))
    first = asyncio.ensure_future(anext(lines))
    await asyncio.sleep(0)

    whole = entry("first") + entry("last")
    write(log, whole[:-5])
    assert (await first).text == "first"
    write(log, whole[-5:])
    ended.set()

    assert [line.text async for line in lines] == ["last"]


async def _answer(value: bool) -> bool:  # noqa: FBT001  # what is answered
    return value


def test_the_end_of_the_output_is_as_it_was_printed(log: Path) -> None:
    write(log, *(entry(str(number)) for number in range(100)), entry("no end", "P"))

    found = read_last_output(str(log)).decode()

    assert found == "".join(f"{number}\n" for number in range(21, 100)) + "no end"
