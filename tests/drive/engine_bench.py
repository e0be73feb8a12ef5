"""A test bench on virtual time: an engine, a scripted world, queries of its journal.

Seconds are counted from `START`, when the engine begins.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from typing import Any, TypeVar

from probetui.drive.scenario.behavior import ProbeAnswer, ProbeBehavior
from probetui.drive.scenario.world import World
from probetui.drive.simulation import Simulation
from probetui.engine.engine import Engine
from probetui.engine.inputs import AddPod, Command
from probetui.engine.snapshot import ContainerSnapshot, ProbeSnapshot, Snapshot
from probetui.k8s.pod import Pod
from probetui.k8s.probe import ProbeType
from probetui.k8s.runtime import RuntimePodStatus, RuntimeState
from probetui.kubelet.config import KubeletConfig
from probetui.kubelet.effects import RunProbe
from probetui.kubelet.journal import (
    BackoffEntry,
    ContainerEntry,
    EventEntry,
    JournalEntry,
    LifecycleStep,
    NoteEntry,
    StateEntry,
    StateField,
    TickEntry,
)
from probetui.kubelet.outcome import Attempt, ProbeResult
from tests.builders import START, at

E = TypeVar("E", bound=JournalEntry)

SUCCEEDS = ProbeAnswer(Attempt(ProbeResult.SUCCESS))
FAILS = ProbeAnswer(Attempt(ProbeResult.FAILURE, "not well"))
ERRS = ProbeAnswer(Attempt(ProbeResult.UNKNOWN, error="cannot be run"))


def probing(**by_type: Callable[[float], ProbeAnswer]) -> ProbeBehavior:
    """Return answers by type (`liveness=…`) and the age of the instance in seconds."""

    def answer(effect: RunProbe, age: timedelta) -> ProbeAnswer:
        answer_by_age = by_type.get(effect.key.probe_type.lower())
        return SUCCEEDS if answer_by_age is None else answer_by_age(age.total_seconds())

    return answer


def always(answer: ProbeAnswer) -> Callable[[float], ProbeAnswer]:
    """Return a function that always gives this answer."""
    return lambda _age: answer


def in_turn(*answers: ProbeAnswer) -> Callable[[float], ProbeAnswer]:
    """Return a function that gives the answers in order and repeats the last one."""
    left = list(answers)
    return lambda _age: left.pop(0) if len(left) > 1 else left[0]


class EngineBench:
    """A simulation with some pods, and queries of what happened."""

    def __init__(
        self,
        *pods: Pod,
        config: KubeletConfig | None = None,
        world: World | None = None,
        engine: Engine | None = None,
        **script: Any,
    ) -> None:
        self.world = world or World(**script)
        self.engine = engine or Engine(config or KubeletConfig(), START)
        self.simulation = Simulation(self.engine, self.world, START)
        for pod in pods:
            self.simulation.submit(AddPod(pod))

    # -- acting

    def run_until(self, seconds: float) -> None:
        """Simulate up to that second."""
        self.simulation.run_until(at(seconds))

    def send(self, command: Command) -> None:
        """Submit a command at this instant."""
        self.simulation.submit(command)

    # -- the journal

    @property
    def journal(self) -> list[JournalEntry]:
        return list(self.simulation.journal)

    def of(self, kind: type[E]) -> list[E]:
        """Return the entries of one kind, oldest first."""
        return [entry for entry in self.simulation.journal if isinstance(entry, kind)]

    def reasons(self) -> list[str]:
        """Return the reason of every event."""
        return [entry.event.reason for entry in self.of(EventEntry)]

    def events(self, reason: str) -> list[tuple[float, str]]:
        """Return second and message of the events of one reason."""
        return [
            (seconds(entry.at), entry.event.message)
            for entry in self.of(EventEntry)
            if entry.event.reason == reason
        ]

    def times(self, reason: str) -> list[float]:
        """Return the second of each event of one reason."""
        return [when for when, _ in self.events(reason)]

    def ticks(self, kind: ProbeType, container: str = "app") -> list[TickEntry]:
        """Return the ticks of one worker."""
        return [
            entry for entry in self.of(TickEntry) if entry.key[1:] == (container, kind)
        ]

    def probed(self, kind: ProbeType, container: str = "app") -> list[float]:
        """Return the second of each tick of one worker that probed."""
        return [
            seconds(tick.timing.started_at)
            for tick in self.ticks(kind, container)
            if tick.attempts
        ]

    def lifecycle_entries(
        self, what: LifecycleStep, container: str = "app"
    ) -> list[ContainerEntry]:
        """Return the lifecycle entries of one kind for one container."""
        return [
            entry
            for entry in self.of(ContainerEntry)
            if entry.what is what and entry.container_name == container
        ]

    def changes(
        self, what: StateField, subject: str = ""
    ) -> list[tuple[float, str, str]]:
        """Return second, before and after of each change of one kind."""
        return [
            (seconds(entry.at), entry.before, entry.after)
            for entry in self.of(StateEntry)
            if entry.what is what and entry.subject == subject
        ]

    def starts(self) -> list[tuple[float, int, bool]]:
        """Return the back-offs: second, window in seconds, whether the start waits."""
        return [
            (seconds(entry.at), int(entry.window.total_seconds()), entry.waits)
            for entry in self.of(BackoffEntry)
        ]

    def notes(self) -> list[tuple[float, str, bool]]:
        """Return the notes: second, text, whether it is a fault."""
        return [
            (seconds(entry.at), entry.text, entry.is_fault)
            for entry in self.of(NoteEntry)
        ]

    # -- the current state

    @property
    def now(self) -> float:
        return seconds(self.simulation.now)

    @property
    def snapshot(self) -> Snapshot:
        return self.engine.snapshot(self.simulation.now)

    def container(self, name: str = "app") -> ContainerSnapshot:
        """Return one container of the first pod that has one of that name."""
        return next(
            container
            for pod in self.snapshot.pods
            for container in pod.containers
            if container.container.name == name
        )

    def probe(self, kind: ProbeType, container: str = "app") -> ProbeSnapshot:
        """Return the current state of one worker."""
        return next(
            probe
            for probe in self.container(container).probes
            if probe.key.probe_type is kind
        )

    def runtime_pods(self) -> tuple[RuntimePodStatus, ...]:
        """Return all pods of the runtime."""
        return self.world.pods(self.simulation.now)

    def running(self) -> Iterator[str]:
        """Yield the name of every container that runs."""
        for pod in self.runtime_pods():
            for container in pod.containers:
                if container.state is RuntimeState.RUNNING:
                    yield container.name


def seconds(instant: datetime) -> float:
    """Return how many seconds after `START` an instant is."""
    return (instant - START).total_seconds()
