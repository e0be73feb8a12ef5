"""Match unmanaged containers with the containers of a pod."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from msgspec import Struct

from probetui.errors import UsageError
from probetui.k8s.pod import Container, Pod
from probetui.k8s.runtime import ContainerID
from probetui.kubelet.kuberuntime.labels import CONTAINER_NAME, POD_NAME, POD_NAMESPACE
from probetui.ports import UnmanagedContainer

PROJECTS = ("com.docker.compose.project", "io.podman.compose.project")
SERVICES = ("com.docker.compose.service", "io.podman.compose.service")
"""The labels of Compose projects and services."""

SHORTEST_PREFIX = 4
LONG_ID = 12
"""Shorter IDs are PIDs, which are not matched by prefix."""


class AttachTarget(Struct, frozen=True):
    """A container of a pod, and the criteria for the container that stands for it.

    `wanted` is a name, an ID, `KEY=VALUE` of a label, a Compose service or a pod, whose
    container of this name is meant; empty matches by labels and names.
    """

    pod: Pod
    container: Container
    wanted: str = ""

    @property
    def label(self) -> str:
        """`pod/container`."""
        return f"{self.pod.name}/{self.container.name}"


Rule = Callable[[UnmanagedContainer], bool]


def make_targets(pods: Sequence[Pod], words: Sequence[str]) -> tuple[AttachTarget, ...]:
    """Return a target for each container, with the mappings of the command line.

    A mapping is `CONTAINER=WANTED` or `POD/CONTAINER=WANTED`.

    Raises:
        UsageError: a mapping is malformed, or its container is in no or several pods.
    """
    targets = {
        (pod.uid, container.name): AttachTarget(pod, container)
        for pod in pods
        for container in pod.all_containers()
    }
    for word in words:
        name, equals, wanted = word.partition("=")
        if not (name and equals and wanted):
            raise UsageError(
                f'"{word}" is not CONTAINER=NAME_OR_ID, as in web=shop-web-1'
            )
        target = _named(name, list(targets.values()))
        targets[target.pod.uid, target.container.name] = AttachTarget(
            target.pod, target.container, wanted
        )
    return tuple(targets.values())


def _named(name: str, targets: Sequence[AttachTarget]) -> AttachTarget:
    matches = [
        target for target in targets if name in {target.label, target.container.name}
    ]
    if len(matches) == 1:
        return matches[0]
    has = ", ".join(
        target.label if matches else target.container.name for target in targets
    )
    if matches:
        raise UsageError(f'several pods have a container "{name}": use one of {has}')
    raise UsageError(f'no container is called "{name}" (has: {has})')


def find_candidates(
    target: AttachTarget, everything: Iterable[UnmanagedContainer]
) -> tuple[UnmanagedContainer, ...]:
    """Return the matches of the first rule that has any.

    Running containers come first, then newer ones.
    """
    everything = tuple(everything)
    rules = (
        _rules_for_word(target.wanted, target.container.name)
        if target.wanted
        else _rules_for_target(target)
    )
    for rule in rules:
        if matches := [container for container in everything if rule(container)]:
            return tuple(sorted(matches, key=_rank))
    return ()


def choose_candidate(
    candidates: Sequence[UnmanagedContainer], current: ContainerID
) -> UnmanagedContainer | None:
    """Return the container to use: the current one, unless only another one runs."""
    if not candidates:
        return None
    kept = [container for container in candidates if container.container_id == current]
    if kept and (kept[0].is_running or not candidates[0].is_running):
        return kept[0]
    return candidates[0]


def _rank(container: UnmanagedContainer) -> tuple[bool, float, str]:
    at = container.created_at.timestamp() if container.created_at else 0.0
    return not container.is_running, -at, container.container_id


def _rules_for_word(wanted: str, name: str) -> Iterator[Rule]:
    """Yield the rules for a given word: name, ID, label, service, pod."""
    key, equals, value = wanted.partition("=")
    yield lambda container: wanted in container.names
    yield lambda container: _is_id(wanted, container.container_id)
    if equals:
        yield lambda container: container.labels.get(key) == value
    yield (
        lambda container: (
            wanted
            in {_service(container), f"{_project(container)}/{_service(container)}"}
        )
    )
    yield lambda container: wanted in _pod_names(container, name)


def _rules_for_target(target: AttachTarget) -> Iterator[Rule]:
    """Yield the rules without a given word: labels, then names."""
    pod, name = target.pod, target.container.name
    of_the_pod = {
        POD_NAMESPACE: pod.namespace,
        POD_NAME: pod.name,
        CONTAINER_NAME: name,
    }
    yield lambda container: of_the_pod.items() <= dict(container.labels).items()
    yield lambda container: container.is_named and name in container.names
    yield (
        lambda container: (
            _project(container) == pod.name and _service(container) == name
        )
    )
    yield lambda container: _service(container) == name
    both = {f"{pod.name}-{name}", f"{pod.name}_{name}"}
    yield lambda container: container.is_named and not both.isdisjoint(container.names)


def _is_id(wanted: str, container_id: ContainerID) -> bool:
    number = container_id.partition("://")[2]
    is_prefix = len(wanted) >= SHORTEST_PREFIX and len(number) >= LONG_ID
    return wanted in {number, container_id} or (is_prefix and number.startswith(wanted))


def _pod_names(container: UnmanagedContainer, name: str) -> set[str]:
    """Return what a container's pod is called where the container has this name."""
    labels = container.labels
    pod, has = labels.get(POD_NAME, ""), labels.get(CONTAINER_NAME, "")
    full = f"{labels.get(POD_NAMESPACE, '')}/{pod}"
    of_the_container = {f"{pod}/{has}", f"{full}/{has}"}
    return of_the_container | {pod, full} if name == has else of_the_container


def _service(container: UnmanagedContainer) -> str:
    return _first_label(container, SERVICES)


def _project(container: UnmanagedContainer) -> str:
    return _first_label(container, PROJECTS)


def _first_label(container: UnmanagedContainer, keys: Sequence[str]) -> str:
    values = (container.labels.get(key, "") for key in keys)
    return next(filter(None, values), "")
