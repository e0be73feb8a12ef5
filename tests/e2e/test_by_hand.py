"""The suggested command that repeats a probe, run in a shell."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.e2e.program import PROGRAM, Program, wait_for

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

BESIDE = """
apiVersion: v1
kind: Pod
metadata: {name: beside}
spec:
  containers:
    - name: app
      image: any
      command: [sh, -c, "echo here > mark; sleep 300"]
      env: [{name: GREETING, value: it's me}]
      livenessProbe:
        exec: {command: [sh, -c, "cat mark\\necho $GREETING\\nexit 3"]}
        periodSeconds: 1
        failureThreshold: 60
"""


def test_the_suggested_command_does_in_a_process_what_the_probe_does(
    program: Program, tmp_path: Path
) -> None:
    manifest = tmp_path / "beside.yaml"
    manifest.write_text(BESIDE)
    with program.started(
        "run", "-f", str(manifest), "--runtime", "process", "--plain"
    ) as running:
        assert running.stdout is not None
        wait_for("liveness #2 failure", running.stdout)

        explanation = program.run("why").stdout
        line = explanation.splitlines()[-1].strip()
        by_hand = subprocess.run(
            ["bash", "-c", line],
            env={**program.environment, "PATH": f"{PROGRAM.parent}:/usr/bin:/bin"},
            cwd="/",
            capture_output=True,
            text=True,
            check=False,
        )
        running.terminate()
        running.wait()

    assert "The probe gave exit 3" in explanation
    assert line.startswith("probetui exec ")
    assert by_hand.stdout == "here\nit's me\n"
    assert by_hand.returncode == 3


def test_a_missing_command_is_reported(program: Program) -> None:
    pid = str(os.getpid())

    missing = program.run("exec", pid, "no-such-program")
    nowhere = program.run("exec", "process://ffff", "true")

    assert missing.returncode == 127
    assert "no-such-program: No such file or directory" in missing.stderr
    assert nowhere.returncode == 2
    assert "there is no process or container ffff" in nowhere.stderr
