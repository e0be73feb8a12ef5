"""Pods on a CRI runtime that other probetuis seem to have made."""

from __future__ import annotations

from collections.abc import Iterable

from probetui.ports import Claim, UnownedPod
from probetui.runtimes.cri.translate import (
    PodName,
    SeenContainer,
    SeenSandbox,
    pod_statuses,
    to_cri_id,
)

Key = tuple[PodName, Claim]


def unowned_pods(
    sandboxes: Iterable[SeenSandbox], containers: Iterable[SeenContainer]
) -> tuple[UnownedPod, ...]:
    """Return them as pods; of one pod, parts with different claims are apart.

    Args:
        sandboxes: those with our label that are in no note of ours.
        containers: likewise.
    """
    parts: dict[Key, tuple[list[SeenSandbox], list[SeenContainer]]] = {}
    for sandbox in sandboxes:
        if sandbox.is_as_we_make_it:
            parts.setdefault(_key(sandbox), ([], []))[0].append(sandbox)
    for container in containers:
        parts.setdefault(_key(container), ([], []))[1].append(container)
    return tuple(_pod(claim, *parts[pod, claim]) for pod, claim in sorted(parts))


def _pod(
    claim: Claim, sandboxes: list[SeenSandbox], containers: list[SeenContainer]
) -> UnownedPod:
    (status,) = pod_statuses(sandboxes, containers)
    makers = [sandbox.made_by for sandbox in sandboxes]
    makers += [container.made_by for container in containers]
    return UnownedPod(
        status,
        claim,
        next(filter(None, makers), ""),
        (
            *(sandbox.status.sandbox_id for sandbox in sandboxes),
            *(to_cri_id(container.status.container_id) for container in containers),
        ),
    )


def _key(seen: SeenSandbox | SeenContainer) -> Key:
    return seen.pod, Claim.ANOTHERS if seen.nonce else Claim.UNVERIFIED
