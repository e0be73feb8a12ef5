"""A probe on one line, as `kubectl describe` writes it.

Source: k8s.io/kubectl describe/describe.go, v0.32.10, DescribeProbe.
"""

from __future__ import annotations

from urllib.parse import quote

from probetui.k8s.probe import (
    ExecAction,
    GRPCAction,
    HTTPGetAction,
    Probe,
    TCPSocketAction,
)
from probetui.kubelet.go_text import to_bytes

_SAFE_IN_PATH = "$&+,/:;=@-_.~"
"""What Go's net/url leaves as it is in a path, beside letters and digits."""


def describe_probe(probe: Probe) -> str:
    """Return handler and numbers: `tcp-socket :8080 delay=0s timeout=1s …`."""
    numbers = (
        f"delay={probe.initial_delay_seconds}s timeout={probe.timeout_seconds}s "
        f"period={probe.period_seconds}s #success={probe.success_threshold} "
        f"#failure={probe.failure_threshold}"
    )
    match probe.handler:
        case ExecAction(command):
            return f"exec [{' '.join(command)}] {numbers}"
        case HTTPGetAction():
            return f"http-get {_url(probe.handler)} {numbers}"
        case TCPSocketAction(port, host):
            return f"tcp-socket {host}:{port} {numbers}"
        case GRPCAction(port, service):
            return f"grpc <pod>:{port} {service} {numbers}"
        case None:
            return f"unknown {numbers}"


def _url(action: HTTPGetAction) -> str:
    # net.JoinHostPort puts brackets around what has a colon: IPv6.
    host = f"[{action.host}]" if ":" in action.host else action.host
    path = quote(to_bytes(action.path), safe=_SAFE_IN_PATH)
    if path and not path.startswith("/"):
        path = f"/{path}"
    return f"{action.scheme.lower()}://{host}:{action.port}{path}"
