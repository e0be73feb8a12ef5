"""Routes: the address to dial for a host and port, as not every pod IP is reachable."""

from __future__ import annotations

from collections.abc import Callable

from probetui.ports import Destination, DialAddress

Route = Callable[[str, int], Destination]
"""Maps a host and port to where to connect."""


def direct_route(host: str, port: int) -> tuple[str, int]:
    """Return the host and port themselves."""
    return host, port


class PodRoute:
    """A route that replaces a pod's IP by a reachable address."""

    def __init__(self, pod_ip: str, dial_address: DialAddress | None) -> None:
        self._pod_ip = pod_ip
        self._dial_address = dial_address if pod_ip else None
        self.has_forwarded = False
        """Whether it has led through a port-forward."""

    def __call__(self, host: str, port: int) -> Destination:
        """Return the address to dial."""
        if self._dial_address is None or host != self._pod_ip:
            return host, port
        where = self._dial_address.dial_address(host, port)
        self.has_forwarded = not isinstance(where, tuple)
        return where
