"""The order in which containers are listed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import StrEnum
from operator import itemgetter

from probetui.engine.snapshot import ContainerSnapshot, PodSnapshot
from probetui.kubelet.outcome import Result
from probetui.presentation.container.table import state
from probetui.presentation.text.spans import Role
from probetui.presentation.text.view import View


class ContainerOrder(StrEnum):
    """What a list of containers is sorted by; those that are alike keep their order."""

    MANIFEST = "manifest"
    WORST = "worst"
    NAME = "name"
    RESTARTS = "restarts"
    NEXT = "next"

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
Rank = tuple[float | str, ...]


def sorted_places(
    pods: Sequence[PodSnapshot],
    order: ContainerOrder,
    view: View,
    *,
    is_reversed: bool = False,
    keeps_pods: bool = False,
) -> ContainerPlaces:
    """Return the places of containers, pod and container, in the order to list them.

    Args:
        pods: the pods whose containers are listed.
        order: what they are sorted by.
        view: how they are shown.
        is_reversed: the last comes first.
        keeps_pods: containers stay with their pod, which is placed by its first one.
    """
    ranked = [
        (_rank(pod, container, order, view), (at, index))
        for at, pod in enumerate(pods)
        for index, container in enumerate(pod.containers)
    ]
    ranked.sort(key=itemgetter(0), reverse=is_reversed)
    places = tuple(place for _, place in ranked)
    return tuple(_by_pod(places)) if keeps_pods else places


def _by_pod(places: ContainerPlaces) -> Iterator[tuple[int, int]]:
    pods: dict[int, list[tuple[int, int]]] = {}
    for place in places:
        pods.setdefault(place[0], []).append(place)
    for of_pod in pods.values():
        yield from of_pod


def _rank(
    pod: PodSnapshot, container: ContainerSnapshot, order: ContainerOrder, view: View
) -> Rank:
    match order:
        case ContainerOrder.MANIFEST:
            return ()
        case ContainerOrder.WORST:
            return (_health(pod, container, view),)
        case ContainerOrder.NAME:
            return pod.pod.name, container.container.name
        case ContainerOrder.RESTARTS:
            return (-(container.status.restart_count if container.status else 0),)
        case ContainerOrder.NEXT:
            return (_seconds_to_next(container, view),)


def _health(pod: PodSnapshot, container: ContainerSnapshot, view: View) -> int:
    """Return 0 for what is in trouble, up to 3 for what is well."""
    if state(pod, container, view).role is Role.ERROR:
        return 0
    if any(probe.last_result is Result.FAILURE for probe in container.probes):
        return 1
    is_ready = container.status is not None and container.status.ready
    return 3 if is_ready else 2


def _seconds_to_next(container: ContainerSnapshot, view: View) -> float:
    waits = [
        (probe.next_tick_at - view.now).total_seconds()
        for probe in container.probes
        if probe.next_tick_at is not None
    ]
    return min(waits, default=float("inf"))
