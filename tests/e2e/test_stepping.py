"""`--step`: a tick for each line of standard input, on every runtime."""

from __future__ import annotations

import re
import signal
import subprocess
from pathlib import Path

import pytest

from tests.e2e.on_terminal import on_terminal
from tests.e2e.program import (
    PATIENCE_SECONDS,
    RUNTIMES,
    Program,
    wait_for,
    wait_until,
)

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

POD = """
apiVersion: v1
kind: Pod
metadata: {{name: stepped, namespace: {namespace}}}
spec:
  terminationGracePeriodSeconds: 1
  containers:
  - name: app
    image: busybox:1.36
    imagePullPolicy: IfNotPresent
    command: [sleep, "600"]
    livenessProbe: {{exec: {{command: ["true"]}}, periodSeconds: 60}}
"""
"""No tick of its own comes during a test: each is a step."""

FAILURES = "wait\ninject app liveness failure 3\n3\n\n\n"
"""Lines by which the container is killed."""


@pytest.fixture
def manifest(tmp_path: Path, namespace: str) -> str:
    path = tmp_path / "pod.yaml"
    path.write_text(POD.format(namespace=namespace))
    return str(path)


def step(
    program: Program, manifest: str, lines: str, *arguments: str
) -> subprocess.CompletedProcess[str]:
    return program.run(
        *arguments, "-f", manifest, "--step", "--no-findings", stdin=lines
    )


def ticks(output: str) -> list[str]:
    """Return what each tick came to, without skips before the container runs."""
    found = re.findall(r"app liveness #\d+ (\w+)", output)
    return [result for result in found if result != "skipped"]


@pytest.mark.parametrize("options", [pytest.param((), id="sim"), *RUNTIMES])
def test_each_line_is_a_tick_with_its_trace(
    program: Program, manifest: str, options: tuple[str, ...]
) -> None:
    lines = "wait\n\ninject app liveness failure 3\n3\nwait\n"

    done = step(program, manifest, lines, "run" if options else "sim", *options)

    assert done.returncode == 0, done.stderr
    assert ticks(done.stdout) == ["success", "failure", "failure", "failure"]
    assert re.findall(r"result run +(.+)", done.stdout) == [
        "success starts at 1   threshold 1   reached",
        "failure starts at 1   threshold 3   not reached",
        "failure 1 -> 2   threshold 3   not reached",
        "failure 2 -> 3   threshold 3   reached",
    ]
    assert "effect         container killed, probe on hold" in done.stdout


@pytest.mark.parametrize("options", RUNTIMES)
def test_a_wait_lasts_until_the_killed_container_runs_again(
    program: Program, manifest: str, options: tuple[str, ...]
) -> None:
    lines = "wait\n\ninject app liveness failure 3\n3\nwait\n\n"

    done = step(program, manifest, lines, "run", *options)

    assert done.returncode == 0, done.stderr
    killed, _, after = done.stdout.partition("container killed")
    assert "started restart=0" in killed
    assert "started restart=1" in after
    assert ticks(after)[-1] == "success", "a tick of the new instance"


def test_change_runs_ticks_until_something_changes(
    program: Program, manifest: str
) -> None:
    lines = "wait\n\ninject app liveness failure 5\nchange\nqueue\n"

    done = step(program, manifest, lines, "sim")

    assert done.returncode == 0, done.stderr
    assert ticks(done.stdout) == ["success", "failure", "failure", "failure"]
    assert done.stdout.count("  tick #") == 2, "of the step, and of the last tick"
    assert re.search(r">.* stepped/app +liveness +skip: on hold", done.stdout)


def test_what_cannot_be_used_is_told_and_ends_nothing(
    program: Program, manifest: str
) -> None:
    lines = "hepl\nkill db\n" + "x" * 100_000 + "\n\nhelp"

    done = step(program, manifest, lines, "sim")

    assert 'line 1: "hepl" is not one of' in done.stderr
    assert "(nearest: help)" in done.stderr
    assert 'line 2: no pod and no container is called "db"' in done.stderr
    assert "line 3: a line has at most" in done.stderr
    assert "3 lines could not be carried out" in done.stderr
    assert done.returncode == 2
    assert ticks(done.stdout) == ["success"], "the lines after them"
    assert "run so many ticks" in done.stdout, "the last line needs no end"


@pytest.mark.parametrize(
    ("lines", "until", "status"),
    [
        ("", "killed", 1),
        (FAILURES, "killed", 0),
        ("quit\n\n\n", None, 0),
    ],
    ids=["not met", "met", "quit"],
)
def test_the_end_of_the_lines_ends_the_session(
    program: Program, manifest: str, lines: str, until: str | None, status: int
) -> None:
    condition = () if until is None else ("--until", until)

    done = step(program, manifest, lines, "sim", *condition)

    assert done.returncode == status, done.stderr
    assert ("the lines ended before" in done.stderr) == (status == 1)


@pytest.mark.parametrize(
    ("lines", "until"),
    [
        pytest.param("hepl\n", None, id="end of the lines"),
        pytest.param("hepl\nquit\n", None, id="quit"),
        pytest.param("hepl\nchange\nchange\n2\n", None, id="nothing changes any more"),
        pytest.param(f"hepl\n{FAILURES}", "killed", id="the condition has held"),
        pytest.param("hepl\n2\n", "killed", id="the condition has not held"),
        pytest.param("hepl\nchange\nchange\n", "killed", id="it has not by the limit"),
    ],
)
def test_a_script_with_a_wrong_line_ends_with_2(
    program: Program, manifest: str, lines: str, until: str | None
) -> None:
    condition = () if until is None else ("--until", until)

    done = step(program, manifest, lines, "sim", *condition)

    assert done.returncode == 2, done.stderr
    assert done.stderr.count("1 line could not be carried out") == 1


@pytest.mark.parametrize(
    ("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)]
)
def test_a_signal_keeps_its_status_after_a_wrong_line(
    program: Program, manifest: str, number: signal.Signals, status: int
) -> None:
    arguments = ("sim", "-f", manifest, "--step", "--no-findings")
    with program.started(*arguments, stdin=subprocess.PIPE) as running:
        assert running.stdin is not None
        assert running.stderr is not None
        print("hepl", file=running.stdin, flush=True)
        wait_for("help lists the lines", running.stderr)

        running.send_signal(number)

        assert running.wait(PATIENCE_SECONDS) == status


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("--tui",), "--step reads lines instead of keys"),
        (("-f", "-"), "--step reads its lines from standard input"),
    ],
)
def test_options_that_leave_no_lines_are_refused(
    program: Program, manifest: str, arguments: tuple[str, ...], why: str
) -> None:
    done = step(program, manifest, "", "sim", *arguments)

    assert done.returncode == 2
    assert why in done.stderr


def test_a_record_has_the_steps_and_can_be_replayed(
    program: Program, manifest: str, tmp_path: Path
) -> None:
    record = str(tmp_path / "steps.jsonl")

    done = step(program, manifest, "2\n", "sim", "--record", record)
    replayed = program.run("replay", record, "--plain")

    assert done.returncode == replayed.returncode == 0, done.stderr
    assert ticks(replayed.stdout) == ticks(done.stdout) == ["success", "success"]


def test_on_a_terminal_each_line_is_asked_for_and_ctrl_c_ends(
    tmp_path: Path, manifest: str
) -> None:
    with on_terminal(tmp_path, "sim", "-f", manifest, "--step") as started:
        wait_until(lambda: started.shows(b"step> "), "the question for a line")
        started.send(b"\n")
        wait_until(lambda: started.shows(b"tick #"), "a tick")
        started.send(b"nonsense\n")
        wait_until(lambda: started.shows(b'"nonsense" is not one of'), "the refusal")

        started.send(b"\x03")
        wait_until(lambda: started.has_ended, "the end")

    assert started.status == 130
