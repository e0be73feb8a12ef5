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
from tests.traces.live import Session, a_program, run_all
from tests.traces.processes import (
    LEFT_OUT,
    for_processes,
    in_the_traces_words,
    link_busybox,
)
from tests.traces.trace import Json, load_traces

pytestmark = [pytest.mark.live, pytest.mark.slow]

DOCKER, CRI, PROCESS = "docker", "cri", "process"
TRACES = load_traces()
END = max(each.seen.end for each in TRACES.values())
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
left_out = {
    name: [pytest.mark.skip(reason=f"{name} {reason}")]
    for name, reason in LEFT_OUT.items()
}


@pytest.fixture(scope="session")
def sessions(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Mapping[str, Session]:
    """Run all pods on every runtime that a test was selected for."""
    folder = tmp_path_factory.mktemp("traces")
    params = [getattr(each, "callspec", None) for each in request.session.items]
    wanted = {each.params.get("runtime") for each in params if each is not None}
    run = {DOCKER: _on_docker, CRI: _on_cri, PROCESS: _as_processes}
    with ThreadPoolExecutor() as threads:
        running = {
            name: threads.submit(run[name], folder / name)
            for name in run.keys() & wanted
        }
        return {name: each.result() for name, each in running.items()}


def _on_docker(home: Path) -> Session:
    return run_all(a_program(home), DOCKER, _manifests(), _removals(), END)


def _on_cri(home: Path) -> Session:
    program = a_program(home, cri_variables())
    return run_all(program, CRI, _manifests(), _removals(), END)


def _as_processes(home: Path) -> Session:
    programs = home.with_name("busybox")
    link_busybox(programs)
    manifests = {
        name: for_processes(name, each.manifest)
        for name, each in TRACES.items()
        if name not in LEFT_OUT
    }
    path = f"{programs}{os.pathsep}{os.environ['PATH']}"
    program = a_program(home, {"PATH": path})
    return run_all(program, PROCESS, manifests, _removals(), END)


def _manifests() -> Mapping[str, Json]:
    return {name: each.manifest for name, each in TRACES.items()}


def _removals() -> dict[str, float]:
    return {
        name: each.deleted_at
        for name, each in TRACES.items()
        if each.deleted_at is not None
    }


@pytest.mark.parametrize(
    ("name", "runtime"),
    [
        *(pytest.param(name, DOCKER, marks=on_docker) for name in TRACES),
        *(pytest.param(name, CRI, marks=on_cri) for name in TRACES),
        *(
            pytest.param(name, PROCESS, marks=left_out.get(name, as_process))
            for name in TRACES
        ),
    ],
)
def test_a_pod_does_what_it_did_on_the_kubelet(
    name: str, runtime: str, sessions: Mapping[str, Session]
) -> None:
    ours = sessions[runtime].seen(name, in_the_traces_words)

    found = compare(TRACES[name], ours, SLACK)

    print(*found, sep="\n")  # noqa: T201  # what was different by chance is worth seeing
    unlike = [str(each) for each in found if not each.is_chance]
    excuse = sessions[runtime].excuse() if unlike else ""
    if excuse:
        pytest.xfail(f"{excuse}: {unlike}")
    assert unlike == []


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

    faults = [each["text"] for each in session.records if each.get("fault")]
    assert faults == []
    assert session.records[-1]["type"] == "end"
    assert session.status == INTERRUPTED
