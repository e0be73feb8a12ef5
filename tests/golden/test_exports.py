"""Records of released versions as files of other viewers, held against their schemas.

`schemas/trace-events.json` is the subset of the Trace Event Format that is written, of
its public document:
https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU
`schemas/asciicast-v2.json` has the header and the lines of a cast as its manual:
https://docs.asciinema.org/manual/asciicast/v2/
`PROBETUI_UPDATE_GOLDEN=1` rewrites the files beside the records.
"""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from probetui.cli.main import run
from probetui.kubelet.journal import (
    PROBE_CAUSES,
    ContainerEntry,
    LifecycleStep,
)
from probetui.presentation.trace_events import (
    MOST_SAMPLES,
    TracedSession,
    trace_events,
)
from probetui.record.reader import read_recording
from tests.golden.test_records import RECORDS, UPDATES, every_record, name_of
from tests.hostile.payloads import obeyed
from tests.hostile.test_escapes_of_records import TEXT, forged, lines_of, write
from tests.ticks import DEMO_KEY, LIVENESS, NOW, history

SCHEMAS = Path(__file__).parent / "schemas"
EVIDENCE = RECORDS / "1" / "evidence.jsonl.gz"
OK, USAGE = 0, 2


def traced(record: Path, folder: Path) -> Any:
    """Return the trace of a record."""
    path = folder / "trace.json"
    assert run(["export", str(record), "--perfetto", "-o", str(path), "-q"]) == OK
    return json.loads(path.read_bytes())


def events_of(trace: Any, phase: str) -> list[Any]:
    return [event for event in trace["traceEvents"] if event["ph"] == phase]


def problems_of_nesting(trace: Any) -> list[Any]:
    """Return the slices that overlap another of their track without being in it."""
    tracks: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for event in events_of(trace, "X"):
        tracks[event["tid"]].append((event["ts"], event["ts"] + event["dur"]))
    bad = []
    for slices in tracks.values():
        outer: list[int] = []
        for first, last in sorted(slices, key=lambda ends: (ends[0], -ends[1])):
            while outer and outer[-1] <= first:
                outer.pop()
            if outer and outer[-1] < last:
                bad.append((first, last))
            outer.append(last)
    return bad


@every_record
def test_a_trace_obeys_its_schema_and_its_slices_nest(
    packed: Path, tmp_path: Path
) -> None:
    trace = traced(packed, tmp_path)

    schema = json.loads((SCHEMAS / "trace-events.json").read_text())
    errors = [*Draft202012Validator(schema).iter_errors(trace)]
    assert [error.message for error in errors] == []
    assert problems_of_nesting(trace) == []
    assert len(events_of(trace, "X")) > 1


@every_record
def test_each_kill_is_an_instant_and_those_of_probes_end_a_flow(
    packed: Path, tmp_path: Path
) -> None:
    trace = traced(packed, tmp_path)

    stops = [
        entry
        for entry in read_recording(packed).entries
        if isinstance(entry, ContainerEntry) and entry.what is LifecycleStep.STOPPING
    ]
    kills = [event for event in events_of(trace, "i") if "kill" in event["name"]]
    assert len(kills) == len(stops)
    flows = events_of(trace, "f")
    assert len(flows) == sum(entry.by in PROBE_CAUSES for entry in stops)
    for start, end in zip(events_of(trace, "s"), flows, strict=True):
        assert start["id"] == end["id"]
        assert start["ts"] <= end["ts"]
        for event in (start, end):
            assert any(
                event["tid"] == outer["tid"]
                and outer["ts"] <= event["ts"] < outer["ts"] + outer["dur"]
                for outer in events_of(trace, "X")
            )


def test_a_trace_is_the_one_that_was_looked_at(tmp_path: Path) -> None:
    trace = traced(EVIDENCE, tmp_path)

    golden = EVIDENCE.with_name(f"{name_of(EVIDENCE)}.trace.json")
    text = (tmp_path / "trace.json").read_text()
    if UPDATES:
        golden.write_text(text, encoding="utf-8")
    assert text == golden.read_text(encoding="utf-8")
    names = {event["name"].partition(" ")[0] for event in events_of(trace, "X")}
    assert {"instance", "grace", "back-off", "postStart", "preStop"} <= names


def test_no_text_of_a_record_is_obeyed_by_what_shows_its_trace(
    tmp_path: Path,
) -> None:
    lines = lines_of("docker")
    for field in ("output", "detail", "error", "reason", "pod", "namespace"):
        lines = forged(lines, field, TEXT)
    lines = forged(lines, "container", TEXT[:200])
    path = tmp_path / "forged.jsonl"
    write(path, lines)

    trace = traced(path, tmp_path)

    assert (tmp_path / "trace.json").read_bytes().isascii()
    shown = "\n".join(
        text
        for event in trace["traceEvents"]
        for text in (event["name"], *event.get("args", {}).values())
        if isinstance(text, str)
    )
    assert "u202eabc" in shown
    assert obeyed(shown) == []


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--perfetto"], "-o: name the file"),
        (["-o", "x.json"], "name one format"),
        (["-o", "x.json", "--perfetto", "--size", "80x24"], "are of a cast"),
        (["-o", "x.json", "--perfetto", "--speed", "2"], "are of a cast"),
    ],
)
def test_what_is_missing_is_named(
    args: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["export", str(EVIDENCE), *args]) == USAGE
    assert message in capsys.readouterr().err


def test_a_file_of_somebody_else_is_kept(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    mine = tmp_path / "pod.yaml"
    mine.write_text("kind: Pod\n")

    assert run(["export", str(EVIDENCE), "--perfetto", "-o", str(mine)]) == USAGE

    assert mine.read_text() == "kind: Pod\n"
    assert "is not a trace" in capsys.readouterr().err


def test_the_size_of_a_trace_does_not_grow_with_equal_ticks() -> None:
    ticks = history(DEMO_KEY, LIVENESS, "s" * 5 * MOST_SAMPLES, NOW)
    first, last = ticks[0].timing.started_at, ticks[-1].at
    session = TracedSession(first, last, ticks, {})

    events = [*trace_events(session)]

    phases = Counter(event["ph"] for event in events)
    assert phases["X"] == 1
    assert phases["C"] == MOST_SAMPLES
    assert len(events) < MOST_SAMPLES + 20


def cast_of(record: Path, folder: Path, *args: str) -> list[Any]:
    """Return the lines of a cast of a record."""
    path = folder / "session.cast"
    line = ["export", str(record), "--asciicast", "-o", str(path), "-q", *args]
    assert run(line) == OK
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def test_a_cast_obeys_its_schema_and_two_are_the_same(tmp_path: Path) -> None:
    args = ("--size", "80x24", "--speed", "4")
    cast = cast_of(EVIDENCE, tmp_path, *args)

    schema = json.loads((SCHEMAS / "asciicast-v2.json").read_text())
    errors = [*Draft202012Validator(schema).iter_errors(cast)]
    assert [error.message for error in errors] == []
    header, *events = cast
    assert (header["width"], header["height"]) == (80, 24)
    times = [at for at, _, _ in events]
    assert times == sorted(times)
    assert cast == cast_of(EVIDENCE, tmp_path, *args)


def test_a_cast_is_the_same_where_the_machine_is_too_busy_to_look_idle(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def at_once(_seconds: float) -> None:
        """Wait for nothing, as if the process had not been let run."""

    args = ("--size", "80x24", "--speed", "4")
    cast = cast_of(EVIDENCE, tmp_path, *args)

    monkeypatch.setattr("textual.pilot.wait_for_idle", at_once)

    assert cast_of(EVIDENCE, tmp_path, *args) == cast


def test_no_text_of_a_record_is_obeyed_by_what_plays_its_cast(
    tmp_path: Path,
) -> None:
    lines = lines_of("docker")
    for field in ("output", "detail", "error", "reason", "message", "pod"):
        lines = forged(lines, field, TEXT)
    path = tmp_path / f"{TEXT[:20].replace('/', '')}.jsonl"
    write(path, lines)

    header, *events = cast_of(path, tmp_path, "--speed", "20")

    assert obeyed(header["title"]) == []
    *frames, last = [text for _, _, text in events]
    assert last == "\x1b[30;1H\r\n"
    shown = "".join(re.sub(r"\x1b\[[0-9;]*[mHJ]", "", text) for text in frames)
    assert "\\x1b[2J" in shown
    assert obeyed(shown) == []


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--speed", "0.001"], "take 1 or more"),
        (["--size", "9x9"], "from 40x10 to 300x100"),
        (["--perfetto"], "name one format"),
    ],
)
def test_a_cast_that_cannot_be_is_refused(
    args: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "session.cast"
    line = ["export", str(EVIDENCE), "--asciicast", "-o", str(path), *args]

    assert run(line) == USAGE

    assert message in capsys.readouterr().err
    assert not path.exists()


def test_a_trace_takes_the_place_of_an_earlier_one(tmp_path: Path) -> None:
    traced(RECORDS / "1" / "docker.jsonl.gz", tmp_path)

    trace = traced(EVIDENCE, tmp_path)

    golden = EVIDENCE.with_name(f"{name_of(EVIDENCE)}.trace.json")
    assert trace == json.loads(golden.read_bytes())
