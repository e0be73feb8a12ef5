"""The pods of the traces on real containers and real processes, all at once.

The pods of 1.32 run on all runtimes at once, for as long as the kubelet was recorded,
four and a half minutes; the pods of the other versions run after them.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import NamedTuple

import pytest

from probetui.kubelet_rules import PORTED_RULES
from tests.engines import cri_variables
from tests.traces.compare import compare
from tests.traces.live_session import Session, Traces, a_program, live_name, run_pods
from tests.traces.processes import (
    for_processes,
    link_busybox,
    rewrite_to_trace_paths,
)
from tests.traces.trace import DATA, OWN_DATA, Json, Trace, all_traces

pytestmark = pytest.mark.slow

DOCKER, CRI, PROCESS = "docker", "cri", "process"
INTERRUPTED = 130
SLACK = float(os.environ.get("PROBETUI_TRACES_SLACK", "1"))
"""Additional tolerance for a busy machine, in seconds: a relist and fractions of
seconds."""

ALL = os.environ.get("PROBETUI_TRACES_ALL") == "1"
"""Run all traces of versions other than 1.32, not only those that differ from it."""

_TRACES_THAT_DIFFER: Mapping[str, frozenset[str]] = {
    "1.36": frozenset({
        "container-restart-policy",
        "crashloop",
        "exec-missing-binary",
        "poststart-fail",
        "poststart-sleep",
        "prestop-sleep3",
        "restart-all",
        "restart-rules-in",
        "sidecar-order-delete",
        "startup-regate",
        "stop-signal",
    }),
    "1.20": frozenset({
        "crashloop",
        "deadline",
        "delete-liveness-prestop",
        "exec-missing-binary",
        "exec-timeout",
        "poststart-fail",
        "prestop-grace",
        "startup-never",
    }),
}  # fmt: skip
"""Traces that show how a version differs: few, as all pods of all versions run at
once."""


class Lane(NamedTuple):
    """The pods of one version on one runtime, run by one session."""

    version: str
    runtime: str

    @property
    def is_ported(self) -> bool:
        """Whether the version is the ported one."""
        return self.version == PORTED_RULES.version


_ERRORED_COMMANDS = frozenset({"exec-missing-binary", "readiness-missing-binary"})
"""Probes whose command cannot be started: a failure with dockershim, on Docker."""


def _runtimes(trace: Trace) -> tuple[str, ...]:
    """Return the runtimes that can follow a trace of a kubelet on containerd."""
    if not trace.is_of_another_version:
        return (DOCKER, CRI) if trace.lacks_image else (DOCKER, CRI, PROCESS)
    has_dockershim = trace.config.rules.has_dockershim
    is_different_on_docker = has_dockershim and trace.name in _ERRORED_COMMANDS
    return (CRI,) if is_different_on_docker else (DOCKER, CRI)


def _lanes() -> dict[Lane, dict[str, Trace]]:
    """Return the traces of all lanes; of another folder, all its traces."""
    is_own = DATA.resolve() == OWN_DATA
    lanes: dict[Lane, dict[str, Trace]] = {}
    for trace in all_traces().values():
        is_ported = not trace.is_of_another_version
        is_chosen = (
            ALL
            or not is_own
            or trace.name in _TRACES_THAT_DIFFER.get(trace.version, ())
        )
        if trace.is_edited or trace.is_of_docker or not (is_ported or is_chosen):
            continue
        for runtime in _runtimes(trace):
            lanes.setdefault(Lane(trace.version, runtime), {})[trace.name] = trace
    return lanes


LANES = _lanes()


def _marks(lane: Lane) -> list[pytest.MarkDecorator]:
    turn = 0 if lane.is_ported else 1
    return [pytest.mark.live(turn=turn), *_MARKS[lane.runtime]]


_MARKS = {
    DOCKER: [pytest.mark.docker],
    CRI: [pytest.mark.cri],
    PROCESS: []
    if shutil.which("busybox")
    else [pytest.mark.skip(reason="the programs of the pods are those of busybox")],
}


Sessions = Mapping[Lane, Future[Session]]


@pytest.fixture(scope="session")
def sessions(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Sessions]:
    """Run the pods of each lane with a selected test.

    The lanes of 1.32 have ended before the first test; the others still run.
    """
    folder = tmp_path_factory.mktemp("traces")
    params = [getattr(item, "callspec", None) for item in request.session.items]
    selected = {
        parameter.params.get("lane") for parameter in params if parameter is not None
    }
    run = {DOCKER: _on_docker, CRI: _on_cri, PROCESS: _as_processes}
    chosen = [lane for lane in LANES if lane in selected]
    running: dict[Lane, Future[Session]] = {}
    with ThreadPoolExecutor(max(len(chosen), 1)) as threads:
        for is_ported in (True, False):
            wait(running.values())
            for lane in chosen:
                if lane.is_ported is is_ported:
                    home = folder / "-".join(lane)
                    follow = run[lane.runtime]
                    running[lane] = threads.submit(follow, home, LANES[lane])
        yield running


def _on_docker(home: Path, traces: Traces) -> Session:
    return run_pods(a_program(home), DOCKER, _manifests(traces), traces)


def _on_cri(home: Path, traces: Traces) -> Session:
    program = a_program(home, cri_variables())
    return run_pods(program, CRI, _manifests(traces), traces)


def _as_processes(home: Path, traces: Traces) -> Session:
    programs = home.with_name("busybox")
    link_busybox(programs)
    manifests = {name: for_processes(trace.manifest) for name, trace in traces.items()}
    path = f"{programs}{os.pathsep}{os.environ['PATH']}"
    program = a_program(home, {"PATH": path})
    return run_pods(program, PROCESS, manifests, traces)


def _manifests(traces: Traces) -> Mapping[str, Json]:
    return {name: trace.manifest for name, trace in traces.items()}


@pytest.mark.parametrize(
    ("name", "lane"),
    [
        pytest.param(name, lane, marks=_marks(lane), id=f"{name}-{'-'.join(lane)}")
        for lane, traces in LANES.items()
        for name in traces
    ],
)
def test_a_pod_behaves_as_on_the_recorded_kubelet(
    name: str, lane: Lane, sessions: Sessions
) -> None:
    trace = LANES[lane][name]
    rewrite = rewrite_to_trace_paths(trace.manifest)
    session = sessions[lane].result()
    ours = session.observation_of(live_name(name), rewrite, trace.pod_name)

    lateness = session.lateness
    found = compare(trace, ours, SLACK + lateness)

    print(*found, sep="\n")  # noqa: T201  # shows the differences by chance, too
    unexpected = [str(difference) for difference in found if not difference.is_chance]
    excuse = session.excuse() if unexpected else ""
    if excuse:
        pytest.xfail(f"{excuse}: {unexpected}")
    assert unexpected == [], f"and the machine was {lateness:.1f} s late"


@pytest.mark.parametrize(
    "lane",
    [pytest.param(lane, marks=_marks(lane), id="-".join(lane)) for lane in LANES],
)
def test_a_session_with_all_pods_has_no_errors(lane: Lane, sessions: Sessions) -> None:
    session = sessions[lane].result()

    faults = [record["text"] for record in session.records if record.get("fault")]
    assert faults == []
    assert session.records[-1]["type"] == "end"
    assert session.status == INTERRUPTED
