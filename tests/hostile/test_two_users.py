"""Two users of one Docker daemon, with separate state folders."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import docker
import pytest

from probetui.k8s.pod_source import CONFIG_SOURCE
from probetui.kubelet.kuberuntime.labels import (
    DOCKER_ANNOTATION_PREFIX,
    DOCKER_TYPE,
    DOCKER_TYPE_SANDBOX,
    POD_NAME,
    POD_NAMESPACE,
)
from tests.runtimes.own_daemon import OwnDaemon, own_daemon

__all__ = ["own_daemon"]

pytestmark = [pytest.mark.docker, pytest.mark.slow]

POD = """
apiVersion: v1
kind: Pod
metadata: {name: shared}
spec:
  hostNetwork: true
  terminationGracePeriodSeconds: 0
  containers:
  - {name: app, image: "busybox:1.36", command: [sleep, "600"]}
"""
LIMIT_SECONDS = 300


class User:
    """A user with a state folder, on the daemon of the test."""

    def __init__(self, daemon: OwnDaemon, folder: Path) -> None:
        self._environment = {
            **os.environ,
            "HOME": str(folder),
            "XDG_STATE_HOME": str(folder / "state"),
            "DOCKER_HOST": daemon.url,
        }
        folder.mkdir()
        self.manifest = folder / "pod.yaml"
        self.manifest.write_text(POD)

    def probetui(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run the program to its end."""
        return subprocess.run(
            self._command(words),
            env=self._environment,
            capture_output=True,
            text=True,
            timeout=LIMIT_SECONDS,
            check=False,
        )

    @contextmanager
    def session(self) -> Iterator[None]:
        """Run a session of the pod in the block."""
        words = ("run", "-f", str(self.manifest), "--plain", "-v")
        with subprocess.Popen(
            self._command(words),
            env=self._environment,
            stdout=subprocess.PIPE,
            text=True,
        ) as process:
            assert process.stdout is not None
            for line in process.stdout:
                if "shared/app started" in line:
                    break
            yield
            process.terminate()
            for _ in process.stdout:
                pass

    def pods(self) -> list[dict[str, str]]:
        """Return the pods that `ls` shows."""
        printed = self.probetui("ls", "--runtime", "docker", "-o", "json").stdout
        found: list[dict[str, str]] = json.loads(printed)
        return found

    def _command(self, words: tuple[str, ...]) -> list[str]:
        return [sys.executable, "-m", "probetui", *words]


def test_a_pod_of_another_user_is_neither_removed_nor_run(
    own_daemon: OwnDaemon, tmp_path: Path
) -> None:
    ann, bob = User(own_daemon, tmp_path / "ann"), User(own_daemon, tmp_path / "bob")
    sdk = docker.DockerClient(base_url=own_daemon.url)
    docker_only = ("--runtime", "docker")

    with ann.session():
        before = {container.id for container in sdk.containers.list()}
        second = bob.probetui("run", "-f", str(bob.manifest), "--plain")
        down = bob.probetui("down", "--all", *docker_only)
        forced = bob.probetui("down", "--all", "--all-users", *docker_only)
        own = ann.probetui("down", "--all", *docker_only)
        (seen,) = bob.pods()
        after = {container.id for container in sdk.containers.list()}

    assert second.returncode == 2
    assert "pod default/shared is run by another probetui (process " in second.stderr
    assert down.returncode == 0
    assert "left default/shared (docker)" in down.stderr
    assert "--all-users` removes it too" in down.stderr
    assert (forced.returncode, own.returncode) == (1, 1)
    assert "stop that session first" in forced.stderr
    assert seen["runBy"].startswith("process ")
    assert seen["state"] == "running"
    assert before == after
    assert before
    assert ann.pods() == []
    assert sdk.volumes.list() == []
    sdk.close()


def test_a_kept_pod_of_another_user_is_removed_only_on_request(
    own_daemon: OwnDaemon, tmp_path: Path
) -> None:
    ann, bob = User(own_daemon, tmp_path / "ann"), User(own_daemon, tmp_path / "bob")
    sdk = docker.DockerClient(base_url=own_daemon.url)
    kept = ann.probetui(
        "run", "-f", str(ann.manifest), "--plain", "--keep", "--until", "started"
    )
    (app,) = sdk.containers.list(filters={"name": "k8s_app_"})
    app.commit("a-copy", "1")
    copy = sdk.containers.run("a-copy:1", detach=True, network_mode="none")

    run = bob.probetui("run", "-f", str(bob.manifest), "--plain")
    left = bob.probetui("down", "--all", "--runtime", "docker")
    named = bob.probetui("down", "shared", "--runtime", "docker")
    of_file = bob.probetui("down", "-f", str(bob.manifest), "--runtime", "docker")
    still = {container.id for container in sdk.containers.list()}
    on_demand = bob.probetui("down", "--all", "--all-users", "--runtime", "docker")

    assert kept.returncode == 0
    assert run.returncode == 2
    assert "made it; `probetui down --all-users -f FILE` removes it" in run.stderr
    assert (left.returncode, left.stdout) == (0, "")
    assert (named.returncode, of_file.returncode) == (1, 1), "it is still there"
    assert "left default/shared (docker)" in named.stderr
    assert {app.id, copy.id} < still
    assert (on_demand.returncode, on_demand.stdout) == (
        0,
        "removed default/shared (docker)\n",
    )
    assert [container.id for container in sdk.containers.list(all=True)] == [copy.id]
    sdk.close()


def test_nothing_is_started_beside_the_pods_of_a_kubelet(
    own_daemon: OwnDaemon, tmp_path: Path
) -> None:
    """A kubelet with cri-dockerd kills what has its labels and is not its own."""
    ann = User(own_daemon, tmp_path / "ann")
    sdk = docker.DockerClient(base_url=own_daemon.url)
    sdk.containers.run(
        "busybox:1.36",
        ["sleep", "600"],
        detach=True,
        network_mode="none",
        labels={
            DOCKER_TYPE: DOCKER_TYPE_SANDBOX,
            f"{DOCKER_ANNOTATION_PREFIX}{CONFIG_SOURCE}": "api",
            POD_NAMESPACE: "kube-system",
            POD_NAME: "proxy",
        },
    )

    refused = ann.probetui("run", "-f", str(ann.manifest), "--plain")
    count = len(sdk.containers.list(all=True))
    words = ("run", "-f", str(ann.manifest), "--plain", "--until", "started")
    accepted = ann.probetui(*words, "--beside-kubelet")
    sdk.close()

    assert refused.returncode == 2
    assert "docker runs pods of a kubelet (kube-system/proxy)" in refused.stderr
    assert count == 1
    assert accepted.returncode == 0
    assert "those of this session too" in accepted.stderr
