from __future__ import annotations

from datetime import datetime

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from probetui.kubelet.runtime.timers import Timers
from tests.builders import START, at

KEYS = st.sampled_from("abcd")
SECONDS = st.integers(0, 5)


def test_deadlines_come_out_in_order_once_their_instant_has_come() -> None:
    timers: Timers[str] = Timers()
    timers.set("late", at(2))
    timers.set("early", at(1))

    assert timers.next_deadline() == at(1)
    assert timers.pop_due(at(0.9)) is None
    assert timers.pop_due(at(1)) == "early"
    assert timers.pop_due(at(1)) is None
    assert timers.pop_due(at(3)) == "late"
    assert timers.next_deadline() is None


def test_equal_instants_come_out_in_the_order_they_went_in() -> None:
    timers: Timers[str] = Timers()
    for key in ("c", "a", "b"):
        timers.set(key, START)

    popped = [timers.pop_due(START) for _ in range(4)]

    assert popped == ["c", "a", "b", None]


def test_a_deadline_that_is_moved_counts_only_where_it_was_moved_to() -> None:
    timers: Timers[str] = Timers()
    timers.set("key", at(1))

    timers.set("key", at(5))

    assert timers.deadline("key") == timers.next_deadline() == at(5)
    assert timers.pop_due(at(4)) is None
    assert timers.in_order() == [(at(5), "key")]


def test_what_was_moved_out_of_the_way_lets_nothing_come_early() -> None:
    timers: Timers[str] = Timers()
    timers.set("key", at(1))
    timers.set("key", at(5))
    timers.set("other", at(4))

    assert timers.pop_due(at(3)) is None
    assert timers.pop_due(at(4)) == "other"


def test_a_deadline_that_is_cancelled_never_comes() -> None:
    timers: Timers[str] = Timers()
    timers.set("key", at(1))

    timers.cancel("key")
    timers.cancel("never set")

    assert timers.deadline("key") is None
    assert timers.next_deadline() is None
    assert timers.pop_due(at(9)) is None


class TimersAgainstAPlainList(RuleBasedStateMachine):
    """Whatever is set, moved, cancelled and popped: like a list that is searched."""

    def __init__(self) -> None:
        super().__init__()
        self.timers: Timers[str] = Timers()
        self.expected: list[tuple[datetime, str]] = []

    @rule(key=KEYS, seconds=SECONDS)
    def set(self, key: str, seconds: int) -> None:
        self.cancel_expected(key)
        self.expected.append((at(seconds), key))
        self.timers.set(key, at(seconds))

    @rule(key=KEYS)
    def cancel(self, key: str) -> None:
        self.cancel_expected(key)
        self.timers.cancel(key)

    @rule(seconds=SECONDS)
    def pop(self, seconds: int) -> None:
        first = min(self.expected, key=lambda deadline: deadline[0], default=None)
        is_due = first is not None and first[0] <= at(seconds)

        popped = self.timers.pop_due(at(seconds))

        assert popped == (first[1] if is_due and first is not None else None)
        self.cancel_expected(popped)

    @invariant()
    def agrees(self) -> None:
        ordered = sorted(self.expected, key=lambda deadline: deadline[0])
        assert self.timers.in_order() == ordered
        assert self.timers.next_deadline() == (ordered[0][0] if ordered else None)

    def cancel_expected(self, key: str | None) -> None:
        self.expected = [deadline for deadline in self.expected if deadline[1] != key]


TestTimersAgainstAPlainList = TimersAgainstAPlainList.TestCase
