"""Sessions of their own time: played, recorded, and opened again."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from pathlib import Path

from probetui.drive.record_writer import Recorder, RecordWriter
from probetui.drive.recording import RecordContext, SessionHeader
from probetui.drive.replay import RecordedCourse
from probetui.drive.scenario import NO_SCENARIO, Scenario
from probetui.drive.simulated_course import SimulatedCourse
from probetui.drive.simulation import Simulation
from probetui.drive.tape import Tape
from probetui.k8s.pod import Pod
from probetui.kubelet.config import KubeletConfig
from probetui.kubelet.engine import Engine
from probetui.kubelet.inputs import Input, SetPods
from probetui.presentation.api_json import pod_status_to_json
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
        context = RecordContext(
            START, {each.uid: each for each in pods}, pod_status_to_json
        )
        self.recorder = Recorder(RecordWriter.open(path), context)
        self.recorder.begin(
            SessionHeader("0", "sim", "v1.32", {}, [], CONFIG.seed, CONFIG)
        )
        self._taken = 0
        self.course = SimulatedCourse(
            beginning(*pods, scenario=scenario), self._hear, apart=apart
        )

    def _hear(self, item: Input | None, now: datetime) -> None:
        self.recorder.hear(item, now, len(self.course.journal))

    def run_until(self, instant: datetime) -> None:
        """Let time pass, and write what happens."""
        while (at := self.course.next_at()) is not None and at <= instant:
            self.course.turn()
            self.write()
        self.course.pass_until(instant)

    def write(self) -> None:
        """Write what is not written yet."""
        self.recorder.take(self.course.journal[self._taken :])
        self._taken = len(self.course.journal)

    def rewound(self) -> None:
        """Write that the course went back."""
        self._taken = len(self.course.journal)
        self.recorder.rewind(self.course.journal, self.course.position, self.course.now)

    def end(self) -> RecordedCourse:
        """Close the recording and open it again."""
        self.write()
        self.recorder.end("left", 0, self.course.now)
        return opened(self.path)


def opened(path: Path, apart: int = 50) -> RecordedCourse:
    """Return a recording that can be played."""
    return RecordedCourse(Tape(path), pod_status_to_json, apart=apart)


def instants(seconds: Iterable[float]) -> list[datetime]:
    """Return the instants so many seconds after the start."""
    return [START + timedelta(seconds=each) for each in seconds]
