"""Effective security contexts: of a pod, a container and an image.

Source: pkg/securitycontext/util.go, DetermineEffectiveSecurityContext;
kuberuntime/security_context_others.go, verifyRunAsNonRoot;
kuberuntime/kuberuntime_image.go, getImageUser; v1.32.10.
"""

from __future__ import annotations

from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from probetui.k8s.pod import Container, Pod, SecurityContext
from probetui.kubelet.object_store import ConfigRefusal
from probetui.kubelet.runtime.go_format import go_quote

T = TypeVar("T")
ROOT = 0


class ImageUser(Struct, frozen=True):
    """The user of an image: a number, or else a name."""

    uid: int | None
    name: str = ""


def parse_image_user(text: str) -> ImageUser:
    """Parse the user of an image without its group; an empty user is root."""
    user = text.partition(":")[0]
    if not user:
        return ImageUser(ROOT)
    if user.isascii() and user.isdigit():
        return ImageUser(int(user))
    return ImageUser(None, user)


def effective_security_context(pod: Pod, container: Container) -> SecurityContext:
    """Return a container's security context, with the pod's as its defaults."""
    context, of_pod = container.security_context, pod.security_context
    return replace(
        context,
        run_as_user=_first(context.run_as_user, of_pod.run_as_user),
        run_as_group=_first(context.run_as_group, of_pod.run_as_group),
        run_as_non_root=_first(context.run_as_non_root, of_pod.run_as_non_root),
        seccomp_profile=_first(context.seccomp_profile, of_pod.seccomp_profile),
    )


def needs_image_user(pod: Pod, container: Container) -> bool:
    """Return whether the user of a container's image is needed."""
    context = effective_security_context(pod, container)
    is_asked_for = bool(context.run_as_non_root) or context.run_as_group is not None
    return context.run_as_user is None and is_asked_for


def with_image_user(
    context: SecurityContext, user: ImageUser | None
) -> SecurityContext:
    """Return a security context with the image's user as the default."""
    if context.run_as_user is not None or user is None:
        return context
    return replace(context, run_as_user=user.uid, run_as_user_name=user.name)


def verify_run_as_non_root(
    pod: Pod, container: Container, context: SecurityContext, user: ImageUser | None
) -> ConfigRefusal | None:
    """Return why runAsNonRoot forbids a container, None if it does not.

    An image whose user is unknown is allowed.
    """
    if not context.run_as_non_root:
        return None
    pod_words = go_quote(f"{pod.full_name}({pod.uid})")
    subject = f"(pod: {pod_words}, container: {container.name})"
    if context.run_as_user is not None:
        if context.run_as_user == ROOT:
            return ConfigRefusal(
                f"container's runAsUser breaks non-root policy {subject}"
            )
        return None
    if user is None:
        return None
    if user.uid == ROOT:
        return ConfigRefusal(
            f"container has runAsNonRoot and image will run as root {subject}"
        )
    if user.uid is None:
        return ConfigRefusal(
            f"container has runAsNonRoot and image has non-numeric user ({user.name}), "
            f"cannot verify user is non-root {subject}"
        )
    return None


def _first(own: T | None, of_pod: T | None) -> T | None:
    return of_pod if own is None else own
