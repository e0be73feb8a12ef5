from __future__ import annotations

import pytest

from probetui.manifest.problem import Problem
from probetui.manifest.workloads import (
    WORKLOADS,
    ListObject,
    OtherObject,
    WorkloadObject,
    classify_object,
    name_of,
)
from probetui.manifest.yaml.nodes import to_plain
from probetui.manifest.yaml.parser import SourceFile, parse_yaml


def _classified(text: str) -> object:
    (document,) = parse_yaml(SourceFile("a.yaml", text)).documents
    return classify_object(document.root)


@pytest.mark.parametrize("kind", list(WORKLOADS))
def test_workloads_are_known(kind: str) -> None:
    workload = WORKLOADS[kind]

    found = _classified(f"apiVersion: {workload.api_version}\nkind: {kind}\n")

    assert isinstance(found, WorkloadObject)
    assert found.workload is workload
    assert found.name == ""


@pytest.mark.parametrize(
    ("api_version", "kind"),
    [
        pytest.param("v1", "Service", id="core"),
        pytest.param("v1", "ConfigMap", id="configuration"),
        pytest.param("apps/v1", "ControllerRevision", id="apps"),
        pytest.param("networking.k8s.io/v1", "Ingress", id="another-group"),
        pytest.param("argoproj.io/v1alpha1", "Rollout", id="somebody-elses"),
        pytest.param("batch.volcano.sh/v1alpha1", "Job", id="somebody-elses-job"),
    ],
)
def test_other_kinds_are_no_error(api_version: str, kind: str) -> None:
    found = _classified(
        f"apiVersion: {api_version}\nkind: {kind}\nmetadata: {{name: x}}\n"
    )

    assert isinstance(found, OtherObject)
    assert (found.api_version, found.kind, found.name) == (api_version, kind, "x")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        pytest.param(
            "- a\n",
            "a.yaml:1:1: a Kubernetes object is a mapping that begins with apiVersion"
            " and kind",
            id="list",
        ),
        pytest.param(
            "apiVersion: v1\n",
            "a.yaml:1:1: kind: is missing, set it as in `kind: Pod`",
            id="no-kind",
        ),
        pytest.param(
            "kind: Pod\n",
            "a.yaml:1:1: apiVersion: is missing, set it as in `apiVersion: v1`",
            id="no-version",
        ),
        pytest.param(
            "apiVersion: 1\nkind: Pod\n",
            "a.yaml:1:1: apiVersion: must be a string",
            id="version-is-a-number",
        ),
        pytest.param(
            "apiVersion: v1\nkind: Pood\n",
            'a.yaml:2:1: kind: no kind "Pood" in v1 (did you mean "Pod"?)',
            id="kind-misspelt",
        ),
        pytest.param(
            "apiVersion: v1\nkind: pod\n",
            'a.yaml:2:1: kind: no kind "pod" in v1 (did you mean "Pod"?)',
            id="kind-in-lower-case",
        ),
        pytest.param(
            "apiVersion: v1\nkind: Xyzzy\n",
            'a.yaml:2:1: kind: no kind "Xyzzy" in v1',
            id="kind-like-no-other",
        ),
        pytest.param(
            "apiVersion: v1\nkind: Probe\n",
            'a.yaml:2:1: kind: no kind "Probe" in v1',
            id="type-that-is-no-kind",
        ),
        pytest.param(
            "apiVersion: v2\nkind: Pod\n",
            'a.yaml:1:1: apiVersion: is "v2", must be "v1" for a Pod',
            id="version-of-a-pod",
        ),
        pytest.param(
            "apiVersion: extensions/v1beta1\nkind: Deployment\n",
            'a.yaml:1:1: apiVersion: is "extensions/v1beta1", must be "apps/v1" for a'
            " Deployment",
            id="version-of-long-ago",
        ),
        pytest.param(
            "apiVersion: v7\nkind: Service\n",
            'a.yaml:1:1: apiVersion: unknown API version "v7"',
            id="unknown-version",
        ),
        pytest.param(
            "apiVersion: one\nkind: Service\n",
            'a.yaml:1:1: apiVersion: unknown API version "one"',
            id="no-version-at-all",
        ),
        pytest.param(
            "apiVersion: v1\nkind: List\nitems: {}\n",
            "a.yaml:3:1: items: must be a list (lines that begin with `- `)",
            id="items-that-are-no-list",
        ),
    ],
)
def test_a_document_that_is_no_object_has_an_error(text: str, problem: str) -> None:
    found = _classified(text)

    assert isinstance(found, Problem)
    assert str(found) == problem


def test_items_of_a_typed_list_need_not_repeat_the_kind() -> None:
    found = _classified(
        "apiVersion: v1\nkind: PodList\nitems: [{a: 1}, {kind: X}, 5]\n"
    )

    assert isinstance(found, ListObject)
    assert [to_plain(item) for item in found.items] == [
        {"a": 1, "apiVersion": "v1", "kind": "Pod"},
        {"kind": "X", "apiVersion": "v1"},
        5,
    ]


def test_items_of_a_list_stay_as_they_are() -> None:
    found = _classified("apiVersion: v1\nkind: List\nitems: [{kind: Pod}]\n")

    assert isinstance(found, ListObject)
    assert [to_plain(item) for item in found.items] == [{"kind": "Pod"}]


def test_a_list_may_be_empty() -> None:
    assert _classified("apiVersion: v1\nkind: List\n") == ListObject(())


def test_metadata_that_is_no_mapping_has_no_name() -> None:
    found = _classified("apiVersion: v1\nkind: Service\nmetadata: web\n")

    assert isinstance(found, OtherObject)
    assert name_of(found.node) == ""
