"""Kubernetes' own tests for probes and restarts, run by the installed program.

`PROBETUI_CONFORMANCE_DIR` names another folder of cases, `PROBETUI_CONFORMANCE_RUNTIME`
the runtimes, apart by commas, `PROBETUI_CONFORMANCE_JOBS` how many cases run at a time
on each, `PROBETUI_CONFORMANCE_SLACK` what stretches upper bounds for a slow machine.
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

pytestmark = [pytest.mark.conformance, pytest.mark.live(turn=1), pytest.mark.slow]

RUNTIMES = os.environ.get("PROBETUI_CONFORMANCE_RUNTIME") or f"docker,cri,{PROCESS}"
AT_A_TIME = os.environ.get("PROBETUI_CONFORMANCE_JOBS") or JOBS
SLACK = os.environ.get("PROBETUI_CONFORMANCE_SLACK") or "1"


def _params() -> list[Any]:
    """Return all cases on all runtimes; an engine's mark says which one is needed."""
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
    """All cases that were asked for, under way since the first test."""
    wanted: dict[str, list[Case]] = {}
    for item in request.session.items:
        if isinstance(item, pytest.Function) and item.obj is test_conformance:
            params: dict[str, Any] = dict(item.callspec.params)
            wanted.setdefault(params["runtime"], []).append(params["case"])
    there = {
        runtime: cases
        for runtime, cases in wanted.items()
        if runtime not in ENGINES or ENGINES[runtime]() is None
    }
    options = Options(installed_program(), int(AT_A_TIME), float(SLACK))
    out = tmp_path_factory.mktemp("conformance")
    with BackgroundRun(there, options, out) as background:
        request.config.stash[RUN] = background
        yield background


@pytest.mark.parametrize(("runtime", "case"), _params())
def test_conformance(runtime: str, case: Case, run: BackgroundRun) -> None:
    outcome = run.outcome(runtime, case["id"])

    _leave_out_what_cannot_pass(outcome)
    assert outcome.word == "passed", str(outcome)


def _leave_out_what_cannot_pass(outcome: Outcome) -> None:
    if outcome.left_out:
        pytest.skip(outcome.left_out)
    if outcome.word == "failed" and outcome.is_as_on_a_kubelet:
        pytest.xfail(f"fails on a kubelet too: {outcome.case['kubelet_reason']}")
