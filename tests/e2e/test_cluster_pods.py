"""Pods as a cluster returns them, run on every kind of runtime."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.program import Program
from tests.engines import cri_variables

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

CLUSTER_PODS = Path(__file__).parents[1] / "manifest" / "cluster_pods"
NAMES = sorted(path.stem for path in CLUSTER_PODS.glob("*.yaml"))
PROBE = "        - 'true'\n"
ACCOUNT = "var/run/secrets/kubernetes.io/serviceaccount"
CHECK = (
    f"        - sh\n        - -c\n        - cd {ACCOUNT} && grep -q stand-in token"
    " && grep -q e2e- namespace && grep -q CERTIFICATE ca.crt\n"
)
"""A probe that fails unless all files are there."""


def ready_with_stand_ins(
    program: Program, namespace: str, pods: list[str], runtime: str, version: str
) -> None:
    texts = [(CLUSTER_PODS / f"{name}.yaml").read_text() for name in pods]
    assert all(PROBE in text for text in texts)

    done = program.run(
        "run", "-f", "-", "--runtime", runtime, "--plain", "--stub-missing",
        "--until", "ready", "--timeout", "50s", "-n", namespace,
        "--kubelet", version,
        stdin="\n---\n".join(texts).replace(PROBE, CHECK),
        seconds=120,
    )  # fmt: skip

    assert done.returncode == 0, done.stderr
    assert "FailedMount" not in done.stdout
    assert done.stderr.count("here is a stand-in") == 1


@pytest.mark.parametrize("name", NAMES)
def test_a_pod_of_a_cluster_of_any_version_reads_its_stand_ins(
    tmp_path: Path, namespace: str, name: str
) -> None:
    program = Program(tmp_path, cri_variables())

    version = name.partition("-")[0]
    ready_with_stand_ins(program, namespace, [name], "process", version)


@pytest.mark.parametrize(
    "runtime",
    [
        pytest.param("docker", marks=pytest.mark.docker),
        pytest.param("cri", marks=pytest.mark.cri),
    ],
)
def test_the_pods_of_a_cluster_read_their_stand_ins_in_containers(
    tmp_path: Path, namespace: str, runtime: str
) -> None:
    program = Program(tmp_path, cri_variables())

    ready_with_stand_ins(program, namespace, NAMES, runtime, "1.37")


STUBS = """\
apiVersion: v1
kind: Pod
metadata: {name: stubs}
spec:
  terminationGracePeriodSeconds: 1
  containers:
  - name: app
    image: busybox:1.36
    command: [sh, -c, 'trap exit TERM; while :; do sleep 1; done']
    env:
    - {name: MODE, valueFrom: {configMapKeyRef: {name: absent, key: mode}}}
    envFrom: [{secretRef: {name: absent}}]
    volumeMounts: [{name: secret, mountPath: /secret}, {name: data, mountPath: /data}]
    readinessProbe:
      periodSeconds: 1
      exec:
        command:
        - sh
        - -c
        - test "$MODE" = stub && grep -qx stub CHECKED/password && touch DATA/x
  volumes:
  - {name: secret, secret: {secretName: files, items: [{key: pw, path: password}]}}
  - {name: data, persistentVolumeClaim: {claimName: disk}}
"""


@pytest.mark.parametrize(
    ("runtime", "root"),
    [
        pytest.param("process", "."),
        pytest.param("docker", "", marks=pytest.mark.docker),
        pytest.param("cri", "", marks=pytest.mark.cri),
    ],
)
def test_a_pod_reads_stubs_of_missing_objects(
    tmp_path: Path, namespace: str, runtime: str, root: str
) -> None:
    program = Program(tmp_path, cri_variables())
    pod = STUBS.replace("CHECKED", f"{root}/secret").replace("DATA", f"{root}/data")

    done = program.run(
        "run", "-f", "-", "--runtime", runtime, "--plain", "--stub-missing",
        "--until", "ready", "--timeout", "50s", "-n", namespace,
        stdin=pod,
        seconds=120,
    )  # fmt: skip

    assert done.returncode == 0, done.stderr
    assert "FailedMount" not in done.stdout
    assert done.stderr.count(" is a stub") == 4
