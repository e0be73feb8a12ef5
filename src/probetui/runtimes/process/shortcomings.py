"""What plain processes cannot do that containers can, field by field; pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from probetui.k8s.pod import NO_DNS_CONFIG, Container, Pod
from probetui.k8s.volume import EmptyDir
from probetui.ports import Shortcoming
from probetui.runtimes.process.mounts import inside_home

USUAL_MESSAGE_PATH = "/dev/termination-log"

_AS_YOU = "is not carried out, a process runs as you"
_NOT_ISOLATED = "is not carried out, a process is not isolated from this machine"
_NAMES = "is not carried out, a process finds names as this machine does"
_NO_TERMINAL = "is not carried out, a process has no input and no terminal"


def shortcomings(pod: Pod) -> Iterator[Shortcoming]:
    """Yield the fields of a pod that are not carried out as in a container."""
    yield from _of_pod(pod)
    for index, volume in enumerate(pod.volumes):
        if isinstance(volume.source, EmptyDir):
            path = f"spec.volumes[{index}].emptyDir"
            if volume.source.medium:
                yield Shortcoming(f"{path}.medium", "is not carried out, it is on disk")
            if volume.source.size_limit is not None:
                yield Shortcoming(f"{path}.sizeLimit", "is not enforced by processes")
    for path, container in pod.containers_with_paths():
        yield from _of_container(container, path)


def _of_pod(pod: Pod) -> Iterator[Shortcoming]:
    context = pod.security_context
    yield from _written(
        "spec.securityContext",
        {
            "runAsUser": (context.run_as_user is not None, _AS_YOU),
            "runAsGroup": (context.run_as_group is not None, _AS_YOU),
            "supplementalGroups": (bool(context.supplemental_groups), _AS_YOU),
            "fsGroup": (context.fs_group is not None, _AS_YOU),
            "seccompProfile": (context.seccomp_profile is not None, _NOT_ISOLATED),
        },
    )
    yield from _written(
        "spec",
        {
            "hostname": (bool(pod.hostname), "is told as $HOSTNAME and no other way"),
            "dnsPolicy": (pod.dns_policy == "None", _NAMES),
            "dnsConfig": (pod.dns_config != NO_DNS_CONFIG, _NAMES),
            "hostAliases": (bool(pod.host_aliases), _NAMES),
        },
    )


def _of_container(container: Container, path: str) -> Iterator[Shortcoming]:
    message_path = container.termination_message_path
    yield from _written(
        path,
        {
            "stdin": (container.stdin, _NO_TERMINAL),
            "tty": (container.tty, _NO_TERMINAL),
            "terminationMessagePath": (
                message_path not in {"", USUAL_MESSAGE_PATH},
                f"is {inside_home(message_path)} for a process",
            ),
            "resources.limits": (
                bool(container.resources.limits),
                "is not enforced by processes",
            ),
        },
    )
    yield from _of_security(container, f"{path}.securityContext")
    for index, port in enumerate(container.ports):
        if port.host_port and port.host_port != port.container_port:
            yield Shortcoming(
                f"{path}.ports[{index}].hostPort",
                "is not carried out, a process listens where it wants to",
            )
    for index, mount in enumerate(container.volume_mounts):
        at = f"{path}.volumeMounts[{index}]"
        where = inside_home(mount.mount_path)
        message = f"is {where} for a process, which has no file system of its own"
        yield Shortcoming(f"{at}.mountPath", message)
        if mount.read_only:
            message = "is not carried out, nothing keeps a process from writing there"
            yield Shortcoming(f"{at}.readOnly", message)


def _of_security(container: Container, path: str) -> Iterator[Shortcoming]:
    context = container.security_context
    capabilities = context.add_capabilities or context.drop_capabilities
    yield from _written(
        path,
        {
            "runAsUser": (context.run_as_user is not None, _AS_YOU),
            "runAsGroup": (context.run_as_group is not None, _AS_YOU),
            "privileged": (bool(context.privileged), _AS_YOU),
            "capabilities": (bool(capabilities), _AS_YOU),
            "allowPrivilegeEscalation": (
                context.allow_privilege_escalation is False,
                _AS_YOU,
            ),
            "readOnlyRootFilesystem": (
                bool(context.read_only_root_filesystem),
                _NOT_ISOLATED,
            ),
            "seccompProfile": (context.seccomp_profile is not None, _NOT_ISOLATED),
        },
    )


def _written(
    path: str, fields: Mapping[str, tuple[bool, str]]
) -> Iterator[Shortcoming]:
    """Yield those fields that are in use, each with what becomes of it."""
    for field, (is_used, message) in fields.items():
        if is_used:
            yield Shortcoming(f"{path}.{field}", message)
