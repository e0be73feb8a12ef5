"""Names, labels, annotations and log paths of sandboxes and containers.

Source: kuberuntime/labels.go, legacy.go, helpers.go, kubelet/container/helpers.go,
v1.32.10. The names and the labels of Docker are those of dockershim, which
cri-dockerd keeps.
"""

from __future__ import annotations

from collections.abc import Mapping
from ipaddress import AddressValueError, IPv6Address

from msgspec import Struct

from probetui.k8s.api.pod import CONTAINER_PORT
from probetui.k8s.api.probe import LIFECYCLE_HANDLER
from probetui.k8s.pod import Container, Pod
from probetui.kubelet.runtime.go_format import go_json

POD_NAME = "io.kubernetes.pod.name"
POD_NAMESPACE = "io.kubernetes.pod.namespace"
POD_UID = "io.kubernetes.pod.uid"
CONTAINER_NAME = "io.kubernetes.container.name"

CONTAINER_HASH = "io.kubernetes.container.hash"
RESTART_COUNT = "io.kubernetes.container.restartCount"
MESSAGE_PATH = "io.kubernetes.container.terminationMessagePath"
MESSAGE_POLICY = "io.kubernetes.container.terminationMessagePolicy"
PRE_STOP_HANDLER = "io.kubernetes.container.preStopHandler"
CONTAINER_PORTS = "io.kubernetes.container.ports"
POD_GRACE_PERIOD = "io.kubernetes.pod.terminationGracePeriod"
POD_DELETION_GRACE_PERIOD = "io.kubernetes.pod.deletionGracePeriod"

DOCKER_TYPE = "io.kubernetes.docker.type"
DOCKER_TYPE_SANDBOX = "podsandbox"
DOCKER_TYPE_CONTAINER = "container"
DOCKER_SANDBOX_ID = "io.kubernetes.sandbox.id"
DOCKER_LOG_PATH = "io.kubernetes.container.logpath"
DOCKER_ANNOTATION_PREFIX = "annotation."
DOCKER_NAME_PREFIX = "k8s"
DOCKER_SANDBOX_NAME = "POD"

RUNTIME_LABEL_PREFIXES = (
    "io.kubernetes.pod.",
    "io.kubernetes.docker.",
    DOCKER_ANNOTATION_PREFIX,
)
"""The prefixes of a sandbox's labels that are not the pod's."""

POD_LOGS = "/var/log/pods"
CONTAINER_LOGS = "/var/log/containers"
MAX_FILE_NAME_BYTES = 255
LOG_SUFFIX = ".log"


class ContainerAnnotations(Struct, frozen=True):
    """The kubelet's own annotations of a container."""

    hash: int = 0
    restart_count: int = 0
    termination_message_path: str = ""
    termination_message_policy: str = ""
    termination_grace_period_seconds: int | None = None
    deletion_grace_period_seconds: int | None = None


class PortMapping(Struct, frozen=True):
    """A port that a sandbox publishes."""

    protocol: str
    container_port: int
    host_port: int
    host_ip: str


def sandbox_labels(pod: Pod) -> dict[str, str]:
    """Return the labels of a pod's sandbox: the pod's, and identifying ones."""
    return {**pod.labels, **_identity_labels(pod)}


def container_labels(pod: Pod, container: Container) -> dict[str, str]:
    """Return the labels of a container."""
    return {**_identity_labels(pod), CONTAINER_NAME: container.name}


def container_annotations(
    pod: Pod, container: Container, restart_count: int, definition_hash: int
) -> dict[str, str]:
    """Return the annotations from which the kubelet recognizes a container."""
    annotations = {
        CONTAINER_HASH: f"{definition_hash:x}",
        RESTART_COUNT: str(restart_count),
        MESSAGE_PATH: container.termination_message_path,
        MESSAGE_POLICY: container.termination_message_policy,
    }
    if pod.deletion_grace_period_seconds is not None:
        annotations[POD_DELETION_GRACE_PERIOD] = str(pod.deletion_grace_period_seconds)
    if pod.termination_grace_period_seconds is not None:
        annotations[POD_GRACE_PERIOD] = str(pod.termination_grace_period_seconds)
    if container.pre_stop is not None:
        annotations[PRE_STOP_HANDLER] = go_json(
            LIFECYCLE_HANDLER.write(container.pre_stop)
        )
    if container.ports:
        annotations[CONTAINER_PORTS] = go_json(
            [CONTAINER_PORT.write(port) for port in container.ports]
        )
    return annotations


def parse_container_annotations(annotations: Mapping[str, str]) -> ContainerAnnotations:
    """Parse a container's annotations; malformed ones count as absent."""
    return ContainerAnnotations(
        hash=_number(annotations.get(CONTAINER_HASH, ""), base=16) or 0,
        restart_count=_number(annotations.get(RESTART_COUNT, "")) or 0,
        termination_message_path=annotations.get(MESSAGE_PATH, ""),
        termination_message_policy=annotations.get(MESSAGE_POLICY, ""),
        termination_grace_period_seconds=_number(annotations.get(POD_GRACE_PERIOD, "")),
        deletion_grace_period_seconds=_number(
            annotations.get(POD_DELETION_GRACE_PERIOD, "")
        ),
    )


def port_mappings(pod: Pod) -> list[PortMapping]:
    """Return the ports that the sandbox publishes, of the regular containers.

    Of ports of one container that have the same name, or no name and are equal, only
    the first counts.
    """
    mappings = []
    for container in pod.containers:
        seen = set()
        for port in container.ports:
            key = port.name or (
                f"{_family(port.host_ip)}-{port.protocol}-{port.host_ip}"
                f":{port.container_port}:{port.host_port}"
            )
            if key not in seen:
                seen.add(key)
                mappings.append(
                    PortMapping(
                        port.protocol, port.container_port, port.host_port, port.host_ip
                    )
                )
    return mappings


def sandbox_log_directory(pod: Pod) -> str:
    """Return the directory of the logs of a pod's containers."""
    return f"{POD_LOGS}/{pod.namespace}_{pod.name}_{pod.uid}"


def container_log_path(container: Container, restart_count: int) -> str:
    """Return the path of a container's log in the sandbox's directory."""
    return f"{container.name}/{restart_count}{LOG_SUFFIX}"


def legacy_log_symlink(pod: Pod, container: Container, container_id: str) -> str:
    """Return the symlink to a container's log for log collectors.

    `container_id` is the runtime's, without its name. File names are cut to what file
    systems allow.
    """
    name = f"{pod.name}_{pod.namespace}_{container.name}-{container_id}"
    limit = MAX_FILE_NAME_BYTES - len(LOG_SUFFIX)
    return f"{CONTAINER_LOGS}/{name[:limit]}{LOG_SUFFIX}"


def docker_sandbox_name(pod: Pod, attempt: int) -> str:
    """Return the name of a pod's sandbox on Docker."""
    return _docker_name(DOCKER_SANDBOX_NAME, pod, attempt)


def docker_container_name(pod: Pod, container: Container, restart_count: int) -> str:
    """Return the name of a container on Docker."""
    return _docker_name(container.name, pod, restart_count)


def docker_sandbox_labels(pod: Pod) -> dict[str, str]:
    """Return the labels of a pod's sandbox on Docker, annotations included."""
    return {
        **_as_labels(pod.annotations),
        **sandbox_labels(pod),
        DOCKER_TYPE: DOCKER_TYPE_SANDBOX,
    }


def docker_container_labels(
    pod: Pod,
    container: Container,
    restart_count: int,
    definition_hash: int,
    sandbox_id: str,
) -> dict[str, str]:
    """Return the labels of a container on Docker, annotations included."""
    log_path = container_log_path(container, restart_count)
    return {
        **_as_labels(
            container_annotations(pod, container, restart_count, definition_hash)
        ),
        **container_labels(pod, container),
        DOCKER_TYPE: DOCKER_TYPE_CONTAINER,
        DOCKER_SANDBOX_ID: sandbox_id,
        DOCKER_LOG_PATH: f"{sandbox_log_directory(pod)}/{log_path}",
    }


def annotations_of_docker_labels(labels: Mapping[str, str]) -> dict[str, str]:
    """Return the annotations that Docker labels hold."""
    return {
        key.removeprefix(DOCKER_ANNOTATION_PREFIX): value
        for key, value in labels.items()
        if key.startswith(DOCKER_ANNOTATION_PREFIX)
    }


def _identity_labels(pod: Pod) -> dict[str, str]:
    return {POD_NAME: pod.name, POD_NAMESPACE: pod.namespace, POD_UID: pod.uid}


def _docker_name(name: str, pod: Pod, attempt: int) -> str:
    parts = (DOCKER_NAME_PREFIX, name, pod.name, pod.namespace, pod.uid, str(attempt))
    return "_".join(parts)


def _as_labels(annotations: Mapping[str, str]) -> dict[str, str]:
    return {
        f"{DOCKER_ANNOTATION_PREFIX}{key}": value for key, value in annotations.items()
    }


def _number(text: str, base: int = 10) -> int | None:
    try:
        return int(text, base)
    except ValueError:
        return None


def _family(host_ip: str) -> str:
    if not host_ip:
        return "any"
    try:
        IPv6Address(host_ip)
    except AddressValueError:
        return "v4"
    return "v6"
