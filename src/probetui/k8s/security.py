"""What containers may do, and as whom they run."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SecurityContext:
    """A container's; None is what the pod, the image or the runtime says.

    `run_as_user_name` is the user of the image where that is known by name only.
    """

    run_as_user: int | None = None
    run_as_user_name: str = ""
    run_as_group: int | None = None
    run_as_non_root: bool | None = None
    privileged: bool | None = None
    read_only_root_filesystem: bool | None = None
    allow_privilege_escalation: bool | None = None
    add_capabilities: tuple[str, ...] = ()
    drop_capabilities: tuple[str, ...] = ()
    seccomp_profile: str | None = None


@dataclass(frozen=True, slots=True)
class PodSecurityContext:
    """A pod's: what holds for all containers that say nothing else."""

    run_as_user: int | None = None
    run_as_group: int | None = None
    run_as_non_root: bool | None = None
    supplemental_groups: tuple[int, ...] = ()
    fs_group: int | None = None
    seccomp_profile: str | None = None
