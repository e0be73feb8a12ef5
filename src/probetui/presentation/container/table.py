"""Format pods and containers as the cells of a table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime, timedelta

from msgspec import Struct

from probetui.durations import format_age, format_brief_age, format_countdown
from probetui.engine.snapshot import ContainerSnapshot, PodSnapshot, ProbeSnapshot
from probetui.k8s.pod import Pod
from probetui.k8s.probe import ProbeType
from probetui.k8s.runtime import parse_container_id
from probetui.k8s.status import ContainerStatus, Running, Terminated, Waiting
from probetui.kubelet.journal import (
    BackoffEntry,
    ContainerEntry,
    DryRunEntry,
    EventEntry,
    FindingEntry,
    HookEntry,
    LastOutputEntry,
    ListenersEntry,
    PodGoneEntry,
    StateEntry,
    TickEntry,
    UnfinishedTickEntry,
)
from probetui.kubelet.pod_workers.pod_update import PodWorkerState
from probetui.presentation.container.back_off import rounded_up
from probetui.presentation.container.exits import format_exit_cell
from probetui.presentation.probe.cell import CELLS, probe_cell
from probetui.presentation.probe.state import next_tick
from probetui.presentation.text.spans import Line, Role, Span, line, muted, text_of
from probetui.presentation.text.view import View
from probetui.presentation.tick.marks import PROBE_LETTERS

_SECOND = timedelta(seconds=1)
WAITING_IN_TROUBLE = frozenset(
    {
        "CrashLoopBackOff",
        "ImagePullBackOff",
        "ErrImagePull",
        "ErrImageNeverPull",
        "InvalidImageName",
        "CreateContainerError",
        "CreateContainerConfigError",
        "RunContainerError",
        "StartError",
        "OOMKilled",
        "Error",
    }
)


_BACK_OFF, _PULL_BACK_OFF = "CrashLoopBackOff", "ImagePullBackOff"
_WORDS = {
    _BACK_OFF: "Back-off",
    _PULL_BACK_OFF: "Pull back-off",
    "ErrImagePull": "Pull failed",
    "RegistryUnavailable": "Pull failed",
    "ErrImageNeverPull": "No image",
    "InvalidImageName": "Bad image",
    "ContainerCreating": "Creating",
    "PodInitializing": "Initializing",
    "CreateContainerError": "Create failed",
    "CreateContainerConfigError": "Config error",
    "RunContainerError": "Start failed",
    "StartError": "Start failed",
    "OOMKilled": "Out of memory",
}
"""The screen's words for the reasons of a cluster, which `describe` has."""

ROOM_FOR_STATES = 17
"""The width, in cells, of the longest common state, `Back-off 17s left`."""

_LEFT = " left"


class ContainerCells(Struct, frozen=True):
    """A container's row of the table; `probes` are liveness, readiness, startup.

    `kind` is empty for a regular container.
    """

    name: str
    kind: str
    state: Line
    restarts: Line
    probes: tuple[Line, ...]
    next: Line
    last_exit: Line


def pod_names(pods: Iterable[Pod]) -> dict[str, str]:
    """Return the shown name of each pod by UID, with the namespace if ambiguous."""
    pods = tuple(pods)
    namespaces = {(pod.name, pod.namespace) for pod in pods}
    times = Counter(name for name, _ in namespaces)
    return {
        pod.uid: pod.name if times[pod.name] == 1 else f"{pod.namespace}:{pod.name}"
        for pod in pods
    }


def object_name(names: Mapping[str, str], pod_uid: str, container_name: str) -> str:
    """Return `pod/container` or the pod alone; the UID of a pod without a name."""
    pod = names.get(pod_uid, pod_uid)
    return f"{pod}/{container_name}" if container_name else pod


ContainerBoundEntry = (
    TickEntry
    | DryRunEntry
    | ListenersEntry
    | FindingEntry
    | EventEntry
    | StateEntry
    | ContainerEntry
    | BackoffEntry
    | LastOutputEntry
    | HookEntry
    | UnfinishedTickEntry
    | PodGoneEntry
)


def container_of(entry: ContainerBoundEntry) -> tuple[str, str]:
    """Return pod UID and container name of an entry, the latter empty for a pod's."""
    match entry:
        case (
            TickEntry()
            | DryRunEntry()
            | ListenersEntry()
            | FindingEntry()
            | UnfinishedTickEntry()
        ):
            return entry.key[:2]
        case EventEntry(event=event):
            return event.pod_uid, event.container_name
        case PodGoneEntry():
            return entry.pod_uid, ""
        case _:
            return entry.pod_uid, entry.container_name


def is_probing_over(pod: PodSnapshot, container: ContainerSnapshot) -> bool:
    """Return whether a probe without a worker will never get one again."""
    status = container.status
    has_ended = status is not None and isinstance(status.state, Terminated)
    return has_ended or pod.state is not PodWorkerState.SYNC


def kind(container: ContainerSnapshot) -> str:
    """Return `sidecar`, `init`, or nothing for a regular container."""
    if container.container.is_sidecar:
        return "sidecar"
    return "init" if container.is_init else ""


def probe_of(
    container: ContainerSnapshot, probe_type: ProbeType
) -> ProbeSnapshot | None:
    """Return a container's probe of one type, or None."""
    for probe in container.probes:
        if probe.key.probe_type is probe_type:
            return probe
    return None


TROUBLE = frozenset({Role.WARNING, Role.ERROR})
"""The roles of problems."""

PROBE_TYPES = (ProbeType.LIVENESS, ProbeType.READINESS, ProbeType.STARTUP)


def container_cells(
    pod: PodSnapshot,
    container: ContainerSnapshot,
    view: View,
    *,
    state_room: int = ROOM_FOR_STATES,
    probe_rooms: tuple[int, ...] = (CELLS,) * len(PROBE_TYPES),
    has_probes: bool = True,
) -> ContainerCells:
    """Return a container's row.

    Args:
        pod: the container's pod.
        container: the container.
        view: how it is shown.
        state_room: the width of its state, in cells.
        probe_rooms: the widths of its liveness, readiness and startup probe.
        has_probes: whether their cells are shown; there are none otherwise.
    """
    status = container.status
    restarts = status.restart_count if status else 0
    is_over = is_probing_over(pod, container)
    return ContainerCells(
        view.safe(container.container.name),
        kind(container),
        line(_state_in(pod, container, view, state_room)),
        line(Span(str(restarts)) if restarts else muted("0")),
        tuple(
            probe_cell(
                probe_of(container, probe_type), view, is_over=is_over, room=room
            )
            for probe_type, room in zip(PROBE_TYPES, probe_rooms, strict=True)
            if has_probes
        ),
        line(_next(container, view)),
        line(_last_exit(container)),
    )


def _state_in(
    pod: PodSnapshot, container: ContainerSnapshot, view: View, room: int
) -> Span:
    """Return the full state if it fits, else a short form."""
    long = state(pod, container, view)
    if len(long.text) <= room:
        return long
    short = state(pod, container, view, age=format_brief_age)
    if len(short.text) <= room:
        return short
    short = short._replace(text=short.text.removesuffix(_LEFT))
    if len(short.text) <= room:
        return short
    # The container's card has all of it.
    if (awaited := short.text.removeprefix(_WAITING_FOR)) != short.text:
        return short._replace(text=f"For {awaited}")
    *words, last = short.text.split()
    first = words[0] if words else last
    if last.endswith("%"):
        return short._replace(text=f"{first} {last}")
    while words and len(" ".join(words)) > room:
        words.pop()
    return short._replace(text=" ".join(words) or first)


def state(
    pod: PodSnapshot,
    container: ContainerSnapshot,
    view: View,
    age: Callable[[timedelta], str] = format_age,
) -> Span:
    """Format a container's state: `Running 41s`, `Back-off 17s left`.

    What is left of a back-off is the least: nothing happens before. It is in back-off
    from its end on, whatever its status says meanwhile, unless that is a cause as
    `Out of memory` is. A user's fault takes the place of `Running`.
    """
    if container.stopping is not None:
        return Span("Stopping", Role.ERROR)
    for fault, since in _active_faults_of(container):
        return Span(f"{fault} {age(view.now - since)}", Role.ACCENT)
    match container.status:
        case ContainerStatus(state=Running()) if _has_exited(container):
            # While its pod is being stopped, its status is not made anew.
            code = container.last_exit.exit_code if container.last_exit else 0
            return Span(f"Exited {code}", Role.ERROR if code else Role.MUTED)
        case ContainerStatus(state=Running(started_at)):
            word = "Running" if container.status.has_started else "Starting"
            if started_at is None:
                return Span(word)
            return Span(f"{word} {age(view.now - started_at)}")
        case ContainerStatus(state=Terminated(exit_code, reason)):
            word = _WORDS.get(reason, "Exited")
            left = _left_of_wait(_BACK_OFF, container, view)
            if left and reason not in _WORDS:
                return Span(f"{_WORDS[_BACK_OFF]} {age(left)}{_LEFT}", Role.ERROR)
            role = Role.ERROR if exit_code else Role.MUTED
            return Span(f"{word} {exit_code}", role)
        case ContainerStatus(state=Waiting(reason)) if reason in WAITING_IN_TROUBLE:
            word = _WORDS.get(reason, reason)
            left = _left_of_wait(reason, container, view)
            return Span(f"{word} {age(left)}{_LEFT}" if left else word, Role.ERROR)
        case ContainerStatus(state=Waiting(reason)):
            awaited = _awaited(pod, container) or _WORDS.get(reason, reason)
        case _:
            awaited = _awaited(pod, container)
    awaited = view.safe(awaited) or "Waiting"
    return muted(awaited[:1].upper() + awaited[1:])


def _has_exited(container: ContainerSnapshot) -> bool:
    """Return whether the instance of the status is one that has ended."""
    status, last_exit = container.status, container.last_exit
    if status is None or last_exit is None:
        return False
    own = status.container_id
    return last_exit.container_id in {own, parse_container_id(own)} - {""}


def _left_of_wait(
    reason: str, container: ContainerSnapshot, view: View
) -> timedelta | None:
    """Return the least that is left of a back-off, None if it is over or unknown."""
    until = _waits_until(container)
    if until is None or reason not in {_BACK_OFF, _PULL_BACK_OFF}:
        return None
    return rounded_up(until - view.now) if until > view.now else None


_WAITING_FOR = "Waiting for "


def _awaited(pod: PodSnapshot, container: ContainerSnapshot) -> str:
    """Return the operation on a container, or the container that it waits for."""
    if pod.operation_container in {"", container.container.name} and pod.operation:
        return pod.operation
    awaited = pod.operation_container or _blocking_init(pod, container)
    return f"{_WAITING_FOR}{awaited}" if awaited else ""


def _blocking_init(pod: PodSnapshot, container: ContainerSnapshot) -> str:
    """Return the init container that must come before one; empty if none must.

    A plain init container must have succeeded, a sidecar must have started up.
    """
    if is_terminating(pod) or pod.status.phase.is_terminal:
        return ""
    statuses = {each.container.name: each.status for each in pod.containers}
    for other in pod.pod.init_containers:
        if other.name == container.container.name:
            break
        status = statuses.get(other.name)
        if other.is_sidecar:
            is_through = status is not None and status.has_started
        else:
            state = None if status is None else status.state
            is_through = isinstance(state, Terminated) and not state.exit_code
        if not is_through:
            return other.name
    return ""


def most_urgent_state(
    pod: PodSnapshot, container: ContainerSnapshot, view: View
) -> Line:
    """Return the most urgent thing about a container, for a narrow cell.

    That is its state unless it is running; else a failing probe, else one that is still
    undecided, else `ready`.
    """
    now = state(pod, container, view)
    if not _is_running(container) or not container.probes:
        return line(now)
    if is_terminating(pod):
        return line(Span("Terminating", Role.ERROR))
    shown = [
        shown_cell
        for shown_cell in _lettered(container, view)
        if not _is_settled(shown_cell, view)
    ]
    for shown_cell in shown:
        if any(span.role in TROUBLE for span in shown_cell):
            return shown_cell
    is_ready = container.status is not None and container.status.ready
    if shown or not is_ready or now.role is Role.ACCENT:
        return next(iter(shown), line(now))
    return line(Span(f"{view.marks.success} ready", Role.SUCCESS))


def _lettered(container: ContainerSnapshot, view: View) -> Iterator[Line]:
    """Yield the cells of probes after their letters, in the order they must succeed."""
    for probe_type in (ProbeType.STARTUP, ProbeType.READINESS, ProbeType.LIVENESS):
        probe = probe_of(container, probe_type)
        if probe is not None:
            yield line(muted(f"{PROBE_LETTERS[probe_type]} "), *probe_cell(probe, view))


def _is_settled(shown: Line, view: View) -> bool:
    """Return whether a probe's cell says only that it is well, or nothing yet."""
    text = text_of(shown)[2:]
    success = view.marks.success
    return text in {f"{success} ok", f"{success} done", view.marks.empty}


def _active_faults_of(container: ContainerSnapshot) -> Iterator[tuple[str, datetime]]:
    if container.frozen_since is not None:
        yield "Frozen", container.frozen_since
    if container.cut_off_since is not None:
        yield "Cut off", container.cut_off_since


def _last_exit(container: ContainerSnapshot) -> Span:
    """Format exit code and cause of the previous instance: `killed by probe (137)`."""
    if container.last_exit is None:
        return muted("-")
    return Span(format_exit_cell(container.last_exit))


def is_terminating(pod: PodSnapshot) -> bool:
    """Return whether a pod is being deleted."""
    return pod.state in {PodWorkerState.TERMINATING, PodWorkerState.TERMINATED}


def _is_running(container: ContainerSnapshot) -> bool:
    status = container.status
    return (
        container.stopping is None
        and status is not None
        and isinstance(status.state, Running)
    )


def _waits_until(container: ContainerSnapshot) -> datetime | None:
    """Return the end of the back-off of its restart or of its image pull."""
    if container.backoff is not None and container.backoff.until is not None:
        return container.backoff.until
    status = container.status
    is_waiting = status is not None and isinstance(status.state, Waiting)
    return container.next_pull_at if is_waiting else None


def _next(container: ContainerSnapshot, view: View) -> Span:
    """Format the time until the next kill, retry or tick."""
    if container.stopping is not None:
        left = container.stopping.since - view.now
        grace = container.stopping.grace_period_seconds
        return Span(format_countdown(left + grace * _SECOND), Role.ERROR)
    if (waits_until := _waits_until(container)) is not None:
        if waits_until <= view.now:
            # The kubelet retries at the pod's next sync, not when the wait ends.
            return Span("sync", Role.ERROR)
        # The earliest time; the latest one does not fit.
        return Span(f">{format_brief_age(waits_until - view.now)}", Role.ERROR)
    probe = next_tick(container.probes)
    if any(snapshot.is_result_held for snapshot in container.probes):
        return Span("paused", Role.WARNING)
    if any(snapshot.in_flight_since for snapshot in container.probes):
        return Span("now", Role.ACCENT)
    if probe is None or probe.next_tick_at is None:
        return muted("-")
    is_due = probe.next_tick_at <= view.now
    if view.is_paused or (probe.is_held_back and is_due):
        return Span("paused", Role.WARNING)
    if is_due:
        return Span("due")
    return Span(format_countdown(probe.next_tick_at - view.now))
