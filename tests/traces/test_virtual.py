"""The pods of the traces on virtual time do what they did on the real kubelet.

That goes for every event's text, too (UX-06).
"""

from __future__ import annotations

from datetime import timedelta

import pytest

from probetui.kubelet.config import KubeletConfig
from tests.conformance.observation import Observation
from tests.traces.compare import compare
from tests.traces.lives import Life, lives
from tests.traces.restarts import broken_pull_rules, broken_rules, decisions
from tests.traces.scripts import SCRIPTS
from tests.traces.trace import Trace, load_traces
from tests.traces.virtual import play

TRACES = load_traces()
HOURS = timedelta(hours=3).total_seconds()

RELIST = 1.0
"""Seconds. A start just before a tick of the probe is seen by the relist after it, so
that the first result comes up to a period and a relist late."""


@pytest.mark.parametrize("name", TRACES)
def test_the_engine_does_what_the_kubelet_did(name: str) -> None:
    trace = TRACES[name]

    ours = play(trace, SCRIPTS[name])

    assert list(map(str, compare(trace, ours))) == []


@pytest.mark.parametrize("name", TRACES)
def test_with_other_pauses_all_that_changes_is_chance(name: str) -> None:
    trace = TRACES[name]

    found = [
        str(each)
        for seed in range(1, 6)
        for each in compare(
            trace, play(trace, SCRIPTS[name], KubeletConfig(seed=seed)), slack=RELIST
        )
        if not each.is_chance
    ]

    assert found == []


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
    trace = TRACES[name]

    ours = play(trace, SCRIPTS[name], config)

    assert any(not each.is_chance for each in compare(trace, ours))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["crashloop", "startup-never", "http-liveness"])
def test_windows_grow_to_five_minutes_and_stay_there(name: str) -> None:
    trace = TRACES[name]

    ours = play(trace, SCRIPTS[name], end=HOURS)

    found = _lives(trace, ours)
    windows = [each.window for each in decisions(found) if each.waits]
    assert windows[-20:] == [300] * 20
    assert list(broken_rules(found, HOURS)) == []


@pytest.mark.slow
def test_pulls_of_a_missing_image_come_every_five_minutes_in_the_end() -> None:
    trace = TRACES["image-missing"]

    ours = play(trace, SCRIPTS["image-missing"], end=HOURS)

    found = _lives(trace, ours)
    pauses = [each.next_at - each.begins_at for each in found if each.next_at]
    assert len(pauses) > 30
    assert all(300 <= each < 320 for each in pauses[5:])
    assert list(broken_pull_rules(found, HOURS)) == []


def _lives(trace: Trace, seen: Observation) -> list[Life]:
    ((name, period),) = trace.periods.items()
    return lives((each for each in seen.events if each.container == name), period)
