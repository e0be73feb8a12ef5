"""One container's log, open as long as somebody looks at it."""

from __future__ import annotations

from collections.abc import Callable

from probetui.drive.logs import LogTail
from probetui.drive.session import LogKeeper
from probetui.k8s.runtime import ContainerID


class LogDesk:
    """Holds the tail that is read; another one takes its place.

    Args:
        keeper: hands out tails; None where nothing keeps logs.
        on_change: called when the tail has something new.
    """

    def __init__(self, keeper: LogKeeper | None, on_change: Callable[[], None]) -> None:
        self._keeper = keeper
        self._on_change = on_change
        self._tail: LogTail | None = None

    @property
    def has_logs(self) -> bool:
        """Whether there are logs at all."""
        return self._keeper is not None

    def read(self, container_id: ContainerID) -> LogTail | None:
        """Return the tail of an instance; the empty ID closes what was read."""
        if self._tail is not None and self._tail.container_id == container_id:
            return self._tail
        self.close()
        if container_id and self._keeper is not None:
            self._tail = self._keeper.follow_logs(container_id, self._on_change)
        return self._tail

    def close(self) -> None:
        """Read no more."""
        if self._tail is not None:
            self._tail.close()
        self._tail = None
