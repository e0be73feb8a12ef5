"""What Docker is asked to make: the bodies of requests, without I/O."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Any

import probetui
from probetui.k8s.pod import Pod, Resources
from probetui.k8s.security import PodSecurityContext, SecurityContext
from probetui.kubelet.effects import CreateContainer
from probetui.kubelet.labels import (
    docker_container_labels,
    docker_sandbox_labels,
    port_mappings,
)
from probetui.runtimes.docker.mounts import NO_MOUNTS, Mounts
from probetui.runtimes.docker.translate import (
    ATTEMPT,
    HOST,
    IMAGE,
    OWNER,
    VERSION,
)

MAX_HOSTNAME = 63

NO_SEARCH = "."
"""The search domain that stands for none at all."""

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
    mounts: Mounts = NO_MOUNTS,
) -> dict[str, Any]:
    """Return the body that creates a pod's sandbox.

    Args:
        pod: the pod.
        attempt: how many sandboxes it had before.
        image: what the sandbox runs.
        command: what it runs, empty for what the image says.
        owner: the value of our own label.
        published: ports of the pod that must be reachable from outside.
        publish_on: the address they are reachable on.
        mounts: what it holds on to for its containers.
    """
    bindings = _bindings(pod, published, publish_on)
    labels = {
        **docker_sandbox_labels(pod),
        **_own_labels(owner),
        ATTEMPT: str(attempt),
        IMAGE: image,
    }
    request: dict[str, Any] = {
        "Image": image,
        "Hostname": None if pod.host_network else hostname(pod),
        "Labels": labels,
        "ExposedPorts": {port: {} for port in bindings},
        # There is nothing in a sandbox that could be said goodbye to.
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


def share_name(request: dict[str, Any], sandbox_id: str) -> None:
    """Let a container have its sandbox's host name where that has to be said."""
    request["HostConfig"]["UTSMode"] = f"container:{sandbox_id}"


def container_request(
    operation: CreateContainer, owner: str, mounts: Mounts = NO_MOUNTS
) -> dict[str, Any]:
    """Return the body that creates a container in its sandbox.

    As in Kubernetes, `command` stands in for the image's entrypoint, `args` for its
    command, and a `command` alone drops both. A health check of the image's would be
    a second kubelet.
    """
    pod, container = operation.pod, operation.container
    sandbox = f"container:{operation.sandbox_id}"
    context = container.security_context
    labels = {
        **docker_container_labels(
            pod, container, operation.attempt, operation.sandbox_id
        ),
        **_own_labels(owner),
        IMAGE: container.image,
    }
    return {
        "Image": operation.image_id or container.image,
        "Entrypoint": list(container.command) or None,
        "Cmd": list(container.args) or None,
        "Env": [f"{each.name}={each.value}" for each in container.env],
        "WorkingDir": container.working_dir or None,
        "User": _user(context),
        "Labels": labels,
        "Tty": container.tty,
        "OpenStdin": container.stdin,
        "StdinOnce": container.stdin_once,
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


def hostname(pod: Pod) -> str:
    """Return a pod's host name, cut to what Linux takes.

    Source: kubelet/util/util.go, v1.32.10, truncatePodHostnameIfNeeded.
    """
    return (pod.hostname or pod.name)[:MAX_HOSTNAME].rstrip("-.")


def _bindings(
    pod: Pod, published: Iterable[int], publish_on: str
) -> dict[str, list[dict[str, str]]]:
    """Return which ports of the pod are to be found where on the daemon's machine.

    Those are ports of the machine that containers ask for, and any port for those that
    must be reachable from outside.
    """
    bindings = {
        f"{number}/tcp": [{"HostIp": publish_on, "HostPort": ""}]
        for number in published
    }
    mappings = [] if pod.host_network else port_mappings(pod)
    for each in mappings:
        if each.host_port:
            port = f"{each.container_port}/{each.protocol.lower()}"
            where = {"HostIp": each.host_ip, "HostPort": str(each.host_port)}
            bindings.setdefault(port, []).append(where)
    return bindings


def _names(pod: Pod) -> dict[str, list[str]]:
    """Return how names are resolved; nothing for how the daemon's machine does it.

    Difference: what a pod has beside the policies of a cluster takes the place of what
    the machine has, to which the kubelet adds it.
    """
    config = pod.dns_config
    searches = list(config.searches)
    if pod.dns_policy == "None" and not searches:
        searches = [NO_SEARCH]
    options = [
        each.name if each.value is None else f"{each.name}:{each.value}"
        for each in config.options
    ]
    aliases = [
        f"{name}:{each.ip}" for each in pod.host_aliases for name in each.hostnames
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
    """Return the groups that a container's user is in beside its own."""
    groups = [context.fs_group] if context.fs_group is not None else []
    return [str(each) for each in (*groups, *context.supplemental_groups)]


def _privileges(context: SecurityContext) -> dict[str, Any]:
    """Return what a container may do.

    Where nothing is said of system calls, Docker's own profile holds.
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


def _own_labels(owner: str) -> dict[str, str]:
    return {OWNER: owner, VERSION: probetui.__version__}


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
        # As much swap as memory means none beside it.
        asked |= {"Memory": int(memory), "MemorySwap": int(memory)}
    return asked
