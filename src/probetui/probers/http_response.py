"""HTTP/1 responses, read with Go's strictness and refused in Go's words.

No I/O: what is read comes into a `Buffer`; a step yields None when it needs more of
it, and the caller then feeds the buffer and goes on. h11 is stricter than Go where
servers are sloppy (header names with a space, version 3.7), so that a probe which
succeeds in a cluster would fail here.

Source: net/http/response.go and transfer.go, net/textproto/reader.go,
net/http/internal/chunked.go.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from enum import Enum
from typing import TypeVar

from probetui.errors import GoError
from probetui.kubelet.go_text import go_quote, to_text

MAX_HEAD_BYTES = 10 << 20
_MAX_CHUNK_LINE_BYTES = 4096
_MAX_CHUNK_DIGITS = 16
_STATUS_DIGITS = 3
_SWITCHING_PROTOCOLS = 101

_VERSION = re.compile(rb"HTTP/[0-9]\.[0-9]")
_STATUS = re.compile(rb"[+\d]\d\d")
# A token, and spaces: Go takes such a name, but never for one it knows.
_NAME = re.compile(rb"[A-Za-z0-9!#$%&'*+\-.^_`|~ ]*")
_BAD_VALUE = re.compile(rb"[\x00-\x08\x0a-\x1f\x7f]")
_LENGTH = re.compile(rb"[0-9]+")
_CHUNK_LENGTH = re.compile(rb"[0-9A-Fa-f]*")
_INT63 = 1 << 63

T = TypeVar("T")
Step = Generator[None, None, T]


class Until(Enum):
    """How the end of a body is found, where its length is not told."""

    LAST_CHUNK = "last chunk"
    CLOSE = "close"


@dataclass(frozen=True, slots=True)
class ResponseHead:
    """Status and headers; `body` is its length in bytes or what ends it.

    Names are in lower case, in the order they came.
    """

    status: int
    headers: tuple[tuple[bytes, bytes], ...]
    body: int | Until


class Buffer:
    """Bytes that were received and not yet read; `feed` ends it with no bytes.

    After a broken connection, `error` says in Go's words why there is no more.
    """

    __slots__ = ("_at", "_data", "_head_bytes_left", "at_end", "error")

    def __init__(self) -> None:
        self._data = bytearray()
        self._at = 0
        self._head_bytes_left = MAX_HEAD_BYTES
        self.at_end = False
        self.error: GoError | None = None

    def feed(self, data: bytes) -> None:
        """Add what was received; no bytes mean that there will be no more."""
        if not data:
            self.at_end = True
        del self._data[: self._at]
        self._at = 0
        self._data += data

    def fail(self, error: GoError) -> None:
        """End it: the connection broke."""
        self.error = error
        self.at_end = True

    def __len__(self) -> int:
        return len(self._data) - self._at

    def take(self, limit: int) -> bytes:
        """Return up to `limit` bytes of what is there."""
        start = self._at
        self._at = min(start + limit, len(self._data))
        return bytes(self._data[start : self._at])

    def starts_with(self, data: bytes) -> bool:
        """Tell whether the next bytes are there and are these."""
        return self._data.startswith(data, self._at)

    def take_line(self) -> bytes | None:
        """Return a line with its end, None if it is not whole yet."""
        end = self._data.find(b"\n", self._at)
        return self.take(end + 1 - self._at) if end >= 0 else None

    def take_head_line(self) -> bytes | None:
        """Return a line of a head; raises `GoError` when heads get too long."""
        line = self.take_line()
        if len(self if line is None else line) > self._head_bytes_left:
            text = f"exceeded {MAX_HEAD_BYTES} bytes; aborted"
            raise GoError(f"net/http: server response headers {text}")
        self._head_bytes_left -= len(line or b"")
        return line


def _ended(buffer: Buffer) -> GoError:
    return buffer.error or GoError("unexpected EOF")


def read_head(buffer: Buffer) -> Step[ResponseHead]:
    """Read heads up to the one that counts: 100 to 199 are skipped, but for 101.

    Raises `GoError`; `EOF` if there was not a single byte.
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


def _read_line(buffer: Buffer) -> Step[bytes]:
    """Return a line without its end; the last one may lack it."""
    while (line := buffer.take_head_line()) is None:
        if buffer.at_end:
            if not buffer:
                raise _ended(buffer)
            line = buffer.take(len(buffer))
            break
        yield
    return line.removesuffix(b"\n").removesuffix(b"\r")


def _read_one_head(buffer: Buffer) -> Step[ResponseHead]:
    line = yield from _read_line(buffer)
    version, status = _parse_status_line(line)
    headers = yield from _read_headers(buffer)
    body = _body(status, version, headers)
    return ResponseHead(status, tuple(headers), body)


def _parse_status_line(line: bytes) -> tuple[bytes, int]:
    version, space, rest = line.partition(b" ")
    if not space:
        raise GoError(f"malformed HTTP response {go_quote(to_text(line))}")
    code = rest.lstrip(b" ").partition(b" ")[0]
    if len(code) != _STATUS_DIGITS or not _STATUS.fullmatch(code):
        raise GoError(f"malformed HTTP status code {go_quote(to_text(code))}")
    if not _VERSION.fullmatch(version):
        raise GoError(f"malformed HTTP version {go_quote(to_text(version))}")
    return version, int(code)


def _read_headers(buffer: Buffer) -> Step[list[tuple[bytes, bytes]]]:
    """Read the lines up to the empty one, each with its continuation lines."""
    headers: list[tuple[bytes, bytes]] = []
    line = yield from _read_line(buffer)
    if line[:1] in {b" ", b"\t"}:
        raise GoError(f"malformed MIME header initial line: {go_quote(to_text(line))}")
    while line := line.rstrip(b" \t"):
        if b":" not in line:
            text = go_quote(to_text(line))
            raise GoError(f"malformed MIME header: missing colon: {text}")
        following = yield from _read_line(buffer)
        while following[:1] in {b" ", b"\t"}:
            line += b" " + following.strip(b" \t")
            following = yield from _read_line(buffer)
        headers.append(_parse_header(line))
        line = following
    return headers


def _parse_header(line: bytes) -> tuple[bytes, bytes]:
    name, _, value = line.partition(b":")
    if not _NAME.fullmatch(name) or _BAD_VALUE.search(value):
        raise GoError(f"malformed MIME header line: {go_quote(to_text(line))}")
    return name.lower(), value.strip(b" \t")


def _body(
    status: int, version: bytes, headers: list[tuple[bytes, bytes]]
) -> int | Until:
    """Return how the body ends. Source: net/http/transfer.go, readTransfer."""
    is_chunked = _is_chunked(version, headers)
    length = _content_length(headers)
    if status == _SWITCHING_PROTOCOLS and _switches(headers):
        return Until.CLOSE
    if status // 100 == 1 or status in {204, 304}:
        return 0
    if is_chunked:
        return Until.LAST_CHUNK
    return Until.CLOSE if length is None else length


def _values(headers: list[tuple[bytes, bytes]], name: bytes) -> list[bytes]:
    return [value for each, value in headers if each == name]


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
        raise GoError(f"too many transfer encodings: {_quote_all(encodings)}")
    if encodings[0].lower() != b"chunked":
        text = go_quote(to_text(encodings[0]))
        raise GoError(f"unsupported transfer encoding: {text}")
    return True


def _content_length(headers: list[tuple[bytes, bytes]]) -> int | None:
    lengths = _values(headers, b"content-length")
    if not lengths:
        return None
    if len(set(lengths)) > 1:
        text = _quote_all(lengths)
        raise GoError(
            f"http: message cannot contain multiple Content-Length headers; got {text}"
        )
    text = go_quote(to_text(lengths[0]))
    if not lengths[0]:
        raise GoError(f"invalid empty Content-Length {text}")
    if not _LENGTH.fullmatch(lengths[0]) or not _fits(lengths[0]):
        raise GoError(f"bad Content-Length {text}")
    return int(lengths[0])


def _fits(digits: bytes) -> bool:
    digits = digits.lstrip(b"0")
    return len(digits) < len(str(_INT63)) or (
        len(digits) == len(str(_INT63)) and int(digits) < _INT63
    )


def _quote_all(values: list[bytes]) -> str:
    return "[" + " ".join(go_quote(to_text(each)) for each in values) + "]"


def read_body(buffer: Buffer, body: int | Until) -> Iterator[bytes | None]:
    """Yield the pieces of a body, and None when more must be received first.

    Raises `GoError` if it breaks off before its end.
    """
    match body:
        case Until.LAST_CHUNK:
            return _read_chunks(buffer)
        case Until.CLOSE:
            return _read_until_close(buffer)
        case length:
            return _read_length(buffer, length)


def _read_length(buffer: Buffer, length: int) -> Iterator[bytes | None]:
    while length:
        if buffer:
            piece = buffer.take(length)
            length -= len(piece)
            yield piece
        elif buffer.at_end:
            raise _ended(buffer)
        else:
            yield None


def _read_until_close(buffer: Buffer) -> Iterator[bytes | None]:
    while buffer or not buffer.at_end:
        yield buffer.take(len(buffer)) if buffer else None
    if buffer.error:
        raise buffer.error


def _read_chunks(buffer: Buffer) -> Iterator[bytes | None]:
    while length := _chunk_length((yield from _read_chunk_line(buffer))):
        yield from _read_length(buffer, length)
        while len(buffer) < len(b"\r\n"):
            if buffer.at_end:
                raise _ended(buffer)
            yield None
        if buffer.take(len(b"\r\n")) != b"\r\n":
            raise GoError("malformed chunked encoding")
    yield from _skip_trailer(buffer)


def _read_chunk_line(buffer: Buffer) -> Step[bytes]:
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


def _skip_trailer(buffer: Buffer) -> Step[None]:
    while len(buffer) < len(b"\r\n"):
        if buffer.at_end:
            raise buffer.error or GoError("http: unexpected EOF reading trailer")
        yield
    if not buffer.starts_with(b"\r\n"):
        yield from _read_headers(buffer)
