"""Durations and instants as users write them."""

from __future__ import annotations

from datetime import timedelta

import pytest

from probetui.durations import (
    parse_clock_duration,
    parse_duration,
    parse_instant,
)
from tests.builders import START, at


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        pytest.param("90", 90, id="seconds"),
        pytest.param("0", 0, id="nothing"),
        pytest.param("1.5s", 1.5, id="a fraction"),
        pytest.param("500ms", 0.5, id="milliseconds"),
        pytest.param("1h30m", 5400, id="hours and minutes"),
        pytest.param("30m1h", 5400, id="in any order, as in Go"),
    ],
)
def test_a_duration_is_parsed(text: str, seconds: float) -> None:
    assert parse_duration(text) == timedelta(seconds=seconds)


@pytest.mark.parametrize(
    "text",
    [
        *("", "s", "5x", "-5s", "5s3", "1 h", "1..5s", ".s", "1e3s", "01:30"),
        pytest.param("\N{ARABIC-INDIC DIGIT THREE}", id="a digit of another script"),
        pytest.param("\N{ARABIC-INDIC DIGIT THREE}s", id="the same with a unit"),
        pytest.param("\N{VULGAR FRACTION ONE HALF}h", id="a fraction in one character"),
        pytest.param("99999999h", id="more than ten years"),
        pytest.param("9" * 400, id="more than a float can hold"),
    ],
)
def test_an_invalid_duration_is_refused(text: str) -> None:
    assert parse_duration(text) is None


def test_a_clock_shows_a_duration() -> None:
    assert parse_clock_duration("01:30") == timedelta(seconds=90)
    assert parse_clock_duration("999:00:00") == timedelta(hours=999)
    assert parse_clock_duration("99999999:00:00") is None


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        pytest.param("90", 90, id="seconds"),
        pytest.param("1m30s", 90, id="units"),
        pytest.param("01:30", 90, id="clock"),
        pytest.param("1:00:30.5", 3630.5, id="hours"),
        pytest.param("+10s", 70, id="on"),
        pytest.param("-10s", 50, id="back"),
        pytest.param("-1:30", 0, id="back to the start"),
        pytest.param(" 5s ", 5, id="spaces"),
    ],
)
def test_an_instant_is_relative_to_the_start_or_to_now(
    text: str, seconds: float
) -> None:
    assert parse_instant(text, START, at(60)) == at(seconds)


@pytest.mark.parametrize("text", ["", "soon", "1x", "-", "1:2", "99999999999h", "s"])
def test_an_invalid_instant_is_refused(text: str) -> None:
    assert parse_instant(text, START, at(60)) is None
