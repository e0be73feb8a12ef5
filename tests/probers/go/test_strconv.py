from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from probetui.errors import GoError
from probetui.kubelet.prober.container_port import parse_integer
from probetui.kubelet.runtime.go_format import go_quote

INT64 = st.integers(-(1 << 63), (1 << 63) - 1)


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
