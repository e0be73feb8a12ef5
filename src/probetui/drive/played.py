"""A session whose time is its own: it goes as fast as is wanted, stops, goes back.

One loop, one owning task, as on the wall's clock; but the wall's clock only says how
far the session's own one should have got.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from probetui.drive.course import Course, is_change
from probetui.drive.subscribers import Subscribers
from probetui.kubelet.inputs import (
    Command,
    PauseProbes,
    ResumeProbes,
    RunToChange,
    StepProbe,
)
from probetui.kubelet.journal import Entry, NoteEntry
from probetui.kubelet.snapshot import PlaybackSnapshot, Snapshot
from probetui.ports import Clock

PACES = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0)
"""How many times faster than the wall's clock a session may go."""

_AT_ONCE = timedelta()
_SOON = timedelta(milliseconds=5)
_SLICE = timedelta(milliseconds=3)
_TURNS_OF_OTHERS = 5
"""A key goes through several tasks until what it does is painted."""

_NOTICE_PERIOD = timedelta(milliseconds=50)
_LAG = timedelta(milliseconds=250)
"""A session that falls back further than this goes slower than it was asked to."""

_TURNS_AT_ONCE = 20


class PlayedSession:
    """A `Session` that is its own `Playback`.

    Args:
        course: what is played; owned by this session from now on.
        clock: the wall's.
        runtime_name: for people.
        pace: one of `PACES`, or None for as fast as it goes: every turn is told of at
            once then, whatever that costs.
        limit: the instant at which it ends.

    Attributes:
        on_end: called when it comes to its limit, or a recording to its end.
        on_rewind: called after it went back, with the number of entries and inputs
            that are left, and the instant.
        is_over: asked after every turn that is told of; it stops when that says so.
    """

    def __init__(
        self,
        course: Course,
        clock: Clock,
        *,
        runtime_name: str,
        pace: float | None = 1.0,
        limit: datetime | None = None,
    ) -> None:
        self._course = course
        self._clock = clock
        self._runtime_name = runtime_name
        self._pace = pace
        self._began_at = course.now
        self._bound = min(
            (each for each in (limit, course.end) if each is not None), default=None
        )
        self.on_end: Callable[[], None] = _do_nothing
        self.on_rewind: Callable[[int, int, datetime], None] = _forget_rewind
        self.is_over: Callable[[], bool] = _never
        self._rewinds = 0
        self._is_paused = False
        self._has_ended = False
        self._is_stopping = False
        self._runs_to_change = False
        self._looks_for_change = False
        self._goal: datetime | None = None
        self._anchor = clock.now(), course.now
        self._wake = asyncio.Event()
        self._subscribers = Subscribers()
        self._is_news = False
        self._told_at = clock.now()

    # -- what a front end sees

    @property
    def runtime_name(self) -> str:
        """What is played, for people."""
        return self._runtime_name

    @property
    def playback(self) -> PlayedSession:
        """What moves its time: itself."""
        return self

    @property
    def snapshot(self) -> Snapshot:
        """The state at this moment of the session's own time."""
        self._catch_up()
        course = self._course
        snapshot = course.snapshot()
        length = None if course.end is None else course.end - self._began_at
        return replace(
            snapshot,
            is_paused=snapshot.is_paused or self._is_paused,
            playback=PlaybackSnapshot(
                course.kind,
                self._is_paused,
                self._pace,
                length,
                self._has_ended,
                course.note,
                self._nearness(),
            ),
        )

    @property
    def journal(self) -> Sequence[Entry]:
        """Every entry up to now; it is cut short when the session goes back."""
        return self._course.journal

    @property
    def rewinds(self) -> int:
        """How often the journal was cut short."""
        return self._rewinds

    def subscribe(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Be called on the event loop after something changed; returns what ends it."""
        return self._subscribers.add(callback)

    def send(self, command: Command) -> None:
        """Do what a person asks for; the clock stops and goes on with the probes."""
        match command:
            case PauseProbes():
                self.pause()
            case ResumeProbes():
                self.resume()
            case StepProbe():
                self.step()
            case RunToChange():
                self.run_to_change()
            case _:
                self._catch_up()
                self._course.submit(command)
                self._stir()

    # -- playback

    def pause(self) -> None:
        """Let the clock stand still."""
        self._catch_up()
        self._stand_still()

    def resume(self) -> None:
        """Let the clock go on."""
        self._course.release()
        self._is_paused = False
        self._anchor = self._clock.now(), self._course.now
        self._stir()

    def step(self) -> None:
        """Go on by one tick, and stand still."""
        self._catch_up()
        self._course.step()
        self._stand_still()

    def run_to_change(self) -> None:
        """Go on, as fast as it goes, until something changes; then stand still."""
        self._catch_up()
        self._looks_for_change = not self._course.run_to_change()
        self._is_paused = False
        self._runs_to_change = True
        self._stir()

    def step_back(self) -> bool:
        """Go back to before the last tick, and stand still; False if there was none."""
        self._catch_up()
        mark = self._course.last_mark()
        if mark is not None:
            self._rewind(lambda: self._course.go_to(mark))
        self._stand_still()
        return mark is not None

    def seek(self, instant: datetime) -> None:
        """Go to an instant as soon as possible, and stand still there."""
        self._catch_up()
        instant = max(instant, self._began_at)
        if self._bound is not None:
            instant = min(instant, self._bound)
        if instant < self._course.now:
            self._rewind(lambda: self._course.go_back(instant))
            self._stand_still()
        else:
            self._course.release()
            self._goal = instant
            self._stir()

    def change_pace(self, steps: int) -> None:
        """Go so many steps faster, or slower if negative."""
        self._catch_up()
        index = len(PACES) if self._pace is None else PACES.index(self._pace)
        self._pace = PACES[min(max(index + steps, 0), len(PACES) - 1)]
        self._anchor = self._clock.now(), self._course.now
        self._stir()

    # -- running

    async def run(self) -> None:
        """Play until `stop`; what a subscriber raises comes out of it."""
        self._anchor = self._clock.now(), self._course.now
        while not self._is_stopping:
            rest = self._work()
            if self._is_news:
                since = self._clock.now() - self._told_at
                if since >= _NOTICE_PERIOD:
                    self._tell()
                else:
                    left = _NOTICE_PERIOD - since
                    rest = left if rest is None else min(rest, left)
            await self._rest(rest)

    def stop(self) -> None:
        """Let `run` return soon."""
        self._is_stopping = True
        self._wake.set()

    # -- inside

    async def _rest(self, length: timedelta | None) -> None:
        """Wait for so long, or until something is asked for."""
        if length == _AT_ONCE or self._is_stopping:
            for _ in range(_TURNS_OF_OTHERS):
                await asyncio.sleep(0)
        else:
            seconds = None if length is None else length.total_seconds()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await self._wake.wait()
        self._wake.clear()

    def _work(self) -> timedelta | None:
        """Do some of what there is to do; return how long to rest, None for ever."""
        if self._goal is not None:
            return self._go_to_goal(self._goal)
        if self._is_paused or self._has_ended:
            return _SOON if self._course.look_ahead() else None
        if self._runs_to_change or self._pace is None:
            return self._go_fast()
        rest = self._keep_pace(self._pace)
        if rest is None or rest > _SOON:
            return _SOON if self._course.look_ahead() else rest
        return rest

    def _go_to_goal(self, goal: datetime) -> timedelta:
        """Seek for a while."""
        began_at = self._clock.now()
        self._is_news = True
        while not self._course.leap(goal):
            if self._clock.now() - began_at > _SLICE:
                return _AT_ONCE
        while self._is_due(goal):
            self._course.turn()
            if self._clock.now() - began_at > _SLICE:
                return _AT_ONCE
        self._course.pass_until(goal)
        self._stand_still()
        return _AT_ONCE

    def _nearness(self) -> float | None:
        """Return how much of the way to the goal is behind, None if there is none."""
        if self._goal is None or self._goal == self._began_at:
            return None
        reached = self._course.prepared_until - self._began_at
        return min(reached / (self._goal - self._began_at), 1.0)

    def _go_fast(self) -> timedelta | None:
        """Go on without looking at the clock."""
        for _ in range(_TURNS_AT_ONCE):
            if not self._is_due(self._bound):
                self._come_to_end()
                return None
            entries = self._turn()
            if self._looks_for_change and any(map(is_change, entries)):
                self._stand_still()
            if entries and self._pace is None:
                self._tell()
            if self._is_stopping or self._is_paused:
                break
        return _AT_ONCE

    def _keep_pace(self, pace: float) -> timedelta | None:
        """Go on to where the clock should be."""
        began_at = self._clock.now()
        aim = self._aim(pace)
        while self._is_due(aim):
            self._turn()
            if self._is_paused:
                return None
            if self._clock.now() - began_at > _SLICE:
                if aim - self._course.now > _LAG * pace:
                    self._anchor = self._clock.now(), self._course.now
                return _AT_ONCE
        self._course.pass_until(aim)
        if aim == self._bound:
            self._come_to_end()
            return None
        next_at = self._course.next_at()
        instants = (each for each in (next_at, self._bound) if each is not None)
        due_at = min(instants, default=None)
        return None if due_at is None else max(due_at - aim, _AT_ONCE) / pace

    def _turn(self) -> Sequence[Entry]:
        entries = self._course.turn()
        self._is_news = True
        stops = any(isinstance(each, NoteEntry) for each in entries)
        if stops and self._course.stands_still:
            self._stand_still()
        return entries

    def _is_due(self, instant: datetime | None) -> bool:
        """Tell whether something is due up to an instant, None for ever."""
        next_at = self._course.next_at()
        return next_at is not None and (instant is None or next_at <= instant)

    def _aim(self, pace: float) -> datetime:
        """Return where the session's clock should be."""
        real, own = self._anchor
        aim = own + (self._clock.now() - real) * pace
        return aim if self._bound is None else min(aim, self._bound)

    def _catch_up(self) -> None:
        """Let the session's clock be where it should, if nothing is due until then."""
        is_moving = not (self._is_paused or self._has_ended or self._goal)
        if is_moving and self._pace is not None and not self._runs_to_change:
            aim = self._aim(self._pace)
            next_at = self._course.next_at()
            self._course.pass_until(aim if next_at is None else min(aim, next_at))

    def _come_to_end(self) -> None:
        if self._bound is not None:
            self._course.pass_until(self._bound)
        self._has_ended = True
        self._runs_to_change = self._looks_for_change = False
        self._tell()
        self.on_end()

    def _stand_still(self) -> None:
        self._course.hold()
        self._is_paused = True
        self._goal = None
        self._runs_to_change = self._looks_for_change = False
        self._stir()

    def _rewind(self, go: Callable[[], None]) -> None:
        """Go back, once everything has been told that is taken back."""
        self._tell()
        go()
        self._has_ended = False
        self._rewinds += 1
        self.on_rewind(len(self._course.journal), self._course.position, self._now)
        self._tell()

    @property
    def _now(self) -> datetime:
        return self._course.now

    def _stir(self) -> None:
        self._is_news = True
        self._wake.set()

    def _tell(self) -> None:
        self._is_news = False
        self._told_at = self._clock.now()
        self._subscribers.tell()
        if self.is_over():
            self.stop()


def _do_nothing() -> None:
    """Let an end pass."""


def _forget_rewind(_entries: int, _inputs: int, _at: datetime) -> None:
    """Let going back pass."""


def _never() -> bool:
    """Go on."""
    return False
