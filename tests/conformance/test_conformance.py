"""Kubernetes' own tests for probes and restarts, run by the installed program.

`PROBETUI_CONFORMANCE_DIR` is another folder of cases, `PROBETUI_CONFORMANCE_RUNTIME` a
comma-separated list of runtimes, `PROBETUI_CONFORMANCE_JOBS` how many cases run at a
time on each, `PROBETUI_CONFORMANCE_SLACK` a factor of upper bounds on a slow machine.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest

from tests.conformance.background import BackgroundRun
from tests.conformance.cases import Case, load_cases
from tests.conformance.conftest import RUN
from tests.conformance.observe import JOBS, Options, Outcome
from tests.conformance.running import PROCESS, installed_program
from tests.conftest import ENGINES

pytestmark = [pytest.mark.conformance, pytest.mark.live(turn=2), pytest.mark.slow]

RUNTIMES = os.environ.get("PROBETUI_CONFORMANCE_RUNTIME") or f"docker,cri,{PROCESS}"
JOBS_AT_A_TIME = os.environ.get("PROBETUI_CONFORMANCE_JOBS") or JOBS
SLACK = os.environ.get("PROBETUI_CONFORMANCE_SLACK") or "1"


def _params() -> list[Any]:
    """Return all cases on all runtimes, marked with the container engine they need."""
    return [
        pytest.param(
            *(runtime, case),
            id=f"{runtime}-{case['id']}",
            marks=[getattr(pytest.mark, runtime)] if runtime != PROCESS else [],
        )
        for runtime in RUNTIMES.split(",")
        for case in load_cases()
    ]


@pytest.fixture(scope="session")
def run(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[BackgroundRun]:
    """A background run of all selected cases, started before the first test."""
    selected: dict[str, list[Case]] = {}
    for item in request.session.items:
        if isinstance(item, pytest.Function) and item.obj is test_conformance:
            params: dict[str, Any] = dict(item.callspec.params)
            selected.setdefault(params["runtime"], []).append(params["case"])
    available = {
        runtime: cases
        for runtime, cases in selected.items()
        if runtime not in ENGINES or ENGINES[runtime]() is None
    }
    options = Options(installed_program(), int(JOBS_AT_A_TIME), float(SLACK))
    out = tmp_path_factory.mktemp("conformance")
    with BackgroundRun(available, options, out) as background:
        request.config.stash[RUN] = background
        yield background


@pytest.mark.parametrize(("runtime", "case"), _params())
def test_conformance(runtime: str, case: Case, run: BackgroundRun) -> None:
    outcome = run.outcome(runtime, case["id"])

    _skip_expected_failure(outcome)
    assert outcome.word == "passed", str(outcome)


def _skip_expected_failure(outcome: Outcome) -> None:
    if outcome.left_out:
        pytest.skip(outcome.left_out)
    if outcome.word == "failed" and outcome.is_as_on_a_kubelet:
        pytest.xfail(f"fails on a kubelet too: {outcome.case['kubelet_reason']}")
