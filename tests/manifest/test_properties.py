"""Properties of loading: any file gives pods or problems, and never an exception."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from probetui.manifest.manifests import FieldValidation
from probetui.manifest.yaml.scalars import resolve_scalar
from tests.manifest.yaml_pods import PROBED, load, pod_yaml

_SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=20),
    st.sampled_from(["http", "5s", "Always", "yes", "1e1", "\x1b[2J", "\udc80"]),
)
_ANYTHING = st.recursive(
    _SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.sampled_from(["name", "exec", "port", "a.b", ""]), inner),
    ),
    max_leaves=8,
)
_BASE: dict[str, Any] = yaml.safe_load(
    pod_yaml(
        "command: [a], env: [{name: A, value: b}], ports: [{name: http, containerPort:"
        " 80}], resources: {limits: {cpu: 1}}, volumeMounts: [{name: v, mountPath:"
        " /v}], lifecycle: {preStop: {sleep: {seconds: 1}}}, livenessProbe: {httpGet:"
        " {port: http, httpHeaders: [{name: A, value: b}]}, periodSeconds: 5},"
        " readinessProbe: {exec: {command: [a]}}, startupProbe: {grpc: {port: 1}}",
        "volumes: [{name: v, configMap: {name: c}}], initContainers: [{name: i, image:"
        " x}], readinessGates: [{conditionType: g}], tolerations: [{key: a}]",
        "name: web, labels: {a: b}",
    )
)


def _paths(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    items = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    return [path] * bool(path) + [
        inner_path for key, inner in items for inner_path in _paths(inner, (*path, key))
    ]


@given(st.text())
def test_any_text_gives_problems_or_pods(text: str) -> None:
    manifests = load(text)

    assert all(problem.file == "pod.yaml" for problem in manifests.problems)


@given(st.binary())
def test_any_bytes_give_problems_or_pods(data: bytes) -> None:
    manifests = load(data)

    assert manifests.pods == ()


@given(st.text(alphabet="&*a: -[]{},\n<!|>'\"?%#~0\t", max_size=60))
def test_any_signs_of_yaml_give_problems_or_pods(text: str) -> None:
    load(text)


@given(st.sampled_from(_paths(_BASE)), _ANYTHING)
def test_anything_anywhere_in_a_pod_gives_problems_that_can_be_printed(
    path: tuple[Any, ...], value: Any
) -> None:
    document = copy.deepcopy(_BASE)
    inner = document
    for step in path[:-1]:
        inner = inner[step]
    inner[path[-1]] = value

    manifests = load(yaml.safe_dump(document), validation=FieldValidation.STRICT)

    printed = "".join(str(problem) for problem in manifests.problems)
    assert all(character.isprintable() or character == "\n" for character in printed)
    assert bool(manifests.pods) != bool(manifests.errors)


@pytest.mark.slow
@given(
    st.lists(st.text(st.characters(exclude_categories=["Cs", "Cc"])), max_size=3),
    st.integers(1, 100),
    st.sampled_from(["Always", "OnFailure", "Never"]),
)
def test_a_rendered_pod_loads_as_the_same_pod(
    command: list[str], seconds: int, policy: str
) -> None:
    document = copy.deepcopy(_BASE)
    container = document["spec"]["containers"][0]
    container["command"] = command
    container["livenessProbe"]["periodSeconds"] = seconds
    document["spec"]["restartPolicy"] = policy

    # in quotes, as PyYAML leaves "y" without and Go reads a boolean
    (loaded,) = load(yaml.safe_dump(document, default_style='"')).loaded

    assert load(loaded.manifest).pods == (loaded.pod,)


@given(st.text(alphabet="0123456789+-._eExXoObBaAfF:", max_size=12))
def test_any_number_like_text_means_something(text: str) -> None:
    value = resolve_scalar(text, None, is_plain=True)

    assert value is None or isinstance(value, str | int | float)


def test_the_base_of_these_tests_is_a_good_pod() -> None:
    assert load(yaml.safe_dump(_BASE)).errors == ()
    assert load(pod_yaml(PROBED)).errors == ()
