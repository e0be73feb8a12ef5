from __future__ import annotations

from datetime import datetime
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from probetui.k8s.runtime import ContainerID
from probetui.kubelet.effects import RunProbe
from probetui.kubelet.journal import Trigger
from probetui.kubelet.prober.worker import Worker
from probetui.kubelet.prober.worker_loop import (
    STOP,
    InFlight,
    Stop,
    TickStart,
    WorkerLoop,
)
from tests.builders import START, a_container, a_key, a_pod, a_probe, at

PERIODIC, READINESS, USER = Trigger
IN_FLIGHT = InFlight(
    RunProbe(
        1, a_key(), a_pod(), a_container(), a_probe(), ContainerID("x://1"), "::1"
    ),
    TickStart(
        PERIODIC, START, (), new_container=False, stored_before=None, hold_before=False
    ),
)


def a_loop(period_seconds: int = 10, first_at: datetime = START) -> WorkerLoop:
    probe = a_probe(period_seconds=period_seconds)
    return WorkerLoop(Worker(a_key(), a_pod(), a_container(), probe), first_at)


def a_running_loop(period_seconds: int = 10) -> WorkerLoop:
    """Return a loop that has stepped once, at the start."""
    loop = a_loop(period_seconds)
    select(loop, 0)
    return loop


def select(loop: WorkerLoop, seconds: float, seed: int = 0) -> Trigger | Stop | None:
    return loop.select(at(seconds), Random(seed))


def steps(loop: WorkerLoop, *seconds: float) -> list[Trigger | Stop | None]:
    return [select(loop, second) for second in seconds]


class TestTicker:
    def test_nothing_happens_before_the_first_step_is_due(self) -> None:
        loop = a_loop(first_at=at(3))

        assert steps(loop, 0, 2.9, 3, 3) == [None, None, PERIODIC, None]
        assert loop.next_tick_at == at(13)

    def test_not_even_a_stop_or_a_trigger_interrupts_that_wait(self) -> None:
        loop = a_loop(first_at=at(3))
        loop.stop, loop.trigger = True, USER

        assert steps(loop, 0, 3) == [None, PERIODIC]

    def test_ticks_come_once_a_period(self) -> None:
        loop = a_loop(period_seconds=2)

        assert steps(loop, 0, 1, 2, 3, 4, 4) == [
            PERIODIC,
            None,
            PERIODIC,
            None,
            PERIODIC,
            None,
        ]

    def test_nothing_is_ready_while_a_step_runs(self) -> None:
        loop = a_running_loop()
        loop.in_flight = IN_FLIGHT
        loop.stop = True

        assert select(loop, 60) is None

    def test_of_the_ticks_that_a_slow_step_missed_one_is_kept(self) -> None:
        loop = a_running_loop(period_seconds=1)

        assert steps(loop, 2.5, 2.5, 3, 4) == [PERIODIC, None, PERIODIC, PERIODIC]

    @pytest.mark.parametrize(
        ("late", "next_at"),
        [
            pytest.param(0.2, 10, id="slightly"),
            pytest.param(10, 20, id="a-period"),
            pytest.param(12, 22, id="longer"),
        ],
    )
    def test_a_first_step_keeps_the_phase_unless_it_is_a_period_late(
        self, late: float, next_at: int
    ) -> None:
        loop = a_loop(period_seconds=10)

        assert steps(loop, late, late) == [PERIODIC, None]
        assert loop.next_tick_at == at(next_at)


class TestTrigger:
    def test_it_moves_the_phase(self) -> None:
        loop = a_running_loop(period_seconds=1)
        loop.trigger = READINESS

        assert steps(loop, 0.4, 1, 1.4) == [READINESS, None, PERIODIC]
        assert loop.trigger is None

    def test_a_tick_or_a_trigger_may_be_selected_first(self) -> None:
        selected = set()
        for seed in range(20):
            loop = a_running_loop(period_seconds=1)
            loop.trigger = USER
            selected.add((select(loop, 1, seed), select(loop, 1, seed)))

        assert selected == {(USER, None), (PERIODIC, USER)}

    def test_a_stop_or_a_tick_may_be_selected_first(self) -> None:
        selected = set()
        for seed in range(20):
            loop = a_running_loop(period_seconds=1)
            loop.stop = True
            selected.add(select(loop, 1, seed))

        assert selected == {STOP, PERIODIC}

    def test_a_stop_is_selected_once(self) -> None:
        loop = a_running_loop()
        loop.stop = True

        assert steps(loop, 1, 1) == [STOP, None]


class TestPaused:
    def test_ticks_and_triggers_of_readiness_wait(self) -> None:
        loop = a_running_loop(period_seconds=1)
        loop.trigger = READINESS

        assert loop.select_while_held(at(60)) is None
        assert loop.trigger is READINESS

    def test_a_stop_does_not_wait(self) -> None:
        loop = a_running_loop()
        loop.stop = True

        assert loop.select_while_held(at(1)) is STOP
        assert loop.select_while_held(at(1)) is None

    def test_a_trigger_by_the_user_does_not_wait(self) -> None:
        loop = a_running_loop(period_seconds=10)
        loop.trigger = USER

        assert loop.select_while_held(at(4)) is USER
        assert loop.next_tick_at == at(14)
        assert loop.select_while_held(at(4)) is None

    def test_but_both_wait_for_the_first_step(self) -> None:
        loop = a_loop(first_at=at(30))
        loop.stop, loop.trigger = True, USER

        assert loop.select_while_held(at(20)) is None

    def test_and_for_the_end_of_a_step_that_runs(self) -> None:
        loop = a_running_loop()
        loop.in_flight = IN_FLIGHT
        loop.stop, loop.trigger = True, USER

        assert loop.select_while_held(at(20)) is None


class TestRunEarly:
    def test_the_first_step_starts_the_ticker(self) -> None:
        loop = a_loop(period_seconds=10, first_at=at(7))

        assert loop.run_early(at(2)) is PERIODIC
        assert loop.next_tick_at == at(12)

    def test_a_tick_that_is_not_due_keeps_the_phase(self) -> None:
        loop = a_running_loop(period_seconds=10)

        assert loop.run_early(at(4)) is PERIODIC
        assert loop.next_tick_at == at(20)

    def test_a_tick_that_was_held_back_keeps_it_too(self) -> None:
        loop = a_running_loop(period_seconds=10)

        assert loop.run_early(at(34)) is PERIODIC
        assert loop.next_tick_at == at(40)

    def test_a_waiting_trigger_is_selected_first(self) -> None:
        loop = a_running_loop(period_seconds=10)
        loop.trigger = READINESS

        assert loop.run_early(at(4)) is READINESS
        assert loop.next_tick_at == at(14)

    def test_but_not_before_the_first_step(self) -> None:
        loop = a_loop(period_seconds=10)
        loop.trigger = READINESS

        assert loop.run_early(at(4)) is PERIODIC
        assert loop.trigger is READINESS


@given(st.integers(1, 5), st.lists(st.integers(1, 4000), max_size=30))
def test_without_triggers_the_phase_of_the_ticker_never_moves(
    period_seconds: int, waits_ms: list[int]
) -> None:
    loop = a_running_loop(period_seconds)
    elapsed_ms = 0

    for wait_ms in waits_ms:
        elapsed_ms += wait_ms
        while select(loop, elapsed_ms / 1000) is not None:
            pass

        age = loop.next_tick_at - START
        assert not age % loop.period
        assert at(elapsed_ms / 1000) < loop.next_tick_at
        assert loop.next_tick_at - at(elapsed_ms / 1000) <= loop.period


@given(st.integers(1, 30))
def test_steps_do_not_change_the_phase_of_the_ticker(
    count: int,
) -> None:
    loop = a_running_loop(period_seconds=3)

    for second in range(count):
        before = loop.next_tick_at
        loop.run_early(at(second))

        assert loop.next_tick_at == before + loop.period
