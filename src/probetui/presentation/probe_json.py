"""Probes and lifecycle hooks as the Kubernetes API writes them.

Source: k8s.io/api core/v1/types.go, v0.32.10, Probe and LifecycleHandler.
"""

from __future__ import annotations

from typing import Any

from probetui.drive.masking import Mask
from probetui.k8s.probe import (
    ExecAction,
    GRPCAction,
    HTTPGetAction,
    LifecycleHandler,
    Probe,
    ProbeHandler,
    SleepAction,
    TCPSocketAction,
)

Json = dict[str, Any]


def probe_to_json(probe: Probe, mask: Mask) -> Json:
    """Return `v1.Probe` with every field that has a default; secrets masked."""
    handler = {} if probe.handler is None else handler_to_json(probe.handler, mask)
    grace = probe.termination_grace_period_seconds
    return {
        **handler,
        "initialDelaySeconds": probe.initial_delay_seconds,
        "periodSeconds": probe.period_seconds,
        "timeoutSeconds": probe.timeout_seconds,
        "successThreshold": probe.success_threshold,
        "failureThreshold": probe.failure_threshold,
        **({} if grace is None else {"terminationGracePeriodSeconds": grace}),
    }


def handler_to_json(handler: ProbeHandler | LifecycleHandler, mask: Mask) -> Json:
    """Return what a probe or a hook does, under the name of its kind."""
    match handler:
        case ExecAction(command):
            return {"exec": {"command": [mask.text(each) for each in command]}}
        case HTTPGetAction():
            return {"httpGet": _http_get(handler, mask)}
        case TCPSocketAction(port, host):
            return {"tcpSocket": {**_host(host), "port": port}}
        case GRPCAction(port, service):
            return {"grpc": {"port": port, "service": service}}
        case SleepAction(seconds):
            return {"sleep": {"seconds": seconds}}


def _http_get(action: HTTPGetAction, mask: Mask) -> Json:
    headers = [
        {"name": each.name, "value": mask.value(each.name, each.value)}
        for each in action.http_headers
    ]
    return {
        "path": mask.text(action.path),
        **_host(action.host),
        "port": action.port,
        "scheme": action.scheme,
        **({"httpHeaders": headers} if headers else {}),
    }


def _host(host: str) -> Json:
    return {"host": host} if host else {}
