"""Restart policies: whether an exited container is started again.

Source: kubelet/container/helpers.go, kuberuntime/kuberuntime_container.go, v1.32.10,
ShouldContainerBeRestarted, shouldRestartOnFailure, isInitContainerFailed.
"""

from __future__ import annotations

from probetui.k8s.pod import Pod, RestartPolicy
from probetui.k8s.runtime import (
    RuntimeContainerStatus,
    RuntimePodStatus,
    RuntimeState,
)

OOM_KILLED = "OOMKilled"


def should_container_be_restarted(
    container_name: str, pod: Pod, status: RuntimePodStatus
) -> bool:
    """Return whether a container is to be started, judged by its newest instance.

    Quirk, kept: an instance that was created but never ran, or whose state is not
    known, is replaced even if the restart policy is Never.
    """
    if pod.deletion_requested_at is not None:
        return False
    newest = status.newest(container_name)
    if newest is None:
        return True
    if newest.state is RuntimeState.RUNNING:
        return False
    if newest.state is not RuntimeState.EXITED:
        return True
    if pod.restart_policy is RestartPolicy.ON_FAILURE:
        return newest.exit_code != 0
    return pod.restart_policy is RestartPolicy.ALWAYS


def should_restart_on_failure(pod: Pod) -> bool:
    """Return whether a container that failed is started again."""
    return pod.restart_policy is not RestartPolicy.NEVER


def is_init_container_failed(status: RuntimeContainerStatus) -> bool:
    """Return whether an instance of a plain init container counts as failed.

    Quirk, kept: OOMKilled counts in any state and with any exit code.
    """
    if status.reason == OOM_KILLED:
        return True
    if status.state is RuntimeState.EXITED:
        return status.exit_code != 0
    return status.state is RuntimeState.UNKNOWN
