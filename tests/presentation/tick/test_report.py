"""The report of one tick: what it did, its effect, and what a cluster shows of it.

Every wording is tested here; other tests compare with a report.
"""

from __future__ import annotations

from typing import Any

import pytest

from probetui.k8s.probe import ProbeType
from probetui.kubelet.journal import Exit, Skip, TickAction, TickEntry
from probetui.kubelet.outcome import Result
from probetui.presentation.tick.report import report_tick
from tests.ticks import DEMO_KEY, NOW, changed_tick, demo_tick
from tests.ticks import a_tick as make_tick


@pytest.mark.parametrize(
    ("tick", "sentence"),
    [
        pytest.param(
            demo_tick("sff"),
            "probed: run 1->2, below threshold 3, no action",
            id="below the threshold",
        ),
        pytest.param(
            demo_tick("sf"),
            "probed: run starts at 1, below threshold 3, no action",
            id="first of a run",
        ),
        pytest.param(
            demo_tick("sfffK"),
            "probed: run 2->3, threshold 3 reached: container killed, probe on hold",
            id="kill",
        ),
        pytest.param(
            demo_tick("ss"),
            "probed: run 1->2, stored result is Success already",
            id="as stored",
        ),
        pytest.param(
            demo_tick("s", action=TickAction.READY),
            "probed: run starts at 1, threshold 1 reached: container ready",
            id="ready",
        ),
        pytest.param(
            demo_tick("fff", action=TickAction.NOT_READY),
            "probed: run 2->3, threshold 3 reached: container not ready",
            id="not ready",
        ),
        pytest.param(
            demo_tick("s", action=TickAction.STARTED),
            "probed: run starts at 1, threshold 1 reached: container started",
            id="started",
        ),
        pytest.param(
            demo_tick("e"),
            "error after 3 attempts, not counted",
            id="errored",
        ),
        pytest.param(
            demo_tick("d"), "skipped: initial delay, 3 of 5s", id="initial delay"
        ),
        pytest.param(
            demo_tick("d", gates=()), "skipped: initial delay, not over", id="no gates"
        ),
        pytest.param(
            demo_tick("h"),
            "skipped: on hold until the container has restarted",
            id="on hold",
        ),
        pytest.param(
            demo_tick("g"),
            "skipped: waiting for the startup probe to succeed",
            id="gated",
        ),
        pytest.param(
            demo_tick("n"),
            "skipped: container not running, stored result set to Failure",
            id="not running",
        ),
        pytest.param(
            demo_tick("s", exit=Exit.POD_DELETED),
            "last tick: the pod is being deleted",
            id="last tick",
        ),
    ],
)
def test_the_summary(tick: TickEntry, sentence: str) -> None:
    assert report_tick(tick).summary == sentence


@pytest.mark.parametrize("skip", [pytest.param(skip, id=skip) for skip in Skip])
def test_every_skip_has_a_reason(skip: Skip) -> None:
    assert report_tick(demo_tick("s", skip=skip)).summary.startswith("skipped: ")


def test_a_startup_probe_that_has_succeeded_is_done_and_not_on_hold() -> None:
    key = DEMO_KEY._replace(probe_type=ProbeType.STARTUP)
    tick = demo_tick("h", key=key)

    done, killed = (
        report_tick(changed_tick(tick, stored_after=stored)).summary
        for stored in (Result.SUCCESS, Result.FAILURE)
    )

    assert done == "skipped: startup has succeeded, the probe is done"
    assert killed == "skipped: on hold until the container has restarted"


@pytest.mark.parametrize("reason", [pytest.param(reason, id=reason) for reason in Exit])
def test_every_exit_has_a_reason(reason: Exit) -> None:
    assert report_tick(demo_tick("s", exit=reason)).summary.startswith("last tick: ")


@pytest.mark.parametrize(
    ("letter", "fields", "words"),
    [
        pytest.param(
            "f",
            {"run": 2, "threshold": 3},
            "ignored: run 2 of 3 -> stored result stays Success",
            id="below the threshold",
        ),
        pytest.param(
            "f",
            {"threshold": 3, "stored_before": None},
            "ignored: run 1 of 3 -> stored result stays none",
            id="nothing stored",
        ),
        pytest.param(
            "f",
            {"run": 3, "threshold": 3, "action": TickAction.KILL, "hold_after": True},
            "acted: run 3 of 3 -> stored result Failure "
            "-> container killed, probe on hold",
            id="kill",
        ),
        pytest.param(
            "f",
            {"run": 3, "threshold": 3, "action": TickAction.NOT_READY},
            "acted: run 3 of 3 -> stored result Failure -> container not ready",
            id="not ready",
        ),
        pytest.param(
            "s",
            {"action": TickAction.READY},
            "acted: run 1 of 1 -> stored result Success -> container ready",
            id="ready",
        ),
        pytest.param(
            "s",
            {"action": TickAction.STARTED},
            "acted: run 1 of 1 -> stored result Success -> container started",
            id="started",
        ),
        pytest.param(
            "f",
            {"run": 3, "threshold": 3, "action": TickAction.MUTED},
            "muted: run 3 of 3 -> result not stored",
            id="muted",
        ),
        pytest.param(
            "f",
            {"run": 3, "threshold": 3, "action": TickAction.WOULD_KILL},
            "watch only: run 3 of 3 -> stored result Failure "
            "-> container would be killed",
            id="watch only",
        ),
        pytest.param(
            "s",
            {"run": 2},
            "no change: run 2 of 1 -> stored result stays Success",
            id="as stored",
        ),
        pytest.param(
            "e",
            {},
            "not counted: error after 3 attempts -> run and stored result unchanged",
            id="errored",
        ),
        pytest.param(
            "h",
            {"skip": Skip.ON_HOLD},
            "skipped: on hold until the container has restarted",
            id="skipped",
        ),
    ],
)
def test_a_tick_reports_how_far_its_result_run_got(
    letter: str, fields: dict[str, Any], words: str
) -> None:
    assert report_tick(make_tick(DEMO_KEY, NOW, letter, **fields)).steps == words
