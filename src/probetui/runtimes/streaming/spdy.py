"""SPDY/3.1 as kubectl and API servers speak it: frames and streams, without I/O.

There is no flow control, as in Kubernetes' own library.

Source: the draft of SPDY/3.1; github.com/moby/spdystream v0.5.0.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator, Mapping
from enum import IntEnum

from msgspec import Struct

LONGEST_FRAME = 1 << 20
LARGEST_DATA = 1 << 15
FIN = 1
_VERSION = 3
_CONTROL = 1 << 31
_STREAM_MASK = _CONTROL - 1
_HEAD = struct.Struct("!II")
_LENGTH = struct.Struct("!I")
_LENGTH_MASK = (1 << 24) - 1
_CANCEL = 5
_LONGEST_HEADERS, _MOST_HEADERS = 1 << 12, 64
"""Of a stream, unpacked: its kind, port, request ID; those of a thousand are kept."""


class FrameType(IntEnum):
    """The control frames that are used here."""

    SYN_STREAM = 1
    SYN_REPLY = 2
    RST_STREAM = 3
    PING = 6
    GOAWAY = 7


class SpdyError(ValueError):
    """The received bytes are not SPDY."""


class StreamOpened(Struct, frozen=True):
    """The peer opened a stream; it sends no data on it if `is_finished`."""

    stream_id: int
    headers: Mapping[str, str]
    is_finished: bool


class StreamData(Struct, frozen=True):
    """Data of a stream, and whether it was the last."""

    stream_id: int
    data: bytes
    is_finished: bool


class StreamReset(Struct, frozen=True):
    """The peer reset a stream."""

    stream_id: int


class ConnectionEnded(Struct, frozen=True):
    """The peer opens no more streams."""


SpdyEvent = StreamOpened | StreamData | StreamReset | ConnectionEnded


class SpdyConnection:
    """One side of a connection; bytes to send accumulate in `output`."""

    def __init__(self) -> None:
        self.output = bytearray()
        self._input = bytearray()
        self._inflate = zlib.decompressobj(zdict=_DICTIONARY)
        self._deflate = zlib.compressobj(zdict=_DICTIONARY)
        self._next_stream = 1

    def receive(self, data: bytes) -> Iterator[SpdyEvent | None]:
        """Parse bytes and yield the event of each frame, None for irrelevant ones.

        Raises:
            SpdyError: they are not SPDY.
        """
        self._input += data
        while len(self._input) >= _HEAD.size:
            first, second = _HEAD.unpack_from(self._input)
            length = second & _LENGTH_MASK
            if length > LONGEST_FRAME:
                raise SpdyError(f"a frame of {length} bytes")
            if len(self._input) < _HEAD.size + length:
                return
            body = bytes(self._input[_HEAD.size : _HEAD.size + length])
            del self._input[: _HEAD.size + length]
            flags = second >> 24
            if not first & _CONTROL:
                yield StreamData(first, body, bool(flags & FIN))
                continue
            try:
                event = self._control(first & 0xFFFF, flags, body)
            except struct.error as error:
                raise SpdyError(f"a frame that is cut off: {error}") from None
            yield event

    def open(self, headers: Mapping[str, str]) -> int:
        """Open a stream as a client, and return its ID."""
        stream_id, self._next_stream = self._next_stream, self._next_stream + 2
        body = _LENGTH.pack(stream_id) + bytes(6) + self._header_block(headers)
        self._send_control(FrameType.SYN_STREAM, body)
        return stream_id

    def reply(self, stream_id: int) -> None:
        """Accept a stream."""
        body = _LENGTH.pack(stream_id) + self._header_block({})
        self._send_control(FrameType.SYN_REPLY, body)

    def reset(self, stream_id: int) -> None:
        """Reset a stream."""
        body = _LENGTH.pack(stream_id) + _LENGTH.pack(_CANCEL)
        self._send_control(FrameType.RST_STREAM, body)

    def send(self, stream_id: int, data: bytes, *, is_finished: bool = False) -> None:
        """Send data on a stream."""
        while len(data) > LARGEST_DATA:
            self._send_data(stream_id, 0, data[:LARGEST_DATA])
            data = data[LARGEST_DATA:]
        self._send_data(stream_id, FIN if is_finished else 0, data)

    def _control(self, kind: int, flags: int, body: bytes) -> SpdyEvent | None:
        match kind:
            case FrameType.SYN_STREAM:
                (stream_id,) = _LENGTH.unpack_from(body)
                headers = self._read_headers(body[10:])
                is_finished = bool(flags & FIN)
                return StreamOpened(stream_id & _STREAM_MASK, headers, is_finished)
            case FrameType.RST_STREAM:
                (stream_id,) = _LENGTH.unpack_from(body)
                return StreamReset(stream_id & _STREAM_MASK)
            case FrameType.PING:
                self._send_control(FrameType.PING, body)
            case FrameType.GOAWAY:
                return ConnectionEnded()
            case _:
                pass  # SETTINGS, WINDOW_UPDATE, HEADERS: not used here
        return None

    def _read_headers(self, block: bytes) -> Mapping[str, str]:
        try:
            text = self._inflate.decompress(block, _LONGEST_HEADERS + 1)
            if len(text) > _LONGEST_HEADERS:
                raise SpdyError(f"headers of more than {_LONGEST_HEADERS} bytes")
            return dict(_pairs(text))
        except (zlib.error, struct.error, UnicodeDecodeError) as error:
            raise SpdyError(f"headers that cannot be read: {error}") from None

    def _header_block(self, headers: Mapping[str, str]) -> bytes:
        text = _LENGTH.pack(len(headers))
        for word in (word.encode() for pair in headers.items() for word in pair):
            text += _LENGTH.pack(len(word)) + word
        return self._deflate.compress(text) + self._deflate.flush(zlib.Z_SYNC_FLUSH)

    def _send_control(self, kind: FrameType, body: bytes) -> None:
        self.output += _HEAD.pack(_CONTROL | _VERSION << 16 | kind, len(body)) + body

    def _send_data(self, stream_id: int, flags: int, data: bytes) -> None:
        self.output += _HEAD.pack(stream_id, flags << 24 | len(data)) + data


def _pairs(block: bytes) -> Iterator[tuple[str, str]]:
    """Yield lower-case names and values; several values are separated by NUL."""
    (count,) = _LENGTH.unpack_from(block)
    if count > _MOST_HEADERS:
        raise SpdyError(f"{count} headers")
    at = _LENGTH.size
    for _ in range(count):
        pieces = []
        for _ in ("name", "value"):
            (length,) = _LENGTH.unpack_from(block, at)
            at += _LENGTH.size
            pieces.append(block[at : at + length].decode())
            at += length
        yield pieces[0].lower(), pieces[1]


_WORDS = (
    "options head post put delete trace accept accept-charset accept-encoding "
    "accept-language accept-ranges age allow authorization cache-control connection "
    "content-base content-encoding content-language content-length content-location "
    "content-md5 content-range content-type date etag expect expires from host "
    "if-match if-modified-since if-none-match if-range if-unmodified-since "
    "last-modified location max-forwards pragma proxy-authenticate "
    "proxy-authorization range referer retry-after server te trailer "
    "transfer-encoding upgrade user-agent vary via warning www-authenticate method "
    "get status 200\0OK version HTTP/1.1 url public set-cookie keep-alive origin"
)
_DICTIONARY = (
    b"".join(
        _LENGTH.pack(len(word)) + word.replace("\0", " ").encode()
        for word in _WORDS.split(" ")
    )
    + b"100101201202205206300302303304305306307402405406407408409410411412413414415416"
    b"417502504505203 Non-Authoritative Information204 No Content301 Moved Permanently"
    b"400 Bad Request401 Unauthorized403 Forbidden404 Not Found500 Internal Server "
    b"Error501 Not Implemented503 Service UnavailableJan Feb Mar Apr May Jun Jul Aug "
    b"Sept Oct Nov Dec 00:00:00 Mon, Tue, Wed, Thu, Fri, Sat, Sun, GMTchunked,"
    b"text/html,image/png,image/jpg,image/gif,application/xml,application/xhtml+xml,"
    b"text/plain,text/javascript,publicprivatemax-age=gzip,deflate,sdchcharset=utf-8"
    b"charset=iso-8859-1,utf-,*,enq=0."
)
"""What headers are compressed with: section 2.6.10.1 of the draft."""
