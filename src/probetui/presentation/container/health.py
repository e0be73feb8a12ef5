"""Rank containers and probes by urgency, for the sorting and colours of lists."""

from __future__ import annotations

from datetime import datetime, timedelta
from enum import IntEnum

from msgspec import Struct

from probetui.engine.snapshot import ContainerSnapshot, PodSnapshot, ProbeSnapshot
from probetui.k8s.probe import ProbeType
from probetui.k8s.status import ContainerStatus, Running, Terminated, Waiting
from probetui.kubelet.journal import Skip
from probetui.kubelet.outcome import Result
from probetui.presentation.container.table import WAITING_IN_TROUBLE, is_terminating
from probetui.presentation.probe.state import (
    is_running_towards_change,
    is_startup_done,
    would_be_killed,
)
from probetui.presentation.text.spans import Role

RECOVERY = timedelta(seconds=10)
"""How long a container that has improved is still ranked by its worst health."""


class Health(IntEnum):
    """The health of a container, from worst to best."""

    KILLED = 0
    LAST_CHANCE = 1
    """The next failure kills it."""

    BACK_OFF = 2
    COUNTING = 3
    ERRORED = 4
    NOT_READY = 5
    STARTING = 6
    CALM = 7

    @property
    def role(self) -> Role:
        """The role of the container's name, and of its row while selected."""
        if self <= Health.BACK_OFF:
            return Role.ERROR
        return Role.WARNING if self <= Health.NOT_READY else Role.PLAIN


def container_health(pod: PodSnapshot, container: ContainerSnapshot) -> Health:
    """Return the worst health that applies to a container."""
    probes, status = container.probes, container.status
    is_killed = container.stopping is not None or is_terminating(pod)
    if is_killed or any(_is_on_hold(probe) for probe in probes):
        in_back_off = _is_in_trouble(container) and not is_killed
        return Health.BACK_OFF if in_back_off else Health.KILLED
    if _is_in_trouble(container):
        return Health.BACK_OFF
    if any(_is_last_chance(probe) for probe in probes):
        return Health.LAST_CHANCE
    if any(_is_counting(probe) for probe in probes):
        return Health.COUNTING
    if any(probe.error_run and probe.worker_alive for probe in probes):
        return Health.ERRORED
    if status is not None and isinstance(status.state, Terminated):
        return Health.CALM
    if status is not None and status.ready:
        return Health.CALM
    return Health.NOT_READY if _has_started(container) else Health.STARTING


Urgency = tuple[Health, int]


def urgency(health: Health, container: ContainerSnapshot) -> Urgency:
    """Return the sort key of a list; of starting containers, the nearest to a kill.

    Those that are `_FAR` or more failures away from their kill are equal.
    """
    if health is not Health.STARTING:
        return health, 0
    left = [
        probe.probe.failure_threshold - probe.result_run
        for probe in container.probes
        if probe.worker_alive
        and probe.key.probe_type is ProbeType.STARTUP
        and probe.last_result is Result.FAILURE
        and is_running_towards_change(probe)
    ]
    return health, min((*left, _FAR))


_FAR = 10
"""The number of failures at which a kill is not near yet."""


class ProbeConcern(IntEnum):
    """Why one probe of a container is shown before the others, from worst to best."""

    KILLS = 0
    STARTING = 1
    """The others wait for it."""

    COUNTING_TO_KILL = 2
    FAILING = 3
    ERRORED = 4
    NONE = 5
    DONE = 6


def probe_urgency(
    container: ContainerSnapshot, probe: ProbeSnapshot
) -> tuple[ProbeConcern, int]:
    """Return a probe's concern and its failures to a kill; the least is most urgent."""
    concern = _concern(container, probe)
    if concern is ProbeConcern.COUNTING_TO_KILL:
        return concern, probe.probe.failure_threshold - probe.result_run
    return concern, 0


def _concern(container: ContainerSnapshot, probe: ProbeSnapshot) -> ProbeConcern:
    kind, stopping = probe.key.probe_type, container.stopping
    if is_startup_done(probe):
        return ProbeConcern.DONE
    is_killer = stopping is not None and stopping.by == kind.lower()
    if is_killer or _is_on_hold(probe) or would_be_killed(probe):
        return ProbeConcern.KILLS
    if not probe.worker_alive:
        return ProbeConcern.NONE
    if kind is ProbeType.STARTUP:
        return ProbeConcern.STARTING
    if kind is ProbeType.LIVENESS and _is_counting(probe):
        return ProbeConcern.COUNTING_TO_KILL
    failures = {probe.last_result, probe.stored_result}
    if probe.last_run is not None and Result.FAILURE in failures:
        return ProbeConcern.FAILING
    return ProbeConcern.ERRORED if probe.error_run else ProbeConcern.NONE


def _is_on_hold(probe: ProbeSnapshot) -> bool:
    return probe.on_hold and probe.stored_result is Result.FAILURE


def _is_in_trouble(container: ContainerSnapshot) -> bool:
    """Return whether a container waits for a restart, or has failed for good."""
    if container.backoff is not None and container.backoff.until is not None:
        return True
    match container.status:
        case ContainerStatus(state=Waiting(reason)):
            return reason in WAITING_IN_TROUBLE
        case ContainerStatus(state=Terminated(exit_code)):
            return exit_code != 0
        case _:
            return False


def _is_counting(probe: ProbeSnapshot) -> bool:
    """Return whether failures count up; before the start that is normal."""
    return (
        probe.worker_alive
        and probe.key.probe_type is not ProbeType.STARTUP
        and probe.last_result is Result.FAILURE
        and is_running_towards_change(probe)
    )


def _is_last_chance(probe: ProbeSnapshot) -> bool:
    """Return whether the next failure, or the current one, kills the container."""
    return (
        probe.worker_alive
        and probe.key.probe_type is not ProbeType.READINESS
        and probe.last_result is Result.FAILURE
        and (
            would_be_killed(probe)
            or probe.result_run == probe.probe.failure_threshold - 1 > 0
        )
    )


def _has_started(container: ContainerSnapshot) -> bool:
    """Return whether a container is past its startup probe and initial delays."""
    status = container.status
    if (
        status is None
        or not isinstance(status.state, Running)
        or not status.has_started
    ):
        return False
    return not any(
        probe.upcoming_skip is Skip.INITIAL_DELAY
        or (probe.key.probe_type is ProbeType.STARTUP and not is_startup_done(probe))
        for probe in container.probes
    )


class _LastHealth(Struct, frozen=True):
    pod: PodSnapshot
    health: Health
    worst: Health
    since: datetime


class SettledHealth:
    """Health that gets worse at once but better only after `RECOVERY`.

    So a list that is sorted by it does not change with each single failure. A pod whose
    snapshot is the same object as before is not evaluated again.
    """

    def __init__(self) -> None:
        self._seen: dict[tuple[str, str], _LastHealth] = {}

    def of(
        self, pod: PodSnapshot, container: ContainerSnapshot, now: datetime
    ) -> Health:
        """Return the worst health that a container had within the last `RECOVERY`."""
        key = (pod.pod.uid, container.container.name)
        seen = self._seen.get(key)
        if seen is not None and seen.pod is pod and seen.worst is seen.health:
            return seen.health
        if seen is not None and seen.pod is pod:
            health = seen.health
        else:
            health = container_health(pod, container)
        worst, since = health, now
        # After a seek backwards, the worse health is in the future.
        if seen is not None and seen.worst < health and seen.since <= now:
            last = now if seen.health is seen.worst else seen.since
            if now - last < RECOVERY:
                worst, since = seen.worst, last
        self._seen[key] = _LastHealth(pod, health, worst, since)
        return worst

    def is_settled(self, pod: PodSnapshot) -> bool:
        """Return whether the health stays the same as long as the snapshot does."""
        known = (
            self._seen[pod.pod.uid, container.container.name]
            for container in pod.containers
        )
        return all(seen.worst is seen.health for seen in known)
