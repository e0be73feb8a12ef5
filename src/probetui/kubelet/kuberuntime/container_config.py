"""Container configs: variables, mounts and security contexts resolved.

Source: kuberuntime/kuberuntime_container.go, generateContainerConfig;
kubelet/container/helpers.go, ExpandContainerCommandAndArgs,
ExpandContainerVolumeMounts; kubelet/kubelet_pods.go, makeMounts,
makeEnvironmentVariables; v1.32.10.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from msgspec.structs import replace

from probetui.k8s.environment import (
    MAX_EXPANSION_BYTES,
    ConfigMapEnvSource,
    ConfigMapKeyRef,
    EnvFrom,
    EnvVarSource,
    ExpansionTooLargeError,
    FieldRef,
    ResourceFieldRef,
    SecretEnvSource,
    SecretKeyRef,
    expand,
)
from probetui.k8s.pod import Container, EnvVar, Pod, VolumeMount
from probetui.k8s.volume import ConfigMap, Secret
from probetui.kubelet.kuberuntime.downward_api import (
    PodLocation,
    container_resource,
    pod_field,
)
from probetui.kubelet.kuberuntime.expansion import expand_arguments
from probetui.kubelet.kuberuntime.security_context import (
    ImageUser,
    effective_security_context,
    verify_run_as_non_root,
    with_image_user,
)
from probetui.kubelet.object_store import ConfigRefusal, ObjectStore
from probetui.kubelet.runtime.go_format import to_bytes, to_text

Environment = Mapping[str, str]
"""Names and values, in the order in which the names were first given."""


def make_environment(
    pod: Pod, container: Container, objects: ObjectStore, location: PodLocation
) -> Environment | ConfigRefusal:
    """Return a container's variables, or why one cannot be resolved.

    Variables of `envFrom` come first and `env` overrides them. A literal value sees the
    variables before it by `$(NAME)`. Optional references to missing objects are
    skipped.

    Difference: there are no services, and so no variables about them.

    Difference: more than 1 MiB of variables is refused. The kubelet passes any amount
    to the runtime, or runs out of memory.
    """
    values = _Values()
    for source in container.env_from:
        entries = _entries(pod.namespace, source, objects)
        if isinstance(entries, ConfigRefusal):
            if entries.is_missing and source.source.optional:
                continue
            return entries
        for key, value in entries.items():
            values.set(f"{source.prefix}{key}", value)
    for variable in container.env:
        resolved = _value(pod, container, variable, values, objects, location)
        if isinstance(resolved, ConfigRefusal):
            if resolved.is_missing and _is_optional(variable.value_from):
                continue
            return resolved
        values.set(variable.name, resolved)
        if values.size > MAX_EXPANSION_BYTES:
            break
    if values.size > MAX_EXPANSION_BYTES:
        limit = f"{MAX_EXPANSION_BYTES >> 20} MiB"
        return ConfigRefusal(f"the variables of the container are larger than {limit}")
    return values.texts


class _Values:
    """Variables resolved so far: as text, and as bytes for references to them."""

    def __init__(self) -> None:
        self.texts: dict[str, str] = {}
        self.blobs: dict[bytes, bytes] = {}
        self.size = 0

    def set(self, name: str, value: str) -> None:
        key, blob = to_bytes(name), to_bytes(value)
        self.size += len(blob) - len(self.blobs.get(key, b""))
        self.size += 0 if key in self.blobs else len(key) + 2
        self.texts[name] = value
        self.blobs[key] = blob


def as_bytes(environment: Environment) -> dict[bytes, bytes]:
    """Return an environment as bytes, for `expand`."""
    return {to_bytes(name): to_bytes(value) for name, value in environment.items()}


def _value(
    pod: Pod,
    container: Container,
    variable: EnvVar,
    before: _Values,
    objects: ObjectStore,
    location: PodLocation,
) -> str | ConfigRefusal:
    if variable.value:
        try:
            return to_text(expand(to_bytes(variable.value), before.blobs))
        except ExpansionTooLargeError as error:
            return ConfigRefusal(f"variable {variable.name} {error}")
    match variable.value_from:
        case None:
            return ""
        case FieldRef() as ref:
            return pod_field(pod, ref, location)
        case ResourceFieldRef() as ref:
            return container_resource(pod, container, ref, location.node)
        case ConfigMapKeyRef(name, key):
            return _entry(objects.config_map(pod.namespace, name), key)
        case SecretKeyRef(name, key):
            return _entry(objects.secret(pod.namespace, name), key)


def _entry(config: ConfigMap | Secret | ConfigRefusal, key: str) -> str | ConfigRefusal:
    if isinstance(config, ConfigRefusal):
        return config
    value = config.data.get(key)
    if value is None:
        kind = type(config).__name__
        where = f"{config.namespace}/{config.name}"
        message = f"couldn't find key {key} in {kind} {where}"
        return ConfigRefusal(message, is_missing=True)
    return value if isinstance(value, str) else to_text(value)


def _entries(
    namespace: str, source: EnvFrom, objects: ObjectStore
) -> Mapping[str, str] | ConfigRefusal:
    match source.source:
        case ConfigMapEnvSource(name):
            config_map = objects.config_map(namespace, name)
            return (
                config_map if isinstance(config_map, ConfigRefusal) else config_map.data
            )
        case SecretEnvSource(name):
            secret = objects.secret(namespace, name)
            if isinstance(secret, ConfigRefusal):
                return secret
            return {key: to_text(value) for key, value in secret.data.items()}


def _is_optional(source: EnvVarSource | None) -> bool:
    return isinstance(source, ConfigMapKeyRef | SecretKeyRef) and source.optional


Variables = Mapping[bytes, bytes]


def make_container_config(
    pod: Pod,
    container: Container,
    objects: ObjectStore,
    location: PodLocation,
    image_user: ImageUser | None = None,
) -> Container | ConfigRefusal:
    """Return a container ready to be created, or why it cannot be.

    All its variables have values, references in its command, arguments and volume paths
    are expanded, and its security context includes the pod's. `image_user` is required
    if `needs_image_user`; None is unknown.
    """
    environment = make_environment(pod, container, objects, location)
    if isinstance(environment, ConfigRefusal):
        return environment
    variables = as_bytes(environment)
    try:
        command = expand_arguments(container.command, variables)
        args = expand_arguments(container.args, variables)
    except ExpansionTooLargeError as error:
        return ConfigRefusal(f'the command of container "{container.name}" {error}')
    mounts = []
    for mount in container.volume_mounts:
        made = _mount(pod, container, mount, variables)
        if isinstance(made, ConfigRefusal):
            return made
        mounts.append(made)
    context = effective_security_context(pod, container)
    refusal = verify_run_as_non_root(pod, container, context, image_user)
    if refusal is not None:
        return refusal
    return replace(
        container,
        command=command,
        args=args,
        env=tuple(EnvVar(name, value) for name, value in environment.items()),
        env_from=(),
        volume_mounts=tuple(mounts),
        security_context=with_image_user(context, image_user),
    )


def _mount(
    pod: Pod, container: Container, mount: VolumeMount, variables: Variables
) -> VolumeMount | ConfigRefusal:
    if pod.volume(mount.name) is None:
        return ConfigRefusal(
            f'cannot find volume "{mount.name}" to mount into container '
            f'"{container.name}"'
        )
    sub_path = mount.sub_path
    if mount.sub_path_expr:
        lookups = _Lookups(variables)
        try:
            sub_path = to_text(expand(to_bytes(mount.sub_path_expr), lookups))
        except ExpansionTooLargeError as error:
            return ConfigRefusal(f'the subPathExpr of volume "{mount.name}" {error}')
        if lookups.missing:
            names = ", ".join(to_text(name) for name in sorted(lookups.missing))
            return ConfigRefusal(f"missing value for {names}")
    if sub_path.startswith("/"):
        return ConfigRefusal(f"error SubPath `{sub_path}` must not be an absolute path")
    if ".." in sub_path.split("/"):
        return ConfigRefusal(
            f"unable to provision SubPath `{sub_path}`: must not contain '..'"
        )
    return replace(mount, sub_path=sub_path, sub_path_expr="")


class _Lookups(Mapping[bytes, bytes]):
    """A mapping of variables that records lookups without a value."""

    def __init__(self, variables: Variables) -> None:
        self._variables = variables
        self.missing: set[bytes] = set()

    def __getitem__(self, name: bytes) -> bytes:
        value = self._variables.get(name, b"")
        if not value:
            self.missing.add(name)
        return value

    def __iter__(self) -> Iterator[bytes]:
        return iter(self._variables)

    def __len__(self) -> int:
        return len(self._variables)
