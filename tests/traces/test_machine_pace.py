"""What a recording shows of a machine that was late."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conformance.observation import Observation
from tests.traces.machine_pace import is_late, pace_of, without_strays
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


def a_stop_that_takes(seconds: float, *others: Json, **container: Any) -> Trace:
    """Return what is seen of a container that is killed and waits after that."""
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
    ("trace", "late"),
    [
        pytest.param(a_stop_that_takes(4.5), False, id="a stop within its time"),
        pytest.param(a_stop_that_takes(5.5), True, id="a stop that took longer"),
        pytest.param(
            a_stop_that_takes(9.5, **PROBE_GRACE), False, id="the grace of a probe"
        ),
        pytest.param(
            a_stop_that_takes(11.5, **PROBE_GRACE), True, id="longer than that"
        ),
        pytest.param(
            a_stop_that_takes(9.5, {"t": 9.0, "kind": "action", "do": "edit"}),
            False,
            id="a pod that is replaced",
        ),
    ],
)
def test_a_machine_was_late_if_a_container_outlived_its_grace_period(
    trace: Trace, *, late: bool
) -> None:
    assert is_late(trace) is late


def test_a_late_machine_begins_when_its_first_event_came() -> None:
    assert pace_of(a_stop_that_takes(4)).begins == 2


def test_an_error_of_an_instance_that_ended_says_nothing_of_the_next_one() -> None:
    stray = an_event(12, "Unhealthy", EXITED)
    failure = an_event(13, "Unhealthy", "Readiness probe failed: ")
    started = an_event(11, "Started")
    seen = a_stop_that_takes(0.5, started, stray, failure).seen

    left = [event.message for event in without_strays(seen).events]

    assert EXITED not in left
    assert "Readiness probe failed: " in left


@pytest.mark.parametrize("name", [name for name in OWN if name.startswith("late/")])
def test_recordings_of_a_late_machine_show_that_it_was(name: str) -> None:
    assert is_late(OWN[name])


@pytest.mark.parametrize(
    "name", ["1.36/poststart-http", "1.36/poststart-fail", "1.20/poststart-fail"]
)
def test_recordings_of_one_at_rest_show_no_lateness(name: str) -> None:
    assert not is_late(OWN[name])
