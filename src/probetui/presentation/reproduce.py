"""The command that repeats a probe by hand, quoted for a shell."""

from __future__ import annotations

import json
import shlex

from probetui.k8s.pod import Container
from probetui.k8s.probe import (
    ExecAction,
    GRPCAction,
    HTTPGetAction,
    Probe,
    TCPSocketAction,
)
from probetui.k8s.runtime import ContainerID
from probetui.kubelet.expansion import expand_command
from probetui.kubelet.gates import short_id

_EXEC = {"docker": "docker exec", "containerd": "crictl exec", "cri-o": "crictl exec"}
_NO_ADDRESS = "POD_IP"


def reproduce(
    container: Container, probe: Probe, container_id: ContainerID, pod_ip: str
) -> str:
    """Return a command for a shell on the runtime's machine.

    Where the pod has no IP at the moment it says `POD_IP`; where the runtime is none
    that a command line reaches, an exec probe's own command is all there is. It is
    foreign text: secrets and control characters are still in it.
    """
    match probe.handler:
        case ExecAction(command):
            command = expand_command(command, container.env)
            return _exec(container_id, command)
        case HTTPGetAction() as action:
            return _http(container, action, probe.timeout_seconds, pod_ip)
        case TCPSocketAction(port, host):
            number = str(_number(container, port))
            limit = str(probe.timeout_seconds)
            return shlex.join(
                ["nc", "-zv", "-w", limit, host or pod_ip or _NO_ADDRESS, number]
            )
        case GRPCAction(port, service):
            return _grpc(port, service, probe.timeout_seconds, pod_ip)
        case None:
            return ""


def _exec(container_id: ContainerID, command: tuple[str, ...]) -> str:
    runtime, _, _ = container_id.partition("://")
    words = shlex.join(command)
    prefix = _EXEC.get(runtime)
    return words if prefix is None else f"{prefix} {short_id(container_id)} {words}"


def _http(
    container: Container, action: HTTPGetAction, timeout_seconds: int, pod_ip: str
) -> str:
    words = ["curl", "-sv", "--max-time", str(timeout_seconds)]
    scheme = action.scheme.lower()
    if scheme == "https":
        # The kubelet does not look at certificates either.
        words.append("-k")
    for header in action.http_headers:
        words += ["-H", f"{header.name}: {header.value}"]
    host = _bracketed(action.host or pod_ip or _NO_ADDRESS)
    path = action.path if action.path.startswith("/") else f"/{action.path}"
    port = _number(container, action.port)
    return shlex.join([*words, f"{scheme}://{host}:{port}{path}"])


def _grpc(port: int, service: str, timeout_seconds: int, pod_ip: str) -> str:
    words = ["grpcurl", "-plaintext", "-max-time", str(timeout_seconds)]
    if service:
        words += ["-d", json.dumps({"service": service})]
    address = f"{_bracketed(pod_ip or _NO_ADDRESS)}:{port}"
    return shlex.join([*words, address, "grpc.health.v1.Health/Check"])


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host and not host.startswith("[") else host


def _number(container: Container, port: int | str) -> int | str:
    """Return the number of a port that is named; the name if nobody has it."""
    if isinstance(port, int):
        return port
    for each in container.ports:
        if each.name == port:
            return each.container_port
    return port
