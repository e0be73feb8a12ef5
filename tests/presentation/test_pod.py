"""A short view of the conditions of a pod."""

from __future__ import annotations

from probetui.k8s.status import ConditionStatus, PodCondition, PodStatus
from probetui.presentation.pod import condition_lines
from probetui.presentation.text.spans import text_of
from tests.presentation.looking import VIEW
from tests.tui.snapshots import DEMO, a_pod_snapshot

_TRUE, _FALSE = ConditionStatus.TRUE, ConditionStatus.FALSE


def lines(*conditions: PodCondition) -> list[str]:
    pod = a_pod_snapshot(DEMO, status=PodStatus(conditions=conditions))
    return [text_of(line).rstrip() for line in condition_lines(pod, "demo", VIEW)]


def test_true_conditions_are_left_out() -> None:
    assert not lines(
        PodCondition("PodScheduled", _TRUE), PodCondition("Initialized", _TRUE)
    )


def test_conditions_that_are_not_true_are_shown_with_their_reason() -> None:
    assert lines(
        PodCondition("PodScheduled", _FALSE, "Unschedulable"),
        PodCondition("Ready", _FALSE, "ContainersNotReady"),
    ) == [
        "conditions of demo",
        "  PodScheduled  False  Unschedulable",
        "  Ready         False  ContainersNotReady",
    ]


def test_a_pod_without_conditions_has_no_lines() -> None:
    assert lines() == []


def test_escape_sequences_in_conditions_are_harmless() -> None:
    shown = lines(PodCondition("Ready\x1b[2J", _FALSE, "\udcff"))

    assert shown[1] == "  Ready\\x1b[2J  False  \\xff"
