"""The installed program on unmanaged containers."""

from __future__ import annotations

import subprocess
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import docker
import pytest

from tests.e2e.program import PROGRAM, Program
from tests.e2e.screen import terminal

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

POD = """\
apiVersion: v1
kind: Pod
metadata: {name: shop}
spec:
  terminationGracePeriodSeconds: 1
  containers:
    - name: web
      image: "busybox:1.36"
      livenessProbe:
        exec: {command: [test, -e, /tmp/well]}
        periodSeconds: 1
        failureThreshold: 2
"""


@pytest.fixture
def path(tmp_path: Path) -> str:
    path = tmp_path / "pod.yaml"
    path.write_text(POD)
    return str(path)


@pytest.fixture
def container() -> Iterator[Any]:
    """Return a running container with the labels of Compose."""
    client = docker.from_env()
    project = f"e2e-{uuid.uuid4().hex[:8]}"
    container = client.containers.run(
        "busybox:1.36",
        ["sleep", "300"],
        detach=True,
        name=f"{project}-web-1",
        labels={
            "com.docker.compose.project": project,
            "com.docker.compose.service": "web",
        },
    )
    container.reload()
    yield container
    container.remove(force=True, v=True)
    client.close()


@pytest.mark.docker
def test_a_service_of_compose_is_watched_without_being_changed(
    program: Program, path: str, container: Any
) -> None:
    before = container.attrs["State"]["StartedAt"]

    done = program.run(
        "attach", "-f", path, f"web={container.name}",
        "--until", "killed=2", "--timeout", "60s",
    )  # fmt: skip

    container.reload()
    assert done.returncode == 0, done.stderr
    assert f"shop/web is {container.name}" in done.stderr
    assert "would-kill grace=1s" in done.stdout
    assert container.status == "running"
    assert container.attrs["State"]["StartedAt"] == before


@pytest.mark.docker
def test_with_act_it_stops_and_starts_the_same_container(
    program: Program, path: str, container: Any
) -> None:
    project = container.labels["com.docker.compose.project"]

    done = program.run(
        "attach", "-f", path, f"web={project}/web", "--act",
        "--until", "restarts=1", "--timeout", "60s",
    )  # fmt: skip

    container.reload()
    assert done.returncode == 0, done.stderr
    assert "exit 137 after-grace reason=liveness" in done.stdout
    assert "started restart=1" in done.stdout
    assert container.status == "running"


@pytest.mark.tmux
def test_a_user_has_to_confirm_and_can_decline(program: Program, path: str) -> None:
    with (
        subprocess.Popen(["sleep", "60"]) as process,
        terminal(program.environment) as tty,
    ):
        tty.enter(
            f"{PROGRAM} attach -f {path} --runtime process web={process.pid} --act"
            "; echo status $?"
        )
        tty.wait_for("Probes may stop", "Continue? [y/N]")
        is_covered = tty.is_covered
        tty.enter("n")
        tty.wait_for("nothing was changed", "status 0")

        is_alive = process.poll() is None
        process.kill()

    assert is_alive
    assert not is_covered
