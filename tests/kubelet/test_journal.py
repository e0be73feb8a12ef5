"""What entries of the journal say beside their fields."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from probetui.kubelet.journal import (
    BackoffEntry,
    Exit,
    Gate,
    Skip,
    TickAction,
    TickEntry,
    UnfinishedTickEntry,
)
from probetui.kubelet.outcome import Attempt, ProbeResult, Result
from tests.builders import a_key, at
from tests.ticks import FIRST, demo_tick

FAILED = Attempt(ProbeResult.FAILURE)
PROBED = demo_tick(
    "f", attempts=(FAILED,), result=Result.FAILURE, action=TickAction.KILL
)
SKIPPED = demo_tick("h")
LEFT = demo_tick("h", skip=None, exit=Exit.POD_ENDED)


@pytest.mark.parametrize(
    ("tick", "attempts", "result", "action", "skip", "left"),
    [
        pytest.param(
            PROBED, (FAILED,), Result.FAILURE, TickAction.KILL, None, None, id="probed"
        ),
        pytest.param(
            SKIPPED, (), None, TickAction.NONE, Skip.ON_HOLD, None, id="skipped"
        ),
        pytest.param(
            LEFT, (), None, TickAction.NONE, None, Exit.POD_ENDED, id="the last"
        ),
    ],
)
def test_a_tick_has_what_its_outcome_has_and_nothing_else(
    tick: TickEntry,
    attempts: tuple[Attempt, ...],
    result: Result | None,
    action: TickAction,
    skip: Skip | None,
    left: Exit | None,
) -> None:
    assert (tick.attempts, tick.result, tick.action) == (attempts, result, action)
    assert (tick.skip, tick.exit) == (skip, left)


@pytest.mark.parametrize(
    ("gates", "is_observed"),
    [
        pytest.param((), False, id="no gate"),
        pytest.param((Gate("source", "a kubelet", passed=True),), True, id="a source"),
        pytest.param((Gate("status", "running", passed=True),), False, id="a gate"),
    ],
)
def test_a_tick_that_came_from_a_source_was_observed(
    gates: tuple[Gate, ...], *, is_observed: bool
) -> None:
    assert demo_tick("h", gates=gates).is_observed is is_observed


@pytest.mark.parametrize(
    ("since", "is_overdue"),
    [
        pytest.param(at(8), False, id="as long as its timeout"),
        pytest.param(at(7.999), True, id="longer"),
        pytest.param(at(9), False, id="not as long"),
    ],
)
def test_a_tick_is_overdue_once_its_timeout_is_over(
    since: datetime, *, is_overdue: bool
) -> None:
    entry = UnfinishedTickEntry(1, at(10), a_key(), FIRST, since, 2)

    assert entry.is_overdue is is_overdue


@pytest.mark.parametrize(
    ("until", "left_seconds"),
    [
        pytest.param(at(15), 5, id="waits"),
        pytest.param(at(8), 0, id="is over"),
        pytest.param(None, 0, id="does not wait"),
    ],
)
def test_of_a_back_off_what_remains_of_its_wait_is_left(
    until: datetime | None, left_seconds: int
) -> None:
    ten, twenty = timedelta(seconds=10), timedelta(seconds=20)
    entry = BackoffEntry(
        1, at(10), "uid", "app", ten, at(5), until is not None, until, twenty
    )

    assert entry.left == timedelta(seconds=left_seconds)
