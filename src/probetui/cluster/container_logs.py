"""Container logs, read from the API server of a cluster."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from datetime import datetime
from typing import NamedTuple

from probetui.cluster.client import ApiClient
from probetui.cluster.errors import ClusterError
from probetui.errors import ContainerRuntimeError
from probetui.k8s.runtime import ContainerID, LogLine


class LoggedInstance(NamedTuple):
    """A container instance: the current one, or the one before it."""

    namespace: str
    pod: str
    container: str
    is_previous: bool


class ClusterLogs:
    """The logs of a cluster's containers by their IDs, as `ports.LogSource`.

    Args:
        client: the API server.
        find: returns a container instance, None if it is unknown.
    """

    def __init__(
        self,
        client: ApiClient,
        find: Callable[[ContainerID], LoggedInstance | None],
    ) -> None:
        self._client = client
        self._find = find

    async def follow_logs(
        self, container_id: ContainerID, *, tail: int, follow: bool
    ) -> AsyncGenerator[LogLine]:
        """Yield the last lines, then new ones; earlier instances have logs, too."""
        instance = self._find(container_id)
        if instance is None:
            raise ContainerRuntimeError("the API server no longer has its logs")
        ended = instance.is_previous
        params = {
            "container": instance.container,
            "tailLines": str(tail),
            "timestamps": "true",
            "follow": "true" if follow and not ended else "false",
            "previous": "true" if ended else "false",
        }
        try:
            async with aclosing(
                self._client.log_lines(instance.namespace, instance.pod, params)
            ) as lines:
                async for line in lines:
                    yield _log_line(line)
        except ClusterError as error:
            raise ContainerRuntimeError(str(error)) from error


def _log_line(line: bytes) -> LogLine:
    """Parse a line of a log, which begins with its time to the nanosecond."""
    text = line.decode("utf-8", "surrogateescape")
    stamp, separator, rest = text.partition(" ")
    try:
        at = datetime.fromisoformat(stamp) if separator else None
    except ValueError:
        at = None
    return LogLine(None, text) if at is None else LogLine(at, rest)
