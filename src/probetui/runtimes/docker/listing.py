"""What is there, cheaply: one list, and a look only at what may have changed."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from probetui.runtimes.daemon_clock import DaemonClock
from probetui.runtimes.docker.client import Client
from probetui.runtimes.docker.faults import NOT_FOUND, RefusedError
from probetui.runtimes.docker.translate import Seen, owned_by, seen

LOOKS_AT_ONCE = 8
"""Of the threads that calls share, as many as looking around may take."""

GOOD_FOR_SECONDS = 60
"""When to look again at what seems unchanged.

Docker's list does not show that a container was restarted by hand between two lists.
The event stream does; this is for when nobody follows it.
"""


class _Kept(NamedTuple):
    state: str
    at: float
    seen: Seen


class Listing:
    """All containers of one owner, with what the last looks showed.

    Args:
        client: the connection to the daemon.
        owner: the value of our own label.
        daemon_clock: converts the daemon's instants.
    """

    def __init__(self, client: Client, owner: str, daemon_clock: DaemonClock) -> None:
        self._client = client
        self._daemon_clock = daemon_clock
        self._owner = owner
        self._kept: dict[str, _Kept] = {}
        self._looks = asyncio.Semaphore(LOOKS_AT_ONCE)

    async def everything(self) -> list[Seen]:
        """Return all that is ours, dead or alive."""
        filters = owned_by(self._owner)
        listed: list[dict[str, Any]] = await self._client.call(
            lambda api: api.containers(all=True, filters=filters)
        )
        found = await asyncio.gather(*map(self._current, listed))
        here = {each["Id"] for each in listed}
        for docker_id in self._kept.keys() - here:
            self.forget(docker_id)
        return [each for each in found if each is not None]

    async def look(self, docker_id: str) -> Seen | None:
        """Return what a container, of whomever, is like now; None if it is gone."""
        try:
            inspected = await self._client.call(
                lambda api: api.inspect_container(docker_id)
            )
        except RefusedError as error:
            if error.status == NOT_FOUND:
                return None
            raise
        found = seen(inspected)
        sandbox, container = found.sandbox, found.container
        if sandbox is not None:
            sandbox = await self._daemon_clock.sandbox(sandbox)
        if container is not None:
            container = await self._daemon_clock.container(container)
        return replace(found, sandbox=sandbox, container=container)

    async def is_ours(self, docker_id: str) -> bool | None:
        """Tell whether a container carries our label; None if it is gone."""
        if docker_id in self._kept:
            return True
        found = await self.look(docker_id)
        return None if found is None else found.owner == self._owner

    def forget(self, docker_id: str) -> None:
        """Look at a container again next time."""
        self._kept.pop(docker_id, None)

    async def _current(self, listed: Mapping[str, Any]) -> Seen | None:
        docker_id, state = listed["Id"], listed["State"]
        now = asyncio.get_running_loop().time()
        kept = self._kept.get(docker_id)
        if kept and kept.state == state and now - kept.at < GOOD_FOR_SECONDS:
            return kept.seen
        async with self._looks:
            found = await self.look(docker_id)
        # One that could not be started is listed as created too.
        if found is not None and state != "created":
            self._kept[docker_id] = _Kept(state, now, found)
        return found
