"""Action policy: the actions on containers that the kubelet may perform.

Source: kuberuntime_manager.go, v1.32.10, SyncPod, which asks nobody.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from probetui.k8s.pod import Container, Pod
from probetui.k8s.runtime import RuntimeContainerStatus, RuntimePodStatus
from probetui.kubelet.journal import ExitCause
from probetui.kubelet.kuberuntime.grace_period import KillReason
from probetui.kubelet.kuberuntime.reason_cache import StartFailure


class ActionPolicy:
    """Allows every action; a subclass can forbid some."""

    def register_containers(self, pod: Pod, status: RuntimePodStatus) -> None:
        """Observe a pod's containers at the runtime at the start of a sync."""

    def may_kill(
        self,
        _pod: Pod,
        _running: Sequence[RuntimeContainerStatus],
        _by: ExitCause,
        _now: datetime,
        *,
        reason: KillReason = KillReason.NONE,  # noqa: ARG002  # for other policies
        message: str = "",  # noqa: ARG002  # for other policies
    ) -> bool:
        """Return whether these instances of a pod may be stopped.

        `reason` and `message` are those of a single container's kill.
        """
        return True

    def may_start(self, _newest: RuntimeContainerStatus | None) -> bool:
        """Return whether a container may be started or restarted."""
        return True

    def withhold_start(
        self,
        _pod: Pod,
        _container: Container,
        _newest: RuntimeContainerStatus | None,
        _now: datetime,
    ) -> StartFailure | None:
        """Handle a start that is not allowed; return why the container waits."""
        return None

    def forget_pod(self, pod_uid: str) -> None:
        """Forget a removed pod."""
