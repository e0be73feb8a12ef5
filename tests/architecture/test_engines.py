"""Tests without their engine are skipped, unless the engine is required."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
A_TEST_WITH_DOCKER = "tests/runtimes/docker/test_loss.py"
A_TEST_WITH_TMUX = "tests/e2e/test_why.py"

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    ("required", "outcome"),
    [
        pytest.param("cri", "2 skipped", id="not required"),
        pytest.param("cri,docker", "2 errors", id="required"),
    ],
)
def test_a_missing_engine_fails_tests_only_where_it_is_required(
    required: str, outcome: str
) -> None:
    environment = {
        **os.environ,
        "DOCKER_HOST": "unix:///nowhere/docker.sock",
        "PROBETUI_REQUIRE_ENGINES": required,
    }
    command = [sys.executable, "-m", "pytest", "-q", "-rs", A_TEST_WITH_DOCKER]

    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )

    assert outcome in done.stdout.splitlines()[-1]
    assert "unix:///nowhere/docker.sock (DOCKER_HOST): no such socket" in done.stdout


@pytest.mark.parametrize(
    ("variables", "outcome"),
    [
        pytest.param({}, "1 skipped", id="not required"),
        pytest.param({"PROBETUI_REQUIRE_ENGINES": "tmux"}, "1 error", id="required"),
        pytest.param({"PROBETUI_REQUIRE_ENGINES": "cri"}, "1 error", id="with another"),
        pytest.param({"CI": "true"}, "1 error", id="in CI"),
    ],
)
def test_a_missing_terminal_fails_tests_wherever_something_is_required(
    variables: dict[str, str], outcome: str, tmp_path: Path
) -> None:
    kept = {
        name: value
        for name, value in os.environ.items()
        if name not in {"CI", "PROBETUI_REQUIRE_ENGINES"}
    }
    environment = {**kept, "PATH": str(tmp_path), **variables}
    command = [sys.executable, "-m", "pytest", "-q", A_TEST_WITH_TMUX]

    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )

    assert outcome in done.stdout.splitlines()[-1]
