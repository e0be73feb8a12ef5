"""A cached listing: containers are inspected only when they may have changed."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from probetui.k8s.pod_source import CONFIG_SOURCE
from probetui.k8s.runtime import RuntimePodStatus
from probetui.kubelet.kuberuntime.labels import (
    DOCKER_ANNOTATION_PREFIX,
    DOCKER_TYPE,
    DOCKER_TYPE_SANDBOX,
)
from probetui.ports import UnownedPod
from probetui.runtimes.daemon_clock import DaemonClock
from probetui.runtimes.docker.client import DockerClient
from probetui.runtimes.docker.ownership import (
    DockerOwnership,
    ListedContainer,
    is_made_by_another,
)
from probetui.runtimes.docker.translate import (
    InspectedContainer,
    owner_filter,
    pod_statuses,
    to_inspected_container,
)
from probetui.runtimes.docker.volumes import DockerVolumes
from probetui.runtimes.translation import (
    MADE_BY,
    OWNER,
    PodName,
    labels_of_pod,
    pod_name_from_labels,
)

CONCURRENT_INSPECTIONS = 8
"""How many inspections may run at the same time, of the client's short calls."""

GOOD_FOR_SECONDS = 60
"""When to inspect a container again that seems unchanged.

Docker's list does not show that a container was restarted between two lists. Its events
do; this is for when nobody reads them.
"""


class _CachedInspection(Struct, frozen=True):
    state: str
    at: float
    container: InspectedContainer


class DockerListing:
    """All containers of one owner, with their last inspections.

    Args:
        client: the connection to the daemon.
        owner: the value of our owner label.
        daemon_clock: converts the daemon's instants.
        ownership: knows which containers with the label are ours.
    """

    def __init__(
        self,
        client: DockerClient,
        owner: str,
        daemon_clock: DaemonClock,
        ownership: DockerOwnership,
    ) -> None:
        self._client = client
        self._daemon_clock = daemon_clock
        self._owner = owner
        self._ownership = ownership
        self._kept: dict[str, _CachedInspection] = {}
        self._limit = asyncio.Semaphore(CONCURRENT_INSPECTIONS)

    async def list_ours(self) -> list[InspectedContainer]:
        """Return all sandboxes and containers of ours, running or not."""
        listed = await self._labelled()
        ours = [
            container
            for container in listed
            if self._ownership.is_listed_as_ours(container)
        ]
        inspections = await asyncio.gather(*map(self._current, ours))
        for docker_id in self._kept.keys() - {container["Id"] for container in ours}:
            self.forget(docker_id)
        return [inspected for inspected in inspections if inspected is not None]

    async def list_unowned(self) -> list[tuple[ListedContainer, InspectedContainer]]:
        """Return the containers that have our label and are not noted as ours."""
        listed = [
            container
            for container in await self._labelled()
            if not self._ownership.is_listed_as_ours(container)
        ]
        inspected = await asyncio.gather(
            *(self.inspect(container["Id"]) for container in listed)
        )
        return [
            (container, details)
            for container, details in zip(listed, inspected, strict=True)
            if details is not None
        ]

    async def _labelled(self) -> list[dict[str, Any]]:
        """Return Docker's list of containers with our label, whoever created them."""
        filters = owner_filter(self._owner)
        noted = self._ownership.noted_before()
        listed: list[dict[str, Any]] = await self._client.call(
            lambda api: api.containers(all=True, filters=filters)
        )
        for docker_id in noted - {container["Id"] for container in listed}:
            if await self.inspect(docker_id) is None:
                self._ownership.forget(docker_id)
        return listed

    async def kubelet_pods(self) -> tuple[str, ...]:
        """Return the namespaces and names of a kubelet's running pods, sorted.

        It uses Docker through cri-dockerd, which has annotations as labels.
        """
        filters = {
            "label": [
                f"{DOCKER_TYPE}={DOCKER_TYPE_SANDBOX}",
                f"{DOCKER_ANNOTATION_PREFIX}{CONFIG_SOURCE}",
            ]
        }
        listed: list[dict[str, Any]] = await self._client.call(
            lambda api: api.containers(filters=filters)
        )
        pods = (
            pod_name_from_labels(container["Labels"])
            for container in listed
            if _is_foreign(container)
        )
        return tuple(sorted(f"{pod.namespace}/{pod.name}" for pod in pods))

    async def sandbox_labels(self) -> dict[str, dict[str, str]]:
        """Return the labels of pods by the ID of each sandbox, whoever made it."""
        filters = owner_filter(self._owner, **{DOCKER_TYPE: DOCKER_TYPE_SANDBOX})
        listed: list[dict[str, Any]] = await self._client.call(
            lambda api: api.containers(all=True, filters=filters)
        )
        return {
            sandbox["Id"]: labels_of_pod(sandbox["Labels"] or {}) for sandbox in listed
        }

    async def inspect(self, docker_id: str) -> InspectedContainer | None:
        """Inspect any container; None if it is gone."""
        inspected = await self._client.call_or_none(
            lambda api: api.inspect_container(docker_id)
        )
        if inspected is None:
            return None
        parsed = to_inspected_container(inspected)
        sandbox, container = parsed.sandbox, parsed.container
        if sandbox is not None:
            sandbox = await self._daemon_clock.sandbox(sandbox)
        if container is not None:
            container = await self._daemon_clock.container(container)
        return replace(parsed, sandbox=sandbox, container=container)

    async def is_ours(self, docker_id: str) -> bool | None:
        """Return whether a container is ours; None if it is gone."""
        if docker_id in self._kept:
            return True
        container = await self.inspect(docker_id)
        if container is None:
            self._ownership.forget(docker_id)
            return None
        return self._ownership.is_ours(docker_id, container.name, container.nonce)

    def forget(self, docker_id: str) -> None:
        """Drop the cached inspection of a container."""
        self._kept.pop(docker_id, None)

    async def _current(self, listed: Mapping[str, Any]) -> InspectedContainer | None:
        docker_id, state = listed["Id"], listed["State"]
        now = asyncio.get_running_loop().time()
        kept = self._kept.get(docker_id)
        if kept and kept.state == state and now - kept.at < GOOD_FOR_SECONDS:
            return kept.container
        async with self._limit:
            container = await self.inspect(docker_id)
        # A container that could not be started is listed as created, too.
        if container is not None and state != "created":
            self._kept[docker_id] = _CachedInspection(state, now, container)
        return container


class UnownedDockerPods:
    """Pods with our label that are not noted as ours, without copies.

    Args:
        listing: lists containers.
        volumes: lists volumes.
        ownership: records the objects that are taken over.
    """

    def __init__(
        self, listing: DockerListing, volumes: DockerVolumes, ownership: DockerOwnership
    ) -> None:
        self._listing = listing
        self._volumes = volumes
        self._ownership = ownership

    async def pods(self) -> tuple[UnownedPod, ...]:
        """Return the pods."""
        parts: dict[PodName, list[InspectedContainer]] = {}
        made_by: dict[PodName, str] = {}
        for listed, container in await self._listing.list_unowned():
            if is_made_by_another(listed):
                parts.setdefault(container.pod, []).append(container)
                made_by.setdefault(container.pod, listed["Labels"].get(MADE_BY, ""))
        for volume in await self._volumes.list_unowned():
            parts.setdefault(volume.pod, [])
            made_by.setdefault(volume.pod, volume.made_by)
        return tuple(
            UnownedPod(
                _status(pod, parts[pod]),
                made_by[pod],
                tuple(part.docker_id for part in parts[pod]),
            )
            for pod in sorted(parts)
        )

    async def take_over(self, pod: UnownedPod) -> None:
        """Record all containers and volumes of a pod as ours, unless they changed."""
        status = pod.status
        name = PodName(status.namespace, status.name, status.pod_uid)
        for listed, container in await self._listing.list_unowned():
            if container.docker_id in pod.things and is_made_by_another(listed):
                self._ownership.take_over(container.docker_id, container.name)
        for volume in await self._volumes.list_unowned():
            if volume.pod == name:
                self._volumes.take_over(volume)


def _status(pod: PodName, parts: list[InspectedContainer]) -> RuntimePodStatus:
    if statuses := pod_statuses(parts):
        return statuses[0]
    return RuntimePodStatus(pod.uid, pod.name, pod.namespace)


def _is_foreign(listed: Mapping[str, Any]) -> bool:
    """Return whether a container in Docker's list has no label of a probetui."""
    return OWNER not in listed["Labels"]
