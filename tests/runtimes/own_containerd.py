"""A containerd for one test, which can be stopped."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import grpc
import pytest

from probetui.runtimes.cri.client import STATUS
from tests.requirements import skip_unless_ci
from tests.runtimes.cri.bench import SOCKET

STARTS_WITHIN_SECONDS = 60
ENDS_WITHIN_SECONDS = 60
PLUGINS = Path("/usr/lib/cni")
PAUSE_IMAGE = "localhost/probetui-pause:1"
IMAGES = ("docker.io/library/busybox:1.36", PAUSE_IMAGE)

SETTINGS = """\
version = 2
root = "{folder}/data"
state = "{folder}/state"
[grpc]
  address = "{folder}/cri.sock"
[plugins."io.containerd.internal.v1.opt"]
  path = "{folder}/opt"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "{pause}"
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "{plugins}"
    conf_dir = "{folder}/cni"
"""
# Only the loopback: no network of this machine is changed.
NETWORK = """\
{"cniVersion": "0.4.0", "name": "alone", "plugins": [{"type": "loopback"}]}
"""


def why_not() -> str | None:
    """Return why no containerd can be started here, None if one can."""
    if os.geteuid() != 0:
        return "only root starts containerd"
    for program in ("containerd", "ctr"):
        if shutil.which(program) is None:
            return f"{program} is not installed"
    return None


def ctr(socket: str, *arguments: str) -> list[str]:
    """Return a command for the images of the CRI."""
    return ["ctr", "--address", socket, "--namespace", "k8s.io", *arguments]


class OwnContainerd:
    """A daemon with folders and a socket of its own.

    Args:
        folder: where all of it is; its path must be short, for the sockets in it.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None
        self.socket = str(folder / "cri.sock")
        (folder / "cni").mkdir()
        self._settings = folder / "config.toml"
        self._settings.write_text(
            SETTINGS.format(folder=folder, pause=PAUSE_IMAGE, plugins=PLUGINS)
        )

    def make_network(self) -> None:
        """Configure a network, without which the runtime is not ready."""
        (self._folder / "cni" / "10-alone.conflist").write_text(NETWORK)

    def switch_off_cri(self) -> None:
        """Let it run containers for others only, as Docker's does."""
        text = self._settings.read_text()
        self._settings.write_text(
            f'disabled_plugins = ["io.containerd.grpc.v1.cri"]\n{text}'
        )

    def start(self) -> None:
        """Start it and wait until it answers."""
        log = self._folder / "log"
        with log.open("ab") as file:
            self._process = subprocess.Popen(
                ["containerd", "--config", str(self._settings)],
                stdout=file,
                stderr=file,
            )
        pause = threading.Event()
        for _ in range(STARTS_WITHIN_SECONDS * 10):
            if self._answers():
                return
            assert self._process.poll() is None, log.read_text()[-2000:]
            pause.wait(0.1)
        raise AssertionError("containerd does not answer")

    def stop(self) -> None:
        """End it and wait until it has ended; containers go on."""
        if self._process is None:
            return
        self._process.terminate()
        self._process.wait(ENDS_WITHIN_SECONDS)
        self._process = None

    def load_images(self) -> None:
        """Copy the images of the benches from the machine's engine."""
        file = str(self._folder / "images.tar")
        subprocess.run(ctr(SOCKET, "images", "export", file, *IMAGES), check=True)
        importing = ctr(self.socket, "images", "import", file)
        subprocess.run(importing, check=True, stdout=subprocess.DEVNULL)

    def clean_up(self) -> None:
        """Leave neither mounts nor files; pods have to be gone."""
        with contextlib.ExitStack() as last:
            remove = shutil.rmtree  # noqa: TID251  # the test's own
            last.callback(remove, self._folder, ignore_errors=True)
            last.callback(self._unmount)
            last.callback(self.stop)

    def _unmount(self) -> None:
        mounts = Path("/proc/self/mounts").read_text(encoding="utf-8").splitlines()
        places = [line.split()[1] for line in mounts]
        for place in sorted(places, reverse=True):
            if Path(place).is_relative_to(self._folder):
                subprocess.run(["umount", "--lazy", place], check=False)

    def _answers(self) -> bool:
        """Return whether its CRI is there, or will never be."""
        with grpc.insecure_channel(f"unix://{self.socket}") as channel:
            try:
                channel.unary_unary(STATUS.path)(b"", timeout=10)
            except grpc.RpcError as error:
                is_missing: bool = error.code() is grpc.StatusCode.UNIMPLEMENTED
                return is_missing
        return True


@pytest.fixture
def own_containerd() -> Iterator[OwnContainerd]:
    """Return a daemon that is not started yet."""
    if reason := why_not():
        skip_unless_ci(reason)
    daemon = OwnContainerd(Path(tempfile.mkdtemp(prefix="containerd-")))
    try:
        yield daemon
    finally:
        daemon.clean_up()
