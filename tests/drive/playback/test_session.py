"""Playback sessions: simulations and replays with a clock of their own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path

import pytest

from probetui.debugger.commands import (
    BreakpointKind,
    DryRunProbe,
    Injected,
    InjectResults,
    PauseProbes,
    RestartContainer,
    ResumeProbes,
    RunToChange,
    SetBreakpoints,
    StepProbe,
    TriggerProbe,
)
from probetui.drive.clocks import SystemClock
from probetui.drive.playback.session import PACES, PlaybackSession
from probetui.drive.playback.simulated import SimulatedSource
from probetui.drive.playback.source import PlaybackSource
from probetui.drive.scenario.behavior import (
    InstanceBehavior,
    ResultName,
    ResultPhase,
    ResultPhases,
    ScriptedResult,
)
from probetui.drive.scenario.script import Scenario
from probetui.engine.snapshot import PlaybackKind
from probetui.k8s.probe import ProbeType
from probetui.kubelet.journal import (
    ContainerEntry,
    DryRunEntry,
    EventEntry,
    JournalEntry,
    LifecycleStep,
    TickEntry,
    Trigger,
    UserEntry,
)
from probetui.ports import Clock
from tests.builders import START, a_container, a_key, a_pod, a_probe, at
from tests.drive.recorded_simulation import Recorded, simulation_factory
from tests.fakes import FakeClock

POD = a_pod(a_container(liveness_probe=a_probe(period_seconds=2)))
FAILURES = ResultPhases(
    (
        ResultPhase(ScriptedResult(ResultName.SUCCESS), times=2),
        ResultPhase(ScriptedResult(ResultName.FAILURE)),
    )
)
SCENARIO = Scenario(
    lives={
        "app": (
            InstanceBehavior(answers={ProbeType.LIVENESS: FAILURES}),
            InstanceBehavior(),
        )
    }
)


def a_session(
    *, pace: float | None = 64.0, limit: datetime | None = None
) -> PlaybackSession:
    source = SimulatedSource(simulation_factory(POD, scenario=SCENARIO), apart=30)
    return PlaybackSession(
        source, SystemClock(), runtime_name="sim", pace=pace, limit=limit
    )


@asynccontextmanager
async def running(session: PlaybackSession) -> AsyncIterator[None]:
    async with asyncio.TaskGroup() as tasks:
        task = tasks.create_task(session.run())
        try:
            yield
        finally:
            session.stop()
            await task


async def until(condition: Callable[[], bool], rest: float = 0.005) -> None:
    async with asyncio.timeout(20):
        while not condition():  # noqa: ASYNC110  # any condition, of any owner
            await asyncio.sleep(rest)


def ticks(session: PlaybackSession) -> int:
    return sum(isinstance(entry, TickEntry) for entry in session.journal)


def restarts(session: PlaybackSession) -> int:
    return sum(
        isinstance(entry, ContainerEntry)
        and entry.what is LifecycleStep.STARTED
        and entry.restart_count > 0
        for entry in session.journal
    )


async def test_at_full_speed_a_session_runs_to_its_limit_and_no_further() -> None:
    session = a_session(pace=None, limit=at(600))
    ends = []
    session.on_end = lambda: ends.append(session.snapshot.taken_at)

    async with running(session):
        await until(lambda: bool(ends))

    assert ends == [at(600)]
    assert session.snapshot.playback is not None
    assert session.snapshot.playback.has_ended
    assert ticks(session) > 250


async def test_at_full_speed_other_tasks_run_after_each_turn_that_takes_long() -> None:
    happened: list[str] = []
    ends: list[datetime] = []

    class LongTurns(SimulatedSource):
        def turn(self) -> Sequence[JournalEntry]:
            happened.append("turn")
            return super().turn()

    class ClockOfTurns(FakeClock):
        def now(self) -> datetime:
            return at(happened.count("turn"))

    session = PlaybackSession(
        LongTurns(simulation_factory(POD, scenario=SCENARIO), apart=30),
        ClockOfTurns(),
        runtime_name="sim",
        pace=None,
        limit=at(60),
    )
    session.on_end = lambda: ends.append(session.snapshot.taken_at)
    async with running(session):
        while not ends:
            happened.append("other")
            await asyncio.sleep(0)

    assert happened.count("turn") > 20
    assert ("turn", "turn") not in pairwise(happened)


async def test_the_session_clock_runs_faster_than_wall_time_by_its_pace() -> None:
    clock = SystemClock()
    session = a_session(pace=64.0)
    began_at = clock.now()

    async with running(session):
        await until(lambda: ticks(session) > 5)
        own, real = session.snapshot.taken_at - START, clock.now() - began_at

    assert timedelta(seconds=8) < own <= 64 * real


async def test_subscribers_are_notified_of_changes() -> None:
    session = a_session()
    counts: list[int] = []
    end = session.subscribe(lambda: counts.append(ticks(session)))

    async with running(session):
        await until(lambda: bool(counts) and counts[-1] > 3)
        end()
        count = len(counts)
        await until(lambda: ticks(session) > 8)

    assert len(counts) == count


async def test_what_comes_at_once_is_notified_together() -> None:
    quick = ScriptedResult(ResultName.SUCCESS, takes=timedelta(milliseconds=12))
    answers = {ProbeType.LIVENESS: ResultPhases((ResultPhase(quick),))}
    scenario = Scenario(lives={"app": (InstanceBehavior(answers=answers),)})
    source = SimulatedSource(simulation_factory(POD, scenario=scenario), apart=30)
    session = PlaybackSession(source, SystemClock(), runtime_name="sim", pace=4.0)
    states: list[bool] = []
    session.subscribe(lambda: states.append(is_in_flight(session)))

    async with running(session):
        await until(lambda: ticks(session) > 2)

    assert states
    assert not any(states)


def is_in_flight(session: PlaybackSession) -> bool:
    (pod,) = session.snapshot.pods
    return any(
        probe.in_flight_since is not None
        for container in pod.containers
        for probe in container.probes
    )


async def test_a_paused_session_stops_its_clock_and_resumes_there() -> None:
    session = a_session()
    async with running(session):
        await until(lambda: ticks(session) > 2)

        session.send(PauseProbes())
        paused = session.snapshot
        await asyncio.sleep(0.1)
        still = session.snapshot
        session.send(ResumeProbes())
        await until(lambda: ticks(session) > 5)

    assert paused.is_paused
    assert paused.playback is not None
    assert paused.playback.is_paused
    assert still == paused
    assert not session.snapshot.is_paused


async def test_a_step_is_one_tick() -> None:
    session = a_session()
    async with running(session):
        await until(lambda: ticks(session) > 0)
        session.send(PauseProbes())
        before, was = ticks(session), session.snapshot.taken_at

        session.send(StepProbe())
        after, now = ticks(session), session.snapshot.taken_at
        session.send(StepProbe())

    assert (after, ticks(session)) == (before + 1, before + 2)
    assert now - was <= timedelta(seconds=3)
    assert session.snapshot.last_step is not None


async def test_a_step_back_undoes_the_last_tick_and_reports_it() -> None:
    session = a_session()
    rewinds: list[tuple[int, int, datetime]] = []
    session.on_rewind = lambda *what: rewinds.append(what)
    async with running(session):
        await until(lambda: ticks(session) > 4)
        session.send(PauseProbes())
        before = ticks(session)

        assert session.step_back()
        assert session.step_back()

    assert ticks(session) == before - 2
    assert session.rewinds == 2
    assert rewinds[-1][0] < len(session.journal) + 2
    assert session.snapshot.is_paused


async def test_there_is_nothing_before_the_beginning() -> None:
    session = a_session()

    assert not session.step_back()
    assert session.rewinds == 0


async def test_run_to_change_stops_the_clock_at_the_next_change() -> None:
    session = a_session()
    async with running(session):
        session.send(PauseProbes())

        changes = []
        for _ in range(3):
            session.send(RunToChange())
            await until(lambda: session.snapshot.is_paused)
            reason = session.snapshot.stopped_by
            changes.append(reason.text if reason is not None else "")

    assert len(set(changes)) == 3
    assert "" not in changes


async def test_a_break_point_stops_the_clock() -> None:
    session = a_session()
    async with running(session):
        session.send(SetBreakpoints(frozenset({BreakpointKind.BEFORE_KILL})))

        await until(lambda: session.snapshot.is_paused)
        held = session.snapshot
        await asyncio.sleep(0.05)
        assert session.snapshot.taken_at == held.taken_at
        session.send(StepProbe())
        await until(
            lambda: not session.snapshot.pods[0].containers[0].probes[0].is_result_held
        )

    assert held.stopped_by is not None
    assert held.stopped_by.point is BreakpointKind.BEFORE_KILL
    assert any(
        isinstance(entry, EventEntry) and entry.event.reason == "Killing"
        for entry in session.journal
    )


async def test_a_command_in_a_stopped_session_is_carried_out_to_its_end() -> None:
    session = a_session()
    key = a_key(ProbeType.LIVENESS, pod="web")
    async with running(session):
        await until(lambda: ticks(session) > 1)
        session.send(PauseProbes())
        paused_at = session.snapshot.taken_at

        session.send(TriggerProbe(key))
        session.send(DryRunProbe(key))

    # A periodic probe that was under way when the clock stopped ends, too.
    ended = [entry for entry in session.journal if isinstance(entry, TickEntry)]
    late = [entry for entry in ended if entry.timing.started_at > paused_at]
    assert [entry.trigger for entry in ended].count(Trigger.USER) == 1
    assert {entry.trigger for entry in late} <= {Trigger.USER}
    assert any(isinstance(entry, DryRunEntry) for entry in session.journal)
    assert session.snapshot.is_paused


async def test_a_session_can_seek_to_any_instant() -> None:
    session = a_session()
    async with running(session):
        session.seek(at(300))
        await until(lambda: session.snapshot.taken_at == at(300))
        far = ticks(session)
        session.seek(at(20))
        near = ticks(session)

    assert session.snapshot.taken_at == at(20)
    assert session.snapshot.is_paused
    assert 0 < near < far


def seeking(session: PlaybackSession) -> bool:
    playback = session.snapshot.playback
    return playback is not None and playback.seeking is not None


class StandingClock(SystemClock):
    """A clock that never advances."""

    def now(self) -> datetime:
        return START


class BusyClock(SystemClock):
    """A clock that advances with each reading, as on a busy machine."""

    def __init__(self) -> None:
        self._now = START

    def now(self) -> datetime:
        self._now += timedelta(milliseconds=20)
        return self._now


def simulated(_path: Path) -> PlaybackSource:
    return SimulatedSource(simulation_factory(POD, scenario=SCENARIO), apart=30)


def recorded(path: Path) -> PlaybackSource:
    session = Recorded(path, POD, scenario=SCENARIO)
    session.run_until(at(300))
    return session.end()


@pytest.mark.parametrize("make_source", [simulated, recorded])
async def test_a_long_seek_reports_its_progress(
    make_source: Callable[[Path], PlaybackSource], tmp_path: Path
) -> None:
    source = make_source(tmp_path / "session.jsonl")
    session = PlaybackSession(source, BusyClock(), runtime_name="sim", pace=1.0)
    progress = []

    def note() -> None:
        playback = session.snapshot.playback
        assert playback is not None
        progress.append(playback.seeking)

    session.send(PauseProbes())
    session.subscribe(note)
    session.seek(at(290))
    async with running(session):
        await until(lambda: session.snapshot.taken_at == at(290))
        await until(lambda: progress[-1] is None)

    *ways, there = progress
    shares = [way for way in ways if way is not None]
    assert there is None
    assert len(shares) > 3
    assert shares == sorted(shares)
    assert 0 <= shares[0] < 0.5 < shares[-1] <= 1


def step_back_and_seek(session: PlaybackSession) -> None:
    session.step_back()
    session.seek(at(9))


FAILURE = InjectResults(
    a_key(ProbeType.LIVENESS, pod="web"), results=(Injected.FAILURE,)
)
REQUESTS: dict[str, Callable[[PlaybackSession], object]] = {
    "a step back": PlaybackSession.step_back,
    "a step": lambda session: session.send(StepProbe()),
    "a run to the next change": lambda session: session.send(RunToChange()),
    "an injected result": lambda session: session.send(FAILURE),
    "a step back and another seek": step_back_and_seek,
}


@pytest.mark.parametrize("act", REQUESTS.values(), ids=REQUESTS)
@pytest.mark.parametrize(
    "sent_at", [at(0), at(3), at(5)], ids=["at once", "on the way", "there"]
)
async def test_a_command_during_a_seek_is_carried_out_after_it(
    act: Callable[[PlaybackSession], object], sent_at: datetime
) -> None:
    async def ask(clock: Clock, asks_at: datetime) -> list[JournalEntry]:
        source = SimulatedSource(simulation_factory(POD, scenario=SCENARIO), apart=30)
        session = PlaybackSession(source, clock, runtime_name="sim", pace=None)
        session.send(PauseProbes())
        session.seek(at(5))
        async with running(session):
            await until(lambda: session.snapshot.taken_at >= asks_at, rest=0)
            act(session)
            await until(lambda: session.snapshot.is_paused and not seeking(session))
        return list(session.journal)

    on_a_fast_machine = await ask(StandingClock(), at(5))

    assert await ask(BusyClock(), sent_at) == on_a_fast_machine


@pytest.mark.parametrize("is_paused", [False, True], ids=["running", "paused"])
async def test_only_a_pause_by_the_user_is_logged(*, is_paused: bool) -> None:
    session = a_session()
    async with running(session):
        if is_paused:
            session.send(PauseProbes())
        session.seek(at(60))
        await until(lambda: not seeking(session))
        session.seek(at(120))
        await until(lambda: not seeking(session))
        assert session.step_back()
        session.send(StepProbe())
        assert session.snapshot.is_paused
        session.send(ResumeProbes())

    commands = [one.command for one in session.journal if isinstance(one, UserEntry)]
    assert commands == [*(["pause"] if is_paused else []), "step", "resume"]


async def test_a_seek_to_a_pause_by_the_user_logs_the_pause() -> None:
    session = a_session()
    async with running(session):
        session.seek(at(60), is_pause=True)
        await until(lambda: not seeking(session))
        session.seek(at(120))
        await until(lambda: not seeking(session))
        session.send(ResumeProbes())
        session.seek(at(30), is_pause=True)
        assert session.snapshot.is_paused

    commands = [one.command for one in session.journal if isinstance(one, UserEntry)]
    assert commands == ["pause"]


async def test_a_pause_ends_a_seek() -> None:
    source = SimulatedSource(simulation_factory(POD, scenario=SCENARIO))
    session = PlaybackSession(source, BusyClock(), runtime_name="sim")
    session.send(PauseProbes())
    session.seek(at(290))
    async with running(session):
        await until(lambda: session.snapshot.taken_at > at(8))
        session.step_back()
        session.send(PauseProbes())
        stopped = session.snapshot

    assert stopped.taken_at < at(290)
    assert not seeking(session)
    assert session.rewinds == 0


async def test_a_seek_stays_between_the_beginning_and_the_end() -> None:
    session = a_session(limit=at(30))
    async with running(session):
        session.seek(at(99))
        await until(lambda: session.snapshot.taken_at == at(30))
        session.seek(START - timedelta(days=1))

    assert session.snapshot.taken_at == START


async def test_a_step_does_not_go_beyond_the_limit() -> None:
    session = a_session(limit=at(5))
    ends: list[datetime] = []
    session.on_end = lambda: ends.append(session.snapshot.taken_at)
    session.send(PauseProbes())

    while not ends and ticks(session) < 10:
        session.send(StepProbe())

    assert (ends, ticks(session)) == ([at(5)], 3)


async def test_commands_reach_the_engine_at_the_session_s_own_time() -> None:
    session = a_session()
    async with running(session):
        session.seek(at(40))
        await until(lambda: session.snapshot.taken_at == at(40))
        count = restarts(session)
        session.send(RestartContainer(POD.uid, "app"))
        session.send(ResumeProbes())
        await until(lambda: restarts(session) > count)


@pytest.mark.parametrize(
    ("begin", "steps", "end"),
    [
        pytest.param(1.0, 1, 2.0, id="faster"),
        pytest.param(1.0, -2, 0.25, id="slower"),
        pytest.param(64.0, 1, 64.0, id="fastest"),
        pytest.param(0.25, -1, 0.25, id="slowest"),
        pytest.param(None, -1, 64.0, id="from as fast as it goes"),
        pytest.param(3.0, 1, 4.0, id="faster than one of its own"),
        pytest.param(3.0, -1, 2.0, id="slower than one of its own"),
        pytest.param(100.0, -1, 64.0, id="from beyond"),
    ],
)
async def test_the_pace_changes_in_steps(
    begin: float | None, steps: int, end: float
) -> None:
    session = a_session(pace=begin)

    session.change_pace(steps)

    playback = session.snapshot.playback
    assert playback is not None
    assert playback.pace == end
    assert end in PACES


async def test_a_replay_ends_where_the_recording_ends(tmp_path: Path) -> None:
    recorded = Recorded(tmp_path / "session.jsonl", POD, scenario=SCENARIO)
    recorded.run_until(at(40))
    source = recorded.end()
    session = PlaybackSession(
        source, SystemClock(), runtime_name="docker 27.3", pace=None
    )
    ends = []
    session.on_end = lambda: ends.append(session.snapshot.taken_at)

    async with running(session):
        await until(lambda: bool(ends))

    playback = session.snapshot.playback
    assert playback is not None
    assert (playback.kind, playback.length) == (
        PlaybackKind.REPLAY,
        timedelta(seconds=40),
    )
    assert playback.has_ended
    assert list(session.journal) == list(recorded.source.journal)


async def test_a_recording_can_be_stepped_and_run_to_its_changes(
    tmp_path: Path,
) -> None:
    recorded = Recorded(tmp_path / "session.jsonl", POD, scenario=SCENARIO)
    recorded.run_until(at(40))
    session = PlaybackSession(
        recorded.end(), SystemClock(), runtime_name="sim", pace=64.0
    )
    async with running(session):
        session.send(PauseProbes())
        session.send(StepProbe())
        session.send(StepProbe())
        stepped = ticks(session)
        session.step_back()
        back = ticks(session)
        session.send(RestartContainer(POD.uid, "app"))
        session.send(RunToChange())
        await until(lambda: session.snapshot.is_paused)
        changed_at = session.snapshot.taken_at
        session.seek(at(35))
        await until(lambda: session.snapshot.taken_at == at(35))

    assert (stepped, back) == (2, 1)
    assert START <= changed_at < at(35)
    assert (
        list(session.journal) == list(recorded.source.journal)[: len(session.journal)]
    )


async def test_results_can_be_injected() -> None:
    session = PlaybackSession(
        SimulatedSource(simulation_factory(POD)),
        SystemClock(),
        runtime_name="sim",
        pace=64.0,
    )
    key = a_key(ProbeType.LIVENESS, pod="web")
    async with running(session):
        await until(lambda: ticks(session) > 2)

        session.send(InjectResults(key, (Injected.FAILURE,) * 3))
        await until(lambda: restarts(session) > 0)

    injected = [
        entry
        for entry in session.journal
        if isinstance(entry, TickEntry) and entry.overridden.injected
    ]
    assert len(injected) == 3
