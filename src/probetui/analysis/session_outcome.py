"""Summarize a session: kills, restarts, readiness; compare two sessions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from datetime import datetime, timedelta
from enum import StrEnum

from msgspec import Struct, field

from probetui.k8s.probe import ProbeKey
from probetui.kubelet.journal import (
    ContainerEntry,
    JournalEntry,
    LifecycleStep,
    StateEntry,
    StateField,
    TickAction,
    TickEntry,
)
from probetui.kubelet.outcome import Result

SAME_INSTANT = timedelta(seconds=1.5)
"""Events that are closer than this in two sessions count as simultaneous.

Their relists, one per second, may fall at different times within the second.
"""

_KILLS = frozenset({TickAction.KILL, TickAction.WOULD_KILL})
_NO_TIME = timedelta()


class HappeningKind(StrEnum):
    """The kinds of events that matter to the operator of a container."""

    KILL = "kill"
    RESTART = "restart"
    READY = "ready"
    NOT_READY = "not-ready"


class Happening(Struct, frozen=True):
    """Something that happened to a container.

    `text` describes it in a report. `unmeasured` counts the outcomes behind it that
    were assumed, not measured.
    """

    at: datetime
    pod_uid: str
    container_name: str
    kind: HappeningKind
    text: str
    unmeasured: int = 0

    @property
    def container(self) -> tuple[str, str]:
        """Its container, by pod UID and name."""
        return self.pod_uid, self.container_name


class ContainerTotals(Struct, frozen=True):
    """The totals of a session for one container.

    Attributes:
        kills: how often a probe killed it.
        restarts: how often it was restarted.
        not_ready: how long it was not ready.
        first_ready: the time from the start of the session until it was first ready,
            None if it never was.
        probed: how many ticks ran a probe.
        unmeasured: how many of those outcomes were assumed, not measured.
    """

    kills: int = 0
    restarts: int = 0
    not_ready: timedelta = _NO_TIME
    first_ready: timedelta | None = None
    probed: int = 0
    unmeasured: int = 0


def total_of(parts: Sequence[ContainerTotals]) -> ContainerTotals:
    """Add up the totals of a container whose pod was replaced by one of the same name.

    Each pod's container was not ready while another's ran, so the shortest such time
    counts.
    """
    first = (part.first_ready for part in parts)
    return ContainerTotals(
        sum(part.kills for part in parts),
        sum(part.restarts for part in parts),
        min((part.not_ready for part in parts), default=_NO_TIME),
        min((at for at in first if at is not None), default=None),
        sum(part.probed for part in parts),
        sum(part.unmeasured for part in parts),
    )


class SessionOutcome(Struct, frozen=True):
    """What happened, in order, and the totals by pod UID and container name."""

    happenings: tuple[Happening, ...]
    totals: dict[tuple[str, str], ContainerTotals]

    def totals_of(self, container: tuple[str, str]) -> ContainerTotals:
        """Return the totals of a container; zeros if it never existed."""
        return self.totals.get(container, ContainerTotals())


class OutcomeDifference(Struct, frozen=True):
    """What happened in only one of two sessions; the other side is None."""

    before: Happening | None
    after: Happening | None

    @property
    def happening(self) -> Happening:
        """The side that is not None; the first session's if both have one."""
        happening = self.before or self.after
        assert happening is not None, "one is there"  # noqa: S101  # for the type
        return happening


class _Container(Struct):
    """A container's totals under construction."""

    kills: int = 0
    restarts: int = 0
    not_ready: timedelta = _NO_TIME
    not_ready_since: datetime | None = None
    first_ready: timedelta | None = None
    probed: int = 0
    unmeasured: int = 0
    failing: dict[ProbeKey, list[bool]] = field(
        default_factory=lambda: defaultdict(list)
    )

    def totals(self, ended_at: datetime) -> ContainerTotals:
        """Return the totals at the end of the session."""
        since = self.not_ready_since or ended_at
        return ContainerTotals(
            self.kills,
            self.restarts,
            self.not_ready + (ended_at - since),
            self.first_ready,
            self.probed,
            self.unmeasured,
        )


def session_outcome(
    entries: Iterable[JournalEntry],
    started_at: datetime,
    ended_at: datetime,
    unmeasured: Collection[tuple[ProbeKey, datetime]] = (),
) -> SessionOutcome:
    """Summarize a session.

    Args:
        entries: its journal.
        started_at: when it began.
        ended_at: when it ended.
        unmeasured: the ticks whose outcomes were assumed, by probe and start.
    """
    reader = _Reader(started_at, unmeasured)
    for entry in entries:
        match entry:
            case TickEntry(key=key) if entry.result is not None or entry.attempts:
                reader.add_tick(key, entry)
            case ContainerEntry(what=LifecycleStep.STARTED):
                reader.add_start(entry)
            case StateEntry(what=StateField.READY):
                reader.add_readiness(entry)
            case _:
                continue
    totals = {key: own.totals(ended_at) for key, own in reader.containers.items()}
    return SessionOutcome(tuple(reader.happenings), totals)


class _Reader:
    """Reads entries into happenings and totals."""

    def __init__(
        self, started_at: datetime, unmeasured: Collection[tuple[ProbeKey, datetime]]
    ) -> None:
        self.happenings: list[Happening] = []
        self.containers: dict[tuple[str, str], _Container] = {}
        self._started_at = started_at
        self._unmeasured = unmeasured
        self._guessed: set[int] = set()

    def add_tick(self, key: ProbeKey, tick: TickEntry) -> None:
        """Count a tick that ran its probe."""
        own = self._container(*key[:2])
        is_guess = (key, tick.timing.started_at) in self._unmeasured
        own.probed += 1
        own.unmeasured += is_guess
        if is_guess:
            self._guessed.add(tick.sequence)
        if tick.result is Result.FAILURE:
            own.failing[key].append(is_guess)
        elif tick.result is not None:
            own.failing[key].clear()
        if tick.action in _KILLS:
            own.kills += 1
            self.happenings.append(
                _kill(tick, sum(own.failing[key][-tick.run.count :]))
            )

    def add_start(self, entry: ContainerEntry) -> None:
        """Count a start, if it is a restart."""
        own = self._container(entry.pod_uid, entry.container_name)
        if entry.restart_count > 0:
            own.restarts += 1
            text = f"restart {entry.restart_count}"
            self.happenings.append(_happening(entry, HappeningKind.RESTART, text))

    def add_readiness(self, entry: StateEntry) -> None:
        """Record that a container became ready or not ready."""
        own = self._container(entry.pod_uid, entry.container_name)
        is_guess = int(entry.cause in self._guessed)
        if entry.after != "true":
            own.not_ready_since = own.not_ready_since or entry.at
            kind, text = HappeningKind.NOT_READY, "not ready"
        else:
            kind, text = HappeningKind.READY, "ready"
            if own.not_ready_since is not None:
                own.not_ready += entry.at - own.not_ready_since
                own.not_ready_since = None
            if own.first_ready is None:
                own.first_ready = entry.at - self._started_at
        self.happenings.append(_happening(entry, kind, text, is_guess))

    def _container(self, pod_uid: str, name: str) -> _Container:
        fresh = _Container(not_ready_since=self._started_at)
        return self.containers.setdefault((pod_uid, name), fresh)


def _kill(tick: TickEntry, unmeasured: int) -> Happening:
    probe = tick.key.probe_type.lower()
    verb = "killed" if tick.action is TickAction.KILL else "would be killed"
    return Happening(
        tick.at,
        tick.key.pod_uid,
        tick.key.container_name,
        HappeningKind.KILL,
        f"{verb}: {probe} {tick.run.count}/{tick.run.threshold}",
        unmeasured,
    )


def _happening(
    entry: ContainerEntry | StateEntry,
    kind: HappeningKind,
    text: str,
    unmeasured: int = 0,
) -> Happening:
    return Happening(
        entry.at, entry.pod_uid, entry.container_name, kind, text, unmeasured
    )


def outcome_differences(
    before: Sequence[Happening], after: Sequence[Happening]
) -> list[OutcomeDifference]:
    """Return what happened in only one of two sessions, in order of time.

    The same event within `SAME_INSTANT` is no difference.
    """
    unmatched = list(after)
    differences = []
    for happening in before:
        same = [
            other
            for other in unmatched
            if _subject(other) == _subject(happening)
            and abs(other.at - happening.at) <= SAME_INSTANT
        ]
        if same:
            unmatched.remove(min(same, key=lambda other: abs(other.at - happening.at)))
        else:
            differences.append(OutcomeDifference(happening, None))
    differences += (OutcomeDifference(None, happening) for happening in unmatched)
    return sorted(differences, key=lambda difference: difference.happening.at)


def _subject(happening: Happening) -> tuple[str, str, str]:
    return happening.pod_uid, happening.container_name, happening.text
