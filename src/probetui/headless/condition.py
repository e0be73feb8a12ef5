"""What `--until` waits for: parsed, and watched in the journal.

A condition about how things *are* (`ready`, `started`) has to hold for everything it
is about. One about what *happens* (`killed`, `restarts`, `backoff`, `event`) counts
over everything it is about. Without a target that is every pod of the session.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from enum import StrEnum

from probetui.errors import UsageError
from probetui.k8s.pod import Container, Pod, RestartPolicy
from probetui.k8s.status import ConditionStatus, PodPhase, PodStatus
from probetui.kubelet.journal import (
    BackoffEntry,
    By,
    ContainerEntry,
    Entry,
    EventEntry,
    Lifecycle,
    PodGoneEntry,
    StatusEntry,
)


class Kind(StrEnum):
    """What a condition is about; the value is its word on the command line."""

    READY = "ready"
    STARTED = "started"
    KILLED = "killed"
    RESTARTS = "restarts"
    BACKOFF = "backoff"
    EVENT = "event"

    @property
    def is_state(self) -> bool:
        """Whether it has to hold for all, instead of being counted."""
        return self in {Kind.READY, Kind.STARTED}


FORMS = ("ready", "started", "killed[=N]", "restarts=N", "backoff", "event=REASON")


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition as given; `pod` and `container` are empty where none is named."""

    kind: Kind
    count: int = 1
    reason: str = ""
    pod: str = ""
    container: str = ""

    def __str__(self) -> str:
        """Return it as it is written on the command line."""
        target = "/".join(each for each in (self.pod, self.container) if each)
        value = {
            Kind.KILLED: f"={self.count}" if self.count != 1 else "",
            Kind.RESTARTS: f"={self.count}",
            Kind.EVENT: f"={self.reason}",
        }.get(self.kind, "")
        return f"{target}{':' if target else ''}{self.kind}{value}"


def parse_condition(text: str) -> Condition:
    """Read a condition.

    Raises:
        UsageError: it is none; says which there are and which one is nearest.
    """
    target, colon, condition = text.rpartition(":")
    pod, slash, container = target.partition("/")
    if (colon and not pod) or (slash and not container) or "/" in container:
        raise UsageError(f'"{target}" is not POD or POD/CONTAINER')
    word, equals, value = condition.partition("=")
    if word not in set(Kind):
        near = get_close_matches(word.lower(), list(Kind), n=1)
        hint = f" (nearest: {near[0]})" if near else ""
        raise UsageError(f'"{condition}" is not one of {", ".join(FORMS)}{hint}')
    kind = Kind(word)
    if kind is Kind.EVENT:
        if not value:
            raise UsageError("event needs a reason, as in event=Unhealthy")
        return Condition(kind, reason=value, pod=pod, container=container)
    if equals and kind not in {Kind.KILLED, Kind.RESTARTS}:
        raise UsageError(f'{word} takes no number, but "{condition}" has one')
    if kind is Kind.RESTARTS and not equals:
        raise UsageError("restarts needs a number, as in restarts=1")
    if equals and not (value.isascii() and value.isdigit() and int(value) > 0):
        raise UsageError(f'"{value}" in "{condition}" is not a number from 1')
    return Condition(kind, int(value) if equals else 1, "", pod, container)


class ConditionWatch:
    """Follows the journal and tells when the condition is met, or never will be.

    Raises `UsageError` when the condition names a pod or container there is not.
    """

    def __init__(self, condition: Condition, pods: Sequence[Pod]) -> None:
        self.condition = condition
        self.is_met = False
        """Whether it was met at some instant; what came later does not matter."""
        self._pods = {each.uid: each for each in _named_pods(condition, pods)}
        self._holding: set[str] = set()
        self._ended: dict[str, PodPhase] = {}
        self._gone: set[str] = set()
        self._restarts: dict[str, int] = {}
        self._count = 0

    def see(self, entry: Entry) -> None:
        """Take in one journal entry; they have to come in order, each once."""
        match entry:
            case StatusEntry() if entry.pod_uid in self._pods:
                self._see_status(entry.pod_uid, entry.status)
            case PodGoneEntry() if entry.pod_uid in self._pods:
                self._gone.add(entry.pod_uid)
            case _:
                self._count += self._counts(entry)
        self.is_met = self.is_met or self._is_met_now()

    @property
    def impossible(self) -> str:
        """Why the condition can no longer be met; empty while it can."""
        if self.is_met:
            return ""
        return self._impossible_from_the_start() or self._impossible_by_now()

    def _see_status(self, uid: str, status: PodStatus) -> None:
        pod = self._pods[uid]
        self._restarts[uid] = sum(
            each.restart_count
            for each in (
                *(status.init_container_statuses or ()),
                *(status.container_statuses or ()),
            )
            if self._is_about(uid, each.name)
        )
        if status.phase.is_terminal:
            self._ended[uid] = status.phase
        if self.condition.kind.is_state and self._holds(pod, status):
            self._holding.add(uid)
        else:
            self._holding.discard(uid)

    def _is_met_now(self) -> bool:
        match self.condition.kind:
            case Kind.READY | Kind.STARTED:
                return len(self._holding) == len(self._pods)
            case Kind.RESTARTS:
                return sum(self._restarts.values()) >= self.condition.count
            case _:
                return self._count >= self.condition.count

    def _counts(self, entry: Entry) -> bool:
        match self.condition.kind, entry:
            case Kind.KILLED, ContainerEntry(
                what=Lifecycle.STOPPING | Lifecycle.WOULD_STOP
            ):
                is_probe = entry.by in {By.LIVENESS, By.STARTUP}
                return is_probe and self._is_about(entry.pod_uid, entry.container_name)
            case Kind.BACKOFF, BackoffEntry(waits=True):
                return self._is_about(entry.pod_uid, entry.container_name)
            case Kind.EVENT, EventEntry(event=event):
                is_reason = event.reason == self.condition.reason
                return is_reason and self._is_about(event.pod_uid, event.container_name)
            case _:
                return False

    def _is_about(self, pod_uid: str, container_name: str) -> bool:
        return pod_uid in self._pods and (
            self.condition.container in {"", container_name}
        )

    def _holds(self, pod: Pod, status: PodStatus) -> bool:
        if self.condition.kind is Kind.READY and not self.condition.container:
            condition = status.condition("Ready")
            return condition is not None and condition.status is ConditionStatus.TRUE
        found = [status.container(each.name) for each in self._containers(pod)]
        if self.condition.kind is Kind.READY:
            return all(each is not None and each.ready for each in found)
        return all(each is not None and each.started is True for each in found)

    def _containers(self, pod: Pod) -> Iterator[Container]:
        """Yield those that the condition is about: init containers only by name."""
        for each in (*pod.sidecars, *pod.containers):
            if self.condition.container in {"", each.name}:
                yield each
        for each in pod.init_containers:
            if self.condition.container == each.name and not each.is_sidecar:
                yield each

    def _impossible_from_the_start(self) -> str:
        match self.condition.kind:
            case Kind.KILLED if not any(
                container.liveness_probe or container.startup_probe
                for pod in self._pods.values()
                for container in self._containers(pod)
            ):
                return f"no liveness probe and no startup probe in {self._subject}"
            case Kind.RESTARTS | Kind.BACKOFF if not any(
                pod.restart_policy is not RestartPolicy.NEVER or container.is_sidecar
                for pod in self._pods.values()
                for container in self._containers(pod)
            ):
                return f"nothing in {self._subject} is restarted (restartPolicy Never)"
            case Kind.READY if not self.condition.container:
                for pod in self._pods.values():
                    if pod.readiness_gates:
                        gates = ", ".join(pod.readiness_gates)
                        return f"nothing sets the readiness gate of {pod.name}: {gates}"
        return ""

    def _impossible_by_now(self) -> str:
        if self.condition.kind.is_state:
            for uid, phase in self._ended.items():
                return f"{self._pods[uid].name} has ended: {phase}"
        if self._gone >= self._pods.keys():
            return f"nothing of {self._subject} runs or will run again"
        return ""

    @property
    def _subject(self) -> str:
        names = [each.name for each in self._pods.values()]
        if self.condition.container:
            return f"{names[0]}/{self.condition.container}"
        return ", ".join(names)


def _named_pods(condition: Condition, pods: Sequence[Pod]) -> Sequence[Pod]:
    if not condition.pod:
        return pods
    found = [each for each in pods if each.name == condition.pod]
    if not found:
        has = ", ".join(each.name for each in pods)
        raise UsageError(f'no pod is called "{condition.pod}" (has: {has})')
    if not condition.container:
        return found
    kept = [each for each in found if each.container(condition.container)]
    if not kept:
        has = ", ".join(each.name for each in found[0].all_containers())
        raise UsageError(
            f'pod "{condition.pod}" has no container '
            f'"{condition.container}" (has: {has})'
        )
    return kept
