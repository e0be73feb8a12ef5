"""The order in which containers are listed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from enum import StrEnum
from itertools import chain
from operator import itemgetter

from msgspec import Struct

from probetui.engine.snapshot import ContainerSnapshot, PodSnapshot
from probetui.presentation.container.health import SettledHealth, urgency


class ContainerOrder(StrEnum):
    """The order of a list of containers; equal ones keep the manifest's order."""

    WORST = "worst"
    NAME = "name"
    RESTARTS = "restarts"
    NEXT = "next"
    MANIFEST = "manifest"

    @property
    def following(self) -> ContainerOrder:
        """The next order; after the last one, the first."""
        orders = tuple(ContainerOrder)
        return orders[(orders.index(self) + 1) % len(orders)]

    @property
    def words(self) -> str:
        """The name of the order on the screen."""
        return _WORDS[self]


_WORDS = {
    ContainerOrder.MANIFEST: "manifest order",
    ContainerOrder.WORST: "worst first",
    ContainerOrder.NAME: "name",
    ContainerOrder.RESTARTS: "most restarts",
    ContainerOrder.NEXT: "next tick",
}

ContainerPlaces = tuple[tuple[int, int], ...]
Rank = tuple[float | str | tuple[tuple[int, int | str], ...], ...]

_DIGITS = re.compile(r"(\d+)")


class _RankedPod(Struct, frozen=True):
    """The containers of a pod, each with its rank and its indexes."""

    pod: PodSnapshot
    containers: tuple[tuple[Rank, tuple[int, int]], ...]
    is_settled: bool
    """Whether the ranks stay the same as long as the snapshot does."""


class ContainerSorter:
    """Sorts containers, with recent health in mind (`SettledHealth`).

    A pod whose snapshot is the same object as before keeps its ranks.
    """

    def __init__(self) -> None:
        self._health = SettledHealth()
        self._sorted_by: tuple[ContainerOrder, bool] | None = None
        self._ranked: list[_RankedPod] = []
        self._places: ContainerPlaces = ()

    def places(
        self,
        pods: Sequence[PodSnapshot],
        order: ContainerOrder,
        now: datetime,
        *,
        is_reversed: bool = False,
    ) -> ContainerPlaces:
        """Return the containers in order, each as the indexes of pod and container.

        The same object is returned as long as the order does not change.

        Args:
            pods: the pods whose containers are listed.
            order: what they are sorted by.
            now: the instant of the snapshot.
            is_reversed: whether to reverse the order.
        """
        sorted_by = (order, is_reversed)
        known: Sequence[_RankedPod | None] = self._ranked
        if sorted_by != self._sorted_by or len(pods) != len(known):
            known = [None] * len(pods)
        ranked = [
            before
            if before is not None and before.pod is pod and before.is_settled
            else self._rank_pod(index, pod, order, now)
            for index, (pod, before) in enumerate(zip(pods, known, strict=True))
        ]
        has_changed = any(
            old is not new and (old is None or old.containers != new.containers)
            for old, new in zip(known, ranked, strict=True)
        )
        if has_changed or not pods:
            containers = list(chain.from_iterable(pod.containers for pod in ranked))
            containers.sort(key=itemgetter(0), reverse=is_reversed)
            self._places = tuple(place for _, place in containers)
        self._sorted_by, self._ranked = sorted_by, ranked
        return self._places

    def _rank_pod(
        self, pod_index: int, pod: PodSnapshot, order: ContainerOrder, now: datetime
    ) -> _RankedPod:
        ranks = [self._rank(pod, container, order, now) for container in pod.containers]
        places = [(pod_index, index) for index in range(len(ranks))]
        is_settled = order is not ContainerOrder.WORST or self._health.is_settled(pod)
        return _RankedPod(pod, tuple(zip(ranks, places, strict=True)), is_settled)

    def _rank(
        self,
        pod: PodSnapshot,
        container: ContainerSnapshot,
        order: ContainerOrder,
        now: datetime,
    ) -> Rank:
        match order:
            case ContainerOrder.MANIFEST:
                return ()
            case ContainerOrder.WORST:
                return urgency(self._health.of(pod, container, now), container)
            case ContainerOrder.NAME:
                return natural(pod.pod.name), natural(container.container.name)
            case ContainerOrder.RESTARTS:
                return (-(container.status.restart_count if container.status else 0),)
            case ContainerOrder.NEXT:
                return (_next_tick(container),)


def natural(name: str) -> tuple[tuple[int, int | str], ...]:
    """Return a sort key for names by which `svc-2` comes before `svc-10`."""
    return tuple(
        (0, int(part)) if part.isdecimal() else (1, part)
        for part in _DIGITS.split(name)
        if part
    )


def _next_tick(container: ContainerSnapshot) -> float:
    """Return the time of the next tick in seconds since the epoch, or infinity."""
    ticks = [
        probe.next_tick_at.timestamp()
        for probe in container.probes
        if probe.next_tick_at is not None
    ]
    return min(ticks, default=float("inf"))
