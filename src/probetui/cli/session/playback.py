"""Sessions on virtual time: simulations and replays, run and shown."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from probetui.cli import gc_tuning
from probetui.cli.option_groups import pick_options
from probetui.cli.option_values import ScreenChoices, SessionOptions
from probetui.cli.session.autosave import last_session_to_play, sessions_folder
from probetui.cli.session.ending import Interrupts
from probetui.cli.session.outputs import ScreenFault, SessionOutputs
from probetui.cli.session.plan import EnginePlan, ReplayPlan, SimPlan
from probetui.cli.session.planning import check_own_sessions, make_replay_plan
from probetui.cli.session.pod_registry import PodRegistry
from probetui.cli.session.saved_sessions import SavedSession, saved_sessions
from probetui.cli.session.signal_watch import Signals, SignalWatch
from probetui.cli.terminal import Form, Terminal, choose_form
from probetui.drive.clocks import SystemClock, awake_ns
from probetui.drive.playback.replay import ReplaySource
from probetui.drive.playback.session import PlaybackSession
from probetui.drive.playback.simulated import SimulatedSource
from probetui.drive.playback.source import PlaybackSource
from probetui.drive.scenario.script import NO_SCENARIO, Scenario
from probetui.drive.session_journal import SEEKABLE, SessionJournal
from probetui.drive.simulation import Simulation
from probetui.engine.engine import Engine
from probetui.engine.inputs import Input, SetObjects
from probetui.engine.snapshot import PlaybackKind
from probetui.headless.follow import Follower, format_timeout
from probetui.headless.verdict import (
    EXIT_NO,
    EXIT_OK,
    EXIT_TIME_LIMIT,
    Verdict,
    decide_exit_status,
)
from probetui.kubelet.config import KubeletConfig
from probetui.record.masking import Mask
from probetui.record.reader import RecordingFile

if TYPE_CHECKING:
    from probetui.cli.commands.sessions import ReplayOptions
    from probetui.cli.web.tab import Tab

_END_SECONDS = 4.0
"""How long a signal may take: no pod is left, and a record is whole up to there."""

LONG_ENOUGH = timedelta(minutes=10)
"""Simulated time after which a simulation without a screen or a limit ends."""

PLAYED = "played"
"""The reason when everything was played."""


def run_simulation(plan: SimPlan) -> int:
    """Run scripted pods on virtual time and return the exit status."""
    if plan.form is Form.WEB:
        # Late: few sessions are shown in a browser.
        from probetui.cli.session.web_screens import serve_own_sessions

        check_own_sessions(plan)
        return serve_own_sessions(plan, partial(simulate_in_tab, plan))
    return _run(*_simulated(plan))


async def simulate_in_tab(plan: SimPlan, tab: Tab, signals: Signals) -> int:
    """Run scripted pods on the running loop, shown in a tab; return the exit status."""
    run, config = _simulated(plan.in_tab(tab))
    return await run.play(config, signals)


def _simulated(plan: SimPlan) -> tuple[_PlaybackRun, KubeletConfig]:
    scenario = plan.scenario or NO_SCENARIO
    pod_registry = PodRegistry(plan.desired)
    mask = pod_registry.make_mask(hides=not plan.options.show_secrets)
    # A fixed seed: two runs of one script are the same.
    config = plan.kubelet_config(default_seed=0)
    outputs = SessionOutputs(plan, pod_registry, mask, scenario.start, goes_back=True)

    journal = SessionJournal(SEEKABLE)

    def on_input(item: Input | None, now: datetime) -> None:
        outputs.on_input(item, now, len(journal))

    source = SimulatedSource(
        lambda: begin_simulation(plan, scenario, config), on_input, journal
    )
    return _PlaybackRun(plan, source, outputs, mask, "sim", _length(plan)), config


def begin_simulation(
    plan: EnginePlan, scenario: Scenario, config: KubeletConfig
) -> Simulation:
    """Return a simulation of a plan's pods by a script, which has not run yet."""
    simulation = Simulation(
        Engine(config, scenario.start), scenario.world(), scenario.start
    )
    desired = plan.desired
    if desired.objects:
        simulation.schedule(SetObjects(desired.objects), scenario.start)
    for update in desired.updates():
        simulation.schedule(update, scenario.start)
    for at, command in scenario.commands(desired.pods):
        simulation.schedule(command, at)
    return simulation


def _length(plan: SimPlan) -> timedelta | None:
    """Return how long a simulation lasts at most, None for no limit."""
    limits = (plan.options.play_for, plan.options.timeout)
    lengths = [limit for limit in limits if limit is not None]
    if not lengths and plan.form is Form.LINES:
        return LONG_ENOUGH
    return min(lengths, default=None)


def replay_source(record: RecordingFile) -> ReplaySource:
    """Return what plays a record, be it of an engine or of an observation.

    Raises:
        RecordError: its session record cannot be used.
    """
    if not record.session.observed:
        return ReplaySource(record)
    # Late: other sessions do not need it.
    from probetui.cluster.observe.replay import ObservationReplay

    return ReplaySource(record, begin=ObservationReplay)


def replay_record(path: Path | None, options: ReplayOptions) -> int:
    """Replay a record and return the exit status.

    Args:
        path: the record; None is one that the user chooses on a screen, where there can
            be one and there are several, else that of the last session.
        options: those of the command.
    """
    if path is None and len(sessions := _sessions_to_choose(options)) > 1:
        # Late: the screen's library is slow to import.
        from probetui.cli.session.session_choice import choose_session

        screen = pick_options(ScreenChoices, options)
        path = choose_session(sessions, screen, options.record_limit)
        if path is None:
            return EXIT_OK
    record = RecordingFile(path or last_session_to_play(), options.record_limit)
    plan = make_replay_plan(record.pods(), options, record.session.options)
    if plan.form is Form.WEB:
        # Late: few sessions are shown in a browser.
        from probetui.cli.session.web_screens import serve_own_sessions

        async def replay(tab: Tab, signals: Signals) -> int:
            run, config = _replayed(plan.in_tab(tab), record)
            return await run.play(config, signals)

        check_own_sessions(plan)
        return serve_own_sessions(plan, replay)
    return _run(*_replayed(plan, record))


def _replayed(
    plan: ReplayPlan, record: RecordingFile
) -> tuple[_PlaybackRun, KubeletConfig]:
    source = replay_source(record)
    mask = Mask()
    outputs = SessionOutputs(
        plan, PodRegistry(plan.desired), mask, source.now, goes_back=True
    )
    name, limit = record.session.runtime, plan.options.timeout
    run = _PlaybackRun(plan, source, outputs, mask, name, limit)
    return run, source.config


def _run(run: _PlaybackRun, config: KubeletConfig) -> int:
    """Play a session to its end and return the exit status."""
    with SignalWatch(ends_within=_END_SECONDS) as signals:
        return asyncio.run(run.play(config, signals))


def _sessions_to_choose(options: ReplayOptions) -> Sequence[SavedSession]:
    """Return the saved sessions, none where there is no screen to choose one on.

    Raises:
        UsageError: a screen is wanted where there can be none.
    """
    if options.web:
        return ()
    form = choose_form(
        Terminal.here(),
        wanted=pick_options(SessionOptions, options).form,
        reads_stdin=False,
        records_to_stdout=False,
    )
    return saved_sessions(sessions_folder()) if form is Form.SCREEN else ()


class _PlaybackRun:
    """One session on virtual time.

    Args:
        plan: what was asked for.
        source: a simulation or a record.
        outputs: where the journal goes.
        mask: what is not to be shown.
        runtime_name: for people.
        length: session time after which it ends, None for no limit.
    """

    def __init__(
        self,
        plan: SimPlan | ReplayPlan,
        source: PlaybackSource,
        outputs: SessionOutputs,
        mask: Mask,
        runtime_name: str,
        length: timedelta | None,
    ) -> None:
        self._plan = plan
        self._source = source
        self._outputs = outputs
        self._mask = mask
        self._length = length
        pace = plan.options.time_scale
        if pace is None and plan.form is Form.SCREEN:
            pace = 1.0
        self._session = PlaybackSession(
            source,
            SystemClock(awake_ns),
            runtime_name=runtime_name,
            pace=pace,
            limit=None if length is None else source.now + length,
        )

    async def play(self, config: KubeletConfig, signals: Signals) -> int:
        """Play the session to its end and return the exit status."""
        plan, session = self._plan, self._session
        sinks = self._outputs.open(session.runtime_name, config)
        is_simulated = self._source.kind is PlaybackKind.SIM
        follower = Follower(
            session,
            sinks,
            plan.watch,
            ends_with_pods=is_simulated
            and plan.form is Form.LINES
            and not plan.options.step,
        )

        def rewind(entries: int, inputs: int, at: datetime) -> None:
            follower.rewind(entries)
            self._outputs.rewind(session.journal, inputs, at)

        session.on_rewind = rewind
        session.on_end = lambda: self._end(follower)
        session.is_over = lambda: follower.is_over
        fault = ScreenFault(
            session, self._outputs, follower, plan.notes, self._on_lines
        )
        if plan.options.paused:
            # Show what is there from the beginning.
            session.seek(self._source.now, is_pause=True)
        async with asyncio.TaskGroup() as tasks:
            with self._outputs, follower, Interrupts(follower, signals):
                playing = tasks.create_task(session.run())
                verdict = await self._show(follower, fault)
                session.stop()
                await playing
        # A replay succeeds if the record could be played, however its session ended.
        if is_simulated:
            failures = follower.creation_failures
            verdict = decide_exit_status(verdict, session.snapshot, failures)
        if verdict.message:
            plan.notes.error(verdict.message)
        is_unmet = verdict.exit_status in {EXIT_NO, EXIT_TIME_LIMIT}
        if is_unmet and plan.watch is not None:
            # Late: most sessions meet their condition.
            from probetui.cli.session.unmet import note_obstacles

            note_obstacles(plan.watch, self._session, self._mask, plan.notes)
        if self._source.note:
            plan.notes.warning(self._source.note)
        verdict = fault.judge(verdict)
        if is_simulated:  # A replay has nothing that its record has not.
            self._outputs.leave(session)
        self._outputs.close(verdict, session.snapshot.taken_at)
        return verdict.exit_status

    def _on_lines(self) -> None:
        self._plan = self._plan.without_screen()

    async def _show(self, follower: Follower, fault: ScreenFault) -> Verdict:
        """Show the session until it ends, and return why it did."""
        plan = self._plan
        if plan.form is Form.LINES:
            plan.print_intro()
            gc_tuning.freeze()
            if plan.options.step:
                # Late: few sessions are stepped by lines.
                from probetui.cli.session.stepping import step_by_lines

                return await step_by_lines(plan, self._session, follower, self._mask)
            if not plan.options.paused:
                return await follower.verdict()
            # No session time passes that could reach the limit: here it is a real one.
            if plan.options.timeout is None:
                plan.notes.note(
                    "without a screen it stays paused: see --step; ^C ends it"
                )
            return await follower.verdict(plan.options.timeout)
        # Late: the screen's library is slow to import.
        from probetui.cli.session.screen import show_screen

        # The time limit is one of session time, not of the screen's.
        unlimited = replace(plan, options=plan.options.replace(timeout=None))
        save = self._outputs.saver(follower.drain)
        record = self._outputs.record_so_far(follower.drain)
        return await show_screen(
            unlimited, self._session, follower, self._mask, fault, save, record
        )

    def _end(self, follower: Follower) -> None:
        """Decide what it means that the source has ended, or the length is reached."""
        plan, options = self._plan, self._plan.options
        follower.check_end()
        if follower.is_over:
            return
        end = self._source.end
        if self._length == LONG_ENOUGH and {options.play_for, options.timeout} == {
            None
        }:
            plan.notes.note("simulated 10 minutes; use --for to simulate longer")
        has_more = end is None or self._source.now < end
        if has_more and options.timeout is not None and self._length == options.timeout:
            message = format_timeout(options.timeout, plan.watch)
            follower.end(Verdict("timeout", EXIT_TIME_LIMIT, message))
        elif plan.watch is not None:
            message = f"the session ended before {plan.watch.condition}"
            follower.end(Verdict(PLAYED, EXIT_NO, message))
        elif plan.form is Form.LINES or end is None:
            follower.end(Verdict(PLAYED, EXIT_OK))
