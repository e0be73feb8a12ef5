"""Static pods as a kubelet takes them from a file or a URL, and conditions of gates."""

from __future__ import annotations

import pytest

from probetui.k8s.pod_source import API_SOURCE, CONFIG_HASH, FILE_SOURCE, HTTP_SOURCE
from probetui.k8s.status import ConditionStatus, PodCondition
from probetui.manifest.load import load_manifests
from probetui.manifest.manifests import Manifests
from probetui.manifest.yaml.parser import SourceFile

_POD = """\
apiVersion: v1
kind: Pod
metadata:
  name: etcd
spec:
  containers:
  - name: etcd
    image: busybox:1.36
"""
_OTHER = _POD.replace("name: etcd\nspec", "name: other\nspec")


def load(text: str, source: str = FILE_SOURCE, host: str = "Node-1") -> Manifests:
    return load_manifests(
        [SourceFile("m/pod.yaml", text, "/m/pod.yaml", source)], host=host
    )


def problems(manifests: Manifests) -> list[str]:
    """Return the problems of static pods."""
    return [
        str(problem) for problem in manifests.problems if problem.rule == "static-pod"
    ]


class TestIdentity:
    def test_its_name_ends_with_the_node_and_its_hash_is_its_uid(self) -> None:
        (loaded,) = load(_POD).loaded

        assert loaded.pod.name == "etcd-node-1"
        assert loaded.pod.annotations == {CONFIG_HASH: loaded.pod.uid}
        assert "nodeName: node-1" in loaded.manifest

    def test_one_of_a_file_stays_whatever_is_wrong_with_the_node(self) -> None:
        of_file, of_url = (load(_POD, kind) for kind in (FILE_SOURCE, HTTP_SOURCE))

        assert "effect: NoExecute" in of_file.loaded[0].manifest
        assert "effect: NoExecute" not in of_url.loaded[0].manifest

    def test_the_same_file_has_another_uid_on_another_node(self) -> None:
        one, other = (load(_POD, FILE_SOURCE, host).pods for host in ("a", "b"))

        assert one[0].uid != other[0].uid

    def test_the_same_url_has_the_same_uid_on_each_node(self) -> None:
        one, other = (load(_POD, HTTP_SOURCE, host).pods for host in ("a", "b"))

        assert one[0].uid == other[0].uid
        assert one[0].name != other[0].name

    def test_a_file_that_is_not_static_as_well_is_refused(self) -> None:
        both = [
            SourceFile("m/pod.yaml", _POD, "/m/pod.yaml", source)
            for source in (API_SOURCE, FILE_SOURCE)
        ]

        (error,) = load_manifests(both, host="a").errors

        assert str(error) == (
            "m/pod.yaml:3:1: metadata.uid: the pod is read twice: its file is in -f "
            "and in --static"
        )

    def test_what_it_is_called_with_the_node_has_to_be_valid(self) -> None:
        problem, *_ = load(_POD, host="node_1").errors

        assert str(problem).startswith(
            'm/pod.yaml:4:3: metadata.name: is "etcd-node_1"'
        )

    def test_a_pod_that_is_not_static_has_none_of_it(self) -> None:
        (loaded,) = load(_POD, "api").loaded

        assert loaded.pod.name == "etcd"
        assert not loaded.pod.annotations


class TestWhatIsTaken:
    @pytest.mark.parametrize(
        ("text", "source"),
        [
            pytest.param(
                "apiVersion: apps/v1\nkind: Deployment\n", FILE_SOURCE, id="workload"
            ),
            pytest.param("apiVersion: v1\nkind: ConfigMap\n", HTTP_SOURCE, id="other"),
            pytest.param(
                "apiVersion: v1\nkind: List\nitems: []\n", FILE_SOURCE, id="list"
            ),
        ],
    )
    def test_nothing_but_a_pod(self, text: str, source: str) -> None:
        (problem,) = load(text, source).errors

        assert str(problem) == (
            "m/pod.yaml:2:1: kind: a static pod is a Pod, and nothing else is taken "
            "from its file"
        )

    def test_a_url_may_have_a_list_of_pods(self) -> None:
        items = "".join(
            "- " + text.replace("\n", "\n  ").rstrip() + "\n" for text in (_POD, _OTHER)
        )

        found = load(f"apiVersion: v1\nkind: List\nitems:\n{items}", HTTP_SOURCE)

        assert [pod.name for pod in found.pods] == ["etcd-node-1", "other-node-1"]

    def test_the_first_document_of_a_file(self) -> None:
        found = load(f"{_POD}---\n{_OTHER}")

        assert [pod.name for pod in found.pods] == ["etcd-node-1"]
        (problem,) = problems(found)
        assert problem == (
            "m/pod.yaml:10:1: left out: of a static pod's file a kubelet reads the "
            "first document only"
        )

    def test_it_cannot_refer_to_objects_of_the_api(self) -> None:
        text = _POD + (
            "    envFrom: [{configMapRef: {name: settings, optional: true}}]\n"
            "  serviceAccountName: robot\n"
        )

        why = "a static pod cannot refer to objects of the API"
        field = "spec.containers[0].envFrom[0].configMapRef"
        assert problems(load(text)) == [
            f'm/pod.yaml:9:16: {field}: ConfigMap "settings": {why}',
            f'm/pod.yaml:10:3: spec.serviceAccountName: ServiceAccount "robot": {why}',
        ]


class TestConditions:
    TEXT = _POD + (
        "  readinessGates: [{conditionType: example.com/open}]\n"
        "status:\n"
        "  conditions:\n"
        "  - {type: example.com/open, status: 'True', reason: Registered}\n"
        "  - {type: Ready, status: 'False'}\n"
        "  - {type: example.com/other, status: 'True'}\n"
    )

    def test_those_of_readiness_gates_are_kept(self) -> None:
        (loaded,) = load(self.TEXT, "api").loaded

        assert loaded.conditions == (
            PodCondition("example.com/open", ConditionStatus.TRUE, "Registered"),
        )

    @pytest.mark.parametrize(
        ("text", "source"),
        [
            pytest.param(TEXT, FILE_SOURCE, id="static"),
            pytest.param(TEXT.replace("'True'", "'Maybe'"), "api", id="no-status"),
            pytest.param(_POD, "api", id="no-gates"),
        ],
    )
    def test_others_are_not(self, text: str, source: str) -> None:
        (loaded,) = load(text, source).loaded

        assert loaded.conditions == ()
