"""Signals of one program that many sessions receive."""

from __future__ import annotations

import signal
from collections.abc import Callable

import pytest

from probetui.cli.session.signal_watch import SharedSignals

INT = signal.SIGINT


class OneWatch:
    """A signal watch that delivers signals on request."""

    def __init__(self) -> None:
        self.left_by: list[signal.Signals] = []

    def deliver(
        self, on_signal: Callable[[signal.Signals], None], left: Callable[[], str]
    ) -> None:
        self.send, self.left = on_signal, left

    def leave(self, number: signal.Signals) -> None:
        self.left_by.append(number)


@pytest.fixture
def watch() -> OneWatch:
    return OneWatch()


@pytest.fixture
def shared(watch: OneWatch) -> SharedSignals:
    return SharedSignals(watch)


def test_every_session_gets_a_signal(watch: OneWatch, shared: SharedSignals) -> None:
    got: list[str] = []
    with shared.member(lambda: True) as one, shared.member(lambda: True) as other:
        one.deliver(lambda _: got.append("one"), lambda: "web")
        other.deliver(lambda _: got.append("other"), lambda: "db")
        assert watch.left() == "web, db"

        watch.send(INT)

    assert got == ["one", "other"]
    assert shared.received is INT
    assert watch.left() == ""


def test_the_first_signal_does_not_hurry_a_session_that_ends_on_its_own(
    watch: OneWatch, shared: SharedSignals
) -> None:
    got: list[signal.Signals] = []
    with shared.member(lambda: False) as ending:
        ending.deliver(got.append, str)

        watch.send(INT)
        assert got == []

        watch.send(INT)
        assert got == [INT]


def test_a_new_session_gets_the_signal_that_arrived_before_it(
    watch: OneWatch, shared: SharedSignals
) -> None:
    got: list[signal.Signals] = []
    with shared.member(lambda: True) as member:
        watch.send(INT)
        member.deliver(got.append, str)
        member.leave(INT)

    assert got == [INT]
    assert watch.left_by == [INT]
