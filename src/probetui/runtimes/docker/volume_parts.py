"""subPath on Docker: resolved where the files are, and mounted without a way out.

Who may mount on the daemon's machine binds what a subPath names, as the kubelet does.
A daemon that mounts parts of volumes by itself does that safely. Any other one follows
links when it starts a container: there the path is resolved in a helper, which has the
volume and nothing else, and looked at again right before the start, while those who can
write to the volume stand still.

Difference: before Docker 26, and not as root on the daemon's machine, containers that
can write to a volume are paused while one that mounts a subPath of it is started;
without root there, a subPath of a hostPath is refused.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import Any

from probetui.errors import ContainerConfigError, ContainerRuntimeError
from probetui.k8s.pod import Container, Pod, VolumeMount
from probetui.k8s.volume import HostPath
from probetui.ports import PodVolumes
from probetui.runtimes.docker.archives import pack, volume_root
from probetui.runtimes.docker.client import Client
from probetui.runtimes.docker.disruptions import Disruptions
from probetui.runtimes.docker.faults import RefusedError
from probetui.runtimes.docker.helpers import Helper, Helpers
from probetui.runtimes.docker.mounts import Place, whole
from probetui.runtimes.docker.ownership import DockerOwnership
from probetui.runtimes.sub_paths import (
    SubPaths,
    UnseenMountError,
    refused_sub_path,
    with_sub_paths,
)

ROOT = PurePosixPath("/volume")
"""The folder of a helper in which it has a volume."""

EPOCH = datetime.fromtimestamp(0, UTC)
GO_SYMLINK = 1 << 27
MAX_LINKS = 40
"""How many links a path may lead through, as in Linux."""


@dataclass(frozen=True, slots=True)
class GuardedPart:
    """A subPath that the daemon will resolve itself when it starts a container.

    Attributes:
        mount: the mount it is for.
        place: the volume.
        path: what was found, without links, in a helper.
    """

    mount: VolumeMount
    place: Place
    path: PurePosixPath

    @property
    def source(self) -> str:
        """The same path on the daemon's machine."""
        return f"{self.place.path}/{self.path.relative_to(ROOT)}"


class VolumeParts:
    """Prepares what subPaths name.

    Args:
        client: the connection to the daemon.
        helpers: look into volumes.
        ownership: says which containers are ours.
        disruptions: pauses containers.
        sub_paths: mounts on the daemon's machine; None where we cannot mount there.
        knows_parts: whether the daemon mounts parts of volumes by itself.
    """

    def __init__(
        self,
        client: Client,
        helpers: Helpers,
        ownership: DockerOwnership,
        disruptions: Disruptions,
        *,
        sub_paths: SubPaths | None,
        knows_parts: bool,
    ) -> None:
        self._client = client
        self._helpers = helpers
        self._ownership = ownership
        self._disruptions = disruptions
        self._sub_paths = sub_paths
        self._knows_parts = knows_parts
        self._guarded: dict[str, tuple[Pod, Container, tuple[GuardedPart, ...]]] = {}

    async def prepare(
        self, pod: Pod, container: Container, mount: VolumeMount, place: Place
    ) -> str | GuardedPart | None:
        """Make what a subPath names, if it is missing, and return how it is mounted.

        Returns:
            A path of the daemon's machine that nobody can change, a part that is to be
            guarded, or None where the daemon does it.

        Raises:
            ContainerConfigError: it leads out of the volume, or nothing can be said of
                a path of the host.
        """
        volume = pod.volume(mount.name)
        is_host_path = volume is not None and isinstance(volume.source, HostPath)
        if not self._knows_parts or is_host_path:
            bound = await self._bind(pod, container, mount, place)
            if bound is not None:
                return bound
        if is_host_path:
            reason = (
                "a subPath of a hostPath takes root on the daemon's machine: "
                "others may change it while it is mounted"
            )
            raise refused_sub_path(container.name, mount.name, reason)
        async with self._helper(pod, place, mount) as helper:
            path, missing = await self._resolve(
                helper, container, mount, ROOT / mount.sub_path
            )
            if missing:
                await self._make(helper, pod, container, mount, path, len(missing))
        if self._knows_parts:
            return None
        return GuardedPart(mount, place, path)

    def guard(
        self,
        docker_id: str,
        pod: Pod,
        container: Container,
        parts: tuple[GuardedPart, ...],
    ) -> None:
        """Note what must be as it was when a container that was made is started."""
        if parts:
            self._guarded[docker_id] = (pod, container, parts)

    def forget(self, docker_id: str) -> None:
        """Let go of a container that is gone."""
        self._guarded.pop(docker_id, None)

    @contextlib.asynccontextmanager
    async def guarding(self, docker_id: str) -> AsyncIterator[None]:
        """Have the subPaths of a container be as they were for the length of a block.

        Containers that can write to its volumes are paused for that long.

        Raises:
            ContainerConfigError: they are not any more, or cannot be kept so.
        """
        guarded = self._guarded.get(docker_id)
        if guarded is None:
            yield
            return
        pod, container, parts = guarded
        async with contextlib.AsyncExitStack() as stack:
            found = [
                (part, await stack.enter_async_context(
                    self._helper(pod, part.place, part.mount)
                ))
                for part in parts
            ]  # fmt: skip
            writers = [
                it for part in parts for it in await self._writers(container, part)
            ]
            try:
                await stack.enter_async_context(self._disruptions.paused(writers))
            except RefusedError as error:
                raise refused_sub_path(
                    container.name, parts[0].mount.name, error
                ) from error
            for part, helper in found:
                path, missing = await self._resolve(
                    helper, container, part.mount, part.path
                )
                if path != part.path or missing:
                    reason = f"{part.path} was changed to {path}"
                    raise refused_sub_path(container.name, part.mount.name, reason)
            yield

    # -- bound by us

    async def clean(self, pod_uid: str, volume_name: str) -> None:
        """Unmount what was mounted for the subPaths of a volume."""
        if self._sub_paths is not None:
            await asyncio.to_thread(self._sub_paths.clean, pod_uid, volume_name)

    def add_mounted(self, volumes: tuple[PodVolumes, ...]) -> tuple[PodVolumes, ...]:
        """Return volumes, and those of which only subPaths are left."""
        if self._sub_paths is None:
            return volumes
        return with_sub_paths(volumes, self._sub_paths.list())

    async def _bind(
        self, pod: Pod, container: Container, mount: VolumeMount, place: Place
    ) -> str | None:
        """Mount it for the daemon; None where that is not possible for us."""
        sub_paths, path = self._sub_paths, Path(place.path)
        if sub_paths is None:
            return None
        try:
            await asyncio.to_thread(sub_paths.check_view, path)
        except OSError:
            return None
        try:
            bound = await asyncio.to_thread(sub_paths.bind, pod, container, mount, path)
        except ContainerConfigError as error:
            if isinstance(error.__cause__, UnseenMountError):
                return None
            raise
        return str(bound)

    # -- in a helper

    def _helper(
        self, pod: Pod, place: Place, mount: VolumeMount
    ) -> contextlib.AbstractAsyncContextManager[Helper]:
        # One volume each: a link that leads out of it leads nowhere else.
        return self._helpers.helper(pod, mount.name, whole(place.volume, str(ROOT)))

    async def _resolve(
        self,
        helper: Helper,
        container: Container,
        mount: VolumeMount,
        path: PurePosixPath,
    ) -> tuple[PurePosixPath, tuple[str, ...]]:
        """Do as `_walk`, and refuse in the kubelet's words."""
        try:
            return await self._walk(helper, path)
        except ContainerRuntimeError as error:
            if error.unreachable:
                raise
            raise refused_sub_path(container.name, mount.name, error) from error

    async def _walk(
        self, helper: Helper, wanted: PurePosixPath
    ) -> tuple[PurePosixPath, tuple[str, ...]]:
        """Return a path without links, and which of its last names are missing.

        Raises:
            ContainerRuntimeError: it leads out of the volume.
        """
        for _ in range(MAX_LINKS):
            if not wanted.is_relative_to(ROOT):
                raise ContainerRuntimeError(f"it leads out of the volume, to {wanted}")
            names = wanted.relative_to(ROOT).parts
            for count in range(1, len(names) + 1):
                path = ROOT.joinpath(*names[:count])
                found = await helper.stat(str(path))
                if found is None:
                    return wanted, names[count - 1 :]
                if int(found["mode"]) & GO_SYMLINK:
                    # The daemon says where it leads in the helper in the end.
                    target = PurePosixPath(found["linkTarget"] or "/")
                    wanted = target.joinpath(*names[count:])
                    break
            else:
                return wanted, ()
        raise ContainerRuntimeError("too many links")

    async def _make(
        self,
        helper: Helper,
        pod: Pod,
        container: Container,
        mount: VolumeMount,
        path: PurePosixPath,
        count: int,
    ) -> None:
        """Make a folder and those that lead to it, `count` in all.

        Source: kubelet/kubelet_pods.go, v1.32.10, makeMounts.
        """
        group = pod.security_context.fs_group
        made = [path, *path.parents][:count][::-1]
        entries = [volume_root(str(folder).lstrip("/"), group) for folder in made]
        try:
            await helper.put(pack(entries, EPOCH, group or 0))
        except RefusedError as error:
            raise refused_sub_path(
                container.name, mount.name, error, to_make=True
            ) from error

    async def _writers(self, container: Container, part: GuardedPart) -> list[str]:
        """Return the containers that run and can write to a volume."""
        filters = {"volume": [part.place.volume], "status": ["running"]}
        listed = await self._client.call(lambda api: api.containers(filters=filters))
        writers = [it for it in listed if _can_write(it, part.place.volume)]
        for other in writers:
            if not self._ownership.is_listed_as_ours(other):
                reason = f"container {other['Id'][:12]}, not ours, can write to it"
                raise refused_sub_path(container.name, part.mount.name, reason)
        return [it["Id"] for it in writers]


def _can_write(listed: Mapping[str, Any], volume: str) -> bool:
    return any(
        mount.get("Name") == volume and mount.get("RW", True)
        for mount in listed["Mounts"]
    )
