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
    "1.36/restart-all": "RestartAllContainers is not carried out",
    "1.36/restart-rules-in": "the instance before the last is removed too early",
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
    return [found for found in compare(trace, ours) if not found.is_chance]
