"""The time of a moment in an observation."""

from __future__ import annotations

import pytest

from tests.conformance.moments import UnknownMomentError, when
from tests.conformance.observation import Observation, Span
from tests.conformance.record_builders import (
    action,
    an_observation,
    container,
    ended,
    event,
    gone,
    status,
)

OBSERVATION = an_observation(
    event(1, "Started"),
    event(2, "Started", "web"),
    status(3, container(started=True), phase="Pending"),
    status(4, container(ready=True), ready=True),
    event(5, "Unhealthy"),
    event(6, "Killing"),
    event(7, "Started"),
    status(8, container(restarts=1, last=ended(6, 137))),
    event(9, "Unhealthy"),
    action(10, "replace"),
    gone(12),
    status(13, container(name="new"), gen=1),
    action(14, "replace"),
    action(15),
    gone(16),
)
"""A run that is killed, a second run, and the ends of two generations."""


@pytest.mark.parametrize(
    ("moment", "reached"),
    [
        pytest.param("submitted", Span.at(0), id="submitted"),
        pytest.param("started(app)", Span.at(1), id="first-start"),
        pytest.param("started(app,1)", Span.at(7), id="second-start"),
        pytest.param("started(app, 2)", None, id="no-third-start"),
        pytest.param("killing(app)", Span.at(6), id="killing"),
        pytest.param("killing(web)", None, id="another-is-not-killed"),
        pytest.param("event(Unhealthy)", Span.at(5), id="event"),
        pytest.param("event(Unhealthy,app,1)", Span.at(9), id="second-event"),
        pytest.param("event(Unhealthy,web)", None, id="event-of-another"),
        pytest.param("terminated(app)", Span(6, 7), id="end-to-the-second"),
        pytest.param("terminated(app,1)", None, id="the-second-run-goes-on"),
        pytest.param("running(app)", Span(2, 3), id="running-when-seen"),
        pytest.param("startup_done(app)", Span(2, 3), id="startup-done"),
        pytest.param("restarted(app)", Span(7, 8), id="restarted"),
        pytest.param("restarted(app,2)", None, id="not-restarted-twice"),
        pytest.param("ready(app)", Span(3, 4), id="container-ready"),
        pytest.param("ready(pod)", Span(3, 4), id="pod-ready"),
        pytest.param("unready(pod)", Span(7, 8), id="unready-only-after-ready"),
        pytest.param("phase(Running)", Span(3, 4), id="phase"),
        pytest.param("phase(Failed)", None, id="phase-never-seen"),
        pytest.param("deleted", Span.at(15), id="deleted"),
        pytest.param("replaced", Span.at(10), id="replaced"),
        pytest.param("replaced(1)", Span.at(14), id="replaced-again"),
        pytest.param("gone", Span.at(12), id="gone"),
        pytest.param("gone(1)", Span.at(16), id="gone-again"),
    ],
)
def test_a_moment_is_at_its_defined_time(moment: str, reached: Span | None) -> None:
    assert when(moment, OBSERVATION) == reached


@pytest.mark.parametrize(
    ("observation", "reached"),
    [
        pytest.param(
            an_observation(status(9, container("terminated", ended(4)))),
            Span(4, 5),
            id="now",
        ),
        pytest.param(
            an_observation(status(9, container("terminated", ended(4.25)))),
            Span.at(4.25),
            id="fraction-of-a-second",
        ),
        pytest.param(
            an_observation(status(9, container("waiting", last=ended(4)))),
            Span(4, 5),
            id="waiting-for-the-next-run",
        ),
        pytest.param(
            an_observation(status(9, container("running", restarts=1, last=ended(4)))),
            Span(4, 5),
            id="next-run-goes-on",
        ),
        pytest.param(
            an_observation(status(9, container("running", last=ended(4)))),
            None,
            id="last-state-of-a-run-before-the-first",
        ),
        pytest.param(
            an_observation(status(9, container("terminated", {"exitCode": 1}))),
            Span(8, 9),
            id="without-a-time",
        ),
    ],
)
def test_the_end_of_a_run_is_read_from_state_and_last_state(
    observation: Observation, reached: Span | None
) -> None:
    assert when("terminated(app)", observation) == reached


def test_a_pod_that_ended_before_the_action_is_gone_at_the_action() -> None:
    observation = an_observation(gone(3), action(5))

    assert when("gone", observation) == Span.at(5)


def test_moments_are_searched_in_one_generation() -> None:
    assert when("running(new)", OBSERVATION) is None
    assert when("running(new)", OBSERVATION, gen=1) == Span(12, 13)


@pytest.mark.parametrize(
    "moment", ["sometime", "sometime(app)", "ready", "Started", "(a"]
)
def test_an_unknown_moment_is_an_error(moment: str) -> None:
    with pytest.raises(UnknownMomentError):
        when(moment, OBSERVATION)
