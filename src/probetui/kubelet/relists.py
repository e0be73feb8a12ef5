"""When the runtime is asked for everything it has, and what its silence means.

Source: pleg/generic.go, v1.32.10, Start; kubelet/runtime.go, runtimeState.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from probetui.kubelet.effects import Relist
from probetui.kubelet.journal import NoteEntry
from probetui.kubelet.routine import Latch
from probetui.kubelet.turn import Ledger

LONGEST_PAUSE = timedelta(seconds=5)


class Relists:
    """One relist at a time, a period after the one before; owned by the engine.

    Difference: while the runtime does not answer the kubelet's main loop stands
    still; here it goes on, and the pauses between relists grow to 5 s.

    Attributes:
        due_at: when the next relist begins; None while one is under way.
        lost_since: since when the runtime has not answered, None if it does.
        lost_error: why, in the runtime's words.
    """

    def __init__(self, ledger: Ledger, period: timedelta, now: datetime) -> None:
        self._ledger = ledger
        self._period = period
        self._pause = period
        self._is_wanted = False
        self._latches: list[tuple[datetime, Latch]] = []
        self.due_at: datetime | None = now
        self.lost_since: datetime | None = None
        self.lost_error = ""

    def ask(self, now: datetime) -> None:
        """Bring the next relist forward; one that is under way is followed by it."""
        if self.due_at is None:
            self._is_wanted = True
        elif self.lost_since is None:
            self.due_at = min(self.due_at, now)

    def newer_than(self, now: datetime) -> Latch:
        """Return what is set when a relist that began at `now` or later has come."""
        latch = Latch()
        self._latches.append((now, latch))
        self.ask(now)
        return latch

    def run_due(self, now: datetime) -> None:
        """Begin a relist if one is due."""
        if self.due_at is not None and self.due_at <= now:
            self.due_at = None
            self._is_wanted = False
            self._ledger.emit(Relist())

    def came(self, started_at: datetime, now: datetime) -> None:
        """Take in that a relist has come, and plan the next one."""
        if self.lost_since is not None:
            gone_for = round((now - self.lost_since).total_seconds())
            self._note(
                now,
                f"the container runtime answers again, after {gone_for}s",
                is_fault=False,
            )
            self.lost_since = None
            self.lost_error = ""
        self._pause = self._period
        waiting = self._latches
        self._latches = [each for each in waiting if each[0] > started_at]
        for since, latch in waiting:
            if since <= started_at:
                latch.set()
        is_wanted = self._is_wanted or bool(self._latches)
        self.due_at = now if is_wanted else now + self._pause

    def failed(self, error: str, now: datetime) -> None:
        """Take in that the runtime did not answer, and try again after a while."""
        if self.lost_since is None:
            self.lost_since = now
            self._note(
                now, f"the container runtime does not answer: {error}", is_fault=True
            )
        self.lost_error = error
        self._pause = min(self._pause * 2, LONGEST_PAUSE)
        self.due_at = now + self._pause

    def _note(self, now: datetime, text: str, *, is_fault: bool) -> None:
        self._ledger.write(NoteEntry(self._ledger.next_sequence(), now, text, is_fault))
