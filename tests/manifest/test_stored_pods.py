"""Pods from an API server, as `kubectl get pod -o yaml` prints them."""

from __future__ import annotations

from datetime import UTC, datetime

from probetui.drive.scenario.world import World
from probetui.drive.simulation import Simulation
from probetui.engine.engine import Engine
from probetui.engine.inputs import SetPods
from probetui.k8s.pod import Pod
from probetui.k8s.pod_source import FILE_SOURCE
from probetui.kubelet.config import KubeletConfig
from probetui.kubelet.journal import ContainerEntry
from probetui.kubelet_rules import rules_of
from probetui.manifest.load import load_manifests
from probetui.manifest.manifests import Manifests
from probetui.manifest.yaml.parser import SourceFile
from tests.builders import START, at

CREATED = datetime(2026, 11, 23, 1, 3, 46, tzinfo=UTC)
STORED = """\
apiVersion: v1
kind: Pod
metadata:
  name: web
  uid: 13331dbb-3f40-4d49-ade8-d47426b77440
  creationTimestamp: "2026-11-23T01:03:46Z"
  resourceVersion: "48211"
  generation: 7
spec:
  containers:
  - name: app
    image: busybox
    volumeMounts: [{name: kube-api-access-x, mountPath: /token}]
  ephemeralContainers:
  - name: debugger-x8s
    image: busybox
    targetContainerName: app
    resources: {}
    tty: true
  volumes:
  - name: kube-api-access-x
    projected: {sources: [{serviceAccountToken: {path: token}}]}
status: {phase: Running, observedGeneration: 7}
"""


def load(text: str) -> Manifests:
    return load_manifests([SourceFile("pod.yaml", text)], rules=rules_of("1.36"))


def errors(manifests: Manifests) -> list[tuple[str, str]]:
    return [(one.path, one.rule) for one in manifests.errors]


def test_a_stored_pod_with_ephemeral_containers_and_a_token_is_run() -> None:
    manifests = load(STORED)

    assert errors(manifests) == []
    (pod,) = manifests.pods
    assert (pod.ephemeral_containers, pod.generation) == ((), 0)
    assert [one.path for one in manifests.unsupported] == ["spec.ephemeralContainers"]


NEW = STORED.replace('creationTimestamp: "2026-11-23T01:03:46Z"', "labels: {}")


def test_a_new_pod_has_a_token_because_admission_names_its_account() -> None:
    assert errors(load(NEW)) == [("spec.ephemeralContainers", "FieldValueForbidden")]


def test_a_static_pod_has_no_token_without_an_account() -> None:
    source = SourceFile("pod.yaml", NEW, kubelet_source=FILE_SOURCE)
    static = load_manifests([source], rules=rules_of("1.36"))

    assert errors(static) == [
        ("spec.ephemeralContainers", "FieldValueForbidden"),
        (
            "spec.volumes[0].projected.sources[0].serviceAccountToken",
            "FieldValueForbidden",
        ),
    ]


def test_the_age_of_a_pod_is_kept() -> None:
    (pod,) = load(STORED).pods

    assert pod.created_at == CREATED


def test_a_new_kubelet_gets_the_readiness_of_a_stored_pod() -> None:
    ready = 'status: {conditions: [{type: Ready, status: "True"}, {type: Initialized, '
    stored = STORED.replace("status: {", ready + 'status: "True"}], ')

    (loaded,) = load(stored).loaded

    assert [(one.type, one.status) for one in loaded.conditions] == [("Ready", "True")]


def a_stored_pod(name: str, hour: int) -> Pod:
    text = STORED.replace("name: web", f"name: {name}").replace("T01", f"T{hour:02}")
    (pod,) = load(text.replace("13331dbb", f"{hour:08}")).pods
    return pod


def test_stored_pods_are_started_in_the_order_of_their_creation() -> None:
    pods = a_stored_pod("young", 9), a_stored_pod("old", 3), a_stored_pod("middle", 5)
    simulation = Simulation(Engine(KubeletConfig(), START), World(), START)
    simulation.submit(SetPods(pods))

    simulation.run_until(at(5))

    started = [
        entry.pod_uid
        for entry in simulation.journal
        if isinstance(entry, ContainerEntry) and entry.what == "started"
    ]
    assert started == [pods[1].uid, pods[2].uid, pods[0].uid]
