"""Whole sessions on processes that probetui did not start."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from probetui.cli.main import run

pytestmark = pytest.mark.slow

POD = """\
apiVersion: v1
kind: Pod
metadata: {name: shop}
spec:
  terminationGracePeriodSeconds: 1
  containers:
    - name: web
      image: none
      command: [sleep, "60"]
      livenessProbe:
        exec: {command: [test, -e, well]}
        periodSeconds: 1
        failureThreshold: 2
"""


CREATION = """\
      envFrom:
        - configMapRef: {name: settings}
      volumeMounts:
        - {name: token, mountPath: /token}
        - {name: keys, mountPath: /keys}
  volumes:
    - name: token
      projected: {sources: [serviceAccountToken: {path: token}]}
    - {name: keys, secret: {secretName: keys}}
  priorityClassName: urgent
"""
"""What a container needs before it is created, and a cluster before it takes a pod."""


@pytest.fixture
def path(tmp_path: Path) -> str:
    path = tmp_path / "pod.yaml"
    path.write_text(POD)
    return str(path)


def attach(path: str, *args: str) -> int:
    return run(
        ["attach", "-f", path, "--runtime", "process", "--timeout", "30s", *args]
    )


def test_a_process_is_watched_and_not_changed(
    capfd: pytest.CaptureFixture[str], path: str, process: subprocess.Popen[bytes]
) -> None:
    status = attach(path, f"web={process.pid}", "--until", "killed=2")

    captured = capfd.readouterr()
    assert status == 0
    assert captured.err == f"probetui: note: shop/web is sleep ({process.pid})\n"
    assert captured.out.count("run 2/2 would-kill grace=1s") == 2
    assert "started" not in captured.out.replace("shop/web started", "")
    assert process.poll() is None


def test_a_container_that_exists_has_what_it_needed(
    capfd: pytest.CaptureFixture[str], path: str, process: subprocess.Popen[bytes]
) -> None:
    Path(path).write_text(POD + CREATION)

    status = attach(path, f"web={process.pid}", "--until", "killed")

    captured = capfd.readouterr()
    assert status == 0
    assert captured.err == f"probetui: note: shop/web is sleep ({process.pid})\n"


def test_suppressed_actions_are_in_the_record(
    path: str, process: subprocess.Popen[bytes], tmp_path: Path
) -> None:
    record = tmp_path / "record.jsonl"

    attach(
        path, f"web={process.pid}", "-q", "--until", "killed", "--record", str(record)
    )

    records = [json.loads(line) for line in record.read_text().splitlines()]
    (stop,) = [record for record in records if record["type"] == "container"]
    assert (stop["what"], stop["by"], stop["grace"]) == ("would-stop", "liveness", 1)
    assert stop["containerID"] == f"process://{process.pid}"


def test_with_act_the_process_is_stopped_and_waited_for(
    capfd: pytest.CaptureFixture[str], path: str, process: subprocess.Popen[bytes]
) -> None:
    status = attach(
        path, f"web={process.pid}", "--act", "--until", "killed", "--record", "-"
    )

    captured = capfd.readouterr()
    assert status == 0
    assert f"probes may stop sleep ({process.pid})" in captured.err
    assert '"what":"stopping"' in captured.out


def test_a_missing_process_is_waited_for(
    capfd: pytest.CaptureFixture[str], path: str
) -> None:
    status = attach(path, "web=4194304", "--timeout", "1s")

    captured = capfd.readouterr()
    assert status == 4
    assert "warning: shop/web: not found; waiting for it" in captured.err
    assert "would-start" not in captured.out


def test_a_missing_process_is_an_error_at_once_with_no_wait(
    capfd: pytest.CaptureFixture[str], path: str
) -> None:
    status = attach(path, "web=4194304", "--no-wait")

    captured = capfd.readouterr()
    assert (status, captured.out) == (3, "")
    assert captured.err == ("probetui: error: not running: shop/web (--no-wait)\n")


def test_an_argument_for_an_unknown_container_is_refused(
    capfd: pytest.CaptureFixture[str], path: str
) -> None:
    status = attach(path, "wep=1")

    assert status == 2
    assert 'no container is called "wep" (has: web)' in capfd.readouterr().err


def test_help_is_printed_without_a_file(capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["attach"]) == run(["run"]) == 2


def test_managed_pods_can_be_only_watched_too(
    capfd: pytest.CaptureFixture[str], path: str
) -> None:
    status = run(
        ["run", "-f", path, "--runtime", "process", "--no-act", "--until", "killed",
         "--timeout", "30s"]
    )  # fmt: skip

    captured = capfd.readouterr()
    assert status == 0
    assert "shop/web started restart=0" in captured.out
    assert "would-kill" in captured.out
    assert captured.out.endswith("shop gone\n")
