"""The past of observed pods at an instant, with what became known of it later.

What samples show lies between two of them: an event whose bounds hold the instant may
have happened by then, or not, and is undecided. All others are before it or after it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime

from msgspec.structs import replace

from probetui.analysis.container_history import SessionHistory
from probetui.k8s.status import ContainerStatus, PodStatus
from probetui.kubelet.journal import (
    PROBE_CAUSES,
    ContainerEntry,
    JournalEntry,
    LifecycleStep,
    StateEntry,
    StateField,
    StatusEntry,
    TickEntry,
)

_Undecided = dict[tuple[str, str], ContainerEntry | StateEntry]


def history_at(entries: Sequence[JournalEntry], at: datetime) -> SessionHistory:
    """Return the history of observed pods at an instant."""
    undecided = _undecided(entries, at)
    kept = [entry for entry in entries if _is_of(entry, at, undecided)]
    kept += _first_statuses(entries, kept)
    kept.sort(key=lambda entry: entry.sequence)
    past = SessionHistory(kept)
    past.add_entries(kept, 0)
    past.undecided = undecided
    return past


def _undecided(entries: Sequence[JournalEntry], at: datetime) -> _Undecided:
    """Return of each container what may have happened: a start tells more than a stop.

    A stop tells more than a change of readiness.
    """
    steps = [entry for entry in entries if isinstance(entry, ContainerEntry)]
    ended = {
        step.container_id
        for step in steps
        if step.what is LifecycleStep.EXITED and step.latest <= at
    }
    undecided: _Undecided = {}
    for entry in entries:
        if (
            isinstance(entry, StateEntry)
            and entry.what is StateField.SAMPLED
            and entry.not_before is not None
            and entry.not_before < at < entry.at
        ):
            undecided[entry.pod_uid, entry.container_name] = entry
    for what in (LifecycleStep.STOPPING, LifecycleStep.STARTED):
        for step in steps:
            is_over = what is LifecycleStep.STOPPING and step.container_id in ended
            if step.what is what and step.earliest < at < step.latest and not is_over:
                undecided[step.pod_uid, step.container_name] = step
    return undecided


def _is_of(entry: JournalEntry, at: datetime, undecided: _Undecided) -> bool:
    """Return whether an entry had happened, or says why what is undecided did."""
    match entry:
        case ContainerEntry():
            is_stop = entry.what is LifecycleStep.STOPPING
            stop = undecided.get((entry.pod_uid, entry.container_name))
            return entry.latest <= at or (is_stop and entry is stop)
        case TickEntry(key=key):
            stop = undecided.get((key.pod_uid, key.container_name))
            is_reason = (
                isinstance(stop, ContainerEntry)
                and stop.what is LifecycleStep.STOPPING
                and stop.by is not None
                and PROBE_CAUSES.get(stop.by) is key.probe_type
                and entry.sequence < stop.sequence
                and entry.at <= stop.latest
            )
            return entry.at <= at or is_reason
        case _:
            return entry.at <= at


def _first_statuses(
    entries: Sequence[JournalEntry], kept: Sequence[JournalEntry]
) -> Iterator[StatusEntry]:
    """Yield the first status of each instance that had started and was not seen yet."""
    started = {
        (entry.pod_uid, entry.container_name): entry.container_id
        for entry in kept
        if isinstance(entry, ContainerEntry) and entry.what is LifecycleStep.STARTED
    }
    newest = {entry.pod_uid: entry for entry in kept if isinstance(entry, StatusEntry)}
    for (uid, name), container_id in started.items():
        before = newest.get(uid)
        status = None if before is None else before.status.container(name)
        if status is not None and container_id in status.container_id:
            continue
        for entry in entries:
            if not isinstance(entry, StatusEntry) or entry.pod_uid != uid:
                continue
            first = entry.status.container(name)
            if first is not None and container_id in first.container_id:
                base = entry.status if before is None else before.status
                newest[uid] = replace(entry, status=_with(base, first))
                yield newest[uid]
                before = newest[uid]
                break


def _with(status: PodStatus, own: ContainerStatus) -> PodStatus:
    """Return a status with the state of one container, and of the others as it was."""

    def replaced(
        statuses: tuple[ContainerStatus, ...] | None,
    ) -> tuple[ContainerStatus, ...]:
        return tuple(own if each.name == own.name else each for each in statuses or ())

    if status.container(own.name) is None:
        return replace(
            status, container_statuses=(*(status.container_statuses or ()), own)
        )
    return replace(
        status,
        init_container_statuses=replaced(status.init_container_statuses),
        container_statuses=replaced(status.container_statuses),
    )
