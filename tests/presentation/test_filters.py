"""What a person types to see fewer lines (UX-46)."""

from __future__ import annotations

import pytest

from probetui.presentation.filters import Filter


@pytest.mark.parametrize(
    ("typed", "kept"),
    [
        pytest.param("", {"demo/liveness", "shop/web"}, id="nothing"),
        pytest.param("web", {"shop/web"}, id="plain"),
        pytest.param("WEB", {"shop/web"}, id="case does not matter"),
        pytest.param("!web", {"demo/liveness"}, id="inverse"),
        pytest.param("^demo|web$", {"demo/liveness", "shop/web"}, id="regex"),
        pytest.param("!", {"demo/liveness", "shop/web"}, id="a bare inverse"),
        pytest.param("zzz", set(), id="no hit"),
    ],
)
def test_a_filter_keeps(typed: str, kept: set[str]) -> None:
    wanted = Filter.parse(typed)

    assert {
        each for each in ("demo/liveness", "shop/web") if wanted.keeps(each)
    } == kept


def test_what_is_no_regular_expression_is_said_and_keeps_everything() -> None:
    wanted = Filter.parse("web(")

    assert wanted.error.startswith("not a regular expression: missing )")
    assert not wanted.is_active
    assert wanted.keeps("demo")
