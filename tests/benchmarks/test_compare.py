"""The comparison of figures with another release."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from benchmarks.compare import words

from benchmarks import compare

BEFORE = {"engine tick": 2.0}
SCRIPT = """
import json
print(json.dumps({"tick_times": 2.5, "tick_us": 40, "seconds": 8}))
"""


@pytest.mark.parametrize(
    ("now", "text"),
    [
        pytest.param(2.1, "engine tick: 2.1 times its yardstick, 2 before", id="alike"),
        pytest.param(
            3.0,
            "engine tick: 3 times its yardstick, 2 before: 50 % SLOWER",
            id="slower",
        ),
        pytest.param(
            1.0,
            "engine tick: 1 times its yardstick, 2 before: 50 % faster",
            id="faster",
        ),
    ],
)
def test_a_change_of_more_than_a_tenth_is_reported(now: float, text: str) -> None:
    assert list(words({"engine tick": now}, BEFORE, 10.0)) == [text]


def test_a_figure_that_no_release_measured_is_reported() -> None:
    assert list(words({"start": 1.5}, BEFORE, 10.0)) == [
        "start: 1.5 times its yardstick, not measured before"
    ]


@pytest.fixture
def quick(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Set one quick benchmark, and a private file of releases."""
    (tmp_path / "engine.py").write_text(SCRIPT)
    monkeypatch.setattr(compare, "HERE", tmp_path)
    monkeypatch.setattr(compare, "QUICK", (("engine.py",),))
    monkeypatch.setattr(compare, "RELEASES", tmp_path / "releases.json")
    return tmp_path / "releases.json"


def run_compare(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> None:
    monkeypatch.setattr(sys, "argv", ["compare.py", *arguments])
    compare.main()


def test_only_figures_measured_in_yardsticks_are_compared(
    quick: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    quick.write_text(json.dumps({"0.1": {}, "0.2": {"engine tick": 2.0}}))

    run_compare(monkeypatch)

    assert capsys.readouterr().out.splitlines() == [
        "beside 0.2:",
        "engine tick: 2.5 times its yardstick, 2 before: 25 % SLOWER",
    ]


def test_another_tolerance_can_be_set(
    quick: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    quick.write_text(json.dumps({"0.2": {"engine tick": 2.0}}))

    run_compare(monkeypatch, "--tolerance", "30")

    assert capsys.readouterr().out.endswith("2.5 times its yardstick, 2 before\n")


def test_the_figures_of_a_release_are_added_to_the_others(
    quick: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    quick.write_text(json.dumps({"0.1": {"engine tick": 2.0}}))

    run_compare(monkeypatch, "--save", "0.2")

    assert json.loads(quick.read_text()) == {
        "0.1": {"engine tick": 2.0},
        "0.2": {"engine tick": 2.5},
    }


def test_nothing_is_compared_without_a_release(
    quick: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert not quick.exists()

    run_compare(monkeypatch)

    assert capsys.readouterr().out.splitlines() == [
        "beside no release:",
        "engine tick: 2.5 times its yardstick, not measured before",
    ]
