"""What the API server accepts and warns about.

Source: pkg/api/pod/warnings.go, v1.32.10, GetWarningsForPod, without what it says of
scheduling and of volume plugins that are gone.
"""

from __future__ import annotations

from collections.abc import Iterator

from lightkube.models import core_v1

from probetui.manifest.problem import quote

Warning_ = tuple[str, str]
"""A field's path and the text about it."""


_MOST_COMPARED = 20
"""A port is compared with so many of its number: with all, warnings are squared."""


def warnings_for(pod: core_v1.Pod) -> Iterator[Warning_]:
    """Yield the warnings about a valid pod, in the API server's order."""
    if pod.spec is None:
        return
    yield from _host_aliases(pod.spec)
    yield from _pull_secrets(pod.spec)
    for path, container in containers_with_paths(pod.spec):
        yield from _environment(container, path)
    yield from _ports(pod.spec)


def containers_with_paths(
    spec: core_v1.PodSpec,
) -> Iterator[tuple[str, core_v1.Container]]:
    """Yield every container with its path, init containers first."""
    for index, container in enumerate(spec.initContainers or ()):
        yield f"spec.initContainers[{index}]", container
    for index, container in enumerate(spec.containers):
        yield f"spec.containers[{index}]", container


def _host_aliases(spec: core_v1.PodSpec) -> Iterator[Warning_]:
    seen: set[str] = set()
    for index, alias in enumerate(spec.hostAliases or ()):
        if alias.ip in seen:
            yield f"spec.hostAliases[{index}].ip", f"duplicate ip {quote(alias.ip)}"
        seen.add(alias.ip)


def _pull_secrets(spec: core_v1.PodSpec) -> Iterator[Warning_]:
    seen: set[str] = set()
    for index, secret in enumerate(spec.imagePullSecrets or ()):
        name = secret.name or ""
        if name in seen:
            path = f"spec.imagePullSecrets[{index}].name"
            yield path, f"duplicate name {quote(name)}"
        seen.add(name)
    for index, secret in enumerate(spec.imagePullSecrets or ()):
        name = secret.name or ""
        if not name:
            path = f"spec.imagePullSecrets[{index}].name"
            yield path, f"invalid empty name {quote(name)}"


def _environment(container: core_v1.Container, path: str) -> Iterator[Warning_]:
    """Warn of a variable that hides an earlier one without using its value."""
    seen: set[str] = set()
    for index, variable in enumerate(container.env or ()):
        reference = f"$({variable.name})"
        value = variable.value or ""
        builds_on = reference in value and value != reference
        if variable.name in seen and (variable.valueFrom or not builds_on):
            text = f"hides previous definition of {quote(variable.name)}"
            yield (
                f"{path}.env[{index}]",
                f"{text}, which may be dropped when using apply",
            )
        seen.add(variable.name)


def _ports(spec: core_v1.PodSpec) -> Iterator[Warning_]:
    seen: dict[tuple[int, str], list[tuple[str, core_v1.ContainerPort]]] = {}
    for path, container in containers_with_paths(spec):
        for index, port in enumerate(container.ports or ()):
            at = f"{path}.ports[{index}]"
            others = seen.setdefault((port.containerPort, port.protocol or ""), [])
            for other_path, other in others:
                clash = _clash(port, other)
                if clash:
                    yield at, f"{clash} port definition with {other_path}"
            if len(others) < _MOST_COMPARED:
                others.append((at, port))


def _clash(port: core_v1.ContainerPort, other: core_v1.ContainerPort) -> str:
    """Return how two declarations of one port disagree, nothing if they do not."""
    addresses = {port.hostIP or "", other.hostIP or ""}
    numbers = {port.hostPort or 0, other.hostPort or 0}
    if len(addresses) == len(numbers) == 1:
        return "duplicate"
    if 0 in numbers:
        return "overlapping"
    if len(numbers) == 1 and "" in addresses:
        return "dangerously ambiguous"
    return ""
