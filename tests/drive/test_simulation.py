from __future__ import annotations

from datetime import datetime, timedelta

from probetui.debugger.commands import PauseProbes
from probetui.drive.scenario.behavior import CallBehavior, InstanceBehavior
from probetui.drive.scenario.world import World
from probetui.drive.simulation import Simulation
from probetui.engine.engine import Engine
from probetui.engine.inputs import AddPod, Input
from probetui.kubelet.config import KubeletConfig
from probetui.kubelet.journal import TickEntry, UserEntry
from probetui.kubelet.runtime.turn import Turn
from tests.builders import START, a_container, a_pod, a_probe, at

SECOND = timedelta(seconds=1)


class RecordingEngine(Engine):
    """An engine that records its inputs with their instants."""

    def __init__(self) -> None:
        super().__init__(KubeletConfig(), START)
        self.inputs: list[tuple[datetime, str]] = []

    def submit(self, item: Input, now: datetime) -> Turn:
        self.inputs.append((now, type(item).__name__))
        return super().submit(item, now)

    def advance(self, now: datetime) -> Turn:
        self.inputs.append((now, ""))
        return super().advance(now)


def a_simulation(world: World | None = None) -> tuple[Simulation, RecordingEngine]:
    engine = RecordingEngine()
    return Simulation(engine, world or World(), START), engine


def test_time_passes_from_instant_to_instant_and_never_back() -> None:
    simulation, engine = a_simulation()
    simulation.submit(AddPod(a_pod(a_container(liveness_probe=a_probe()))))

    simulation.run_for(60 * SECOND)

    instants = [when for when, _ in engine.inputs]
    assert instants == sorted(instants)
    assert simulation.now == at(60)


def test_nothing_happens_that_is_not_due_yet() -> None:
    simulation, engine = a_simulation()

    simulation.run_until(at(10.5))

    assert max(when for when, _ in engine.inputs) == at(10)
    assert simulation.now == at(10.5)


def test_time_may_pass_in_any_number_of_steps() -> None:
    whole, _ = a_simulation(World({"app": (InstanceBehavior(4 * SECOND, 1),)}))
    pieces, _ = a_simulation(World({"app": (InstanceBehavior(4 * SECOND, 1),)}))
    for simulation in (whole, pieces):
        simulation.submit(AddPod(a_pod(a_container(readiness_probe=a_probe()))))

    whole.run_until(at(90))
    for _ in range(900):
        pieces.run_for(SECOND / 10)

    assert pieces.journal == whole.journal


def test_running_until_a_past_instant_does_nothing() -> None:
    simulation, engine = a_simulation()
    simulation.run_until(at(5))
    inputs = len(engine.inputs)

    simulation.run_until(at(3))

    assert simulation.now == at(5)
    assert len(engine.inputs) == inputs


def test_an_answer_of_the_world_arrives_at_its_instant() -> None:
    world = World(dealing=lambda _call: CallBehavior(SECOND / 4))
    simulation, engine = a_simulation(world)
    simulation.submit(AddPod(a_pod()))

    simulation.run_until(at(1))

    facts = [(when, what) for when, what in engine.inputs if what.endswith("ed")]
    assert facts == [
        (at(0.25), "Relisted"),
        (at(0.5), "OperationFinished"),
        (at(0.75), "OperationFinished"),
        (at(1), "OperationFinished"),
    ]


def test_facts_of_one_instant_arrive_in_the_order_of_their_effects() -> None:
    simulation, _ = a_simulation()
    for name in ("a", "b", "c"):
        simulation.submit(
            AddPod(a_pod(a_container(liveness_probe=a_probe()), name=name))
        )

    simulation.run_until(at(30))

    by_instant: dict[datetime, list[str]] = {}
    for entry in simulation.journal:
        if isinstance(entry, TickEntry) and entry.attempts:
            by_instant.setdefault(entry.at, []).append(entry.key.pod_uid)
    assert by_instant
    assert all(
        uids == ["uid-of-a", "uid-of-b", "uid-of-c"] for uids in by_instant.values()
    )


def test_the_journal_has_every_entry_of_every_turn() -> None:
    simulation, engine = a_simulation()
    simulation.submit(AddPod(a_pod()))
    simulation.run_until(at(10))

    simulation.submit(PauseProbes())

    numbers = [entry.sequence for entry in simulation.journal]
    assert numbers == list(range(1, len(numbers) + 1))
    assert isinstance(simulation.journal[-1], UserEntry)
    assert simulation.journal[-1].at == at(10)
    assert engine.snapshot(simulation.now).sequence == numbers[-1]
