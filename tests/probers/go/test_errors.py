from __future__ import annotations

import errno
import socket
import ssl

import pytest

from probetui.probers.go.errors import (
    describe_lookup_error,
    describe_os_error,
    describe_tls_error,
)


def a_tls_error(reason: str) -> ssl.SSLError:
    error = ssl.SSLError(1, "told by the library")
    error.reason = reason
    return error


@pytest.mark.parametrize(
    ("error", "text"),
    [
        pytest.param(
            OSError(errno.ECONNREFUSED, "x"), "connection refused", id="refused"
        ),
        pytest.param(OSError(errno.EHOSTUNREACH, "x"), "no route to host", id="route"),
        pytest.param(
            OSError(errno.ENETUNREACH, "x"), "network is unreachable", id="network"
        ),
        pytest.param(OSError("No number"), "no number", id="no number"),
        pytest.param(
            socket.gaierror(socket.EAI_NONAME, "x"), "invalid argument", id="zone"
        ),
    ],
)
def test_an_error_of_the_system_is_written_in_lower_case(
    error: OSError, text: str
) -> None:
    assert describe_os_error(error) == text


@pytest.mark.parametrize(
    ("code", "text"),
    [
        pytest.param(socket.EAI_NONAME, "no such host", id="unknown name"),
        pytest.param(socket.EAI_AGAIN, "server misbehaving", id="no answer"),
    ],
)
def test_a_failed_lookup_distinguishes_unknown_names(code: int, text: str) -> None:
    assert describe_lookup_error(socket.gaierror(code, "x")) == text


@pytest.mark.parametrize(
    ("reason", "text"),
    [
        pytest.param(
            "SSLV3_ALERT_HANDSHAKE_FAILURE",
            "remote error: tls: handshake failure",
            id="an alert",
        ),
        pytest.param(
            "UNSUPPORTED_PROTOCOL",
            "tls: server selected unsupported protocol version",
            id="an old version",
        ),
        pytest.param("WRONG_SIGNATURE_TYPE", "tls: wrong signature type", id="other"),
        pytest.param("", "tls: told by the library", id="without a reason"),
    ],
)
def test_a_tls_error_names_the_side_and_the_reason(reason: str, text: str) -> None:
    assert describe_tls_error(a_tls_error(reason)) == text
