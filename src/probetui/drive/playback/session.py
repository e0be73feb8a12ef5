"""PlaybackSession: simulation and replay with a pace, pauses, steps and seeking.

One task owns the session, as in real time, but the wall clock only determines how far
the session's own clock should have advanced.

A seek takes as long as the machine needs. Commands sent meanwhile run after it, so that
their effect does not depend on its progress; only a pause ends a seek.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from functools import partial

from msgspec.structs import replace

from probetui.debugger.commands import PauseProbes, ResumeProbes, RunToChange, StepProbe
from probetui.drive.playback.source import PlaybackSource, is_change
from probetui.drive.session import Subscribers
from probetui.engine.inputs import Command
from probetui.engine.snapshot import PlaybackSnapshot, Snapshot
from probetui.k8s.probe import ProbeKey
from probetui.kubelet.journal import JournalEntry, NoteEntry
from probetui.ports import Clock

PACES = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0)
"""How many times faster than the wall clock a session may run."""

_NO_REST = timedelta()
_SHORT_REST = timedelta(milliseconds=5)
_SLICE = timedelta(milliseconds=3)
_LOOP_TURNS_YIELDED = 5
"""A key press passes through several tasks before the screen shows its effect."""

_NOTICE_PERIOD = timedelta(milliseconds=50)
_LAG = timedelta(milliseconds=250)
"""A session that falls further behind than this runs slower than its pace."""

_TURNS_PER_SLICE = 20


class PlaybackSession:
    """A `Session` that is its own `Playback`.

    Args:
        source: what is played; owned by this session from now on.
        clock: the wall clock.
        runtime_name: for people.
        pace: times real time, or None for as fast as possible; subscribers are then
            notified after every turn.
        limit: the instant at which it ends.

    Attributes:
        on_end: called when the limit or the end of the recording is reached.
        on_rewind: called after it went back, with the number of entries and inputs
            that are left, and the instant.
        is_over: asked after every notification; True stops the session.
    """

    def __init__(
        self,
        source: PlaybackSource,
        clock: Clock,
        *,
        runtime_name: str,
        pace: float | None = 1.0,
        limit: datetime | None = None,
    ) -> None:
        self._source = source
        self._clock = clock
        self._runtime_name = runtime_name
        self._pace = pace
        self._began_at = source.now
        self._bound = min(
            (end for end in (limit, source.end) if end is not None), default=None
        )
        self.on_end: Callable[[], None] = _do_nothing
        self.on_rewind: Callable[[int, int, datetime], None] = _ignore_rewind
        self.is_over: Callable[[], bool] = _never
        self._rewinds = 0
        self._is_paused = False
        self._has_ended = False
        self._is_stopping = False
        self._is_running_to_change = False
        self._looks_for_change = False
        self._goal: datetime | None = None
        self._goal_is_pause = False
        self._after_seek: list[Callable[[], object]] = []
        self._clock_anchor = clock.now(), source.now
        self._wake = asyncio.Event()
        self._subscribers = Subscribers()
        self._has_changes = False
        self._notified_at = clock.now()
        self._held_since: datetime | None = None
        """Since when subscribers have waited for what comes at once."""

    # -- Session

    @property
    def runtime_name(self) -> str:
        """The name of what is played, for display."""
        return self._runtime_name

    @property
    def playback(self) -> PlaybackSession:
        """The session itself."""
        return self

    @property
    def snapshot(self) -> Snapshot:
        """The state at this moment of the session's own clock."""
        self._catch_up()
        source = self._source
        snapshot = source.snapshot()
        length = None if source.end is None else source.end - self._began_at
        return replace(
            snapshot,
            is_paused=snapshot.is_paused or self._is_paused,
            playback=PlaybackSnapshot(
                source.kind,
                self._is_paused,
                self._pace,
                length,
                self._has_ended,
                source.note,
                self._seek_progress(),
            ),
        )

    @property
    def journal(self) -> Sequence[JournalEntry]:
        """Every entry up to now; going back truncates it."""
        return self._source.journal

    @property
    def rewinds(self) -> int:
        """The number of times that going back truncated the journal."""
        return self._rewinds

    def subscribe(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Register a callback for changes; return the function that removes it."""
        return self._subscribers.add(callback)

    def send(self, command: Command) -> None:
        """Carry out a command; pausing or resuming probes also affects the clock."""
        match command:
            case PauseProbes():
                self._catch_up()
                self._stop_clock(is_pause=True)
            case _ if self._goal is not None:
                self._after_seek.append(partial(self.send, command))
            case ResumeProbes():
                self._resume()
            case StepProbe(key):
                self._step(key)
            case RunToChange():
                self._run_to_change()
            case _:
                self._catch_up()
                self._source.submit(command)
                self._mark_changed()

    # -- playback

    def step_back(self) -> bool:
        """Go back to before the last tick and stop; return False without one.

        Return True if it waits for a seek.
        """
        if self._goal is not None:
            self._after_seek.append(self.step_back)
            return True
        self._catch_up()
        mark = self._source.last_tick_position()
        if mark is not None:
            self._rewind(lambda: self._source.seek_position(mark))
        self._stop_clock()
        return mark is not None

    def seek(self, instant: datetime, *, is_pause: bool = False) -> None:
        """Seek to an instant and stop the clock there.

        A seek replaces the one before it, unless a command was queued between them.

        Args:
            instant: where to go.
            is_pause: the user asked for the pause there, so it is journaled.
        """
        if self._after_seek:
            self._after_seek.append(partial(self.seek, instant, is_pause=is_pause))
            return
        self._catch_up()
        instant = max(instant, self._began_at)
        if self._bound is not None:
            instant = min(instant, self._bound)
        if instant < self._source.now:
            self._rewind(lambda: self._source.seek_back(instant))
            self._stop_clock(is_pause=is_pause)
        else:
            self._source.release()
            self._goal, self._goal_is_pause = instant, is_pause
            self._mark_changed()

    def change_pace(self, steps: int) -> None:
        """Change the pace by a number of steps in `PACES`; negative is slower."""
        self._catch_up()
        # The pace from the command line may lie between them, or beyond.
        paces = sorted({*PACES, *([] if self._pace is None else [self._pace])})
        index = len(paces) if self._pace is None else paces.index(self._pace)
        self._pace = paces[min(max(index + steps, 0), len(paces) - 1)]
        self._clock_anchor = self._clock.now(), self._source.now
        self._mark_changed()

    # -- running

    async def run(self) -> None:
        """Play until `stop`; raises what a subscriber raises."""
        self._clock_anchor = self._clock.now(), self._source.now
        while not self._is_stopping:
            rest = self._advance()
            if self._has_changes:
                remaining = self._notice_in()
                if remaining <= _NO_REST:
                    self._notify_subscribers()
                else:
                    rest = remaining if rest is None else min(rest, remaining)
            await self._wait(rest)

    def stop(self) -> None:
        """Make `run` return soon."""
        self._is_stopping = True
        self._wake.set()

    # -- inside

    def _notice_in(self) -> timedelta:
        """Return how long subscribers wait for what has changed.

        A tick begins and ends within milliseconds. What comes that soon is waited for,
        so that both are drawn once, and for no longer than a notice period.
        """
        now = self._clock.now()
        since = now - self._notified_at
        if since < _NOTICE_PERIOD:
            return _NOTICE_PERIOD - since
        if not self._comes_soon():
            return _NO_REST
        self._held_since = self._held_since or now
        return self._held_since + _NOTICE_PERIOD - now

    def _comes_soon(self) -> bool:
        """Return whether at this pace a turn is due within a notice period."""
        is_moving = not (self._is_paused or self._has_ended or self._goal)
        if not is_moving or self._pace is None or self._is_running_to_change:
            return False
        next_at = self._source.next_at()
        return next_at is not None and next_at - self._now < _NOTICE_PERIOD * self._pace

    async def _wait(self, length: timedelta | None) -> None:
        """Wait for a time or until `_mark_changed`; None waits indefinitely."""
        if length == _NO_REST or self._is_stopping:
            for _ in range(_LOOP_TURNS_YIELDED):
                await asyncio.sleep(0)
        else:
            seconds = None if length is None else length.total_seconds()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await self._wake.wait()
        self._wake.clear()

    def _advance(self) -> timedelta | None:
        """Advance for a few milliseconds; return the wait, None for no limit."""
        if self._goal is not None:
            return self._seek_goal(self._goal)
        if self._is_paused or self._has_ended:
            return _SHORT_REST if self._source.look_ahead() else None
        if self._is_running_to_change or self._pace is None:
            return self._run_fast()
        rest = self._run_at_pace(self._pace)
        if rest is None or rest > _SHORT_REST:
            return _SHORT_REST if self._source.look_ahead() else rest
        return rest

    def _resume(self) -> None:
        """Start the clock."""
        self._source.release(is_internal=False)
        self._is_paused = False
        self._clock_anchor = self._clock.now(), self._source.now
        self._mark_changed()

    def _step(self, key: ProbeKey | None) -> None:
        """Run until one tick is over, then stop the clock; not beyond the limit."""
        self._catch_up()
        if self._source.step(self._bound, key):
            self._stop_clock()
        else:
            self._reach_end()

    def _run_to_change(self) -> None:
        """Run as fast as possible until something changes, then stop the clock."""
        self._catch_up()
        self._looks_for_change = not self._source.run_to_change()
        self._is_paused = False
        self._is_running_to_change = True
        self._mark_changed()

    def _seek_goal(self, goal: datetime) -> timedelta:
        """Advance towards the goal for a few milliseconds."""
        began_at = self._clock.now()
        self._has_changes = True
        while not self._source.approach(goal):
            if self._clock.now() - began_at > _SLICE:
                return _NO_REST
        while self._is_due(goal):
            self._source.turn()
            if self._clock.now() - began_at > _SLICE:
                return _NO_REST
        self._source.pass_until(goal)
        after, self._after_seek = self._after_seek, []
        self._stop_clock(is_pause=self._goal_is_pause)
        for act in after:
            act()
        return _NO_REST

    def _seek_progress(self) -> float | None:
        """Return the progress towards the goal, from 0 to 1; None without a goal."""
        if self._goal is None or self._goal == self._began_at:
            return None
        reached = self._source.prepared_until - self._began_at
        return min(reached / (self._goal - self._began_at), 1.0)

    def _run_fast(self) -> timedelta | None:
        """Run turns for a few milliseconds without waiting for the clock."""
        began_at = self._clock.now()
        for _ in range(_TURNS_PER_SLICE):
            if not self._is_due(self._bound):
                self._reach_end()
                return None
            entries = self._run_turn()
            if self._looks_for_change and any(map(is_change, entries)):
                self._stop_clock()
            if entries and self._pace is None:
                self._notify_subscribers()
            if self._is_stopping or self._is_paused:
                break
            if self._clock.now() - began_at > _SLICE:
                break
        return _NO_REST

    def _run_at_pace(self, pace: float) -> timedelta | None:
        """Run the turns that are due at the pace."""
        began_at = self._clock.now()
        aim = self._aim(pace)
        while self._is_due(aim):
            self._run_turn()
            if self._is_paused:
                return None
            if self._clock.now() - began_at > _SLICE:
                if aim - self._source.now > _LAG * pace:
                    self._clock_anchor = self._clock.now(), self._source.now
                return _NO_REST
        self._source.pass_until(aim)
        if aim == self._bound:
            self._reach_end()
            return None
        next_at = self._source.next_at()
        instants = (at for at in (next_at, self._bound) if at is not None)
        due_at = min(instants, default=None)
        return None if due_at is None else max(due_at - aim, _NO_REST) / pace

    def _run_turn(self) -> Sequence[JournalEntry]:
        entries = self._source.turn()
        self._has_changes = True
        stops = any(isinstance(entry, NoteEntry) for entry in entries)
        if stops and self._source.is_held_by_engine:
            self._stop_clock()
        return entries

    def _is_due(self, instant: datetime | None) -> bool:
        """Return whether a turn is due by an instant, or at all if that is None."""
        next_at = self._source.next_at()
        return next_at is not None and (instant is None or next_at <= instant)

    def _aim(self, pace: float) -> datetime:
        """Return the target time of the session's clock."""
        real, own = self._clock_anchor
        aim = own + (self._clock.now() - real) * pace
        return aim if self._bound is None else min(aim, self._bound)

    def _catch_up(self) -> None:
        """Advance the session's clock to its target time if no turn is due."""
        is_moving = not (self._is_paused or self._has_ended or self._goal)
        if is_moving and self._pace is not None and not self._is_running_to_change:
            aim = self._aim(self._pace)
            next_at = self._source.next_at()
            self._source.pass_until(aim if next_at is None else min(aim, next_at))

    def _reach_end(self) -> None:
        if self._bound is not None:
            self._source.pass_until(self._bound)
        self._has_ended = True
        self._is_running_to_change = self._looks_for_change = False
        self._notify_subscribers()
        self.on_end()

    def _stop_clock(self, *, is_pause: bool = False) -> None:
        self._source.hold(is_internal=not is_pause)
        self._is_paused = True
        self._goal = None
        self._after_seek.clear()
        self._is_running_to_change = self._looks_for_change = False
        self._mark_changed()

    def _rewind(self, go: Callable[[], None]) -> None:
        """Go back, after notifying subscribers of the entries to be removed."""
        self._notify_subscribers()
        go()
        self._has_ended = False
        self._rewinds += 1
        self.on_rewind(len(self._source.journal), self._source.position, self._now)
        self._notify_subscribers()

    @property
    def _now(self) -> datetime:
        return self._source.now

    def _mark_changed(self) -> None:
        self._has_changes = True
        self._wake.set()

    def _notify_subscribers(self) -> None:
        self._has_changes, self._held_since = False, None
        self._notified_at = self._clock.now()
        self._subscribers.notify()
        if self.is_over():
            self.stop()


def _do_nothing() -> None:
    """Ignore the end."""


def _ignore_rewind(_entries: int, _inputs: int, _at: datetime) -> None:
    """Ignore going back."""


def _never() -> bool:
    """Never stop."""
    return False
