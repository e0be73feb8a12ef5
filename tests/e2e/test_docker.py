"""The program on a real Docker engine."""

from __future__ import annotations

import re
import signal
from collections.abc import Iterator

import docker
import pytest

from probetui.kubelet.kuberuntime.labels import POD_NAME, POD_NAMESPACE
from tests.e2e.program import PROGRAM, SAMPLES, Program, wait_for
from tests.e2e.screen import terminal

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.docker]

IMAGE = "busybox:1.36"
POD = """\
apiVersion: v1
kind: Pod
metadata: {{name: {name}, namespace: {namespace}}}
spec:
  terminationGracePeriodSeconds: 1
  containers:
    - {{name: app, image: "{image}", imagePullPolicy: Never, command: [sleep, "60"]}}
"""


def a_manifest(name: str, namespace: str, image: str = IMAGE) -> str:
    return POD.format(name=name, namespace=namespace, image=image)


def containers_of(pod: str, namespace: str) -> list[str]:
    client = docker.from_env()
    try:
        filters = {"label": [f"{POD_NAME}={pod}", f"{POD_NAMESPACE}={namespace}"]}
        found = client.containers.list(all=True, filters=filters)
        return [container.name for container in found]
    finally:
        client.close()


NAMES = ("e2e-auto", "e2e-good", "e2e-bad", "e2e-signal", "e2e-first", "e2e-second",
         "e2e-kept", "e2e-screen", "exec-liveness")  # fmt: skip


@pytest.fixture
def program(program: Program, namespace: str) -> Iterator[Program]:
    """Return the program; pods of this test are removed at the end."""
    yield program
    pods = "---\n".join(a_manifest(name, namespace) for name in NAMES)
    program.run("down", "-f", "-", "--runtime", "docker", stdin=pods)


@pytest.fixture
def lesson(program: Program) -> Iterator[str]:
    """Return the lesson whose pod can be run: all lessons share one namespace."""
    if containers_of("liveness", "default"):
        pytest.fail("somebody has a pod default/liveness, which is not ours to remove")
    yield "liveness"
    pod = a_manifest("liveness", "default")
    program.run("down", "-f", "-", "--runtime", "docker", stdin=pod)


def test_the_sample_of_the_documentation_is_killed_and_leaves_nothing_behind(
    program: Program, namespace: str
) -> None:
    done = program.run(
        "run", "-f", str(SAMPLES / "exec-liveness.yaml"), "--runtime", "docker",
        "-n", namespace, "--plain", "--until", "killed", "--timeout", "90s",
        seconds=120,
    )  # fmt: skip

    assert done.returncode == 0, done.stderr
    assert re.search(r"liveness #\d+ failure \S+ run 3/3 kill grace=3s", done.stdout)
    assert containers_of("exec-liveness", namespace) == []


def test_auto_is_docker(program: Program, namespace: str) -> None:
    manifest = a_manifest("e2e-auto", namespace)

    done = program.run("-f", "-", "--until", "started", stdin=manifest)

    assert done.returncode == 0, done.stderr
    assert "e2e-auto/app started restart=0" in done.stdout
    assert containers_of("e2e-auto", namespace) == []


def test_a_missing_image_is_reported_others_continue_and_the_status_is_6(
    program: Program, namespace: str
) -> None:
    manifest = "---\n".join(
        [
            a_manifest("e2e-good", namespace),
            a_manifest("e2e-bad", namespace, "probetui.invalid/none:1"),
        ]
    )

    done = program.run("-f", "-", "--timeout", "6s", stdin=manifest)

    assert done.returncode == 6
    assert "e2e-good/app started restart=0" in done.stdout
    assert "e2e-bad/app could not be started: ErrImageNeverPull" in done.stderr
    assert containers_of("e2e-good", namespace) == []
    assert containers_of("e2e-bad", namespace) == []


def test_a_signal_stops_the_containers(program: Program, namespace: str) -> None:
    path = program.home / "pod.yaml"
    path.write_text(a_manifest("e2e-signal", namespace))

    with program.started("-f", str(path)) as process:
        assert process.stdout is not None
        wait_for("started restart=0", process.stdout)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=30)

    assert process.returncode == 130
    assert containers_of("e2e-signal", namespace) == []


def test_two_runs_do_not_affect_each_other(program: Program, namespace: str) -> None:
    path = program.home / "pod.yaml"
    path.write_text(a_manifest("e2e-first", namespace))

    with program.started("-f", str(path)) as process:
        assert process.stdout is not None
        wait_for("started restart=0", process.stdout)
        second = program.run(
            "-f", "-", "--timeout", "5s",
            stdin=a_manifest("e2e-second", namespace),
        )  # fmt: skip
        first = containers_of("e2e-first", namespace)
        process.terminate()
        rest, _ = process.communicate(timeout=30)

    assert second.returncode == 4
    assert len(first) == 2
    assert "restart=1" not in rest
    assert rest.count("exit ") == 1


def test_kept_pods_are_listed_and_removed(program: Program, namespace: str) -> None:
    path = program.home / "pod.yaml"
    path.write_text(a_manifest("e2e-kept", namespace))

    program.run("-f", str(path), "--keep", "--until", "started")
    listed = program.run("ls", "--runtime", "docker", "--no-headers")
    down = program.run("down", "-f", str(path), "--runtime", "docker")

    assert re.search(
        rf"{namespace} +e2e-kept +docker +running +1/1 +0 +- +\d+s +- +you",
        listed.stdout,
    )
    assert down.stdout == f"removed {namespace}/e2e-kept (docker)\n"
    assert containers_of("e2e-kept", namespace) == []


def test_a_lesson_runs_in_containers_as_well(program: Program, lesson: str) -> None:
    done = program.run(
        "demo", lesson, "--runtime", "docker", "--pull", "never", "--until", "killed",
        "--timeout", "60s", seconds=90,
    )  # fmt: skip

    assert done.returncode == 0, done.stderr
    assert containers_of(lesson, "default") == []


HEALTHY = """\
apiVersion: v1
kind: Pod
metadata: {{name: e2e-screen, namespace: {namespace}}}
spec:
  terminationGracePeriodSeconds: 1
  containers:
    - name: app
      image: busybox:1.36
      imagePullPolicy: Never
      command: [sh, -c, "touch /tmp/ok; sleep 600"]
      livenessProbe: {{exec: {{command: [cat, /tmp/ok]}}, periodSeconds: 1}}
"""


@pytest.mark.tmux
def test_a_container_is_watched_broken_and_explained_with_keys(
    program: Program, namespace: str
) -> None:
    path = program.home / "pod.yaml"
    path.write_text(HEALTHY.format(namespace=namespace))

    with terminal(program.environment) as tty:
        tty.enter(f"{PROGRAM} -f {path} --runtime docker; echo status $?")
        tty.wait_for("e2e-screen/app", "Running", "Docker")
        tty.type("m")
        tty.wait_for("MUTED")
        tty.type("m")
        tty.wait_without("MUTED")
        tty.type("i")
        tty.wait_for("Inject results")
        tty.type("Right", "Right", "3")
        tty.wait_for("RESTART 1")
        tty.type("w")
        tty.wait_for("a user injected the result")
        tty.type("Escape")
        tty.wait_without("injected the result")
        tty.type("C-c")  # q would ask if it took more than a minute
        tty.wait_for("status 0")

    assert containers_of("e2e-screen", namespace) == []
