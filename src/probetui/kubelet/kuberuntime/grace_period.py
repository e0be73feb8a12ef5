"""Grace periods: how long a container may take to exit on its own.

Source: kuberuntime_container.go, pod_workers.go, v1.32.10,
setTerminationGracePeriod, calculateEffectiveGracePeriod.
"""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

from msgspec import Struct

from probetui.k8s.pod import Container, Pod
from probetui.k8s.probe import Probe
from probetui.kubelet_rules import PORTED_RULES, KubeletRules

MINIMUM_SECONDS = 2
EFFECTIVE_MINIMUM_SECONDS = 1


class KillReason(StrEnum):
    """Why a container is killed, as the grace period distinguishes it.

    Source: kuberuntime_container.go, v1.32.10, containerKillReason.
    """

    NONE = ""
    LIVENESS_PROBE = "LivenessProbe"
    STARTUP_PROBE = "StartupProbe"
    FAILED_POST_START_HOOK = "FailedPostStartHook"
    UNKNOWN = "Unknown"
    RESTART_ALL = "RestartAllContainers"


class GraceSource(StrEnum):
    """The source of a grace period."""

    DELETION = "deletion"
    LIVENESS_PROBE = "liveness probe"
    STARTUP_PROBE = "startup probe"
    POD = "pod"
    MINIMUM = "minimum"
    RESTART_ALL = "restart of all containers"
    """No grace period, so that the minimum applies."""
    KILL = "kill"
    """A kill by the user, without a grace period."""


class GracePeriod(NamedTuple):
    """A grace period and its source."""

    seconds: int
    source: GraceSource


class EffectiveGracePeriod(Struct, frozen=True):
    """The grace period of a terminating pod; `is_changed` if it had another before."""

    seconds: int
    is_changed: bool


def termination_grace_period(
    pod: Pod,
    container: Container,
    reason: KillReason,
    rules: KubeletRules = PORTED_RULES,
) -> GracePeriod:
    """Choose the grace period of one container, before overrides and hooks.

    Quirk, kept: a probe's own value may be longer than the pod's, and counts only
    where the pod has one.
    """
    if pod.deletion_grace_period_seconds is not None:
        return GracePeriod(pod.deletion_grace_period_seconds, GraceSource.DELETION)
    if pod.termination_grace_period_seconds is None:
        return GracePeriod(MINIMUM_SECONDS, GraceSource.MINIMUM)
    from_probe = None
    if not rules.probe_grace_period:
        return GracePeriod(pod.termination_grace_period_seconds, GraceSource.POD)
    if reason is KillReason.LIVENESS_PROBE:
        from_probe = _own(container.liveness_probe, GraceSource.LIVENESS_PROBE)
    elif reason is KillReason.STARTUP_PROBE:
        from_probe = _own(container.startup_probe, GraceSource.STARTUP_PROBE)
    return from_probe or GracePeriod(
        pod.termination_grace_period_seconds, GraceSource.POD
    )


def effective_grace_period(
    pod: Pod,
    current_seconds: int = 0,
    override_seconds: int | None = None,
    rules: KubeletRules = PORTED_RULES,
) -> EffectiveGracePeriod:
    """Return the grace period of a terminating pod, which can only become shorter.

    `current_seconds` is the effective one so far, 0 for the first time.
    """
    seconds = current_seconds
    is_asked_for = False
    for candidate in (pod.deletion_grace_period_seconds, override_seconds):
        if candidate is not None and (seconds == 0 or candidate < seconds):
            seconds = candidate
            is_asked_for = True
    if not (seconds or is_asked_for):
        seconds = pod.termination_grace_period_seconds or 0
    if rules.grants_a_second:
        seconds = max(seconds, EFFECTIVE_MINIMUM_SECONDS)
    return EffectiveGracePeriod(seconds, current_seconds not in {0, seconds})


def _own(probe: Probe | None, source: GraceSource) -> GracePeriod | None:
    if probe is None or probe.termination_grace_period_seconds is None:
        return None
    return GracePeriod(probe.termination_grace_period_seconds, source)
