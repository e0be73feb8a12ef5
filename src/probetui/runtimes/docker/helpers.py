"""Containers that are made to look into volumes and paths, and never run."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from probetui.k8s.pod import Pod
from probetui.kubelet.labels import POD_NAME, POD_NAMESPACE, POD_UID
from probetui.runtimes.docker.client import Client
from probetui.runtimes.docker.faults import NOT_FOUND, RefusedError
from probetui.runtimes.docker.images import SandboxImage
from probetui.runtimes.docker.mounts import VOLUME, Mounts
from probetui.runtimes.docker.ownership import DockerOwnership

HELPER = "dev.probetui.helper"
"""The label, with our owner, of what is no sandbox and no container of a pod."""


class Helper:
    """One container that does not run; files get in and out of it all the same."""

    def __init__(self, client: Client, docker_id: str) -> None:
        self._client = client
        self._docker_id = docker_id

    async def put(self, archive: bytes, folder: str = "/") -> None:
        """Unpack an archive in a folder."""
        await self._client.call(
            lambda api: api.put_archive(self._docker_id, folder, archive)
        )

    async def stat(self, path: str) -> dict[str, Any] | None:
        """Return what Docker says of a file or a link, None if there is none."""
        return await self._client.call(lambda api: api.path_stat(self._docker_id, path))

    async def mode(self, path: str) -> int | None:
        """Return the mode of a file as Go has it, None if there is none."""
        found = await self.stat(path)
        return None if found is None else int(found["mode"])


class Helpers:
    """Makes helpers.

    Args:
        client: the connection to the daemon.
        sandbox_image: what they are made of, since it is here.
        owner: the value of our own label.
        ownership: has noted what is made, and says what is ours.
    """

    def __init__(
        self,
        client: Client,
        sandbox_image: SandboxImage,
        owner: str,
        ownership: DockerOwnership,
    ) -> None:
        self._client = client
        self._sandbox_image = sandbox_image
        self._owner = owner
        self._ownership = ownership

    @asynccontextmanager
    async def helper(
        self, pod: Pod, volume_name: str, mounts: Mounts
    ) -> AsyncIterator[Helper]:
        """Have a helper with some mounts for as long as the block lasts."""
        choice = await self._sandbox_image.choose()
        request = {
            "Image": choice.image,
            # It need not exist: nothing is ever started.
            "Entrypoint": ["helper"],
            "Labels": self._labels(pod, volume_name),
            "NetworkDisabled": True,
            "HostConfig": {"NetworkMode": "none", **mounts.body()},
        }
        # One that nobody waits for any more goes with its volume.
        name = f"{self._owner}_helper_{secrets.token_hex(6)}"
        docker_id = await self._ownership.create(name, request)
        try:
            yield Helper(self._client, docker_id)
        finally:
            await self._remove(docker_id)

    async def left(self) -> list[Mapping[str, str]]:
        """Return the labels of all helpers of ours."""
        listed = await self._list({HELPER: self._owner})
        return [each["Labels"] for each in listed]

    async def remove_left(self, pod_uid: str, volume_name: str) -> None:
        """Remove what an earlier run left of a volume's helpers."""
        wanted = {HELPER: self._owner, POD_UID: pod_uid, VOLUME: volume_name}
        for each in await self._list(wanted):
            await self._remove(each["Id"])

    def _labels(self, pod: Pod, volume_name: str) -> dict[str, str]:
        return {
            HELPER: self._owner,
            VOLUME: volume_name,
            POD_NAME: pod.name,
            POD_NAMESPACE: pod.namespace,
            POD_UID: pod.uid,
        }

    async def _list(self, labels: Mapping[str, str]) -> list[dict[str, Any]]:
        filters = {"label": [f"{key}={value}" for key, value in labels.items()]}
        found: list[dict[str, Any]] = await self._client.call(
            lambda api: api.containers(all=True, filters=filters)
        )
        return [each for each in found if self._ownership.is_listed_as_ours(each)]

    async def _remove(self, docker_id: str) -> None:
        try:
            await self._client.call_long(
                lambda api: api.remove_container(docker_id, v=True, force=True)
            )
        except RefusedError as error:
            if error.status != NOT_FOUND:
                raise
        self._ownership.forget(docker_id)
