from __future__ import annotations

import pytest
import yaml

from probetui.manifest.problem import Position
from probetui.manifest.yaml import parser as parse_module
from probetui.manifest.yaml.composer import MAX_NODES
from probetui.manifest.yaml.nodes import to_plain
from probetui.manifest.yaml.parser import (
    MAX_BYTES,
    SourceFile,
    parse_yaml,
    parse_yaml_value,
)


def _values(text: str | bytes) -> list[object]:
    parsed = parse_yaml(SourceFile("a.yaml", text))
    assert parsed.problems == ()
    return [to_plain(document.root) for document in parsed.documents]


def _problem(text: str | bytes) -> str:
    (problem,) = parse_yaml(SourceFile("a.yaml", text)).problems
    return str(problem)


def test_a_file_has_several_documents() -> None:
    assert _values("a: 1\n---\nb: 2\n...\n---\n- c\n") == [{"a": 1}, {"b": 2}, ["c"]]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="empty"),
        pytest.param("# nothing\n", id="comment"),
        pytest.param("---\n---\n", id="separators"),
        pytest.param("null\n", id="null"),
        pytest.param("\ufeff", id="byte-order-mark"),
    ],
)
def test_an_empty_text_is_no_document(text: str) -> None:
    assert _values(text) == []


@pytest.mark.parametrize(
    "data",
    [
        pytest.param("a: é".encode(), id="utf-8"),
        pytest.param("\ufeffa: é".encode(), id="utf-8-with-a-mark"),
        pytest.param("a: é".encode("utf-16"), id="utf-16"),
        pytest.param("\ufeffa: é".encode("utf-16-be"), id="utf-16-big-endian"),
    ],
)
def test_bytes_are_read_in_the_encodings_of_yaml(data: bytes) -> None:
    assert _values(data) == [{"a": "é"}]


def test_json_is_yaml() -> None:
    assert _values('{"a": [1, "2", true, null]}') == [{"a": [1, "2", True, None]}]


def test_an_alias_is_the_value_of_its_anchor() -> None:
    assert _values("a: &x {k: 1}\nb: *x\nc: [*x]\n") == [
        {"a": {"k": 1}, "b": {"k": 1}, "c": [{"k": 1}]}
    ]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        pytest.param("<<: *x\nk: 2", {"k": 2, "m": 1}, id="own-key-after-it"),
        pytest.param("k: 2\n<<: *x", {"k": 1, "m": 1}, id="quirk-own-key-before-it"),
        pytest.param("<<: [{k: 3}, *x]", {"k": 3, "m": 1}, id="first-of-a-list"),
    ],
)
def test_merged_keys(text: str, value: dict[str, int]) -> None:
    """Quirk: what is merged replaces keys that were written before it."""
    body = "\n".join(f"  {line}" for line in text.splitlines())
    (document,) = _values(f"base: &x {{k: 1, m: 1}}\nit:\n{body}\n")

    assert isinstance(document, dict)
    assert document["it"] == value


@pytest.mark.parametrize(
    ("text", "doubled"),
    [
        pytest.param("<<: *x\nk: 2", [], id="own-key-after-it"),
        pytest.param("k: 2\n<<: *x", [], id="own-key-before-it"),
        pytest.param("<<: [{k: 3}, *x]", [], id="two-sources"),
        pytest.param("<<: *x\nk: 2\nk: 3", [("k", 5)], id="written-twice"),
    ],
)
def test_only_a_key_that_is_written_twice_is_doubled(
    text: str, doubled: list[tuple[str, int]]
) -> None:
    """kubectl sends JSON, in which what `<<` merged and was overridden stands once."""
    body = "\n".join(f"  {line}" for line in text.splitlines())
    source = SourceFile("a.yaml", f"base: &x {{k: 1, m: 1}}\nit:\n{body}\n")
    (document,) = parse_yaml(source).documents

    found = [(one.key, one.value.line) for one in document.duplicates]
    assert found == doubled
    assert {one.path for one in document.duplicates} <= {"it"}


def test_double_keys_are_remembered_in_the_order_of_their_values() -> None:
    text = "a: {k: 1, k: 2}\nb: 1\nb: 2\nc: {k: 1, k: 2}\n"
    (document,) = parse_yaml(SourceFile("a.yaml", text)).documents

    assert [(one.path, one.key) for one in document.duplicates] == [
        ("a", "k"),
        ("", "b"),
        ("c", "k"),
    ]


@pytest.mark.parametrize(
    ("text", "is_empty"),
    [
        pytest.param("---\n---\na: 1\n", True, id="nothing"),
        pytest.param("null\n---\na: 1\n", True, id="null"),
        pytest.param("# a\n---\na: 1\n", False, id="comment-before-the-marker"),
        pytest.param("---\na: 1\n---\n", False, id="last"),
    ],
)
def test_an_empty_first_document_is_reported(text: str, *, is_empty: bool) -> None:
    assert parse_yaml(SourceFile("a.yaml", text)).starts_empty is is_empty


def test_of_double_keys_the_last_counts_and_all_are_remembered() -> None:
    (document,) = parse_yaml(
        SourceFile("a.yaml", "s:\n- k: 1\n  k:\n    2\n")
    ).documents

    (double,) = document.duplicates
    assert to_plain(document.root) == {"s": [{"k": 2}]}
    assert (double.path, double.key) == ("s[0]", "k")
    assert double.first == Position("a.yaml", 2, 3)
    assert double.position == Position("a.yaml", 3, 3)
    assert double.value == Position("a.yaml", 4, 5)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        pytest.param(
            "metadata:\n\tname: web\n",
            "a.yaml:2:1: found character that cannot start any token; a tab cannot"
            " indent YAML, use spaces\n     name: web\n    ^",
            id="tab",
        ),
        pytest.param(
            "a: [b\nc: d\n",
            "a.yaml:2:2: did not find expected ',' or ']' while parsing a flow sequence"
            " that begins in line 1\n    c: d\n     ^",
            id="open-bracket",
        ),
        pytest.param(
            "a: [b\n",
            "a.yaml:2:1: did not find expected ',' or ']' while parsing a flow sequence"
            " that begins in line 1",
            id="open-bracket-to-the-end",
        ),
        pytest.param(
            "a: b: c\n",
            "a.yaml:1:5: mapping values are not allowed in this context\n"
            "    a: b: c\n        ^",
            id="two-colons",
        ),
        pytest.param(
            "x: '" + "é" * 300 + "': [,]\n",
            "a.yaml:1:306: mapping values are not allowed in this context\n"
            f"    {'é' * 118}':\n    {' ' * 119}^",
            id="long-line",
        ),
        pytest.param("a: *x\n", 'a.yaml:1:4: there is no anchor "x"', id="no-anchor"),
        pytest.param("a: &x [*x]\n", 'a.yaml:1:8: "x" contains itself', id="loop"),
        pytest.param(
            "a: !!int b\n",
            'a.yaml:1:4: "b" is str, but its tag says !!int',
            id="tag",
        ),
        pytest.param(
            "? [a]\n: b\n", "a.yaml:1:3: a key must be a single value", id="list-key"
        ),
        pytest.param(
            "x: &x {}\n*x : b\n",
            "a.yaml:1:4: a key must be a single value",
            id="alias-key",
        ),
        pytest.param("~: b\n", "a.yaml:1:1: null cannot be a key", id="null-key"),
        pytest.param(
            "<<: 5\n",
            "a.yaml:1:5: << takes a mapping or a list of them",
            id="merged-scalar",
        ),
        pytest.param(
            "a: 1\nb: \x07\n",
            "a.yaml:2:4: character \\x07 is not allowed in YAML",
            id="control-character",
        ),
        pytest.param(
            "\ud800", "a.yaml:1:1: character \\ud800 is not allowed in YAML", id="half"
        ),
        pytest.param(
            b"a: 1\nb: \xff\n",
            "a.yaml:2:4: is not utf-8 text (byte 0xff)",
            id="not-utf-8",
        ),
        pytest.param(
            b"\xef\xbb\xbfa: \xff\n",
            "a.yaml:1:4: is not utf-8 text (byte 0xff)",
            id="not-utf-8-after-a-mark",
        ),
        pytest.param(
            "\ufeffa: ".encode("utf-16-le") + b"\x00\xdc",
            "a.yaml:1:4: is not utf-16-le text (byte 0x00)",
            id="half-of-utf-16-after-a-mark",
        ),
        pytest.param(
            "\ufeffa: 1\nb: \0\n".encode("utf-16-be"),
            "a.yaml:2:4: character \\x00 is not allowed in YAML",
            id="nul-in-utf-16",
        ),
        pytest.param(
            b"a: 1\r\nb: \0\r\n",
            "a.yaml:2:4: character \\x00 is not allowed in YAML",
            id="nul-after-lines-of-windows",
        ),
    ],
)  # fmt: skip
def test_a_syntax_error_has_its_position(text: str | bytes, problem: str) -> None:
    assert _problem(text) == problem


def test_documents_before_an_error_are_kept() -> None:
    parsed = parse_yaml(SourceFile("a.yaml", "a: 1\n---\nb: [\n"))

    assert [to_plain(document.root) for document in parsed.documents] == [{"a": 1}]
    assert len(parsed.problems) == 1


def test_more_than_ten_mebibytes_are_refused() -> None:
    assert _problem("x" * (MAX_BYTES + 1)) == "a.yaml: the file is larger than 10 MiB"
    assert _problem(b"#" * (MAX_BYTES + 1)) == "a.yaml: the file is larger than 10 MiB"


def test_more_than_a_thousand_documents_are_refused() -> None:
    assert len(parse_yaml(SourceFile("a.yaml", "---\na: 1\n" * 1000)).documents) == 1000
    assert _problem("---\na: 1\n" * 1001) == (
        "a.yaml:2001:1: the file has more than 1000 documents"
    )


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("[" * 5000, id="open-lists"),
        pytest.param("[" * 5000 + "]" * 5000, id="closed-lists"),
        pytest.param("{a: " * 5000, id="mappings"),
        pytest.param("- " * 5000, id="items"),
    ],
)
def test_deep_nesting_is_refused(text: str) -> None:
    assert _problem(text).endswith("is nested more than 100 levels deep")


def test_nesting_by_aliases_is_refused() -> None:
    chain = "\n".join(
        f"k{number}: &k{number} {'[' * 30}*k{number - 1}{']' * 30}"
        for number in range(1, 5)
    )

    assert _problem(f"k0: &k0 1\n{chain}\n").endswith("more than 100 levels deep")


def test_an_alias_bomb_is_refused() -> None:
    rows = ["k0: &k0 [x, x, x, x, x, x, x, x, x, x]"]
    rows += (
        f"k{number}: &k{number} [{', '.join([f'*k{number - 1}'] * 10)}]"
        for number in range(1, 10)
    )

    assert "aliases expand to more than 100000 values" in _problem("\n".join(rows))


def test_a_value_has_no_line() -> None:
    node = parse_yaml_value("--set", "{a: [1, x]}")

    assert to_plain(node) == {"a": [1, "x"]}
    assert node.position == Position("--set")


def test_no_value_is_null() -> None:
    assert to_plain(parse_yaml_value("--set", "")) is None


def test_a_broken_value_is_refused() -> None:
    with pytest.raises(ValueError, match="did not find expected node content"):
        parse_yaml_value("--set", "[")


def test_an_error_without_a_position_is_reported_too() -> None:
    error = yaml.YAMLError("no more\x1b")

    problem = parse_module._syntax_problem("a.yaml", "", error)

    assert str(problem) == "a.yaml: no more\\x1b"


@pytest.mark.sweep
def test_a_file_with_too_many_keys_and_values_is_refused_where_it_goes_too_far() -> (
    None
):
    items = "- a\n" * (MAX_NODES + 1)

    (problem,) = parse_yaml(SourceFile("long.yaml", items)).problems

    message = f"the file has more than {MAX_NODES} keys and values"
    assert str(problem) == f"long.yaml:{MAX_NODES}:3: {message}"


@pytest.mark.sweep
def test_the_keys_and_values_of_all_documents_count_together() -> None:
    document = "---\n" + "- a\n" * (MAX_NODES // 2)

    (problem,) = parse_yaml(SourceFile("long.yaml", document * 2)).problems

    assert problem.message.startswith("the file has more than ")
