"""What is there, cheaply: one list, and a look only at what may have changed."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from probetui.runtimes.daemon_clock import DaemonClock
from probetui.runtimes.docker.client import Client
from probetui.runtimes.docker.faults import NOT_FOUND, RefusedError
from probetui.runtimes.docker.ownership import DockerOwnership, Listed
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
        ownership: says which of those that have the label are ours.
    """

    def __init__(
        self,
        client: Client,
        owner: str,
        daemon_clock: DaemonClock,
        ownership: DockerOwnership,
    ) -> None:
        self._client = client
        self._daemon_clock = daemon_clock
        self._owner = owner
        self._ownership = ownership
        self._kept: dict[str, _Kept] = {}
        self._looks = asyncio.Semaphore(LOOKS_AT_ONCE)

    async def everything(self) -> list[Seen]:
        """Return all that is ours, dead or alive."""
        listed = await self._labelled()
        ours = [each for each in listed if self._ownership.is_listed_as_ours(each)]
        found = await asyncio.gather(*map(self._current, ours))
        here = {each["Id"] for each in ours}
        for docker_id in self._kept.keys() - here:
            self.forget(docker_id)
        return [each for each in found if each is not None]

    async def not_ours(self) -> list[tuple[Listed, Seen]]:
        """Return what has our label and is in no note of ours."""
        listed = [
            each
            for each in await self._labelled()
            if not self._ownership.is_listed_as_ours(each)
        ]
        looks = await asyncio.gather(*(self.look(each["Id"]) for each in listed))
        return [
            (each, found)
            for each, found in zip(listed, looks, strict=True)
            if found is not None
        ]

    async def _labelled(self) -> list[dict[str, Any]]:
        """Return the list of what has our label, whoever made it."""
        filters = owned_by(self._owner)
        noted = self._ownership.noted_before()
        listed: list[dict[str, Any]] = await self._client.call(
            lambda api: api.containers(all=True, filters=filters)
        )
        for docker_id in noted - {each["Id"] for each in listed}:
            if await self.look(docker_id) is None:
                self._ownership.forget(docker_id)
        return listed

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
        """Tell whether we made a container; None if it is gone."""
        if docker_id in self._kept:
            return True
        found = await self.look(docker_id)
        if found is None:
            self._ownership.forget(docker_id)
            return None
        return self._ownership.is_ours(docker_id, found.name, found.nonce)

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
