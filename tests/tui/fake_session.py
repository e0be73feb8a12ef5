"""A session in memory: tests set its snapshot, and it keeps the sent commands."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from probetui.drive.session import Playback
from probetui.engine.inputs import Command
from probetui.engine.snapshot import Snapshot
from probetui.kubelet.journal import JournalEntry


class FakeSession:
    """A `drive.session.Session` without an engine."""

    def __init__(
        self, snapshot: Snapshot, *, runtime_name: str = "docker 27.3 (default)"
    ) -> None:
        self._snapshot = snapshot
        self._journal: list[JournalEntry] = list(snapshot.entries)
        self._callbacks: list[Callable[[], None]] = []
        self._runtime_name = runtime_name
        self.sent: list[Command] = []
        self.reads = 0
        """How often the snapshot was read."""

    @property
    def runtime_name(self) -> str:
        return self._runtime_name

    @property
    def snapshot(self) -> Snapshot:
        self.reads += 1
        return self._snapshot

    @property
    def journal(self) -> Sequence[JournalEntry]:
        return self._journal

    @property
    def subscribers(self) -> int:
        """The number of subscribers."""
        return len(self._callbacks)

    @property
    def playback(self) -> Playback | None:
        return None

    def subscribe(self, callback: Callable[[], None]) -> Callable[[], None]:
        self._callbacks.append(callback)
        return lambda: self._callbacks.remove(callback)

    def send(self, command: Command) -> None:
        self.sent.append(command)

    def publish(self, snapshot: Snapshot, *entries: JournalEntry) -> None:
        """Publish another snapshot and append entries to the journal."""
        self._snapshot = snapshot
        self._journal += entries
        for callback in tuple(self._callbacks):
            callback()
