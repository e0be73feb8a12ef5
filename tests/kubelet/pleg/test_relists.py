from __future__ import annotations

from datetime import timedelta

from probetui.kubelet.effects import Relist
from probetui.kubelet.journal import NoteEntry
from probetui.kubelet.pleg.relists import RelistScheduler
from probetui.kubelet.runtime.turn import TurnBuilder
from tests.builders import START, at

PERIOD = timedelta(seconds=1)


SILENCE = "the container runtime does not answer"


class Bench:
    """Relists once a second, and what comes of them."""

    def __init__(self) -> None:
        self.turn_builder = TurnBuilder()
        self.relists = RelistScheduler(self.turn_builder, PERIOD, START)

    def begins(self, seconds: float) -> bool:
        """Return whether a relist begins at that second."""
        self.relists.run_due(at(seconds))
        return self.turn_builder.finish().effects == (Relist(),)

    def relist_after(self, started: float, now: float) -> None:
        self.relists.on_relisted(at(started), at(now))

    def notes(self) -> list[tuple[str, bool]]:
        return [
            (entry.text, entry.is_fault)
            for entry in self.turn_builder.finish().entries
            if isinstance(entry, NoteEntry)
        ]


def test_the_first_relist_is_due_at_once() -> None:
    assert Bench().begins(0)


def test_one_is_under_way_at_a_time() -> None:
    bench = Bench()
    bench.begins(0)

    assert bench.relists.due_at is None
    assert not bench.begins(60)


def test_the_next_one_follows_a_period_after_the_end_of_the_last() -> None:
    bench = Bench()
    bench.begins(0)

    bench.relist_after(0, 0.25)

    assert not bench.begins(1)
    assert bench.begins(1.25)


def test_one_can_be_brought_forward() -> None:
    bench = Bench()
    bench.begins(0)
    bench.relist_after(0, 0)

    bench.relists.request(at(0.5))

    assert bench.begins(0.5)


def test_but_never_put_off() -> None:
    bench = Bench()

    bench.relists.request(at(9))

    assert bench.relists.due_at == START


def test_a_relist_requested_during_another_follows_it() -> None:
    bench = Bench()
    bench.begins(0)

    bench.relists.request(at(0.1))
    bench.relist_after(0, 0.2)

    assert bench.begins(0.2)
    bench.relist_after(0.2, 0.3)
    assert bench.relists.due_at == at(1.2)


def test_an_extra_relist_does_not_delay_the_next_one() -> None:
    bench = Bench()
    bench.begins(0)
    bench.relist_after(0, 0.1)
    bench.relists.request(at(0.8))
    bench.begins(0.8)

    bench.relist_after(0.8, 0.9)

    assert bench.relists.due_at == at(1.1)


class TestLatches:
    def test_a_relist_that_began_then_or_later_is_new_enough(self) -> None:
        bench = Bench()
        bench.begins(0)
        bench.relist_after(0, 0)
        event = bench.relists.newer_than(at(0.5))

        assert bench.begins(0.5)
        bench.relist_after(0.5, 0.7)

        assert event.is_set

    def test_one_that_was_under_way_is_not_and_another_follows_at_once(self) -> None:
        bench = Bench()
        bench.begins(0)
        event = bench.relists.newer_than(at(0.5))

        bench.relist_after(0, 0.7)

        assert not event.is_set
        assert bench.relists.due_at == at(0.7)
        assert bench.begins(0.7)
        bench.relist_after(0.7, 0.8)
        assert event.is_set

    def test_a_delayed_relist_is_started_later_and_none_before(
        self,
    ) -> None:
        bench = Bench()
        bench.begins(0)
        event = bench.relists.newer_than(at(0.5))

        bench.relist_after(0, 0.2)

        assert bench.relists.due_at == at(0.5)
        assert bench.begins(0.5)
        bench.relist_after(0.5, 0.5)
        assert event.is_set


class TestSilence:
    def test_a_runtime_that_does_not_answer_is_noted_once(self) -> None:
        bench = Bench()

        bench.relists.on_relist_failed("no socket", at(3))
        bench.relists.on_relist_failed("no daemon", at(5))

        assert bench.notes() == [
            ("the container runtime does not answer: no socket", True)
        ]
        assert bench.relists.lost_since == at(3)
        assert bench.relists.lost_error == "no daemon"

    def test_a_problem_reported_by_the_runtime_is_noted_with_its_message_only(
        self,
    ) -> None:
        bench = Bench()

        bench.relists.on_relist_failed(f"{SILENCE}: no socket", at(3))

        assert bench.notes() == [(f"{SILENCE}: no socket", True)]

    def test_the_pauses_grow_to_five_seconds(self) -> None:
        bench = Bench()
        pauses = []
        for _ in range(4):
            bench.relists.on_relist_failed("gone", START)
            assert bench.relists.due_at is not None
            pauses.append(bench.relists.due_at - START)

        assert pauses == [timedelta(seconds=length) for length in (2, 4, 5, 5)]

    def test_nothing_shortens_them(self) -> None:
        bench = Bench()
        bench.relists.on_relist_failed("gone", START)

        bench.relists.request(at(1))
        bench.relists.newer_than(at(1))

        assert bench.relists.due_at == at(2)

    def test_a_runtime_that_answers_again_is_noted(self) -> None:
        bench = Bench()
        bench.relists.on_relist_failed("gone", START)
        bench.relists.on_relist_failed("gone", at(2))
        bench.notes()

        bench.relist_after(6, 6)

        assert bench.notes() == [
            ("the container runtime answers again, after 6s", False)
        ]
        assert (bench.relists.lost_since, bench.relists.lost_error) == (None, "")
        assert bench.relists.due_at == at(7)
