"""Every screen at every size: it fits, and shows its main content.

Screenshots test the appearance at one or two sizes. The required content of a screen
is tested here, by values and names that no change of wording affects.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations
from typing import NamedTuple

import pytest
from textual.app import App
from textual.widget import Widget

from probetui.tui.app import ProbetuiApp
from probetui.tui.host_services import HostServices
from tests.tui.app_harness import an_app, an_app_of_cards, screen_lines, screen_text
from tests.tui.debugging_snapshots import stopped
from tests.tui.history_scenes import steady, stopping, waiting
from tests.tui.reading_scenes import logs, restarted
from tests.tui.scenes import SCENES, failing

TINY = (50, 12)
SIZES = (TINY, (120, 40), (200, 50))
"""Sizes besides 80x24, which nearly all other tests and the screenshots use."""


class View(NamedTuple):
    """A screen, the keys that open it, and texts on it.

    `texts` are shown at every size, `framed_texts` wherever panes have frames.
    """

    make_app: Callable[[], ProbetuiApp]
    keys: Sequence[str]
    texts: Sequence[str]
    framed_texts: Sequence[str] = ()


def a_state(scene: str, *texts: str, framed: Sequence[str] = ()) -> View:
    """Return the main screen of a scene."""
    return View(lambda: an_app_of_cards(SCENES[scene]()), (), texts, framed)


def of_failing(keys: Sequence[str], *texts: str, framed: Sequence[str] = ()) -> View:
    """Return the screen that keys open on two failures of three."""
    return View(lambda: an_app_of_cards(failing()), keys, texts, framed)


def a_page(keys: Sequence[str], *texts: str, framed: Sequence[str] = ()) -> View:
    """Return a screen with text to read."""

    def make_app() -> ProbetuiApp:
        return an_app(restarted(), host=HostServices(logs=logs()))

    return View(make_app, keys, texts, framed)


STATES = {
    "running": a_state("running", "demo/liveness", "✓", framed=("41s", "3.1s")),
    "failing": a_state("failing", "2/3", "4/30", "1/2", framed=("shop/worker", "3.1s")),
    "on_hold": a_state("on_hold", "23s", framed=("hold", "30s")),
    "back_off": a_state("back_off", "23s", framed=("40s", "hold")),
    "gated": a_state("gated", "4/30", "1/2", framed=("shop/cache", "12s")),
    "delay": a_state("delay", "delay", "3s", framed=("DELAY",)),
    "errored": a_state("errored", "error", framed=("!", "file not found")),
    "paused": a_state("paused", "PAUSED", "2/3"),
    "in_flight": a_state("in_flight", "2/3", framed=("under way",)),
    "runtime_lost": a_state("runtime_lost", "docker", "8s"),
    "pulling": a_state("pulling", "40%", framed=("busybox:1.27.2",)),
    "deleting": a_state("deleting", "30s", framed=("SIGTERM",)),
    "empty": a_state("empty", "No pods"),
}

OTHERS = {
    "help": of_failing(["question_mark"], "esc", "TO BEGIN WITH", framed=("space",)),
    "command line": of_failing(["colon", *"re"], ":re", ":restart"),
    "copy menu": of_failing(["C"], "YAML", "demo/liveness", "cat: can't"),
    "question": of_failing(["ctrl+d"], "demo", "y", "n", "esc"),
    "result menu": of_failing(["i"], "1", "5", "success", "failure"),
    "break menu": of_failing(["x"], "SIGTERM", "SIGKILL", framed=("[ ]",)),
    "timing": of_failing(["e"], "periodSeconds", "timeoutSeconds", "failureThreshold"),
    "queue": View(
        lambda: an_app(stopped()),
        ["Q"],
        ("before a kill", "+0.8s", "shop/cache"),
    ),
    "events": a_page(["v", "k", "k"], "✗ 1/3  2/3", "BACK-OFF", "shop/worker"),
    "help of the events": a_page(["v", "question_mark"], "events", "esc"),
    "end of describe": a_page(["d", "G"], "Unhealthy", "Events:"),
    "logs": a_page(["l"], "request 37 took 12ms", framed=("request 20 took 12ms",)),
    "describe": a_page(["d"], "Namespace:", "10.0.0.2"),
    "yaml": a_page(["y"], "apiVersion: v1", "uid: uid-demo", framed=("containers:",)),
    "container": View(
        lambda: an_app(steady()),
        ["enter"],
        ("08:20:25", "2 of 3", "30s"),
        ("exit 137", "cat /tmp/healthy", "can't open"),
    ),
    "container that is being stopped": View(
        lambda: an_app(stopping()),
        ["enter"],
        ("08:21:10", "08:21:40", "23s"),
        ("exit 137", "SIGKILL"),
    ),
    "container in back-off": View(
        lambda: an_app(waiting()), ["enter"], ("20s", "08:21:11"), ("exit 1",)
    ),
    "why": View(lambda: an_app(steady()), ["w"], ("exit 1", "34ms"), ("08:21:05.1",)),
    "why it is being stopped": View(
        lambda: an_app(stopping()), ["w"], ("exit 1", "08:21:10.1"), ("SIGKILL",)
    ),
    "why it waits": View(
        lambda: an_app(waiting()), ["w"], ("20s", "08:21:11.0"), ("08:21:31.0",)
    ),
    "older tick": View(
        lambda: an_app(steady()), ["enter", *["left"] * 9], ("#14", "08:20:20")
    ),
    "output": View(
        lambda: an_app(steady()),
        ["enter", "enter"],
        ("exit 1", "34ms", "cat: can't open"),
        ("#23",),
    ),
    **{
        f"container: {scene}": View(a_state(scene).make_app, keys, texts, framed)
        for scene, keys, texts, framed in (
            (
                "gated",
                ["j", "enter", "right_square_bracket"],
                ("12s",),
                ("shop/proxy", "DELAY"),
            ),
            ("delay", ["enter"], ("3.0s",), ("DELAY",)),
            ("errored", ["enter"], ("!4", "cat"), ("executable file not found",)),
            ("paused", ["enter"], ("PAUSED", "2 of 3"), ()),
            ("in_flight", ["enter"], ("2 of 3",), ("under way",)),
            ("pulling", ["enter"], ("No tick",), ("2.0s", "cat /tmp/healthy")),
        )
    },
}


def layout_problems(app: App[None]) -> list[str]:
    """Return which lines and widgets do not fit the terminal or overlap."""
    width, height = app.size
    problems = [
        f"line {number} is not {width} cells wide"
        for number, strip in enumerate(app.screen._compositor.render_strips())
        if strip.cell_length != width
    ]
    if len(screen_lines(app)) != height:
        problems.append(f"there are not {height} lines")
    drawn = [
        widget
        for widget in app.screen.walk_children(Widget)
        if widget.visible and widget.can_focus and widget.region
    ]
    problems += [
        f"{widget} at {widget.region} is not within the terminal"
        for widget in drawn
        if not app.screen.region.contains_region(widget.region)
    ]
    problems += [
        f"{one} covers {other}"
        for one, other in combinations(drawn, 2)
        if one not in other.ancestors
        and other not in one.ancestors
        and one.region.overlaps(other.region)
    ]
    return problems


async def problems_at(view: View, size: tuple[int, int]) -> tuple[str, list[str]]:
    """Return the text of a screen at a size, and its problems."""
    app = view.make_app()
    async with app.run_test(size=size) as pilot:
        await pilot.press(*view.keys)
        await pilot.pause()
        text = screen_text(app)
        expected = (*view.texts, *(view.framed_texts if size != TINY else ()))
        missing = [f"{words!r} is not shown" for words in expected if words not in text]
        return text, [*layout_problems(app), *missing]


@pytest.mark.slow
@pytest.mark.parametrize("name", [*STATES, *OTHERS])
async def test_a_screen_fits_every_size_and_shows_its_main_content(name: str) -> None:
    view = (STATES | OTHERS)[name]
    problems = {}
    for size in SIZES:
        text, found = await problems_at(view, size)
        if found:
            problems[size] = "\n".join([*found, text])

    assert not problems, "\n\n".join(f"{at}: {text}" for at, text in problems.items())


@pytest.mark.parametrize("is_read_only", [False, True])
async def test_keys_with_effects_are_shown_unless_the_screen_is_read_only(
    *, is_read_only: bool
) -> None:
    app = an_app(failing(), read_only=is_read_only)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        header, *_, offered = screen_lines(app)

    acting = ("inject", "restart", "mute")
    assert [word in offered for word in acting] == [not is_read_only] * len(acting)
    assert "why" in offered
    assert ("READ-ONLY" in header) is is_read_only


@pytest.mark.parametrize("height", [22, 24, 30])
async def test_steps_leave_room_for_header_banner_and_keys(height: int) -> None:
    app = an_app(stopped())
    async with app.run_test(size=(80, height)) as pilot:
        await pilot.press("Q")
        await pilot.pause()
        header, banner, *_, keys = screen_lines(app)

    assert "PAUSED" in header
    assert "stopped before a kill" in banner
    assert "space resume" in keys
