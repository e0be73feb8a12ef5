"""The observation of one pod: its records as values.

Times are seconds since the pod was submitted, as floats, as in the records. They are
compared with the numbers of a case, never with a clock.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

Json = Mapping[str, Any]

POD = "pod"
"""The pod, in place of a container's name."""

STATUS_LAG = 1.0
"""The longest delay of a status record, in seconds."""

WHOLE_SECOND = 1.0
"""The uncertainty of a timestamp without a fraction, in seconds."""

_TIMESTAMP = re.compile(
    r"(?P<whole>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?P<fraction>\.\d+)?"
    r"(?P<zone>Z|[+-]\d\d:\d\d)"
)


@dataclass(frozen=True, slots=True)
class Span:
    """A point in time of which only bounds are known."""

    earliest: float
    latest: float

    @classmethod
    def at(cls, t: float) -> Span:
        """Return a point that is known exactly."""
        return cls(t, t)

    @classmethod
    def before(cls, t: float) -> Span:
        """Return a point that the record of a status at `t` reports."""
        return cls(t - STATUS_LAG, t)

    def plus(self, seconds: float) -> Span:
        """Return the point so many seconds later."""
        return Span(self.earliest + seconds, self.latest + seconds)


@dataclass(frozen=True, slots=True)
class Event:
    """An event; `container` is None for an event of the pod."""

    t: float
    type: str
    reason: str
    message: str
    container: str | None


@dataclass(frozen=True, slots=True)
class ContainerView:
    """A container in a status; `state` is a ContainerState of the Kubernetes API."""

    name: str
    state: Json
    last_state: Json
    ready: bool
    started: bool | None
    restart_count: int

    @property
    def is_running(self) -> bool:
        """Whether it runs."""
        return "running" in self.state

    @property
    def is_waiting(self) -> bool:
        """Whether it waits."""
        return "waiting" in self.state

    def end_of_run(self, run: int) -> Json | None:
        """Return the terminated state of a run, if this status has it.

        While a container waits, its restart count is still that of the previous run.
        """
        if (now := self.state.get("terminated")) and self.restart_count == run:
            return _mapping(now)
        last = self.last_state.get("terminated")
        later_by = 0 if self.is_waiting else 1
        if last and self.restart_count == run + later_by:
            return _mapping(last)
        return None


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition of the pod."""

    type: str
    status: str
    reason: str | None
    message: str | None


@dataclass(frozen=True, slots=True)
class Status:
    """The status of the pod, of generation `gen`, from `t` until the next."""

    t: float
    gen: int
    phase: str | None
    reason: str | None
    conditions: Sequence[Condition]
    containers: Sequence[ContainerView]

    def container(self, name: str) -> ContainerView | None:
        """Return a container by name, init containers first."""
        return next(
            (container for container in self.containers if container.name == name), None
        )

    def condition(self, kind: str) -> Condition | None:
        """Return a condition by type."""
        return next(
            (condition for condition in self.conditions if condition.type == kind), None
        )

    def is_ready(self, who: str) -> bool:
        """Return whether a container, or the `POD`, is ready."""
        if who == POD:
            condition = self.condition("Ready")
            return condition is not None and condition.status == "True"
        container = self.container(who)
        return container is not None and container.ready


@dataclass(frozen=True, slots=True)
class RunEnd:
    """How a run ended, and when that was recorded."""

    t: float
    terminated: Json


@dataclass(slots=True)
class Observation:
    """The events, statuses and actions of one pod, in the order they were recorded."""

    wall: float = 0.0
    """Unix time of t = 0."""

    events: list[Event] = field(default_factory=list)
    statuses: list[Status] = field(default_factory=list)
    actions: list[tuple[str, float]] = field(default_factory=list)
    """Actions (delete, replace) and their times."""

    gone: list[float] = field(default_factory=list)
    missed: list[str] = field(default_factory=list)
    """Descriptions of actions that were never due."""

    late: float = 0.0
    """How many seconds the machine was late."""

    _ended: float | None = None
    _last: float = 0.0

    @classmethod
    def of(cls, records: Iterable[Json]) -> Observation:
        """Return the observation of some records."""
        observation = cls()
        for record in records:
            observation.add(record)
        return observation

    @property
    def end(self) -> float:
        """When the observation ended, or the latest time in it."""
        return self._last if self._ended is None else self._ended

    def add(self, record: Json) -> None:
        """Add a record; `KeyError` for one that is not of this format."""
        t = float(record["t"])
        self._last = max(self._last, t)
        match record["kind"]:
            case "submitted":
                self.wall = float(record.get("wall", 0))
            case "event":
                self.events.append(_event(record, t))
            case "status":
                self.statuses.append(_status(record, t))
            case "action":
                self.actions.append((record["do"], t))
            case "gone":
                self.gone.append(t)
            case "missed_action":
                self.missed.append(record["detail"])
            case "end":
                self._ended = t
            case kind:
                raise KeyError(kind)

    def of_generation(self, gen: int) -> list[Status]:
        """Return the statuses of a generation."""
        return [status for status in self.statuses if status.gen == gen]

    def end_of_run(self, container: str, run: int, gen: int = 0) -> RunEnd | None:
        """Return how a run ended, from the first status that has it."""
        for status in self.of_generation(gen):
            found = status.container(container)
            if found is not None and (ended := found.end_of_run(run)) is not None:
                return RunEnd(status.t, ended)
        return None

    def when(self, timestamp: str | None) -> Span | None:
        """Return the time of a timestamp in a status, None if it is missing or zero."""
        match = _TIMESTAMP.fullmatch(timestamp or "")
        if match is None:
            return None
        zone = "+00:00" if match["zone"] == "Z" else match["zone"]
        unix = datetime.fromisoformat(match["whole"] + zone).timestamp()
        unix += float(match["fraction"] or 0)
        if unix <= 0:
            return None
        t = unix - self.wall
        return Span.at(t) if match["fraction"] else Span(t, t + WHOLE_SECOND)


def _event(record: Json, t: float) -> Event:
    return Event(
        t=t,
        type=record.get("type", ""),
        reason=record["reason"],
        message=record.get("message", ""),
        container=record.get("container"),
    )


def _status(record: Json, t: float) -> Status:
    status = _mapping(record["status"])
    return Status(
        t=t,
        gen=record.get("gen", 0),
        phase=status.get("phase"),
        reason=status.get("reason"),
        conditions=[
            Condition(
                condition["type"],
                condition["status"],
                condition.get("reason"),
                condition.get("message"),
            )
            for condition in status.get("conditions") or ()
        ],
        containers=[
            _container(container)
            for key in ("initContainerStatuses", "containerStatuses")
            for container in status.get(key) or ()
        ],
    )


def _container(json: Json) -> ContainerView:
    return ContainerView(
        name=json["name"],
        state=_mapping(json.get("state")),
        last_state=_mapping(json.get("lastState")),
        ready=bool(json.get("ready")),
        started=json.get("started"),
        restart_count=json.get("restartCount", 0),
    )


def _mapping(value: Any) -> Json:
    return value if isinstance(value, Mapping) else {}
