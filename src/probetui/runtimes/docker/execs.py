"""Commands in containers that others run: told from our own by the IDs of execs."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from typing import Any

from probetui.errors import ContainerRuntimeError
from probetui.ports import StartedExec
from probetui.runtimes.docker.client import Client
from probetui.runtimes.docker.translate import to_container_id

STARTED = "exec_start"
"""A word before the command; without a colon Docker takes it for all commands."""

REMEMBERED = 4096
"""As many execs of ours may be begun before the event of the first one comes."""


class OwnExecs:
    """The IDs of execs that we are about to start.

    An ID is known before its exec is started, and so before anybody can hear of that.
    It is written from the threads that make the calls and read by the event loop, each
    in one step of a dictionary, which needs no lock.
    """

    def __init__(self) -> None:
        self._ids: dict[str, None] = {}

    def add(self, exec_id: str) -> None:
        """Take note of an exec that will be started now."""
        self._ids[exec_id] = None
        while len(self._ids) > REMEMBERED:
            self._ids.pop(next(iter(self._ids)), None)

    def take(self, exec_id: str) -> bool:
        """Tell whether an exec that was started is ours; it is started only once."""
        return self._ids.pop(exec_id, self) is None


async def execs_of_others(
    client: Client, own: OwnExecs, filters: Mapping[str, list[str]]
) -> AsyncGenerator[StartedExec]:
    """Yield each command that somebody else starts; raises when the stream breaks.

    Docker's own health checks are among them. An engine that names no execs tells of
    none, as they might be ours. `filters` chooses the containers.
    """
    wanted = {**filters, "type": ["container"], "event": [STARTED]}
    events = client.follow(lambda api: api.events(filters=wanted, decode=True))
    async with aclosing(events):
        async for event in events:
            exec_id = event["Actor"]["Attributes"].get("execID")
            if exec_id and not own.take(exec_id):
                yield started_exec(event)
    raise ContainerRuntimeError("the event stream broke off", unreachable=True)


def started_exec(event: Mapping[str, Any]) -> StartedExec:
    """Return what an event tells: `exec_start: sh -c date`."""
    command = str(event["Action"]).partition(":")[2].strip()
    return StartedExec(to_container_id(event["Actor"]["ID"]), command)
