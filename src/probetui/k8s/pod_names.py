"""Names of pods and containers as people type them, looked up among pods.

`web`, `web/app` and `shop/web/app` mean a pod or a container of it, `shop/web` a pod in
a namespace. A colon may stand for each slash. `pod/web` is how kubectl names a pod.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol, TypeVar

from probetui.errors import UsageError
from probetui.suggestions import nearest_hint

_MOST_PARTS = 3
_TYPES = frozenset({"pod", "pods", "po"})


class NamedPod(Protocol):
    """A pod with a name; its containers' names are looked at, too."""

    @property
    def namespace(self) -> str:
        """Its namespace."""

    @property
    def name(self) -> str:
        """Its name in there."""

    def container_names(self) -> Sequence[str]:
        """The names of all its containers."""


class UnknownPodError(UsageError):
    """There is no pod of that name."""


P = TypeVar("P", bound=NamedPod)


def split_name(text: str) -> tuple[str, ...]:
    """Return the one to three parts of a name.

    Raises:
        UsageError: it is no name.
    """
    parts = tuple(text.replace(":", "/").split("/"))
    if not all(parts) or len(parts) > _MOST_PARTS:
        forms = "POD, POD/CONTAINER, NAMESPACE/POD or NAMESPACE/POD/CONTAINER"
        raise UsageError(f'"{text}" is not {forms}')
    return parts


def find_pods(text: str, pods: Iterable[P]) -> tuple[list[P], str]:
    """Return the pods that a name means, and the container, empty for all.

    `a/b` is a container of the pod a where there is one, else the pod of a namespace.

    Raises:
        UsageError: it is no name, or there is no such pod or container.
    """
    parts, known = split_name(text), list(pods)
    is_typed = len(parts) > 1 and parts[0] in _TYPES
    if is_typed and not any(parts[0] in {pod.name, pod.namespace} for pod in known):
        parts = parts[1:]
    name, container, matches = parts[0], "", _called(parts[0], known)
    if len(parts) == _MOST_PARTS:
        namespace, name, container = parts
        matches = [pod for pod in _called(name, known) if pod.namespace == namespace]
    elif len(parts) > 1:
        container = parts[1]
        named = [pod for pod in _called(container, known) if pod.namespace == name]
        if named and not _with(container, matches):
            return named, ""
    if not matches:
        names = list(dict.fromkeys(pod.name for pod in known))
        has = ", ".join(names) or "none"
        hint = nearest_hint(name, names)
        raise UnknownPodError(f'no pod is called "{name}" (has: {has}){hint}')
    if not container:
        return matches, ""
    if not (kept := _with(container, matches)):
        has = ", ".join(matches[0].container_names())
        raise UsageError(
            f'pod "{matches[0].name}" has no container "{container}" (has: {has})'
        )
    return kept, container


def _called(name: str, pods: Iterable[P]) -> list[P]:
    return [pod for pod in pods if pod.name == name]


def _with(container: str, pods: Iterable[P]) -> list[P]:
    return [pod for pod in pods if container in pod.container_names()]
