"""Findings about host access: what a manifest lets a pod do to its machine."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Mapping
from types import MappingProxyType

from probetui.analysis.findings import Finding
from probetui.k8s.pod import Container, Pod
from probetui.k8s.volume import HostPath
from probetui.manifest.problem import quote_short

_CAPABILITIES: Mapping[str, str] = MappingProxyType({
    "ALL": "every capability: all that root may do on this machine",
    "BPF": "loads programs into this machine's kernel",
    "CHECKPOINT_RESTORE": "changes processes as they are restored",
    "DAC_READ_SEARCH": "opens any file of this machine regardless of permissions",
    "LINUX_IMMUTABLE": "changes files that are marked immutable",
    "MAC_ADMIN": "changes the mandatory access control of this machine",
    "MAC_OVERRIDE": "overrides the mandatory access control of this machine",
    "MKNOD": "makes device files",
    "NET_ADMIN": "changes interfaces, routes and firewalls of its network",
    "NET_RAW": "forges packets in its network",
    "PERFMON": "observes the whole machine",
    "SYSLOG": "reads this machine's kernel log",
    "SYS_ADMIN": "mounts, changes name spaces: nearly all that root may do",
    "SYS_BOOT": "reboots this machine, and loads another kernel",
    "SYS_MODULE": "loads modules into this machine's kernel",
    "SYS_PTRACE": "reads and changes the memory of processes that it sees",
    "SYS_RAWIO": "reads and writes this machine's memory and devices",
    "SYS_RESOURCE": "exceeds limits and quotas of this machine",
    "SYS_TIME": "sets this machine's clock",
})  # fmt: skip
"""The capabilities whose effects leave the container, with those effects."""

_SYSTEM_FOLDERS = (
    "/bin", "/boot", "/dev", "/etc", "/lib", "/lib32", "/lib64", "/private/etc",
    "/private/var", "/proc", "/root", "/run", "/sbin", "/sys", "/usr", "/var/lib",
    "/var/log", "/var/run", "/var/spool", "/Library", "/System",
)  # fmt: skip
"""System folders; everything below them counts, too."""

_PARENT_FOLDERS = frozenset({"/", "/home", "/private", "/var", "/Users"})
"""The parents of system folders or of all home folders."""

_HOMES = ("/home/", "/Users/")
_PRIVATE_NAMES = frozenset(
    {".aws", ".azure", ".config", ".docker", ".gnupg", ".kube", ".ssh"}
)
"""Folders with keys and credentials, wherever they are."""

_SOCKETS = frozenset({
    "buildkitd.sock", "containerd.sock", "cri-dockerd.sock", "crio.sock",
    "docker.sock", "dockershim.sock", "kubelet.sock", "podman.sock",
})  # fmt: skip
_FOLDERS_OF_SOCKETS = frozenset({
    "/run", "/run/buildkit", "/run/containerd", "/run/crio", "/run/docker",
    "/run/k3s", "/run/k3s/containerd", "/run/podman", "/var/lib/kubelet",
    "/var/run", "/var/run/containerd", "/var/run/crio", "/var/run/podman",
})  # fmt: skip
_DEVICES = frozenset({"CharDevice", "BlockDevice"})
_UNCONFINED = "Unconfined"
_LOOPBACK = ("127.", "::1")


def host_access_findings(pod: Pod) -> Iterator[Finding]:
    """Yield what a pod may do to its machine: by its own fields, then by containers."""
    for field, rule, is_asked_for, message in (
        ("hostPID", "host-pid", pod.host_pid, "sees every process of this machine"),
        (
            "hostNetwork",
            "host-network",
            pod.host_network,
            "uses the network of this machine, its loopback included",
        ),
        (
            "hostIPC",
            "host-ipc",
            pod.host_ipc,
            "reads and changes shared memory of this machine's programs",
        ),
    ):
        if is_asked_for:
            yield Finding(rule, f"spec.{field}", message)
    if pod.security_context.seccomp_profile == _UNCONFINED:
        yield _unconfined_finding("spec.securityContext")
    for index, volume in enumerate(pod.volumes):
        if isinstance(volume.source, HostPath):
            path = f"spec.volumes[{index}].hostPath.path"
            yield from _folder_findings(pod, volume.name, volume.source, path)
    for path, container in pod.containers_with_paths():
        yield from _container_findings(pod, container, path)


def _container_findings(pod: Pod, container: Container, path: str) -> Iterator[Finding]:
    own, at = container.security_context, f"{path}.securityContext"
    if own.privileged:
        message = "has every device and capability: all that root may do here"
        yield Finding("host-privileged", f"{at}.privileged", message)
    for index, name in enumerate(own.add_capabilities):
        effect = _CAPABILITIES.get(name.upper().removeprefix("CAP_"))
        if effect is not None:
            field = f"{at}.capabilities.add[{index}]"
            yield Finding("host-capability", field, f"{quote_short(name)} {effect}")
    if own.seccomp_profile == _UNCONFINED:
        yield _unconfined_finding(at)
    writable = next(_writable_host_paths(pod, container), None)
    if writable is not None:
        yield from _root_write_findings(pod, container, quote_short(writable), at)
    for index, port in enumerate(container.ports):
        # With the host's network every port is a port of the machine.
        is_local = port.host_ip.startswith(_LOOPBACK)
        if port.host_port and not pod.host_network and not is_local:
            message = f"{port.host_port} is open to all who reach this machine"
            yield Finding("host-port", f"{path}.ports[{index}].hostPort", message)


def _root_write_findings(
    pod: Pod, container: Container, folder: str, path: str
) -> Iterator[Finding]:
    own, of_pod = container.security_context, pod.security_context
    if (of_pod if own.run_as_user is None else own).run_as_user == 0:
        field = f"{path if own.run_as_user == 0 else 'spec.securityContext'}.runAsUser"
        message = f"writes to {folder} as this machine's root"
        yield Finding("host-path-as-root", field, message)
    if own.allow_privilege_escalation:
        message = f"may become root, and write to {folder} as this machine's"
        yield Finding("host-path-as-root", f"{path}.allowPrivilegeEscalation", message)


def _folder_findings(
    pod: Pod, name: str, source: HostPath, path: str
) -> Iterator[Finding]:
    mounts = [
        mount
        for _, container in pod.containers_with_paths()
        for mount in container.volume_mounts
        if mount.name == name
    ]
    if not mounts:
        return
    folder = posixpath.normpath(f"/{source.path.lstrip('/')}")
    shown = quote_short(source.path)
    verb = "reads" if all(mount.read_only for mount in mounts) else "reads and changes"
    if _gives_runtime_socket(folder):
        message = f"{shown} commands the container runtime, as root, also if read-only"
        yield Finding("host-runtime-socket", path, message)
    elif source.type in _DEVICES:
        yield Finding("host-device", path, f"{verb} this machine's device {shown}")
    elif _is_system(folder):
        yield Finding("host-path-system", path, f"{verb} this machine's {shown}")


def _gives_runtime_socket(folder: str) -> bool:
    return posixpath.basename(folder) in _SOCKETS or folder in _FOLDERS_OF_SOCKETS


def _is_system(folder: str) -> bool:
    if folder in _PARENT_FOLDERS or folder in _SYSTEM_FOLDERS:
        return True
    if any(folder.startswith(f"{system}/") for system in _SYSTEM_FOLDERS):
        return True
    if any(folder.startswith(home) and folder.count("/") == 2 for home in _HOMES):  # noqa: PLR2004  # the home itself
        return True
    return not _PRIVATE_NAMES.isdisjoint(folder.split("/"))


def _writable_host_paths(pod: Pod, container: Container) -> Iterator[str]:
    for mount in container.volume_mounts:
        volume = pod.volume(mount.name)
        if (
            volume is not None
            and isinstance(volume.source, HostPath)
            and not mount.read_only
        ):
            yield volume.source.path


def _unconfined_finding(path: str) -> Finding:
    message = "is Unconfined: may make every system call of this machine's kernel"
    return Finding("host-seccomp", f"{path}.seccompProfile.type", message)
