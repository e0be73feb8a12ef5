"""In which order containers are listed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import StrEnum

from probetui.kubelet.outcome import Result
from probetui.kubelet.snapshot import ContainerSnapshot, PodSnapshot
from probetui.presentation.containers import state
from probetui.presentation.spans import Role
from probetui.presentation.view import View


class Order(StrEnum):
    """What a list of containers is sorted by; those that are alike keep their order."""

    MANIFEST = "manifest"
    WORST = "worst"
    NAME = "name"
    RESTARTS = "restarts"
    NEXT = "next"

    @property
    def following(self) -> Order:
        """The one after this one, around."""
        orders = tuple(Order)
        return orders[(orders.index(self) + 1) % len(orders)]

    @property
    def words(self) -> str:
        """What the list says it is sorted by."""
        return _WORDS[self]


_WORDS = {
    Order.MANIFEST: "as in the manifests",
    Order.WORST: "worst first",
    Order.NAME: "name",
    Order.RESTARTS: "most restarts",
    Order.NEXT: "next tick",
}

Places = tuple[tuple[int, int], ...]
Rank = tuple[float | str, ...]


def sorted_places(
    pods: Sequence[PodSnapshot],
    order: Order,
    view: View,
    *,
    is_reversed: bool = False,
    keeps_pods: bool = False,
) -> Places:
    """Return the places of containers, pod and container, in the order to list them.

    Args:
        pods: the pods whose containers are listed.
        order: what they are sorted by.
        view: how they are looked at.
        is_reversed: the last comes first.
        keeps_pods: containers stay with their pod, which is placed by its first one.
    """
    ranked = [
        (_rank(pod, container, order, view), (at, index))
        for at, pod in enumerate(pods)
        for index, container in enumerate(pod.containers)
    ]
    ranked.sort(key=lambda each: each[0], reverse=is_reversed)
    places = tuple(place for _, place in ranked)
    return tuple(_by_pod(places)) if keeps_pods else places


def _by_pod(places: Places) -> Iterator[tuple[int, int]]:
    pods: dict[int, list[tuple[int, int]]] = {}
    for each in places:
        pods.setdefault(each[0], []).append(each)
    for of_pod in pods.values():
        yield from of_pod


def _rank(
    pod: PodSnapshot, container: ContainerSnapshot, order: Order, view: View
) -> Rank:
    match order:
        case Order.MANIFEST:
            return ()
        case Order.WORST:
            return (_health(pod, container, view),)
        case Order.NAME:
            return pod.pod.name, container.container.name
        case Order.RESTARTS:
            return (-(container.status.restart_count if container.status else 0),)
        case Order.NEXT:
            return (_seconds_to_next(container, view),)


def _health(pod: PodSnapshot, container: ContainerSnapshot, view: View) -> int:
    """Return 0 for what is in trouble, up to 3 for what is well."""
    if state(pod, container, view).role is Role.ERROR:
        return 0
    if any(each.last_result is Result.FAILURE for each in container.probes):
        return 1
    is_ready = container.status is not None and container.status.ready
    return 3 if is_ready else 2


def _seconds_to_next(container: ContainerSnapshot, view: View) -> float:
    waits = [
        (each.next_tick_at - view.now).total_seconds()
        for each in container.probes
        if each.next_tick_at is not None
    ]
    return min(waits, default=float("inf"))
