"""The program on a real containerd."""

from __future__ import annotations

import re
import signal
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from tests.e2e.program import SAMPLES, Program, wait_for
from tests.engines import cri_variables
from tests.runtimes.cri.bench import alone

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.cri]

POD = """\
apiVersion: v1
kind: Pod
metadata: {{name: {name}, namespace: {namespace}}}
spec:
  terminationGracePeriodSeconds: 1
  volumes: [{{name: data, emptyDir: {{}}}}]
  containers:
    - name: app
      image: busybox:1.36
      imagePullPolicy: Never
      command: [sleep, "60"]
      volumeMounts: [{{name: data, mountPath: /data}}]
      {more}
"""
MISSING_COMMAND = (
    "livenessProbe: {exec: {command: [no-such-command]}, periodSeconds: 1, "
    "failureThreshold: 1}"
)


NAMES = ("e2e-missing", "e2e-crashed", "e2e-kept", "e2e-auto", "exec-timeout")


def a_manifest(name: str, namespace: str, more: str = "") -> str:
    return POD.format(name=name, namespace=namespace, more=more)


@pytest.fixture
def program(tmp_path: Path, namespace: str) -> Iterator[Program]:
    """Return the program; pods of this test are removed at the end."""
    program = Program(tmp_path, cri_variables())
    left = "---\n".join(a_manifest(name, namespace) for name in NAMES)
    with alone():
        yield program
        program.run("down", "-f", "-", "--runtime", "cri", stdin=left)


def pods(program: Program, namespace: str) -> list[str]:
    """Return the names of the existing pods of probetui."""
    listed = program.run("ls", "--runtime", "cri", "-n", namespace, "-o", "name")
    return [pod.removeprefix("pod/") for pod in listed.stdout.split()]


def files(program: Program) -> list[Path]:
    """Return the files of pods on this machine."""
    found = (program.home / "state" / "probetui" / "cri").rglob("*")
    return [path for path in found if path.is_file()]


def test_a_sample_is_killed_and_leaves_nothing_behind(
    program: Program, namespace: str
) -> None:
    done = program.run(
        "run", "-f", str(SAMPLES / "exec-timeout.yaml"), "--runtime", "cri",
        "-n", namespace, "--plain", "--until", "killed", "--timeout", "90s",
        seconds=120,
    )  # fmt: skip

    assert done.returncode == 0, done.stderr
    assert re.search(r"liveness #\d+ failure \S+ run 3/3 kill grace=3s", done.stdout)
    assert pods(program, namespace) == []
    assert files(program) == []
    assert list(Path("/var/log/pods").glob(f"{namespace}_exec-timeout_*")) == []


def test_a_probe_command_that_does_not_exist_is_an_error_and_never_a_kill(
    program: Program, namespace: str
) -> None:
    path = program.home / "pod.yaml"
    path.write_text(a_manifest("e2e-missing", namespace, MISSING_COMMAND))

    said: list[str] = []

    def kept(lines: Iterable[str]) -> Iterator[str]:
        for line in lines:
            said.append(line)
            yield line

    with program.started("-f", str(path), "--runtime", "cri") as process:
        assert process.stdout is not None
        lines = kept(process.stdout)
        ticks = [wait_for(" errored x3 ", lines), wait_for(" errored x3 ", lines)]
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)

    assert all(re.search(r"liveness #\d+ errored x3 \S+ discarded", t) for t in ticks)
    assert not any(" kill " in line for line in said)


def test_pods_of_a_crashed_session_are_adopted_by_the_next_run_and_end_with_it(
    program: Program, namespace: str
) -> None:
    path = program.home / "pod.yaml"
    path.write_text(a_manifest("e2e-crashed", namespace))
    with program.started("-f", str(path), "--runtime", "cri") as process:
        assert process.stdout is not None
        wait_for("started restart=0", process.stdout)
        process.send_signal(signal.SIGKILL)
        process.communicate(timeout=30)
    left = pods(program, namespace)

    done = program.run("-f", str(path), "--runtime", "cri", "--until", "started")

    assert left == ["e2e-crashed"]
    assert done.returncode == 0, done.stderr
    assert "restart=1" not in done.stdout
    assert pods(program, namespace) == []
    assert files(program) == []


def test_kept_pods_are_listed_and_removed(program: Program, namespace: str) -> None:
    path = program.home / "pod.yaml"
    path.write_text(a_manifest("e2e-kept", namespace))

    program.run("-f", str(path), "--runtime", "cri", "--keep", "--until", "started")
    listed = program.run("ls", "--runtime", "cri", "--no-headers")
    down = program.run("down", "-f", str(path), "--runtime", "cri")

    assert re.search(
        rf"{namespace} +e2e-kept +containerd +running +1/1 +0 +- +\d+s +- +you",
        listed.stdout,
    )
    assert down.stdout == f"removed {namespace}/e2e-kept (containerd)\n"
    assert pods(program, namespace) == []
    assert files(program) == []


def test_auto_is_the_cri_without_docker(program: Program, namespace: str) -> None:
    no_docker = Program(
        program.home, {**program.variables, "DOCKER_HOST": "unix:///nowhere/docker"}
    )
    manifest = a_manifest("e2e-auto", namespace)

    done = no_docker.run("-f", "-", "--until", "started", stdin=manifest)

    assert done.returncode == 0, done.stderr
    assert "e2e-auto/app started restart=0" in done.stdout
    assert pods(program, namespace) == []
