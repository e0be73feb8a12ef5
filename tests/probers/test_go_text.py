from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from probetui.errors import GoError
from probetui.kubelet.go_text import go_quote
from probetui.probers.go_text import parse_integer, to_bytes, to_text

INT64 = st.integers(-(1 << 63), (1 << 63) - 1)


@given(st.binary())
def test_bytes_survive_as_text(data: bytes) -> None:
    assert to_bytes(to_text(data)) == data


@given(st.text(st.characters(exclude_categories=[])))
def test_every_text_stands_for_bytes(text: str) -> None:
    assert isinstance(to_bytes(text), bytes)


def test_a_surrogate_that_is_no_byte_becomes_the_replacement_character() -> None:
    assert to_bytes("a\ud800\udcffb") == b"a\xef\xbf\xbd\xffb"


@given(st.binary())
def test_a_quoted_text_is_one_printable_line(data: bytes) -> None:
    quoted = go_quote(to_text(data))

    assert quoted.isprintable()
    assert (quoted[0], quoted[-1]) == ('"', '"')


@given(st.binary(), st.binary())
def test_different_texts_are_quoted_differently(one: bytes, other: bytes) -> None:
    assert (go_quote(to_text(one)) == go_quote(to_text(other))) == (one == other)


@given(INT64)
def test_a_number_of_64_bits_is_read(number: int) -> None:
    assert parse_integer(str(number)) == number


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        pytest.param("", "invalid syntax", id="nothing"),
        pytest.param("+", "invalid syntax", id="only a sign"),
        pytest.param(" 1", "invalid syntax", id="a space"),
        pytest.param("1_0", "invalid syntax", id="an underscore"),
        pytest.param("٨٠", "invalid syntax", id="other digits"),
        pytest.param("1\n", "invalid syntax", id="a line end"),
        pytest.param("9223372036854775808", "value out of range", id="too large"),
        pytest.param("-9223372036854775809", "value out of range", id="too small"),
    ],
)
def test_what_is_no_number_is_refused(text: str, problem: str) -> None:
    with pytest.raises(GoError) as refused:
        parse_integer(text)

    assert str(refused.value) == f"strconv.Atoi: parsing {go_quote(text)}: {problem}"
