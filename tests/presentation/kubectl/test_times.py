"""Durations as kubectl prints them."""

from __future__ import annotations

from datetime import timedelta, timezone

import pytest

from probetui.k8s.event import EventType
from probetui.kubelet.events.event_correlator import ClusterEvent
from probetui.presentation.kubectl.text import (
    format_event_age,
    format_human_duration,
    format_rfc1123,
)
from tests.ticks import NOW


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        pytest.param(-2, "<invalid>", id="in the future"),
        pytest.param(-1.5, "0s", id="a little in the future"),
        pytest.param(0.9, "0s", id="less than a second"),
        pytest.param(119, "119s", id="seconds"),
        pytest.param(120, "2m", id="whole minutes"),
        pytest.param(191, "3m11s", id="minutes and seconds"),
        pytest.param(600, "10m", id="ten minutes"),
        pytest.param(659, "10m", id="no seconds any more"),
        pytest.param(3 * 3600 - 1, "179m", id="minutes"),
        pytest.param(3 * 3600, "3h", id="whole hours"),
        pytest.param(3 * 3600 + 120, "3h2m", id="hours and minutes"),
        pytest.param(8 * 3600 + 120, "8h", id="no minutes any more"),
        pytest.param(47 * 3600, "47h", id="hours"),
        pytest.param(48 * 3600, "2d", id="whole days"),
        pytest.param(51 * 3600, "2d3h", id="days and hours"),
        pytest.param(8 * 86400 + 3600, "8d", id="no hours any more"),
        pytest.param(2 * 365 * 86400, "2y", id="whole years"),
        pytest.param((2 * 365 + 3) * 86400, "2y3d", id="years and days"),
        pytest.param(9 * 365 * 86400 + 86400, "9y", id="years"),
    ],
)
def test_a_duration_has_one_or_two_units(seconds: float, text: str) -> None:
    assert format_human_duration(timedelta(seconds=seconds)) == text


def an_event(first: float, last: float, count: int) -> ClusterEvent:
    """Return an event whose occurrences are that many seconds ago."""
    return ClusterEvent(
        EventType.WARNING,
        "Unhealthy",
        "words",
        "uid",
        "",
        NOW - timedelta(seconds=first),
        NOW - timedelta(seconds=last),
        count,
    )


def test_the_age_of_an_event_counts_from_its_last_occurrence() -> None:
    assert format_event_age(an_event(31, 31, 1), NOW) == "31s"


def test_the_age_of_a_repeated_event_has_its_count_and_period() -> None:
    assert format_event_age(an_event(191, 31, 9), NOW) == "31s (x9 over 3m11s)"


def test_an_event_is_as_old_as_its_whole_seconds() -> None:
    assert format_event_age(an_event(30.5, 30.5, 1), NOW) == "31s"


def test_an_instant_is_written_in_utc_and_in_english() -> None:
    east = NOW.astimezone(timezone(timedelta(hours=9)))

    assert format_rfc1123(east) == "Fri, 20 Nov 2026 08:21:07 +0000"
