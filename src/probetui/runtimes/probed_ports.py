"""The ports of a pod that its probes and hooks connect to."""

from __future__ import annotations

from probetui.k8s.pod import Container, Pod
from probetui.k8s.probe import (
    ExecAction,
    GRPCAction,
    HTTPGetAction,
    LifecycleHandler,
    ProbeHandler,
    SleepAction,
    TCPSocketAction,
)


def probed_ports(pod: Pod) -> tuple[int, ...]:
    """Return the ports of probes and hooks that have no host of their own."""
    ports = {
        number
        for container in pod.all_containers()
        for handler in container.handlers()
        if (number := _port(container, handler)) is not None
    }
    return tuple(sorted(ports))


def _port(container: Container, handler: ProbeHandler | LifecycleHandler) -> int | None:
    match handler:
        case HTTPGetAction() | TCPSocketAction():
            return None if handler.host else _number(container, handler.port)
        case GRPCAction():
            return handler.port
        case ExecAction() | SleepAction():
            return None


def _number(container: Container, port: int | str) -> int | None:
    """Return the number of a port, None for a name that the container lacks."""
    if isinstance(port, int):
        return port
    for container_port in container.ports:
        if container_port.name == port:
            return container_port.container_port
    return int(port) if port.isdecimal() else None
