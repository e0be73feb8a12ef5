"""Which dead instances of a container can go.

Source: pod_container_deletor.go, v1.32.10, getContainersToDeleteInPod.
"""

from __future__ import annotations

from probetui.k8s.runtime import RuntimeContainerStatus, RuntimePodStatus, RuntimeState


def surplus_instances(
    status: RuntimePodStatus, name: str, kept: int
) -> tuple[RuntimeContainerStatus, ...]:
    """Return the exited instances of a container but the newest `kept`."""
    exited = [
        each
        for each in status.containers
        if each.name == name and each.state is RuntimeState.EXITED
    ]
    return tuple(exited[kept:])
