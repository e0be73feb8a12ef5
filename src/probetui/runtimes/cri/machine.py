"""This machine, on which a CRI runtime's containers run."""

from __future__ import annotations

import os
import socket

LOCALHOST = "127.0.0.1"
_ANYWHERE = ("192.0.2.1", 9)
"""An address that belongs to nobody; nothing is ever sent there."""


def address() -> str:
    """Return the address from which this machine would talk to others."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(_ANYWHERE)
        except OSError:
            return LOCALHOST
        return str(probe.getsockname()[0])


def memory_bytes() -> int:
    """Return how much memory there is, 0 where the system does not say."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError):
        return 0
