"""What a CRI runtime does otherwise than in a cluster, field by field; pure."""

from __future__ import annotations

from collections.abc import Iterator

from probetui.k8s.pod import Pod
from probetui.k8s.volume import MEMORY, EmptyDir
from probetui.ports import Shortcoming


def shortcomings(pod: Pod) -> Iterator[Shortcoming]:
    """Yield the fields of a pod that are not carried out as in a cluster."""
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
