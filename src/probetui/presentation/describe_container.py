"""A container as `kubectl describe pod` writes it.

Source: k8s.io/kubectl describe/describe.go, v0.32.10, describeContainers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from decimal import Decimal

from probetui.k8s.environment import (
    ConfigMapKeyRef,
    FieldRef,
    ResourceFieldRef,
    SecretEnvSource,
    SecretKeyRef,
)
from probetui.k8s.node import Node
from probetui.k8s.pod import Container, ContainerPort, EnvVar, Pod
from probetui.k8s.probe import HTTPGetAction, Probe, ProbeType
from probetui.k8s.status import (
    ContainerState,
    ContainerStatus,
    Running,
    Terminated,
    Waiting,
)
from probetui.kubelet.downward_api import container_resource, metadata_field
from probetui.kubelet.go_text import go_quote
from probetui.presentation.describe_probe import describe_probe
from probetui.presentation.describe_text import NONE, Row, row, texts
from probetui.presentation.kubectl_times import rfc1123
from probetui.presentation.quantities import quantity_text
from probetui.presentation.spans import Role
from probetui.presentation.view import View

_NODE = Node()
"""Without anything to allocate: kubectl does not look at the node either."""


def describe_container(
    pod: Pod, container: Container, status: ContainerStatus | None, view: View
) -> Iterator[Row]:
    """Yield everything about one container of a pod."""
    yield row(1, f"{container.name}:")
    if status is not None:
        yield row(2, "Container ID:", status.container_id)
    yield row(2, "Image:", container.image)
    if status is not None:
        yield row(2, "Image ID:", status.image_id)
    yield from _ports(container.ports)
    if profile := container.security_context.seccomp_profile:
        yield row(2, "SeccompProfile:", profile)
    yield from _words("Command", container.command, view)
    yield from _words("Args", container.args, view)
    if status is not None:
        yield from _status(status)
    yield from _amounts("Limits", container.resources.limits)
    yield from _amounts("Requests", container.resources.requests)
    for probe_type in ProbeType:
        probe = container.probe(probe_type)
        if probe is not None:
            yield row(2, f"{probe_type}:", describe_probe(_masked(probe, view)))
    yield from _environment(pod, container, view)
    yield from _mounts(container)


def _ports(ports: tuple[ContainerPort, ...]) -> Iterator[Row]:
    shown = [f"{each.container_port}/{each.protocol}" for each in ports]
    on_host = [f"{each.host_port}/{each.protocol}" for each in ports]
    plural = "s" if len(ports) > 1 else ""
    yield row(2, f"Port{plural}:", ", ".join(shown) or NONE)
    yield row(2, f"Host Port{plural}:", ", ".join(on_host) or NONE)


def _words(label: str, words: tuple[str, ...], view: View) -> Iterator[Row]:
    if words:
        yield row(2, f"{label}:")
    for word in words:
        # Masked before it is split: a secret may have several lines.
        for each in view.mask.text(word).split("\n"):
            yield row(3, each)


def _status(status: ContainerStatus) -> Iterator[Row]:
    yield from _state("State", status.state)
    if isinstance(status.last_state, Terminated):
        yield from _state("Last State", status.last_state)
    is_ready = Role.SUCCESS if status.ready else Role.WARNING
    yield row(2, "Ready:", str(status.ready), role=is_ready)
    count = Role.WARNING if status.restart_count else Role.PLAIN
    yield row(2, "Restart Count:", str(status.restart_count), role=count)


def _state(label: str, state: ContainerState | None) -> Iterator[Row]:
    match state:
        case Running(started_at):
            yield row(2, f"{label}:", "Running", role=Role.SUCCESS)
            if started_at is not None:
                yield row(3, "Started:", rfc1123(started_at))
        case Terminated():
            yield from _terminated(label, state)
        case Waiting(reason):
            yield row(2, f"{label}:", "Waiting", role=Role.WARNING)
            if reason:
                yield row(3, "Reason:", reason, role=Role.WARNING)
        case None:
            yield row(2, f"{label}:", "Waiting", role=Role.WARNING)


def _terminated(label: str, state: Terminated) -> Iterator[Row]:
    role = Role.ERROR if state.exit_code else Role.PLAIN
    yield row(2, f"{label}:", "Terminated", role=role)
    if state.reason:
        yield row(3, "Reason:", state.reason, role=role)
    if state.message:
        yield from texts(3, "Message", state.message.rstrip("\n").split("\n"))
    yield row(3, "Exit Code:", str(state.exit_code), role=role)
    for name, at in (("Started", state.started_at), ("Finished", state.finished_at)):
        if at is not None:
            yield row(3, f"{name}:", rfc1123(at))


def _amounts(label: str, amounts: Mapping[str, Decimal]) -> Iterator[Row]:
    if amounts:
        yield row(2, f"{label}:")
    for name in sorted(amounts):
        yield row(3, f"{name}:", quantity_text(amounts[name]))


def _masked(probe: Probe, view: View) -> Probe:
    """Return a probe whose path has no known secret: quoting would disguise it."""
    match probe.handler:
        case HTTPGetAction(path=path) as action:
            return replace(probe, handler=replace(action, path=view.mask.text(path)))
        case _:
            return probe


def _environment(pod: Pod, container: Container, view: View) -> Iterator[Row]:
    if container.env_from:
        yield row(2, "Environment Variables from:")
    for each in container.env_from:
        kind = "Secret" if isinstance(each.source, SecretEnvSource) else "ConfigMap"
        prefix = f" with prefix '{each.prefix}'" if each.prefix else ""
        optional = f"Optional: {str(each.source.optional).lower()}"
        yield row(3, each.source.name, f"{kind}{prefix}", optional)
    if not container.env:
        yield row(2, "Environment:", NONE)
        return
    yield row(2, "Environment:")
    for variable in container.env:
        yield from _variable(pod, container, variable, view)


def _variable(
    pod: Pod, container: Container, variable: EnvVar, view: View
) -> Iterator[Row]:
    label = f"{variable.name}:"
    match variable.value_from:
        case None:
            value = view.mask.value(variable.name, variable.value)
            first, *others = value.split("\n")
            yield row(3, label, first)
            for each in others:
                yield row(3, "", each)
        case FieldRef(path) as ref:
            found = metadata_field(pod, ref)
            known = found if isinstance(found, str) else ""
            shown = view.mask.value(variable.name, known)
            yield row(3, label, f"{shown} (v1:{path})")
        case ResourceFieldRef(resource) as source:
            yield row(3, label, f"{_resource(pod, container, source)} ({resource})")
        case SecretKeyRef(name, key, optional):
            said = f"<set to the key '{key}' in secret '{name}'>"
            yield row(3, label, said, f"Optional: {str(optional).lower()}")
        case ConfigMapKeyRef(name, key, optional):
            said = f"<set to the key '{key}' of config map '{name}'>"
            yield row(3, label, said, f"Optional: {str(optional).lower()}")


def _resource(pod: Pod, container: Container, ref: ResourceFieldRef) -> str:
    found = container_resource(pod, container, ref, _NODE)
    if not isinstance(found, str):
        return ""
    is_limit = ref.resource in {"limits.cpu", "limits.memory"}
    return "node allocatable" if found == "0" and is_limit else found


def _mounts(container: Container) -> Iterator[Row]:
    if not container.volume_mounts:
        yield row(2, "Mounts:", NONE)
        return
    yield row(2, "Mounts:")
    for each in sorted(container.volume_mounts, key=lambda mount: mount.mount_path):
        flags = "ro" if each.read_only else "rw"
        if each.sub_path:
            flags += f",path={go_quote(each.sub_path)}"
        yield row(3, f"{each.mount_path} from {each.name} ({flags})")
