"""Compressed recordings can be read at any moment while they are written."""

from __future__ import annotations

import asyncio
import gzip
import json
import random
import resource
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from probetui.errors import RecordError
from probetui.output_files import OutputFile
from probetui.record import file as record_file
from probetui.record import writer as record_writer
from probetui.record.codec import Record, encode_line
from probetui.record.file import RECORD_BYTES, record_chunks
from probetui.record.writer import RECORD_KIND, CompressedRecordWriter
from tests.record.test_writer import file_size_limit

NOTE: Record = {"v": 1, "type": "note", "text": "hello"}
TICK: Record = {"v": 1, "type": "tick"}
TEXT = "".join(chr(33 + number * 7919 % 90) for number in range(3000))


def ticks(count: int) -> list[Record]:
    return [TICK | {"n": number} for number in range(count)]


def contents(path: Path, most_bytes: int = RECORD_BYTES) -> bytes:
    return b"".join(record_chunks(path, most_bytes))


def read(path: Path) -> list[Record]:
    return [json.loads(line) for line in contents(path).splitlines()]


def unpacked_by_zcat(path: Path) -> bytes:
    return subprocess.run(["zcat", path], capture_output=True, check=False).stdout


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "session.jsonl.gz"


@pytest.fixture
def small_members(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record_writer, "MEMBER_BYTES", 1000)


def write_members(path: Path, texts: Sequence[str]) -> None:
    """Write a record for each text, and a member for each that is long."""
    writer = CompressedRecordWriter.open(path)
    for text in texts:
        writer.write([NOTE | {"text": text}])
    writer.close()


@pytest.mark.usefixtures("small_members")
@pytest.mark.parametrize("count", [0, 1, 1000])
def test_what_is_written_is_what_is_read(path: Path, count: int) -> None:
    writer = CompressedRecordWriter.open(path)

    for record in ticks(count):
        writer.write([record])
    writer.close()

    assert read(path) == ticks(count)
    assert gzip.decompress(path.read_bytes()) == unpacked_by_zcat(path)


def test_what_is_not_routine_is_in_the_file_at_once(path: Path) -> None:
    async def write() -> list[Record]:
        writer = CompressedRecordWriter.open(path)
        writer.write([TICK, NOTE])
        return read(path)

    assert asyncio.run(write()) == [TICK, NOTE]


def test_routine_is_in_the_file_after_a_while(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(record_writer, "FLUSH_SECONDS", 0.01)

    async def write() -> tuple[list[Record], list[Record]]:
        writer = CompressedRecordWriter.open(path)
        writer.write([TICK])
        before = read(path)
        # A timer that was set later, for a later instant, rings later.
        await asyncio.sleep(record_writer.FLUSH_SECONDS)
        return before, read(path)

    assert asyncio.run(write()) == ([], [TICK])


def test_routine_is_in_the_file_after_a_while_each_time(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(record_writer, "FLUSH_SECONDS", 0.01)

    async def write() -> list[Record]:
        writer = CompressedRecordWriter.open(path)
        for tick in ticks(3):
            writer.write([tick])
            await asyncio.sleep(record_writer.FLUSH_SECONDS)
        return read(path)

    assert asyncio.run(write()) == ticks(3)


def test_much_routine_does_not_wait(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(record_writer, "PENDING_BYTES", 100)

    async def write() -> list[Record]:
        writer = CompressedRecordWriter.open(path)
        writer.write(ticks(100))
        return read(path)

    assert asyncio.run(write()) == ticks(100)


@pytest.mark.parametrize(("room", "count"), [(0, 0), (-1, 1)])
def test_routine_waits_as_long_as_there_is_room_for_it(
    path: Path, monkeypatch: pytest.MonkeyPatch, room: int, count: int
) -> None:
    monkeypatch.setattr(record_writer, "PENDING_BYTES", len(encode_line(TICK)) + room)

    async def write() -> list[Record]:
        CompressedRecordWriter.open(path).write([TICK])
        return read(path)

    assert asyncio.run(write()) == [TICK] * count


@pytest.mark.usefixtures("small_members")
def test_a_record_of_many_short_lines_has_several_members(path: Path) -> None:
    write_members(path, ["hello"] * 100)

    assert path.read_bytes().count(b"\x1f\x8b\x08\0") == 4


def test_nothing_is_written_where_nothing_waits(path: Path) -> None:
    writer = CompressedRecordWriter.open(path)
    writer.write([NOTE])
    before = path.read_bytes()

    writer.flush()

    assert path.read_bytes() == before


def test_a_record_that_goes_on_in_another_file_is_whole_in_both(path: Path) -> None:
    other = path.with_name("later.jsonl.gz")
    writer = CompressedRecordWriter.open(path)

    writer.write([NOTE])
    writer.continue_in(OutputFile(other, RECORD_KIND), "later")
    writer.write([TICK])
    writer.close()

    assert (read(path), read(other)) == ([NOTE], [TICK])
    assert [gzip.decompress(file.read_bytes()) for file in (path, other)] == [
        contents(path), contents(other),
    ]  # fmt: skip
    assert writer.name == "later"


def test_routine_that_has_become_much_does_not_wait(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(record_writer, "PENDING_BYTES", 100)

    async def write() -> list[Record]:
        writer = CompressedRecordWriter.open(path)
        for tick in ticks(100):
            writer.write([tick])
        return read(path)

    written = asyncio.run(write())
    assert len(written) > 90
    assert written == ticks(len(written))


def test_a_recording_of_nothing_is_an_empty_file(path: Path) -> None:
    CompressedRecordWriter.open(path).close()

    assert path.read_bytes() == b""


def test_without_a_loop_everything_is_in_the_file_at_once(path: Path) -> None:
    writer = CompressedRecordWriter.open(path)

    writer.write([TICK])

    assert read(path) == [TICK]


def test_without_an_end_zcat_reads_it_up_to_the_last_flush(path: Path) -> None:
    writer = CompressedRecordWriter.open(path)
    writer.write([NOTE])
    writer.write([TICK])

    lines = unpacked_by_zcat(path).splitlines()

    assert [json.loads(line) for line in lines] == [NOTE, TICK]


@pytest.mark.usefixtures("small_members")
def test_at_every_cut_the_lines_before_it_are_read(path: Path) -> None:
    write_members(path, [TEXT[:1500], "short", TEXT[1500:]])
    whole, data = contents(path), path.read_bytes()

    lengths = []
    for size in range(len(data)):
        path.write_bytes(data[:size])
        cut = contents(path)
        assert whole.startswith(cut)
        lengths.append(len(cut))

    assert lengths == sorted(lengths)
    assert lengths[-1] == len(whole)


def test_a_machine_that_stopped_at_any_byte_adds_no_line(path: Path) -> None:
    words = random.Random(0).choices(("late", "prompt", "refused", "lost"), k=3000)
    writer = CompressedRecordWriter.open(path)
    writer.write([NOTE | {"text": " ".join(words[n : n + n % 20])} for n in range(200)])
    writer.close()
    whole, written = contents(path).splitlines(), path.read_bytes()

    for size in range(0, len(written), 7):
        # Its size was written, and what it was to hold was not.
        path.write_bytes(written[:size].ljust(4096, b"\0"))
        lines = contents(path).splitlines()

        assert lines[:-1] == whole[: max(len(lines) - 1, 0)]


@pytest.mark.usefixtures("small_members")
def test_a_damaged_member_costs_no_line_of_the_others(path: Path) -> None:
    write_members(path, [TEXT, TEXT[::-1], "the last"])
    data = bytearray(path.read_bytes())

    data[len(data) // 4] ^= 0xFF
    path.write_bytes(data)

    lines = contents(path).splitlines()
    assert [json.loads(line)["text"] for line in lines[-2:]] == [TEXT[::-1], "the last"]


@pytest.mark.parametrize(("broken", "rest"), [(2, b"the rest"), (3, b"")])
def test_behind_too_many_broken_members_nothing_is_read(
    path: Path, monkeypatch: pytest.MonkeyPatch, broken: int, rest: bytes
) -> None:
    monkeypatch.setattr(record_file, "_MOST_BROKEN_MEMBERS", 3)
    no_checksum = gzip.compress(b"")[:-8] + b"\xff" * 8
    path.write_bytes(no_checksum * broken + gzip.compress(b"the rest"))

    assert contents(path).strip() == rest


def test_a_plain_file_is_read_as_it_is_whatever_its_name(path: Path) -> None:
    path.write_bytes(b"plain\n\x00\xff")

    assert contents(path) == b"plain\n\x00\xff"


def test_a_plain_file_is_read_in_parts(path: Path) -> None:
    path.write_bytes(bytes(5 << 20))

    chunks = list(record_chunks(path))

    assert max(map(len, chunks)) <= 1 << 20
    assert sum(map(len, chunks)) == 5 << 20


def test_a_full_disk_leaves_what_was_flushed_before(path: Path) -> None:
    writer = CompressedRecordWriter.open(path)
    writer.write([NOTE])
    size = path.stat().st_size

    with file_size_limit(size + 10):
        writer.write([NOTE | {"text": TEXT}])
    writer.write([NOTE])
    writer.close()

    assert "File too large" in writer.problem
    assert path.stat().st_size == size
    assert read(path) == [NOTE]


def test_a_file_that_grows_beyond_measure_is_refused(path: Path) -> None:
    path.write_bytes(gzip.compress(bytes(64 << 20)))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    with pytest.raises(RecordError, match="is larger than 8 MiB when unpacked"):
        contents(path, most_bytes=8 << 20)

    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 32 << 10


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"\x1f\x8b\x08" * 100_000, id="beginnings and nothing else"),
        pytest.param(gzip.compress(b"") * 20_000, id="empty members"),
        pytest.param(gzip.compress(b"x") + bytes(1 << 20), id="zeroes behind it"),
        pytest.param(b"\x1f\x8b\x08", id="the first three bytes"),
    ],
)
def test_a_file_of_odd_members_is_read_in_the_end(path: Path, data: bytes) -> None:
    path.write_bytes(data)

    assert contents(path).strip() in {b"", b"x"}
