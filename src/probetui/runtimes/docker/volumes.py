"""Volumes of pods, which are volumes of Docker.

No folder of this machine is used: it works with any daemon, and every user of the
daemon can remove what containers wrote as root.

Source: pkg/volume/hostpath/host_path.go, v1.32.10, checkTypeInternal.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterable, Mapping
from datetime import datetime
from functools import partial
from pathlib import PurePosixPath
from typing import Any

from msgspec import Struct

from probetui.errors import ContainerRuntimeError, IncompleteRemovalError
from probetui.k8s.pod import Pod, VolumeMount
from probetui.k8s.volume import HostPath, Projected, Volume
from probetui.kubelet.effects import CreateContainer, MountVolume, UnmountVolume
from probetui.ports import PodVolumes
from probetui.runtimes.docker.archives import (
    ArchiveEntry,
    ArchiveFile,
    pack,
    volume_entries,
    volume_root,
)
from probetui.runtimes.docker.client import DockerClient
from probetui.runtimes.docker.errors import (
    CONFLICT,
    NOT_FOUND,
    DockerStatusError,
    ignore_status,
)
from probetui.runtimes.docker.helper_containers import HelperContainers
from probetui.runtimes.docker.mounts import (
    VOLUME,
    DockerMounts,
    VolumeLocation,
    bind_host_path,
    container_mounts,
    driver_options,
    mount_volume,
    volume_labels,
    volume_name,
)
from probetui.runtimes.docker.ownership import (
    DockerOwnership,
    create_volume,
    find_volume,
    listed_name,
)
from probetui.runtimes.docker.sub_paths import DockerSubPaths, GuardedSubPath
from probetui.runtimes.docker.translate import owner_filter
from probetui.runtimes.ownership_ledger import OwnershipLedger
from probetui.runtimes.translation import MADE_BY, NONCE, PodName, pod_name_from_labels

ROOT = "volume"
"""The folder of the volume in a helper."""


TARGET = "/path"
BAD_REQUEST = 400
NEW_FILE_MODE = 0o644

GO_FOLDER = 1 << 31
GO_DEVICE = 1 << 26
GO_SOCKET = 1 << 24
GO_CHARACTER_DEVICE = 1 << 21
_GO_TYPE = GO_FOLDER | GO_DEVICE | GO_SOCKET | GO_CHARACTER_DEVICE

_WANTED = {
    "Directory": (GO_FOLDER, "a directory"),
    "DirectoryOrCreate": (GO_FOLDER, "a directory"),
    "File": (0, "a file"),
    "FileOrCreate": (0, "a file"),
    "Socket": (GO_SOCKET, "a socket file"),
    "CharDevice": (GO_DEVICE | GO_CHARACTER_DEVICE, "a character device"),
    "BlockDevice": (GO_DEVICE, "a block device"),
}


class UnownedVolume(Struct, frozen=True):
    """A volume that another probetui created, and who that was, if known."""

    name: str
    pod: PodName
    made_by: str
    proof: str


class DockerVolumes:
    """The volumes of one owner.

    Args:
        client: the connection to the daemon.
        helpers: access volumes and host paths.
        owner: the value of our owner label.
        ledger: the notes about volumes; a volume has no ID, so its nonce is noted.
        parts: prepares subPaths.
        ownership: knows which containers are ours.
    """

    def __init__(
        self,
        client: DockerClient,
        helpers: HelperContainers,
        owner: str,
        ledger: OwnershipLedger,
        parts: DockerSubPaths,
        ownership: DockerOwnership,
    ) -> None:
        self._client = client
        self._helpers = helpers
        self._owner = owner
        self._ledger = ledger
        self._parts = parts
        self._ownership = ownership
        self._released: set[UnmountVolume] = set()

    async def mount(self, operation: MountVolume) -> None:
        """Create a volume for containers, and write its files."""
        pod, volume = operation.pod, operation.volume
        if isinstance(volume.source, HostPath):
            await check_host_path(
                self._helpers, pod, volume, volume.source, operation.at
            )
            return
        name = volume_name(self._owner, pod.uid, volume.name)
        is_new = not await self._exists(name)
        if is_new:
            await self._create(name, pod, volume)
        try:
            await self._fill(name, operation, is_new=is_new)
        except ContainerRuntimeError:
            if is_new:
                # An existing volume would count as ready the next time.
                await self._remove(UnmountVolume(pod.uid, volume.name))
            raise

    async def unmount(self, operation: UnmountVolume) -> None:
        """Remove a volume; if our containers use it, once they are removed.

        Raises:
            IncompleteRemovalError: only containers that are not ours use it.
        """
        await self._parts.clean(operation.pod_uid, operation.volume_name)
        await self._helpers.remove_leftovers(operation.pod_uid, operation.volume_name)
        await self._remove(operation)

    async def remove_released(self, pod_uid: str) -> None:
        """Remove the unmounted volumes of a pod that its containers still had.

        Docker does not remove a volume while a container has it, even an exited one.
        """
        for volume in [
            volume for volume in self._released if volume.pod_uid == pod_uid
        ]:
            await self._remove(volume)

    async def list(self) -> tuple[PodVolumes, ...]:
        """Return all volumes, also those of which only a helper is left."""
        filters = owner_filter(self._owner)
        listed = await self._client.call(lambda api: api.volumes(filters=filters))
        volumes = listed["Volumes"] or ()
        ours = [volume["Labels"] for volume in volumes if self._is_ours(volume)]
        return self._parts.add_mounted(
            _by_pod([*ours, *await self._helpers.leftover_labels()])
        )

    async def list_unowned(self) -> tuple[UnownedVolume, ...]:
        """Return the volumes that other probetuis have created."""
        filters = owner_filter(self._owner)
        listed = await self._client.call(lambda api: api.volumes(filters=filters))
        return tuple(
            UnownedVolume(
                volume["Name"],
                pod_name_from_labels(labels),
                labels.get(MADE_BY, ""),
                _proof(volume),
            )
            for volume in listed["Volumes"] or ()
            if {VOLUME, NONCE} <= (labels := volume["Labels"] or {}).keys()
            and not self._is_ours(volume)
        )

    def take_over(self, volume: UnownedVolume) -> None:
        """Take over a volume that the user chose."""
        self._ledger.take_over(volume.proof, volume.name)

    async def mounts(
        self, operation: CreateContainer
    ) -> tuple[DockerMounts, tuple[GuardedSubPath, ...]]:
        """Return the mounts of a container to be created.

        The second value is the subPaths to guard when it is started.

        Raises:
            ContainerConfigError: a subPath leads out of its volume.
        """
        pod, container = operation.pod, operation.container
        sources: dict[VolumeMount, str] = {}
        guarded: list[GuardedSubPath] = []
        for mount in container.volume_mounts:
            volume = pod.volume(mount.name)
            if volume is None or not mount.sub_path:
                continue
            place = await self._place(pod, volume)
            source = await self._parts.prepare(pod, container, mount, place)
            if isinstance(source, GuardedSubPath):
                guarded.append(source)
                sources[mount] = source.source
            elif source is not None:
                sources[mount] = source
        mounts = container_mounts(pod, container, self._owner, sources)
        return mounts, tuple(guarded)

    # -- helpers

    async def _exists(self, name: str) -> bool:
        """Return whether a volume exists; raises if it is not ours."""
        return await self._ours(name) is not None

    async def _ours(self, name: str) -> dict[str, Any] | None:
        """Return a volume, None if it does not exist; raises if it is not ours."""
        volume = await find_volume(self._client, name)
        if volume is not None and not self._is_ours(volume):
            made_by = (volume["Labels"] or {}).get(MADE_BY)
            who = f"{made_by} made it" if made_by else "it is in no note of ours"
            raise ContainerRuntimeError(
                f"volume {name} was not made by probetui of this user and is left "
                f"alone: {who}"
            )
        return volume

    def _is_ours(self, volume: Mapping[str, Any]) -> bool:
        nonce = (volume["Labels"] or {}).get(NONCE) or ""
        return self._ledger.owns(_proof(volume), volume["Name"], nonce)

    async def _create(self, name: str, pod: Pod, volume: Volume) -> None:
        await create_volume(
            self._client,
            self._ledger,
            name,
            driver_options(pod, volume),
            volume_labels(pod, volume, self._owner),
            partial(_proof_of, name),
        )
        # Docker returns an existing volume of that name, which may not be ours.
        await self._exists(name)

    async def _fill(self, name: str, operation: MountVolume, *, is_new: bool) -> None:
        """Write the files of a volume; everybody may write to one on disk."""
        pod, volume = operation.pod, operation.volume
        group = pod.security_context.fs_group
        entries: list[ArchiveEntry] = []
        if isinstance(volume.source, Projected):
            stamp = f"..{operation.at:%Y_%m_%d_%H_%M_%S}.{secrets.randbelow(10**9)}"
            entries = volume_entries(ROOT, operation.files, stamp, group)
        elif is_new and not driver_options(pod, volume):
            entries = [volume_root(ROOT, group)]
        if not entries:
            return
        archive = pack(entries, operation.at, group or 0)
        mounts = mount_volume(name, f"/{ROOT}")
        async with self._helpers.helper(pod, volume.name, mounts) as helper:
            await helper.put(archive)

    async def _remove(self, operation: UnmountVolume) -> None:
        name = volume_name(self._owner, operation.pod_uid, operation.volume_name)
        self._released.discard(operation)
        volume = await self._ours(name)
        if volume is None:
            return
        try:
            with ignore_status(NOT_FOUND):
                await self._client.call(lambda api: api.remove_volume(name))
        except DockerStatusError as error:
            if error.status != CONFLICT:
                raise
            await self._refuse_if_others_hold(name)
            self._released.add(operation)
            return
        self._ledger.forget(_proof(volume))

    async def _refuse_if_others_hold(self, name: str) -> None:
        """Raise if none of the containers that use a volume is ours.

        Raises:
            IncompleteRemovalError: none is; the message names those that use it.
        """
        filters = {"volume": [name]}
        listed = await self._client.call(
            lambda api: api.containers(all=True, filters=filters)
        )
        if not listed or any(map(self._ownership.is_listed_as_ours, listed)):
            return
        holders = ", ".join(
            f"{listed_name(container)} ({container['Id'][:12]})" for container in listed
        )
        reason = f"it is in use by a container that is not ours: {holders}"
        raise IncompleteRemovalError([(f"volume {name}", reason)], 1)

    async def _place(self, pod: Pod, volume: Volume) -> VolumeLocation:
        if isinstance(volume.source, HostPath):
            return VolumeLocation("", str(PurePosixPath("/", volume.source.path)))
        docker_name = volume_name(self._owner, pod.uid, volume.name)
        inspected = await find_volume(self._client, docker_name)
        if inspected is None:
            raise ContainerRuntimeError(f'volume "{volume.name}" is gone')
        return VolumeLocation(docker_name, inspected["Mountpoint"])


def _proof(volume: Mapping[str, Any]) -> str:
    """Return the ID to note for a volume: a hash of its name and nonce."""
    return _proof_of(volume["Name"], (volume["Labels"] or {}).get(NONCE, ""))


def _proof_of(name: str, nonce: str) -> str:
    text = f"{name} {nonce}"
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _by_pod(labels: Iterable[Mapping[str, str]]) -> tuple[PodVolumes, ...]:
    by_pod: dict[PodName, set[str]] = {}
    for label in labels:
        if VOLUME in label:
            by_pod.setdefault(pod_name_from_labels(label), set()).add(label[VOLUME])
    return tuple(
        PodVolumes(pod.uid, pod.name, pod.namespace, tuple(sorted(by_pod[pod])))
        for pod in sorted(by_pod)
    )


async def check_host_path(
    helpers: HelperContainers, pod: Pod, volume: Volume, source: HostPath, at: datetime
) -> None:
    """Check the type of a host path, and create it for the types `...OrCreate`.

    The daemon is asked, as it may run on another machine. A hostPath without a type is
    not checked.

    Raises:
        ContainerRuntimeError: the path is not of that type.
    """
    if not source.type:
        return
    wanted, description = _WANTED[source.type]
    mode = await _mode(helpers, pod, volume, source.path)
    if mode is None and source.type == "DirectoryOrCreate":
        await _make_folder(helpers, pod, volume, source)
        return
    if mode is None and source.type == "FileOrCreate":
        await _make_file(helpers, pod, volume, source.path, at)
        return
    if mode is None or mode & _GO_TYPE != wanted:
        raise ContainerRuntimeError(
            f"hostPath type check failed: {source.path} is not {description}"
        )


async def _mode(
    helpers: HelperContainers, pod: Pod, volume: Volume, path: str
) -> int | None:
    """Return the mode of a path, a Go `FileMode`; None if it does not exist."""
    try:
        async with helpers.helper(pod, volume.name, _existing(path)) as helper:
            return await helper.mode(TARGET)
    except DockerStatusError as error:
        # The daemon refuses to mount a path that does not exist.
        if error.status == BAD_REQUEST:
            return None
        raise


async def _make_folder(
    helpers: HelperContainers, pod: Pod, volume: Volume, source: HostPath
) -> None:
    """Create a folder by mounting it, as the daemon does for missing paths."""
    mounts = bind_host_path(source, VolumeMount(volume.name, TARGET))
    async with helpers.helper(pod, volume.name, mounts) as helper:
        # The daemon mounts it only now.
        await helper.mode(TARGET)


async def _make_file(
    helpers: HelperContainers, pod: Pod, volume: Volume, path: str, at: datetime
) -> None:
    folder, name = PurePosixPath(path).parent, PurePosixPath(path).name
    async with helpers.helper(pod, volume.name, _existing(str(folder))) as helper:
        await helper.put(pack([ArchiveFile(name, b"", NEW_FILE_MODE)], at), TARGET)


def _existing(path: str) -> DockerMounts:
    """Mount an existing path."""
    return DockerMounts(({"Type": "bind", "Source": path, "Target": TARGET},))
