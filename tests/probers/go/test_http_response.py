from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from probetui.errors import GoError
from probetui.probers.go.http_response import (
    MAX_HEAD_BYTES,
    MAX_HEAD_LINES,
    BodyEnd,
    ReceiveBuffer,
    ResponseHead,
    Step,
    read_body,
    read_head,
)

BROKEN = "net/http: HTTP/1.x transport connection broken: "
OK = b"HTTP/1.1 200 OK\r\n"
INTERIM = b"HTTP/1.1 103 E\r\n\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"
Read = tuple[ResponseHead, bytes, str]
"""Head, body as far as it came, and why it broke off."""


def finish(steps: Step[ResponseHead], feed: Callable[[], None]) -> ResponseHead:
    while True:
        try:
            next(steps)
        except StopIteration as done:
            head: ResponseHead = done.value
            return head
        feed()


def read(*pieces: bytes, error: GoError | None = None) -> Read:
    """Feed pieces as they are asked for, then the end; raises for a bad head."""
    buffer = ReceiveBuffer()
    coming = iter(pieces)

    def feed() -> None:
        piece = next(coming, None)
        if piece is not None:
            buffer.feed(piece)
        elif error is not None:
            buffer.fail(error)
        else:
            buffer.feed(b"")

    head = finish(read_head(buffer), feed)
    body = b""
    try:
        for part in read_body(buffer, head.body):
            if part is None:
                feed()
            else:
                body += part
    except GoError as broken:
        return head, body, str(broken)
    return head, body, ""


def split(data: bytes, *, at: list[int]) -> list[bytes]:
    cuts = [0, *sorted(min(position, len(data)) for position in at), len(data)]
    pieces = [data[a:b] for a, b in pairwise(cuts)]
    return [piece for piece in pieces if piece]


@pytest.mark.parametrize(
    ("response", "status", "body"),
    [
        pytest.param(OK + b"Content-Length: 2\r\n\r\nok", 200, b"ok", id="length"),
        pytest.param(OK + b"Content-Length: 2\r\n\r\nokay", 200, b"ok", id="too much"),
        pytest.param(OK + b"\r\nall of it", 200, b"all of it", id="until close"),
        pytest.param(CHUNKED + b"2\r\nok\r\n0\r\n\r\n", 200, b"ok", id="chunked"),
        pytest.param(
            CHUNKED + b"2;x=y\r\nok\r\n0\r\nT: 1\r\n\r\n", 200, b"ok", id="trailer"
        ),
        pytest.param(
            b"HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n",
            200,
            b"2\r\n",
            id="HTTP/1.0 knows no chunks",
        ),
        pytest.param(
            b"HTTP/1.1 204 N\r\nContent-Length: 2\r\n\r\nok", 204, b"", id="no content"
        ),
        pytest.param(b"HTTP/1.1 304 N\r\n\r\nok", 304, b"", id="not modified"),
        pytest.param(
            b"HTTP/1.1 103 E\r\nLink: x\r\n\r\nHTTP/1.1 200\r\n\r\n", 200, b"", id="103"
        ),
        pytest.param(
            b"HTTP/1.1 101 S\r\nConnection: x, Upgrade\r\nUpgrade: y\r\n\r\nz",
            101,
            b"z",
            id="another protocol",
        ),
        pytest.param(b"HTTP/1.1 101 S\r\n\r\nz", 101, b"", id="101 and no protocol"),
        pytest.param(b"HTTP/3.7 999  \r\n\r\n", 999, b"", id="odd version and status"),
        pytest.param(b"HTTP/1.1 000 X\n\n", 0, b"", id="bare line feeds"),
        pytest.param(OK + b"A B : c\r\n\r\nx", 200, b"x", id="spaces in a name"),
        pytest.param(OK + b": x\r\n\r\nx", 200, b"x", id="no name"),
        pytest.param(
            OK + b"Content-Length:\r\n  1\r\n\r\nxyz", 200, b"x", id="continued line"
        ),
    ],
)
def test_a_response_is_read_as_go_reads_it(
    response: bytes, status: int, body: bytes
) -> None:
    head, read_bytes, why = read(response)

    assert (head.status, read_bytes, why) == (status, body, "")


@given(
    st.sampled_from(
        [
            OK + b"Content-Length: 4\r\nA: b\r\n c\r\n\r\nbody",
            OK + b"Content-Length: 9\r\n\r\nbody",
            CHUNKED + b"2\r\nok\r\nA\r\n0123456789\r\n0\r\nT: x\r\n\r\n",
            CHUNKED + b"2\r\nokX\r\n0\r\n\r\n",
            b"HTTP/1.1 100 C\r\n\r\n" + OK + b"\r\nuntil close",
        ]
    ),
    st.lists(st.integers(0, 100)),
)
def test_where_a_response_is_split_does_not_matter(data: bytes, at: list[int]) -> None:
    assert read(*split(data, at=at)) == read(data)


@pytest.mark.parametrize(
    ("response", "problem"),
    [
        pytest.param(b"garbage\r\n", 'malformed HTTP response "garbage"', id="garbage"),
        pytest.param(
            b"\r\n" + OK, 'malformed HTTP response ""', id="an empty line first"
        ),
        pytest.param(
            b"HTTP/1.1 20 OK\r\n", 'malformed HTTP status code "20"', id="two digits"
        ),
        pytest.param(
            b"HTTP/1.1 -20\r\n", 'malformed HTTP status code "-20"', id="negative"
        ),
        pytest.param(b"ICY 200 OK\r\n", 'malformed HTTP version "ICY"', id="version"),
        pytest.param(
            OK + b" A: b\r\n\r\n",
            'malformed MIME header initial line: " A: b"',
            id="nothing to continue",
        ),
        pytest.param(
            OK + b"no colon\r\n",
            'malformed MIME header: missing colon: "no colon"',
            id="no colon",
        ),
        pytest.param(
            OK + b"A\x01: b\r\n\r\n",
            r'malformed MIME header line: "A\x01: b"',
            id="bad name",
        ),
        pytest.param(
            OK + b"A: \x00\r\n\r\n",
            r'malformed MIME header line: "A: \x00"',
            id="bad value",
        ),
        pytest.param(
            OK + b"Content-Length: x\r\n\r\n", 'bad Content-Length "x"', id="length"
        ),
        pytest.param(
            OK + b"Content-Length: 9223372036854775808\r\n\r\n",
            'bad Content-Length "9223372036854775808"',
            id="a length beyond 63 bits",
        ),
        pytest.param(
            OK + b"Content-Length:\r\n\r\n",
            'invalid empty Content-Length ""',
            id="empty length",
        ),
        pytest.param(
            OK + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\n",
            "http: message cannot contain multiple Content-Length headers; "
            'got ["1" "2"]',
            id="two lengths",
        ),
        pytest.param(
            OK + b"Transfer-Encoding: br\r\n\r\n",
            'unsupported transfer encoding: "br"',
            id="encoding",
        ),
        pytest.param(
            OK + b"Transfer-Encoding: chunked\r\nTransfer-Encoding: x\r\n\r\n",
            'too many transfer encodings: ["chunked" "x"]',
            id="two encodings",
        ),
        pytest.param(OK, "unexpected EOF", id="closed behind the status"),
        pytest.param(
            OK + b"Content-Le",
            'malformed MIME header: missing colon: "Content-Le"',
            id="closed within a header",
        ),
        pytest.param(
            OK + b"A: " + b"a" * MAX_HEAD_BYTES,
            "net/http: server response headers exceeded 10485760 bytes; aborted",
            id="an endless head",
        ),
        pytest.param(
            OK + b"a:\n" * MAX_HEAD_LINES + b"\n",
            "net/http: server response headers exceeded 10000 lines; aborted",
            id="too many lines",
        ),
        pytest.param(
            OK + b"a: b\n" + b" \n" * MAX_HEAD_LINES,
            "net/http: server response headers exceeded 10000 lines; aborted",
            id="too many lines of one header",
        ),
        pytest.param(
            INTERIM * MAX_HEAD_LINES,
            "net/http: server response headers exceeded 10000 lines; aborted",
            id="too many interim heads",
        ),
        pytest.param(
            b"x" * 1025 + b"\r\n",
            'malformed HTTP response "' + "x" * 1024 + '" (cut: 1 bytes)',
            id="a long line that is not HTTP",
        ),
        pytest.param(
            OK + b"".join(b"Content-Length: %d\r\n" % at for at in range(10)) + b"\r\n",
            "http: message cannot contain multiple Content-Length headers; got "
            '["0" "1" "2" "3" "4" "5" "6" "7"] (cut: 2 more)',
            id="ten lengths",
        ),
    ],
)
def test_a_bad_head_is_refused_in_go_s_words(response: bytes, problem: str) -> None:
    with pytest.raises(GoError) as refused:
        read(response)

    assert str(refused.value) == BROKEN + problem


@pytest.mark.parametrize(
    "response",
    [
        pytest.param(b"garbage\r\n", id="bad status line"),
        pytest.param(OK + b"no colon\r\n", id="bad header"),
    ],
)
def test_a_bad_line_is_refused_before_more_is_received(response: bytes) -> None:
    buffer = ReceiveBuffer()
    buffer.feed(response)

    with pytest.raises(GoError, match="malformed"):
        next(read_head(buffer))


def test_no_byte_at_all_is_an_early_end() -> None:
    with pytest.raises(GoError) as refused:
        read()

    assert str(refused.value) == "EOF"


def test_a_broken_connection_without_a_response_is_an_error() -> None:
    with pytest.raises(GoError) as refused:
        read(error=GoError("read tcp: reset"))

    assert str(refused.value) == "read tcp: reset"


@pytest.mark.parametrize(
    ("response", "problem"),
    [
        pytest.param(
            OK + b"Content-Length: 9\r\n\r\nx", "unexpected EOF", id="too short"
        ),
        pytest.param(CHUNKED + b"zz\r\n", "invalid byte in chunk length", id="length"),
        pytest.param(
            CHUNKED + b"\r\n", "empty hex number for chunk length", id="no length"
        ),
        pytest.param(
            CHUNKED + b"1" * 17 + b"\r\n", "http chunk length too large", id="large"
        ),
        pytest.param(CHUNKED + b"1" * 5000, "header line too long", id="long line"),
        pytest.param(
            CHUNKED + b"1" * 5000 + b"\n", "header line too long", id="whole long line"
        ),
        pytest.param(
            CHUNKED + b"1\nx", "chunked line ends with bare LF", id="bare line feed"
        ),
        pytest.param(
            CHUNKED + b"1\r;\r\nx", "invalid CR in chunked line", id="bare return"
        ),
        pytest.param(
            CHUNKED + b"1\r\nxyz", "malformed chunked encoding", id="no end of chunk"
        ),
        pytest.param(CHUNKED + b"1\r\nx", "unexpected EOF", id="closed behind a chunk"),
        pytest.param(CHUNKED + b"1\r\n", "unexpected EOF", id="closed before data"),
        pytest.param(CHUNKED, "unexpected EOF", id="closed before a length"),
        pytest.param(
            CHUNKED + b"0\r\nA: b\r\n",
            "http: suspiciously long trailer after chunked body",
            id="closed within a trailer",
        ),
        pytest.param(
            CHUNKED + b"0\r\nA: " + b"a" * 4096 + b"\r\n\r\n",
            "http: suspiciously long trailer after chunked body",
            id="a long trailer",
        ),
        pytest.param(
            CHUNKED + (b"1;" + b"a" * 4000 + b"\r\na\r\n") * 5 + b"0\r\n\r\n",
            "chunked encoding contains too much non-data",
            id="long chunk extensions",
        ),
        pytest.param(
            CHUNKED + b"0\r\n", "http: unexpected EOF reading trailer", id="trailer"
        ),
    ],
)
def test_a_truncated_body_has_its_error(response: bytes, problem: str) -> None:
    _, _, why = read(response)

    assert why == problem


def test_a_body_until_close_breaks_off_with_the_connection() -> None:
    _, body, why = read(OK + b"\r\npart", error=GoError("read tcp: reset"))

    assert (body, why) == (b"part", "read tcp: reset")


@given(st.lists(st.binary(max_size=30), max_size=5))
def test_any_bytes_are_a_response_or_refused(pieces: list[bytes]) -> None:
    try:
        head, _, _ = read(*(piece for piece in pieces if piece))
    except GoError:
        return

    assert head.status <= 999


def test_a_head_ends_at_its_empty_line_whatever_ends_its_lines() -> None:
    body = b"a\r\n\r\nb"

    _, read_body_, problem = read(b"HTTP/1.1 200 OK\nContent-Length: 6\n\n" + body)

    assert (read_body_, problem) == (body, "")


def test_how_a_body_ends_is_part_of_the_head() -> None:
    head, _, _ = read(CHUNKED + b"0\r\n\r\n")

    assert head.body is BodyEnd.LAST_CHUNK
