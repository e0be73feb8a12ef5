"""Records that a released version wrote: they load, replay and are explained as then.

`records/N/` holds sessions of format N: on processes, on Docker, over CRI, attached,
only watched, with what containers and hooks printed (`evidence`), pods of a cluster
that were observed, simulated by a script and with a rewind, and one that was cut off
within a line. In `causal-order` an exit comes before the restart, and the event of a
tick before what the tick changed; in the older ones they come after. `compressed/` has
files just as sessions leave them: the two parts of one that probetui saved by itself,
whose probes were answered with more than is kept of headers, and one whose program was
killed. They are never written anew: a later format gets a folder of its own. What `why`
prints of them may be worded anew; `PROBETUI_UPDATE_GOLDEN=1` rewrites the texts.
"""

from __future__ import annotations

import gzip
import json
import os
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import pytest

from probetui.cli.main import run
from probetui.cluster.observe.replay import ObservationReplay
from probetui.drive.playback.replay import ReplayEngine, ReplaySource
from probetui.errors import RecordError
from probetui.kubelet.journal import TickEntry
from probetui.record.file import record_chunks
from probetui.record.format import AnyRecord
from probetui.record.reader import RecordingFile, read_recording

RECORDS = Path(__file__).parent / "records"
COMPRESSED = "compressed"
PACKED = sorted(RECORDS.glob("*/**/*.jsonl.gz"))
LATER_PART = "later-part"
CUT_OFF = "cut-off"
UPDATES = "PROBETUI_UPDATE_GOLDEN" in os.environ
"""Read at the import, as the fixture `home` takes such variables away."""
NOT_ENTRIES = {"session", "input", "rewind", "end"}


def id_of(path: Path) -> str:
    return f"{path.relative_to(RECORDS).parts[0]}-{name_of(path)}"


def name_of(path: Path) -> str:
    return path.name.partition(".")[0]


def types_of(data: bytes) -> Counter[str]:
    lines = data.splitlines(keepends=True)
    whole = (line for line in lines if line.endswith(b"\n"))
    return Counter(str(json.loads(line)["type"]) for line in whole)


@pytest.fixture
def record(packed: Path, tmp_path: Path) -> Path:
    """Return a record as the session left it."""
    if packed.parent.name == COMPRESSED:
        path = tmp_path / packed.name
        path.write_bytes(packed.read_bytes())
    else:
        path = tmp_path / f"{name_of(packed)}.jsonl"
        path.write_bytes(gzip.decompress(packed.read_bytes()))
    return path


@pytest.fixture
def _in_utc(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let instants be printed alike on all machines."""
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


every_record = pytest.mark.parametrize("packed", PACKED, ids=id_of)


def test_there_is_a_record_of_each_kind_of_session_with_each_kind_of_line() -> None:
    types: Counter[str] = Counter()
    for packed in PACKED:
        types += types_of(b"".join(record_chunks(packed)))

    assert {name_of(packed) for packed in PACKED} == {
        "attached",
        "causal-order",
        "cri",
        CUT_OFF,
        "docker",
        "evidence",
        "first-part",
        "hanging",
        "killed",
        LATER_PART,
        "observed",
        "process",
        "sim",
        "watched",
    }
    assert set(types) == {kind.__struct_config__.tag for kind in get_args(AnyRecord)}


@every_record
def test_every_line_of_it_is_read(record: Path) -> None:
    recording = read_recording(record)

    types = types_of(b"".join(record_chunks(record)))
    written = sum(types[kind] for kind in types.keys() - NOT_ENTRIES)
    taken_back = written - len(recording.entries)
    assert (taken_back > 0) == ("rewind" in types)
    assert (recording.problem == "") == ("end" in types)


@pytest.mark.parametrize(
    "packed", [path for path in PACKED if name_of(path) != LATER_PART], ids=id_of
)
def test_the_engine_decides_as_it_did_then(record: Path) -> None:
    recording = RecordingFile(record)
    is_observed = recording.session.observed
    begin = ObservationReplay if is_observed else ReplayEngine
    course = ReplaySource(recording, begin=begin)

    while course.next_at() is not None:
        course.turn()

    assert course.position == len(recording)
    assert course.note == recording.problem
    # The last input may have come to more than what was still written.
    assert len(course.journal) >= recording.entries > 0


@pytest.mark.parametrize(
    "packed", [path for path in PACKED if name_of(path) == LATER_PART], ids=id_of
)
def test_a_later_part_has_an_error_why_it_cannot_be_replayed(record: Path) -> None:
    with pytest.raises(RecordError, match="later part of a session"):
        RecordingFile(record)


@every_record
def test_answers_that_were_cut_say_by_how_much(record: Path) -> None:
    cuts = [
        attempt.http.cut_bytes
        for entry in read_recording(record).entries
        if isinstance(entry, TickEntry)
        for attempt in entry.attempts
        if attempt.http is not None and attempt.http.cut_bytes
    ]

    assert bool(cuts) == (record.suffix == ".gz")


@every_record
@pytest.mark.usefixtures("_in_utc")
def test_why_prints_the_same_as_at_the_release(
    packed: Path,
    record: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(record.parent)

    status = run(["why", record.name])

    captured = capsys.readouterr()
    text = f"{captured.out}---\n{captured.err}"
    golden = packed.with_name(f"{name_of(packed)}.why.txt")
    if UPDATES:
        golden.write_text(text, encoding="utf-8")
    assert status == 0
    assert text == golden.read_text(encoding="utf-8")
