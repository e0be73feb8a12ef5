"""The table of a fleet: sorted, filtered, and why one of its containers was killed."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest
from msgspec import structs
from textual.widgets import DataTable

from probetui.errors import UsageError
from probetui.tui.fleet_table import (
    NAME,
    FleetApp,
    FleetContents,
    FleetEntry,
    OnProgress,
)
from tests.tui.app_harness import screen_lines, screen_text

_SIZES = [(60, 20), (80, 24), (120, 40), (200, 60)]
_LONG = f"payments/{'settlement-reconciliation-' * 3}0/app"


def _entry(name: str, kills: int, restarts: int = 0, advice: str = "-") -> FleetEntry:
    return FleetEntry(
        {
            NAME: name,
            "KILLS": f"{kills}-9",
            "RESTARTS": str(restarts),
            "NOT READY": "?",
            "ADVICE": advice,
        },
        {"KILLS": kills + 9.0, "RESTARTS": restarts},
        {"KILLS": "error" if kills else "no-role"},
        f"{name} {advice}",
        (f"{name} of Deployment/web", advice),
    )


_ENTRIES = (
    _entry("shop/web/app", 5, 1, "killed by its probe: ask why"),
    _entry("shop/api/app", 3, 9, "restarts, not by a probe"),
    _entry("infra/dns/dns", 0, 4),
)


def _app(
    entries: Sequence[FleetEntry] = _ENTRIES,
    *,
    asked: list[int] | None = None,
    ready: asyncio.Event | None = None,
    error: Exception | None = None,
    is_ascii: bool = False,
) -> FleetApp:
    async def read(tell: OnProgress) -> FleetContents:
        tell(3, 12)
        if ready is not None:
            await ready.wait()
        if error is not None:
            raise error
        columns = ("KILLS", "RESTARTS", "NOT READY", "ADVICE")
        return FleetContents("2 of 30 killed", "a store", ("a hole",), columns, entries)

    async def why(index: int) -> str:
        if asked is not None:
            asked.append(index)
        return "because [b]it failed[/b]"

    return FleetApp(read, why, parts="parts", is_ascii=is_ascii)


def _names(app: FleetApp) -> list[str]:
    table = app.screen.query_one(DataTable)
    return [str(table.get_row_at(row)[0]) for row in range(table.row_count)]


async def test_progress_is_shown_while_it_is_read() -> None:
    ready = asyncio.Event()
    app = _app(ready=ready)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        assert "3 of 12 parts are read" in screen_text(app)
        ready.set()
        await pilot.pause(0.1)

        assert "3 of 12" not in screen_text(app)
        assert "2 of 30 killed" in screen_text(app)
        assert "a hole" in screen_text(app)


@pytest.mark.parametrize("size", _SIZES, ids=str)
async def test_at_every_size_no_name_is_cut(size: tuple[int, int]) -> None:
    app = _app((*_ENTRIES, _entry(_LONG, 0)))
    async with app.run_test(size=size) as pilot:
        await pilot.press("G")
        await pilot.pause()
        column = app.screen.query_one(DataTable).ordered_columns[0].width
        cells = "".join(line[1 : column + 1].strip() for line in screen_lines(app))

    assert _LONG in cells


async def test_the_row_with_the_cursor_stays_in_sight() -> None:
    details = ("a short one", "a long one " * 30)
    entries = [
        structs.replace(
            _entry(f"shop/web-{n}/app", n % 3), details=details[: n % 2 + 1]
        )
        for n in range(60)
    ]
    app = _app(entries)
    async with app.run_test(size=(80, 24)) as pilot:
        for row in range(1, 25):
            await pilot.press("j")
            await pilot.pause()
            assert f"shop/web-{row}/app" in screen_text(app)


async def test_a_column_that_says_nothing_is_left_out() -> None:
    app = _app()
    async with app.run_test(size=(200, 60)) as pilot:
        await pilot.pause()

        assert "NOT READY" not in screen_text(app)
        assert "ADVICE" in screen_text(app)


async def test_o_sorts_by_the_next_column_and_a_heading_by_its_own() -> None:
    app = _app()
    async with app.run_test(size=(120, 24)) as pilot:
        await pilot.pause()
        assert _names(app) == ["shop/web/app", "shop/api/app", "infra/dns/dns"]
        await pilot.press("o")
        assert _names(app) == ["infra/dns/dns", "shop/api/app", "shop/web/app"]
        await pilot.press("o", "o")
        assert _names(app) == ["shop/api/app", "infra/dns/dns", "shop/web/app"]
        await pilot.pause()
        assert "RESTARTS ▾" in screen_text(app)

        await pilot.click(DataTable, offset=(2, 0))
        await pilot.pause()
        assert "NAME ▾" in screen_text(app)


async def test_the_filter_finds_names_and_advice() -> None:
    app = _app()
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("slash", *"BY A")
        await pilot.pause()
        assert _names(app) == ["shop/api/app"]
        assert "1 of 3 containers" in screen_text(app)
        await pilot.press("enter", "escape")
        assert len(_names(app)) == 3
        await pilot.press("slash", *"nothing")
        await pilot.pause()
        assert "no such container" in screen_text(app)


async def test_a_filter_may_be_typed_while_it_is_read() -> None:
    ready = asyncio.Event()
    app = _app(ready=ready)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("slash", *"api")
        ready.set()
        await pilot.pause(0.1)

        assert _names(app) == ["shop/api/app"]


async def test_enter_is_why_of_the_row_that_is_shown() -> None:
    asked: list[int] = []
    app = _app(asked=asked)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("o", "j", "enter")
        await pilot.pause()
        text = screen_text(app)
        await pilot.press("escape")
        await pilot.pause()
        assert "because" not in screen_text(app)

    assert asked == [1]
    assert "shop/api/app of Deployment/web" in text
    assert "because [b]it failed[/b]" in text


@pytest.mark.parametrize("key", ["q", "ctrl+c"])
async def test_q_leaves_even_while_it_is_read(key: str) -> None:
    app = _app(ready=asyncio.Event())
    async with app.run_test() as pilot:
        await pilot.press(key)

    assert app.return_value is None
    assert not app.return_code


async def test_an_error_ends_the_screen_and_is_its_result() -> None:
    error = UsageError("no store")
    app = _app(error=error)
    async with app.run_test() as pilot:
        await pilot.pause(0.1)

    assert app.return_value is error


async def test_hostile_names_stay_text() -> None:
    app = _app((_entry("[red]\x1b[2J[/]\n/x", 1),))
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        text = screen_text(app)

    assert "\x1b" not in text
    assert "[red]\\x1b[2J[/]" in text


async def test_ascii_is_ascii() -> None:
    app = _app(is_ascii=True)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("o")
        await pilot.pause()

        assert "".join(screen_lines(app)).isascii()


async def test_nothing_at_all_is_a_sentence() -> None:
    app = _app(())
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("enter", "o", "j")
        await pilot.pause()

        assert "0 containers" in screen_text(app)
