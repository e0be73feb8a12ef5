"""What a session repeats of the findings of `check` before it starts."""

from __future__ import annotations

from pathlib import Path

import pytest

from probetui.analysis.findings import FINDING_RULES
from probetui.cli.main import run
from probetui.cli.manifest_findings import TOLD_AT_START

POD = """\
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers:
    - name: app
      image: busybox
      livenessProbe:
        httpGet: {host: localhost, port: 80}
"""


@pytest.fixture
def path(tmp_path: Path) -> str:
    """Return the file of a pod whose probe goes to the node."""
    path = tmp_path / "pod.yaml"
    path.write_text(POD)
    return str(path)


def warnings_of(
    capsys: pytest.CaptureFixture[str], path: str, *options: str
) -> list[str]:
    status = run(
        ["run", "--runtime", "sim", "--plain", "--until", "started", *options, path]
    )
    assert status == 0
    lines = capsys.readouterr().err.splitlines()
    return [line for line in lines if line.startswith("probetui: warning: ")]


def test_a_session_says_once_that_a_probe_goes_to_the_node(
    capsys: pytest.CaptureFixture[str], path: str
) -> None:
    (warning,) = warnings_of(capsys, path)

    assert warning == (
        f"probetui: warning: {path}:9:19: "
        'spec.containers[0].livenessProbe.httpGet.host: is "localhost", as seen from '
        "the node, not from the container; without it the probe goes to the pod "
        "[host-set]"
    )


def test_findings_that_nobody_wants_are_not_repeated(
    capsys: pytest.CaptureFixture[str], path: str
) -> None:
    assert warnings_of(capsys, path, "--no-findings") == []


def test_what_is_repeated_is_among_the_findings() -> None:
    assert FINDING_RULES.keys() >= TOLD_AT_START
