"""The pods of the traces behave on virtual time as on the recorded kubelet.

This includes the texts of events.
"""

from __future__ import annotations

from datetime import timedelta

import pytest
from msgspec.structs import replace

from probetui.kubelet.config import KubeletConfig
from tests.conformance.observation import Observation
from tests.traces.compare import compare
from tests.traces.instances import Instance, split_instances
from tests.traces.restarts import broken_pull_rules, broken_rules, decisions
from tests.traces.shell import NotUnderstoodError
from tests.traces.trace import (
    DATA,
    OWN_DATA,
    Trace,
    load_traces,
    only_own,
)
from tests.traces.virtual import simulate

TRACES = {
    name: trace
    for name, trace in load_traces().items()
    if not trace.is_of_another_version
}
OWN = load_traces(OWN_DATA)
HOURS = timedelta(hours=3).total_seconds()

RELIST = 1.0
"""Seconds. A start just before a tick of the probe is found by the relist after it, so
the first result is up to a period and a relist later."""


@pytest.mark.slow
@pytest.mark.parametrize("name", TRACES)
def test_other_random_pauses_cause_only_differences_by_chance(name: str) -> None:
    trace = TRACES[name]

    found = [
        str(difference)
        for seed in range(6)
        for difference in compare(
            trace, _simulated(trace, replace(trace.config, seed=seed)), slack=RELIST
        )
        if not difference.is_chance
    ]

    assert found == []


@only_own
@pytest.mark.parametrize(
    ("name", "config"),
    [
        pytest.param(
            "crashloop",
            KubeletConfig(backoff_initial=timedelta(seconds=20)),
            id="another first window",
        ),
        pytest.param(
            "http-liveness",
            KubeletConfig(backoff_max=timedelta(seconds=20)),
            id="another longest window",
        ),
        pytest.param(
            "image-missing",
            KubeletConfig(retry_after_error=timedelta(seconds=20)),
            id="longer pauses",
        ),
        pytest.param(
            "onfailure-success",
            KubeletConfig(relist_period=timedelta(seconds=4)),
            id="rare relists",
        ),
        pytest.param(
            "exec-liveness",
            KubeletConfig(minimum_grace_period_seconds=6),
            id="a longer grace period",
        ),
    ],
)
def test_a_kubelet_with_other_settings_differs(
    name: str, config: KubeletConfig
) -> None:
    trace = OWN[name]

    ours = simulate(trace, config)

    assert any(not difference.is_chance for difference in compare(trace, ours))


@only_own
@pytest.mark.slow
@pytest.mark.parametrize("name", ["crashloop", "startup-never", "http-liveness"])
def test_windows_grow_to_five_minutes_and_stay_there(name: str) -> None:
    trace = OWN[name]

    ours = simulate(trace, end=HOURS)

    found = _instances(trace, ours)
    windows = [decision.window for decision in decisions(found) if decision.waits]
    assert windows[-20:] == [300] * 20
    assert list(broken_rules(found, HOURS)) == []


@only_own
@pytest.mark.slow
def test_pulls_of_a_missing_image_slow_down_to_every_five_minutes() -> None:
    trace = OWN["image-missing"]

    ours = simulate(trace, end=HOURS)

    found = _instances(trace, ours)
    pauses = [
        instance.next_at - instance.begins_at for instance in found if instance.next_at
    ]
    assert len(pauses) > 30
    assert all(300 <= pause < 320 for pause in pauses[5:])
    assert list(broken_pull_rules(found, HOURS)) == []


def _simulated(trace: Trace, config: KubeletConfig) -> Observation:
    """Simulate the pod; skip the test if its commands are not supported."""
    try:
        return simulate(trace, config)
    except NotUnderstoodError as error:
        if DATA == OWN_DATA:
            raise
        pytest.skip(f"only the tests on engines know what its pod does: {error}")


def _instances(trace: Trace, observation: Observation) -> list[Instance]:
    ((name, period),) = trace.periods.items()
    return split_instances(
        (event for event in observation.events if event.container == name), period
    )
