"""Docker containers made and unmade, and never one that is not ours."""

from __future__ import annotations

import secrets
from typing import Any

from probetui.errors import ContainerRuntimeError, ImageNotFoundError
from probetui.runtimes.docker.api import Api
from probetui.runtimes.docker.client import Client
from probetui.runtimes.docker.faults import (
    CONFLICT,
    NOT_FOUND,
    SERVER_ERROR,
    RefusedError,
)
from probetui.runtimes.docker.listing import Listing
from probetui.runtimes.docker.ownership import DockerOwnership, claim_of
from probetui.runtimes.docker.translate import Seen, inside

ENDED_STATES = frozenset({"exited", "dead"})


class Containers:
    """Sandboxes and containers alike, by Docker's IDs.

    Args:
        client: the connection to the daemon.
        listing: what is known of containers; told about what changes.
        owner: the value of our own label.
        ownership: has noted what is made, and says what is ours.
    """

    def __init__(
        self, client: Client, listing: Listing, owner: str, ownership: DockerOwnership
    ) -> None:
        self._client = client
        self._listing = listing
        self._owner = owner
        self._ownership = ownership

    async def look(self, docker_id: str) -> Seen:
        """Return what a container, of whomever, is like; raises if it is gone."""
        found = await self._listing.look(docker_id)
        if found is None:
            raise ContainerRuntimeError(f"no such container: {docker_id}")
        return found

    async def look_at_ours(self, docker_id: str) -> Seen:
        """Return what a container of a pod of ours is like; raises for any other."""
        found = await self.look(docker_id)
        is_ours = self._ownership.is_ours(docker_id, found.name, found.nonce)
        if not is_ours or found.container is None:
            raise _not_ours(docker_id)
        return found

    async def check_sandbox_runs(self, docker_id: str) -> None:
        """Raise `ContainerRuntimeError` for a container in a sandbox that ended."""
        found = await self.look(docker_id)
        sandbox = (await self.look(found.sandbox_id)).sandbox
        if sandbox is None or not sandbox.is_ready:
            raise ContainerRuntimeError(f"sandbox {found.sandbox_id[:12]} is not ready")

    async def inside(self, sandbox_id: str, *, also_dead: bool) -> list[str]:
        """Return our containers in a sandbox."""
        filters = inside(sandbox_id, self._owner)
        listed = await self._client.call(
            lambda api: api.containers(all=also_dead, filters=filters)
        )
        return [
            each["Id"] for each in listed if self._ownership.is_listed_as_ours(each)
        ]

    async def create(self, name: str, request: dict[str, Any]) -> str:
        """Create a container and return its ID.

        Names are for people: one that is taken is got around if it is ours. Raises
        `ImageNotFoundError` where the image is not here.
        """
        try:
            return await self._ownership.create(name, request)
        except RefusedError as error:
            if error.status == NOT_FOUND:
                raise ImageNotFoundError(str(error)) from error
            # Podman has no status of its own for a name that is taken.
            if error.status not in {CONFLICT, SERVER_ERROR}:
                raise
            free = await self._free_name(name)
            if free is None and error.status != CONFLICT:
                raise
        # Whoever had it is gone, but there may be more who are after it.
        return await self._ownership.create(free or _with_ending(name), request)

    async def stop(self, docker_id: str, grace_period_seconds: int) -> None:
        """Stop a container of ours; one that is gone, or does not run, is fine."""
        if not await self._is_there_and_ours(docker_id):
            return
        try:
            await stop_container(self._client, docker_id, grace_period_seconds)
        finally:
            self._listing.forget(docker_id)

    async def remove(self, docker_id: str) -> None:
        """Remove a container of ours, killing it if it runs; return when it is gone."""
        if not await self._is_there_and_ours(docker_id):
            return

        def remove(api: Api) -> None:
            api.remove_container(docker_id, v=True, force=True)

        def wait_until_gone(api: Api) -> None:
            api.wait(docker_id, condition="removed", timeout=api.timeout)

        try:
            try:
                await self._client.call_long(remove)
            except RefusedError as error:
                # Somebody else is at it.
                if error.status != CONFLICT:
                    raise
                await self._client.call_long(wait_until_gone)
        except RefusedError as error:
            if error.status != NOT_FOUND:
                raise
        finally:
            self._listing.forget(docker_id)
        self._ownership.forget(docker_id)

    async def _free_name(self, name: str) -> str | None:
        """Return a name to use instead of one that is taken, None if it is not.

        A dead leftover of ours makes room. Next to what lives, or is another owner's,
        the name gets an ending, as dockershim did it.
        """
        found = await self._client.call(
            lambda api: api.containers(all=True, filters={"name": [f"^/?{name}$"]})
        )
        for each in found:
            is_ours = self._ownership.is_listed_as_ours(each)
            if not is_ours and claim_of(each) is None:
                raise ContainerRuntimeError(
                    f"the name {name} is taken by container {each['Id'][:12]}, "
                    "which probetui did not make"
                )
            if not is_ours or each["State"] not in ENDED_STATES:
                return _with_ending(name)
            await self.remove(each["Id"])
            return name
        return None

    async def _is_there_and_ours(self, docker_id: str) -> bool:
        """Tell whether there is something to act on; raises for what is not ours."""
        is_ours = await self._listing.is_ours(docker_id)
        if is_ours is False:
            raise _not_ours(docker_id)
        return bool(is_ours)


async def stop_container(
    client: Client, docker_id: str, grace_period_seconds: int
) -> None:
    """Stop a container of whomever; one that is gone, or does not run, is fine.

    One that is paused is woken for it: Docker does that by itself, Podman refuses.
    """

    def stop(api: Api) -> None:
        api.stop(docker_id, timeout=grace_period_seconds)

    try:
        try:
            await client.call_long(stop)
        except RefusedError:
            inspected = await client.call(lambda api: api.inspect_container(docker_id))
            if not inspected["State"].get("Paused"):
                raise
            await client.call(lambda api: api.unpause(docker_id))
            await client.call_long(stop)
    except RefusedError as error:
        if error.status != NOT_FOUND:
            raise


def _with_ending(name: str) -> str:
    return f"{name}_{secrets.token_hex(4)}"


def _not_ours(docker_id: str) -> ContainerRuntimeError:
    return ContainerRuntimeError(
        f"container {docker_id[:12]} was not made by probetui and is left alone"
    )
