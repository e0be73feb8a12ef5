"""Attaching to existing containers: which match a manifest, and consent."""

from __future__ import annotations

from collections.abc import Sequence

import click
from msgspec import Struct
from msgspec.structs import replace

from probetui.cli.printing import Notes, confirm
from probetui.errors import RuntimeUnavailableError, UsageError
from probetui.k8s.pod import (
    NO_POD_SECURITY_CONTEXT,
    NO_SECURITY_CONTEXT,
    Container,
    Pod,
    PullPolicy,
)
from probetui.manifest.manifests import Manifests
from probetui.manifest.problem import escape_unprintable
from probetui.ports import Clock, UnmanagedContainer, UnmanagedSource
from probetui.runtimes.attached.matching import make_targets
from probetui.runtimes.attached.runtime import AttachedRuntime, TargetMatch

_OF_CREATION = frozenset({"admission", "cluster-stand-in", "no-key", "no-object"})
"""The rules about what a container must have before it is created."""

_MOST_NAMES = 12
_SHORT_ID = 12


class AttachOptions(Struct, frozen=True):
    """The options of `attach`.

    Attributes:
        words: `CONTAINER=NAME_OR_ID` each.
        acts: kills and restarts are carried out.
        waits: wait for containers that are not running.
        asks: ask for confirmation before anything is killed.
        looks_once: only containers that run now are of use.
        has_consent: the user has agreed to it already.
    """

    words: tuple[str, ...] = ()
    acts: bool = False
    waits: bool = True
    asks: bool = False
    looks_once: bool = False
    has_consent: bool = False


def without_creation_fields(pod: Pod) -> Pod:
    """Return a pod without the fields that matter only when containers are created.

    Init containers that are not sidecars have ended before.
    """
    return replace(
        pod,
        init_containers=tuple(_attachable(sidecar) for sidecar in pod.sidecars),
        containers=tuple(_attachable(container) for container in pod.containers),
        volumes=(),
        security_context=NO_POD_SECURITY_CONTEXT,
    )


def without_creation_problems(manifests: Manifests) -> Manifests:
    """Return manifests without the problems that matter only at creation.

    A container that exists has what it needed; the files need not have it, too.
    """
    kept = (
        problem for problem in manifests.problems if problem.rule not in _OF_CREATION
    )
    return replace(manifests, problems=tuple(kept))


def _attachable(container: Container) -> Container:
    return replace(
        container,
        image_pull_policy=PullPolicy.IF_NOT_PRESENT,
        env=tuple(replace(var, value_from=None) for var in container.env),
        env_from=(),
        volume_mounts=(),
        security_context=NO_SECURITY_CONTEXT,
    )


async def attach(
    runtime: UnmanagedSource,
    pods: Sequence[Pod],
    attachment: AttachOptions,
    clock: Clock,
    notes: Notes,
) -> AttachedRuntime:
    """Return a runtime on which the pods are the containers that match.

    Print which do, and which targets have none.

    Raises:
        UsageError: the words match no container, or more than one.
        RuntimeUnavailableError: a container is not running, with `--no-wait`.
        ContainerRuntimeError: the runtime could not be asked.
        UnsupportedError: it has no containers but ours.
    """
    attached = AttachedRuntime(
        runtime,
        make_targets(pods, attachment.words),
        acts=attachment.acts,
        began_at=clock.now(),
    )
    matches = await attached.matches()
    for match in matches:
        _check_is_one(match)
    missing = [match for match in matches if not _runs(match)]
    if missing and not attachment.waits:
        labels = ", ".join(match.target.label for match in missing)
        raise RuntimeUnavailableError(f"not running: {labels} (--no-wait)")
    for match in matches:
        _report_match(match, "" if attachment.looks_once else "; waiting for it", notes)
    if any(match.chosen is None for match in matches):
        _report_others(await attached.list_unmanaged(), matches, notes)
    return attached


async def confirm_actions(
    attached: AttachedRuntime, attachment: AttachOptions, notes: Notes
) -> bool:
    """Return whether containers may be killed; ask for confirmation on a terminal."""
    if not attachment.acts or attachment.has_consent:
        return True
    names = ", ".join(
        _name(match.chosen)
        if match.chosen
        else f"any container that matches {match.target.label}"
        for match in await attached.matches()
    )
    verb = "stop and restart" if attached.can_start else "stop"
    text = f"probes may {verb} {names}"
    if not attachment.asks:
        notes.warning(f"--act: {text}")
        return True
    try:
        return confirm(
            f"P{text[1:]}. Keys can also freeze them or cut their network. Continue?"
        )
    except click.Abort as error:
        raise KeyboardInterrupt from error


def _runs(match: TargetMatch) -> bool:
    return match.chosen is not None and match.chosen.is_running


def _check_is_one(match: TargetMatch) -> None:
    """Raise `UsageError` if several containers match."""
    running = [other for other in match.others if other.is_running]
    if len(running) > 1:
        target = match.target
        names = ", ".join(map(_name, running))
        raise UsageError(
            f"{target.label} matches {names}; "
            f"name one of them: {target.container.name}=ID"
        )


def _report_match(match: TargetMatch, waiting: str, notes: Notes) -> None:
    target, container = match.target, match.chosen
    if container is None:
        notes.warning(f"{target.label}: not found{waiting}")
        return
    state = "" if container.is_running else f", which is not running{waiting}"
    # The name of a cluster's container repeats the label of its target.
    name, label = _name(container), target.label
    name = name.replace(f"{label} (", "container (", 1)
    notes.note(f"{label} is {name}{state}")
    wanted = target.container.image
    image = container.image
    if container.is_named and wanted and image and image != wanted:
        notes.warning(
            f"{target.label}: its image is {escape_unprintable(image)}, "
            f"the manifest says {escape_unprintable(wanted)}"
        )


def _report_others(
    everything: Sequence[UnmanagedContainer],
    matches: Sequence[TargetMatch],
    notes: Notes,
) -> None:
    """List other containers, to help find the right name."""
    chosen = {match.chosen.container_id for match in matches if match.chosen}
    names = [
        escape_unprintable(container.names[0])
        for container in everything
        if container.is_named and container.is_running and container.names
        if container.container_id not in chosen
    ]
    if names:
        more = f" and {len(names) - _MOST_NAMES} more" if names[_MOST_NAMES:] else ""
        notes.note(f"other containers: {', '.join(names[:_MOST_NAMES])}{more}")


def _name(container: UnmanagedContainer) -> str:
    """Return a container's name and the start of its ID."""
    runtime, _, number = container.container_id.partition("://")
    name = escape_unprintable(container.names[0]) if container.names else runtime
    return f"{name} ({number[:_SHORT_ID]})"
