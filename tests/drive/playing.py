"""Sessions of their own time: played, recorded, and opened again."""

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


def beginning(*pods: Pod, scenario: Scenario = NO_SCENARIO) -> Callable[[], Simulation]:
    """Return what makes a simulation of some pods, at its beginning."""

    def begin() -> Simulation:
        simulation = Simulation(Engine(CONFIG, START), scenario.world(), START)
        simulation.schedule(SetPods(pods), START)
        return simulation

    return begin


class Recorded:
    """A simulation that is recorded while it goes on."""

    def __init__(
        self, path: Path, *pods: Pod, scenario: Scenario = NO_SCENARIO, apart: int = 50
    ) -> None:
        self.path = path
        context = RecordContext(START, {pod.uid: pod for pod in pods})
        self.recorder = Recorder(RecordWriter.open(path), context)
        self.recorder.begin(
            SessionHeader("0", "sim", "v1.32", {}, [], CONFIG.seed, CONFIG)
        )
        self._taken = 0
        self.course = SimulatedSource(
            beginning(*pods, scenario=scenario), self._hear, apart=apart
        )

    def _hear(self, item: Input | None, now: datetime) -> None:
        self.recorder.note_input(item, now, len(self.course.journal))

    def run_until(self, instant: datetime) -> None:
        """Let time pass, and write what happens."""
        while (at := self.course.next_at()) is not None and at <= instant:
            self.course.turn()
            self.write()
        self.course.pass_until(instant)

    def write(self) -> None:
        """Write what is not written yet."""
        self.recorder.consume(self.course.journal[self._taken :])
        self._taken = len(self.course.journal)

    def rewound(self) -> None:
        """Write that the course went back."""
        self._taken = len(self.course.journal)
        self.recorder.rewind(self.course.journal, self.course.position, self.course.now)

    def end(self) -> ReplaySource:
        """Close the recording and open it again."""
        self.write()
        self.recorder.end("left", 0, self.course.now)
        return opened(self.path)


def opened(path: Path, apart: int = 50) -> ReplaySource:
    """Return a recording that can be played."""
    return ReplaySource(RecordingFile(path), apart=apart)


def instants(seconds: Iterable[float]) -> list[datetime]:
    """Return the instants so many seconds after the start."""
    return [START + timedelta(seconds=second) for second in seconds]
