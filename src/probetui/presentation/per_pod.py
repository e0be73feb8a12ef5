"""What is found out about each pod of a snapshot, and again only if it has changed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

from probetui.engine.snapshot import PodSnapshot

T = TypeVar("T")


def changed_pods(
    pods: Sequence[PodSnapshot], before: Sequence[PodSnapshot]
) -> Sequence[PodSnapshot]:
    """Return the pods that are not in the same place as before, with the same value."""
    if len(pods) != len(before):
        return pods
    return [pod for pod, known in zip(pods, before, strict=True) if pod is not known]


class PerPod(Generic[T]):
    """Remembers one value for each pod, in the order of the pods."""

    def __init__(self, find: Callable[[PodSnapshot], T]) -> None:
        self._find = find
        self._pods: Sequence[PodSnapshot] = ()
        self._values: Sequence[T] = ()

    def of(self, pods: Sequence[PodSnapshot]) -> Sequence[T]:
        """Return the values for pods; a snapshot keeps those that did not change."""
        if len(pods) != len(self._pods):
            self._values = [self._find(pod) for pod in pods]
        else:
            known = zip(pods, self._pods, self._values, strict=True)
            self._values = [
                value if pod is before else self._find(pod)
                for pod, before, value in known
            ]
        self._pods = pods
        return self._values
