"""Simulations: seeking back, stepping, and checkpoints."""

from __future__ import annotations

import itertools
from datetime import timedelta

import pytest

from probetui.debugger.commands import RestartContainer
from probetui.drive.playback import simulated
from probetui.drive.playback.simulated import SimulatedSource
from probetui.drive.playback.source import is_change
from probetui.drive.scenario.behavior import (
    InstanceBehavior,
    ResultName,
    ResultPhase,
    ResultPhases,
    ScriptedResult,
)
from probetui.drive.scenario.script import Scenario
from probetui.k8s.probe import ProbeType
from probetui.kubelet.journal import JournalEntry, TickEntry, UserEntry
from tests.builders import a_container, a_pod, a_probe, at
from tests.drive.recorded_simulation import simulation_factory

FAILURES = ResultPhases((ResultPhase(ScriptedResult(ResultName.FAILURE)),))
POD = a_pod(
    a_container(liveness_probe=a_probe(period_seconds=2)),
    a_container("other", readiness_probe=a_probe(period_seconds=2)),
)
SCENARIO = Scenario(
    lives={
        "app": (
            InstanceBehavior(answers={ProbeType.LIVENESS: FAILURES}),
            InstanceBehavior(),
        )
    }
)


@pytest.fixture(params=[5, 40, 10_000], ids=["near", "far", "none"])
def source(request: pytest.FixtureRequest) -> SimulatedSource:
    """Return simulations with checkpoints at different intervals."""
    return SimulatedSource(
        simulation_factory(POD, scenario=SCENARIO), apart=request.param
    )


def run_until(source: SimulatedSource, seconds: float) -> None:
    while (due := source.next_at()) is not None and due <= at(seconds):
        source.turn()
    source.pass_until(at(seconds))


def ticks(source: SimulatedSource) -> list[TickEntry]:
    return [entry for entry in source.journal if isinstance(entry, TickEntry)]


def test_a_seek_back_restores_snapshot_and_journal(source: SimulatedSource) -> None:
    run_until(source, 12)
    shown, journal = repr(source.snapshot()), list(source.journal)
    run_until(source, 50)

    source.seek_back(at(12))

    assert source.now == at(12)
    assert repr(source.snapshot()) == shown
    assert list(source.journal) == journal


def test_after_a_seek_back_the_same_happens_again(source: SimulatedSource) -> None:
    run_until(source, 50)
    journal = list(source.journal)
    source.seek_back(at(12))

    run_until(source, 50)

    assert list(source.journal) == journal


def test_a_seek_back_keeps_earlier_commands_and_drops_later_ones(
    source: SimulatedSource,
) -> None:
    for second in (10, 30):
        run_until(source, second)
        source.submit(RestartContainer(POD.uid, "other"))
    run_until(source, 50)

    source.seek_back(at(20))
    run_until(source, 50)

    users = [entry for entry in source.journal if isinstance(entry, UserEntry)]
    assert [user.at for user in users] == [at(10)]


def test_a_step_is_one_tick_and_the_clock_stops_again(
    source: SimulatedSource,
) -> None:
    run_until(source, 5)
    source.hold()
    before = len(ticks(source))

    counts = []
    for _ in range(4):
        source.step()
        counts.append(len(ticks(source)) - before)

    assert counts == [1, 2, 3, 4]
    assert source.now < at(10)
    assert source.snapshot().is_paused


def test_a_step_of_a_probe_is_a_tick_of_that_probe(source: SimulatedSource) -> None:
    run_until(source, 5)
    source.hold()
    key = ticks(source)[-1].key

    for _ in range(3):
        before = len(ticks(source))
        source.step(key=key)

        assert {tick.key for tick in ticks(source)[before:]} == {key}


def test_a_step_back_undoes_a_step(source: SimulatedSource) -> None:
    run_until(source, 5)
    source.hold()
    pictures = [repr(source.snapshot())]
    for _ in range(3):
        source.step()
        pictures.append(repr(source.snapshot()))

    undone: list[str] = []
    while len(undone) < 3:
        mark = source.last_tick_position()
        assert mark is not None
        source.seek_position(mark)
        source.hold()
        undone.append(repr(source.snapshot()))

    assert undone == pictures[2::-1]


def test_steps_back_stop_at_the_beginning(
    source: SimulatedSource,
) -> None:
    run_until(source, 10)
    count = len(ticks(source))

    steps = 0
    while (mark := source.last_tick_position()) is not None:
        source.seek_position(mark)
        source.hold()
        steps += 1

    assert ticks(source) == []
    assert 0 < steps <= count


def test_inputs_before_the_target_of_a_seek_are_not_reported_again() -> None:
    inputs: list[object] = []
    source = SimulatedSource(
        simulation_factory(POD), lambda item, now: inputs.append((item, now)), apart=20
    )
    run_until(source, 20)
    count = len(inputs)

    source.seek_back(at(10))
    kept = source.position
    run_until(source, 20)

    assert count == source.position
    assert len(inputs) == count + (count - kept)


def test_changes_are_what_the_table_of_containers_shows(
    source: SimulatedSource,
) -> None:
    run_until(source, 30)

    kinds: dict[str, JournalEntry] = {
        type(entry).__name__: entry for entry in source.journal if is_change(entry)
    }

    assert set(kinds) == {"StateEntry", "ContainerEntry"}
    assert not any(isinstance(kind, TickEntry) for kind in kinds.values())
    assert source.now - at(0) == timedelta(seconds=30)


def test_a_step_from_the_beginning_runs_the_first_tick(
    source: SimulatedSource,
) -> None:
    source.step()

    assert len(ticks(source)) == 1


def test_checkpoints_that_take_long_are_taken_less_often(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(simulated, "_LARGE_BYTES", 1 << 10)
    source = SimulatedSource(simulation_factory(POD, scenario=SCENARIO), apart=5)

    run_until(source, 1200)

    kept = source._checkpoints
    sizes = [len(checkpoint.state.pickled) for checkpoint in kept]
    gaps = [b.position - a.position for a, b in itertools.pairwise(kept)]
    assert min(sizes) > 1 << 10
    assert gaps
    assert all(gap >= 5 * (size >> 10) for gap, size in zip(gaps, sizes, strict=False))
