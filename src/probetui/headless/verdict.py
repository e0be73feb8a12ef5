"""How a session ended, and the exit status that this comes to."""

from __future__ import annotations

from dataclasses import dataclass, replace

from probetui.k8s.status import ContainerStatus, Waiting
from probetui.kubelet.snapshot import PodSnapshot, Snapshot

DONE = 0
ANSWER_IS_NO = 1
RUNTIME_GONE = 3
TIME_IS_UP = 4
NOT_STARTED = 6
BUG = 70
INTERRUPTED = 130
PIPE_CLOSED = 141
TERMINATED = 143

PODS_ENDED = "pods ended"
"""The reason when there is nothing left to stop."""

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
"""Reasons for waiting that name something a person has to put right.

Source: kubelet/images/types.go and kuberuntime_container.go, v1.32.10.
"""


@dataclass(frozen=True, slots=True)
class Verdict:
    """Why a session ended; `reason` is the word in the record's last line."""

    reason: str
    exit_status: int
    message: str = ""


def final_verdict(verdict: Verdict, snapshot: Snapshot) -> Verdict:
    """Return the verdict with what is still wrong taken into account.

    A condition that was met stays the answer, and so does a signal: whoever asked
    knows. Anything else gives way to a runtime that is gone (3) and to containers
    that could not be created or started (6).
    """
    if verdict.reason in {"until", "interrupted", "terminated"}:
        return verdict
    if snapshot.runtime_lost_since is not None:
        message = f"the runtime does not answer: {snapshot.runtime_error}"
        return replace(verdict, exit_status=RUNTIME_GONE, message=message)
    broken = [line for pod in snapshot.pods for line in _not_started(pod)]
    if broken:
        return replace(verdict, exit_status=NOT_STARTED, message="\n".join(broken))
    return verdict


def _not_started(pod: PodSnapshot) -> list[str]:
    statuses = (
        *(pod.status.init_container_statuses or ()),
        *(pod.status.container_statuses or ()),
    )
    return [
        f"{pod.pod.name}/{status.name} could not be started: {reason}"
        for status in statuses
        if (reason := _reason(status))
    ]


def _reason(status: ContainerStatus) -> str:
    match status.state:
        case Waiting(reason=reason, message=message) if reason in _CANNOT_START:
            return f"{reason}: {message}" if message else reason
        case _:
            return ""
