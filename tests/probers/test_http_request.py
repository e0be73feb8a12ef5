from __future__ import annotations

from typing import Any

import httpx2
import pytest

from probetui.errors import GoError
from probetui.k8s.probe import HTTPGetAction, HTTPHeader
from probetui.probers.http_request import (
    ProbeRequest,
    build_request,
    canonical_name,
    to_httpx,
)


def a_request(
    *headers: tuple[str, str], host: str = "10.1.2.3", **fields: Any
) -> ProbeRequest:
    lines = tuple(HTTPHeader(name, value) for name, value in headers)
    return build_request(HTTPGetAction(8080, http_headers=lines, **fields), host, 8080)


def wire(request: ProbeRequest) -> list[tuple[str, str]]:
    sent = to_httpx(request).headers.raw
    return [(name.decode(), value.decode("utf-8")) for name, value in sent]


def test_the_headers_of_a_plain_probe_are_the_kubelet_s_in_its_order() -> None:
    assert wire(a_request()) == [
        ("Host", "10.1.2.3:8080"),
        ("User-Agent", "kube-probe/1.32"),
        ("Accept", "*/*"),
        ("Connection", "close"),
    ]


def test_the_target_is_sent_as_go_spells_it_and_not_as_httpx_would() -> None:
    request = to_httpx(a_request(path="/a%2Fb/../c?q=<é> #f"))

    assert request.extensions["target"] == "/a%2Fb/../c?q=<é> ".encode()


def test_a_path_that_is_no_reference_is_escaped_whole() -> None:
    """Quirk: its question mark becomes part of the path."""
    assert str(a_request(path="/a%zz?b").url) == "http://10.1.2.3:8080/a%25zz%3Fb"


def test_a_path_cannot_lead_to_another_host() -> None:
    request = to_httpx(a_request(path="http://evil:99/x"))

    assert (request.url.host, request.extensions["target"]) == ("10.1.2.3", b"/x")


@pytest.mark.parametrize(
    ("headers", "sent"),
    [
        pytest.param([("accept", "")], [], id="an empty Accept removes it"),
        pytest.param([("Accept", ""), ("Accept", "a/b")], [], id="and those behind it"),
        pytest.param(
            [("x-a", "2"), ("X-A", "1")], [("X-A", "2"), ("X-A", "1")], id="all values"
        ),
        pytest.param([("X-A", " \ta b\t ")], [("X-A", "a b")], id="blanks cut off"),
        pytest.param([("Content-Length", "5")], [], id="nothing about a body"),
    ],
)
def test_headers_are_sent_as_go_sends_them(
    headers: list[tuple[str, str]], sent: list[tuple[str, str]]
) -> None:
    """Quirk: an empty first Accept takes those behind it away too."""
    always = {"Host", "User-Agent", "Accept", "Connection"}

    lines = wire(a_request(*headers))

    assert [line for line in lines if line[0] not in always] == sent
    assert ("Accept" in dict(lines)) == ("accept" not in headers[0][0].lower())


def test_a_user_s_agent_takes_the_place_of_the_kubelet_s() -> None:
    lines = wire(a_request(("user-agent", "mine"), ("User-Agent", "other")))

    assert [value for name, value in lines if name == "User-Agent"] == ["mine"]


def test_an_empty_agent_is_not_sent() -> None:
    assert "User-Agent" not in dict(wire(a_request(("User-Agent", ""))))


@pytest.mark.parametrize(
    ("headers", "sent"),
    [
        pytest.param([("Connection", "close")], ["close"], id="once"),
        pytest.param([("Connection", "x, Close")], ["x, Close"], id="in a list"),
        pytest.param([("Connection", "closed")], ["closed", "close"], id="no token"),
        pytest.param(
            [("Connection", "keep-alive")], ["keep-alive", "close"], id="beside another"
        ),
        pytest.param(
            [("Connection", "Upgrade"), ("Upgrade", "x")], ["Upgrade"], id="upgrade"
        ),
    ],
)
def test_the_connection_is_to_be_closed(
    headers: list[tuple[str, str]], sent: list[str]
) -> None:
    lines = wire(a_request(*headers))

    assert [value for name, value in lines if name == "Connection"] == sent


@pytest.mark.parametrize(
    ("host", "sent"),
    [
        pytest.param("my.host", "my.host", id="as given, without a port"),
        pytest.param("", "10.1.2.3:8080", id="empty is the URL's"),
        pytest.param("a b", "", id="an invalid one is sent empty"),
        pytest.param("u@h", "", id="a user in it is invalid"),
        pytest.param("münchen.de", "xn--mnchen-3ya.de", id="punycode"),
        pytest.param("[fe80::1%25eth0]:80", "[fe80::1]:80", id="without a zone"),
    ],
)
def test_the_host_header_may_be_chosen(host: str, sent: str) -> None:
    request = to_httpx(a_request(("Host", host)))

    assert request.headers["host"] == sent
    assert request.url.host == "10.1.2.3"


def test_a_zone_is_dialled_but_not_sent() -> None:
    request = to_httpx(a_request(host="fe80::1%eth0"))

    assert request.extensions["address"] == ("fe80::1%eth0", 8080)
    assert request.headers["host"] == "[fe80::1]:8080"


@pytest.mark.parametrize(
    ("header", "problem"),
    [
        pytest.param(("X Y", "v"), 'field name "X Y"', id="space in a name"),
        pytest.param(("", "v"), 'field name ""', id="no name"),
        pytest.param(("X:Y", "v"), 'field name "X:Y"', id="colon in a name"),
        pytest.param(("X\r\nY", "v"), r'field name "X\r\nY"', id="line in a name"),
        pytest.param(("X", "a\r\nY: b"), 'field value for "X"', id="line in a value"),
        pytest.param(("X", "a\nb"), 'field value for "X"', id="line feed in a value"),
        pytest.param(("X", "a\0b"), 'field value for "X"', id="NUL in a value"),
        pytest.param(("Host", "a\nb"), 'field value for "Host"', id="line in a host"),
    ],
)
def test_a_header_cannot_smuggle_in_another(
    header: tuple[str, str], problem: str
) -> None:
    request = a_request(header)

    with pytest.raises(GoError) as refused:
        to_httpx(request)

    assert str(refused.value) == f"net/http: invalid header {problem}"


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        pytest.param({"scheme": "FTP"}, 'unsupported protocol scheme "ftp"', id="ftp"),
        pytest.param({"path": "a:b"}, "http: no Host in request URL", id="no host"),
    ],
)
def test_a_request_that_cannot_be_sent_is_refused(
    fields: dict[str, str], problem: str
) -> None:
    request = a_request(**fields)

    with pytest.raises(GoError) as refused:
        to_httpx(request)

    assert str(refused.value) == problem


@pytest.mark.parametrize(
    "fields",
    [
        pytest.param({"scheme": "1http"}, id="bad scheme"),
        pytest.param({"host": "a b"}, id="space in the host"),
        pytest.param({"host": "h:80"}, id="port in the host"),
    ],
)
def test_a_request_that_cannot_be_built_is_an_error(fields: dict[str, str]) -> None:
    with pytest.raises(GoError, match=r"^parse "):
        a_request(**fields)


def test_userinfo_becomes_basic_authorization() -> None:
    assert dict(wire(a_request(path="//u:p@x/")))["Authorization"] == "Basic dTpw"


def test_an_authorization_header_beats_userinfo() -> None:
    lines = dict(wire(a_request(("Authorization", "Bearer z"), path="//u:p@x/")))

    assert lines["Authorization"] == "Bearer z"


@pytest.mark.parametrize(
    ("name", "canonical"),
    [
        pytest.param("x-custom-HEADER", "X-Custom-Header", id="words"),
        pytest.param("X_Under", "X_under", id="an underscore joins"),
        pytest.param("x--a", "X--A", id="two hyphens"),
        pytest.param("x y", "x y", id="no token stays"),
    ],
)
def test_a_name_has_its_capitals(name: str, canonical: str) -> None:
    assert canonical_name(name) == canonical


def followed(
    first: ProbeRequest, location: str, *, before: ProbeRequest | None = None
) -> ProbeRequest:
    request = before or first
    return request.redirected(location, request.url.join(location), first)


def test_a_redirected_request_has_the_headers_and_a_referer() -> None:
    first = a_request(("Cookie", "a=b"), path="//u:p@x/a")

    request = followed(first, "/b")

    assert request.headers["Cookie"] == ("a=b",)
    assert request.headers["Referer"] == ("http://10.1.2.3:8080/a",)


def test_a_redirect_keeps_a_user_s_referer() -> None:
    request = followed(a_request(("Referer", "http://r/")), "/b")

    assert request.headers["Referer"] == ("http://r/",)


def test_a_redirect_out_of_tls_does_not_say_where_it_came_from() -> None:
    request = followed(a_request(scheme="HTTPS"), "http://10.1.2.3/b")

    assert "Referer" not in request.headers


@pytest.mark.parametrize(
    ("location", "host"),
    [
        pytest.param("/b", "my.host", id="relative"),
        pytest.param("//10.1.2.3/b", "my.host", id="without a scheme"),
        pytest.param("http://10.1.2.3/b", "", id="absolute"),
    ],
)
def test_a_redirect_keeps_the_host_header_while_no_scheme_is_named(
    location: str, host: str
) -> None:
    assert followed(a_request(("Host", "my.host")), location).host == host


def test_a_host_header_that_was_dropped_does_not_come_back() -> None:
    first = a_request(("Host", "my.host"))
    second = followed(first, "http://10.1.2.3/b")

    third = followed(first, "/c", before=second)

    assert third.host == ""


def test_a_default_port_is_dialled_where_a_redirect_names_none() -> None:
    request = to_httpx(followed(a_request(), "https://10.1.2.3/b"))

    assert request.extensions["address"] == ("10.1.2.3", 443)
    assert isinstance(request, httpx2.Request)
