"""Properties of the debugger: invariants of arbitrary simulated sessions."""

from __future__ import annotations

from collections import defaultdict

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from probetui.debugger.commands import (
    DryRunProbe,
    Injected,
    InjectResults,
    MuteProbes,
    UnmuteProbes,
)
from probetui.debugger.scope import ALL_PROBES
from probetui.k8s.probe import ProbeKey, ProbeType
from probetui.kubelet.effects import RunProbe
from probetui.kubelet.journal import (
    ContainerEntry,
    EventEntry,
    ExitCause,
    LifecycleStep,
    TickAction,
    TickEntry,
)
from probetui.kubelet.outcome import Attempt, ProbeResult
from tests.drive.engine_bench import EngineBench
from tests.drive.random_sessions import (
    INJECTIONS,
    KEYS,
    USUAL,
    SessionPlan,
    WatchedEngine,
    plans,
    simulate,
)
from tests.ticks import changed_tick

often = settings(max_examples=settings().max_examples // 4)

CONSEQUENCES = {
    TickAction.KILL,
    TickAction.READY,
    TickAction.NOT_READY,
    TickAction.STARTED,
}


def word_of(tick: TickEntry) -> Injected:
    """Return the injected result that a tick shows."""
    last: Attempt = tick.attempts[-1]
    if last.error is not None:
        return Injected.ERRORED
    if last.output.startswith("injected: "):
        return Injected.TIMED_OUT
    return {
        ProbeResult.SUCCESS: Injected.SUCCESS,
        ProbeResult.WARNING: Injected.WARNING,
        ProbeResult.FAILURE: Injected.FAILURE,
        ProbeResult.UNKNOWN: Injected.ERRORED,
    }[last.result]


def with_first(plan: SessionPlan, *commands: InjectResults | MuteProbes) -> SessionPlan:
    """Return the plan with commands before all others."""
    return replace(
        plan, commands=(*((0.0, command) for command in commands), *plan.commands)
    )


def injected_ticks(bench: EngineBench) -> dict[ProbeKey, list[Injected]]:
    found = defaultdict(list)
    for entry in bench.of(TickEntry):
        if entry.overridden.injected:
            found[entry.key].append(word_of(entry))
    return found


@often
@given(plans())
def test_a_pod_muted_from_the_start_is_never_changed_by_a_probe(
    plan: SessionPlan,
) -> None:
    only_muting = [command for command in plan.commands if not _unmutes(command[1])]
    muted = replace(plan, commands=tuple(only_muting))

    bench, _ = simulate(with_first(muted, MuteProbes(ALL_PROBES)))

    by_probes = {
        entry.by
        for entry in bench.of(ContainerEntry)
        if entry.what is LifecycleStep.STOPPING
    } & {ExitCause.LIVENESS, ExitCause.STARTUP}
    assert by_probes == set()
    assert {entry.action for entry in bench.of(TickEntry)} & CONSEQUENCES == set()


def _unmutes(command: object) -> bool:
    return isinstance(command, UnmuteProbes)


@often
@given(plans(kinds=tuple(USUAL)), st.lists(INJECTIONS, min_size=1, max_size=3))
def test_injected_results_are_used_in_order_and_once(
    plan: SessionPlan, injections: list[InjectResults]
) -> None:
    injected = {injection.key: injection.results for injection in injections}

    bench, _ = simulate(with_first(plan, *injections))

    used = injected_ticks(bench)
    assert used.keys() <= injected.keys()
    for key, words in used.items():
        assert tuple(words) == injected[key][: len(words)]
    for pod in bench.snapshot.pods:
        for container in pod.containers:
            for probe in container.probes:
                of_key = injected.get(probe.key, ())
                rest = len(of_key) - len(probe.injections)
                in_flight = probe.in_flight_since is not None
                assert probe.injections == of_key[rest:]
                assert len(used[probe.key]) in {rest, rest - in_flight}


@often
@given(plans(kinds=tuple(USUAL)))
def test_an_injected_result_runs_no_probe(plan: SessionPlan) -> None:
    injections = tuple(
        InjectResults(ProbeKey(plan.pod.uid, name, kind), (Injected.FAILURE,) * 200)
        for name in ("app", "side", "x")
        for kind in ProbeType
    )

    _, engine = simulate(with_first(plan, *injections))

    assert probes_run(engine) == []


@often
@given(plans(kinds=tuple(USUAL)), st.lists(st.tuples(st.integers(0, 89), KEYS)))
def test_a_dry_run_changes_nothing_but_its_own_entries(
    plan: SessionPlan, dry_runs: list[tuple[int, ProbeKey]]
) -> None:
    """The answers do not depend on how many probes ran before."""
    steady = replace(plan, answers=plan.answers[:1])
    more = sorted(
        [*steady.commands, *((float(at), DryRunProbe(key)) for at, key in dry_runs)],
        key=lambda item: item[0],
    )

    without, _ = simulate(steady)
    with_dry_run, _ = simulate(replace(steady, commands=tuple(more)))

    assert comparable_entries(with_dry_run) == comparable_entries(without)


def comparable_entries(bench: EngineBench) -> list[object]:
    """Return the ticks, events and exits, without what a dry run adds or renumbers."""
    kept: list[object] = []
    for entry in bench.journal:
        match entry:
            case TickEntry():
                kept.append(changed_tick(entry, sequence=0))
            case EventEntry():
                kept.append((entry.at, entry.event))
            case ContainerEntry():
                kept.append(replace(entry, sequence=0))
            case _:
                pass
    return kept


def probes_run(engine: WatchedEngine) -> list[RunProbe]:
    return [
        effect
        for turn in engine.turns
        for effect in turn.effects
        if isinstance(effect, RunProbe)
    ]
