from __future__ import annotations

from collections.abc import Callable

import pytest

from probetui.k8s.runtime import ContainerID
from probetui.kubelet.effects import RemoveContainer, RunOperation
from probetui.kubelet.facts import OperationFinished
from probetui.kubelet.runtime.routines import (
    NOW,
    Gather,
    OneShotEvent,
    Routine,
    RoutineRunner,
    Step,
    StepResult,
    WaitFor,
    WithTimeout,
)
from probetui.kubelet.runtime.turn import TurnBuilder
from tests.builders import START, at
from tests.kubelet.effect_executor import EffectExecutor


def an_operation(name: str = "one") -> RemoveContainer:
    return RemoveContainer(ContainerID(f"fake://{name}"))


ONE, TWO = an_operation("one"), an_operation("two")


def yielding(*steps: Step) -> Routine[list[StepResult]]:
    """Yield steps and return their outcomes."""
    outcomes: list[StepResult] = []
    for step in steps:
        outcome = yield step
        outcomes.append(outcome)
    return outcomes


def returning(value: str) -> Routine[str]:
    """Return without waiting for anything."""
    yield NOW
    return value


class TestOperations:
    def test_a_routine_receives_the_result_of_its_operation(self) -> None:
        carrier = EffectExecutor()
        carrier.start(yielding(ONE, TWO))

        carrier.answer("value", after=1)
        carrier.answer(error="refused", not_found=True, after=1)

        assert carrier.returned == [
            [
                StepResult(at(1), value="value"),
                StepResult(at(2), error="refused", not_found=True),
            ]
        ]

    def test_the_next_step_runs_only_after_the_previous_one(self) -> None:
        carrier = EffectExecutor()

        carrier.start(yielding(ONE, TWO))

        assert carrier.pending_operations() == [ONE]

    def test_effects_have_the_uid_of_their_pod(self) -> None:
        turn_builder = TurnBuilder()
        RoutineRunner(turn_builder).start(
            "uid", yielding(ONE), lambda _value, _at: None, START
        )

        assert turn_builder.finish().effects == (RunOperation(1, "uid", ONE),)

    def test_operations_under_way_can_be_listed_by_pod(self) -> None:
        carrier = EffectExecutor()
        carrier.start(yielding(ONE), "a")
        carrier.start(yielding(TWO), "a")
        before = list(carrier.runner.operations("a").values())

        carrier.answer()
        after = list(carrier.runner.operations("a").values())
        carrier.answer()

        assert (before, after) == ([ONE, TWO], [TWO])
        assert not carrier.runner.operations("a")
        assert not carrier.runner.operations("b")

    def test_an_answer_nobody_waits_for_is_passed_over(self) -> None:
        assert not EffectExecutor().runner.finish(OperationFinished(99), START)


class TestLimits:
    def test_an_operation_past_its_limit_is_left_to_itself(self) -> None:
        carrier = EffectExecutor()
        late: list[StepResult] = []
        carrier.start(yielding(WithTimeout(ONE, at(5), late.append)))
        assert carrier.runner.next_deadline() == at(5)

        carrier.wait(5)

        assert carrier.returned == [[StepResult(at(5), timed_out=True)]]
        assert not carrier.runner.operations("uid-of-web")
        assert late == []
        assert carrier.answer(error="killed", after=3)
        assert late == [StepResult(at(8), error="killed")]
        assert len(carrier.returned) == 1

    def test_one_that_ends_in_time_has_no_limit_any_more(self) -> None:
        carrier = EffectExecutor()
        late: list[StepResult] = []
        carrier.start(yielding(WithTimeout(ONE, at(5), late.append)))

        carrier.answer(after=4)

        assert late == []
        assert carrier.returned == [[StepResult(at(4))]]
        assert carrier.runner.next_deadline() is None

    def test_a_wait_without_latches_lasts_until_its_instant(self) -> None:
        carrier = EffectExecutor()
        carrier.start(yielding(WaitFor((), at(3))))

        carrier.wait(2)
        waiting = list(carrier.returned)
        carrier.wait(1)

        assert waiting == []
        assert carrier.returned == [[StepResult(at(3), timed_out=True)]]

    def test_reading_the_time_does_not_wait(self) -> None:
        carrier = EffectExecutor()
        carrier.now = at(7)

        carrier.start(yielding(NOW, NOW))

        assert carrier.returned == [[StepResult(at(7)), StepResult(at(7))]]


class TestLatches:
    def test_a_wait_ends_when_all_its_latches_are_set(self) -> None:
        carrier = EffectExecutor()
        events = (OneShotEvent(), OneShotEvent())
        carrier.start(yielding(WaitFor(events, at(9))))

        ended = []
        for event in events:
            event.set()
            carrier.runner.resume_released(at(1))
            ended.append(len(carrier.returned))

        assert ended == [0, 1]
        assert carrier.returned == [[StepResult(at(1))]]
        assert carrier.runner.next_deadline() is None

    def test_latches_that_are_set_already_are_no_wait(self) -> None:
        carrier = EffectExecutor()
        event = OneShotEvent()
        event.set()

        carrier.start(yielding(WaitFor((event,), at(9))))

        assert carrier.returned == [[StepResult(START)]]

    def test_a_wait_for_an_event_that_never_comes_times_out(self) -> None:
        carrier = EffectExecutor()
        carrier.start(yielding(WaitFor((OneShotEvent(),), at(9))))

        carrier.wait(9)

        assert carrier.returned == [[StepResult(at(9), timed_out=True)]]

    def test_one_routine_can_let_another_go_on(self) -> None:
        carrier = EffectExecutor()
        event = OneShotEvent()

        def setting() -> Routine[str]:
            yield ONE
            event.set()
            return "set"

        carrier.start(yielding(WaitFor((event,), at(9))))
        carrier.start(setting())
        carrier.answer()

        assert carrier.returned == ["set", [StepResult(START)]]

    def test_also_an_older_one_by_a_latch_of_its_own_wait(self) -> None:
        carrier = EffectExecutor()
        first, second = OneShotEvent(), OneShotEvent()

        def passing_on() -> Routine[str]:
            yield WaitFor((second,), at(9))
            first.set()
            return "passed on"

        carrier.start(yielding(WaitFor((first,), at(9))))
        carrier.start(passing_on())
        second.set()
        carrier.runner.resume_released(at(1))

        assert carrier.returned == ["passed on", [StepResult(at(1))]]

    def test_so_can_one_that_has_reached_a_limit(self) -> None:
        carrier = EffectExecutor()
        event = OneShotEvent()

        def setting() -> Routine[str]:
            yield WaitFor((), at(1))
            event.set()
            return "set"

        carrier.start(yielding(WaitFor((event,), at(9))))
        carrier.start(setting())
        carrier.wait(1)

        assert carrier.returned == ["set", [StepResult(at(1))]]


class TestTogether:
    def test_routines_run_side_by_side_and_all_are_waited_for(self) -> None:
        carrier = EffectExecutor()
        carrier.start(yielding(Gather((yielding(ONE), yielding(TWO)))))
        assert carrier.pending_operations() == [ONE, TWO]

        carrier.answer("second", index=1, after=1)
        carrier.answer("first", after=1)

        assert carrier.returned == [
            [
                StepResult(
                    at(2),
                    results=(
                        [StepResult(at(2), value="first")],
                        [StepResult(at(1), value="second")],
                    ),
                )
            ]
        ]

    @pytest.mark.parametrize(
        ("make", "results"),
        [
            pytest.param(tuple, (), id="none"),
            pytest.param(
                lambda: (returning("a"), returning("b")), ("a", "b"), id="two-at-once"
            ),
        ],
    )
    def test_what_ends_at_once_is_no_wait(
        self, make: Callable[[], tuple[Routine[str], ...]], results: tuple[str, ...]
    ) -> None:
        carrier = EffectExecutor()

        carrier.start(yielding(Gather(make())))

        assert carrier.returned == [[StepResult(START, results=results)]]

    def test_results_do_not_outlive_their_step(self) -> None:
        carrier = EffectExecutor()

        carrier.start(yielding(Gather((returning("a"),)), NOW))

        assert carrier.returned == [
            [StepResult(START, results=("a",)), StepResult(START)],
        ]
