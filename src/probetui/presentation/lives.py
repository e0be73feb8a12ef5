"""The lives of a container: how each began, who ended it, and what back-off said.

The journal tells of them in steps that lie far apart; here they are put together.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime

from probetui.k8s.runtime import NO_CONTAINER, ContainerID
from probetui.k8s.status import PodStatus
from probetui.kubelet.journal import (
    Action,
    BackoffEntry,
    By,
    ContainerEntry,
    Entry,
    FindingEntry,
    Lifecycle,
    ListenersEntry,
    StatusEntry,
    TickEntry,
)

MOST_LIVES = 500
"""Of one container; older ones are dropped."""

MOST_LOOKS = 500
"""At where one container listens; older ones are dropped."""


@dataclass(frozen=True, slots=True)
class Life:
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
        stopping: the first time it was told to stop.
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
        """Which life this is, counted from 1."""
        return self.restart_count + 1

    @property
    def end(self) -> ContainerEntry | None:
        """What tells of its end: that it was asked for, or else that it came."""
        return self.stopping or self.exited

    @property
    def is_deleted(self) -> bool:
        """Whether it ended only because its pod was deleted."""
        return self.end is not None and self.end.by is By.DELETE


@dataclass(frozen=True, slots=True)
class ContainerPast:
    """A container's lives, oldest first, and what back-off says of the next one.

    `waits` is what is waited for since the last life ended, as it was first told;
    `decision` is the last word.
    """

    lives: tuple[Life, ...] = ()
    waits: BackoffEntry | None = None
    decision: BackoffEntry | None = None
    looks: tuple[ListenersEntry, ...] = ()
    findings: tuple[FindingEntry, ...] = ()

    def listeners(self, tick: TickEntry) -> ListenersEntry | None:
        """Return where the container listened when a tick's connection was refused.

        That is what was looked up for it, else what had been said before: nothing is
        said again that has not changed. None while it is not known.
        """
        there = tick.attempts[-1].refused_at if tick.attempts else None
        before = None
        for each in self.looks:
            if (each.container_id, each.refused_at) != (tick.container_id, there):
                continue
            if each.cause == tick.sequence:
                return each
            if each.sequence < tick.sequence:
                before = each
        return before

    def life(self, container_id: ContainerID) -> Life | None:
        """Return the life of an instance, None if it is not known."""
        for each in reversed(self.lives):
            if each.container_id == container_id:
                return each
        return None

    def after(self, life: Life) -> Life | None:
        """Return the life that followed, None if there is none yet."""
        for one, following in zip(self.lives, self.lives[1:], strict=False):
            if one.container_id == life.container_id:
                return following
        return None

    @property
    def last_ends(self) -> tuple[Life, ...]:
        """The last life that is over or was told to end, empty if there is none.

        Behind one that its pod's deletion ended comes the last one before that ended
        otherwise: a session ends with deletions, and nobody asks about those.
        """
        ended = [each for each in self.lives if each.end is not None]
        if not ended:
            return ()
        last = ended[-1]
        others = [each for each in ended if not each.is_deleted]
        return (last, others[-1]) if last.is_deleted and others else (last,)


NO_PAST = ContainerPast()


@dataclass(slots=True)
class _Past:
    lives: deque[Life] = field(default_factory=lambda: deque(maxlen=MOST_LIVES))
    waits: BackoffEntry | None = None
    decision: BackoffEntry | None = None
    findings: list[FindingEntry] = field(default_factory=list)
    looks: deque[ListenersEntry] = field(
        default_factory=lambda: deque(maxlen=MOST_LOOKS)
    )


class Lives:
    """The past of all containers; one owner feeds it every entry once, in order."""

    def __init__(self) -> None:
        self._pasts: dict[tuple[str, str], _Past] = {}
        self._addresses: dict[str, str] = {}

    def feed(self, entries: Iterable[Entry]) -> None:
        """Take in what the journal tells of containers."""
        for each in entries:
            match each:
                case ContainerEntry():
                    self._container(each)
                case BackoffEntry():
                    self._backoff(each)
                case ListenersEntry(key=key):
                    self._past(key.pod_uid, key.container_name).looks.append(each)
                case FindingEntry(key=key):
                    self._past(key.pod_uid, key.container_name).findings.append(each)
                case TickEntry(action=Action.KILL):
                    self._kill(each)
                case StatusEntry(status=PodStatus(pod_ip=address)) if address:
                    self._addresses[each.pod_uid] = address
                case _:
                    pass

    def of(self, pod_uid: str, container_name: str) -> ContainerPast:
        """Return what is known of a container."""
        past = self._pasts.get((pod_uid, container_name))
        if past is None:
            return NO_PAST
        return ContainerPast(
            tuple(past.lives),
            past.waits,
            past.decision,
            tuple(past.looks),
            tuple(past.findings),
        )

    def findings(self, pod_uid: str) -> list[FindingEntry]:
        """Return what the probes of a pod showed, container by container."""
        return [
            finding
            for (uid, _), past in self._pasts.items()
            if uid == pod_uid
            for finding in past.findings
        ]

    def containers(self) -> list[tuple[str, str]]:
        """Return pod UID and name of every container that was told of, in order."""
        return list(self._pasts)

    def pod_ip(self, pod_uid: str) -> str:
        """Return the last IP that a pod is known to have had, empty if none."""
        return self._addresses.get(pod_uid, "")

    def _past(self, pod_uid: str, container_name: str) -> _Past:
        return self._pasts.setdefault((pod_uid, container_name), _Past())

    def _container(self, entry: ContainerEntry) -> None:
        past = self._past(entry.pod_uid, entry.container_name)
        life = _find(past, entry.container_id)
        if life is None:
            life = Life(entry.container_id, entry.restart_count)
            if entry.what is Lifecycle.CREATED:
                life = replace(life, allowed=past.decision, waited=past.waits)
                past.waits = past.decision = None
            past.lives.append(life)
        match entry.what:
            case Lifecycle.CREATED:
                _put(past, replace(life, created_at=entry.at))
            case Lifecycle.STARTED:
                _put(past, replace(life, started_at=entry.at))
            case Lifecycle.STOPPING:
                _put(past, replace(life, stopping=life.stopping or entry))
            case Lifecycle.EXITED:
                _put(past, replace(life, exited=entry))
            case _:
                pass

    def _backoff(self, entry: BackoffEntry) -> None:
        past = self._past(entry.pod_uid, entry.container_name)
        past.decision = entry
        # The end of the killed instance moves the window that was reckoned without it.
        is_another = past.waits is None or past.waits.until != entry.until
        if entry.waits and is_another:
            past.waits = entry

    def _kill(self, tick: TickEntry) -> None:
        past = self._past(tick.key.pod_uid, tick.key.container_name)
        life = _find(past, tick.container_id)
        if life is None:
            if tick.container_id == NO_CONTAINER:
                return
            life = Life(tick.container_id, 0)
            past.lives.append(life)
        _put(past, replace(life, kill=life.kill or tick))


def _find(past: _Past, container_id: ContainerID) -> Life | None:
    for each in reversed(past.lives):
        if each.container_id == container_id:
            return each
    return None


def _put(past: _Past, life: Life) -> None:
    for index in range(len(past.lives) - 1, -1, -1):
        if past.lives[index].container_id == life.container_id:
            past.lives[index] = life
            return
