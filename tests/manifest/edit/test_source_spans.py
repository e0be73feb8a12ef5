"""Where in a text its values stand, to the character."""

from __future__ import annotations

import pytest

from probetui.manifest.edit.source_spans import SourceSpan, parse_spans

TEXT = """\
a: &x   # é
  b: 5 # five

  # six
  c: |
    text
d: {e: "1",  # one
    f: *x}
g:
- h:
- i
--- # again
j: k
...
"""


def first(text: str) -> SourceSpan:
    return next(parse_spans(text))


def at(place: SourceSpan | None, *keys: str) -> SourceSpan:
    for key in keys:
        assert place is not None
        place = place.below(key)
    assert place is not None
    return place


@pytest.mark.parametrize(
    ("path", "written"),
    [
        pytest.param("a.b", "5", id="a number"),
        pytest.param("a.c", "|\n    text\n", id="text in a block"),
        pytest.param("d", '{e: "1",  # one\n    f: *x}', id="a mapping in flow style"),
        pytest.param("d.e", '"1"', id="quotes"),
        pytest.param("d.f", "*x", id="an alias"),
        pytest.param("g.0.h", "", id="nothing"),
        pytest.param("g", "- h:\n- i", id="a list"),
    ],
)
def test_a_value_stands_where_it_is_written(path: str, written: str) -> None:
    place = at(first(TEXT), *path.split("."))

    assert TEXT[place.start : place.end] == written


def test_a_mapping_in_block_style_ends_with_its_last_value() -> None:
    place = at(first(TEXT), "a")

    assert TEXT[: place.end].endswith("    text\n")
    assert (place.line, place.column) == (1, 4)


def test_an_anchor_knows_whether_an_alias_names_it() -> None:
    root = first(TEXT)

    assert at(root, "a").is_used
    assert not at(first("a: &x 1\nb: 2"), "a").is_used
    assert at(root, "d", "f").is_alias


def test_an_alias_without_an_anchor_is_left_alone() -> None:
    assert at(first("a: *x"), "a").is_alias


def test_of_a_key_that_is_there_twice_the_last_one_counts() -> None:
    assert at(first("a: 1\na: 2"), "a").value == "2"


def test_each_document_has_a_root() -> None:
    first_root, second_root = parse_spans(TEXT)

    assert first_root.entry("j") is None
    assert at(second_root, "j").value == "k"


def test_an_empty_text_has_no_root() -> None:
    assert list(parse_spans("# nothing\n")) == []


def test_nothing_is_below_a_single_value_or_behind_the_end_of_a_list() -> None:
    root = first("a: [1]")

    assert at(root, "a").below("1") is None
    assert at(root, "a", "0").below("b") is None
