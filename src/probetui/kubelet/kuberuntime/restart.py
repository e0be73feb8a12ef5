"""Restarts: whether and when an exited container is started again.

Source: kubelet/container/helpers.go, kuberuntime/kuberuntime_container.go, v1.32.10,
ShouldContainerBeRestarted, shouldRestartOnFailure, isInitContainerFailed.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import NamedTuple

from probetui.k8s.pod import RESTART_ALL_CONTAINERS, Container, Pod, RestartPolicy
from probetui.k8s.runtime import RuntimeContainerStatus, RuntimePodStatus, RuntimeState
from probetui.k8s.status import ConditionStatus, PodStatus, Terminated
from probetui.kubelet.config import KubeletConfig
from probetui.kubelet_rules import PORTED_RULES, KubeletRules

ALL_CONTAINERS_RESTARTING = "AllContainersRestarting"
"""The condition that holds while all containers of a pod are removed."""

OOM_KILLED = "OOMKilled"

UNKNOWN_FAILURE = 1
"""Replaces the exit code of a failure without one."""

_CONFIG = KubeletConfig()
_LATEST_RETRY = _CONFIG.retry_after_error * (1 + _CONFIG.jitter) + _CONFIG.sync_tick
"""From a sync with an error to the next one at most, with the sync loop's tick."""


class InstantRange(NamedTuple):
    """The earliest and the latest instant of an event."""

    earliest: datetime
    latest: datetime


def restart_range(
    until: datetime, window: timedelta, rules: KubeletRules, *, is_alone: bool = True
) -> InstantRange:
    """Return the range of instants in which a container in back-off restarts.

    The end of a back-off triggers no sync: the first sync of the pod after it starts
    the container. An old kubelet syncs such a pod every 10 to 15 s; a newer one sleeps
    until the first back-off ends, or for 60 s, and up to half of that longer. Waits in
    that sync, such as for another container's hook, come on top.

    Args:
        until: the end of the back-off.
        window: its whole length.
        rules: those of the kubelet's version.
        is_alone: the pod has no other container, which could fail to start for
            another reason, so that a newer kubelet retries as an old one does.

    Source: pod_workers.go, v1.32.10, v1.36.2, completeWork.
    """
    longest = _LATEST_RETRY
    if rules.sleeps_until_back_off_ends:
        asleep = min(window, _CONFIG.sync_frequency)
        overslept = asleep * _CONFIG.jitter + _CONFIG.sync_tick
        longest = overslept if is_alone else max(overslept, longest)
    return InstantRange(until, until + longest)


def is_only_container(pod: Pod) -> bool:
    """Return whether a pod has one container in all, init containers included."""
    return len(pod.init_containers) + len(pod.containers) == 1


def pull_range(until: datetime) -> InstantRange:
    """Return the range of instants in which an image in back-off is pulled again.

    Every version syncs such a pod every 10 to 15 s.
    """
    return InstantRange(until, until + _LATEST_RETRY)


def should_container_be_restarted(
    container_name: str,
    pod: Pod,
    status: RuntimePodStatus,
    rules: KubeletRules = PORTED_RULES,
) -> bool:
    """Return whether to start a container, given its newest instance.

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
    if container in pod.sidecars and not rules.container_restart_rules:
        container = None
    return is_restarted_after(pod, container, newest.exit_code)


def is_restarted_after(pod: Pod, container: Container | None, exit_code: int) -> bool:
    """Return whether the container restarts after this exit code.

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


def could_be_restarted(pod: Pod, container: Container) -> bool:
    """Return whether a container can ever restart."""
    return (
        should_restart_on_failure(pod, container)
        or bool(container.restart_rules)
        or could_restart_all(pod)
    )


def could_restart_all(pod: Pod) -> bool:
    """Return whether some exit of a container can restart the whole pod.

    Source: pkg/api/v1/pod/util.go, v1.36.2, AllContainersCouldRestart.
    """
    return any(
        rule.action == RESTART_ALL_CONTAINERS
        for container in pod.all_containers()
        for rule in container.restart_rules
    )


def resets_window(length: timedelta) -> bool:
    """Return whether an instance that ran for so long resets the back-off."""
    return length > _CONFIG.backoff_expiry


def restarts_all_after(container: Container, exit_code: int) -> bool:
    """Return whether this exit code restarts all containers."""
    matching = (rule for rule in container.restart_rules if rule.matches(exit_code))
    first = next(matching, None)
    return first is not None and first.action == RESTART_ALL_CONTAINERS


def should_restart_all(
    pod: Pod, status: RuntimePodStatus | None, published: PodStatus | None
) -> bool:
    """Return whether all containers of a pod must restart, or are restarting.

    Args:
        pod: the spec.
        status: what the runtime has, None to go by what is published alone.
        published: the last status that was published, None before the first.

    Source: kubelet/container/helpers.go, v1.36.2, ShouldAllContainersRestart.
    """
    if published is not None:
        condition = published.condition(ALL_CONTAINERS_RESTARTING)
        if condition is not None and condition.status is ConditionStatus.TRUE:
            return True
    if not could_restart_all(pod):
        return False
    return any(
        restarts_all_after(container, code)
        for container in pod.all_containers()
        for code in _exit_codes(container.name, status, published)
    )


def _exit_codes(
    name: str, status: RuntimePodStatus | None, published: PodStatus | None
) -> Iterator[int]:
    """Yield the exit codes of a container."""
    if status is not None:
        newest = status.newest(name)
        if newest is None or newest.state is not RuntimeState.EXITED:
            return
        yield newest.exit_code
    published_status = None if published is None else published.container(name)
    if published_status is not None and isinstance(published_status.state, Terminated):
        yield published_status.state.exit_code


def effective_restart_policy(pod: Pod, container: Container | None) -> RestartPolicy:
    """Return the container's own policy, else the pod's."""
    own = None if container is None else container.restart_policy
    return own or pod.restart_policy


def should_restart_on_failure(pod: Pod, container: Container | None = None) -> bool:
    """Return whether a failed container restarts, its restart rules aside."""
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
