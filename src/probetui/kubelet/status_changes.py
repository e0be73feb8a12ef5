"""What a person wants to hear of when a pod's status changes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from probetui.k8s.status import PodStatus
from probetui.kubelet.journal import What


class StatusChange(NamedTuple):
    """One thing of a status that is not what it was."""

    container_name: str
    subject: str
    what: What
    before: str
    after: str


def status_changes(old: PodStatus | None, new: PodStatus) -> Iterator[StatusChange]:
    """Yield what changed between two statuses of a pod."""
    before = "" if old is None else old.phase
    if before != new.phase:
        yield StatusChange("", "", What.PHASE, before, new.phase)
    for condition in new.conditions:
        known = None if old is None else old.condition(condition.type)
        was = "" if known is None else known.status
        if was != condition.status:
            yield StatusChange(
                "", condition.type, What.CONDITION, was, condition.status
            )
    for status in (
        *(new.init_container_statuses or ()),
        *(new.container_statuses or ()),
    ):
        earlier = None if old is None else old.container(status.name)
        was_ready = earlier is not None and earlier.ready
        if was_ready is not status.ready:
            yield StatusChange(
                status.name, "", What.READY, _word(was_ready), _word(status.ready)
            )
        was_started = earlier is not None and bool(earlier.started)
        if was_started is not bool(status.started):
            yield StatusChange(
                status.name,
                "",
                What.STARTED,
                _word(was_started),
                _word(bool(status.started)),
            )


def _word(flag: bool) -> str:  # noqa: FBT001  # the flag is the thing to be said
    return "true" if flag else "false"
