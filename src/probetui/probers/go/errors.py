"""Errors of the operating system and of TLS, in Go's words."""

from __future__ import annotations

import os
import socket
import ssl

from probetui.errors import GoError
from probetui.k8s.runtime import SocketAddress

# Alerts a server may send, by OpenSSL's name of the reason (RFC 8446, 6).
_ALERTS = {
    "SSLV3_ALERT_UNEXPECTED_MESSAGE": "unexpected message",
    "SSLV3_ALERT_BAD_RECORD_MAC": "bad record MAC",
    "TLSV1_ALERT_DECRYPTION_FAILED": "decryption failed",
    "TLSV1_ALERT_RECORD_OVERFLOW": "record overflow",
    "SSLV3_ALERT_DECOMPRESSION_FAILURE": "decompression failure",
    "SSLV3_ALERT_HANDSHAKE_FAILURE": "handshake failure",
    "SSLV3_ALERT_BAD_CERTIFICATE": "bad certificate",
    "SSLV3_ALERT_UNSUPPORTED_CERTIFICATE": "unsupported certificate",
    "SSLV3_ALERT_CERTIFICATE_REVOKED": "revoked certificate",
    "SSLV3_ALERT_CERTIFICATE_EXPIRED": "expired certificate",
    "SSLV3_ALERT_CERTIFICATE_UNKNOWN": "unknown certificate",
    "SSLV3_ALERT_ILLEGAL_PARAMETER": "illegal parameter",
    "TLSV1_ALERT_UNKNOWN_CA": "unknown certificate authority",
    "TLSV1_ALERT_ACCESS_DENIED": "access denied",
    "TLSV1_ALERT_DECODE_ERROR": "error decoding message",
    "TLSV1_ALERT_DECRYPT_ERROR": "error decrypting message",
    "TLSV1_ALERT_EXPORT_RESTRICTION": "export restriction",
    "TLSV1_ALERT_PROTOCOL_VERSION": "protocol version not supported",
    "TLSV1_ALERT_INSUFFICIENT_SECURITY": "insufficient security level",
    "TLSV1_ALERT_INTERNAL_ERROR": "internal error",
    "TLSV1_ALERT_INAPPROPRIATE_FALLBACK": "inappropriate fallback",
    "TLSV1_ALERT_USER_CANCELLED": "user canceled",
    "TLSV1_ALERT_NO_RENEGOTIATION": "no renegotiation",
    "TLSV13_ALERT_MISSING_EXTENSION": "missing extension",
    "TLSV1_UNSUPPORTED_EXTENSION": "unsupported extension",
    "TLSV1_CERTIFICATE_UNOBTAINABLE": "certificate unobtainable",
    "TLSV1_UNRECOGNIZED_NAME": "unrecognized name",
    "TLSV1_BAD_CERTIFICATE_STATUS_RESPONSE": "bad certificate status response",
    "TLSV1_BAD_CERTIFICATE_HASH_VALUE": "bad certificate hash value",
    "TLSV1_ALERT_UNKNOWN_PSK_IDENTITY": "unknown PSK identity",
    "TLSV13_ALERT_CERTIFICATE_REQUIRED": "certificate required",
    "TLSV1_ALERT_NO_APPLICATION_PROTOCOL": "no application protocol",
}
_NO_SUCH_HOST = frozenset({socket.EAI_NONAME, getattr(socket, "EAI_NODATA", None)})


class DialRefusedError(GoError):
    """The connection was refused: no process listens on the port.

    Args:
        message: Go's text.
        endpoint: the address that was dialled.
    """

    def __init__(self, message: str, endpoint: SocketAddress) -> None:
        super().__init__(message)
        self.endpoint = endpoint


def describe_os_error(error: OSError) -> str:
    """Return the system's text in Go's form: its first letter is lower case."""
    if isinstance(error, socket.gaierror):
        return "invalid argument"  # an IPv6 zone that does not exist
    text = os.strerror(error.errno) if error.errno else str(error)
    return text[:1].lower() + text[1:]


def describe_lookup_error(error: OSError) -> str:
    """Describe a failed lookup, without the name server."""
    if error.errno in _NO_SUCH_HOST:
        return "no such host"
    return "server misbehaving"


def describe_tls_error(error: ssl.SSLError) -> str:
    """Describe a TLS error; alerts come from the peer."""
    if error.reason in _ALERTS:
        return f"remote error: tls: {_ALERTS[error.reason]}"
    if error.reason == "UNSUPPORTED_PROTOCOL":
        return "tls: server selected unsupported protocol version"
    reason = (error.reason or str(error)).replace("_", " ").lower()
    return f"tls: {reason}"
