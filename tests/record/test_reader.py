"""Recordings read back from files, good and bad."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from probetui.errors import RecordError
from probetui.kubelet.journal import NoteEntry, StateEntry
from probetui.record.codec import SessionHeader
from probetui.record.file import MOST_DAMAGES
from probetui.record.format import RecordContext
from probetui.record.reader import RecordingFile, read_recording
from probetui.record.writer import Recorder, RecordWriter

START = datetime(2026, 11, 20, 8, 18, tzinfo=UTC)
JOURNAL = (NoteEntry(1, START, "one"), NoteEntry(2, START, "two"))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "session.jsonl"
    context = RecordContext(START, pods={})
    recorder = Recorder(RecordWriter.open(path), context)
    recorder.begin(SessionHeader("0.1.0", "process", "v1.32", {}, [], seed=3))
    recorder.consume(JOURNAL)
    recorder.end("left", 0, START)
    return path


def test_a_whole_recording_reads_back(path: Path) -> None:
    recording = read_recording(path)

    assert recording.session.seed == 3
    assert recording.entries == JOURNAL
    assert recording.end is not None
    assert recording.end.reason == "left"
    assert recording.problem == ""


def test_of_a_cut_off_recording_what_is_whole_is_read_and_the_rest_counted(
    path: Path,
) -> None:
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:2]) + lines[2][:20])

    recording = read_recording(path)

    assert recording.entries == JOURNAL[:1]
    assert recording.end is None
    assert recording.problem == "line 3 is damaged: cut off after 20 bytes"


def test_of_a_recording_with_countless_damaged_lines_the_first_are_read(
    path: Path,
) -> None:
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:2]) + b"\n" * 2_000_000 + b"".join(lines[2:]))

    recording = read_recording(path)

    assert recording.entries == JOURNAL[:1]
    assert recording.problem.endswith(
        f"and {MOST_DAMAGES - 3} more; lines from {MOST_DAMAGES + 3} on are not read"
    )


def test_a_last_line_without_its_newline_counts_as_cut_off(path: Path) -> None:
    path.write_bytes(path.read_bytes().removesuffix(b"\n"))

    recording = read_recording(path)

    assert recording.end is None
    assert recording.problem.startswith("line 4 is damaged: ")


def test_records_of_a_later_kind_are_passed_over(path: Path) -> None:
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(
        lines[0] + b'{"v":1,"seq":0,"type":"holiday"}\n' + b"".join(lines[1:])
    )

    assert read_recording(path).entries == JOURNAL


def test_a_recording_of_a_newer_version_is_refused(path: Path) -> None:
    first, rest = path.read_text().split("\n", 1)
    newer = {**json.loads(first), "v": 2}
    path.write_text(json.dumps(newer) + "\n" + rest)

    with pytest.raises(
        RecordError, match=r"session.jsonl: the recording has version 2, this"
    ):
        read_recording(path)


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b"kind: Pod\n", id="YAML"),
        pytest.param(b'{"kind": "Pod"}\n', id="other JSON"),
        pytest.param(b"[1]\n", id="a list"),
        pytest.param(b'{"v":1,"type":"note"}\n', id="no session first"),
        pytest.param(
            b'{"v":1,"type":"session"}\n{"v":1,"type":"tick"}\n', id="a tick of nothing"
        ),
        pytest.param(b"\xff\xfe\n", id="not text"),
        pytest.param(b'{"\xe5\xe5": 1}\n', id="a name that is not text"),
    ],
)
def test_what_is_not_a_recording_is_refused_with_its_name(
    path: Path, data: bytes
) -> None:
    path.write_bytes(data)

    with pytest.raises(RecordError, match="is not a recording") as caught:
        read_recording(path)

    assert str(path) in str(caught.value)


def test_a_file_that_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match=r"gone\.jsonl: No such file"):
        read_recording(tmp_path / "gone.jsonl")


def test_a_record_of_before_is_read_in_which_inputs_had_the_number_before_them(
    path: Path,
) -> None:
    lines = path.read_text().splitlines()
    notes = [json.loads(line) for line in lines[1:3]]
    state = {
        **notes[0], "seq": 3, "type": "state", "pod": "web",
        "namespace": "", "podUID": "uid", "container": "app",
        "subject": "Liveness", "what": "result", "from": "", "to": "Failure",
        "cause": 2,
    }  # fmt: skip
    common = {"v": 1, "ts": notes[0]["ts"], "t": 0.0}
    rewind = {**common, "seq": 1, "type": "rewind", "inputs": 1}
    first, second = (
        {**common, "seq": n, "type": "input", "n": n + 1, "input": None} for n in (0, 1)
    )
    records = [first, notes[0], second, notes[1], rewind, second, notes[1], state]
    path.write_text("\n".join([lines[0], *map(json.dumps, records)]) + "\n")

    recording = read_recording(path)

    assert recording.entries[:-1] == JOURNAL
    entry = recording.entries[-1]
    assert isinstance(entry, StateEntry)
    assert (entry.sequence, entry.cause) == (3, 2)


def test_of_a_later_part_of_a_session_causes_that_are_not_in_it_are_left_out(
    path: Path,
) -> None:
    lines = path.read_text().splitlines()
    state = {
        **json.loads(lines[1]), "seq": 902, "type": "state", "pod": "web",
        "namespace": "", "podUID": "uid",
        "container": "app", "subject": "Liveness", "what": "result", "from": "",
        "to": "Failure", "cause": 7,
    }  # fmt: skip
    path.write_text(f"{lines[0]}\n{json.dumps(state)}\n")

    (entry,) = read_recording(path).entries

    assert isinstance(entry, StateEntry)
    assert (entry.sequence, entry.cause) == (1, None)


def test_what_was_taken_back_is_not_there(path: Path) -> None:
    context = RecordContext(START, pods={})
    recorder = Recorder(RecordWriter.open(path), context)
    recorder.begin(SessionHeader("0.1.0", "sim", "v1.32", {}, [], seed=3))
    recorder.consume(JOURNAL)
    recorder.rewind(JOURNAL[:1], 0, START)
    recorder.consume([NoteEntry(2, START, "another two")])

    recording = read_recording(path)

    assert recording.entries == (JOURNAL[0], NoteEntry(2, START, "another two"))


def test_a_line_that_is_not_utf_8_is_damaged_even_in_a_field_that_is_not_known(
    path: Path,
) -> None:
    lines = path.read_bytes().splitlines(keepends=True)
    lines[1] = lines[1].replace(b'"text":', b'"more":"\xb6","text":')
    path.write_bytes(b"".join(lines))

    recording = read_recording(path)

    assert recording.problem.startswith("line 2 is damaged: it is not UTF-8 (byte ")
    assert len(recording.entries) == 1


def test_a_recording_without_inputs_says_why_it_cannot_be_played(path: Path) -> None:
    with pytest.raises(RecordError) as caught:
        RecordingFile(path)

    assert str(caught.value) == (
        f"{path}: cannot be played: it has no inputs of the engine (an earlier "
        "probetui wrote it, or nothing happened)"
    )


@pytest.mark.parametrize(
    ("kept", "problem"),
    [
        pytest.param([0, 2, 3], "1 line is missing before line 2", id="one"),
        pytest.param([0, 3], "2 lines are missing before line 2", id="two"),
        pytest.param([0, 1, 3], "1 line is missing before line 3", id="a later one"),
    ],
)
def test_lines_that_are_missing_are_counted(
    path: Path, kept: list[int], problem: str
) -> None:
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[number] for number in kept))

    assert read_recording(path).problem == problem
