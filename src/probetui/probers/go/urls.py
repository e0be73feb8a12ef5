"""Percent encoding as Go's `net/url` does it, byte by byte.

Source: net/url/url.go, shouldEscape, escape, unescape.
"""

from __future__ import annotations

import re
import string
from collections.abc import Callable
from enum import Enum

from msgspec import Struct
from msgspec.structs import replace

from probetui.errors import GoError
from probetui.kubelet.runtime.go_format import go_quote, to_bytes, to_text
from probetui.probers.go.net import check_ipv6

_UNRESERVED = string.ascii_letters + string.digits + "-_.~"
_HEX = frozenset(string.hexdigits.encode())
_ASCII = 0x80
_SPACE = 0x20


class URLPart(Enum):
    """A part of a URL; its value is the characters that need no escape there."""

    PATH = _UNRESERVED + "$&+,/:;=@"
    HOST = _UNRESERVED + "!$&'()*+,;=:[]<>\""
    ZONE = HOST + " "  # a member of its own; written like a host
    USER = _UNRESERVED + "$&+,;="
    FRAGMENT = _UNRESERVED + "$&+,/:;=?@!()*"


_PLAIN: dict[URLPart, frozenset[int]] = {
    part: frozenset(part.value.encode()) - {_SPACE} for part in URLPart
}
_MAY_STAY: dict[URLPart, frozenset[int]] = {
    part: plain | frozenset(b"!$&'()*+,;=:@[]%") for part, plain in _PLAIN.items()
}
_ESCAPE = re.compile(rb"%(..)", re.DOTALL)


def escape(text: str, part: URLPart) -> str:
    """Escape a text for a part of a URL."""
    plain = _PLAIN[part]
    data = to_bytes(text)
    if plain.issuperset(data):
        return text
    return "".join(chr(byte) if byte in plain else f"%{byte:02X}" for byte in data)


def escape_unless_valid(text: str, spelling: str, part: URLPart) -> str:
    """Return the original spelling of a text if it is still valid, else escape it.

    Source: net/url/url.go, EscapedPath and EscapedFragment.
    """
    if spelling and _MAY_STAY[part].issuperset(to_bytes(spelling)):
        return spelling
    return escape(text, part)


def unescape(text: str, part: URLPart) -> str:
    """Undo `escape`; raises `GoError` for a bad escape or character."""
    in_host = part in {URLPart.HOST, URLPart.ZONE}
    if not in_host and "%" not in text:
        return text
    data = to_bytes(text)
    if in_host and _PLAIN[part].issuperset(data):
        return text
    refuses = _refused_in_host if part is URLPart.HOST else _refused_in_zone
    _check_escapes(data, refuses if in_host else lambda _: False)
    if in_host:
        _check_characters(data, part)
    return to_text(_ESCAPE.sub(lambda match: bytes([int(match[1], 16)]), data))


def _check_escapes(data: bytes, refuses: Callable[[bytes], bool]) -> None:
    at = data.find(b"%")
    while at >= 0:
        triplet = data[at : at + 3]
        if len(triplet) < 3 or not _HEX.issuperset(triplet[1:]) or refuses(triplet):  # noqa: PLR2004  # a percent sign and two digits
            raise GoError(f"invalid URL escape {go_quote(to_text(triplet))}")
        at = data.find(b"%", at + 3)


def _refused_in_host(triplet: bytes) -> bool:
    # RFC 3986, 3.2.2: for characters that are not ASCII only; %25 begins a zone.
    return int(triplet[1:2], 16) < _ASCII >> 4 and triplet != b"%25"


def _refused_in_zone(triplet: bytes) -> bool:
    value = int(triplet[1:], 16)
    return triplet != b"%25" and value != _SPACE and value not in _PLAIN[URLPart.HOST]


def _check_characters(data: bytes, part: URLPart) -> None:
    for byte in data:
        if byte < _ASCII and byte != ord("%") and byte not in _PLAIN[part]:
            raise GoError(f"invalid character {go_quote(chr(byte))} in host name")


_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_USERINFO = re.compile(r"[A-Za-z0-9\-._:~!$&'()*+,;=%@]*")
_OPTIONAL_PORT = re.compile(r"(:[0-9]*)?")


class UserInfo(Struct, frozen=True):
    """User name and, if one was given, password."""

    name: str
    password: str | None = None

    def __str__(self) -> str:
        """Format it as it precedes the `@`."""
        name = escape(self.name, URLPart.USER)
        if self.password is None:
            return name
        return f"{name}:{escape(self.password, URLPart.USER)}"


class GoURL(Struct, frozen=True):
    """A URL in parts.

    `path` and `fragment` are unescaped; `raw_path` and `raw_fragment` hold their
    spelling where escaping them would spell them otherwise. `host` has the port.
    """

    scheme: str = ""
    opaque: str = ""
    user: UserInfo | None = None
    host: str = ""
    path: str = ""
    raw_path: str = ""
    force_query: bool = False
    raw_query: str = ""
    fragment: str = ""
    raw_fragment: str = ""
    omit_host: bool = False

    @property
    def escaped_path(self) -> str:
        """The path as it is sent."""
        if self.path == "*" and not self.raw_path:
            return "*"
        return escape_unless_valid(self.path, self.raw_path, URLPart.PATH)

    @property
    def query(self) -> str:
        """The query with its question mark, if there is one."""
        return f"?{self.raw_query}" if self.force_query or self.raw_query else ""

    @property
    def request_uri(self) -> str:
        """The request target in the request line."""
        target = self.opaque or self.escaped_path or "/"
        if self.opaque.startswith("//"):
            target = f"{self.scheme}:{target}"
        return target + self.query

    @property
    def hostname(self) -> str:
        """The host without port and brackets."""
        name, _ = self._split_host()
        return name

    @property
    def port(self) -> str:
        """The port as it was written; empty if there is none."""
        _, port = self._split_host()
        return port

    @property
    def without_password(self) -> str:
        """The URL as text for messages."""
        if self.user is None or self.user.password is None:
            return str(self)
        shown = f"{self.user.name}:***@"
        return str(self).replace(f"{self.user}@", shown, 1)

    def _split_host(self) -> tuple[str, str]:
        name, colon, port = self.host.rpartition(":")
        if not colon or not _OPTIONAL_PORT.fullmatch(colon + port):
            name, port = self.host, ""
        if name.startswith("[") and name.endswith("]"):
            name = name[1:-1]
        return name, port

    def __str__(self) -> str:
        """Format the URL. Source: net/url/url.go, URL.String."""
        scheme = f"{self.scheme}:" if self.scheme else ""
        if self.opaque:
            return scheme + self.opaque + self.query + self._written_fragment()
        path = self.escaped_path
        if path and not path.startswith("/") and self.host:
            path = "/" + path
        authority = self._written_authority()
        if not scheme and not authority and ":" in path.partition("/")[0]:
            path = "./" + path  # else it would be parsed as a scheme
        return scheme + authority + path + self.query + self._written_fragment()

    def _written_authority(self) -> str:
        has_authority = bool(self.host) or self.user is not None
        if not has_authority and (self.omit_host or not self.scheme or not self.path):
            return ""
        user = f"{self.user}@" if self.user is not None else ""
        return f"//{user}{escape(self.host, URLPart.HOST)}"

    def _written_fragment(self) -> str:
        if not self.fragment:
            return ""
        return "#" + escape_unless_valid(
            self.fragment, self.raw_fragment, URLPart.FRAGMENT
        )

    def with_path(self, spelling: str) -> GoURL:
        """Return this URL with another path, given as spelled."""
        path = unescape(spelling, URLPart.PATH)
        raw_path = "" if escape(path, URLPart.PATH) == spelling else spelling
        return replace(self, path=path, raw_path=raw_path)

    def join(self, reference: str) -> GoURL:
        """Resolve a reference against this URL; raises `GoError` if it is invalid.

        Source: net/url/url.go, URL.Parse and ResolveReference.
        """
        target = parse_url(reference)
        result = replace(target, scheme=target.scheme or self.scheme)
        if target.scheme or target.host or target.user is not None:
            return result.with_path(_resolve_path(target.escaped_path, ""))
        if not target.path and not target.force_query and not target.raw_query:
            result = replace(result, raw_query=self.raw_query)
            if not target.fragment:
                result = replace(
                    result, fragment=self.fragment, raw_fragment=self.raw_fragment
                )
        result = replace(result, host=self.host, user=self.user)
        return result.with_path(_resolve_path(self.escaped_path, target.escaped_path))


def parse_url(text: str) -> GoURL:
    """Parse a URL or a reference; raises `GoError` as Go's `url.Parse` does."""
    before, _, fragment = text.partition("#")
    try:
        url = _parse_without_fragment(before)
    except GoError as error:
        raise GoError(f"parse {go_quote(before)}: {error}") from None
    if not fragment:
        return url
    try:
        plain = unescape(fragment, URLPart.FRAGMENT)
    except GoError as error:
        raise GoError(f"parse {go_quote(text)}: {error}") from None
    raw = "" if escape(plain, URLPart.FRAGMENT) == fragment else fragment
    return replace(url, fragment=plain, raw_fragment=raw)


def _parse_without_fragment(text: str) -> GoURL:
    if _CONTROL.search(text):
        raise GoError("net/url: invalid control character in URL")
    if text == "*":
        return GoURL(path="*")
    if text.startswith(":"):
        raise GoError("missing protocol scheme")
    match = _SCHEME.match(text)
    scheme = match[1].lower() if match else ""
    rest, mark, query = (text[match.end() :] if match else text).partition("?")
    url = GoURL(scheme=scheme, force_query=bool(mark) and not query, raw_query=query)
    if not rest.startswith("/"):
        if scheme:
            return replace(url, opaque=rest)
        if ":" in rest.partition("/")[0]:
            raise GoError("first path segment in URL cannot contain colon")
    if rest.startswith("//") and (scheme or not rest.startswith("///")):
        authority, slash, path = rest[2:].partition("/")
        user, host = _parse_authority(authority)
        url = replace(url, user=user, host=host)
        rest = slash + path
    elif scheme and rest.startswith("/"):
        url = replace(url, omit_host=True)
    return url.with_path(rest)


def _parse_authority(authority: str) -> tuple[UserInfo | None, str]:
    userinfo, at, host = authority.rpartition("@")
    host = _parse_host(host)
    if not at:
        return None, host
    if not _USERINFO.fullmatch(userinfo):
        raise GoError("net/url: invalid userinfo")
    name, colon, password = userinfo.partition(":")
    if not colon:
        return UserInfo(unescape(name, URLPart.USER)), host
    return UserInfo(
        unescape(name, URLPart.USER), unescape(password, URLPart.USER)
    ), host


def _parse_host(host: str) -> str:
    if host.rfind("[") > 0:
        raise GoError("invalid IP-literal")
    if host.startswith("["):
        return _parse_ip_literal(host)
    if ":" in host:
        _check_port(host[host.rindex(":") :])
    return unescape(host, URLPart.HOST)


def _parse_ip_literal(host: str) -> str:
    literal, bracket, port = host[1:].rpartition("]")
    if not bracket:
        raise GoError("missing ']' in host")
    _check_port(port)
    name, percent, zone = literal.partition("%25")
    address = unescape(name, URLPart.HOST) + unescape(percent + zone, URLPart.ZONE)
    check_ipv6(address)
    return f"[{address}]{unescape(port, URLPart.HOST)}"


def _check_port(text: str) -> None:
    if not _OPTIONAL_PORT.fullmatch(text):
        raise GoError(f"invalid port {go_quote(text)} after host")


def _resolve_path(base: str, reference: str) -> str:
    """Join two paths and remove `.` and `..` (RFC 3986, 5.2)."""
    if not reference:
        full = base
    elif reference.startswith("/"):
        full = reference
    else:
        full = base[: base.rfind("/") + 1] + reference
    if not full:
        return ""
    kept: list[str] = []
    elements = full.removeprefix("/").split("/")
    for element in elements:
        if element == "..":
            del kept[-1:]
        elif element != ".":
            kept.append(element)
    directory = "/" if elements[-1] in {".", ".."} and kept else ""
    return "/" + "/".join(kept) + directory
