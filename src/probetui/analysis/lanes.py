"""Lanes: what became of a container and of its probes, on one axis of time.

A lane of a probe has its ticks, equal ones in a row as one stretch, so that a day of
successes takes no more room than a minute of them. A lane of a container has the
instants at which it began to wait, to run, to stop, and at which it ended. `LaneAxis`
divides time into cells, and each of the functions here returns one `LaneCell` per cell:
what is the worst in it.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from enum import StrEnum
from itertools import pairwise
from math import copysign
from typing import NamedTuple

from msgspec import Struct, field

from probetui.analysis.next_failure import FailureEffect, predict_next_failure
from probetui.analysis.timeline import classify_tick
from probetui.engine.snapshot import (
    ContainerSnapshot,
    PodSnapshot,
    ProbeSnapshot,
    Snapshot,
)
from probetui.k8s.probe import ExecAction, ProbeKey, ProbeType
from probetui.k8s.status import PodStatus, Running, Waiting
from probetui.kubelet.journal import (
    BackoffEntry,
    ContainerEntry,
    Exit,
    JournalEntry,
    LifecycleStep,
    PodGoneEntry,
    StatusEntry,
    StoppingSnapshot,
    TickEntry,
)
from probetui.kubelet.outcome import Result

MOST_STRETCHES = 20_000
"""The most stretches that are kept of one probe; above it the oldest tenth goes."""

MOST_LATENCIES = 500
"""The most latencies that are kept of one probe, likewise."""

MOST_STEPS = 5_000
"""The most steps that are kept of one container, likewise."""

CELL_SECONDS = (0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 300.0, 1800.0)
"""The lengths of time that a cell can stand for."""

_PAST = 0.75
"""The part of an axis that lies before now."""

_LEAST_STEP = 1.0
"""The seconds by which an axis moves at once, even if its cells are shorter.

Periods of probes are whole seconds: a lane in which nothing new happens then looks the
same as before, and nothing of it is painted again.
"""

_PERIODS_HELD = 2
"""For how many periods the last result is drawn where no tick follows."""


class CellKind(StrEnum):
    """What a cell shows; a later kind hides an earlier one in the same cell."""

    # Enum's own is in Python, and called for each cell that is compared or looked up.
    __hash__ = str.__hash__

    EMPTY = "empty"
    WAIT = "wait"
    RANGE = "range"
    UNPROBED = "unprobed"
    CALM = "calm"
    START = "start"
    ERRORED = "errored"
    FAILING = "failing"
    GRACE = "grace"
    EXIT = "exit"
    KILL = "kill"


_RANKS = {kind: rank for rank, kind in enumerate(CellKind)}
_KINDS = {
    "success": CellKind.CALM,
    "warning": CellKind.CALM,
    "failure": CellKind.FAILING,
    "errored": CellKind.ERRORED,
}
"""What a tick of that mark shows; all others did not probe."""


class LaneCell(Struct, frozen=True):
    """One cell of a lane.

    Attributes:
        kind: what it shows.
        level: the length of the run of failures, at most `threshold`.
        threshold: the failures that have a consequence; 0 where none are counted.
        is_tick: a tick was in it; else a result is held that came before.
        is_future: it has not happened yet.
        is_by_user: a user's act is in it, as an injected result.
    """

    kind: CellKind = CellKind.EMPTY
    level: int = 0
    threshold: int = 0
    is_tick: bool = False
    is_future: bool = False
    is_by_user: bool = False


EMPTY_CELL = LaneCell()
_UNPROBED = LaneCell(CellKind.UNPROBED)
_UNPROBED_AHEAD, _CALM_AHEAD, _ERRORED_AHEAD, _KILL_AHEAD = (
    LaneCell(kind, is_tick=True, is_future=True)
    for kind in (CellKind.UNPROBED, CellKind.CALM, CellKind.ERRORED, CellKind.KILL)
)


def worst(cells: Iterable[LaneCell]) -> LaneCell:
    """Return the cell that hides all others in the same place."""
    return max(cells, key=_severity, default=EMPTY_CELL)


def _worse(before: LaneCell, cell: LaneCell) -> LaneCell:
    """Return the worse of two cells; most often there was none before."""
    if before is EMPTY_CELL or before is cell:
        return cell
    return cell if _severity(cell) > _severity(before) else before


def _joined(lanes: Sequence[Sequence[LaneCell]]) -> list[LaneCell]:
    """Return the worst cell of some lanes in each place.

    Cells of a stretch are one object, and so the same few meet again and again.
    """
    if len(lanes) == 1:
        return [*lanes[0]]
    known: dict[tuple[int, ...], LaneCell] = {}
    joined = []
    for cells in zip(*lanes, strict=True):
        key = tuple(map(id, cells))
        if key not in known:
            known[key] = worst(cells)
        joined.append(known[key])
    return joined


def _severity(cell: LaneCell) -> tuple[int, float, bool]:
    height = cell.level / cell.threshold if cell.threshold else 0.0
    return _RANKS[cell.kind], height, cell.is_tick


class LaneAxis(Struct, frozen=True):
    """Time divided into cells.

    Attributes:
        start: the first instant, in seconds since the epoch.
        cell_seconds: how much time a cell stands for.
        width: how many cells there are.
        now: the present, in seconds since the epoch.
    """

    start: float
    cell_seconds: float
    width: int
    now: float

    @classmethod
    def around(
        cls,
        now: datetime,
        cell_seconds: float,
        width: int,
        at: datetime | None = None,
        *,
        last: float | None = None,
    ) -> LaneAxis:
        """Return the axis on which now is at three quarters of the width.

        Cells begin at multiples of their length, and the axis at a whole second, so
        that they do not move with every frame. An earlier instant `at` to be seen moves
        the axis back to it. While probes are paused nothing comes that would want the
        room: `last`, when something last happened, is there in place of now, which goes
        on to the right.
        """
        shown = now.timestamp()
        if last is not None:
            shown = min(shown, last)
        cells_before = max(int(width * _PAST), 1)
        if at is not None:
            earliest = shown - (cells_before - 1) * cell_seconds
            if at.timestamp() < earliest:
                shown = at.timestamp() + cells_before * cell_seconds / 2
        step = max(cell_seconds, _LEAST_STEP)
        first = shown // step * step // cell_seconds - cells_before + 1
        return cls(first * cell_seconds, cell_seconds, width, now.timestamp())

    @property
    def end(self) -> float:
        """The instant at which the last cell ends."""
        return self.start + self.width * self.cell_seconds

    @property
    def now_index(self) -> int:
        """The cell of now; it can lie outside of the axis."""
        return self.index(self.now)

    def index(self, at: float) -> int:
        """Return the number of the cell in which an instant is; it can lie outside."""
        return int((at - self.start) // self.cell_seconds)

    def between(self, first: float, last: float) -> range:
        """Return the cells from one instant to another that are on the axis."""
        return range(max(self.index(first), 0), min(self.index(last) + 1, self.width))

    def end_of(self, index: int) -> datetime:
        """Return the instant at which a cell ends, at the latest now."""
        at = min(self.begin(index + 1), self.now)
        return datetime.fromtimestamp(at, UTC)

    def begin(self, index: int) -> float:
        """Return the instant at which a cell begins."""
        return self.start + index * self.cell_seconds

    def since(self, index: int) -> LaneAxis:
        """Return the part of the axis that begins with a cell."""
        width = self.width - index
        return LaneAxis(self.begin(index), self.cell_seconds, width, self.now)


def fitting_cell_seconds(span_seconds: float, width: int) -> float:
    """Return the shortest length of a cell with which a span fits before now."""
    room = max(int(width * _PAST), 1)
    return next(
        (seconds for seconds in CELL_SECONDS if seconds * room >= span_seconds),
        CELL_SECONDS[-1],
    )


class _Stretch(Struct, gc=False):
    """Equal ticks in a row; instants are in seconds since the epoch."""

    first: float
    last: float
    count: int
    kind: CellKind
    level: int
    threshold: int
    period_seconds: int
    is_by_user: bool

    def continues(self, other: _Stretch) -> bool:
        """Return whether another one right behind it is no different."""
        return (
            self.kind,
            self.level,
            self.threshold,
            self.period_seconds,
            self.is_by_user,
        ) == (
            other.kind,
            other.level,
            other.threshold,
            other.period_seconds,
            other.is_by_user,
        )


class TimedRun(NamedTuple):
    """When a probe ran, for how many seconds, and whether it failed."""

    at: float
    seconds: float
    is_failure: bool


class ProbeLane:
    """The ticks of one probe; its owner adds each of them once, in order."""

    def __init__(self) -> None:
        self._stretches: list[_Stretch] = []
        self._latencies = array("d")
        """An instant and the seconds of a probe, below zero if it failed, in turn."""

    def add(self, tick: TickEntry) -> None:
        """Add the next tick."""
        if tick.attempts and tick.attempts[-1].is_timed:
            self._add_latency(tick, tick.attempts[-1].duration.total_seconds())
        kind = _KINDS.get(classify_tick(tick).code, CellKind.UNPROBED)
        is_failing = kind is CellKind.FAILING
        at = tick.timing.started_at.timestamp()
        latest = _Stretch(
            at,
            at,
            1,
            kind,
            min(tick.run.count, tick.run.threshold) if is_failing else 0,
            tick.run.threshold if is_failing else 0,
            tick.timing.period_seconds,
            tick.overridden.injected or bool(tick.overridden.delay),
        )
        last = self._stretches[-1] if self._stretches else None
        if last is not None and last.continues(latest):
            last.last, last.count = at, last.count + 1
            return
        self._stretches.append(latest)
        if len(self._stretches) > MOST_STRETCHES:
            del self._stretches[: MOST_STRETCHES // 10]

    def latencies(self, most: int = MOST_LATENCIES) -> list[TimedRun]:
        """Return how long the newest probes took, the oldest first."""
        newest = self._latencies[-2 * most :]
        return [
            TimedRun(at, abs(seconds), copysign(1, seconds) < 0)
            for at, seconds in zip(newest[::2], newest[1::2], strict=True)
        ]

    def _add_latency(self, tick: TickEntry, seconds: float) -> None:
        sign = -1 if tick.result is Result.FAILURE else 1
        at = tick.timing.started_at.timestamp()
        self._latencies.extend((at, copysign(seconds, sign)))
        if len(self._latencies) > 2 * MOST_LATENCIES:
            del self._latencies[: 2 * (MOST_LATENCIES // 10)]

    @property
    def first(self) -> float | None:
        """The instant of the first tick that is kept, None before there is one."""
        return self._stretches[0].first if self._stretches else None

    @property
    def last(self) -> float | None:
        """The instant of the last tick, None before there is one."""
        return self._stretches[-1].last if self._stretches else None

    def cells(self, axis: LaneAxis) -> list[LaneCell]:
        """Return the cells of the past; those of the future are empty."""
        cells = [EMPTY_CELL] * axis.width
        stretches = self._stretches
        start = max(
            bisect_right(stretches, axis.start, key=lambda stretch: stretch.first) - 1,
            0,
        )
        for place in range(start, len(stretches)):
            stretch = stretches[place]
            if stretch.first >= axis.end:
                break
            has_next = place + 1 < len(stretches)
            until = stretches[place + 1].first if has_next else axis.now
            self._draw(stretch, self._held(place), until, axis, cells)
        return cells

    def _held(self, place: int) -> LaneCell:
        """Return what is drawn after the ticks of a stretch: errors do not count."""
        stretch = self._stretches[place]
        if stretch.kind is CellKind.ERRORED and place:
            stretch = self._stretches[place - 1]
        if stretch.kind is CellKind.ERRORED:
            return LaneCell(CellKind.UNPROBED)
        return LaneCell(stretch.kind, stretch.level, stretch.threshold)

    def _draw(
        self,
        stretch: _Stretch,
        held: LaneCell,
        until: float,
        axis: LaneAxis,
        cells: list[LaneCell],
    ) -> None:
        until = min(until, axis.now)
        if stretch.period_seconds:
            until = min(until, stretch.last + _PERIODS_HELD * stretch.period_seconds)
        ticked = LaneCell(
            stretch.kind,
            stretch.level,
            stretch.threshold,
            is_tick=True,
            is_by_user=stretch.is_by_user,
        )
        for index in axis.between(stretch.first, until):
            if cells[index] is EMPTY_CELL:
                cells[index] = held
        for index in _ticked(stretch, axis):
            # Of several ticks in a cell the worst is seen; what is held says less.
            other = cells[index]
            if not other.is_tick or _severity(ticked) > _severity(other):
                cells[index] = ticked


def _ticked(stretch: _Stretch, axis: LaneAxis) -> Iterator[int]:
    """Yield the cells in which a stretch has a tick.

    The ticks between its first and its last are taken to be evenly far apart.
    """
    if stretch.count == 1:
        yield from axis.between(stretch.first, stretch.first)
        return
    interval = (stretch.last - stretch.first) / (stretch.count - 1)
    if interval <= axis.cell_seconds:
        yield from axis.between(stretch.first, stretch.last)
        return
    number = max(int((axis.start - stretch.first) // interval), 0)
    while number < stretch.count:
        at = stretch.first + number * interval
        index = axis.index(at)
        if index >= axis.width:
            return
        if index >= 0:
            yield index
        number += 1


class _Life(StrEnum):
    WAITING = "waiting"
    RUNNING = "running"
    STOPPING = "stopping"
    ENDED = "ended"


class _LifeStep(Struct, gc=False):
    at: float
    life: _Life


class ContainerLane:
    """The lives of one container; its owner adds each step once, in order."""

    def __init__(self) -> None:
        self._steps: list[_LifeStep] = []

    def add(self, entry: ContainerEntry) -> None:
        """Add a step in the life of an instance."""
        at = entry.at.timestamp()
        match entry.what:
            case LifecycleStep.CREATED:
                self.wait_since_end()
            case LifecycleStep.STARTED:
                self._step(at, _Life.RUNNING)
            case LifecycleStep.STOPPING:
                self._step(at, _Life.STOPPING)
            case LifecycleStep.EXITED | LifecycleStep.GONE:
                self._step(at, _Life.ENDED)
            case _:
                pass

    def add_status(self, at: datetime, status: object) -> None:
        """Take from a status that the container waits, or that it runs already."""
        if isinstance(status, Waiting):
            if self._life is None:
                self._step(at.timestamp(), _Life.WAITING)
            self.wait_since_end()
        elif isinstance(status, Running) and self._life in {None, _Life.WAITING}:
            started = status.started_at or at
            self._step(max(started.timestamp(), self._since), _Life.RUNNING)

    def wait_since_end(self) -> None:
        """Take it that it has waited since its end, as is known only now."""
        if self._life is _Life.ENDED:
            self._steps[-1].life = _Life.WAITING

    def end(self, at: datetime) -> None:
        """Take it that the container will neither run nor wait any more."""
        if self._life is not None:
            self._step(at.timestamp(), _Life.ENDED)

    @property
    def token(self) -> object:
        """Changes with every step, and with what the last one is taken to be."""
        return self.first, self.last, len(self._steps), self._life

    @property
    def turns(self) -> list[float]:
        """The instants at which it started, began to stop, or ended."""
        return [step.at for step in self._steps if step.life is not _Life.WAITING]

    @property
    def first(self) -> float | None:
        """The instant of the first step that is kept, None before there is one."""
        return self._steps[0].at if self._steps else None

    @property
    def last(self) -> float | None:
        """The instant of the last step, None before there is one."""
        return self._steps[-1].at if self._steps else None

    def life_at(self, at: datetime) -> tuple[str, float] | None:
        """Return what it did at an instant and since when, None before its lane."""
        after = bisect_right(self._steps, at.timestamp(), key=lambda step: step.at)
        if not after:
            return None
        step = self._steps[after - 1]
        return step.life.value, step.at

    def cells(self, axis: LaneAxis, probes: Sequence[LaneCell]) -> list[LaneCell]:
        """Return the cells of the past, with the worst of its probes while it ran."""
        cells = [EMPTY_CELL] * axis.width
        ends = [*(step.at for step in self._steps[1:]), axis.now]
        for step, end in zip(self._steps, ends, strict=False):
            if end < axis.start or step.at >= axis.end:
                continue
            own = self._cell(step)
            for index in axis.between(step.at, min(end, axis.now)):
                cell = own
                if cell is None:
                    cell = probes[index] if probes else _UNPROBED
                cells[index] = _worse(cells[index], cell)
        for before, step in pairwise(self._steps):
            for index in axis.between(step.at, step.at):
                cells[index] = worst((cells[index], *_turn(before, step)))
        if self._steps and self._steps[0].life is _Life.RUNNING:
            for index in axis.between(self._steps[0].at, self._steps[0].at):
                cells[index] = worst((cells[index], LaneCell(CellKind.START)))
        return cells

    def _cell(self, step: _LifeStep) -> LaneCell | None:
        """Return the cell of a part of a life, None for that of its probes."""
        match step.life:
            case _Life.WAITING:
                return LaneCell(CellKind.WAIT)
            case _Life.STOPPING:
                return LaneCell(CellKind.GRACE)
            case _Life.RUNNING:
                return None
            case _:
                return EMPTY_CELL

    @property
    def _life(self) -> _Life | None:
        return self._steps[-1].life if self._steps else None

    @property
    def _since(self) -> float:
        return self._steps[-1].at if self._steps else float("-inf")

    def _step(self, at: float, life: _Life) -> None:
        if self._life is not life:
            self._steps.append(_LifeStep(at, life))
        if len(self._steps) > MOST_STEPS:
            del self._steps[: MOST_STEPS // 10]


def _turn(before: _LifeStep, step: _LifeStep) -> Iterator[LaneCell]:
    """Yield the marks of a step: a kill, an exit, a start."""
    if step.life is _Life.STOPPING:
        yield LaneCell(CellKind.KILL)
    elif step.life is _Life.RUNNING:
        yield LaneCell(CellKind.START)
    elif before.life in {_Life.RUNNING, _Life.STOPPING}:
        yield LaneCell(CellKind.EXIT)


class ContainerLanes(Struct, frozen=True):
    """The cells of a container, and of each of its probes in the snapshot's order."""

    container: Sequence[LaneCell]
    probes: Sequence[Sequence[LaneCell]]


class _Drawn(Struct, frozen=True, gc=False):
    """The cells of a container as they were drawn last.

    Those before `until` stay as they are, for as long as `steps` does: no tick comes
    before one that has come.
    """

    axis: LaneAxis
    steps: object
    probes: Sequence[ProbeKey]
    until: float
    lanes: ContainerLanes

    def finished(self, axis: LaneAxis) -> ContainerLanes | None:
        """Return the first cells of an axis that need not be drawn again, or None."""
        before, start = self.axis, self.axis.index(axis.start)
        end = min(before.index(self.until), before.now_index, start + axis.width)
        if before.cell_seconds != axis.cell_seconds or not 0 <= start < end:
            return None
        lanes = self.lanes
        return ContainerLanes(
            lanes.container[start:end], [cells[start:end] for cells in lanes.probes]
        )


class Lanes(Struct):
    """The lanes of a session; its owner adds every entry once, in order."""

    _probes: dict[ProbeKey, ProbeLane] = field(default_factory=dict)
    _containers: dict[tuple[str, str], ContainerLane] = field(default_factory=dict)
    _drawn: dict[tuple[str, str], _Drawn] = field(default_factory=dict)

    def add_entries(self, entries: Iterable[JournalEntry]) -> None:
        """Add what concerns ticks and lives of containers."""
        for entry in entries:
            match entry:
                case TickEntry(key=key):
                    self._probe(key).add(entry)
                case ContainerEntry():
                    self._container(entry.pod_uid, entry.container_name).add(entry)
                case BackoffEntry(waits=True):
                    lane = self._container(entry.pod_uid, entry.container_name)
                    lane.wait_since_end()
                case StatusEntry(pod_uid=pod_uid, status=status):
                    self._add_status(entry.at, pod_uid, status)
                case PodGoneEntry(pod_uid=pod_uid):
                    for (uid, _), lane in self._containers.items():
                        if uid == pod_uid:
                            lane.end(entry.at)
                case _:
                    pass

    @property
    def last(self) -> float | None:
        """When something last happened, None before anything did."""
        ends = [lane.last for lane in self._probes.values()]
        ends += [lane.last for lane in self._containers.values()]
        return max((end for end in ends if end is not None), default=None)

    def life_at(
        self, pod_uid: str, container_name: str, at: datetime
    ) -> tuple[str, float] | None:
        """Return what a container did at an instant, and since when.

        It is `waiting`, `running`, `stopping` or `ended`; None if that is not known.
        """
        return self._container(pod_uid, container_name).life_at(at)

    def turns(self, pod_uid: str, container_name: str) -> list[float]:
        """Return the instants at which a container started, was stopped, or ended."""
        return self._container(pod_uid, container_name).turns

    def probes(self, pod_uid: str, container_name: str) -> list[ProbeKey]:
        """Return the probes of a container that have ticked, by their types."""
        keys = [ProbeKey(pod_uid, container_name, kind) for kind in ProbeType]
        return [key for key in keys if key in self._probes]

    def past(self, axis: LaneAxis, pod_uid: str, container_name: str) -> ContainerLanes:
        """Return the lanes of a container and of its `probes`, without the future."""
        keys = self.probes(pod_uid, container_name)
        past = [self._probe(key).cells(axis) for key in keys]
        joined = _joined(past) if past else []
        return ContainerLanes(
            self._container(pod_uid, container_name).cells(axis, joined), past
        )

    def cells(
        self,
        axis: LaneAxis,
        snapshot: Snapshot,
        pod: PodSnapshot,
        container: ContainerSnapshot,
    ) -> ContainerLanes:
        """Return the lanes of a container and of its probes, the future included."""
        place = pod.pod.uid, container.container.name
        steps = self._container(*place).token
        keys = [probe.key for probe in container.probes]
        drawn = self._drawn.get(place)
        finished = None
        if drawn is not None and (drawn.steps, drawn.probes) == (steps, keys):
            finished = drawn.finished(axis)
        if finished is None:
            lanes = self._draw(axis, snapshot, pod, container)
        else:
            rest = axis.since(len(finished.container))
            new = self._draw(rest, snapshot, pod, container)
            lanes = ContainerLanes(
                [*finished.container, *new.container],
                [
                    [*before, *after]
                    for before, after in zip(finished.probes, new.probes, strict=True)
                ],
            )
        ticks = [
            axis.now if probe.next_tick_at is None else self._probe(probe.key).last
            for probe in container.probes
        ]
        until = min((at or 0.0 for at in ticks), default=0.0)
        self._drawn[place] = _Drawn(axis, steps, keys, until, lanes)
        return lanes

    def _draw(
        self,
        axis: LaneAxis,
        snapshot: Snapshot,
        pod: PodSnapshot,
        container: ContainerSnapshot,
    ) -> ContainerLanes:
        """Draw all cells of an axis."""
        place = pod.pod.uid, container.container.name
        past = [self._probe(probe.key).cells(axis) for probe in container.probes]
        own = self._container(*place).cells(axis, _joined(past) if past else [])
        if snapshot.is_paused:
            return ContainerLanes(own, past)
        ahead = _Ahead(axis, snapshot, pod, container)
        coming: dict[int, LaneCell] = {}
        for probe, cells in zip(container.probes, past, strict=True):
            for index, cell in ahead.of_probe(probe):
                coming[index] = _worse(coming.get(index, EMPTY_CELL), cell)
                cells[index] = _worse(cells[index], cell)
        if ahead.has_own:
            future = range(max(axis.now_index, 0), axis.width)
            coming = {index: ahead.of_container(index) for index in future}
        for index, cell in coming.items():
            own[index] = _worse(own[index], cell)
        return ContainerLanes(own, past)

    def latencies(self, key: ProbeKey, most: int = MOST_LATENCIES) -> list[TimedRun]:
        """Return how long the newest runs of a probe took, the oldest first."""
        return self._probe(key).latencies(most)

    def _add_status(self, at: datetime, pod_uid: str, status: PodStatus) -> None:
        of_init, others = status.init_container_statuses, status.container_statuses
        for container in (*(of_init or ()), *(others or ())):
            lane = self._container(pod_uid, container.name)
            lane.add_status(at, container.state)

    def _probe(self, key: ProbeKey) -> ProbeLane:
        lane = self._probes.get(key)
        if lane is None:
            lane = self._probes[key] = ProbeLane()
        return lane

    def _container(self, pod_uid: str, container_name: str) -> ContainerLane:
        place = pod_uid, container_name
        lane = self._containers.get(place)
        if lane is None:
            lane = self._containers[place] = ContainerLane()
        return lane


class _Ahead:
    """What comes if every probe goes on as its last tick ended.

    In a pod that is being deleted the kubelet learns of no exit before all have ended,
    and readiness is probed until then: of a container that is gone it fails, and
    commands cannot run. In other pods the next status says that it is gone.
    """

    def __init__(
        self,
        axis: LaneAxis,
        snapshot: Snapshot,
        pod: PodSnapshot,
        container: ContainerSnapshot,
    ) -> None:
        self._axis = axis
        self._container = container
        self._is_deleted = pod.pod.deletion_requested_at is not None
        self._cancels = self._is_deleted and snapshot.rules.cancels_exec_on_deletion
        status, exit_ = container.status, container.last_exit
        self._is_gone = (
            status is not None
            and exit_ is not None
            and exit_.container_id == status.container_id
        )
        self._until = axis.end
        if self._is_gone and self._is_deleted and not pod.pod.sidecars:
            # Sidecars are stopped after the others: when they end is not known yet.
            stops = [other.stopping for other in pod.containers if other.stopping]
            self._until = min(max(map(_latest_end, stops), default=axis.end), axis.end)
        self._kills_at = {}
        for probe in container.probes:
            missing = _missing_for_kill(snapshot, pod, container, probe)
            if missing is not None and (first := self._first(probe)) is not None:
                self._kills_at[probe.key] = self._drawn_at(probe, first, missing)
        self._first_kill = min(self._kills_at.values(), default=float("inf"))

    @property
    def has_own(self) -> bool:
        """Whether the container has something to come that is not of its probes."""
        container, status = self._container, self._container.status
        is_backing_off = container.backoff is not None and container.backoff.until
        is_waiting = status is not None and isinstance(status.state, Waiting)
        return bool(container.stopping is not None or is_backing_off or is_waiting)

    def of_probe(self, probe: ProbeSnapshot) -> Iterator[tuple[int, LaneCell]]:
        """Yield the cells in which a probe is due, with what it would show there."""
        axis, first = self._axis, self._first(probe)
        if first is None or not probe.worker_alive or self._container.stopping:
            return
        period = probe.probe.period_seconds
        steady = self._steady(probe)
        number, kill, last = 0, self._kills_at.get(probe.key), self._until
        while (at := self._drawn_at(probe, first, number)) < last:
            index = axis.index(at)
            begin = axis.begin(index)
            end = begin + axis.cell_seconds
            # Of several ticks in a cell the last one is drawn.
            number = int((end - first) // period)
            number -= first + number * period >= end
            if begin > self._first_kill:
                return
            kills = kill is not None and begin <= kill < end
            yield index, steady or self._failing(probe, number, kills=kills)
            if isinstance(probe.upcoming_skip, Exit):
                return
            number += 1

    def _first(self, probe: ProbeSnapshot) -> float | None:
        """Return when the next result is due; of a probe in flight, since when."""
        due, now = probe.next_tick_at, self._axis.now
        if due is not None:
            return max(due.timestamp(), now)
        if probe.in_flight_since is None:
            return None
        # However long it takes, the ticker keeps no more than one tick.
        return max(probe.in_flight_since.timestamp(), now - probe.probe.period_seconds)

    def _drawn_at(self, probe: ProbeSnapshot, first: float, number: int) -> float:
        """Return where the tick after so many others is drawn."""
        at = first + number * probe.probe.period_seconds
        if probe.next_tick_at is None:
            # The cell of now has the last result still.
            at = max(at, self._axis.begin(self._axis.now_index + 1))
        return at

    def _steady(self, probe: ProbeSnapshot) -> LaneCell | None:
        """Return what every tick would show, None while failures are counted."""
        if probe.upcoming_skip is not None or probe.on_hold:
            return _UNPROBED_AHEAD
        if self._is_gone and not self._is_deleted:
            return _UNPROBED_AHEAD
        if (self._is_gone or self._cancels) and isinstance(
            probe.probe.handler, ExecAction
        ):
            return _ERRORED_AHEAD
        return None if self._is_gone or _failures(probe) else _CALM_AHEAD

    def _failing(self, probe: ProbeSnapshot, number: int, *, kills: bool) -> LaneCell:
        """Return what the failure after so many others would show."""
        if kills:
            return _KILL_AHEAD
        threshold = probe.probe.failure_threshold
        level = min(_failures(probe) + number + 1, threshold)
        return LaneCell(
            CellKind.FAILING, level, threshold, is_tick=True, is_future=True
        )

    def of_container(self, index: int) -> LaneCell:
        """Return a cell of a container that has something to come of its own."""
        axis, container = self._axis, self._container
        begin = axis.begin(index)
        if (stopping := container.stopping) is not None:
            until = axis.index(_latest_end(stopping))
            if index > until:
                return EMPTY_CELL
            kind = CellKind.EXIT if index == until else CellKind.GRACE
            return LaneCell(kind, is_future=True)
        backoff = container.backoff
        if backoff is not None and backoff.until is not None:
            earliest = backoff.until.timestamp()
            latest = (backoff.latest or backoff.until).timestamp()
            if begin < earliest:
                return LaneCell(CellKind.WAIT, is_future=True)
            if begin <= latest:
                return LaneCell(CellKind.RANGE, is_future=True)
            return EMPTY_CELL
        status = container.status
        if status is not None and isinstance(status.state, Waiting):
            pull = container.next_pull_at
            if pull is not None and begin < pull.timestamp():
                return LaneCell(CellKind.WAIT, is_future=True)
        return EMPTY_CELL


def _latest_end(stopping: StoppingSnapshot) -> float:
    """Return when the grace period of a stop is over."""
    return stopping.since.timestamp() + stopping.grace_period_seconds


def _failures(probe: ProbeSnapshot) -> int:
    """Return the run of failures that a probe is in, 0 if it is in none."""
    return probe.result_run if probe.last_result is Result.FAILURE else 0


def _missing_for_kill(
    snapshot: Snapshot,
    pod: PodSnapshot,
    container: ContainerSnapshot,
    probe: ProbeSnapshot,
) -> int | None:
    """Return how many ticks come before the one that has the container killed.

    None if no failure does, or if the last result was none.
    """
    if not _failures(probe):
        return None
    failure = predict_next_failure(
        pod.pod,
        container,
        probe,
        snapshot.taken_at,
        snapshot.rules,
        acts=snapshot.acts,
    )
    if failure.at_threshold is not FailureEffect.KILL:
        return None
    missing = failure.threshold - failure.run
    return missing if missing >= 0 else None


def instant(seconds: float) -> datetime:
    """Return an instant given in seconds since the epoch."""
    return datetime.fromtimestamp(seconds, UTC)
