"""One pod of a cluster, observed by its status, events and counters."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta

from msgspec.structs import replace

from probetui.cluster.observe.expectations import Expectations, StatusLag
from probetui.cluster.observe.inputs import RestartsBounded, SeenEvent, Unsampled
from probetui.cluster.observe.lifetimes import number_of
from probetui.cluster.observe.observed_container import CountedKill, ObservedContainer
from probetui.cluster.observe.observed_probe import (
    NOT_CERTAIN,
    KnownTime,
    ObservedProbe,
    PossibleKill,
    SeenFailure,
)
from probetui.cluster.observe.probe_counters import CountedTicks, NodeCounters
from probetui.cluster.observe.result_run import Bounds
from probetui.engine.snapshot import BackoffSnapshot, ContainerSnapshot, PodSnapshot
from probetui.k8s.event import Event
from probetui.k8s.pod import Pod, RestartPolicy
from probetui.k8s.probe import ProbeKey, ProbeType
from probetui.k8s.runtime import ContainerID, parse_container_id
from probetui.k8s.status import ContainerStatus, PodStatus, Running, Terminated, Waiting
from probetui.kubelet.journal import (
    PROBE_CAUSES,
    BackoffEntry,
    ContainerEntry,
    EventEntry,
    ExitCause,
    LastExit,
    LifecycleStep,
    NoteEntry,
    PodGoneEntry,
    StateEntry,
    StateField,
    StatusEntry,
    StoppingSnapshot,
    TickAction,
    TickEntry,
)
from probetui.kubelet.kuberuntime.grace_period import (
    GracePeriod,
    KillReason,
    termination_grace_period,
)
from probetui.kubelet.kuberuntime.restart import is_only_container, restart_range
from probetui.kubelet.outcome import Result
from probetui.kubelet.pod_workers.pod_sync import StatusChange, status_changes
from probetui.kubelet.pod_workers.pod_update import PodWorkerState
from probetui.kubelet.runtime.turn import TurnBuilder
from probetui.kubelet_rules import DEFAULT_VERSION, KubeletRules, rules_of

_SECOND = timedelta(seconds=1)
_LONGEST_WINDOW = timedelta(minutes=5)
_PROBED = re.compile(
    r"(?:\(combined from similar events\): )?"
    r"(Liveness|Readiness|Startup) probe (failed|errored)[^:]*: ?(.*)",
    re.DOTALL,
)
_KILLED_FOR = re.compile(r"failed (liveness|startup) probe")
# Capitalized until 1.15.
_WINDOW = re.compile(r"[bB]ack-off (?:(\d+)h)?(?:(\d+)m(?!s))?(?:(\d+)(?:\.\d+)?s)? ")
_FIELD = re.compile(r"spec\.(?:init|ephemeral)?[cC]ontainers\{(.+)\}")
_OOM = "OOMKilled"
_EXIT_LAG = timedelta(seconds=10)
"""How much longer than its grace period a killed container may last."""

_STOPPED = frozenset({0, 137, 143})
"""Exit codes of what was stopped; a handler's own is mostly 0."""

_SIGNALLED = frozenset({137, 143})

_MOST_EVENTS = 1_000
"""Events of one pod whose counts are remembered; a server keeps them for an hour."""

_STATUS_LAG = timedelta(seconds=2)
"""How long an event of a start waits for the status that shows what came before."""

_UNNUMBERED = 0
_BEGINNING = datetime.min.replace(tzinfo=UTC)

_ALL_SAMPLED = Unsampled()
NOTHING_UNSAMPLED: Mapping[str, Unsampled] = {}

_NO_STOP = frozenset(
    {ExitCause.UNSEEN, ExitCause.UNCERTAIN, ExitCause.UNKNOWN, ExitCause.ITSELF}
)
"""Causes of an end of which no stop is known."""

_PROBE_REASONS = {
    ExitCause.LIVENESS: KillReason.LIVENESS_PROBE,
    ExitCause.STARTUP: KillReason.STARTUP_PROBE,
}
_CAUSES = {kind: cause for cause, kind in PROBE_CAUSES.items()}
_ACTIONS = {
    (StateField.READY, "true"): TickAction.READY,
    (StateField.READY, "false"): TickAction.NOT_READY,
    (StateField.STARTED, "true"): TickAction.STARTED,
}
_KINDS = {
    TickAction.READY: ProbeType.READINESS,
    TickAction.NOT_READY: ProbeType.READINESS,
    TickAction.STARTED: ProbeType.STARTUP,
}


class ObservedPod:
    """Observes one pod, identified by its UID.

    Args:
        pod: its first state.
        turn: receives journal entries.

    Attributes:
        rules: those of the kubelet's version.
        counters: those of its node.
    """

    def __init__(self, pod: Pod, turn: TurnBuilder) -> None:
        self.pod = pod
        self.node = ""
        self.status: PodStatus | None = None
        self.restarts = 0
        self._turn = turn
        self.rules = rules_of(DEFAULT_VERSION)
        """Those of the node's kubelet; `use_rules` sets them."""
        self._expectations = Expectations(pod.name, turn)
        self._containers = {
            container.name: ObservedContainer(pod, container, turn)
            for container in pod.all_containers()
        }
        self._counts_of: dict[str, int] = {}
        self._snapshot: PodSnapshot | None = None
        self._expires_at: datetime | None = None
        self._known_since: datetime | None = None
        self._deletion_at: datetime | None = None
        """By the clock of the API server."""
        self.counters = NodeCounters()
        self.offset = timedelta()
        """By how much the times of what comes now were moved from the node's clock."""
        self.is_shown = True
        """Whether the API server answers, so that the newest status is known."""
        self._resumes = False
        """Whether its status so far is that of samples, and the next one is watched."""

    @property
    def uid(self) -> str:
        """The pod's UID."""
        return self.pod.uid

    def use_rules(self, rules: KubeletRules) -> None:
        """Apply the rules of the node's kubelet from now on."""
        self.rules = rules
        for container in self._containers.values():
            container.use_rules(self.pod, rules)

    def use_offset(self, offset: timedelta) -> None:
        """Use the offset of the node's clock for what comes from now on."""
        by, self.offset = offset - self.offset, offset
        if by:
            for container in self._containers.values():
                container.kills = [kill.moved(by) for kill in container.kills]

    def use_lag(self, lag: StatusLag) -> None:
        """Use the status delay of the node from now on."""
        self._expectations.lag = lag

    def probes(self) -> Iterator[ObservedProbe]:
        """Yield the probes of all its containers."""
        for container in self._containers.values():
            yield from container.probes.values()

    def name_of(self, container_id: str) -> str | None:
        """Return the name of the container that has or had an ID, or None."""
        for name, container in self._containers.items():
            if container_id in container.own_ids:
                return name
        return None

    def has_successor(self, name: str, container_id: str) -> bool:
        """Return whether a container has a newer instance than that of an ID."""
        status = self._containers[name].status
        return status is not None and status.container_id != container_id

    def newest_instant(self, status: PodStatus) -> datetime | None:
        """Return the newest start that no earlier status shows, by the node's clock.

        None if there is none, or the pod was unknown before.
        """
        if self.status is None:
            return None
        known = {
            own_id
            for container in self._containers.values()
            for own_id in container.own_ids
        }
        starts = [
            state.started_at
            for name in self._containers
            if (container_status := status.container(name)) is not None
            and container_status.container_id not in known
            and isinstance(state := container_status.state, Running)
            and state.started_at is not None
        ]
        return max(starts, default=None)

    # -- inputs

    def update(
        self,
        pod: Pod,
        status: PodStatus,
        now: datetime,
        unsampled: Mapping[str, Unsampled] = NOTHING_UNSAMPLED,
    ) -> None:
        """Update the pod, and journal the changes, with what samples do not tell."""
        requested_at = self._deletion_at = pod.deletion_requested_at
        if requested_at is not None and requested_at > now:
            # By the clock of the API server, which is apart from ours.
            known = self.pod.deletion_requested_at or now
            pod = replace(pod, deletion_requested_at=min(known, now))
        self._known_since = self._known_since or now
        old, self.pod, self.status = self.status, pod, status
        self._snapshot = None
        for change in status_changes(old, status):
            self._write_change(change, status, now)
        if old != status or self._resumes:
            self._turn.write(
                StatusEntry(self._turn.next_sequence(), now, pod.uid, status)
            )
        for spec in pod.all_containers():
            if (observed := self._containers.get(spec.name)) is not None:
                observed.container = spec  # its image may have changed
        for container in self._containers.values():
            new_status = status.container(container.container.name)
            unknown = unsampled.get(container.container.name, _ALL_SAMPLED)
            if new_status is not None and unknown.ready is not None:
                self._write_unsampled(container, new_status, unknown.ready, now)
            container.start_not_before = unknown.started
            if new_status is not None and new_status != container.status:
                was, container.status = container.status, new_status
                if self._resumes and not _runs_on(was, new_status):
                    was = None  # what came in between was not seen
                container.lifetimes.show(new_status, self.offset, now)
                self._compare(container, was, new_status, now)
                self._show(container, was, new_status, now)
                self._write_early_events(container, now)
        self._resumes = False

    def _write_unsampled(
        self,
        container: ObservedContainer,
        status: ContainerStatus,
        since: datetime,
        now: datetime,
    ) -> None:
        """Journal that readiness may have been another since the sample before."""
        was = container.status is not None and container.status.ready
        entry = StateEntry(
            _UNNUMBERED,
            now,
            self.uid,
            status.name,
            "",
            StateField.SAMPLED,
            str(was).lower(),
            str(status.ready).lower(),
            not_before=since,
        )
        container.order.write(entry, now)

    def _write_change(
        self, change: StatusChange, status: PodStatus, now: datetime
    ) -> None:
        """Journal a status change; one that a probe caused follows its tick."""
        entry = StateEntry(_UNNUMBERED, now, self.uid, *change)
        container = self._containers.get(change.container_name)
        if container is None:
            self._turn.write(replace(entry, sequence=self._turn.next_sequence()))
            return
        action = _ACTIONS.get((change.what, change.after))
        is_same = _runs_on(container.status, status.container(change.container_name))
        cause = None
        if action is not None and is_same:
            cause = container.cause(_KINDS[action], now, action)
        container.order.write(entry, now, cause)

    def record_event(self, seen: SeenEvent, now: datetime) -> None:
        """Apply an event of this pod, or an update of one."""
        event = seen.event
        # A kubelet that is restarted begins a series of its own.
        began = seen.first_at.isoformat()
        name = f"{event.reason}\0{event.field_path}\0{event.message}\0{began}"
        earlier_count = self._counts_of.get(name, 0)
        if seen.count <= earlier_count:
            return
        self._counts_of[name] = seen.count
        if len(self._counts_of) > _MOST_EVENTS:
            del self._counts_of[next(iter(self._counts_of))]
        self._snapshot = None
        container = self._containers.get(event.container_name)
        if container is not None:
            container.lifetimes.add_event(event, seen.first_at, self.offset)
        if container is not None and container.is_early(event):
            container.early_events.append(event)
            container.early_until = container.early_until or now + _STATUS_LAG
        elif container is None:
            number = self._turn.next_sequence()
            self._turn.write(EventEntry(number, event.at, event))
        elif (match := _PROBED.match(event.message)) and event.reason == "Unhealthy":
            self._record_probe_event(container, event, match, now)
        else:
            self._write_event(container, event, now)
        missing = seen.count - earlier_count - 1
        if missing and earlier_count:
            text = (
                f"{missing} more times {event.reason} of {event.container_name} since "
                "its last event: the kubelet had sent none"
            )
            self._note(text, now)
        if container is not None and event.reason == "Killing":
            self._record_stop(container, seen, seen.count - earlier_count, now)

    def record_counts(self, counted: CountedTicks) -> None:
        """Apply the counted ticks of one of its probes."""
        container = self._containers.get(counted.key.container_name)
        probe = container and container.probes.get(counted.key.probe_type)
        if not container or not probe:
            return
        self._snapshot = None
        grace, window = timedelta(), (counted.earliest, counted.latest)
        if (by := _CAUSES.get(counted.key.probe_type)) is not None:
            grace = self._grace_period(container, by).seconds * _SECOND
        self._expectations.doubt(counted.key, probe.may_store(counted))
        if by is not None and probe.is_sampled:
            self._follow_kill(container, by, counted)
        elif by is not None:
            probe.killed = NOT_CERTAIN
            if self.is_shown:
                probe.killed = container.killed_between(by, *window, self.offset)
        for tick in probe.record_counts(counted):
            container.order.record_tick(tick, counted, counted.latest)
            action = probe.demand(tick)
            # A state belongs to an instance; a kill ends any.
            is_kill = action is TickAction.KILL
            if is_kill and by is not None and not probe.is_sampled:
                container.kills.append(CountedKill(by, tick.at, *window))
            is_certain = is_kill or container.has_run_since(counted.earliest)
            if probe.is_close and is_certain:
                within = grace if is_kill else timedelta()
                self._expectations.expect(tick, action, counted, within)
        if by is not None and (bounds := probe.take_kill(counted)) is not None:
            likely = bounds[0] + (bounds[1] - bounds[0]) / 2
            self._record_sampled_kill(container, CountedKill(by, likely, *bounds))

    def lose_series(self, key: ProbeKey) -> None:
        """Record that the kubelet has counted nothing of a probe, or no more."""
        container = self._containers.get(key.container_name)
        probe = container and container.probes.get(key.probe_type)
        if probe:
            self._snapshot = None
            probe.lose_series()

    def bound_restarts(self, item: RestartsBounded, now: datetime) -> None:
        """Bound the restarts of a container at a sample of a store."""
        container = self._containers.get(item.key.container_name)
        probe = container and container.probes.get(item.key.probe_type)
        if not container or not probe:
            return
        bounds = None
        if item.least is not None and item.most is not None:
            bounds = Bounds(item.least, item.most)
            container.has_restarts = True
        probe.bound_restarts(bounds, now)

    def end_past(self) -> None:
        """Record that the samples of a store end: what comes next is watched."""
        self._snapshot = None
        self._resumes = True
        self.node = ""
        for container in self._containers.values():
            container.end_past()

    def lose_counters(self, reason: str) -> None:
        """Record that the kubelet's counters cannot be read."""
        self._snapshot = None
        for probe in self.probes():
            probe.lose_counters(reason)

    def find_counters(self) -> None:
        """Record that the kubelet's counters can be read."""
        for probe in self.probes():
            probe.find_counters()

    def delete(self, now: datetime) -> None:
        """Record that the pod is gone."""
        self._turn.write(PodGoneEntry(self._turn.next_sequence(), now, self.uid))

    @property
    def next_deadline(self) -> datetime | None:
        """When the next effect is overdue, None for never."""
        waiting = [container.early_until for container in self._containers.values()]
        waiting += [
            container.order.next_deadline for container in self._containers.values()
        ]
        deadlines = (self._expectations.next_deadline, *waiting)
        return min(
            (deadline for deadline in deadlines if deadline is not None), default=None
        )

    def check(self, now: datetime, counted_until: datetime | None) -> None:
        """Report overdue effects; the counters are complete until `counted_until`."""
        self._expectations.check(now, counted_until)
        for container in self._containers.values():
            if container.early_until is not None and now >= container.early_until:
                self._write_early_events(container, now)
            container.order.write_due(now)

    # -- samples of a store

    def _may_be_asked_for(
        self, container: ObservedContainer, state: Terminated
    ) -> bool:
        """Return whether an end may be one that somebody asked for: no event says."""
        if is_sampled(container):
            return state.exit_code in _STOPPED
        deleted_at, ended_at = self._deletion_at, state.finished_at
        newest, began_at = container.lifetimes.newest_event, state.started_at
        has_events = newest is not None and (
            began_at is None or newest >= began_at - self.offset
        )
        if state.exit_code in _SIGNALLED and not has_events:
            return True
        return deleted_at is not None and (
            ended_at is None or deleted_at <= ended_at - self.offset + _SECOND
        )

    def _may_be_killed_for_probe(self, state: Terminated) -> bool:
        """Return whether an end is that of a stop, and none of its pod's."""
        status = self.status
        is_pod_ended = status is not None and status.phase.is_terminal
        is_stop = state.exit_code in _STOPPED and state.reason != _OOM
        return is_stop and not is_pod_ended and self._deletion_at is None

    def _take_kill(
        self, container: ObservedContainer, ended_at: datetime
    ) -> CountedKill | None:
        """Return the kill that an end is of, and forget it and those before it.

        Of several that it may be of, it has the bounds of all.
        """
        possible = [
            kill
            for kill in container.kills
            if kill.may_have_ended(
                ended_at,
                self._grace_period(container, kill.by).seconds * _SECOND + _EXIT_LAG,
            )
        ]
        if not possible:
            return None
        kill, last = possible[0], possible[-1]
        container.kills = container.kills[container.kills.index(kill) + 1 :]
        latest = min(last.latest, max(ended_at + _SECOND, kill.earliest))
        return kill._replace(at=min(kill.at, latest, ended_at), latest=latest)

    def _record_sampled_kill(
        self, container: ObservedContainer, kill: CountedKill
    ) -> None:
        """Keep a kill until a status shows the end, or journal it if none will."""
        status = container.status
        if container.has_restarts:
            container.kills.append(kill)
        elif status is not None and container.stopping is None:
            instance = parse_container_id(status.container_id), status.restart_count
            self._write_stopping(
                container, instance, kill.by, kill.at, kill.latest, kill
            )
            ended = ContainerEntry(
                _UNNUMBERED,
                kill.at,
                self.uid,
                status.name,
                *instance,
                LifecycleStep.EXITED,
                by=kill.by,
                not_before=kill.earliest,
                not_after=kill.latest,
            )
            container.order.write(ended, kill.latest)

    def _follow_kill(
        self, container: ObservedContainer, by: ExitCause, counted: CountedTicks
    ) -> None:
        """Begin the next instance if results after a kill alone show it."""
        status, stopping = container.status, container.stopping
        if status is None or stopping is None or stopping.by is not by:
            return
        if container.has_restarts or not counted.counts.total:
            return
        count = status.restart_count + 1
        following = replace(
            status,
            container_id=sampled_id(self.uid, status.name, count),
            restart_count=count,
        )
        container.status = following
        at = max(stopping.since, counted.earliest)
        container.start_not_before = container.kill_not_before
        self._begin_instance(container, following, at, counted.latest, counted.latest)

    # -- events

    def _write_event(
        self,
        container: ObservedContainer,
        event: Event,
        now: datetime,
        tick: TickEntry | None = None,
    ) -> None:
        """Journal an event; a kill for a probe follows its tick."""
        cause = None
        if event.reason == "Killing":
            by = self._killing_cause(event)
            cause = container.kill_cause(by, event.at)
        container.order.write(
            EventEntry(_UNNUMBERED, event.at, event, tick), now, cause
        )

    def _write_early_events(self, container: ObservedContainer, now: datetime) -> None:
        events, container.early_events = container.early_events, []
        container.early_until = None
        for event in events:
            self._write_event(container, event, now)

    def _record_probe_event(
        self,
        container: ObservedContainer,
        event: Event,
        match: re.Match[str],
        now: datetime,
    ) -> None:
        """Apply the event of a failed or errored probe, and find its tick."""
        kind = ProbeType(match[1])
        probe = container.probes.get(kind)
        if probe is None:
            return self._write_event(container, event, now)
        seen = SeenFailure(event.at, match[3])
        if match[2] == "errored":
            return self._write_event(container, event, now, probe.record_error(seen))
        by, window = _CAUSES.get(kind), (event.at, event.at + _SECOND)
        if by is not None:
            probe.killed = container.killed_between(by, *window, self.offset)
        if (tick := probe.record_failure(seen)) is not None:
            if by is not None and tick.action is TickAction.KILL:
                told = CountedKill(by, event.at, *window, is_told=True)
                container.kills.append(told)
            return self._write_event(container, event, now, tick)
        entry = EventEntry(_UNNUMBERED, event.at, event)
        container.order.write(entry, now, container.cause(kind, event.at))
        return None

    def _killing_cause(self, event: Event) -> ExitCause:
        if match := _KILLED_FOR.search(event.message):
            return ExitCause.LIVENESS if match[1] == "liveness" else ExitCause.STARTUP
        if "definition changed" in event.message:
            return ExitCause.DEFINITION
        deleted_at = self._deletion_at
        is_deleted = deleted_at is not None and deleted_at <= event.at - self.offset
        return ExitCause.DELETE if is_deleted else ExitCause.POD

    def _record_stop(
        self, container: ObservedContainer, seen: SeenEvent, stops: int, now: datetime
    ) -> None:
        """Apply a Killing event, which counts so many stops more than the last one."""
        event, lifetimes = seen.event, container.lifetimes
        by, at = self._killing_cause(event), event.at - self.offset
        lifetimes.add_stop(by, at)
        if stops == seen.count:
            lifetimes.add_stop(by, seen.first_at)
        if stops > 1:
            lifetimes.add_unseen_stops(by, seen.first_at, at)
        status, instance = container.status, lifetimes.at(at)
        if instance is None or status is None or container.stopping is not None:
            return
        own_id = parse_container_id(status.container_id)
        is_running = self.is_shown and isinstance(status.state, Running)
        if own_id == instance.own_id and is_running:
            self._begin_stopping(
                container, (own_id, instance.number), by, event.at, now
            )

    def _begin_stopping(
        self,
        container: ObservedContainer,
        instance: tuple[ContainerID, int],
        by: ExitCause,
        at: datetime,
        now: datetime,
    ) -> None:
        """Journal the stop of which an event told, and what follows for its probe."""
        at = min(at, now)  # clocks are apart by a second
        self._write_stopping(container, instance, by, at, now)
        kind = PROBE_CAUSES.get(by)
        probe = None if kind is None else container.probes.get(kind)
        if probe is not None:
            probe.hold()
            self._record_kill(probe, now)
        else:
            self._expectations.forget(container.container.name)

    def _write_stopping(
        self,
        container: ObservedContainer,
        instance: tuple[ContainerID, int],
        by: ExitCause,
        at: datetime,
        now: datetime,
        sampled: CountedKill | None = None,
    ) -> None:
        """Journal that an instance, given by ID and restart count, is being stopped."""
        grace = self._grace_period(container, by)
        lifetime = container.lifetimes.instance(instance[0])
        container.kill_not_before = at if sampled is None else sampled.earliest
        container.stopping = StoppingSnapshot(at, grace.seconds, grace.source, by)
        container.stopping_id = instance[0]
        container.order.write(
            ContainerEntry(
                _UNNUMBERED,
                at,
                self.uid,
                container.container.name,
                *instance,
                LifecycleStep.STOPPING,
                grace_period_seconds=grace.seconds,
                grace_source=grace.source,
                by=by,
                not_before=None if sampled is None else sampled.earliest,
                not_after=None if sampled is None else sampled.latest,
                or_newer=sampled is None
                and lifetime is not None
                and container.lifetimes.may_have_newer(lifetime),
            ),
            now,
        )

    def _grace_period(self, container: ObservedContainer, by: ExitCause) -> GracePeriod:
        reason = _PROBE_REASONS.get(by, KillReason.NONE)
        return termination_grace_period(
            self.pod, container.container, reason, self.rules
        )

    def _record_kill(self, probe: ObservedProbe, at: datetime) -> None:
        self._expectations.record_kill(probe.key, at, is_counted=probe.is_exact)

    # -- statuses

    def _show(
        self,
        container: ObservedContainer,
        was: ContainerStatus | None,
        now_is: ContainerStatus,
        now: datetime,
    ) -> None:
        """Update the expectations of a container by its status."""
        is_going_on = _runs_on(was, now_is)
        if was is not None and isinstance(was.state, Running) and not is_going_on:
            self._expectations.end(now_is.name, now)
        container.record_running(now_is, now, is_new=not is_going_on)
        if not isinstance(now_is.state, Running):
            return
        self._expectations.show(now_is, now)
        started_at = now_is.state.started_at
        if was is not None and not is_going_on and started_at is not None:
            self._expectations.lag.learn(now - started_at)

    def _compare(
        self,
        container: ObservedContainer,
        was: ContainerStatus | None,
        now_is: ContainerStatus,
        now: datetime,
    ) -> None:
        is_another = was is None or was.container_id != now_is.container_id
        self._record_ends(container, was, now_is, now)
        match now_is.state:
            case Running(started_at=started_at):
                was_running = was is not None and isinstance(was.state, Running)
                if is_another or not was_running:
                    at = min(started_at or now, now)
                    self._begin_instance(container, now_is, at, now)
                    self._resume_stop(container, now_is, now)
                self._agree(container, now_is)
            case Waiting(reason="CrashLoopBackOff", message=message):
                self._record_backoff(container, message, now)
            case _:
                pass

    def _resume_stop(
        self, container: ObservedContainer, status: ContainerStatus, now: datetime
    ) -> None:
        """Journal the stop of an instance whose event came before its first status."""
        own_id = parse_container_id(status.container_id)
        stop = next(container.lifetimes.stops_of(own_id), None)
        if stop is not None:
            at, instance = stop.at + self.offset, (own_id, status.restart_count)
            self._begin_stopping(container, instance, stop.by, at, now)

    def _record_ends(
        self,
        container: ObservedContainer,
        was: ContainerStatus | None,
        now_is: ContainerStatus,
        now: datetime,
    ) -> None:
        """Journal the new exits, oldest first."""
        if was is not None and now_is.restart_count - was.restart_count > 1:
            missed = now_is.restart_count - was.restart_count - 1
            self._note(
                f"{now_is.name}: {missed} restarts were not seen: the status had "
                "changed more than once",
                now,
            )
        for state in (now_is.last_state, now_is.state):
            if not isinstance(state, Terminated):
                continue
            own_id = state.container_id or now_is.container_id
            if own_id in container.exited_ids:
                continue
            container.exited_ids.add(own_id)
            is_seen = was is not None and not self._resumes
            self._record_exit(container, now_is, state, own_id, now, is_seen=is_seen)

    def _record_exit(
        self,
        container: ObservedContainer,
        status: ContainerStatus,
        state: Terminated,
        own_id: str,
        now: datetime,
        *,
        is_seen: bool,
    ) -> None:
        at = min(state.finished_at or now, now)  # clocks are apart by a second
        instance = parse_container_id(own_id), number_of(status, own_id)
        by = self._cause_of_end(container, instance, state, now, is_seen=is_seen)
        stopping, container.stopping = container.stopping, None
        if by in _NO_STOP:
            stopping = None
        container.last_exit = LastExit(
            at,
            state.exit_code,
            by,
            state.reason,
            state.reason == _OOM,
            instance[0],
        )
        container.order.write(
            ContainerEntry(
                _UNNUMBERED,
                at,
                self.uid,
                status.name,
                *instance,
                LifecycleStep.EXITED,
                exit_code=state.exit_code,
                oom_killed=state.reason == _OOM,
                grace_period_seconds=None
                if stopping is None
                else stopping.grace_period_seconds,
                by=by,
                reason=state.reason,
            ),
            now,
        )

    def _cause_of_end(
        self,
        container: ObservedContainer,
        instance: tuple[ContainerID, int],
        state: Terminated,
        now: datetime,
        *,
        is_seen: bool,
    ) -> ExitCause:
        """Return who ended an instance, after its stop has been journaled."""
        if is_sampled(container):
            stopping, ended_at = container.stopping, state.finished_at or now
            if stopping is not None and stopping.since <= ended_at + _SECOND:
                return stopping.by
        if (by := self._cause_by_events(container, instance, state, now)) is not None:
            return by
        if not is_seen:
            return ExitCause.UNSEEN
        if causes := container.lifetimes.doubtful_stops(instance[0]):
            is_by_probe = any(cause in PROBE_CAUSES for cause in causes)
            return ExitCause.UNCERTAIN if is_by_probe else ExitCause.UNKNOWN
        by = self._cause_by_counters(container, instance, state, now)
        if state.reason == _OOM:
            return ExitCause.ITSELF if by is ExitCause.UNCERTAIN else by
        if by is ExitCause.ITSELF and self._may_be_asked_for(container, state):
            return ExitCause.UNKNOWN
        return by

    def _cause_by_events(
        self,
        container: ObservedContainer,
        instance: tuple[ContainerID, int],
        state: Terminated,
        now: datetime,
    ) -> ExitCause | None:
        """Return the cause of the first stop that is certainly of an instance."""
        stop = next(container.lifetimes.stops_of(instance[0]), None)
        if stop is None:
            return None
        container.kills_of(state)
        if container.stopping is None or container.stopping_id != instance[0]:
            at = stop.at + self.offset
            self._begin_stopping(container, instance, stop.by, at, now)
        return stop.by

    def _cause_by_counters(
        self,
        container: ObservedContainer,
        instance: tuple[ContainerID, int],
        state: Terminated,
        now: datetime,
    ) -> ExitCause:
        """Infer the cause of an exit without an event from the counters."""
        ended_at = state.finished_at or now
        if is_sampled(container):
            if (kill := self._take_kill(container, ended_at)) is not None:
                self._write_stopping(container, instance, kill.by, kill.at, now, kill)
                return kill.by
        elif kills := container.kills_of(state):
            kill = container.certain_kill(kills, instance[0], state)
            if kill is None or not self._may_be_killed_for_probe(state):
                return ExitCause.UNCERTAIN
            self._write_stopping(container, instance, kill.by, kill.at, now, kill)
            self._record_kill(container.probes[PROBE_CAUSES[kill.by]], now)
            return kill.by
        before = container.last_exit
        since = None if before is None else before.at
        may_be_killed = any(
            probe.may_have_killed(
                since,
                self._possible_kill(container, by, state, now),
                self._known_time(container, probe, state, now),
            )
            for by, kind in PROBE_CAUSES.items()
            if (probe := container.probes.get(kind)) is not None
        )
        return ExitCause.UNCERTAIN if may_be_killed else ExitCause.ITSELF

    def _possible_kill(
        self,
        container: ObservedContainer,
        by: ExitCause,
        state: Terminated,
        now: datetime,
    ) -> PossibleKill:
        """Return when a probe may have had an instance killed that has ended."""
        ended_at = state.finished_at or now
        grace = self._grace_period(container, by).seconds * _SECOND + _EXIT_LAG
        earliest = max(state.started_at or ended_at - grace, ended_at - grace)
        return PossibleKill(earliest, ended_at)

    def _known_time(
        self,
        container: ObservedContainer,
        probe: ObservedProbe,
        state: Terminated,
        now: datetime,
    ) -> KnownTime:
        """Return when no result of a probe is missing.

        Events come as late as the statuses of the node, at most; where a status is
        later, only what is older than the newest event is known. So it is of an end
        that looks like a stop: its event may still come, or never.
        """
        lifetimes = container.lifetimes
        if probe.is_counted:
            since, until = self.counters.counted_since, self.counters.counted_until
            if since is None or until is None:
                return KnownTime(None, now)
            since, first = max(since, self._known_since or now), lifetimes.first_start
            has_all = first is not None and since < first + self.offset
            return KnownTime(since, until, has_all)
        ended_at = state.finished_at or now
        newest = lifetimes.events_known_until(ended_at - self.offset)
        if newest is None:
            return KnownTime(None, now)
        until, patience = newest + self.offset, self._expectations.lag.patience
        is_prompt = now - ended_at <= patience and newest == lifetimes.newest_event
        if is_prompt and state.exit_code not in _STOPPED:
            until = max(until, now - patience)
        return KnownTime(_BEGINNING, until)

    def _begin_instance(
        self,
        container: ObservedContainer,
        status: ContainerStatus,
        at: datetime,
        now: datetime,
        latest: datetime | None = None,
    ) -> None:
        """Journal a start, at the latest instant that it may have been at."""
        container.stopping = container.backoff = None
        since, container.start_not_before = container.start_not_before, None
        own_id = parse_container_id(status.container_id)
        for probe in container.probes.values():
            probe.begin_instance(own_id)
        self.restarts += status.restart_count > 0
        container.order.write(
            ContainerEntry(
                _UNNUMBERED,
                at,
                self.uid,
                status.name,
                own_id,
                status.restart_count,
                LifecycleStep.STARTED,
                not_before=since,
                not_after=None if since is None else max(latest or at, since),
            ),
            now,
        )

    def _agree(self, container: ObservedContainer, now_is: ContainerStatus) -> None:
        """Adopt readiness and startup from the status."""
        readiness = container.probes.get(ProbeType.READINESS)
        if readiness is not None:
            readiness.agree(Result.SUCCESS if now_is.ready else Result.FAILURE)
        startup = container.probes.get(ProbeType.STARTUP)
        if startup is not None and now_is.started:
            startup.agree(Result.SUCCESS)

    def _record_backoff(
        self, container: ObservedContainer, message: str, now: datetime
    ) -> None:
        window = _window(message)
        exited = container.last_exit
        if window is None or exited is None:
            return
        until = exited.at + window
        if container.backoff is not None and container.backoff.until == until:
            return
        following = min(2 * window, _LONGEST_WINDOW)
        is_alone = is_only_container(self.pod)
        due = restart_range(until, window, self.rules, is_alone=is_alone)
        # Statuses have whole seconds; the kubelet counts from the exact end.
        latest = due.latest + _SECOND
        container.backoff = BackoffSnapshot(window, exited.at, until, following, latest)
        container.order.write(
            BackoffEntry(
                _UNNUMBERED,
                now,
                self.uid,
                container.container.name,
                window,
                exited.at,
                waits=True,
                until=until,
                next_window=following,
                latest=latest,
            ),
            now,
        )

    def _note(self, text: str, at: datetime) -> None:
        self._turn.write(NoteEntry(self._turn.next_sequence(), at, text))

    # -- snapshot

    def snapshot(self, now: datetime) -> PodSnapshot:
        """Return a snapshot of the pod; the same object while nothing changes."""
        expires_at = self._expires_at
        if self._snapshot is not None and (expires_at is None or now < expires_at):
            return self._snapshot
        status = self.status or PodStatus()
        containers = tuple(
            self._container_snapshot(container, status, now)
            for container in self._containers.values()
        )
        deadlines = [
            instant
            for container in containers
            for probe in container.probes
            for instant in (probe.next_tick_at, probe.delay_until)
            if instant is not None and instant > now
        ]
        self._expires_at = min(deadlines, default=None)
        state = PodWorkerState.SYNC
        if self.pod.deletion_requested_at is not None:
            state = PodWorkerState.TERMINATING
        elif status.phase.is_terminal:
            state = PodWorkerState.TERMINATED
        self._snapshot = PodSnapshot(self.pod, status, state, "", containers)
        return self._snapshot

    def _container_snapshot(
        self, container: ObservedContainer, pod_status: PodStatus, now: datetime
    ) -> ContainerSnapshot:
        init_names = {container.name for container in self.pod.init_containers}
        probes = []
        for probe in container.probes.values():
            skip, delay_until = container.upcoming(probe, now)
            is_alive = self._is_probed(container, pod_status)
            probes.append(probe.snapshot(now, skip, delay_until, is_alive=is_alive))
        return ContainerSnapshot(
            container=container.container,
            is_init=container.container.name in init_names,
            status=container.status,
            probes=tuple(probes),
            stopping=container.stopping,
            backoff=container.backoff,
            last_exit=container.last_exit,
        )

    def _is_probed(self, container: ObservedContainer, pod_status: PodStatus) -> bool:
        if pod_status.phase.is_terminal or container.status is None:
            return False
        ends = self.pod.restart_policy is RestartPolicy.NEVER
        return not (ends and isinstance(container.status.state, Terminated))


def is_sampled(container: ObservedContainer) -> bool:
    """Return whether what is known of its probes are samples of a store."""
    return any(probe.is_sampled for probe in container.probes.values())


def sampled_id(pod_uid: str, container_name: str, restart_count: int) -> str:
    """Return an ID for an instance of which a store has none."""
    return f"sampled://{pod_uid}-{container_name}-{restart_count}"


def _runs_on(was: ContainerStatus | None, now_is: ContainerStatus | None) -> bool:
    """Return whether two statuses show the same running instance."""
    return (
        was is not None
        and now_is is not None
        and was.container_id == now_is.container_id
        and isinstance(was.state, Running)
        and isinstance(now_is.state, Running)
    )


def _window(message: str) -> timedelta | None:
    """Parse the back-off in a status message: `back-off 1m20s ...`."""
    match = _WINDOW.match(message)
    if match is None or not any(match.groups()):
        return None
    hours, minutes, seconds = (min(int(part or 0), 10**6) for part in match.groups())
    return timedelta(hours=hours, minutes=minutes, seconds=seconds)


def container_of(field_path: str) -> str:
    """Return the container that an event's fieldPath names, or empty."""
    match = _FIELD.fullmatch(field_path)
    return match[1] if match else ""
