"""One unary gRPC call over an established HTTP/2 connection.

Source: grpc-go v1.65.0, internal/transport/http2_client.go, operateHeaders, handleData,
handleRSTStream, Close; rpc_util.go, parser.recvMsg, recvAndDecompress; stream.go.
"""

from __future__ import annotations

import re
import zlib
from enum import IntEnum
from http import HTTPStatus
from urllib.parse import unquote_to_bytes

from h2.errors import ErrorCodes

from probetui.errors import GoError
from probetui.kubelet.runtime.go_format import to_text
from probetui.probers.go.http2_stream import (
    ConnectionEndedError,
    Headers,
    HTTP2Stream,
    StreamResetError,
    error_name,
)
from probetui.probers.truncation import quote_received

MAX_MESSAGE_BYTES = 4 << 20
_CONTENT_TYPE = b"application/grpc"
_NUMBER = re.compile(rb"[+-]?[0-9]{1,9}")
_PREFIX_BYTES = 5
_LARGEST_TIMEOUT = 99_999_999
_GZIP_WINDOW = 16 + zlib.MAX_WBITS


class GRPCCode(IntEnum):
    """The status of a call. Source: grpc-go codes/codes.go."""

    OK = 0
    CANCELED = 1
    UNKNOWN = 2
    INVALID_ARGUMENT = 3
    DEADLINE_EXCEEDED = 4
    NOT_FOUND = 5
    ALREADY_EXISTS = 6
    PERMISSION_DENIED = 7
    RESOURCE_EXHAUSTED = 8
    FAILED_PRECONDITION = 9
    ABORTED = 10
    OUT_OF_RANGE = 11
    UNIMPLEMENTED = 12
    INTERNAL = 13
    UNAVAILABLE = 14
    DATA_LOSS = 15
    UNAUTHENTICATED = 16


_CODE_OF_HTTP_STATUS: dict[int, GRPCCode] = {
    HTTPStatus.BAD_REQUEST: GRPCCode.INTERNAL,
    HTTPStatus.UNAUTHORIZED: GRPCCode.UNAUTHENTICATED,
    HTTPStatus.FORBIDDEN: GRPCCode.PERMISSION_DENIED,
    HTTPStatus.NOT_FOUND: GRPCCode.UNIMPLEMENTED,
    HTTPStatus.TOO_MANY_REQUESTS: GRPCCode.UNAVAILABLE,
    HTTPStatus.BAD_GATEWAY: GRPCCode.UNAVAILABLE,
    HTTPStatus.SERVICE_UNAVAILABLE: GRPCCode.UNAVAILABLE,
    HTTPStatus.GATEWAY_TIMEOUT: GRPCCode.UNAVAILABLE,
}
_CODE_OF_RESET = {
    ErrorCodes.FLOW_CONTROL_ERROR: GRPCCode.RESOURCE_EXHAUSTED,
    ErrorCodes.REFUSED_STREAM: GRPCCode.UNAVAILABLE,
    ErrorCodes.CANCEL: GRPCCode.CANCELED,
    ErrorCodes.ENHANCE_YOUR_CALM: GRPCCode.RESOURCE_EXHAUSTED,
    ErrorCodes.INADEQUATE_SECURITY: GRPCCode.PERMISSION_DENIED,
}


class GRPCCallError(GoError):
    """A call returned no message.

    Args:
        code: a `GRPCCode`, or any other number that the server sent.
        message: the server's text or Go's.
    """

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


def code_name(code: int) -> str:
    """Return Go's name of a code: `NotFound`, `Code(99)`."""
    try:
        parts = GRPCCode(code).name.split("_")
    except ValueError:
        return f"Code({code})"
    return parts[0] if parts == ["OK"] else "".join(map(str.capitalize, parts))


async def call_unary(
    stream: HTTP2Stream, headers: Headers, request: bytes, seconds: float
) -> bytes:
    """Send a message and return the response message.

    Args:
        stream: connected and unused.
        headers: those of the request, without the ones that every call has.
        request: the message.
        seconds: the time left, as sent to the server; the caller enforces it.

    Raises:
        CallError: the call failed.
    """
    every_call = [
        (b"content-type", _CONTENT_TYPE),
        (b"te", b"trailers"),
        (b"grpc-accept-encoding", b"gzip"),
        (b"grpc-timeout", encode_timeout(seconds)),
    ]
    try:
        message = b"\0" + len(request).to_bytes(4) + request
        await stream.send_request(headers + every_call, message)
        return await _receive_answer(stream)
    except GRPCCallError:
        raise
    except StreamResetError as error:
        name = error_name(error.code)
        text = f"stream terminated by RST_STREAM with error code: {name}"
        raise GRPCCallError(_code_of_reset(error.code), text) from error
    except ConnectionEndedError as error:
        text = "error reading from server: EOF"
        raise GRPCCallError(GRPCCode.UNAVAILABLE, text) from error
    except GoError as error:
        text = f"error reading from server: {error}"
        raise GRPCCallError(GRPCCode.UNAVAILABLE, text) from error


def encode_timeout(seconds: float) -> bytes:
    """Encode a time-out for gRPC: eight digits of the smallest unit that fits.

    Source: grpc-go internal/grpcutil/encode_duration.go, EncodeDuration.
    """
    remaining = max(int(seconds * 1_000_000_000), 0)
    for unit, length in (("n", 1), ("u", 1000), ("m", 1_000_000), ("S", 10**9)):
        if (count := -(-remaining // length)) <= _LARGEST_TIMEOUT:
            return f"{count}{unit}".encode()
    return f"{-(-remaining // (3600 * 10**9))}H".encode()


def _code_of_reset(code: ErrorCodes | int | None) -> GRPCCode:
    if not isinstance(code, ErrorCodes):
        return GRPCCode.UNKNOWN
    return _CODE_OF_RESET.get(code, GRPCCode.INTERNAL)


async def _receive_answer(stream: HTTP2Stream) -> bytes:
    head = dict(await stream.receive_head())
    _check_head(head)
    received = bytearray()
    while piece := await stream.receive():
        received += piece
        _check_length(received)
    # A response without a message may be a single head with the status.
    trailers = head if stream.trailers is None else dict(stream.trailers)
    if stream.trailers is None and b"grpc-status" not in head:
        text = "server closed the stream without sending trailers"
        raise GRPCCallError(GRPCCode.INTERNAL, text)
    _check_status(trailers)
    if not received:
        raise GRPCCallError(GRPCCode.UNKNOWN, "EOF")
    if _PREFIX_BYTES + _length(received) > len(received):
        raise GRPCCallError(GRPCCode.INTERNAL, "unexpected EOF")
    message = bytes(received[_PREFIX_BYTES:])
    return _unpacked(received[0], message, head.get(b"grpc-encoding", b""))


def _check_head(head: dict[bytes, bytes]) -> None:
    """Raise `GRPCCallError` unless the head comes from a gRPC server."""
    problems: list[str] = []
    code = GRPCCode.UNKNOWN
    status = head.get(b":status")
    if status is None:
        problems.append("malformed header: missing HTTP status")
        code = GRPCCode.INTERNAL
    elif not _NUMBER.fullmatch(status):
        text = f"malformed http-status: {quote_received(status)}"
        raise GRPCCallError(GRPCCode.INTERNAL, f"transport: {text}")
    elif int(status) != HTTPStatus.OK:
        number = int(status)
        code = _CODE_OF_HTTP_STATUS.get(number, code)
        phrase = HTTPStatus(number).phrase if number in set(HTTPStatus) else ""
        problems.append(
            f"unexpected HTTP status code received from server: {number} ({phrase})"
        )
    content_type = head.get(b"content-type")
    if content_type is None:
        problems.append("malformed header: missing HTTP content-type")
    elif not _is_grpc(content_type):
        text = f"received unexpected content-type {quote_received(content_type)}"
        problems.append(f"transport: {text}")
    if problems:
        raise GRPCCallError(code, "; ".join(problems))


def _is_grpc(content_type: bytes) -> bool:
    """Source: grpc-go internal/grpcutil/method.go, ContentSubtype."""
    kind, rest = content_type[: len(_CONTENT_TYPE)], content_type[len(_CONTENT_TYPE) :]
    return kind.lower() == _CONTENT_TYPE and rest[:1] in {b"", b"+", b";"}


def _length(received: bytearray) -> int:
    return int.from_bytes(received[1:_PREFIX_BYTES])


def _check_length(received: bytearray) -> None:
    """Raise `GRPCCallError` for a message that is too long, or not the only one."""
    if len(received) < _PREFIX_BYTES:
        return
    length = _length(received)
    if length > MAX_MESSAGE_BYTES:
        text = f"received message larger than max ({length} vs. {MAX_MESSAGE_BYTES})"
        raise GRPCCallError(GRPCCode.RESOURCE_EXHAUSTED, f"grpc: {text}")
    if len(received) > _PREFIX_BYTES + length:
        text = "client streaming protocol violation. get <nil>, want <EOF>"
        raise GRPCCallError(GRPCCode.UNKNOWN, f"grpc: {text}")


def _check_status(trailers: dict[bytes, bytes]) -> None:
    """Raise `GRPCCallError` unless the call succeeded."""
    status = trailers.get(b"grpc-status", b"%d" % GRPCCode.UNKNOWN)
    if not _NUMBER.fullmatch(status):
        text = f"malformed grpc-status: {quote_received(status)}"
        raise GRPCCallError(GRPCCode.INTERNAL, f"transport: {text}")
    if int(status) != GRPCCode.OK:
        message = unquote_to_bytes(trailers.get(b"grpc-message", b""))
        raise GRPCCallError(int(status), to_text(message))


def _unpacked(flag: int, message: bytes, encoding: bytes) -> bytes:
    """Decompress a message."""
    match flag, encoding:
        case 0, _:
            return message
        case 1, b"gzip":
            return _without_gzip(message)
        case 1, b"" | b"identity":
            text = "compressed flag set with identity or empty encoding"
            raise GRPCCallError(GRPCCode.INTERNAL, f"grpc: {text}")
        case 1, _:
            quoted = quote_received(encoding)
            text = f"Decompressor is not installed for grpc-encoding {quoted}"
            raise GRPCCallError(GRPCCode.UNIMPLEMENTED, f"grpc: {text}")
        case _:
            text = f"received unexpected payload format {flag}"
            raise GRPCCallError(GRPCCode.INTERNAL, f"grpc: {text}")


def _without_gzip(message: bytes) -> bytes:
    unpacker = zlib.decompressobj(_GZIP_WINDOW)
    try:
        unpacked = unpacker.decompress(message, MAX_MESSAGE_BYTES + 1)
    except zlib.error as error:
        text = f"failed to decompress the received message: {error}"
        raise GRPCCallError(GRPCCode.INTERNAL, f"grpc: {text}") from error
    if len(unpacked) > MAX_MESSAGE_BYTES:
        text = f"received message after decompression larger than max ({len(unpacked)}"
        raise GRPCCallError(
            GRPCCode.RESOURCE_EXHAUSTED, f"grpc: {text} vs. {MAX_MESSAGE_BYTES})"
        )
    if not unpacker.eof:
        text = "failed to decompress the received message: unexpected EOF"
        raise GRPCCallError(GRPCCode.INTERNAL, f"grpc: {text}")
    return unpacked
