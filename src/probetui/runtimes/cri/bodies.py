"""What a runtime is asked to make: sandboxes and containers, without I/O."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from types import MappingProxyType

import probetui
from probetui.k8s.pod import Container, Pod, Resources
from probetui.k8s.security import PodSecurityContext, SecurityContext
from probetui.kubelet.effects import CreateContainer
from probetui.kubelet.labels import (
    container_annotations,
    container_labels,
    container_log_path,
    port_mappings,
    sandbox_labels,
    sandbox_log_directory,
)
from probetui.runtimes.cri import runtime_v1_pb2 as cri
from probetui.runtimes.cri.names import NameServers
from probetui.runtimes.cri.translate import IMAGE, OWNER, VERSION

NO_LABELS: Mapping[str, str] = MappingProxyType({})

MAX_HOSTNAME = 63
MIN_CPU_SHARES = 2
SHARES_PER_CPU = 1024
CPU_PERIOD = 100_000
MIN_CPU_QUOTA = 1_000

MASKED_PATHS = (
    "/proc/asound",
    "/proc/acpi",
    "/proc/kcore",
    "/proc/keys",
    "/proc/latency_stats",
    "/proc/timer_list",
    "/proc/timer_stats",
    "/proc/sched_debug",
    "/proc/scsi",
    "/sys/firmware",
    "/sys/devices/virtual/powercap",
)
READONLY_PATHS = (
    "/proc/bus",
    "/proc/fs",
    "/proc/irq",
    "/proc/sys",
    "/proc/sysrq-trigger",
)
"""What containers may not see or change unless they are privileged.

Source: pkg/securitycontext/util.go, ConvertToRuntimeMaskedPaths.
"""

_SECCOMP = {
    "RuntimeDefault": cri.SecurityProfile.RuntimeDefault,
    "Unconfined": cri.SecurityProfile.Unconfined,
}


def sandbox_config(
    pod: Pod,
    attempt: int,
    owner: str,
    names: NameServers,
    proof: Mapping[str, str] = NO_LABELS,
) -> cri.PodSandboxConfig:
    """Return what makes a pod's sandbox.

    Source: kuberuntime/kuberuntime_sandbox.go, v1.32.10, generatePodSandboxConfig.

    Args:
        pod: the pod.
        attempt: how many sandboxes it had before.
        owner: the value of our own label.
        names: how it resolves names.
        proof: labels by which it is known as ours before it has an ID.
    """
    return cri.PodSandboxConfig(
        metadata=cri.PodSandboxMetadata(
            name=pod.name, uid=pod.uid, namespace=pod.namespace, attempt=attempt
        ),
        hostname="" if pod.host_network else hostname(pod),
        log_directory=sandbox_log_directory(pod),
        dns_config=cri.DNSConfig(
            servers=names.servers, searches=names.searches, options=names.options
        ),
        port_mappings=[] if pod.host_network else _port_mappings(pod),
        labels={**sandbox_labels(pod), **_own_labels(owner), **proof},
        annotations=pod.annotations,
        linux=cri.LinuxPodSandboxConfig(security_context=_sandbox_security(pod)),
    )


def container_config(
    operation: CreateContainer,
    owner: str,
    mounts: Sequence[cri.Mount],
    proof: Mapping[str, str] = NO_LABELS,
) -> cri.ContainerConfig:
    """Return what makes a container in its sandbox; `proof` as for the sandbox.

    Source: kuberuntime/kuberuntime_container.go, v1.32.10, generateContainerConfig.
    """
    pod, container = operation.pod, operation.container
    return cri.ContainerConfig(
        metadata=cri.ContainerMetadata(name=container.name, attempt=operation.attempt),
        image=cri.ImageSpec(
            image=operation.image_id or container.image,
            user_specified_image=container.image,
        ),
        command=container.command,
        args=container.args,
        working_dir=container.working_dir,
        envs=[cri.KeyValue(key=each.name, value=each.value) for each in container.env],
        mounts=mounts,
        labels={**container_labels(pod, container), **_own_labels(owner), **proof},
        annotations={
            **container_annotations(pod, container, operation.attempt),
            IMAGE: container.image,
        },
        log_path=container_log_path(container, operation.attempt),
        stdin=container.stdin,
        stdin_once=container.stdin_once,
        tty=container.tty,
        linux=cri.LinuxContainerConfig(
            resources=_resources(container.resources),
            security_context=_container_security(pod, container.security_context),
        ),
    )


def hostname(pod: Pod) -> str:
    """Return a pod's host name, cut to what Linux takes.

    Source: kubelet/util/util.go, v1.32.10, truncatePodHostnameIfNeeded.
    """
    return (pod.hostname or pod.name)[:MAX_HOSTNAME].rstrip("-.")


def _own_labels(owner: str) -> dict[str, str]:
    return {OWNER: owner, VERSION: probetui.__version__}


def _port_mappings(pod: Pod) -> list[cri.PortMapping]:
    return [
        cri.PortMapping(
            protocol=cri.Protocol.Value(each.protocol),
            container_port=each.container_port,
            host_port=each.host_port,
            host_ip=each.host_ip,
        )
        for each in port_mappings(pod)
    ]


def _namespaces(pod: Pod) -> cri.NamespaceOption:
    """Return which namespaces containers share.

    Source: kuberuntime/util/util.go, v1.32.10, NamespacesForPod.
    """
    pid = cri.POD if pod.share_process_namespace else cri.CONTAINER
    return cri.NamespaceOption(
        network=cri.NODE if pod.host_network else cri.POD,
        pid=cri.NODE if pod.host_pid else pid,
        ipc=cri.NODE if pod.host_ipc else cri.POD,
    )


def _sandbox_security(pod: Pod) -> cri.LinuxSandboxSecurityContext:
    """Return as whom a sandbox's own process runs.

    Source: kuberuntime/kuberuntime_sandbox.go, v1.32.10,
    generatePodSandboxLinuxConfig.
    """
    context = pod.security_context
    user, group = context.run_as_user, context.run_as_group
    return cri.LinuxSandboxSecurityContext(
        namespace_options=_namespaces(pod),
        run_as_user=_number(user),
        run_as_group=None if user is None else _number(group),
        supplemental_groups=_groups(context),
        privileged=any(_is_privileged(each) for each in pod.all_containers()),
        # The sandbox does nothing that would need more.
        seccomp=cri.SecurityProfile(profile_type=cri.SecurityProfile.RuntimeDefault),
    )


def _container_security(
    pod: Pod, context: SecurityContext
) -> cri.LinuxContainerSecurityContext:
    """Return what a container may do, and as whom.

    Where nothing is said of system calls, all are allowed, as by the kubelet.

    Source: kuberuntime/security_context.go, v1.32.10,
    determineEffectiveSecurityContext, convertToRuntimeSecurityContext.
    """
    profile = context.seccomp_profile or "Unconfined"
    user, name = context.run_as_user, context.run_as_user_name
    has_user = user is not None or bool(name)
    return cri.LinuxContainerSecurityContext(
        capabilities=cri.Capability(
            add_capabilities=context.add_capabilities,
            drop_capabilities=context.drop_capabilities,
        ),
        privileged=bool(context.privileged),
        namespace_options=_namespaces(pod),
        run_as_user=_number(user),
        run_as_username=name if user is None else "",
        run_as_group=_number(context.run_as_group) if has_user else None,
        readonly_rootfs=bool(context.read_only_root_filesystem),
        supplemental_groups=_groups(pod.security_context),
        no_new_privs=context.allow_privilege_escalation is False,
        masked_paths=MASKED_PATHS,
        readonly_paths=READONLY_PATHS,
        seccomp=cri.SecurityProfile(profile_type=_SECCOMP[profile]),
    )


def _is_privileged(container: Container) -> bool:
    return bool(container.security_context.privileged)


def _groups(context: PodSecurityContext) -> list[int]:
    """Return the groups that a container's user is in beside its own."""
    groups = [context.fs_group] if context.fs_group is not None else []
    return [*groups, *context.supplemental_groups]


def _number(value: int | None) -> cri.Int64Value | None:
    return None if value is None else cri.Int64Value(value=value)


def _resources(resources: Resources) -> cri.LinuxContainerResources:
    """Return limits and weights in the kernel's units.

    Difference: pods are in no cgroup of a node's, and who is killed first for memory
    is left to the kernel, since there is no node that would have to survive.

    Source: kuberuntime_container_linux.go, v1.32.10, calculateLinuxResources;
    kubelet/cm/helpers_linux.go, MilliCPUToQuota.
    """
    limits = resources.limits
    weight = resources.requests.get("cpu", limits.get("cpu", Decimal()))
    asked = cri.LinuxContainerResources(
        cpu_shares=max(MIN_CPU_SHARES, int(weight * SHARES_PER_CPU)),
        memory_limit_in_bytes=int(limits.get("memory", 0)),
    )
    if cpu := limits.get("cpu"):
        asked.cpu_period = CPU_PERIOD
        asked.cpu_quota = max(MIN_CPU_QUOTA, int(cpu * CPU_PERIOD))
    return asked
