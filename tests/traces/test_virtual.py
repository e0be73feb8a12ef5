"""The pods of the traces on virtual time do what they did on the real kubelet.

That goes for every event's text, too (UX-06).
"""

from __future__ import annotations

from datetime import timedelta

import pytest
from msgspec.structs import replace

from probetui.kubelet.config import KubeletConfig
from tests.conformance.observation import Observation
from tests.traces.compare import compare
from tests.traces.instances import Life, lives
from tests.traces.restarts import broken_pull_rules, broken_rules, decisions
from tests.traces.shell import NotUnderstoodError
from tests.traces.trace import (
    DATA,
    OWN_DATA,
    Trace,
    load_traces,
    only_own,
)
from tests.traces.virtual import play

TRACES = {
    name: trace
    for name, trace in load_traces().items()
    if not trace.is_of_another_version
}
OWN = load_traces(OWN_DATA)
HOURS = timedelta(hours=3).total_seconds()

RELIST = 1.0
"""Seconds. A start just before a tick of the probe is seen by the relist after it, so
that the first result comes up to a period and a relist late."""


@pytest.mark.slow
@pytest.mark.parametrize("name", TRACES)
def test_with_other_pauses_all_that_changes_is_chance(name: str) -> None:
    trace = TRACES[name]

    found = [
        str(difference)
        for seed in range(6)
        for difference in compare(
            trace, _played(trace, replace(trace.config, seed=seed)), slack=RELIST
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
def test_a_kubelet_with_other_settings_is_told_apart(
    name: str, config: KubeletConfig
) -> None:
    trace = OWN[name]

    ours = play(trace, config)

    assert any(not difference.is_chance for difference in compare(trace, ours))


@only_own
@pytest.mark.slow
@pytest.mark.parametrize("name", ["crashloop", "startup-never", "http-liveness"])
def test_windows_grow_to_five_minutes_and_stay_there(name: str) -> None:
    trace = OWN[name]

    ours = play(trace, end=HOURS)

    found = _lives(trace, ours)
    windows = [decision.window for decision in decisions(found) if decision.waits]
    assert windows[-20:] == [300] * 20
    assert list(broken_rules(found, HOURS)) == []


@only_own
@pytest.mark.slow
def test_pulls_of_a_missing_image_come_every_five_minutes_in_the_end() -> None:
    trace = OWN["image-missing"]

    ours = play(trace, end=HOURS)

    found = _lives(trace, ours)
    pauses = [life.next_at - life.begins_at for life in found if life.next_at]
    assert len(pauses) > 30
    assert all(300 <= pause < 320 for pause in pauses[5:])
    assert list(broken_pull_rules(found, HOURS)) == []


def _played(trace: Trace, config: KubeletConfig) -> Observation:
    """Run the pod; skip the test where virtual time cannot tell what it does."""
    try:
        return play(trace, config)
    except NotUnderstoodError as error:
        if DATA == OWN_DATA:
            raise
        pytest.skip(f"only the tests on engines know what its pod does: {error}")


def _lives(trace: Trace, seen: Observation) -> list[Life]:
    ((name, period),) = trace.periods.items()
    return lives((event for event in seen.events if event.container == name), period)
