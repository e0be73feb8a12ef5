"""The view model: the values to show, read from a session."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from msgspec import Struct, field
from msgspec.structs import replace

from probetui.analysis.container_history import SessionHistory
from probetui.analysis.event_aggregation import ClusterEvents
from probetui.drive.session import Session
from probetui.engine.snapshot import PodSnapshot, Snapshot
from probetui.k8s.pod import Pod
from probetui.kubelet.journal import JournalEntry, TickEntry, UserEntry
from probetui.presentation.container.table import pod_names
from probetui.presentation.events.log import EventLine, EventLineBuffer, EventLog
from probetui.presentation.per_pod import changed_pods
from probetui.presentation.text.view import TimeFormat, TimeFormatter, View
from probetui.presentation.tick.marks import ASCII, UNICODE
from probetui.record.masking import Mask, find_pod_secrets
from probetui.tui.options import ScreenOptions

if TYPE_CHECKING:
    from probetui.presentation.events.acts import ActReporter


_JUST_NOW = timedelta(seconds=5)


class ViewModel(Struct, frozen=True):
    """A snapshot, its view, and the event lines since the last one.

    `counts` are the numbers of warnings and normal events. `log` has all event lines
    and grows; after a seek backwards it is another object. `cluster` has the events as
    a cluster would show them, `names` the pods' names by UID. `past` has all ticks and
    instances of containers, and grows, too. `acts` are what the user's acts did, since
    the last one.
    """

    snapshot: Snapshot
    runtime_name: str
    view: View
    fresh: tuple[EventLine, ...]
    counts: tuple[int, int]
    log: EventLineBuffer = field(default_factory=EventLineBuffer)
    cluster: ClusterEvents = field(default_factory=ClusterEvents)
    names: Mapping[str, str] = field(default_factory=dict)
    past: SessionHistory = field(default_factory=lambda: SessionHistory(()))
    acts: tuple[str, ...] = ()
    kills: tuple[str, ...] = ()
    """Kills by probes just now, since the last one; none without notifications."""

    warned: frozenset[str] = frozenset()
    """The UIDs of the pods of whose manifests the program warned."""

    has_several_containers: bool = True
    """Whether there is or was more than one container."""


class SessionObserver:
    """Builds view models of a session; keeps its position in the journal.

    `mask` masks secrets other than the pods' own values.
    """

    def __init__(
        self, session: Session, options: ScreenOptions, mask: Mask | None = None
    ) -> None:
        self._session = session
        self._options = options
        self._log = EventLog(session.snapshot.rules, options.services)
        self._lines = EventLineBuffer()
        self._past = SessionHistory(session.journal)
        self._read = 0
        self._rewinds = 0
        self._seen: Sequence[PodSnapshot] = ()
        self._pods: dict[str, Pod] = {}
        self._names: dict[str, str] = {}
        self._containers: set[tuple[str, str]] = set()
        self._act_reporter: ActReporter | None = None
        self._acts: tuple[str, ...] = ()
        self._kills: tuple[str, ...] = ()
        self._mask = mask or Mask(hides=not options.show_secrets)
        self.time_format = TimeFormat.WALL

    def build_view_model(self) -> ViewModel:
        """Return the view model of the session's current state."""
        snapshot = self._session.snapshot
        self._register_pods(snapshot)
        self._reset_after_rewind()
        return ViewModel(
            snapshot,
            self._session.runtime_name,
            self.view(snapshot),
            self._read_journal(),
            (self._log.warnings, self._log.normals),
            self._lines,
            self._log.cluster,
            self._names,
            self._past,
            self._acts,
            self._kills,
            self._log.warned,
            len(self._containers) > 1,
        )

    def view(self, snapshot: Snapshot) -> View:
        """Return the view of a snapshot: its times, marks, mask and so on."""
        return View(
            TimeFormatter(
                _floored(snapshot.taken_at, countdown_step(self._options)),
                snapshot.started_at,
                self.time_format,
                self._options.zone,
            ),
            ASCII if self._options.ascii else UNICODE,
            snapshot.is_paused,
            self._mask,
            snapshot.acts,
            self._options.reach,
            snapshot.rules,
            self._options.services,
        )

    def _register_pods(self, snapshot: Snapshot) -> None:
        """Register new pods, which keep their names after they are gone."""
        changed, self._seen = changed_pods(snapshot.pods, self._seen), snapshot.pods
        is_known = all(self._pods.get(pod.pod.uid) is pod.pod for pod in changed)
        if is_known:
            return
        self._pods.update((pod.pod.uid, pod.pod) for pod in snapshot.pods)
        self._names = pod_names(self._pods.values())
        self._containers.update(
            (pod.pod.full_name, container.container.name)
            for pod in snapshot.pods
            for container in pod.containers
        )
        if not self._options.show_secrets:
            self._mask.learn(find_pod_secrets(self._pods.values()))

    def _reset_after_rewind(self) -> None:
        """Start again if the session went back in time."""
        playback = self._session.playback
        if playback is not None and playback.rewinds != self._rewinds:
            self._rewinds = playback.rewinds
            rules, services = self._session.snapshot.rules, self._options.services
            self._log = EventLog(rules, services)
            self._lines, self._read = EventLineBuffer(), 0
            self._past = SessionHistory(self._session.journal)

    def _read_journal(self) -> tuple[EventLine, ...]:
        journal = self._session.journal
        fresh, self._read = journal[self._read :], len(journal)
        self._past.add_entries(fresh, self._read - len(fresh))
        self._acts = tuple(self._describe_acts(fresh))
        if self._options.notifies:
            self._kills = tuple(self._describe_kills(fresh))
        added = (self._log.add_entry(entry, self._names, self._pods) for entry in fresh)
        lines = tuple(self._without_tick(line) for line in added if line is not None)
        self._lines.extend(lines)
        self._log.cluster.evict(self._lines.oldest)
        return lines

    def _describe_acts(self, fresh: Sequence[JournalEntry]) -> Iterator[str]:
        if self._act_reporter is None:
            if not any(isinstance(entry, UserEntry) for entry in fresh):
                return
            # Imported late: the first screen has no acts.
            from probetui.presentation.events.acts import ActReporter  # noqa: PLC0415

            self._act_reporter = ActReporter()
        for entry in fresh:
            if text := self._act_reporter.describe(entry, self._pods):
                yield text

    def _describe_kills(self, fresh: Sequence[JournalEntry]) -> Iterator[str]:
        """Yield kills of this moment: those that a seek brings are long past."""
        # Imported late: few sessions notify.
        from probetui.presentation.terminal_title import kill_notice  # noqa: PLC0415

        snapshot = self._session.snapshot
        for entry in fresh:
            if snapshot.taken_at - entry.at > _JUST_NOW:
                continue
            uid = entry.key.pod_uid if isinstance(entry, TickEntry) else ""
            name = self._names.get(uid, uid)
            if text := kill_notice(entry, name, self.view(snapshot)):
                yield text

    def _without_tick(self, line: EventLine) -> EventLine:
        """Remove the tick of a line if the journal has it."""
        tick = line.tick
        if tick is None or self._past.tick(tick.sequence) != tick:
            return line
        return replace(line, tick=None, tick_sequence=tick.sequence)


def countdown_step(options: ScreenOptions) -> timedelta:
    """Return the interval at which times on the screen are updated."""
    return timedelta(seconds=1) if not options.motion else timedelta(milliseconds=250)


def _floored(at: datetime, step: timedelta) -> datetime:
    """Round an instant down to whole steps, so that times change at those only.

    Snapshots between two steps do not repaint lines of which only a time differs.
    """
    return at - (at - datetime.min.replace(tzinfo=at.tzinfo)) % step


def is_counting(snapshot: Snapshot) -> bool:
    """Return whether times on the screen go on by themselves.

    They stand still if the session's own clock is paused or has ended.
    """
    playback = snapshot.playback
    if playback is None:
        return True
    return not (playback.is_paused or playback.has_ended)
