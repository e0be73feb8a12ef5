"""`probetui test` on real containers and processes."""

from __future__ import annotations

import json
import signal
import socket
import sys
from collections.abc import Iterator
from pathlib import Path

import docker
import pytest

from probetui.kubelet.kuberuntime.labels import POD_NAMESPACE
from tests.e2e.program import SAMPLES, Program, wait_until
from tests.engines import cri_variables

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

SHOP = str(SAMPLES / "cases" / "shop.yaml")
SERVER = """\
apiVersion: v1
kind: Pod
metadata: {{name: web, uid: one-and-the-same}}
spec:
  terminationGracePeriodSeconds: 1
  containers:
    - name: app
      image: none
      command: ["{python}", -m, http.server, "{port}", --bind, 127.0.0.1]
      readinessProbe: {{httpGet: {{port: {port}, host: 127.0.0.1}}, periodSeconds: 1}}
      livenessProbe:
        httpGet: {{port: {port}, host: 127.0.0.1}}
        periodSeconds: 1
        failureThreshold: 2
---
cases:
  - name: is ready
    expect: [ready within 30s, restarts == 0]
  - name: is killed when it hangs
    expect:
      - ready within 30s
      - after freeze app: killed within 10s, ready again within 15s
  - name: never dies
    expect:
      - ready within 30s
      - after kill app: restarts == 0 for 20s
"""


def results(output: str) -> dict[str, str]:
    return {case["name"]: case["result"] for case in json.loads(output)["cases"]}


@pytest.fixture
def containerd(tmp_path: Path) -> Program:
    return Program(tmp_path, cri_variables())


def passed(program: Program, runtime: str) -> None:
    """Check that the cases of the sample pass, except those for virtual time."""
    done = program.run("test", SHOP, "--runtime", runtime, "-o", "json", seconds=180)

    assert done.returncode == 0, done.stdout + done.stderr
    assert list(results(done.stdout).values()) == [*["passed"] * 4, *["skipped"] * 3]


def test_the_cases_of_the_sample_pass_on_processes(program: Program) -> None:
    passed(program, "process")
    assert program.left_behind() == []


@pytest.mark.docker
def test_the_cases_of_the_sample_pass_on_docker(program: Program) -> None:
    passed(program, "docker")
    assert list(docker_namespaces(program)) == []


@pytest.mark.cri
def test_the_cases_of_the_sample_pass_on_containerd(containerd: Program) -> None:
    passed(containerd, "cri")
    left = containerd.run("ls", "--runtime", "cri", "-o", "json").stdout
    assert not [pod for pod in json.loads(left) if "-test-" in pod["namespace"]]


def docker_namespaces(program: Program) -> Iterator[str]:
    """Yield the namespaces of pods that the program knows as its own, on Docker."""
    own = program.run("ls", "--runtime", "docker", "-o", "json").stdout
    mine = {pod["namespace"] for pod in json.loads(own) if pod["owner"] == "you"}
    client = docker.from_env()
    try:
        for container in client.containers.list(all=True):
            namespace = container.labels.get(POD_NAMESPACE, "")
            if namespace in mine:
                yield namespace
    finally:
        client.close()


def test_cases_that_need_the_same_port_run_sequentially(
    program: Program, tmp_path: Path
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    manifest = tmp_path / "web.yaml"
    manifest.write_text(SERVER.format(python=sys.executable, port=port))

    done = program.run(
        "test", str(manifest), "--runtime", "process", "-o", "json", seconds=120
    )

    assert done.returncode == 1, done.stderr
    assert results(done.stdout) == {
        "is ready": "passed",
        "is killed when it hangs": "passed",
        "never dies": "failed",
    }
    failure = json.loads(done.stdout)["cases"][2]["failure"]
    assert failure["came"] == "restarts: 1 since kill app"
    assert any("exit 137" in line for line in failure["lines"])
    assert program.left_behind() == []


def test_an_interrupt_ends_the_cases_and_leaves_nothing(program: Program) -> None:
    with program.started("test", SHOP, "--runtime", "process", "-j", "2") as process:
        wait_until(lambda: len(program.left_behind()) == 2, "two cases to begin")
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=60)

    assert process.returncode == 130
    assert "FAIL" not in out
    assert "SKIP  starts and stays up [process]: interrupted" in out
    assert program.left_behind() == []


def test_unsupported_fields_are_refused_before_anything_starts(
    program: Program, tmp_path: Path
) -> None:
    cases = tmp_path / "cases.yaml"
    cases.write_text(
        "cases:\n"
        "  - name: is cut off\n"
        "    expect:\n"
        "      - ready within 30s\n"
        "      - after cut-network app: not ready within 40s\n"
    )

    done = program.run(
        "test", SHOP, str(cases), "--case", "is cut off", "--runtime", "process"
    )

    assert done.returncode == 2
    assert f"{cases}:5:9: cut-network app: processes share the network" in done.stderr
    assert program.left_behind() == []


def test_an_unreachable_runtime_gives_status_3(tmp_path: Path) -> None:
    program = Program(tmp_path, {"DOCKER_HOST": f"unix://{tmp_path}/no.sock"})

    assert program.run("test", SHOP, "--runtime", "docker").returncode == 3
