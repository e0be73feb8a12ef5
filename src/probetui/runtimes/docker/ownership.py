"""Ownership of Docker's containers, and of others with our label.

A container is ours if it is in the ledger, whatever its labels. Of the others with our
label:

- a container whose name equals the one in its labels was created by another user's
  probetui, or by one with another state folder;
- any other one has its labels from an image, and is ignored.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from probetui.errors import ContainerRuntimeError
from probetui.kubelet.kuberuntime.labels import (
    DOCKER_SANDBOX_ID,
    DOCKER_TYPE,
    DOCKER_TYPE_CONTAINER,
)
from probetui.runtimes.docker.api import DockerApi
from probetui.runtimes.docker.client import DockerClient
from probetui.runtimes.docker.errors import (
    NOT_FOUND,
    SERVER_ERROR,
    DockerStatusError,
)
from probetui.runtimes.docker.translate import NAME, OF_ANOTHER
from probetui.runtimes.lease_holder import user_and_host
from probetui.runtimes.ownership_ledger import EngineOwnership, OwnershipLedger
from probetui.runtimes.translation import MADE_BY, NONCE

_ANONYMOUS_VOLUME = re.compile(r"create ([0-9a-f]{64}): ")
"""How an error begins that comes of the anonymous volume of a new container."""

ListedContainer = Mapping[str, Any]
"""A container in Docker's list."""


class DockerOwnership(EngineOwnership):
    """Decides which containers are ours, and records every one that is created.

    Args:
        client: the connection to the daemon.
        ledger: the notes about containers.
        engine_id: identifies the daemon, empty if nothing does.
    """

    def __init__(
        self, client: DockerClient, ledger: OwnershipLedger, engine_id: str
    ) -> None:
        super().__init__(ledger, engine_id)
        self._client = client

    async def create(self, name: str, request: Mapping[str, Any]) -> str:
        """Create a container; it is ours even if this process is killed meanwhile."""
        await remove_half_made(self._client, self._ledger)
        nonce = await self._ledger.intend_durably(name, self._engine)
        labels = {
            **request["Labels"],
            NONCE: nonce,
            NAME: name,
            MADE_BY: user_and_host(),
        }
        body = _with_labels(request, labels)

        def create(api: DockerApi) -> str:
            return str(api.create_container_from_config(body, name)["Id"])

        try:
            docker_id = await self._client.call(
                create, discard=lambda made: self._ledger.made(nonce, made)
            )
        except DockerStatusError as error:
            if error.status < SERVER_ERROR:
                self._ledger.withdraw(nonce)
            elif half_made := _ANONYMOUS_VOLUME.match(str(error)):
                self._ledger.half_made[half_made[1]] = ""
            raise
        self._ledger.made(nonce, docker_id)
        return docker_id

    def is_listed_as_ours(self, listed: ListedContainer) -> bool:
        """Return whether a container in Docker's list is ours."""
        nonce = (listed["Labels"] or {}).get(NONCE, "")
        return self._ledger.owns(listed["Id"], listed_name(listed), nonce)


def _with_labels(
    request: Mapping[str, Any], labels: Mapping[str, str]
) -> dict[str, Any]:
    """Label a container and the anonymous volumes in its mounts.

    A volume that an image declares has none: it is removed with its container.
    """
    host = request.get("HostConfig", {})
    mounts = [
        mount
        if mount["Type"] != "volume" or mount.get("Source")
        else {**mount, "VolumeOptions": {"Labels": labels}}
        for mount in host.get("Mounts") or ()
    ]
    return {**request, "Labels": labels, "HostConfig": {**host, "Mounts": mounts}}


async def create_volume(
    client: DockerClient,
    ledger: OwnershipLedger,
    name: str,
    options: Mapping[str, str],
    labels: Mapping[str, str],
    proof: Callable[[str], str],
) -> str:
    """Create a volume; it is ours even if this process is killed meanwhile.

    Args:
        client: the connection to the daemon.
        ledger: the notes about volumes.
        name: the name of the volume; there is none of it yet.
        options: those of its driver.
        labels: its labels, without those of its origin.
        proof: returns the ID to note for a nonce, as a volume has none.

    Returns:
        Its nonce.
    """
    await remove_half_made(client, ledger)
    nonce = await ledger.intend_durably(name)
    all_labels = {**labels, NONCE: nonce, MADE_BY: user_and_host()}
    try:
        await client.call(
            lambda api: api.create_volume(name, "local", dict(options), all_labels)
        )
    except ContainerRuntimeError as error:
        ledger.half_made[name] = nonce
        if isinstance(error, DockerStatusError):
            await remove_half_made(client, ledger)
        raise
    ledger.made(nonce, proof(nonce))
    return nonce


async def remove_half_made(client: DockerClient, ledger: OwnershipLedger) -> None:
    """Remove the volumes that a daemon made, and answered an error.

    One that is ending loses their labels, too: its database is closed, it answers
    `create NAME: database not open`, and has the volume when it starts again (seen with
    20.10). Then only the name says whose it is: no volume had it before, or it is one
    that the daemon chose for our request.
    """
    async with ledger.tidying:
        for name, nonce in [*ledger.half_made.items()]:
            volume = await find_volume(client, name)
            labels = {} if volume is None else volume["Labels"] or {}
            is_ours = not labels or labels.get(NONCE) == nonce
            if volume is not None and is_ours:
                try:
                    await client.call(partial(_remove_volume, name=name))
                except DockerStatusError as error:
                    if error.status != NOT_FOUND:
                        continue  # it is tried again
                volume = None
            if volume is None and nonce:
                ledger.withdraw(nonce)
            del ledger.half_made[name]


def _remove_volume(api: DockerApi, name: str) -> None:
    api.remove_volume(name)


async def find_volume(client: DockerClient, name: str) -> dict[str, Any] | None:
    """Return Docker's inspection of any volume, None if there is none."""
    return await client.call_or_none(lambda api: api.inspect_volume(name))


def listed_name(listed: ListedContainer) -> str:
    """Return the name of a container in Docker's list, without links to it."""
    names = [name.removeprefix("/") for name in listed.get("Names") or ()]
    return next((name for name in names if "/" not in name), "")


def is_made_by_another(listed: ListedContainer) -> bool:
    """Return whether another probetui made a container with our label; else a copy."""
    labels: Mapping[str, str] = listed["Labels"] or {}
    name = listed_name(listed)
    has_own_name = bool(name) and labels.get(NAME) == name
    return NONCE in labels and has_own_name and _is_where_it_says(listed, labels)


def _is_where_it_says(listed: ListedContainer, labels: Mapping[str, str]) -> bool:
    """Return whether a container is in the sandbox that its labels name.

    The network mode is no label and so does not come from an image.
    """
    if labels.get(DOCKER_TYPE) != DOCKER_TYPE_CONTAINER:
        return True
    mode = (listed.get("HostConfig") or {}).get("NetworkMode", "")
    return bool(mode == f"{OF_ANOTHER}{labels.get(DOCKER_SANDBOX_ID, '')}")
