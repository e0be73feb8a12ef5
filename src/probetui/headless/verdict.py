"""Decide why a session ended, and its exit status."""

from __future__ import annotations

from collections.abc import Collection

from msgspec import Struct
from msgspec.structs import replace

from probetui.analysis.container_history import CANNOT_CREATE
from probetui.engine.snapshot import PodSnapshot, Snapshot
from probetui.k8s.event import EventType
from probetui.k8s.runtime import START_ERRORS
from probetui.k8s.status import (
    ContainerStatus,
    PodPhase,
    Terminated,
    Waiting,
)
from probetui.kubelet.journal import (
    ContainerEntry,
    EventEntry,
    JournalEntry,
    LifecycleStep,
)

EXIT_OK = 0
EXIT_NO = 1
EXIT_RUNTIME_LOST = 3
EXIT_TIME_LIMIT = 4
EXIT_NOT_STARTED = 6
EXIT_BUG = 70
EXIT_INTERRUPTED = 130
EXIT_PIPE_CLOSED = 141
EXIT_TERMINATED = 143

PODS_ENDED = "pods ended"
"""The reason of a session whose pods have all ended."""

LEFT = "left"
"""The reason of a session whose screen the user left."""

ANOTHER_LESSON = "another lesson"
"""The reason of a lesson that the user left for another one."""

_CANNOT_START = frozenset(
    {
        "ErrImagePull",
        "ImagePullBackOff",
        "ErrImageNeverPull",
        "InvalidImageName",
        "ImageInspectError",
        "CreateContainerConfigError",
        "CreateContainerError",
        "PreCreateHookError",
        "RunContainerError",
    }
)
"""Waiting reasons that only the user can resolve.

Source: kubelet/images/types.go and kuberuntime_container.go, v1.32.10.
"""


class CreationFailures:
    """Follows the journal: which pods have no containers, which containers have run.

    Attributes:
        causes: why pods have no containers, by pod UID.
        started: the containers that were started at least once, by pod UID and name.
    """

    def __init__(self) -> None:
        self.causes: dict[str, str] = {}
        self.started: set[tuple[str, str]] = set()

    def observe(self, entry: JournalEntry) -> None:
        """Process the next journal entry."""
        match entry:
            case ContainerEntry():
                self.causes.pop(entry.pod_uid, None)
                if entry.what is LifecycleStep.STARTED:
                    self.started.add((entry.pod_uid, entry.container_name))
            case EventEntry(event=event) if event.reason in CANNOT_CREATE:
                self.causes[event.pod_uid] = f"{event.reason}: {event.message}"
            case EventEntry(event=event) if event.type is EventType.NORMAL:
                self.causes.pop(event.pod_uid, None)


class Verdict(Struct, frozen=True):
    """Why a session ended; `reason` is the word in the record's last line."""

    reason: str
    exit_status: int
    message: str = ""


def decide_exit_status(
    verdict: Verdict, snapshot: Snapshot, failures: CreationFailures | None = None
) -> Verdict:
    """Return the verdict, or one that reports a problem at the end of the session.

    A met condition, a signal, and a user who leaves the screen and so has seen the
    problem keep their verdict. A runtime that does not answer (3) and pods or
    containers that could not be created or started (6) override any other.

    Args:
        verdict: why the session ended.
        snapshot: its state at the end.
        failures: the follower of the session's journal.
    """
    if verdict.reason in {"until", "interrupted", "terminated", LEFT}:
        return verdict
    failures = failures or CreationFailures()
    causes = failures.causes
    if snapshot.runtime_lost_since is not None:
        message = f"the runtime does not answer: {snapshot.runtime_error}"
        return replace(verdict, exit_status=EXIT_RUNTIME_LOST, message=message)
    broken = [
        line for pod in snapshot.pods for line in _not_started(pod, failures.started)
    ]
    broken += [
        f"{pod.pod.name} could not be started: {causes[pod.pod.uid]}"
        for pod in snapshot.pods
        if pod.pod.uid in causes and pod.status.phase is PodPhase.PENDING
    ]
    if broken:
        return replace(verdict, exit_status=EXIT_NOT_STARTED, message="\n".join(broken))
    return verdict


def _not_started(pod: PodSnapshot, started: Collection[tuple[str, str]]) -> list[str]:
    statuses = (
        *(pod.status.init_container_statuses or ()),
        *(pod.status.container_statuses or ()),
    )
    return [
        f"{pod.pod.name}/{status.name} could not be started"
        f"{' again' if (pod.pod.uid, status.name) in started else ''}: {reason}"
        for status in statuses
        if (reason := _start_error(status))
    ]


def _start_error(status: ContainerStatus) -> str:
    """Return why a container, or its last instance, did not start; empty if it did."""
    match status.state, status.last_state:
        case (Waiting(reason=reason, message=message), _) if reason in _CANNOT_START:
            return f"{reason}: {message}" if message else reason
        case (
            Waiting(),
            Terminated(reason=reason, message=message),
        ) if reason in START_ERRORS:
            return f"{reason}: {message}" if message else reason
        case _:
            return ""
