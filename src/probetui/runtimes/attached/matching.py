"""Which container of somebody else's stands for which container of a pod."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from probetui.errors import UsageError
from probetui.k8s.pod import Container, Pod
from probetui.k8s.runtime import ContainerID
from probetui.kubelet.labels import CONTAINER_NAME, POD_NAME, POD_NAMESPACE
from probetui.ports import ForeignContainer

PROJECTS = ("com.docker.compose.project", "io.podman.compose.project")
SERVICES = ("com.docker.compose.service", "io.podman.compose.service")
"""The labels by which Compose knows its containers again."""

SHORTEST_PREFIX = 4
LONG_ID = 12
"""IDs shorter than this are numbers of processes, of which a part means nothing."""


@dataclass(frozen=True, slots=True)
class Target:
    """A container of a pod, and what was said of where to find it.

    `wanted` is a name, an ID, `KEY=VALUE` of a label or a Compose service; empty leaves
    it to what the names and labels suggest.
    """

    pod: Pod
    container: Container
    wanted: str = ""

    @property
    def label(self) -> str:
        """`pod/container`, for people."""
        return f"{self.pod.name}/{self.container.name}"


Rule = Callable[[ForeignContainer], bool]


def make_targets(pods: Sequence[Pod], words: Sequence[str]) -> tuple[Target, ...]:
    """Return a target for each container, after the words on the command line.

    A word is `CONTAINER=WANTED` or `POD/CONTAINER=WANTED`.

    Raises:
        UsageError: a word is none, or names a container that no pod has, or several
            have.
    """
    targets = {
        (pod.uid, container.name): Target(pod, container)
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
        targets[target.pod.uid, target.container.name] = Target(
            target.pod, target.container, wanted
        )
    return tuple(targets.values())


def _named(name: str, targets: Sequence[Target]) -> Target:
    found = [each for each in targets if name in {each.label, each.container.name}]
    if len(found) == 1:
        return found[0]
    has = ", ".join(each.label if found else each.container.name for each in targets)
    if found:
        raise UsageError(f'several pods have a container "{name}": say one of {has}')
    raise UsageError(f'no container is called "{name}" (has: {has})')


def candidates(
    target: Target, everything: Iterable[ForeignContainer]
) -> tuple[ForeignContainer, ...]:
    """Return what may be meant, by the first rule that finds something.

    What runs comes first, then what is newer.
    """
    everything = tuple(everything)
    rules = _rules_of(target.wanted) if target.wanted else _rules_for(target)
    for rule in rules:
        if found := [each for each in everything if rule(each)]:
            return tuple(sorted(found, key=_rank))
    return ()


def choose(
    found: Sequence[ForeignContainer], current: ContainerID
) -> ForeignContainer | None:
    """Return which one to watch: the one that is watched already, unless it is over.

    One that has ended gives way to one that runs.
    """
    if not found:
        return None
    kept = [each for each in found if each.container_id == current]
    if kept and (kept[0].is_running or not found[0].is_running):
        return kept[0]
    return found[0]


def _rank(container: ForeignContainer) -> tuple[bool, float, str]:
    at = container.created_at.timestamp() if container.created_at else 0.0
    return not container.is_running, -at, container.container_id


def _rules_of(wanted: str) -> Iterator[Rule]:
    """Yield what a person may mean by a word: name, ID, label, service."""
    key, equals, value = wanted.partition("=")
    yield lambda it: wanted in it.names
    yield lambda it: _is_id(wanted, it.container_id)
    if equals:
        yield lambda it: it.labels.get(key) == value
    yield lambda it: wanted in {_service(it), f"{_project(it)}/{_service(it)}"}


def _rules_for(target: Target) -> Iterator[Rule]:
    """Yield what tells a container without being told: labels, then names."""
    pod, name = target.pod, target.container.name
    of_the_pod = {
        POD_NAMESPACE: pod.namespace,
        POD_NAME: pod.name,
        CONTAINER_NAME: name,
    }
    yield lambda it: of_the_pod.items() <= dict(it.labels).items()
    yield lambda it: it.is_named and name in it.names
    yield lambda it: _project(it) == pod.name and _service(it) == name
    yield lambda it: _service(it) == name
    both = {f"{pod.name}-{name}", f"{pod.name}_{name}"}
    yield lambda it: it.is_named and not both.isdisjoint(it.names)


def _is_id(wanted: str, container_id: ContainerID) -> bool:
    number = container_id.partition("://")[2]
    is_prefix = len(wanted) >= SHORTEST_PREFIX and len(number) >= LONG_ID
    return wanted in {number, container_id} or (is_prefix and number.startswith(wanted))


def _service(container: ForeignContainer) -> str:
    return _first_label(container, SERVICES)


def _project(container: ForeignContainer) -> str:
    return _first_label(container, PROJECTS)


def _first_label(container: ForeignContainer, keys: Sequence[str]) -> str:
    found = (container.labels.get(key, "") for key in keys)
    return next((each for each in found if each), "")
