"""What a container runtime says of its containers, the kubelet's `kubecontainer`."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import NewType

ContainerID = NewType("ContainerID", str)
"""`<runtime>://<id>`; the empty text is the empty ID."""

NO_CONTAINER = ContainerID("")


def parse_container_id(text: str) -> ContainerID:
    """Read a container ID; what is not `<runtime>://<id>` is the empty ID.

    Source: kubelet/container/runtime.go, v1.32.10, ParseContainerID.
    """
    parts = text.strip('"').split("://")
    if len(parts) != 2:  # noqa: PLR2004  # runtime and id, no more
        return NO_CONTAINER
    if not any(parts):
        return NO_CONTAINER
    return ContainerID("://".join(parts))


class RuntimeState(StrEnum):
    """A container's state as the CRI names it."""

    CREATED = "created"
    RUNNING = "running"
    EXITED = "exited"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class RuntimeContainerStatus:
    """One container instance, dead or alive.

    `restart_count` and `hash` come from the labels it was created with. `signal`
    and `oom_killed` are known to some runtimes only.
    """

    container_id: ContainerID
    name: str
    state: RuntimeState
    created_at: datetime | None = None
    started_at: datetime | None = None
    finished_at: datetime | None = None
    exit_code: int = 0
    reason: str = ""
    message: str = ""
    image: str = ""
    image_ref: str = ""
    restart_count: int = 0
    hash: int = 0
    oom_killed: bool = False
    image_id: str = ""


@dataclass(frozen=True, slots=True)
class SandboxStatus:
    """One pod sandbox, dead or alive.

    `ip` is None where the runtime gave no network information at all, and empty
    where it gave some without an address.
    """

    sandbox_id: str
    is_ready: bool
    attempt: int = 0
    created_at: datetime | None = None
    host_network: bool = False
    ip: str | None = None


@dataclass(frozen=True, slots=True)
class RuntimePodStatus:
    """All sandboxes and containers of one pod, each newest first.

    `ips` are those of the newest sandbox, if it is ready.
    """

    pod_uid: str
    name: str = ""
    namespace: str = ""
    sandboxes: tuple[SandboxStatus, ...] = ()
    containers: tuple[RuntimeContainerStatus, ...] = ()
    ips: tuple[str, ...] = ()
    seen_at: datetime | None = None

    def newest(self, name: str) -> RuntimeContainerStatus | None:
        """Return the newest instance of a container, or None."""
        for each in self.containers:
            if each.name == name:
                return each
        return None
