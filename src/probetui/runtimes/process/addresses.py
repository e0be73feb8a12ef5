"""Addresses of pods: every pod has a loopback address of its own, where it can."""

from __future__ import annotations

import hashlib
import socket
from collections.abc import Collection
from ipaddress import IPv4Address

from probetui.errors import ContainerRuntimeError

LOCALHOST = "127.0.0.1"
NETWORKS = 254 * 256
"""127.1.0.0/24 to 127.254.255.0/24; what systems use for themselves is in 127.0."""

HOSTS = 254
FIRST = IPv4Address("127.1.0.1")


def free_address(pod_uid: str, taken: Collection[str]) -> str:
    """Return an address that no other pod has, the same one for a pod each time.

    Linux answers on all of 127.0.0.0/8. Where only 127.0.0.1 can be had, it is the
    address of every pod.
    """
    digest = hashlib.sha256(pod_uid.encode("utf-8", "surrogatepass")).digest()
    number = int.from_bytes(digest[:8], "big")
    for step in range(NETWORKS * HOSTS):
        network, host = divmod((number + step) % (NETWORKS * HOSTS), HOSTS)
        address = str(FIRST + 256 * network + host)
        if address not in taken:
            return address if is_local(address) else LOCALHOST
    raise ContainerRuntimeError("every loopback address has a pod")


def is_local(address: str) -> bool:
    """Tell whether a program on this machine can listen at an address."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        try:
            probe.bind((address, 0))
        except OSError:
            return False
    return True
