"""Our own warnings about valid pods."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from lightkube.models import core_v1
from msgspec import convert

from probetui.k8s.api.codec import MAX_SECONDS
from probetui.k8s.environment import MAX_EXPANSION_BYTES, ExpansionTooLargeError, expand
from probetui.kubelet_rules import PORTED_RULES, KubeletRules
from probetui.manifest.problem import escape_unprintable, quote_short
from probetui.manifest.validation.field_error import FieldWarning
from probetui.manifest.validation.rules import (
    Always,
    Context,
    Each,
    IfSet,
    Rules,
    When,
    find_warnings,
)

APP_ARMOR = "container.apparmor.security.beta.kubernetes.io/"


def lint_pod(
    pod: core_v1.Pod, rules: KubeletRules = PORTED_RULES
) -> list[FieldWarning]:
    """Return our own warnings about a valid pod."""
    if pod.spec is None:
        return []
    warnings: list[FieldWarning] = find_warnings(POD, pod, Context(rules))
    return warnings


def _no_probe(spec: core_v1.PodSpec) -> Iterator[FieldWarning]:
    if not _has_probe(spec):
        message = "no container has a probe, nothing will be probed"
        yield FieldWarning("", message, "no-probe")


def _too_long(seconds: int) -> Iterator[FieldWarning]:
    """Warn of a duration that is shorter here than its 64 bits say."""
    if seconds > MAX_SECONDS:
        message = f"is {seconds}, counts as {MAX_SECONDS}, which is 68 years"
        yield FieldWarning("", message, "too-long")


def _negative_grace(seconds: int) -> Iterator[FieldWarning]:
    if seconds < 0:
        message = f"is {seconds}, counts as 1 when the pod is stopped"
        yield FieldWarning("", message, "negative-grace")


def _has_probe(spec: core_v1.PodSpec) -> bool:
    return any(
        container.livenessProbe or container.readinessProbe or container.startupProbe
        for _, container in containers_with_paths(spec)
    )


def _port_names(container: core_v1.Container) -> Iterator[FieldWarning]:
    known = [
        container_port.name
        for container_port in container.ports or ()
        if container_port.name
    ]
    for field, port in _dialled_ports(container):
        if isinstance(port, str) and port not in known:
            is_hook = field.startswith("lifecycle.")
            end = "fails" if is_hook else "errors at every attempt"
            message = (
                f"{quote_short(port)} is not a port name of container"
                f" {quote_short(container.name)} ({_list_names(known)}), so the"
                f" {'hook' if is_hook else 'probe'} {end}"
            )
            yield FieldWarning(field, message, "port-name")


def _dialled_ports(container: core_v1.Container) -> Iterator[tuple[str, int | str]]:
    """Yield each port that a probe or HTTP hook connects to, with its path."""
    lifecycle = container.lifecycle or core_v1.Lifecycle()
    handlers = {
        "livenessProbe": container.livenessProbe,
        "readinessProbe": container.readinessProbe,
        "startupProbe": container.startupProbe,
        "lifecycle.postStart": lifecycle.postStart,
        "lifecycle.preStop": lifecycle.preStop,
    }
    for path, handler in handlers.items():
        if handler is None:
            continue
        if handler.httpGet is not None:
            yield f"{path}.httpGet.port", handler.httpGet.port
        if handler.tcpSocket is not None and not path.startswith("lifecycle."):
            yield f"{path}.tcpSocket.port", handler.tcpSocket.port


def _tcp_hook(_: core_v1.TCPSocketAction) -> Iterator[FieldWarning]:
    message = "is accepted by Kubernetes, but hooks do not support it: the hook fails"
    yield FieldWarning("", message, "tcp-hook")


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


_HOOKS = ("postStart", "preStop")
_EACH_CONTAINER = ("initContainers", "containers", "ephemeralContainers")
_GRACE = "terminationGracePeriodSeconds"
_FIELDS = Rules(
    core_v1.Container | core_v1.EphemeralContainer,
    _port_names,
    IfSet(
        "lifecycle", *(IfSet(hook, IfSet("tcpSocket", _tcp_hook)) for hook in _HOOKS)
    ),
)
_DURATIONS = Rules(
    core_v1.Container | core_v1.EphemeralContainer,
    IfSet("livenessProbe", IfSet(_GRACE, _too_long)),
    IfSet("startupProbe", IfSet(_GRACE, _too_long)),
    IfSet(
        "lifecycle",
        *(IfSet(hook, IfSet("sleep", IfSet("seconds", _too_long))) for hook in _HOOKS),
    ),
)
POD = Rules(
    core_v1.Pod,
    Always(
        "spec",
        _no_probe,
        *(Each(containers, _FIELDS) for containers in _EACH_CONTAINER),
        IfSet(_GRACE, _too_long),
        *(Each(containers, _DURATIONS) for containers in _EACH_CONTAINER),
        When(
            lambda context: not context.version.warns_more,
            IfSet(_GRACE, _negative_grace),
        ),
    ),
)

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
