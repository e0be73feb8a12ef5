"""Parse the conditions of `--until`, and watch the journal for them.

A state (`ready`, `started`) must hold for every container of the target at once, and
its probe must have succeeded in this session. The status alone does not suffice: a
container is Ready before it has a readiness worker. Occurrences (`killed`, `restarts`,
`backoff`, `event`) are counted over all containers. `succeeded` is met when all pods of
the target have the phase Succeeded. Without a target, all pods of the session count.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from enum import StrEnum

from msgspec import Struct

from probetui.errors import GoError, UsageError
from probetui.headless.verdict import EXIT_NO, EXIT_OK, Verdict
from probetui.k8s.pod import Container, Pod, RestartPolicy
from probetui.k8s.pod_names import find_pods, split_name
from probetui.k8s.probe import HTTPGetAction, ProbeKey, ProbeType, TCPSocketAction
from probetui.k8s.status import ConditionStatus, PodPhase, PodStatus
from probetui.kubelet.journal import (
    PROBE_CAUSES,
    BackoffEntry,
    ContainerEntry,
    EventEntry,
    JournalEntry,
    LifecycleStep,
    PodGoneEntry,
    StatusEntry,
    TickEntry,
)
from probetui.kubelet.kuberuntime.restart import could_be_restarted
from probetui.kubelet.outcome import Result
from probetui.kubelet.prober.container_port import resolve_port
from probetui.suggestions import nearest_hint

_APART = timedelta(seconds=2)
"""Times of one event, as far as more has become known of a clock in between."""


class ConditionKind(StrEnum):
    """The kind of a condition; the value is its name on the command line."""

    READY = "ready"
    STARTED = "started"
    KILLED = "killed"
    RESTARTS = "restarts"
    BACKOFF = "backoff"
    EVENT = "event"
    SUCCEEDED = "succeeded"

    @property
    def is_state(self) -> bool:
        """Whether it is a state, not a count of occurrences."""
        return self in {ConditionKind.READY, ConditionKind.STARTED}


CONDITION_FORMS = (
    "ready",
    "started",
    "killed[=N]",
    "restarts=N",
    "backoff",
    "event=REASON",
    "succeeded",
)


class Condition(Struct, frozen=True):
    """A condition; `target` is a pod or `pod/container`, empty for all pods."""

    kind: ConditionKind
    count: int = 1
    reason: str = ""
    target: str = ""

    def __str__(self) -> str:
        """Format the condition as on the command line."""
        value = {
            ConditionKind.KILLED: f"={self.count}" if self.count != 1 else "",
            ConditionKind.RESTARTS: f"={self.count}",
            ConditionKind.EVENT: f"={self.reason}",
        }.get(self.kind, "")
        return f"{self.target}{':' if self.target else ''}{self.kind}{value}"


def parse_condition(text: str) -> Condition:
    """Parse a condition.

    Raises:
        UsageError: the text is not a condition.
    """
    target, colon, condition = text.rpartition(":")
    if colon:
        split_name(target)
    word, equals, value = condition.partition("=")
    if word not in set(ConditionKind):
        hint = nearest_hint(word, ConditionKind)
        raise UsageError(
            f'"{condition}" is not one of {", ".join(CONDITION_FORMS)}{hint}'
        )
    kind = ConditionKind(word)
    if kind is ConditionKind.EVENT:
        if not value:
            raise UsageError("event needs a reason, as in event=Unhealthy")
        return Condition(kind, reason=value, target=target)
    if equals and kind not in {ConditionKind.KILLED, ConditionKind.RESTARTS}:
        raise UsageError(f'{word} takes no number, but "{condition}" has one')
    if kind is ConditionKind.RESTARTS and not equals:
        raise UsageError("restarts needs a number, as in restarts=1")
    if equals and not (value.isascii() and value.isdigit() and int(value) > 0):
        raise UsageError(f'"{value}" in "{condition}" is not a number from 1')
    return Condition(kind, int(value) if equals else 1, "", target)


class ConditionWatch:
    """Follows the journal and decides when a condition is met or has become impossible.

    Args:
        condition: the condition to wait for.
        pods: the pods of the session.
        hold_for: how long a state must hold.

    Raises:
        UsageError: the condition names an unknown pod or container, or `hold_for` is
            given for an occurrence.
    """

    def __init__(
        self,
        condition: Condition,
        pods: Sequence[Pod],
        hold_for: timedelta = timedelta(),
    ) -> None:
        if hold_for and not condition.kind.is_state:
            raise UsageError(
                f"{condition} is an occurrence; only ready and started hold for a time"
            )
        self.condition = condition
        self._hold_for = hold_for
        self.is_met = False
        """Whether it has been met, even if it no longer holds."""
        targets, self._container = (
            find_pods(condition.target, pods) if condition.target else (pods, "")
        )
        self._pods = {pod.uid: pod for pod in targets}
        self._statuses: dict[str, PodStatus] = {}
        self._succeeded: set[ProbeKey] = set()
        self._held_since: datetime | None = None
        self._ended: dict[str, PodPhase] = {}
        self._gone: set[str] = set()
        self._restarts: dict[tuple[str, str], int] = {}
        self._count = 0
        self._doubtful: dict[tuple[str, str], ContainerEntry] = {}

    def observe(self, entry: JournalEntry) -> None:
        """Evaluate the next journal entry; they come in order, each once."""
        self.advance(entry.at)
        match entry:
            case TickEntry() if entry.key.pod_uid in self._pods:
                self._observe_tick(entry)
            case StatusEntry() if entry.pod_uid in self._pods:
                self._observe_status(entry.pod_uid, entry.status)
            case PodGoneEntry() if entry.pod_uid in self._pods:
                self._gone.add(entry.pod_uid)
            case ContainerEntry(what=LifecycleStep.STARTED):
                # The status follows only at the next sync.
                self._note_restarts(
                    entry.pod_uid, entry.container_name, entry.restart_count
                )
            case _:
                self._count += self._counts(entry)
        if self.condition.kind.is_state:
            self._observe_state(entry.at)
        else:
            self.is_met = self.is_met or self.count >= self.condition.count

    def advance(self, now: datetime) -> None:
        """Advance the clock to `now`; no entry came."""
        if self.due_at is not None and now >= self.due_at:
            self.is_met = True

    @property
    def holds(self) -> bool:
        """Whether the condition is a state that holds now."""
        return self._held_since is not None

    @property
    def count(self) -> int:
        """The number of occurrences; for `succeeded`, 1 once all pods have."""
        match self.condition.kind:
            case ConditionKind.RESTARTS:
                return sum(self._restarts.values())
            case ConditionKind.SUCCEEDED:
                phases = [self._ended.get(uid) for uid in self._pods]
                return int(all(phase is PodPhase.SUCCEEDED for phase in phases))
            case _:
                return self._count

    @property
    def verdict(self) -> Verdict | None:
        """Why the session is over; None while it is not."""
        if self.is_met:
            return Verdict("until", EXIT_OK)
        if self.impossible:
            message = f"{self.condition} can never happen: {self.impossible}"
            return Verdict("impossible", EXIT_NO, message)
        return None

    @property
    def due_at(self) -> datetime | None:
        """When a state will have held long enough; None if it does not hold now."""
        return None if self._held_since is None else self._held_since + self._hold_for

    @property
    def impossible(self) -> str:
        """Why the condition cannot be met any more; empty while it can."""
        if self.is_met:
            return ""
        return self._impossible_from_the_start() or self._impossible_by_now()

    def unmet(self) -> Iterator[tuple[Pod, Container]]:
        """Yield the containers that are not in the state that is waited for.

        None for an occurrence, which is no container's state.
        """
        if not self.condition.kind.is_state:
            return
        for uid, pod in self._pods.items():
            status = self._statuses.get(uid)
            for container in self._containers(pod):
                if status is None or not self._is_in_state(pod, container, status):
                    yield pod, container

    def _observe_status(self, uid: str, status: PodStatus) -> None:
        for container_status in (
            *(status.init_container_statuses or ()),
            *(status.container_statuses or ()),
        ):
            self._note_restarts(
                uid, container_status.name, container_status.restart_count
            )
        if status.phase.is_terminal:
            self._ended[uid] = status.phase
        self._statuses[uid] = status

    def _note_restarts(self, uid: str, name: str, count: int) -> None:
        if self._is_about(uid, name):
            before = self._restarts.get((uid, name), 0)
            self._restarts[uid, name] = max(before, count)

    def _observe_tick(self, tick: TickEntry) -> None:
        # A skipped tick counts only if it is the first of a new instance.
        if tick.result is None and not tick.new_container:
            return
        if tick.stored.after is Result.SUCCESS and tick.result is not None:
            self._succeeded.add(tick.key)
        else:
            self._succeeded.discard(tick.key)

    def _observe_state(self, at: datetime) -> None:
        holds = self._statuses.keys() == self._pods.keys() and all(
            self._holds(pod, self._statuses[uid]) for uid, pod in self._pods.items()
        )
        if not holds:
            self._held_since = None
        elif self._held_since is None:
            self._held_since = at
        self.advance(at)

    def _counts(self, entry: JournalEntry) -> bool:
        match self.condition.kind, entry:
            case ConditionKind.KILLED, ContainerEntry(
                what=LifecycleStep.STOPPING | LifecycleStep.WOULD_STOP
            ):
                is_kill = entry.by in PROBE_CAUSES and not self._is_told_again(entry)
                return is_kill and self._is_about(entry.pod_uid, entry.container_name)
            case ConditionKind.BACKOFF, BackoffEntry(waits=True):
                return self._is_about(entry.pod_uid, entry.container_name)
            case ConditionKind.EVENT, EventEntry(event=event):
                has_reason = event.reason == self.condition.reason
                return has_reason and self._is_about(
                    event.pod_uid, event.container_name
                )
            case _:
                return False

    def _is_told_again(self, stop: ContainerEntry) -> bool:
        """Return whether a stop was told before, of the instance before its own."""
        place = stop.pod_uid, stop.container_name
        told = self._doubtful.pop(place, None)
        if stop.or_newer:
            self._doubtful[place] = stop
        return (
            told is not None
            and told.container_id != stop.container_id
            and told.by is stop.by
            and abs(told.at - stop.at) <= _APART
        )

    def _is_about(self, pod_uid: str, container_name: str) -> bool:
        return pod_uid in self._pods and (self._container in {"", container_name})

    def _holds(self, pod: Pod, status: PodStatus) -> bool:
        containers = [*self._containers(pod)]
        if self.condition.kind is ConditionKind.READY and not self._container:
            condition = status.condition("Ready")
            is_ready = condition is not None and (
                condition.status is ConditionStatus.TRUE
            )
            return is_ready and all(
                self._has_succeeded(pod, container) for container in containers
            )
        return all(
            self._is_in_state(pod, container, status) for container in containers
        )

    def _is_in_state(self, pod: Pod, container: Container, status: PodStatus) -> bool:
        own = status.container(container.name)
        if own is None or not self._has_succeeded(pod, container):
            return False
        is_ready = self.condition.kind is ConditionKind.READY
        return own.ready if is_ready else own.has_started

    def _has_succeeded(self, pod: Pod, container: Container) -> bool:
        """Return whether the probe that decides the state has succeeded, if any."""
        is_ready = self.condition.kind is ConditionKind.READY
        probe_type = ProbeType.READINESS if is_ready else ProbeType.STARTUP
        key = ProbeKey(pod.uid, container.name, probe_type)
        return container.probe(probe_type) is None or key in self._succeeded

    def _containers(self, pod: Pod) -> Iterator[Container]:
        """Yield the containers of the target; init containers only if named."""
        for container in (*pod.sidecars, *pod.containers):
            if self._container in {"", container.name}:
                yield container
        for container in pod.init_containers:
            if self._container == container.name and not container.is_sidecar:
                yield container

    def _impossible_from_the_start(self) -> str:
        match self.condition.kind:
            case ConditionKind.KILLED if not any(
                container.liveness_probe or container.startup_probe
                for pod in self._pods.values()
                for container in self._containers(pod)
            ):
                return f"no liveness probe and no startup probe in {self._subject}"
            case ConditionKind.RESTARTS | ConditionKind.BACKOFF if not any(
                could_be_restarted(pod, container)
                for pod in self._pods.values()
                for container in self._containers(pod)
            ):
                return f"nothing in {self._subject} is restarted (restartPolicy Never)"
            case ConditionKind.SUCCEEDED:
                for pod in self._pods.values():
                    if pod.restart_policy is RestartPolicy.ALWAYS:
                        return f"{pod.name} never ends (restartPolicy Always)"
            case ConditionKind.READY if not self._container:
                for pod in self._pods.values():
                    if pod.readiness_gates:
                        gates = ", ".join(pod.readiness_gates)
                        return f"nothing sets the readiness gate of {pod.name}: {gates}"
        if self.condition.kind.is_state:
            return self._probe_without_port()
        return ""

    def _probe_without_port(self) -> str:
        """Describe a probe of the state whose named port does not exist, or nothing."""
        awaited = [ProbeType.STARTUP]
        if self.condition.kind is ConditionKind.READY:
            awaited.append(ProbeType.READINESS)
        for pod in self._pods.values():
            for container in self._containers(pod):
                for probe_type in awaited:
                    probe = container.probe(probe_type)
                    handler = None if probe is None else probe.handler
                    if not isinstance(handler, HTTPGetAction | TCPSocketAction):
                        continue
                    try:
                        resolve_port(handler.port, container)
                    except GoError:
                        where = f"{probe_type.lower()} probe of {pod.name}"
                        return (
                            f"the {where}/{container.name} names port {handler.port}, "
                            "which the container does not have"
                        )
        return ""

    def _impossible_by_now(self) -> str:
        if self.condition.kind.is_state or self.condition.kind is (
            ConditionKind.SUCCEEDED
        ):
            for uid, phase in self._ended.items():
                if not self.condition.kind.is_state and phase is PodPhase.SUCCEEDED:
                    continue
                return f"{self._pods[uid].name} has ended: {phase}"
        if self._gone >= self._pods.keys():
            return f"nothing of {self._subject} runs or will run again"
        return ""

    @property
    def _subject(self) -> str:
        names = [pod.name for pod in self._pods.values()]
        if self._container:
            return f"{names[0]}/{self._container}"
        return ", ".join(names)
