from __future__ import annotations

import pytest

from probetui.k8s.volume import ConfigMap, ConfigObject, Secret
from probetui.manifest.config_objects import ConfigObjectReader
from probetui.manifest.problem import Severity
from probetui.manifest.yaml.nodes import MapNode
from probetui.manifest.yaml.parser import SourceFile, parse_yaml


def read(
    kind: str,
    fields: str,
    namespace: str | None = None,
    unknown: Severity | None = Severity.WARNING,
    path: str = "",
) -> tuple[ConfigObject | None, list[str]]:
    """Read an object called `x`; return it and its problems as they are printed."""
    text = f"metadata: {{name: x}}\n{fields}\n"
    (document,) = parse_yaml(SourceFile("a.yaml", text)).documents
    assert isinstance(document.root, MapNode)
    reader = ConfigObjectReader(kind, document.root, path, unknown)
    value = reader.read(namespace)
    return value, [str(problem) for problem in reader.problems]


def test_a_config_map_has_texts_and_bytes() -> None:
    value, problems = read(
        "ConfigMap", "data: {a: text, b: ''}\nbinaryData: {c: AP8=}\nimmutable: true"
    )

    assert value == ConfigMap("x", "default", {"a": "text", "b": ""}, {"c": b"\0\xff"})
    assert problems == []


def test_a_secret_is_decoded_and_plain_text_counts_before_it() -> None:
    value, problems = read(
        "Secret", "type: Opaque\ndata: {a: b25l, b: b25l}\nstringData: {b: two é}"
    )

    assert value == Secret("x", "default", {"a": b"one", "b": "two é".encode()})
    assert problems == []


def test_line_ends_in_base64_do_not_matter() -> None:
    value, _ = read("Secret", "data:\n  a: |\n    b2\n    5l\n")

    assert value == Secret("x", "default", {"a": b"one"})


def test_an_object_may_be_empty() -> None:
    assert read("ConfigMap", "data:") == (ConfigMap("x"), [])
    assert read("Secret", "data: null") == (Secret("x"), [])


@pytest.mark.parametrize(
    ("written", "requested", "namespace"),
    [
        pytest.param("", None, "default", id="none"),
        pytest.param("metadata: {name: x, namespace: a}", None, "a", id="written"),
        pytest.param("metadata: {name: x, namespace: a}", "b", "b", id="asked for"),
    ],
)
def test_the_namespace(written: str, requested: str | None, namespace: str) -> None:
    value, _ = read("ConfigMap", written, requested)

    assert value is not None
    assert value.namespace == namespace


@pytest.mark.parametrize(
    ("kind", "fields", "problem"),
    [
        pytest.param(
            "Secret",
            "data: {a: plain!}",
            "a.yaml:2:8: data.a: must be base64 (`stringData` takes plain text)",
            id="no base64 in a Secret",
        ),
        pytest.param(
            "ConfigMap",
            "binaryData: {a: b}",
            "a.yaml:2:14: binaryData.a: must be base64 (`data` takes plain text)",
            id="no base64 in a ConfigMap",
        ),
        pytest.param(
            "ConfigMap",
            "data: {a: 5}",
            "a.yaml:2:8: data.a: is the number 5, must be a string: put it in quotes,"
            ' "5" (json: cannot unmarshal number into Go struct field ConfigMap.data of'
            " type string)",
            id="a number",
        ),
        pytest.param(
            "ConfigMap",
            "data: {a.b: x}\nbinaryData: {a.b: eA==}",
            'a.yaml:2:8: data[a.b]: is "a.b": duplicate of key present in binaryData',
            id="twice",
        ),
        pytest.param(
            "Secret",
            "stringData: {..: x}",
            "a.yaml:1:1: data[..]: is \"..\", must not be '..'",
            id="a key that is no file name",
        ),
        pytest.param(
            "ConfigMap",
            "metadata: {name: ''}",
            "a.yaml:2:12: metadata.name: is missing: name or generateName is required",
            id="no name",
        ),
        pytest.param(
            "ConfigMap",
            f"data: {{a: {'x' * (1024 * 1024 + 1)}}}",
            "a.yaml:2:1: data: may not be more than 1048576 bytes",
            id="too large",
        ),
    ],
)
def test_what_cannot_be_is_refused_where_it_stands(
    kind: str, fields: str, problem: str
) -> None:
    assert read(kind, fields) == (None, [problem])


def test_an_unknown_field_is_a_warning() -> None:
    value, problems = read("ConfigMap", "datas: {}")

    assert value == ConfigMap("x")
    assert problems == [
        'a.yaml:2:1: datas: unknown field "datas" (did you mean "data"?)'
    ]


def test_an_unknown_field_may_be_an_error_or_nothing() -> None:
    assert read("ConfigMap", "datas: {}", unknown=Severity.ERROR)[0] is None
    assert read("ConfigMap", "datas: {}", unknown=None) == (ConfigMap("x"), [])


def test_a_list_item_is_reported_with_its_position() -> None:
    _, (problem,) = read("Secret", "data: {a: '?'}", path="items[3]")

    assert problem.startswith("a.yaml:2:8: items[3].data.a: must be base64")
