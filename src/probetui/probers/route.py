"""Where to connect for a host and port: pods are not always reached at their IP."""

from __future__ import annotations

from collections.abc import Callable

from probetui.ports import Destination, DialAddress

Route = Callable[[str, int], Destination]
"""Maps a host and port to where to connect."""


def direct_route(host: str, port: int) -> tuple[str, int]:
    """Connect to the host and port themselves."""
    return host, port


def pod_route(pod_ip: str, dial_address: DialAddress | None) -> Route:
    """Return the route that replaces a pod's IP by where the pod is reachable."""
    if dial_address is None or not pod_ip:
        return direct_route

    def route(host: str, port: int) -> Destination:
        if host == pod_ip:
            return dial_address.dial_address(host, port)
        return host, port

    return route
