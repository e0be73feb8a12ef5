"""Why containers could not be started, the last reason of each.

Source: kubelet/reason_cache.go, v1.32.10.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import NamedTuple

MAX_REASONS = 1000


class StartFailure(NamedTuple):
    """Why a container could not be started."""

    reason: str
    message: str


class ReasonCache:
    """The last start failure of each container; owned by the engine.

    Holds a limited number; the one not asked for or set the longest is forgotten.
    """

    __slots__ = ("_failures", "_limit")

    def __init__(self, limit: int = MAX_REASONS) -> None:
        self._limit = limit
        self._failures: OrderedDict[tuple[str, str], StartFailure] = OrderedDict()

    def get(self, pod_uid: str, container_name: str) -> StartFailure | None:
        """Return why the last start failed, None if it did not."""
        key = (pod_uid, container_name)
        failure = self._failures.get(key)
        if failure is not None:
            self._failures.move_to_end(key)
        return failure

    def set(self, pod_uid: str, container_name: str, failure: StartFailure) -> None:
        """Remember that a start failed."""
        key = (pod_uid, container_name)
        self._failures[key] = failure
        self._failures.move_to_end(key)
        if len(self._failures) > self._limit:
            self._failures.popitem(last=False)

    def remove(self, pod_uid: str, container_name: str) -> None:
        """Forget a container: it was started."""
        self._failures.pop((pod_uid, container_name), None)
