"""The lanes of a record that is over."""

from __future__ import annotations

from pathlib import Path

import pytest

from probetui.cli.main import run
from probetui.presentation.lanes import ASCII_LANES
from probetui.presentation.recorded_lanes import RecordedLanes
from probetui.presentation.text.spans import text_of
from probetui.record.reader import Recording, read_recording


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Recording:
    """Return the record of a lesson in which a container is killed."""
    path: Path = tmp_path_factory.mktemp("record") / "demo.jsonl"
    words = ["demo", "--runtime", "sim", "--plain", "-q", "--for", "30s"]
    assert run([*words, "--no-autosave", "--record", str(path)]) == 0
    return read_recording(path)


def lanes_of(recording: Recording, width: int) -> list[str]:
    lanes = RecordedLanes(
        recording.entries, recording.pods, recording.started_at, recording.ended_at
    )
    return [text_of(shown) for shown in lanes.lines(width, ASCII_LANES)]


@pytest.mark.parametrize("width", [24, 60, 100])
def test_a_whole_session_fits_into_any_width(recording: Recording, width: int) -> None:
    axis, lane = lanes_of(recording, width)

    assert axis.endswith("end")
    assert len(axis) == len(lane) == width
    assert "|" in lane


def test_kills_are_seen_beside_the_name(recording: Recording) -> None:
    _, lane = lanes_of(recording, 100)

    assert lane.startswith("liveness/app ")
    assert lane.count("K") == 3


def test_a_record_without_a_container_says_so(recording: Recording) -> None:
    empty = RecordedLanes([], {}, recording.started_at, recording.ended_at)

    assert [*map(text_of, empty.lines(40, ASCII_LANES))] == ["Nothing was started."]
