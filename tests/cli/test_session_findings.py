"""Probe diagnostics and findings of a session, and of its replay."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from probetui.cli.main import run

pytestmark = [
    pytest.mark.slow,
    pytest.mark.usefixtures("_nothing_is_left"),
    pytest.mark.skipif(sys.platform != "linux", reason="there is no /proc elsewhere"),
]

PORT = 18279
POD = f"""\
apiVersion: v1
kind: Pod
metadata: {{name: web}}
spec:
  terminationGracePeriodSeconds: 1
  containers:
    - name: app
      image: none
      command: [{sys.executable}, -m, http.server, "{PORT}", --bind, 127.0.0.1]
      livenessProbe:
        httpGet: {{port: {PORT}}}
        periodSeconds: 1
        failureThreshold: 3
      readinessProbe:
        exec: {{command: [no-such-program]}}
        periodSeconds: 1
"""
REFUSED = f"container listens on 127.0.0.1:{PORT} only; the probe connects to 127."
FINDING = (
    "web/app readiness finding warning exec-missing-in-image "
    '"{path}:15:16: spec.containers[0].readinessProbe.exec.command: '
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "pod.yaml"
    path.write_text(POD)
    return path


def session(path: Path, *args: str) -> None:
    """Run until liveness has killed the container."""
    arguments = ["-f", str(path), "--runtime", "process", *args]

    assert run([*arguments, "--until", "killed"]) == 0


def diagnostics_of(printed: str) -> list[str]:
    """Return the lines with diagnostics and findings."""
    return [
        line
        for line in printed.splitlines()
        if " refused " in line or " finding " in line
    ]


def test_a_replay_prints_the_same_as_the_session(
    capfd: pytest.CaptureFixture[str], path: Path, tmp_path: Path
) -> None:
    record = str(tmp_path / "session.jsonl")

    session(path, "--record", record)
    live_output = diagnostics_of(capfd.readouterr().out)
    run(["replay", record, "--plain"])
    replayed = capfd.readouterr()
    run(["why", record])
    why = capfd.readouterr().out

    assert any(REFUSED in line for line in live_output)
    assert sum(FINDING.format(path=path) in line for line in live_output) == 1
    assert diagnostics_of(replayed.out) == live_output
    assert "replay differs" not in replayed.err
    assert REFUSED in " ".join(why.split())
    kinds = {json.loads(line)["type"] for line in Path(record).read_text().splitlines()}
    assert {"listeners", "finding"} <= kinds


def test_no_findings_prints_facts_only(
    capfd: pytest.CaptureFixture[str], path: Path
) -> None:
    session(path, "--no-findings")

    live_output = diagnostics_of(capfd.readouterr().out)
    assert live_output
    assert not any(" finding " in line for line in live_output)
