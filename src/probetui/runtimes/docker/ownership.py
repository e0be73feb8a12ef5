"""Which of Docker's containers are ours, and which only look like it.

Ours is what is in the ledger, whatever its labels say. Of the rest with our label:

- what has the name that its own labels have was made by another user's probetui, or by
  one with another state folder;
- what has no such label, but the name that an earlier version gave, may be that one's;
- everything else has its labels from an image, and is nobody's concern here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from probetui.kubelet.labels import (
    CONTAINER_NAME,
    DOCKER_NAME_PREFIX,
    DOCKER_SANDBOX_ID,
    DOCKER_SANDBOX_NAME,
    DOCKER_TYPE,
    DOCKER_TYPE_CONTAINER,
    DOCKER_TYPE_SANDBOX,
    RESTART_COUNT,
    annotations_of_docker_labels,
)
from probetui.ports import Claim
from probetui.runtimes.docker.api import Api
from probetui.runtimes.docker.client import Client
from probetui.runtimes.docker.faults import NOT_FOUND, SERVER_ERROR, RefusedError
from probetui.runtimes.docker.translate import (
    ATTEMPT,
    MADE_BY,
    NAME,
    NONCE,
    OF_ANOTHER,
    pod_name,
)
from probetui.runtimes.lease_holder import maker
from probetui.runtimes.ownership_ledger import OwnershipLedger

Listed = Mapping[str, Any]
"""A container as Docker's list has it."""


class DockerOwnership:
    """Says what is ours, and has everything noted that is made.

    Args:
        client: the connection to the daemon.
        ledger: the notes about containers.
        engine_id: what tells the daemon from others, empty if nothing does.
    """

    def __init__(self, client: Client, ledger: OwnershipLedger, engine_id: str) -> None:
        self._client = client
        self._ledger = ledger
        self._engine_id = engine_id
        self._has_looked_back = False

    async def create(self, name: str, request: Mapping[str, Any]) -> str:
        """Create a container that is ours, also if we are killed meanwhile."""
        nonce = self._ledger.intend(name, self._engine_id)
        labels = {**request["Labels"], NONCE: nonce, NAME: name, MADE_BY: maker()}
        body = {**request, "Labels": labels}

        def create(api: Api) -> str:
            return str(api.create_container_from_config(body, name)["Id"])

        try:
            docker_id = await self._client.call(
                create, unheard=lambda made: self._ledger.made(nonce, made)
            )
        except RefusedError as error:
            if error.status < SERVER_ERROR:
                self._ledger.withdraw(nonce)
            raise
        self._ledger.made(nonce, docker_id)
        return docker_id

    def is_ours(self, docker_id: str, name: str, nonce: str) -> bool:
        """Tell whether we made a container."""
        return self._ledger.owns(docker_id, name, nonce)

    def is_listed_as_ours(self, listed: Listed) -> bool:
        """Tell the same of a container in Docker's list."""
        nonce = (listed["Labels"] or {}).get(NONCE, "")
        return self._ledger.owns(listed["Id"], listed_name(listed), nonce)

    def take_over(self, docker_id: str, name: str) -> None:
        """Have a container be ours because somebody said so."""
        self._ledger.take_over(docker_id, name, self._engine_id)

    def forget(self, docker_id: str) -> None:
        """Drop the note of a container that is gone."""
        self._ledger.forget(docker_id)

    def noted_before(self) -> frozenset[str]:
        """Return, once, what is noted of this daemon, to see what of it is gone."""
        if self._has_looked_back:
            return frozenset()
        self._has_looked_back = True
        return self._ledger.noted(self._engine_id)


async def create_volume(
    client: Client,
    ledger: OwnershipLedger,
    name: str,
    options: Mapping[str, str],
    labels: Mapping[str, str],
    proof: Callable[[str], str],
) -> str:
    """Create a volume that is ours, also if we are killed meanwhile.

    Args:
        client: the connection to the daemon.
        ledger: the notes about volumes.
        name: of the volume.
        options: of its driver.
        labels: beside those of its origin.
        proof: returns by what a volume with a nonce is noted; it has no ID.

    Returns:
        Its nonce.
    """
    nonce = ledger.intend(name)
    all_labels = {**labels, NONCE: nonce, MADE_BY: maker()}
    try:
        await client.call(
            lambda api: api.create_volume(name, "local", dict(options), all_labels)
        )
    except RefusedError:
        if await find_volume(client, name) is None:
            ledger.withdraw(nonce)
        raise
    ledger.made(nonce, proof(nonce))
    return nonce


async def find_volume(client: Client, name: str) -> dict[str, Any] | None:
    """Return what the daemon says of a volume, of whomever; None if it is not there."""
    try:
        found: dict[str, Any] = await client.call(lambda api: api.inspect_volume(name))
    except RefusedError as error:
        if error.status == NOT_FOUND:
            return None
        raise
    return found


def listed_name(listed: Listed) -> str:
    """Return the name of a container in Docker's list; links to it are no names."""
    names = [name.removeprefix("/") for name in listed.get("Names") or ()]
    return next((name for name in names if "/" not in name), "")


def claim_of(listed: Listed) -> Claim | None:
    """Return whose a container seems to be that is not ours; None for a copy."""
    labels: Mapping[str, str] = listed["Labels"] or {}
    name = listed_name(listed)
    if not _is_where_it_says(listed, labels):
        return None
    if NONCE in labels:
        return Claim.ANOTHERS if name and labels.get(NAME) == name else None
    return Claim.UNVERIFIED if _is_earlier_name(name, labels) else None


def _is_where_it_says(listed: Listed, labels: Mapping[str, str]) -> bool:
    """Tell whether a container is in the sandbox of its labels.

    That is no label, so that no image brings it along.
    """
    if labels.get(DOCKER_TYPE) != DOCKER_TYPE_CONTAINER:
        return True
    mode = (listed.get("HostConfig") or {}).get("NetworkMode", "")
    return bool(mode == f"{OF_ANOTHER}{labels.get(DOCKER_SANDBOX_ID, '')}")


def _is_earlier_name(name: str, labels: Mapping[str, str]) -> bool:
    """Tell whether a name is the one that versions without nonces gave."""
    pod = pod_name(labels)
    if labels.get(DOCKER_TYPE) == DOCKER_TYPE_SANDBOX:
        part, attempt = DOCKER_SANDBOX_NAME, labels.get(ATTEMPT, "0")
    else:
        part = labels.get(CONTAINER_NAME, "")
        attempt = annotations_of_docker_labels(labels).get(RESTART_COUNT, "")
    parts = (DOCKER_NAME_PREFIX, part, pod.name, pod.namespace, pod.uid, attempt)
    usual = "_".join(parts)
    # The name was taken: an ending of its own.
    return name == usual or name.startswith(f"{usual}_")
