"""The decision trace of a tick."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from probetui.analysis.timing import ticks_lost
from probetui.k8s.probe import ProbeType
from probetui.kubelet.journal import Exit, Gate, Skip, TickAction, TickEntry, Trigger
from probetui.kubelet.outcome import Result
from probetui.presentation.text.spans import text_of
from probetui.presentation.tick.marks import UNICODE
from probetui.presentation.tick.report import blocking_gate, report_tick, tick_event
from probetui.presentation.tick.trace import (
    TickTrace,
    build_trace,
    next_due,
    trace_title,
)
from tests.presentation.looking import RULES, VIEW
from tests.ticks import DEMO_KEY, LIVENESS, NO_FILE, NOW, changed_tick, demo_tick
from tests.tui.snapshots import DEMO

READINESS = DEMO_KEY._replace(probe_type=ProbeType.READINESS)
GATES = (
    Gate("pod status known", "yes", passed=True),
    Gate("on hold", "yes", passed=False),
)


def facts(tick: TickEntry, **options: Any) -> dict[str, str]:
    """Return the facts below the gates, by label."""
    shown = trace_of(tick, **options)
    return {fact.label: text_of(fact.words) for fact in shown.facts}


def trace_of(tick: TickEntry, **options: Any) -> TickTrace:
    return build_trace(tick, **{"pod": DEMO, "next_at": None, "view": VIEW, **options})


def test_a_failure_below_the_threshold() -> None:
    next_at = NOW + timedelta(seconds=5)

    assert facts(demo_tick("sff"), next_at=next_at) == {
        "attempt 1/3": "exit 1 in 34ms -> failure  (only errors are retried)",
        "result run": "failure 1 -> 2   threshold 3   not reached",
        "stored result": "stays Success",
        "effect": "none",
        "event": f"Warning Unhealthy  Liveness probe failed: {NO_FILE.rstrip()}",
        "next tick": "08:21:12.0",
        "in a cluster": "the same event for failure 1 and failure 3",
    }


def test_an_observed_tick_shows_what_the_cluster_recorded() -> None:
    source = Gate("source", "counters", passed=True)

    shown = facts(changed_tick(demo_tick("s"), gates=(source,)))

    assert shown["cluster shows"] == "no event (a success makes none)"
    assert "in a cluster" not in shown


def test_a_step_without_a_change_is_muted() -> None:
    shown = trace_of(demo_tick("sff"))

    assert [fact.label for fact in shown.facts if not fact.is_news] == [
        "stored result",
        "effect",
    ]


def test_gates_show_the_start_and_the_age_of_the_container() -> None:
    tick = demo_tick("s")
    started_at = tick.timing.started_at - timedelta(seconds=39.9)
    gate_texts = {gate.label: text_of(gate.words) for gate in trace_of(tick).gates}
    known = trace_of(tick, started_at=started_at).gates

    fact_texts = {fact.label: text_of(fact.words) for fact in known}

    assert gate_texts["container running"] == "yes"
    assert fact_texts["container running"] == "yes  started 08:20:27.1, 39s before"
    assert fact_texts["initial delay"] == "5s, over  40s since 08:20:27.0"
    assert fact_texts["startup"] == "started  no startupProbe"


def test_a_container_with_a_startup_probe_has_started_by_it() -> None:
    container = replace(DEMO.containers[0], startup_probe=LIVENESS)
    pod = replace(DEMO, containers=(container,))

    gates = trace_of(demo_tick("s"), pod=pod).gates

    assert text_of(gates[-1].words) == "started"


def test_a_kill_shows_its_grace_period_and_where_it_comes_from() -> None:
    tick = demo_tick("sfffK", stored_after=Result.FAILURE, hold_after=True)

    fact_texts = facts(tick)

    assert fact_texts["result run"] == "failure 2 -> 3   threshold 3   reached"
    assert fact_texts["stored result"] == "Success -> Failure"
    assert fact_texts["effect"] == (
        "container killed, probe on hold  SIGTERM, SIGKILL after 30s grace (pod)"
    )


def test_a_grace_period_of_the_probe_is_named_as_its_own() -> None:
    spec = replace(LIVENESS, termination_grace_period_seconds=7)
    container = replace(DEMO.containers[0], liveness_probe=spec)
    pod = replace(DEMO, containers=(container,))

    effect = facts(demo_tick("fffK"), pod=pod)["effect"]

    assert "after 7s grace (liveness probe)" in effect


def test_a_kill_has_no_grace_period_without_the_pod() -> None:
    assert (
        facts(demo_tick("fffK"), pod=None)["effect"]
        == "container killed, probe on hold"
    )


def test_an_errored_tick_lists_all_attempts_and_changes_nothing() -> None:
    fact_texts = facts(demo_tick("e"))

    error = 'error in 2ms: exec: "cat": executable file not found'
    assert [fact_texts[f"attempt {number}/3"] for number in (1, 2, 3)] == [error] * 3
    assert fact_texts["result run"] == "unchanged (an error is not counted)"
    assert fact_texts["effect"] == report_tick(demo_tick("e")).effect.text


def test_a_skipped_tick_shows_the_gate_that_stopped_it() -> None:
    tick = demo_tick("h", gates=GATES)

    shown = trace_of(tick)

    assert [(gate.label, gate.passed) for gate in shown.gates] == [
        ("pod status known", True),
        ("on hold", False),
    ]
    assert text_of(shown.gates[-1].words) == ("yes  -> skipped")
    assert "attempt 1/3" not in facts(tick)
    assert facts(tick)["resumes"].startswith("once the container has restarted")


def test_a_tick_that_probed_passed_all_gates() -> None:
    assert blocking_gate(demo_tick("s", gates=GATES)) is None


def test_the_last_tick_of_a_worker_has_none_after_it() -> None:
    tick = demo_tick("s", exit=Exit.POD_DELETED, result=None, attempts=())

    assert facts(tick)["next tick"] == "none: the worker exited"


def test_a_new_container_gets_the_initial_result() -> None:
    tick = demo_tick("d", new_container=True)

    assert facts(tick)["stored result"] == (
        "Success (initial value for a new container)"
    )


def test_an_injected_result_is_marked() -> None:
    fact_texts = facts(demo_tick("f", injected=True))

    assert fact_texts["attempt 1/3"].endswith("(injected, the probe did not run)")


def test_a_tick_delayed_by_a_pause_shows_that_the_clock_went_on() -> None:
    fact_texts = facts(demo_tick("s", held=timedelta(seconds=19.2)))

    assert (
        fact_texts["paused"] == "for 19s; initial delay, grace and back-off continued"
    )


def test_a_delayed_answer_is_marked() -> None:
    fact_texts = facts(demo_tick("s", delay=timedelta(milliseconds=300)))

    assert fact_texts["attempt 1/3"].endswith("(answer delayed by 300ms)")


@pytest.mark.parametrize(
    ("action", "effect"),
    [
        pytest.param(TickAction.READY, "container ready", id="ready"),
        pytest.param(TickAction.NOT_READY, "container not ready", id="not ready"),
        pytest.param(
            TickAction.STARTED,
            "container started",
            id="started",
        ),
        pytest.param(TickAction.NONE, "none", id="nothing"),
    ],
)
def test_the_effect_of_a_tick(action: TickAction, effect: str) -> None:
    assert facts(demo_tick("s", action=action))["effect"] == effect


@pytest.mark.parametrize(
    ("action", "follows"),
    [
        pytest.param(TickAction.READY, "the pod is in the endpoints of", id="ready"),
        pytest.param(
            TickAction.NOT_READY, "the pod is out of the endpoints of", id="not ready"
        ),
    ],
)
def test_readiness_decides_about_endpoints(action: TickAction, follows: str) -> None:
    found = facts(demo_tick("s", action=action))

    assert found["endpoints"] == f"{follows} the Services that select the pod"
    assert "endpoints" not in facts(demo_tick("s", action=TickAction.STARTED))


def test_a_tick_can_release_a_hold() -> None:
    tick = demo_tick("d", hold_before=True, new_container=True)

    assert facts(tick)["effect"] == "hold released by a new container ID"


@pytest.mark.parametrize(
    ("tick", "words"),
    [
        pytest.param(demo_tick("h"), "no event, no log line", id="on hold"),
        *(
            pytest.param(
                demo_tick("s", result=None, attempts=(), **fields),
                f'no event, {words}"{text}" (the probe did not run)',
                id=text,
            )
            for fields, words, text in (
                (
                    {"skip": Skip.CONTAINER_MISSING},
                    "at -v=3 a log line, ",
                    "Probe target container not found",
                ),
                (
                    {"exit": Exit.POD_DELETED},
                    "at -v=3 a log line, ",
                    "Pod deletion requested, setting probe result to success",
                ),
                (
                    {
                        "exit": Exit.POD_DELETED,
                        "key": DEMO_KEY._replace(probe_type=ProbeType.STARTUP),
                    },
                    "log line ",
                    "Pod deletion requested before container has fully started",
                ),
            )
        ),
        pytest.param(demo_tick("e"), "an Unhealthy event, as for a failure", id="!"),
        pytest.param(demo_tick("w"), "a ProbeWarning event; the result", id="warning"),
        pytest.param(demo_tick("s"), "no event (a success makes none)", id="success"),
        pytest.param(
            demo_tick("s", action=TickAction.READY),
            "the container as ready; n",
            id="ready",
        ),
        pytest.param(
            demo_tick("s", action=TickAction.STARTED),
            "the container as started",
            id="started",
        ),
        pytest.param(
            demo_tick("fffK"), "this event, then Killing; not how many", id="kill"
        ),
        pytest.param(
            demo_tick("f", action=TickAction.NOT_READY),
            "this event, and the container as not ready",
            id="not ready",
        ),
        pytest.param(demo_tick("f", threshold=1), "this event", id="one is enough"),
    ],
)
def test_what_a_cluster_shows_of_a_tick(tick: TickEntry, words: str) -> None:
    assert report_tick(tick).cluster.startswith(words)


def test_the_event_is_the_kubelets() -> None:
    assert tick_event(demo_tick("f"), RULES) == (
        "Unhealthy",
        f"Liveness probe failed: {NO_FILE}",
    )
    assert tick_event(demo_tick("s"), RULES) is None
    assert tick_event(demo_tick("h"), RULES) is None


def test_an_attempt_without_a_detail_shows_its_duration() -> None:
    tick = demo_tick("f")
    (attempt,) = tick.attempts

    fact_texts = facts(changed_tick(tick, attempts=(replace(attempt, detail=""),)))

    assert fact_texts["attempt 1/3"].startswith("took 34ms -> failure")


def test_the_title_identifies_the_tick() -> None:
    words = text_of(trace_title(demo_tick("ss", trigger=Trigger.READINESS), VIEW))

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
    tick = demo_tick("f", duration=timedelta(seconds=took))
    next_at = None if next_after is None else NOW + timedelta(seconds=next_after)

    assert ticks_lost(tick, next_at, 5) == lost


def test_lost_ticks_are_shown() -> None:
    fact_texts = facts(demo_tick("f"), next_at=NOW, ticks_lost=2)

    assert fact_texts["next tick"].endswith(
        "2 dropped before it: the probe took longer than its period"
    )


def test_ticks_dropped_for_lateness_are_shown() -> None:
    fact_texts = facts(changed_tick(demo_tick("s"), late_drops=3))

    assert fact_texts["taken late"] == (
        "3 ticks fell due before it and did not run: probetui or this machine was "
        "busy, stopped or suspended"
    )


class TestNextDue:
    def test_it_is_a_period_later(self) -> None:
        assert next_due(demo_tick("s"), None, 5) == NOW + timedelta(seconds=5)

    def test_a_tick_that_followed_has_its_actual_time(self) -> None:
        following = demo_tick("s", started_at=NOW + timedelta(seconds=2))

        assert next_due(demo_tick("s"), following, 5) == following.timing.started_at

    def test_nothing_follows_a_last_tick(self) -> None:
        assert next_due(demo_tick("s", exit=Exit.STOPPED), None, 5) is None


@pytest.mark.parametrize("skip", [pytest.param(skip, id=skip) for skip in Skip])
def test_every_skip_has_a_trace(skip: Skip) -> None:
    assert facts(demo_tick("s", skip=skip, result=None, attempts=()))
