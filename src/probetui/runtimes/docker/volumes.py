"""The volumes of pods, kept by the daemon itself.

No folder of this machine is used: it works wherever the daemon runs, and what
containers write as root can be removed by whoever may use the daemon.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import PurePosixPath
from typing import Any, NamedTuple

from probetui.errors import ContainerRuntimeError
from probetui.k8s.pod import Pod, VolumeMount
from probetui.k8s.volume import HostPath, Projected, Volume
from probetui.kubelet.effects import CreateContainer, MountVolume, UnmountVolume
from probetui.ports import PodVolumes
from probetui.runtimes.docker.archives import (
    Entry,
    pack,
    volume_entries,
    volume_root,
)
from probetui.runtimes.docker.client import Client
from probetui.runtimes.docker.faults import CONFLICT, NOT_FOUND, RefusedError
from probetui.runtimes.docker.helpers import Helpers
from probetui.runtimes.docker.host_paths import check_host_path
from probetui.runtimes.docker.mounts import (
    VOLUME,
    Mounts,
    Place,
    container_mounts,
    driver_options,
    volume_labels,
    volume_name,
    whole,
)
from probetui.runtimes.docker.ownership import create_volume, find_volume
from probetui.runtimes.docker.translate import (
    MADE_BY,
    NONCE,
    PodName,
    owned_by,
    pod_name,
)
from probetui.runtimes.docker.volume_parts import GuardedPart, VolumeParts
from probetui.runtimes.ownership_ledger import OwnershipLedger

ROOT = "volume"
"""The folder of a helper in which it has a volume."""


class UnownedVolume(NamedTuple):
    """A volume with our label that is not ours, and who made it if that is known."""

    name: str
    pod: PodName
    made_by: str | None
    nonce: str | None
    proof: str


class Volumes:
    """The volumes of one owner.

    Args:
        client: the connection to the daemon.
        helpers: look into volumes and paths.
        owner: the value of our own label.
        ledger: the notes about volumes: a volume has no ID, so its nonce is noted.
        parts: prepares what subPaths name.
    """

    def __init__(
        self,
        client: Client,
        helpers: Helpers,
        owner: str,
        ledger: OwnershipLedger,
        parts: VolumeParts,
    ) -> None:
        self._client = client
        self._helpers = helpers
        self._owner = owner
        self._ledger = ledger
        self._parts = parts
        self._released: set[UnmountVolume] = set()

    async def mount(self, operation: MountVolume) -> None:
        """Make a volume ready for containers."""
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
                # What is there counts as ready the next time.
                await self._remove(UnmountVolume(pod.uid, volume.name))
            raise

    async def unmount(self, operation: UnmountVolume) -> None:
        """Remove a volume, or have that done once nothing of its pod is left."""
        await self._parts.clean(operation.pod_uid, operation.volume_name)
        await self._helpers.remove_left(operation.pod_uid, operation.volume_name)
        await self._remove(operation)

    async def remove_released(self, pod_uid: str) -> None:
        """Remove the volumes of a pod that containers still had when they were to go.

        Docker keeps a volume as long as there is a container with it, though ended.
        """
        for each in [each for each in self._released if each.pod_uid == pod_uid]:
            await self._remove(each)

    async def list(self) -> tuple[PodVolumes, ...]:
        """Return all volumes there are, and what was made to look into one."""
        filters = owned_by(self._owner)
        found = await self._client.call(lambda api: api.volumes(filters=filters))
        volumes = found["Volumes"] or ()
        ours = [each["Labels"] for each in volumes if self._is_ours(each)]
        return self._parts.add_mounted(_by_pod([*ours, *await self._helpers.left()]))

    async def not_ours(self) -> tuple[UnownedVolume, ...]:
        """Return the volumes with our label that are in no note of ours."""
        filters = owned_by(self._owner)
        found = await self._client.call(lambda api: api.volumes(filters=filters))
        return tuple(
            UnownedVolume(
                each["Name"],
                pod_name(labels),
                labels.get(MADE_BY),
                labels.get(NONCE),
                _proof(each),
            )
            for each in found["Volumes"] or ()
            if VOLUME in (labels := each["Labels"] or {}) and not self._is_ours(each)
        )

    def take_over(self, volume: UnownedVolume) -> None:
        """Have a volume be ours because somebody said so."""
        self._ledger.take_over(volume.proof, volume.name)

    async def mounts(
        self, operation: CreateContainer
    ) -> tuple[Mounts, tuple[GuardedPart, ...]]:
        """Return the mounts of a container that is about to be made.

        The second value is what has to be guarded when it is started.

        Raises:
            ContainerConfigError: a subPath leads out of its volume.
        """
        pod, container = operation.pod, operation.container
        sources: dict[VolumeMount, str] = {}
        guarded: list[GuardedPart] = []
        for mount in container.volume_mounts:
            volume = pod.volume(mount.name)
            if volume is None or not mount.sub_path:
                continue
            place = await self._place(pod, volume)
            found = await self._parts.prepare(pod, container, mount, place)
            if isinstance(found, GuardedPart):
                guarded.append(found)
                sources[mount] = found.source
            elif found is not None:
                sources[mount] = found
        mounts = container_mounts(pod, container, self._owner, sources)
        return mounts, tuple(guarded)

    # -- inside

    async def _exists(self, name: str) -> bool:
        """Tell whether a volume is there; raises for one that is not ours."""
        return await self._ours(name) is not None

    async def _ours(self, name: str) -> dict[str, Any] | None:
        """Return a volume, None if it is not there; raises for one that is not ours."""
        found = await find_volume(self._client, name)
        if found is not None and not self._is_ours(found):
            made_by = (found["Labels"] or {}).get(MADE_BY)
            who = f"{made_by} made it" if made_by else "it is in no note of ours"
            raise ContainerRuntimeError(
                f"volume {name} was not made by probetui of this user and is left "
                f"alone: {who}"
            )
        return found

    def _is_ours(self, found: Mapping[str, Any]) -> bool:
        nonce = (found["Labels"] or {}).get(NONCE) or ""
        return self._ledger.owns(_proof(found), found["Name"], nonce)

    async def _create(self, name: str, pod: Pod, volume: Volume) -> None:
        await create_volume(
            self._client,
            self._ledger,
            name,
            driver_options(pod, volume),
            volume_labels(pod, volume, self._owner),
            partial(_proof_of, name),
        )
        # Docker answers with the volume that is there already, should there be one.
        await self._exists(name)

    async def _fill(self, name: str, operation: MountVolume, *, is_new: bool) -> None:
        """Put into a volume what belongs there; what is on disk opens to everybody."""
        pod, volume = operation.pod, operation.volume
        group = pod.security_context.fs_group
        entries: list[Entry] = []
        if isinstance(volume.source, Projected):
            stamp = f"..{operation.at:%Y_%m_%d_%H_%M_%S}.{secrets.randbelow(10**9)}"
            entries = volume_entries(ROOT, operation.files, stamp, group)
        elif is_new and not driver_options(pod, volume):
            entries = [volume_root(ROOT, group)]
        if not entries:
            return
        archive = pack(entries, operation.at, group or 0)
        mounts = whole(name, f"/{ROOT}")
        async with self._helpers.helper(pod, volume.name, mounts) as helper:
            await helper.put(archive)

    async def _remove(self, operation: UnmountVolume) -> None:
        name = volume_name(self._owner, operation.pod_uid, operation.volume_name)
        self._released.discard(operation)
        found = await self._ours(name)
        if found is None:
            return
        try:
            await self._client.call(lambda api: api.remove_volume(name))
        except RefusedError as error:
            if error.status == CONFLICT:
                self._released.add(operation)
                return
            if error.status != NOT_FOUND:
                raise
        self._ledger.forget(_proof(found))

    async def _place(self, pod: Pod, volume: Volume) -> Place:
        if isinstance(volume.source, HostPath):
            return Place("", str(PurePosixPath("/", volume.source.path)))
        docker_name = volume_name(self._owner, pod.uid, volume.name)
        found = await find_volume(self._client, docker_name)
        if found is None:
            raise ContainerRuntimeError(f'volume "{volume.name}" is gone')
        return Place(docker_name, found["Mountpoint"])


def _proof(volume: Mapping[str, Any]) -> str:
    """Return what a volume is noted by: its name together with its nonce.

    Earlier versions gave no nonce. There it is the time of birth, which a later volume
    of that name does not have.
    """
    nonce = (volume["Labels"] or {}).get(NONCE)
    return _proof_of(volume["Name"], nonce or str(volume.get("CreatedAt")))


def _proof_of(name: str, nonce: str) -> str:
    text = f"{name} {nonce}"
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _by_pod(labels: Iterable[Mapping[str, str]]) -> tuple[PodVolumes, ...]:
    by_pod: dict[PodName, set[str]] = {}
    for each in labels:
        if VOLUME in each:
            by_pod.setdefault(pod_name(each), set()).add(each[VOLUME])
    return tuple(
        PodVolumes(pod.uid, pod.name, pod.namespace, tuple(sorted(by_pod[pod])))
        for pod in sorted(by_pod)
    )
