"""The instances of each container: how each started, who ended it, and its back-off.

These are in entries that lie far apart in the journal; this module joins them.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import groupby, pairwise

from msgspec import Struct, field
from msgspec.structs import replace

from probetui.analysis.lanes import Lanes
from probetui.analysis.timeline import Timeline, Timelines
from probetui.k8s.probe import ProbeKey, ProbeType
from probetui.k8s.runtime import NO_CONTAINER, ContainerID
from probetui.k8s.status import PodPhase, PodStatus, Running, Terminated, Waiting
from probetui.kubelet.journal import (
    PROBE_CAUSES,
    BackoffEntry,
    ContainerEntry,
    EventEntry,
    ExitCause,
    FindingEntry,
    HookEntry,
    HookType,
    JournalEntry,
    LastOutputEntry,
    LifecycleStep,
    ListenersEntry,
    PodGoneEntry,
    StateEntry,
    StatusEntry,
    TickAction,
    TickEntry,
    UnfinishedTickEntry,
    UserEntry,
)

MAX_INSTANCES = 500
"""The most instances that are kept of one container; older ones are dropped."""

LEAST_FOLDED = 3
"""Fewer instances that ended alike are told one by one."""

MAX_LISTENER_CHECKS = 500
"""The most lookups that are kept of where one container listens."""

MAX_HOOK_FAILURES = 50
"""The most failures of hooks that are kept of one container."""


class ContainerInstance(Struct, frozen=True):
    """One instance of a container so far.

    Attributes:
        container_id: its ID in the runtime.
        restart_count: how many instances preceded it.
        created_at: None if it is older than the session.
        started_at: None if it is older than the session, or has not started.
        allowed: the last back-off decision before it was created, None if there was
            none.
        waited: the back-off that delayed it, None if none did.
        kill: the first tick that killed it.
        stopping: the first request to stop it.
        exited: its exit; None while it runs.
        output: what it printed last; None until it has been read.
        start: its start; None if it is older than the session, or has not started.
        hooks: the lifecycle hooks that ran in it, each as it was last journaled.
    """

    container_id: ContainerID
    restart_count: int
    created_at: datetime | None = None
    started_at: datetime | None = None
    allowed: BackoffEntry | None = None
    waited: BackoffEntry | None = None
    kill: TickEntry | None = None
    stopping: ContainerEntry | None = None
    exited: ContainerEntry | None = None
    output: LastOutputEntry | None = None
    start: ContainerEntry | None = None
    hooks: tuple[HookEntry, ...] = ()

    @property
    def number(self) -> int:
        """The number of the instance, counted from 1."""
        return self.restart_count + 1

    @property
    def end(self) -> ContainerEntry | None:
        """The request to stop it, or else its exit."""
        return self.stopping or self.exited

    @property
    def or_newer(self) -> bool:
        """Whether its stop and its kill may be those of an instance after it."""
        asked = (self.stopping, self.kill)
        return self.exited is None and any(each and each.or_newer for each in asked)

    @property
    def end_at(self) -> datetime | None:
        """When its end began, None while it runs."""
        return None if self.end is None else self.end.at

    def hook(self, hook: HookType) -> HookEntry | None:
        """Return what is known of a hook that ran in it, None if nothing is."""
        return next((entry for entry in self.hooks if entry.hook is hook), None)

    @property
    def is_deleted(self) -> bool:
        """Whether it ended because its pod was deleted."""
        return self.end is not None and self.end.by is ExitCause.DELETE


class ContainerHistory(Struct, frozen=True):
    """A container's instances, oldest first, and the back-off of the next one.

    `waits` is the first entry about the current wait, `decision` the newest entry about
    back-off. `waiting`, `pod_reason` and `pod_phase` come from the pod's status; the
    phase is None before there is one. If the pod cannot create containers, `waiting`
    has the reason and message of the event that says why.

    `image_event` is the newest one about its image, `hook_failures` are the events of
    its hooks that failed. `failing_since` is the first failed start since an instance
    was started. `unfinished` is the newest such entry of each probe; its tick may have
    ended since. `pull_error` is why the newest pull that failed did.
    """

    instances: tuple[ContainerInstance, ...] = ()
    waits: BackoffEntry | None = None
    decision: BackoffEntry | None = None
    listener_checks: tuple[ListenersEntry, ...] = ()
    findings: tuple[FindingEntry, ...] = ()
    waiting: Waiting | None = None
    pod_reason: str = ""
    pod_phase: PodPhase | None = None
    image_event: EventEntry | None = None
    hook_failures: tuple[EventEntry, ...] = ()
    failing_since: datetime | None = None
    unfinished: tuple[UnfinishedTickEntry, ...] = ()
    pull_error: str = ""

    @property
    def pod_has_ended(self) -> bool:
        """Whether the pod has Succeeded or Failed: no container is started again."""
        return self.pod_phase is not None and self.pod_phase.is_terminal

    def listeners(self, tick: TickEntry) -> ListenersEntry | None:
        """Return where the container listened when a tick's connection was refused.

        An unchanged result is not journaled again, so the answer is the tick's own
        lookup or else the last one before it. A lookup that failed, as of a container
        that has ended meanwhile, takes nothing from one before it. None while it is not
        known.
        """
        refused_at = tick.attempts[-1].refused_at if tick.attempts else None
        last: ListenersEntry | None = None
        for check in self.listener_checks:
            if (check.container_id, check.refused_at) != (
                tick.container_id,
                refused_at,
            ):
                continue
            if check.sequence >= tick.sequence and check.cause != tick.sequence:
                continue
            if last is None or last.listeners is None or check.listeners is not None:
                last = check
            if check.cause == tick.sequence:
                break
        return last

    def instance(self, container_id: ContainerID) -> ContainerInstance | None:
        """Return the instance with that ID, or None."""
        for instance in reversed(self.instances):
            if instance.container_id == container_id:
                return instance
        return None

    def next_after(self, instance: ContainerInstance) -> ContainerInstance | None:
        """Return the instance that followed, None if there is none yet."""
        for earlier, later in pairwise(self.instances):
            if earlier.container_id == instance.container_id:
                return later
        return None

    @property
    def last_ends(self) -> tuple[ContainerInstance, ...]:
        """The last instance that has ended or is being stopped, empty if there is none.

        If the pod's deletion ended it, the last one that ended otherwise follows: a
        session ends by deleting its pods, which is rarely the end in question.
        """
        ended = [instance for instance in self.instances if instance.end is not None]
        if not ended:
            return ()
        last = ended[-1]
        others = [instance for instance in ended if not instance.is_deleted]
        return (last, others[-1]) if last.is_deleted and others else (last,)


NO_HISTORY = ContainerHistory()


class PodHistory(Struct, frozen=True):
    """A pod so far.

    Attributes:
        status: the newest one, None before the first.
        obstacle: the newest event that says why no container can be created, None once
            one is.
        obstacle_since: the first of these events with that reason.
        deletion: the user's command that deleted it, None if there was none.
        gone_at: when nothing of it was left, None while something is.
        missing_pull_secrets: the newest event that names missing Secrets of
            imagePullSecrets, None once an image is pulled without it.
    """

    status: PodStatus | None = None
    obstacle: EventEntry | None = None
    obstacle_since: datetime | None = None
    deletion: UserEntry | None = None
    gone_at: datetime | None = None
    missing_pull_secrets: EventEntry | None = None


CANNOT_CREATE = frozenset(
    {
        "FailedCreatePodSandBox",
        "FailedPodSandBoxStatus",
        "FailedMount",
        "NetworkNotReady",
    }
)
"""Reasons of the events of a pod that cannot create containers yet.

Source: kubelet/events/event.go, v1.32.10.
"""

_NOT_CREATED = frozenset({"ContainerCreating", "PodInitializing"})

PULLING, PULLED = "Pulling", "Pulled"
_PULL_FAILED = re.compile(r'Failed to pull image "[^"]*": ')
_IMAGE_EVENTS = frozenset(
    {PULLING, PULLED, "Failed", "ErrImageNeverPull", "InspectFailed"}
)
"""Reasons of events that tell how far an image is.

Source: kubelet/events/event.go, v1.32.10.
"""

MISSING_PULL_SECRETS = "FailedToRetrieveImagePullSecret"
_OF_SYNC = timedelta(seconds=8)
"""What a sync does before it pulls, as to make a sandbox, takes less than this."""
FAILED_POST_START, FAILED_PRE_STOP = "FailedPostStartHook", "FailedPreStopHook"
_DELETE = "delete"
"""The command of a user that deletes a pod, in the journal."""


class _Collected(Struct):
    """A container's history under construction."""

    instances: dict[ContainerID, ContainerInstance] = field(default_factory=dict)
    waits: BackoffEntry | None = None
    decision: BackoffEntry | None = None
    findings: list[FindingEntry] = field(default_factory=list)
    image_event: EventEntry | None = None
    failing_since: datetime | None = None
    unfinished: dict[ProbeType, UnfinishedTickEntry] = field(default_factory=dict)
    pull_error: str = ""
    hook_failures: deque[EventEntry] = field(
        default_factory=lambda: deque(maxlen=MAX_HOOK_FAILURES)
    )
    listener_checks: deque[ListenersEntry] = field(
        default_factory=lambda: deque(maxlen=MAX_LISTENER_CHECKS)
    )

    def put(self, instance: ContainerInstance) -> None:
        """Add or replace an instance."""
        self.instances[instance.container_id] = instance
        if len(self.instances) > MAX_INSTANCES:
            del self.instances[next(iter(self.instances))]

    def put_late(self, instance: ContainerInstance) -> None:
        """Add an instance of which the end alone was seen, before newer ones."""
        newer = [
            each
            for each in self.instances.values()
            if each.restart_count > instance.restart_count
        ]
        for each in newer:
            del self.instances[each.container_id]
        for each in (instance, *newer):
            self.put(each)


_NOTHING = _Collected()


class ContainerHistories:
    """The histories of all containers; its owner adds every entry once, in order."""

    def __init__(self) -> None:
        self._collected: dict[tuple[str, str], _Collected] = {}
        self._addresses: dict[str, str] = {}
        self._statuses: dict[str, PodStatus] = {}
        self._obstacles: dict[str, tuple[EventEntry, datetime]] = {}
        self._pull_secrets: dict[str, EventEntry] = {}
        self._deletions: dict[str, list[UserEntry]] = {}
        self._seen: dict[str, datetime] = {}
        self._gone: dict[str, datetime] = {}

    def add_entries(  # noqa: C901  # one arm per kind
        self, entries: Iterable[JournalEntry]
    ) -> None:
        """Read the entries that concern containers."""
        for entry in entries:
            match entry:
                case ContainerEntry():
                    self._add_lifecycle(entry)
                case BackoffEntry():
                    self._add_backoff(entry)
                case LastOutputEntry() | HookEntry():
                    self._add_evidence(entry)
                case UnfinishedTickEntry(key=key):
                    known = self._collected_of(key[:2])
                    known.unfinished[key.probe_type] = entry
                case ListenersEntry(key=key):
                    self._collected_of(key[:2]).listener_checks.append(entry)
                case FindingEntry(key=key):
                    self._collected_of(key[:2]).findings.append(entry)
                case TickEntry(action=TickAction.KILL):
                    self._add_kill(entry)
                case EventEntry():
                    self._add_event(entry)
                case StatusEntry() | UserEntry() | PodGoneEntry():
                    self._add_pod(entry)
                case _:
                    pass

    def container(self, pod_uid: str, container_name: str) -> ContainerHistory:
        """Return the history of a container; an empty one if it is unknown."""
        status = self._statuses.get(pod_uid, PodStatus())
        own = status.container(container_name)
        state = None if own is None else own.state
        waiting = state if isinstance(state, Waiting) else None
        if waiting is not None and waiting.reason in _NOT_CREATED:
            obstacle, _ = self._obstacles.get(pod_uid, (None, None))
            if obstacle is not None:
                waiting = Waiting(obstacle.event.reason, obstacle.event.message)
        known = self._collected.get((pod_uid, container_name), _NOTHING)
        return ContainerHistory(
            tuple(known.instances.values()),
            known.waits,
            known.decision,
            tuple(known.listener_checks),
            tuple(known.findings),
            waiting,
            status.reason,
            status.phase,
            known.image_event,
            tuple(known.hook_failures),
            known.failing_since,
            tuple(known.unfinished.values()),
            known.pull_error,
        )

    def pod(self, pod_uid: str, pod_name: str) -> PodHistory:
        """Return the history of a pod; a user's commands name it, and not its UID.

        A command before its first status was about an older pod of its name.
        """
        obstacle, since = self._obstacles.get(pod_uid, (None, None))
        seen = self._seen.get(pod_uid)
        deletions = self._deletions.get(pod_name, ())
        return PodHistory(
            self._statuses.get(pod_uid),
            obstacle,
            since,
            next((by for by in deletions if seen and by.at >= seen), None),
            self._gone.get(pod_uid),
            self._pull_secrets.get(pod_uid),
        )

    def findings(self, pod_uid: str) -> list[FindingEntry]:
        """Return the findings about a pod's probes, container by container."""
        return [
            finding
            for (uid, _), known in self._collected.items()
            if uid == pod_uid
            for finding in known.findings
        ]

    def containers(self) -> list[tuple[str, str]]:
        """Return the pod UID and name of each container, in order of appearance."""
        return list(self._collected)

    def pod_ip(self, pod_uid: str) -> str:
        """Return the pod's last known IP, empty if none."""
        return self._addresses.get(pod_uid, "")

    def _collected_of(self, container: tuple[str, str]) -> _Collected:
        return self._collected.setdefault(container, _Collected())

    def _add_pod(self, entry: StatusEntry | UserEntry | PodGoneEntry) -> None:
        match entry:
            case StatusEntry(pod_uid=pod_uid, status=status):
                # A pod that was deleted may be added again, with the same UID.
                if pod_uid not in self._seen or pod_uid in self._gone:
                    self._gone.pop(pod_uid, None)
                    self._seen[pod_uid] = entry.at
                self._statuses[pod_uid] = status
                self._adopt(entry)
                if status.pod_ip:
                    self._addresses[pod_uid] = status.pod_ip
            case PodGoneEntry(pod_uid=pod_uid):
                self._gone[pod_uid] = entry.at
            case UserEntry(command=command, target=pod_name) if command == _DELETE:
                self._deletions.setdefault(pod_name, []).append(entry)
            case _:
                pass

    def _adopt(self, entry: StatusEntry) -> None:
        """Add the instances that are older than the session, from a pod's status."""
        status = entry.status
        statuses = (
            *(status.init_container_statuses or ()),
            *(status.container_statuses or ()),
        )
        for container in statuses:
            container_id, state = ContainerID(container.container_id), container.state
            place = (entry.pod_uid, container.name)
            instances = self._collected.get(place, _NOTHING).instances
            if not container_id or container_id in instances:
                continue
            newest = next(reversed(instances.values()), None)
            if newest is not None and newest.restart_count > container.restart_count:
                continue
            exited = None
            if isinstance(state, Terminated):
                exited = ContainerEntry(
                    entry.sequence,
                    state.finished_at or entry.at,
                    entry.pod_uid,
                    container.name,
                    container_id,
                    container.restart_count,
                    LifecycleStep.EXITED,
                    state.exit_code,
                    oom_killed=state.reason == "OOMKilled",
                    reason=state.reason,
                )
            elif not isinstance(state, Running):
                continue
            self._collected_of(place).put(
                ContainerInstance(
                    container_id,
                    container.restart_count,
                    started_at=state.started_at,
                    exited=exited,
                )
            )

    def _add_event(self, entry: EventEntry) -> None:
        event = entry.event
        if event.reason in CANNOT_CREATE:
            before, since = self._obstacles.get(event.pod_uid, (None, entry.at))
            is_same = before is not None and before.event.reason == event.reason
            self._obstacles[event.pod_uid] = (entry, since if is_same else entry.at)
        secrets = self._pull_secrets.get(event.pod_uid)
        if event.reason == MISSING_PULL_SECRETS:
            self._pull_secrets[event.pod_uid] = entry
        elif event.reason == PULLING and secrets and entry.at - secrets.at > _OF_SYNC:
            # The sync that pulls would have said so again.
            del self._pull_secrets[event.pod_uid]
        if not event.container_name:
            return
        container = (event.pod_uid, event.container_name)
        if event.reason in _IMAGE_EVENTS:
            known = self._collected_of(container)
            known.image_event = entry
            if (failed := _PULL_FAILED.match(event.message)) is not None:
                known.pull_error = event.message[failed.end() :]
            if event.reason not in {PULLING, PULLED}:
                known.failing_since = known.failing_since or entry.at
        elif event.reason in {FAILED_POST_START, FAILED_PRE_STOP}:
            self._collected_of(container).hook_failures.append(entry)

    def _add_lifecycle(self, entry: ContainerEntry) -> None:
        known = self._collected_of((entry.pod_uid, entry.container_name))
        instance = known.instances.get(entry.container_id)
        is_unseen = instance is None
        if instance is None and entry.what is LifecycleStep.REMOVED:
            # It is older than the session, and than what is known.
            return
        if instance is None:
            instance = ContainerInstance(entry.container_id, entry.restart_count)
            self._obstacles.pop(entry.pod_uid, None)
            if entry.what is LifecycleStep.CREATED:
                instance = replace(instance, allowed=known.decision, waited=known.waits)
                known.waits = known.decision = None
        match entry.what:
            case LifecycleStep.CREATED:
                instance = replace(instance, created_at=entry.at)
            case LifecycleStep.STARTED:
                instance = replace(instance, started_at=entry.at, start=entry)
                known.failing_since = None
            case LifecycleStep.STOPPING:
                instance = replace(instance, stopping=instance.stopping or entry)
            case LifecycleStep.EXITED:
                instance = _ended_by(instance, entry)
            case _:
                pass
        if is_unseen and entry.what in {LifecycleStep.STOPPING, LifecycleStep.EXITED}:
            known.put_late(instance)
        else:
            known.put(instance)

    def _add_evidence(self, entry: LastOutputEntry | HookEntry) -> None:
        known = self._collected_of((entry.pod_uid, entry.container_name))
        instance = known.instances.get(entry.container_id)
        if instance is None:
            return
        match entry:
            case LastOutputEntry():
                instance = replace(instance, output=entry)
            case HookEntry():
                others = (hook for hook in instance.hooks if hook.hook != entry.hook)
                instance = replace(instance, hooks=(*others, entry))
        known.put(instance)

    def _add_backoff(self, entry: BackoffEntry) -> None:
        known = self._collected_of((entry.pod_uid, entry.container_name))
        known.decision = entry
        # The exit of the killed instance moves the window, which was computed before.
        is_another = known.waits is None or known.waits.until != entry.until
        if entry.waits and is_another:
            known.waits = entry

    def _add_kill(self, tick: TickEntry) -> None:
        known = self._collected_of(tick.key[:2])
        instance = known.instances.get(tick.container_id)
        if instance is None:
            if tick.container_id == NO_CONTAINER:
                return
            instance = ContainerInstance(tick.container_id, 0)
        known.put(replace(instance, kill=instance.kill or tick))


def _ended_by(instance: ContainerInstance, exited: ContainerEntry) -> ContainerInstance:
    """Return an instance with its exit, without the stop and the kill of another.

    The exit tells whether these were its own, where they might be of a newer one.
    """
    stop, kill = instance.stopping, instance.kill
    if stop is not None and stop.or_newer:
        stop = stop if stop.by is exited.by else None
    if kill is not None and kill.or_newer:
        by = exited.by or ExitCause.ITSELF
        is_own = by is ExitCause.POD or PROBE_CAUSES.get(by) is kill.key.probe_type
        kill = kill if is_own else None
    return replace(instance, stopping=stop, kill=kill, exited=exited)


class SessionHistory:
    """The ticks of all probes and the histories of all containers of a session.

    Args:
        journal: the session's; its oldest entries may have been evicted.
    """

    def __init__(self, journal: Sequence[JournalEntry]) -> None:
        self._journal = journal
        self._timelines = Timelines(journal)
        self._containers = ContainerHistories()
        self.lanes = Lanes()
        self.undecided: Mapping[tuple[str, str], ContainerEntry | StateEntry] | None
        """What samples around an instant do not decide; None if it is not of one."""
        self.undecided = None

    def add_entries(self, entries: Sequence[JournalEntry], place: int) -> None:
        """Read new entries; `place` is the journal index of the first."""
        self._timelines.add_entries(entries, place)
        self._containers.add_entries(entries)
        self.lanes.add_entries(entries)

    def before(self, sequence: int) -> SessionHistory:
        """Return the history as it was before the entry with that sequence number.

        Where a container listened when a connection was refused is known a moment after
        the tick, and belongs to it; so does what an instance printed last to its exit.
        """
        index = bisect_left(self._journal, sequence, key=_sequence)
        past = SessionHistory(self._journal[:index])
        past.add_entries(self._journal[:index], 0)
        past._containers.add_entries(  # one of this class
            entry
            for entry in self._journal[index:]
            if isinstance(entry, LastOutputEntry)
            or (
                isinstance(entry, ListenersEntry)
                and (entry.cause or sequence) < sequence
            )
        )
        return past

    def timeline(self, key: ProbeKey) -> Timeline:
        """Return the ticks of a probe."""
        return self._timelines.of(key)

    def container(self, pod_uid: str, container_name: str) -> ContainerHistory:
        """Return the history of a container; an empty one if it is unknown."""
        return self._containers.container(pod_uid, container_name)

    def containers(self) -> list[tuple[str, str]]:
        """Return the pod UID and name of each container, in order of appearance."""
        return self._containers.containers()

    def pod(self, pod_uid: str, pod_name: str) -> PodHistory:
        """Return the history of a pod; a user's commands name it, and not its UID."""
        return self._containers.pod(pod_uid, pod_name)

    def findings(self, pod_uid: str) -> list[FindingEntry]:
        """Return the findings about a pod's probes, container by container."""
        return self._containers.findings(pod_uid)

    def pod_ip(self, pod_uid: str) -> str:
        """Return the pod's last known IP, empty if none."""
        return self._containers.pod_ip(pod_uid)

    def tick(self, sequence: int) -> TickEntry | None:
        """Return the tick with that sequence number, None if it was evicted."""
        # An engine numbers its entries from 1.
        try:
            entry = self._journal[sequence - 1] if sequence > 0 else None
        except IndexError:
            return None
        if isinstance(entry, TickEntry) and entry.sequence == sequence:
            return entry
        return None

    def probes(self, pod_uid: str, container_name: str) -> list[ProbeKey]:
        """Return the probes of a container that have ticked, in order of first tick."""
        return self._timelines.probes(pod_uid, container_name)


class InstanceRun(Struct, frozen=True):
    """Consecutive instances that ended alike, or a single one."""

    instances: tuple[ContainerInstance, ...]

    @property
    def first(self) -> ContainerInstance:
        """The oldest instance."""
        return self.instances[0]

    @property
    def last(self) -> ContainerInstance:
        """The newest instance."""
        return self.instances[-1]

    @property
    def is_folded(self) -> bool:
        """Whether there is more than one instance."""
        return len(self.instances) > 1

    @property
    def intervals(self) -> list[timedelta]:
        """The times from each start to the next, in their order."""
        starts = [
            started_at
            for instance in self.instances
            if (started_at := instance.started_at or instance.created_at) is not None
        ]
        return [later - earlier for earlier, later in pairwise(starts)]


def fold_instances(instances: Iterable[ContainerInstance]) -> list[InstanceRun]:
    """Return instances in their order, those that ended alike together.

    An instance that has not exited is alone.
    """
    runs: list[InstanceRun] = []
    for end, group in groupby(instances, _end):
        alike = tuple(group)
        if end is not None and len(alike) >= LEAST_FOLDED:
            runs.append(InstanceRun(alike))
        else:
            runs += [InstanceRun((instance,)) for instance in alike]
    return runs


def _end(instance: ContainerInstance) -> tuple[object, ...] | None:
    """Return what makes the ends of two instances equal; None while it runs."""
    exited, kill = instance.exited, instance.kill
    if exited is None:
        return None
    return (
        exited.by,
        exited.exit_code,
        exited.signal,
        exited.oom_killed,
        exited.reason,
        None if kill is None else kill.key.probe_type,
    )


def _sequence(entry: JournalEntry) -> int:
    return entry.sequence
