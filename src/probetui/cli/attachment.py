"""What a session attaches to: pods, and the containers that stand for them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import click

from probetui.cli.notes import Notes
from probetui.cli.printing import confirm
from probetui.errors import RuntimeUnavailableError, UsageError
from probetui.k8s.pod import (
    NO_POD_SECURITY_CONTEXT,
    NO_SECURITY_CONTEXT,
    Container,
    Pod,
    PullPolicy,
)
from probetui.manifest.problem import escape
from probetui.ports import Clock, ForeignContainer, ForeignSource, Runtime

if TYPE_CHECKING:
    from probetui.runtimes.attached.runtime import AttachedRuntime, Match

_MOST_NAMES = 12
_SHORT_ID = 12


@dataclass(frozen=True, slots=True)
class Attachment:
    """What the command line says of it.

    Attributes:
        words: `CONTAINER=NAME_OR_ID` each.
        acts: kills and restarts are carried out.
        waits: what does not run yet is waited for.
        asks: a person is there to confirm that something may be killed.
        looks_once: only what runs now is of use.
    """

    words: tuple[str, ...] = ()
    acts: bool = False
    waits: bool = True
    asks: bool = False
    looks_once: bool = False


def attachable(pod: Pod) -> Pod:
    """Return a pod without all that matters only when containers are created.

    Init containers that are no sidecars have done their part before.
    """
    return replace(
        pod,
        init_containers=tuple(_attachable(each) for each in pod.sidecars),
        containers=tuple(_attachable(each) for each in pod.containers),
        volumes=(),
        security_context=NO_POD_SECURITY_CONTEXT,
    )


def _attachable(container: Container) -> Container:
    return replace(
        container,
        image_pull_policy=PullPolicy.IF_NOT_PRESENT,
        env=tuple(replace(each, value_from=None) for each in container.env),
        env_from=(),
        volume_mounts=(),
        security_context=NO_SECURITY_CONTEXT,
    )


async def attach(
    runtime: Runtime,
    pods: Sequence[Pod],
    attachment: Attachment,
    clock: Clock,
    notes: Notes,
) -> AttachedRuntime:
    """Return the runtime on which the pods are those containers that were found.

    What was found is told, and so is what was not.

    Raises:
        UsageError: the words fit no container, or more than one.
        RuntimeUnavailableError: something does not run and is not to be waited for.
        ContainerRuntimeError: the runtime could not be asked.
    """
    # Late: this module is part of every session, though few attach to anything.
    from probetui.runtimes.attached.matching import make_targets  # noqa: PLC0415
    from probetui.runtimes.attached.runtime import AttachedRuntime  # noqa: PLC0415

    if not isinstance(runtime, ForeignSource):
        raise UsageError(f"{runtime.name} has no containers to attach to")
    foreign = runtime.foreign()
    attached = AttachedRuntime(
        runtime,
        foreign,
        make_targets(pods, attachment.words),
        acts=attachment.acts,
        began_at=clock.now(),
    )
    matches = await attached.matches()
    for each in matches:
        _check_is_one(each)
    missing = [each for each in matches if not _runs(each)]
    if missing and not attachment.waits:
        labels = ", ".join(each.target.label for each in missing)
        raise RuntimeUnavailableError(f"not running: {labels} (--no-wait)")
    for each in matches:
        _tell(each, "" if attachment.looks_once else "; waiting for it", notes)
    if any(each.chosen is None for each in matches):
        _tell_others(await foreign.list(), matches, notes)
    return attached


async def is_allowed(
    attached: AttachedRuntime, attachment: Attachment, notes: Notes
) -> bool:
    """Tell whether containers may be killed, asking a person if one is there."""
    if not attachment.acts:
        return True
    names = ", ".join(
        _name(each.chosen) if each.chosen else f"whatever becomes {each.target.label}"
        for each in await attached.matches()
    )
    does = "stopped and started again" if attached.can_start else "stopped"
    text = (
        f"As its probes demand, this will be {does}: {names}. By hand it may also be "
        "frozen and cut off the network, while the session lasts. Go on?"
    )
    if not attachment.asks:
        notes.warning(f"--act: as its probes demand, this will be {does}: {names}")
        return True
    try:
        return confirm(text)
    except click.Abort as error:
        raise KeyboardInterrupt from error


def _runs(match: Match) -> bool:
    return match.chosen is not None and match.chosen.is_running


def _check_is_one(match: Match) -> None:
    """Raise `UsageError` where nothing says which of several is meant."""
    running = [each for each in match.others if each.is_running]
    if len(running) > 1:
        target = match.target
        names = ", ".join(map(_name, running))
        raise UsageError(
            f"{target.label} may be any of {names}; "
            f"say which one: {target.container.name}=ID"
        )


def _tell(match: Match, waiting: str, notes: Notes) -> None:
    target, found = match.target, match.chosen
    if found is None:
        notes.warning(f"{target.label}: not found{waiting}")
        return
    state = "" if found.is_running else f", which does not run{waiting}"
    notes.note(f"{target.label} is {_name(found)}{state}")
    wanted = target.container.image
    if found.is_named and wanted and found.image and found.image != wanted:
        notes.warning(
            f"{target.label}: its image is {escape(found.image)}, "
            f"the manifest says {escape(wanted)}"
        )


def _tell_others(
    everything: Sequence[ForeignContainer], matches: Sequence[Match], notes: Notes
) -> None:
    """Say what else there is, for who looks for the right word."""
    chosen = {each.chosen.container_id for each in matches if each.chosen}
    names = [
        escape(each.names[0])
        for each in everything
        if each.is_named and each.is_running and each.names
        if each.container_id not in chosen
    ]
    if names:
        more = f" and {len(names) - _MOST_NAMES} more" if names[_MOST_NAMES:] else ""
        notes.note(f"there are also: {', '.join(names[:_MOST_NAMES])}{more}")


def _name(container: ForeignContainer) -> str:
    """Return what to call a container: its name, and enough of its ID."""
    runtime, _, number = container.container_id.partition("://")
    name = escape(container.names[0]) if container.names else runtime
    return f"{name} ({number[:_SHORT_ID]})"
