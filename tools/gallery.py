"""Draw every screen in every state at every size, for manual review.

    python -m tools.gallery FOLDER [PART-OF-A-NAME ...]

Writes `FOLDER/STATE-SCREEN-SIZE-LOOK.svg` and the same as text, `.txt`. The folder is
outside the repository: the pictures are not committed. Prints for each picture how much
of it is filled, how many rows are empty, and what is cut; ends with 1 if a picture
misses an aim, which `tests/tui/test_gallery.py` holds as well.
"""

from __future__ import annotations

import argparse
import asyncio
import os
from collections.abc import Callable, Sequence
from datetime import timedelta
from pathlib import Path
from typing import NamedTuple

from msgspec.structs import replace
from tools.pictures import PODS, simulate

from probetui.cli.lessons import OpenLesson, lesson_names, load_lesson
from probetui.drive.playback.still import StillSession
from probetui.engine.snapshot import PlaybackKind, PlaybackSnapshot, Snapshot
from probetui.manifest.yaml.parser import SourceFile
from probetui.presentation.container.table import state as state_of
from probetui.tui.app import ProbetuiApp
from probetui.tui.host_services import CurrentLesson, HostServices
from probetui.tui.options import ScreenOptions
from probetui.tui.panes.container_table import ContainerTable
from probetui.tui.panes.pane import Pane
from probetui.tui.screens.main import MainScreen
from probetui.tui.themes import LIGHT

Change = Callable[[Snapshot], Snapshot]
SIZES = ((80, 24), (100, 30), (120, 40), (160, 45), (200, 60))
LESSON_SECONDS = 30.4
"""When a lesson is drawn: the first has had three kills."""

LEAST_FILLED = {(120, 40): 0.45, (200, 60): 0.35}
"""The least part of a lesson's screen that is filled, by its size."""

_MINUTE = timedelta(minutes=1)
_POD = """
apiVersion: v1
kind: Pod
metadata: {{name: svc-{number}}}
spec:
  containers:
    - name: app
      image: shop/svc:{number}
      livenessProbe: {{httpGet: {{path: /healthz, port: 8080}}, periodSeconds: 5}}
      readinessProbe: {{tcpSocket: {{port: 8080}}, periodSeconds: 3}}
"""


def as_it_is(snapshot: Snapshot) -> Snapshot:
    """Return a snapshot unchanged."""
    return snapshot


def live(snapshot: Snapshot) -> Snapshot:
    """Return a snapshot as on a real runtime with the wall clock."""
    return replace(snapshot, playback=None)


def replayed(snapshot: Snapshot) -> Snapshot:
    """Return a snapshot of a record of nine minutes, stopped where it is."""
    played = PlaybackSnapshot(
        PlaybackKind.REPLAY, is_paused=True, pace=1.0, length=9 * _MINUTE
    )
    return replace(snapshot, playback=played)


def attached(snapshot: Snapshot) -> Snapshot:
    """Return a snapshot of containers in watch-only mode."""
    return replace(live(snapshot), acts=False)


def without_daemon(snapshot: Snapshot) -> Snapshot:
    """Return a snapshot of a runtime that no longer responds."""
    return replace(
        live(snapshot),
        runtime_lost_since=snapshot.taken_at - timedelta(seconds=8),
        runtime_error="cannot connect to the Docker daemon at /var/run/docker.sock",
    )


class State(NamedTuple):
    """Pods of `tools/pictures` or a lesson, the second to show, and a change.

    With `is_lesson` the screen shows the lesson's text.
    """

    pods: str
    seconds: float
    change: Change = live
    keys: Sequence[str] = ()
    is_lesson: bool = False


STATES = {
    "calm": State("flapping", 9.4),
    "one-of-three": State("shop", 122.4),
    "two-of-three": State("shop", 127.4),
    "killing": State("shop", 142.4),
    "hold": State("on-hold", 9.4),
    "back-off": State("shop", 118.4),
    "errored": State("errored", 14.4),
    "flapping": State("flapping", 97.4),
    "paused": State("shop", 127.4, live, ("space",)),
    "sim": State("shop", 127.4, as_it_is),
    "replay": State("shop", 127.4, replayed),
    "attach": State("shop", 137.4, attached),
    "daemon-gone": State("shop", 127.4, without_daemon),
    "forty": State("forty", 127.4),
    "twelve": State("twelve", 127.4),
    "startup": State("startup", 6.4),
    "sidecar": State("sidecar", 8.4),
    **{
        f"lesson-{name}": State(name, LESSON_SECONDS, as_it_is, is_lesson=True)
        for name in lesson_names()
    },
}
SCREENS = {
    "main": (),
    "step": ("Q", "greater_than_sign"),
    "why": ("w",),
    "container": ("enter",),
    "events": ("v",),
    "describe": ("d",),
    "copy": ("C",),
    "inject": ("i",),
    "break": ("x",),
    "edit": ("e",),
    "output": ("enter", "enter"),
    "help": ("question_mark",),
    "yaml": ("y",),
    "node": ("D",),
    "explain": ("colon", *"explain", "enter"),
    "command": ("colon", *"pro"),
    "palette": ("ctrl+p",),
    "filter": ("slash", *"zzz"),
}
LOOKS: dict[str, dict[str, object]] = {
    "dark": {},
    "light": {"theme": LIGHT},
    "blue": {"theme": "blue-orange-dark"},
    "blue-light": {"theme": "blue-orange-light"},
    "ascii": {"ascii": True},
    "mono": {},
}
_SEVERAL = ("calm", "two-of-three", "killing", "back-off", "errored")


class ChangedSession(StillSession):
    """A session whose snapshots are changed before they are shown."""

    def __init__(self, session: StillSession, change: Change) -> None:
        super().__init__(session._source, session.runtime_name)  # noqa: SLF001  # the base class's
        self._change = change

    @property
    def snapshot(self) -> Snapshot:
        """The changed snapshot."""
        return self._change(super().snapshot)


def session_of(pods: str) -> StillSession:
    """Return a session of pods of `tools/pictures`, of a lesson, or of forty pods."""
    if pods == "forty":
        numbers = range(1, 41)
        text = "---".join(_POD.format(number=number) for number in numbers)
        script = "containers:\n" + "".join(
            f"  svc-{number}/app:\n    stopsAfter: 9s\n    liveness:\n"
            f"      - {{result: success, until: {number * 7}s}}\n"
            "      - {result: failure, output: not well}\n"
            for number in numbers[::4]
        )
        return simulate(SourceFile("forty", text), SourceFile("script", script))
    if (PODS / f"{pods}.yaml").exists():
        manifest, script_file = (
            SourceFile(path.name, path.read_text(encoding="utf-8"))
            for path in (PODS / f"{pods}.yaml", PODS / f"{pods}.sim.yaml")
        )
        return simulate(manifest, script_file)
    lesson = load_lesson(pods)
    return simulate(lesson.source, lesson.script)


def wanted(parts: Sequence[str]) -> list[tuple[str, str, tuple[int, int], str]]:
    """Return state, screen, size and look of the selected pictures."""
    shown = [(state, "main", size, "dark") for state in STATES for size in SIZES]
    shown += [
        (state, screen, size, "dark")
        for state in _SEVERAL
        for screen in SCREENS
        for size in SIZES
        if screen != "main"
    ]
    shown += [
        (state, "main", size, look)
        for state in _SEVERAL
        for look in LOOKS
        for size in SIZES
        if look != "dark"
    ]
    return [of for of in shown if not parts or any(part in name(*of) for part in parts)]


def name(state: str, screen: str, size: tuple[int, int], look: str) -> str:
    """Return the name of a picture."""
    return f"{state}-{screen}-{size[0]}x{size[1]}-{look}"


class Measures(NamedTuple):
    """What can be counted of a picture.

    Attributes:
        filled: the part of its cells that are not blank.
        empty_rows: its rows in which nothing is but frames.
        names_cut: the visible containers whose names are cut.
        states_cut: the visible containers whose states are cut.
        cut_beside_room: the rows that are cut in a pane with an empty row.
    """

    filled: float
    empty_rows: int
    names_cut: Sequence[str]
    states_cut: Sequence[str]
    cut_beside_room: Sequence[str]

    def misses(self, size: tuple[int, int], *, is_lesson: bool) -> list[str]:
        """Return the aims that a picture misses."""
        missed = []
        least = LEAST_FILLED.get(size, 0.0) if is_lesson else 0.0
        if self.filled < least:
            missed.append(f"{self.filled:.0%} filled, not {least:.0%}")
        missed += [f"name cut: {name}" for name in self.names_cut]
        missed += [f"cut beside an empty row: {row}" for row in self.cut_beside_room]
        return missed


_FRAMES = frozenset(" ┃━┏┓┗┛│─╭╮╰╯█")
_ENDS = "… ┃█"


def measure(app: ProbetuiApp) -> Measures:
    """Return the measures of the screen that an app shows."""
    rows = [strip.text for strip in app.screen._compositor.render_strips()]  # noqa: SLF001  # nothing else has it
    cells = sum(map(len, rows))
    filled = sum(not cell.isspace() for row in rows for cell in row)
    empty = sum(_FRAMES.issuperset(row) for row in rows)
    names_cut: list[str] = []
    states_cut: list[str] = []
    cut: list[str] = []
    for pane in app.screen.query(Pane):
        if not pane.display or pane.is_bare:
            continue
        x, y, width, height = pane.region
        inside = [row[x + 1 : x + width - 1] for row in rows[y + 1 : y + height - 1]]
        ends = [
            row.strip() for row in inside if row.rstrip(_ENDS + " ") != row.rstrip()
        ]
        if any(not row.strip(_ENDS) for row in inside):
            cut += [row for row in ends if row.endswith("…")]
    if isinstance(app.screen, MainScreen):
        names_cut, states_cut = _cut_of(app.screen.query_one(ContainerTable), rows)
    return Measures(filled / max(cells, 1), empty, names_cut, states_cut, cut)


def _cut_of(table: ContainerTable, rows: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the names and states in a list that are not to be read there in full."""
    names, states = [], []
    top, visible = table.viewport.top, table.visible_rows
    for place in range(min(table.count() - top, visible)):
        if table._lines[top + place].probe_index is not None:  # noqa: SLF001  # likewise
            continue
        pod, container = table._snapshots(table._lines[top + place])  # noqa: SLF001  # nothing else has it
        text = rows[table.region.y + 1 + len(table.above()) + place]
        name = f"{pod.pod.name}/{container.container.name}"
        if name not in text:
            names.append(name)
        elif "…" in text.partition(name)[2]:
            states.append(state_of(pod, container, table._view).text)  # noqa: SLF001  # likewise
    return names, states


class Drawn(NamedTuple):
    """A picture as SVG and as text, and its measures."""

    svg: str
    text: str
    measures: Measures


async def draw(state: State, screen: str, size: tuple[int, int], look: str) -> Drawn:
    """Return a picture."""
    session = session_of(state.pods)
    session.run_for(timedelta(seconds=state.seconds))
    os.environ.pop("NO_COLOR", None)
    if look == "mono":
        os.environ["NO_COLOR"] = "1"
    options = ScreenOptions(motion=False, **LOOKS[look])  # type: ignore[arg-type]  # as named above
    host = HostServices(lesson=_lesson(state.pods) if state.is_lesson else None)
    shown = ChangedSession(session, state.change)
    app = ProbetuiApp(shown, options=options, host=host)
    async with app.run_test(size=size) as pilot:
        await pilot.press(*state.keys, *SCREENS[screen])
        # Panes paint what a key has changed after the key.
        await pilot.pause()
        await pilot.pause()
        lines = app.screen._compositor.render_strips()  # noqa: SLF001  # nothing else has it
        text = "\n".join(strip.text for strip in lines)
        return Drawn(app.export_screenshot(), text, measure(app))


def _lesson(name: str) -> CurrentLesson:
    lesson = load_lesson(name)
    place = OpenLesson(lesson)
    return CurrentLesson(
        name,
        lesson.text,
        place.number,
        place.count,
        lambda _turns: None,
        lesson.exercise,
    )


def main() -> int:
    """Draw the selected pictures, or all, and print their measures."""
    parser = argparse.ArgumentParser(description="Draw every screen in every state.")
    parser.add_argument("folder", type=Path, help="made if it is not there")
    parser.add_argument("parts", nargs="*", metavar="PART", help="of the names drawn")
    options = parser.parse_args()
    folder: Path = options.folder
    folder.mkdir(parents=True, exist_ok=True)
    has_missed = False
    for state, screen, size, look in wanted(options.parts):
        drawn = asyncio.run(draw(STATES[state], screen, size, look))
        path = folder / name(state, screen, size, look)
        path.with_suffix(".svg").write_text(drawn.svg, encoding="utf-8")
        path.with_suffix(".txt").write_text(drawn.text, encoding="utf-8")
        found = drawn.measures
        print(
            f"{path.name:<44} {found.filled:5.0%} filled {found.empty_rows:3} empty "
            f"{len(found.names_cut):2} names {len(found.states_cut):2} states "
            f"{len(found.cut_beside_room):2} rows cut"
        )
        for missed in found.misses(size, is_lesson=STATES[state].is_lesson):
            has_missed = True
            print(f"    {missed}")
    return int(has_missed)


if __name__ == "__main__":
    raise SystemExit(main())
