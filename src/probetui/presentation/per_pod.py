"""Values computed from each pod of a snapshot, again only for pods that have changed.

A snapshot reuses the objects of unchanged pods, so identity tells what has changed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

from probetui.engine.snapshot import PodSnapshot

T = TypeVar("T")


def changed_pods(
    pods: Sequence[PodSnapshot], before: Sequence[PodSnapshot]
) -> Sequence[PodSnapshot]:
    """Return the pods that are not the same object at the same index as before."""
    if len(pods) != len(before):
        return pods
    return [pod for pod, known in zip(pods, before, strict=True) if pod is not known]


class PerPod(Generic[T]):
    """Caches one value for each pod, in the order of the pods.

    Args:
        find: computes the value of a pod.
    """

    def __init__(self, find: Callable[[PodSnapshot], T]) -> None:
        self._find = find
        self._pods: Sequence[PodSnapshot] = ()
        self._values: Sequence[T] = ()

    def of(self, pods: Sequence[PodSnapshot]) -> Sequence[T]:
        """Return the values of pods, computed only for those that have changed."""
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
