"""The clock of a node, learnt from what comes from there."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from probetui.cluster.observe.inputs import PodSeen
from probetui.cluster.observe.node_clock import NodeClock
from probetui.cluster.observe.observation import ClusterObservation
from probetui.k8s.status import Running
from probetui.kubelet.journal import NoteEntry
from tests.builders import a_container_status, a_pod, a_status

_START = datetime(2026, 1, 1, tzinfo=UTC)


def _offset_after(*late_seconds: float) -> float:
    clock = NodeClock()
    for number, late in enumerate(late_seconds):
        instant = _START + timedelta(seconds=10 * number)
        clock.learn(instant, instant + timedelta(seconds=late))
    return clock.offset.total_seconds()


@pytest.mark.parametrize("late", [(3.4,), (3.4, 5.0), (3.4, 0.2, 4.0), (37, 33, 14, 8)])
def test_statuses_that_are_late_are_not_taken_for_a_clock_behind(
    late: tuple[float, ...],
) -> None:
    assert _offset_after(*late) == 0


def test_a_clock_behind_is_known_by_several_statuses() -> None:
    assert _offset_after(60.5, 61.0, 60.7) == 60


def test_late_statuses_do_not_hide_what_was_known_of_a_clock() -> None:
    late = [10 * number for number in range(10, 0, -1)]
    assert _offset_after(-59.5, *(seconds - 59.5 for seconds in late)) == -60
    assert _offset_after(*[60.5] * 3, *(seconds + 60.5 for seconds in late)) == 60


def test_a_clock_ahead_is_known_by_one_status_as_none_comes_too_early() -> None:
    assert _offset_after(-59.5) == -60


def test_a_note_says_how_a_clock_is_apart_and_that_it_is_not_any_more() -> None:
    observation, pod = ClusterObservation(_START), a_pod()
    for number, late in enumerate((0.2, -59.5, 0.2, *[0.2] * 9, 60.5, *[60.5] * 9)):
        started = _START + timedelta(seconds=100 * number)
        status = a_status(a_container_status(number=number, state=Running(started)))
        seen = PodSeen(pod, status, "node1", is_news=True)
        observation.submit(seen, started + timedelta(seconds=late))
    entries = observation.take_entries()
    notes = [entry.text for entry in entries if isinstance(entry, NoteEntry)]

    assert [note.removeprefix("the clock of node node1 is ") for note in notes] == [
        "at least 60s ahead of this machine's: its times are corrected",
        "not apart from this machine's: its times are not corrected any more",
        "60s behind this machine's: its times are corrected",
    ]
