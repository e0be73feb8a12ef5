"""Ticks that are lost because they were taken late are counted."""

from __future__ import annotations

import pytest

from probetui.k8s.probe import ProbeType
from tests.builders import at
from tests.kubelet.prober.bench import Bench, with_probe

READINESS = ProbeType.READINESS


def lost_ticks_by_lateness(bench: Bench) -> list[int]:
    return [tick.timing.late_drops for tick in bench.ticks()]


def wake(bench: Bench, seconds: float) -> None:
    """Let nothing happen up to that second, as where the process does not run."""
    bench.now = at(seconds)
    bench.manager.scheduler.run_due(bench.now)
    bench.finish_turn()


@pytest.mark.parametrize(
    ("woken", "lost"),
    [
        pytest.param(1, 0, id="in time"),
        pytest.param(1.9, 0, id="late by less than a period"),
        pytest.param(2, 1, id="late by a period"),
        pytest.param(4.5, 3, id="late by more"),
    ],
)
def test_ticks_that_nobody_took_are_counted_at_the_one_that_was_kept(
    woken: float, lost: int
) -> None:
    bench = Bench(with_probe(READINESS))
    bench.run(0)
    bench.answer()

    wake(bench, woken)
    bench.answer()

    assert lost_ticks_by_lateness(bench) == [0, lost]


def test_what_a_slow_probe_costs_is_not_counted_as_lateness() -> None:
    bench = Bench(with_probe(READINESS))
    bench.run(2.5)
    bench.answer()
    bench.run(2.5)
    bench.answer()

    assert lost_ticks_by_lateness(bench) == [0, 0]


def test_only_ticks_after_the_end_of_a_slow_probe_count() -> None:
    bench = Bench(with_probe(READINESS))
    bench.run(2.5)
    bench.answer()

    wake(bench, 4.5)
    bench.answer()

    assert lost_ticks_by_lateness(bench) == [0, 2]


def test_a_slow_probe_that_began_late_costs_one_more() -> None:
    bench = Bench(with_probe(READINESS))
    bench.run(0)
    bench.answer()
    wake(bench, 1.5)
    wake(bench, 3.1)

    bench.answer()
    wake(bench, 3.1)
    bench.answer()

    assert [tick.timing.duration.total_seconds() for tick in bench.ticks()] == [
        0,
        1.6,
        0,
    ]
    assert lost_ticks_by_lateness(bench) == [0, 0, 1]


def test_a_first_step_that_is_late_loses_nothing() -> None:
    bench = Bench(with_probe(READINESS))

    wake(bench, 5)
    bench.answer()

    assert lost_ticks_by_lateness(bench) == [0]


def test_what_a_pause_holds_back_is_not_lost_by_lateness() -> None:
    bench = Bench(with_probe(READINESS))
    bench.run(0)
    bench.answer()
    bench.overrides.pause()
    bench.run(4.5)
    bench.overrides.resume(at(4.5))
    bench.manager.scheduler.run_due(at(4.5))
    bench.finish_turn()
    bench.answer()

    assert lost_ticks_by_lateness(bench) == [0, 0]
