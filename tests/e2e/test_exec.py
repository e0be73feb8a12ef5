"""`probetui exec`: run a command in a container, on every runtime."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.e2e.program import RUNTIMES, Program
from tests.engines import CRI_ENDPOINT

POD = """\
apiVersion: v1
kind: Pod
metadata: {name: execpod, namespace: e2e-exec}
spec:
  terminationGracePeriodSeconds: 0
  containers:
    - name: app
      image: busybox:1.36
      command: [sleep, "300"]
    - name: other
      image: busybox:1.36
      command: [sleep, "300"]
"""


@pytest.fixture(params=RUNTIMES)
def runtime(
    request: pytest.FixtureRequest, program: Program
) -> Iterator[tuple[str, ...]]:
    """Run the pod on a runtime, and return the options for it."""
    with program.keeping(POD, request.param, until="started") as options:
        yield options


def test_a_command_runs_in_a_container_and_returns_its_output_and_status(
    program: Program, runtime: tuple[str, ...]
) -> None:
    command = ("sh", "-c", "echo out; echo err >&2; exit 3")

    ran = program.run("exec", *runtime, "execpod", "-c", "app", "--", *command)
    same = program.run("exec", *runtime, "e2e-exec/execpod/other", *command)

    assert (ran.returncode, ran.stdout, ran.stderr) == (3, "out\n", "err\n")
    assert (same.returncode, same.stdout) == (3, "out\n")


def test_a_command_that_cannot_be_run_has_the_exit_status_of_shells(
    program: Program, runtime: tuple[str, ...]
) -> None:
    missing = program.run("exec", *runtime, "execpod/app", "no-such-program")
    unclear = program.run("exec", *runtime, "execpod", "true")

    assert missing.returncode == 127
    assert "no-such-program" in missing.stderr
    assert unclear.returncode == 2
    assert "-c: which container of e2e-exec/execpod (has: app, other)" in unclear.stderr


def test_a_terminal_is_allocated_or_a_command_with_one_is_suggested(
    program: Program, runtime: tuple[str, ...]
) -> None:
    """A plain process uses the terminal of the command line."""
    asked = program.run("exec", *runtime, "-it", "execpod", "-c", "app", "--", "true")

    if "process" in runtime:
        assert asked.returncode == 0, asked.stderr
        return
    engine = "docker exec" if "docker" in runtime else f"crictl -r {CRI_ENDPOINT} exec"
    assert asked.returncode == 2
    assert "no terminal" in asked.stderr
    assert f"{engine} -i -t " in asked.stderr
