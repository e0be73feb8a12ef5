"""Translation of status texts from gRPC's C core, which Python uses, to grpc-go's.

A kubelet calls its runtime by grpc-go and prints its texts in events. The texts of the
runtime are the same in both libraries; their own texts about lost or failed connections
differ.

Source: grpc-go v1.65.0, clientconn.go, http2_client.go, rpc_util.go; cri-client
remote_runtime.go, v0.32.10, which dials the socket's path.
"""

from __future__ import annotations

import re
from http import HTTPStatus

import grpc
from h2.errors import ErrorCodes

_NOT_CONNECTED = "failed to connect to all addresses"
_DIALLING = "connect failed"
_LOST = re.compile(
    r"Socket closed|Stream removed|Endpoint clos|Transport closed|Broken pipe|"
    r"Connection (?:reset|dropped)|(?:recv|send)(?:msg)?\b|Cancelling all calls|"
    r"(?:Server )?GOAWAY|UNAVAILABLE$",
    re.IGNORECASE,
)
"""What the C core says, at the beginning, of a connection that broke off."""

_RESET_BY_PEER = "connection reset by peer"
_SYSTEM_ERRORS = (
    "no such file or directory",
    "permission denied",
    "not a directory",
    "connection refused",
)
_RESET = re.compile(r"Received RST_STREAM with error code (\d+)")
_TOO_LONG = re.compile(r"CLIENT: Received message larger than max (\(\d+ vs\. \d+\))")
_HTTP_STATUS = re.compile(r"Received http2 :?(?:header with )?status: (\d+)")


def go_description(code: grpc.StatusCode, text: str, socket: str) -> str:
    """Return grpc-go's description of a status.

    Args:
        code: the status code.
        text: the C core's description, or the server's own, which stays.
        socket: the path of the runtime's socket.
    """
    if text.startswith(_NOT_CONNECTED):
        return f'connection error: desc = "{_connection_failure(text, socket)}"'
    if code is grpc.StatusCode.CANCELLED and text in {"", code.name}:
        return (
            f"stream terminated by RST_STREAM with error code: {ErrorCodes.CANCEL.name}"
        )
    if code is grpc.StatusCode.CANCELLED and text.startswith("Channel closed"):
        return "grpc: the client connection is closing"
    if code is grpc.StatusCode.UNAVAILABLE and _LOST.match(text):
        return f"error reading from server: {_read_failure(text, socket)}"
    if match := _RESET.match(text):
        number = int(match[1])
        names = {error.value: error.name for error in ErrorCodes}
        name = names.get(number, f"unknown error code {number}")
        return f"stream terminated by RST_STREAM with error code: {name}"
    if match := _TOO_LONG.match(text):
        return f"grpc: received message larger than max {match[1]}"
    if match := _HTTP_STATUS.match(text):
        number = int(match[1])
        phrase = HTTPStatus(number).phrase if number in set(HTTPStatus) else ""
        return f"unexpected HTTP status code received from server: {number} ({phrase})"
    return text


def go_code_name(code: grpc.StatusCode) -> str:
    """Return Go's name of a status code: `DeadlineExceeded`, `Canceled`."""
    if code is grpc.StatusCode.CANCELLED:
        return "Canceled"
    return "".join(map(str.capitalize, code.name.split("_")))


def _connection_failure(text: str, socket: str) -> str:
    if _DIALLING not in text:
        return f"error reading server preface: {_read_failure(text, socket)}"
    lower = text.lower()
    known_errors = (error for error in _SYSTEM_ERRORS if lower.endswith(error))
    why = next(known_errors, text.rpartition("error: ")[2].lower())
    return f"transport: Error while dialing: dial unix {socket}: connect: {why}"


def _read_failure(text: str, socket: str) -> str:
    """Return the error of Go's reader for a lost connection.

    A failed write is not reported: Go leaves it to the reader.
    """
    if _RESET_BY_PEER in text.lower():
        return f"read unix @->{socket}: read: {_RESET_BY_PEER}"
    return "EOF"
