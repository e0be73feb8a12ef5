"""A probe is marked everywhere if a user muted, injected or delayed it."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from probetui.debugger.commands import Injected
from probetui.engine.snapshot import ProbeSnapshot
from probetui.kubelet.journal import TickAction
from probetui.presentation.container.card import card_lines
from probetui.presentation.container.detail import Subject
from probetui.presentation.probe.cell import probe_cell
from probetui.presentation.text.spans import text_of
from probetui.presentation.tick.report import report_tick
from probetui.presentation.tick.trace import build_trace
from probetui.presentation.tick.why import run_sentences
from tests.presentation.looking import VIEW
from tests.ticks import DEMO_KEY, LIVENESS, NOW, changed_tick, history
from tests.tui.snapshots import DEMO, demo

TWO = (Injected.FAILURE, Injected.FAILURE)
REACHED = changed_tick(
    history(DEMO_KEY, LIVENESS, "fff", NOW)[-1], action=TickAction.MUTED
)


def probe_with_choices(**fields: Any) -> tuple[Subject, ProbeSnapshot]:
    """Return the demo's probe with these choices."""
    pod = demo()
    probe = replace(pod.containers[0].probes[0], **fields)
    container = replace(pod.containers[0], probes=(probe,))
    return Subject(pod, container, probe), probe


@pytest.mark.parametrize(
    ("fields", "badges", "in_the_table"),
    [
        pytest.param({}, "", "██░ 2/3", id="nothing"),
        pytest.param({"muted": True}, "MUTED", "✗ 2/3 M", id="muted"),
        pytest.param({"injections": TWO}, "INJECTED 2", "✗ 2/3 *", id="injected"),
        pytest.param(
            {"delay": timedelta(seconds=2)},
            "DELAYED 2.0s",
            "✗ 2/3 D",
            id="delayed",
        ),
        pytest.param({"manifest_probe": LIVENESS}, "EDITED", "✗ 2/3 E", id="edited"),
        pytest.param(
            {"muted": True, "injections": TWO},
            "MUTED  INJECTED 2",
            "✗ 2/3 M*",
            id="both",
        ),
    ],
)
def test_choices_follow_the_badge(
    fields: dict[str, Any], badges: str, in_the_table: str
) -> None:
    subject, probe = probe_with_choices(**fields)

    first = text_of(card_lines(subject, VIEW, 60, 9)[0])
    assert first.partition("2 of 3")[2].strip() == badges
    assert text_of(probe_cell(probe, VIEW)) == in_the_table


def test_a_muted_result_is_marked() -> None:
    facts = {
        fact.label: text_of(fact.words)
        for fact in build_trace(REACHED, DEMO, None, VIEW).facts
    }

    report = report_tick(REACHED)

    assert facts["effect"] == report.effect.text
    assert report.summary.endswith(report.effect.text)
    assert "the probe is muted: result not stored" in "".join(run_sentences(REACHED))
