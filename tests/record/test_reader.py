"""Recordings read back from files, good and bad."""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from string import ascii_letters

import pytest

from probetui.engine.inputs import AddPod, SetPods
from probetui.errors import RecordError
from probetui.k8s.pod import Pod
from probetui.kubelet.journal import NoteEntry, StateEntry, StateField
from probetui.record import file as record_file
from probetui.record.codec import SessionHeader
from probetui.record.file import (
    LINE_BYTES,
    MOST_DAMAGES,
    DamageReport,
    _contents,
    _split_lines,
    describe_missing_end,
    is_record_beginning,
    is_report_beginning,
    names_record,
    record_chunks,
    record_lines,
)
from probetui.record.format import RecordContext
from probetui.record.reader import RecordingFile, read_recording
from probetui.record.values import DamageError
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
    ("data", "problem"),
    [
        (b"", "cut off after 0 bytes"),
        (b"kind: Pod\n", "JSON is malformed: invalid character (byte 0)"),
        (b'{"kind": "Pod"}\n', "Object missing required field `type`"),
        (b"[1]\n", "Expected `object`, got `array`"),
        (b'{"v":1,"type":"note"}\n', "line 1: Object missing required field `seq`"),
        (b'{"v":1,"type":"session"}\n', "line 1: Object missing required field `seq`"),
        (b'{"v":1,"type":"later"}\n', "line 1: no session record comes first"),
        (b"\xff\xfe\n", "it is not UTF-8 (byte 1)"),
        (b'{"\xe5\xe5": 1}\n', "it is not UTF-8 (byte 3)"),
        (b" " * (LINE_BYTES + 1), "it is longer than 16 MiB"),
    ],
)
def test_what_is_not_a_recording_is_refused_with_its_name(
    path: Path, data: bytes, problem: str
) -> None:
    path.write_bytes(data)

    with pytest.raises(RecordError) as caught:
        read_recording(path)

    assert str(caught.value) == f"{path}: is not a recording: {problem}"


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

    place = lines[1].index(b"\xb6") + 1
    assert recording.problem == f"line 2 is damaged: it is not UTF-8 (byte {place})"
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


def test_a_damaged_line_is_not_taken_for_a_missing_one_too(path: Path) -> None:
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([lines[0], b"{}\n", *lines[2:]]))

    assert ";" not in read_recording(path).problem


def test_behind_a_damaged_line_missing_ones_are_counted(path: Path) -> None:
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([lines[0], b"{}\n", lines[3]]))

    problem = read_recording(path).problem

    assert problem.endswith("; 1 line is missing before line 3")


def a_later_part(path: Path) -> Path:
    """Make the session one whose first lines are in another file."""
    first, *rest = path.read_text().splitlines(keepends=True)
    begin = {**json.loads(first), "continues": True}
    path.write_text("".join([json.dumps(begin) + "\n", *rest[1:]]))
    return path


def test_of_a_later_part_of_a_session_the_earlier_lines_are_not_missed(
    path: Path,
) -> None:
    recording = read_recording(a_later_part(path))

    assert recording.entries == (NoteEntry(1, START, "two"),)
    assert recording.problem == ""


def test_a_later_part_of_a_session_cannot_be_played(path: Path) -> None:
    with pytest.raises(RecordError) as caught:
        RecordingFile(a_later_part(path))

    assert str(caught.value) == (
        f"{path}: cannot be played: it is a later part of a session whose beginning "
        "was not kept (`probetui why` can read it)"
    )


WEB, DB = Pod("uid-web", "web"), Pod("uid-db", "db")


@pytest.fixture
def played(path: Path) -> Path:
    """Return a recording of four inputs and four entries, of which the last is new."""

    def at(seconds: int) -> datetime:
        return START + timedelta(seconds=seconds)

    recorder = Recorder(RecordWriter.open(path), RecordContext(START, pods={}))
    recorder.begin(SessionHeader("0.1.0", "sim", "v1.32", {}, [], seed=3))
    recorder.note_input(AddPod(WEB), at(1), 0)
    recorder.note_input(None, at(2), 0)
    recorder.consume([NoteEntry(1, at(2), "one")])
    recorder.note_input(SetPods((DB,)), at(3), 1)
    recorder.consume([NoteEntry(2, at(3), "two"), NoteEntry(3, at(3), "three")])
    recorder.note_input(None, at(4), 3)
    recorder.consume([NoteEntry(4, at(4), "four")])
    recorder.rewind([NoteEntry(1, at(2), "one"), NoteEntry(2, at(3), "two")], 3, at(3))
    recorder.note_input(AddPod(WEB), at(6), 2)
    cause = StateEntry(
        3, at(6), "uid-web", "app", "", StateField.RESULT, "Unknown", "Failure", 2
    )
    recorder.consume([cause])
    recorder.end("left", 0, at(7))
    return path


def test_a_recording_is_played_without_what_was_taken_back(played: Path) -> None:
    file = RecordingFile(played)

    inputs = [file.input(number) for number in range(len(file))]
    entries = [file.entry(number) for number in range(file.entries)]

    assert [item and item["is"] for item in inputs] == [
        "AddPod", None, "SetPods", "AddPod",
    ]  # fmt: skip
    assert [(entry["seq"], entry["type"]) for entry in entries] == [
        (1, "note"), (2, "note"), (3, "state"),
    ]  # fmt: skip
    assert [entry.get("cause") for entry in entries] == [None, None, 2]
    assert [entry.get("text") for entry in entries] == ["one", "two", None]


def test_a_recording_knows_its_pods_in_the_order_in_which_they_came(
    played: Path,
) -> None:
    assert [pod.name for pod in RecordingFile(played).pods()] == ["web", "db"]


@pytest.mark.parametrize(
    ("manifests", "added"),
    [([], {"uid-web": WEB, "uid-db": DB}), ([("a.yaml", "kind: Pod")], {})],
)
def test_a_recording_has_the_pods_that_no_manifest_has(
    path: Path, manifests: list[tuple[str, str]], added: dict[str, Pod]
) -> None:
    recorder = Recorder(RecordWriter.open(path), RecordContext(START, pods={}))
    recorder.begin(SessionHeader("0.1.0", "sim", "v1.32", {}, manifests, seed=3))
    recorder.note_input(AddPod(WEB), START, 0)
    recorder.note_input(SetPods((DB,)), START, 0)
    recorder.end("left", 0, START)

    assert read_recording(path).added == added


@pytest.mark.parametrize(
    ("seconds", "clock"),
    [(0, "00:00.0"), (59.9, "00:59.9"), (61, "01:01.0"), (7325.25, "122:05.2")],
)
def test_a_missing_end_is_told_with_how_far_the_record_goes(
    seconds: float, clock: str
) -> None:
    problem = describe_missing_end(7, START + timedelta(seconds=seconds), START)

    assert problem.startswith(f"incomplete recording (7 lines, up to {clock}): the")


def test_a_recording_knows_when_its_inputs_came(played: Path) -> None:
    file = RecordingFile(played)

    seconds = [(at - START).total_seconds() for at in file.instants]

    assert seconds == [1, 2, 3, 6]
    assert [
        file.position_at(START + timedelta(seconds=second))
        for second in (0, 1, 2, 5, 6, 9)
    ] == [0, 1, 2, 3, 4, 4]
    assert (file.started_at, file.ended_at) == (START, START + timedelta(seconds=7))
    assert file.session.seed == 3


def test_an_input_that_cannot_be_played_is_reported_by_its_line(played: Path) -> None:
    file = RecordingFile(played)
    before = file.is_damaged, file.problem

    file.note_damage(3, "no such pod")

    assert before == (False, "")
    assert file.is_damaged
    lines = played.read_text().splitlines()
    number = 1 + max(
        place for place, line in enumerate(lines) if '"type":"input"' in line
    )
    assert file.problem == f"line {number} is damaged: no such pod"


def test_a_recording_without_its_end_says_so(played: Path) -> None:
    *lines, _ = played.read_bytes().splitlines(keepends=True)
    played.write_bytes(b"".join(lines))

    file = RecordingFile(played)

    assert file.problem == (
        f"incomplete recording ({len(lines)} lines, up to 00:06.0): the session was "
        "killed, is still running, or could not be recorded further"
    )


def test_an_input_with_a_number_of_no_end_is_damaged_once_it_is_played(
    played: Path,
) -> None:
    text = played.read_text().replace('"input":null', '"later":%s,"input":null')
    played.write_text(text.replace("%s", "1" * 5000))

    file = RecordingFile(played)

    with pytest.raises(DamageError, match="integer string conversion"):
        file.input(1)


@pytest.mark.parametrize(
    "chunks",
    [
        [b"12345\n", b"1234\n", b"x"],
        [b"12345\n1234\nx"],
        [b"123", b"45\n", b"12", b"34\nx"],
        [b"1", b"2", b"3", b"4", b"5", b"\n", b"1234", b"\n", b"x"],
        [b"1234567", b"8", b"\n1234\n", b"x"],
    ],
)
def test_a_line_that_is_too_long_is_not_held_however_it_comes(
    chunks: list[bytes],
) -> None:
    assert list(_split_lines(chunks, most=5)) == [None, b"1234\n", b"x"]


@pytest.mark.parametrize("chunks", [[b"1\n123456"], [b"1\n", b"123", b"456"]])
def test_a_last_line_that_is_too_long_is_not_held_either(chunks: list[bytes]) -> None:
    assert list(_split_lines(chunks, most=5)) == [b"1\n", None]


def test_of_many_damages_the_first_three_are_described() -> None:
    damages = DamageReport()
    for number in (9, 2, 7, 4):
        damages.add(number, f"reason {number}")
    damages.add(2, "another reason")

    assert (len(damages), bool(damages)) == (4, True)
    assert str(damages) == (
        "line 2 is damaged: reason 2; line 4 is damaged: reason 4; "
        "line 7 is damaged: reason 7; and 1 more"
    )
    assert (str(DamageReport()), bool(DamageReport())) == ("", False)


def test_a_file_is_a_record_by_its_beginning(path: Path) -> None:
    data = path.read_bytes()

    assert is_record_beginning(data[:200])
    assert is_record_beginning(gzip.compress(data)[:200])
    assert not is_record_beginning(b"\x1f\x8b\x08 broken")
    assert not is_record_beginning(gzip.compress(b"kind: Pod\n"))
    assert not is_record_beginning(b"x" + data)
    assert is_report_beginning(b"<!DOCTYPE html>\n<!-- a report of probetui -->\n")
    assert not is_report_beginning(b"<!DOCTYPE html>\n<html>")


def test_only_a_kibibyte_is_unpacked_to_recognize_a_record() -> None:
    start, end = b'{"v":1,"seq":0,"ts":"', b'","t":0,"type":"session",'
    zeros = b"0" * (1024 - len(start + end))

    assert is_record_beginning(gzip.compress(start + zeros + end))
    assert not is_record_beginning(gzip.compress(start + zeros + b"0" + end))


@pytest.mark.parametrize(
    ("name", "is_record"),
    [
        ("gone.jsonl", True),
        ("gone.jsonl.gz", True),
        ("gone.html", True),
        ("there", True),
        ("gone", False),
        ("folder", False),
    ],
)
def test_a_record_is_named_by_its_ending_or_is_there(
    tmp_path: Path, name: str, *, is_record: bool
) -> None:
    (tmp_path / "there").touch()
    (tmp_path / "folder").mkdir()

    assert names_record(str(tmp_path / name)) is is_record


def test_an_entry_with_an_instant_that_never_was_is_damaged(path: Path) -> None:
    first, note, *rest = path.read_text().splitlines()
    hook = {
        **json.loads(note), "type": "hook", "pod": "web", "namespace": "",
        "podUID": "uid", "container": "app", "containerID": "docker://1",
        "hook": "postStart", "startedAt": "2026-13-01T00:00:00.000000Z",
        "endedAt": None, "error": None, "output": "",
    }  # fmt: skip
    path.write_text("\n".join([first, json.dumps(hook), *rest, ""]))

    recording = read_recording(path)

    assert recording.problem.startswith("line 2 is damaged: month must be in 1..12")
    assert len(recording.entries) == 1


@pytest.mark.parametrize("piece", [1, 100, 1 << 20])
def test_a_compressed_record_is_read_whole_and_no_further_than_it_may_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, piece: int
) -> None:
    data = random.Random(0).randbytes(350)
    packed = gzip.compress(data)
    path = tmp_path / "session.jsonl.gz"
    path.write_bytes(packed)
    monkeypatch.setattr(record_file, "_READ_BYTES", piece)

    assert b"".join(record_chunks(path, len(packed))) == data
    path.write_bytes(packed + b"written meanwhile" * 99_999)
    with path.open("rb") as growing:
        assert b"".join(_contents(growing, len(packed))) == data
        assert growing.tell() <= len(packed) + piece


@pytest.mark.parametrize(
    "read", [read_recording, RecordingFile, lambda *given: list(record_lines(*given))]
)
def test_a_file_is_read_if_it_is_small_enough(
    played: Path, read: Callable[[Path, int], object]
) -> None:
    size = played.stat().st_size

    assert read(played, size)
    with pytest.raises(RecordError, match="--record-limit reads larger ones"):
        read(played, size - 1)


def test_a_line_of_too_many_values_is_damaged(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(record_file, "_MOST_VALUES", 300)
    first, *rest = path.read_bytes().splitlines(keepends=True)
    many = rest[0].replace(b'"text":', b'"more":[%s],"text":' % b",".join([b"1"] * 300))
    long = rest[1].replace(b'"text":"', b'"text":"%s' % (ascii_letters.encode() * 301))
    path.write_bytes(b"".join([first, many, long, rest[2]]))

    recording = read_recording(path)

    assert recording.problem == "line 2 is damaged: it has more than 300 values"
    assert len(recording.entries) == 1
