"""The clock of a node, learnt from what comes from there."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from probetui.cluster.observe.node_clock import NodeClock

_START = datetime(2026, 1, 1, tzinfo=UTC)


def _offset_after(*late_seconds: float) -> float:
    clock = NodeClock()
    for number, late in enumerate(late_seconds):
        instant = _START + timedelta(seconds=10 * number)
        clock.learn(instant, instant + timedelta(seconds=late))
    return clock.offset.total_seconds()


@pytest.mark.parametrize("late", [(3.4,), (3.4, 5.0), (3.4, 0.2, 4.0)])
def test_statuses_that_are_late_are_not_taken_for_a_clock_behind(
    late: tuple[float, ...],
) -> None:
    assert _offset_after(*late) == 0


def test_a_clock_behind_is_known_by_several_statuses() -> None:
    assert _offset_after(60.5, 61.0, 60.7) == 60


def test_a_clock_ahead_is_known_by_one_status_as_none_comes_too_early() -> None:
    assert _offset_after(-59.5) == -60
