"""What a tick decided, step by step (UX-01, UX-04, UX-08, UX-15)."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from probetui.k8s.probe import ProbeType
from probetui.kubelet.journal import Action, Exit, Gate, Skip, TickEntry, Trigger
from probetui.kubelet.outcome import Result
from probetui.presentation.marks import UNICODE
from probetui.presentation.spans import text_of
from probetui.presentation.trace import (
    Trace,
    cluster_words,
    event_of,
    next_due,
    stopped_at,
    ticks_lost,
    title,
    trace,
)
from tests.presentation.looking import VIEW
from tests.tui.states import DEMO, DEMO_KEY, LIVENESS, NO_FILE, NOW, history

READINESS = DEMO_KEY._replace(probe_type=ProbeType.READINESS)
GATES = (
    Gate("pod status known", "yes", passed=True),
    Gate("on hold", "yes", passed=False),
)


def a_tick(letters: str, **fields: Any) -> TickEntry:
    return history(DEMO_KEY, LIVENESS, letters, NOW)[-1]._replace(**fields)


def facts(tick: TickEntry, **options: Any) -> dict[str, str]:
    """Return what is said below the gates, by label."""
    shown = trace_of(tick, **options)
    return {each.label: text_of(each.words) for each in shown.facts}


def trace_of(tick: TickEntry, **options: Any) -> Trace:
    return trace(tick, **{"pod": DEMO, "next_at": None, "view": VIEW, **options})


def test_a_failure_below_the_threshold() -> None:
    next_at = NOW + timedelta(seconds=5)

    assert facts(a_tick("sff"), next_at=next_at) == {
        "attempt 1/3": "exit 1 in 34ms -> failure"
        "  (only errored attempts are tried again)",
        "result run": "failure 1 -> 2   threshold 3   below it",
        "stored result": "stays Success",
        "effect": "none",
        "event": f"Warning Unhealthy  Liveness probe failed: {NO_FILE.rstrip()}",
        "next tick": "08:21:12.0",
        "cluster shows": "the same event for 1/3 and 3/3",
    }


def test_what_changes_nothing_is_no_news() -> None:
    shown = trace_of(a_tick("sff"))

    assert [each.label for each in shown.facts if not each.is_news] == [
        "stored result",
        "effect",
    ]


def test_the_start_of_the_container_and_its_age_stand_behind_the_answers() -> None:
    tick = a_tick("s")
    started_at = tick.started_at - timedelta(seconds=39.9)
    asked = {each.label: text_of(each.words) for each in trace_of(tick).gates}
    known = trace_of(tick, started_at=started_at).gates

    told = {each.label: text_of(each.words) for each in known}

    assert asked["container running"] == "yes"
    assert told["container running"] == "yes  started 08:20:27.1, 39s before"
    assert told["initial delay"] == "5s, over  40s since 08:20:27.0"
    assert told["startup gate"] == "started  no startupProbe"


def test_a_container_with_a_startup_probe_has_started_by_it() -> None:
    container = replace(DEMO.containers[0], startup_probe=LIVENESS)
    pod = replace(DEMO, containers=(container,))

    gates = trace_of(a_tick("s"), pod=pod).gates

    assert text_of(gates[-1].words) == "started"


def test_a_kill_says_what_grace_it_gives_and_from_where() -> None:
    tick = a_tick("sfffK", stored_after=Result.FAILURE, hold_after=True)

    told = facts(tick)

    assert told["result run"] == "failure 2 -> 3   threshold 3   reached"
    assert told["stored result"] == "Success -> Failure"
    assert told["effect"] == (
        "kill: SIGTERM, then SIGKILL after 30s of grace (pod), probe on hold"
    )


def test_a_grace_of_the_probe_itself_is_told_as_such() -> None:
    spec = replace(LIVENESS, termination_grace_period_seconds=7)
    container = replace(DEMO.containers[0], liveness_probe=spec)
    pod = replace(DEMO, containers=(container,))

    effect = facts(a_tick("fffK"), pod=pod)["effect"]

    assert "after 7s of grace (liveness probe)" in effect


def test_without_the_pod_a_kill_has_no_grace() -> None:
    assert facts(a_tick("fffK"), pod=None)["effect"] == "kill, probe on hold"


def test_an_errored_tick_lists_all_attempts_and_changes_nothing() -> None:
    told = facts(a_tick("e"))

    error = 'errored in 2ms: exec: "cat": executable file not found'
    assert [told[f"attempt {number}/3"] for number in (1, 2, 3)] == [error] * 3
    assert told["result run"] == "unchanged (errored)"
    assert told["effect"] == "none: an errored probe never restarts a container"


def test_a_skipped_tick_says_where_it_stopped() -> None:
    tick = a_tick("h", gates=GATES)

    shown = trace_of(tick)

    assert [(each.label, each.passed) for each in shown.gates] == [
        ("pod status known", True),
        ("on hold", False),
    ]
    assert text_of(shown.gates[-1].words) == (
        "yes  stopped here: the probe was not run"
    )
    assert "attempt 1/3" not in facts(tick)
    assert facts(tick)["goes on"].startswith("once a tick sees a new container id")


def test_a_tick_that_probed_stopped_nowhere() -> None:
    assert stopped_at(a_tick("s", gates=GATES)) is None


def test_the_last_tick_of_a_worker_has_none_after_it() -> None:
    tick = a_tick("s", exit=Exit.POD_DELETED, result=None, attempts=())

    assert facts(tick)["next tick"] == "none: this was the worker's last"


def test_a_first_sight_of_a_container_gives_the_initial_value() -> None:
    tick = a_tick("d", new_container=True)

    assert facts(tick)["stored result"] == (
        "Success (initial value for a new container)"
    )


def test_an_injected_result_is_told_as_such() -> None:
    told = facts(a_tick("f", injected=True))

    assert told["attempt 1/3"].endswith("(injected by hand, nothing was run)")


def test_a_tick_that_a_pause_held_back_tells_that_the_clock_went_on() -> None:
    told = facts(a_tick("s", held=timedelta(seconds=19.2)))

    assert told["held back"] == "19s by a pause; delays, grace, back-off went on"


def test_a_late_answer_is_told_as_such() -> None:
    told = facts(a_tick("s", delay=timedelta(milliseconds=300)))

    assert told["attempt 1/3"].endswith("(answered 300ms late by hand)")


@pytest.mark.parametrize(
    ("action", "effect"),
    [
        pytest.param(Action.READY, "the container becomes ready", id="ready"),
        pytest.param(
            Action.NOT_READY, "the container becomes not ready", id="not ready"
        ),
        pytest.param(
            Action.STARTED,
            "the container counts as started: the other probes may begin",
            id="started",
        ),
        pytest.param(Action.NONE, "none", id="nothing"),
    ],
)
def test_the_effect_of_a_tick(action: Action, effect: str) -> None:
    assert facts(a_tick("s", action=action))["effect"] == effect


def test_a_tick_can_release_a_hold() -> None:
    tick = a_tick("d", hold_before=True, new_container=True)

    assert facts(tick)["effect"] == "hold released by a new container id"


@pytest.mark.parametrize(
    ("tick", "words"),
    [
        pytest.param(a_tick("h"), "nothing: a tick that does not probe", id="skipped"),
        pytest.param(a_tick("e"), "an Unhealthy event like that of a failure", id="!"),
        pytest.param(a_tick("w"), "a ProbeWarning event; the result", id="warning"),
        pytest.param(a_tick("s"), "nothing: a success leaves no event", id="success"),
        pytest.param(
            a_tick("s", action=Action.READY), "the container as ready; a", id="ready"
        ),
        pytest.param(
            a_tick("s", action=Action.STARTED), "the container as started", id="started"
        ),
        pytest.param(a_tick("fffK"), "this event, then Killing; not that", id="kill"),
        pytest.param(
            a_tick("f", action=Action.NOT_READY),
            "this event, and that the container is not ready",
            id="not ready",
        ),
        pytest.param(a_tick("f", threshold=1), "this event", id="one is enough"),
    ],
)
def test_what_a_cluster_shows(tick: TickEntry, words: str) -> None:
    assert cluster_words(tick).startswith(words)


def test_the_event_is_that_of_the_kubelet() -> None:
    assert event_of(a_tick("f")) == (
        "Unhealthy",
        f"Liveness probe failed: {NO_FILE}",
    )
    assert event_of(a_tick("s")) is None
    assert event_of(a_tick("h")) is None


def test_the_title_says_which_tick_it_is() -> None:
    words = text_of(title(a_tick("ss", trigger=Trigger.READINESS), VIEW))

    assert words == f"tick #2 08:21:07.0 {UNICODE.success} readiness"


@pytest.mark.parametrize(
    ("took", "next_after", "lost"),
    [
        pytest.param(1, 5, 0, id="in time"),
        pytest.param(6, 6, 0, id="the next one waited"),
        pytest.param(17, 17, 2, id="others were lost"),
        pytest.param(17, None, 0, id="nobody knows yet"),
    ],
)
def test_ticks_are_lost_while_a_probe_runs(
    took: int, next_after: int | None, lost: int
) -> None:
    tick = a_tick("f", duration=timedelta(seconds=took))
    next_at = None if next_after is None else NOW + timedelta(seconds=next_after)

    assert ticks_lost(tick, next_at, 5) == lost


def test_lost_ticks_are_told() -> None:
    told = facts(a_tick("f"), next_at=NOW, ticks_lost=2)

    assert told["next tick"].endswith(
        "2 lost before it: this one took longer than a period"
    )


class TestNextDue:
    def test_it_is_a_period_later(self) -> None:
        assert next_due(a_tick("s"), None, 5) == NOW + timedelta(seconds=5)

    def test_what_did_come_is_known_better(self) -> None:
        following = a_tick("s", started_at=NOW + timedelta(seconds=2))

        assert next_due(a_tick("s"), following, 5) == following.started_at

    def test_nothing_follows_a_last_tick(self) -> None:
        assert next_due(a_tick("s", exit=Exit.STOPPED), None, 5) is None


@pytest.mark.parametrize("skip", [pytest.param(each, id=each) for each in Skip])
def test_every_skip_has_a_trace(skip: Skip) -> None:
    assert facts(a_tick("s", skip=skip, result=None, attempts=()))
