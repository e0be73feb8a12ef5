"""Why a connection was refused."""

from __future__ import annotations

import pytest

from probetui.k8s.runtime import ContainerID, Listeners, ListenerScope, SocketAddress
from probetui.kubelet.journal import ListenersEntry
from probetui.presentation.probe.refusals import refusal_text
from tests.builders import START, a_key

CONTAINER, POD, MACHINE = (
    ListenerScope.CONTAINER,
    ListenerScope.POD,
    ListenerScope.MACHINE,
)


def words(
    *endpoints: str, extent: ListenerScope = CONTAINER, there: str = "10.1.2.3"
) -> str:
    listeners = Listeners(tuple(map(an_endpoint, endpoints)), extent)
    return explanation(listeners, there=there)


def an_endpoint(text: str) -> SocketAddress:
    address, _, port = text.rpartition(":")
    return SocketAddress(address, int(port))


def explanation(
    listeners: Listeners | None, problem: str = "", there: str = "10.1.2.3"
) -> str:
    refused_at = SocketAddress(there, 8080)
    container_id = ContainerID("fake://1")
    return refusal_text(
        ListenersEntry(1, START, a_key(), container_id, refused_at, listeners, problem)
    )


@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        pytest.param(
            words("127.0.0.1:8080"),
            "the container listens on 127.0.0.1:8080 only; the probe connects to "
            "10.1.2.3, "
            "so it is refused",
            id="loopback",
        ),
        pytest.param(
            words("127.0.0.1:8080", there="127.9.8.7"),
            "the container listens on 127.0.0.1:8080 only; the probe connects to "
            "127.9.8.7, "
            "so it is refused",
            id="loopback-of-a-process",
        ),
        pytest.param(
            words("127.0.0.1:8080", "::1:8080", extent=POD),
            "the pod listens on 127.0.0.1:8080, [::1]:8080 only; the probe connects to "
            "10.1.2.3, so it is refused",
            id="loopback-of-a-pod",
        ),
        pytest.param(
            words("0.0.0.0:8081"),
            "nothing listens on 8080; the container listens on 0.0.0.0:8081",
            id="another-port",
        ),
        pytest.param(
            words(*(f"0.0.0.0:{port}" for port in range(1, 7)), extent=POD),
            "nothing listens on 8080; the pod listens on 0.0.0.0:1, 0.0.0.0:2, "
            "0.0.0.0:3, 0.0.0.0:4 and 2 more",
            id="many-ports",
        ),
        pytest.param(
            words(),
            "nothing listens on 8080: the container listens on no port at all",
            id="no-port",
        ),
        pytest.param(
            words("0.0.0.0:8080"),
            "the container listens on 0.0.0.0:8080 now: it started since, or did not "
            "accept the connection",
            id="late",
        ),
        pytest.param(
            words("10.1.2.3:8080"),
            "the container listens on 10.1.2.3:8080 now: it started since, or did not "
            "accept the connection",
            id="late-at-one-address",
        ),
        pytest.param(
            words("0.0.0.0:22", extent=MACHINE),
            "nothing on this machine, whose network it shares, listens on 8080",
            id="machine",
        ),
        pytest.param(
            words("127.0.0.1:8080", extent=MACHINE, there="192.168.0.9"),
            "this machine, whose network it shares, listens on 127.0.0.1:8080 only; "
            "the "
            "probe connects to 192.168.0.9, so it is refused",
            id="machine-loopback",
        ),
        pytest.param(
            explanation(None, "the daemon runs on another machine"),
            "its listening ports are unknown: the daemon runs on another machine",
            id="not-known",
        ),
    ],
)
def test_words(shown: str, expected: str) -> None:
    assert shown == expected
