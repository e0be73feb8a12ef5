"""Signals: delivered to sessions, and enforced where a loop does not take them in."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable

import pytest

from probetui.cli.session.signal_watch import ENDING, SharedSignals, SignalWatch

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


@pytest.mark.parametrize("number", ENDING)
async def test_where_nothing_is_left_one_signal_ends_a_loop_that_is_stuck(
    number: signal.Signals,
) -> None:
    statuses: list[int] = []
    has_ended = threading.Event()

    def end(status: int) -> None:
        statuses.append(status)
        has_ended.set()

    with SignalWatch(ends_within=0.1, end=end) as signals:
        signals.deliver(lambda _: None, str)
        os.kill(os.getpid(), number)
        # The loop does not run meanwhile; how long the machine takes does not matter.
        assert has_ended.wait(60)

    assert statuses == [128 + number]
