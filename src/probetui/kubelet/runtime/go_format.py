"""Go's formats in messages: durations, lists, quoted strings, JSON.

Text is a `str` whose lone surrogates U+DC80 to U+DCFF stand for bytes that are not
UTF-8, as `surrogateescape` gives them.

Source: Go 1.23, time.Duration.String, strconv.Quote, fmt's %v of a []string,
encoding/json.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from datetime import timedelta

from probetui.safe_text import escape_character

MICROSECOND = timedelta(microseconds=1)
MILLISECOND_US = 1_000
SECOND_US = 1_000_000
MINUTE_US = 60_000_000
_ESCAPES = {
    "\a": "\\a",
    "\b": "\\b",
    "\f": "\\f",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
    "\v": "\\v",
    '"': '\\"',
    "\\": "\\\\",
}
_IN_JSON = str.maketrans(
    {
        "<": "\\u003c",
        ">": "\\u003e",
        "&": "\\u0026",
        "\u2028": "\\u2028",
        "\u2029": "\\u2029",
        # A byte that is not UTF-8 is a lone surrogate here, a replacement in Go.
        **dict.fromkeys(map(chr, range(0xD800, 0xE000)), "\\ufffd"),
    }
)
_NO_BYTE = re.compile("[\ud800-\udc7f\udd00-\udfff]")


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


def go_duration(length: timedelta) -> str:
    """Format a duration: `0s`, `10s`, `1m20s`, `5m0s`, `1h0m0.5s`, `1.5ms`."""
    total = length // MICROSECOND
    sign = "-" if total < 0 else ""
    total = abs(total)
    if total == 0:
        return "0s"
    if total < MILLISECOND_US:
        return f"{sign}{total}µs"
    if total < SECOND_US:
        return f"{sign}{_decimal(total, 3)}ms"
    minutes, remainder = divmod(total, MINUTE_US)
    hours, minutes = divmod(minutes, 60)
    seconds = f"{_decimal(remainder, 6)}s"
    if hours:
        return f"{sign}{hours}h{minutes}m{seconds}"
    if minutes:
        return f"{sign}{minutes}m{seconds}"
    return f"{sign}{seconds}"


def go_list(texts: Iterable[str]) -> str:
    """Format texts as `[a b]`."""
    return f"[{' '.join(texts)}]"


def aggregate_errors(errors: Iterable[str]) -> str:
    """Format several errors as one, each distinct text once.

    Source: apimachinery util/errors/errors.go, v0.32.10, aggregate.Error.
    """
    unique = list(dict.fromkeys(errors))
    return unique[0] if len(unique) == 1 else f"[{', '.join(unique)}]"


def go_quote(text: str) -> str:
    """Format a text as a Go string in double quotes, on one line.

    A lone surrogate stands for the byte that is not UTF-8 and prints as such.
    """
    if text.isascii() and text.isprintable() and '"' not in text and "\\" not in text:
        return f'"{text}"'
    return f'"{"".join(map(_quoted, text))}"'


def go_json(value: object) -> str:
    """Format a value as compact JSON; keys keep their order."""
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    return text.translate(_IN_JSON)


def _decimal(value: int, digits: int) -> str:
    whole, fraction = divmod(value, 10**digits)
    if not fraction:
        return str(whole)
    return f"{whole}.{fraction:0{digits}d}".rstrip("0")


def _quoted(character: str) -> str:
    if (escape := _ESCAPES.get(character)) is not None:
        return escape
    return character if character.isprintable() else escape_character(character)


def join_host_port(host: str, port: int | str) -> str:
    """Return `host:port`, with brackets around a host that has a colon.

    Source: net/ipsock.go, JoinHostPort.
    """
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
