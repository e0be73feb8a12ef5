from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from probetui.errors import GoError
from probetui.probers.go import urls

BASE = urls.parse_url("http://a/b/c/d;p?q")
PUNCTUATION = [":", "//", "/", "@", "[", "]", "%", "?", "#", "..", ".", "*", " "]
WORDS = ["http", "a", "::1", "%41", "%zz", "%25", "80", "é", "\x01", "\udcff"]
PIECES = st.lists(st.sampled_from([*PUNCTUATION, *WORDS]), max_size=8).map("".join)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("http://h:80/a%2Fb?q=%zz#f", id="escapes as they are spelled"),
        pytest.param("http://u:p@h", id="user and password"),
        pytest.param("http://h?x", id="a query and no path"),
        pytest.param("http://h/?", id="an empty query"),
        pytest.param("http://[fe80::1%25eth0]:80/", id="an IPv6 address with a zone"),
        pytest.param("mailto:a@b", id="no slash after the scheme"),
        pytest.param("/a!'()*[b]", id="characters that need not be escaped"),
        pytest.param("*", id="an asterisk"),
    ],
)
def test_a_url_is_written_as_it_was_read(text: str) -> None:
    assert str(urls.parse_url(text)) == text


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        pytest.param(
            "/\n", "net/url: invalid control character in URL", id="control character"
        ),
        pytest.param(":x", "missing protocol scheme", id="no scheme"),
        pytest.param(
            "1:2", "first path segment in URL cannot contain colon", id="colon"
        ),
        pytest.param("/%zz", 'invalid URL escape "%zz"', id="bad escape"),
        pytest.param("/%1", 'invalid URL escape "%1"', id="cut escape"),
        pytest.param("//h:x/", 'invalid port ":x" after host', id="bad port"),
        pytest.param("//[::1", "missing ']' in host", id="bracket not closed"),
        pytest.param("//[::1]x", 'invalid port "x" after host', id="after bracket"),
        pytest.param("//x[::1]", "invalid IP-literal", id="before bracket"),
        pytest.param("//[1.2.3.4]", "invalid IP-literal", id="IPv4 in brackets"),
        pytest.param("//a b/", 'invalid character " " in host name', id="host"),
        pytest.param("//%41/", 'invalid URL escape "%41"', id="ASCII escaped in host"),
        pytest.param("//[::1%25%2f]", 'invalid URL escape "%2f"', id="bad zone"),
        pytest.param("//a b@h/", "net/url: invalid userinfo", id="bad user"),
    ],
)
def test_a_bad_url_is_refused_in_go_s_words(text: str, problem: str) -> None:
    with pytest.raises(GoError) as refused:
        urls.parse_url(text)

    assert str(refused.value).endswith(f": {problem}")


def test_a_bad_fragment_is_refused_too() -> None:
    with pytest.raises(GoError) as refused:
        urls.parse_url("/a#%zz")

    assert str(refused.value) == 'parse "/a#%zz": invalid URL escape "%zz"'


# RFC 3986, 5.4, but for what Go does otherwise: nothing.
@pytest.mark.parametrize(
    ("reference", "target"),
    [
        pytest.param("g", "http://a/b/c/g", id="g"),
        pytest.param("./g", "http://a/b/c/g", id="./g"),
        pytest.param("g/", "http://a/b/c/g/", id="g/"),
        pytest.param("/g", "http://a/g", id="/g"),
        pytest.param("//g", "http://g", id="//g"),
        pytest.param("?y", "http://a/b/c/d;p?y", id="?y"),
        pytest.param("g?y", "http://a/b/c/g?y", id="g?y"),
        pytest.param("#s", "http://a/b/c/d;p?q#s", id="#s"),
        pytest.param("", "http://a/b/c/d;p?q", id="nothing"),
        pytest.param(".", "http://a/b/c/", id="."),
        pytest.param("..", "http://a/b/", id=".."),
        pytest.param("../g", "http://a/b/g", id="../g"),
        pytest.param("../../../g", "http://a/g", id="../../../g"),
        pytest.param("/./g", "http://a/g", id="/./g"),
        pytest.param("g;x=1/../y", "http://a/b/c/y", id="g;x=1/../y"),
        pytest.param("https://h/../x", "https://h/x", id="absolute"),
        pytest.param("mailto:x@y", "mailto:x@y", id="no host at all"),
    ],
)
def test_a_reference_leads_on_from_a_url(reference: str, target: str) -> None:
    assert str(BASE.join(reference)) == target


def test_a_relative_reference_keeps_the_user() -> None:
    assert str(urls.parse_url("http://u:p@h/a").join("b")) == "http://u:p@h/b"


def test_a_password_is_not_shown() -> None:
    url = urls.parse_url("http://u:secret@h/")

    assert url.without_password == "http://u:***@h/"


@pytest.mark.parametrize(
    ("text", "hostname", "port"),
    [
        pytest.param("//h", "h", "", id="name"),
        pytest.param("//h:80", "h", "80", id="name and port"),
        pytest.param("//h:", "h", "", id="empty port"),
        pytest.param("//[::1]:80", "::1", "80", id="address and port"),
        pytest.param("//[::1]", "::1", "", id="address"),
    ],
)
def test_a_host_has_a_name_and_a_port(text: str, hostname: str, port: str) -> None:
    url = urls.parse_url(text)

    assert (url.hostname, url.port) == (hostname, port)


def test_a_first_segment_with_a_colon_is_not_taken_for_a_scheme() -> None:
    assert str(urls.GoURL(path="a:b")) == "./a:b"


@given(PIECES)
def test_what_can_be_read_is_written_so_that_it_reads_the_same(text: str) -> None:
    try:
        url = urls.parse_url(text)
    except GoError:
        return

    assert str(urls.parse_url(str(url))) == str(url)


@given(PIECES)
def test_any_reference_leads_somewhere_or_is_refused(text: str) -> None:
    try:
        target = BASE.join(text)
    except GoError:
        return

    assert target.scheme
