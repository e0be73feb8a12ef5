"""What a container runtime reports: containers, images, the node, listening sockets.

Source: kubelet/container/runtime.go, v1.32.10.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from enum import StrEnum
from functools import cached_property
from types import MappingProxyType
from typing import NamedTuple, NewType

from msgspec import Struct

from probetui.values import Instant, Kind, Value

ContainerID = NewType("ContainerID", str)
"""`<runtime>://<id>`; the empty text is the empty ID."""

NO_CONTAINER = ContainerID("")


def parse_container_id(text: str) -> ContainerID:
    """Parse a container ID; any text but `<runtime>://<id>` gives the empty ID.

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


START_ERRORS = frozenset({"StartError", "ContainerCannotRun"})
"""Reasons of runtimes for the end of a container that was never started."""


class RuntimeContainerStatus(Kind, frozen=True):
    """One container instance, dead or alive.

    `restart_count` and `hash` come from the labels it was created with. `stop_signal`
    and `oom_killed` are known to some runtimes only.
    """

    container_id: ContainerID
    name: str
    state: RuntimeState
    created_at: Instant | None = None
    started_at: Instant | None = None
    finished_at: Instant | None = None
    exit_code: int = 0
    reason: str = ""
    message: str = ""
    image: str = ""
    image_ref: str = ""
    restart_count: int = 0
    hash: int = 0
    oom_killed: bool = False
    image_id: str = ""
    stop_signal: str = ""


class SandboxStatus(Kind, frozen=True):
    """One pod sandbox, dead or alive.

    `ip` is None where the runtime gave no network information at all, and empty
    where it gave some without an address.
    """

    sandbox_id: str
    is_ready: bool
    attempt: int = 0
    created_at: Instant | None = None
    host_network: bool = False
    ip: str | None = None


class RuntimePodStatus(Value, frozen=True, dict=True):
    """All sandboxes and containers of one pod, newest first.

    `ips` are those of the newest sandbox, if it is ready.
    """

    pod_uid: str
    name: str = ""
    namespace: str = ""
    sandboxes: tuple[SandboxStatus, ...] = ()
    containers: tuple[RuntimeContainerStatus, ...] = ()
    ips: tuple[str, ...] = ()
    seen_at: Instant | None = None

    def running(self) -> tuple[RuntimeContainerStatus, ...]:
        """Return the running instances."""
        return tuple(
            container
            for container in self.containers
            if container.state is RuntimeState.RUNNING
        )

    def newest(self, name: str) -> RuntimeContainerStatus | None:
        """Return the newest instance of a container, or None."""
        return next(iter(self.instances(name)), None)

    def instances(self, name: str) -> Sequence[RuntimeContainerStatus]:
        """Return the instances of a container, newest first."""
        return self._by_name.get(name, ())

    # A pod may have thousands of containers, each of which is looked up each second.
    @cached_property
    def _by_name(self) -> Mapping[str, Sequence[RuntimeContainerStatus]]:
        containers: dict[str, list[RuntimeContainerStatus]] = {}
        for container in self.containers:
            containers.setdefault(container.name, []).append(container)
        return containers


class RuntimeCondition(Value, frozen=True):
    """A condition of the runtime as a whole: `RuntimeReady`, `NetworkReady`."""

    type: str
    status: bool
    reason: str = ""
    message: str = ""

    def __str__(self) -> str:
        """Return the condition as the kubelet prints it."""
        status = "true" if self.status else "false"
        return f"{self.type}={status} reason:{self.reason} message:{self.message}"


class StoredImage(Value, frozen=True):
    """An image on the node.

    Attributes:
        image_id: the ID of its content.
        names: its tags and digests, as the runtime writes them.
        size_bytes: its size, shared layers included.
        used_by: names of its containers, exited and unmanaged ones included.
        is_pinned: image garbage collection must keep it.
    """

    image_id: str
    names: tuple[str, ...] = ()
    size_bytes: int = 0
    used_by: tuple[str, ...] = ()
    is_pinned: bool = False


class ImageFilesystem(Struct, frozen=True):
    """The file system of the images, its capacity and what is available."""

    capacity_bytes: int
    available_bytes: int


NOTHING: Mapping[str, Decimal] = MappingProxyType({})


class Node(Value, frozen=True):
    """The node, as far as pods can ask about it.

    `ip` is the address at which pods reach it. `allocatable` is in base units by
    resource name, without the resources that are not known.
    """

    name: str = "localhost"
    ip: str = "127.0.0.1"
    allocatable: Mapping[str, Decimal] = NOTHING

    def __hash__(self) -> int:
        return hash((self.name, self.ip))


UNKNOWN_NODE = Node()
"""A node about which nothing is known."""


ANYWHERE = frozenset({"0.0.0.0", "::"})
"""Addresses that stand for every address of the network."""


class SocketAddress(NamedTuple):
    """An address and a port: of a listening socket, or of a connection's peer."""

    address: str
    port: int

    def __str__(self) -> str:
        """Return `address:port`, an IPv6 address in brackets."""
        if ":" in self.address:
            return f"[{self.address}]:{self.port}"
        return f"{self.address}:{self.port}"


class ListenerScope(StrEnum):
    """Whose network namespace was searched for listening sockets."""

    CONTAINER = "container"
    POD = "pod"
    MACHINE = "machine"


class Listeners(Value, frozen=True):
    """Listening TCP sockets, without duplicates, sorted by port and address."""

    endpoints: tuple[SocketAddress, ...]
    extent: ListenerScope


class LogLine(Value, frozen=True):
    """One line that a container printed.

    `at` is None where the runtime does not keep it. A byte that is not UTF-8 is a lone
    surrogate. `is_after_gap`: lines before it may have been lost before they were read.
    """

    at: Instant | None
    text: str
    is_stderr: bool = False
    is_after_gap: bool = False
