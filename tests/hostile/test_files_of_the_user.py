"""Other kinds of files in place of the user's files: an error without a wait."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.hostile.arena import ROOT

PATIENCE_SECONDS = 60
"""Long enough for a busy machine, and short compared to waiting for ever."""

POD = """\
apiVersion: v1
kind: Pod
metadata: {name: files-hostile}
spec:
  terminationGracePeriodSeconds: 0
  containers:
  - {name: app, image: none, command: [sleep, "300"]}
"""

pytestmark = pytest.mark.slow


def environment(folder: Path) -> dict[str, str]:
    kept = {
        name: value for name, value in os.environ.items() if not name.startswith("XDG")
    }
    return {**kept, "HOME": str(folder / "home")}


def probetui(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the program, which has to end on its own."""
    return subprocess.run(
        [sys.executable, "-m", "probetui", *arguments],
        cwd=ROOT,
        env=environment(folder),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        check=False,
    )


def a_fifo(path: Path) -> None:
    os.mkfifo(path)


def a_link_to_a_device(path: Path) -> None:
    path.symlink_to("/dev/zero")


KINDS = [
    pytest.param(a_fifo, "it is a FIFO, not a regular file", id="FIFO"),
    pytest.param(a_link_to_a_device, "it is a character device", id="device"),
]


@pytest.mark.parametrize(("make", "expected"), KINDS)
@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(["check", "-f", "{}"], id="a manifest"),
        pytest.param(["sim", "-f", "pod.yaml", "--script", "{}"], id="a scenario"),
        pytest.param(["check", "-f", "pod.yaml", "--config", "{}"], id="settings"),
        pytest.param(["why", "{}.jsonl"], id="a record"),
        pytest.param(["replay", "--plain", "{}"], id="a record to replay"),
    ],
)
def test_only_regular_files_are_read(
    tmp_path: Path,
    make: Callable[[Path], None],
    expected: str,
    arguments: list[str],
) -> None:
    make(tmp_path / "special")
    (tmp_path / "special.jsonl").symlink_to("special")
    (tmp_path / "pod.yaml").write_text(POD)
    named = [
        str(tmp_path / "pod.yaml") if argument == "pod.yaml" else argument
        for argument in arguments
    ]

    done = probetui(
        tmp_path, *(argument.format(tmp_path / "special") for argument in named)
    )

    assert expected in done.stderr
    assert done.returncode == 2


@pytest.mark.parametrize("option", ["--record", "--log-file"])
def test_a_fifo_without_a_reader_does_not_block(tmp_path: Path, option: str) -> None:
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "pod.yaml").write_text(POD)
    arguments = ["sim", "--plain", "-f", str(tmp_path / "pod.yaml"), "--for", "1s"]

    done = probetui(tmp_path, *arguments, option, str(tmp_path / "fifo"))

    assert f"{option} {tmp_path}/fifo: No such device or address" in done.stderr
    assert done.returncode == 2


def test_a_pipe_from_process_substitution_is_read(tmp_path: Path) -> None:
    (tmp_path / "pod.yaml").write_text(POD)
    command = 'exec "$0" -m probetui sim --plain --for 1s -f <(cat "$1")'

    done = subprocess.run(
        ["bash", "-c", command, sys.executable, str(tmp_path / "pod.yaml")],
        cwd=ROOT,
        env=environment(tmp_path),
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        check=False,
    )

    assert done.returncode == 0, done.stderr


def test_a_watched_manifest_that_becomes_a_fifo_is_reported_and_the_session_continues(
    tmp_path: Path,
) -> None:
    pod = tmp_path / "manifests/pod.yaml"
    pod.parent.mkdir()
    pod.write_text(POD)
    command = ["run", "--plain", "--runtime", "process", "--watch", "-f", str(pod)]
    running = subprocess.Popen(
        [sys.executable, "-m", "probetui", *command],
        cwd=ROOT,
        env=environment(tmp_path),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert running.stdout is not None
    lines = []
    try:
        for line in running.stdout:
            lines.append(line)
            if "started restart=0" in line:
                os.mkfifo(tmp_path / "manifests/fifo")
                (tmp_path / "manifests/fifo").rename(pod)
            if "it is a FIFO, not a regular file" in line:
                running.send_signal(signal.SIGTERM)
                break
        rest, _ = running.communicate(timeout=PATIENCE_SECONDS)
    finally:
        running.kill()
        running.wait()

    assert running.returncode == 143, [*lines, rest]
