"""Format a container and its probes as `kubectl describe pod` does.

Source: k8s.io/kubectl describe/describe.go, v0.32.10, describeContainers and
DescribeProbe.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal
from urllib.parse import quote

from msgspec.structs import replace

from probetui.k8s.api.quantity import format_quantity
from probetui.k8s.environment import (
    ConfigMapKeyRef,
    FieldRef,
    ResourceFieldRef,
    SecretEnvSource,
    SecretKeyRef,
)
from probetui.k8s.pod import Container, ContainerPort, EnvVar, Pod
from probetui.k8s.probe import (
    ExecAction,
    GRPCAction,
    HTTPGetAction,
    Probe,
    ProbeType,
    TCPSocketAction,
)
from probetui.k8s.runtime import Node
from probetui.k8s.status import (
    ContainerState,
    ContainerStatus,
    Running,
    Terminated,
    Waiting,
)
from probetui.kubelet.kuberuntime.downward_api import container_resource, metadata_field
from probetui.kubelet.runtime.go_format import go_quote, to_bytes
from probetui.presentation.container.status_lines import IMAGE_REASONS
from probetui.presentation.kubectl.text import (
    NONE,
    DescribeRow,
    describe_row,
    format_rfc1123,
    texts,
)
from probetui.presentation.text.spans import Role
from probetui.presentation.text.view import View

_NODE = Node()
"""A node without allocatable resources: kubectl does not read the node either."""


def describe_container(
    pod: Pod, container: Container, status: ContainerStatus | None, view: View
) -> Iterator[DescribeRow]:
    """Yield the rows of one container of a pod."""
    yield describe_row(1, f"{container.name}:")
    if status is not None:
        yield describe_row(2, "Container ID:", status.container_id)
    yield describe_row(2, "Image:", container.image)
    if status is not None:
        yield describe_row(2, "Image ID:", status.image_id)
    yield from _ports(container.ports)
    if profile := container.security_context.seccomp_profile:
        yield describe_row(2, "SeccompProfile:", profile)
    yield from _words("Command", container.command, view)
    yield from _words("Args", container.args, view)
    if status is not None:
        yield from _status(status)
    yield from _amounts("Limits", container.resources.limits)
    yield from _amounts("Requests", container.resources.requests)
    for probe_type in ProbeType:
        probe = container.probe(probe_type)
        if probe is not None:
            yield describe_row(
                2, f"{probe_type}:", describe_probe(_masked(probe, view))
            )
    yield from _environment(pod, container, view)
    yield from _mounts(container)


def _ports(ports: tuple[ContainerPort, ...]) -> Iterator[DescribeRow]:
    shown = [f"{port.container_port}/{port.protocol}" for port in ports]
    on_host = [f"{port.host_port}/{port.protocol}" for port in ports]
    plural = "s" if len(ports) > 1 else ""
    yield describe_row(2, f"Port{plural}:", ", ".join(shown) or NONE)
    yield describe_row(2, f"Host Port{plural}:", ", ".join(on_host) or NONE)


def _words(label: str, words: tuple[str, ...], view: View) -> Iterator[DescribeRow]:
    if words:
        yield describe_row(2, f"{label}:")
    for word in words:
        # Masked before it is split: a secret may have several lines.
        for text in view.mask.text(word).split("\n"):
            yield describe_row(3, text)


def _status(status: ContainerStatus) -> Iterator[DescribeRow]:
    yield from _state("State", status.state)
    if isinstance(status.last_state, Terminated):
        yield from _state("Last State", status.last_state)
    is_ready = Role.SUCCESS if status.ready else Role.WARNING
    yield describe_row(2, "Ready:", str(status.ready), role=is_ready)
    count = Role.WARNING if status.restart_count else Role.PLAIN
    yield describe_row(2, "Restart Count:", str(status.restart_count), role=count)


def _state(label: str, state: ContainerState | None) -> Iterator[DescribeRow]:
    match state:
        case Running(started_at):
            yield describe_row(2, f"{label}:", "Running", role=Role.SUCCESS)
            if started_at is not None:
                yield describe_row(3, "Started:", format_rfc1123(started_at))
        case Terminated():
            yield from _terminated(label, state)
        case Waiting(reason, message):
            yield describe_row(2, f"{label}:", "Waiting", role=Role.WARNING)
            if reason:
                yield describe_row(3, "Reason:", reason, role=Role.WARNING)
            if reason in IMAGE_REASONS and message:
                # kubectl has the message only in the events, which may have expired.
                yield from texts(3, "Message", message.rstrip("\n").split("\n"))
        case None:
            yield describe_row(2, f"{label}:", "Waiting", role=Role.WARNING)


def _terminated(label: str, state: Terminated) -> Iterator[DescribeRow]:
    role = Role.ERROR if state.exit_code else Role.PLAIN
    yield describe_row(2, f"{label}:", "Terminated", role=role)
    if state.reason:
        yield describe_row(3, "Reason:", state.reason, role=role)
    if state.message:
        yield from texts(3, "Message", state.message.rstrip("\n").split("\n"))
    yield describe_row(3, "Exit Code:", str(state.exit_code), role=role)
    for name, at in (("Started", state.started_at), ("Finished", state.finished_at)):
        if at is not None:
            yield describe_row(3, f"{name}:", format_rfc1123(at))


def _amounts(label: str, amounts: Mapping[str, Decimal]) -> Iterator[DescribeRow]:
    if amounts:
        yield describe_row(2, f"{label}:")
    for name in sorted(amounts):
        yield describe_row(3, f"{name}:", format_quantity(amounts[name]))


def _masked(probe: Probe, view: View) -> Probe:
    """Return a probe with a masked path; after URL quoting no secret would match."""
    match probe.handler:
        case HTTPGetAction(path=path) as action:
            return replace(probe, handler=replace(action, path=view.mask.text(path)))
        case _:
            return probe


def _environment(pod: Pod, container: Container, view: View) -> Iterator[DescribeRow]:
    if container.env_from:
        yield describe_row(2, "Environment Variables from:")
    for env_from in container.env_from:
        kind = "Secret" if isinstance(env_from.source, SecretEnvSource) else "ConfigMap"
        prefix = f" with prefix '{env_from.prefix}'" if env_from.prefix else ""
        optional = f"Optional: {str(env_from.source.optional).lower()}"
        yield describe_row(3, env_from.source.name, f"{kind}{prefix}", optional)
    if not container.env:
        yield describe_row(2, "Environment:", NONE)
        return
    yield describe_row(2, "Environment:")
    for variable in container.env:
        yield from _variable(pod, container, variable, view)


def _variable(
    pod: Pod, container: Container, variable: EnvVar, view: View
) -> Iterator[DescribeRow]:
    label = f"{variable.name}:"
    match variable.value_from:
        case None:
            value = view.mask.value(variable.name, variable.value)
            first, *others = value.split("\n")
            yield describe_row(3, label, first)
            for other in others:
                yield describe_row(3, "", other)
        case FieldRef(path) as ref:
            field_value = metadata_field(pod, ref)
            known = field_value if isinstance(field_value, str) else ""
            shown = view.mask.value(variable.name, known)
            yield describe_row(3, label, f"{shown} (v1:{path})")
        case ResourceFieldRef(resource) as source:
            yield describe_row(
                3, label, f"{_resource(pod, container, source)} ({resource})"
            )
        case SecretKeyRef(name, key, optional):
            text = f"<set to the key '{key}' in secret '{name}'>"
            yield describe_row(3, label, text, f"Optional: {str(optional).lower()}")
        case ConfigMapKeyRef(name, key, optional):
            text = f"<set to the key '{key}' of config map '{name}'>"
            yield describe_row(3, label, text, f"Optional: {str(optional).lower()}")


def _resource(pod: Pod, container: Container, ref: ResourceFieldRef) -> str:
    amount = container_resource(pod, container, ref, _NODE)
    if not isinstance(amount, str):
        return ""
    is_limit = ref.resource in {"limits.cpu", "limits.memory"}
    return "node allocatable" if amount == "0" and is_limit else amount


def _mounts(container: Container) -> Iterator[DescribeRow]:
    if not container.volume_mounts:
        yield describe_row(2, "Mounts:", NONE)
        return
    yield describe_row(2, "Mounts:")
    for volume_mount in sorted(
        container.volume_mounts, key=lambda mount: mount.mount_path
    ):
        flags = "ro" if volume_mount.read_only else "rw"
        if volume_mount.sub_path:
            flags += f",path={go_quote(volume_mount.sub_path)}"
        yield describe_row(
            3, f"{volume_mount.mount_path} from {volume_mount.name} ({flags})"
        )


_SAFE_IN_PATH = "$&+,/:;=@-_.~"
"""What Go's net/url does not escape in a path, besides letters and digits."""


def describe_probe(probe: Probe) -> str:
    """Format a probe: `tcp-socket :8080 delay=0s timeout=1s …`."""
    numbers = (
        f"delay={probe.initial_delay_seconds}s timeout={probe.timeout_seconds}s "
        f"period={probe.period_seconds}s #success={probe.success_threshold} "
        f"#failure={probe.failure_threshold}"
    )
    match probe.handler:
        case ExecAction(command):
            return f"exec [{' '.join(command)}] {numbers}"
        case HTTPGetAction():
            return f"http-get {_url(probe.handler)} {numbers}"
        case TCPSocketAction(port, host):
            return f"tcp-socket {host}:{port} {numbers}"
        case GRPCAction(port, service):
            return f"grpc <pod>:{port} {service} {numbers}"
        case None:
            return f"unknown {numbers}"


def _url(action: HTTPGetAction) -> str:
    # As net.JoinHostPort does, which puts brackets around IPv6 addresses.
    host = f"[{action.host}]" if ":" in action.host else action.host
    path = quote(to_bytes(action.path), safe=_SAFE_IN_PATH)
    if path and not path.startswith("/"):
        path = f"/{path}"
    return f"{action.scheme.lower()}://{host}:{action.port}{path}"
