"""Addresses as Go's `net` and `net/netip` parse and format them."""

from __future__ import annotations

import ipaddress
import re
import socket

import idna

from probetui.errors import GoError
from probetui.kubelet.runtime.go_format import go_quote

_GROUPS = 8
_HEX_DIGITS = 4
_HEXTET = re.compile(r"[0-9A-Fa-f]*")
_NOT_IPV4 = re.compile(r"[^0-9.]")


def check_host_port(address: str) -> None:
    """Raise `GoError` for a `host:port` whose host has odd brackets.

    Source: net/ipsock.go, SplitHostPort.
    """
    host, _, _ = address.rpartition(":")
    problem = ""
    if host.startswith("["):
        if host.find("]") != len(host) - 1:
            problem = "missing port in address"
        host = host[1:-1]
    if not problem and "[" in host:
        problem = "unexpected '[' in address"
    if not problem and "]" in host:
        problem = "unexpected ']' in address"
    if problem:
        raise GoError(f"address {address}: {problem}")


def to_punycode(address: str) -> str:
    """Encode the labels of a host, with or without port, that are not ASCII, as `xn--`.

    Nothing is mapped: upper case stays. Source: net/http, PunycodeHostPort.
    """
    if address.isascii():
        return address
    host, colon, port = address.partition(":")
    labels = (
        label if label.isascii() else "xn--" + label.encode("punycode").decode("ascii")
        for label in host.split(".")
    )
    return ".".join(labels) + colon + port


def to_ascii_host(host: str) -> str:
    """Encode a host for a lookup: in IDNA, if it is not ASCII.

    A host that IDNA refuses is unchanged. Source: net/http, idnaASCII.
    """
    if host.isascii():
        return host
    try:
        return idna.encode(host, uts46=True).decode("ascii")
    except idna.IDNAError:
        return host


def address_family(host: str) -> socket.AddressFamily | None:
    """Return the family of an IP address, None for a name."""
    try:
        socket.inet_pton(socket.AF_INET, host)
    except (OSError, ValueError):
        pass
    else:
        return socket.AF_INET
    if ":" not in host:
        return None
    try:
        ipaddress.IPv6Address(host)
    except ValueError:
        return None
    return socket.AF_INET6


def check_ipv6(text: str) -> None:
    """Raise `GoError` unless a text is an IPv6 address.

    Source: net/netip/netip.go, ParseAddr, and net/url/url.go, parseHost.
    """
    family = address_family(text)
    if family is socket.AF_INET:
        raise GoError("invalid IP-literal")
    if family is None:
        problem, at = _explain_bad_address(text)
        where = f" (at {go_quote(at)})" if at else ""
        raise GoError(f"invalid host: ParseAddr({go_quote(text)}): {problem}{where}")


def _explain_bad_address(text: str) -> tuple[str, str]:
    """Return the error in an address and where it starts."""
    first = re.search(r"[.:%]", text)
    if first is None:
        return "unable to parse IP", ""
    if first[0] == "%":
        return "missing IPv6 address", ""
    if first[0] == ":":
        return _explain_bad_ipv6(text)
    stranger = _NOT_IPV4.search(text)
    if stranger is not None:
        return "unexpected character", text[stranger.start() :]
    fields = text.split(".")
    if "" in fields:
        return "IPv4 field must have at least one digit", text
    if len(fields) != 4:  # noqa: PLR2004  # an IPv4 address has four
        return f"IPv4 address too {'short' if len(fields) < 4 else 'long'}", ""  # noqa: PLR2004
    if any(len(field) > 1 and field[0] == "0" for field in fields):
        return "IPv4 field has octet with leading zero", ""
    return "IPv4 field has value >255", ""


def _explain_bad_ipv6(text: str) -> tuple[str, str]:
    rest, _, zone = text.partition("%")
    if "%" in text and not zone:
        return "zone must be a non-empty string", ""
    rest = rest.removeprefix("::")
    for _ in range(_GROUPS):
        if not rest:
            return "address string too short", ""
        hextet = _HEXTET.match(rest)
        digits = len(hextet[0]) if hextet else 0
        if not digits:
            return "each colon-separated field must have at least one digit", rest
        if digits > _HEX_DIGITS:
            return "each group must have 4 or less digits", rest
        rest = rest[digits:]
        if rest and rest[0] != ":":
            return "unexpected character, want colon", rest
        if rest == ":":
            return "colon must be followed by more characters", rest
        rest = rest[2:] if rest.startswith("::") else rest[1:]
    return "trailing garbage after address", rest
