"""The API server's rules for IP addresses, and its warnings about odd ones.

Source: k8s.io/apimachinery v0.36.2, pkg/util/validation/ip.go, parseIP,
GetWarningsForIP.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator

from probetui.kubelet_rules import KubeletRules
from probetui.manifest.problem import quote
from probetui.manifest.validation.field_error import ApiWarning, FieldError, invalid

_LEADING_ZEROS = re.compile(r"(?<![0-9])0+(?=[0-9])")

Address = ipaddress.IPv4Address | ipaddress.IPv6Address


def validate_address(text: str, rules: KubeletRules) -> Iterator[FieldError]:
    """Check an address; Go's old parser ignored leading zeros."""
    address = _parse(text)
    if address is None:
        detail = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"
        yield invalid("", text, detail)
    elif rules.strict_addresses and _without_zeros(text) != text:
        yield invalid("", text, "must not have leading 0s")
    elif rules.strict_addresses and _mapped(address):
        yield invalid("", text, "must not be an IPv4-mapped IPv6 address")


def odd_address(text: str) -> Iterator[ApiWarning]:
    """Warn of an address that a later version may refuse or rewrite."""
    address = _parse(text)
    if address is None:
        return
    mapped = _mapped(address)
    if mapped or _without_zeros(text) != text:
        usual = quote(str(mapped or address))
        start = f"non-standard IP address {quote(text)} will be considered invalid"
        yield ApiWarning("", f"{start} in a future Kubernetes release: use {usual}")
    elif str(address) != text:
        usual = quote(str(address))
        start = f"IPv6 address {quote(text)} should be in RFC 5952 canonical format"
        yield ApiWarning("", f"{start} ({usual})")


def _parse(text: str) -> Address | None:
    try:
        return ipaddress.ip_address(_without_zeros(text)) if "%" not in text else None
    except ValueError:
        return None


def _without_zeros(text: str) -> str:
    return _LEADING_ZEROS.sub("", text) if ":" not in text else text


def _mapped(address: Address) -> ipaddress.IPv4Address | None:
    """Return the IPv4 address mapped in an IPv6 address."""
    if isinstance(address, ipaddress.IPv4Address):
        return None
    return address.ipv4_mapped
