"""Events as a cluster would show them."""

from __future__ import annotations

from datetime import timedelta

from probetui.analysis.event_aggregation import ClusterEvents
from probetui.k8s.event import Event, EventType
from probetui.kubelet.events.event_correlator import COMBINED, SPAM_BURST
from probetui.kubelet.journal import EventEntry
from tests.ticks import NOW


def an_entry(
    sequence: int, message: str = "failed", *, seconds: float = 0, pod: str = "uid"
) -> EventEntry:
    at = NOW + timedelta(seconds=seconds)
    path = "spec.containers{app}"
    event = Event(EventType.WARNING, "Unhealthy", message, pod, path, at, "app")
    return EventEntry(sequence, at, event)


def test_equal_events_of_several_lives_become_one_with_a_count() -> None:
    view = ClusterEvents()
    for number in range(9):
        view.add_event(an_entry(number, seconds=number * 20), restart_count=number // 3)

    fold = view.of(4)

    assert fold is not None
    assert fold.shown is not None
    assert (fold.shown.count, fold.instances, fold.is_dropped) == (9, 3, False)
    assert fold.shown.first_seen_at == NOW
    assert fold.shown.last_seen_at == NOW + timedelta(seconds=160)


def test_events_with_other_messages_stay_apart() -> None:
    view = ClusterEvents()
    view.add_event(an_entry(1, "one"), restart_count=0)
    view.add_event(an_entry(2, "two"), restart_count=0)

    assert [event.message for event in view.events()] == ["one", "two"]


def test_many_similar_events_are_combined() -> None:
    view = ClusterEvents()
    for number in range(12):
        view.add_event(an_entry(number, f"message {number}"), restart_count=0)

    fold = view.of(10)

    assert fold is not None
    assert fold.shown is not None
    assert fold.shown.message == f"{COMBINED}message 11"
    assert fold.shown.count == 3


def test_what_exceeds_the_allowance_is_dropped_and_counted() -> None:
    view = ClusterEvents()
    for number in range(SPAM_BURST + 3):
        view.add_event(an_entry(number), restart_count=0)

    last, first = view.of(SPAM_BURST + 2), view.of(0)

    assert view.dropped == 3
    assert last is not None
    assert last.is_dropped
    assert first is not None
    assert not first.is_dropped
    assert last.shown == first.shown
    assert last.shown is not None
    assert last.shown.count == SPAM_BURST


def test_an_event_that_is_dropped_and_never_written_shows_as_nothing() -> None:
    view = ClusterEvents()
    for number in range(SPAM_BURST):
        view.add_event(an_entry(number), restart_count=0)
    view.add_event(an_entry(100, "something else"), restart_count=0)

    fold = view.of(100)

    assert fold is not None
    assert fold.shown is None


def test_the_events_of_one_pod_can_be_selected() -> None:
    view = ClusterEvents()
    view.add_event(an_entry(1, pod="one"), restart_count=0)
    view.add_event(an_entry(2, pod="two"), restart_count=0)

    assert [event.pod_uid for event in view.events("two")] == ["two"]


def test_what_is_no_event_has_no_place_in_a_cluster() -> None:
    assert ClusterEvents().of(7) is None


def test_no_occurrence_of_a_thousand_is_lost_from_the_counts() -> None:
    view = ClusterEvents()
    for number in range(1000):
        view.add_event(an_entry(number, seconds=number), restart_count=0)

    shown = view.events()

    assert len(shown) == 1
    assert view.dropped == 1000 - (SPAM_BURST + 3)
    assert shown[0].count <= 1000


def test_counts_stay_when_single_events_are_evicted() -> None:
    view = ClusterEvents()
    for number in range(SPAM_BURST + 5):
        view.add_event(an_entry(number, f"message {number}"), restart_count=0)
    dropped, shown = view.dropped, view.events()

    view.evict(before=SPAM_BURST + 4)

    assert view.of(SPAM_BURST + 3) is None
    assert view.of(SPAM_BURST + 4) is not None
    assert (view.dropped, view.events()) == (dropped, shown)


def test_what_single_events_became_is_forgotten_with_them() -> None:
    view = ClusterEvents()
    for number in range(5_000):
        view.add_event(an_entry(number, f"message {number}"), restart_count=0)
        view.evict(before=number - 10)

    assert view.of(4_999) is not None
    assert len(view._groups) < 1_100
