"""Rules that hold for every pod."""

from __future__ import annotations

import pytest

from tests.conformance.observation import Observation
from tests.conformance.record_builders import (
    an_observation,
    container,
    ended,
    event,
    status,
)
from tests.conformance.rules import broken_rules

POD = {
    "spec": {
        "initContainers": [
            {"name": "init"},
            {"name": "sidecar", "restartPolicy": "Always"},
        ],
        "containers": [{"name": "app"}],
    }
}
INIT_DONE = status(4, init=(container("terminated", ended(2), name="init"),))
INIT_FAILED = status(4, init=(container("terminated", ended(2, 1), name="init"),))
INIT_STARTED = event(1, "Started", "init")
SIDECAR_STARTED = event(3, "Started", "sidecar")


@pytest.mark.parametrize(
    ("observation", "broken"),
    [
        pytest.param(
            an_observation(
                INIT_STARTED, INIT_DONE, SIDECAR_STARTED, event(5, "Started")
            ),
            [],
            id="in-turn",
        ),
        pytest.param(
            an_observation(INIT_STARTED, INIT_FAILED, SIDECAR_STARTED),
            ["sidecar started before init had completed"],
            id="after-a-failed-init-container",
        ),
        pytest.param(
            an_observation(INIT_STARTED, INIT_DONE, event(5, "Started")),
            ["app started before sidecar"],
            id="before-a-sidecar",
        ),
        pytest.param(
            an_observation(SIDECAR_STARTED),
            ["sidecar started before init"],
            id="before-an-init-container",
        ),
        pytest.param(
            an_observation(
                status(1, container(restarts=2)), status(2, container(restarts=1))
            ),
            ["restart count of app fell at 2.0"],
            id="restart-count-falls",
        ),
        pytest.param(
            an_observation(
                status(1, container(restarts=2)), status(2, container(), gen=1)
            ),
            [],
            id="restart-counts-begin-anew-in-a-generation",
        ),
        pytest.param(
            an_observation(status(1, phase="Failed"), status(2, phase="Running")),
            ["phase went from Failed to Running at 2.0"],
            id="alive-after-its-end",
        ),
        pytest.param(
            an_observation(
                status(1, phase="Succeeded"), status(2, phase="Pending", gen=1)
            ),
            [],
            id="a-generation-after-a-finished-one",
        ),
    ],
)
def test_a_broken_rule_is_named(observation: Observation, broken: list[str]) -> None:
    assert broken_rules(POD, observation) == broken
