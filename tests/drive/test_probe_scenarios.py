"""Scenarios of liveness, readiness and startup probes, on virtual time."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from probetui.debugger.commands import (
    PauseProbes,
    ResumeProbes,
    StepProbe,
    TriggerProbe,
)
from probetui.drive.scenario.behavior import InstanceBehavior, ProbeAnswer
from probetui.engine.inputs import DeletePod
from probetui.k8s.pod import Pod
from probetui.k8s.probe import ProbeType
from probetui.k8s.status import ConditionStatus
from probetui.kubelet.journal import (
    ExitCause,
    LifecycleStep,
    Skip,
    StateField,
    TickAction,
    TickEntry,
    Trigger,
    UserEntry,
)
from tests.builders import a_container, a_key, a_pod, a_probe, at
from tests.drive.engine_bench import (
    ERRS,
    FAILS,
    SUCCEEDS,
    EngineBench,
    always,
    in_turn,
    probing,
    seconds,
)

LIVENESS, READINESS, STARTUP = ProbeType


def probed(**probes: dict[str, Any]) -> Pod:
    """Return a pod with probes (`liveness={…}`); the default period is one second."""
    fields: dict[str, Any] = {
        f"{kind}_probe": a_probe(**{"period_seconds": 1, **fields})
        for kind, fields in probes.items()
    }
    return a_pod(a_container(**fields))


def by_age(limit: float, before: ProbeAnswer, after: ProbeAnswer) -> Any:
    """Answer by the age of the instance in seconds."""
    return lambda age: before if age < limit else after


class TestLiveness:
    def test_third_failure_in_a_row_kills_the_container(self) -> None:
        bench = EngineBench(
            probed(liveness={}), probing=probing(liveness=always(FAILS))
        )

        bench.run_until(5)

        assert bench.reasons() == [
            *["Pulled", "Created", "Started"],
            *["Unhealthy", "Unhealthy", "Unhealthy"],
            "Killing",
            *["Pulled", "Created", "Started"],
        ]
        assert bench.events("Killing") == [
            (4, "Container app failed liveness probe, will be restarted")
        ]
        assert bench.lifecycle_entries(LifecycleStep.EXITED)[0].by is ExitCause.LIVENESS

    def test_a_success_between_failures_prevents_a_kill(self) -> None:
        answers = in_turn(*[FAILS, FAILS, SUCCEEDS] * 5, SUCCEEDS)
        bench = EngineBench(probed(liveness={}), probing=probing(liveness=answers))

        bench.run_until(30)

        assert len(bench.times("Unhealthy")) == 10
        assert bench.times("Killing") == []

    def test_errors_are_reported_at_every_tick_and_never_kill(self) -> None:
        bench = EngineBench(probed(liveness={}), probing=probing(liveness=always(ERRS)))

        bench.run_until(60)

        assert len(bench.times("Unhealthy")) == 59
        assert bench.times("Killing") == []
        assert bench.probe(LIVENESS).errors == 59
        assert len(bench.ticks(LIVENESS)[-1].attempts) == 3

    def test_errors_between_failures_neither_count_nor_reset_the_run(self) -> None:
        answers = in_turn(FAILS, ERRS, FAILS, ERRS, FAILS)
        bench = EngineBench(probed(liveness={}), probing=probing(liveness=answers))

        bench.run_until(6.5)

        assert bench.times("Killing") == [6]

    def test_after_a_kill_a_worker_is_on_hold_until_a_tick_finds_the_new_container(
        self,
    ) -> None:
        """The hold outlasts the restart by up to a period."""
        bench = EngineBench(
            probed(liveness={"period_seconds": 5, "failure_threshold": 1}),
            probing=probing(liveness=in_turn(FAILS, SUCCEEDS)),
        )

        bench.run_until(20)

        assert bench.changes(StateField.HOLD, "Liveness") == [
            (5, "off", "on"),
            (10, "on", "off"),
        ]
        restarted = bench.lifecycle_entries(LifecycleStep.STARTED)[1]
        assert seconds(restarted.at) == 5
        assert bench.probed(LIVENESS) == [5, 10, 15, 20]
        new = [tick for tick in bench.ticks(LIVENESS) if tick.new_container]
        assert new[1].container_id == restarted.container_id
        assert new[1].at == at(10)

    def test_a_container_that_is_being_stopped_is_not_probed(self) -> None:
        bench = EngineBench(
            probed(liveness={"failure_threshold": 1}),
            probing=probing(liveness=in_turn(FAILS, SUCCEEDS)),
            lives={"app": (InstanceBehavior(stops_after=timedelta(seconds=9)),)},
        )

        bench.run_until(11)

        skips = {tick.skip for tick in bench.ticks(LIVENESS)[3:-1]}
        assert skips == {Skip.ON_HOLD}
        assert bench.probed(LIVENESS)[0] == 2
        assert seconds(bench.lifecycle_entries(LifecycleStep.STARTED)[1].at) == 11

    def test_nothing_is_probed_before_the_initial_delay(self) -> None:
        bench = EngineBench(probed(liveness={"initial_delay_seconds": 7}))

        bench.run_until(10)

        assert bench.probed(LIVENESS) == [7, 8, 9, 10]
        assert {tick.skip for tick in bench.ticks(LIVENESS)[3:7]} == {
            Skip.INITIAL_DELAY
        }

    def test_a_slow_probe_drops_ticks_and_never_overlaps(self) -> None:
        slow = ProbeAnswer(SUCCEEDS.attempt, timedelta(seconds=2.5))
        bench = EngineBench(
            probed(liveness={}), probing=probing(liveness=in_turn(slow, SUCCEEDS))
        )

        bench.run_until(7)

        assert bench.probed(LIVENESS) == [2, 4.5, 5, 6, 7]


class TestStartup:
    def test_other_probes_wait_until_the_startup_probe_succeeds(self) -> None:
        bench = EngineBench(
            probed(startup={"failure_threshold": 30}, liveness={}, readiness={}),
            probing=probing(startup=by_age(5, FAILS, SUCCEEDS)),
        )

        bench.run_until(8)

        assert bench.probed(STARTUP) == [2, 3, 4, 5]
        assert bench.probed(LIVENESS)[0] >= 5
        assert bench.probed(READINESS)[0] >= 5
        assert bench.changes(StateField.STARTED) == [(5, "false", "true")]
        assert bench.ticks(STARTUP)[5].action is TickAction.STARTED

    def test_a_startup_probe_that_succeeded_is_on_hold(self) -> None:
        bench = EngineBench(probed(startup={}))

        bench.run_until(6)

        assert len(bench.probed(STARTUP)) == 1
        assert bench.probe(STARTUP).on_hold
        assert bench.probe(STARTUP).upcoming_skip is Skip.ON_HOLD

    def test_a_container_that_never_starts_up_is_killed(self) -> None:
        bench = EngineBench(
            probed(startup={"failure_threshold": 4}),
            probing=probing(startup=always(FAILS)),
        )

        bench.run_until(5)

        assert bench.events("Killing") == [
            (5, "Container app failed startup probe, will be restarted")
        ]
        assert (
            bench.lifecycle_entries(LifecycleStep.STOPPING)[0].by is ExitCause.STARTUP
        )

    def test_after_a_restart_a_container_starts_up_again(self) -> None:
        bench = EngineBench(
            probed(startup={}, liveness={"failure_threshold": 1}),
            probing=probing(liveness=in_turn(FAILS, SUCCEEDS)),
        )

        bench.run_until(12)

        assert [after for _, _, after in bench.changes(StateField.STARTED)] == [
            "true",
            "false",
            "true",
        ]
        assert len(bench.probed(STARTUP)) == 2


class TestReadiness:
    def test_a_pod_becomes_ready_and_not_ready_and_is_never_killed(self) -> None:
        bench = EngineBench(
            probed(readiness={"failure_threshold": 2}),
            probing=probing(readiness=lambda age: FAILS if 5 <= age < 10 else SUCCEEDS),
        )

        bench.run_until(15)

        assert bench.changes(StateField.CONDITION, "Ready") == [
            (0, "", "False"),
            (1, "False", "True"),
            (6, "True", "False"),
            (10, "False", "True"),
        ]
        assert [change[1:] for change in bench.changes(StateField.READY)] == [
            ("false", "true"),
            ("true", "false"),
            ("false", "true"),
        ]
        assert bench.times("Killing") == []

    def test_the_success_threshold_delays_readiness(self) -> None:
        bench = EngineBench(
            probed(readiness={"success_threshold": 3, "period_seconds": 4})
        )

        bench.run_until(30)

        runs = [
            (tick.run.count, tick.action)
            for tick in bench.ticks(READINESS)
            if tick.result is not None
        ]
        assert runs[:3] == [
            (1, TickAction.NONE),
            (2, TickAction.NONE),
            (3, TickAction.READY),
        ]

    def test_an_unready_container_is_probed_at_once_when_its_status_is_generated(
        self,
    ) -> None:
        bench = EngineBench(
            probed(readiness={"period_seconds": 20}),
            probing=probing(readiness=in_turn(FAILS, SUCCEEDS)),
        )

        bench.run_until(5)

        triggers = {tick.trigger for tick in bench.ticks(READINESS) if tick.attempts}
        assert triggers == {Trigger.READINESS}
        ready = bench.snapshot.pods[0].status.condition("Ready")
        assert ready is not None
        assert ready.status is ConditionStatus.TRUE

    def test_a_running_container_without_a_readiness_probe_is_ready(self) -> None:
        bench = EngineBench(a_pod())

        bench.run_until(2)

        assert bench.changes(StateField.READY) == [(1, "false", "true")]

    def test_readiness_is_probed_while_the_pod_terminates(self) -> None:
        bench = EngineBench(
            probed(readiness={}, liveness={}, startup={}),
            lives={"app": (InstanceBehavior(stops_after=timedelta(seconds=5)),)},
        )
        bench.run_until(10)

        bench.send(DeletePod("uid-of-web"))
        bench.run_until(30)

        after = {
            kind: [tick.at for tick in bench.ticks(kind) if tick.at > at(10)]
            for kind in ProbeType
        }
        assert after[LIVENESS] == after[STARTUP] == []
        assert after[READINESS][:5] == [at(second) for second in range(11, 16)]


class TestStepMode:
    def steps(self, bench: EngineBench) -> int:
        return len(bench.of(TickEntry))

    def test_a_pause_stops_ticks_and_nothing_else(self) -> None:
        bench = EngineBench(probed(liveness={}))
        bench.run_until(5)
        before = self.steps(bench)

        bench.send(PauseProbes())
        bench.run_until(60)

        assert self.steps(bench) == before
        assert bench.snapshot.is_paused
        assert bench.probe(LIVENESS).is_held_back

    def test_one_step_runs_exactly_one_tick(self) -> None:
        bench = EngineBench(probed(liveness={}, readiness={"period_seconds": 3}))
        bench.run_until(10)
        bench.send(PauseProbes())
        before = self.steps(bench)

        ran = []
        for second in range(11, 17):
            bench.run_until(second)
            upcoming = bench.snapshot.queue[0].key
            bench.send(StepProbe())
            bench.run_until(second)
            ran.append((upcoming, bench.of(TickEntry)[-1].key))

        assert self.steps(bench) == before + 6
        assert all(upcoming == key for upcoming, key in ran)
        assert {key.probe_type for key, _ in ran} == {LIVENESS, READINESS}

    def test_a_step_from_running_pauses_first(self) -> None:
        bench = EngineBench(probed(liveness={"period_seconds": 10}))
        bench.run_until(12)

        bench.send(StepProbe())
        bench.run_until(60)

        assert bench.snapshot.is_paused
        assert bench.ticks(LIVENESS)[-1].timing.started_at == at(12)

    def test_three_steps_of_failure_kill_as_three_ticks_would(self) -> None:
        bench = EngineBench(
            probed(liveness={}), probing=probing(liveness=always(FAILS))
        )
        bench.run_until(1)
        bench.send(PauseProbes())

        for _ in range(3):
            bench.send(StepProbe())
            bench.run_until(1)
        bench.run_until(2)

        assert bench.times("Killing") == [2]
        assert len(bench.probed(LIVENESS)) == 3

    def test_after_a_pause_each_worker_runs_one_tick_that_was_held_back(self) -> None:
        bench = EngineBench(probed(liveness={"period_seconds": 2}))
        bench.run_until(4)
        bench.send(PauseProbes())
        bench.run_until(15)

        bench.send(ResumeProbes())
        bench.run_until(18)

        assert bench.probed(LIVENESS)[-3:] == [15, 16, 18]
        assert not bench.snapshot.is_paused

    def test_a_probe_can_be_triggered_while_paused(self) -> None:
        bench = EngineBench(probed(liveness={"period_seconds": 30}))
        bench.run_until(35)
        bench.send(PauseProbes())

        bench.send(TriggerProbe(a_key(LIVENESS)))
        bench.run_until(36)

        tick = bench.ticks(LIVENESS)[-1]
        assert (tick.trigger, tick.timing.started_at) == (Trigger.USER, at(35))

    def test_commands_of_the_user_are_journaled(self) -> None:
        bench = EngineBench(probed(liveness={}))

        for command in (
            PauseProbes(),
            StepProbe(),
            TriggerProbe(a_key(LIVENESS)),
            ResumeProbes(),
        ):
            bench.send(command)

        assert [(entry.command, entry.target) for entry in bench.of(UserEntry)] == [
            ("pause", "all probes"),
            ("step", "the next probe"),
            ("probe now", "web/app liveness"),
            ("resume", "all probes"),
        ]

    def test_a_pause_does_not_keep_a_deleted_pod(self) -> None:
        bench = EngineBench(probed(liveness={}, readiness={}, startup={}))
        bench.run_until(5)
        bench.send(PauseProbes())

        bench.send(DeletePod("uid-of-web"))
        bench.run_until(10)

        assert bench.runtime_pods() == ()
        assert bench.snapshot.pods == ()
        assert bench.snapshot.queue == ()
