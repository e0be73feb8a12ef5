"""Go's strings and numbers: bytes behind a text, and decimal integers.

Text here is a `str` whose lone surrogates U+DC80 to U+DCFF stand for bytes that are
not UTF-8, as `surrogateescape` gives them.
"""

from __future__ import annotations

import re

from probetui.errors import GoError
from probetui.kubelet.go_text import go_quote

_NO_BYTE = re.compile("[\ud800-\udc7f\udd00-\udfff]")
_INTEGER = re.compile(r"([+-]?)0*([0-9]+)")
_INT64 = range(-(1 << 63), 1 << 63)
_INT64_DIGITS = 19


def to_bytes(text: str) -> bytes:
    """Return the bytes that a text stands for.

    A surrogate that stands for no byte becomes U+FFFD, as in Go's JSON decoder.
    """
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return _NO_BYTE.sub("\ufffd", text).encode("utf-8", "surrogateescape")


def to_text(data: bytes) -> str:
    """Return the text for some bytes; the inverse of `to_bytes`."""
    return data.decode("utf-8", "surrogateescape")


def parse_integer(text: str) -> int:
    """Read a decimal integer of 64 bits; raises `GoError` with Go's words.

    Source: strconv/atoi.go, Atoi.
    """
    problem = "invalid syntax"
    if found := _INTEGER.fullmatch(text):
        sign, digits = found.groups()
        # Python reads at most a few thousand digits.
        if len(digits) <= _INT64_DIGITS and (value := int(sign + digits)) in _INT64:
            return value
        problem = "value out of range"
    raise GoError(f"strconv.Atoi: parsing {go_quote(text)}: {problem}")
