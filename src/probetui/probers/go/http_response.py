"""HTTP/1 responses, read with Go's strictness and refused in Go's words.

No I/O: a step reads from a `ReceiveBuffer` and yields None when it needs more; the
caller then feeds the buffer and resumes the step. h11 is stricter than Go with sloppy
servers (header names with a space, version 3.7), so a probe that succeeds in a cluster
would fail here.

Difference: the heads of one answer, interim ones included, have at most 10,000 lines,
where Go counts only their bytes: 10 MiB, here as there. Go reads three million lines
in half a second; here they would take six seconds and half a gigabyte.

Source: net/http/response.go and transfer.go, net/textproto/reader.go,
net/http/internal/chunked.go.
"""

from __future__ import annotations

import re
import string
from collections.abc import Generator, Iterator
from enum import Enum
from functools import lru_cache
from typing import TypeVar

from msgspec import Struct

from probetui.errors import GoError
from probetui.probers.truncation import quote_all_received, quote_received

MAX_HEAD_BYTES = 10 << 20
MAX_HEAD_LINES = 10_000
SHORT_HEAD_BYTES = 1 << 10
_MAX_CHUNK_LINE_BYTES = 4096
_MAX_TRAILER_BYTES = 4096
# The overhead that a chunk may have, and all chunks together.
_FREE_CHUNK_BYTES = 16
_MAX_CHUNK_EXCESS = 16 << 10
_MAX_CHUNK_DIGITS = 16
_STATUS_DIGITS = 3
_SWITCHING_PROTOCOLS = 101

_VERSION = re.compile(rb"HTTP/[0-9]\.[0-9]")
_STATUS = re.compile(rb"[+\d]\d\d")
# A token, and spaces: Go takes such a name, but never for one it knows.
_NAME_BYTES = (string.ascii_letters + string.digits + "!#$%&'*+-.^_`|~ ").encode()
# `translate` takes 1 ns a byte, a regular expression 10: a value may have 10 MiB.
_BAD_VALUE_BYTES = bytes({*range(0x20), 0x7F} - {ord("\t")})
_CHUNK_LENGTH = re.compile(rb"[0-9A-Fa-f]*")
_INT63 = 1 << 63

T = TypeVar("T")
Step = Generator[None, None, T]


class BodyEnd(Enum):
    """How the end of a body without a length is found."""

    LAST_CHUNK = "last chunk"
    CLOSE = "close"


class ResponseHead(Struct, frozen=True):
    """Status and headers; `body` is its length in bytes or how it ends.

    Names are in lower case, in the order received.
    """

    status: int
    headers: tuple[tuple[bytes, bytes], ...]
    body: int | BodyEnd


class ReceiveBuffer:
    """Received bytes that were not read yet; empty bytes to `feed` end it.

    After a broken connection, `error` is Go's error.
    """

    __slots__ = (
        "_at",
        "_data",
        "_head_bytes_left",
        "_head_lines_left",
        "_searched",
        "at_end",
        "error",
    )

    def __init__(self) -> None:
        self._data = bytearray()
        self._at = 0
        self._searched = 0
        self._head_bytes_left = MAX_HEAD_BYTES
        self._head_lines_left = MAX_HEAD_LINES
        self.at_end = False
        self.error: GoError | None = None

    def feed(self, data: bytes) -> None:
        """Add received bytes; empty bytes mean the end."""
        if not data:
            self.at_end = True
        del self._data[: self._at]
        self._searched = max(self._searched - self._at, 0)
        self._at = 0
        self._data += data

    def fail(self, error: GoError) -> None:
        """End the buffer with the error of a broken connection."""
        self.error = error
        self.at_end = True

    def __len__(self) -> int:
        return len(self._data) - self._at

    def take_bytes(self, limit: int) -> bytes:
        """Return up to `limit` buffered bytes."""
        start = self._at
        self._at = min(start + limit, len(self._data))
        return bytes(self._data[start : self._at])

    def starts_with(self, data: bytes) -> bool:
        """Return whether the buffered bytes start with these."""
        return self._data.startswith(data, self._at)

    def find(self, data: bytes, limit: int) -> int:
        """Return the position of bytes in the next `limit` ones, -1 if absent."""
        at = self._data.find(data, self._at, self._at + limit)
        return at - self._at if at >= 0 else -1

    def take_line(self) -> bytes | None:
        """Return a line with its end, None if it is incomplete."""
        end = self._data.find(b"\n", max(self._at, self._searched))
        if end < 0:
            # A line of many pieces is searched once, not once for each piece.
            self._searched = len(self._data)
            return None
        return self.take_bytes(end + 1 - self._at)

    def peek_short_head(self) -> bytes:
        """Return the next head with its empty line; nothing if long or incomplete."""
        end = self._data.find(b"\r\n\r\n", self._at, self._at + SHORT_HEAD_BYTES)
        return b"" if end < 0 else bytes(self._data[self._at : end + 4])

    def skip_head(self, length: int, lines: int) -> None:
        """Skip a head that was peeked at; raises `GoError` as below."""
        self._count_head(length, lines)
        self.take_bytes(length)

    def take_head_line(self) -> bytes | None:
        """Return a line of a head; raises `GoError` when heads get too long."""
        line = self.take_line()
        if line is not None:
            self._count_head(len(line), 1)
        elif len(self) > self._head_bytes_left:
            raise _head_too_long(f"{MAX_HEAD_BYTES} bytes")
        return line

    def _count_head(self, length: int, lines: int) -> None:
        self._head_bytes_left -= length
        self._head_lines_left -= lines
        if self._head_bytes_left < 0:
            raise _head_too_long(f"{MAX_HEAD_BYTES} bytes")
        if self._head_lines_left < 0:
            raise _head_too_long(f"{MAX_HEAD_LINES} lines")


def _head_too_long(limit: str) -> GoError:
    return GoError(f"net/http: server response headers exceeded {limit}; aborted")


def _ended(buffer: ReceiveBuffer) -> GoError:
    return buffer.error or GoError("unexpected EOF")


def read_head(buffer: ReceiveBuffer) -> Step[ResponseHead]:
    """Read the head of the final response: skip 100 to 199, except 101.

    Raises `GoError`; `EOF` if no byte was received.
    """
    while not buffer and not buffer.at_end:
        yield
    if not buffer:
        raise buffer.error or GoError("EOF")
    try:
        while True:
            head = yield from _read_one_head(buffer)
            if not _is_interim(head.status):
                return head
    except GoError as error:
        text = f"net/http: HTTP/1.x transport connection broken: {error}"
        raise GoError(text) from None


def _is_interim(status: int) -> bool:
    return status // 100 == 1 and status != _SWITCHING_PROTOCOLS


def _read_line(buffer: ReceiveBuffer) -> Step[bytes]:
    """Return a line without its end; the last one may lack it."""
    while (line := buffer.take_head_line()) is None:
        if buffer.at_end:
            if not buffer:
                raise _ended(buffer)
            line = buffer.take_bytes(len(buffer))
            break
        yield
    return line.removesuffix(b"\n").removesuffix(b"\r")


def _read_one_head(buffer: ReceiveBuffer) -> Step[ResponseHead]:
    if short := buffer.peek_short_head():
        head, length, lines = _parse_short_head(short)
        buffer.skip_head(length, lines)
        return head
    return (yield from _read_lines_of_head(buffer))


@lru_cache(maxsize=512)  # servers repeat the same status lines
def _parse_short_head(data: bytes) -> tuple[ResponseHead, int, int]:
    """Parse a complete head; return it and its numbers of bytes and lines."""
    buffer = ReceiveBuffer()
    buffer.feed(data)
    steps = _read_lines_of_head(buffer)
    try:
        next(steps)
    except StopIteration as done:
        # Lines may end without a carriage return, and the head then before `data`.
        length = len(data) - len(buffer)
        return done.value, length, data.count(b"\n", 0, length)
    raise AssertionError("unreachable: the head is whole")


def _read_lines_of_head(buffer: ReceiveBuffer) -> Step[ResponseHead]:
    line = yield from _read_line(buffer)
    version, status = _parse_status_line(line)
    headers = yield from _read_headers(buffer)
    body = _body(status, version, headers)
    return ResponseHead(status, tuple(headers), body)


def _parse_status_line(line: bytes) -> tuple[bytes, int]:
    version, space, rest = line.partition(b" ")
    if not space:
        raise GoError(f"malformed HTTP response {quote_received(line)}")
    code = rest.lstrip(b" ").partition(b" ")[0]
    if len(code) != _STATUS_DIGITS or not _STATUS.fullmatch(code):
        raise GoError(f"malformed HTTP status code {quote_received(code)}")
    if not _VERSION.fullmatch(version):
        raise GoError(f"malformed HTTP version {quote_received(version)}")
    return version, int(code)


def _read_headers(buffer: ReceiveBuffer) -> Step[list[tuple[bytes, bytes]]]:
    """Parse the lines up to the empty one, each with its continuation lines."""
    headers: list[tuple[bytes, bytes]] = []
    line = yield from _read_line(buffer)
    if line[:1] in {b" ", b"\t"}:
        raise GoError(f"malformed MIME header initial line: {quote_received(line)}")
    while line := line.rstrip(b" \t"):
        if b":" not in line:
            text = quote_received(line)
            raise GoError(f"malformed MIME header: missing colon: {text}")
        lines = [line]
        following = yield from _read_line(buffer)
        while following[:1] in {b" ", b"\t"}:
            lines.append(following.strip(b" \t"))
            following = yield from _read_line(buffer)
        headers.append(_parse_header(b" ".join(lines)))
        line = following
    return headers


def _parse_header(line: bytes) -> tuple[bytes, bytes]:
    name, _, value = line.partition(b":")
    if name.translate(None, _NAME_BYTES) or (
        len(value.translate(None, _BAD_VALUE_BYTES)) != len(value)
    ):
        raise GoError(f"malformed MIME header line: {quote_received(line)}")
    return name.lower(), value.strip(b" \t")


def _body(
    status: int, version: bytes, headers: list[tuple[bytes, bytes]]
) -> int | BodyEnd:
    """Return how the body ends. Source: net/http/transfer.go, readTransfer."""
    is_chunked = _is_chunked(version, headers)
    length = _content_length(headers)
    if status == _SWITCHING_PROTOCOLS and _switches(headers):
        return BodyEnd.CLOSE
    if status // 100 == 1 or status in {204, 304}:
        return 0
    if is_chunked:
        return BodyEnd.LAST_CHUNK
    return BodyEnd.CLOSE if length is None else length


def _values(headers: list[tuple[bytes, bytes]], name: bytes) -> list[bytes]:
    return [value for key, value in headers if key == name]


def _switches(headers: list[tuple[bytes, bytes]]) -> bool:
    tokens = b",".join(_values(headers, b"connection")).lower().split(b",")
    return any(_values(headers, b"upgrade")[:1]) and b"upgrade" in map(
        bytes.strip, tokens
    )


def _is_chunked(version: bytes, headers: list[tuple[bytes, bytes]]) -> bool:
    encodings = _values(headers, b"transfer-encoding")
    if not encodings or version < b"HTTP/1.1":
        return False
    if len(encodings) > 1:
        raise GoError(f"too many transfer encodings: {quote_all_received(encodings)}")
    if encodings[0].lower() != b"chunked":
        text = quote_received(encodings[0])
        raise GoError(f"unsupported transfer encoding: {text}")
    return True


def _content_length(headers: list[tuple[bytes, bytes]]) -> int | None:
    lengths = _values(headers, b"content-length")
    if not lengths:
        return None
    if len(set(lengths)) > 1:
        text = quote_all_received(lengths)
        raise GoError(
            f"http: message cannot contain multiple Content-Length headers; got {text}"
        )
    if not lengths[0]:
        raise GoError(f"invalid empty Content-Length {quote_received(lengths[0])}")
    length = parse_length(lengths[0])
    if length is None:
        raise GoError(f"bad Content-Length {quote_received(lengths[0])}")
    return length


def parse_length(digits: bytes) -> int | None:
    """Return a Content-Length, None if it is not a number of 63 bits."""
    significant = digits.lstrip(b"0")
    if not digits.isdigit() or len(significant) > len(str(_INT63)):
        return None
    length = int(significant or b"0")
    return length if length < _INT63 else None


def read_body(buffer: ReceiveBuffer, body: int | BodyEnd) -> Iterator[bytes | None]:
    """Yield the pieces of a body, or None when more has to be received first.

    Raises `GoError` if it breaks off before its end.
    """
    match body:
        case BodyEnd.LAST_CHUNK:
            return _read_chunks(buffer)
        case BodyEnd.CLOSE:
            return _read_until_close(buffer)
        case length:
            return _read_length(buffer, length)


def _read_length(buffer: ReceiveBuffer, length: int) -> Iterator[bytes | None]:
    while length:
        if buffer:
            piece = buffer.take_bytes(length)
            length -= len(piece)
            yield piece
        elif buffer.at_end:
            raise _ended(buffer)
        else:
            yield None


def _read_until_close(buffer: ReceiveBuffer) -> Iterator[bytes | None]:
    while buffer or not buffer.at_end:
        yield buffer.take_bytes(len(buffer)) if buffer else None
    if buffer.error:
        raise buffer.error


def _read_chunks(buffer: ReceiveBuffer) -> Iterator[bytes | None]:
    excess = 0
    while True:
        line = yield from _read_chunk_line(buffer)
        length = _chunk_length(line)
        excess += len(line) + 2 - _FREE_CHUNK_BYTES - 2 * length
        excess = max(excess, 0)
        if excess > _MAX_CHUNK_EXCESS:
            raise GoError("chunked encoding contains too much non-data")
        if not length:
            break
        yield from _read_length(buffer, length)
        while len(buffer) < len(b"\r\n"):
            if buffer.at_end:
                raise _ended(buffer)
            yield None
        if buffer.take_bytes(len(b"\r\n")) != b"\r\n":
            raise GoError("malformed chunked encoding")
    yield from _skip_trailer(buffer)


def _read_chunk_line(buffer: ReceiveBuffer) -> Step[bytes]:
    while (line := buffer.take_line()) is None:
        if len(buffer) >= _MAX_CHUNK_LINE_BYTES:
            raise GoError("header line too long")
        if buffer.at_end:
            raise _ended(buffer)
        yield
    if len(line) >= _MAX_CHUNK_LINE_BYTES:
        raise GoError("header line too long")
    if not line.endswith(b"\r\n"):
        raise GoError("chunked line ends with bare LF")
    if b"\r" in line[:-2]:
        raise GoError("invalid CR in chunked line")
    return line[:-2]


def _chunk_length(line: bytes) -> int:
    digits = line.partition(b";")[0].rstrip(b" \t")
    if not digits:
        raise GoError("empty hex number for chunk length")
    if not _CHUNK_LENGTH.fullmatch(digits):
        raise GoError("invalid byte in chunk length")
    if len(digits) > _MAX_CHUNK_DIGITS:
        raise GoError("http chunk length too large")
    return int(digits, 16)


def _skip_trailer(buffer: ReceiveBuffer) -> Step[None]:
    while len(buffer) < len(b"\r\n"):
        if buffer.at_end:
            raise buffer.error or GoError("http: unexpected EOF reading trailer")
        yield
    if buffer.starts_with(b"\r\n"):
        return
    while buffer.find(b"\r\n\r\n", _MAX_TRAILER_BYTES) < 0:
        if buffer.at_end or len(buffer) >= _MAX_TRAILER_BYTES:
            raise GoError("http: suspiciously long trailer after chunked body")
        yield
    yield from _read_headers(buffer)
