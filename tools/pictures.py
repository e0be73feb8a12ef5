"""Draw the pictures and the casts of the docs with the program itself.

    python -m tools.pictures [NAME ...]

The pods of `tools/pictures/` and the demo run on virtual time by the scripts beside
them, so that two runs draw the same. Check the pictures before you commit them, and
play the casts: `asciinema play docs/casts/demo.cast`.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from datetime import UTC, timedelta
from functools import partial
from pathlib import Path
from typing import NamedTuple

from tools.animated_svg import animate

from probetui.cli.lessons import DEFAULT, OpenLesson, load_lesson
from probetui.drive.playback.simulated import SimulatedSource
from probetui.drive.playback.still import StillSession
from probetui.drive.scenario.reader import read_scenario
from probetui.drive.simulation import Simulation
from probetui.engine.engine import Engine
from probetui.engine.inputs import SetPods
from probetui.kubelet.config import KubeletConfig
from probetui.kubelet_rules import DEFAULT_VERSION
from probetui.manifest.load import load_manifests
from probetui.manifest.yaml.parser import SourceFile
from probetui.tui.app import ProbetuiApp
from probetui.tui.asciicast import CastHeader, cast_lines, frame_of, painted
from probetui.tui.host_services import CurrentLesson, HostServices
from probetui.tui.options import ScreenOptions
from probetui.tui.themes import LIGHT, OWN_THEMES

PODS = Path(__file__).parent / "pictures"
DRAWN = Path(__file__).parent.parent / "docs" / "pictures"
CASTS_DRAWN = DRAWN.with_name("casts")


class Picture(NamedTuple):
    """The pods, the instant (s since the start), and the keys to press then."""

    pods: str
    seconds: float
    keys: Sequence[str] = ()
    size: tuple[int, int] = (120, 40)
    theme: str | None = None
    is_ascii: bool = False


class Cast(NamedTuple):
    """The pods, start and end (s since the start), and keys by the second."""

    pods: str
    title: str
    begin: float
    end: float
    keys: Mapping[float, Sequence[str]] = {}
    size: tuple[int, int] = (120, 30)


FRAMES_PER_SECOND = 2
DEMO = "demo"
DEMO_POSTER = 13
SHORT = (120, 30)
SMALL = (90, 22)
PICTURES = {
    "main": Picture("shop", 127.4),
    "main-light": Picture("shop", 127.4, theme=LIGHT),
    "killed": Picture("shop", 142.4),
    "back-off": Picture("shop", 118.4),
    "flapping": Picture("flapping", 97.4, (), SHORT),
    "twelve-pods": Picture("twelve", 127.4),
    "cards": Picture("shop", 127.4, ("L",)),
    "step": Picture("shop", 127.4, ("Q", "greater_than_sign"), (120, 34)),
    "why": Picture("shop", 127.4, ("w",), (120, 26)),
    **{
        f"theme-{name}": Picture("shop", 127.4, (), SMALL, name)
        for name in (
            *(theme.name for theme in OWN_THEMES),
            "nord",
            "gruvbox",
            "solarized-light",
        )
    },
    "theme-ascii": Picture("shop", 127.4, (), SMALL, is_ascii=True),
}
CASTS = {
    DEMO: Cast(DEMO, "probetui demo --runtime sim", 0, 60),
    "kill": Cast(
        "shop",
        "A liveness probe fails, the container is killed and started, and why",
        118,
        175,
        {119: ("F",), 128: ("F",), 166: ("w",)},
    ),
}


def simulate(manifest: SourceFile, script: SourceFile) -> StillSession:
    """Return a session of the pods of a manifest, at its start."""
    pods = load_manifests([manifest]).pods
    scenario = read_scenario(script, pods)

    def begin() -> Simulation:
        engine = Engine(KubeletConfig(version=DEFAULT_VERSION, seed=0), scenario.start)
        simulation = Simulation(engine, scenario.world(), scenario.start)
        simulation.schedule(SetPods(pods), scenario.start)
        return simulation

    return StillSession(SimulatedSource(begin), "sim")


def show(
    session: StillSession,
    theme: str | None = None,
    lesson: CurrentLesson | None = None,
    *,
    is_ascii: bool = False,
) -> ProbetuiApp:
    """Return an app that shows a session."""
    options = ScreenOptions(zone=UTC, motion=False, theme=theme, ascii=is_ascii)
    return ProbetuiApp(session, options=options, host=HostServices(lesson=lesson))


def session_of(pods: str) -> StillSession:
    """Return a session of pods of `tools/pictures`, at its start."""
    manifest, script = (
        SourceFile(path.name, path.read_text(encoding="utf-8"))
        for path in (PODS / f"{pods}.yaml", PODS / f"{pods}.sim.yaml")
    )
    return simulate(manifest, script)


async def draw(picture: Picture) -> str:
    """Return a picture as SVG."""
    session = session_of(picture.pods)
    session.run_for(timedelta(seconds=picture.seconds))
    app = show(session, picture.theme, is_ascii=picture.is_ascii)
    async with app.run_test(size=picture.size) as pilot:
        await pilot.press(*picture.keys)
        await pilot.pause()
        return app.export_screenshot(title="probetui")


def begin(cast: Cast) -> tuple[StillSession, ProbetuiApp]:
    """Return the session that a cast shows, at its start, and the app."""
    if cast.pods != DEMO:
        session = session_of(cast.pods)
        return session, show(session)
    page = OpenLesson(load_lesson(DEFAULT))
    lesson = page.lesson
    session = simulate(lesson.source, lesson.script)
    current = CurrentLesson(
        lesson.name, lesson.text, page.number, page.count, print, lesson.exercise
    )
    return session, show(session, lesson=current)


async def frames_of(cast: Cast) -> AsyncIterator[ProbetuiApp]:
    """Yield the app at every frame of a cast."""
    session, app = begin(cast)
    length = timedelta(seconds=1 / FRAMES_PER_SECOND)
    # Between two seconds, as ticks are at whole ones.
    session.run_for(timedelta(seconds=cast.begin) + length / 2)
    keys = dict(cast.keys)
    async with app.run_test(size=cast.size) as pilot:
        for number in range(int((cast.end - cast.begin) * FRAMES_PER_SECOND)):
            await pilot.press(*keys.pop(cast.begin + number / FRAMES_PER_SECOND, ()))
            await painted(pilot)
            yield app
            session.run_for(length)


async def draw_demo() -> str:
    """Return the first minute of the demo as an animated SVG."""
    cast = CASTS[DEMO]
    frames = [app.export_screenshot(title=cast.title) async for app in frames_of(cast)]
    return animate(frames, cast.end - cast.begin, DEMO_POSTER)


async def draw_cast(cast: Cast) -> str:
    """Return the screen of a cast as an asciicast."""
    frames = (frame_of(app) async for app in frames_of(cast))
    header = CastHeader(cast.size, cast.title)
    lines = cast_lines(header, frames, 1 / FRAMES_PER_SECOND)
    return "".join([line async for line in lines])


FILES: Mapping[Path, Callable[[], Coroutine[None, None, str]]] = {
    **{
        DRAWN / f"{name}.svg": partial(draw, picture)
        for name, picture in PICTURES.items()
    },
    DRAWN / f"{DEMO}.svg": draw_demo,
    **{
        CASTS_DRAWN / f"{name}.cast": partial(draw_cast, cast)
        for name, cast in CASTS.items()
    },
}
"""Every generated file, with the function that returns its text."""


def main() -> None:
    """Draw the pictures and casts that are named, or all of them."""
    for path, drawing in FILES.items():
        if not sys.argv[1:] or path.stem in sys.argv[1:]:
            text = asyncio.run(drawing())
            path.write_text(text, encoding="utf-8")
            print(f"{path}: {len(text) / 1000:.0f} kB")


if __name__ == "__main__":
    main()
