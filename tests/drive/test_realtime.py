from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Callable
from datetime import datetime, timedelta

import pytest

from probetui.debugger.commands import PauseProbes
from probetui.drive import realtime
from probetui.drive.executor import Executor
from probetui.drive.lateness import LoopWatch, ProcessorTimes
from probetui.drive.realtime import (
    NOTICE_PERIOD_SECONDS,
    RealtimeSession,
)
from probetui.drive.session import Session
from probetui.engine.engine import Engine
from probetui.engine.inputs import AddPod, ExecSeen, Input
from probetui.errors import ContainerRuntimeError
from probetui.k8s.runtime import ContainerID
from probetui.kubelet.config import KubeletConfig
from probetui.kubelet.effects import RunHook
from probetui.kubelet.facts import RuntimeChanged
from probetui.kubelet.journal import (
    ContainerEntry,
    EventEntry,
    JournalEntry,
    LifecycleStep,
    NoteEntry,
    PodGoneEntry,
    TickEntry,
    UserEntry,
)
from probetui.ports import HookResult, StartedExec
from tests.builders import START, a_container, a_key, a_pod, a_probe, at
from tests.fakes import (
    FAILING,
    Answer,
    FakeClock,
    FakeEngine,
    FakeProber,
    FakeRuntime,
)

SECOND = timedelta(seconds=1)


class NoHooks:
    """`ports.HookRunner` for pods without hooks."""

    async def run(self, operation: RunHook) -> HookResult:
        return HookResult()


class LateClock(FakeClock):
    """A clock that wakes sleepers too late, by its lag."""

    lag = timedelta()

    def now(self) -> datetime:
        return super().now() + self.lag

    async def sleep_until(self, deadline: datetime) -> None:
        await super().sleep_until(deadline - self.lag)


class ShortEvents(FakeRuntime):
    """A runtime whose event stream ends at once; `openings` counts its uses."""

    def __init__(self, engine: FakeEngine) -> None:
        super().__init__(engine)
        self.openings = 0

    async def watch(self) -> AsyncIterator[None]:
        self.openings += 1
        yield


class NoEvents(FakeRuntime):
    """A runtime whose event stream never reports anything."""

    async def watch(self) -> AsyncIterator[None]:
        await asyncio.Event().wait()
        yield


class BrokenEvents(ShortEvents):
    """A runtime whose event stream breaks at once."""

    async def watch(self) -> AsyncIterator[None]:
        async for _ in super().watch():
            yield
        raise ContainerRuntimeError("stream broke")


class OneExec(FakeRuntime):
    """A runtime that reports one command, then fails; `openings` counts the reports."""

    def __init__(self, engine: FakeEngine) -> None:
        super().__init__(engine)
        self.openings = 0

    async def watch_execs(self) -> AsyncIterator[StartedExec]:
        self.openings += 1
        yield StartedExec(ContainerID("fake://1"), "sh -c date")
        raise ContainerRuntimeError("the stream broke")


class Bench:
    """A session on a fake clock, with a fake runtime."""

    def __init__(
        self,
        *,
        clock: FakeClock | None = None,
        make_runtime: Callable[[FakeEngine], FakeRuntime] = FakeRuntime,
        on_input: Callable[[Input | None, datetime], None] | None = None,
        held_until: asyncio.Event | None = None,
        loop_watch: LoopWatch | None = None,
    ) -> None:
        self.clock = clock or FakeClock()
        self.world = FakeEngine(self.clock)
        self.runtime = make_runtime(self.world)
        self.prober = FakeProber(self.clock)
        self.session = RealtimeSession(
            Engine(KubeletConfig(), START),
            Executor(self.runtime, self.prober, NoHooks(), self.clock),
            self.runtime,
            self.clock,
            runtime_name="fake 1.0",
            watches_execs=isinstance(self.runtime, OneExec),
            on_input=on_input,
            held_until=held_until,
            loop_watch=loop_watch,
        )

    async def pass_time(self, seconds: float) -> None:
        await self.clock.advance(timedelta(seconds=seconds))

    def of(self, kind: type[JournalEntry]) -> list[JournalEntry]:
        return [entry for entry in self.session.journal if isinstance(entry, kind)]

    def reasons(self) -> list[str]:
        return [
            entry.event.reason
            for entry in self.session.journal
            if isinstance(entry, EventEntry)
        ]


@contextlib.asynccontextmanager
async def running(bench: Bench) -> AsyncIterator[asyncio.Task[None]]:
    """In the block, the session runs; it is stopped at the end."""
    task = asyncio.ensure_future(bench.session.run())
    try:
        await bench.clock.settle()
        yield task
    finally:
        bench.session.stop()
        with contextlib.suppress(LookupError):
            await task


class TestRunning:
    async def test_a_pod_is_run(self) -> None:
        bench = Bench()
        async with running(bench):
            bench.session.send(AddPod(a_pod()))

            await bench.pass_time(3)

        assert bench.reasons() == ["Pulled", "Created", "Started"]
        assert bench.world.container("app").runs()

    async def test_a_held_session_lists_its_pods_and_starts_nothing(
        self,
    ) -> None:
        shown, calls = asyncio.Event(), []
        bench = Bench(held_until=shown)
        bench.session.subscribe(lambda: calls.append(len(bench.session.journal)))
        bench.session.send(AddPod(a_pod()))
        async with running(bench):
            await asyncio.sleep(2 * NOTICE_PERIOD_SECONDS)
            names = [pod.pod.name for pod in bench.session.snapshot.pods]
            started, notifications = bench.reasons(), list(calls)

            shown.set()
            await bench.pass_time(3)
            await asyncio.sleep(2 * NOTICE_PERIOD_SECONDS)

        assert (names, started, notifications) == (["web"], [], [])
        assert bench.reasons() == ["Pulled", "Created", "Started"]
        assert calls

    async def test_a_container_that_fails_its_probe_is_killed(self) -> None:
        bench = Bench()
        bench.prober.script(a_key(), *[FAILING] * 3, Answer())
        probe = a_probe(period_seconds=1)
        async with running(bench):
            bench.session.send(AddPod(a_pod(a_container(liveness_probe=probe))))

            await bench.pass_time(10)

        assert bench.reasons().count("Unhealthy") == 3
        assert bench.reasons().count("Killing") == 1
        starts = [
            entry
            for entry in bench.session.journal
            if isinstance(entry, ContainerEntry) and entry.what is LifecycleStep.STARTED
        ]
        assert len(starts) == 2

    async def test_the_journal_has_all_entries_in_order(self) -> None:
        bench = Bench()
        async with running(bench):
            bench.session.send(AddPod(a_pod()))
            await bench.pass_time(3)
            bench.session.send(PauseProbes())
            await bench.clock.settle()

        numbers = [entry.sequence for entry in bench.session.journal]
        assert numbers == list(range(1, len(numbers) + 1))
        assert isinstance(bench.session.journal[-1], UserEntry)

    async def test_inputs_are_reported_with_their_instants_before_they_are_processed(
        self,
    ) -> None:
        inputs: list[tuple[Input | None, datetime, int]] = []
        bench = Bench(
            on_input=lambda item, now: inputs.append(
                (item, now, len(bench.session.journal))
            )
        )
        async with running(bench):
            await bench.pass_time(1.5)

            bench.session.send(PauseProbes())
            await bench.clock.settle()

        (now, journal_length), *_ = [
            report[1:] for report in inputs if report[0] == PauseProbes()
        ]
        assert now == at(1.5)
        assert len(bench.session.journal) == journal_length + 1

    async def test_instants_without_input_are_reported_too(self) -> None:
        inputs: list[tuple[Input | None, datetime]] = []
        bench = Bench(on_input=lambda item, now: inputs.append((item, now)))
        async with running(bench):
            await bench.pass_time(1.5)

        assert {at(0), at(1)} <= {now for item, now in inputs if item is None}

    async def test_effects_under_way_are_cancelled_when_the_session_stops(self) -> None:
        bench = Bench()
        bench.prober.script(a_key(), Answer(takes=3600 * SECOND))
        probe = a_probe(period_seconds=1)
        async with running(bench) as task:
            bench.session.send(AddPod(a_pod(a_container(liveness_probe=probe))))
            await bench.pass_time(5)
            assert bench.prober.in_flight == {a_key()}

            bench.session.stop()
            await task

        assert bench.prober.in_flight == set()
        assert bench.clock.next_deadline is None
        assert bench.world.container("app").runs()

    async def test_it_is_a_session(self) -> None:
        bench = Bench()
        session: Session = bench.session

        assert session.runtime_name == "fake 1.0"
        assert session.snapshot.taken_at == START
        assert not session.journal


class TestEventStream:
    async def test_an_event_of_the_runtime_is_processed_at_once(self) -> None:
        bench = Bench()
        async with running(bench):
            bench.session.send(AddPod(a_pod()))
            await bench.pass_time(3.5)

            bench.world.end(bench.world.container("app"), 1)
            await bench.clock.settle()

        exited = [
            entry
            for entry in bench.session.journal
            if isinstance(entry, ContainerEntry) and entry.what is LifecycleStep.EXITED
        ]
        assert [entry.at for entry in exited] == [at(3.5)]

    async def test_without_a_stream_the_relist_of_each_second_finds_the_change(
        self,
    ) -> None:
        bench = Bench(make_runtime=NoEvents)
        async with running(bench):
            bench.session.send(AddPod(a_pod()))
            await bench.pass_time(3.5)

            bench.world.end(bench.world.container("app"), 1)
            await bench.pass_time(1)

        exited = [
            entry
            for entry in bench.session.journal
            if isinstance(entry, ContainerEntry) and entry.what is LifecycleStep.EXITED
        ]
        assert [entry.at for entry in exited] == [at(4)]

    async def test_a_broken_event_stream_is_opened_again_after_a_while(
        self, caplog: pytest.LogCaptureFixture
    ) -> None:
        inputs: list[Input | None] = []
        bench = Bench(
            make_runtime=BrokenEvents, on_input=lambda item, _now: inputs.append(item)
        )
        with caplog.at_level(logging.INFO):
            async with running(bench):
                await bench.pass_time(5)

        assert isinstance(bench.runtime, ShortEvents)
        assert bench.runtime.openings == 3
        assert inputs.count(RuntimeChanged()) == 3
        assert "the event stream of the runtime broke: stream broke" in caplog.text

    async def test_exec_commands_of_others_are_reported_and_again_after_a_break(
        self,
    ) -> None:
        inputs: list[Input | None] = []
        bench = Bench(
            make_runtime=OneExec, on_input=lambda item, _now: inputs.append(item)
        )

        async with running(bench):
            await bench.pass_time(5)

        assert isinstance(bench.runtime, OneExec)
        assert bench.runtime.openings == 3
        assert inputs.count(ExecSeen(ContainerID("fake://1"), "sh -c date")) == 3

    async def test_an_event_stream_that_ends_is_opened_again_after_a_while(
        self,
    ) -> None:
        bench = Bench(make_runtime=ShortEvents)
        async with running(bench):
            await bench.pass_time(5)

        assert isinstance(bench.runtime, ShortEvents)
        assert bench.runtime.openings == 3


class TestSubscribers:
    async def test_subscribers_are_notified_of_changes(self) -> None:
        bench = Bench()
        notifications = asyncio.Event()
        bench.session.subscribe(notifications.set)

        async with running(bench), asyncio.timeout(5):
            await notifications.wait()

    async def test_many_changes_are_notified_at_a_limited_rate(self) -> None:
        bench = Bench()
        notifications: list[float] = []
        loop = asyncio.get_running_loop()
        thrice = asyncio.Event()

        def notify() -> None:
            notifications.append(loop.time())
            if len(notifications) == 3:
                thrice.set()

        bench.session.subscribe(notify)
        async with running(bench), asyncio.timeout(5), bench.clock.jumping():
            await thrice.wait()

        least = NOTICE_PERIOD_SECONDS * 0.9
        assert notifications[1] - notifications[0] >= least
        assert notifications[2] - notifications[1] >= least

    async def test_a_former_subscriber_is_not_notified(self) -> None:
        bench = Bench()
        notifications: list[str] = []
        other = asyncio.Event()
        end = bench.session.subscribe(lambda: notifications.append("left"))
        bench.session.subscribe(other.set)

        end()
        end()

        async with running(bench), asyncio.timeout(5):
            await other.wait()
        assert notifications == []

    async def test_a_bug_of_a_subscriber_ends_the_session(self) -> None:
        bench = Bench()

        def broken() -> None:
            raise LookupError("a bug")

        bench.session.subscribe(broken)

        with pytest.raises(LookupError, match="a bug"):
            async with asyncio.timeout(5):
                await bench.session.run()


class TestShutdown:
    async def test_a_shutdown_deletes_all_pods_and_returns_when_nothing_runs(
        self,
    ) -> None:
        bench = Bench()
        async with running(bench):
            for name in ("a", "b"):
                bench.session.send(AddPod(a_pod(name=name)))
            await bench.pass_time(3)

            async with bench.clock.jumping():
                done = await bench.session.shutdown()

        assert done
        assert bench.world.sandboxes == {}
        assert bench.world.containers == {}
        assert len(bench.of(PodGoneEntry)) == 2

    async def test_a_shutdown_without_pods_returns_at_once(self) -> None:
        bench = Bench()

        async with running(bench):
            assert await bench.session.shutdown()

    async def test_a_shutdown_gives_up_on_a_runtime_that_does_not_answer(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(realtime, "PATIENCE", timedelta(milliseconds=10))
        bench = Bench()
        async with running(bench):
            pod = a_pod(termination_grace_period_seconds=0)
            bench.session.send(AddPod(pod))
            await bench.pass_time(3)
            bench.world.unreachable = "no daemon"

            assert not await bench.session.shutdown()


class TestLateness:
    async def test_a_late_wake_up_is_shown_for_a_while(self) -> None:
        clock = LateClock()
        bench = Bench(clock=clock)
        async with running(bench):
            await bench.pass_time(3.5)
            before = bench.session.snapshot.lateness

            clock.lag = 5 * SECOND
            await bench.pass_time(0.5)
            late = bench.session.snapshot.lateness
            await bench.pass_time(9.5)
            still = bench.session.snapshot.lateness
            await bench.pass_time(1)
            after = bench.session.snapshot.lateness

        assert (before, after) == (timedelta(), timedelta())
        assert late == still == 5 * SECOND

    async def test_a_probe_that_starts_after_it_was_due_is_late(self) -> None:
        clock = LateClock()
        bench = Bench(clock=clock)
        task = asyncio.ensure_future(bench.session.run())
        asyncio.get_running_loop().call_soon(setattr, clock, "lag", 2 * SECOND)
        await clock.settle()

        bench.session.journal_lateness()
        bench.session.stop()
        await task

        (note,) = bench.of(NoteEntry)
        assert isinstance(note, NoteEntry)
        assert note.text.startswith("ticks were up to 2.0s late")

    async def test_a_delay_that_may_have_lost_ticks_is_journaled_once_it_is_over(
        self,
    ) -> None:
        clock = LateClock()
        bench = Bench(clock=clock)
        async with running(bench):
            await bench.pass_time(3.5)
            clock.lag = 5 * SECOND
            await bench.pass_time(9)
            before = bench.of(NoteEntry)
            await bench.pass_time(3)

        (note,) = bench.of(NoteEntry)
        assert before == []
        assert isinstance(note, NoteEntry)
        assert note.text == "ticks were up to 5.0s late for 5.0s, none was lost"

    async def test_a_delay_that_loses_no_tick_is_not_journaled(self) -> None:
        clock = LateClock()
        bench = Bench(clock=clock)
        async with running(bench):
            await bench.pass_time(3.5)
            clock.lag = 0.4 * SECOND
            await bench.pass_time(15)

        assert bench.of(NoteEntry) == []

    async def test_ticks_of_the_time_when_nothing_ran_are_not_called_lost(self) -> None:
        clock = LateClock()
        # It neither ran nor waited for a processor.
        watch = LoopWatch(clock, lambda: ProcessorTimes(0, 0))
        bench = Bench(clock=clock, loop_watch=watch)
        async with running(bench):
            bench.session.send(
                AddPod(a_pod(a_container(liveness_probe=a_probe(period_seconds=1))))
            )
            await bench.pass_time(3.5)
            clock.lag = 5 * SECOND
            await bench.pass_time(5)
            clock.lag = timedelta()
            await bench.pass_time(1)

            bench.session.journal_lateness()

        (note,) = bench.of(NoteEntry)
        assert isinstance(note, NoteEntry)
        due = sum(
            entry.timing.late_drops
            for entry in bench.session.journal
            if isinstance(entry, TickEntry)
        )
        assert due > 1
        assert note.text.startswith(
            "probetui was stopped, or this machine was suspended, for up to "
        )
        assert note.text.endswith(f"; {due} ticks fell due meanwhile")

    async def test_pending_lateness_is_journaled_at_the_end(self) -> None:
        clock = LateClock()
        bench = Bench(clock=clock)
        async with running(bench):
            bench.session.send(
                AddPod(a_pod(a_container(liveness_probe=a_probe(period_seconds=1))))
            )
            await bench.pass_time(3.5)
            clock.lag = 5 * SECOND
            await bench.pass_time(1)

            bench.session.journal_lateness()
            bench.session.journal_lateness()

        (note,) = bench.of(NoteEntry)
        assert isinstance(note, NoteEntry)
        lost = sum(
            entry.timing.late_drops
            for entry in bench.session.journal
            if isinstance(entry, TickEntry)
        )
        assert lost > 1
        assert note.text.endswith(f", {lost} were lost")
