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
    """The type of an update.

    Source: kubelet/types/pod_update.go, v1.32.10, SyncPodType.
    """

    CREATE = "create"
    UPDATE = "update"
    SYNC = "sync"
    KILL = "kill"


class PodWorkerState(StrEnum):
    """The state of a pod worker.

    Source: pod_workers.go, v1.32.10, PodWorkerState.
    """

    SYNC = "sync"
    TERMINATING = "terminating"
    TERMINATED = "terminated"
    FINISHED = "finished"


class UpdatePodOptions(Struct, frozen=True):
    """An update for a pod worker.

    Attributes:
        pod: its definition; for a pod known only at the runtime, a partial one.
        is_runtime_only: no definition is known; the pod can only be killed.
        phase: the one its source has for it, if any.
        is_static: it comes from a file and may wait for a pod of its own name.
        is_in_api: an API server has it once the other pod of its name is gone.
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
    """The kind of a call, by the state of the pod worker."""

    SYNC = "SyncPod"
    TERMINATING = "SyncTerminatingPod"
    TERMINATING_RUNTIME = "SyncTerminatingRuntimePod"
    TERMINATED = "SyncTerminatedPod"


class SyncCall(Struct, frozen=True):
    """A call to start now; the worker is busy until it ends."""

    kind: SyncCallKind
    update: UpdatePodOptions
    grace_period_seconds: int | None = None

    @property
    def pod(self) -> Pod:
        """The pod the call is for."""
        return self.update.pod


class SyncCallResult(StrEnum):
    """The result of a call."""

    OK = "ok"
    TERMINAL = "terminal"
    ERROR = "error"
    NETWORK_NOT_READY = "networkNotReady"
    AGAIN = "again"
    """The call is to be repeated at once."""


class InBackOff(Struct, frozen=True):
    """The result of a sync that failed only for back-off until `until`.

    Source: pod_workers.go, kuberuntime_manager.go, v1.36.2, completeWork, BackoffError.
    """

    until: datetime


CallOutcome = SyncCallResult | InBackOff
