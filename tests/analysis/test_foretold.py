"""What is foretold by the rules of a version is what the engine does by them."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import product
from typing import Any

import pytest
from msgspec.structs import replace

from probetui.analysis.next_failure import (
    BackoffForecast,
    FailureEffect,
    predict_next_failure,
)
from probetui.analysis.timing import timing_of
from probetui.drive.scenario.behavior import CallBehavior, InstanceBehavior, ProbeAnswer
from probetui.drive.scenario.world import World
from probetui.drive.simulation import Simulation
from probetui.engine.engine import Engine
from probetui.engine.inputs import DeletePod, SetPods
from probetui.engine.snapshot import ContainerSnapshot
from probetui.k8s.pod import Container, Pod
from probetui.k8s.probe import ExecAction, HTTPGetAction, ProbeType
from probetui.kubelet.config import KubeletConfig
from probetui.kubelet.effects import Operation, Relist, RunHook, RunProbe, StopContainer
from probetui.kubelet.journal import (
    BackoffEntry,
    ContainerEntry,
    EventEntry,
    LifecycleStep,
    TickAction,
    TickEntry,
    Trigger,
)
from probetui.kubelet.kuberuntime.restart import InstantRange, pull_range
from probetui.kubelet.outcome import Attempt, ProbeResult, Result
from probetui.kubelet_rules import VERSIONS, rules_of
from probetui.presentation.container.back_off import range_of_wait
from probetui.presentation.probe.explain import explain_pod
from probetui.presentation.text.view import View
from tests.builders import START, a_container, a_pod, a_probe, at
from tests.sweeps import sampled

LIVENESS, STARTUP = ProbeType.LIVENESS, ProbeType.STARTUP
WITH_STARTUP_PROBES = VERSIONS[VERSIONS.index("1.18") :]
ALL_RELEASES = (*VERSIONS, "1.22.10", "1.24.1", "1.36.3")
FAILS = ProbeAnswer(Attempt(ProbeResult.FAILURE))
SUCCEEDS = ProbeAnswer(Attempt(ProbeResult.SUCCESS))


class Run:
    """A pod under the rules of a version, with a world beside it that notes stops."""

    def __init__(
        self, version: str, pod: Pod, *, seed: int = 0, **world_of: Any
    ) -> None:
        self.rules = rules_of(version)
        self.pod = pod
        self.fails_from = START
        self.recovers_at = datetime.max.replace(tzinfo=UTC)
        self.answer_takes = timedelta()
        self.graces: list[int] = []
        config = KubeletConfig(version=version, seed=seed, queues_while_waiting=True)
        world = World(probing=self._answer, dealing=self._deal, **world_of)
        self.simulation = Simulation(Engine(config, START), world, START)
        self.simulation.submit(SetPods((pod,)))

    def _answer(self, _effect: RunProbe, _age: timedelta) -> ProbeAnswer:
        fails = self.fails_from <= self.simulation.now < self.recovers_at
        answer = FAILS if fails else SUCCEEDS
        return replace(answer, takes=self.answer_takes)

    def _deal(self, call: Operation | Relist) -> CallBehavior:
        if isinstance(call, StopContainer):
            self.graces.append(call.grace_period_seconds)
        return CallBehavior(timedelta(seconds=8 if isinstance(call, RunHook) else 0))

    def container(self) -> ContainerSnapshot:
        """Return the snapshot of the one container."""
        (pod,) = self.simulation.engine.snapshot(self.simulation.now).pods
        return pod.containers[0]

    def ticks(self) -> Iterator[TickEntry]:
        """Yield all ticks."""
        for entry in self.simulation.journal:
            if isinstance(entry, TickEntry):
                yield entry

    def first(self, step: LifecycleStep) -> datetime:
        """Return when the container first came to a step."""
        return next(
            entry.at
            for entry in self.simulation.journal
            if isinstance(entry, ContainerEntry) and entry.what is step
        )


def app(kind: ProbeType, **probe: Any) -> Container:
    """Return a container with one probe, which its own grace period tells apart."""
    spec = a_probe(**{"termination_grace_period_seconds": 7, **probe})
    fields: dict[str, Any] = {f"{kind.lower()}_probe": spec}
    return a_container(**fields)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("version", sampled(WITH_STARTUP_PROBES))
def test_a_startup_probe_that_never_succeeds_kills_when_it_is_said_to(
    version: str, seed: int
) -> None:
    container = app(STARTUP, period_seconds=3, failure_threshold=2)
    run = Run(version, a_pod(container), seed=seed)
    foretold = timing_of(run.pod, container, STARTUP, run.rules)

    run.simulation.run_until(at(150))

    took = run.first(LifecycleStep.STOPPING) - run.first(LifecycleStep.STARTED)
    assert foretold.budget is not None
    assert foretold.budget.least <= took <= foretold.budget.most + timedelta(seconds=1)
    assert foretold.grace is not None
    assert run.graces[0] == foretold.grace.seconds
    # Where the kill is said to wait for a resync it is seen to, for some chance.
    at_once = foretold.budget.most < timedelta(seconds=60)
    assert (took < timedelta(seconds=10)) is at_once


@pytest.mark.parametrize("version", sampled(ALL_RELEASES))
def test_the_next_failure_does_what_it_is_said_to(version: str) -> None:
    container = app(LIVENESS, period_seconds=2, failure_threshold=2)
    run = Run(version, a_pod(container))
    run.fails_from = at(20)
    run.simulation.run_until(at(19))
    foretold: dict[int, tuple[FailureEffect, int | None]] = {}

    while run.simulation.now < at(40):
        snapshot = run.container()
        (probe,) = snapshot.probes
        failure = predict_next_failure(
            run.pod, snapshot, probe, run.simulation.now, run.rules, acts=True
        )
        grace = failure.grace.seconds if failure.grace else None
        foretold[probe.ticks + 1] = failure.effect, grace
        run.simulation.turn()

    failures = [tick for tick in run.ticks() if tick.result is Result.FAILURE]
    assert failures
    first, second = failures[:2]
    assert foretold[first.n][0] is FailureEffect.COUNTED
    assert first.action is TickAction.NONE
    assert foretold[second.n] == (FailureEffect.KILL, run.graces[0])
    assert second.action is TickAction.KILL


@pytest.mark.parametrize("is_command", [False, True])
@pytest.mark.parametrize("kind", [LIVENESS, ProbeType.READINESS])
@pytest.mark.parametrize("version", sampled(ALL_RELEASES))
def test_no_failure_kills_in_a_pod_that_is_being_deleted(
    version: str, kind: ProbeType, *, is_command: bool
) -> None:
    handler = ExecAction(("true",)) if is_command else HTTPGetAction(80)
    container = app(kind, handler=handler, period_seconds=1, failure_threshold=2)
    hook = a_container(
        liveness_probe=container.liveness_probe,
        readiness_probe=container.readiness_probe,
        pre_stop=ExecAction(("sleep", "8")),
    )
    run = Run(version, a_pod(hook))
    run.fails_from = at(10.5)
    run.simulation.run_until(at(10))
    run.simulation.submit(DeletePod(run.pod.uid))
    foretold = set()

    while run.simulation.now < at(17):
        (pod,) = run.simulation.engine.snapshot(run.simulation.now).pods
        (probe,) = pod.containers[0].probes
        failure = predict_next_failure(
            pod.pod, pod.containers[0], probe, run.simulation.now, run.rules, acts=True
        )
        foretold |= {failure.effect, failure.at_threshold}
        run.simulation.turn()

    late = [tick for tick in run.ticks() if tick.timing.started_at > at(11)]
    counted = [tick for tick in late if tick.result is not None]
    assert not foretold & {FailureEffect.KILL, FailureEffect.WOULD_KILL}
    assert not {tick.action for tick in late} & {
        TickAction.KILL,
        TickAction.WOULD_KILL,
    }
    events = [
        entry.event.message
        for entry in run.simulation.journal
        if isinstance(entry, EventEntry) and entry.event.reason == "Killing"
    ]
    assert events == ["Stopping container app"]
    # What is said not to be probed is not, and what is canceled counts for nothing.
    assert (FailureEffect.NO_WORKER in foretold) is (not late)
    assert (FailureEffect.CANCELED in foretold) is (bool(late) and not counted)


@pytest.mark.parametrize("version", sampled(VERSIONS))
def test_a_probe_out_of_turn_is_told_of_where_there_is_one(version: str) -> None:
    run = Run(version, a_pod(app(ProbeType.READINESS, period_seconds=10)))
    view = replace(View.timeless(), rules=run.rules)

    run.simulation.run_until(at(30))

    triggers = {tick.trigger for tick in run.ticks()}
    text = "\n".join(explain_pod(run.pod, view))
    assert ("also       probed at each sync" in text) is (Trigger.READINESS in triggers)


@pytest.mark.parametrize(
    ("period", "timeout", "takes"),
    [
        pytest.param(10, 1, 0, id="quick"),
        pytest.param(1, 5, 4.9, id="slower than its period"),
    ],
)
@pytest.mark.parametrize("version", sampled(VERSIONS))
def test_an_app_that_recovers_is_ready_when_it_is_said_to_be(
    version: str, period: int, timeout: int, takes: float
) -> None:
    probe = {"period_seconds": period, "timeout_seconds": timeout}
    container = app(ProbeType.READINESS, success_threshold=3, **probe)
    beside = a_pod(container, a_container("neighbour"))
    took = []
    # The exits of a neighbour come with statuses; alone it has none before a resync.
    for pod, half_seconds in product((a_pod(container), beside), range(23)):
        lives = {"neighbour": CRASHES["app"]}
        run = Run(version, pod, seed=half_seconds, lives=lives)
        run.answer_takes = timedelta(seconds=takes)
        run.recovers_at = at(15 + half_seconds / 2)
        run.simulation.run_until(at(60))
        took.append(
            next(tick.at for tick in run.ticks() if tick.action is TickAction.READY)
            - run.recovers_at
        )

    timing = timing_of(beside, container, ProbeType.READINESS, rules_of(version))
    foretold = timing.recovered
    assert foretold.least <= min(took)
    assert max(took) <= foretold.most
    # Neither bound is more careful than it must be.
    assert min(took) < foretold.least + timedelta(seconds=period + 3 * takes)
    assert max(took) > foretold.most - timedelta(seconds=2)


@pytest.mark.parametrize(("version", "is_told"), [("1.19", True), ("1.20", False)])
def test_a_command_that_hangs_is_not_said_to_fail_where_it_does_not(
    version: str, *, is_told: bool
) -> None:
    container = app(LIVENESS, handler=ExecAction(("sleep", "9")))
    view = replace(View.timeless(), rules=rules_of(version))

    text = "\n".join(explain_pod(a_pod(container), view))

    assert ("a hang never fails" in text) is is_told


def check_waits(run: Run) -> list[timedelta]:
    """Check each wait against its restart; return how much later than said these were.

    A wait that follows a kill is counted anew by the next sync.
    """
    late: list[timedelta] = []
    waits: list[BackoffEntry] = []
    for entry in run.simulation.journal:
        if not isinstance(entry, BackoffEntry) or entry.container_name != "app":
            continue
        if entry.waits:
            waits.append(entry)
            continue
        for wait in waits:
            due = range_of_wait(wait, run.rules)
            assert due is not None
            assert due.earliest <= entry.at <= due.latest
            late.append(entry.at - due.earliest)
        waits.clear()
    return late


CRASHES = {"app": [InstanceBehavior(timedelta(seconds=3), exit_code=1)]}
PODS_THAT_CRASH = {
    "alone": (a_container(),),
    "beside another": (a_container(), a_container("other", image="missing")),
}


@pytest.mark.parametrize("which", PODS_THAT_CRASH)
@pytest.mark.parametrize("version", sampled(VERSIONS))
def test_a_restart_after_back_off_comes_when_it_is_said_to(
    version: str, which: str
) -> None:
    pod = a_pod(*PODS_THAT_CRASH[which])
    images = frozenset({pod.containers[0].image})
    run = Run(version, pod, seed=VERSIONS.index(version), lives=CRASHES, images=images)

    run.simulation.run_until(at(1500))

    late = check_waits(run)
    assert len(late) >= 5
    # An instant would not do.
    assert max(late) > timedelta(seconds=5)


@pytest.mark.parametrize("version", sampled(VERSIONS))
def test_an_image_is_pulled_again_when_it_is_said_to_be(version: str) -> None:
    run = Run(
        version, a_pod(a_container()), seed=VERSIONS.index(version), images=frozenset()
    )
    foretold: list[InstantRange] = []

    while run.simulation.now < at(900):
        due = run.container().next_pull_at
        if due is not None and (not foretold or foretold[-1].earliest != due):
            foretold.append(pull_range(due))
        run.simulation.turn()

    pulls = [
        entry.at
        for entry in run.simulation.journal
        if isinstance(entry, EventEntry) and entry.event.reason == "Pulling"
    ]
    assert len(pulls) >= 5
    for due_range, pull in zip(foretold, pulls[1:], strict=False):
        assert due_range.earliest <= pull <= due_range.latest


@pytest.mark.parametrize("stops_after", [0, 3])
@pytest.mark.parametrize("version", sampled(VERSIONS))
def test_a_kill_waits_for_its_restart_as_long_as_it_is_said_to(
    version: str, stops_after: int
) -> None:
    container = app(LIVENESS, period_seconds=2, failure_threshold=2)
    lives = {"app": [InstanceBehavior(stops_after=timedelta(seconds=stops_after))]}
    run = Run(version, a_pod(container), seed=VERSIONS.index(version), lives=lives)
    foretold: dict[datetime, BackoffForecast] = {}

    while run.simulation.now < at(900):
        snapshot = run.container()
        (probe,) = snapshot.probes
        failure = predict_next_failure(
            run.pod, snapshot, probe, run.simulation.now, run.rules, acts=True
        )
        if failure.kills_at is not None and failure.backoff is not None:
            foretold[failure.kills_at] = failure.backoff
        run.simulation.turn()

    steps = [
        entry for entry in run.simulation.journal if isinstance(entry, ContainerEntry)
    ]
    stops = [entry.at for entry in steps if entry.what is LifecycleStep.STOPPING]
    ends = [entry.at for entry in steps if entry.what is LifecycleStep.EXITED]
    starts = [entry.at for entry in steps if entry.what is LifecycleStep.STARTED]
    assert len(starts) >= 8
    for stop, end, start in zip(stops, ends, starts[1:], strict=False):
        forecast, waited = foretold[stop], start - end
        waits = forecast.waits
        if waits is None:
            waits = end - stop < forecast.left_at_kill
        if waits:
            assert forecast.window <= waited <= forecast.longest
        else:
            assert waited < timedelta(seconds=2)
    check_waits(run)
