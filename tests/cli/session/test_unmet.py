"""What `--until` waited for in vain is told, container by container."""

from __future__ import annotations

from pathlib import Path

import pytest

from probetui.cli.main import run

POD = """\
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers:
    - name: app
      image: example/app
      startupProbe: {exec: {command: [started]}, periodSeconds: 1, failureThreshold: 99}
      readinessProbe: {exec: {command: [ready]}, periodSeconds: 1}
    - {name: log, image: example/log}
"""
TIME_IS_OVER = 4


def unmet(
    folder: Path, capsys: pytest.CaptureFixture[str], script: str, *options: str
) -> tuple[int, list[str]]:
    """Simulate 5 s; return the exit status and the notes about the pod."""
    pod, behaviour = folder / "pod.yaml", folder / "script.yaml"
    pod.write_text(POD, encoding="utf-8")
    behaviour.write_text(script, encoding="utf-8")
    status = run(
        ["sim", "-f", str(pod), "--script", str(behaviour), "--plain", *options]
    )
    lines = capsys.readouterr().err.splitlines()
    about = "probetui: note: web/"
    return status, [line.removeprefix(about) for line in lines if about in line]


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        pytest.param(
            "containers: {app: {startup: [{result: failure, output: db is down}]}}",
            "app is not up: its startup probe failed 4 of 99 times in a row since "
            "+1.0s, because the probe failed after 5ms: db is down",
            id="startup",
        ),
        pytest.param(
            "containers: {app: {readiness: [{result: failure, output: db is down}]}}",
            "app is not ready: its readiness probe failed 4 times in a row",
            id="readiness",
        ),
    ],
)
def test_a_container_that_is_not_ready_in_time_says_why(
    script: str,
    reason: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    status, told = unmet(
        tmp_path, capsys, script, "--until", "ready", "--timeout", "5s"
    )

    assert status == TIME_IS_OVER
    (note,) = told
    assert note.startswith(reason)


@pytest.mark.parametrize(
    "until", ["ready", "killed"], ids=["a state that came", "an occurrence"]
)
def test_nothing_is_told_of_a_success_and_of_an_occurrence(
    until: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, told = unmet(tmp_path, capsys, "{}", "--until", until, "--timeout", "5s")

    assert told == []


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        pytest.param(
            "containers: {app: [{lasts: 1s, exitCode: 3}]}",
            "app is in back-off of 10s, counted from its exit at +2.0s, because it "
            "exited by itself with 3 at +2.0s, 1.0s after its start",
            id="exited",
        ),
    ],
)
def test_a_container_that_does_not_run_says_what_keeps_it(
    script: str, reason: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status, told = unmet(
        tmp_path, capsys, script, "--until", "web/app:ready", "--timeout", "8s"
    )

    assert status == TIME_IS_OVER
    (note,) = told
    assert note.startswith(reason)
