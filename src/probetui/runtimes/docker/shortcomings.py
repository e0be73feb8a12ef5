"""What Docker does otherwise than Kubernetes, field by field; pure."""

from __future__ import annotations

from collections.abc import Iterator

from probetui.k8s.pod import Pod
from probetui.k8s.volume import MEMORY, EmptyDir, HostPath
from probetui.ports import Shortcoming

_REPLACES = "takes the place of what the machine has, a cluster would add it to that"


def shortcomings(pod: Pod) -> Iterator[Shortcoming]:
    """Yield the fields of a pod that are not carried out as in a cluster."""
    yield from _names(pod)
    yield from _volumes(pod)
    for path, container in pod.containers_with_paths():
        for index, mount in enumerate(container.volume_mounts):
            volume = pod.volume(mount.name)
            is_host_path = volume is not None and isinstance(volume.source, HostPath)
            if mount.mount_propagation not in {"", "None"} and not is_host_path:
                yield Shortcoming(
                    f"{path}.volumeMounts[{index}].mountPropagation",
                    "is not carried out, Docker can do it for host paths only",
                )


def _names(pod: Pod) -> Iterator[Shortcoming]:
    if pod.dns_policy == "None":
        return
    config = pod.dns_config
    for field, values in (
        ("nameservers", config.nameservers),
        ("searches", config.searches),
        ("options", config.options),
    ):
        if values:
            yield Shortcoming(f"spec.dnsConfig.{field}", _REPLACES)


def _volumes(pod: Pod) -> Iterator[Shortcoming]:
    for index, volume in enumerate(pod.volumes):
        source = volume.source
        if not isinstance(source, EmptyDir) or source.medium == MEMORY:
            continue
        path = f"spec.volumes[{index}].emptyDir"
        if source.medium:
            yield Shortcoming(f"{path}.medium", "is not carried out, it is on disk")
        if source.size_limit is not None:
            message = "is not enforced, nobody is evicted for what is on disk"
            yield Shortcoming(f"{path}.sizeLimit", message)
