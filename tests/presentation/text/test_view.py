"""Short texts for durations and instants."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from probetui.durations import format_age, format_countdown, format_duration
from probetui.presentation.text.view import TimeFormat, TimeFormatter

NOW = datetime(2026, 11, 20, 8, 21, 7, tzinfo=UTC)
START = NOW - timedelta(minutes=3, seconds=7)


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        pytest.param(-1, "0s", id="never below zero"),
        pytest.param(9.9, "9s", id="whole seconds"),
        pytest.param(41, "41s", id="under a minute"),
        pytest.param(242, "4m02s", id="minutes"),
        pytest.param(3_725, "1h02m", id="hours"),
        pytest.param(3 * 86_400 + 4 * 3_600, "3d04h", id="days"),
    ],
)
def test_age(seconds: float, words: str) -> None:
    assert format_age(timedelta(seconds=seconds)) == words


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        pytest.param(-5, "0.0s", id="over"),
        pytest.param(0.84, "0.8s", id="tenths below ten seconds"),
        pytest.param(9.99, "9.9s", id="never rounded up"),
        pytest.param(71, "71s", id="seconds below a hundred"),
        pytest.param(100, "1m40s", id="minutes from a hundred on"),
    ],
)
def test_countdown(seconds: float, words: str) -> None:
    assert format_countdown(timedelta(seconds=seconds)) == words


@pytest.mark.parametrize(
    ("milliseconds", "words"),
    [
        pytest.param(0, "0ms", id="nothing"),
        pytest.param(34, "34ms", id="milliseconds"),
        pytest.param(1_250, "1.2s", id="seconds"),
    ],
)
def test_took(milliseconds: int, words: str) -> None:
    assert format_duration(timedelta(milliseconds=milliseconds)) == words


@given(st.timedeltas())
def test_no_duration_takes_more_than_nine_characters(length: timedelta) -> None:
    longest = max(len(format_age(length)), len(format_countdown(length)))

    assert longest <= 9 + len(str(abs(length.days)))


@pytest.mark.parametrize(
    ("format_", "stamp", "clock"),
    [
        pytest.param(TimeFormat.WALL, "08:20:25.2", "08:20:25", id="wall"),
        pytest.param(TimeFormat.SINCE_START, "+2m25.2s", "+2m25s", id="since start"),
        pytest.param(TimeFormat.AGO, "41s ago", "41s ago", id="ago"),
    ],
)
def test_an_instant_has_the_selected_format(
    format_: TimeFormat, stamp: str, clock: str
) -> None:
    at = NOW - timedelta(seconds=41.8)
    times = TimeFormatter(NOW, START, format_, UTC)

    assert (times.stamp(at), times.clock(at)) == (stamp, clock)


def test_a_future_instant_is_not_shown_as_ago() -> None:
    times = TimeFormatter(NOW, START, TimeFormat.AGO, UTC)

    assert times.clock(NOW + timedelta(seconds=30)) == "in 30s"


def test_the_time_formats_cycle() -> None:
    formats = [TimeFormat.WALL]
    for _ in TimeFormat:
        formats.append(formats[-1].following)

    assert formats == [*TimeFormat, TimeFormat.WALL]
