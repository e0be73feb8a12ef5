"""Draws the pictures of the README and of `docs/PICTURES.md` with the program itself.

    python tools/pictures.py [NAME ...]

The pods of `tools/pictures/` run on virtual time by the scripts beside them, so that
two runs draw the same. Look at the pictures before you commit them.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Sequence
from datetime import UTC, timedelta
from pathlib import Path
from typing import NamedTuple

from probetui.debugger.commands import PauseProbes, ResumeProbes, StepProbe
from probetui.drive.playback.simulated import SimulatedSource
from probetui.drive.scenario.reader import read_scenario
from probetui.drive.simulation import Simulation
from probetui.engine.engine import Engine
from probetui.engine.inputs import Command, SetPods
from probetui.engine.snapshot import Snapshot
from probetui.kubelet.config import KubeletConfig
from probetui.kubelet.journal import JournalEntry
from probetui.manifest.load import load_manifests
from probetui.manifest.yaml.parser import SourceFile
from probetui.tui.app import ProbetuiApp
from probetui.tui.options import ScreenOptions

PODS = Path(__file__).parent / "pictures"
DRAWN = Path(__file__).parent.parent / "docs" / "pictures"


class Picture(NamedTuple):
    """The pods, the instant (s since the start), and the keys pressed then."""

    pods: str
    seconds: float
    keys: Sequence[str] = ()
    size: tuple[int, int] = (120, 40)
    theme: str | None = None


SHORT = (120, 30)
PICTURES = {
    "main": Picture("shop", 127.4),
    "main-light": Picture("shop", 127.4, theme="textual-light"),
    "killed": Picture("shop", 142.4),
    "back-off": Picture("shop", 118.4),
    "flapping": Picture("flapping", 97.4, ("right_square_bracket",), SHORT),
    "twelve-pods": Picture("twelve", 127.4),
    "step": Picture("shop", 127.4, ("Q", "full_stop"), SHORT),
    "why": Picture("shop", 127.4, ("w",), (120, 26)),
}


class StillSession:
    """A `Session` whose time passes in steps and in `run_for` only."""

    runtime_name = "sim"
    playback = None

    def __init__(self, source: SimulatedSource) -> None:
        self._source = source
        self._callbacks: list[Callable[[], None]] = []

    @property
    def snapshot(self) -> Snapshot:
        """The state at the virtual instant."""
        return self._source.snapshot()

    @property
    def journal(self) -> Sequence[JournalEntry]:
        """Every entry up to now."""
        return self._source.journal

    def subscribe(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Call back after each change; returns what ends that."""
        self._callbacks.append(callback)
        return lambda: self._callbacks.remove(callback)

    def send(self, command: Command) -> None:
        """Carry out a command at this instant; a step lets time pass to its tick."""
        match command:
            case StepProbe():
                self._source.step()
            case PauseProbes():
                self._source.hold()
            case ResumeProbes():
                self._source.release()
            case _:
                self._source.submit(command)
        self._notify()

    def run_for(self, length: timedelta) -> None:
        """Run everything that is due within some time."""
        end = self._source.now + length
        while (at := self._source.next_at()) is not None and at <= end:
            self._source.turn()
        self._source.pass_until(end)
        self._notify()

    def _notify(self) -> None:
        for callback in tuple(self._callbacks):
            callback()


def simulate(name: str) -> StillSession:
    """Return a session of some pods of `tools/pictures/`, at its start."""
    manifest, script = (
        SourceFile(path.name, path.read_text(encoding="utf-8"))
        for path in (PODS / f"{name}.yaml", PODS / f"{name}.sim.yaml")
    )
    pods = load_manifests([manifest]).pods
    scenario = read_scenario(script, pods)

    def begin() -> Simulation:
        engine = Engine(KubeletConfig(seed=0), scenario.start)
        simulation = Simulation(engine, scenario.world(), scenario.start)
        simulation.schedule(SetPods(pods), scenario.start)
        return simulation

    return StillSession(SimulatedSource(begin))


async def draw(name: str, picture: Picture) -> None:
    """Write one picture."""
    session = simulate(picture.pods)
    session.run_for(timedelta(seconds=picture.seconds))
    options = ScreenOptions(
        zone=UTC,
        motion=False,
        theme=picture.theme,
        sources=[f"{picture.pods}.yaml"],
    )
    app = ProbetuiApp(session, options=options)
    async with app.run_test(size=picture.size) as pilot:
        for key in picture.keys:
            await pilot.press(key)
        await pilot.pause()
        svg = app.export_screenshot(title="probetui")
    path = DRAWN / f"{name}.svg"
    path.write_text(svg, encoding="utf-8")
    print(f"{path}: {len(svg) / 1000:.0f} kB")


def main() -> None:
    """Draw the pictures that are named, or all of them."""
    for name in sys.argv[1:] or PICTURES:
        asyncio.run(draw(name, PICTURES[name]))


if __name__ == "__main__":
    main()
