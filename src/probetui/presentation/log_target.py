"""Which instance of a container a log is of, or why there is none to read.

Source: kubelet/kubelet_pods.go, v1.32.10, validateContainerLogStatus.
"""

from __future__ import annotations

from typing import NamedTuple

from probetui.k8s.runtime import NO_CONTAINER, ContainerID, parse_container_id
from probetui.k8s.status import ContainerStatus, Running, Terminated, Waiting
from probetui.kubelet.snapshot import ContainerSnapshot


class LogTarget(NamedTuple):
    """An instance; without one, `problem` says in words why."""

    container_id: ContainerID = NO_CONTAINER
    problem: str = ""


def current_log(container: ContainerSnapshot) -> LogTarget:
    """Return the instance that runs, or else the one that ended last."""
    match container.status:
        case ContainerStatus(state=Running() | Terminated(), container_id=identifier):
            return LogTarget(parse_container_id(identifier))
        case ContainerStatus(last_state=Terminated(container_id=identifier)):
            return LogTarget(parse_container_id(identifier))
        case ContainerStatus(state=Waiting(reason)) if reason:
            return LogTarget(problem=f"the container is waiting to start: {reason}")
        case _:
            return LogTarget(problem="the container is waiting to start: no logs yet")


def previous_log(container: ContainerSnapshot) -> LogTarget:
    """Return the instance before the one that the status is about."""
    match container.status:
        case ContainerStatus(last_state=Terminated(container_id=identifier)) if (
            identifier
        ):
            return LogTarget(parse_container_id(identifier))
        case _:
            return LogTarget(
                problem="the container has no previous instance that ended"
            )
