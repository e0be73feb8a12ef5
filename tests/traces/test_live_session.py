"""The observation of one pod in a session, and excuses by the machine."""

from __future__ import annotations

from typing import Any

import pytest

from tests.traces.live_session import Session
from tests.traces.trace import Json


def a_record(kind: str, t: float, pod: str, **fields: Any) -> Json:
    return {"t": t, "type": kind, "pod": pod, **fields}


def an_event(t: float, pod: str = "web", message: str = "m") -> Json:
    event = {"eventType": "Normal", "reason": "Started", "message": message}
    return a_record("event", t, pod, container="app", **event)


def a_tick(*milliseconds: float, pod: str = "web") -> Json:
    attempts = [{"ms": millisecond} for millisecond in milliseconds]
    return a_record("tick", 1.0, pod, attempts=attempts)


def a_session(*records: Json, **fields: Any) -> Session:
    return Session(
        **{
            "records": list(records),
            "removed": {},
            "stderr": "",
            "status": 130,
            "end": 100.0,
            "slow": frozenset({"slow"}),
            **fields,
        }
    )


def test_a_pod_has_its_own_events_up_to_the_end() -> None:
    session = a_session(an_event(1), an_event(2, "other"), an_event(101))

    observation = session.observation_of("web")

    assert [event.t for event in observation.events] == [1]
    assert observation.end == 100


def test_messages_can_be_rewritten() -> None:
    observation = a_session(an_event(1, message="here")).observation_of(
        "web", str.upper
    )

    assert [event.message for event in observation.events] == ["HERE"]


def test_pods_are_in_the_namespace_of_the_traces() -> None:
    message = "Back-off of app in pod web_traces-1-36-0ab1f2(uid)"
    session = a_session(an_event(1, message=message))

    (event,) = session.observation_of("web").events

    assert event.message == "Back-off of app in pod web_default(uid)"


def test_a_removed_manifest_is_a_deletion_of_that_pod_only() -> None:
    session = a_session(an_event(1), removed={"web": 60.0})

    assert session.observation_of("web").actions == [("delete", 60.0)]
    assert session.observation_of("other").actions == []


@pytest.mark.parametrize(
    ("ticks", "excuse"),
    [
        pytest.param([], "", id="no ticks"),
        pytest.param([a_tick(30)] * 99 + [a_tick(990)], "", id="one slow probe"),
        pytest.param(
            [a_tick(30)] * 90 + [a_tick(700)] * 10,
            "the machine was too busy, 1 of 20 probes took 700 ms",
            id="one in ten",
        ),
        pytest.param(
            [a_tick(30)] * 90 + [a_tick(1000, pod="slow")] * 10,
            "",
            id="slow on purpose",
        ),
    ],
)
def test_a_machine_is_too_busy_when_probes_are_often_slow(
    ticks: list[Json], excuse: str
) -> None:
    assert a_session(*ticks).excuse() == excuse


@pytest.mark.parametrize(
    ("lateness", "excuse"),
    [
        pytest.param(4.9, "", id="less than half"),
        pytest.param(6.0, "the machine was too busy, it took 6.0 of 10 s", id="more"),
    ],
)
def test_a_machine_is_too_busy_when_programs_get_half_of_the_time(
    lateness: float, excuse: str
) -> None:
    assert a_session(a_tick(30), lateness=lateness).excuse() == excuse
