"""Restart policies: whether an exited container is started again.

Source: kubelet/container/helpers.go, kuberuntime/kuberuntime_container.go, v1.32.10,
ShouldContainerBeRestarted, shouldRestartOnFailure, isInitContainerFailed.
"""

from __future__ import annotations

from probetui.k8s.pod import Container, Pod, RestartPolicy
from probetui.k8s.runtime import (
    RuntimeContainerStatus,
    RuntimePodStatus,
    RuntimeState,
)
from probetui.kubelet_rules import PORTED_RULES, KubeletRules

OOM_KILLED = "OOMKilled"

UNKNOWN_FAILURE = 1
"""Stands for the exit code of what failed without one."""


def should_container_be_restarted(
    container_name: str,
    pod: Pod,
    status: RuntimePodStatus,
    rules: KubeletRules = PORTED_RULES,
) -> bool:
    """Return whether a container is to be started, judged by its newest instance.

    Quirk, kept: an instance that was created but never ran, or whose state is not
    known, is replaced even if the restart policy is Never.
    Quirk, kept: without restart rules of containers a sidecar goes by the pod's policy.
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
    container = pod.container(container_name)
    if not rules.container_restart_rules and container in pod.sidecars:
        container = None
    return is_restarted_after(pod, container, newest.exit_code)


def is_restarted_after(pod: Pod, container: Container | None, exit_code: int) -> bool:
    """Return whether an exit with this code is followed by a restart.

    A rule of the container comes first, then its own policy, then the pod's.

    Source: pkg/api/v1/pod/util.go, v1.36.2, ContainerShouldRestart.
    """
    rules = () if container is None else container.restart_rules
    if any(rule.matches(exit_code) for rule in rules):
        return True
    policy = effective_restart_policy(pod, container)
    if policy is RestartPolicy.ON_FAILURE:
        return exit_code != 0
    return policy is RestartPolicy.ALWAYS


def has_own_restarts(pod: Pod) -> bool:
    """Return whether a regular container has a restart policy of its own."""
    return any(container.restart_policy for container in pod.containers)


def effective_restart_policy(pod: Pod, container: Container | None) -> RestartPolicy:
    """Return the container's own policy, else the pod's."""
    own = None if container is None else container.restart_policy
    return own or pod.restart_policy


def should_restart_on_failure(pod: Pod, container: Container | None = None) -> bool:
    """Return whether a container that failed is started again, rules apart."""
    return effective_restart_policy(pod, container) is not RestartPolicy.NEVER


def is_init_container_failed(status: RuntimeContainerStatus) -> bool:
    """Return whether an instance of a plain init container counts as failed.

    Quirk, kept: OOMKilled counts in any state and with any exit code.
    """
    if status.reason == OOM_KILLED:
        return True
    if status.state is RuntimeState.EXITED:
        return status.exit_code != 0
    return status.state is RuntimeState.UNKNOWN
