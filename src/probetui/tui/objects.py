"""Containers by the names that people type."""

from __future__ import annotations

from probetui.presentation.containers import object_name, pod_names
from probetui.presentation.text_cells import one_line
from probetui.tui.action import Circumstances
from probetui.tui.container_keys import ContainerKey


def objects(now: Circumstances) -> dict[str, ContainerKey]:
    """Return every container by the name that lists have for it."""
    pods = now.snapshot.pods
    names = pod_names(each.pod for each in pods)
    keys = (
        ContainerKey(pod.pod.uid, container.container.name)
        for pod in pods
        for container in pod.containers
    )
    return {one_line(object_name(names, *each)): each for each in keys}


def probe_words(now: Circumstances, key: ContainerKey) -> list[str]:
    """Return the kinds of probes that a container has."""
    return [
        probe.key.probe_type.lower()
        for pod in now.snapshot.pods
        if pod.pod.uid == key.pod_uid
        for container in pod.containers
        if container.container.name == key.container_name
        for probe in container.probes
    ]
