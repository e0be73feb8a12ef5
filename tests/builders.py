"""Builders of pods, containers and probes; a test sets only the fields it needs."""

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
from probetui.k8s.runtime import (
    ContainerID,
    RuntimeContainerStatus,
    RuntimePodStatus,
    RuntimeState,
    SandboxStatus,
)
from probetui.k8s.status import (
    ContainerState,
    ContainerStatus,
    PodPhase,
    PodStatus,
    Running,
)
from probetui.kubelet.kuberuntime.container_hash import container_hash
from probetui.kubelet.outcome import Attempt, ProbeOutcome, ProbeResult

START = datetime(2025, 1, 1, 12, 0, tzinfo=UTC)
"""The start time of all tests."""


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
    """Return the outcome of a probe with one attempt; `fields` are the attempt's."""
    attempt = Attempt(result, duration=duration, **fields)
    return ProbeOutcome((attempt,), started_at=started_at, duration=duration)


def an_instance(
    container: Container | None = None,
    state: RuntimeState = RuntimeState.RUNNING,
    number: int = 0,
    **fields: Any,
) -> RuntimeContainerStatus:
    """Return an instance of a container as the runtime reports it.

    The instances of a container are `number`ed in the order of their creation, 100 s
    apart; each starts a second after its creation and runs for 10 s.
    """
    container = container or a_container()
    created = 100 * number
    times: dict[str, datetime] = {"created_at": at(created)}
    if state is not RuntimeState.CREATED:
        times["started_at"] = at(created + 1)
    if state is RuntimeState.EXITED:
        times["finished_at"] = at(created + 11)
    return RuntimeContainerStatus(
        container_id=ContainerID(f"fake://{container.name}-{number}"),
        name=container.name,
        state=state,
        **{
            "image": container.image,
            "restart_count": number,
            "hash": container_hash(container),
            **times,
            **fields,
        },
    )


def a_sandbox(**fields: Any) -> SandboxStatus:
    """Return a sandbox that is ready and has an address."""
    return SandboxStatus(
        **{"sandbox_id": "sandbox", "is_ready": True, "ip": "10.0.0.2", **fields}
    )


def a_runtime_status(
    *instances: RuntimeContainerStatus, pod: str = "web", **fields: Any
) -> RuntimePodStatus:
    """Return the runtime's status of `a_pod(name=pod)`, the newest instance first."""
    return RuntimePodStatus(
        pod_uid=f"uid-of-{pod}",
        containers=instances,
        **{"sandboxes": (a_sandbox(),), "ips": ("10.0.0.2",), **fields},
    )


RUNNING = Running(START)


def a_container_status(
    name: str = "app",
    number: int = 0,
    state: ContainerState | None = RUNNING,
    **fields: Any,
) -> ContainerStatus:
    """Return the published status of an instance; it runs and has started up."""
    return ContainerStatus(
        name,
        **{
            "container_id": f"fake://{name}-{number}",
            "state": state,
            "started": True,
            "restart_count": number,
            **fields,
        },
    )


def a_status(*containers: ContainerStatus, **fields: Any) -> PodStatus:
    """Return the published status of a pod that runs."""
    return PodStatus(
        **{
            "phase": PodPhase.RUNNING,
            "container_statuses": containers,
            "pod_ip": "10.0.0.2",
            **fields,
        }
    )
