"""Fields of a pod that an engine does not implement as Kubernetes does; pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from probetui.k8s.pod import NO_DNS_CONFIG, Container, Pod
from probetui.k8s.volume import MEMORY, EmptyDir, HostPath
from probetui.ports import UnsupportedField
from probetui.runtimes.process.mounts import format_home_path

USUAL_MESSAGE_PATH = "/dev/termination-log"

_ON_DISK = "is not supported: the volume is on disk"
_REPLACES = "replaces the settings of the machine, to which a cluster would add it"
_YOUR_USER = "is not supported: a process runs as your user"
_NOT_ISOLATED = "is not supported: a process is not isolated from this machine"
_NAMES = "is not supported: a process resolves names as this machine does"
_NO_TERMINAL = "is not supported: a process has no input and no terminal"
_IMAGE_SIGNAL = "is not known to older CRI runtimes: they send the image's signal"
_NOT_ENFORCED = "is not enforced for processes"


def unsupported_by_docker(pod: Pod) -> Iterator[UnsupportedField]:
    """Yield the fields that Docker does not implement."""
    if pod.dns_policy != "None":
        for field, values in (
            ("nameservers", pod.dns_config.nameservers),
            ("searches", pod.dns_config.searches),
            ("options", pod.dns_config.options),
        ):
            if values:
                yield UnsupportedField(f"spec.dnsConfig.{field}", _REPLACES)
    yield from _unlimited_disks(pod)
    for path, container in pod.containers_with_paths():
        for index, mount in enumerate(container.volume_mounts):
            volume = pod.volume(mount.name)
            is_host_path = volume is not None and isinstance(volume.source, HostPath)
            if mount.mount_propagation not in {"", "None"} and not is_host_path:
                yield UnsupportedField(
                    f"{path}.volumeMounts[{index}].mountPropagation",
                    "is not supported: Docker propagates mounts of host paths only",
                )


def unsupported_by_cri(pod: Pod) -> Iterator[UnsupportedField]:
    """Yield the fields that a CRI runtime may not implement."""
    yield from _unlimited_disks(pod)
    for path, container in pod.containers_with_paths():
        if container.stop_signal:
            field = f"{path}.lifecycle.stopSignal"
            yield UnsupportedField(field, _IMAGE_SIGNAL)


def _unlimited_disks(pod: Pod) -> Iterator[UnsupportedField]:
    """Yield the fields that no container engine implements."""
    for index, volume in enumerate(pod.volumes):
        source = volume.source
        if isinstance(source, EmptyDir) and source.medium != MEMORY:
            message = "is not enforced: no pod is evicted for what is on disk"
            yield from _empty_dir_fields(index, source, message)


def unsupported_by_processes(pod: Pod) -> Iterator[UnsupportedField]:
    """Yield the fields that plain processes do not implement."""
    yield from _process_pod_fields(pod)
    for index, volume in enumerate(pod.volumes):
        if isinstance(volume.source, EmptyDir):
            yield from _empty_dir_fields(index, volume.source, _NOT_ENFORCED)
    for path, container in pod.containers_with_paths():
        yield from _process_container_fields(container, path)


def _empty_dir_fields(
    index: int, source: EmptyDir, limit_message: str
) -> Iterator[UnsupportedField]:
    path = f"spec.volumes[{index}].emptyDir"
    if source.medium:
        yield UnsupportedField(f"{path}.medium", _ON_DISK)
    if source.size_limit is not None:
        yield UnsupportedField(f"{path}.sizeLimit", limit_message)


def _process_pod_fields(pod: Pod) -> Iterator[UnsupportedField]:
    context = pod.security_context
    yield from _list_used(
        "spec.securityContext",
        {
            "runAsUser": (context.run_as_user is not None, _YOUR_USER),
            "runAsGroup": (context.run_as_group is not None, _YOUR_USER),
            "supplementalGroups": (bool(context.supplemental_groups), _YOUR_USER),
            "fsGroup": (context.fs_group is not None, _YOUR_USER),
            "seccompProfile": (context.seccomp_profile is not None, _NOT_ISOLATED),
        },
    )
    yield from _list_used(
        "spec",
        {
            "hostname": (bool(pod.hostname), "is only available as $HOSTNAME"),
            "dnsPolicy": (pod.dns_policy == "None", _NAMES),
            "dnsConfig": (pod.dns_config != NO_DNS_CONFIG, _NAMES),
            "hostAliases": (bool(pod.host_aliases), _NAMES),
        },
    )


def _process_container_fields(
    container: Container, path: str
) -> Iterator[UnsupportedField]:
    message_path = container.termination_message_path
    yield from _list_used(
        path,
        {
            "stdin": (container.stdin, _NO_TERMINAL),
            "tty": (container.tty, _NO_TERMINAL),
            "terminationMessagePath": (
                message_path not in {"", USUAL_MESSAGE_PATH},
                f"is {format_home_path(message_path)} for a process",
            ),
            "resources.limits": (
                bool(container.resources.limits),
                _NOT_ENFORCED,
            ),
        },
    )
    yield from _process_security_fields(container, f"{path}.securityContext")
    for index, port in enumerate(container.ports):
        if port.host_port and port.host_port != port.container_port:
            yield UnsupportedField(
                f"{path}.ports[{index}].hostPort",
                "is not supported: a process listens where it chooses",
            )
    for index, mount in enumerate(container.volume_mounts):
        at = f"{path}.volumeMounts[{index}]"
        where = format_home_path(mount.mount_path)
        message = f"is {where} for a process, which has no file system of its own"
        yield UnsupportedField(f"{at}.mountPath", message)
        if mount.read_only:
            message = "is not enforced: a process can write there"
            yield UnsupportedField(f"{at}.readOnly", message)


def _process_security_fields(
    container: Container, path: str
) -> Iterator[UnsupportedField]:
    context = container.security_context
    capabilities = context.add_capabilities or context.drop_capabilities
    yield from _list_used(
        path,
        {
            "runAsUser": (context.run_as_user is not None, _YOUR_USER),
            "runAsGroup": (context.run_as_group is not None, _YOUR_USER),
            "privileged": (bool(context.privileged), _YOUR_USER),
            "capabilities": (bool(capabilities), _YOUR_USER),
            "allowPrivilegeEscalation": (
                context.allow_privilege_escalation is False,
                _YOUR_USER,
            ),
            "readOnlyRootFilesystem": (
                bool(context.read_only_root_filesystem),
                _NOT_ISOLATED,
            ),
            "seccompProfile": (context.seccomp_profile is not None, _NOT_ISOLATED),
        },
    )


def _list_used(
    path: str, fields: Mapping[str, tuple[bool, str]]
) -> Iterator[UnsupportedField]:
    """Yield those fields that are used, with their messages."""
    for field, (is_used, message) in fields.items():
        if is_used:
            yield UnsupportedField(f"{path}.{field}", message)
