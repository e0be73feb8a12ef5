"""Finding causes on the screen: ticks, instances, explanations."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from probetui.engine.snapshot import Snapshot
from probetui.kubelet.outcome import Attempt, ProbeResult
from probetui.tui.app import ProbetuiApp
from tests.ticks import NOW, SECOND, changed_tick
from tests.tui.app_harness import an_app_of_cards, line_with, screen_text
from tests.tui.fake_session import FakeSession
from tests.tui.history_scenes import STORIES, steady, stopping, ticks, waiting
from tests.tui.scenes import SCENES
from tests.tui.snapshots import a_snapshot, clock, demo

Compare = Callable[[ProbetuiApp, tuple[int, int], Iterable[str]], bool]
SIZES = [
    pytest.param((50, 12), id="50x12"),
    pytest.param((80, 24), id="80x24"),
    pytest.param((120, 40), id="120x40"),
    pytest.param((200, 50), id="200x50"),
]
NARROW = (80, 24)


async def screen_after(
    snapshot: Snapshot | FakeSession, *keys: str, size: tuple[int, int] = NARROW
) -> str:
    """Press keys and return the text of the screen."""
    app = an_app_of_cards(snapshot)
    async with app.run_test(size=size) as pilot:
        await pilot.press(*keys)
        await pilot.pause()
        return screen_text(app)


def title(text: str, words: str) -> str:
    """Return the line of a frame's title."""
    return next(line for line in text.splitlines() if words in line)


def title_row(text: str, words: str) -> int:
    """Return the line number of a title on the screen."""
    return text.splitlines().index(title(text, words))


@pytest.mark.sweep
class TestPictures:
    @pytest.mark.parametrize(
        ("story", "size"),
        [
            pytest.param("steady", NARROW, id="steady-80x24"),
            pytest.param("stopping", NARROW, id="stopping-80x24"),
            pytest.param("stopping", (120, 40), id="stopping-120x40"),
            pytest.param("waiting", NARROW, id="waiting-80x24"),
        ],
    )
    def test_container(
        self, picture: Compare, story: str, size: tuple[int, int]
    ) -> None:
        assert picture(an_app_of_cards(STORIES[story]()), size, ("enter",))

    @pytest.mark.parametrize("story", [pytest.param("stopping", id="stopping-80x24")])
    def test_why(self, picture: Compare, story: str) -> None:
        assert picture(an_app_of_cards(STORIES[story]()), NARROW, ("w",))

    @pytest.mark.parametrize("size", [pytest.param(NARROW, id="80x24")])
    def test_an_older_tick(self, picture: Compare, size: tuple[int, int]) -> None:
        keys = ("enter", *["left"] * 9)

        assert picture(an_app_of_cards(steady()), size, keys)

    @pytest.mark.parametrize("size", [pytest.param(NARROW, id="80x24")])
    def test_output(self, picture: Compare, size: tuple[int, int]) -> None:
        assert picture(an_app_of_cards(steady()), size, ("enter", "enter"))

    @pytest.mark.parametrize(
        "options", [{"ascii": True}, {"theme": "textual-light"}], ids=["ascii", "light"]
    )
    def test_other_looks(self, picture: Compare, options: dict[str, Any]) -> None:
        app = an_app_of_cards(stopping(), **options)

        assert picture(app, NARROW, ("enter", "left", "left"))


class TestFindingOutWhyAContainerWasKilled:
    async def test_two_keys_lead_from_the_list_to_the_explanation(self) -> None:
        text = await screen_after(steady(), "w", size=(120, 40))

        first, *_ = text.splitlines()[1:]
        assert (
            "demo/liveness is up, and its liveness probe failed 2 of 3 times" in first
        )
        assert "Its instance 1 was killed at 08:1" in text
        assert "Exit of demo/liveness, instance 1" in text
        assert "its liveness probe failed 3 of 3 times in a row" in text

    async def test_the_explanation_can_be_opened_from_the_ticks_of_a_container(
        self,
    ) -> None:
        app = an_app_of_cards(stopping())
        async with app.run_test(size=NARROW) as pilot:
            await pilot.press("enter")
            await pilot.pause()
            assert "killed by liveness, exit 137" in line_with(app, "inst 1")
            assert "stopped by     on hold: yes" in screen_text(app)

            await pilot.press("left")
            await pilot.pause()

            assert "tick #24 08:21:10.1" in line_with(app, "Decision trace")
            assert "failure 2 -> 3   threshold 3   reached" in screen_text(app)

            await pilot.press("w")
            await pilot.pause()

            text = screen_text(app)
            assert "Tick #24, liveness of demo/liveness" in text
            assert "docker exec d71cb34f0e11 cat /tmp/healthy" in text

            await pilot.press("escape", "escape")
            await pilot.pause()
            assert "1 Containers" in screen_text(app)

    async def test_the_command_can_be_copied(self) -> None:
        app = an_app_of_cards(steady())
        async with app.run_test(size=NARROW) as pilot:
            await pilot.press("w", "c")
            await pilot.pause()

            assert app.clipboard == "docker exec d71cb34f0e11 cat /tmp/healthy"

    async def test_an_exit_that_no_probe_caused_has_no_command(self) -> None:
        text = await screen_after(waiting(), "w", size=(120, 40))

        by_hand = [line.strip("┃█ ") for line in text.splitlines() if "by hand" in line]
        assert by_hand == ["by hand: docker exec d71cb34f0e11 cat /tmp/healthy"]

    async def test_a_wait_is_explained(self) -> None:
        text = await screen_after(waiting(), "w", size=(120, 40))

        assert "is in back-off of 20s, counted from its exit at 08:2" in text
        assert "It is restarted by the next sync of its pod, between 08:21:31.0" in text


class TestMainScreen:
    @pytest.mark.parametrize("size", [(100, 30), (120, 40), (200, 50)])
    async def test_the_reason_is_shown_without_the_passed_gates(
        self, size: tuple[int, int]
    ) -> None:
        text = await screen_after(steady(), size=size)

        assert "08:21:05" in text.splitlines()[title_row(text, " Why ") + 1]
        # In a narrow card the sentence continues below.
        assert "kill in 3.1s if the next" in text
        assert "second failure in a row; 3 are needed" in text
        assert "phase" not in text
        assert "cat: can't open" in title(text, "  cat: can't")

    async def test_ticks_can_be_selected_there_too(self) -> None:
        text = await screen_after(steady(), *["left"] * 3, size=(120, 40))

        assert "tick #20" in text
        assert "[✓]" in text

    @pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 50)])
    async def test_a_key_opens_the_gates_and_focuses_them(
        self, size: tuple[int, int]
    ) -> None:
        text = await screen_after(stopping(), "5", "z", size=size)

        assert "┏ 5 Decision trace" in text
        assert "1 Containers" not in text

    async def test_the_key_opens_the_container_if_there_is_no_room(self) -> None:
        text = await screen_after(stopping(), "5")

        assert "5 Decision trace" in text
        assert "1 Containers" not in text


class TestTicks:
    async def test_the_strip_has_a_cursor_that_the_trace_follows(self) -> None:
        text = await screen_after(steady(), "enter", *["left"] * 16)

        assert "tick #7       08:19:45" in text
        assert "tick #7 08:19:45.1" in title(text, "Decision trace")

    async def test_the_strip_continues_after_the_newest_tick(self) -> None:
        text = await screen_after(steady(), "enter", "left", "left", "right", "right")

        assert "inst 2" in text
        assert "tick #23" in title(text, "Decision trace")

    @pytest.mark.parametrize(
        ("mark", "tick"),
        [("✗✗✗", "tick #7"), ("hold6", "tick #15"), ("✗✗ ", "tick #22")],
    )
    async def test_a_click_on_a_mark_selects_its_tick(
        self, mark: str, tick: str
    ) -> None:
        app = an_app_of_cards(steady())
        async with app.run_test(size=(120, 40)) as pilot:
            lines = screen_text(app).splitlines()
            instance = "instance 2" if mark == "✗✗ " else "instance 1"
            y = next(n for n, line in enumerate(lines) if instance in line)

            await pilot.click(offset=(lines[y].index(mark), y))
            await pilot.pause()

            assert tick in line_with(app, tick)
            assert "[" in screen_text(app).splitlines()[y]

    async def test_a_cursor_stays_on_its_tick_when_there_are_newer_ones(self) -> None:
        session = FakeSession(steady())
        app = an_app_of_cards(session)
        async with app.run_test(size=NARROW) as pilot:
            await pilot.press("enter", "left", "left")
            newer = ticks("s", SECOND, clock("08:21:10.1"), number=23)[0]
            newer = changed_tick(newer, sequence=len(session.journal) + 1)

            session.publish(session.snapshot, newer)
            await pilot.pause()

            assert "tick #21 " in line_with(app, "Decision trace")

    async def test_home_and_end_go_to_the_ends(self) -> None:
        first = await screen_after(steady(), "enter", "home")
        newest = await screen_after(steady(), "enter", "home", "end")

        assert "tick #1 08:19:15.1" in title(first, "Decision trace")
        assert "tick #23" in title(newest, "Decision trace")

    async def test_ticks_from_before_the_journal_can_be_selected_too(self) -> None:
        text = await screen_after(a_snapshot(demo()), "enter", "left", "left")

        assert "tick #21 " in text

    async def test_every_tick_of_a_session_can_be_reached(self) -> None:
        entries = ticks("s" * 700, SECOND, NOW - timedelta(seconds=2))
        snapshot = a_snapshot(demo(), entries=entries)

        text = await screen_after(snapshot, "enter", "home", "right")

        assert "tick #2 " in title(text, "Decision trace")
        assert "✓ [✓] ✓698" in text

    async def test_leaving_the_container_leaves_the_tick(self) -> None:
        text = await screen_after(steady(), "enter", "left", "left", "escape")

        assert "✗✗ <now" in text
        assert "08:21:05.1  second failure in a row" in text


class TestContainer:
    async def test_the_probe_keeps_its_keys(self) -> None:
        app = an_app_of_cards(session := FakeSession(stopping()))
        async with app.run_test(size=NARROW) as pilot:
            await pilot.press("enter", "t")
            await pilot.pause()

        assert len(session.sent) == 1

    async def test_brackets_select_the_probe_on_both_screens(self) -> None:
        app = an_app_of_cards(SCENES["gated"]())
        async with app.run_test(size=NARROW) as pilot:
            await pilot.press("j", "j", "enter", "left_square_bracket")
            await pilot.pause()
            inside = line_with(app, "2 shop")

            await pilot.press("escape")
            await pilot.pause()

            assert "[readiness]" in inside
            assert "[readiness]" in line_with(app, "2 shop")

    @pytest.mark.parametrize("key", ["escape", "q"])
    async def test_keys_close_it(self, key: str) -> None:
        assert "1 Containers" in await screen_after(steady(), "enter", key)

    async def test_panes_can_be_maximized(self) -> None:
        life = await screen_after(stopping(), "enter", "z")
        trace = await screen_after(stopping(), "enter", "tab", "z")
        both = await screen_after(stopping(), "enter", "z", "z")

        assert "Decision trace" not in life
        assert "2 demo/liveness" not in trace
        assert "Decision trace" in both
        assert "2 demo/liveness" in both

    async def test_tab_moves_between_panes(self) -> None:
        text = await screen_after(stopping(), "enter", "tab")

        assert "┏ 5 Decision trace" in text

    async def test_a_filter_returns_to_the_list(self) -> None:
        text = await screen_after(steady(), "enter", "slash")

        assert "1 Containers" in text

    async def test_keys_of_other_panes_of_the_main_screen_do_nothing_here(self) -> None:
        text = await screen_after(steady(), "enter", "1", "3")

        assert "┏ 2 demo/liveness" in text

    async def test_a_container_without_a_probe_has_content_too(self) -> None:
        text = await screen_after(SCENES["gated"](), "g", "enter")

        assert "2 shop/worker" in text
        assert "retry in 71s" in text


class TestOutput:
    async def test_ten_kilobytes_of_output_can_be_read_completely(self) -> None:
        lines = "\n".join(f"line {number:04}" for number in range(1024))
        attempt = Attempt(ProbeResult.FAILURE, lines, None, timedelta(), "exit 1")
        (tick,) = ticks("f", SECOND, NOW)
        tick = changed_tick(tick, attempts=(attempt,))
        pod = demo()
        probe = replace(pod.containers[0].probes[0], last_run=tick, history=(tick,))
        container = replace(pod.containers[0], probes=(probe,))
        snapshot = a_snapshot(replace(pod, containers=(container,)))

        text = await screen_after(snapshot, "enter", "enter", "G")

        assert "line 1023" in text

    async def test_it_shows_the_selected_tick(self) -> None:
        text = await screen_after(steady(), "enter", *["left"] * 3, "enter")

        assert "tick #20" in title(text, "Output")
        assert "exit 0 in 28ms -> success" in text

    async def test_hostile_output_is_shown_and_not_obeyed(self) -> None:
        attempt = Attempt(
            ProbeResult.FAILURE, "\x1b[2J[b]bold[/b]\udcff", None, timedelta(), "exit 1"
        )
        (tick,) = ticks("f", SECOND, NOW)
        tick = changed_tick(tick, attempts=(attempt,))
        probe = replace(demo().containers[0].probes[0], last_run=tick, history=(tick,))
        container = replace(demo().containers[0], probes=(probe,))
        snapshot = a_snapshot(replace(demo(), containers=(container,)))

        for keys in (("enter", "enter"), ("enter",), ("w",)):
            assert r"\x1b[2J[b]bold[/b]\xff" in await screen_after(snapshot, *keys)

    async def test_the_output_can_be_copied(self) -> None:
        app = an_app_of_cards(steady())
        async with app.run_test(size=NARROW) as pilot:
            await pilot.press("enter", "enter", "c")
            await pilot.pause()

            assert "cat: can't open '/tmp/healthy'" in app.clipboard


async def test_a_screen_keeps_its_position_while_the_session_runs() -> None:
    session = FakeSession(steady())
    app = an_app_of_cards(session)
    async with app.run_test(size=NARROW) as pilot:
        await pilot.press("w", "G")
        await pilot.pause()
        before = screen_text(app)

        session.publish(session.snapshot)
        await pilot.pause()

        assert screen_text(app) == before
