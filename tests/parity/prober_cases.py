"""Common parts of the files of prober cases: handlers, ports, long texts."""

from __future__ import annotations

import base64
import hashlib
from typing import Any

from probetui.k8s.pod import Container, ContainerPort, EnvVar
from probetui.k8s.probe import (
    ExecAction,
    GRPCAction,
    HTTPGetAction,
    HTTPHeader,
    Probe,
    ProbeHandler,
    TCPSocketAction,
)
from probetui.kubelet.outcome import ProbeResult
from probetui.kubelet.runtime.go_format import to_bytes

PLACEHOLDER = "{PORT}"
"""The placeholder for the port of the case's listener."""


def blob(value: dict[str, Any] | None) -> bytes:
    """Return the bytes of `text`, `b64` or `repeat`."""
    match value or {"text": ""}:
        case {"b64": data}:
            return base64.b64decode(data)
        case {"repeat": {"text": text, "count": count}}:
            return str(text).encode() * int(count)
        case {"text": text}:
            return str(text).encode()
        case other:
            raise AssertionError(other)


def digest(text: str) -> tuple[int, str]:
    """Return length and hash of a text, as in the cases for long outputs."""
    data = to_bytes(text)
    return len(data), hashlib.sha256(data).hexdigest()


def handler_result(text: str) -> ProbeResult:
    """Return a handler's result; the kubelet treats any other text as a failure."""
    return ProbeResult(text) if text in set(ProbeResult) else ProbeResult.UNKNOWN


def a_container(case: dict[str, Any]) -> Container:
    """Read `name`, `ports` and `env`."""
    return Container(
        case.get("name", "c"),
        ports=tuple(
            ContainerPort(port.get("containerPort", 0), port.get("name", ""))
            for port in case.get("ports") or ()
        ),
        env=tuple(
            EnvVar(
                variable["name"],
                variable.get("value", ""),
                variable.get("valueFrom", False),
            )
            for variable in case.get("env") or ()
        ),
    )


def dialled_port(inputs: dict[str, Any], listening: int) -> int:
    """Return the port to dial, with the listener's port for the placeholder."""
    port = inputs.get("port", 0)
    return listening if port == PLACEHOLDER else int(port)


def with_placeholder(text: str, inputs: dict[str, Any], listening: int) -> str:
    """Return a text with the placeholder for the listener's port, if it was dialled."""
    if inputs.get("port", 0) != PLACEHOLDER:
        return text
    return text.replace(f":{listening}", f":{PLACEHOLDER}")


def http_get(case: dict[str, Any]) -> HTTPGetAction:
    """Read an `httpGet`."""
    return HTTPGetAction(
        port=case.get("port", 0),
        path=case.get("path", ""),
        host=case.get("host", ""),
        scheme=case.get("scheme", ""),
        http_headers=tuple(
            HTTPHeader(header["name"], header["value"])
            for header in case.get("httpHeaders") or ()
        ),
    )


def a_probe(case: dict[str, Any]) -> Probe:
    """Read a probe; of several handlers the first in the kubelet's order counts."""
    return Probe(_handler(case), timeout_seconds=case.get("timeoutSeconds", 0))


def _handler(case: dict[str, Any]) -> ProbeHandler | None:
    match case:
        case {"exec": {"command": command}}:
            return ExecAction(tuple(command))
        case {"httpGet": action}:
            return http_get(action)
        case {"tcpSocket": action}:
            return TCPSocketAction(action.get("port", 0), action.get("host", ""))
        case {"grpc": action}:
            return GRPCAction(action.get("port", 0), action.get("service", ""))
        case _:
            return None
