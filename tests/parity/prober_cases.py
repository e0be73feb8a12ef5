"""What the files of prober cases have in common: handlers, ports, long texts."""

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
from probetui.kubelet.go_text import to_bytes


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
    """Return length and hash of a text, as long outputs are given."""
    data = to_bytes(text)
    return len(data), hashlib.sha256(data).hexdigest()


def a_container(case: dict[str, Any]) -> Container:
    """Read `name`, `ports` and `env`."""
    return Container(
        case.get("name", "c"),
        ports=tuple(
            ContainerPort(each["containerPort"], each.get("name", ""))
            for each in case.get("ports") or ()
        ),
        env=tuple(
            EnvVar(each["name"], each.get("value", ""), each.get("valueFrom", False))
            for each in case.get("env") or ()
        ),
    )


def http_get(case: dict[str, Any]) -> HTTPGetAction:
    """Read an `httpGet`."""
    return HTTPGetAction(
        port=case["port"],
        path=case.get("path", ""),
        host=case.get("host", ""),
        scheme=case.get("scheme", ""),
        http_headers=tuple(
            HTTPHeader(each["name"], each["value"])
            for each in case.get("httpHeaders") or ()
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
            return TCPSocketAction(action["port"], action.get("host", ""))
        case {"grpc": action}:
            return GRPCAction(action["port"], action.get("service", ""))
        case _:
            return None
