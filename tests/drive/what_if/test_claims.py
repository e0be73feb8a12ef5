"""Reruns of records that claim more than they have: restarts, time."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from probetui.cli.main import run
from probetui.drive.what_if.measurements import Measurements
from probetui.errors import RecordError
from tests.drive.what_if.recorded import outcome_of, replay_of, simulate, what_if

SCRIPT = """
containers:
  app:
    liveness:
      - {result: success, until: 21s}
      - {result: failure, until: 41s}
      - success
"""
OTHER = "app.livenessProbe.failureThreshold=9"


@pytest.fixture
def record(tmp_path: Path) -> Path:
    return simulate(tmp_path, SCRIPT, length="60s")


def changed(record: Path, change: Any) -> Path:
    lines = [json.loads(line) for line in record.read_text().splitlines()]
    change(lines)
    path = record.with_name("changed.jsonl")
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


@pytest.mark.parametrize("ts", ["2026-01-02", "2100-01-01", "2299-01-01"])
def test_a_rerun_ends_with_the_inputs_whatever_the_last_line_claims(
    record: Path, ts: str
) -> None:
    def claim(lines: list[dict[str, Any]]) -> None:
        lines[-1]["ts"] = f"{ts}T00:00:00.000000Z"

    replay, honest = replay_of(changed(record, claim)), replay_of(record)

    assert (replay.ended_at - honest.ended_at).total_seconds() <= 10
    assert len(what_if(replay, OTHER).journal) < 2 * len(what_if(honest, OTHER).journal)


def test_inputs_that_claim_years_do_not_make_a_rerun_of_years(record: Path) -> None:
    def claim(lines: list[dict[str, Any]]) -> None:
        last = max(place for place, line in enumerate(lines) if line["type"] == "input")
        for line in lines[last:]:
            line["ts"] = "2100-01-01T00:00:00.000000Z"

    replay = replay_of(changed(record, claim))

    with pytest.raises(RecordError, match="inputs, too few for the time of its last"):
        what_if(replay, OTHER)


@pytest.mark.parametrize("count", [10**6, 2**31 - 1, 2**63, 2**64 - 1])
def test_a_restart_count_is_no_number_of_instances(record: Path, count: int) -> None:
    def claim(lines: list[dict[str, Any]]) -> None:
        for line in lines:
            text = json.dumps(line).replace(
                '"restartCount": 1', f'"restartCount": {count}'
            )
            line.clear()
            line.update(json.loads(text))

    replay = replay_of(changed(record, claim))
    (instances,) = Measurements(replay).lives(lambda *_: None).values()

    assert len(instances) == min(count, 2**31 - 1) + 2
    assert instances[1].lasts == instances[0].lasts
    assert instances[len(instances) - 1] is not None
    with pytest.raises(IndexError):
        instances[len(instances)]
    outcome_of(replay, what_if(replay, OTHER))


def test_a_number_that_no_machine_counts_to_is_damage(
    record: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    for count in (2**64, 10**400):
        text = record.read_text().replace('"restartCount":1', f'"restartCount":{count}')
        path = record.with_name("changed.jsonl")
        path.write_text(text)

        status = run(["whatif", str(path), "--set", OTHER])

        assert status in {0, 1}
        assert "has more than 64 bits" in capfd.readouterr().err
