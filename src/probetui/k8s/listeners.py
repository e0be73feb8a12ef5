"""Where programs listen: what may make a connection refused."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

ANYWHERE = frozenset({"0.0.0.0", "::"})
"""To listen there is to listen at every address."""


class Endpoint(NamedTuple):
    """An address and a port: of who listens, or of what was connected to."""

    address: str
    port: int

    def __str__(self) -> str:
        """Return `address:port`, an IPv6 address in brackets."""
        if ":" in self.address:
            return f"[{self.address}]:{self.port}"
        return f"{self.address}:{self.port}"


class Extent(StrEnum):
    """What shares the network in which was looked."""

    CONTAINER = "container"
    POD = "pod"
    MACHINE = "machine"


@dataclass(frozen=True, slots=True)
class Listeners:
    """Where programs listen for TCP connections, and whose programs these are.

    `endpoints` are in order of port and address, each of them once.
    """

    endpoints: tuple[Endpoint, ...]
    extent: Extent
