"""A terminal that reads nothing for a while: `^s`, or a connection that hangs."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import pty
import select
import struct
import subprocess
import termios
from collections.abc import Iterator
from pathlib import Path
from threading import Thread

import pytest

from tests.e2e.program import PATIENCE_SECONDS, PROGRAM, Program, wait_until

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

PODS = 20
ENOUGH_SECONDS = 15
"""Of the session; frames that queue up, and the terminal's own buffer, last for two."""

POD = """
---
apiVersion: v1
kind: Pod
metadata: {{name: pod-{number}}}
spec:
  containers:
  - name: app
    image: none
    livenessProbe: {{exec: {{command: ["true"]}}, periodSeconds: 1}}
    readinessProbe: {{exec: {{command: ["true"]}}, periodSeconds: 1}}
"""


@pytest.fixture
def manifest(tmp_path: Path) -> Path:
    path = tmp_path / "pods.yaml"
    path.write_text("".join(POD.format(number=number) for number in range(PODS)))
    return path


@contextlib.contextmanager
def on_a_terminal(
    program: Program, *args: str
) -> Iterator[tuple[int, subprocess.Popen[bytes]]]:
    """Run a command on a new terminal, and return the terminal's other side."""
    here, there = pty.openpty()
    fcntl.ioctl(there, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
    process = subprocess.Popen(
        [PROGRAM, *args],
        env={**program.environment, "TERM": "xterm-256color"},
        stdin=there,
        stdout=there,
        stderr=there,
        start_new_session=True,
    )
    os.close(there)
    try:
        yield here, process
    finally:
        process.kill()
        process.wait()
        os.close(here)


def read_first_picture(terminal: int) -> None:
    """Read the output until the header is painted.

    Only changed cells of a row are painted: the name of a pod that is not in the first
    paint may never be written in one piece.
    """
    painted = b""
    while f"{PODS} pods".encode() not in painted:
        is_ready, _, _ = select.select([terminal], [], [], PATIENCE_SECONDS)
        assert is_ready, f"nothing more is painted after {painted[-200:]!r}"
        painted += os.read(terminal, 1 << 16)


def read_on(terminal: int) -> None:
    """Read the output until its end."""
    with contextlib.suppress(OSError):  # the other side is closed
        while os.read(terminal, 1 << 16):
            pass


def last_tick(record: Path) -> float:
    """Return the time of the last complete tick in a record, in seconds."""
    lines = record.read_text().splitlines(keepends=True) if record.exists() else []
    whole = (json.loads(line) for line in lines if line.endswith("\n"))
    return max((line["t"] for line in whole if line["type"] == "tick"), default=0)


def test_probes_continue_while_nothing_can_be_painted(
    program: Program, manifest: Path, tmp_path: Path
) -> None:
    record = tmp_path / "record.jsonl"
    arguments = ("sim", "-f", str(manifest), "--record", str(record))

    with on_a_terminal(program, *arguments) as (terminal, process):
        read_first_picture(terminal)
        begin = last_tick(record)
        wait_until(lambda: last_tick(record) - begin > ENOUGH_SECONDS, "more ticks")

        reading = Thread(target=read_on, args=(terminal,))
        reading.start()
        os.write(terminal, b"q")
        assert process.wait(PATIENCE_SECONDS) == 0
        reading.join()
