"""A container as the runtime gets it: nothing in it is left to be looked up.

Source: kuberuntime/kuberuntime_container.go, generateContainerConfig;
kubelet/container/helpers.go, ExpandContainerCommandAndArgs,
ExpandContainerVolumeMounts; kubelet/kubelet_pods.go, makeMounts; v1.32.10.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from probetui.k8s.expansion import ExpansionTooLargeError, expand
from probetui.k8s.pod import Container, EnvVar, Pod, VolumeMount
from probetui.kubelet.downward_api import Whereabouts
from probetui.kubelet.environment import as_bytes, make_environment
from probetui.kubelet.expansion import expand_words
from probetui.kubelet.go_text import to_bytes, to_text
from probetui.kubelet.objects import Objects, Refusal
from probetui.kubelet.security_context import (
    ImageUser,
    effective_security_context,
    verify_run_as_non_root,
    with_image_user,
)

Variables = Mapping[bytes, bytes]


def make_container_config(
    pod: Pod,
    container: Container,
    objects: Objects,
    where: Whereabouts,
    image_user: ImageUser | None = None,
) -> Container | Refusal:
    """Return a container that can be created as it is, or why there is none.

    Its variables all have values, its command, arguments and paths in volumes have
    no references any more, and its security context is all that counts of both.
    `image_user` is needed by some, as `needs_image_user` tells; None is not known.
    """
    environment = make_environment(pod, container, objects, where)
    if isinstance(environment, Refusal):
        return environment
    variables = as_bytes(environment)
    try:
        command = expand_words(container.command, variables)
        args = expand_words(container.args, variables)
    except ExpansionTooLargeError as error:
        return Refusal(f'the command of container "{container.name}" {error}')
    mounts = []
    for mount in container.volume_mounts:
        made = _mount(pod, container, mount, variables)
        if isinstance(made, Refusal):
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
) -> VolumeMount | Refusal:
    if pod.volume(mount.name) is None:
        return Refusal(
            f'cannot find volume "{mount.name}" to mount into container '
            f'"{container.name}"'
        )
    sub_path = mount.sub_path
    if mount.sub_path_expr:
        lookups = _Lookups(variables)
        try:
            sub_path = to_text(expand(to_bytes(mount.sub_path_expr), lookups))
        except ExpansionTooLargeError as error:
            return Refusal(f'the subPathExpr of volume "{mount.name}" {error}')
        if lookups.missing:
            names = ", ".join(to_text(each) for each in sorted(lookups.missing))
            return Refusal(f"missing value for {names}")
    if sub_path.startswith("/"):
        return Refusal(f"error SubPath `{sub_path}` must not be an absolute path")
    if ".." in sub_path.split("/"):
        return Refusal(
            f"unable to provision SubPath `{sub_path}`: must not contain '..'"
        )
    return replace(mount, sub_path=sub_path, sub_path_expr="")


class _Lookups(Mapping[bytes, bytes]):
    """Variables that remember which of those asked for have no value."""

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
