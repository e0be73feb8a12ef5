"""Docker's streams, and what it says of a pull."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from probetui.k8s.runtime import LogLine
from probetui.runtimes.docker import streams
from probetui.runtimes.docker.images import PullProgress
from probetui.runtimes.docker.streams import (
    LONGEST_LINE_BYTES,
    SYSTEM_ERROR,
    Demultiplexer,
    ExecOutput,
    LogLineParser,
    StampedLine,
    ToldLines,
)

AT = datetime(2026, 11, 20, 10, 38, 47, 79604, tzinfo=UTC)
STAMP = b"2026-11-20T10:38:47.079604977Z "


def frame(payload: bytes, *, is_stderr: bool = False) -> bytes:
    """Return bytes as Docker sends them."""
    return struct.pack(">BxxxL", 2 if is_stderr else 1, len(payload)) + payload


def cut(data: bytes, sizes: list[int]) -> list[bytes]:
    """Return the data in pieces of those sizes, the rest as the last one."""
    pieces = []
    for size in sizes:
        pieces.append(data[:size])
        data = data[size:]
    return [*pieces, data]


@given(
    frames=st.lists(st.tuples(st.booleans(), st.binary(max_size=20))),
    sizes=st.lists(st.integers(min_value=0, max_value=9)),
)
def test_streams_come_apart_however_the_bytes_arrive(
    frames: list[tuple[bool, bytes]], sizes: list[int]
) -> None:
    data = b"".join(frame(text, is_stderr=is_stderr) for is_stderr, text in frames)
    outputs = ExecOutput(10_000)

    for piece in cut(data, sizes):
        outputs.feed(piece)

    assert outputs.stdout == b"".join(text for is_err, text in frames if not is_err)
    assert outputs.stderr == b"".join(text for is_err, text in frames if is_err)


def test_of_each_stream_the_beginning_is_kept() -> None:
    outputs = ExecOutput(4)

    outputs.feed(frame(b"abc") + frame(b"def") + frame(b"error", is_stderr=True))
    outputs.feed(frame(b"ghi"))

    assert (outputs.stdout, outputs.stderr) == (b"abcd", b"erro")


def test_pieces_mark_the_end_of_a_frame() -> None:
    demultiplexer = Demultiplexer()
    data = frame(b"abcd")

    pieces = [*demultiplexer.feed(data[:10]), *demultiplexer.feed(data[10:])]

    assert [(piece.payload, piece.is_last) for piece in pieces] == [
        (b"ab", False),
        (b"cd", True),
    ]


class TestLogLines:
    """Lines with their instants."""

    @given(sizes=st.lists(st.integers(min_value=0, max_value=50)))
    def test_lines_come_whole_however_the_bytes_arrive(self, sizes: list[int]) -> None:
        data = frame(STAMP + b"one\n") + frame(STAMP + b"two\n", is_stderr=True)
        lines = LogLineParser(has_terminal=False)

        found = [it.line for piece in cut(data, sizes) for it in lines.feed(piece)]

        assert found == [LogLine(AT, "one"), LogLine(AT, "two", is_stderr=True)]
        assert list(lines.rest()) == []

    def test_a_line_that_docker_cut_is_one_line_again(self) -> None:
        lines = LogLineParser(has_terminal=False)
        data = frame(STAMP + b"a" * 5) + frame(STAMP + b"b" * 5 + b"\n")

        assert told(lines.feed(data)) == [LogLine(AT, "aaaaabbbbb")]

    def test_a_line_without_end_is_cut(self) -> None:
        lines = LogLineParser(has_terminal=False)

        found = told(lines.feed(frame(STAMP + b"x" * LONGEST_LINE_BYTES)))

        assert [len(line.text) for line in found] == [LONGEST_LINE_BYTES]

    def test_the_last_line_may_lack_its_end(self) -> None:
        lines = LogLineParser(has_terminal=False)

        found = list(lines.feed(frame(STAMP + b"dying word")))

        assert found == []
        assert told(lines.rest()) == [LogLine(AT, "dying word")]
        assert list(lines.rest()) == []

    def test_a_terminals_log_has_no_frames(self) -> None:
        lines = LogLineParser(has_terminal=True)

        found = told(lines.feed(STAMP + b"on"))
        found += told(lines.feed(b"e\r\n" + STAMP + b"two\r\n"))

        assert found == [LogLine(AT, "one"), LogLine(AT, "two")]

    def test_bytes_that_are_no_text_are_kept(self) -> None:
        lines = LogLineParser(has_terminal=False)

        (line,) = told(lines.feed(frame(STAMP + b"\xff\n")))

        assert line.text.encode(errors="surrogateescape") == b"\xff"

    def test_what_the_daemon_says_itself_is_no_line(self) -> None:
        lines = LogLineParser(has_terminal=False)
        problem = b"Error grabbing logs: no such file or directory\n"
        said = struct.pack(">BxxxL", SYSTEM_ERROR, len(problem)) + problem

        assert told(lines.feed(frame(STAMP + b"one\n") + said)) == [LogLine(AT, "one")]
        assert told(lines.rest()) == []
        assert lines.problem == problem

    def test_a_line_is_a_repeat_by_its_text_and_its_time_to_the_nanosecond(
        self,
    ) -> None:
        lines, repeats = LogLineParser(has_terminal=True), ToldLines()
        later = STAMP.replace(b"Z", b"7Z")
        data = (STAMP + b"one\n", STAMP + b"two\n", later + b"one\n", STAMP + b"one\n")

        assert [repeats.add(line) for line in lines.feed(b"".join(data))] == [
            True, True, True, False
        ]  # fmt: skip

    def test_so_many_lines_are_remembered_and_no_more(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(streams, "LINES_REMEMBERED", 3)
        repeats = ToldLines()

        for number in range(10):
            repeats.add(StampedLine(STAMP, LogLine(AT, str(number))))

        assert len(repeats) == 3
        assert not repeats.add(StampedLine(STAMP, LogLine(AT, "7")))


def told(lines: Iterable[StampedLine]) -> list[LogLine]:
    return [stamped.line for stamped in lines]


def layer(status: str, layer_id: str = "a", **detail: int) -> dict[str, Any]:
    """Return what the daemon says of a layer."""
    return {"status": status, "id": layer_id, "progressDetail": detail}


class TestPullProgress:
    """A pull in a few words."""

    def test_downloads_are_added_up(self) -> None:
        progress = PullProgress()

        texts = [
            progress.feed({"status": "Pulling from library/busybox", "id": "1.36"}),
            progress.feed(layer("Pulling fs layer", "a")),
            progress.feed(layer("Already exists", "b")),
            progress.feed(layer("Downloading", "a", current=25, total=100)),
            progress.feed(layer("Downloading", "c", current=75, total=100)),
            progress.feed(layer("Download complete", "a")),
            progress.feed(layer("Download complete", "c")),
            progress.feed(layer("Extracting", "a", current=1, total=100)),
            progress.feed(layer("Pull complete", "a")),
            progress.feed({"status": "Digest: sha256:0123"}),
        ]

        assert texts == [
            None,
            "downloading 0%, 0 of 1 layer done",
            "downloading 0%, 1 of 2 layers done",
            "downloading 25%, 1 of 2 layers done",
            "downloading 50%, 1 of 3 layers done",
            "downloading 87%, 1 of 3 layers done",
            "extracting, 1 of 3 layers done",
            None,
            "extracting, 2 of 3 layers done",
            None,
        ]

    @pytest.mark.parametrize(
        "message",
        [
            pytest.param({}, id="empty"),
            pytest.param({"status": "Waiting", "id": ""}, id="no layer"),
            pytest.param({"stream": "x"}, id="something else"),
        ],
    )
    def test_a_message_without_a_layer_is_no_progress(
        self, message: dict[str, Any]
    ) -> None:
        assert PullProgress().feed(message) is None
