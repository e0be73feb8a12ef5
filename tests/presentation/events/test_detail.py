"""The detail of an event: its effect, and what a cluster shows of it."""

from __future__ import annotations

from datetime import timedelta

import pytest
from msgspec.structs import replace

from probetui.analysis.event_aggregation import AggregatedEvent
from probetui.k8s.event import Event, EventType
from probetui.kubelet.events.event_correlator import ClusterEvent
from probetui.kubelet.journal import TickAction
from probetui.presentation.events.detail import (
    event_detail,
    format_as_kubectl,
)
from probetui.presentation.events.log import EventLine, format_event_line
from probetui.presentation.text.spans import Role, text_of
from probetui.presentation.text.view import View
from probetui.record.masking import Mask
from tests.presentation.looking import TIMES, VIEW
from tests.ticks import DEMO_KEY, NO_FILE, NOW, a_tick
from tests.tui.snapshots import DEMO, clock

_SECOND = timedelta(seconds=1)
MESSAGE = f"Liveness probe failed: {NO_FILE}"
EVENT = Event(
    EventType.WARNING,
    "Unhealthy",
    MESSAGE,
    DEMO.uid,
    "spec.containers{liveness}",
    clock("08:21:00.1"),
    "liveness",
)
TICK = a_tick(
    DEMO_KEY,
    clock("08:21:00.1"),
    "f",
    n=9,
    run=3,
    threshold=3,
    action=TickAction.KILL,
    hold_after=True,
)
ENTRY = EventLine(
    7,
    clock("08:21:00.1"),
    "Warning",
    "Unhealthy",
    "demo/liveness",
    MESSAGE,
    "3/3 acted",
    Role.WARNING,
    TICK,
    DEMO.uid,
    "liveness",
)
SHOWN = ClusterEvent(
    EventType.WARNING,
    "Unhealthy",
    MESSAGE,
    DEMO.uid,
    "spec.containers{liveness}",
    NOW - 191 * _SECOND,
    NOW - 31 * _SECOND,
    9,
)


def detail_texts(
    entry: EventLine, fold: AggregatedEvent | None, view: View = VIEW
) -> list[str]:
    return [text_of(line) for line in event_detail(entry, fold, view)]


def test_an_event_has_its_tick_and_its_event_in_a_cluster() -> None:
    assert detail_texts(ENTRY, AggregatedEvent(SHOWN, 3, is_dropped=False)) == [
        "08:21:00.1  Warning Unhealthy  demo/liveness   liveness tick #9",
        (
            "  Liveness probe failed: cat: can't open '/tmp/healthy': No such file or "
            "directory"
        ),
        (
            "  acted: run 3 of 3 -> stored result Failure "
            "-> container killed, probe on hold"
        ),
        "",
        "  a cluster combines 9 of these, of three instances, into one:",
        (
            "  Warning  Unhealthy  31s (x9 over 3m11s)  kubelet  "
            "Liveness probe failed: cat: can't open '/tmp/healthy': "
            "No such file or directory"
        ),
    ]


@pytest.mark.parametrize(
    ("type_", "heading"),
    [
        pytest.param("state", "KILL  demo/liveness", id="ours"),
        pytest.param("Normal", "Normal Killing  demo/liveness", id="the cluster's"),
    ],
)
def test_an_entry_that_no_cluster_shows_has_its_name_in_the_log(
    type_: str, heading: str
) -> None:
    entry = EventLine(1, NOW, type_, "Killing", "demo/liveness", "", word="KILL")

    assert text_of(event_detail(entry, None, VIEW)[0]).endswith(heading)


@pytest.mark.parametrize(
    ("fold", "words"),
    [
        pytest.param(None, "not shown in a cluster", id="no"),
        pytest.param(
            AggregatedEvent(replace(SHOWN, count=1), 1, is_dropped=False),
            "in a cluster:",
            id="alone",
        ),
        pytest.param(
            AggregatedEvent(SHOWN, 1, is_dropped=False),
            "a cluster combines 9 of these into one:",
            id="one life",
        ),
        pytest.param(
            AggregatedEvent(SHOWN, 12, is_dropped=False),
            "a cluster combines 9 of these, of 12 instances, into one:",
            id="many lives",
        ),
        pytest.param(
            AggregatedEvent(replace(SHOWN, is_combined=True), 1, is_dropped=False),
            "a cluster combines 9 of similar ones into one:",
            id="combined",
        ),
        pytest.param(
            AggregatedEvent(None, 1, is_dropped=True),
            "a cluster drops this event: 25 per pod at once, then one every 5 minutes",
            id="dropped",
        ),
    ],
)
def test_aggregation_by_a_cluster_is_shown(
    fold: AggregatedEvent | None, words: str
) -> None:
    assert f"  {words}" in detail_texts(ENTRY, fold)


def test_a_message_of_several_lines_is_shown_line_by_line() -> None:
    entry = replace(ENTRY, message="one\n\x1b[31mtwo\n", tick=None)

    assert detail_texts(entry, None)[:3] == [
        "08:21:00.1  Warning Unhealthy  demo/liveness",
        "  one",
        "  \\x1b[31mtwo",
    ]


def test_secrets_are_masked_in_the_detail_and_in_copies() -> None:
    view = View(TIMES, mask=Mask(["s3cr3t-token"]))
    entry = replace(ENTRY, message="with s3cr3t-token")

    assert not any("s3cr3t" in line for line in detail_texts(entry, None, view))
    assert "s3cr3t" not in format_event_line(entry, view)


def test_a_line_is_copied_with_all_its_cells() -> None:
    assert format_event_line(ENTRY, VIEW) == (
        "08:21:00.1 Warning Unhealthy demo/liveness [3/3 acted] Liveness probe failed: "
        "cat: can't open '/tmp/healthy': No such file or directory"
    )


def test_an_event_is_copied_as_kubectl_describes_it() -> None:
    copied = format_as_kubectl(AggregatedEvent(SHOWN, 3, is_dropped=False), VIEW)

    heading, columns, _, row = copied.split("\n")
    assert heading == "Events:"
    assert columns.split() == ["Type", "Reason", "Age", "From", "Message"]
    assert "31s (x9 over 3m11s)  kubelet  Liveness probe failed" in row


@pytest.mark.parametrize(
    "fold",
    [
        pytest.param(None, id="no event"),
        pytest.param(AggregatedEvent(None, 1, is_dropped=True), id="dropped"),
    ],
)
def test_an_entry_that_no_cluster_shows_cannot_be_copied_as_an_event(
    fold: AggregatedEvent | None,
) -> None:
    assert format_as_kubectl(fold, VIEW) == ""
