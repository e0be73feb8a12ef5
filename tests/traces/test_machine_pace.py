"""The lateness of a machine, read from a recording."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conformance.observation import Observation
from tests.traces.machine_pace import is_late_machine, pace_of, without_strays
from tests.traces.trace import OWN_DATA, Trace, all_traces

Json = dict[str, Any]

OWN = all_traces(OWN_DATA)

GRACE = 3
PROBE_GRACE = {"livenessProbe": {"terminationGracePeriodSeconds": 9}}
EXITED = "Readiness probe errored: container is in CONTAINER_EXITED state"


def an_event(t: float, reason: str, message: str = "m") -> Json:
    return {
        "t": t,
        "kind": "event",
        "type": "Normal",
        "reason": reason,
        "message": message,
        "container": "app",
    }


def a_slow_stop(seconds: float, *others: Json, **container: Any) -> Trace:
    """Return the trace of a container that is killed and then waits."""
    events = [
        an_event(2, "Pulled"),
        an_event(2.3, "Started"),
        an_event(10, "Killing"),
        an_event(10 + seconds, "BackOff"),
        *others,
    ]
    manifest = {
        "metadata": {"name": "p"},
        "spec": {
            "terminationGracePeriodSeconds": GRACE,
            "containers": [{"name": "app", **container}],
        },
    }
    end = {"t": 60.0, "kind": "end"}
    return Trace("p", manifest, Observation.of([*events, end]), 60.0)


@pytest.mark.parametrize(
    ("trace", "is_late"),
    [
        pytest.param(a_slow_stop(4.5), False, id="a stop within its time"),
        pytest.param(a_slow_stop(5.5), True, id="a stop that took longer"),
        pytest.param(a_slow_stop(9.5, **PROBE_GRACE), False, id="the grace of a probe"),
        pytest.param(a_slow_stop(11.5, **PROBE_GRACE), True, id="longer than that"),
        pytest.param(
            a_slow_stop(9.5, {"t": 9.0, "kind": "action", "do": "edit"}),
            False,
            id="a pod that is replaced",
        ),
    ],
)
def test_a_machine_was_late_if_a_container_outlived_its_grace_period(
    trace: Trace, *, is_late: bool
) -> None:
    assert is_late_machine(trace) is is_late


def test_the_pace_of_a_late_machine_begins_at_its_first_event() -> None:
    assert pace_of(a_slow_stop(4)).begins_at == 2


def test_an_error_of_an_ended_instance_is_dropped_from_the_next_one() -> None:
    stray = an_event(12, "Unhealthy", EXITED)
    failure = an_event(13, "Unhealthy", "Readiness probe failed: ")
    started = an_event(11, "Started")
    observation = a_slow_stop(0.5, started, stray, failure).observation

    left = [event.message for event in without_strays(observation).events]

    assert EXITED not in left
    assert "Readiness probe failed: " in left


@pytest.mark.parametrize("name", [name for name in OWN if name.startswith("late/")])
def test_recordings_of_a_late_machine_are_recognized(name: str) -> None:
    assert is_late_machine(OWN[name])


@pytest.mark.parametrize(
    "name", ["1.36/poststart-http", "1.36/poststart-fail", "1.20/poststart-fail"]
)
def test_other_recordings_show_no_lateness(name: str) -> None:
    assert not is_late_machine(OWN[name])
