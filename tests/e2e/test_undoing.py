"""Faults that users injected are undone when the program ends, however it ends."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import docker
import pytest

from probetui.runtimes.process_identity import Process, identify, is_stopped
from tests.e2e.on_terminal import OnTerminal, on_terminal
from tests.e2e.program import wait_until

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

POD = """\
apiVersion: v1
kind: Pod
metadata: {name: shop}
spec:
  containers: [{name: web, image: "busybox:1.36"}]
"""

FREEZE, CUT = b"1", b"4"
End = Callable[[OnTerminal], None]


@pytest.fixture
def path(tmp_path: Path) -> str:
    path = tmp_path / "pod.yaml"
    path.write_text(POD)
    return str(path)


@pytest.fixture
def process() -> Iterator[Process]:
    with subprocess.Popen(["sleep", "60"]) as child:
        found = identify(child.pid)
        assert found is not None
        yield found
        child.kill()


def wait_reading(tty: OnTerminal, condition: Callable[[], bool], what: str) -> None:
    """Wait for a condition while the output of the program is read."""

    def check() -> bool:
        with contextlib.suppress(OSError):  # the terminal may be closed by now
            tty.shows(b"")
        return condition()

    wait_until(check, what)


def agree(tty: OnTerminal) -> None:
    """Confirm the question, and wait until the container is shown."""
    wait_until(lambda: tty.shows(b"[y/N]"), "the question")
    tty.send(b"y\n")
    wait_until(lambda: tty.shows(b"Running"), "the screen")


def pick(tty: OnTerminal, number: bytes) -> None:
    """Select a row of the fault injection menu."""
    tty.send(b"x")
    wait_until(lambda: tty.shows(b"Pause automatically"), "the menu")
    tty.send(number)


@pytest.mark.parametrize(
    "end",
    [
        pytest.param(lambda tty: tty.send(b"q"), id="q"),
        pytest.param(lambda tty: os.kill(tty.pid, signal.SIGTERM), id="SIGTERM"),
        pytest.param(lambda tty: os.close(tty.terminal), id="the terminal is closed"),
    ],
)
def test_an_unmanaged_process_continues(
    tmp_path: Path, path: str, process: Process, end: End
) -> None:
    arguments = ("attach", "-f", path, "--runtime", "process", f"web={process.pid}")
    with on_terminal(tmp_path, *arguments, "--act") as tty:
        agree(tty)
        pick(tty, FREEZE)
        wait_reading(tty, lambda: is_stopped(process), "the freeze")

        end(tty)

        wait_reading(tty, lambda: tty.has_ended, "the end")
        assert not is_stopped(process)


@pytest.mark.docker
def test_an_unmanaged_container_gets_its_network_back(
    tmp_path: Path, path: str
) -> None:
    client = docker.from_env()
    container = client.containers.run("busybox:1.36", ["sleep", "300"], detach=True)

    def networks() -> list[str]:
        container.reload()
        return list(container.attrs["NetworkSettings"]["Networks"])

    try:
        before = networks()
        arguments = ("attach", "-f", path, f"web={container.id}", "--act")
        with on_terminal(tmp_path, *arguments) as tty:
            agree(tty)
            pick(tty, CUT)
            wait_reading(tty, lambda: not networks(), "the cut")

            os.kill(tty.pid, signal.SIGTERM)

            wait_reading(tty, lambda: tty.has_ended, "the end")
            assert networks() == before != []
    finally:
        container.remove(force=True, v=True)
        client.close()
