"""subPath on Docker: resolved on the daemon's machine, and never outside the volume.

As root on the daemon's machine, we bind-mount a subPath as the kubelet does. A daemon
that supports sub-paths of volumes mounts them safely. Any other daemon follows links
when it starts a container: there the path is resolved in a helper that has only the
volume, and checked again right before the start, while containers that can write to
the volume are paused.

Difference: before Docker 26, and without root on the daemon's machine, containers that
can write to a volume are paused while a container that mounts a subPath of it is
started. Without root there, a subPath of a hostPath is refused.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from msgspec import Struct

from probetui.errors import ContainerConfigError, ContainerRuntimeError
from probetui.k8s.pod import Container, Pod, VolumeMount
from probetui.k8s.volume import HostPath
from probetui.ports import PodVolumes
from probetui.runtimes.docker.archives import pack, volume_root
from probetui.runtimes.docker.client import DockerClient
from probetui.runtimes.docker.errors import DockerStatusError
from probetui.runtimes.docker.fault_injection import DockerFaultInjector
from probetui.runtimes.docker.helper_containers import HelperContainer, HelperContainers
from probetui.runtimes.docker.mounts import VolumeLocation, mount_volume
from probetui.runtimes.docker.ownership import DockerOwnership
from probetui.runtimes.sub_paths import (
    SubPaths,
    UnseenMountError,
    refused_sub_path,
    with_sub_paths,
)
from probetui.runtimes.translation import EPOCH

ROOT = PurePosixPath("/volume")
"""The path of the volume in a helper."""

GO_SYMLINK = 1 << 27
MAX_LINKS = 40
"""How many symbolic links a path may contain, as in Linux."""


class GuardedSubPath(Struct, frozen=True):
    """A subPath that the daemon resolves again when it starts a container.

    Attributes:
        mount: its mount.
        place: its volume.
        path: the path in a helper, without links.
    """

    mount: VolumeMount
    place: VolumeLocation
    path: PurePosixPath

    @property
    def source(self) -> str:
        """The same path on the daemon's machine."""
        return f"{self.place.path}/{self.path.relative_to(ROOT)}"


class DockerSubPaths:
    """Resolves, creates and guards the subPaths of containers.

    Args:
        client: the connection to the daemon.
        helpers: access volumes.
        ownership: knows which containers are ours.
        fault_injector: pauses containers.
        sub_paths: mounts on the daemon's machine; None if we cannot mount there.
        supports_subpath: whether the daemon can mount a part of a volume.
    """

    def __init__(
        self,
        client: DockerClient,
        helpers: HelperContainers,
        ownership: DockerOwnership,
        fault_injector: DockerFaultInjector,
        *,
        sub_paths: SubPaths | None,
        supports_subpath: bool,
    ) -> None:
        self._client = client
        self._helpers = helpers
        self._ownership = ownership
        self._fault_injector = fault_injector
        self._sub_paths = sub_paths
        self._supports_subpath = supports_subpath
        self._guarded: dict[str, tuple[Pod, Container, tuple[GuardedSubPath, ...]]] = {}

    async def prepare(
        self, pod: Pod, container: Container, mount: VolumeMount, place: VolumeLocation
    ) -> str | GuardedSubPath | None:
        """Resolve a subPath, create it if it is missing, and return how to mount it.

        Returns:
            A path of the daemon's machine that nobody can change, a subPath to guard,
            or None if the daemon resolves it.

        Raises:
            ContainerConfigError: it leads out of the volume, or cannot be guarded as
                it is of a hostPath.
        """
        volume = pod.volume(mount.name)
        is_host_path = volume is not None and isinstance(volume.source, HostPath)
        if not self._supports_subpath or is_host_path:
            bound = await self._bind(pod, container, mount, place)
            if bound is not None:
                return bound
        if is_host_path:
            reason = (
                "a subPath of a hostPath requires root on the daemon's machine: "
                "others may change it while it is mounted"
            )
            raise refused_sub_path(container.name, mount.name, reason)
        async with self._helper(pod, place, mount) as helper:
            path, missing = await self._resolve(
                helper, container, mount, ROOT / mount.sub_path
            )
            if missing:
                await self._make(helper, pod, container, mount, path, len(missing))
        if self._supports_subpath:
            return None
        return GuardedSubPath(mount, place, path)

    def guard(
        self,
        docker_id: str,
        pod: Pod,
        container: Container,
        parts: tuple[GuardedSubPath, ...],
    ) -> None:
        """Record the subPaths to check when a container is started."""
        if parts:
            self._guarded[docker_id] = (pod, container, parts)

    def forget(self, docker_id: str) -> None:
        """Forget the subPaths of a container that is gone."""
        self._guarded.pop(docker_id, None)

    @contextlib.asynccontextmanager
    async def guarding(self, docker_id: str) -> AsyncIterator[None]:
        """Keep the subPaths of a container unchanged for the length of a block.

        Containers that can write to its volumes are paused meanwhile.

        Raises:
            ContainerConfigError: one has changed, or cannot be guarded.
        """
        guarded = self._guarded.get(docker_id)
        if guarded is None:
            yield
            return
        pod, container, parts = guarded
        async with contextlib.AsyncExitStack() as stack:
            changed = [
                (part, await stack.enter_async_context(
                    self._helper(pod, part.place, part.mount)
                ))
                for part in parts
            ]  # fmt: skip
            writers = [
                writer
                for part in parts
                for writer in await self._writers(container, part)
            ]
            try:
                await stack.enter_async_context(self._fault_injector.paused(writers))
            except DockerStatusError as error:
                raise refused_sub_path(
                    container.name, parts[0].mount.name, error
                ) from error
            for part, helper in changed:
                path, missing = await self._resolve(
                    helper, container, part.mount, part.path
                )
                if path != part.path or missing:
                    reason = f"{part.path} was changed to {path}"
                    raise refused_sub_path(container.name, part.mount.name, reason)
            yield

    # -- mounted by us

    async def clean(self, pod_uid: str, volume_name: str) -> None:
        """Unmount the subPaths of a volume."""
        if self._sub_paths is not None:
            await asyncio.to_thread(self._sub_paths.clean, pod_uid, volume_name)

    def add_mounted(self, volumes: tuple[PodVolumes, ...]) -> tuple[PodVolumes, ...]:
        """Return volumes, and those of which only mounted subPaths are left."""
        if self._sub_paths is None:
            return volumes
        return with_sub_paths(volumes, self._sub_paths.list())

    async def _bind(
        self, pod: Pod, container: Container, mount: VolumeMount, place: VolumeLocation
    ) -> str | None:
        """Bind-mount a subPath and return where; None if we cannot mount there."""
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

    # -- resolved in a helper

    def _helper(
        self, pod: Pod, place: VolumeLocation, mount: VolumeMount
    ) -> contextlib.AbstractAsyncContextManager[HelperContainer]:
        # With a single volume, a link that leads out of it leads nowhere.
        return self._helpers.helper(
            pod, mount.name, mount_volume(place.volume, str(ROOT))
        )

    async def _resolve(
        self,
        helper: HelperContainer,
        container: Container,
        mount: VolumeMount,
        path: PurePosixPath,
    ) -> tuple[PurePosixPath, tuple[str, ...]]:
        """Call `_walk`, and raise the kubelet's error."""
        try:
            return await self._walk(helper, path)
        except ContainerRuntimeError as error:
            if error.unreachable:
                raise
            raise refused_sub_path(container.name, mount.name, error) from error

    async def _walk(
        self, helper: HelperContainer, wanted: PurePosixPath
    ) -> tuple[PurePosixPath, tuple[str, ...]]:
        """Return a path without links, and its last names that do not exist.

        Raises:
            ContainerRuntimeError: it leads out of the volume.
        """
        for _ in range(MAX_LINKS):
            if not wanted.is_relative_to(ROOT):
                raise ContainerRuntimeError(f"it leads out of the volume, to {wanted}")
            names = wanted.relative_to(ROOT).parts
            for count in range(1, len(names) + 1):
                path = ROOT.joinpath(*names[:count])
                stat = await helper.stat(str(path))
                if stat is None:
                    return wanted, names[count - 1 :]
                if int(stat["mode"]) & GO_SYMLINK:
                    # The daemon returns the final target in the helper.
                    target = PurePosixPath(stat["linkTarget"] or "/")
                    wanted = target.joinpath(*names[count:])
                    break
            else:
                return wanted, ()
        raise ContainerRuntimeError("too many links")

    async def _make(
        self,
        helper: HelperContainer,
        pod: Pod,
        container: Container,
        mount: VolumeMount,
        path: PurePosixPath,
        count: int,
    ) -> None:
        """Create a folder and its parents, `count` in all.

        Source: kubelet/kubelet_pods.go, v1.32.10, makeMounts.
        """
        group = pod.security_context.fs_group
        made = [path, *path.parents][:count][::-1]
        entries = [volume_root(str(folder).lstrip("/"), group) for folder in made]
        try:
            await helper.put(pack(entries, EPOCH, group or 0))
        except DockerStatusError as error:
            raise refused_sub_path(
                container.name, mount.name, error, to_make=True
            ) from error

    async def _writers(self, container: Container, part: GuardedSubPath) -> list[str]:
        """Return the running containers that can write to a volume."""
        filters = {"volume": [part.place.volume], "status": ["running"]}
        listed = await self._client.call(lambda api: api.containers(filters=filters))
        writers = [writer for writer in listed if _can_write(writer, part.place.volume)]
        for other in writers:
            if not self._ownership.is_listed_as_ours(other):
                reason = f"container {other['Id'][:12]}, not ours, can write to it"
                raise refused_sub_path(container.name, part.mount.name, reason)
        return [writer["Id"] for writer in writers]


def _can_write(listed: Mapping[str, Any], volume: str) -> bool:
    return any(
        mount.get("Name") == volume and mount.get("RW", True)
        for mount in listed["Mounts"]
    )
