"""The types of scalars are those of go-yaml v2, which Kubernetes uses."""

from __future__ import annotations

import math

import pytest

from probetui.manifest.yaml.scalars import format_key, resolve_scalar

_TAG = "tag:yaml.org,2002:"


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        pytest.param("", None, id="nothing"),
        pytest.param("~", None, id="tilde"),
        pytest.param("NULL", None, id="null-in-capitals"),
        pytest.param("nULL", "nULL", id="null-in-no-known-case"),
        pytest.param("yes", True, id="yes"),
        pytest.param("Y", True, id="capital-y"),
        pytest.param("on", True, id="on"),
        pytest.param("off", False, id="off"),
        pytest.param("No", False, id="no"),
        pytest.param("yEs", "yEs", id="yes-in-no-known-case"),
        pytest.param("0", 0, id="zero"),
        pytest.param("-7", -7, id="negative"),
        pytest.param("+5", 5, id="plus"),
        pytest.param("010", 8, id="octal"),
        pytest.param("0o10", 8, id="octal-of-yaml-1.2"),
        pytest.param("080", 80.0, id="no-octal-is-a-float"),
        pytest.param("0x1F90", 8080, id="hexadecimal"),
        pytest.param("-0b101", -5, id="binary"),
        pytest.param("1_000", 1000, id="underscore"),
        pytest.param("9223372036854775808", 2**63, id="unsigned-64-bits"),
        pytest.param("18446744073709551616", 2.0**64, id="too-big-is-a-float"),
        pytest.param("-9223372036854775809", -(2.0**63), id="too-small-is-a-float"),
        pytest.param("0x10000000000000000", "0x10000000000000000", id="hex-too-big"),
        pytest.param("9" * 80, float("9" * 80), id="absurdly-big"),
        pytest.param("5.0", 5.0, id="whole-float"),
        pytest.param("1e1", 10.0, id="exponent-without-a-point"),
        pytest.param(".5", 0.5, id="no-digit-before-the-point"),
        pytest.param("._5", "._5", id="underscore-after-the-point"),
        pytest.param("1e999", "1e999", id="infinite-number-is-text"),
        pytest.param("-.INF", -math.inf, id="infinity"),
        pytest.param("1:30", "1:30", id="no-sexagesimal-numbers"),
        pytest.param("2024-01-01", "2024-01-01", id="a-date-is-text"),
        pytest.param("5s", "5s", id="a-duration-is-text"),
        pytest.param("http", "http", id="word"),
    ],
)
def test_a_plain_scalar(text: str, meaning: object) -> None:
    value = resolve_scalar(text, None, is_plain=True)

    assert (type(value), value) == (type(meaning), meaning)


def test_not_a_number_is_a_number() -> None:
    value = resolve_scalar(".nan", None, is_plain=True)

    assert isinstance(value, float)
    assert math.isnan(value)


def test_in_quotes_everything_is_text() -> None:
    assert resolve_scalar("5", None, is_plain=False) == "5"


@pytest.mark.parametrize(
    ("text", "tag", "meaning"),
    [
        pytest.param("5", "str", "5", id="text"),
        pytest.param("5", "int", 5, id="integer"),
        pytest.param("5", "float", 5.0, id="integer-as-float"),
        pytest.param("yes", "bool", True, id="boolean"),
        pytest.param("aGk=", "binary", "hi", id="base64"),
        pytest.param("2024-01-01", "timestamp", "2024-01-01", id="time"),
    ],
)
def test_a_tag_decides(text: str, tag: str, meaning: object) -> None:
    value = resolve_scalar(text, _TAG + tag, is_plain=False)

    assert (type(value), value) == (type(meaning), meaning)


def test_an_unknown_tag_makes_text() -> None:
    assert resolve_scalar("5", "!mine", is_plain=True) == "5"


@pytest.mark.parametrize(
    ("text", "tag", "message"),
    [
        pytest.param("x", "int", "is str, but its tag says !!int", id="text-as-int"),
        pytest.param("1.5", "int", "is float, but its tag says !!int", id="float"),
        pytest.param("~", "bool", "is null, but its tag says !!bool", id="null"),
        pytest.param("5", "null", "is int, but its tag says !!null", id="int-as-null"),
        pytest.param("yes", "float", "is bool, but its tag says !!float", id="bool"),
        pytest.param(
            "a", "binary", "is not base64, but its tag says !!binary", id="64"
        ),
    ],
)
def test_a_tag_that_does_not_fit_is_refused(text: str, tag: str, message: str) -> None:
    with pytest.raises(ValueError, match=f"^{message}$"):
        resolve_scalar(text, _TAG + tag, is_plain=True)


@pytest.mark.parametrize(
    ("value", "key"),
    [
        pytest.param("a", "a", id="text"),
        pytest.param(True, "true", id="true"),
        pytest.param(False, "false", id="false"),
        pytest.param(5, "5", id="integer"),
        pytest.param(5.0, "5", id="whole-float"),
        pytest.param(1.5, "1.5", id="float"),
    ],
)
def test_a_key_is_text_in_the_end(value: str | float, key: str) -> None:
    assert format_key(value) == key


def test_null_is_no_key() -> None:
    with pytest.raises(ValueError, match="null cannot be a key"):
        format_key(None)
