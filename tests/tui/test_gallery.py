"""The aims of the gallery: nothing is cut where there is room, and room is used."""

from __future__ import annotations

import importlib
from typing import Any

import pytest

# Imported by name: beside the module that it imports is a folder of the same name.
gallery: Any = importlib.import_module("tools.gallery")

_LESSON = "lesson-liveness"


async def aims_missed(name: str, size: tuple[int, int]) -> list[str]:
    """Return the aims that the main screen misses in a state."""
    drawn = await gallery.draw(gallery.STATES[name], "main", size, "dark")
    missed: list[str] = drawn.measures.misses(size, is_lesson=name == _LESSON)
    return missed


@pytest.mark.parametrize(
    "size",
    [
        pytest.param((80, 24), id="80x24"),
        pytest.param((120, 40), id="120x40"),
        pytest.param((200, 60), id="200x60"),
    ],
)
async def test_a_lesson_fills_its_screen_and_cuts_no_name(
    size: tuple[int, int],
) -> None:
    assert not await aims_missed(_LESSON, size)


@pytest.mark.parametrize("name", ["two-of-three", "forty"])
async def test_names_of_many_are_whole_at_80x24(name: str) -> None:
    assert not await aims_missed(name, (80, 24))


async def test_no_setting_that_is_explained_is_cut() -> None:
    drawn = await gallery.draw(
        gallery.STATES["two-of-three"], "explain", (100, 30), "dark"
    )

    assert not drawn.measures.cut_beside_room


@pytest.mark.sweep
@pytest.mark.parametrize("name", gallery.STATES)
async def test_no_state_is_cut_beside_room_at_any_size(name: str) -> None:
    found = {
        size: aims for size in gallery.SIZES if (aims := await aims_missed(name, size))
    }

    assert not found


@pytest.mark.sweep
@pytest.mark.parametrize(
    ("name", "at_120x40", "at_200x60"),
    [
        pytest.param("calm", 0.33, 0.31, id="calm"),
        pytest.param("hold", 0.36, 0.30, id="killed the first time"),
        pytest.param("lesson-back-off", 0.45, 0.32, id="back-off"),
        pytest.param("lesson-completed", 0.44, 0.32, id="completed"),
        pytest.param("lesson-init-container", 0.43, 0.35, id="init container"),
        pytest.param("lesson-on-failure", 0.45, 0.35, id="ended for good"),
    ],
)
async def test_a_session_with_little_to_show_fills_its_screen_too(
    name: str, at_120x40: float, at_200x60: float
) -> None:
    for size, least in (((120, 40), at_120x40), ((200, 60), at_200x60)):
        drawn = await gallery.draw(gallery.STATES[name], "main", size, "dark")

        assert drawn.measures.filled >= least


def test_what_is_missed_is_named() -> None:
    bad = gallery.Measures(0.2, 30, ["shop/web"], [], ["cut …"])

    assert bad.misses((120, 40), is_lesson=True) == [
        "20% filled, not 45%",
        "name cut: shop/web",
        "cut beside an empty row: cut …",
    ]
    assert bad.misses((80, 24), is_lesson=False) == [
        "name cut: shop/web",
        "cut beside an empty row: cut …",
    ]
