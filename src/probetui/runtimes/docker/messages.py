"""What containers leave to say when they end.

A container gets a file for it at its terminationMessagePath; it is in a volume of its
sandbox, and is read through that once the container has ended.

Source: kuberuntime/kuberuntime_container.go, v1.32.10, makeMounts,
convertToKubeContainerStatus.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime

from probetui.k8s.runtime import RuntimeContainerStatus, RuntimeState
from probetui.kubelet.effects import CreateContainer
from probetui.kubelet.termination_message import (
    MAX_FILE_BYTES,
    MAX_LOG_LINES,
    end_of_log,
    termination_message,
    wants_log,
)
from probetui.runtimes.docker.api import Api
from probetui.runtimes.docker.archives import File, last_bytes, pack
from probetui.runtimes.docker.client import Client
from probetui.runtimes.docker.faults import NOT_FOUND, RefusedError
from probetui.runtimes.docker.mounts import FILES_FOLDER, NO_MOUNTS, Mounts, Place, part
from probetui.runtimes.docker.translate import Seen

FILE_MODE = 0o666
MOST_READ_BYTES = 16 * 1024 * 1024
EPOCH = datetime.fromtimestamp(0, UTC)


class Messages:
    """The last words of containers, each read once.

    Args:
        client: the connection to the daemon.
        knows_parts: whether the daemon can mount a part of a volume.
    """

    def __init__(self, client: Client, *, knows_parts: bool) -> None:
        self._client = client
        self._knows_parts = knows_parts
        self._known: dict[str, bytes] = {}

    async def mount(self, operation: CreateContainer) -> Mounts:
        """Make the file of a container that is about to be made, and return its mount.

        A sandbox that an earlier version made may have no place for it.
        """
        target = operation.container.termination_message_path
        place = await self._place(operation.sandbox_id) if target else None
        if place is None:
            return NO_MOUNTS
        name = _file_name(operation.container.name, operation.attempt)
        archive = pack([File(name, b"", FILE_MODE)], EPOCH)
        await self._client.call(
            lambda api: api.put_archive(operation.sandbox_id, FILES_FOLDER, archive)
        )
        return part(place, name, target, read_only=False, knows_parts=self._knows_parts)

    async def fill_in(self, everything: Iterable[Seen]) -> list[Seen]:
        """Add the last words of those that have ended."""
        everything = list(everything)
        here = {each.docker_id for each in everything}
        for docker_id in self._known.keys() - here:
            del self._known[docker_id]
        return list(await asyncio.gather(*map(self._filled_in, everything)))

    async def _filled_in(self, seen: Seen) -> Seen:
        container = seen.container
        if container is None or container.state is not RuntimeState.EXITED:
            return seen
        if seen.docker_id not in self._known:
            self._known[seen.docker_id] = await self._read(seen, container)
        own = self._known[seen.docker_id]
        message = termination_message(container.message, own)
        return replace(seen, container=replace(container, message=message))

    async def _read(self, seen: Seen, container: RuntimeContainerStatus) -> bytes:
        file = await self._file(seen, container) if seen.message_path else None
        if not wants_log(
            seen.message_policy, container.exit_code, container.reason, file
        ):
            return file or b""

        def read(api: Api) -> bytes:
            printed: bytes = api.logs(seen.docker_id, tail=MAX_LOG_LINES)
            return printed

        return end_of_log(
            (await self._client.call_long(read)).splitlines(keepends=True)
        )

    async def _file(
        self, seen: Seen, container: RuntimeContainerStatus
    ) -> bytes | None:
        """Return the end of a container's file, None if there is none.

        Difference: of a file of more than 16 MiB nothing is read. Docker hands over
        files as a whole, so that one without an end would hold up all else.
        """
        name = _file_name(container.name, container.restart_count)
        path = f"{FILES_FOLDER}/{name}"

        def read(api: Api) -> bytes | None:
            found = api.path_stat(seen.sandbox_id, path)
            if found is None:
                return None
            if found["size"] > MOST_READ_BYTES:
                reason = (
                    f"it has {found['size']} bytes, of which Docker hands over all; "
                    f"at most {MOST_READ_BYTES} are read"
                )
                return _unreadable(seen, reason)
            pieces, _ = api.get_archive(seen.sandbox_id, path)
            return last_bytes(pieces, MAX_FILE_BYTES)

        try:
            return await self._client.call_long(read)
        except RefusedError as error:
            if error.status == NOT_FOUND:
                return None
            return _unreadable(seen, error)

    async def _place(self, sandbox_id: str) -> Place | None:
        found = await self._client.call(lambda api: api.inspect_container(sandbox_id))
        for each in found["Mounts"]:
            if each["Destination"] == FILES_FOLDER:
                return Place(each["Name"], each["Source"])
        return None


def _unreadable(seen: Seen, error: object) -> bytes:
    return f"Error on reading termination log {seen.message_path}: {error}".encode()


def _file_name(container_name: str, attempt: int) -> str:
    return f"{container_name}_{attempt}"
