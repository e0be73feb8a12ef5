"""How a pod's ports are reached where its address is not."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from ipaddress import ip_address
from types import MappingProxyType
from typing import Any, Literal
from urllib.parse import urlsplit

from probetui.k8s.pod import Container, Pod
from probetui.k8s.probe import (
    ExecAction,
    GRPCAction,
    HTTPGetAction,
    LifecycleHandler,
    ProbeHandler,
    SleepAction,
    TCPSocketAction,
)
from probetui.runtimes.docker.translate import Seen

LOOPBACK = "127.0.0.1"
ANY_ADDRESS = "0.0.0.0"

DOCKER, PODMAN = "Docker", "Podman"

NOTHING_SAID: Mapping[str, Any] = MappingProxyType({})

ReachMode = Literal["auto", "direct", "published"]


@dataclass(frozen=True, slots=True)
class Daemon:
    """What must be known of a daemon to reach its containers.

    `url` is the endpoint it answered on, `kernel` the one it runs on. `engine` is what
    it really is: others speak Docker's API too. `engine_id` tells it from others, empty
    where it does not stay the same.
    """

    url: str
    operating_system: str
    kernel: str
    is_rootless: bool
    engine: str = DOCKER
    engine_id: str = ""

    @classmethod
    def of(
        cls,
        url: str,
        info: Mapping[str, Any],
        version: Mapping[str, Any] = NOTHING_SAID,
    ) -> Daemon:
        """Return it from what Docker's `/info` and `/version` say."""
        options = info.get("SecurityOptions") or ()
        engine = engine_of(version)
        return cls(
            url,
            info.get("OperatingSystem", ""),
            info.get("KernelVersion", ""),
            any("name=rootless" in each.split(",") for each in options),
            engine,
            # Podman makes up another one for each answer.
            str(info.get("ID") or "") if engine == DOCKER else "",
        )

    @property
    def shares_names(self) -> bool:
        """Whether who joins a network has the host name of whom it joins."""
        return self.engine != PODMAN

    @property
    def starts_what_is_joined(self) -> bool:
        """Whether who is started starts the one whose network it is in."""
        return self.engine == PODMAN

    @property
    def keeps_exec_numbers(self) -> bool:
        """Whether the process number of an exec is still known when that has ended."""
        return self.engine != PODMAN

    @property
    def host(self) -> str:
        """The name of the machine in the endpoint; empty for a local socket."""
        parts = urlsplit(self.url)
        return "" if "unix" in parts.scheme else parts.hostname or ""

    @property
    def socket(self) -> str:
        """The path of the unix socket in the endpoint; empty for another endpoint."""
        return "" if self.host else urlsplit(self.url).path

    @property
    def is_on_this_kernel(self) -> bool:
        """Whether its containers' processes are processes of this system."""
        return (
            not self.host
            and sys.platform == "linux"
            and self.operating_system != "Docker Desktop"
            and self.kernel == os.uname().release
        )


def engine_of(version: Mapping[str, Any]) -> str:
    """Return what a daemon calls itself in Docker's `/version`."""
    names = [each.get("Name", "") for each in version.get("Components") or ()]
    return PODMAN if any(each.startswith(PODMAN) for each in names) else DOCKER


@dataclass(frozen=True, slots=True)
class Publishing:
    """On which address of the daemon's machine ports appear, and how it is called."""

    publish_on: str
    dial: str


def publishing(daemon: Daemon, mode: ReachMode = "auto") -> Publishing | None:
    """Return how ports must be published; None where pods' addresses answer."""
    if mode == "direct":
        return None
    if mode == "auto" and daemon.is_on_this_kernel and not daemon.is_rootless:
        return None
    if not daemon.host or _is_loopback(daemon.host):
        return Publishing(LOOPBACK, LOOPBACK)
    return Publishing(ANY_ADDRESS, daemon.host)


class Reach:
    """Leads from a pod's address and port to where that is reached.

    Args:
        how: how ports are published; None where nothing has to be done.
    """

    def __init__(self, how: Publishing | None) -> None:
        self._how = how
        self._targets: dict[tuple[str, int], int] = {}

    @property
    def publish_on(self) -> str:
        """The address that sandboxes publish their ports on; empty for none."""
        return self._how.publish_on if self._how else ""

    def needed_ports(self, pod: Pod) -> tuple[int, ...]:
        """Return the ports of a pod that its sandbox must publish."""
        return probed_ports(pod) if self._how and not pod.host_network else ()

    def learn(self, everything: Iterable[Seen]) -> None:
        """Take over where the sandboxes that are ready publish their ports."""
        self._targets = dict(_targets(everything))

    def add(self, one: Seen) -> None:
        """Take over one sandbox more."""
        self._targets |= _targets([one])

    def dial_address(self, pod_ip: str, port: int) -> tuple[str, int]:
        """Return where to connect instead of `pod_ip:port`."""
        published = self._targets.get((pod_ip, port))
        if self._how is None or published is None:
            return pod_ip, port
        return self._how.dial, published

    def __str__(self) -> str:
        if self._how is None:
            return "pods are reached at their own addresses"
        return f"ports of pods are published, and reached at {self._how.dial}"


def probed_ports(pod: Pod) -> tuple[int, ...]:
    """Return the ports that probes and hooks without a host of their own connect to."""
    found = {
        number
        for container in pod.all_containers()
        for handler in _handlers(container)
        if (number := _port(container, handler)) is not None
    }
    return tuple(sorted(found))


def _handlers(container: Container) -> Iterator[ProbeHandler | LifecycleHandler]:
    probes = (
        container.startup_probe,
        container.liveness_probe,
        container.readiness_probe,
    )
    handlers = (
        *(probe.handler for probe in probes if probe),
        container.post_start,
        container.pre_stop,
    )
    yield from (each for each in handlers if each)


def _port(container: Container, handler: ProbeHandler | LifecycleHandler) -> int | None:
    match handler:
        case HTTPGetAction() | TCPSocketAction():
            return None if handler.host else _number(container, handler.port)
        case GRPCAction():
            return handler.port
        case ExecAction() | SleepAction():
            return None


def _number(container: Container, port: int | str) -> int | None:
    """Return a port's number; None for a name that the container does not have."""
    if isinstance(port, int):
        return port
    for each in container.ports:
        if each.name == port:
            return each.container_port
    return int(port) if port.isdecimal() else None


def _targets(everything: Iterable[Seen]) -> Iterator[tuple[tuple[str, int], int]]:
    for each in everything:
        if each.sandbox and each.sandbox.ip:
            for port, published in each.published.items():
                yield (each.sandbox.ip, port), published


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
