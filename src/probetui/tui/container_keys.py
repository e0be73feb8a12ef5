"""What identifies a container on the screen, whatever happens to its instances."""

from __future__ import annotations

from typing import NamedTuple


class ContainerKey(NamedTuple):
    """One container of one pod."""

    pod_uid: str
    container_name: str
