"""Percent encoding as Go's `net/url` does it, byte by byte.

Source: net/url/url.go, shouldEscape, escape, unescape.
"""

from __future__ import annotations

import re
import string
from collections.abc import Callable
from enum import Enum

from probetui.errors import GoError
from probetui.kubelet.go_text import go_quote, to_bytes, to_text

_UNRESERVED = string.ascii_letters + string.digits + "-_.~"
_HEX = frozenset(string.hexdigits.encode())
_ASCII = 0x80
_SPACE = 0x20


class Part(Enum):
    """A part of a URL; the value holds what need not be escaped in it."""

    PATH = _UNRESERVED + "$&+,/:;=@"
    HOST = _UNRESERVED + "!$&'()*+,;=:[]<>\""
    ZONE = HOST + " "  # its own member; written like a host
    USER = _UNRESERVED + "$&+,;="
    FRAGMENT = _UNRESERVED + "$&+,/:;=?@!()*"


_PLAIN: dict[Part, frozenset[int]] = {
    part: frozenset(part.value.encode()) - {_SPACE} for part in Part
}
_MAY_STAY: dict[Part, frozenset[int]] = {
    part: plain | frozenset(b"!$&'()*+,;=:@[]%") for part, plain in _PLAIN.items()
}
_ESCAPE = re.compile(rb"%(..)", re.DOTALL)


def escape(text: str, part: Part) -> str:
    """Write a text so that it may stand in a part of a URL."""
    plain = _PLAIN[part]
    data = to_bytes(text)
    if plain.issuperset(data):
        return text
    return "".join(chr(each) if each in plain else f"%{each:02X}" for each in data)


def keep_spelling(text: str, spelling: str, part: Part) -> str:
    """Write a text as it was spelled, if that spelling is still good, else escape it.

    Source: net/url/url.go, EscapedPath and EscapedFragment.
    """
    if spelling and _MAY_STAY[part].issuperset(to_bytes(spelling)):
        return spelling
    return escape(text, part)


def unescape(text: str, part: Part) -> str:
    """Undo `escape`; raises `GoError` for a bad escape or character."""
    in_host = part in {Part.HOST, Part.ZONE}
    if not in_host and "%" not in text:
        return text
    data = to_bytes(text)
    if in_host and _PLAIN[part].issuperset(data):
        return text
    refuses = _refused_in_host if part is Part.HOST else _refused_in_zone
    _check_escapes(data, refuses if in_host else lambda _: False)
    if in_host:
        _check_characters(data, part)
    return to_text(_ESCAPE.sub(lambda found: bytes([int(found[1], 16)]), data))


def _check_escapes(data: bytes, refuses: Callable[[bytes], bool]) -> None:
    at = data.find(b"%")
    while at >= 0:
        found = data[at : at + 3]
        if len(found) < 3 or not _HEX.issuperset(found[1:]) or refuses(found):  # noqa: PLR2004  # a percent sign and two digits
            raise GoError(f"invalid URL escape {go_quote(to_text(found))}")
        at = data.find(b"%", at + 3)


def _refused_in_host(found: bytes) -> bool:
    # RFC 3986, 3.2.2: for characters that are not ASCII only; %25 begins a zone.
    return int(found[1:2], 16) < _ASCII >> 4 and found != b"%25"


def _refused_in_zone(found: bytes) -> bool:
    value = int(found[1:], 16)
    return found != b"%25" and value != _SPACE and value not in _PLAIN[Part.HOST]


def _check_characters(data: bytes, part: Part) -> None:
    for each in data:
        if each < _ASCII and each != ord("%") and each not in _PLAIN[part]:
            raise GoError(f"invalid character {go_quote(chr(each))} in host name")
