"""Containers that are created to access volumes and host paths, and never run."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from probetui.k8s.pod import Pod
from probetui.kubelet.kuberuntime.labels import POD_NAME, POD_NAMESPACE, POD_UID
from probetui.runtimes.docker.client import DockerClient
from probetui.runtimes.docker.errors import NOT_FOUND, ignore_status
from probetui.runtimes.docker.images import SandboxImageSelector
from probetui.runtimes.docker.mounts import VOLUME, DockerMounts
from probetui.runtimes.docker.ownership import DockerOwnership

HELPER = "dev.probetui.helper"
"""The label of helpers, whose value is our owner."""


class HelperContainer:
    """A container that does not run, to copy files from and to."""

    def __init__(self, client: DockerClient, docker_id: str) -> None:
        self._client = client
        self._docker_id = docker_id

    async def put(self, archive: bytes, folder: str = "/") -> None:
        """Extract an archive in a folder."""
        await self._client.call(
            lambda api: api.put_archive(self._docker_id, folder, archive)
        )

    async def stat(self, path: str) -> dict[str, Any] | None:
        """Return Docker's stat of a file or link, None if there is none."""
        return await self._client.call(lambda api: api.path_stat(self._docker_id, path))

    async def mode(self, path: str) -> int | None:
        """Return the mode of a file, a Go `FileMode`, None if there is none."""
        stat = await self.stat(path)
        return None if stat is None else int(stat["mode"])


class HelperContainers:
    """Creates and removes helpers.

    Args:
        client: the connection to the daemon.
        sandbox_image: selects their image, that of sandboxes.
        owner: the value of our owner label.
        ownership: records what is created, and decides what is ours.
    """

    def __init__(
        self,
        client: DockerClient,
        sandbox_image: SandboxImageSelector,
        owner: str,
        ownership: DockerOwnership,
    ) -> None:
        self._client = client
        self._sandbox_image = sandbox_image
        self._owner = owner
        self._ownership = ownership

    @asynccontextmanager
    async def helper(
        self, pod: Pod, volume_name: str, mounts: DockerMounts
    ) -> AsyncIterator[HelperContainer]:
        """Create a helper with mounts; it is removed at the end of the block."""
        choice = await self._sandbox_image.choose()
        request = {
            "Image": choice.image,
            # It need not exist, as it is never started.
            "Entrypoint": ["helper"],
            "Labels": self._labels(pod, volume_name),
            "NetworkDisabled": True,
            "HostConfig": {"NetworkMode": "none", **mounts.body()},
        }
        # If this is cancelled, the helper is removed together with its volume.
        name = f"{self._owner}_helper_{secrets.token_hex(6)}"
        docker_id = await self._ownership.create(name, request)
        try:
            yield HelperContainer(self._client, docker_id)
        finally:
            await self._remove(docker_id)

    async def leftover_labels(self) -> list[Mapping[str, str]]:
        """Return the labels of all our helpers."""
        listed = await self._list({HELPER: self._owner})
        return [helper["Labels"] for helper in listed]

    async def remove_leftovers(self, pod_uid: str, volume_name: str) -> None:
        """Remove the helpers of a volume that an earlier run left."""
        wanted = {HELPER: self._owner, POD_UID: pod_uid, VOLUME: volume_name}
        for helper in await self._list(wanted):
            await self._remove(helper["Id"])

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
        listed: list[dict[str, Any]] = await self._client.call(
            lambda api: api.containers(all=True, filters=filters)
        )
        return [
            container
            for container in listed
            if self._ownership.is_listed_as_ours(container)
        ]

    async def _remove(self, docker_id: str) -> None:
        with ignore_status(NOT_FOUND):
            await self._client.call_long(
                lambda api: api.remove_container(docker_id, v=True, force=True)
            )
        self._ownership.forget(docker_id)
