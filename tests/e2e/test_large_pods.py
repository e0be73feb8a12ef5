"""A signal ends the replay of a pod with thousands of containers soon."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from tests.e2e.on_terminal import on_terminal
from tests.e2e.program import Program, wait_until

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

CONTAINERS = 5_000
LIMIT_SECONDS = 20
"""The program ends itself 4 s after a signal; the machine may be busy."""


@pytest.fixture
def record(program: Program, tmp_path: Path) -> str:
    """Return the record of a pod each of whose turns takes long."""
    probe = "livenessProbe: {tcpSocket: {port: 1}}"
    containers = "\n".join(
        f"  - {{name: c{number}, image: none, {probe}}}" for number in range(CONTAINERS)
    )
    pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: large}\nspec:\n  containers:\n"
    manifest, path = tmp_path / "large.yaml", str(tmp_path / "large.jsonl")
    manifest.write_text(f"{pod}{containers}\n")
    arguments = ("--plain", "--no-findings", "--for", "12s", "--record", path)
    done = program.run("sim", "-f", str(manifest), *arguments, seconds=300)
    assert done.returncode == 0, done.stderr
    return path


@pytest.mark.parametrize("form", ["--plain", "--tui"])
def test_sigterm_ends_a_replay(tmp_path: Path, record: str, form: str) -> None:
    with on_terminal(tmp_path, "replay", record, form) as started:
        wait_until(lambda: started.shows(b"large"), "what it shows")

        os.kill(started.pid, signal.SIGTERM)
        # Output is read all the while, as a terminal does.
        wait_until(
            lambda: started.shows(b"") and started.has_ended, "the end", LIMIT_SECONDS
        )

    assert started.status == 143
