"""What comes next, as a sentence of `why` and in short on the screen."""

from __future__ import annotations

from datetime import timedelta

import pytest
from msgspec.structs import replace

from probetui.analysis.next_failure import Outlook, OutlookCondition, OutlookEvent
from probetui.k8s.probe import ProbeType
from probetui.presentation.outlook import brief_outlook, outlook_sentences
from tests.presentation.looking import VIEW

IN_3S = VIEW.now + timedelta(seconds=3)
IN_5S = VIEW.now + timedelta(seconds=5)
KILL = Outlook(
    OutlookEvent.KILLED,
    IN_3S,
    condition=OutlookCondition.FAILURES,
    count=1,
    probe=ProbeType.LIVENESS,
)
SIGKILL = Outlook(OutlookEvent.SIGKILL, IN_3S, condition=OutlookCondition.STILL_RUNS)


@pytest.mark.parametrize(
    ("outlook", "brief"),
    [
        (KILL, "kill in 3.0s if the next probe fails"),
        (
            replace(KILL, earliest=IN_5S, count=2),
            "kill in 5.0s if the next 2 probes fail",
        ),
        (
            replace(KILL, earliest=None, is_at_resync=True),
            "kill up to 1m30s later, if the next probe fails",
        ),
        (replace(KILL, what=OutlookEvent.NOT_READY), "not ready in 3.0s if the next "),
        (
            Outlook(
                OutlookEvent.READY,
                IN_3S,
                condition=OutlookCondition.SUCCESSES,
                count=1,
            ),
            "ready in 3.0s if the next probe succeeds",
        ),
        (Outlook(OutlookEvent.RESTARTED, IN_3S, IN_5S), "restart in 3.0s to 5s"),
        (Outlook(OutlookEvent.RESTARTED), "restart at the pod's next sync"),
        (SIGKILL, "SIGKILL in 3.0s unless it exits"),
        (
            replace(SIGKILL, earliest=VIEW.now),
            "SIGKILL: the grace period is over",
        ),
    ],
)
def test_an_outlook_is_told_in_short(outlook: Outlook, brief: str) -> None:
    assert brief_outlook(outlook, VIEW).startswith(brief)


def test_nothing_is_killed_by_a_session_that_only_watches() -> None:
    watching = replace(VIEW, acts=False)
    assert brief_outlook(KILL, watching) == (
        "would kill (watch only) in 3.0s if the next probe fails"
    )
    assert [*outlook_sentences(KILL, watching)] == [
        (
            "One more failure, and it would be killed (watch only), at "
            f"{VIEW.times.stamp(IN_3S)} at the earliest."
        )
    ]
