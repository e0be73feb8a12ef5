"""Pods on Docker that other probetuis seem to have made: listed, and taken over."""

from __future__ import annotations

from probetui.k8s.runtime import RuntimePodStatus
from probetui.ports import Claim, UnownedPod
from probetui.runtimes.docker.listing import Listing
from probetui.runtimes.docker.ownership import DockerOwnership, claim_of
from probetui.runtimes.docker.translate import (
    MADE_BY,
    PodName,
    Seen,
    pod_statuses,
)
from probetui.runtimes.docker.volumes import UnownedVolume, Volumes

Key = tuple[PodName, Claim]


class Unowned:
    """What has our label and is in no note of ours, copies left out.

    Args:
        listing: looks at containers.
        volumes: looks at volumes.
        ownership: notes what is taken over.
    """

    def __init__(
        self, listing: Listing, volumes: Volumes, ownership: DockerOwnership
    ) -> None:
        self._listing = listing
        self._volumes = volumes
        self._ownership = ownership

    async def pods(self) -> tuple[UnownedPod, ...]:
        """Return them as pods; of one pod, parts with different claims are apart."""
        parts: dict[Key, list[Seen]] = {}
        made_by: dict[Key, str] = {}
        for listed, seen in await self._listing.not_ours():
            if (claim := claim_of(listed)) is not None:
                parts.setdefault((seen.pod, claim), []).append(seen)
                labels = listed["Labels"] or {}
                made_by.setdefault((seen.pod, claim), labels.get(MADE_BY, ""))
        for volume in await self._volumes.not_ours():
            parts.setdefault(_key(volume), [])
            made_by.setdefault(_key(volume), volume.made_by or "")
        return tuple(
            UnownedPod(
                _status(pod, parts[pod, claim]),
                claim,
                made_by[pod, claim],
                tuple(part.docker_id for part in parts[pod, claim]),
            )
            for pod, claim in sorted(parts)
        )

    async def take_over(self, pod: UnownedPod) -> None:
        """Note all of a pod as ours, if it still is what it was."""
        status = pod.status
        name = PodName(status.namespace, status.name, status.pod_uid)
        for listed, seen in await self._listing.not_ours():
            if seen.docker_id in pod.things and claim_of(listed) is pod.claim:
                self._ownership.take_over(seen.docker_id, seen.name)
        for volume in await self._volumes.not_ours():
            if _key(volume) == (name, pod.claim):
                self._volumes.take_over(volume)


def _key(volume: UnownedVolume) -> Key:
    return volume.pod, Claim.ANOTHERS if volume.nonce else Claim.UNVERIFIED


def _status(pod: PodName, parts: list[Seen]) -> RuntimePodStatus:
    found = pod_statuses(parts)
    return found[0] if found else RuntimePodStatus(pod.uid, pod.name, pod.namespace)
