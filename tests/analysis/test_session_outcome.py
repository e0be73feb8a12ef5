"""What a session came to, container by container, and what differs between two."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from probetui.analysis.session_outcome import (
    SAME_INSTANT,
    ContainerTotals,
    Happening,
    HappeningKind,
    outcome_differences,
    session_outcome,
    total_of,
)
from probetui.k8s.probe import ProbeType
from probetui.kubelet.journal import (
    ContainerEntry,
    JournalEntry,
    LifecycleStep,
    StateEntry,
    StateField,
    TickAction,
)
from tests.builders import START, a_key, at
from tests.ticks import SECOND, a_tick, skipped_tick

KEY = a_key()
OF_APP = "uid-of-web", "app"


def started(second: float, restarts: int) -> ContainerEntry:
    return ContainerEntry(
        0, at(second), *OF_APP, SECOND, restarts, LifecycleStep.STARTED
    )


def ready(second: float, after: str, cause: int | None = None) -> StateEntry:
    return StateEntry(
        0, at(second), *OF_APP, "", StateField.READY, "", after, cause=cause
    )


def seconds(number: float) -> timedelta:
    return timedelta(seconds=number)


def told(happenings: tuple[Happening, ...]) -> list[tuple[datetime, str, int]]:
    return [(one.at, one.text, one.unmeasured) for one in happenings]


def test_kills_restarts_and_readiness_are_told_in_order_and_added_up() -> None:
    failed: dict[str, Any] = {"threshold": 3, "letter": "f"}
    entries: list[JournalEntry] = [
        started(0, 0),
        a_tick(KEY, at(1), "s", sequence=1),
        ready(2, "true"),
        a_tick(KEY, at(5), sequence=2, run=1, **failed),
        a_tick(KEY, at(10), sequence=3, run=2, **failed),
        a_tick(KEY, at(15), sequence=4, run=3, action=TickAction.KILL, **failed),
        ready(15, "false", cause=4),
        started(16, 1),
        ready(18, "true", cause=5),
        a_tick(KEY, at(20), "e", sequence=6),
        skipped_tick(22),
        ready(25, "false"),
    ]
    guessed = [(KEY, at(10)), (KEY, at(15))]

    outcome = session_outcome(entries, START, at(30), guessed)

    assert told(outcome.happenings) == [
        (at(2), "ready", 0),
        (at(15), "killed: liveness 3/3", 2),
        (at(15), "not ready", 1),
        (at(16), "restart 1", 0),
        (at(18), "ready", 0),
        (at(25), "not ready", 0),
    ]
    assert [one.kind for one in outcome.happenings] == [
        HappeningKind.READY,
        HappeningKind.KILL,
        HappeningKind.NOT_READY,
        HappeningKind.RESTART,
        HappeningKind.READY,
        HappeningKind.NOT_READY,
    ]
    assert {one.container for one in outcome.happenings} == {OF_APP}
    assert outcome.totals == {
        OF_APP: ContainerTotals(1, 1, seconds(2 + 3 + 5), seconds(2), 5, 2)
    }
    assert outcome.totals_of(("other", "app")) == ContainerTotals()


def test_where_nothing_acts_a_kill_is_only_thought_of() -> None:
    key = a_key(ProbeType.STARTUP)
    kill = a_tick(key, at(5), "f", run=2, threshold=2, action=TickAction.WOULD_KILL)

    outcome = session_outcome([kill], START, at(10))

    assert told(outcome.happenings) == [(at(5), "would be killed: startup 2/2", 0)]
    assert outcome.totals[OF_APP].kills == 1
    assert outcome.totals[OF_APP].first_ready is None


def test_failures_before_a_success_are_not_behind_a_kill() -> None:
    guessed = [(KEY, at(1)), (KEY, at(3))]
    entries = [
        a_tick(KEY, at(1), "f"),
        a_tick(KEY, at(2), "s"),
        a_tick(KEY, at(3), "f", run=1, threshold=2),
        a_tick(KEY, at(4), "f", run=2, threshold=2, action=TickAction.KILL),
    ]

    outcome = session_outcome(entries, START, at(10), guessed)

    assert [one.unmeasured for one in outcome.happenings] == [1]
    assert outcome.totals[OF_APP].unmeasured == 2


def test_a_container_of_two_pods_was_not_ready_for_the_shorter_time() -> None:
    first = ContainerTotals(1, 2, seconds(40), seconds(9), 10, 3)
    second = ContainerTotals(4, 8, seconds(30), seconds(50), 20, 5)
    never = ContainerTotals(not_ready=seconds(60))

    assert total_of([first, second, never]) == ContainerTotals(
        5, 10, seconds(30), seconds(9), 30, 8
    )
    assert total_of([]) == ContainerTotals()


def a_happening(second: float, text: str = "ready", pod: str = "uid") -> Happening:
    return Happening(at(second), pod, "app", HappeningKind.READY, text)


def test_what_happened_at_the_same_instant_in_both_sessions_is_no_difference() -> None:
    before = [a_happening(10), a_happening(20), a_happening(30)]
    after = [
        a_happening(10 + SAME_INSTANT.total_seconds()),
        a_happening(19, "not ready"),
        a_happening(20, pod="other"),
        a_happening(30 - SAME_INSTANT.total_seconds()),
    ]

    differences = outcome_differences(before, after)

    assert [(one.before, one.after) for one in differences] == [
        (None, after[1]),
        (before[1], None),
        (None, after[2]),
    ]
    assert [one.happening for one in differences] == [after[1], before[1], after[2]]


def test_of_two_that_may_be_the_same_the_nearest_is() -> None:
    before = [a_happening(10), a_happening(11)]
    after = [a_happening(11.2), a_happening(10.1)]

    assert outcome_differences(before, after) == []
    assert [one.after for one in outcome_differences(before[:1], after)] == [after[0]]
    late = a_happening(10 + SAME_INSTANT.total_seconds() + 0.1)
    assert len(outcome_differences(before[:1], [late])) == 2
