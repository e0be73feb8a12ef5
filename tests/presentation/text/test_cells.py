"""Escaping of text from containers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from probetui.presentation.text.cells import (
    all_lines,
    one_line,
    sparkline,
    wrap_text,
)

ANY_TEXT = st.text(st.characters(codec=None))  # lone surrogates too


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        pytest.param("plain words", "plain words", id="plain"),
        pytest.param("ends\n", "ends", id="line break at the end"),
        pytest.param("one\ntwo\r\nthree", "one⏎two⏎three", id="line breaks"),
        pytest.param("\x1b[31mred", "\\x1b[31mred", id="colour"),
        pytest.param("\x1b]0;title\x07", "\\x1b]0;title\\x07", id="window title"),
        pytest.param("a\rb", "a\\x0db", id="carriage return"),
        pytest.param("a\tb", "a    b", id="tab"),
        pytest.param("\x9b2J", "\\u009b2J", id="one-character escape"),
        pytest.param("\x7f", "\\x7f", id="delete"),
        pytest.param("\udcff\udc80", "\\xff\\x80", id="bytes that are not UTF-8"),
        pytest.param("\ud800", "\\ud800", id="lone surrogate"),
        pytest.param("a\u202eb", "a\\u202eb", id="writing direction"),
        pytest.param("a\u200bb", "a\\u200bb", id="zero width space"),
        pytest.param("a\u00a0b\u3000c", "a b c", id="other spaces"),
        pytest.param("⚠\ufe0f!", "⚠!", id="variation selector"),
        pytest.param("\U000e0001", "\\U000e0001", id="tag character"),
        pytest.param("日本 ✓ é e\u0301", "日本 ✓ é e\u0301", id="printable text"),
        pytest.param("[red]not markup[/]", "[red]not markup[/]", id="markup"),
    ],
)
def test_one_line(text: str, shown: str) -> None:
    assert one_line(text) == shown


@given(ANY_TEXT)
def test_no_control_character_is_left(text: str) -> None:
    shown = one_line(text)

    assert shown.isprintable()
    assert shown.encode("utf-8").decode("utf-8") == shown


@given(ANY_TEXT)
def test_harmless_text_is_unchanged(text: str) -> None:
    once = one_line(text)

    assert one_line(once) == once.rstrip("\r\n")


def test_a_long_text_is_cut_before_it_is_escaped() -> None:
    assert one_line("x" * 50_000, limit=100) == "x" * 100


def test_lines_are_kept_separate_if_there_is_room() -> None:
    assert all_lines("one\r\n\n\x1btwo\n") == ["one", "", "\\x1btwo"]


def test_an_empty_text_has_no_lines() -> None:
    assert all_lines("\n") == []


def test_text_is_wrapped_at_spaces_and_after_parts_of_addresses() -> None:
    pull = (
        'Get "https://registry.invalid/v2/": dial tcp: lookup registry.invalid on '
        "10.255.255.53:53: no such host, next pull in 13s"
    )

    assert wrap_text(pull, 28) == [
        "Get",
        '"https://registry.invalid/',
        'v2/": dial tcp: lookup',
        "registry.invalid on",
        "10.255.255.53:53: no such",
        "host, next pull in 13s",
    ]


def test_no_row_begins_with_a_closing_bracket_of_an_address() -> None:
    assert wrap_text('"https://registry.invalid/v2/": no such host', 29) == [
        '"https://registry.invalid/',
        'v2/": no such host',
    ]


@given(st.text(max_size=80), st.integers(min_value=5, max_value=30))
def test_wrapping_a_text_loses_nothing_but_spaces(text: str, width: int) -> None:
    lines = wrap_text(one_line(text), width)

    assert "".join(lines).replace(" ", "") == one_line(text).replace(" ", "")
    assert all(len(row) <= width for row in lines)


def test_a_sparkline_tells_one_of_many_from_none() -> None:
    counts = [0, 1, 50, 99, 100]

    assert sparkline(counts, is_ascii=False) == "▁▂▅█" + "█"
    assert sparkline(counts, is_ascii=True) == ".1599"
    assert sparkline([0, 0], is_ascii=False) == "▁▁"
    assert sparkline([], is_ascii=True) == ""
