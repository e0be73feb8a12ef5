"""The measurements of a recorded session: probes, container lifetimes, calls.

A probe depends on the state of a process, which begins with its start. So measurements
are indexed by the age of the instance. A tick at an age without a measurement takes the
outcome of the closest measured age of the instance. An instance that is not in the
record behaves as the last recorded one.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from functools import partial
from statistics import median_low
from typing import overload

from msgspec import Struct, field

from probetui.drive.scenario.behavior import (
    HEALTHY,
    NO_TIME,
    CallBehavior,
    InstanceBehavior,
    ProbeAnswer,
    ResultPhase,
    ResultPhases,
    answer_too_late,
)
from probetui.drive.what_if.session_replay import SessionReplay, answers
from probetui.k8s.probe import ProbeKey, ProbeType
from probetui.k8s.runtime import ContainerID, RuntimeContainerStatus, RuntimeState
from probetui.kubelet.effects import (
    CreateContainer,
    Fault,
    InjectFault,
    Operation,
    PullImage,
    Relist,
    RunHook,
    RunOperation,
    RunProbe,
    StopContainer,
)
from probetui.kubelet.facts import OperationFinished, ProbeFinished, Relisted
from probetui.kubelet.outcome import ProbeOutcome, ProbeResult

SAME_TICK = timedelta(milliseconds=500)
"""Ages this close belong to the same tick: the shortest period is a second."""

_ENDINGS = frozenset({Fault.KILL, Fault.STOP})


class Gap(StrEnum):
    """Why the outcome of a tick was not measured."""

    BETWEEN = "between"
    """The instance was measured before and after."""
    BEFORE = "before"
    AFTER = "after"
    """It was measured only later, only earlier."""
    OTHER_INSTANCE = "other-instance"
    """The record has no such instance: another one was measured at this age."""
    CUT_OFF = "cut-off"
    """It was measured, and cut off by a shorter time-out: it stays a failure."""
    NEVER = "never"
    """The probe never ran in the record: it succeeds."""


class Measured(Struct, frozen=True):
    """One probe that ran: the age of its instance, and the outcome.

    `limit` is the probe's time-out.
    """

    age: timedelta
    outcome: ProbeOutcome
    limit: timedelta

    @property
    def is_cut_off(self) -> bool:
        """Whether the probe timed out, so that its latency is unknown."""
        is_failure = self.outcome.last.result in {
            ProbeResult.FAILURE,
            ProbeResult.UNKNOWN,
        }
        return is_failure and self.outcome.last.duration >= self.limit

    def fits(self, limit: timedelta) -> bool:
        """Return whether the outcome holds for another time-out."""
        if limit == self.limit:
            return True
        return not self.is_cut_off and self.outcome.last.duration < limit


class _Instance(Struct):
    """One instance of a container in the record."""

    status: RuntimeContainerStatus
    measured: dict[ProbeType, list[Measured]] = field(
        default_factory=lambda: defaultdict(list)
    )
    stop_asked: tuple[datetime, int] | None = None
    is_ended_by_fault: bool = False

    def sort(self) -> None:
        """Sort the measurements by age."""
        for measured in self.measured.values():
            measured.sort(key=lambda measurement: measurement.age)

    def behavior(self) -> InstanceBehavior:
        """Return the instance's lifetime and its reaction to a stop."""
        status = self.status
        started_at, finished_at = status.started_at, status.finished_at
        if (
            status.state is not RuntimeState.EXITED
            or started_at is None
            or finished_at is None
        ):
            return InstanceBehavior()
        if self.stop_asked is not None and self.stop_asked[0] <= finished_at:
            asked_at, grace = self.stop_asked
            duration = finished_at - asked_at
            ignores = duration >= timedelta(seconds=grace)
            return InstanceBehavior(
                stops_after=None if ignores else duration, stop_code=status.exit_code
            )
        if self.is_ended_by_fault:
            return InstanceBehavior()
        return InstanceBehavior(
            lasts=max(finished_at - started_at, NO_TIME), exit_code=status.exit_code
        )


class _Call(Struct):
    """The answers to one kind of call."""

    durations: list[timedelta] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    def behavior(self) -> CallBehavior:
        """Return the median answer; an error only if all answers were errors."""
        takes = median_low(self.durations)
        return CallBehavior(takes, self.errors[-1] if all(self.errors) else "")


_MOST_RESTARTS = 2**31 - 1
"""A count of restarts is an int32 in the API."""


class _Lives(Sequence[InstanceBehavior]):
    """The behaviors of a container's instances, by restart count.

    An instance that is not recorded behaves as the last one before it. Restart counts
    come from the record and may be huge, so nothing is stored for those in between.

    Args:
        known: the recorded instances, at least one.
        behavior: returns the behavior of an instance modelled on one of them.
    """

    def __init__(
        self,
        known: Sequence[_Instance],
        behavior: Callable[[_Instance, int], InstanceBehavior],
    ) -> None:
        number_of = {instance.status.restart_count: instance for instance in known}
        self._first = known[0]
        self._numbers = sorted(number_of)
        self._instances = [number_of[number] for number in self._numbers]
        self._behavior = behavior
        self._made: dict[int, InstanceBehavior] = {}

    def __len__(self) -> int:
        """Return the highest recorded restart count plus two."""
        return min(self._numbers[-1], _MOST_RESTARTS) + 2

    @overload
    def __getitem__(self, number: int) -> InstanceBehavior: ...
    @overload
    def __getitem__(self, number: slice) -> Sequence[InstanceBehavior]: ...
    def __getitem__(
        self, number: int | slice
    ) -> InstanceBehavior | Sequence[InstanceBehavior]:
        """Return the behavior of an instance."""
        if isinstance(number, slice):
            return [self[index] for index in range(*number.indices(len(self)))]
        if not 0 <= number < len(self):
            raise IndexError(number)
        behavior = self._made.get(number)
        if behavior is None:
            place = bisect_right(self._numbers, number) - 1
            like = self._instances[place] if place >= 0 else self._first
            behavior = self._made[number] = self._behavior(like, number)
        return behavior


NoteGap = Callable[[RunProbe, Gap], None]


class Measurements:
    """The measurements of a recorded session.

    Args:
        replay: a recorded session.
    """

    def __init__(self, replay: SessionReplay) -> None:
        self._names = {uid: pod.name for uid, pod in replay.pods().items()}
        self._instances: dict[ContainerID, _Instance] = {}
        self._by_container: dict[tuple[str, str], list[_Instance]] = defaultdict(list)
        """The instances of each container, in the order of their starts."""
        self._calls: dict[tuple[str, str], _Call] = defaultdict(_Call)
        self.by_id: dict[int, Measured] = {}
        """What each answered probe of the record measured."""
        self._read(replay)
        self._calls_behave = {
            key: call.behavior() for key, call in self._calls.items() if call.durations
        }

    def of_instances(
        self, key: ProbeKey
    ) -> Iterator[tuple[ContainerID, Sequence[Measured]]]:
        """Yield the measurements of a probe by instance, in the order of starts."""
        for instance in self._by_container.get((key.pod_uid, key.container_name), ()):
            measured = instance.measured.get(key.probe_type, ())
            yield instance.status.container_id, measured

    def lives(self, note_gap: NoteGap) -> Mapping[str, Sequence[InstanceBehavior]]:
        """Return the behaviors of each container's instances, by `pod/container`.

        Args:
            note_gap: called for each probe whose outcome was never measured.
        """
        return {
            f"{self._names.get(pod_uid, pod_uid)}/{name}": _Lives(
                known, partial(self._behavior, known=known, note_gap=note_gap)
            )
            for (pod_uid, name), known in self._by_container.items()
        }

    def deal(self, call: Operation | Relist) -> CallBehavior:
        """Answer a runtime call as recorded; a `RuntimeBehavior`."""
        return self._calls_behave.get(_call_key(call), CallBehavior())

    # -- reading

    def _read(self, replay: SessionReplay) -> None:
        listed_at = replay.started_at
        for step in replay.steps:
            if isinstance(step.item, Relisted):
                self._add_call(Relist(), step.at - listed_at)
                self._add_listing(step.item)
            if Relist() in step.effects:
                listed_at = step.at
        for effect, asked_at, fact, at in answers(replay.steps):
            if isinstance(effect, RunOperation) and isinstance(fact, OperationFinished):
                self._add_operation(effect, asked_at, fact, at)
        # By then it is known when each container started.
        for effect, asked_at, fact, _ in answers(replay.steps):
            if isinstance(effect, RunProbe) and isinstance(fact, ProbeFinished):
                self._add_probe(effect, asked_at, fact)
        for instance in self._instances.values():
            instance.sort()

    def _add_listing(self, listing: Relisted) -> None:
        for pod in listing.pods:
            for status in pod.containers:
                self._add_status(pod.pod_uid, status)

    def _add_call(
        self, call: Operation | Relist, duration: timedelta, error: str | None = None
    ) -> None:
        known = self._calls[_call_key(call)]
        known.durations.append(duration)
        known.errors.append(error or "")

    def _add_status(self, pod_uid: str, status: RuntimeContainerStatus) -> None:
        known = self._instances.get(status.container_id)
        if known is None:
            known = self._instances[status.container_id] = _Instance(status)
            self._by_container[pod_uid, status.name].append(known)
        else:
            known.status = status

    def _add_operation(
        self, asked: RunOperation, at: datetime, fact: OperationFinished, now: datetime
    ) -> None:
        operation = asked.operation
        match operation:
            case StopContainer(container_id, _, grace):
                if isinstance(fact.value, RuntimeContainerStatus):
                    # A listing misses the end of an instance that is removed at once.
                    self._add_status(asked.pod_uid, fact.value)
                known = self._instances.get(container_id)
                if known is not None and known.stop_asked is None:
                    known.stop_asked = at, grace
                return  # The world determines the duration of a stop itself.
            case InjectFault(container_id, _, fault) if fault in _ENDINGS:
                known = self._instances.get(container_id)
                if known is not None:
                    known.is_ended_by_fault = True
            case _:
                pass
        self._add_call(operation, now - at, fact.error)

    def _add_probe(self, effect: RunProbe, at: datetime, fact: ProbeFinished) -> None:
        instance = self._instances.get(effect.container_id)
        if instance is None or fact.outcome.injected:
            return
        started_at = instance.status.started_at
        age = NO_TIME if started_at is None else at - started_at
        limit = timedelta(seconds=effect.probe.timeout_seconds)
        measured = Measured(age, fact.outcome, limit)
        instance.measured[effect.key.probe_type].append(measured)
        self.by_id[effect.probe_id] = measured

    # -- answering

    def _behavior(
        self,
        like: _Instance,
        number: int,
        known: Sequence[_Instance],
        note_gap: NoteGap,
    ) -> InstanceBehavior:
        behavior = like.behavior()
        if like.stop_asked is None:
            behavior = _with_stop_of(behavior, known)
        answers = {
            kind: ResultPhases(
                (ResultPhase(self._answerer(like, number, known, note_gap), None),)
            )
            for kind in ProbeType
        }
        return InstanceBehavior(
            behavior.lasts,
            behavior.exit_code,
            behavior.stops_after,
            behavior.stop_code,
            answers=answers,
        )

    def _answerer(
        self,
        like: _Instance,
        number: int,
        known: Sequence[_Instance],
        note_gap: NoteGap,
    ) -> Callable[[RunProbe, timedelta], ProbeAnswer]:
        def answer(effect: RunProbe, age: timedelta) -> ProbeAnswer:
            kind = effect.key.probe_type
            own = self._instances.get(effect.container_id)
            instance = own or like
            is_own = own is not None or like.status.restart_count == number
            measured: Sequence[Measured] = instance.measured.get(kind, ())
            if not measured:
                is_own = False
                measured = _last_measured(known, kind)
            if not measured:
                note_gap(effect, Gap.NEVER)
                return HEALTHY
            nearest, gap = _nearest(measured, age)
            if not is_own:
                gap = Gap.OTHER_INSTANCE
            limit = timedelta(seconds=effect.probe.timeout_seconds)
            if nearest.is_cut_off and limit > nearest.limit:
                gap = Gap.CUT_OFF
            if gap is not None:
                note_gap(effect, gap)
            if nearest.is_cut_off or nearest.outcome.last.duration >= limit:
                return answer_too_late(effect)
            return ProbeAnswer(nearest.outcome.last, nearest.outcome.duration)

        return answer


def _with_stop_of(
    behavior: InstanceBehavior, known: Sequence[_Instance]
) -> InstanceBehavior:
    """Copy to an instance that was never stopped the stop of another one."""
    for instance in reversed(known):
        if instance.stop_asked is not None:
            other = instance.behavior()
            return InstanceBehavior(
                behavior.lasts, behavior.exit_code, other.stops_after, other.stop_code
            )
    return behavior


def _last_measured(known: Sequence[_Instance], kind: ProbeType) -> Sequence[Measured]:
    """Return the measurements of the last instance that ran the probe, if any."""
    for instance in reversed(known):
        if instance.measured.get(kind):
            return instance.measured[kind]
    return ()


def _nearest(
    measured: Sequence[Measured], age: timedelta
) -> tuple[Measured, Gap | None]:
    """Return the measurement closest to an age; of two equally close, the earlier."""
    place = bisect_left(measured, age, key=lambda measurement: measurement.age)
    around = measured[max(place - 1, 0) : place + 1]
    nearest = min(around, key=lambda measurement: abs(measurement.age - age))
    if abs(nearest.age - age) <= SAME_TICK:
        return nearest, None
    if place == 0:
        return nearest, Gap.BEFORE
    return nearest, Gap.AFTER if place == len(measured) else Gap.BETWEEN


def _call_key(call: Operation | Relist) -> tuple[str, str]:
    """Return the key of calls with one duration: of one image, container or hook."""
    kind = type(call).__name__
    match call:
        case PullImage(image=image):
            return kind, image
        case CreateContainer(pod, container):
            return kind, f"{pod.uid}/{container.name}"
        case RunHook(pod, container, is_pre_stop=is_last):
            hook = "preStop" if is_last else "postStart"
            return kind, f"{pod.uid}/{container.name}/{hook}"
        case _:
            return kind, ""
