"""One container of an observed pod: its instances and its probes."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import NamedTuple

from probetui.cluster.observe.causal_order import CausalOrder, TickCause
from probetui.cluster.observe.lifetimes import Lifetimes
from probetui.cluster.observe.observed_probe import (
    NOT_CERTAIN,
    KilledInstance,
    ObservedProbe,
)
from probetui.engine.snapshot import BackoffSnapshot
from probetui.k8s.event import Event
from probetui.k8s.pod import Container, Pod
from probetui.k8s.probe import ProbeKey, ProbeType
from probetui.k8s.runtime import NO_CONTAINER, ContainerID
from probetui.k8s.status import ContainerStatus, Running, Terminated
from probetui.kubelet.journal import (
    PROBE_CAUSES,
    ExitCause,
    LastExit,
    Skip,
    StoppingSnapshot,
    TickAction,
)
from probetui.kubelet.prober.worker import Worker, whole_seconds
from probetui.kubelet.runtime.turn import TurnBuilder
from probetui.kubelet_rules import PORTED_RULES, KubeletRules

_SECOND = timedelta(seconds=1)
_OF_A_START = frozenset({"Pulling", "Pulled", "Created", "Started"})
_LONGEST_POLL = timedelta(seconds=15)
_ANSWER = timedelta(seconds=3)
"""How long the counters are waited for beyond half a period."""


class CountedKill(NamedTuple):
    """A kill by a probe that follows from its results, at a likely time.

    `is_told`: an event has its time, by the node's clock, which was moved to ours.
    """

    by: ExitCause
    at: datetime
    earliest: datetime
    latest: datetime
    is_told: bool = False

    def moved(self, by: timedelta) -> CountedKill:
        """Return it for a node's clock that is apart by so much more than thought."""
        if not self.is_told:
            return self
        return self._replace(
            at=self.at + by, earliest=self.earliest + by, latest=self.latest + by
        )

    def may_have_ended(self, ended_at: datetime, within: timedelta) -> bool:
        """Return whether it may be the cause of an end, which has whole seconds."""
        return self.earliest <= ended_at + _SECOND and ended_at <= self.latest + within


class ObservedContainer:
    """One container: its instances and its probes."""

    def __init__(self, pod: Pod, container: Container, turn: TurnBuilder) -> None:
        self.container = container
        self.order = CausalOrder(turn)
        self.lifetimes = Lifetimes()
        self.status: ContainerStatus | None = None
        self.last_exit: LastExit | None = None
        self.stopping: StoppingSnapshot | None = None
        self.stopping_id = NO_CONTAINER
        """Which instance is stopped, as far as that is known."""
        self.backoff: BackoffSnapshot | None = None
        self.probes = {
            kind: ObservedProbe(worker, turn)
            for kind in ProbeType
            if (worker := _worker(pod, container, kind, PORTED_RULES)) is not None
        }
        self.exited_ids: set[str] = set()
        self.early_events: list[Event] = []
        """Events of a start that no status shows yet, nor the end before it."""
        self.early_until: datetime | None = None
        self._seen_running_at: datetime | None = None
        self.has_restarts = False
        """Whether a store has its restart counter."""
        self.start_not_before: datetime | None = None
        """The earliest start of the next instance, None if its start is known."""
        self.kill_not_before: datetime | None = None
        """The earliest instant of the last kill."""
        self.kills: list[CountedKill] = []
        """Those that follow from results, and belong to no end yet."""

    def end_past(self) -> None:
        """Record that the samples of a store end: what comes next is watched."""
        self.has_restarts = False
        self.kills = []
        self.lifetimes = Lifetimes()
        self.stopping = None
        for probe in self.probes.values():
            probe.end_past()

    def record_running(
        self, status: ContainerStatus, now: datetime, *, is_new: bool
    ) -> None:
        """Record a status of the running container; `is_new` starts an instance."""
        if not isinstance(status.state, Running):
            self._seen_running_at = None
        elif is_new:
            self._seen_running_at = now

    def has_run_since(self, instant: datetime) -> bool:
        """Return whether the instance certainly ran at that time, and still runs."""
        seen_at = self._seen_running_at
        return seen_at is not None and seen_at <= instant

    def kills_of(self, state: Terminated) -> list[CountedKill]:
        """Return the kills that an end may be of, and forget those before it."""
        ended_at, began_at = state.finished_at, state.started_at
        if ended_at is None:
            return list(self.kills)
        possible = [
            kill
            for kill in self.kills
            if kill.earliest <= ended_at + _SECOND
            and (began_at is None or began_at <= kill.latest)
        ]
        self.kills = [kill for kill in self.kills if kill.latest > ended_at]
        return possible

    def certain_kill(
        self, kills: list[CountedKill], own_id: ContainerID, state: Terminated
    ) -> CountedKill | None:
        """Return the first of the kills that an end may be of, None if not certain."""
        lifetime, ended_at = self.lifetimes.instance(own_id), state.finished_at
        if lifetime is None or lifetime.seen_at is None or ended_at is None:
            return None
        first = min(kills, key=lambda kill: kill.latest)
        is_its_own = (
            lifetime.seen_at <= first.earliest and first.latest <= ended_at + _SECOND
        )
        may_be_another = any(
            kill.by is not first.by and kill.earliest < first.latest for kill in kills
        )
        if not is_its_own or may_be_another:
            return None
        self.kills = [kill for kill in self.kills if kill is not first]
        # The kubelet may have been busy between the failure and the stop.
        return first._replace(at=min(first.at, ended_at), latest=ended_at + _SECOND)

    def killed_between(
        self, by: ExitCause, earliest: datetime, latest: datetime, offset: timedelta
    ) -> KilledInstance:
        """Return which instance a probe killed.

        The time is that of our clock, and an event has the second.
        """
        lifetimes = self.lifetimes
        stops = lifetimes.stops(by, earliest - offset - _SECOND, latest - offset)
        instants = stops or [earliest - offset, latest - offset]
        known = {id(each): each for each in map(lifetimes.at, instants)}
        (instance, *others) = known.values()
        if others or instance is None:
            return NOT_CERTAIN
        if not stops and (instance.seen_at is None or instance.seen_at > earliest):
            return NOT_CERTAIN
        return KilledInstance(instance.own_id, lifetimes.may_have_newer(instance))

    def is_early(self, event: Event) -> bool:
        """Return whether an event follows an exit that no status shows yet.

        Or a start. The kubelet sends events and statuses independently.
        """
        status = self.status
        if status is None or not status.container_id:
            return False
        if isinstance(status.state, Running):
            began = status.state.started_at
            is_next = event.reason in _OF_A_START or event.reason == "BackOff"
            return is_next and began is not None and event.at > began
        ended = self.last_exit
        return event.reason in _OF_A_START and (
            ended is not None and event.at >= ended.at
        )

    @property
    def own_ids(self) -> set[str]:
        """The IDs of all known instances."""
        current = set() if self.status is None else {self.status.container_id}
        return self.exited_ids | current

    def use_rules(self, pod: Pod, rules: KubeletRules) -> None:
        """Apply the rules of another kubelet version from now on."""
        for kind, probe in self.probes.items():
            worker = _worker(pod, self.container, kind, rules)
            if worker is not None:
                probe.worker = worker

    def cause(
        self, kind: ProbeType, at: datetime, action: TickAction = TickAction.NONE
    ) -> TickCause | None:
        """Return the tick that caused an effect, None if no counter shows it."""
        probe = self.probes.get(kind)
        if probe is None or not probe.is_counted:
            return None
        half = probe.probe.period_seconds * _SECOND / 2
        until = at + min(half, _LONGEST_POLL) + _ANSWER
        return TickCause(probe.key, at, until, action)

    def kill_cause(self, by: ExitCause, at: datetime) -> TickCause | None:
        """Return the tick that caused a kill, None if no probe did."""
        kind = PROBE_CAUSES.get(by)
        return None if kind is None else self.cause(kind, at, TickAction.KILL)

    def upcoming(
        self, probe: ObservedProbe, now: datetime
    ) -> tuple[Skip | None, datetime | None]:
        """Return the gate that skips the next tick, and the end of an initial delay."""
        status = self.status
        if status is None or not status.container_id:
            return Skip.CONTAINER_MISSING, None
        delay_until = None
        if isinstance(status.state, Running) and status.state.started_at is not None:
            delay = probe.probe.initial_delay_seconds * _SECOND
            delay_until = status.state.started_at + delay if delay else None
        if probe.on_hold:
            return Skip.ON_HOLD, delay_until
        if not isinstance(status.state, Running):
            return Skip.NOT_RUNNING, None
        age = now - (status.state.started_at or now)
        decision = probe.worker.pass_time_gates(status, whole_seconds(age))
        return (decision if isinstance(decision, Skip) else None), delay_until


def _worker(
    pod: Pod, container: Container, kind: ProbeType, rules: KubeletRules
) -> Worker | None:
    """Return the port's worker of a probe, None if the container has no such probe."""
    probe = container.probe(kind)
    if probe is None:
        return None
    key = ProbeKey(pod.uid, container.name, kind)
    return Worker(key, pod, container, probe, rules=rules)
