"""The order in which containers are listed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from enum import StrEnum
from operator import itemgetter

from probetui.engine.snapshot import ContainerSnapshot, PodSnapshot
from probetui.presentation.container.health import SettledHealth


class ContainerOrder(StrEnum):
    """What a list of containers is sorted by; those that are alike keep their order."""

    WORST = "worst"
    NAME = "name"
    RESTARTS = "restarts"
    NEXT = "next"
    MANIFEST = "manifest"

    @property
    def following(self) -> ContainerOrder:
        """The one after this one, around."""
        orders = tuple(ContainerOrder)
        return orders[(orders.index(self) + 1) % len(orders)]

    @property
    def words(self) -> str:
        """What the list says it is sorted by."""
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


class ContainerSorter:
    """Puts containers in order; remembers what was bad a moment ago."""

    def __init__(self) -> None:
        self._health = SettledHealth()

    def places(
        self,
        pods: Sequence[PodSnapshot],
        order: ContainerOrder,
        now: datetime,
        *,
        is_reversed: bool = False,
    ) -> ContainerPlaces:
        """Return the places of containers, pod and container, as they are listed.

        Args:
            pods: the pods whose containers are listed.
            order: what they are sorted by.
            now: the instant of the snapshot.
            is_reversed: the last comes first.
        """
        ranked = [
            (self._rank(pod, container, order, now), (at, index))
            for at, pod in enumerate(pods)
            for index, container in enumerate(pod.containers)
        ]
        ranked.sort(key=itemgetter(0), reverse=is_reversed)
        return tuple(place for _, place in ranked)

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
                return (self._health.of(pod, container, now),)
            case ContainerOrder.NAME:
                return natural(pod.pod.name), natural(container.container.name)
            case ContainerOrder.RESTARTS:
                return (-(container.status.restart_count if container.status else 0),)
            case ContainerOrder.NEXT:
                return (_seconds_to_next(container, now),)


def natural(name: str) -> tuple[tuple[int, int | str], ...]:
    """Return what to sort names by, so that `svc-2` comes before `svc-10`."""
    return tuple(
        (0, int(part)) if part.isdecimal() else (1, part)
        for part in _DIGITS.split(name)
        if part
    )


def _seconds_to_next(container: ContainerSnapshot, now: datetime) -> float:
    waits = [
        (probe.next_tick_at - now).total_seconds()
        for probe in container.probes
        if probe.next_tick_at is not None
    ]
    return min(waits, default=float("inf"))
