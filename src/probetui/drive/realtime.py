"""RealtimeSession: the engine in real time, with one owning task and an inbox.

Everything that reaches the engine goes through the inbox and is submitted by the one
task that runs `RealtimeSession.run`; effects run beside it and put their facts there.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Protocol

from msgspec import Struct
from msgspec.structs import replace

from probetui.debugger.commands import AddNote
from probetui.drive.lateness import LoopWatch
from probetui.drive.logs import LogTail, read_log
from probetui.drive.session import KeptTasks, Subscribers
from probetui.drive.session_journal import SessionJournal
from probetui.durations import format_duration
from probetui.engine.engine import Engine
from probetui.engine.inputs import (
    Command,
    DeletePod,
    ExecSeen,
    Fact,
    Input,
    ProbeStillRuns,
)
from probetui.engine.snapshot import LatenessCause, LatenessOwner, Snapshot
from probetui.errors import ContainerRuntimeError
from probetui.k8s.pod import Pod
from probetui.k8s.runtime import ContainerID, RuntimeState
from probetui.kubelet.effects import Effect, Fault, FindListeners, ReadLastOutput
from probetui.kubelet.facts import RuntimeChanged
from probetui.kubelet.journal import JournalEntry, TickEntry
from probetui.kubelet.runtime.turn import Turn
from probetui.ports import Clock, Runtime

log = logging.getLogger(__name__)

NOTICE_PERIOD_SECONDS = 0.05
"""Subscribers are notified of changes at most this often."""

WATCH_RETRY = timedelta(seconds=2)
LATENESS_SHOWN = timedelta(milliseconds=100)
LATENESS_KEPT = timedelta(seconds=10)
LATENESS_JOURNALED = timedelta(seconds=1)
"""The shortest lateness to journal: the shortest period, which may lose ticks."""

LATENESS_JOURNALED_EACH = timedelta(minutes=1)

PATIENCE = timedelta(seconds=15)
"""How long to wait, after the longest grace period, for all pods to end."""


class _LateTime(Struct):
    """A period of late ticks.

    `newest` is the lateness of the newest tick, `worst` the greatest. `lost` counts
    dropped ticks. `asked_at` is when the cause was last determined.
    """

    began_at: datetime
    last_at: datetime
    asked_at: datetime
    newest: timedelta = timedelta()
    worst: timedelta = timedelta()
    lost: int = 0
    cause: LatenessCause | None = None

    def describe(self) -> str:
        """Describe the period after its end."""
        lasted = format_duration(self.last_at - self.began_at)
        worst = format_duration(self.worst)
        if self.cause is not None and self.cause.owner is LatenessOwner.STOP:
            # The machine could not probe, so probetui lost no tick.
            due = "1 tick" if self.lost == 1 else f"{self.lost} ticks"
            return f"{self.cause}, for up to {worst}; {due} fell due meanwhile"
        lost = {0: "none was", 1: "1 was"}.get(self.lost, f"{self.lost} were")
        why = f"; {self.cause}" if self.cause else ""
        return f"ticks were up to {worst} late for {lasted}, {lost} lost{why}"


class EffectExecutor(Protocol):
    """Carries out effects; `Executor` is the implementation."""

    async def execute(self, effect: Effect, report: Callable[[Fact], None]) -> None:
        """Carry out an effect and report exactly one fact."""


class RealtimeSession:
    """A `Session` on a real clock.

    Args:
        engine: owned by this session from now on.
        executor: carries out the effects of the engine.
        runtime: has the events and the logs of containers.
        clock: the wall clock.
        runtime_name: the runtime and its version, for people.
        watches_execs: whether commands that others run in containers are wanted.
        on_input: called with every input and its instant before the engine gets it;
            with None where time alone passes.
        loop_watch: is run as long as the session, if given.
        held_until: no effect is carried out, nor a subscriber called, before it is set.

    Attributes:
        on_bug: called with what a subscriber, `on_input` or a task raised; as long as
            nobody sets it, that ends `run`, and so leaves the pods to nobody.
    """

    def __init__(
        self,
        engine: Engine,
        executor: EffectExecutor,
        runtime: Runtime,
        clock: Clock,
        *,
        runtime_name: str,
        watches_execs: bool = False,
        on_input: Callable[[Input | None, datetime], None] | None = None,
        loop_watch: LoopWatch | None = None,
        held_until: asyncio.Event | None = None,
    ) -> None:
        self._engine = engine
        self._executor = executor
        self._runtime = runtime
        self._clock = clock
        self._runtime_name = runtime_name
        self._watches_execs = watches_execs
        self._on_input = on_input
        self._loop_watch = loop_watch
        self._held_until = held_until
        self._inbox: deque[Input] = deque()
        self._wake = asyncio.Event()
        self._journal = SessionJournal()
        self._subscribers = Subscribers()
        self._notice: asyncio.TimerHandle | None = None
        self._tasks = KeptTasks(self._on_bug)
        self._alarm: asyncio.Task[None] | None = None
        self._alarm_at: datetime | None = None
        self._is_stopping = False
        self._run_ended = False
        self._bug: Exception | None = None
        self.on_bug: Callable[[Exception], None] = self._stop_for
        self._late: _LateTime | None = None

    # -- Session

    @property
    def playback(self) -> None:
        """None: real time cannot be controlled."""

    @property
    def runtime_name(self) -> str:
        """The runtime and its version, for display."""
        return self._runtime_name

    @property
    def snapshot(self) -> Snapshot:
        """The current state; unchanged pods are the same objects."""
        now = self._clock.now()
        snapshot = self._engine.snapshot(now)
        lateness = self._late
        if lateness is None or now - lateness.last_at > LATENESS_KEPT:
            return snapshot
        cause = None if self._loop_watch is None else self._loop_watch.cause(now)
        return replace(snapshot, lateness=lateness.newest, lateness_cause=cause)

    @property
    def journal(self) -> Sequence[JournalEntry]:
        """Every entry of the session by index; only very old ones are evicted."""
        return self._journal

    def subscribe(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Register a callback for changes; return the function that removes it."""
        return self._subscribers.add(callback)

    @property
    def has_run_ended(self) -> bool:
        """Whether `run` has returned and the pods are no longer managed."""
        return self._run_ended

    def send(self, command: Command) -> None:
        """Submit a command to the engine."""
        self._put(command)

    def follow_logs(
        self, container_id: ContainerID, callback: Callable[[], None]
    ) -> LogTail:
        """Read the log of a container instance until the tail is closed."""
        tail = LogTail(container_id, callback)
        reading = self._tasks.start(
            read_log(self._runtime, tail, self._clock, self._state_of)
        )
        tail.read_by(reading.cancel)
        return tail

    async def _state_of(self, container_id: ContainerID) -> RuntimeState | None:
        status = await self._runtime.container_status(container_id)
        return None if status is None else status.state

    def fault_refusal(self, pod: Pod, disruption: Fault) -> str:
        """Return why a fault cannot be injected into a pod, empty if it can."""
        return self._runtime.fault_refusal(pod, disruption)

    # -- running

    async def run(self) -> None:
        """Drive the engine until `stop`; effects in progress are cancelled then.

        Raises what a subscriber raised: that is a bug, and ends the session.

        Difference: so does a bug of the engine, and the pods are stopped. A kubelet
        that panics in a pod's sync ends as a whole, and its containers go on.
        """
        self._tasks.start(self._watch())
        if self._loop_watch is not None:
            self._tasks.start(self._loop_watch.run())
        if self._watches_execs:
            self._tasks.start(self._watch_execs())
        if self._held_until is not None:
            self._tasks.start(self._release(self._held_until))
        try:
            self._turn(self._clock.now())
            while not self._is_stopping:
                self._set_alarm(self._engine.next_deadline())
                await self._wake.wait()
                self._wake.clear()
                now = self._clock.now()
                self._note_lateness(now)
                self._turn(now)
            if self._bug is not None:
                raise self._bug
        finally:
            self._run_ended = True
            self._notify_subscribers()
            await self._end_tasks()

    async def shutdown(self) -> bool:
        """Delete every pod gracefully; return True once none of them runs.

        Gives up `PATIENCE` after the longest grace period: the runtime does not answer,
        or does not stop them. Gives up at once if a bug has ended `run`.
        """
        for probe_id in self._engine.running_probes():
            self._put(ProbeStillRuns(probe_id))
        for uid in self._engine.pod_uids():
            self._put(DeletePod(uid))
        patience = self._engine.longest_grace_period() + PATIENCE
        has_changed = asyncio.Event()
        end = self.subscribe(has_changed.set)
        try:
            async with asyncio.timeout(patience.total_seconds()):
                while self._inbox or self._engine.pod_uids():
                    if self._run_ended:
                        return False
                    await has_changed.wait()
                    has_changed.clear()
        except TimeoutError:
            return False
        finally:
            end()
        return True

    def journal_lateness(self) -> None:
        """Journal the current period of late ticks, unless it is journaled already."""
        if self._late is not None and not self._run_ended:
            self._end_lateness(self._late)
            self._turn(self._clock.now())

    def stop(self) -> None:
        """Make `run` return soon."""
        self._is_stopping = True
        self._wake.set()

    # -- inside

    def _put(self, item: Input) -> None:
        self._inbox.append(item)
        self._wake.set()

    def _turn(self, now: datetime) -> None:
        """Submit the inbox to the engine; advance the clock if it is empty."""
        if not self._inbox:
            self._notify_input_listener(None, now)
            self._apply_turn(self._engine.advance(now), now)
        while self._inbox:
            item = self._inbox.popleft()
            self._notify_input_listener(item, now)
            self._apply_turn(self._engine.submit(item, now), now)
        self._schedule_notice()

    def _notify_input_listener(self, item: Input | None, now: datetime) -> None:
        if self._on_input is not None:
            try:
                self._on_input(item, now)
            except Exception as error:  # noqa: BLE001  # the pods go on meanwhile
                self.on_bug(error)

    def _apply_turn(self, turn: Turn, now: datetime) -> None:
        self._journal.extend(turn.entries)
        if self._late is not None:
            ticks = (entry for entry in turn.entries if isinstance(entry, TickEntry))
            self._late.lost += sum(tick.timing.late_drops for tick in ticks)
        # What a kill or a removal of the same turn would change is read first.
        for effect in sorted(
            turn.effects,
            key=lambda effect: not isinstance(effect, FindListeners | ReadLastOutput),
        ):
            self._tasks.start(self._execute(effect, now))

    async def _release(self, held_until: asyncio.Event) -> None:
        await held_until.wait()
        self._held_until = None
        self._schedule_notice()

    async def _execute(self, effect: Effect, due_at: datetime) -> None:
        if self._held_until is not None:
            await self._held_until.wait()
        else:
            # Of a thousand that are due at once the last waits for all others.
            self._note_late(due_at, self._clock.now())
        await self._executor.execute(effect, self._put)

    def _set_alarm(self, deadline: datetime | None) -> None:
        """Set the alarm to an instant; keep it if it is set for that already."""
        if deadline == self._alarm_at:
            return
        if self._alarm is not None:
            self._alarm.cancel()
        self._alarm_at = deadline
        self._alarm = None
        if deadline is not None:
            self._alarm = self._tasks.start(self._wake_at(deadline))

    async def _wake_at(self, deadline: datetime) -> None:
        await self._clock.sleep_until(deadline)
        self._alarm = None
        self._alarm_at = None
        self._wake.set()

    def _note_lateness(self, now: datetime) -> None:
        """Record how late the engine woke, if it is enough to show."""
        deadline = self._engine.next_deadline()
        if deadline is not None:
            self._note_late(deadline, now)
        late = self._late
        if late is None:
            return
        # The loop's watch may be woken only after this.
        if self._loop_watch is not None and now - late.asked_at > LATENESS_SHOWN:
            late.cause = self._loop_watch.cause(now) or late.cause
            late.asked_at = now
        is_over = now - late.last_at > LATENESS_KEPT
        if is_over or now - late.began_at > LATENESS_JOURNALED_EACH:
            self._end_lateness(late)

    def _note_late(self, due_at: datetime, now: datetime) -> None:
        if now - due_at <= LATENESS_SHOWN:
            return
        if self._late is None:
            self._late = _LateTime(due_at, now, due_at)
        self._late.last_at = now
        self._late.newest = now - due_at
        self._late.worst = max(self._late.worst, self._late.newest)

    def _end_lateness(self, late: _LateTime) -> None:
        self._late = None
        if late.lost or late.worst >= LATENESS_JOURNALED:
            self._put(AddNote(late.describe()))

    def _schedule_notice(self) -> None:
        is_held = self._held_until is not None
        if self._notice is None and self._subscribers and not is_held:
            loop = asyncio.get_running_loop()
            self._notice = loop.call_later(
                NOTICE_PERIOD_SECONDS, self._notify_subscribers
            )

    def _notify_subscribers(self) -> None:
        """Notify subscribers; an error of one of them is a bug."""
        self._notice = None
        try:
            self._subscribers.notify()
        except Exception as error:  # noqa: BLE001  # the loop would only log it
            self.on_bug(error)

    def _on_bug(self, error: Exception) -> None:
        """Report a bug to the current handler."""
        self.on_bug(error)

    def _stop_for(self, error: Exception) -> None:
        """Make `run` raise a bug."""
        self._bug = error
        self.stop()

    async def _watch(self) -> None:
        """Relist early when the runtime reports an event.

        A stream that breaks is opened again after `WATCH_RETRY`; until then the relist
        of every second has to do.
        """
        while True:
            try:
                async for _ in self._runtime.watch():
                    self._put(RuntimeChanged())
            except ContainerRuntimeError as error:
                log.info("the event stream of the runtime broke: %s", error)
            await self._clock.sleep_until(self._clock.now() + WATCH_RETRY)

    async def _watch_execs(self) -> None:
        """Report commands that others run; reopen the stream when it breaks."""
        while True:
            try:
                async for started in self._runtime.watch_execs():
                    self._put(ExecSeen(started.container_id, started.command))
            except ContainerRuntimeError as error:
                log.info("commands of others are not reported: %s", error)
            await self._clock.sleep_until(self._clock.now() + WATCH_RETRY)

    async def _end_tasks(self) -> None:
        if self._notice is not None:
            self._notice.cancel()
        await self._tasks.end()
