"""Keys and clicks on the main screen while it shows lanes, as it begins."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from probetui.debugger.commands import MuteProbes
from probetui.tui.app import ProbetuiApp
from probetui.tui.panes.container_table import ContainerTable
from tests.tui.app_harness import an_app, line_with, screen_lines, screen_text
from tests.tui.fake_session import FakeSession
from tests.tui.scenes import failing
from tests.tui.test_keys import focused
from tests.tui.test_sorting import chosen, listed

SIZE = (120, 40)


@pytest.mark.parametrize(
    ("keys", "title"),
    [
        pytest.param((), "1 Containers", id="at first"),
        pytest.param(("tab",), "Probes", id="tab"),
        pytest.param(("tab", "tab"), "3 Events", id="twice"),
        pytest.param(("tab", "tab", "tab"), "FAILING 2 of 3", id="three times"),
        pytest.param(("tab",) * 4, "1 Containers", id="around"),
        pytest.param(("shift+tab",), "FAILING 2 of 3", id="shift+tab"),
        pytest.param(("3", "1"), "1 Containers", id="numbers"),
    ],
)
async def test_the_focus_goes_from_pane_to_pane_downwards(
    keys: tuple[str, ...], title: str
) -> None:
    app = an_app(failing())
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press(*keys)
        await pilot.pause()

        assert title in focused(screen_lines(app))


@pytest.mark.parametrize(
    ("keys", "title"),
    [
        pytest.param(("z",), "1 Containers", id="containers"),
        pytest.param(("2", "z"), "2 demo/liveness", id="verdict"),
        pytest.param(("tab", "z"), "Probes", id="probes"),
        pytest.param(("3", "enter"), "3 Events", id="events"),
        pytest.param(("z", "tab"), "Probes", id="the next one"),
    ],
)
async def test_a_pane_can_be_maximized_and_restored(
    keys: tuple[str, ...], title: str
) -> None:
    app = an_app(failing())
    async with app.run_test(size=SIZE) as pilot:
        await pilot.pause()
        before = names(app)
        await pilot.press(*keys)
        await pilot.pause()
        large = names(app)
        await pilot.press("escape")
        await pilot.pause()

        assert [name in title for name in large] == [True]
        assert names(app) == before


def names(app: ProbetuiApp) -> list[str]:
    """Return the panes that are displayed, by words of their titles."""
    titles = ("Containers", "demo/liveness", "Probes", "Why", "Events")
    ids = ("containers", "detail", "ticks", "why", "events")
    return [
        title
        for title, id_ in zip(titles, ids, strict=True)
        if app.screen.query_one(f"#{id_}").display
    ]


async def test_a_maximized_lane_has_the_highest_plot_and_the_latencies() -> None:
    app = an_app(failing())
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("tab", "z")
        await pilot.pause()

        text = screen_text(app)
        assert "3 = kill ─" in text
        assert "1s = time-out ─" in text


async def test_times_have_three_formats() -> None:
    shown = []
    app = an_app(failing())
    async with app.run_test(size=SIZE) as pilot:
        for _ in range(4):
            await pilot.pause()
            shown.append(line_with(app, "second failure in a row").split()[0])
            await pilot.press("u")

    assert shown == ["08:21:05.1", "+3m05.1s", "1.9s", "08:21:05.1"]


@pytest.mark.parametrize(
    ("heads", "names", "title"),
    [
        pytest.param(
            ["RST"], "worker liveness proxy web cache", "most restarts", id="restarts"
        ),
        pytest.param(
            ["NAME", "NAME"],
            "worker web proxy cache liveness",
            "name, reversed",
            id="twice",
        ),
        pytest.param(
            ["NAME", "STATE"],
            "liveness worker proxy web cache",
            "worst first",
            id="state",
        ),
    ],
)
async def test_a_click_on_a_column_head_sorts_and_a_second_one_reverses(
    heads: list[str], names: str, title: str
) -> None:
    app = an_app(failing())
    async with app.run_test(size=SIZE) as pilot:
        table = app.screen.query_one("#containers")
        for head in heads:
            lines = screen_lines(app)[table.region.y :]
            x = lines[1].index(head) + 1
            await pilot.click("#containers", offset=(x, 1))
            await pilot.pause()
        lines = screen_lines(app)[table.region.y - 1 :]

        assert " ".join(listed(lines)) == names
        assert f" 5, {title} " in lines[1]
        assert chosen(lines) == "demo/liveness"


async def test_a_click_on_a_lane_selects_its_container_and_sorts_nothing() -> None:
    app = an_app(failing())
    async with app.run_test(size=SIZE) as pilot:
        table = app.screen.query_one("#containers")
        await pilot.click("#containers", offset=(80, 4))
        await pilot.pause()
        lines = screen_lines(app)[table.region.y - 1 :]

        assert chosen(lines) == "shop/proxy"
        assert " ".join(listed(lines)) == "liveness worker proxy web cache"


async def test_the_row_of_the_selected_container_is_copied_without_its_lane() -> None:
    app = an_app(failing())
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("c")
        await pilot.pause()

        assert app.clipboard.startswith("demo/liveness  Running")
        assert "\u2581" not in app.clipboard


KINDS = {"liveness", "readiness", "startup"}


def rows_of_list(app: ProbetuiApp) -> list[str]:
    """Return the names in the list, those of probes too, with the cursor's mark."""
    table = app.screen.query_one(ContainerTable)
    lines = screen_lines(app)[table.region.y + 2 : table.region.bottom - 1]
    return [" ".join(line[1:18].split()) for line in lines]


@pytest.mark.parametrize(
    ("keys", "probes"),
    [
        pytest.param("U", 1, id="the chosen one"),
        pytest.param("UU", 0, id="and folded again"),
        pytest.param("*", 9, id="all"),
        pytest.param("**", 0, id="all folded again"),
        pytest.param("*U", 8, id="all but the chosen one"),
        pytest.param("U*", 9, id="all after one"),
    ],
)
async def test_probes_unfold_in_place_and_fold_again(keys: str, probes: int) -> None:
    app = an_app(failing())
    async with app.run_test(size=SIZE) as pilot:
        await pilot.pause()
        before, target = rows_of_list(app), app.ui_state.selection
        await pilot.press(*keys)
        await pilot.pause()
        rows = rows_of_list(app)

        assert sum(row in KINDS for row in rows) == probes
        assert [row for row in rows if row not in KINDS] == before
        assert app.ui_state.selection == target


async def test_the_cursor_on_an_unfolded_probe_selects_it_and_stays() -> None:
    session = FakeSession(failing())
    app = an_app(session)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("*")
        await pilot.pause()
        row = rows_of_list(app).index("readiness")
        await pilot.press(*"j" * row)
        for _ in range(3):
            session.publish(failing())
            await pilot.pause()
        await pilot.press("m")
        await pilot.pause()

        assert rows_of_list(app)[row] == "\u258c readiness"
        (mute,) = session.sent
        assert isinstance(mute, MuteProbes)
        assert mute.scope.probe_type == "Readiness"


async def test_a_row_of_a_probe_is_drawn_while_a_terminal_has_just_shrunk() -> None:
    app = an_app(failing())
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("asterisk")
        await pilot.pause()
        table = app.screen.query_one(ContainerTable)

        table.show_bare(is_bare=True)

        rows = [table.row(index) for index in range(table.count())]
        assert any("liveness" in text for row in rows for text, _ in row)


async def test_folding_leaves_the_cursor_at_its_container() -> None:
    app = an_app(failing())
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("U", "j", "U")
        await pilot.pause()

        assert rows_of_list(app)[0] == "\u258c demo/liveness"


async def test_keys_that_change_the_probe_move_the_cursor_along() -> None:
    app = an_app(failing())
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("*")
        await pilot.pause()
        row = rows_of_list(app).index("readiness")
        await pilot.press(*"j" * row, "left_square_bracket")
        await pilot.pause()

        assert rows_of_list(app)[row - 1 : row + 1] == [
            "\u258c liveness",
            "readiness",
        ]


@pytest.mark.parametrize("watches", [True, False])
async def test_probes_unfold_where_nothing_may_be_changed(watches: bool) -> None:  # noqa: FBT001
    app = an_app(replace(failing(), acts=not watches), read_only=not watches)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("*")
        await pilot.pause()

        assert sum(row in KINDS for row in rows_of_list(app)) == 9


async def test_cards_have_no_rows_of_probes() -> None:
    app = an_app(failing())
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("*", "L")
        await pilot.pause()
        text = screen_text(app)
        await pilot.press("L")
        await pilot.pause()

        assert "READY START" in text
        assert sum(row in KINDS for row in rows_of_list(app)) == 9


async def test_a_pane_that_lost_its_room_while_another_was_zoomed_is_zoomed() -> None:
    app = an_app(failing())
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("z")
        await pilot.resize_terminal(120, 20)
        await pilot.press("tab")
        await pilot.pause()

        assert "Probes" in screen_lines(app)[1]


async def test_a_pane_that_has_lost_its_room_is_not_gone_to() -> None:
    app = an_app(failing())
    async with app.run_test(size=SIZE) as pilot:
        await pilot.resize_terminal(120, 20)
        await app.screen.run_action("pane('ticks')")
        await pilot.pause()

        assert "1 Containers" in focused(screen_lines(app))
