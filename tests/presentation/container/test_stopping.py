"""The hook or signal that stops a container, everywhere it is shown."""

from __future__ import annotations

from datetime import UTC, timedelta

import pytest
from msgspec.structs import replace

from probetui.analysis.container_history import ContainerInstance
from probetui.k8s.pod import Pod
from probetui.k8s.probe import SleepAction
from probetui.kubelet.journal import ContainerEntry, ExitCause, LifecycleStep
from probetui.presentation.container.why import end_facts
from probetui.presentation.events.log import EventLog
from probetui.presentation.plain.lines import format_entry
from probetui.presentation.text.spans import text_of
from probetui.presentation.text.view import TimeFormatter, View
from probetui.presentation.tick.trace import build_trace
from tests.presentation.looking import RULES
from tests.ticks import DEMO_KEY, FIRST, LIVENESS, NOW, history
from tests.tui.snapshots import DEMO

NAMES = {DEMO.uid: "demo"}
CONTAINER = DEMO.containers[0]
HOOKED = replace(
    DEMO,
    containers=(replace(CONTAINER, pre_stop=SleepAction(3)),),
    termination_grace_period_seconds=6,
)
VIEW = View(TimeFormatter(NOW, NOW, zone=UTC))


def a_stop(
    what: LifecycleStep = LifecycleStep.STOPPING, grace: int = 6
) -> ContainerEntry:
    return ContainerEntry(
        1, NOW, DEMO.uid, CONTAINER.name, FIRST, 0, what,
        grace_period_seconds=grace, grace_source="pod", by=ExitCause.POD,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("entry", "pod", "words"),
    [
        pytest.param(
            a_stop(), HOOKED, "preStop, then SIGTERM, SIGKILL in 6s (pod)", id="hook"
        ),
        pytest.param(
            a_stop(LifecycleStep.WOULD_STOP),
            HOOKED,
            "watch only: preStop, then SIGTERM, SIGKILL in 6s (pod)",
            id="not acted",
        ),
        pytest.param(a_stop(), DEMO, "SIGTERM, SIGKILL in 6s (pod)", id="no hook"),
        pytest.param(
            a_stop(grace=0), HOOKED, "SIGTERM, SIGKILL in 0s (pod)", id="no time for it"
        ),
    ],
)
def test_an_event_shows_the_first_step_of_a_stop(
    entry: ContainerEntry, pod: Pod, words: str
) -> None:
    line = EventLog(RULES).add_entry(entry, NAMES, {pod.uid: pod})

    assert line is not None
    assert line.message.startswith(f"{words}, ")


@pytest.mark.parametrize(
    ("entry", "pod", "line"),
    [
        pytest.param(
            a_stop(),
            HOOKED,
            "demo/liveness stopping grace=6s pre-stop reason=pod",
            id="hook",
        ),
        pytest.param(
            a_stop(LifecycleStep.WOULD_STOP),
            HOOKED,
            "demo/liveness would-stop grace=6s pre-stop reason=pod",
            id="not acted",
        ),
        pytest.param(
            a_stop(), DEMO, "demo/liveness stopping grace=6s reason=pod", id="no hook"
        ),
        pytest.param(
            a_stop(grace=0),
            HOOKED,
            "demo/liveness stopping grace=0s reason=pod",
            id="no time for it",
        ),
    ],
)
def test_a_plain_line_shows_that_a_hook_runs_first(
    entry: ContainerEntry, pod: Pod, line: str
) -> None:
    assert format_entry(entry, NAMES, {pod.uid: pod}, RULES) == line


def test_a_tick_that_kills_shows_that_a_hook_runs_first() -> None:
    tick = history(DEMO_KEY, LIVENESS, "fffK", NOW)[-1]

    line = format_entry(tick, NAMES, {DEMO.uid: HOOKED}, RULES)
    facts = build_trace(tick, pod=HOOKED, next_at=None, view=VIEW).facts

    (effect,) = [text_of(fact.words) for fact in facts if fact.label == "effect"]
    assert line is not None
    assert "kill grace=6s pre-stop" in line
    assert effect.startswith(
        "container killed, probe on hold  "
        "preStop, then SIGTERM, SIGKILL after 6s grace (pod)"
    )


def test_a_hook_without_time_is_not_reported_as_run() -> None:
    container = HOOKED.containers[0]

    hooked = " ".join(
        end_facts(ContainerInstance(FIRST, 0, stopping=a_stop()), container, VIEW)
    )
    at_once = " ".join(
        end_facts(
            ContainerInstance(FIRST, 0, stopping=a_stop(grace=0)), container, VIEW
        )
    )

    assert "The preStop hook runs first" in hooked
    assert "preStop" not in at_once


def test_an_early_exit_is_counted_from_the_hook() -> None:
    ended = replace(
        a_stop(),
        at=NOW + timedelta(seconds=2),
        what=LifecycleStep.EXITED,
        exit_code=137,
    )
    instance = ContainerInstance(FIRST, 0, stopping=a_stop(), exited=ended)

    sentences = " ".join(end_facts(instance, HOOKED.containers[0], VIEW))

    assert (
        "That is 2s after the start of its preStop hook, before the grace" in sentences
    )
