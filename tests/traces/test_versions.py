"""The engine with the rules of other versions does what their kubelets did.

Where the recorded kubelet happened to be in the phase of its relists, resyncs and
first ticks is chance: one of a few of them has to lead to what was recorded.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import timedelta
from itertools import product

import pytest
from msgspec.structs import replace

from probetui.kubelet.config import KubeletConfig
from tests.traces.compare import Difference, compare
from tests.traces.scripts import Script, script_of
from tests.traces.trace import Trace, own_traces
from tests.traces.virtual import play

TRACES = {name: trace for name, trace in own_traces().items() if "/" in name}
AGES = {"1.36/startup-window": timedelta(seconds=6)}
"""Of kubelets that were younger than a period; the others had run for longer."""

SLOWER = {"1.36/restart-all": 1.0}
"""By how many seconds more times may differ: the machine was busy with its stops."""

SEEDS = range(6)
PHASES = (0.0, 0.3, 0.6, 0.9)

_BEYOND_SCRIPTS = "no script says what its commands or its server do"
NOT_YET: Mapping[str, str] = {
    **{
        f"{version}/{name}": _BEYOND_SCRIPTS
        for version in ("1.20", "1.36")
        for name in (
            "command-missing",
            "exec-big-output",
            "http-headers",
            "http-redirect-local",
            "http-slow",
            "readiness-missing-binary",
            "tcp-unknown-port",
        )
    },
    "1.36/grpc-refused": _BEYOND_SCRIPTS,
    "1.20/poststart-http": _BEYOND_SCRIPTS,
    "1.20/edit": "the file of its pod is edited, which a simulation does not do",
    "1.36/edit": "the file of its pod is edited, which a simulation does not do",
    "1.20/crash-fast": "one status of it is 1.6 s later than here",
    "1.20/startup-regate": "probes met the end of containers while they were started",
    "1.36/startup-regate": "which of two workers that are due together is first",
    "1.36/init-then-main": "three starts of it took a second longer than here",
    "1.36/poststart-http": "there is one sync more after a failed hook",
    "1.36/startup-window": "the back-off of later lives falls otherwise",
}
"""The traces that are not followed, and why; what is there is told by the others."""


def _marked(name: str) -> object:
    why = NOT_YET.get(name)
    marks = [] if why is None else [pytest.mark.xfail(reason=why, run=False)]
    return pytest.param(name, marks=marks)


@pytest.mark.parametrize("name", map(_marked, TRACES))
def test_the_engine_does_what_that_kubelet_did(name: str) -> None:
    trace = TRACES[name]

    tries = list(_tries(name, trace))

    assert min(tries, key=len) == []


def _tries(name: str, trace: Trace) -> Iterator[list[str]]:
    """Yield the differences of each try, up to one without any."""
    script = script_of(trace)
    config = trace.config
    if name in AGES:
        config = replace(config, age=AGES[name])
    for seed, phase in product(SEEDS, PHASES):
        found = _differences(trace, script, replace(config, seed=seed), phase)
        yield [str(difference) for difference in found]
        if not found:
            return


def _differences(
    trace: Trace, script: Script, config: KubeletConfig, phase: float
) -> list[Difference]:
    ours = play(trace, script, config, begins=phase)
    slack = SLOWER.get(f"{trace.version}/{trace.name}", 0.0)
    return [found for found in compare(trace, ours, slack) if not found.is_chance]


def _reasons_of_second_life(version: str) -> list[str]:
    name = "1.36/startup-window"
    trace = TRACES[name]
    config = KubeletConfig(version=version)
    seen = play(trace, script_of(trace), config, end=60)
    starts = [event.t for event in seen.events if event.reason == "Started"]
    until = starts[2] if len(starts) > 2 else 60.0
    return [
        event.message
        for event in seen.events
        if starts[1] < event.t < until and "probe" in event.message
    ]


@pytest.mark.parametrize(
    ("version", "is_killed_early"), [("1.32", False), ("1.34", False), ("1.36", True)]
)
def test_a_container_restarted_at_once_counts_as_started_in_the_startup_window(
    version: str, *, is_killed_early: bool
) -> None:
    messages = _reasons_of_second_life(version)

    is_first = messages[0].startswith("Readiness")
    kills = [message for message in messages if "failed liveness" in message]
    assert (is_first and len(kills) == 1) is is_killed_early


@pytest.mark.parametrize(
    ("version", "latest"), [("1.34", 15.5), ("1.35", 5.5), ("1.36", 5.5)]
)
def test_a_back_off_ends_with_its_window_or_at_the_next_retry(
    version: str, latest: float
) -> None:
    trace = TRACES["1.36/crashloop"]

    late = [
        _lateness(trace, KubeletConfig(version=version, seed=seed)) for seed in range(8)
    ]

    assert 0 <= max(late) <= latest
    assert (max(late) > latest / 2) or version != "1.34"


def _lateness(trace: Trace, config: KubeletConfig) -> float:
    """Return how long after its window of 10 s the third start is (seconds)."""
    seen = play(trace, script_of(trace), config, end=60)
    starts = [event.t for event in seen.events if event.reason == "Started"]
    ended_at = starts[1] + 1.0
    return starts[2] - ended_at - 10.0
