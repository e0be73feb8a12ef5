"""Termination messages of containers.

A container has a file at its terminationMessagePath. It is in a volume of its sandbox,
from which it is read once the container has ended.

Source: kuberuntime/kuberuntime_container.go, v1.32.10, makeMounts,
convertToKubeContainerStatus.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from msgspec.structs import replace

from probetui.k8s.runtime import RuntimeContainerStatus, RuntimeState
from probetui.kubelet.effects import CreateContainer
from probetui.kubelet.kuberuntime.termination_message import (
    MAX_FILE_BYTES,
    MAX_LOG_LINES,
    end_of_log,
    termination_message,
    wants_log,
)
from probetui.runtimes.docker.api import DockerApi
from probetui.runtimes.docker.archives import ArchiveFile, last_bytes, pack
from probetui.runtimes.docker.client import DockerClient
from probetui.runtimes.docker.errors import NOT_FOUND, DockerStatusError
from probetui.runtimes.docker.mounts import (
    FILES_FOLDER,
    NO_MOUNTS,
    DockerMounts,
    VolumeLocation,
    mount_sub_path,
)
from probetui.runtimes.docker.translate import InspectedContainer
from probetui.runtimes.translation import EPOCH

FILE_MODE = 0o666
MOST_READ_BYTES = 16 * 1024 * 1024


class DockerTerminationMessages:
    """The termination messages of containers, each read once.

    Args:
        client: the connection to the daemon.
        supports_subpath: whether the daemon can mount a part of a volume.
    """

    def __init__(self, client: DockerClient, *, supports_subpath: bool) -> None:
        self._client = client
        self._supports_subpath = supports_subpath
        self._known: dict[str, bytes] = {}

    async def mount(self, operation: CreateContainer) -> DockerMounts:
        """Create the file of a container to be created, and return its mount.

        There is none in a sandbox of an earlier version that has no volume for it.
        """
        target = operation.container.termination_message_path
        place = await self._place(operation.sandbox_id) if target else None
        if place is None:
            return NO_MOUNTS
        name = _file_name(operation.container.name, operation.attempt)
        archive = pack([ArchiveFile(name, b"", FILE_MODE)], EPOCH)
        await self._client.call(
            lambda api: api.put_archive(operation.sandbox_id, FILES_FOLDER, archive)
        )
        return mount_sub_path(
            place,
            name,
            target,
            read_only=False,
            supports_subpath=self._supports_subpath,
        )

    async def fill_in(
        self, everything: Iterable[InspectedContainer]
    ) -> list[InspectedContainer]:
        """Return the containers, with messages for those that have ended."""
        everything = list(everything)
        here = {seen.docker_id for seen in everything}
        for docker_id in self._known.keys() - here:
            del self._known[docker_id]
        return list(await asyncio.gather(*map(self.add_to, everything)))

    async def add_to(self, seen: InspectedContainer) -> InspectedContainer:
        """Return a container, with its message if it has ended."""
        container = seen.container
        if container is None or container.state is not RuntimeState.EXITED:
            return seen
        if seen.docker_id not in self._known:
            self._known[seen.docker_id] = await self._read(seen, container)
        own = self._known[seen.docker_id]
        message = termination_message(container.message, own)
        return replace(seen, container=replace(container, message=message))

    async def _read(
        self, seen: InspectedContainer, container: RuntimeContainerStatus
    ) -> bytes:
        file = await self._file(seen, container) if seen.message_path else None
        if not wants_log(
            seen.message_policy, container.exit_code, container.reason, file
        ):
            return file or b""

        def read(api: DockerApi) -> bytes:
            printed: bytes = api.logs(seen.docker_id, tail=MAX_LOG_LINES)
            return printed

        return end_of_log(
            (await self._client.call_long(read)).splitlines(keepends=True)
        )

    async def _file(
        self, seen: InspectedContainer, container: RuntimeContainerStatus
    ) -> bytes | None:
        """Return the end of a container's file, None if there is none.

        Difference: a file of more than 16 MiB is not read. Docker transfers files as a
        whole, so that one that grows without end would block everything else.
        """
        name = _file_name(container.name, container.restart_count)
        path = f"{FILES_FOLDER}/{name}"

        def read(api: DockerApi) -> bytes | None:
            stat = api.path_stat(seen.sandbox_id, path)
            if stat is None:
                return None
            if stat["size"] > MOST_READ_BYTES:
                reason = (
                    f"it has {stat['size']} bytes, all of which Docker transfers; "
                    f"the limit is {MOST_READ_BYTES}"
                )
                return _unreadable(seen, reason)
            pieces, _ = api.get_archive(seen.sandbox_id, path)
            return last_bytes(pieces, MAX_FILE_BYTES)

        try:
            return await self._client.call_long(read)
        except DockerStatusError as error:
            if error.status == NOT_FOUND:
                return None
            return _unreadable(seen, error)

    async def _place(self, sandbox_id: str) -> VolumeLocation | None:
        sandbox = await self._client.call(lambda api: api.inspect_container(sandbox_id))
        for mount in sandbox["Mounts"]:
            if mount["Destination"] == FILES_FOLDER:
                return VolumeLocation(mount["Name"], mount["Source"])
        return None


def _unreadable(seen: InspectedContainer, error: object) -> bytes:
    return f"Error on reading termination log {seen.message_path}: {error}".encode()


def _file_name(container_name: str, attempt: int) -> str:
    return f"{container_name}_{attempt}"
