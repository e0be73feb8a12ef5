"""Resolve YAML scalars as Kubernetes does: YAML 1.1 as Go reads it.

PyYAML's own resolver differs: `1:30` is 90, `1e1` is text, `2024-01-01` is a date.

Source: sigs.k8s.io/yaml v1.4.0, goyaml.v2/resolve.go, resolve.
"""

from __future__ import annotations

import base64
import binascii
import math
import re

from probetui.manifest.yaml.nodes import ScalarValue

_TAG = "tag:yaml.org,2002:"
_NUMBER_START = frozenset("+-.0123456789")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_INTEGER = re.compile(
    r"(?P<sign>[-+]?)(?:0[xX](?P<hex>[0-9a-fA-F]+)|0[bB](?P<bin>[01]+)"
    r"|0[oO]?(?P<oct>[0-7]+)|(?P<dec>0|[1-9][0-9]*))"
)
_BASES = {"hex": 16, "bin": 2, "oct": 8, "dec": 10}
_LEAST = -(2**63)
_MOST_SIGNED = 2**63 - 1
_MOST_UNSIGNED = 2**64 - 1


def _words() -> dict[str, ScalarValue]:
    spelled: dict[ScalarValue, tuple[str, ...]] = {
        True: ("y", "yes", "true", "on"),
        False: ("n", "no", "false", "off"),
        None: ("null",),
    }
    scalars: dict[str, ScalarValue] = {"": None, "~": None}
    for value, names in spelled.items():
        for name in names:
            scalars |= dict.fromkeys((name, name.capitalize(), name.upper()), value)
    for name in (".nan", ".NaN", ".NAN"):
        scalars[name] = math.nan
    for name in (".inf", ".Inf", ".INF"):
        scalars |= {name: math.inf, "+" + name: math.inf, "-" + name: -math.inf}
    return scalars


_WORDS = _words()


def resolve_scalar(text: str, tag: str | None, *, is_plain: bool) -> ScalarValue:
    """Return the value of a scalar.

    Args:
        text: the scalar.
        tag: its tag, None if it has none.
        is_plain: it is not quoted.

    Raises:
        ValueError: text and tag do not agree.
    """
    if tag is None:
        return _plain(text) if is_plain else text
    name = tag.removeprefix(_TAG)
    if name == "binary":
        return _binary(text)
    if name not in {"bool", "int", "float", "null"}:
        return text
    value = _plain(text)
    if name == "float" and type(value) is int:
        return float(value)
    if _kind(value) != name:
        msg = f"is {_kind(value)}, but its tag says !!{name}"
        raise ValueError(msg)
    return value


def format_key(value: ScalarValue) -> str:
    """Return a mapping key as text, as it is in JSON.

    Raises:
        ValueError: the key is null.

    Source: sigs.k8s.io/yaml v1.4.0, yaml.go, convertToJSONableObject.
    """
    match value:
        case str():
            return value
        case bool():
            return "true" if value else "false"
        case None:
            msg = "null cannot be a key"
            raise ValueError(msg)
        case float() if value.is_integer() and abs(value) < 2**63:
            return str(int(value))
        case int() | float():
            return str(value)


def _plain(text: str) -> ScalarValue:
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in _NUMBER_START:
        return text
    digits = text if text[0] == "." else text.replace("_", "")
    integer = _integer(digits)
    if integer is not None:
        return integer
    if _FLOAT.fullmatch(digits):
        number = float(digits)
        if math.isfinite(number):
            return number
    return text


def _integer(digits: str) -> int | None:
    match = _INTEGER.fullmatch(digits)
    if match is None:
        return None
    name = match.lastgroup or "dec"
    if len(match[name]) > 64:  # noqa: PLR2004  # no base has a 64-bit number that long
        return None
    number = int(match["sign"] + match[name], _BASES[name])
    most = _MOST_SIGNED if match["sign"] else _MOST_UNSIGNED
    return number if _LEAST <= number <= most else None


def _binary(text: str) -> str:
    try:
        return base64.b64decode(text, validate=False).decode("utf-8", "replace")
    except binascii.Error:
        msg = "is not base64, but its tag says !!binary"
        raise ValueError(msg) from None


def _kind(value: ScalarValue) -> str:
    match value:
        case bool():
            return "bool"
        case int():
            return "int"
        case float():
            return "float"
        case None:
            return "null"
        case str():
            return "str"
