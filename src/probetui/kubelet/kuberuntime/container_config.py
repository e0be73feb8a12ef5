"""Container configs: variables expanded, mounts and security contexts resolved.

Source: kuberuntime/kuberuntime_container.go, generateContainerConfig;
kubelet/container/helpers.go, ExpandContainerCommandAndArgs,
ExpandContainerVolumeMounts; kubelet/kubelet_pods.go, makeMounts; v1.32.10.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from msgspec.structs import replace

from probetui.k8s.environment import ExpansionTooLargeError, expand
from probetui.k8s.pod import Container, EnvVar, Pod, VolumeMount
from probetui.kubelet.kuberuntime.downward_api import PodLocation
from probetui.kubelet.kuberuntime.environment import as_bytes, make_environment
from probetui.kubelet.kuberuntime.expansion import expand_arguments
from probetui.kubelet.kuberuntime.security_context import (
    ImageUser,
    effective_security_context,
    verify_run_as_non_root,
    with_image_user,
)
from probetui.kubelet.object_store import ConfigRefusal, ObjectStore
from probetui.kubelet.runtime.go_format import to_bytes, to_text

Variables = Mapping[bytes, bytes]


def make_container_config(
    pod: Pod,
    container: Container,
    objects: ObjectStore,
    where: PodLocation,
    image_user: ImageUser | None = None,
) -> Container | ConfigRefusal:
    """Return a container that can be created as it is, or why there is none.

    Its variables all have values, its command, arguments and paths in volumes have
    no references any more, and its security context is all that counts of both.
    `image_user` is needed by some, as `needs_image_user` tells; None is not known.
    """
    environment = make_environment(pod, container, objects, where)
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
    """Variables that record which of those looked up have no value."""

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
