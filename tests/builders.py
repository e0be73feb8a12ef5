"""Pods, containers and probes for tests, where only what matters is spelled out."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from probetui.k8s.pod import Container, EnvVar, Pod
from probetui.k8s.probe import (
    ExecAction,
    GRPCAction,
    HTTPGetAction,
    Probe,
    ProbeHandler,
    ProbeKey,
    ProbeType,
    TCPSocketAction,
)
from probetui.kubelet.outcome import Attempt, ProbeOutcome, ProbeResult

START = datetime(2025, 1, 1, 12, 0, tzinfo=UTC)
"""When everything in tests begins."""


def at(seconds: float) -> datetime:
    """Return the instant that many seconds after `START`."""
    return START + timedelta(seconds=seconds)


def a_probe(handler: ProbeHandler | None = None, **fields: Any) -> Probe:
    """Return a probe; without a handler it runs `true`."""
    return Probe(handler or ExecAction(("true",)), **fields)


def an_exec_probe(*command: str, **fields: Any) -> Probe:
    """Return a probe that runs a command."""
    return a_probe(ExecAction(command), **fields)


def an_http_probe(
    port: int | str = 8080, path: str = "/healthz", **fields: Any
) -> Probe:
    """Return a probe that sends a GET request."""
    return a_probe(HTTPGetAction(port, path), **fields)


def a_tcp_probe(port: int | str = 8080, **fields: Any) -> Probe:
    """Return a probe that opens a connection."""
    return a_probe(TCPSocketAction(port), **fields)


def a_grpc_probe(port: int = 8080, service: str = "", **fields: Any) -> Probe:
    """Return a probe that asks the gRPC health service."""
    return a_probe(GRPCAction(port, service), **fields)


def a_container(name: str = "app", **fields: Any) -> Container:
    """Return a container; its image is `busybox:1.36` unless given."""
    return Container(name, **{"image": "busybox:1.36", **fields})


def a_script(text: str, name: str = "app", **fields: Any) -> Container:
    """Return a container that runs a shell script."""
    return a_container(name, command=("/bin/sh", "-c", text), **fields)


def a_pod(*containers: Container, name: str = "web", **fields: Any) -> Pod:
    """Return a pod, with one container unless some are given."""
    return Pod(
        name=name,
        containers=containers or (a_container(),),
        **{"uid": f"uid-of-{name}", "created_at": START, **fields},
    )


def env(**values: str) -> tuple[EnvVar, ...]:
    """Return environment variables with literal values."""
    return tuple(EnvVar(name, value) for name, value in values.items())


def a_key(
    probe_type: ProbeType = ProbeType.LIVENESS,
    *,
    container: str = "app",
    pod: str = "web",
) -> ProbeKey:
    """Return the key of a probe of `a_pod(name=pod)`."""
    return ProbeKey(f"uid-of-{pod}", container, probe_type)


def an_outcome(
    result: ProbeResult = ProbeResult.SUCCESS,
    *,
    started_at: datetime = START,
    duration: timedelta = timedelta(),
    **fields: Any,
) -> ProbeOutcome:
    """Return what one probe with one attempt came to; `fields` are the attempt's."""
    attempt = Attempt(result, duration=duration, **fields)
    return ProbeOutcome((attempt,), started_at=started_at, duration=duration)
