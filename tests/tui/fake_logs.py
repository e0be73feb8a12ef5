"""Logs in memory; tests set the lines."""

from __future__ import annotations

from collections.abc import Callable

from probetui.drive.logs import LogState, LogTail
from probetui.k8s.runtime import ContainerID, LogLine


class FakeLogs:
    """A `drive.session.SupportsLogs`; `tails` has the returned tails, oldest first."""

    def __init__(self, **printed: list[LogLine]) -> None:
        self._printed = printed
        self.tails: list[LogTail] = []
        self.closed: list[ContainerID] = []

    def follow_logs(
        self, container_id: ContainerID, callback: Callable[[], None]
    ) -> LogTail:
        tail = LogTail(container_id, callback)
        tail.read_by(lambda: self.closed.append(container_id))
        for line in self._printed.get(short(container_id), []):
            tail.add(line)
        self.tails.append(tail)
        return tail

    @property
    def tail(self) -> LogTail:
        """The one that was opened last."""
        return self.tails[-1]

    def end(self) -> None:
        """Have the container of the last one end."""
        self.tail.finish(LogState.ENDED)


def short(container_id: ContainerID) -> str:
    """Return a container's name in these tests: `c` and its last characters."""
    return f"c{container_id[-4:]}"
