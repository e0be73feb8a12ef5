"""Pod updates, the calls of pod workers, and their results.

Source: pod_workers.go, v1.32.10.
"""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum

from msgspec import Struct

from probetui.k8s.pod import Pod
from probetui.k8s.status import PodPhase


class UpdateType(StrEnum):
    """What an update is about.

    Source: kubelet/types/pod_update.go, v1.32.10, SyncPodType.
    """

    CREATE = "create"
    UPDATE = "update"
    SYNC = "sync"
    KILL = "kill"


class PodWorkerState(StrEnum):
    """Where the pod worker is.

    Source: pod_workers.go, v1.32.10, PodWorkerState.
    """

    SYNC = "sync"
    TERMINATING = "terminating"
    TERMINATED = "terminated"
    FINISHED = "finished"


class UpdatePodOptions(Struct, frozen=True):
    """Something to make of a pod.

    Attributes:
        pod: its definition; for a pod of the runtime only, what could be made out.
        is_runtime_only: no definition is known; the pod can only be killed.
        phase: the one its source has for it, if any.
        is_static: it comes from a file and may wait for a pod of its own name.
        is_in_api: an API server has it as soon as the one of its name is gone.
        evict: its content may be removed at once.
        grace_period_override: of a kill, in seconds.
    """

    update_type: UpdateType
    pod: Pod
    is_runtime_only: bool = False
    phase: PodPhase | None = None
    is_static: bool = False
    is_in_api: bool = False
    evict: bool = False
    grace_period_override: int | None = None


class SyncCallKind(StrEnum):
    """What is done for a pod, by the state of its worker."""

    SYNC = "SyncPod"
    TERMINATING = "SyncTerminatingPod"
    TERMINATING_RUNTIME = "SyncTerminatingRuntimePod"
    TERMINATED = "SyncTerminatedPod"


class SyncCall(Struct, frozen=True):
    """One call that is to be made now; the worker is busy until it is over."""

    kind: SyncCallKind
    update: UpdatePodOptions
    grace_period_seconds: int | None = None

    @property
    def pod(self) -> Pod:
        """The pod the call is for."""
        return self.update.pod


class SyncCallResult(StrEnum):
    """How a call ended."""

    OK = "ok"
    TERMINAL = "terminal"
    ERROR = "error"
    NETWORK_NOT_READY = "networkNotReady"
    AGAIN = "again"
    """It is to be called again at once."""


class InBackOff(Struct, frozen=True):
    """How a sync ended that came to nothing but back-offs; `until` the first ends.

    Source: pod_workers.go, kuberuntime_manager.go, v1.36.2, completeWork, BackoffError.
    """

    until: datetime


CallOutcome = SyncCallResult | InBackOff
