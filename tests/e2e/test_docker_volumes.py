"""Files and volumes of pods on a real Docker engine, and their removal."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import docker
import pytest

from probetui.kubelet.kuberuntime.labels import POD_NAME, POD_NAMESPACE
from tests.e2e.program import Program, wait_for

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.docker]

MANIFEST = """\
apiVersion: v1
kind: ConfigMap
metadata: {{name: settings, namespace: {namespace}}}
data: {{greeting: hello, app.conf: listen 80}}
---
apiVersion: v1
kind: Secret
metadata: {{name: account, namespace: {namespace}}}
stringData: {{login: hunter2222}}
---
apiVersion: v1
kind: Pod
metadata: {{name: {name}, namespace: {namespace}, labels: {{app: shop}}}}
spec:
  restartPolicy: Never
  terminationGracePeriodSeconds: 1
  initContainers:
    - name: setup
      image: busybox:1.36
      imagePullPolicy: Never
      command: [sh, -c, "cat /conf/app.conf /info/labels > /work/file"]
      volumeMounts:
        - {{name: work, mountPath: /work}}
        - {{name: conf, mountPath: /conf}}
        - {{name: info, mountPath: /info}}
  containers:
    - name: app
      image: busybox:1.36
      imagePullPolicy: Never
      command: [sh, -c]
      args: ["{script}"]
      readinessProbe: {{exec: {{command: [test, -e, /work/file]}}}}
      env:
        - {{name: GREETING, valueFrom: {{configMapKeyRef:
            {{name: settings, key: greeting}}}}}}
        - {{name: LOGIN, valueFrom: {{secretKeyRef: {{name: account, key: login}}}}}}
      volumeMounts:
        - {{name: work, mountPath: /work}}
        - {{name: fast, mountPath: /fast}}
  volumes:
    - {{name: work, emptyDir: {{}}}}
    - {{name: fast, emptyDir: {{medium: Memory}}}}
    - {{name: conf, configMap: {{name: settings}}}}
    - name: info
      downwardAPI: {{items: [{{path: labels,
        fieldRef: {{fieldPath: metadata.labels}}}}]}}
"""
SAYS = "echo $(GREETING) $LOGIN $(cat /work/file) > /dev/termination-log; exit 3"
NAMES = ("e2e-volumes", "e2e-killed", "e2e-kept-volumes")


@dataclass(frozen=True, slots=True)
class Leftovers:
    """Everything that the daemon still has of a pod."""

    containers: tuple[str, ...]
    volumes: tuple[str, ...]


NOTHING = Leftovers((), ())


def leftovers_of(pod: str, namespace: str) -> Leftovers:
    client = docker.from_env()
    try:
        filters = {"label": [f"{POD_NAME}={pod}", f"{POD_NAMESPACE}={namespace}"]}
        containers = client.containers.list(all=True, filters=filters)
        volumes = client.volumes.list(filters=filters)
        return Leftovers(
            tuple(container.name for container in containers),
            tuple(volume.name for volume in volumes),
        )
    finally:
        client.close()


@pytest.fixture
def program(program: Program, namespace: str) -> Iterator[Program]:
    """Return the program; pods of this test are removed at the end."""
    yield program
    for name in NAMES:
        manifest = MANIFEST.format(name=name, namespace=namespace, script=SAYS)
        program.run("down", "-f", "-", "--runtime", "docker", stdin=manifest)


def manifest_of(program: Program, name: str, namespace: str, script: str) -> Path:
    path = program.home / "shop.yaml"
    path.write_text(MANIFEST.format(name=name, namespace=namespace, script=script))
    return path


def test_a_pod_gets_its_files_and_volumes_and_leaves_nothing_behind(
    program: Program, namespace: str
) -> None:
    path = manifest_of(program, "e2e-volumes", namespace, SAYS)
    record = program.home / "record.jsonl"

    done = program.run(
        "run", "-f", str(path), "--runtime", "docker", "--plain", "--strict",
        "--record", str(record), "--timeout", "60s",
        seconds=90,
    )  # fmt: skip

    texts = record.read_text()
    expected_text = 'hello *** listen 80app="shop"'
    assert "exit 3" in done.stdout, done.stderr
    assert json.dumps(expected_text)[1:-1] in texts
    assert "hunter2222" not in texts + done.stdout + done.stderr
    assert leftovers_of("e2e-volumes", namespace) == NOTHING


def test_leftovers_of_a_killed_run_are_removed_by_the_next_one(
    program: Program, namespace: str
) -> None:
    path = manifest_of(program, "e2e-killed", namespace, "sleep 60")
    with program.started("-f", str(path), "--runtime", "docker") as process:
        assert process.stdout is not None
        wait_for("app started restart=0", process.stdout)
        process.kill()
        process.communicate(timeout=30)
    left = leftovers_of("e2e-killed", namespace)
    manifest_of(program, "e2e-killed", namespace, SAYS)

    done = program.run("-f", str(path), "--runtime", "docker", "--timeout", "60s")

    assert len(left.volumes) >= 3
    assert "exit 3" in done.stdout, done.stderr
    assert leftovers_of("e2e-killed", namespace) == NOTHING


def test_a_kept_pod_is_removed_with_its_volumes(
    program: Program, namespace: str
) -> None:
    path = manifest_of(program, "e2e-kept-volumes", namespace, "sleep 60")
    program.run("-f", str(path), "--runtime", "docker", "--keep", "--until", "started")
    kept = leftovers_of("e2e-kept-volumes", namespace)

    down = program.run("down", "-f", str(path), "--runtime", "docker")

    assert len(kept.volumes) >= 3
    assert down.stdout == f"removed {namespace}/e2e-kept-volumes (docker)\n"
    assert leftovers_of("e2e-kept-volumes", namespace) == NOTHING
