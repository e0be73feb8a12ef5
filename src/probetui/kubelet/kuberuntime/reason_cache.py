"""The reason cache: why each container's last start failed.

Source: kubelet/reason_cache.go, v1.32.10.
"""

from __future__ import annotations

from msgspec import Struct

from probetui.kubelet.runtime.lru_cache import LRUCache

MAX_REASONS = 1000


class StartFailure(Struct, frozen=True):
    """Why a container could not be started."""

    reason: str
    message: str


class ReasonCache:
    """The last start failure of each container; owned by the engine.

    The number of entries is limited; the least recently used one is evicted.
    """

    __slots__ = ("_failures",)

    def __init__(self, limit: int = MAX_REASONS) -> None:
        self._failures: LRUCache[tuple[str, str], StartFailure] = LRUCache(limit)

    def get(self, pod_uid: str, container_name: str) -> StartFailure | None:
        """Return why the last start failed, None if it did not."""
        return self._failures.get((pod_uid, container_name))

    def set(self, pod_uid: str, container_name: str, failure: StartFailure) -> None:
        """Record a failed start."""
        self._failures.set((pod_uid, container_name), failure)

    def remove(self, pod_uid: str, container_name: str) -> None:
        """Remove the entry of a container that was started."""
        self._failures.remove((pod_uid, container_name))
