"""Keys and their actions."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from textual.app import App
from textual.binding import Binding
from textual.dom import DOMNode
from textual.events import (
    MouseDown,
    MouseEvent,
    MouseMove,
    MouseScrollDown,
    MouseUp,
)
from textual.pilot import Pilot
from textual.screen import Screen

from probetui.debugger.commands import (
    KillContainer,
    PauseProbes,
    RestartContainer,
    ResumeProbes,
    StepProbe,
    TriggerProbe,
)
from probetui.engine.inputs import Command
from probetui.engine.snapshot import Snapshot
from probetui.k8s.probe import ProbeKey, ProbeType
from probetui.tui.actions.key_labels import active_labels
from probetui.tui.app import ProbetuiApp
from probetui.tui.panes.container_table import ContainerTable
from probetui.tui.panes.event_pane import EventPane
from probetui.tui.screens.help import HelpScreen
from probetui.tui.screens.main import MainScreen
from probetui.tui.screens.sizes import MOST
from tests.ticks import DEMO_KEY
from tests.tui.app_harness import (
    an_app,
    an_app_of_cards,
    line_with,
    screen_lines,
    screen_text,
)
from tests.tui.fake_session import FakeSession
from tests.tui.scenes import SCENES, failing, paused, pulling
from tests.tui.snapshots import DEMO, SHOP, a_snapshot

SIZE = (80, 24)


async def press_on(
    snapshot: Snapshot, *keys: str, **options: Any
) -> tuple[FakeSession, list[str]]:
    """Press keys; return the session and the lines of the screen."""
    session = FakeSession(snapshot)
    app = an_app(session, **options)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press(*keys)
        await pilot.pause()
        return session, screen_lines(app)


def chosen_line(lines: list[str]) -> str:
    return next(line for line in lines if line[2:3] == "▌")


def focused(lines: list[str]) -> str:
    """Return the title of the pane with the heavy frame, or the bar at its left."""
    return next(line for line in lines if "┏" in line or line.startswith("▌"))


@pytest.mark.parametrize(
    ("keys", "name"),
    [
        pytest.param((), "demo/liveness", id="at first"),
        pytest.param(("down",), "shop/worker", id="down"),
        pytest.param(("j", "j"), "shop/proxy", id="j"),
        pytest.param(("j", "j", "k"), "shop/worker", id="k"),
        pytest.param(("j", "up"), "demo/liveness", id="up"),
        pytest.param(("G",), "shop/cache", id="G"),
        pytest.param(("G", "g"), "demo/liveness", id="g"),
        pytest.param(("G", "j"), "shop/cache", id="not past the end"),
        pytest.param(("j", "k", "k"), "demo/liveness", id="not before the start"),
        pytest.param(("pagedown",), "shop/cache", id="page down"),
        pytest.param(("ctrl+f", "ctrl+b"), "demo/liveness", id="^f and ^b"),
    ],
)
async def test_keys_select_a_container(keys: tuple[str, ...], name: str) -> None:
    _, lines = await press_on(failing(), *keys)

    assert name in chosen_line(lines)
    assert f"  {name}  " in lines[1]


@pytest.mark.parametrize(
    ("keys", "title"),
    [
        pytest.param((), "1 Containers", id="at first"),
        pytest.param(("2",), "2 demo/liveness", id="2"),
        pytest.param(("3",), "3 Events", id="3"),
        pytest.param(("3", "1"), "1 Containers", id="1"),
        pytest.param(("tab",), "2 demo/liveness", id="tab"),
        pytest.param(("tab", "tab", "tab"), "1 Containers", id="around"),
        pytest.param(("shift+tab",), "3 Events", id="shift+tab"),
    ],
)
async def test_keys_move_the_focus_between_panes(
    keys: tuple[str, ...], title: str
) -> None:
    _, lines = await press_on(failing(), *keys, lanes=False)

    assert title in focused(lines)


@pytest.mark.parametrize(
    ("keys", "tabs"),
    [
        pytest.param((), "liveness  readiness [startup]", id="the one that counts"),
        pytest.param(
            ("right_square_bracket",), "[liveness] readiness  startup", id="]"
        ),
        pytest.param(("left_square_bracket",), "liveness [readiness] startup", id="["),
        pytest.param(
            ("right_square_bracket",) * 3, "liveness  readiness [startup]", id="around"
        ),
    ],
)
async def test_brackets_move_between_probes(keys: tuple[str, ...], tabs: str) -> None:
    _, lines = await press_on(failing(), "j", "j", "j", *keys)

    assert any(tabs in line for line in lines)


async def test_the_selected_kind_of_probe_is_kept_for_other_containers() -> None:
    _, lines = await press_on(failing(), *"jjj", "left_square_bracket", "j")

    assert "shop/cache" in lines[1]
    assert "[readiness]" in lines[1]


@pytest.mark.parametrize(
    ("keys", "title"),
    [
        pytest.param(("z",), "1 Containers", id="z"),
        pytest.param(("2", "z"), "2 demo/liveness", id="z on the detail"),
        pytest.param(("3", "enter"), "3 Events", id="enter on the events"),
        pytest.param(("v",), "3 Events", id="v"),
        pytest.param(("z", "3"), "3 Events", id="another pane while zoomed"),
        pytest.param(("z", "tab"), "2 demo/liveness", id="the next pane while zoomed"),
    ],
)
async def test_a_pane_can_be_maximized(keys: tuple[str, ...], title: str) -> None:
    _, lines = await press_on(failing(), *keys, lanes=False)

    assert title in lines[1]
    assert lines[-2].startswith("┗")
    assert sum("┏" in line or "╭" in line for line in lines) == 1


@pytest.mark.parametrize(
    "back",
    [pytest.param(key, id=key) for key in ("escape", "q", "z")],
)
async def test_a_maximized_pane_can_be_restored(back: str) -> None:
    _, lines = await press_on(failing(), "2", "z", back, lanes=False)

    assert all(any(f" {n} " in line[:5] for line in lines) for n in (1, 2, 3))


async def test_the_containers_get_the_focus_back_after_the_detail() -> None:
    _, inside = await press_on(failing(), "enter")
    _, host = await press_on(failing(), "enter", "escape")

    assert "2 demo/liveness" in focused(inside)
    assert "1 Containers" in focused(host)


LIVENESS_OF_DEMO = TriggerProbe(DEMO_KEY)
READINESS_OF_WEB = TriggerProbe(ProbeKey(SHOP.uid, "web", ProbeType.READINESS))


@pytest.mark.parametrize(
    ("snapshot", "keys", "sent"),
    [
        pytest.param(failing(), ("space",), [PauseProbes()], id="pause"),
        pytest.param(paused(), ("space",), [ResumeProbes()], id="resume"),
        pytest.param(failing(), ("greater_than_sign",), [StepProbe()], id="step"),
        pytest.param(
            failing(), ("full_stop",), [StepProbe(DEMO_KEY)], id="step the probe"
        ),
        pytest.param(failing(), ("t",), [LIVENESS_OF_DEMO], id="probe now"),
        pytest.param(
            failing(),
            ("j", "j", "j", "left_square_bracket", "t"),
            [READINESS_OF_WEB],
            id="probe now, the probe that is shown",
        ),
        pytest.param(
            failing(), ("r",), [RestartContainer(DEMO.uid, "liveness")], id="restart"
        ),
        pytest.param(
            failing(), ("ctrl+k",), [KillContainer(DEMO.uid, "liveness")], id="kill"
        ),
        pytest.param(failing(), ("3", "space"), [PauseProbes()], id="from the events"),
        pytest.param(failing(), ("enter", "t"), [LIVENESS_OF_DEMO], id="while zoomed"),
        pytest.param(pulling(), ("r",), [], id="nothing to restart"),
        pytest.param(failing(), ("j", "t"), [], id="nothing to probe"),
        pytest.param(a_snapshot(), ("t", "r"), [], id="no container"),
    ],
)
async def test_keys_send_commands(
    snapshot: Snapshot, keys: tuple[str, ...], sent: list[Command]
) -> None:
    session, _ = await press_on(snapshot, *keys)

    assert session.sent == sent


async def test_a_read_only_screen_sends_no_commands_and_shows_no_keys_for_them() -> (
    None
):
    keys = ("space", "full_stop", "t", "r", "ctrl+k", "ctrl+d")

    session, lines = await press_on(failing(), *keys, read_only=True)

    assert session.sent == []
    assert not any(
        label in lines[-1] for label in ("pause", "step", "probe", "restart")
    )


async def test_times_have_three_formats() -> None:
    shown = []
    app = an_app_of_cards(failing())
    async with app.run_test(size=SIZE) as pilot:
        for _ in range(4):
            shown.append(line_with(app, "why ").split()[1])
            await pilot.press("u")
            await pilot.pause()

    assert shown == ["08:21:05.1", "+3m05.1s", "1.9s", "08:21:05.1"]


@pytest.mark.parametrize(
    ("keys", "is_running"),
    [
        pytest.param(("q",), False, id="q"),
        pytest.param(("ctrl+q",), False, id="^q"),
        pytest.param(("slash", "ctrl+q"), False, id="^q while typing"),
        pytest.param(("ctrl+c",), False, id="^c"),
        pytest.param(("ctrl+d", "ctrl+c"), False, id="^c in a question"),
        pytest.param(("z", "q"), True, id="q goes back first"),
        pytest.param(("question_mark", "q"), True, id="q closes the help"),
        pytest.param(("question_mark", "ctrl+q"), False, id="^q in the help"),
    ],
)
async def test_keys_that_quit(keys: tuple[str, ...], is_running: bool) -> None:  # noqa: FBT001  # a column
    app = an_app(failing())
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press(*keys)
        await pilot.pause()

        assert app._exit is not is_running


async def test_a_picture_is_saved_and_its_path_shown(tmp_path: Path) -> None:
    app = an_app(failing(), screenshot_folder=tmp_path)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("f8")
        await pilot.pause()

        (notification,) = app._notifications

    (saved,) = tmp_path.iterdir()  # noqa: ASYNC240  # the app is over
    assert "liveness" in saved.read_text(encoding="utf-8")
    assert str(saved) in notification.message


async def test_a_picture_that_cannot_be_saved_is_reported(tmp_path: Path) -> None:
    app = an_app(failing(), screenshot_folder=tmp_path / "missing")
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("f8")
        await pilot.pause()

        (notification,) = app._notifications
        assert notification.message.startswith("no picture: ")
        assert notification.severity == "error"


async def test_a_click_on_a_key_presses_it() -> None:
    session = FakeSession(failing())
    app = an_app(session)
    async with app.run_test(size=SIZE) as pilot:
        column = screen_lines(app)[-1].index("pause")
        await pilot.click("#keys", offset=(column, 0))
        await pilot.pause()

    assert session.sent == [PauseProbes()]


async def test_a_click_selects_a_container() -> None:
    app = an_app(failing())
    async with app.run_test(size=SIZE) as pilot:
        await pilot.click("#containers", offset=(10, 5))
        await pilot.pause()

        assert "shop/web" in chosen_line(screen_lines(app))


async def test_a_click_on_the_name_of_a_probe_shows_it() -> None:
    app = an_app(failing())
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("j", "j", "j")
        pane = app.screen.query_one("#detail")
        column = line_with(app, "[startup]").index(" readiness ")
        await pilot.click(pane, offset=(column - pane.region.x + 1, 0))
        await pilot.pause()

        assert "[readiness]" in screen_text(app)


@pytest.mark.parametrize("kind", [MouseDown, MouseMove, MouseUp, MouseScrollDown])
async def test_a_click_on_a_widget_that_has_just_gone_is_dropped(
    kind: type[MouseEvent],
) -> None:
    app = an_app(failing())
    async with app.run_test(size=SIZE) as pilot:
        pane = app.screen.query_one("#detail")
        x, y = pane.region.x + 5, pane.region.y + 2
        await pilot.mouse_down("#containers", offset=(10, 5))  # a selection begins
        widget, _ = app.get_widget_at(x, y)
        parent = widget.parent
        assert isinstance(parent, DOMNode)
        # As on removal, before the next layout.
        widget._detach()
        try:
            await app.on_event(
                kind(None, x, y, 0, 0, 1, shift=False, meta=False, ctrl=False)
            )

            assert app.get_widget_at(x, y)[0] is widget, "it is still laid out"
        finally:
            widget._attach(parent)


async def test_a_terminal_of_any_size_is_drawn_up_to_a_bound() -> None:
    app = an_app(failing())
    async with app.run_test(size=(10_000, 10_000)) as pilot:
        assert app.size == app.screen.size == MOST

        await pilot.resize_terminal(20_000, 24)
        await pilot.pause()

        assert app.size == app.screen.size == (MOST.width, 24)


# help, footer, palette


@pytest.mark.parametrize(
    "keys",
    [
        pytest.param((), id="containers"),
        pytest.param(("2",), id="detail"),
        pytest.param(("3",), id="events"),
        pytest.param(("z",), id="zoomed"),
        pytest.param(("j", "j"), id="several probes"),
    ],
)
@pytest.mark.parametrize("opened_by", ["question_mark", "f1"])
async def test_help_lists_exactly_the_keys_that_are_active(
    keys: tuple[str, ...], opened_by: str
) -> None:
    app = an_app(failing())
    async with app.run_test(size=(160, 60)) as pilot:
        await pilot.press(*keys)
        await pilot.pause()
        active = {
            (" ".join(label.keys), label.tooltip)
            for label in active_labels(app.screen.active_bindings)
        }
        await pilot.press(opened_by)
        await pilot.pause()

        shown = screen_text(app)
        await pilot.press("G")
        await pilot.pause()
        shown += screen_text(app)
        listed = sum(
            1 for keys_, words in active if f" {keys_} " in shown and words in shown
        )
        assert isinstance(app.screen, HelpScreen)
        assert listed == len(active)
        assert len(app.screen._pane._labels) == len(active)


async def test_help_explains_every_mark() -> None:
    app = an_app(failing())
    async with app.run_test(size=(80, 40)) as pilot:
        await pilot.press("question_mark")
        await pilot.pause()
        shown = " ".join(screen_text(app).split())

    assert "K this tick caused a kill" in shown
    assert "! error, not counted" in shown


async def test_escape_closes_the_help() -> None:
    _, lines = await press_on(failing(), "question_mark", "escape")

    assert "1 Containers" in focused(lines)


@pytest.mark.parametrize(
    ("keys", "there", "not_there"),
    [
        pytest.param((), "t probe", "a follow", id="containers"),
        pytest.param(("3",), "a follow", "z zoom", id="events"),
    ],
)
async def test_the_footer_follows_the_focus(
    keys: tuple[str, ...], there: str, not_there: str
) -> None:
    _, lines = await press_on(failing(), *keys)

    assert there in lines[-1]
    assert not_there not in lines[-1]


async def test_the_footer_shows_what_the_last_key_opens() -> None:
    app = an_app(failing())
    async with app.run_test(size=(120, 24)) as pilot:
        before = screen_lines(app)[-1].rstrip()
        await pilot.press("z")
        await pilot.pause()
        zoomed = screen_lines(app)[-1].rstrip()

    assert before.endswith("  q quit")
    assert zoomed.endswith("  q back")


@pytest.mark.parametrize("width", [40, 50, 80, 120])
async def test_the_footer_always_shows_how_to_quit(width: int) -> None:
    app = an_app(failing())
    async with app.run_test(size=(width, 24)):
        keys = screen_lines(app)[-1].rstrip()
        assert keys.endswith("  q quit")
        assert keys.startswith(" ? help")


async def test_the_palette_lists_the_actions_of_keys() -> None:
    session = FakeSession(failing())
    app = an_app(session)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("ctrl+p", *"pause")
        await _wait_for_hits(app, pilot)
        await pilot.press("enter")
        await pilot.pause()
        await pilot.pause()

    assert session.sent == [PauseProbes()]


async def _wait_for_hits(app: ProbetuiApp, pilot: Pilot[None]) -> None:
    """Wait for the palette's search, which starts a moment after the last key."""
    for _ in range(100):
        if "Pause all probes" in screen_text(app):
            return
        await pilot.pause(0.02)


# the table of keys


def bindings_of(owner: type[DOMNode]) -> list[Binding]:
    return [binding for binding in owner.BINDINGS if isinstance(binding, Binding)]


def keys_of(*owners: type[DOMNode]) -> list[tuple[str, str]]:
    """Return every key and its action."""
    return [
        (key, binding.action)
        for owner in owners
        for binding in bindings_of(owner)
        for key in binding.key.split(",")
    ]


OURS = (ProbetuiApp, MainScreen, ContainerTable, EventPane)
BINDINGS = [
    pytest.param(binding, id=f"{owner.__name__}-{binding.action}")
    for owner in OURS
    for binding in bindings_of(owner)
]


@pytest.mark.parametrize("binding", BINDINGS)
def test_every_key_has_an_id_and_a_tooltip(binding: Binding) -> None:
    assert binding.id
    assert binding.tooltip


@pytest.mark.parametrize("binding", BINDINGS)
def test_no_letter_has_priority_over_typing(binding: Binding) -> None:
    letters = [key for key in binding.key.split(",") if len(key) == 1]

    assert not (binding.priority and letters)


def test_no_key_is_ambiguous_in_terminals() -> None:
    same_bytes = {"ctrl+i", "ctrl+j", "ctrl+m", "ctrl+h", "ctrl+left_square_bracket"}

    assert not same_bytes & {key for key, _ in keys_of(*OURS)}


def test_no_key_has_another_meaning_in_textual() -> None:
    ours = dict(keys_of(ProbetuiApp, MainScreen))
    theirs = dict(keys_of(App, Screen))

    clashes = {key for key in ours.keys() & theirs.keys() if ours[key] != theirs[key]}
    assert clashes == {"ctrl+c", "tab", "shift+tab"}, "ours do what theirs do, and more"


@pytest.mark.parametrize("pane", [ContainerTable, EventPane])
def test_the_keys_of_a_pane_are_unique(pane: type[DOMNode]) -> None:
    counted = Counter(key for key, _ in keys_of(pane, MainScreen, ProbetuiApp))

    twice = {key for key, times in counted.items() if times > 1}
    # Pause or resume, back or quit, mute or un-mute: never both at the same time.
    assert twice == {"space", "q", "m"}


@pytest.mark.parametrize("state", ["failing", "paused", "pulling", "empty"])
async def test_every_shown_key_works_in_every_state(state: str) -> None:
    app = an_app(SCENES[state]())
    async with app.run_test(size=(120, 24)) as pilot:
        labels = active_labels(app.screen.active_bindings)
        leaving = {"app.quit", "app.quit-now", "app.screenshot", "app.palette"}
        for label in labels:
            if label.id not in leaving:
                await pilot.press(label.key)
        await pilot.pause()

        assert app.is_running
