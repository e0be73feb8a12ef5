"""Recordings on their way to a file."""

from __future__ import annotations

import errno
import json
import os
import random
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from msgspec.structs import replace

from probetui.debugger.commands import PauseProbes
from probetui.engine.inputs import AddPod
from probetui.errors import RecordError
from probetui.k8s.event import Event, EventType
from probetui.k8s.pod import Container, EnvVar, Pod
from probetui.k8s.probe import ProbeKey, ProbeType
from probetui.k8s.runtime import SocketAddress
from probetui.kubelet.journal import (
    EventEntry,
    FindingEntry,
    ListenersEntry,
    NoteEntry,
    StateEntry,
    StateField,
)
from probetui.output_files import AppendedFile
from probetui.record.codec import SessionHeader
from probetui.record.format import RecordContext
from probetui.record.reader import read_recording
from probetui.record.writer import CompressedRecordWriter, Recorder, RecordWriter
from tests.record.test_format import TICK as FIRST_TICK
from tests.ticks import changed_tick

START = datetime(2026, 11, 20, 8, 18, tzinfo=UTC)
CONTEXT = RecordContext(START, pods={})
HEADER = SessionHeader("0.1.0", "process", "v1.32", {}, [], seed=None)

KEY = ProbeKey("uid", "app", ProbeType.LIVENESS)
TICK = changed_tick(FIRST_TICK, sequence=2, at=START, started_at=START, key=KEY)
RESULT = StateEntry(
    4, START, "uid", "app", KEY.probe_type, StateField.RESULT, "Unknown", "Failure", 2
)


def note(sequence: int, text: str = "hello") -> NoteEntry:
    return NoteEntry(sequence, START + timedelta(seconds=sequence), text)


@contextmanager
def file_size_limit(size: int) -> Iterator[None]:
    """Let files grow to so many bytes only, as a full disk would."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_session_is_written_as_it_grows(tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"
    recorder = Recorder(RecordWriter.open(path), CONTEXT)

    recorder.begin(HEADER)
    recorder.consume([note(1)])
    on_disk_meanwhile = path.read_text().count("\n")
    recorder.consume([note(2)])
    recorder.end("left", 0, START + timedelta(seconds=9))

    records = [json.loads(line) for line in path.read_text().splitlines()]
    assert on_disk_meanwhile == 2
    assert [(record["seq"], record["type"]) for record in records] == [
        (0, "session"),
        (1, "note"),
        (2, "note"),
        (3, "end"),
    ]
    assert recorder.problem == ""


def test_a_cause_is_the_number_of_a_line(tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"
    recorder = Recorder(RecordWriter.open(path), CONTEXT)
    event = Event(EventType.WARNING, "Unhealthy", "no", "uid", "", START)

    recorder.begin(HEADER)
    recorder.note_input(PauseProbes(), START, 0)
    recorder.consume([note(1), TICK, EventEntry(3, START, event, TICK), RESULT])

    records = [json.loads(line) for line in path.read_text().splitlines()]
    assert [
        (record["seq"], record["type"], record.get("cause")) for record in records
    ] == [
        (0, "session", None),
        (1, "input", None),
        (2, "note", None),
        (3, "tick", None),
        (4, "event", 3),
        (5, "state", 3),
    ]
    assert read_recording(path).entries == (
        note(1), TICK, EventEntry(3, START, event, TICK), RESULT,
    )  # fmt: skip


def test_what_a_tick_showed_names_the_line_of_the_tick(tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"
    recorder = Recorder(RecordWriter.open(path), CONTEXT)
    there = SocketAddress("10.1.2.3", 80)
    looked = ListenersEntry(3, START, KEY, TICK.container_id, there, None, cause=2)
    finding = FindingEntry(4, START, KEY, "redirect-seen", "spec", "is so", cause=2)

    recorder.begin(HEADER)
    recorder.note_input(PauseProbes(), START, 0)
    recorder.consume([note(1), TICK, looked, finding])

    records = [json.loads(line) for line in path.read_text().splitlines()]
    assert [record["cause"] for record in records[4:]] == [3, 3]
    assert read_recording(path).entries == (note(1), TICK, looked, finding)


def test_of_a_selection_causes_name_lines_too_or_nothing(tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"
    recorder = Recorder(RecordWriter.open(path), CONTEXT)
    event = Event(EventType.WARNING, "Unhealthy", "no", "uid", "", START)
    left_out = changed_tick(TICK, sequence=5)
    taken = changed_tick(TICK, sequence=9)

    recorder.begin(HEADER)
    recorder.consume([EventEntry(6, START, event, left_out), taken])
    recorder.consume([EventEntry(10, START, event, taken), replace(RESULT, cause=9)])

    records = [json.loads(line) for line in path.read_text().splitlines()]
    assert [(record["seq"], record.get("cause")) for record in records] == [
        (0, None),
        (1, None),
        (2, None),
        (3, 2),
        (4, 2),
    ]


def test_of_old_entries_the_lines_are_forgotten(tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"
    recorder = Recorder(RecordWriter.open(path), CONTEXT, lines_kept=8)

    recorder.consume([note(number) for number in range(1, 101)])
    recorder.consume([replace(RESULT, sequence=101, cause=100)])
    recorder.consume([replace(RESULT, sequence=102, cause=2)])

    records = [json.loads(line) for line in path.read_text().splitlines()]
    assert [record["cause"] for record in records[-2:]] == [99, None]


def test_a_session_that_may_go_back_in_time_forgets_no_line(tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"
    recorder = Recorder(RecordWriter.open(path), CONTEXT, lines_kept=None)

    recorder.consume([note(number) for number in range(1, 101)])
    recorder.consume([replace(RESULT, sequence=101, cause=1)])

    *_, result = map(json.loads, path.read_text().splitlines())
    assert result["cause"] == 0


def test_causes_name_lines_after_a_rewind_though_old_ones_are_forgotten(
    tmp_path: Path,
) -> None:
    path = tmp_path / "session.jsonl"
    recorder = Recorder(RecordWriter.open(path), CONTEXT, lines_kept=4)
    entries = [note(number) for number in range(1, 13)]

    recorder.begin(HEADER)
    recorder.consume(entries)
    recorder.rewind(entries[:10], 0, START)
    recorder.consume([note(11), replace(RESULT, sequence=12, cause=11)])

    *_, cause, result = map(json.loads, path.read_text().splitlines())
    assert (cause["type"], result["cause"]) == ("note", cause["seq"])


def test_numbers_go_on_where_a_session_goes_back_in_time(tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"
    recorder = Recorder(RecordWriter.open(path), CONTEXT)
    event = Event(EventType.WARNING, "Unhealthy", "no", "uid", "", START)

    recorder.begin(HEADER)
    recorder.note_input(None, START, 0)
    recorder.consume([note(1), note(2), note(3)])
    recorder.rewind([note(1)], 1, START)
    recorder.note_input(None, START, 1)
    recorder.consume([TICK, EventEntry(3, START, event, TICK)])
    recorder.rewind([], 0, START)
    recorder.consume([note(1, "anew")])

    records = [json.loads(line) for line in path.read_text().splitlines()]
    rewinds = [record for record in records if record["type"] == "rewind"]
    assert [record["seq"] for record in records] == list(range(11))
    assert [(rewind["kept"], rewind["inputs"]) for rewind in rewinds] == [
        (2, 1),
        (0, 0),
    ]
    assert records[8]["cause"] == 7
    assert read_recording(path).entries == (note(1, "anew"),)


def test_events_say_how_a_cluster_would_count_them_and_which_it_would_drop(
    tmp_path: Path,
) -> None:
    path = tmp_path / "session.jsonl"
    recorder = Recorder(RecordWriter.open(path), CONTEXT)
    event = Event(EventType.WARNING, "Unhealthy", "no", "uid", "", START)

    recorder.consume([EventEntry(number, START, event) for number in range(1, 27)])

    records = [json.loads(line) for line in path.read_text().splitlines()]
    assert records[24]["folded"] == {
        "count": 25,
        "first": "2026-11-20T08:18:00.000000Z",
        "last": "2026-11-20T08:18:00.000000Z",
    }
    assert [record["dropped"] for record in records] == [False] * 25 + [True]


def test_a_recording_is_readable_by_its_owner_only(tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"

    RecordWriter.open(path).close()

    assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("no-such-folder/session.jsonl", id="folder is missing"),
        pytest.param(".", id="a folder"),
    ],
)
def test_a_target_that_cannot_be_written_is_refused_with_its_name(
    tmp_path: Path, name: str
) -> None:
    with pytest.raises(RecordError, match=r"--record .*: ") as caught:
        RecordWriter.open(tmp_path / name)

    assert caught.value.exit_status == 2
    assert str(tmp_path / name) in str(caught.value)


def test_a_full_disk_ends_the_recording_with_one_message() -> None:
    recorder = Recorder(RecordWriter.open(Path("/dev/full")), CONTEXT)

    recorder.begin(HEADER)
    recorder.consume([note(1)])
    recorder.end("left", 0, START)

    assert recorder.problem == "/dev/full: No space left on device"


class BrokenFile(AppendedFile):
    """A file that takes some bytes, and then nothing, nor is cut or closed well."""

    def write(self, data: bytes) -> int:
        if os.fstat(self._descriptor).st_size > 1000:
            raise OSError(errno.EIO, "Input/output error")
        return super().write(data[:300])

    def take_back(self, count: int) -> None:
        if count:
            raise OSError(errno.EROFS, "Read-only file system")

    def close(self) -> None:
        super().close()
        raise OSError(errno.EDQUOT, "Disk quota exceeded")


@pytest.mark.parametrize("kind", [RecordWriter, CompressedRecordWriter])
def test_a_broken_disk_ends_the_recording_with_one_message(
    tmp_path: Path, kind: type[RecordWriter]
) -> None:
    path = tmp_path / "session.jsonl"
    file = BrokenFile(os.open(path, os.O_CREAT | os.O_WRONLY))
    recorder = Recorder(kind(file, "it", owned=True), CONTEXT)

    recorder.begin(HEADER)
    noise = random.Random(0).randbytes(5000).hex()
    recorder.consume([note(1), note(2, noise), note(3)])
    recorder.end("left", 0, START)

    assert recorder.problem == "it: Input/output error"
    assert read_recording(path).entries in ((), (note(1),))


def test_a_disk_that_tells_only_at_the_end_has_its_message(tmp_path: Path) -> None:
    file = BrokenFile(os.open(tmp_path / "it", os.O_CREAT | os.O_WRONLY))
    recorder = Recorder(RecordWriter(file, "it", owned=True), CONTEXT)

    recorder.begin(HEADER)
    recorder.end("left", 0, START)

    assert recorder.problem == "it: Disk quota exceeded"


def test_a_line_that_did_not_fit_is_taken_back_whole(tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"
    recorder = Recorder(RecordWriter.open(path), CONTEXT)
    recorder.begin(HEADER)
    journal = [note(1), note(2), note(3, "x" * 5000), note(4)]

    with file_size_limit(path.stat().st_size + 1000):
        recorder.consume(journal)
    recorder.end("left", 0, START)

    assert recorder.problem == f"{path}: File too large"
    recording = read_recording(path)
    assert recording.entries == (note(1), note(2))
    assert recording.problem.startswith("incomplete recording (3 lines, up to 00:02.0)")


def test_nothing_is_recorded_after_a_failure_though_there_is_room_again(
    tmp_path: Path,
) -> None:
    path = tmp_path / "session.jsonl"
    recorder = Recorder(RecordWriter.open(path), CONTEXT)
    with file_size_limit(0):
        recorder.begin(HEADER)

    recorder.consume([note(1)])
    recorder.end("left", 0, START)

    assert path.read_bytes() == b""


def test_a_closed_reader_is_distinguished_from_a_full_disk() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    recorder = Recorder(
        RecordWriter(AppendedFile(writing), "stdout", owned=True), CONTEXT
    )

    with pytest.raises(BrokenPipeError):
        recorder.begin(HEADER)

    assert recorder.problem == ""
    os.close(writing)


def test_a_descriptor_of_others_stays_open() -> None:
    reading, writing = os.pipe()
    recorder = Recorder(
        RecordWriter(AppendedFile(writing), "stdout", owned=False), CONTEXT
    )

    recorder.end("left", 0, START)

    assert os.write(writing, b"still open") == len(b"still open")
    os.close(reading)
    os.close(writing)


@pytest.mark.parametrize("keeps_secrets", [None, False, True])
def test_secrets_of_inputs_are_masked_unless_they_are_to_be_kept(
    tmp_path: Path, *, keeps_secrets: bool | None
) -> None:
    path = tmp_path / "session.jsonl"
    options = {} if keeps_secrets is None else {"keeps_secrets": keeps_secrets}
    recorder = Recorder(RecordWriter.open(path), CONTEXT, **options)
    container = Container("app", env=(EnvVar("DB_PASSWORD", "hunter22"),))

    item = AddPod(Pod("uid", "web", containers=(container,)))
    recorder.note_input(item, START, 0)
    recorder.consume([])
    recorder.rewind([], 0, START)
    recorder.note_input(item, START, 0)
    recorder.end("left", 0, START)

    first, _, again, _ = path.read_text().splitlines()
    assert ("hunter22" in first) is ("hunter22" in again) is (keeps_secrets is True)


def test_a_pod_has_its_name_once_it_is_registered(tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"
    recorder = Recorder(RecordWriter.open(path), CONTEXT)

    for pods in ([], [Pod("uid", "web")], [Pod("other", "db")]):
        recorder.register_pods(pods)
        recorder.consume([RESULT])

    records = map(json.loads, path.read_text().splitlines())
    assert [record["pod"] for record in records] == ["uid", "web", "web"]


def test_of_old_entries_a_third_more_are_known_than_must_be(tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"
    recorder = Recorder(RecordWriter.open(path), CONTEXT, lines_kept=30)

    sizes = set()
    for number in range(1, 200):
        cause = max(number - 29, 1)
        recorder.consume([replace(RESULT, sequence=number, cause=cause)])
        sizes.add(len(recorder._lines_of_entries))

    first, *records = map(json.loads, path.read_text().splitlines())
    assert (first["cause"], max(sizes)) == (0, 40)
    assert all(record["cause"] is not None for record in records)
