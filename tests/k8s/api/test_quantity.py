from __future__ import annotations

from decimal import Decimal

import pytest

from probetui.k8s.api.quantity import canonical_quantity, is_quantity, parse_quantity


@pytest.mark.parametrize(
    ("text", "number"),
    [
        pytest.param("2", "2", id="plain"),
        pytest.param("-1", "-1", id="negative"),
        pytest.param("+.5", "0.5", id="fraction"),
        pytest.param("250m", "0.25", id="thousandths"),
        pytest.param("1.5Gi", "1610612736", id="binary"),
        pytest.param("3k", "3000", id="thousands"),
        pytest.param("1e3", "1000", id="exponent"),
        pytest.param("2E-2", "0.02", id="negative-exponent"),
        pytest.param("1E", "1000000000000000000", id="exa"),
        pytest.param("Gi", "0", id="no-digit"),
        pytest.param("-", "0", id="sign-alone"),
        pytest.param(".", "0", id="point-alone"),
    ],
)
def test_a_quantity_is_a_number(text: str, number: str) -> None:
    assert is_quantity(text)
    assert parse_quantity(text) == Decimal(number)


@pytest.mark.parametrize("text", ["", "half", "1 Gi", "1K", "1mi", "1e", "--1"])
def test_what_is_no_quantity_counts_as_zero(text: str) -> None:
    assert not is_quantity(text)
    assert parse_quantity(text) == 0


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("0.5", "500m"),
        ("1500m", "1500m"),
        ("1000m", "1"),
        ("1000", "1k"),
        ("1024Mi", "1Gi"),
        ("1.5Gi", "1536Mi"),
        ("0.5Ki", "512"),
        ("1.5", "1500m"),
        ("-1.5Gi", "-1536Mi"),
        ("1e3", "1e3"),
        ("15e2", "1500"),
        ("1E7", "10e6"),
        ("0", "0"),
        ("0e9", "0"),
        ("1e22", "10e21"),
        ("0.1n", "1n"),
    ],
)
def test_a_quantity_is_shown_in_its_canonical_form(written: str, shown: str) -> None:
    assert canonical_quantity(written) == shown


@pytest.mark.parametrize("sign", ["", "-"])
@pytest.mark.parametrize(
    ("number", "suffix"),
    [("1" * 5000, ""), ("1" * 5000, "Ki"), ("1" * 5000, "m"), ("1", "e9999")],
)
def test_no_quantity_is_larger_than_the_largest_int64(
    sign: str, number: str, suffix: str
) -> None:
    text = f"{sign}{number}{suffix}"

    assert parse_quantity(text) == Decimal(f"{sign}{2**63 - 1}")
    assert len(canonical_quantity(text)) < 30
