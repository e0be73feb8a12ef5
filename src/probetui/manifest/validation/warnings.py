"""Warnings about valid pods: the API server's, and our own.

Source: pkg/api/pod/warnings.go, v1.32.10, GetWarningsForPod.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from lightkube.models import core_v1, meta_v1
from msgspec import Struct, convert

from probetui.k8s.api.codec import MAX_SECONDS
from probetui.k8s.environment import MAX_EXPANSION_BYTES, ExpansionTooLargeError, expand
from probetui.kubelet_rules import PORTED_RULES, KubeletRules
from probetui.manifest.problem import escape_unprintable, quote, quote_short
from probetui.manifest.validation.deprecations import (
    ApiWarning,
    affinity_without_selectors,
    annotation_deprecations,
    container_deprecations,
    overhead_fractions,
    pod_seccomp_annotation,
    scheduling_deprecations,
    volume_deprecations,
)
from probetui.manifest.validation.names import check_label

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


_MAX_COMPARED = 20
"""A port is compared with at most this many others of its number, so that the output
stays linear."""


def find_api_warnings(
    pod: core_v1.Pod,
    rules: KubeletRules = PORTED_RULES,
    *,
    named_after: str = "the Pod's hostname",
) -> Iterator[ApiWarning]:
    """Yield the warnings about a valid pod, in the API server's order.

    `named_after` is the use of the name in the API server's words, empty if it does not
    warn about the name.
    """
    if pod.spec is None:
        return
    metadata = pod.metadata or meta_v1.ObjectMeta()
    annotations = metadata.annotations or {}
    if rules.app_armor_fields:
        yield from _app_armor(annotations, pod.spec)
    if rules.warns_of_names and named_after:
        yield from _hostname(metadata.name or "", named_after)
    yield from scheduling_deprecations(pod.spec, rules)
    yield from annotation_deprecations(annotations)
    volumes = pod.spec.volumes or []
    yield from volume_deprecations(volumes, rules)
    if volumes:
        yield from _overlaps(volumes, rules)
    yield from _host_aliases(pod.spec)
    yield from _pull_secrets(pod.spec)
    yield from overhead_fractions(pod.spec)
    yield from pod_seccomp_annotation(annotations, pod.spec)
    for path, container in containers_with_paths(pod.spec):
        yield from container_deprecations(annotations, container, path)
        yield from _hidden_variables(container, path)
    yield from _port_clashes(pod.spec)
    if rules.warns_more:
        yield from _shared_port_names(pod.spec)
        yield from _negative_grace(pod.spec)
    yield from affinity_without_selectors(pod.spec)
    if rules.warns_more and (pod.spec.dnsConfig or pod.spec.hostAliases):
        yield from _addresses(pod.spec)


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


def _app_armor(
    annotations: Mapping[str, str], spec: core_v1.PodSpec
) -> Iterator[ApiWarning]:
    """Yield annotations of AppArmor profiles that should be fields.

    An annotation that equals the pod's field is ignored.
    """
    if spec.os is not None and spec.os.name == "windows":
        return
    if not any(key.startswith(APP_ARMOR) for key in annotations):
        return
    # Late: few pods have one.
    from probetui.manifest.validation.app_armor import (  # noqa: PLC0415
        annotated_profile,
    )

    of_pod = spec.securityContext and spec.securityContext.appArmorProfile
    for _, container in containers_with_paths(spec):
        key = f"{APP_ARMOR}{container.name}"
        own = container.securityContext and container.securityContext.appArmorProfile
        if key not in annotations or own:
            continue
        named = annotated_profile(annotations[key])
        if named is None or named != of_pod:
            text = 'deprecated since v1.30; use the "appArmorProfile" field instead'
            yield f"metadata.annotations[{key}]", text


def _hostname(name: str, named_after: str) -> Iterator[ApiWarning]:
    """Yield the warning about a pod's name that is not a DNS label.

    Source: pkg/registry/core/pod/strategy.go, v1.32.10, WarningsOnCreate.
    """
    wrong = " ".join(check_label(name))
    if wrong:
        text = (
            f"this is used in {named_after}, which can result in surprising behavior;"
            f" a DNS label is recommended: [{wrong}]"
        )
        yield "metadata.name", text


def _overlaps(
    volumes: list[core_v1.Volume], rules: KubeletRules
) -> Iterator[ApiWarning]:
    # Late: most pods have no volumes.
    from probetui.manifest.validation.overlaps import (  # noqa: PLC0415
        files_under_tokens,
        overlapping_files,
    )

    find = overlapping_files if rules.warns_more else files_under_tokens
    yield from find(volumes)


def _addresses(spec: core_v1.PodSpec) -> Iterator[ApiWarning]:
    # Late: few pods have any.
    from probetui.manifest.validation.addresses import odd_addresses  # noqa: PLC0415

    yield from odd_addresses(spec)


def _negative_grace(spec: core_v1.PodSpec) -> Iterator[ApiWarning]:
    if (spec.terminationGracePeriodSeconds or 0) < 0:
        text = "must be >= 0; negative values are invalid and will be treated as 1"
        yield "spec.terminationGracePeriodSeconds", text


def _host_aliases(spec: core_v1.PodSpec) -> Iterator[ApiWarning]:
    seen: set[str] = set()
    for index, alias in enumerate(spec.hostAliases or ()):
        if alias.ip in seen:
            yield f"spec.hostAliases[{index}].ip", f"duplicate ip {quote(alias.ip)}"
        seen.add(alias.ip)


def _pull_secrets(spec: core_v1.PodSpec) -> Iterator[ApiWarning]:
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


def _hidden_variables(container: core_v1.Container, path: str) -> Iterator[ApiWarning]:
    """Yield variables that hide an earlier one without using its value."""
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


def _port_clashes(spec: core_v1.PodSpec) -> Iterator[ApiWarning]:
    seen: dict[tuple[int, str], list[tuple[str, core_v1.ContainerPort]]] = {}
    for path, container in containers_with_paths(spec):
        for index, port in enumerate(container.ports or ()):
            at = f"{path}.ports[{index}]"
            if port.hostIP and not port.hostPort:
                yield at, f"hostIP set without hostPort: {_go_port(port)}"
            others = seen.setdefault((port.containerPort, port.protocol or ""), [])
            for other_path, other in others:
                clash = _describe_clash(port, other)
                if clash:
                    yield at, f"{clash} port definition with {other_path}"
            if len(others) < _MAX_COMPARED:
                others.append((at, port))


def _shared_port_names(spec: core_v1.PodSpec) -> Iterator[ApiWarning]:
    """Yield port names that an earlier container or port has already.

    Quirk, kept: an init container that is not a sidecar ends the search.

    Source: pkg/apis/core/pods/helpers.go, VisitContainersAndSidecarContainersWithPath.
    """
    first: dict[str, str] = {}
    for path, container in _containers_and_sidecars(spec):
        for index, port in enumerate(container.ports or ()):
            at = f"{path}.ports[{index}]"
            if not port.name:
                continue
            other = first.setdefault(port.name, at)
            if other != at:
                start = f"duplicate port name {quote(port.name)} with {other}"
                end = f"services and probes that select ports by name will use {other}"
                yield at, f"{start}, {end}"


def _containers_and_sidecars(
    spec: core_v1.PodSpec,
) -> Iterator[tuple[str, core_v1.Container]]:
    for index, container in enumerate(spec.initContainers or ()):
        if container.restartPolicy != "Always":
            return
        yield f"spec.initContainers[{index}]", container
    for index, container in enumerate(spec.containers):
        yield f"spec.containers[{index}]", container


def _go_port(port: core_v1.ContainerPort) -> str:
    """Return a port as Go prints a struct."""
    fields = {
        "Name": port.name or "",
        "HostPort": port.hostPort or 0,
        "ContainerPort": port.containerPort,
        "Protocol": port.protocol,
        "HostIP": port.hostIP,
    }
    return f"{{{' '.join(f'{name}:{value}' for name, value in fields.items())}}}"


def _describe_clash(port: core_v1.ContainerPort, other: core_v1.ContainerPort) -> str:
    """Return how two declarations of one port conflict, empty if they do not."""
    addresses = {port.hostIP or "", other.hostIP or ""}
    numbers = {port.hostPort or 0, other.hostPort or 0}
    if len(addresses) == len(numbers) == 1:
        return "duplicate"
    if 0 in numbers:
        return "overlapping"
    if len(numbers) == 1 and "" in addresses:
        return "dangerously ambiguous"
    return ""


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
