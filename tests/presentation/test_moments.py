"""Instants as people type them."""

from __future__ import annotations

import pytest

from probetui.presentation.moments import moment
from tests.builders import START, at


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        pytest.param("90", 90, id="seconds"),
        pytest.param("1m30s", 90, id="units"),
        pytest.param("01:30", 90, id="clock"),
        pytest.param("1:00:30.5", 3630.5, id="hours"),
        pytest.param("+10s", 70, id="on"),
        pytest.param("-10s", 50, id="back"),
        pytest.param("-1:30", 0, id="back to the start"),
        pytest.param(" 5s ", 5, id="spaces"),
    ],
)
def test_a_time_is_from_the_start_or_from_now(text: str, seconds: float) -> None:
    assert moment(text, START, at(60)) == at(seconds)


@pytest.mark.parametrize("text", ["", "soon", "1x", "-", "1:2", "99999999999h", "s"])
def test_anything_else_is_none(text: str) -> None:
    assert moment(text, START, at(60)) is None
