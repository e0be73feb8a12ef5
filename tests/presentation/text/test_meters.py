"""Meters: segments for a count, bars for a wait."""

from __future__ import annotations

from datetime import timedelta

import pytest

from probetui.presentation.text.meters import bar, segments, waited, wide_segments
from probetui.presentation.text.spans import Role, text_of
from probetui.presentation.tick.marks import ASCII, UNICODE, MarkSet


@pytest.mark.parametrize(
    ("filled", "total", "width", "shown"),
    [
        pytest.param(2, 3, 20, "██ ██ ░░", id="apart where there is room"),
        pytest.param(0, 3, 20, "░░ ░░ ░░", id="nothing counted yet"),
        pytest.param(3, 3, 20, "██ ██ ██", id="at the threshold"),
        pytest.param(7, 3, 20, "██ ██ ██", id="beyond the threshold"),
        pytest.param(1, 1, 20, "██", id="threshold of one"),
        pytest.param(2, 3, 4, "██░", id="a cell for each in a table"),
        pytest.param(2, 30, 10, "█░░░░░░░░░", id="two of thirty are not nothing"),
        pytest.param(29, 30, 10, "█████████░", id="one before thirty is not all"),
        pytest.param(30, 30, 10, "██████████", id="all of thirty"),
        pytest.param(1, 1000, 10, "█░░░░░░░░░", id="one of a thousand"),
    ],
)
def test_a_count_against_its_threshold_has_segments(
    filled: int, total: int, width: int, shown: str
) -> None:
    assert text_of(segments(filled, total, Role.WARNING, UNICODE, width)) == shown


@pytest.mark.parametrize(
    ("filled", "total", "width", "shown"),
    [
        pytest.param(2, 3, 20, "[##.]", id="in brackets"),
        pytest.param(2, 3, 4, "##.", id="without room for brackets"),
        pytest.param(2, 30, 10, "[#.......]", id="two of thirty"),
    ],
)
def test_segments_in_ascii(filled: int, total: int, width: int, shown: str) -> None:
    assert text_of(segments(filled, total, Role.WARNING, ASCII, width)) == shown


def test_the_filled_part_has_the_role_and_the_rest_is_muted() -> None:
    roles = [
        span.role
        for span in segments(1, 3, Role.ERROR, UNICODE, 20)
        if span.text.strip()
    ]

    assert roles == [Role.ERROR, Role.MUTED]


@pytest.mark.parametrize(
    ("left", "part"),
    [
        pytest.param(30, 0.0, id="it begins"),
        pytest.param(7.5, 0.75, id="a quarter is left"),
        pytest.param(0, 1.0, id="over"),
        pytest.param(-5, 1.0, id="overdue"),
        pytest.param(40, 0.0, id="longer than the whole"),
    ],
)
def test_a_wait_fills_towards_what_comes(left: float, part: float) -> None:
    assert waited(timedelta(seconds=left), timedelta(seconds=30)) == part


def test_a_wait_without_length_is_over() -> None:
    assert waited(timedelta(), timedelta()) == 1.0


@pytest.mark.parametrize("width", range(12))
@pytest.mark.parametrize("marks", [UNICODE, ASCII], ids=["unicode", "ascii"])
@pytest.mark.parametrize("part", [0.0, 0.01, 0.5, 0.99, 1.0])
def test_a_bar_takes_exactly_its_cells(part: float, marks: MarkSet, width: int) -> None:
    assert len(text_of(bar(part, Role.ERROR, marks, width))) == width


def test_a_short_ascii_bar_has_no_brackets() -> None:
    assert text_of(bar(0.5, Role.ERROR, ASCII, 3)) == "##."
    assert text_of(bar(0.5, Role.ERROR, ASCII, 6)) == "[##..]"


@pytest.mark.parametrize("width", [20, 57, 78, 118])
@pytest.mark.parametrize("marks", [UNICODE, ASCII], ids=["unicode", "ascii"])
def test_segments_fill_the_whole_width(marks: MarkSet, width: int) -> None:
    for total in (1, 2, 3, 7, 30, 200):
        shown = text_of(wide_segments(1, total, Role.ERROR, marks, width))

        assert len(shown) == width


def test_segments_that_would_be_ragged_are_one_bar() -> None:
    few = text_of(wide_segments(2, 3, Role.ERROR, UNICODE, 20))
    many = text_of(wide_segments(17, 30, Role.ERROR, UNICODE, 20))

    assert few == "██████ ██████ ░░░░░░"
    assert " " not in many
    assert many.count("█") == 11
