"""A limit on the memory of the objects that a server sends."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from probetui.cluster.bounded_responses import count_marks
from probetui.cluster.client import Object

LARGEST_SUM = 128 * 2**20
"""About 4,000 pods of 5 KiB; bytes, as `_memory` estimates them."""

_BYTES_OF_A_VALUE = 64


class ObjectBudget:
    """Tracks the memory of stored objects by their UIDs."""

    def __init__(self) -> None:
        self._sizes: dict[str, int] = {}
        self._sum = 0

    def admit(self, uid: str, json: Object) -> bool:
        """Return whether there is room for an object, or its new version."""
        size = _memory(json)
        total = self._sum - self._sizes.get(uid, 0) + size
        if total > LARGEST_SUM:
            return False
        self._sizes[uid], self._sum = size, total
        return True

    def release(self, uid: str) -> None:
        """Release the memory of an object."""
        self._sum -= self._sizes.pop(uid, 0)

    def release_others(self, uids: Iterable[str]) -> None:
        """Release the memory of all other objects."""
        for uid in self._sizes.keys() - set(uids):
            self.release(uid)


def _memory(json: Object) -> int:
    """Estimate the memory of an object without its managedFields."""
    metadata = json.get("metadata")
    if isinstance(metadata, dict) and "managedFields" in metadata:
        json = {**json, "metadata": {**metadata, "managedFields": None}}
    data = msgspec.json.encode(json)
    return len(data) + count_marks(data) * _BYTES_OF_A_VALUE
