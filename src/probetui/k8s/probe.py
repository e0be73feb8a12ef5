"""Probes and their handlers, as `pod.spec.containers[].*Probe` has them."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

from probetui.values import Kind, Value


class ProbeType(StrEnum):
    """The type of a probe; the value is the word in events."""

    LIVENESS = "Liveness"
    READINESS = "Readiness"
    STARTUP = "Startup"


class ExecAction(Kind, frozen=True):
    """Run a command in the container; 0 is success."""

    command: tuple[str, ...]


class HTTPHeader(Value, frozen=True):
    """`v1.HTTPHeader`."""

    name: str
    value: str


HTTP_1, HTTP_2 = "HTTP1", "HTTP2"


class HTTPGetAction(Kind, frozen=True):
    """Send a GET request; 200 to 399 is success.

    `port` is a number or the name of a container port. An empty `host` means the
    pod's IP. `protocol` is HTTP1 or HTTP2 (without TLS, and without being asked for
    it), empty for the first.
    """

    port: int | str
    path: str = "/"
    host: str = ""
    scheme: str = "HTTP"
    http_headers: tuple[HTTPHeader, ...] = ()
    protocol: str = ""

    @property
    def uses_http2(self) -> bool:
        """Whether the request is made by HTTP/2 though there is no TLS."""
        return self.protocol == HTTP_2


class TCPSocketAction(Kind, frozen=True):
    """Open a connection; a completed handshake is success."""

    port: int | str
    host: str = ""


GRPC_PLAINTEXT, GRPC_TLS = "Plaintext", "TLS"


class GRPCAction(Kind, frozen=True):
    """Ask `grpc.health.v1.Health`; SERVING is success.

    `mode` is Plaintext or TLS, empty for the first.
    """

    port: int
    service: str = ""
    mode: str = ""

    @property
    def uses_tls(self) -> bool:
        """Whether the connection is inside TLS."""
        return self.mode == GRPC_TLS


class SleepAction(Kind, frozen=True):
    """Wait (lifecycle hooks only)."""

    seconds: int


ProbeHandler = ExecAction | HTTPGetAction | TCPSocketAction | GRPCAction
LifecycleHandler = ExecAction | HTTPGetAction | TCPSocketAction | SleepAction


class Probe(Value, frozen=True):
    """A probe with the API server's defaults applied.

    `handler` is None only for a spec that validation would refuse; the prober then
    reports an error at every tick, as the kubelet does.
    """

    handler: ProbeHandler | None
    initial_delay_seconds: int = 0
    timeout_seconds: int = 1
    period_seconds: int = 10
    success_threshold: int = 1
    failure_threshold: int = 3
    termination_grace_period_seconds: int | None = None


class ProbeKey(NamedTuple):
    """What identifies a worker: one container's probe of one type.

    Source: prober_manager.go, v1.32.10, probeKey.
    """

    pod_uid: str
    container_name: str
    probe_type: ProbeType
