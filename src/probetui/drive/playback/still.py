"""StillSession: a session whose time passes only when it is told to.

It shows a simulation or a recording frame by frame, as for pictures and casts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta

from msgspec.structs import replace

from probetui.debugger.commands import PauseProbes, ResumeProbes, StepProbe
from probetui.drive.playback.source import PlaybackSource
from probetui.drive.session import Subscribers
from probetui.engine.inputs import Command
from probetui.engine.snapshot import PlaybackSnapshot, Snapshot
from probetui.kubelet.journal import JournalEntry


class StillSession:
    """A `Session` whose time passes in steps and in `run_for` only.

    Args:
        source: what is played; owned by this session from now on.
        runtime_name: for people.
        pace: the pace that is shown, in times of real time.
    """

    playback = None

    def __init__(
        self, source: PlaybackSource, runtime_name: str, pace: float = 1.0
    ) -> None:
        self._source = source
        self.runtime_name = runtime_name
        self._pace = pace
        self._subscribers = Subscribers()

    @property
    def snapshot(self) -> Snapshot:
        """The snapshot at the session's instant, as of one that goes on."""
        snapshot = self._source.snapshot()
        played = PlaybackSnapshot(
            self._source.kind, snapshot.is_paused, pace=self._pace
        )
        return replace(snapshot, playback=played)

    @property
    def journal(self) -> Sequence[JournalEntry]:
        """Every entry up to now."""
        return self._source.journal

    def subscribe(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Register a callback for changes; return the function that removes it."""
        return self._subscribers.add(callback)

    def send(self, command: Command) -> None:
        """Run a command at this instant; a step advances the time to its tick."""
        match command:
            case StepProbe():
                self._source.step()
            case PauseProbes():
                self._source.hold()
            case ResumeProbes():
                self._source.release()
            case _:
                self._source.submit(command)
        self._subscribers.notify()

    def run_for(self, length: timedelta) -> None:
        """Advance the time and run everything that becomes due."""
        end = self._source.now + length
        while (at := self._source.next_at()) is not None and at <= end:
            self._source.turn()
        self._source.pass_until(end)
        self._subscribers.notify()
