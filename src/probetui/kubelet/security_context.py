"""What counts of the security contexts of a pod and of a container.

Source: pkg/securitycontext/util.go, v1.32.10, DetermineEffectiveSecurityContext.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

from probetui.k8s.pod import Container, Pod
from probetui.k8s.security import SecurityContext

T = TypeVar("T")


def effective_security_context(pod: Pod, container: Container) -> SecurityContext:
    """Return a container's security context, with the pod's where it says nothing."""
    own, of_pod = container.security_context, pod.security_context
    return replace(
        own,
        run_as_user=_first(own.run_as_user, of_pod.run_as_user),
        run_as_group=_first(own.run_as_group, of_pod.run_as_group),
        run_as_non_root=_first(own.run_as_non_root, of_pod.run_as_non_root),
        seccomp_profile=_first(own.seccomp_profile, of_pod.seccomp_profile),
    )


def _first(own: T | None, of_pod: T | None) -> T | None:
    return of_pod if own is None else own
