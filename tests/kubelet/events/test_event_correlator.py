from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from probetui.k8s.event import Event, EventType
from probetui.kubelet.events.event_correlator import (
    CACHE_LIMIT,
    ClusterEvent,
    EventCorrelator,
)
from tests.builders import at

FIVE_MINUTES = 300


def correlate_events(events: Iterable[Event]) -> tuple[ClusterEvent, ...]:
    """Return the events as a cluster shows them, the latest at the end."""
    correlator = EventCorrelator()
    for event in events:
        correlator.correlate(event)
    return correlator.recorded()


def an_event(seconds: float = 0, message: str = "Back-off", **fields: Any) -> Event:
    return Event(
        **{
            "type": EventType.WARNING,
            "reason": "BackOff",
            "message": message,
            "pod_uid": "uid",
            "field_path": "spec.containers{app}",
            "at": at(seconds),
            **fields,
        }
    )


def test_equal_events_are_counted_up() -> None:
    shown = correlate_events([an_event(0), an_event(15), an_event(30)])

    assert shown == (
        ClusterEvent(
            EventType.WARNING,
            "BackOff",
            "Back-off",
            "uid",
            "spec.containers{app}",
            first_seen_at=at(0),
            last_seen_at=at(30),
            count=3,
        ),
    )


def test_events_of_another_container_are_other_events() -> None:
    shown = correlate_events(
        [an_event(), an_event(field_path="spec.containers{other}")]
    )

    assert [event.count for event in shown] == [1, 1]


def test_the_latest_event_is_the_last() -> None:
    shown = correlate_events([an_event(0, "a"), an_event(1, "b"), an_event(2, "a")])

    assert [event.message for event in shown] == ["b", "a"]


def test_of_very_many_events_the_newest_are_remembered() -> None:
    correlator = EventCorrelator()

    for number in range(CACHE_LIMIT + 10):
        correlator.correlate(an_event(number, pod_uid=f"uid-{number}"))

    shown = correlator.recorded()
    assert len(shown) == CACHE_LIMIT
    assert shown[-1].pod_uid == f"uid-{CACHE_LIMIT + 9}"


def test_from_the_tenth_message_on_similar_events_are_combined() -> None:
    """Quirk: ten are documented as too many, and the tenth already is."""
    shown = correlate_events(
        an_event(number, f"message {number}") for number in range(12)
    )

    assert [event.message for event in shown[:9]] == [f"message {n}" for n in range(9)]
    assert len(shown) == 10
    assert shown[-1] == ClusterEvent(
        EventType.WARNING,
        "BackOff",
        "(combined from similar events): message 11",
        "uid",
        "spec.containers{app}",
        first_seen_at=at(9),
        last_seen_at=at(11),
        count=3,
        is_combined=True,
    )


def test_containers_of_a_pod_are_combined_with_each_other() -> None:
    """Quirk: what is similar does not depend on the container."""
    shown = correlate_events(
        an_event(
            number, f"message {number}", field_path=f"spec.containers{{c{number}}}"
        )
        for number in range(10)
    )

    assert shown[-1].is_combined
    assert shown[-1].field_path == "spec.containers{c9}"


def test_reasons_and_pods_are_not_combined() -> None:
    events = [an_event(number, f"message {number}") for number in range(9)]
    other_reason = an_event(9, "message 9", reason="Failed")
    other_pod = an_event(9, "message 9", pod_uid="other")

    shown = correlate_events([*events, other_reason, other_pod])

    assert not any(event.is_combined for event in shown)


def test_a_repeated_message_is_counted_separately() -> None:
    events = [an_event(number, f"message {number}") for number in range(10)]

    shown = correlate_events([*events, an_event(11, "message 5")])

    assert (shown[-1].message, shown[-1].count) == ("message 5", 2)


def test_after_ten_quiet_minutes_similar_events_are_apart_again() -> None:
    events = [an_event(number, f"message {number}") for number in range(10)]

    shown = correlate_events([*events, an_event(610, "message 10")])

    assert shown[-1].message == "message 10"


def test_beyond_25_at_once_events_of_a_pod_are_dropped() -> None:
    correlator = EventCorrelator()

    recorded = [correlator.correlate(an_event()) for _ in range(30)]

    assert [event is not None for event in recorded] == [True] * 25 + [False] * 5
    assert correlator.recorded()[0].count == 25


def test_one_more_event_is_recorded_every_five_minutes() -> None:
    correlator = EventCorrelator()
    for _ in range(26):
        correlator.correlate(an_event())

    too_early = correlator.correlate(an_event(FIVE_MINUTES - 1))
    in_time = correlator.correlate(an_event(FIVE_MINUTES))

    assert too_early is None
    assert in_time is not None
    assert in_time.count == 28


def test_dropped_events_are_counted_all_the_same() -> None:
    """Quirk: the count that is shown next includes them."""
    shown = correlate_events([*(an_event() for _ in range(30)), an_event(FIVE_MINUTES)])

    assert shown[0].count == 31


def test_another_pod_has_an_allowance_of_its_own() -> None:
    correlator = EventCorrelator()
    for _ in range(26):
        correlator.correlate(an_event())

    assert correlator.correlate(an_event(pod_uid="other")) is not None


@given(st.lists(st.tuples(st.integers(0, 400), st.sampled_from("abcdefghijklm"))))
def test_a_pod_never_exceeds_its_allowance(steps: list[tuple[int, str]]) -> None:
    correlator = EventCorrelator()
    now = recorded = 0

    for pause, message in steps:
        now += pause
        recorded += correlator.correlate(an_event(now, message)) is not None

    assert recorded <= 25 + now / FIVE_MINUTES
