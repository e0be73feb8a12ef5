"""A session ends on request, and stops everything that it has to stop."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import docker
import pytest

from probetui.runtimes.docker.connection import DEFAULT_SOCKET
from tests.e2e.on_terminal import on_terminal
from tests.e2e.program import PROGRAM, Program, wait_for, wait_until
from tests.hostile.docker_proxy import docker_proxy

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

HUNG_UP, INTERRUPTED, QUIT, TERMINATED = 129, 130, 131, 143
CONTROL_C = b"\x03"
STUBBORN = 'trap "" TERM; while :; do sleep 0.2; done'


def a_manifest(folder: Path, *, grace_seconds: int, image: str = "none") -> Path:
    """Write a pod that ignores SIGTERM, and return its file."""
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": f"stubborn-{uuid.uuid4().hex[:8]}",
            "namespace": "hostile-ending",
        },
        "spec": {
            "terminationGracePeriodSeconds": grace_seconds,
            "containers": [
                {
                    "name": "app",
                    "image": image,
                    "imagePullPolicy": "IfNotPresent",
                    "command": ["sh", "-c", STUBBORN],
                }
            ],
        },
    }
    file = folder / "pod.json"
    file.write_text(json.dumps(pod))
    return file


@pytest.mark.parametrize("form", ["--plain", "--tui"])
def test_no_pod_is_left_if_the_terminal_closes_during_the_stop(
    tmp_path: Path, form: str
) -> None:
    manifest = a_manifest(tmp_path, grace_seconds=2)
    arguments = ("run", "-f", str(manifest), "--runtime", "process", form)
    with on_terminal(tmp_path, *arguments) as started:
        wait_until(lambda: started.shows(b"Running"), "the pod")
        os.kill(started.pid, signal.SIGTERM)
        wait_until(lambda: started.shows(b"stopping"), "the end of the session")

        os.close(started.terminal)

        wait_until(lambda: started.has_ended, "the end")
        assert started.status == TERMINATED
    assert Program(tmp_path).left_behind() == []


def test_a_second_hang_up_changes_nothing(tmp_path: Path) -> None:
    manifest = a_manifest(tmp_path, grace_seconds=2)
    program = Program(tmp_path)
    arguments = ("run", "-f", str(manifest), "--runtime", "process", "--plain")
    with program.started(*arguments) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        wait_for("->Running", process.stdout)
        process.send_signal(signal.SIGHUP)
        wait_for("stopping", process.stderr)

        process.send_signal(signal.SIGHUP)

        process.stdout.read()
        assert process.wait() == HUNG_UP
    assert program.left_behind() == []


def test_a_session_that_is_told_to_quit_leaves_no_pod(tmp_path: Path) -> None:
    manifest = a_manifest(tmp_path, grace_seconds=1)
    program = Program(tmp_path)
    arguments = ("run", "-f", str(manifest), "--runtime", "process", "--plain")
    with program.started(*arguments) as process:
        assert process.stdout is not None
        wait_for("->Running", process.stdout)

        process.send_signal(signal.SIGQUIT)

        process.stdout.read()
        assert process.wait() == QUIT
    assert program.left_behind() == []


def test_too_few_descriptors_are_refused_before_anything_is_started(
    tmp_path: Path,
) -> None:
    manifest = a_manifest(tmp_path, grace_seconds=1)
    words = (PROGRAM, "run", "-f", manifest, "--runtime", "process", "--plain")

    refused = subprocess.run(
        ["sh", "-c", 'ulimit -n 12; exec "$@"', "sh", *words],
        env=Program(tmp_path).environment,
        capture_output=True,
        text=True,
        check=False,
    )

    assert refused.returncode == 2
    assert "may open 12 files at once (`ulimit -Hn`)" in refused.stderr
    assert Program(tmp_path).left_behind() == []


DAEMON = Path(DEFAULT_SOCKET.removeprefix("unix://"))


@contextmanager
def pod_on_hanging_docker(
    folder: Path, *, grace_seconds: int
) -> Iterator[subprocess.Popen[str]]:
    """Run a pod on a daemon that hangs once the pod runs; remove the pod at the end."""
    manifest = a_manifest(folder, grace_seconds=grace_seconds, image="busybox:1.36")
    program = Program(folder)
    try:
        with docker_proxy(DAEMON, folder) as proxy:
            arguments = ("run", "-f", str(manifest), "--plain", "--host", proxy.url)
            with program.started(*arguments) as process:
                assert process.stdout is not None
                wait_for("->Running", process.stdout)
                proxy.hang()
                yield process
    finally:
        remove_pod(program, manifest)


def remove_pod(program: Program, manifest: Path) -> None:
    """Run the suggested command, `probetui down`, which also removes the lease."""
    pod = json.loads(manifest.read_text())
    pod["spec"]["terminationGracePeriodSeconds"] = 0
    manifest.write_text(json.dumps(pod))
    removal = program.run("down", "-f", str(manifest), "--runtime", "docker")
    client = docker.from_env()
    left = client.containers.list(all=True, filters={"name": pod["metadata"]["name"]})
    leases = client.volumes.list(filters={"label": "dev.probetui.lease"})
    client.close()
    assert removal.returncode == 0, removal.stderr
    assert left == []
    held = [lease.attrs["Labels"]["dev.probetui.held-pods"] for lease in leases]
    assert not any(pod["metadata"]["name"] in pods for pods in held)


@pytest.mark.docker
class TestADaemonThatHangs:
    def test_it_is_not_waited_for_much_longer_than_a_grace_period(
        self, tmp_path: Path
    ) -> None:
        with pod_on_hanging_docker(tmp_path, grace_seconds=1) as process:
            process.send_signal(signal.SIGTERM)

            _, errors = process.communicate(timeout=60)

        assert process.returncode == TERMINATED
        assert "waiting for docker to answer" in errors
        assert "^C or SIGTERM leaves" in errors
        assert "docker does not answer; later: `probetui down " in errors

    def test_a_second_signal_ends_the_wait_at_once(self, tmp_path: Path) -> None:
        with pod_on_hanging_docker(tmp_path, grace_seconds=600) as process:
            assert process.stderr is not None
            process.send_signal(signal.SIGTERM)
            wait_for("stopping", process.stderr)

            process.send_signal(signal.SIGTERM)

            _, errors = process.communicate(timeout=60)

        assert process.returncode == TERMINATED
        assert "left running: stubborn-" in errors


STUCK = """\
import os, sys
from probetui.cli.main import main
from probetui.drive.realtime import RealtimeSession

turn, file = RealtimeSession._turn, sys.argv.pop(1)

def stuck(self, now):
    while os.path.exists(file):
        open(file + ".seen", "w").close()
    turn(self, now)

RealtimeSession._turn = stuck
main()
"""


def stuck_arguments(folder: Path, form: str) -> tuple[str, ...]:
    """Return arguments for a program whose event loop blocks while a file exists."""
    manifest = a_manifest(folder, grace_seconds=1)
    return (
        "-c", STUCK, str(folder / "stuck"),
        "run", "-f", str(manifest), "--runtime", "process", form,
    )  # fmt: skip


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    """Return a folder for a program that may leave pods behind."""
    yield tmp_path
    manifest = str(tmp_path / "pod.json")
    Program(tmp_path).run("down", "-f", manifest, "--runtime", "process")


class TestALoopThatStandsStill:
    def test_a_second_signal_ends_it_and_the_remaining_pods_are_named(
        self, home: Path
    ) -> None:
        process = subprocess.Popen(
            [sys.executable, *stuck_arguments(home, "--plain")],
            env=Program(home).environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        with process:
            assert process.stdout is not None
            assert process.stderr is not None
            wait_for("->Running", process.stdout)
            (home / "stuck").touch()
            wait_until((home / "stuck.seen").exists, "its loop to stand still")
            process.send_signal(signal.SIGTERM)
            wait_for("has not handled the signal yet", process.stderr)

            process.send_signal(signal.SIGTERM)

            _, errors = process.communicate(timeout=60)
        assert process.returncode == TERMINATED
        assert "leaves stubborn-" in errors
        assert "later: `probetui down " in errors

    def test_the_keys_for_it_are_read_on_a_screen_too(self, home: Path) -> None:
        environment = Program(home).environment
        arguments = stuck_arguments(home, "--tui")
        with on_terminal(
            home, *arguments, environment=environment, program=sys.executable
        ) as started:
            wait_until(lambda: started.shows(b"Running"), "the pod")
            before = len(started.seen)
            (home / "stuck").touch()
            wait_until((home / "stuck.seen").exists, "its loop to stand still")
            wait_until(lambda: started.signals_by_keys, "^C to be a signal")
            started.send(CONTROL_C)
            wait_until(lambda: started.shows(b"has not handled"), "the message")

            started.send(CONTROL_C)

            wait_until(lambda: started.has_ended, "the end")
            started.shows(b"")
            assert b"\x1b[?1049l" in started.seen[before:]
            assert b"leaves stubborn-" in started.seen[before:]
        assert started.status == INTERRUPTED
