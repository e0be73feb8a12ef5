"""The measurement of how much time a busy machine takes from programs."""

from __future__ import annotations

import pytest

from tests.lateness import Lateness, Sample, lost

QUIET = 0.01


def samples(*took: float) -> list[Sample]:
    """Return samples, one per second."""
    return [Sample(index + 1 - seconds, seconds) for index, seconds in enumerate(took)]


def test_no_time_is_lost_on_an_idle_machine() -> None:
    assert lost(samples(QUIET, 2 * QUIET, QUIET), 0, 10) == 0


def test_a_run_that_takes_five_times_as_long_lost_four_fifths() -> None:
    assert lost(samples(QUIET, 5 * QUIET, QUIET), 0, 10) == pytest.approx(0.8)


def test_only_time_between_the_instants_counts() -> None:
    busy = samples(QUIET, *[0.1] * 8, QUIET)

    assert lost(busy, 0, 100) == pytest.approx(8 * 0.9)
    assert lost(busy, 3, 5) == pytest.approx(2 * 0.9)
    assert lost(busy, 20, 30) == 0


def test_the_worst_seconds_are_found() -> None:
    lateness = Lateness()
    lateness.samples += samples(*[QUIET] * 20, *[0.1] * 5, *[QUIET] * 20)

    assert lateness.worst() == pytest.approx(5 * 0.9)
    assert lateness.worst(since=30) == 0
