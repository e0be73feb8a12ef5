from __future__ import annotations

import pytest

from probetui.manifest.problem import (
    Position,
    Problem,
    escape_unprintable,
    quote,
    quote_short,
)


def test_a_problem_is_one_line_with_place_field_and_message() -> None:
    problem = Problem(Position("pod.yaml", 23, 11), "spec.hostname", "is too long")

    assert str(problem) == "pod.yaml:23:11: spec.hostname: is too long"
    assert (problem.file, problem.line, problem.column) == ("pod.yaml", 23, 11)


def test_what_is_not_known_is_left_out() -> None:
    assert str(Problem(Position("pod.yaml"), "", "is empty")) == "pod.yaml: is empty"


def test_the_excerpt_stands_below() -> None:
    problem = Problem(Position("a", 1, 2), "", "bad", excerpt=("  x: [", "  ^"))

    assert str(problem).splitlines() == ["a:1:2: bad", "  x: [", "  ^"]


def test_a_file_name_cannot_move_the_cursor() -> None:
    assert str(Position("a\x1b[2J", 1, 1)) == "a\\x1b[2J:1:1"


@pytest.mark.parametrize(
    ("text", "quoted"),
    [
        pytest.param("http", '"http"', id="plain"),
        pytest.param('say "hi"\\', '"say \\"hi\\"\\\\"', id="quotes-and-backslash"),
        pytest.param("\a\b\f\v", '"\\a\\b\\f\\v"', id="controls-with-a-letter"),
        pytest.param("a\tb\nc\rd", '"a\\tb\\nc\\rd"', id="white-space"),
        pytest.param("é 字", '"é 字"', id="letters-stay"),
        pytest.param("\x1b[2J", '"\\x1b[2J"', id="escape-sequence"),
        pytest.param("\u202e", '"\\u202e"', id="text-direction"),
        pytest.param("\udc80", '"\\x80"', id="byte-that-is-no-text"),
        pytest.param("\ud800", '"\\ud800"', id="lone-surrogate"),
        pytest.param("\U000e0001", '"\\U000e0001"', id="beyond-sixteen-bits"),
    ],
)
def test_quoted_text_can_be_printed(text: str, quoted: str) -> None:
    assert quote(text) == quoted


def test_long_text_is_cut() -> None:
    assert quote_short("x" * 200) == '"' + "x" * 80 + '"…'


def test_without_quotes_a_quote_stays() -> None:
    assert escape_unprintable('a "b"\x00') == 'a "b"\\x00'
