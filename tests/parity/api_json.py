"""Decode JSON of the Kubernetes API in the cases to our frozen values.

Pods in the cases have their defaults already: only Go's zero values are filled in.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, TypeVar

from probetui.k8s.pod import (
    Container,
    ContainerPort,
    EnvVar,
    Pod,
    PullPolicy,
    RestartPolicy,
    VolumeMount,
)
from probetui.k8s.probe import (
    ExecAction,
    GRPCAction,
    HTTPGetAction,
    HTTPHeader,
    LifecycleHandler,
    Probe,
    ProbeHandler,
    SleepAction,
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
    ConditionStatus,
    ContainerState,
    ContainerStatus,
    PodCondition,
    PodPhase,
    PodStatus,
    Running,
    Terminated,
    VolumeMountStatus,
    Waiting,
)
from probetui.kubelet.outcome import Result

Json = Mapping[str, Any]
Value = TypeVar("Value")


def pod(value: Json) -> Pod:
    """`v1.Pod`, without its status."""
    metadata, spec = value.get("metadata", {}), value.get("spec", {})
    return Pod(
        uid=metadata.get("uid", ""),
        name=metadata.get("name", ""),
        namespace=metadata.get("namespace", ""),
        labels=metadata.get("labels", {}),
        annotations=metadata.get("annotations", {}),
        restart_policy=RestartPolicy(spec.get("restartPolicy", "Always")),
        termination_grace_period_seconds=spec.get("terminationGracePeriodSeconds"),
        active_deadline_seconds=spec.get("activeDeadlineSeconds"),
        init_containers=_convert_all(container, spec.get("initContainers")),
        containers=_convert_all(container, spec.get("containers")),
        ephemeral_containers=_convert_all(container, spec.get("ephemeralContainers")),
        host_network=spec.get("hostNetwork", False),
        host_pid=spec.get("hostPID", False),
        host_ipc=spec.get("hostIPC", False),
        share_process_namespace=spec.get("shareProcessNamespace", False),
        hostname=spec.get("hostname", ""),
        readiness_gates=tuple(
            gate["conditionType"] for gate in spec.get("readinessGates") or ()
        ),
        created_at=instant(metadata.get("creationTimestamp")),
        deletion_requested_at=instant(metadata.get("deletionTimestamp")),
        deletion_grace_period_seconds=metadata.get("deletionGracePeriodSeconds"),
    )


def container(value: Json) -> Container:
    """`v1.Container` and `v1.EphemeralContainer`."""
    lifecycle = value.get("lifecycle", {})
    policy = value.get("restartPolicy")
    return Container(
        name=value["name"],
        image=value.get("image", ""),
        image_pull_policy=PullPolicy(value.get("imagePullPolicy", "IfNotPresent")),
        command=tuple(value.get("command", ())),
        args=tuple(value.get("args", ())),
        env=tuple(
            EnvVar(variable["name"], variable.get("value", ""), "valueFrom" in variable)
            for variable in value.get("env", ())
        ),
        working_dir=value.get("workingDir", ""),
        ports=_convert_all(container_port, value.get("ports")),
        startup_probe=_probe(value.get("startupProbe")),
        liveness_probe=_probe(value.get("livenessProbe")),
        readiness_probe=_probe(value.get("readinessProbe")),
        post_start=_lifecycle(lifecycle.get("postStart")),
        pre_stop=_lifecycle(lifecycle.get("preStop")),
        restart_policy=RestartPolicy(policy) if policy else None,
        termination_message_path=value.get("terminationMessagePath", ""),
        termination_message_policy=value.get("terminationMessagePolicy", ""),
        volume_mounts=tuple(
            VolumeMount(
                mount["name"],
                mount["mountPath"],
                mount.get("readOnly", False),
                mount.get("subPath", ""),
            )
            for mount in value.get("volumeMounts", ())
        ),
        stdin=value.get("stdin", False),
        stdin_once=value.get("stdinOnce", False),
        tty=value.get("tty", False),
    )


def container_port(value: Json) -> ContainerPort:
    """`v1.ContainerPort`."""
    return ContainerPort(
        container_port=value.get("containerPort", 0),
        name=value.get("name", ""),
        protocol=value.get("protocol", ""),
        host_port=value.get("hostPort", 0),
        host_ip=value.get("hostIP", ""),
    )


def runtime_pod_status(value: Json) -> RuntimePodStatus:
    """The runtime pod status that the kubelet reads from the CRI."""
    return RuntimePodStatus(
        pod_uid=value.get("uid", ""),
        sandboxes=_convert_all(sandbox_status, value.get("sandboxStatuses")),
        containers=_convert_all(
            runtime_container_status, value.get("containerStatuses")
        ),
        ips=tuple(value.get("ips") or ()),
    )


def sandbox_status(value: Json) -> SandboxStatus:
    """One sandbox of a runtime pod status."""
    network = value.get("network")
    return SandboxStatus(
        sandbox_id=value["id"],
        is_ready=value["state"] == "SANDBOX_READY",
        attempt=value.get("attempt", 0),
        created_at=instant(value.get("createdAt")),
        host_network=value.get("networkNamespaceMode") == "NODE",
        ip=network["ip"] if network else None,
    )


def runtime_container_status(value: Json) -> RuntimeContainerStatus:
    """One container instance of a runtime pod status."""
    return RuntimeContainerStatus(
        container_id=ContainerID(value["id"]),
        name=value["name"],
        state=RuntimeState(value["state"]),
        created_at=instant(value.get("createdAt")),
        started_at=instant(value.get("startedAt")),
        finished_at=instant(value.get("finishedAt")),
        exit_code=value.get("exitCode", 0),
        reason=value.get("reason", ""),
        message=value.get("message", ""),
        image=value.get("image", ""),
        image_ref=value.get("imageRef", ""),
        image_id=value.get("imageID", ""),
        restart_count=value.get("restartCount", 0),
        hash=int(value.get("hash", 0)),
    )


def stored_results(value: Mapping[str, str]) -> dict[ContainerID, Result]:
    """The stored results of a results manager, by container ID."""
    return {ContainerID(key): Result[result.upper()] for key, result in value.items()}


def pod_status(value: Json | None) -> PodStatus:
    """`v1.PodStatus`; an absent list is the API's null, no phase is Unknown."""
    value = value or {}
    return PodStatus(
        phase=PodPhase(value.get("phase") or "Unknown"),
        conditions=_convert_all(condition, value.get("conditions")),
        reason=value.get("reason", ""),
        message=value.get("message", ""),
        pod_ip=value.get("podIP", ""),
        pod_ips=tuple(ip["ip"] for ip in value.get("podIPs", ())),
        qos_class=value.get("qosClass", ""),
        start_time=instant(value.get("startTime")),
        init_container_statuses=container_statuses(value.get("initContainerStatuses")),
        container_statuses=container_statuses(value.get("containerStatuses")),
    )


def condition(value: Json) -> PodCondition:
    """`v1.PodCondition`."""
    return PodCondition(
        type=value["type"],
        status=ConditionStatus(value["status"]),
        reason=value.get("reason", ""),
        message=value.get("message", ""),
        last_transition_at=instant(value.get("lastTransitionTime")),
    )


def container_statuses(
    values: list[Json] | None,
) -> tuple[ContainerStatus, ...] | None:
    """A list of `v1.ContainerStatus`; null differs from an empty list."""
    return None if values is None else tuple(map(container_status, values))


def container_status(value: Json) -> ContainerStatus:
    """`v1.ContainerStatus`."""
    return ContainerStatus(
        name=value["name"],
        container_id=value.get("containerID", ""),
        state=_state(value.get("state", {})),
        last_state=_state(value.get("lastState", {})),
        ready=value.get("ready", False),
        started=value.get("started"),
        restart_count=value.get("restartCount", 0),
        image=value.get("image", ""),
        image_id=value.get("imageID", ""),
        volume_mounts=tuple(
            VolumeMountStatus(
                mount["name"],
                mount["mountPath"],
                mount.get("readOnly", False),
                mount.get("recursiveReadOnly"),
            )
            for mount in value.get("volumeMounts", ())
        ),
    )


def instant(value: str | None) -> datetime | None:
    """RFC 3339 text, or null."""
    return datetime.fromisoformat(value) if value else None


def _convert_all(
    decode: Callable[[Json], Value], values: list[Json] | None
) -> tuple[Value, ...]:
    return tuple(map(decode, values or ()))


def _state(value: Json) -> ContainerState | None:
    if (waiting := value.get("waiting")) is not None:
        return Waiting(waiting.get("reason", ""), waiting.get("message", ""))
    if (running := value.get("running")) is not None:
        return Running(instant(running.get("startedAt")))
    if (terminated := value.get("terminated")) is not None:
        return Terminated(
            exit_code=terminated.get("exitCode", 0),
            reason=terminated.get("reason", ""),
            message=terminated.get("message", ""),
            started_at=instant(terminated.get("startedAt")),
            finished_at=instant(terminated.get("finishedAt")),
            container_id=terminated.get("containerID", ""),
        )
    return None


def _probe(value: Json | None) -> Probe | None:
    if value is None:
        return None
    return Probe(
        handler=_handler(value),
        initial_delay_seconds=value.get("initialDelaySeconds", 0),
        timeout_seconds=value.get("timeoutSeconds", 0),
        period_seconds=value.get("periodSeconds", 0),
        success_threshold=value.get("successThreshold", 0),
        failure_threshold=value.get("failureThreshold", 0),
        termination_grace_period_seconds=value.get("terminationGracePeriodSeconds"),
    )


def _handler(value: Json) -> ProbeHandler | None:
    if (grpc := value.get("grpc")) is not None:
        return GRPCAction(grpc["port"], grpc.get("service") or "")
    action = _lifecycle(value)
    assert not isinstance(action, SleepAction)
    return action


def _lifecycle(value: Json | None) -> LifecycleHandler | None:
    if not value:
        return None
    if (exec_ := value.get("exec")) is not None:
        return ExecAction(tuple(exec_.get("command", ())))
    if (http := value.get("httpGet")) is not None:
        return HTTPGetAction(
            port=http["port"],
            path=http.get("path", ""),
            host=http.get("host", ""),
            scheme=http.get("scheme", ""),
            http_headers=tuple(
                HTTPHeader(header["name"], header["value"])
                for header in http.get("httpHeaders", ())
            ),
        )
    if (tcp := value.get("tcpSocket")) is not None:
        return TCPSocketAction(tcp["port"], tcp.get("host", ""))
    if (sleep := value.get("sleep")) is not None:
        return SleepAction(sleep["seconds"])
    return None
