from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from probetui.k8s.pod import RestartPolicy
from probetui.k8s.probe import HTTPGetAction, ProbeType
from probetui.k8s.status import (
    ContainerStatus,
    PodPhase,
    PodStatus,
    Running,
    Terminated,
    Waiting,
)
from probetui.kubelet.config import KubeletConfig
from probetui.kubelet.effects import RunProbe
from probetui.kubelet.journal import (
    EventEntry,
    Exit,
    Skip,
    StateEntry,
    StateField,
    TickAction,
    TickEntry,
    Trigger,
)
from probetui.kubelet.outcome import ProbeResult, Result
from probetui.kubelet.prober.prober_manager import ProbeManager
from probetui.kubelet.prober.worker_scheduler import CANCELED
from tests.builders import (
    START,
    a_container,
    a_container_status,
    a_key,
    a_pod,
    a_probe,
    a_status,
    at,
)
from tests.kubelet.prober.bench import (
    APP,
    FAILS,
    LIVENESS,
    READINESS,
    STARTUP,
    SUCCEEDS,
    WARNS,
    Bench,
    a_probed_container,
    with_probe,
)


class TestAddingAndRemovingWorkers:
    def test_every_probe_of_regular_containers_and_sidecars_gets_a_worker(self) -> None:
        side = a_probed_container("side", restart_policy=RestartPolicy.ALWAYS)
        init = a_probed_container("init")
        pod = a_pod(a_probed_container(), init_containers=(init, side))

        bench = Bench(pod)

        assert bench.workers() == [
            ("app", STARTUP),
            ("app", READINESS),
            ("app", LIVENESS),
            ("side", STARTUP),
            ("side", READINESS),
            ("side", LIVENESS),
        ]

    def test_probes_that_are_not_defined_get_none(self) -> None:
        assert Bench(a_pod()).workers() == []

    def test_to_add_a_pod_again_changes_nothing(self) -> None:
        bench = Bench(with_probe(LIVENESS))
        loop = bench.loop(LIVENESS)

        bench.manager.add_pod(bench.pod, at(5))

        assert bench.loop(LIVENESS) is loop

    def test_a_container_behind_one_with_workers_never_gets_its_own(self) -> None:
        """Quirk: the whole call ends at the first worker that exists."""
        bench = Bench(with_probe(LIVENESS))
        app, new = bench.pod.containers[0], a_probed_container("new")

        bench.manager.add_pod(a_pod(app, new), START)
        behind = bench.workers()
        bench.manager.add_pod(a_pod(new, app), START)

        assert behind == [("app", LIVENESS)]
        assert bench.workers()[1:] == [
            ("new", STARTUP),
            ("new", READINESS),
            ("new", LIVENESS),
        ]

    def test_on_termination_readiness_and_sidecars_go_on(self) -> None:
        side = a_probed_container("side", restart_policy=RestartPolicy.ALWAYS)
        bench = Bench(a_pod(a_probed_container(), init_containers=(side,)))
        bench.run(0)

        bench.manager.stop_liveness_and_startup(bench.pod)
        bench.run(0)

        assert ("app", READINESS) in bench.workers()
        assert bench.workers()[-1] == ("side", LIVENESS)
        assert ("app", STARTUP) not in bench.workers()

    def test_a_cancelled_command_has_three_errors_and_its_answer_is_ignored(
        self,
    ) -> None:
        bench = Bench(with_probe(LIVENESS))
        bench.run(0)

        bench.manager.cancel_commands(bench.pod, at(0.5))
        bench.answer(FAILS)

        (tick,) = bench.ticks()
        assert [attempt.error for attempt in tick.attempts] == [CANCELED] * 3
        assert bench.loop(LIVENESS).in_flight is None

    def test_probes_that_run_no_command_are_not_cancelled(self) -> None:
        bench = Bench(with_probe(LIVENESS, handler=HTTPGetAction(80, "/")))
        bench.run(0)

        bench.manager.cancel_commands(bench.pod, at(0.5))
        bench.finish_turn()

        assert bench.ticks() == []
        assert bench.loop(LIVENESS).in_flight is not None

    def test_a_pod_that_is_removed_loses_all_its_workers(self) -> None:
        side = a_probed_container("side", restart_policy=RestartPolicy.ALWAYS)
        bench = Bench(a_pod(a_probed_container(), init_containers=(side,)))
        bench.publish(phase=PodPhase.PENDING)
        bench.run(0)

        bench.manager.remove_pod(bench.pod)
        bench.run(0)

        assert bench.workers() == []
        assert bench.manager.scheduler.next_deadline() is None

    def test_the_result_of_a_stopped_worker_is_removed_without_an_update(self) -> None:
        bench = Bench(with_probe(LIVENESS))
        bench.run(0)
        bench.answer()
        results = bench.manager.results[LIVENESS]
        results.take_updates()

        bench.manager.remove_pod(bench.pod)
        bench.run(0.5)

        assert results.get(APP) is None
        assert results.take_updates() == ()

    def test_workers_of_removed_pods_are_stopped(self) -> None:
        bench = Bench(with_probe(LIVENESS))
        other = a_pod(a_probed_container(), name="other")
        bench.manager.add_pod(other, START)
        bench.run(0)

        bench.manager.cleanup_pods({bench.pod.uid})
        bench.run(0)

        assert bench.workers() == [("app", LIVENESS)]

    def test_a_worker_whose_probe_is_under_way_leaves_when_it_is_over(self) -> None:
        bench = Bench(with_probe(LIVENESS, failure_threshold=1))
        bench.run(0)
        bench.manager.remove_pod(bench.pod)
        bench.run(0.5)
        assert bench.workers() == [("app", LIVENESS)]

        bench.answer(FAILS)
        bench.run(0.5)

        assert bench.workers() == []
        assert bench.ticks()[-1].result is Result.FAILURE

    def test_a_stop_before_the_first_step_takes_effect_after_it(self) -> None:
        bench = Bench(with_probe(LIVENESS, period_seconds=10), age_seconds=0)

        bench.manager.remove_pod(bench.pod)
        bench.run(0)

        assert bench.workers() == [("app", LIVENESS)]

    @pytest.mark.parametrize(
        ("status", "why"),
        [
            pytest.param(
                a_status(phase=PodPhase.FAILED), Exit.POD_ENDED, id="pod-ended"
            ),
            pytest.param(
                a_status(a_container_status(state=Terminated(0))),
                Exit.CONTAINER_WILL_NOT_RESTART,
                id="never-restarted",
            ),
        ],
    )
    def test_a_worker_leaves_by_itself(self, status: PodStatus, why: Exit) -> None:
        pod = replace(with_probe(LIVENESS), restart_policy=RestartPolicy.NEVER)
        bench = Bench(pod)
        bench.statuses[pod.uid] = status

        bench.run(0)

        assert bench.workers() == []
        assert bench.ticks()[-1].exit is why

    def test_a_changed_definition_reaches_the_workers_of_its_pod(self) -> None:
        bench = Bench(with_probe(LIVENESS))
        bench.manager.add_pod(a_pod(a_probed_container(), name="other"), START)

        bench.manager.replace_pod(replace(bench.pod, deletion_requested_at=START))
        bench.run(0)

        assert bench.ticks()[0].exit is Exit.POD_DELETED
        assert bench.workers()[0] == ("app", STARTUP)

    def test_a_probe_that_ends_after_the_deletion_of_its_pod_kills_nothing(
        self,
    ) -> None:
        bench = Bench(with_probe(LIVENESS, failure_threshold=1))
        bench.run(0)
        bench.manager.replace_pod(replace(bench.pod, deletion_requested_at=START))

        bench.answer(FAILS)

        (tick,) = bench.ticks()
        assert (tick.result, tick.action) == (Result.FAILURE, TickAction.NONE)

    def test_a_worker_that_is_not_there_is_none(self) -> None:
        assert Bench(a_pod()).manager.worker(a_key()) is None


class TestTicks:
    def test_a_probe_has_all_that_the_prober_needs(self) -> None:
        bench = Bench(with_probe(LIVENESS))

        bench.run(0)

        (effect,) = bench.started_probes
        container = bench.pod.containers[0]
        assert effect == RunProbe(
            effect.probe_id,
            a_key(LIVENESS),
            bench.pod,
            container,
            container.probe(LIVENESS) or a_probe(),
            APP,
            "10.0.0.2",
        )

    def test_ticks_come_once_a_period(self) -> None:
        bench = Bench(with_probe(LIVENESS, period_seconds=2))
        for second in range(5):
            bench.run(second)
            if bench.started_probes:
                bench.answer()

        assert [tick.timing.started_at for tick in bench.ticks()] == [
            at(0),
            at(2),
            at(4),
        ]

    def test_the_entry_of_a_tick_has_all_its_fields(self) -> None:
        bench = Bench(with_probe(LIVENESS, failure_threshold=3))
        bench.run(0)
        bench.now = at(0.25)

        bench.answer(FAILS, output="not well")

        (tick,) = bench.ticks()
        assert (tick.sequence, tick.at, tick.timing.started_at) == (1, at(0.25), at(0))
        assert tick.timing.duration == timedelta(milliseconds=250)
        assert (tick.key, tick.n, tick.trigger) == (
            a_key(LIVENESS),
            1,
            Trigger.PERIODIC,
        )
        assert (tick.container_id, tick.new_container) == (APP, True)
        assert (tick.skip, tick.exit, tick.overridden.injected) == (None, None, False)
        assert tick.gates[-1].name == "startup gate"
        assert [attempt.output for attempt in tick.attempts] == ["not well"]
        assert (tick.result, tick.run.count, tick.run.threshold) == (
            Result.FAILURE,
            1,
            3,
        )
        assert tick.stored.before is tick.stored.after is Result.SUCCESS
        assert (tick.hold.before, tick.hold.after) == (False, False)
        assert tick.action is TickAction.NONE

    def test_the_entry_of_a_skipped_tick_has_the_reason(self) -> None:
        bench = Bench(with_probe(LIVENESS, initial_delay_seconds=9))

        bench.run(0)

        (tick,) = bench.ticks()
        assert (tick.skip, tick.exit, tick.attempts) == (Skip.INITIAL_DELAY, None, ())
        assert (tick.n, tick.result, tick.timing.duration) == (1, None, timedelta())
        assert tick.gates[-1].name == "initial delay"
        assert tick.action is TickAction.NONE

    def test_events_follow_their_tick_and_effects_follow_events(self) -> None:
        bench = Bench(with_probe(LIVENESS, failure_threshold=1))
        bench.run(0)

        bench.answer(FAILS, output="not well")

        tick, event, result, hold = bench.entries
        assert isinstance(tick, TickEntry)
        assert isinstance(event, EventEntry)
        assert isinstance(result, StateEntry)
        assert isinstance(hold, StateEntry)
        assert (result.what, result.after) == (StateField.RESULT, "Failure")
        assert (hold.what, hold.after) == (StateField.HOLD, "on")
        assert [entry.sequence for entry in bench.entries] == [1, 2, 3, 4]
        assert event.tick is bench.ticks()[0]
        assert event.event.message == "Liveness probe failed: not well"
        assert event.event.field_path == "spec.containers{app}"

    def test_a_success_makes_no_event(self) -> None:
        bench = Bench(with_probe(LIVENESS))
        bench.run(0)

        bench.answer()

        assert not [entry for entry in bench.entries if isinstance(entry, EventEntry)]

    def test_an_error_is_journaled_and_does_not_count(self) -> None:
        bench = Bench(with_probe(LIVENESS, failure_threshold=1))
        bench.run(0)

        bench.answer(FAILS, error="no such file")

        (tick,) = bench.ticks()
        assert (tick.result, tick.action) == (None, TickAction.DISCARDED)
        assert (tick.run.count, tick.run.threshold) == (0, 1)
        (event,) = (entry for entry in bench.entries if isinstance(entry, EventEntry))
        assert event.event.message == "Liveness probe errored: no such file"
        assert bench.manager.results[LIVENESS].get(APP) is Result.SUCCESS

    def test_what_became_of_ticks_is_counted(self) -> None:
        bench = Bench(with_probe(LIVENESS))
        for second, (result, error) in enumerate(
            [(SUCCEEDS, None), (WARNS, None), (FAILS, None), (FAILS, "no")]
        ):
            bench.run(second)
            bench.answer(result, error=error)
        bench.publish()
        bench.run(4)

        loop = bench.loop(LIVENESS)
        counts = (loop.ticks, loop.successes, loop.failures, loop.errors, loop.skips)
        assert counts == (5, 2, 1, 1, 1)
        assert loop.last_run is bench.ticks()[3]
        assert list(loop.history) == bench.ticks()

    def test_the_history_is_bounded(self) -> None:
        bench = Bench(with_probe(LIVENESS, initial_delay_seconds=1000))

        bench.run(100)

        assert len(bench.loop(LIVENESS).history) == 60
        assert bench.loop(LIVENESS).ticks == 101

    def test_one_tick_during_a_slow_probe_runs_right_after_it(self) -> None:
        bench = Bench(with_probe(LIVENESS))
        bench.run(0)
        bench.run(2.5)
        bench.answer()
        bench.run(2.5)

        assert len(bench.started_probes) == 1
        bench.answer()
        assert bench.manager.scheduler.next_deadline() == at(3)

    def test_nothing_of_a_probe_in_flight_keeps_its_worker_s_timer(self) -> None:
        bench = Bench(with_probe(LIVENESS))

        bench.run(0)

        assert bench.manager.scheduler.next_deadline() is None


class TestActions:
    @pytest.mark.parametrize(
        ("kind", "started", "result", "action", "stored_result"),
        [
            pytest.param(
                LIVENESS,
                True,
                FAILS,
                TickAction.KILL,
                ("Success", "Failure"),
                id="kill",
            ),
            pytest.param(
                LIVENESS, True, SUCCEEDS, TickAction.NONE, None, id="still-alive"
            ),
            pytest.param(
                STARTUP,
                False,
                SUCCEEDS,
                TickAction.STARTED,
                ("Unknown", "Success"),
                id="started",
            ),
            pytest.param(
                STARTUP,
                False,
                FAILS,
                TickAction.KILL,
                ("Unknown", "Failure"),
                id="never-started",
            ),
            pytest.param(
                READINESS,
                True,
                SUCCEEDS,
                TickAction.READY,
                ("Failure", "Success"),
                id="ready",
            ),
            pytest.param(
                READINESS, True, FAILS, TickAction.NONE, None, id="still-not-ready"
            ),
        ],
    )
    def test_the_entry_of_a_tick_has_its_consequences(
        self,
        *,
        kind: ProbeType,
        started: bool,
        result: ProbeResult,
        action: TickAction,
        stored_result: tuple[str, str] | None,
    ) -> None:
        bench = Bench(with_probe(kind, failure_threshold=1, initial_delay_seconds=1))
        bench.publish(a_container_status(started=started))
        bench.run(1)

        bench.answer(result)

        assert bench.ticks()[-1].action is action
        assert bench.states(StateField.RESULT)[1:] == (
            [stored_result] if stored_result else []
        )

    def test_a_container_that_was_ready_can_become_not_ready(self) -> None:
        bench = Bench(with_probe(READINESS, failure_threshold=1))
        for second, result in enumerate([SUCCEEDS, FAILS]):
            bench.run(second)
            bench.answer(result)

        assert [tick.action for tick in bench.ticks()] == [
            TickAction.READY,
            TickAction.NOT_READY,
        ]

    def test_the_initial_result_of_a_new_container_is_journaled(self) -> None:
        bench = Bench(with_probe(LIVENESS))
        bench.run(0)

        bench.answer()

        assert bench.states(StateField.RESULT) == [("", "Success")]

    def test_the_start_and_the_end_of_a_hold_are_journaled(self) -> None:
        bench = Bench(with_probe(LIVENESS, failure_threshold=1))
        bench.run(0)
        bench.answer(FAILS)
        bench.publish(a_container_status(number=1))

        bench.run(1)
        bench.answer()

        assert bench.states(StateField.HOLD) == [("off", "on"), ("on", "off")]
        assert (bench.ticks()[-1].hold.before, bench.ticks()[-1].hold.after) == (
            True,
            False,
        )

    def test_a_hold_that_ends_and_starts_in_one_tick_has_two_entries(self) -> None:
        bench = Bench(with_probe(LIVENESS, failure_threshold=1))
        for number in range(2):
            bench.publish(a_container_status(number=number))
            bench.run(number)
            bench.answer(FAILS)

        assert bench.states(StateField.HOLD) == [
            ("off", "on"),
            ("on", "off"),
            ("off", "on"),
        ]

    def test_state_entries_name_the_tick_behind_them(self) -> None:
        bench = Bench(with_probe(LIVENESS))
        bench.run(0)

        bench.answer()

        (state,) = [entry for entry in bench.entries if isinstance(entry, StateEntry)]
        assert state.cause == bench.ticks()[0].sequence
        assert (state.container_name, state.subject) == ("app", "Liveness")


class TestTriggers:
    def test_a_person_can_have_a_probe_at_once(self) -> None:
        bench = Bench(with_probe(LIVENESS, period_seconds=10))
        bench.run(0)
        bench.answer()
        bench.run(3)

        is_accepted = bench.manager.scheduler.trigger(a_key(LIVENESS))
        bench.run(3)
        bench.answer()

        assert is_accepted
        assert bench.ticks()[-1].trigger is Trigger.USER
        assert bench.manager.scheduler.next_deadline() == at(13)

    def test_a_second_trigger_is_dropped_and_so_is_one_for_nobody(self) -> None:
        bench = Bench(with_probe(LIVENESS))
        bench.manager.scheduler.trigger(a_key(LIVENESS))

        assert not bench.manager.scheduler.trigger(a_key(LIVENESS))
        assert not bench.manager.scheduler.trigger(a_key(READINESS))

    def test_a_trigger_during_a_probe_takes_effect_after_it(self) -> None:
        bench = Bench(with_probe(LIVENESS, period_seconds=10))
        bench.run(0)
        bench.manager.scheduler.trigger(a_key(LIVENESS))
        bench.run(2)

        bench.answer()
        bench.run(2)

        assert len(bench.started_probes) == 1

    def test_a_trigger_before_the_first_step_waits_for_it(self) -> None:
        bench = Bench(with_probe(LIVENESS, period_seconds=10), age_seconds=0)
        bench.manager.scheduler.trigger(a_key(LIVENESS))

        bench.run(0)

        assert bench.started_probes == []


class TestStartJitter:
    def test_an_old_kubelet_probes_at_once(self) -> None:
        bench = Bench(with_probe(LIVENESS, period_seconds=10), age_seconds=10)

        assert bench.manager.scheduler.next_deadline() == START

    def test_a_worker_of_a_new_kubelet_waits_a_random_part_of_the_period(self) -> None:
        """Quirk: however old it is already."""
        delays = [
            Bench(
                with_probe(LIVENESS, period_seconds=10), age_seconds=9, seed=seed
            ).manager.scheduler.next_deadline()
            for seed in range(20)
        ]

        waits = [delay - START for delay in delays if delay is not None]
        assert len(set(waits)) == 20
        assert min(waits) >= timedelta()
        assert timedelta(seconds=5) < max(waits) < timedelta(seconds=10)


class TestStatus:
    """What the beliefs make of `started` and `ready`."""

    def updated(
        self, bench: Bench, *regular: ContainerStatus, **fields: Any
    ) -> PodStatus:
        return bench.manager.update_pod_status(bench.pod, a_status(*regular, **fields))

    def updated_init(
        self, bench: Bench, *init: ContainerStatus
    ) -> tuple[ContainerStatus, ...]:
        status = self.updated(bench, init_container_statuses=init)
        return status.init_container_statuses or ()

    def flags(self, bench: Bench, **fields: Any) -> tuple[bool | None, bool]:
        given = a_container_status(**{"started": None, **fields})
        (status,) = self.updated(bench, given).container_statuses or ()
        return status.started, status.ready

    def test_without_probes_what_runs_is_started_and_ready(self) -> None:
        assert self.flags(Bench(a_pod())) == (True, True)

    @pytest.mark.parametrize(
        "state",
        [
            pytest.param(Waiting(), id="waiting"),
            pytest.param(Terminated(0), id="ended"),
        ],
    )
    def test_a_container_that_does_not_run_is_neither_started_nor_ready(
        self, state: Waiting | Terminated
    ) -> None:
        assert self.flags(Bench(a_pod()), state=state) == (False, False)

    def test_a_container_with_a_startup_worker_is_started_once_that_succeeds(
        self,
    ) -> None:
        bench = Bench(with_probe(STARTUP))
        before = self.flags(bench)

        bench.manager.results[STARTUP].set(APP, Result.SUCCESS, bench.pod.uid)

        assert (before, self.flags(bench)) == ((False, False), (True, True))

    @pytest.mark.parametrize("result", [Result.UNKNOWN, Result.FAILURE])
    def test_any_other_startup_result_means_not_started(self, result: Result) -> None:
        bench = Bench(a_pod())

        bench.manager.results[STARTUP].set(APP, result, bench.pod.uid)

        assert self.flags(bench) == (False, False)

    def test_what_is_not_ready_is_probed_at_once(self) -> None:
        bench = Bench(with_probe(READINESS, period_seconds=10))
        bench.run(0)
        bench.answer(FAILS)

        assert self.flags(bench, ready=True) == (True, False)
        bench.run(4)
        assert len(bench.started_probes) == 1
        bench.answer(FAILS)
        assert bench.ticks()[-1].trigger is Trigger.READINESS

    def test_a_container_with_a_stored_success_is_ready_without_a_probe(self) -> None:
        bench = Bench(with_probe(READINESS, period_seconds=10))
        bench.run(0)
        bench.answer()

        assert self.flags(bench) == (True, True)
        assert bench.loop(READINESS).trigger is None

    def test_a_failure_without_a_worker_does_not_count(self) -> None:
        bench = Bench(a_pod())

        bench.manager.results[READINESS].set(APP, Result.FAILURE, bench.pod.uid)

        assert self.flags(bench) == (True, True)

    def test_a_status_with_nothing_to_fill_in_stays_the_same_object(self) -> None:
        bench = Bench(a_pod())
        given = a_container_status(started=True, ready=True)

        (status,) = self.updated(bench, given).container_statuses or ()

        assert status is given

    def test_statuses_that_are_null_stay_null(self) -> None:
        status = self.updated(
            Bench(a_pod()), container_statuses=None, init_container_statuses=None
        )

        assert status.container_statuses is None
        assert status.init_container_statuses is None

    @pytest.mark.parametrize(
        ("state", "ready"),
        [
            pytest.param(Terminated(0), True, id="done"),
            pytest.param(Terminated(1), False, id="failed"),
            pytest.param(Running(START), False, id="running"),
        ],
    )
    def test_an_init_container_is_ready_once_it_succeeded(
        self, *, state: Terminated | Running, ready: bool
    ) -> None:
        bench = Bench(a_pod(init_containers=(a_container("init"),)))
        given = a_container_status("init", state=state)

        (status,) = (
            self.updated(
                bench, init_container_statuses=(given,)
            ).init_container_statuses
            or ()
        )

        assert status.ready is ready

    def test_a_sidecar_is_ready_like_a_regular_container(self) -> None:
        side = a_container("side", restart_policy=RestartPolicy.ALWAYS)
        bench = Bench(a_pod(init_containers=(side,)))
        given = a_container_status("side")

        (status,) = (
            self.updated(
                bench, init_container_statuses=(given,)
            ).init_container_statuses
            or ()
        )

        assert (status.started, status.ready) == (True, True)

    def test_init_containers_are_found_by_their_place(self) -> None:
        """Quirk: one whose status stands elsewhere, or nowhere, is left as it is."""
        side = a_container("side", restart_policy=RestartPolicy.ALWAYS)
        bench = Bench(a_pod(init_containers=(side,)))
        statuses = (a_container_status("other"), a_container_status("side"))

        updated = self.updated_init(bench, *statuses)

        assert [status.ready for status in updated] == [False, False]


def test_an_outcome_of_an_unknown_probe_is_a_bug() -> None:
    bench = Bench(with_probe(LIVENESS))
    bench.run(0)
    bench.loop(LIVENESS).in_flight = None

    with pytest.raises(AssertionError, match="no probe in flight"):
        bench.answer()


def test_pods_whose_workers_changed_are_noted() -> None:
    bench = Bench(with_probe(LIVENESS))
    assert bench.manager.scheduler.changed_pods == {bench.pod.uid}
    bench.manager.scheduler.changed_pods.clear()

    bench.run(0)

    assert bench.manager.scheduler.changed_pods == {bench.pod.uid}


def test_a_manager_without_a_status_source_has_no_statuses() -> None:
    manager = ProbeManager(KubeletConfig(), START)
    manager.add_pod(with_probe(LIVENESS), START)

    manager.scheduler.run_due(START)

    (loop,) = manager.scheduler.loops.values()
    assert [entry.skip for entry in loop.history] == [Skip.NO_STATUS]
