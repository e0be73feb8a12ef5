"""Published ports: how a pod is reached whose address is not reachable."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from ipaddress import ip_address
from types import MappingProxyType
from typing import Any, Literal
from urllib.parse import urlsplit

from msgspec import Struct

from probetui.k8s.pod import Pod
from probetui.runtimes.docker.translate import JSON_LOG, InspectedContainer
from probetui.runtimes.probed_ports import probed_ports

LOOPBACK = "127.0.0.1"
ANY_ADDRESS = "0.0.0.0"

DOCKER, PODMAN = "Docker", "Podman"

NO_VERSION: Mapping[str, Any] = MappingProxyType({})

ReachMode = Literal["auto", "direct", "published"]


class DockerDaemon(Struct, frozen=True):
    """A daemon that answered.

    Attributes:
        url: its endpoint.
        operating_system: the name of its machine's operating system.
        kernel: the release of its machine's kernel.
        is_rootless: it runs without root.
        engine: Docker or Podman, which has Docker's API, too.
        engine_id: its ID, empty if that does not stay the same.
        log_driver: what keeps the logs of containers that ask for nothing else.
    """

    url: str
    operating_system: str
    kernel: str
    is_rootless: bool
    engine: str = DOCKER
    engine_id: str = ""
    log_driver: str = ""

    @classmethod
    def of(
        cls,
        url: str,
        info: Mapping[str, Any],
        version: Mapping[str, Any] = NO_VERSION,
    ) -> DockerDaemon:
        """Parse Docker's `/info` and `/version`."""
        options = info.get("SecurityOptions") or ()
        engine = engine_of(version)
        return cls(
            url,
            info.get("OperatingSystem", ""),
            info.get("KernelVersion", ""),
            any("name=rootless" in option.split(",") for option in options),
            engine,
            # Podman's is another one in each response.
            str(info.get("ID") or "") if engine == DOCKER else "",
            str(info.get("LoggingDriver") or ""),
        )

    @property
    def shares_hostnames(self) -> bool:
        """Whether a container that joins a network namespace gets its host name."""
        return self.engine != PODMAN

    @property
    def starts_joined_containers(self) -> bool:
        """Whether starting a container starts the one whose network it joins."""
        return self.engine == PODMAN

    @property
    def keeps_exec_pids(self) -> bool:
        """Whether the PID of an exec is still known when it has ended."""
        return self.engine != PODMAN

    @property
    def keeps_logs_without_limit(self) -> bool:
        """Whether a log grows until its container is removed, unless limited.

        Others are not limited: each has options of its own, and rotates its logs, or
        gives them to something that does.
        """
        return self.log_driver == JSON_LOG

    @property
    def host(self) -> str:
        """The host in the endpoint, empty for a unix socket."""
        parts = urlsplit(self.url)
        return "" if "unix" in parts.scheme else parts.hostname or ""

    @property
    def socket(self) -> str:
        """The path of the endpoint's unix socket, empty for another endpoint."""
        return "" if self.host else urlsplit(self.url).path

    @property
    def is_on_this_kernel(self) -> bool:
        """Whether its containers are processes of this system."""
        return (
            not self.host
            and sys.platform == "linux"
            and self.operating_system != "Docker Desktop"
            and self.kernel == os.uname().release
        )


def engine_of(version: Mapping[str, Any]) -> str:
    """Return the engine that a daemon names in Docker's `/version`."""
    names = [part.get("Name", "") for part in version.get("Components") or ()]
    return PODMAN if any(name.startswith(PODMAN) for name in names) else DOCKER


class PortPublishing(Struct, frozen=True):
    """The address that ports are published on, and the one to dial."""

    publish_on: str
    dial: str


def choose_publishing(
    daemon: DockerDaemon, mode: ReachMode = "auto"
) -> PortPublishing | None:
    """Return how ports are published; None if pods' addresses are reachable."""
    if mode == "direct":
        return None
    if mode == "auto" and daemon.is_on_this_kernel and not daemon.is_rootless:
        return None
    if not daemon.host or _is_loopback(daemon.host):
        return PortPublishing(LOOPBACK, LOOPBACK)
    return PortPublishing(ANY_ADDRESS, daemon.host)


class PublishedPorts:
    """Maps the address and port of a pod to the ones to dial.

    Args:
        publishing: how ports are published; None if they are not.
    """

    def __init__(self, publishing: PortPublishing | None) -> None:
        self._publishing = publishing
        self._targets: dict[tuple[str, int], int] = {}

    @property
    def publish_on(self) -> str:
        """The address that sandboxes publish their ports on, empty for none."""
        return self._publishing.publish_on if self._publishing else ""

    def needed_ports(self, pod: Pod) -> tuple[int, ...]:
        """Return the ports that the sandbox of a pod must publish."""
        return probed_ports(pod) if self._publishing and not pod.host_network else ()

    def update(self, everything: Iterable[InspectedContainer]) -> None:
        """Replace the published ports by those of the ready sandboxes."""
        self._targets = dict(_targets(everything))

    def add(self, sandbox: InspectedContainer) -> None:
        """Add the published ports of a sandbox."""
        self._targets |= _targets([sandbox])

    def dial_address(self, pod_ip: str, port: int) -> tuple[str, int]:
        """Return the address and port to connect to instead of `pod_ip:port`."""
        published = self._targets.get((pod_ip, port))
        if self._publishing is None or published is None:
            return pod_ip, port
        return self._publishing.dial, published

    def __str__(self) -> str:
        if self._publishing is None:
            return "pods are reached at their own addresses"
        return f"ports of pods are published, and reached at {self._publishing.dial}"


def _targets(
    everything: Iterable[InspectedContainer],
) -> Iterator[tuple[tuple[str, int], int]]:
    for seen in everything:
        if seen.sandbox and seen.sandbox.ip:
            for port, published in seen.published.items():
                yield (seen.sandbox.ip, port), published


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
