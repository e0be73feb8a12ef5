"""Ticks as the scheduler reports them: parts, observer, what hooks changed."""

from __future__ import annotations

from datetime import timedelta
from random import Random

from probetui.k8s.probe import ProbeKey, ProbeType
from probetui.kubelet.facts import ProbeFinished
from probetui.kubelet.journal import (
    NOT_OVERRIDDEN,
    Exit,
    Overridden,
    Probed,
    Skip,
    TickEntry,
)
from probetui.kubelet.outcome import ProbeOutcome, ProbeResult
from probetui.kubelet.prober.hooks import NoHooks
from probetui.kubelet.prober.prober import JudgedOutcome
from probetui.kubelet.prober.results_manager import ResultsManager
from probetui.kubelet.prober.worker import Worker
from probetui.kubelet.prober.worker_scheduler import WorkerScheduler
from probetui.kubelet.runtime.turn import TurnBuilder
from tests.builders import (
    START,
    a_container,
    a_container_status,
    a_key,
    a_pod,
    a_probe,
    a_status,
    an_outcome,
    at,
)
from tests.kubelet.prober.bench import FAILS, LIVENESS, Bench, with_probe
from tests.ticks import a_tick, changed_tick

CHANGED = Overridden(injected=True, muted=True, delay=timedelta(hours=1))


class ChangingHooks(NoHooks):
    """Hooks that change nothing and say that they did."""

    def overridden(self, _key: ProbeKey, _outcome: ProbeOutcome | None) -> Overridden:
        return CHANGED


def test_a_tick_goes_to_the_observer_and_its_overridden_part_is_the_hooks_own() -> None:
    probe = a_probe(period_seconds=1, failure_threshold=1)
    pod = a_pod(a_container(liveness_probe=probe))
    seen: list[tuple[Worker, TickEntry, JudgedOutcome]] = []
    turn = TurnBuilder()
    scheduler = WorkerScheduler(
        {probe_type: ResultsManager(probe_type) for probe_type in ProbeType},
        {pod.uid: a_status(a_container_status())}.get,
        turn,
        lambda *observed: seen.append(observed),
        Random(0),
        ChangingHooks(),
        kills=True,
    )
    worker = Worker(a_key(LIVENESS), pod, pod.containers[0], probe)
    scheduler.add(worker, START)

    scheduler.run_due(at(5))
    scheduler.finish(ProbeFinished(1, an_outcome(FAILS, output="no")), at(6))

    ((observed, tick, judged),) = seen
    assert observed is worker
    assert isinstance(tick.outcome, Probed)
    assert tick.overridden is CHANGED
    assert judged.message == "Liveness probe failed: no"
    assert turn.finish().entries == (), "the scheduler itself journals nothing"
    assert worker.on_hold, "what the hooks say of a tick has no effect on it"


def test_a_tick_that_nobody_changed_says_so_without_a_new_value() -> None:
    bench = Bench(with_probe(LIVENESS))

    bench.run(5)
    bench.answer()

    assert {id(tick.overridden) for tick in bench.ticks()} == {id(NOT_OVERRIDDEN)}


def test_a_pause_and_a_delay_of_one_tick_are_not_those_of_the_next() -> None:
    bench = Bench(with_probe(LIVENESS))
    bench.run(5)
    bench.answer()
    bench.stepper.pause()
    bench.run(8)
    bench.stepper.resume(bench.now)
    bench.run(8)
    bench.answer()
    bench.run(9)
    bench.answer(ProbeResult.FAILURE)

    held = [tick.overridden.held for tick in bench.ticks()]

    assert held[-2] > timedelta(seconds=1)
    assert held[-1] == timedelta()


def test_a_tick_has_one_outcome_and_is_read_by_what_it_is() -> None:
    probed = a_tick(a_key(), START)
    skipped = changed_tick(probed, skip=Skip.ON_HOLD)
    ended = changed_tick(probed, exit=Exit.STOPPED)

    assert (probed.skip, probed.exit) == (None, None)
    assert (skipped.skip, skipped.result, skipped.attempts) == (Skip.ON_HOLD, None, ())
    assert (ended.exit, ended.skip, ended.action) == (Exit.STOPPED, None, "no-action")


def test_ticks_of_a_probe_that_find_the_same_have_one_routine() -> None:
    bench = Bench(with_probe(LIVENESS))
    for second in range(5, 9):
        bench.run(second)
        bench.answer()

    ticks = bench.ticks()[1:]

    assert len({tick.sequence for tick in ticks}) == len(ticks) > 2
    assert len({tick.routine for tick in ticks}) == 1
    assert changed_tick(ticks[0], muted=True).routine != ticks[0].routine
