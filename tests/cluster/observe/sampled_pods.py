"""Simulated pods, what became of their probes, and samples of their counters.

The simulation is the truth; samples of it are taken as a Prometheus takes them: each
some seconds, late, some not at all, beside a kubelet that is restarted.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from itertools import pairwise
from random import Random
from typing import Any, NamedTuple

from msgspec import Struct, field

from probetui.cluster.observe.probe_counters import ProbeCounts
from probetui.cluster.observe.sampled_container import (
    ContainerBounds,
    ContainerSamples,
    ContainerSettings,
    CountsSample,
    Sample,
    bound_container,
)
from probetui.drive.scenario.behavior import (
    InstanceBehavior,
    ProbeAnswer,
    ProbeBehavior,
    ResultPhase,
    ResultPhases,
)
from probetui.drive.scenario.world import World
from probetui.drive.simulation import Simulation
from probetui.engine.engine import Engine
from probetui.engine.inputs import DeletePod, SetPods
from probetui.k8s.pod import Pod
from probetui.k8s.probe import ProbeType
from probetui.k8s.status import ContainerStatus, Running, Terminated
from probetui.kubelet.config import KubeletConfig
from probetui.kubelet.effects import RunProbe
from probetui.kubelet.journal import (
    JournalEntry,
    PodGoneEntry,
    StatusEntry,
    TickAction,
    TickEntry,
)
from probetui.kubelet.outcome import Attempt, ProbeResult, Result
from tests.builders import START, a_container, a_pod, a_probe, at

INTERVALS = (15.0, 30.0, 60.0)
"""Seconds between two scrapes, as people set them."""

SUCCESS, FAILURE, ERROR = "SFE"
_KILLING = (ProbeType.LIVENESS, ProbeType.STARTUP)
_ANSWERS = {
    SUCCESS: Attempt(ProbeResult.SUCCESS),
    FAILURE: Attempt(ProbeResult.FAILURE, "no"),
    ERROR: Attempt(ProbeResult.UNKNOWN, error="no such container"),
}


class Faults(NamedTuple):
    """What goes wrong while samples are taken.

    Attributes:
        jitter: how many seconds a scrape is early or late at most.
        lost: the share of scrapes that are lost.
        restarts: whether the kubelet is restarted.
        deletes: whether pods are deleted.
        knows_process: whether neighbours show that the kubelet was restarted.
    """

    jitter: float = 0.0
    lost: float = 0.0
    restarts: bool = False
    deletes: bool = False
    knows_process: bool = False


ALL_FAULTS = Faults(jitter=2.0, lost=0.1, restarts=True, deletes=True)


class Story(Struct):
    """What became of one container, in seconds after its start.

    Attributes:
        ticks: the counted results of each worker: when, whether it failed, whether it
            killed.
        restarts: when the restart counter had which value.
        ready: when it became ready, or ceased to be so.
        process_starts: when the kubelet was started.
        ends: when a status first had an end, when that was, and the exit code.
        starts: when a status first had a start, and when that was.
    """

    pod: Pod
    ticks: dict[ProbeType, list[tuple[float, bool, bool]]] = field(default_factory=dict)
    restarts: list[tuple[float, int]] = field(default_factory=list)
    ready: list[tuple[float, bool]] = field(default_factory=list)
    ends: list[tuple[float, float, int]] = field(default_factory=list)
    starts: list[tuple[float, float]] = field(default_factory=list)
    process_starts: list[float] = field(default_factory=lambda: [0.0])
    ended_at: dict[ProbeType, float] = field(default_factory=dict)
    deleted_at: float = math.inf
    gone_at: float = math.inf

    @property
    def settings(self) -> ContainerSettings:
        """As a manifest has them."""
        return ContainerSettings(self.pod, self.pod.containers[0])

    def kills(self, kind: ProbeType, begin: float, end: float) -> int:
        """Return how often a probe killed the container in a time."""
        return sum(
            kills and begin < tick_at <= end
            for tick_at, _, kills in self.ticks.get(kind, ())
        )

    def near_misses(self, kind: ProbeType, begin: float, end: float) -> int:
        """Return how many runs ended one short of a kill in a time."""
        probe = self.pod.containers[0].probe(kind)
        assert probe is not None
        short = probe.failure_threshold - 1
        return sum(run == short > 0 for run in self.healed(kind, begin, end))

    def healed(self, kind: ProbeType, begin: float, end: float) -> list[int]:
        """Return the lengths of the runs that a success ended in a time."""
        lengths, run = [], 0
        last_at = 0.0
        for tick_at, failed, kills in self.ticks.get(kind, ()):
            if any(last_at < begun <= tick_at for begun in self.process_starts[1:]):
                run = 0
            last_at = tick_at
            if run and not failed and begin < tick_at <= end:
                lengths.append(run)
            run = run + 1 if failed and not kills else 0
        return lengths

    def seconds_not_ready(self, begin: float, end: float) -> float:
        """Return how long the container was not ready in a time."""
        changes = [*self.ready, (math.inf, True)]
        return sum(
            max(min(until, end) - max(since, begin), 0.0)
            for (since, is_ready), (until, _) in pairwise(changes)
            if not is_ready
        )


def a_random_pod(random: Random, name: str = "web") -> Pod:
    """Return a pod with probes of any thresholds, at periods that people choose."""
    kinds: dict[str, Any] = {}
    period = random.choice([1, 2, 5, 10, 10, 10, 15, 30])
    kinds["liveness_probe"] = a_probe(
        period_seconds=period,
        failure_threshold=random.choice([1, 2, 3, 3, 3, 5]),
        initial_delay_seconds=random.choice([0, 0, 10, 30]),
    )
    if random.random() < 0.6:
        kinds["readiness_probe"] = a_probe(
            period_seconds=random.choice([2, 5, 10]),
            failure_threshold=random.choice([1, 3]),
            success_threshold=random.choice([1, 1, 2]),
        )
    if random.random() < 0.4:
        kinds["startup_probe"] = a_probe(
            period_seconds=random.choice([1, 5, 10]),
            failure_threshold=random.choice([1, 3, 10]),
        )
    return a_pod(
        a_container(**kinds),
        name=name,
        termination_grace_period_seconds=random.choice([1, 5, 30]),
    )


def phases_of(answer: Callable[[timedelta], str]) -> ResultPhases:
    """Return results by the age of an instance."""

    def behave(_effect: RunProbe, age: timedelta) -> ProbeAnswer:
        return ProbeAnswer(_ANSWERS[answer(age)], timedelta(milliseconds=5))

    behavior: ProbeBehavior = behave
    return ResultPhases((ResultPhase(behavior, times=None),))


def a_pod_that_hangs(random: Random) -> Pod:
    """Return a pod with the probes that most have: each ten seconds, three failures."""
    probe = a_probe(period_seconds=10)
    return a_pod(
        a_container(liveness_probe=probe, readiness_probe=probe),
        termination_grace_period_seconds=random.choice([5, 30]),
    )


def a_life_that_hangs(random: Random) -> InstanceBehavior:
    """Return how an instance lives that is well until it hangs."""
    hangs_at = random.uniform(60, 900)

    def is_well(age: timedelta) -> str:
        return SUCCESS if age.total_seconds() < hangs_at else FAILURE

    answers = phases_of(is_well)
    return InstanceBehavior(
        stops_after=random.choice([timedelta(seconds=1), None]),
        answers={ProbeType.LIVENESS: answers, ProbeType.READINESS: answers},
    )


def a_random_life(random: Random) -> InstanceBehavior:
    """Return how an instance lives: it hangs, flaps, recovers, crashes, or is well."""
    hangs_at = random.choice([math.inf, random.uniform(5, 900)])
    heals_after = random.choice([math.inf, random.uniform(1, 60)])
    flaps = random.choice([0.0, 0.0, 0.02, 0.2, 0.5])
    errs = random.choice([0.0, 0.0, 0.1])
    starts_after = random.choice([0.0, random.uniform(1, 40)])

    def is_well(age: timedelta) -> str:
        seconds = age.total_seconds()
        if random.random() < errs:
            return ERROR
        if hangs_at <= seconds < hangs_at + heals_after or random.random() < flaps:
            return FAILURE
        return SUCCESS

    def is_up(age: timedelta) -> str:
        return SUCCESS if age.total_seconds() >= starts_after else FAILURE

    lasts = random.choice([None, None, random.uniform(1, 600)])
    return InstanceBehavior(
        lasts=None if lasts is None else timedelta(seconds=lasts),
        exit_code=random.choice([0, 1, 137, 143]),
        stops_after=random.choice([timedelta(), timedelta(seconds=3), None]),
        stop_code=random.choice([0, 143]),
        answers={
            ProbeType.LIVENESS: phases_of(is_well),
            ProbeType.READINESS: phases_of(is_well),
            ProbeType.STARTUP: phases_of(is_up),
        },
    )


def simulate(
    random: Random,
    seconds: float,
    faults: Faults,
    pod_of: Callable[[Random], Pod] = a_random_pod,
    life_of: Callable[[Random], InstanceBehavior] = a_random_life,
) -> Story:
    """Run a pod for a time."""
    pod = pod_of(random)
    world = World({"app": [life_of(random) for _ in range(60)]})
    story = Story(pod)
    journal: list[JournalEntry] = []
    config = KubeletConfig()
    simulation = Simulation(Engine(config, START), world, START, journal)
    simulation.submit(SetPods((pod,)))
    restart_at = random.uniform(10, seconds) if faults.restarts else math.inf
    delete_at = random.uniform(60, seconds) if faults.deletes else math.inf
    events = sorted([(restart_at, "restart"), (delete_at, "delete")])
    for event_at, what in events:
        if event_at >= seconds:
            continue
        simulation.run_until(at(event_at))
        if what == "restart" and story.deleted_at == math.inf:
            simulation = Simulation(Engine(config, simulation.now), world, at(event_at))
            simulation.attach(journal, lambda _item, _now: None)
            simulation.submit(SetPods((pod,)))
            story.process_starts.append(event_at)
        elif what == "delete":
            story.deleted_at = event_at
            simulation.submit(DeletePod(pod.uid))
    simulation.run_until(at(seconds))
    _read(story, journal)
    return story


def _read(story: Story, journal: Sequence[JournalEntry]) -> None:
    restarts, is_ready = -1, None
    for entry in journal:
        seconds = (entry.at - START).total_seconds()
        match entry:
            case TickEntry() if entry.exit is not None:
                story.ended_at[entry.key.probe_type] = seconds
            case TickEntry() if entry.result in {Result.SUCCESS, Result.FAILURE}:
                failed = entry.result is Result.FAILURE
                kills = entry.action is TickAction.KILL
                story.ticks.setdefault(entry.key.probe_type, []).append(
                    (seconds, failed, kills)
                )
            case StatusEntry():
                status = entry.status.container("app")
                if status is None:
                    continue
                if status.restart_count != restarts:
                    restarts = status.restart_count
                    story.restarts.append((seconds, restarts))
                _read_ends(story, status, seconds)
                _read_start(story, status, seconds)
                if status.ready is not is_ready:
                    is_ready = status.ready
                    story.ready.append((seconds, is_ready))
            case PodGoneEntry():
                story.gone_at = seconds
            case _:
                pass


def _read_ends(story: Story, status: ContainerStatus, seconds: float) -> None:
    for state in (status.last_state, status.state):
        if isinstance(state, Terminated) and state.finished_at is not None:
            ended_at = (state.finished_at - START).total_seconds() // 1
            if not story.ends or story.ends[-1][1] < ended_at:
                story.ends.append((seconds, ended_at, state.exit_code))


def _read_start(story: Story, status: ContainerStatus, seconds: float) -> None:
    state = status.state
    if isinstance(state, Running) and state.started_at is not None:
        begun = (state.started_at - START).total_seconds() // 1
        if not story.starts or story.starts[-1][1] < begun:
            story.starts.append((seconds, begun))


def sampled(
    story: Story, interval: float, seconds: float, faults: Faults, random: Random
) -> ContainerSamples:
    """Return what a store has of a container."""
    scrapes = [*_scrape_times(interval, seconds, faults, random)]
    probes = {
        kind: tuple(_counts(story, kind, scrapes, faults)) for kind in story.ticks
    }
    states = [
        when
        for when in _scrape_times(interval, seconds, faults, random)
        if when < story.gone_at
    ]
    alive = [when for when in states if when < story.deleted_at]
    return ContainerSamples(
        0.0,
        probes,
        tuple(_values(story.restarts, states)),
        tuple(_values(story.ready, states)),
        created_at=random.choice([None, 0.0]),
        alive_until=max(alive, default=-math.inf),
    )


def _scrape_times(
    interval: float, seconds: float, faults: Faults, random: Random
) -> Iterator[float]:
    due = random.uniform(0, interval)
    while due <= seconds:
        if random.random() >= faults.lost:
            yield max(due + random.uniform(-faults.jitter, faults.jitter), 0.001)
        due += interval


def _counts(
    story: Story, kind: ProbeType, scrapes: Sequence[float], faults: Faults
) -> Iterator[CountsSample]:
    before = 0.0
    gone_at = min(story.gone_at, story.ended_at.get(kind, math.inf))
    for when in scrapes:
        if when >= gone_at:
            return
        began = max(start for start in story.process_starts if start <= when)
        seen = [failed for at_, failed, _ in story.ticks[kind] if began <= at_ <= when]
        is_same = began <= before if faults.knows_process else None
        before = when
        if seen:
            counts = ProbeCounts(len(seen) - sum(seen), sum(seen))
            yield CountsSample(when, counts, is_same)


def _values(
    changes: Sequence[tuple[float, float]], times: Sequence[float]
) -> Iterator[Sample]:
    for when in times:
        known = [value for since, value in changes if since <= when]
        if known:
            yield Sample(when, float(known[-1]))


def bounds_that_hold(
    story: Story, interval: float, seconds: float, faults: Faults, random: Random
) -> ContainerBounds:
    """Sample a story; return its bounds after asserting that they hold what was."""
    samples = sampled(story, interval, seconds, faults, random)
    bounds = bound_container(samples, story.settings)
    kills = near_misses = 0
    for kind in _KILLING:
        if kind not in bounds.probes:
            continue
        probe = bounds.probes[kind]
        assert probe.tally is not None, probe.doubts
        own = story.kills(kind, *probe.observed)
        assert probe.tally.kills.least <= own <= probe.tally.kills.most
        own_misses = story.near_misses(kind, *probe.observed)
        misses = probe.tally.near_misses
        assert misses.least <= own_misses <= misses.most
        healed = story.healed(kind, *probe.observed)
        assert len(probe.tally.healed) >= max(healed, default=0)
        for length, of_it in enumerate(probe.tally.healed, 1):
            own_runs = sum(run >= length for run in healed)
            assert of_it.least <= own_runs <= of_it.most
        kills += own
        near_misses += own_misses
    assert bounds.probe_kills.least <= kills <= bounds.probe_kills.most
    if bounds.near_misses is not None:
        assert bounds.near_misses.least <= near_misses <= bounds.near_misses.most
    if bounds.not_ready is not None:
        least, guess, most = bounds.not_ready
        begin, end = samples.ready[0].at, samples.ready[-1].at
        assert least - 0.01 <= story.seconds_not_ready(begin, end) <= most + 0.01
        assert least <= guess <= most
    return bounds
