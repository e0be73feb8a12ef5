"""Packed lines: every byte comes back, and equal steps take no room."""

from __future__ import annotations

import random
import zlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from probetui.errors import RecordError
from probetui.record.file import (
    LINE_BYTES,
    REPORT_BEGINNING,
    record_chunks,
    record_lines,
)
from probetui.record.packed_lines import pack_lines, unpack_rows
from probetui.record.report_file import DATA_TYPE, pack_record
from probetui.record.values import DamageError

INSTANT = st.datetimes().map(lambda at: f"{at.isoformat(timespec='microseconds')}Z")
WORDS = st.one_of(
    INSTANT,
    st.integers().map(str),
    st.sampled_from(["{", '"t":', ",", "=", "+1", "007", "1.50", "\r", "\0", "24:00"]),
    st.just("2026-01-31T24:00:00.000000Z"),
    st.just("2026-99-31T00:00:00.000000Z"),
)
LINES = st.lists(st.lists(WORDS, max_size=6).map(lambda w: " ".join(w).encode()))
SECOND = b'{"seq":%d,"ts":"2026-01-01T00:%02d:%02d.000000Z","n":%d,"type":"tick"}\n'


@given(LINES, st.binary().filter(lambda text: b"\n" not in text))
def test_every_byte_comes_back(lines: list[bytes], last: bytes) -> None:
    whole = [*(line + b"\n" for line in lines), *([last] if last else [])]

    assert list(unpack_rows(pack_lines(whole))) == whole


@pytest.mark.parametrize("number", [b"007", b"00", b"0"])
def test_a_number_comes_back_with_its_leading_zeros(number: bytes) -> None:
    lines = [b"n 6\n", b"n %s\n" % number, b"n 8\n"]

    assert list(unpack_rows(pack_lines(lines))) == lines


def test_a_probe_of_each_second_takes_less_than_a_byte_a_tick() -> None:
    lines = [SECOND % (9 + n, n // 60 % 60, n % 60, n + 1) for n in range(3600)]

    packed = zlib.compress(b"".join(pack_lines(lines)), 9)

    assert len(packed) < len(lines)


def test_lines_of_too_many_shapes_stand_as_they_are() -> None:
    lines = [b"%s 7\n" % (b"x" * n) for n in range(5000)] * 2

    assert list(unpack_rows(pack_lines(lines))) == lines


@pytest.mark.parametrize(
    "row",
    [
        *(b"2,+1\n", b"0\n", b"0,+1,+1\n", b"0,x\n", b"0,-9\n", b"x\n", b"\n"),
        *(b"x,+1\n", b",+1\n"),
        b"0" + b",+1" * 100_000,
        *(b"-1,+1\n", b"99999999999999999999,\n", b"0,+99999999999999999999\n"),
    ],
)
def test_a_row_that_nothing_was_packed_into_is_refused(row: bytes) -> None:
    with pytest.raises(DamageError):
        list(unpack_rows([b"=n 7\n", b"=m 7\n", row]))


@pytest.mark.parametrize(
    "row", [b"2,+1\n", b"0\n", b"0,+1,+1\n", b"x,+1\n", b"\n", b"2 \n", b"2\r\n"]
)
def test_a_row_of_no_shape_is_called_that(row: bytes) -> None:
    problem = r"^a row names no shape, or has other numbers$"
    with pytest.raises(DamageError, match=problem):
        list(unpack_rows([b"=n 7\n", b"=m 7\n", b"=none\n", row]))


@pytest.mark.parametrize(
    "row",
    [
        pytest.param(b"0,+99999999999999999999\n", id="too long"),
        pytest.param(b"0,x\n", id="no number"),
        pytest.param(b"0,-9\n", id="below zero"),
    ],
)
def test_a_difference_that_leads_nowhere_is_called_that(row: bytes) -> None:
    with pytest.raises(DamageError, match=r"^a difference leads nowhere$"):
        list(unpack_rows([b"=n 7\n", row]))


def test_the_longest_row_of_differences_is_read() -> None:
    instants = [b"2026-01-01T00:00:00.000000Z", b"0001-01-01T00:00:00.000000Z"]
    lines = [b" ".join([number] * 146) + b"\n" for number in instants]
    lines += [b" ".join([b"%d" % n] * 2047) + b"\n" for n in (1, 10**18 - 1)]

    assert list(unpack_rows(pack_lines(lines))) == lines


def test_an_instant_that_does_not_exist_is_refused() -> None:
    with pytest.raises(DamageError):
        list(
            unpack_rows([b"=2026-01-01T00:00:00.000000Z\n", b"0,+999999999999999999\n"])
        )


def test_the_step_from_an_instant_to_the_next_is_one_in_every_year() -> None:
    lines = [b"9999-12-31T23:59:59.99999%dZ\n" % digit for digit in (7, 8)]

    assert list(pack_lines(lines))[1] == b"0,+1\n"


@pytest.mark.parametrize("number", [10, 10**17 - 1, 10**17, 10**18 - 2])
def test_the_step_from_a_number_to_the_next_is_one(number: int) -> None:
    rows = list(pack_lines([b"n %d\n" % number, b"n %d\n" % (number + 1)]))

    assert rows[1] == b"0,+1\n"


def a_report(path: Path, block: str) -> Path:
    """Write a page with a block of a record between other scripts."""
    text = f'<script>1</script><script type="{DATA_TYPE}">{block}<script>2</script>'
    path.write_text(REPORT_BEGINNING + text)
    return path


@pytest.mark.parametrize("count", [0, 1, 2000])
def test_a_record_comes_back_from_a_report(tmp_path: Path, count: int) -> None:
    words = random.Random(0)
    lines = [b"%x\n" % words.getrandbits(400) for _ in range(count)]

    path = a_report(tmp_path / "report.html", f"{pack_record(lines)}</script>")

    assert list(record_lines(path)) == lines


def test_a_record_in_a_report_is_unpacked_in_parts(tmp_path: Path) -> None:
    lines = [b"%s\n" % (b"x" * 100_000)] * 100
    path = a_report(tmp_path / "report.html", f"{pack_record(lines)}</script>")

    assert max(map(len, record_chunks(path))) <= 1 << 20
    assert list(record_lines(path)) == lines


def test_a_line_in_a_report_may_be_as_long_as_any(tmp_path: Path) -> None:
    for length, problem in (LINE_BYTES, ""), (LINE_BYTES + 1, "longer than 16 MiB"):
        line = b"x" * (length - 1) + b"\n"
        path = a_report(tmp_path / "report.html", f"{pack_record([line])}</script>")
        if problem:
            with pytest.raises(RecordError, match=f"a packed line is {problem}"):
                list(record_lines(path))
        else:
            assert list(record_lines(path)) == [line]


def swapped(block: str) -> str:
    half = len(block) // 2
    return block[:half] + block[half:].swapcase()


@pytest.mark.parametrize(
    ("block", "problem"),
    [
        (
            "{packed}",
            "the report has no record, or only the beginning of one",
        ),
        (
            "!{packed}</script>",
            "the record in the report is damaged: Only base64 data is allowed",
        ),
        (
            "{swapped}</script>",
            "the record in the report is damaged: Error -3 while decompressing .*",
        ),
    ],
    ids=["cut off", "not Base64", "not what was packed"],
)
def test_a_damaged_report_is_refused_with_the_reason(
    tmp_path: Path, block: str, problem: str
) -> None:
    packed = pack_record([b"%d\n" % number for number in range(999)])
    block = block.format(packed=packed, swapped=swapped(packed))
    path = a_report(tmp_path / "report.html", block)

    with pytest.raises(RecordError, match=rf"report\.html: {problem}$"):
        list(record_lines(path))


def test_a_row_that_is_too_long_is_called_that() -> None:
    with pytest.raises(DamageError, match="a row is longer than any that names"):
        list(unpack_rows([b"=n 7\n", b"0" + b",+1" * 100_000]))
