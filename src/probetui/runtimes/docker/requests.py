"""Bodies of the requests that create sandboxes and containers; pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Any

from probetui.k8s.pod import Pod, PodSecurityContext, Resources, SecurityContext
from probetui.kubelet.effects import CreateContainer
from probetui.kubelet.kuberuntime.container_hash import hash_of_new
from probetui.kubelet.kuberuntime.labels import (
    docker_container_labels,
    docker_sandbox_labels,
    port_mappings,
)
from probetui.runtimes.docker.mounts import NO_MOUNTS, DockerMounts
from probetui.runtimes.docker.translate import ATTEMPT, HOST, JSON_LOG
from probetui.runtimes.log_limits import MAX_BYTES, MAX_FILES
from probetui.runtimes.translation import IMAGE, hostname, own_labels

NO_SEARCH = "."
"""The search domain that means none at all."""

MIN_CPU_SHARES = 2
SHARES_PER_CPU = 1024
NANOS_PER_CPU = 1_000_000_000


def sandbox_request(
    pod: Pod,
    attempt: int,
    *,
    image: str,
    command: Sequence[str],
    owner: str,
    published: Iterable[int] = (),
    publish_on: str = "",
    mounts: DockerMounts = NO_MOUNTS,
) -> dict[str, Any]:
    """Return the body that creates a pod's sandbox.

    Args:
        pod: the pod.
        attempt: how many sandboxes it had before.
        image: the sandbox's image.
        command: its entrypoint, empty for that of the image.
        owner: the value of our owner label.
        published: ports of the pod that must be published.
        publish_on: the address to publish them on.
        mounts: its mounts, which it keeps for its containers.
    """
    bindings = _bindings(pod, published, publish_on)
    labels = {
        **docker_sandbox_labels(pod),
        **own_labels(owner),
        ATTEMPT: str(attempt),
        IMAGE: image,
    }
    request: dict[str, Any] = {
        "Image": image,
        "Hostname": None if pod.host_network else hostname(pod),
        "Labels": labels,
        "ExposedPorts": {port: {} for port in bindings},
        # Nothing in a sandbox needs to shut down.
        "StopSignal": "SIGKILL",
        "Healthcheck": {"Test": ["NONE"]},
        "HostConfig": {
            "NetworkMode": HOST if pod.host_network else "default",
            "IpcMode": HOST if pod.host_ipc else "shareable",
            "PortBindings": bindings,
            **_names(pod),
            **mounts.body(),
        },
    }
    if command:
        request["Entrypoint"] = list(command)
    return request


def set_shared_hostname(request: dict[str, Any], sandbox_id: str) -> None:
    """Add the sandbox's UTS namespace, for engines where it must be named."""
    request["HostConfig"]["UTSMode"] = f"container:{sandbox_id}"


def limit_log(request: dict[str, Any]) -> None:
    """Configure a daemon that writes logs as JSON to rotate a container's.

    Difference: the limit counts what is in the file, of which JSON is a part, and a log
    is read with what was rotated, where a kubelet reads the newest file alone.
    """
    request["HostConfig"]["LogConfig"] = {
        "Type": JSON_LOG,
        "Config": {"max-size": f"{MAX_BYTES}", "max-file": f"{MAX_FILES}"},
    }


def container_request(
    operation: CreateContainer, owner: str, mounts: DockerMounts = NO_MOUNTS
) -> dict[str, Any]:
    """Return the body that creates a container in its sandbox.

    As in Kubernetes, `command` replaces the image's entrypoint, `args` its command,
    and `command` alone replaces both. Health checks of the image are disabled.
    """
    pod, container = operation.pod, operation.container
    sandbox = f"container:{operation.sandbox_id}"
    context = container.security_context
    labels = {
        **docker_container_labels(
            pod,
            container,
            operation.attempt,
            hash_of_new(operation),
            operation.sandbox_id,
        ),
        **own_labels(owner),
        IMAGE: container.image,
    }
    return {
        "Image": operation.image_id or container.image,
        "Entrypoint": list(container.command) or None,
        "Cmd": list(container.args) or None,
        "Env": [f"{var.name}={var.value}" for var in container.env],
        "WorkingDir": container.working_dir or None,
        "User": _user(context),
        "Labels": labels,
        "Tty": container.tty,
        "OpenStdin": container.stdin,
        "StdinOnce": container.stdin_once,
        "StopSignal": container.stop_signal or None,
        "Healthcheck": {"Test": ["NONE"]},
        "HostConfig": {
            "NetworkMode": sandbox,
            "IpcMode": HOST if pod.host_ipc else sandbox,
            "PidMode": _process_namespace(pod, sandbox),
            "GroupAdd": _groups(pod.security_context),
            **_privileges(context),
            **_resources(container.resources),
            **mounts.body(),
        },
    }


def _bindings(
    pod: Pod, published: Iterable[int], publish_on: str
) -> dict[str, list[dict[str, str]]]:
    """Return the port bindings of a pod: its host ports, and the published ports.

    A published port is bound to any free port of the daemon's machine.
    """
    bindings = {
        f"{number}/tcp": [{"HostIp": publish_on, "HostPort": ""}]
        for number in published
    }
    mappings = [] if pod.host_network else port_mappings(pod)
    for mapping in mappings:
        if mapping.host_port:
            port = f"{mapping.container_port}/{mapping.protocol.lower()}"
            where = {"HostIp": mapping.host_ip, "HostPort": str(mapping.host_port)}
            bindings.setdefault(port, []).append(where)
    return bindings


def _names(pod: Pod) -> dict[str, list[str]]:
    """Return the DNS options of a pod, empty for those of the daemon's machine.

    Difference: a pod's `dnsConfig` replaces the settings of the machine; the kubelet
    adds it to them.
    """
    config = pod.dns_config
    searches = list(config.searches)
    if pod.dns_policy == "None" and not searches:
        searches = [NO_SEARCH]
    options = [
        option.name if option.value is None else f"{option.name}:{option.value}"
        for option in config.options
    ]
    aliases = [
        f"{name}:{alias.ip}" for alias in pod.host_aliases for name in alias.hostnames
    ]
    asked = {
        "Dns": list(config.nameservers),
        "DnsSearch": searches,
        "DnsOptions": options,
        "ExtraHosts": aliases,
    }
    return {key: value for key, value in asked.items() if value}


def _process_namespace(pod: Pod, sandbox: str) -> str:
    if pod.host_pid:
        return HOST
    return sandbox if pod.share_process_namespace else ""


def _user(context: SecurityContext) -> str | None:
    """Return user and group, None for those of the image."""
    if context.run_as_user is None and not context.run_as_user_name:
        return None
    user = context.run_as_user_name or str(context.run_as_user)
    return user if context.run_as_group is None else f"{user}:{context.run_as_group}"


def _groups(context: PodSecurityContext) -> list[str]:
    """Return the supplemental groups of a container's user."""
    groups = [context.fs_group] if context.fs_group is not None else []
    return [str(group) for group in (*groups, *context.supplemental_groups)]


def _privileges(context: SecurityContext) -> dict[str, Any]:
    """Return the privileges of a container.

    Without a seccompProfile, Docker's default profile applies.
    """
    options = []
    if context.allow_privilege_escalation is False:
        options.append("no-new-privileges")
    if context.seccomp_profile == "Unconfined":
        options.append("seccomp=unconfined")
    return {
        "Privileged": bool(context.privileged),
        "ReadonlyRootfs": bool(context.read_only_root_filesystem),
        "CapAdd": list(context.add_capabilities),
        "CapDrop": list(context.drop_capabilities),
        "SecurityOpt": options,
    }


def _resources(resources: Resources) -> dict[str, int]:
    """Return limits and weights in Docker's units.

    Source: kuberuntime_container_linux.go, v1.32.10,
    calculateLinuxResources.
    """
    limits = resources.limits
    weight = resources.requests.get("cpu", limits.get("cpu", Decimal()))
    asked = {"CpuShares": max(MIN_CPU_SHARES, int(weight * SHARES_PER_CPU))}
    if cpu := limits.get("cpu"):
        asked["NanoCpus"] = int(cpu * NANOS_PER_CPU)
    if memory := limits.get("memory"):
        # MemorySwap is memory plus swap: no swap.
        asked |= {"Memory": int(memory), "MemorySwap": int(memory)}
    return asked
