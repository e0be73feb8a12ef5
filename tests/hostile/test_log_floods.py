"""Containers that print faster than logs are read, and without line ends."""

from __future__ import annotations

import asyncio
import os
import struct
from collections.abc import Iterator
from pathlib import Path

import pytest

from probetui.runtimes.docker.streams import LONGEST_LINE_BYTES, LogLineParser
from probetui.runtimes.process import logs
from probetui.runtimes.process.logs import ProcessLogRotation

FLOOD = 2 * logs.MAX_FILE_BYTES + 1
BLOCK_BYTES = 4096
"""The space of a file of one byte on common file systems."""


@pytest.fixture
def log(tmp_path: Path) -> Iterator[int]:
    descriptor = logs.open_log(tmp_path / "0.log")
    yield descriptor
    os.close(descriptor)


def size_on_disk(folder: Path) -> int:
    return sum(path.stat().st_blocks * 512 for path in folder.iterdir())


async def test_the_space_of_a_flooded_log_is_freed_repeatedly(
    log: int, tmp_path: Path
) -> None:
    """A relist happened every second, in which a process can print a gigabyte."""
    rotation = ProcessLogRotation(lambda: [tmp_path / "0.log"])
    rotation.start()
    try:
        for _ in range(10):
            os.write(log, bytes(FLOOD))
            async with asyncio.timeout(60):
                while size_on_disk(tmp_path) > FLOOD:  # noqa: ASYNC110  # another one's file
                    await asyncio.sleep(0.01)
    finally:
        await rotation.close()

    assert size_on_disk(tmp_path) <= logs.MAX_FILE_BYTES + 2 * BLOCK_BYTES


async def test_a_removed_log_does_not_stop_rotation(tmp_path: Path) -> None:
    there, gone = tmp_path / "0.log", tmp_path / "gone" / "0.log"
    there.write_bytes(bytes(FLOOD))
    rotation = ProcessLogRotation(lambda: [gone, there])

    rotation.start()
    async with asyncio.timeout(60):
        while size_on_disk(tmp_path) > FLOOD - 1:  # noqa: ASYNC110  # another one's file
            await asyncio.sleep(0.01)
    await rotation.close()


def frame(text: bytes) -> bytes:
    return struct.pack(">BxxxL", 1, len(text)) + text


@pytest.mark.parametrize("has_terminal", [True, False], ids=["terminal", "frames"])
def test_a_docker_log_without_a_line_end_is_read_in_parts(
    has_terminal: bool,  # noqa: FBT001  # of the table
) -> None:
    lines = LogLineParser(has_terminal=has_terminal)
    stamp, piece = b"2026-11-20T08:18:00.000000000Z ", b"x" * 16_384
    whole = stamp + piece
    lines_read = [
        stamped.line
        for _ in range(200)
        for stamped in lines.feed(whole if has_terminal else frame(whole))
    ]

    assert len(lines_read) > 10
    assert max(len(line.text) for line in lines_read) <= LONGEST_LINE_BYTES + len(whole)


def test_a_frame_that_never_ends_is_read_in_parts() -> None:
    lines = LogLineParser(has_terminal=False)
    header = struct.pack(">BxxxL", 1, 0xFFFFFFFF)

    lines_read = list(lines.feed(header + b"2026-11-20T08:18:00.000000000Z "))
    for _ in range(200):
        lines_read += lines.feed(b"x" * 16_384)

    assert len(lines_read) > 10
    assert max(len(it.line.text) for it in lines_read) <= 2 * LONGEST_LINE_BYTES
