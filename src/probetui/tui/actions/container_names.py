"""Find containers by the names that the user types."""

from __future__ import annotations

from typing import NamedTuple

from probetui.presentation.container.table import object_name, pod_names
from probetui.presentation.text.cells import one_line
from probetui.tui.actions.action import ActionContext


class ContainerKey(NamedTuple):
    """One container of one pod."""

    pod_uid: str
    container_name: str


def objects(now: ActionContext) -> dict[str, ContainerKey]:
    """Return every container by its name in lists."""
    pods = now.snapshot.pods
    names = pod_names(snapshot.pod for snapshot in pods)
    keys = (
        ContainerKey(pod.pod.uid, container.container.name)
        for pod in pods
        for container in pod.containers
    )
    return {one_line(object_name(names, *key)): key for key in keys}


def probe_words(now: ActionContext, key: ContainerKey) -> list[str]:
    """Return the types of a container's probes."""
    return [
        probe.key.probe_type.lower()
        for pod in now.snapshot.pods
        if pod.pod.uid == key.pod_uid
        for container in pod.containers
        if container.container.name == key.container_name
        for probe in container.probes
    ]
