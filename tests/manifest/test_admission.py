"""What an API server changes in a new pod, and what its admission refuses."""

from __future__ import annotations

import pytest
from lightkube.models import core_v1

from probetui.kubelet_rules import rules_of
from probetui.manifest.admission import prepare_pod
from probetui.manifest.load import load_manifests
from probetui.manifest.yaml.parser import SourceFile
from tests.manifest.yaml_pods import pod_model, pod_yaml

SPREAD = (
    "topologySpreadConstraints: [{maxSkew: 1, topologyKey: zone, whenUnsatisfiable:"
    " DoNotSchedule, labelSelector: {}, matchLabelKeys: [app, absent]}]"
)
AFFINE = (
    "affinity: {podAntiAffinity: {preferredDuringSchedulingIgnoredDuringExecution:"
    " [{weight: 1, podAffinityTerm: {topologyKey: zone, labelSelector: {},"
    " matchLabelKeys: [app], mismatchLabelKeys: [tier]}}]}}"
)
METADATA = "name: web, labels: {app: x, tier: z}"


def spec_of(pod: core_v1.Pod) -> core_v1.PodSpec:
    assert pod.spec is not None
    return pod.spec


@pytest.mark.parametrize(
    ("version", "merged"), [("1.33", None), ("1.36", [("app", "In", ["x"])])]
)
def test_a_spread_selects_by_the_labels_of_the_pod(
    version: str, merged: list[tuple[str, str, list[str]]] | None
) -> None:
    pod = pod_model("", SPREAD, METADATA)

    prepare_pod(pod, rules_of(version))

    (spread,) = spec_of(pod).topologySpreadConstraints or []
    assert spread.labelSelector is not None
    found = spread.labelSelector.matchExpressions
    assert merged == (
        [(one.key, one.operator, one.values) for one in found] if found else None
    )


def test_neighbours_are_selected_by_the_labels_of_the_pod() -> None:
    pod = pod_model("", AFFINE, METADATA)

    prepare_pod(pod, rules_of("1.36"))

    affinity = spec_of(pod).affinity
    assert affinity is not None
    assert affinity.podAntiAffinity is not None
    (term,) = (
        affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution or []
    )
    selector = term.podAffinityTerm.labelSelector
    assert selector is not None
    assert [
        (one.key, one.operator, one.values) for one in selector.matchExpressions or ()
    ] == [("app", "In", ["x"]), ("tier", "NotIn", ["z"])]


def test_a_loaded_pod_loads_again() -> None:
    text = pod_yaml("", SPREAD, METADATA)
    rules = rules_of("1.36")
    (first,) = load_manifests([SourceFile("a.yaml", text)], rules=rules).loaded

    (second,) = load_manifests(
        [SourceFile("b.yaml", first.manifest)], rules=rules
    ).loaded

    assert second.manifest == first.manifest


@pytest.mark.parametrize(("version", "seconds"), [("1.35", -1), ("1.36", 1)])
def test_a_negative_grace_period_is_a_second(version: str, seconds: int) -> None:
    pod = pod_model("", "terminationGracePeriodSeconds: -1")

    prepare_pod(pod, rules_of(version))

    assert spec_of(pod).terminationGracePeriodSeconds == seconds


def test_an_owner_that_is_named_twice_is_one() -> None:
    owner = "{apiVersion: apps/v1, kind: ReplicaSet, name: r, uid: u-1}"
    other = owner.replace("name: r", "name: s")
    metadata = f"name: web, ownerReferences: [{owner}, {other}, {owner}]"
    manifests = load_manifests([SourceFile("a.yaml", pod_yaml(metadata=metadata))])

    assert manifests.errors == ()
    assert [
        problem.message.rpartition(": ")[2]
        for problem in manifests.warnings
        if problem.path == "metadata.ownerReferences"
    ] == ["u-1"]


def test_an_annotated_profile_is_the_containers_own() -> None:
    key = "container.apparmor.security.beta.kubernetes.io/app"
    metadata = f"name: web, annotations: {{{key}: runtime/default}}"
    (loaded,) = load_manifests(
        [SourceFile("a.yaml", pod_yaml(metadata=metadata))], rules=rules_of("1.36")
    ).loaded

    assert "appArmorProfile:\n          type: RuntimeDefault\n" in loaded.manifest


@pytest.mark.parametrize(
    ("gates", "dropped"),
    [
        ((), ["clusterTrustBundle", "podCertificate"]),
        (("ClusterTrustBundleProjection=true",), ["podCertificate"]),
        (("PodCertificateRequest=true",), ["clusterTrustBundle"]),
    ],
)
def test_sources_of_later_versions_are_dropped(
    gates: tuple[str, ...], dropped: list[str]
) -> None:
    spec = (
        "volumes: [{name: v, projected: {sources: [{clusterTrustBundle: {name: a,"
        " path: a}}, {podCertificate: {signerName: a.b/c, keyType: ED25519,"
        " keyPath: k}}]}}]"
    )
    source = SourceFile("a.yaml", pod_yaml(spec=spec))
    manifests = load_manifests([source], rules=rules_of("1.36", gates))

    assert [
        problem.path.rpartition(".")[2]
        for problem in manifests.warnings
        if problem.rule == "disabled-field"
    ] == dropped


class TestAdmission:
    def forbidden(self, spec: str, *objects: str) -> list[str]:
        text = "---\n".join([pod_yaml(spec=spec), *objects])
        manifests = load_manifests([SourceFile("a.yaml", text)])
        assert manifests.errors == ()
        return [
            f"{one.path}: {one.message.partition(' is forbidden: ')[2]}"
            for one in manifests.warnings
            if one.rule == "admission"
        ]

    HIGH = (
        "apiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\n"
        "metadata: {name: high}\nvalue: 7\npreemptionPolicy: Never\n"
    )
    SANDBOX = (
        "apiVersion: node.k8s.io/v1\nkind: RuntimeClass\nmetadata: {name: sandbox}\n"
        "handler: x\noverhead: {podFixed: {cpu: 0.1}}\n"
    )

    @pytest.mark.parametrize(
        ("spec", "answers"),
        [
            ("priorityClassName: system-node-critical", []),
            (
                "priorityClassName: high",
                [
                    "spec.priorityClassName: no PriorityClass with name high was found",
                ],
            ),
            (
                "priority: 5",
                [
                    (
                        "spec.priority: the integer value of priority (5) must not be"
                        " provided in pod spec; priority admission controller computed"
                        " 0 from the given PriorityClass name"
                    ),
                ],
            ),
            (
                "preemptionPolicy: Never",
                [
                    (
                        "spec.preemptionPolicy: the string value of PreemptionPolicy"
                        " (Never) must not be provided in pod spec; priority admission"
                        " controller computed PreemptLowerPriority from the given"
                        " PriorityClass name"
                    ),
                ],
            ),
            (
                "runtimeClassName: sandbox",
                [
                    (
                        'spec.runtimeClassName: pod rejected: RuntimeClass "sandbox"'
                        " not found"
                    )
                ],
            ),
            (
                "overhead: {cpu: 1}",
                [
                    (
                        "spec.overhead: pod rejected: Pod Overhead set without"
                        " corresponding RuntimeClass defined Overhead"
                    )
                ],
            ),
        ],
    )
    def test_classes_that_no_file_has(self, spec: str, answers: list[str]) -> None:
        assert self.forbidden(spec) == answers

    @pytest.mark.parametrize(
        "spec",
        [
            "priorityClassName: high, priority: 7, preemptionPolicy: Never",
            "runtimeClassName: sandbox, overhead: {cpu: 100m}",
        ],
    )
    def test_classes_of_the_files_are_there(self, spec: str) -> None:
        assert self.forbidden(spec, self.HIGH, self.SANDBOX) == []

    def test_another_overhead_than_that_of_the_class(self) -> None:
        spec = "runtimeClassName: sandbox, overhead: {cpu: 1}"

        assert self.forbidden(spec, self.SANDBOX) == [
            (
                "spec.overhead: pod rejected: Pod's Overhead doesn't match"
                " RuntimeClass's defined Overhead"
            )
        ]

    def test_a_pod_has_the_priority_and_the_overhead_of_its_classes(self) -> None:
        spec = "priorityClassName: high, runtimeClassName: sandbox"
        text = "---\n".join([pod_yaml(spec=spec), self.HIGH, self.SANDBOX])
        (loaded,) = load_manifests([SourceFile("a.yaml", text)]).loaded

        assert "priority: 7" in loaded.manifest
        assert "overhead:\n    cpu: 100m" in loaded.manifest
