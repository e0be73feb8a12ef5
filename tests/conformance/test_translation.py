"""Translation of probetui's records to records of an observation."""

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


def translate(*written: dict[str, Any]) -> list[Record]:
    translation = Translation("case")
    return [record for line in written for record in translation.records(line)]


def test_the_pod_is_submitted_when_the_session_begins() -> None:
    assert translate(SESSION) == [
        {"t": 0.0, "kind": "submitted", "wall": 1767225600.5, "case": "case"}
    ]


def test_an_event_keeps_its_message_and_its_container() -> None:
    assert translate(EVENT) == [
        {
            "t": 1.5,
            "kind": "event",
            "type": "Warning",
            "reason": "Unhealthy",
            "message": "Liveness probe failed: ",
            "container": "app",
        }
    ]


def test_an_event_without_a_container_belongs_to_the_pod() -> None:
    [record] = translate(EVENT | {"container": ""})

    assert record["container"] is None


def test_the_end_of_a_pod_is_passed_on() -> None:
    assert translate({"type": "gone", "t": 3.0}) == [{"t": 3.0, "kind": "gone"}]


def test_records_that_only_probetui_writes_are_dropped() -> None:
    assert translate(TICK) == []


def test_an_heir_is_of_the_generation_of_the_last_replacement() -> None:
    translation = Translation("case")
    first = [*translation.records(a_status("a"))]
    translation.note_replacement()
    translation.note_replacement()

    heirs = [*translation.records(a_status("a")), *translation.records(a_status("b"))]

    assert [record["gen"] for record in (*first, *heirs)] == [0, 0, 2]
