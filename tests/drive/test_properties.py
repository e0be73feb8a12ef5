"""Properties of arbitrary simulated sessions: invariants of the kubelet's rules."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import pairwise

from hypothesis import given, settings

from probetui.engine.engine import Engine
from probetui.engine.inputs import DeletePod
from probetui.k8s.probe import Probe, ProbeKey, ProbeType
from probetui.k8s.status import ContainerStatus, Running
from probetui.kubelet.effects import Relist, RunProbe
from probetui.kubelet.facts import ProbeFinished, Relisted, RelistFailed
from probetui.kubelet.journal import (
    BackoffEntry,
    ContainerEntry,
    Exit,
    ExitCause,
    LifecycleStep,
    PodGoneEntry,
    Skip,
    StatusEntry,
    TickEntry,
)
from probetui.kubelet.outcome import Result
from tests.builders import START
from tests.drive.engine_bench import EngineBench
from tests.drive.random_sessions import (
    INTERVENTIONS,
    POD_UID,
    RULE_BREAKING,
    USUAL,
    SessionPlan,
    WatchedEngine,
    plans,
    simulate,
)

CAP = timedelta(seconds=300)
KILLERS = {ExitCause.LIVENESS: ProbeType.LIVENESS, ExitCause.STARTUP: ProbeType.STARTUP}
NOT_RUNNING = {Skip.NOT_RUNNING, Exit.CONTAINER_WILL_NOT_RESTART}

often = settings(max_examples=settings().max_examples // 4)
"""A simulation takes longer than an ordinary example."""


def probe_of(plan: SessionPlan, key: ProbeKey) -> Probe:
    container = plan.pod.container(key.container_name)
    assert container is not None
    probe = container.probe(key.probe_type)
    assert probe is not None
    return probe


def failures_in_a_row(ticks: list[TickEntry]) -> int:
    """Count the failures since the last success, without errors and skipped ticks."""
    run = 0
    for tick in reversed(ticks):
        if tick.result is Result.SUCCESS:
            break
        run += tick.result is Result.FAILURE
    return run


def ticks_before(bench: EngineBench, entry: ContainerEntry) -> list[TickEntry]:
    """Return the ticks of the worker that requested a container's end."""
    assert entry.by is not None
    return [
        tick
        for tick in bench.ticks(KILLERS[entry.by], entry.container_name)
        if tick.sequence < entry.sequence
    ]


def by_worker(bench: EngineBench) -> dict[ProbeKey, list[TickEntry]]:
    ticks = defaultdict(list)
    for entry in bench.of(TickEntry):
        ticks[entry.key].append(entry)
    return ticks


def probes_with_status(
    engine: WatchedEngine,
) -> Iterator[tuple[RunProbe, datetime, list[ContainerStatus]]]:
    """Yield each probe that was run, when, and the status of its container.

    The statuses are the last one before the turn of the probe, and those in it.
    """
    last: dict[str, ContainerStatus] = {}
    for (_, now), turn in zip(engine.inputs, engine.turns, strict=True):
        statuses_of = defaultdict(list)
        for name, status in last.items():
            statuses_of[name].append(status)
        for entry in turn.entries:
            if not isinstance(entry, StatusEntry):
                continue
            for status in (
                *(entry.status.container_statuses or ()),
                *(entry.status.init_container_statuses or ()),
            ):
                statuses_of[status.name].append(status)
                last[status.name] = status
        for effect in turn.effects:
            if isinstance(effect, RunProbe):
                mine = statuses_of[effect.key.container_name]
                yield (
                    effect,
                    now,
                    [
                        container_status
                        for container_status in mine
                        if container_status.container_id == effect.container_id
                    ],
                )


@often
@given(plans())
def test_a_probe_kills_only_after_enough_failures_in_a_row(plan: SessionPlan) -> None:
    """Or, as the kubelet does, when a tick found that very instance not running."""
    bench, _ = simulate(plan)

    kills = [
        entry
        for entry in bench.of(ContainerEntry)
        if entry.what is LifecycleStep.STOPPING and entry.by in KILLERS
    ]

    for kill in kills:
        ticks = ticks_before(bench, kill)
        was_not_running = any(
            (tick.skip or tick.exit) in NOT_RUNNING
            for tick in ticks
            if tick.container_id == kill.container_id
        )
        threshold = probe_of(plan, ticks[-1].key).failure_threshold
        assert was_not_running or failures_in_a_row(ticks) >= threshold


@often
@given(plans())
def test_nothing_is_probed_on_hold(plan: SessionPlan) -> None:
    bench, _ = simulate(plan)

    for ticks in by_worker(bench).values():
        for before, after in pairwise(ticks):
            lifted = not before.hold.after or after.new_container
            assert lifted or after.skip is Skip.ON_HOLD or after.exit is not None


@often
@given(plans())
def test_nothing_is_probed_before_its_initial_delay(plan: SessionPlan) -> None:
    """Counted from the start in the status, which is truncated to the second."""
    _, engine = simulate(plan)

    for effect, now, statuses in probes_with_status(engine):
        delay = timedelta(seconds=effect.probe.initial_delay_seconds)
        states = [status.state for status in statuses]
        assert any(
            isinstance(state, Running)
            and state.started_at is not None
            and now - state.started_at >= delay
            for state in states
        )


@often
@given(plans())
def test_a_container_that_has_not_started_up_is_probed_by_its_startup_probe_only(
    plan: SessionPlan,
) -> None:
    _, engine = simulate(plan)

    for effect, _now, statuses in probes_with_status(engine):
        is_startup = effect.key.probe_type is ProbeType.STARTUP
        assert any(bool(status.started) is not is_startup for status in statuses)


@often
@given(plans())
def test_windows_of_back_off_never_shrink_while_busy_nor_pass_the_cap(
    plan: SessionPlan,
) -> None:
    bench, _ = simulate(plan)

    windows: dict[str, list[timedelta]] = defaultdict(list)
    for entry in bench.of(BackoffEntry):
        windows[entry.container_name] += [entry.window, entry.next_window]

    for series in windows.values():
        assert series[0] in {timedelta(), timedelta(seconds=10)}
        assert max(series) <= CAP
        # Pairs of the window in force and the next one, which is then the one in force.
        in_force = series[::2]
        assert in_force == sorted(in_force)


@often
@given(plans())
def test_a_deleted_pod_always_ends_and_leaves_nothing(plan: SessionPlan) -> None:
    bench, engine = simulate(plan)
    bench.world.unreachable = ""

    bench.send(DeletePod(POD_UID))
    bench.run_until(bench.now + 200)

    assert bench.runtime_pods() == ()
    assert bench.snapshot.pods == ()
    assert len(bench.of(PodGoneEntry)) == 1
    assert engine.pod_uids() == ()


@often
@given(plans())
def test_no_probe_and_no_relist_overlaps_itself(plan: SessionPlan) -> None:
    _, engine = simulate(plan)
    running: dict[int, ProbeKey] = {}
    relists = 0

    for (item, _), turn in zip(engine.inputs, engine.turns, strict=True):
        if isinstance(item, ProbeFinished):
            del running[item.probe_id]
        relists -= isinstance(item, Relisted | RelistFailed)
        for effect in turn.effects:
            if isinstance(effect, RunProbe):
                assert effect.key not in running.values()
                running[effect.probe_id] = effect.key
            relists += isinstance(effect, Relist)
        assert relists in {0, 1}


@often
@given(plans(kinds=(*USUAL, *INTERVENTIONS, *RULE_BREAKING)))
def test_the_same_inputs_at_the_same_instants_give_the_same_turns(
    plan: SessionPlan,
) -> None:
    _, engine = simulate(plan)
    another = Engine(plan.config, START)

    turns = [
        another.advance(now) if item is None else another.submit(item, now)
        for item, now in engine.inputs
    ]

    assert turns == engine.turns
    assert repr(turns) == repr(engine.turns)


@often
@given(plans(kinds=(*USUAL, *INTERVENTIONS, *RULE_BREAKING)))
def test_entries_are_numbered_and_in_order_of_time(plan: SessionPlan) -> None:
    bench, _ = simulate(plan)

    journal = bench.journal

    assert [entry.sequence for entry in journal] == list(range(1, len(journal) + 1))
    assert all(one.at <= other.at for one, other in pairwise(journal))
