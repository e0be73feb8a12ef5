"""Finding out why on a real terminal, and from the record that is left (UX-02)."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from tests.e2e.program import PROGRAM, Program, wait_for
from tests.e2e.screen import terminal

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.slow,
    pytest.mark.tmux,
]


def sentences(text: str) -> list[str]:
    """Return what a pane says, without its frame and the breaks of its lines."""
    lines = (re.sub("[┃│█]", "", each).strip() for each in text.splitlines())
    return re.split(r"(?<=[.?]) ", " ".join(each for each in lines if each))


def test_why_a_container_was_killed(program: Program) -> None:
    with terminal(program.environment) as tty:
        tty.enter(f"{PROGRAM} demo liveness; echo status $?")
        tty.wait_for("restarts 1")
        tty.type("Space")
        tty.wait_for("PAUSED")
        tty.type("Enter")
        tty.wait_for("gen 1", "killed by liveness", "5 Decision trace")
        tty.type("Left", "Left")
        tty.wait_for("not the newest")
        tty.type("w")
        tty.wait_for("Why did", "Its liveness probe asked for it: failure")
        on_the_screen = sentences(tty.text)
        tty.type("q", "q", "q")
        tty.wait_for("status 0")

        asked = next(each for each in on_the_screen if "asked for it" in each)
        tty.enter("clear")
        tty.enter(f"{PROGRAM} why | head -30; echo told $?")
        tty.wait_for("told 0", "Its lives:")

        assert asked in sentences(tty.text)


BESIDE = """
apiVersion: v1
kind: Pod
metadata: {name: beside}
spec:
  containers:
    - name: app
      image: any
      command: [sh, -c, "echo here > mark; sleep 300"]
      env: [{name: GREETING, value: it's me}]
      livenessProbe:
        exec: {command: [sh, -c, "cat mark\\necho $GREETING\\nexit 3"]}
        periodSeconds: 1
        failureThreshold: 60
"""


def test_the_command_by_hand_does_in_a_process_what_the_probe_does(
    program: Program, tmp_path: Path
) -> None:
    manifest = tmp_path / "beside.yaml"
    manifest.write_text(BESIDE)
    with program.started(
        "run", "-f", str(manifest), "--runtime", "process", "--plain"
    ) as running:
        assert running.stdout is not None
        wait_for("liveness #2 failure", running.stdout)

        told = program.run("why").stdout
        line = told.splitlines()[-1].strip()
        by_hand = subprocess.run(
            ["bash", "-c", line],
            env={**program.environment, "PATH": f"{PROGRAM.parent}:/usr/bin:/bin"},
            cwd="/",
            capture_output=True,
            text=True,
            check=False,
        )
        running.terminate()
        running.wait()

    assert "It gave exit 3" in told
    assert line.startswith("probetui exec ")
    assert by_hand.stdout == "here\nit's me\n"
    assert by_hand.returncode == 3


def test_a_command_that_is_not_there_is_told_as_such(program: Program) -> None:
    pid = str(os.getpid())

    missing = program.run("exec", pid, "no-such-program")
    nowhere = program.run("exec", "process://ffff", "true")

    assert missing.returncode == 127
    assert "no-such-program: No such file or directory" in missing.stderr
    assert nowhere.returncode == 2
    assert "there is no process or container ffff" in nowhere.stderr
