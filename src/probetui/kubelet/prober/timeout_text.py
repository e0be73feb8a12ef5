"""The output of an unanswered probe, by kind of handler.

The server or command does not answer in time, or the container has exited.

Source: probe/exec/exec.go, probe/http/http.go, probe/tcp/tcp.go, probe/grpc/grpc.go,
v1.32.10; the texts are those of Go and of the CRI client.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from probetui.k8s.pod import Container
from probetui.k8s.probe import (
    ExecAction,
    GRPCAction,
    HTTPGetAction,
    Probe,
    TCPSocketAction,
)
from probetui.kubelet.outcome import Attempt, ProbeResult
from probetui.kubelet.runtime.go_format import go_duration, go_quote, join_host_port
from probetui.kubelet_rules import KubeletRules

AWAITING_HEAD = (
    "context deadline exceeded (Client.Timeout exceeded while awaiting headers)"
)
READING_BODY = (
    "context deadline exceeded "
    "(Client.Timeout or context cancellation while reading body)"
)
"""Why an HTTP request ended, before and after the head of the response."""


def exec_timeout(command: Sequence[str], limit: timedelta) -> str:
    """Return the output of a command that exceeded its time limit."""
    message = go_quote(" ".join(command))
    return f"command timed out: {message} timed out after {go_duration(limit)}"


def http_failure(url: str, reason: str) -> str:
    """Return the output of a request without a response."""
    return f"Get {go_quote(url)}: {reason}"


def tcp_timeout(host: str, port: int | str) -> str:
    """Return the output of a connection that timed out."""
    return f"dial tcp {join_host_port(host, port)}: i/o timeout"


def tcp_refused(host: str, port: int | str) -> str:
    """Return the output of a refused connection."""
    return f"dial tcp {join_host_port(host, port)}: connect: connection refused"


def grpc_connect_timeout(host: str, port: int, limit: timedelta) -> str:
    """Return the output of an HTTP/2 connection that timed out."""
    return (
        f"timeout: failed to connect service {go_quote(join_host_port(host, port))} "
        f"within {go_duration(limit)}: context deadline exceeded"
    )


def grpc_call_timeout(limit: timedelta) -> str:
    """Return the output of a call without an answer on an open connection."""
    return f"timeout: health rpc did not complete within {go_duration(limit)}"


def format_timeout(probe: Probe, container: Container, pod_ip: str) -> str:
    """Return the output of a probe that times out."""
    limit = timedelta(seconds=probe.timeout_seconds)
    match probe.handler:
        case ExecAction(command):
            return exec_timeout(command, limit)
        case HTTPGetAction() as request:
            return http_failure(request_url(request, container, pod_ip), AWAITING_HEAD)
        case TCPSocketAction(port, host):
            return tcp_timeout(host or pod_ip, _port_number(port, container))
        case GRPCAction():
            return grpc_call_timeout(limit)
        case None:
            return "missing probe handler"


def timed_out(
    probe: Probe, container: Container, pod_ip: str, rules: KubeletRules
) -> Attempt:
    """Return the outcome of a probe that times out, by the version's rules.

    Source: prober/prober.go, pkg/probe/exec/exec.go, v1.20.2, v1.32.10.
    """
    output = format_timeout(probe, container, pod_ip)
    limit = timedelta(seconds=probe.timeout_seconds)
    if isinstance(probe.handler, ExecAction):
        if not rules.exec_timeout_is_failure:
            return Attempt(ProbeResult.UNKNOWN, error=output, duration=limit)
        if not rules.tells_exec_timeout:
            output = ""
    return Attempt(ProbeResult.FAILURE, output, duration=limit)


def exited(probe: Probe, container: Container, pod_ip: str) -> Attempt:
    """Return the outcome of a probe of a container that has exited.

    Its port refuses a connection, which gRPC tries again until its time limit, and the
    runtime an exec.
    """
    limit = timedelta(seconds=probe.timeout_seconds)
    match probe.handler:
        case HTTPGetAction(port) as request:
            why = tcp_refused(pod_ip, _port_number(port, container))
            output = http_failure(request_url(request, container, pod_ip), why)
            return Attempt(ProbeResult.FAILURE, output)
        case TCPSocketAction(port):
            output = tcp_refused(pod_ip, _port_number(port, container))
            return Attempt(ProbeResult.FAILURE, output)
        case GRPCAction(port):
            output = grpc_connect_timeout(pod_ip, port, limit)
            return Attempt(ProbeResult.FAILURE, output, duration=limit)
        case _:
            return Attempt(ProbeResult.UNKNOWN, error="the container is not running")


def request_url(request: HTTPGetAction, container: Container, pod_ip: str) -> str:
    """Return the request URL of a probe or hook."""
    port = _port_number(request.port, container)
    where = join_host_port(request.host or pod_ip, port)
    return f"{request.scheme.lower()}://{where}/{request.path.removeprefix('/')}"


def _port_number(port: int | str, container: Container) -> int | str:
    """Return the number of a port; an unknown name is returned unchanged."""
    numbers = (named.container_port for named in container.ports if named.name == port)
    return next(numbers, port)
