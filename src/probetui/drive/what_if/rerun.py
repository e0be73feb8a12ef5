"""Rerun a recorded session with other pods or another kubelet.

The engine receives the recorded inputs as long as its effects are the recorded ones:
until then both are one session, and equal settings give equal decisions to the end.
From the first instant with other effects, or earlier, the containers continue in a
simulated world, which behaves as measured.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta

from msgspec import Struct
from msgspec.structs import replace

from probetui.drive.scenario.world import World
from probetui.drive.simulation import Simulation
from probetui.drive.what_if.measurements import Gap, Measurements
from probetui.drive.what_if.session_replay import ReplayStep, SessionReplay, answers
from probetui.drive.what_if.settings import ChangedPods
from probetui.engine.engine import Engine
from probetui.engine.inputs import AddPod, Command, Input, SetPods
from probetui.errors import RecordError
from probetui.k8s.probe import ProbeKey
from probetui.kubelet.config import KubeletConfig
from probetui.kubelet.effects import (
    Effect,
    FindListeners,
    GetRuntimeStatus,
    InjectFault,
    ListImages,
    ReadLastOutput,
    Relist,
    RunOperation,
    RunProbe,
)
from probetui.kubelet.facts import (
    ImagesListed,
    OperationFinished,
    ProbeFinished,
    Relisted,
    RelistFailed,
    RuntimeStatusRead,
)
from probetui.kubelet.journal import JournalEntry, TickEntry

_DEFINITIONS = frozenset({"pod", "container"})
"""Fields of operations that say what is run, which is what was changed."""

_TURNS = 20_000
_TURNS_PER_PROBE = 10
"""Bounds of a simulated rerun: turns in all, and additional turns for each input of the
record and each probe. Each second has an input and three turns of a probe."""

GapKey = tuple[ProbeKey, datetime]
"""A probe, and the instant at which its tick fired."""


class Rerun(Struct, frozen=True):
    """The result of a rerun.

    Attributes:
        journal: its entries.
        simulated_from: when the engine's effects first differed from the recorded ones;
            None if they never did.
        gaps: the ticks whose outcomes were never measured.
    """

    journal: tuple[JournalEntry, ...]
    simulated_from: datetime | None
    gaps: Mapping[GapKey, Gap]


def rerun(
    replay: SessionReplay,
    measurements: Measurements,
    pods: ChangedPods,
    config: KubeletConfig,
) -> Rerun:
    """Run a recorded session with other pods and another configuration.

    Args:
        replay: the recorded session.
        measurements: what it measured.
        pods: those to run instead of recorded ones.
        config: of the kubelet.
    """
    trial = _OtherSession(replay, measurements, pods, config)
    return trial.run()


class _OtherSession:
    def __init__(
        self,
        replay: SessionReplay,
        measurements: Measurements,
        pods: ChangedPods,
        config: KubeletConfig,
    ) -> None:
        self._replay = replay
        self._measurements = measurements
        self._pods = pods
        self._engine = Engine(config, replay.started_at)
        self._journal: list[JournalEntry] = []
        self._in_flight: dict[int, RunProbe | RunOperation] = {}
        self._awaited: dict[type[Effect], Effect] = {}

    def run(self) -> Rerun:
        deadline = None
        for place, step in enumerate(self._replay.steps):
            if deadline is not None and deadline < step.at:
                recorded = self._replay.steps[place - 1].deadline
                if recorded is None or deadline < recorded:
                    return self._part(place, self._replay.steps[place - 1].at, ())
            turn = (
                self._engine.advance(step.at)
                if step.item is None
                else self._engine.submit(self._changed(step.item), step.at)
            )
            self._journal += turn.entries
            self._remove_pending(step.item)
            common = 0
            for own, recorded_effect in zip(turn.effects, step.effects, strict=False):
                if not self._is_same(own, recorded_effect):
                    break
                self._add_pending(own)
                common += 1
            if common < max(len(turn.effects), len(step.effects)):
                return self._part(place + 1, step.at, turn.effects[common:])
            deadline = self._engine.next_deadline()
        return Rerun(tuple(self._journal), None, {})

    def _changed(self, item: Input) -> Input:
        """Return an input with its pods replaced by the changed ones."""
        match item:
            case AddPod(pod):
                return AddPod(self._pods.of(pod))
            case SetPods(pods):
                return replace(item, pods=tuple(map(self._pods.of, pods)))
            case _:
                return item

    def _is_same(self, own: Effect, recorded: Effect) -> bool:
        """Return whether the recorded answer also answers this effect."""
        match own, recorded:
            case RunProbe(), RunProbe():
                asked = own.probe_id, own.key, own.container_id
                if asked != (
                    recorded.probe_id,
                    recorded.key,
                    recorded.container_id,
                ):
                    return False
                measured = self._measurements.by_id.get(own.probe_id)
                limit = timedelta(seconds=own.probe.timeout_seconds)
                return (
                    measured.fits(limit)
                    if measured is not None
                    else own.probe.timeout_seconds == recorded.probe.timeout_seconds
                )
            case RunOperation(), RunOperation():
                return (
                    (own.operation_id, own.pod_uid, type(own.operation))
                    == (
                        recorded.operation_id,
                        recorded.pod_uid,
                        type(recorded.operation),
                    )
                    and all(
                        getattr(own.operation, name)
                        == getattr(recorded.operation, name)
                        for name in own.operation.__struct_fields__
                        if name not in _DEFINITIONS and name != "rules"
                    )
                    and _defined(own) == _defined(recorded)
                )
            case _:
                return own == recorded

    def _add_pending(self, effect: Effect) -> None:
        match effect:
            case RunProbe(probe_id):
                self._in_flight[probe_id] = effect
            case RunOperation(operation_id):
                self._in_flight[operation_id] = effect
            case Relist() | GetRuntimeStatus() | ListImages():
                self._awaited[type(effect)] = effect
            case FindListeners() | ReadLastOutput():
                pass  # No effect waits for an answer.

    def _remove_pending(self, item: Input | None) -> None:
        match item:
            case ProbeFinished(number) | OperationFinished(number):
                self._in_flight.pop(number, None)
            case Relisted() | RelistFailed():
                self._awaited.pop(Relist, None)
            case RuntimeStatusRead():
                self._awaited.pop(GetRuntimeStatus, None)
            case ImagesListed():
                self._awaited.pop(ListImages, None)
            case _:
                pass

    def _part(self, place: int, at: datetime, effects: tuple[Effect, ...]) -> Rerun:
        """Continue in a simulated world from an instant on.

        Args:
            place: the index of the first recorded step that no longer applies.
            at: the instant.
            effects: those of this instant that the recorded session did not have.
        """
        gaps: dict[GapKey, Gap] = {}

        def note_gap(effect: RunProbe, gap: Gap) -> None:
            gaps[effect.key, simulation.now] = gap

        world = World(
            self._measurements.lives(note_gap),
            dealing=self._measurements.deal,
            # The record's IDs may be those of a simulation, too.
            series="what if ",
        )
        self._furnish(world, place)
        in_flight = dict(self._in_flight)

        def follow(item: Input | None, now: datetime) -> None:
            """Apply to the world the recorded operations that both sessions share."""
            if isinstance(item, OperationFinished):
                operation = in_flight.pop(item.operation_id, None)
                if isinstance(operation, RunOperation):
                    world.repeat(operation.pod_uid, operation.operation, item, now)

        simulation = Simulation(self._engine, world, at, self._journal, follow)
        for later in self._replay.steps[place:]:
            if self._is_still_given(later):
                simulation.schedule(self._changed(later.item), later.at)  # type: ignore[arg-type]  # it has one
        simulation.carry_out((*self._awaited.values(), *effects))
        self._run(simulation)
        ticked = {
            (entry.key, entry.timing.started_at)
            for entry in self._journal
            if isinstance(entry, TickEntry)
        }
        over = {tick: gap for tick, gap in gaps.items() if tick in ticked}
        return Rerun(tuple(self._journal), at, over)

    def _run(self, simulation: Simulation) -> None:
        """Run a simulation to the end of the record.

        Raises:
            RecordError: the record claims more time than its inputs bear out.
        """
        replay = self._replay
        probes = sum(len(list(pod.probes())) for pod in replay.pods().values())
        most = _TURNS + len(replay.steps) * (1 + probes) * _TURNS_PER_PROBE
        while (at := simulation.next_at()) is not None and at <= replay.ended_at:
            if simulation.turns >= most:
                reached = (simulation.now - replay.started_at).total_seconds()
                raise RecordError(
                    f"the record has {len(replay.steps)} inputs, too few for the time "
                    f"of its last one: a rerun had {most} by {reached:.0f}s"
                )
            simulation.turn()
        simulation.pass_until(replay.ended_at)

    def _is_still_given(self, step: ReplayStep) -> bool:
        """Return whether an input still applies: a command, or an awaited answer."""
        match step.item:
            case ProbeFinished(number) | OperationFinished(number):
                return number in self._in_flight
            case None:
                return False
            case _:
                return isinstance(step.item, Command)

    def _furnish(self, world: World, place: int) -> None:
        """Fill a world with the state of the runtime before a step."""
        steps = self._replay.steps[:place]
        listed_at = self._replay.started_at
        for step in reversed(steps):
            if isinstance(step.item, Relisted):
                world.put_in(step.item.pods)
                listed_at = step.item.started_at
                break
        for effect, _, fact, at in answers(steps):
            if not isinstance(effect, RunOperation):
                continue
            is_listed = at < listed_at and not isinstance(effect.operation, InjectFault)
            if not is_listed and isinstance(fact, OperationFinished):
                world.repeat(effect.pod_uid, effect.operation, fact, at)


def _defined(effect: RunOperation) -> tuple[str, ...]:
    """Return the names that an operation defines."""
    operation = effect.operation
    return tuple(
        getattr(operation, name).name
        for name in sorted(_DEFINITIONS)
        if hasattr(operation, name)
    )
