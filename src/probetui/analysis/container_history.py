"""The instances of each container: how each started, who ended it, and its back-off.

The journal has these in entries that lie far apart; here they are put together.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from datetime import datetime
from itertools import pairwise

from msgspec import Struct, field
from msgspec.structs import replace

from probetui.analysis.timeline import Timeline, Timelines
from probetui.k8s.probe import ProbeKey
from probetui.k8s.runtime import NO_CONTAINER, ContainerID
from probetui.k8s.status import PodPhase, PodStatus, Waiting
from probetui.kubelet.journal import (
    BackoffEntry,
    ContainerEntry,
    EventEntry,
    ExitCause,
    FindingEntry,
    JournalEntry,
    LifecycleStep,
    ListenersEntry,
    StatusEntry,
    TickAction,
    TickEntry,
)

MAX_INSTANCES = 500
"""Of one container; older ones are dropped."""

MAX_LISTENER_CHECKS = 500
"""At where one container listens; older ones are dropped."""


class ContainerInstance(Struct, frozen=True):
    """One instance of a container, as far as it has got.

    Attributes:
        container_id: the runtime's name for it.
        restart_count: how many instances there were before it.
        created_at: None if it was there before the session.
        started_at: the same.
        allowed: what back-off said when it was about to start, None if it was not
            asked.
        waited: what back-off made it wait for last, None if for nothing.
        kill: the tick that asked for its end.
        stopping: the first request to stop it.
        exited: how it ended; None while it runs.
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

    @property
    def number(self) -> int:
        """Which instance this is, counted from 1."""
        return self.restart_count + 1

    @property
    def end(self) -> ContainerEntry | None:
        """The entry of its end: the request to stop it, or else its exit."""
        return self.stopping or self.exited

    @property
    def is_deleted(self) -> bool:
        """Whether it ended only because its pod was deleted."""
        return self.end is not None and self.end.by is ExitCause.DELETE


class ContainerHistory(Struct, frozen=True):
    """A container's instances, oldest first, and the back-off of the next one.

    `waits` is the wait since the last instance ended, as it was first reported;
    `decision` is the newest entry. `waiting` is the state of a container that waits,
    with its reason, `pod_reason` why the whole pod ended, `pod_phase` its phase, None
    before it has a status; all from the pod's status. Where the pod cannot create
    containers, its event is the reason.
    """

    instances: tuple[ContainerInstance, ...] = ()
    waits: BackoffEntry | None = None
    decision: BackoffEntry | None = None
    listener_checks: tuple[ListenersEntry, ...] = ()
    findings: tuple[FindingEntry, ...] = ()
    waiting: Waiting | None = None
    pod_reason: str = ""
    pod_phase: PodPhase | None = None

    @property
    def pod_has_ended(self) -> bool:
        """Whether the pod has ended for good: nothing of it is started again."""
        return self.pod_phase is not None and self.pod_phase.is_terminal

    def listeners(self, tick: TickEntry) -> ListenersEntry | None:
        """Return where the container listened when a tick's connection was refused.

        That is what was looked up for it, else what had been said before: nothing is
        said again that has not changed. None while it is not known.
        """
        refused_at = tick.attempts[-1].refused_at if tick.attempts else None
        before = None
        for check in self.listener_checks:
            if (check.container_id, check.refused_at) != (
                tick.container_id,
                refused_at,
            ):
                continue
            if check.cause == tick.sequence:
                return check
            if check.sequence < tick.sequence:
                before = check
        return before

    def instance(self, container_id: ContainerID) -> ContainerInstance | None:
        """Return the instance with that ID, None if it is not known."""
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

        Behind one that its pod's deletion ended comes the last one before that ended
        otherwise: a session ends with deletions, and nobody asks about those.
        """
        ended = [instance for instance in self.instances if instance.end is not None]
        if not ended:
            return ()
        last = ended[-1]
        others = [instance for instance in ended if not instance.is_deleted]
        return (last, others[-1]) if last.is_deleted and others else (last,)


NO_HISTORY = ContainerHistory()


CANNOT_CREATE = frozenset({"FailedCreatePodSandBox", "FailedMount", "NetworkNotReady"})
"""Reasons of events about a pod none of whose containers can be created yet.

Source: kubelet/events/event.go, v1.32.10.
"""

_NOT_CREATED = frozenset({"ContainerCreating", "PodInitializing"})


class _Collected(Struct):
    """What is known of one container so far."""

    instances: dict[ContainerID, ContainerInstance] = field(default_factory=dict)
    waits: BackoffEntry | None = None
    decision: BackoffEntry | None = None
    findings: list[FindingEntry] = field(default_factory=list)
    listener_checks: deque[ListenersEntry] = field(
        default_factory=lambda: deque(maxlen=MAX_LISTENER_CHECKS)
    )

    def put(self, instance: ContainerInstance) -> None:
        """Add an instance, or what is new about one."""
        self.instances[instance.container_id] = instance
        if len(self.instances) > MAX_INSTANCES:
            del self.instances[next(iter(self.instances))]


class ContainerHistories:
    """The history of all containers; one owner feeds it every entry once, in order."""

    def __init__(self) -> None:
        self._collected: dict[tuple[str, str], _Collected] = {}
        self._addresses: dict[str, str] = {}
        self._statuses: dict[str, PodStatus] = {}
        self._obstacles: dict[str, Waiting] = {}

    def add_entries(self, entries: Iterable[JournalEntry]) -> None:
        """Read what the journal says of containers."""
        for entry in entries:
            match entry:
                case ContainerEntry():
                    self._add_lifecycle(entry)
                case BackoffEntry():
                    self._add_backoff(entry)
                case ListenersEntry(key=key):
                    self._collected_of(key[:2]).listener_checks.append(entry)
                case FindingEntry(key=key):
                    self._collected_of(key[:2]).findings.append(entry)
                case TickEntry(action=TickAction.KILL):
                    self._add_kill(entry)
                case StatusEntry(pod_uid=pod_uid, status=status):
                    self._statuses[pod_uid] = status
                    if status.pod_ip:
                        self._addresses[pod_uid] = status.pod_ip
                case EventEntry(event=event) if event.reason in CANNOT_CREATE:
                    obstacle = Waiting(event.reason, event.message)
                    self._obstacles[event.pod_uid] = obstacle
                case _:
                    pass

    def container(self, pod_uid: str, container_name: str) -> ContainerHistory:
        """Return what is known of a container."""
        status = self._statuses.get(pod_uid, PodStatus())
        own = status.container(container_name)
        state = None if own is None else own.state
        waiting = state if isinstance(state, Waiting) else None
        if waiting is not None and waiting.reason in _NOT_CREATED:
            waiting = self._obstacles.get(pod_uid, waiting)
        known = self._collected.get((pod_uid, container_name))
        if known is None:
            return replace(
                NO_HISTORY,
                waiting=waiting,
                pod_reason=status.reason,
                pod_phase=status.phase,
            )
        return ContainerHistory(
            tuple(known.instances.values()),
            known.waits,
            known.decision,
            tuple(known.listener_checks),
            tuple(known.findings),
            waiting,
            status.reason,
            status.phase,
        )

    def findings(self, pod_uid: str) -> list[FindingEntry]:
        """Return what the probes of a pod showed, container by container."""
        return [
            finding
            for (uid, _), known in self._collected.items()
            if uid == pod_uid
            for finding in known.findings
        ]

    def containers(self) -> list[tuple[str, str]]:
        """Return pod UID and name of every container in the journal, in order."""
        return list(self._collected)

    def pod_ip(self, pod_uid: str) -> str:
        """Return the last IP that a pod is known to have had, empty if none."""
        return self._addresses.get(pod_uid, "")

    def _collected_of(self, container: tuple[str, str]) -> _Collected:
        return self._collected.setdefault(container, _Collected())

    def _add_lifecycle(self, entry: ContainerEntry) -> None:
        known = self._collected_of((entry.pod_uid, entry.container_name))
        instance = known.instances.get(entry.container_id)
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
                instance = replace(instance, started_at=entry.at)
            case LifecycleStep.STOPPING:
                instance = replace(instance, stopping=instance.stopping or entry)
            case LifecycleStep.EXITED:
                instance = replace(instance, exited=entry)
            case _:
                pass
        known.put(instance)

    def _add_backoff(self, entry: BackoffEntry) -> None:
        known = self._collected_of((entry.pod_uid, entry.container_name))
        known.decision = entry
        # The exit of the killed instance moves the window that was computed without it.
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


class SessionHistory:
    """All ticks of all probes, and the history of all containers; it has one owner.

    Args:
        journal: the whole session's, of which the start may be gone.
    """

    def __init__(self, journal: Sequence[JournalEntry]) -> None:
        self._journal = journal
        self._timelines = Timelines(journal)
        self._containers = ContainerHistories()

    def add_entries(self, entries: Sequence[JournalEntry], place: int) -> None:
        """Read new entries; the first one is at that place of the journal."""
        self._timelines.add_entries(entries, place)
        self._containers.add_entries(entries)

    def timeline(self, key: ProbeKey) -> Timeline:
        """Return the ticks of a probe."""
        return self._timelines.of(key)

    def container(self, pod_uid: str, container_name: str) -> ContainerHistory:
        """Return what is known of a container."""
        return self._containers.container(pod_uid, container_name)

    def containers(self) -> list[tuple[str, str]]:
        """Return pod UID and name of every container in the journal, in order."""
        return self._containers.containers()

    def findings(self, pod_uid: str) -> list[FindingEntry]:
        """Return what the probes of a pod showed, container by container."""
        return self._containers.findings(pod_uid)

    def pod_ip(self, pod_uid: str) -> str:
        """Return the last IP that a pod is known to have had, empty if none."""
        return self._containers.pod_ip(pod_uid)

    def tick(self, sequence: int) -> TickEntry | None:
        """Return the tick with that number; None if the journal has it no more."""
        # An engine numbers entries from 1 on, by their place.
        try:
            entry = self._journal[sequence - 1] if sequence > 0 else None
        except IndexError:
            return None
        if isinstance(entry, TickEntry) and entry.sequence == sequence:
            return entry
        return None

    def probes(self, pod_uid: str, container_name: str) -> list[ProbeKey]:
        """Return the probes of a container that have ticked, in the order they did."""
        return self._timelines.probes(pod_uid, container_name)
