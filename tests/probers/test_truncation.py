"""The kept part of a server's output is limited, and truncation is marked."""

from __future__ import annotations

from itertools import pairwise

import pytest

from probetui.kubelet.outcome import HTTPAnswer
from probetui.probers.truncation import (
    MAX_KEPT_BYTES,
    quote_all_received,
    quote_received,
    truncate_answer,
    truncate_text,
)

LONG = b"v" * 50_000


def kept_bytes(answer: HTTPAnswer) -> int:
    headers = sum(len(header.name) + len(header.value) for header in answer.headers)
    return headers + sum(map(len, answer.redirects))


def names(answer: HTTPAnswer) -> list[str]:
    return [header.name for header in answer.headers]


def test_a_short_answer_is_kept_whole_and_once() -> None:
    headers = ((b"server", b"nginx"), (b"x-odd", b"\xff"))

    first = truncate_answer(200, headers, ("/a",))

    assert names(first) == ["server", "x-odd"]
    assert (first.headers[1].value, first.redirects) == ("\udcff", ("/a",))
    assert first.cut_bytes == 0
    assert truncate_answer(200, headers, ("/a",)) is first


def test_a_long_answer_is_kept_whole_and_not_cached() -> None:
    headers = ((b"a", b"v" * 10_000),)

    first = truncate_answer(200, headers, ())

    assert (first.cut_bytes, kept_bytes(first)) == (0, 10_001)
    assert truncate_answer(200, headers, ()) is not first


@pytest.mark.parametrize(
    ("headers", "redirects"),
    [
        pytest.param(((b"a", LONG),), (), id="a value"),
        pytest.param(((LONG, b"b"),), (), id="a name"),
        pytest.param(((b"a", b""),) * 9_000, (), id="many"),
        pytest.param(((b"a", b"v" * 1000),) * 5_000, (), id="much"),
        pytest.param((), ("/" + "r" * 16_000,) * 9, id="redirects"),
        pytest.param(((b"a", LONG),), ("/" + "r" * 16_000,) * 9, id="both"),
    ],
)
def test_of_a_huge_answer_16_kib_are_kept_and_the_rest_is_counted(
    headers: tuple[tuple[bytes, bytes], ...], redirects: tuple[str, ...]
) -> None:
    sent = sum(len(name) + len(value) for name, value in headers)
    sent += sum(map(len, redirects))

    answer = truncate_answer(200, headers, redirects)

    assert 0 < kept_bytes(answer) <= MAX_KEPT_BYTES
    assert kept_bytes(answer) + answer.cut_bytes == sent
    assert answer.cut_bytes > 0


def test_a_location_is_kept_whatever_comes_before_it_and_the_order_stays() -> None:
    headers = ((b"a", b"1"), (b"b", LONG), (b"c", b"3"), (b"location", b"/x"))

    answer = truncate_answer(302, headers, ())

    assert names(answer) == ["a", "b", "location"]
    assert answer.headers[-1].value == "/x"


@pytest.mark.parametrize(
    ("data", "text"),
    [
        pytest.param(b'a"\n', r'"a\"\n"', id="short"),
        pytest.param(b"a" * 1024, '"' + "a" * 1024 + '"', id="as long as may be"),
        pytest.param(b"a" * 1026, '"' + "a" * 1024 + '" (cut: 2 bytes)', id="longer"),
        pytest.param(
            b"\xe2\x82\xac" * 342,
            '"' + "€" * 341 + r'\xe2" (cut: 2 bytes)',
            id="cut within a character",
        ),
    ],
)
def test_what_is_quoted_is_cut(data: bytes, text: str) -> None:
    assert quote_received(data) == text


def test_of_many_values_eight_are_quoted_each_cut() -> None:
    text = quote_all_received([b"a" * 200] * 20)

    quoted = '"' + "a" * 128 + '" (cut: 72 bytes)'
    assert text == f"[{' '.join([quoted] * 8)}] (cut: 12 more)"
    assert quote_all_received([b"a", b"b"]) == '["a" "b"]'


def test_a_text_is_cut_where_it_gets_longer_than_what_is_kept() -> None:
    lengths = [len(truncate_text("a" * count)) for count in (0, 10, MAX_KEPT_BYTES)]

    assert lengths == [0, 10, MAX_KEPT_BYTES]
    assert truncate_text("a" * (MAX_KEPT_BYTES + 7)).endswith("a (cut: 7 characters)")
    assert all(first < second for first, second in pairwise(lengths))
