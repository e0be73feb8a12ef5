"""Lines cut and padded to terminal cells."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from probetui.presentation.text.cells import one_line
from probetui.presentation.text.spans import Role, Span
from probetui.tui.styled_text import (
    Column,
    StyledLine,
    cells,
    fit,
    row,
    shorten_middle,
    styled_line,
    text_of,
    wrapped,
)

TEXTS = st.lists(st.text(max_size=12).map(one_line), max_size=4)
WIDTHS = st.integers(min_value=0, max_value=30)


def a_line(*texts: str) -> StyledLine:
    return tuple((text, "plain") for text in texts if text)


@pytest.mark.parametrize(
    ("text", "width", "shown"),
    [
        pytest.param("abc", 5, "abc  ", id="filled"),
        pytest.param("abc", 3, "abc", id="fits"),
        pytest.param("abcdef", 4, "abc…", id="cut"),
        pytest.param("日本語", 6, "日本語", id="wide fits"),
        pytest.param("日本語", 5, "日本…", id="wide cut"),
        pytest.param("日本語", 4, "日 …", id="a wide character is never halved"),
        pytest.param("abc", 1, "…", id="one cell"),
        pytest.param("abc", 0, "", id="no room"),
        pytest.param("e\u0301e\u0301", 4, "e\u0301e\u0301  ", id="combining"),
    ],
)
def test_fit(text: str, width: int, shown: str) -> None:
    assert text_of(fit(a_line(text), width)) == shown


def test_a_short_line_can_be_right_aligned() -> None:
    assert text_of(fit(a_line("7"), 3, right=True)) == "  7"


@given(TEXTS, WIDTHS)
def test_a_fitted_line_takes_exactly_its_width(texts: list[str], width: int) -> None:
    assert cells(fit(a_line(*texts), width)) == width


@given(TEXTS, TEXTS, st.integers(min_value=8, max_value=40))
def test_columns_stay_aligned_with_any_content(
    first: list[str], second: list[str], width: int
) -> None:
    columns = (Column("", 3), Column(""), Column("", 2, is_right=True))

    shown = row([a_line(*first), a_line(*second), a_line("x")], columns, width)

    assert cells(shown) == width
    assert text_of(shown).endswith(" x")


@given(TEXTS, st.integers(min_value=5, max_value=30), st.integers(0, 4))
def test_wrapping_loses_nothing_but_spaces(
    texts: list[str], width: int, indent: int
) -> None:
    lines = wrapped(a_line(*texts), width, indent)

    kept = "".join(text_of(line) for line in lines).replace(" ", "")
    assert kept == "".join(texts).replace(" ", "")
    assert all(cells(line) <= width for line in lines)


def test_a_line_is_wrapped_at_a_space_if_there_is_one() -> None:
    lines = wrapped(a_line("label", "         ", "one two three four five"), 24, 14)

    assert [text_of(line) for line in lines] == [
        "label         one two",
        "              three four",
        "              five",
    ]


def test_a_long_word_is_wrapped_anywhere() -> None:
    lines = wrapped(a_line("x" * 25), 10, 2)

    assert [text_of(line) for line in lines] == [
        "x" * 10,
        "  " + "x" * 8,
        "  " + "x" * 7,
    ]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        pytest.param(
            "GET http://web.example:8080/healthz/deep/checks?verbose=true&exclude=etcd",
            [
                "GET http://web.example:8080/",
                "  healthz/deep/checks?",
                "  verbose=true&exclude=etcd",
            ],
            id="where its parts end",
        ),
        pytest.param(
            "see http://10.0.0.12:80/ready",
            ["see", "  http://10.0.0.12:80/ready"],
            id="not at all where it fits on a line of its own",
        ),
        pytest.param(
            "https://a-name-of-thirty-characters/x",
            ["https://a-name-of-thirty-cha", "  racters/x"],
            id="anywhere where no part ends",
        ),
    ],
)
def test_an_address_that_is_too_long_is_wrapped(text: str, shown: list[str]) -> None:
    assert [text_of(line) for line in wrapped(a_line(text), 28, 2)] == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        pytest.param("Running 41s", "Running 41s", id="fits"),
        pytest.param("pulling busybox:1.27.2 40%", "pulling…27.2 40%", id="progress"),
        pytest.param(
            "CreateContainerConfigError", "CreateCo…figError", id="a long reason"
        ),
    ],
)
def test_the_middle_of_a_state_is_cut_before_its_end(text: str, shown: str) -> None:
    (found,) = shorten_middle(a_line(text), 17)

    assert found[0] == shown


def test_a_line_of_spans_becomes_segments_with_their_styles() -> None:
    spans = (Span("a", Role.ERROR), Span("b", is_underlined=True))

    assert styled_line(spans, "cursor") == (
        ("a", "error cursor"),
        ("b", "plain cursor underlined"),
    )


@given(st.text(max_size=40))
def test_widths_are_those_of_the_terminal(text: str) -> None:
    safe = one_line(text)

    assert cells(a_line(safe)) == cell_len(safe)


def test_every_character_has_the_width_that_rich_gives_it() -> None:
    characters = [chr(code) for code in range(0x3100) if chr(code).isprintable()]

    assert [
        character
        for character in characters
        if cells(a_line(character)) != cell_len(character)
    ] == []
