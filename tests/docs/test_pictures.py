"""Every picture of the docs is what the program draws now."""

from __future__ import annotations

import importlib

import pytest

# By its name: there is a folder of that name beside the module.
pictures = importlib.import_module("tools.pictures")

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("name", [*pictures.PICTURES, pictures.DEMO])
async def test_a_picture_is_as_the_program_draws_it(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    is_demo = name == pictures.DEMO
    drawing = (
        pictures.draw_demo() if is_demo else pictures.draw(pictures.PICTURES[name])
    )
    shown = (pictures.DRAWN / f"{name}.svg").read_text(encoding="utf-8")

    # Not in the assertion: pytest would look for minutes where they differ.
    is_same = await drawing == shown
    assert is_same, "run: python -m tools.pictures, and look at it"
