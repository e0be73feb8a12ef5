from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from probetui.kubelet.runtime.go_format import (
    go_duration,
    go_json,
    go_list,
    go_quote,
    to_bytes,
    to_text,
)


@pytest.mark.parametrize(
    ("length", "expected"),
    [
        pytest.param(timedelta(), "0s", id="zero"),
        pytest.param(timedelta(microseconds=7), "7µs", id="microseconds"),
        pytest.param(timedelta(microseconds=1500), "1.5ms", id="milliseconds"),
        pytest.param(timedelta(milliseconds=20), "20ms", id="whole-milliseconds"),
        pytest.param(timedelta(seconds=10), "10s", id="seconds"),
        pytest.param(timedelta(seconds=1.05), "1.05s", id="fraction"),
        pytest.param(timedelta(seconds=80), "1m20s", id="minutes"),
        pytest.param(timedelta(minutes=5), "5m0s", id="whole-minutes"),
        pytest.param(timedelta(hours=1, seconds=0.5), "1h0m0.5s", id="hours"),
        pytest.param(timedelta(seconds=-10), "-10s", id="negative"),
    ],
)
def test_a_length_of_time_reads_as_go_prints_it(
    length: timedelta, expected: str
) -> None:
    assert go_duration(length) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("a b", '"a b"', id="plain"),
        pytest.param('say "hi"\\', '"say \\"hi\\"\\\\"', id="quotes"),
        pytest.param("a\nb\x00", '"a\\nb\\x00"', id="control"),
        pytest.param("é\x7f", '"é\\x7f"', id="delete"),
        pytest.param("\u2028", '"\\u2028"', id="line-separator"),
        pytest.param("\U000e0001", '"\\U000e0001"', id="beyond-four-digits"),
        pytest.param("\udcff", '"\\xff"', id="not-utf-8"),
    ],
)
def test_a_quoted_text_stays_on_one_line(text: str, expected: str) -> None:
    assert go_quote(text) == expected


def test_a_list_is_in_brackets_without_commas() -> None:
    assert go_list(["a", "b"]) == "[a b]"


def test_json_is_compact_and_harmless_in_html() -> None:
    value = {"b": "<&>\u2028é\udcff", "a": [1, True]}

    printed = go_json(value)

    assert printed == '{"b":"\\u003c\\u0026\\u003e\\u2028é\\ufffd","a":[1,true]}'


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
