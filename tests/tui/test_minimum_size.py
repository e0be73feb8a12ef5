"""A screen that is opened while the program quits."""

from __future__ import annotations

from textual.app import App

from probetui.tui.screens.sizes import MinimumSizeScreen


async def test_a_screen_that_is_opened_as_the_program_ends_is_no_bug() -> None:
    app: App[None] = App()

    async with app.run_test():
        app.push_screen(MinimumSizeScreen[None]())
        app.exit()

    assert app.return_code == 0
