from __future__ import annotations

import pytest

from probetui.manifest.problem import Position
from probetui.manifest.yaml.nodes import (
    MapEntry,
    MapNode,
    ScalarNode,
    YamlNode,
    join_path,
    locate_field,
    split_path,
    to_plain,
)
from probetui.manifest.yaml.parser import SourceFile, parse_yaml

_TEXT = """\
metadata:
  labels:
    a.b/c: x
spec:
  containers:
    - name: app
      ports: [80, null]
"""


def _root(text: str = _TEXT) -> YamlNode:
    (document,) = parse_yaml(SourceFile("pod.yaml", text)).documents
    return document.root


@pytest.mark.parametrize(
    ("path", "line", "column"),
    [
        pytest.param("", 1, 1, id="the-document"),
        pytest.param("spec.containers", 5, 3, id="a-key"),
        pytest.param("spec.containers[0]", 6, 7, id="an-item"),
        pytest.param("spec.containers[0].ports[1]", 7, 19, id="an-item-in-a-line"),
        pytest.param("metadata.labels[a.b/c]", 3, 5, id="a-key-with-dots"),
        pytest.param("spec.containers[0].image", 6, 7, id="missing-field"),
        pytest.param("spec.containers[7].image", 5, 3, id="missing-item"),
        pytest.param("spec.containers.subPath", 5, 3, id="a-list-has-no-fields"),
        pytest.param("spec.containers[0].name.x", 6, 7, id="below-a-scalar"),
    ],
)
def test_a_field_is_found_or_what_is_around_it(
    path: str, line: int, column: int
) -> None:
    assert locate_field(_root(), path) == Position("pod.yaml", line, column)


@pytest.mark.parametrize(
    ("path", "step", "joined"),
    [
        pytest.param("", "spec", "spec", id="first"),
        pytest.param("spec", "containers", "spec.containers", id="key"),
        pytest.param("spec.containers", 0, "spec.containers[0]", id="index"),
        pytest.param("a", "b.c", "a[b.c]", id="key-with-a-dot"),
        pytest.param("a", "b[0]", "a[b[0]]", id="key-with-brackets"),
    ],
)
def test_paths_are_written_as_kubernetes_does(
    path: str, step: str | int, joined: str
) -> None:
    assert join_path(path, step) == joined


def test_a_path_is_read_back() -> None:
    assert list(split_path("a.b[0].c[d.e]")) == ["a", "b", "0", "c", "d.e"]


def test_a_tree_is_plain_data_again() -> None:
    assert to_plain(_root()) == {
        "metadata": {"labels": {"a.b/c": "x"}},
        "spec": {"containers": [{"name": "app", "ports": [80, None]}]},
    }


def test_null_is_as_good_as_absent() -> None:
    root = _root("a: null\nb: 5\n")

    assert isinstance(root, MapNode)
    assert root.get("a") is None
    assert root.get("c") is None
    assert root.text("b") == ""


def test_an_entry_is_replaced_in_its_place() -> None:
    root = _root("a: 1\nb: 2\n")
    position = Position("x")

    assert isinstance(root, MapNode)
    changed = root.with_entry(MapEntry("a", position, ScalarNode(3, "3", position)))
    assert to_plain(changed) == {"a": 3, "b": 2}
    assert to_plain(root) == {"a": 1, "b": 2}
