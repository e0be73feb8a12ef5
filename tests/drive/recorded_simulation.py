"""Simulations that are recorded, and replays of those recordings."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from pathlib import Path

from probetui.drive.playback.replay import ReplaySource
from probetui.drive.playback.simulated import SimulatedSource
from probetui.drive.scenario.script import NO_SCENARIO, Scenario
from probetui.drive.simulation import Simulation
from probetui.engine.engine import Engine
from probetui.engine.inputs import Input, SetPods
from probetui.k8s.pod import Pod
from probetui.kubelet.config import KubeletConfig
from probetui.record.codec import SessionHeader
from probetui.record.format import RecordContext
from probetui.record.reader import RecordingFile
from probetui.record.writer import Recorder, RecordWriter
from tests.builders import START

CONFIG = KubeletConfig(seed=3)


def simulation_factory(
    *pods: Pod, scenario: Scenario = NO_SCENARIO, config: KubeletConfig = CONFIG
) -> Callable[[], Simulation]:
    """Return a factory of simulations of some pods."""

    def create_simulation() -> Simulation:
        simulation = Simulation(Engine(config, START), scenario.world(), START)
        simulation.schedule(SetPods(pods), START)
        return simulation

    return create_simulation


class Recorded:
    """A simulation that is recorded while it runs."""

    def __init__(
        self, path: Path, *pods: Pod, scenario: Scenario = NO_SCENARIO, apart: int = 50
    ) -> None:
        self.path = path
        context = RecordContext(START, {pod.uid: pod for pod in pods})
        self.recorder = Recorder(RecordWriter.open(path), context)
        self.recorder.begin(
            SessionHeader("0", "sim", "v1.32", {}, [], CONFIG.seed, CONFIG)
        )
        self._written = 0
        self.source = SimulatedSource(
            simulation_factory(*pods, scenario=scenario),
            self._record_input,
            apart=apart,
        )

    def _record_input(self, item: Input | None, now: datetime) -> None:
        self.recorder.note_input(item, now, len(self.source.journal))

    def run_until(self, instant: datetime) -> None:
        """Simulate up to an instant, and write the entries."""
        while (at := self.source.next_at()) is not None and at <= instant:
            self.source.turn()
            self.write()
        self.source.pass_until(instant)

    def write(self) -> None:
        """Write the entries that are not written yet."""
        self.recorder.consume(self.source.journal[self._written :])
        self._written = len(self.source.journal)

    def rewound(self) -> None:
        """Record that the simulation was rewound."""
        self._written = len(self.source.journal)
        self.recorder.rewind(self.source.journal, self.source.position, self.source.now)

    def end(self) -> ReplaySource:
        """Close the recording and open it for replay."""
        self.write()
        self.recorder.end("left", 0, self.source.now)
        return open_replay(self.path)


def open_replay(path: Path, apart: int = 50) -> ReplaySource:
    """Open a recording for replay."""
    return ReplaySource(RecordingFile(path), apart=apart)


def instants(seconds: Iterable[float]) -> list[datetime]:
    """Return the instants so many seconds after the start."""
    return [START + timedelta(seconds=second) for second in seconds]
