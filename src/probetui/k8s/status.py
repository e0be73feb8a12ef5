"""`v1.PodStatus` as frozen values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from functools import cached_property

from msgspec import Struct

from probetui.values import Instant, Value


class PodPhase(StrEnum):
    """The phase of a pod."""

    PENDING = "Pending"
    RUNNING = "Running"
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"
    UNKNOWN = "Unknown"

    @property
    def is_terminal(self) -> bool:
        """Whether the pod has finished."""
        return self in _TERMINAL


_TERMINAL = frozenset({PodPhase.SUCCEEDED, PodPhase.FAILED})


class ConditionStatus(StrEnum):
    """True, False or Unknown, as the API spells them."""

    TRUE = "True"
    FALSE = "False"
    UNKNOWN = "Unknown"


class PodCondition(Value, frozen=True):
    """One condition; `type` is free text, as readiness gates may name any.

    `observed_generation` is that of the pod it is about, 0 if it does not say so.
    """

    type: str
    status: ConditionStatus
    reason: str = ""
    message: str = ""
    last_transition_at: Instant | None = None
    observed_generation: int = 0


class Waiting(Struct, frozen=True):
    """`v1.ContainerStateWaiting`."""

    reason: str = ""
    message: str = ""


class Running(Struct, frozen=True):
    """`v1.ContainerStateRunning`; `started_at` is None if the runtime gave no time."""

    started_at: datetime | None = None


class Terminated(Struct, frozen=True):
    """`v1.ContainerStateTerminated`."""

    exit_code: int
    reason: str = ""
    message: str = ""
    started_at: datetime | None = None
    finished_at: datetime | None = None
    container_id: str = ""


ContainerState = Waiting | Running | Terminated


class VolumeMountStatus(Struct, frozen=True):
    """`v1.VolumeMountStatus`."""

    name: str
    mount_path: str
    read_only: bool = False
    recursive_read_only: str | None = None


class ContainerStatus(Struct, frozen=True):
    """`v1.ContainerStatus`; `started` is None where it is not set."""

    name: str
    container_id: str = ""
    state: ContainerState | None = None
    last_state: ContainerState | None = None
    ready: bool = False
    started: bool | None = None
    restart_count: int = 0
    image: str = ""
    image_id: str = ""
    volume_mounts: tuple[VolumeMountStatus, ...] = ()
    stop_signal: str = ""

    @property
    def has_started(self) -> bool:
        """Whether it has started up; without `started`, as before 1.16, if it runs."""
        if self.started is None:
            return isinstance(self.state, Running)
        return self.started


class PodStatus(Struct, frozen=True, dict=True):
    """`v1.PodStatus`; lists of statuses are None where the API has null.

    `observed_generation` is that of the pod it is about, 0 if it does not say so.
    """

    phase: PodPhase = PodPhase.PENDING
    conditions: tuple[PodCondition, ...] = ()
    reason: str = ""
    message: str = ""
    pod_ip: str = ""
    pod_ips: tuple[str, ...] = ()
    qos_class: str = ""
    start_time: datetime | None = None
    init_container_statuses: tuple[ContainerStatus, ...] | None = ()
    container_statuses: tuple[ContainerStatus, ...] | None = ()
    observed_generation: int = 0

    def condition(self, condition_type: str) -> PodCondition | None:
        """Return the condition of that type, or None."""
        for condition in self.conditions:
            if condition.type == condition_type:
                return condition
        return None

    def container(self, name: str) -> ContainerStatus | None:
        """Return the status of the container of that name, regular ones first."""
        return next(self.statuses_of(name), None)

    def statuses_of(self, name: str) -> Iterator[ContainerStatus]:
        """Yield the status of the regular and of the init container of a name."""
        for statuses in self._by_name:
            if name in statuses:
                yield statuses[name]

    # A pod may have thousands of containers, each of which is looked up each second.
    @cached_property
    def _by_name(self) -> Sequence[Mapping[str, ContainerStatus]]:
        return [
            {status.name: status for status in reversed(statuses or ())}
            for statuses in (self.container_statuses, self.init_container_statuses)
        ]
