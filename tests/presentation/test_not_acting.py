"""Watch-only mode: suppressed kills are shown wherever a kill would be."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from probetui.analysis.timeline import classify_tick
from probetui.headless.condition import ConditionWatch, parse_condition
from probetui.k8s.runtime import ContainerID
from probetui.kubelet.journal import (
    ContainerEntry,
    ExitCause,
    LifecycleStep,
    StateEntry,
    StateField,
    TickAction,
)
from probetui.presentation.events.log import EventLog
from probetui.presentation.header import clock_badge
from probetui.presentation.plain.lines import PlainLines, format_entry
from probetui.presentation.text.spans import text_of
from probetui.presentation.tick.report import report_tick
from probetui.presentation.tick.trace import build_trace
from tests.presentation.looking import RULES, VIEW
from tests.ticks import DEMO_KEY, NOW, a_tick, changed_tick
from tests.tui.snapshots import DEMO, a_snapshot

TICK = a_tick(
    DEMO_KEY, NOW, "f", n=9, run=3, threshold=3, action=TickAction.WOULD_KILL,
    hold_after=True,
)  # fmt: skip
NAMES = {DEMO.uid: "demo"}


def a_step(what: LifecycleStep, **fields: Any) -> ContainerEntry:
    step = ContainerEntry(1, NOW, DEMO.uid, "liveness", ContainerID("x://1"), 1, what)
    return replace(step, **fields)


WOULD_STOP = a_step(
    LifecycleStep.WOULD_STOP,
    by=ExitCause.LIVENESS,
    grace_period_seconds=30,
    grace_source="pod",
)


def test_a_tick_reports_that_it_would_have_killed() -> None:
    report = report_tick(TICK)

    assert report.summary.endswith(f"{report.effect.text} (watch only)")
    assert report.note == "3/3 watch only"
    assert classify_tick(TICK).is_kill


def test_the_trace_shows_what_a_cluster_would_have_done() -> None:
    facts = build_trace(TICK, pod=DEMO, next_at=None, view=VIEW).facts

    (effect,) = [text_of(fact.words) for fact in facts if fact.label == "effect"]
    report = report_tick(TICK)
    assert effect == f"{report.effect.text}  SIGTERM, SIGKILL after 30s grace (pod)"
    assert report.cluster.startswith("this event, then Killing")


def test_a_line_has_the_grace_period() -> None:
    lines = PlainLines(started_at=None, is_verbose=False, rules=RULES)
    lines.register_pods([DEMO])

    (line,) = lines.format_entry(changed_tick(TICK, attempts=()))

    assert line.endswith("run 3/3 would-kill grace=30s")


@pytest.mark.parametrize(
    ("entry", "line"),
    [
        pytest.param(
            replace(WOULD_STOP, by=ExitCause.POD),
            "demo/liveness would-stop grace=30s reason=pod",
            id="stop",
        ),
        pytest.param(
            a_step(LifecycleStep.WOULD_START),
            "demo/liveness would-start restart=1",
            id="start",
        ),
        pytest.param(
            a_step(LifecycleStep.GONE), "demo/liveness gone restart=1", id="gone"
        ),
    ],
)
def test_a_suppressed_action_has_a_line(entry: ContainerEntry, line: str) -> None:
    lines = PlainLines(started_at=None, is_verbose=False, rules=RULES)

    assert format_entry(entry, NAMES, {}, RULES) == line
    assert len(list(lines.format_entry(entry))) == 1


def test_a_kill_that_a_tick_reports_has_no_second_line() -> None:
    assert (
        list(
            PlainLines(started_at=None, is_verbose=False, rules=RULES).format_entry(
                WOULD_STOP
            )
        )
        == []
    )


@pytest.mark.parametrize(
    ("entry", "reason", "message"),
    [
        pytest.param(
            WOULD_STOP,
            "would stop",
            "watch only: SIGTERM, SIGKILL in 30s (pod), liveness probe",
            id="stop",
        ),
        pytest.param(
            a_step(LifecycleStep.WOULD_START),
            "would start",
            "watch only: restart 1",
            id="start",
        ),
        pytest.param(
            a_step(LifecycleStep.GONE),
            "gone",
            "disappeared from the runtime while it ran",
            id="gone",
        ),
    ],
)
def test_a_suppressed_action_is_in_the_event_log(
    entry: ContainerEntry, reason: str, message: str
) -> None:
    line = EventLog(RULES).add_entry(entry, NAMES)

    assert line is not None
    assert (line.reason, line.message) == (reason, message)


def test_a_hold_that_no_tick_released_is_reported_separately() -> None:
    change = StateEntry(
        1, NOW, DEMO.uid, "liveness", "Liveness", StateField.HOLD, "on", "off"
    )

    line = EventLog(RULES).add_entry(change, NAMES)

    assert line is not None
    assert line.message == "liveness hold released: the container was not killed"


@pytest.mark.parametrize(
    ("is_short", "badge"),
    [
        pytest.param(False, "[WATCH ONLY]", id="wide"),
        pytest.param(True, "[WATCH]", id="narrow"),
    ],
)
def test_the_header_shows_watch_only_mode(*, is_short: bool, badge: str) -> None:
    snapshot = replace(a_snapshot(), acts=False)

    assert clock_badge(snapshot, is_short=is_short).text == badge


def test_a_suppressed_kill_counts_for_until() -> None:
    watch = ConditionWatch(parse_condition("killed"), [DEMO])

    watch.observe(replace(WOULD_STOP, by=ExitCause.POD))
    before = watch.is_met
    watch.observe(WOULD_STOP)

    assert (before, watch.is_met) == (False, True)
