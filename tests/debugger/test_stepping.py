from __future__ import annotations

from probetui.debugger.stepping import tick_queue
from probetui.k8s.status import (
    PodPhase,
)
from probetui.kubelet.journal import (
    Trigger,
)
from tests.builders import (
    a_container,
    a_container_status,
    a_key,
    a_pod,
    a_probe,
    at,
)
from tests.kubelet.prober.bench import (
    FAILS,
    LIVENESS,
    READINESS,
    STARTUP,
    Bench,
    a_probed_container,
    with_probe,
)


class TestPause:
    def test_no_tick_comes_while_paused(self) -> None:
        bench = Bench(with_probe(LIVENESS))

        bench.stepper.pause()
        bench.run(60)

        assert bench.started_probes == []
        assert bench.manager.scheduler.next_deadline() is None

    def test_a_probe_that_is_under_way_goes_on(self) -> None:
        bench = Bench(with_probe(LIVENESS))
        bench.run(0)
        bench.stepper.pause()

        bench.answer()
        bench.run(60)

        assert len(bench.ticks()) == 1
        assert bench.started_probes == []

    def test_after_it_one_tick_that_was_held_back_comes_at_once(self) -> None:
        bench = Bench(with_probe(LIVENESS))
        bench.stepper.pause()
        bench.run(60.5)

        bench.stepper.resume(at(60.5))
        bench.run(60.5)
        bench.answer()

        assert len(bench.ticks()) == 1
        assert bench.manager.scheduler.next_deadline() == at(61.5)

    def test_a_trigger_of_readiness_waits_for_its_end(self) -> None:
        bench = Bench(with_probe(READINESS, period_seconds=10))
        bench.run(0)
        bench.answer(FAILS)
        bench.stepper.pause()
        bench.manager.scheduler.trigger(a_key(READINESS), Trigger.READINESS)
        bench.run(3)
        assert bench.started_probes == []

        bench.stepper.resume(at(3))
        bench.run(3)

        assert len(bench.started_probes) == 1

    def test_a_step_runs_the_next_tick_in_time_and_no_other(self) -> None:
        bench = Bench(a_pod(a_probed_container()))
        bench.publish(a_container_status(started=False))
        bench.stepper.pause()

        steps = [bench.stepper.step(at(7)) for _ in range(3)]
        bench.finish_turn()

        assert steps == [a_key(STARTUP), a_key(READINESS), a_key(LIVENESS)]
        assert [tick.key.probe_type for tick in bench.ticks()] == [READINESS, LIVENESS]
        assert [probe.key.probe_type for probe in bench.started_probes] == [STARTUP]

    def test_a_step_of_a_probe_runs_its_next_tick_and_no_other(self) -> None:
        bench = Bench(a_pod(a_probed_container()))
        bench.publish(a_container_status(started=False))
        bench.stepper.pause()

        stepped = bench.stepper.step(at(7), a_key(LIVENESS))
        bench.finish_turn()

        assert stepped == a_key(LIVENESS)
        assert [tick.key.probe_type for tick in bench.ticks()] == [LIVENESS]
        assert bench.started_probes == []

    def test_a_worker_that_is_busy_is_not_stepped(self) -> None:
        bench = Bench(with_probe(LIVENESS))
        bench.stepper.pause()
        bench.stepper.step(at(1))

        assert not bench.stepper.step(at(1))
        assert not bench.stepper.step(at(1), a_key(LIVENESS))

    def test_the_queue_lists_what_a_step_would_run(self) -> None:
        bench = Bench(
            a_pod(
                a_container(
                    liveness_probe=a_probe(period_seconds=5),
                    readiness_probe=a_probe(period_seconds=3),
                )
            )
        )
        bench.run(0)
        for _ in range(2):
            bench.answer()
        bench.stepper.pause()

        assert tick_queue(bench.manager.scheduler, at(1)) == [
            (at(3), a_key(READINESS)),
            (at(5), a_key(LIVENESS)),
        ]
        bench.manager.scheduler.trigger(a_key(LIVENESS), Trigger.READINESS)
        assert tick_queue(bench.manager.scheduler, at(1))[0] == (at(1), a_key(LIVENESS))

    def test_a_worker_that_a_step_stopped_is_not_considered_again(self) -> None:
        bench = Bench(with_probe(LIVENESS))
        bench.run(0)
        bench.answer()
        bench.publish(phase=PodPhase.SUCCEEDED)
        bench.manager.scheduler.trigger(a_key(LIVENESS))
        bench.stepper.pause()

        bench.stepper.step(at(0))
        bench.run(60)

        assert bench.workers() == []
        assert len(bench.ticks()) == 2
