"""Sandboxes and containers on Docker: created, stopped and removed, only ours."""

from __future__ import annotations

import secrets
from typing import Any

from probetui.errors import ContainerRuntimeError, ImageNotFoundError
from probetui.runtimes.docker.api import DockerApi
from probetui.runtimes.docker.client import DockerClient
from probetui.runtimes.docker.errors import (
    CONFLICT,
    NOT_FOUND,
    SERVER_ERROR,
    DockerStatusError,
    ignore_status,
)
from probetui.runtimes.docker.listing import DockerListing
from probetui.runtimes.docker.ownership import DockerOwnership, is_made_by_another
from probetui.runtimes.docker.translate import InspectedContainer, inside

ENDED_STATES = frozenset({"exited", "dead"})


class DockerContainers:
    """Creates, stops and removes sandboxes and containers, by Docker's IDs.

    Args:
        client: the connection to the daemon.
        listing: caches inspections, which are dropped for containers that change.
        owner: the value of our owner label.
        ownership: records what is created, and decides what is ours.
    """

    def __init__(
        self,
        client: DockerClient,
        listing: DockerListing,
        owner: str,
        ownership: DockerOwnership,
    ) -> None:
        self._client = client
        self._listing = listing
        self._owner = owner
        self._ownership = ownership

    async def inspect(self, docker_id: str) -> InspectedContainer:
        """Return the inspection of any container; raises if it is gone."""
        container = await self._listing.inspect(docker_id)
        if container is None:
            raise ContainerRuntimeError(f"no such container: {docker_id}")
        return container

    async def inspect_ours(self, docker_id: str) -> InspectedContainer:
        """Return the inspection of a container of ours; raises for any other."""
        container = await self.inspect(docker_id)
        is_ours = self._ownership.is_ours(docker_id, container.name, container.nonce)
        if not is_ours or container.container is None:
            raise _not_ours(docker_id)
        return container

    async def check_sandbox_runs(self, docker_id: str) -> None:
        """Raise `ContainerRuntimeError` if a container's sandbox has ended."""
        inspected = await self.inspect(docker_id)
        sandbox = (await self.inspect(inspected.sandbox_id)).sandbox
        if sandbox is None or not sandbox.is_ready:
            raise ContainerRuntimeError(
                f"sandbox {inspected.sandbox_id[:12]} is not ready"
            )

    async def list_in(self, sandbox_id: str, *, also_dead: bool) -> list[str]:
        """Return our containers in a sandbox."""
        filters = inside(sandbox_id, self._owner)
        listed = await self._client.call(
            lambda api: api.containers(all=also_dead, filters=filters)
        )
        return [
            container["Id"]
            for container in listed
            if self._ownership.is_listed_as_ours(container)
        ]

    async def create(self, name: str, request: dict[str, Any]) -> str:
        """Create a container and return its ID.

        Names are for people: if the name is taken, another one is used.

        Raises:
            ImageNotFoundError: its image is not here.
            ContainerRuntimeError: a container that is not probetui's has the name.
        """
        try:
            return await self._ownership.create(name, request)
        except DockerStatusError as error:
            if error.status == NOT_FOUND:
                raise ImageNotFoundError(str(error)) from error
            # Podman has no distinct status for a name that is taken.
            if error.status not in {CONFLICT, SERVER_ERROR}:
                raise
            free = await self._free_name(name)
            if free is None and error.status != CONFLICT:
                raise
        # The name is free now, but another session may take it again.
        return await self._ownership.create(free or _with_suffix(name), request)

    async def stop(self, docker_id: str, grace_period_seconds: int) -> None:
        """Stop a container of ours, unless it is gone or does not run."""
        if not await self._is_there_and_ours(docker_id):
            return
        try:
            await stop_container(self._client, docker_id, grace_period_seconds)
        finally:
            self._listing.forget(docker_id)

    async def find_ours(self, docker_id: str) -> InspectedContainer | None:
        """Return the inspection of a container of ours, None if it is gone."""
        if not await self._is_there_and_ours(docker_id):
            return None
        return await self._listing.inspect(docker_id)

    async def remove(self, docker_id: str) -> None:
        """Kill and remove a container of ours; return when it is gone."""
        if not await self._is_there_and_ours(docker_id):
            return

        def remove(api: DockerApi) -> None:
            api.remove_container(docker_id, v=True, force=True)

        def wait_until_gone(api: DockerApi) -> None:
            api.wait(docker_id, condition="removed", timeout=api.timeout)

        try:
            with ignore_status(NOT_FOUND):
                try:
                    await self._client.call_long(remove)
                except DockerStatusError as error:
                    # Another client is removing it.
                    if error.status != CONFLICT:
                        raise
                    await self._client.call_long(wait_until_gone)
        finally:
            self._listing.forget(docker_id)
        self._ownership.forget(docker_id)

    async def _free_name(self, name: str) -> str | None:
        """Return a name to use instead of one that is taken, None if it is not.

        An ended container of ours is removed. Beside any other one the name gets a
        random suffix, as dockershim did it.
        """
        existing = await self._client.call(
            lambda api: api.containers(all=True, filters={"name": [f"^/?{name}$"]})
        )
        for other in existing:
            is_ours = self._ownership.is_listed_as_ours(other)
            if not is_ours and not is_made_by_another(other):
                raise ContainerRuntimeError(
                    f"the name {name} is taken by container {other['Id'][:12]}, "
                    "which probetui did not make"
                )
            if not is_ours or other["State"] not in ENDED_STATES:
                return _with_suffix(name)
            await self.remove(other["Id"])
            return name
        return None

    async def _is_there_and_ours(self, docker_id: str) -> bool:
        """Return whether a container exists; raises if it is not ours."""
        is_ours = await self._listing.is_ours(docker_id)
        if is_ours is False:
            raise _not_ours(docker_id)
        return bool(is_ours)


async def stop_container(
    client: DockerClient, docker_id: str, grace_period_seconds: int
) -> None:
    """Stop any container, unless it is gone or does not run.

    A paused one is unpaused first: Docker does that itself, Podman refuses.
    """

    def stop(api: DockerApi) -> None:
        api.stop(docker_id, timeout=grace_period_seconds)

    with ignore_status(NOT_FOUND):
        try:
            await client.call_long(stop)
        except DockerStatusError:
            inspected = await client.call_or_none(
                lambda api: api.inspect_container(docker_id)
            )
            if inspected is None:
                return
            if not inspected["State"].get("Paused"):
                raise
            await client.call(lambda api: api.unpause(docker_id))
            await client.call_long(stop)


def _with_suffix(name: str) -> str:
    return f"{name}_{secrets.token_hex(4)}"


def _not_ours(docker_id: str) -> ContainerRuntimeError:
    return ContainerRuntimeError(
        f"container {docker_id[:12]} was not made by probetui and is left alone"
    )
