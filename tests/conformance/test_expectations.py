"""Edge cases of the judge's expectations."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conformance.evaluator import evaluate
from tests.conformance.observation import Observation
from tests.conformance.record_builders import (
    action,
    an_observation,
    container,
    end,
    ended,
    event,
    status,
)

POD = {"spec": {"containers": [{"name": "app"}]}}
READY = status(4, container(ready=True), ready=True)
UNHEALTHY = an_observation(
    event(1, "Started"), event(3, "Unhealthy"), event(5, "Killing"), end(9)
)
RUNNING = an_observation(event(1, "Started"), status(2, container()), READY, end(9))
RESTARTED = an_observation(
    status(2, container()), status(8, container(restarts=1)), end(20)
)


def holds(
    expectation: dict[str, Any], observation: Observation, slack: float = 1.0
) -> bool:
    [verdict] = evaluate({"pod": POD, "expect": [expectation]}, observation, slack)
    return verdict.holds


@pytest.mark.parametrize(
    ("expectation", "observation", "expected"),
    [
        pytest.param(
            {"event": {"reason": "Unhealthy", "within": 3}},
            UNHEALTHY,
            True,
            id="within",
        ),
        pytest.param(
            {"event": {"reason": "Unhealthy", "within": 2}},
            UNHEALTHY,
            False,
            id="not-within",
        ),
        pytest.param(
            {"event": {"reason": "Unhealthy", "after": "killing(app)"}},
            UNHEALTHY,
            False,
            id="before-the-window",
        ),
        pytest.param(
            {"event": {"reason": "Unhealthy", "before": "gone"}},
            UNHEALTHY,
            False,
            id="a-window-that-never-closes-is-empty",
        ),
        pytest.param(
            {"no_event": {"reason": "Unhealthy", "before": "gone"}},
            UNHEALTHY,
            False,
            id="and-nothing-can-be-missing-from-it",
        ),
        pytest.param(
            {"no_event": {"reason": "Killing", "after": "killing(app)"}},
            UNHEALTHY,
            True,
            id="what-opens-a-window-is-not-in-it",
        ),
        pytest.param(
            {"no_event": {"reason": "Killing", "before": "killing(app)"}},
            UNHEALTHY,
            True,
            id="what-closes-a-window-is-not-in-it",
        ),
        pytest.param(
            {"no_event": {"reason": "Killing", "for": 4}},
            UNHEALTHY,
            True,
            id="after-the-period",
        ),
        pytest.param(
            {"no_event": {"reason": "Failed", "for": 30}},
            UNHEALTHY,
            False,
            id="the-period-was-not-observed-in-full",
        ),
        pytest.param(
            {"no_event": {"reason": "Failed"}},
            an_observation(),
            False,
            id="nothing-was-observed-at-all",
        ),
        pytest.param(
            {"state": {"container": "app", "is": "running", "after": "started(app)"}},
            an_observation(status(0.5, container()), event(1, "Started")),
            True,
            id="the-status-in-force-counts",
        ),
        pytest.param(
            {"unready": {"after": "deleted", "within": 1}},
            an_observation(READY, action(6), status(9, container())),
            False,
            id="unready-too-late",
        ),
        pytest.param(
            {"ready": {"container": "app", "not_before_started_plus": 2}},
            an_observation(
                status(4, container(details={"startedAt": "2026-01-01T00:00:01Z"})),
                READY,
            ),
            True,
            id="ready-late-enough-after-the-start",
        ),
        pytest.param(
            {"never_ready": {"for": 3}}, RUNNING, True, id="not-ready-until-then"
        ),
        pytest.param(
            {"never_ready": {"for": 8}}, RUNNING, False, id="ready-in-the-period"
        ),
        pytest.param(
            {"restarts": {"exactly": 0, "for": 7}}, RESTARTED, True, id="no-restart-yet"
        ),
        pytest.param(
            {"restarts": {"exactly": 0, "for": 8}}, RESTARTED, False, id="a-restart"
        ),
        pytest.param(
            {"restarts": {"exactly": 0, "for": 1}},
            RESTARTED,
            False,
            id="a-container-not-seen-started-has-no-count",
        ),
        pytest.param(
            {"gap": {"from": "started(app)", "to": "terminated(app)", "at_least": 4}},
            an_observation(
                event(1, "Started"), status(9, container("terminated", ended(4)))
            ),
            True,
            id="the-benefit-of-the-doubt-for-a-gap",
        ),
        pytest.param(
            {"order": ["terminated(app)", "started(app,1)"]},
            an_observation(
                event(1, "Started"),
                event(4.5, "Started"),
                status(9, container("terminated", ended(4))),
            ),
            True,
            id="the-benefit-of-the-doubt-for-an-order",
        ),
        pytest.param(
            {"together": ["app", "web"]},
            an_observation(
                event(1, "Started"),
                event(2, "Started", "web"),
                status(
                    5,
                    container("terminated", ended(3)),
                    container("waiting", name="web"),
                ),
            ),
            True,
            id="together-by-the-times-of-runs",
        ),
        pytest.param(
            {"terminated": {"container": "app", "message": ""}},
            an_observation(status(9, container("terminated", ended(4)))),
            True,
            id="no-message-is-an-empty-one",
        ),
        pytest.param(
            {"phase": {"is": "Running"}}, an_observation(), False, id="no-status"
        ),
        pytest.param({"phase": {}}, RUNNING, False, id="malformed"),
        pytest.param({"weather": "fine"}, RUNNING, False, id="unknown"),
        pytest.param({"order": ["tomorrow"]}, RUNNING, False, id="unknown-moment"),
    ],
)
def test_an_expectation_is_judged_as_defined(
    expectation: dict[str, Any],
    observation: Observation,
    expected: bool,  # noqa: FBT001  # a column of the table
) -> None:
    assert holds(expectation, observation) is expected


def test_a_late_start_on_a_late_machine_has_a_restart_count() -> None:
    observation = an_observation(status(2, container()), end(20))
    expectation = {"restarts": {"exactly": 0, "for": 1}}

    assert not holds(expectation, observation)
    observation.late = 1.5
    assert holds(expectation, observation)


@pytest.mark.parametrize(
    ("expectation", "slack", "expected"),
    [
        pytest.param(
            {"event": {"reason": "Unhealthy", "within": 2}}, 1.5, True, id="upper-bound"
        ),
        pytest.param(
            {"gap": {"from": "submitted", "to": "killing(app)", "at_least": 6}},
            0.5,
            False,
            id="lower-bound",
        ),
        pytest.param(
            {"no_event": {"reason": "Killing", "for": 4}}, 2.0, True, id="period"
        ),
    ],
)
def test_slack_stretches_upper_bounds_only(
    expectation: dict[str, Any],
    slack: float,
    expected: bool,  # noqa: FBT001  # a column of the table
) -> None:
    assert holds(expectation, UNHEALTHY, slack) is expected


def test_a_missed_action_fails_the_case() -> None:
    observation = an_observation(
        {"t": 9, "kind": "missed_action", "detail": "too late"}
    )

    [verdict] = evaluate({"pod": POD, "expect": []}, observation)

    assert not verdict.holds
    assert verdict.detail == "too late"
