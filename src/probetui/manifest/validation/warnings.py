"""Our own warnings about valid pods."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from lightkube.models import core_v1
from msgspec import Struct, convert

from probetui.k8s.api.codec import MAX_SECONDS
from probetui.k8s.environment import MAX_EXPANSION_BYTES, ExpansionTooLargeError, expand
from probetui.kubelet_rules import PORTED_RULES, KubeletRules
from probetui.manifest.problem import escape_unprintable, quote_short

APP_ARMOR = "container.apparmor.security.beta.kubernetes.io/"


class FieldWarning(Struct, frozen=True):
    """A warning about a field of a pod; `rule` is its stable ID."""

    path: str
    message: str
    rule: str


def lint_pod(
    pod: core_v1.Pod, rules: KubeletRules = PORTED_RULES
) -> Iterator[FieldWarning]:
    """Yield our own warnings about a valid pod."""
    if pod.spec is None:
        return
    if not _has_probe(pod.spec):
        message = "no container has a probe, nothing will be probed"
        yield FieldWarning("spec", message, "no-probe")
    for path, container in containers_with_paths(pod.spec):
        yield from _port_names(container, path)
        yield from _tcp_hooks(container, path)
    for path, seconds in _durations(pod.spec):
        if seconds is not None and seconds > MAX_SECONDS:
            message = f"is {seconds}, counts as {MAX_SECONDS}, which is 68 years"
            yield FieldWarning(path, message, "too-long")
    grace = pod.spec.terminationGracePeriodSeconds
    if grace is not None and grace < 0 and not rules.warns_more:
        message = f"is {grace}, counts as 1 when the pod is stopped"
        yield FieldWarning(
            "spec.terminationGracePeriodSeconds", message, "negative-grace"
        )


def _durations(spec: core_v1.PodSpec) -> Iterator[tuple[str, int | None]]:
    """Yield every duration of 64 bits with its path."""
    yield "spec.terminationGracePeriodSeconds", spec.terminationGracePeriodSeconds
    for path, container in containers_with_paths(spec):
        for name in ("livenessProbe", "startupProbe"):
            probe = getattr(container, name)
            if probe is not None:
                field = f"{path}.{name}.terminationGracePeriodSeconds"
                yield field, probe.terminationGracePeriodSeconds
        lifecycle = container.lifecycle or core_v1.Lifecycle()
        for name in ("postStart", "preStop"):
            hook = getattr(lifecycle, name)
            if hook is not None and hook.sleep is not None:
                yield f"{path}.lifecycle.{name}.sleep.seconds", hook.sleep.seconds


def _has_probe(spec: core_v1.PodSpec) -> bool:
    return any(
        container.livenessProbe or container.readinessProbe or container.startupProbe
        for _, container in containers_with_paths(spec)
    )


def _port_names(container: core_v1.Container, path: str) -> Iterator[FieldWarning]:
    known = [
        container_port.name
        for container_port in container.ports or ()
        if container_port.name
    ]
    for field, port in _dialled_ports(container):
        if isinstance(port, str) and port not in known:
            end = "fails" if ".lifecycle." in field else "errors at every attempt"
            message = (
                f"{quote_short(port)} is not a port name of container"
                f" {quote_short(container.name)} ({_list_names(known)}), so the"
                f" {'hook' if '.lifecycle.' in field else 'probe'} {end}"
            )
            yield FieldWarning(f"{path}{field}", message, "port-name")


def _dialled_ports(container: core_v1.Container) -> Iterator[tuple[str, int | str]]:
    """Yield each port that a probe or HTTP hook connects to, with its path."""
    lifecycle = container.lifecycle or core_v1.Lifecycle()
    handlers = {
        ".livenessProbe": container.livenessProbe,
        ".readinessProbe": container.readinessProbe,
        ".startupProbe": container.startupProbe,
        ".lifecycle.postStart": lifecycle.postStart,
        ".lifecycle.preStop": lifecycle.preStop,
    }
    for path, handler in handlers.items():
        if handler is None:
            continue
        if handler.httpGet is not None:
            yield f"{path}.httpGet.port", handler.httpGet.port
        if handler.tcpSocket is not None and ".lifecycle." not in path:
            yield f"{path}.tcpSocket.port", handler.tcpSocket.port


def _tcp_hooks(container: core_v1.Container, path: str) -> Iterator[FieldWarning]:
    lifecycle = container.lifecycle or core_v1.Lifecycle()
    for name, hook in (
        ("postStart", lifecycle.postStart),
        ("preStop", lifecycle.preStop),
    ):
        if hook is not None and hook.tcpSocket is not None:
            field = f"{path}.lifecycle.{name}.tcpSocket"
            message = (
                "is accepted by Kubernetes, but hooks do not support it: the hook fails"
            )
            yield FieldWarning(field, message, "tcp-hook")


def _list_names(known: Iterable[str]) -> str:
    listed = ", ".join(map(escape_unprintable, known))
    return f"has: {listed}" if listed else "no port has a name"


def containers_with_paths(
    spec: core_v1.PodSpec, start: str = "spec."
) -> Iterator[tuple[str, core_v1.Container]]:
    """Yield every container and its path, init containers first, ephemeral last."""
    for index, container in enumerate(spec.initContainers or ()):
        yield f"{start}initContainers[{index}]", container
    for index, container in enumerate(spec.containers):
        yield f"{start}containers[{index}]", container
    for index, ephemeral in enumerate(spec.ephemeralContainers or ()):
        yield f"{start}ephemeralContainers[{index}]", as_container(ephemeral)


def as_container(ephemeral: core_v1.EphemeralContainer) -> core_v1.Container:
    """Convert an ephemeral container to a container."""
    fields = {
        name: getattr(ephemeral, name)
        for name in core_v1.Container.__struct_fields__
        if getattr(ephemeral, name) is not None
    }
    return convert(fields, core_v1.Container)


_LIMIT = f"{MAX_EXPANSION_BYTES >> 20} MiB"


def find_oversized_values(pod: core_v1.Pod) -> Iterator[FieldWarning]:
    """Yield variables and commands too large to start a program.

    The API server accepts them: `$(A)$(A)` in a row of variables doubles with each, so
    that a few lines expand to gigabytes. Values from ConfigMaps are not known here.
    """
    if pod.spec is None:
        return
    for path, container in containers_with_paths(pod.spec):
        variables: dict[bytes, bytes] = {}
        size = 0
        for index, variable in enumerate(container.env or ()):
            name = _encode(variable.name)
            try:
                variables[name] = expand(_encode(variable.value or ""), variables)
            except ExpansionTooLargeError as error:
                yield FieldWarning(
                    f"{path}.env[{index}].value", str(error), "too-large"
                )
                break
            size += len(name) + len(variables[name])
            if size > MAX_EXPANSION_BYTES:
                message = f"the variables up to here are larger than {_LIMIT}"
                yield FieldWarning(f"{path}.env[{index}].value", message, "too-large")
                break
        else:
            yield from _oversized_commands(container, path, variables)


def _oversized_commands(
    container: core_v1.Container, path: str, variables: Mapping[bytes, bytes]
) -> Iterator[FieldWarning]:
    for field, texts in _expanded_fields(container):
        size = 0
        for index, word in enumerate(texts or ()):
            try:
                size += len(expand(_encode(word), variables))
            except ExpansionTooLargeError as error:
                yield FieldWarning(f"{path}.{field}[{index}]", str(error), "too-large")
                break
            if size > MAX_EXPANSION_BYTES:
                message = f"the arguments up to here are larger than {_LIMIT}"
                yield FieldWarning(f"{path}.{field}[{index}]", message, "too-large")
                break


def _expanded_fields(
    container: core_v1.Container,
) -> Iterator[tuple[str, Iterable[str] | None]]:
    """Yield every command in which variables are expanded."""
    yield "command", container.command
    yield "args", container.args
    for name in ("livenessProbe", "readinessProbe", "startupProbe"):
        probe = getattr(container, name)
        if probe is not None and probe.exec is not None:
            yield f"{name}.exec.command", probe.exec.command


def _encode(text: str) -> bytes:
    return text.encode("utf-8", "replace")
