"""A Docker daemon for one test, which can be stopped."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import docker
import docker.errors
import pytest

from probetui.runtimes.docker.api import DockerApi
from tests.requirements import skip_unless_ci

STARTS_WITHIN_SECONDS = 60
ENDS_WITHIN_SECONDS = 60


def why_not() -> str | None:
    """Return why no daemon can be started here, None if one can."""
    if os.geteuid() != 0:
        return "only root starts a Docker daemon"
    if shutil.which("dockerd") is None:
        return "dockerd is not installed"
    return None


class OwnDaemon:
    """A daemon with folders and a socket of its own, and without networks.

    Args:
        folder: where all of it is; its path must be short, for the sockets in it.
        unshared: options of unshare(1) for what else it has of its own.
    """

    def __init__(self, folder: Path, *unshared: str) -> None:
        self._folder = folder
        self._unshared = unshared
        self._process: subprocess.Popen[bytes] | None = None
        self.url = f"unix://{folder / 'docker.sock'}"

    def start(self) -> None:
        """Start it and wait until it answers."""
        command = [
            # In its own network namespace: with `--bridge=none`, a daemon removes the
            # bridge of the machine's own daemon.
            "unshare",
            "--net",
            *self._unshared,
            "dockerd",
            f"--host={self.url}",
            f"--data-root={self._folder / 'data'}",
            f"--exec-root={self._folder / 'exec'}",
            f"--pidfile={self._folder / 'pid'}",
            "--bridge=none",
            "--iptables=false",
            "--ip-forward=false",
            "--log-opt=max-size=10m",
            "--log-opt=max-file=5",
            # Containers go on without it, so that it may be gone at once.
            "--live-restore",
        ]
        log = self._folder / "log"
        with log.open("ab") as file:
            self._process = subprocess.Popen(command, stdout=file, stderr=file)
        pause = threading.Event()
        for _ in range(STARTS_WITHIN_SECONDS * 10):
            if self._answers():
                return
            assert self._process.poll() is None, log.read_text()[-2000:]
            pause.wait(0.1)
        raise AssertionError("the daemon does not answer")

    def stop(self) -> None:
        """End it and wait until it has ended."""
        if self._process is None:
            return
        self._process.terminate()
        self._process.wait(ENDS_WITHIN_SECONDS)
        self._process = None

    def load(self, image: str) -> None:
        """Copy an image from this machine's daemon."""
        theirs = docker.from_env()
        ours = docker.DockerClient(base_url=self.url)
        ours.images.load(b"".join(theirs.images.get(image).save(named=image)))
        theirs.close()
        ours.close()

    def remove_containers(self) -> None:
        """Remove all that it ran."""
        if self._process is None:
            self.start()
        client = docker.DockerClient(base_url=self.url)
        for container in client.containers.list(all=True):
            container.remove(force=True, v=True)
        client.close()

    def clean_up(self) -> None:
        """Leave neither processes nor mounts nor files, whatever went wrong."""
        with contextlib.ExitStack() as last:
            remove = shutil.rmtree  # noqa: TID251  # the test's own
            last.callback(remove, self._folder, ignore_errors=True)
            last.callback(self._unmount)
            last.callback(self.stop)
            self.remove_containers()

    def _unmount(self) -> None:
        mounts = Path("/proc/self/mounts").read_text(encoding="utf-8").splitlines()
        places = [line.split()[1] for line in mounts]
        for place in sorted(places, reverse=True):
            if Path(place).is_relative_to(self._folder):
                subprocess.run(["umount", "--lazy", place], check=False)

    def _answers(self) -> bool:
        with contextlib.suppress(docker.errors.DockerException):
            DockerApi(self.url, timeout_seconds=10, connections=1).close()
            return True
        return False


@pytest.fixture
def own_daemon() -> Iterator[OwnDaemon]:
    """Return a daemon that runs and has the image that benches use."""
    if reason := why_not():
        skip_unless_ci(reason)
    daemon = OwnDaemon(Path(tempfile.mkdtemp(prefix="dockerd-")))
    try:
        daemon.start()
        daemon.load("busybox:1.36")
        yield daemon
    finally:
        daemon.clean_up()
