from __future__ import annotations

import socket

import pytest
from hypothesis import given
from hypothesis import strategies as st

from probetui.errors import GoError
from probetui.kubelet.runtime.go_format import join_host_port
from probetui.probers.go.net import (
    address_family,
    check_host_port,
    check_ipv6,
    to_ascii_host,
    to_punycode,
)


@pytest.mark.parametrize(
    ("host", "problem"),
    [
        pytest.param("[::1]", "missing port in address", id="own brackets"),
        pytest.param("a[", "unexpected '[' in address", id="opening bracket"),
        pytest.param("a]", "unexpected ']' in address", id="closing bracket"),
    ],
)
def test_a_host_with_brackets_makes_no_address(host: str, problem: str) -> None:
    address = join_host_port(host, 80)

    with pytest.raises(GoError) as refused:
        check_host_port(address)

    assert str(refused.value) == f"address {address}: {problem}"


@pytest.mark.parametrize("host", ["h", "", "::1", "fe80::1%eth0", "a:b"])
def test_any_other_host_makes_one(host: str) -> None:
    check_host_port(join_host_port(host, 80))


@pytest.mark.parametrize(
    ("host", "sent"),
    [
        pytest.param("EXAMPLE.com:80", "EXAMPLE.com:80", id="ASCII stays"),
        pytest.param("münchen.de:80", "xn--mnchen-3ya.de:80", id="with a port"),
        pytest.param("日本", "xn--wgv71a", id="one label"),
    ],
)
def test_a_host_header_is_punycode(host: str, sent: str) -> None:
    assert to_punycode(host) == sent


@pytest.mark.parametrize(
    ("host", "dialled"),
    [
        pytest.param("MÜNCHEN.de", "xn--mnchen-3ya.de", id="mapped to lower case"),
        pytest.param("EXAMPLE.com", "EXAMPLE.com", id="ASCII stays"),
        pytest.param("a\u2024\u2024b", "a\u2024\u2024b", id="what IDNA refuses stays"),
    ],
)
def test_a_host_is_resolved_as_idna(host: str, dialled: str) -> None:
    assert to_ascii_host(host) == dialled


@pytest.mark.parametrize(
    ("host", "family"),
    [
        pytest.param("10.0.0.1", socket.AF_INET, id="IPv4"),
        pytest.param("::1", socket.AF_INET6, id="IPv6"),
        pytest.param("fe80::1%eth0", socket.AF_INET6, id="IPv6 with a zone"),
        pytest.param("127.1", None, id="what only C takes for an address"),
        pytest.param("010.0.0.1", None, id="leading zero"),
        pytest.param("localhost", None, id="name"),
        pytest.param("a\0b", None, id="NUL"),
    ],
)
def test_an_address_has_a_family(
    host: str, family: socket.AddressFamily | None
) -> None:
    assert address_family(host) is family


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        pytest.param("h", "unable to parse IP", id="name"),
        pytest.param("%", "missing IPv6 address", id="only a zone"),
        pytest.param("1.2.3", "IPv4 address too short", id="three fields"),
        pytest.param("1.2.3.4.5", "IPv4 address too long", id="five fields"),
        pytest.param("1.2.3.256", "IPv4 field has value >255", id="large field"),
        pytest.param(
            "1.2.3.04", "IPv4 field has octet with leading zero", id="leading zero"
        ),
        pytest.param(
            "1..2.3",
            'IPv4 field must have at least one digit (at "1..2.3")',
            id="empty field",
        ),
        pytest.param(
            "1.2.3.4:80", 'unexpected character (at ":80")', id="IPv4 and port"
        ),
        pytest.param(
            "h:80",
            'each colon-separated field must have at least one digit (at "h:80")',
            id="name and port",
        ),
        pytest.param("1:2]", 'unexpected character, want colon (at "]")', id="bracket"),
        pytest.param(
            "1:", 'colon must be followed by more characters (at ":")', id="last colon"
        ),
        pytest.param(
            "12345::",
            'each group must have 4 or less digits (at "12345::")',
            id="long group",
        ),
        pytest.param("1:2", "address string too short", id="two groups"),
        pytest.param(
            "1:2:3:4:5:6:7:8:9",
            'trailing garbage after address (at "9")',
            id="nine groups",
        ),
        pytest.param("::%", "zone must be a non-empty string", id="no zone"),
    ],
)
def test_what_is_no_ipv6_address_is_refused(text: str, problem: str) -> None:
    with pytest.raises(GoError) as refused:
        check_ipv6(text)

    assert str(refused.value) == f'invalid host: ParseAddr("{text}"): {problem}'


@given(st.ip_addresses(v=6).map(str))
def test_every_ipv6_address_is_one(text: str) -> None:
    check_ipv6(text)


@given(st.text(st.sampled_from("0123456789abcg:.%]"), max_size=20))
def test_any_text_is_an_address_or_refused_for_a_reason(text: str) -> None:
    try:
        check_ipv6(text)
    except GoError as error:
        problem = str(error)
    else:
        problem = "invalid IP-literal"
    assert problem.startswith(("invalid host: ParseAddr(", "invalid IP-literal"))
