"""probetui's records, as records of an observation."""

from __future__ import annotations

from typing import Any

from tests.conformance.translation import Record, Translation

SESSION = {"type": "session", "t": 0.0, "ts": "2026-01-01T00:00:00.500000Z"}
EVENT = {
    "type": "event",
    "t": 1.5,
    "eventType": "Warning",
    "reason": "Unhealthy",
    "message": "Liveness probe failed: ",
    "container": "app",
}
TICK = {"type": "tick", "t": 1.5, "container": "app"}


def a_status(uid: str) -> dict[str, Any]:
    return {"type": "status", "t": 2.0, "podUID": uid, "status": {"phase": "Running"}}


def translated(*written: dict[str, Any]) -> list[Record]:
    translation = Translation("case")
    return [record for line in written for record in translation.records(line)]


def test_the_pod_is_submitted_when_the_session_begins() -> None:
    assert translated(SESSION) == [
        {"t": 0.0, "kind": "submitted", "wall": 1767225600.5, "case": "case"}
    ]


def test_an_event_keeps_its_words_and_its_container() -> None:
    assert translated(EVENT) == [
        {
            "t": 1.5,
            "kind": "event",
            "type": "Warning",
            "reason": "Unhealthy",
            "message": "Liveness probe failed: ",
            "container": "app",
        }
    ]


def test_an_event_without_a_container_is_the_pods() -> None:
    [record] = translated(EVENT | {"container": ""})

    assert record["container"] is None


def test_the_end_of_a_pod_is_passed_on() -> None:
    assert translated({"type": "gone", "t": 3.0}) == [{"t": 3.0, "kind": "gone"}]


def test_what_only_probetui_tells_is_left_out() -> None:
    assert translated(TICK) == []


def test_an_heir_is_of_the_generation_of_the_last_replacement() -> None:
    translation = Translation("case")
    first = [*translation.records(a_status("a"))]
    translation.replaced()
    translation.replaced()

    heirs = [*translation.records(a_status("a")), *translation.records(a_status("b"))]

    assert [record["gen"] for record in (*first, *heirs)] == [0, 0, 2]
