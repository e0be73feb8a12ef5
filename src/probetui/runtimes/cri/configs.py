"""`PodSandboxConfig` and `ContainerConfig` of pods, without I/O."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from types import MappingProxyType

from probetui.k8s.pod import (
    Pod,
    PodSecurityContext,
    Resources,
    SecurityContext,
)
from probetui.kubelet.effects import CreateContainer
from probetui.kubelet.kuberuntime.container_hash import hash_of_new
from probetui.kubelet.kuberuntime.labels import (
    container_annotations,
    container_labels,
    container_log_path,
    port_mappings,
    sandbox_labels,
    sandbox_log_directory,
)
from probetui.runtimes.cri import runtime_v1_pb2 as cri
from probetui.runtimes.cri.dns import ResolvConf
from probetui.runtimes.translation import IMAGE, hostname, own_labels

NO_LABELS: Mapping[str, str] = MappingProxyType({})

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
"""Paths of `/proc` and `/sys` hidden from or read-only in unprivileged containers.

Source: pkg/securitycontext/util.go, ConvertToRuntimeMaskedPaths.
"""

_PLUS, _MINUS = "PLUS", "MINUS"
"""What the signs in names of real-time signals are in the CRI."""

_SECCOMP = {
    "RuntimeDefault": cri.SecurityProfile.RuntimeDefault,
    "Unconfined": cri.SecurityProfile.Unconfined,
}


def sandbox_config(
    pod: Pod,
    attempt: int,
    owner: str,
    names: ResolvConf,
    proof: Mapping[str, str] = NO_LABELS,
) -> cri.PodSandboxConfig:
    """Return the sandbox config of a pod.

    Source: kuberuntime/kuberuntime_sandbox.go, v1.32.10, generatePodSandboxConfig.

    Args:
        pod: the pod.
        attempt: the number of sandboxes it had before.
        owner: the value of the owner label.
        names: its name resolution.
        proof: labels that identify the sandbox as ours before it has an ID.
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
        labels={**sandbox_labels(pod), **own_labels(owner), **proof},
        annotations=pod.annotations,
        linux=cri.LinuxPodSandboxConfig(security_context=_sandbox_security(pod)),
    )


def container_config(
    operation: CreateContainer,
    owner: str,
    mounts: Sequence[cri.Mount],
    proof: Mapping[str, str] = NO_LABELS,
) -> cri.ContainerConfig:
    """Return the config of a container; `proof` as for the sandbox.

    Source: kuberuntime/kuberuntime_container.go, v1.32.10, generateContainerConfig.
    """
    pod, container = operation.pod, operation.container
    signal = container.stop_signal or "RUNTIME_DEFAULT"
    return cri.ContainerConfig(
        metadata=cri.ContainerMetadata(name=container.name, attempt=operation.attempt),
        image=cri.ImageSpec(
            image=operation.image_id or container.image,
            user_specified_image=container.image,
        ),
        command=container.command,
        args=container.args,
        working_dir=container.working_dir,
        envs=[cri.KeyValue(key=var.name, value=var.value) for var in container.env],
        mounts=mounts,
        labels={**container_labels(pod, container), **own_labels(owner), **proof},
        annotations={
            **container_annotations(
                pod, container, operation.attempt, hash_of_new(operation)
            ),
            IMAGE: container.image,
        },
        log_path=container_log_path(container, operation.attempt),
        stdin=container.stdin,
        stdin_once=container.stdin_once,
        tty=container.tty,
        stop_signal=cri.Signal.Value(signal.replace("+", _PLUS).replace("-", _MINUS)),
        linux=cri.LinuxContainerConfig(
            resources=_resources(container.resources),
            security_context=_container_security(pod, container.security_context),
        ),
    )


def stop_signal_name(signal: int) -> str:
    """Return a signal as the API names it, empty for the runtime's own or a new one.

    Source: kuberuntime/util/util.go, v1.36.2.
    """
    if signal == cri.RUNTIME_DEFAULT or signal not in cri.Signal.values():
        return ""
    name: str = cri.Signal.Name(signal)
    return name.replace(_PLUS, "+").replace(_MINUS, "-")


def _port_mappings(pod: Pod) -> list[cri.PortMapping]:
    return [
        cri.PortMapping(
            protocol=cri.Protocol.Value(mapping.protocol),
            container_port=mapping.container_port,
            host_port=mapping.host_port,
            host_ip=mapping.host_ip,
        )
        for mapping in port_mappings(pod)
    ]


def namespaces(pod: Pod) -> cri.NamespaceOption:
    """Return which namespaces the containers of a pod share.

    Source: kuberuntime/util/util.go, v1.32.10, NamespacesForPod.
    """
    pid = cri.POD if pod.share_process_namespace else cri.CONTAINER
    return cri.NamespaceOption(
        network=cri.NODE if pod.host_network else cri.POD,
        pid=cri.NODE if pod.host_pid else pid,
        ipc=cri.NODE if pod.host_ipc else cri.POD,
    )


def _sandbox_security(pod: Pod) -> cri.LinuxSandboxSecurityContext:
    """Return the security context of the sandbox's own process.

    Source: kuberuntime/kuberuntime_sandbox.go, v1.32.10,
    generatePodSandboxLinuxConfig.
    """
    context = pod.security_context
    user, group = context.run_as_user, context.run_as_group
    return cri.LinuxSandboxSecurityContext(
        namespace_options=namespaces(pod),
        run_as_user=_number(user),
        run_as_group=None if user is None else _number(group),
        supplemental_groups=_groups(context),
        privileged=any(
            container.security_context.privileged for container in pod.all_containers()
        ),
        # The pause process needs no more system calls.
        seccomp=cri.SecurityProfile(profile_type=cri.SecurityProfile.RuntimeDefault),
    )


def _container_security(
    pod: Pod, context: SecurityContext
) -> cri.LinuxContainerSecurityContext:
    """Return the security context of a container.

    Without a seccomp profile every system call is allowed, as by the kubelet.

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
        namespace_options=namespaces(pod),
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


def _groups(context: PodSecurityContext) -> list[int]:
    """Return the supplemental groups of the containers of a pod."""
    groups = [context.fs_group] if context.fs_group is not None else []
    return [*groups, *context.supplemental_groups]


def _number(value: int | None) -> cri.Int64Value | None:
    return None if value is None else cri.Int64Value(value=value)


def _resources(resources: Resources) -> cri.LinuxContainerResources:
    """Return CPU shares, CPU quota and memory limit in the kernel's units.

    Difference: pods are in no cgroup of a node, and OOM scores are left to the kernel:
    no node has to survive.

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
