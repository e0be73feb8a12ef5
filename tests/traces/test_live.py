"""The pods of the traces on real containers and real processes, side by side.

All pods run at once for as long as the kubelet was watched, four and a half minutes, on
all runtimes at the same time.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.engines import cri_variables
from tests.traces.compare import compare
from tests.traces.live import Session, a_program, live_name, run_all
from tests.traces.processes import (
    NEEDS_IMAGES,
    for_processes,
    in_the_traces_words,
    link_busybox,
)
from tests.traces.trace import Json, load_traces

pytestmark = [pytest.mark.live, pytest.mark.slow]

DOCKER, CRI, PROCESS = "docker", "cri", "process"
TRACES = load_traces()
RUN = {name: trace for name, trace in TRACES.items() if not trace.is_of_another_version}
INTERRUPTED = 130
SLACK = float(os.environ.get("PROBETUI_TRACES_SLACK", "1"))
"""Seconds that a busy machine may add: a relist, and what is below a second."""

on_docker = pytest.mark.docker
on_cri = pytest.mark.cri
as_process = (
    []
    if shutil.which("busybox")
    else [pytest.mark.skip(reason="the programs of the pods are those of busybox")]
)


def _marks(name: str, runtime: str) -> list[pytest.MarkDecorator]:
    trace = TRACES[name]
    if trace.is_of_another_version:
        return [pytest.mark.skip(reason=f"kubelet {trace.version} has other rules")]
    match runtime:
        case "docker":
            return [on_docker]
        case "cri":
            return [on_cri]
        case _ if trace.lacks_image:
            return [pytest.mark.skip(reason=f"{name} {NEEDS_IMAGES}")]
        case _:
            return as_process


@pytest.fixture(scope="session")
def sessions(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Mapping[str, Session]:
    """Run all pods on every runtime that a test was selected for."""
    folder = tmp_path_factory.mktemp("traces")
    params = [getattr(item, "callspec", None) for item in request.session.items]
    wanted = {
        parameter.params.get("runtime") for parameter in params if parameter is not None
    }
    run = {DOCKER: _on_docker, CRI: _on_cri, PROCESS: _as_processes}
    with ThreadPoolExecutor() as threads:
        running = {
            name: threads.submit(run[name], folder / name)
            for name in run.keys() & wanted
        }
        return {name: future.result() for name, future in running.items()}


def _on_docker(home: Path) -> Session:
    return run_all(a_program(home), DOCKER, _manifests(), RUN)


def _on_cri(home: Path) -> Session:
    program = a_program(home, cri_variables())
    return run_all(program, CRI, _manifests(), RUN)


def _as_processes(home: Path) -> Session:
    programs = home.with_name("busybox")
    link_busybox(programs)
    manifests = {
        name: for_processes(trace.manifest)
        for name, trace in RUN.items()
        if not trace.lacks_image
    }
    path = f"{programs}{os.pathsep}{os.environ['PATH']}"
    program = a_program(home, {"PATH": path})
    return run_all(program, PROCESS, manifests, RUN)


def _manifests() -> Mapping[str, Json]:
    return {name: trace.manifest for name, trace in RUN.items()}


@pytest.mark.parametrize(
    ("name", "runtime"),
    [
        pytest.param(name, runtime, marks=_marks(name, runtime))
        for runtime in (DOCKER, CRI, PROCESS)
        for name in TRACES
    ],
)
def test_a_pod_does_what_it_did_on_the_kubelet(
    name: str, runtime: str, sessions: Mapping[str, Session]
) -> None:
    trace = TRACES[name]
    retell = in_the_traces_words(trace.manifest)
    ours = sessions[runtime].seen(live_name(name), retell, trace.pod_name)

    late = sessions[runtime].late
    found = compare(trace, ours, SLACK + late)

    print(*found, sep="\n")  # noqa: T201  # what was different by chance is worth seeing
    unlike = [str(difference) for difference in found if not difference.is_chance]
    excuse = sessions[runtime].excuse() if unlike else ""
    if excuse:
        pytest.xfail(f"{excuse}: {unlike}")
    assert unlike == [], f"and the machine was {late:.1f} s late"


@pytest.mark.skipif(not RUN, reason="all traces are of another version")
@pytest.mark.parametrize(
    "runtime",
    [
        pytest.param(DOCKER, marks=on_docker),
        pytest.param(CRI, marks=on_cri),
        pytest.param(PROCESS, marks=as_process),
    ],
)
def test_nothing_goes_wrong_with_all_pods_at_once(
    runtime: str, sessions: Mapping[str, Session]
) -> None:
    session = sessions[runtime]

    faults = [record["text"] for record in session.records if record.get("fault")]
    assert faults == []
    assert session.records[-1]["type"] == "end"
    assert session.status == INTERRUPTED
