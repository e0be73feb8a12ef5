"""What would be done and is not: told everywhere that a kill is told."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from probetui.headless.condition import ConditionWatch, parse_condition
from probetui.k8s.runtime import ContainerID
from probetui.kubelet.journal import (
    Action,
    By,
    ContainerEntry,
    Lifecycle,
    StateEntry,
    What,
)
from probetui.presentation.consequences import consequences
from probetui.presentation.events import EventLog, verdict
from probetui.presentation.header import mode
from probetui.presentation.lines import PlainLines, entry_line
from probetui.presentation.marks import looks_of
from probetui.presentation.sentences import why
from probetui.presentation.spans import text_of
from probetui.presentation.trace import cluster_words, trace
from tests.presentation.looking import VIEW
from tests.tui.states import DEMO, DEMO_KEY, NOW, a_snapshot, a_tick

TICK = a_tick(
    DEMO_KEY, NOW, "f", n=9, run=3, threshold=3, action=Action.WOULD_KILL,
    hold_after=True,
)  # fmt: skip
NAMES = {DEMO.uid: "demo"}


def a_step(what: Lifecycle, **fields: Any) -> ContainerEntry:
    step = ContainerEntry(1, NOW, DEMO.uid, "liveness", ContainerID("x://1"), 1, what)
    return replace(step, **fields)


WOULD_STOP = a_step(
    Lifecycle.WOULD_STOP, by=By.LIVENESS, grace_period_seconds=30, grace_source="pod"
)


def test_a_tick_says_that_it_would_have_killed() -> None:
    assert why(TICK).endswith("threshold 3 reached: would be killed, not acted")
    assert verdict(TICK) == "3/3 not acted"
    assert consequences(TICK) == (
        "not acted: run 3 of 3 -> stored Failure -> would be killed -> on hold"
    )
    assert looks_of(TICK).is_kill


def test_its_trace_says_what_a_cluster_would_have_done() -> None:
    facts = trace(TICK, pod=DEMO, next_at=None, view=VIEW).facts

    (effect,) = [text_of(each.words) for each in facts if each.label == "effect"]
    assert effect == (
        "would kill: SIGTERM, then SIGKILL after 30s of grace (pod), not acted"
    )
    assert cluster_words(TICK).startswith("this event, then Killing")


def test_a_line_says_with_how_much_grace() -> None:
    lines = PlainLines(started_at=None, is_verbose=False)
    lines.know([DEMO])

    (line,) = lines.feed(TICK._replace(attempts=()))

    assert line.endswith("run 3/3 would-kill grace=30s")


@pytest.mark.parametrize(
    ("entry", "line"),
    [
        pytest.param(
            replace(WOULD_STOP, by=By.POD),
            "demo/liveness would-stop grace=30s reason=pod",
            id="stop",
        ),
        pytest.param(
            a_step(Lifecycle.WOULD_START),
            "demo/liveness would-start restart=1",
            id="start",
        ),
        pytest.param(a_step(Lifecycle.GONE), "demo/liveness gone restart=1", id="gone"),
    ],
)
def test_what_is_not_done_is_a_line(entry: ContainerEntry, line: str) -> None:
    lines = PlainLines(started_at=None, is_verbose=False)

    assert entry_line(entry, NAMES) == line
    assert len(list(lines.feed(entry))) == 1


def test_what_a_tick_has_told_is_told_once() -> None:
    assert list(PlainLines(started_at=None, is_verbose=False).feed(WOULD_STOP)) == []


@pytest.mark.parametrize(
    ("entry", "reason", "message"),
    [
        pytest.param(
            WOULD_STOP,
            "would stop",
            "not acted: SIGTERM, SIGKILL in 30s (pod), liveness probe",
            id="stop",
        ),
        pytest.param(
            a_step(Lifecycle.WOULD_START),
            "would start",
            "not acted: restart 1",
            id="start",
        ),
        pytest.param(
            a_step(Lifecycle.GONE),
            "gone",
            "it ran, and has vanished from the runtime",
            id="gone",
        ),
    ],
)
def test_what_is_not_done_is_among_the_events(
    entry: ContainerEntry, reason: str, message: str
) -> None:
    line = EventLog().feed(entry, NAMES)

    assert line is not None
    assert (line.reason, line.message) == (reason, message)


def test_a_hold_that_no_tick_has_lifted_is_told_apart() -> None:
    change = StateEntry(
        1, NOW, DEMO.uid, "liveness", "Liveness", What.HOLD, "on", "off"
    )

    line = EventLog().feed(change, NAMES)

    assert line is not None
    assert line.message == "liveness hold released: the container was not killed"


@pytest.mark.parametrize(
    ("is_short", "badge"),
    [
        pytest.param(False, "[ONLY WATCHED]", id="wide"),
        pytest.param(True, "[WATCHED]", id="narrow"),
    ],
)
def test_the_header_says_that_nothing_is_done(*, is_short: bool, badge: str) -> None:
    snapshot = replace(a_snapshot(), acts=False)

    assert mode(snapshot, is_short=is_short).text == badge


def test_a_kill_that_was_asked_for_counts_for_until() -> None:
    watch = ConditionWatch(parse_condition("killed"), [DEMO])

    watch.see(replace(WOULD_STOP, by=By.POD))
    before = watch.is_met
    watch.see(WOULD_STOP)

    assert (before, watch.is_met) == (False, True)
