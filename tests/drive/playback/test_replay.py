"""Replays of recordings: the inputs go to a new engine, whose turns are compared."""

from __future__ import annotations

import json
import re
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from probetui.debugger.commands import (
    BreakpointKind,
    DelayProbes,
    DryRunProbe,
    Injected,
    InjectResults,
    MuteProbes,
    PauseProbes,
    RestartContainer,
    ResumeProbes,
    SetBreakpoints,
    TriggerProbe,
    UnmuteProbes,
)
from probetui.debugger.scope import ALL_PROBES, Scope
from probetui.drive.playback.replay import ReplayEngine, ReplaySource
from probetui.drive.scenario.behavior import (
    InstanceBehavior,
    ResultName,
    ResultPhase,
    ResultPhases,
    ScriptedResult,
)
from probetui.drive.scenario.script import Scenario
from probetui.engine.inputs import Command, DeletePod
from probetui.engine.snapshot import Snapshot
from probetui.errors import RecordError
from probetui.k8s.pod import Pod
from probetui.k8s.probe import ProbeType
from probetui.kubelet.journal import TickEntry
from probetui.kubelet.runtime.turn import Turn
from probetui.record.reader import RecordingFile, read_recording
from tests.builders import a_container, a_key, a_pod, a_probe, at
from tests.drive.recorded_simulation import Recorded, open_replay

SUCCESS = ResultPhase(ScriptedResult(ResultName.SUCCESS), times=4)
FAILURE = ResultPhase(ScriptedResult(ResultName.FAILURE, output="not well"), times=3)
ERRED = ResultPhase(ScriptedResult(ResultName.ERRORED), times=1)
SICKLY = InstanceBehavior(
    stops_after=None,
    answers={
        ProbeType.LIVENESS: ResultPhases((SUCCESS, FAILURE)),
        ProbeType.READINESS: ResultPhases((SUCCESS, ERRED, FAILURE), repeat=True),
    },
)
SCENARIO = Scenario(
    lives={
        "app": (SICKLY,),
        "mayfly": (InstanceBehavior(timedelta(seconds=3), exit_code=1),),
    }
)


def pods() -> tuple[Pod, ...]:
    probe = a_probe(period_seconds=2)
    return (
        a_pod(
            a_container(liveness_probe=probe, readiness_probe=probe),
            name="sickly",
            termination_grace_period_seconds=5,
        ),
        a_pod(a_container("mayfly"), name="loop"),
    )


def as_bytes(snapshot: Snapshot) -> bytes:
    """Return a snapshot with all its fields as bytes."""
    return repr(snapshot).encode()


@pytest.fixture
def recorded(tmp_path: Path) -> Recorded:
    return Recorded(tmp_path / "session.jsonl", *pods(), scenario=SCENARIO)


@pytest.mark.slow
def test_a_replay_has_the_snapshots_of_the_session_at_every_instant(
    recorded: Recorded,
) -> None:
    snapshots = []
    for second in range(1, 120):
        recorded.run_until(at(second))
        snapshots.append(as_bytes(recorded.source.snapshot()))
    source = recorded.end()

    again = []
    for second in range(1, 120):
        while (due := source.next_at()) is not None and due <= at(second):
            source.turn()
        source.pass_until(at(second))
        again.append(as_bytes(source.snapshot()))

    assert again == snapshots
    assert source.note == ""
    assert list(source.journal) == list(recorded.source.journal)
    assert sum(isinstance(entry, TickEntry) for entry in source.journal) > 80


def test_a_record_knows_the_pods_of_its_session(recorded: Recorded) -> None:
    recorded.run_until(at(5))
    recorded.end()

    assert RecordingFile(recorded.path).pods() == pods()


class CountingEngine(ReplayEngine):
    """Counts the inputs that are fed to all engines."""

    inputs = 0

    def feed_next_input(self, recording: RecordingFile) -> Turn:
        CountingEngine.inputs += 1
        return super().feed_next_input(recording)


def test_a_turn_feeds_one_input_to_one_engine(
    recorded: Recorded, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(CountingEngine, "inputs", 0)
    recorded.run_until(at(20))
    recorded.end()
    record = RecordingFile(recorded.path)
    source = ReplaySource(record, begin=CountingEngine)
    turns = 0

    while source.next_at() is not None:
        source.turn()
        turns += 1
        assert CountingEngine.inputs == turns

    assert turns == 2 * len(record)
    assert source.position == len(record)


def test_commands_of_the_user_are_replayed(recorded: Recorded) -> None:
    key = a_key(ProbeType.LIVENESS, pod="sickly")
    commands: tuple[tuple[float, Command], ...] = (
        (2, DelayProbes(ALL_PROBES, timedelta(seconds=0.7))),
        (4, InjectResults(key, (Injected.FAILURE, Injected.ERRORED))),
        (5, TriggerProbe(key)),
        (8, MuteProbes(ALL_PROBES)),
        (9, DryRunProbe(key)),
        (10, PauseProbes()),
        (15, ResumeProbes()),
        (18, UnmuteProbes(ALL_PROBES)),
        (20, RestartContainer("uid-of-sickly", "app")),
        (22, DelayProbes(Scope.of(key), timedelta())),
        (25, SetBreakpoints(frozenset({BreakpointKind.BEFORE_KILL}))),
        (40, DeletePod("uid-of-loop")),
        (41, ResumeProbes()),
    )
    for second, command in commands:
        recorded.run_until(at(second))
        recorded.source.submit(command)
    recorded.run_until(at(60))
    source = recorded.end()

    while source.next_at() is not None:
        source.turn()

    assert source.note == ""
    assert list(source.journal) == list(recorded.source.journal)


@pytest.fixture(scope="module")
def eventful_recording(
    tmp_path_factory: pytest.TempPathFactory,
) -> tuple[Path, list[bytes]]:
    """Return a recording of a minute and its snapshots of every half second."""
    path = tmp_path_factory.mktemp("eventful") / "session.jsonl"
    recorded = Recorded(path, *pods(), scenario=SCENARIO)
    snapshots = []
    for half in range(121):
        recorded.run_until(at(half / 2))
        snapshots.append(as_bytes(recorded.source.snapshot()))
    recorded.end()
    return path, snapshots


@pytest.mark.slow
@given(
    st.lists(st.integers(0, 120), min_size=1, max_size=6),
    st.sampled_from([10, 60, 10_000]),
)
@settings(max_examples=25, deadline=None)
def test_a_seek_to_any_instant_gives_the_recorded_snapshot(
    eventful_recording: tuple[Path, list[bytes]], halves: list[int], apart: int
) -> None:
    path, snapshots = eventful_recording
    source = open_replay(path, apart)

    shown = []
    for half in halves:
        seek(source, half / 2)
        shown.append(as_bytes(source.snapshot()))

    assert shown == [snapshots[half] for half in halves]
    assert source.now == at(halves[-1] / 2)


def seek(source: ReplaySource, second: float) -> None:
    if at(second) < source.now:
        source.seek_back(at(second))
        return
    while not source.approach(at(second)):
        pass
    while (due := source.next_at()) is not None and due <= at(second):
        source.turn()
    source.pass_until(at(second))


def test_a_recording_of_a_rewound_session_replays_what_was_kept(
    recorded: Recorded,
) -> None:
    recorded.run_until(at(40))
    recorded.source.seek_back(at(12))
    recorded.rewound()
    recorded.source.submit(RestartContainer("uid-of-sickly", "app"))
    recorded.run_until(at(40))
    source = recorded.end()

    seek(source, 40)

    assert source.note == ""
    assert list(source.journal) == list(recorded.source.journal)
    assert as_bytes(source.snapshot()) == as_bytes(recorded.source.snapshot())


def as_numbered_before(lines: list[str]) -> list[str]:
    """Number records the old way, in which not every line had a number of its own."""
    entries: list[int] = []
    before = []
    for data in map(json.loads, lines):
        cause = data.get("cause")
        match data["type"]:
            case "session":
                number = 0
            case "input":
                number = len(entries)
            case "rewind":
                last = data.pop("kept")
                entries = [line for line in entries if line <= last]
                number = len(entries)
            case _:
                entries.append(data["seq"])
                number = len(entries)
        changed = {} if cause is None else {"cause": entries.index(cause) + 1}
        before.append(json.dumps(data | changed | {"seq": number}))
    return before


def test_a_recording_with_the_old_numbering_is_replayed(recorded: Recorded) -> None:
    recorded.run_until(at(40))
    recorded.source.seek_back(at(12))
    recorded.rewound()
    recorded.run_until(at(40))
    recorded.end()
    lines = as_numbered_before(recorded.path.read_text().splitlines())
    recorded.path.write_text("\n".join(lines) + "\n")

    source = open_replay(recorded.path)
    seek(source, 40)

    assert source.note == ""
    assert list(source.journal) == list(recorded.source.journal)
    assert read_recording(recorded.path).entries == tuple(source.journal)


def test_every_line_has_a_number_of_its_own_and_causes_name_ticks_before_them(
    recorded: Recorded,
) -> None:
    recorded.run_until(at(40))
    recorded.source.seek_back(at(12))
    recorded.rewound()
    recorded.run_until(at(60))
    recorded.end()

    lines = [json.loads(line) for line in recorded.path.read_text().splitlines()]
    effects = [line for line in lines if line.get("cause") is not None]
    assert [line["seq"] for line in lines] == list(range(len(lines)))
    assert {effect["type"] for effect in effects} == {"event", "state"}
    assert all(effect["cause"] < effect["seq"] for effect in effects)
    assert {lines[effect["cause"]]["type"] for effect in effects} == {"tick"}


def test_the_complete_lines_of_a_truncated_recording_are_replayed(
    recorded: Recorded,
) -> None:
    recorded.run_until(at(30))
    recorded.end()
    data = recorded.path.read_bytes()
    half = data[: len(data) // 2].rpartition(b"\n")[0] + b'\n{"v":1,"seq":77'
    recorded.path.write_bytes(half)

    source = open_replay(recorded.path)
    seek(source, 30)

    assert "is damaged: cut off after 15 bytes" in source.note
    assert 0 < len(source.journal) < len(recorded.source.journal)
    assert list(source.journal) == list(recorded.source.journal)[: len(source.journal)]


def test_a_recording_truncated_anywhere_is_replayed_up_to_there_with_a_problem(
    recorded: Recorded,
) -> None:
    recorded.run_until(at(9))
    recorded.end()
    lines = recorded.path.read_bytes().splitlines(keepends=True)
    journal = list(recorded.source.journal)
    first = next(n for n, line in enumerate(lines, 1) if b'"type":"input"' in line)

    for whole in range(first, len(lines)):
        for rest in (b"", lines[whole][:1], lines[whole][:-1]):
            recorded.path.write_bytes(b"".join(lines[:whole]) + rest)

            file, recording = (
                RecordingFile(recorded.path),
                read_recording(recorded.path),
            )

            assert recording.entries == tuple(journal[: len(recording.entries)])
            assert file.entries == len(recording.entries)
            assert file.problem == recording.problem
            problem = (
                f"line {whole + 1} is damaged: cut off after {len(rest)} bytes"
                if rest
                else f"incomplete recording ({whole} lines, up to 00:0"
            )
            assert file.problem.startswith(problem)
    assert len(lines) > 100


@pytest.mark.parametrize("share", [0.1, 0.4, 0.7, 0.9])
def test_the_rest_of_a_truncated_recording_is_replayed_without_a_difference(
    recorded: Recorded, share: float
) -> None:
    recorded.run_until(at(40))
    recorded.end()
    lines = recorded.path.read_bytes().splitlines(keepends=True)
    recorded.path.write_bytes(b"".join(lines[: int(len(lines) * share)]))

    source = open_replay(recorded.path)
    while source.next_at() is not None:
        source.turn()

    journal = list(recorded.source.journal)
    assert 0 < len(source.journal) < len(journal)
    assert list(source.journal) == journal[: len(source.journal)]
    assert source.note.startswith("incomplete recording")


def test_the_first_difference_is_noted(recorded: Recorded) -> None:
    recorded.run_until(at(30))
    recorded.end()
    lines = recorded.path.read_bytes().splitlines(keepends=True)
    forged = [
        line.replace(b'"reason":"Started"', b'"reason":"Stopped"', 1) for line in lines
    ]
    recorded.path.write_bytes(b"".join(forged))

    source = open_replay(recorded.path)
    seek(source, 30)

    assert "replay differs from 00:00.0 on" in source.note
    assert "reason: 'Started', was 'Stopped'" in source.note
    assert len(source.journal) == len(recorded.source.journal)


def test_an_answer_to_no_probe_ends_the_replay_with_a_note(
    recorded: Recorded,
) -> None:
    recorded.run_until(at(30))
    recorded.end()
    lines = recorded.path.read_bytes().splitlines(keepends=True)
    probe_id = re.findall(rb'"probeID":\d+,', b"".join(lines))[5]
    stray = [line.replace(probe_id, b'"probeID":99999,') for line in lines]
    recorded.path.write_bytes(b"".join(stray))

    source = open_replay(recorded.path)
    seek(source, 30)

    assert "replay stops at" in source.note
    assert "answer 99999 was not asked for" in source.note
    assert 0 < len(source.journal) < len(recorded.source.journal)


COMMON = '"v":1,"seq":0,"ts":"2026-01-01T00:00:00.000000Z","t":0.0'
HEADER = (
    f'{{{COMMON},"type":"session","probetui":"1","runtime":"sim","kubelet":"v1.32",'
    '"options":{},"manifests":[],"seed":1,"config":%s}\n'
)
TIME_PASSES = f'{{{COMMON},"type":"input","n":1,"input":null}}\n'


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        pytest.param("", "is not a recording: cut off after 0 bytes", id="empty"),
        pytest.param(
            "hello\n", "is not a recording: JSON is malformed", id="no record"
        ),
        pytest.param(
            '{"v":2,"seq":0,"ts":"2026-01-01T00:00:00Z","t":0.0,"type":"session"}\n',
            "version 2, this probetui reads up to version 1",
            id="newer",
        ),
        pytest.param(
            TIME_PASSES, "line 1: no session record comes first", id="an input first"
        ),
        pytest.param(HEADER % "{}", "no inputs of the engine", id="without inputs"),
        pytest.param(
            HEADER % "[]" + TIME_PASSES,
            "the session record is damaged: Expected `object`, got `array`",
            id="without a config",
        ),
        pytest.param(
            HEADER % '{"relistPeriod":0}' + TIME_PASSES,
            "the session record is damaged: relist_period must be longer than nothing",
            id="with a config of no kubelet",
        ),
    ],
)
def test_a_recording_that_cannot_be_replayed_is_refused(
    tmp_path: Path, content: str, problem: str
) -> None:
    path = tmp_path / "session.jsonl"
    path.write_text(content)

    with pytest.raises(RecordError, match=problem):
        open_replay(path)


def test_a_recording_reformatted_by_another_tool_is_replayed(
    recorded: Recorded,
) -> None:
    recorded.run_until(at(10))
    recorded.end()
    lines = recorded.path.read_text().splitlines()
    recorded.path.write_text(
        "".join(
            json.dumps(dict(sorted(json.loads(line).items()))) + "\n" for line in lines
        )
    )

    source = open_replay(recorded.path)
    seek(source, 10)

    assert source.note == ""
    assert list(source.journal) == list(recorded.source.journal)
