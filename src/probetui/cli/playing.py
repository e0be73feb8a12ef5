"""Sessions on a clock of their own: simulations and recordings, put together."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import datetime, timedelta

from probetui.cli import collector
from probetui.cli.ending import Interrupts
from probetui.cli.outputs import Outputs
from probetui.cli.plan import Plan
from probetui.cli.roster import Roster
from probetui.cli.signal_watch import SignalWatch
from probetui.cli.terminal import Form
from probetui.drive.clocks import SystemClock, awake_ns
from probetui.drive.course import Course
from probetui.drive.masking import Mask, secrets_of, secrets_of_objects
from probetui.drive.played import PlayedSession
from probetui.drive.scenario import NO_SCENARIO
from probetui.drive.session_journal import SEEKABLE, SessionJournal
from probetui.drive.simulated_course import SimulatedCourse
from probetui.drive.simulation import Simulation
from probetui.headless.follow import Follower
from probetui.headless.verdict import (
    ANSWER_IS_NO,
    DONE,
    TIME_IS_UP,
    Verdict,
    final_verdict,
)
from probetui.kubelet.config import KubeletConfig
from probetui.kubelet.engine import Engine
from probetui.kubelet.inputs import Input, SetObjects, SetPods
from probetui.kubelet.snapshot import PlaybackKind

LONG_ENOUGH = timedelta(minutes=10)
"""How long a simulation goes on where nobody looks and nobody says how long."""

PLAYED = "played"
"""The reason when all has been played that there was to play."""


def run_simulation(plan: Plan) -> int:
    """Run pods in a world by script, on virtual time, and return the exit status."""
    with SignalWatch() as signals:
        return asyncio.run(_simulate(plan, signals))


async def _simulate(plan: Plan, signals: SignalWatch) -> int:
    scenario, options = plan.scenario or NO_SCENARIO, plan.options
    roster = Roster(plan.wanted)
    mask = Mask(hides=not options.show_secrets)
    if not options.show_secrets:
        roster.tell(lambda pods: mask.learn(secrets_of(pods)))
        roster.tell_objects(lambda objects: mask.learn(secrets_of_objects(objects)))
    # Where nothing is random, two runs of one script are the same.
    config = KubeletConfig(seed=options.seed or 0)
    if options.kubelet_age == "fresh":
        config = replace(config, age=timedelta())
    config = replace(
        config, kills=options.act, restarts=options.act, freezes=options.freeze
    )
    config = replace(config, tells_findings=not options.no_findings)
    outputs = Outputs(plan, roster, mask, scenario.start, goes_back=True)

    def begin() -> Simulation:
        simulation = Simulation(
            Engine(config, scenario.start), scenario.world(), scenario.start
        )
        wanted = plan.wanted
        if wanted.objects:
            simulation.schedule(SetObjects(wanted.objects), scenario.start)
        simulation.schedule(SetPods(wanted.pods, dict(wanted.places)), scenario.start)
        for at, command in scenario.commands(wanted.pods):
            simulation.schedule(command, at)
        return simulation

    journal = SessionJournal(SEEKABLE)

    def hear(item: Input | None, now: datetime) -> None:
        outputs.hear(item, now, len(journal))

    course = SimulatedCourse(begin, hear, journal)
    show = _Show(plan, course, outputs, mask, "sim", _length(plan))
    return await show.run(config, signals)


def _length(plan: Plan) -> timedelta | None:
    """Return how long a simulation is to go on at most, None for ever."""
    options = plan.options
    lengths = [each for each in (options.play_for, options.timeout) if each is not None]
    if not lengths and plan.form is Form.LINES and plan.watch is None:
        return LONG_ENOUGH
    return min(lengths, default=None)


def play_recording(plan: Plan, course: Course, runtime_name: str) -> int:
    """Play a recording and return the exit status."""
    roster = Roster(plan.wanted)
    mask = Mask()
    outputs = Outputs(plan, roster, mask, course.now, goes_back=True)
    show = _Show(plan, course, outputs, mask, runtime_name, plan.options.timeout)
    with SignalWatch() as signals:
        return asyncio.run(show.run(KubeletConfig(), signals))


class _Show:
    """One session on a clock of its own, while it lasts."""

    def __init__(
        self,
        plan: Plan,
        course: Course,
        outputs: Outputs,
        mask: Mask,
        runtime_name: str,
        length: timedelta | None,
    ) -> None:
        options = plan.options
        self._plan = plan
        self._course = course
        self._outputs = outputs
        self._mask = mask
        self._length = length
        pace = options.time_scale
        if pace is None and plan.form is Form.SCREEN:
            pace = 1.0
        self._session = PlayedSession(
            course,
            SystemClock(awake_ns),
            runtime_name=runtime_name,
            pace=pace,
            limit=None if length is None else course.now + length,
        )

    async def run(self, config: KubeletConfig, signals: SignalWatch) -> int:
        """Show it from its beginning to its end, and return the exit status."""
        plan, session = self._plan, self._session
        sinks = self._outputs.open(session.runtime_name, config)
        is_simulated = self._course.kind is PlaybackKind.SIM
        follower = Follower(
            session,
            sinks,
            plan.watch,
            ends_with_pods=is_simulated and plan.form is Form.LINES,
        )

        def rewind(entries: int, inputs: int, at: datetime) -> None:
            follower.rewind(entries)
            self._outputs.rewind(session.journal, inputs, at)

        session.on_rewind = rewind
        session.on_end = lambda: self._end(follower)
        session.is_over = lambda: follower.is_over
        if plan.options.paused:
            # What is there from the beginning is to be seen.
            session.seek(self._course.now)
        async with asyncio.TaskGroup() as tasks:
            with self._outputs, follower, Interrupts(follower, signals):
                playing = tasks.create_task(session.run())
                verdict = await self._look(follower)
                session.stop()
                await playing
        # How a recorded session went is no answer to whether it could be played.
        if is_simulated:
            verdict = final_verdict(verdict, session.snapshot)
        if verdict.message:
            plan.notes.error(verdict.message)
        if self._course.note:
            plan.notes.warning(self._course.note)
        self._outputs.close(verdict, session.snapshot.taken_at)
        return verdict.exit_status

    async def _look(self, follower: Follower) -> Verdict:
        """Return why it is over, as soon as it is."""
        plan = self._plan
        if plan.form is Form.LINES:
            if plan.intro:
                plan.notes.note(plan.intro)
            collector.settle()
            return await follower.verdict()
        # Late: the screen's library is slow to import and lines do not need it.
        from probetui.cli.screen import show_screen  # noqa: PLC0415

        # Its time limit is one of its own time.
        in_own_time = replace(plan, options=replace(plan.options, timeout=None))
        return await show_screen(
            in_own_time,
            self._session,
            follower,
            self._mask,
            self._outputs.saver(follower.drain),
        )

    def _end(self, follower: Follower) -> None:
        """Say what it means that there is no more."""
        plan, options = self._plan, self._plan.options
        end = self._course.end
        has_more = end is None or self._course.now < end
        if has_more and self._length is not None and self._length == options.timeout:
            waited = f" before {plan.watch.condition}" if plan.watch else ""
            message = f"the time limit came{waited}"
            follower.end(Verdict("timeout", TIME_IS_UP, message))
        elif plan.watch is not None:
            message = f"it is over before {plan.watch.condition}"
            follower.end(Verdict(PLAYED, ANSWER_IS_NO, message))
        elif plan.form is Form.LINES or end is None:
            if self._length == LONG_ENOUGH and options.play_for is None:
                plan.notes.note("10 minutes were simulated; --for plays longer")
            follower.end(Verdict(PLAYED, DONE))
